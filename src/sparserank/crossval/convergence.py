"""Messages on solves of a selection that miss their tolerance, including those of folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sparserank.crossval.folded_paths import FOLD_TOL
from sparserank.crossval.tasks import FINAL
from sparserank.errors import ConvergenceWarning, warn_caller
from sparserank.paths import PathResult
from sparserank.solvers import Status


def unsolved(statuses: Sequence[str], where: str, asked: str) -> str | None:
    """A sentence on solves that missed their tolerance; None if all reached it.

    Parameters
        where   part of the job, such as 'on half-samples'
        asked   the tolerance, such as '1e-06'
    """
    short = Counter(s for s in statuses if s in _REMEDIES)
    if not short:
        return None
    how = ", ".join(f"{short[s]} {s}" for s in _REMEDIES if short[s])
    remedy = _REMEDIES[next(iter(short))] if len(short) == 1 else _REMEDY_OF_BOTH
    return (
        f"{short.total()} of {len(statuses)} solves {where} did not reach their tolerance, a KKT violation of "
        f"{asked} times alpha_max ({how}); {remedy}."
    )


def unsolved_paths(paths: Mapping[tuple[str, int], PathResult], tol: float) -> str | None:
    """The same sentence for finished paths, by label and fold."""
    of_final: list[str] = []
    of_folds: list[str] = []
    for (_, fold), path in paths.items():
        # A point on the way to a refit is not solved.
        solved = [s for s in path.statuses if s != Status.NOT_CERTIFIED.value]
        (of_final if fold == FINAL else of_folds).extend(solved)
    n_final, n_folds = (sum(s in _REMEDIES for s in some) for some in (of_final, of_folds))
    where = f"({n_final} of {len(of_final)} on all queries, {n_folds} of {len(of_folds)} without a fold)"
    asked = f"{tol:g}" if tol >= FOLD_TOL else f"{tol:g} ({FOLD_TOL:g} where only quality is estimated)"
    return unsolved([*of_final, *of_folds], where if of_folds else "on all queries", asked)


def warn_unsolved(paths: Mapping[tuple[str, int], PathResult], tol: float) -> None:
    """Issue a ConvergenceWarning with that sentence, if there is one."""
    sentence = unsolved_paths(paths, tol)
    if sentence is not None:
        warn_caller(sentence, ConvergenceWarning)


_REMEDIES = {  # by the status of a solve that missed its tolerance
    Status.STALLED.value: "floating-point precision allows no smaller violation, so raise tol",
    Status.ITERATION_LIMIT.value: "raise tol, or max_iter where it is available",
}
_REMEDY_OF_BOTH = (
    "raise tol; max_iter, where it is available, helps only at the iteration limit, because floating-point precision "
    "allows the stalled solves no smaller violation"
)
