"""Solves that end short of their tolerance: every public entry warns, and results note it, of folds too."""

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.convergence import unsolved, unsolved_paths
from sparserank.errors import ConvergenceWarning

DATA = sr.datasets.make_ranking(40, (8, 14), 8, n_informative=3, n_redundant=2, noise=0.5, random_state=2).data
ARRAYS = {"X": np.asarray(DATA.X), "y": DATA.relevance}
IMPOSSIBLE = 1e-17  # below what float64 can show of a gradient


def quick(**options: Any) -> sr.SelectionResult:
    given = {"feature_transform": "none", "cv": 3, "n_alphas": 6, "report_metrics": (), "half_samples": 0, **options}
    return sr.select(DATA, **given)


ENTRIES: dict[str, Callable[[], Any]] = {
    "select": lambda: quick(tol=IMPOSSIBLE),
    "select, refits alone": lambda: quick(tol=IMPOSSIBLE, penalties="l1"),
    "fit_path": lambda: sr.fit_path(DATA, tol=IMPOSSIBLE, n_alphas=6),
    "SparseRanker": lambda: sr.SparseRanker(tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
    "SparseRanker of a size": lambda: sr.SparseRanker(k=2, tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
    "SparseRankerCV": lambda: sr.SparseRankerCV(tol=IMPOSSIBLE, n_alphas=6).fit(**ARRAYS, qid=DATA.qid),
    "RankSVM": lambda: sr.papers.RankSVM(tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_warns_with_a_remedy(entry: str) -> None:
    with pytest.warns(ConvergenceWarning, match=r"raise (max_iter or )?tol"):
        ENTRIES[entry]()


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_warns_without_a_cause(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong variant, a warning at all events."""
    monkeypatch.setitem(globals(), "IMPOSSIBLE", 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ENTRIES[entry]()


def test_a_result_notes_how_many_of_which_solves() -> None:
    with pytest.warns(ConvergenceWarning):
        found = quick(tol=IMPOSSIBLE, half_samples=0)
    short = [p.statuses.count("stalled") + p.statuses.count("iteration limit") for p in found.paths.values()]
    (note,) = [n for n in found.to_json()["notes"] if "did not reach their tolerance" in n]
    n_final = int(note.split("(")[1].split(" ")[0])
    assert n_final >= sum(short) > 0  # refits come on top
    assert "without a fold" in note


def test_folds_are_counted_too() -> None:
    def arrays(*statuses: str) -> Any:
        return SimpleNamespace(statuses=statuses)  # all that is asked of a path

    fine = {("l1", -1): arrays("optimal", "optimal"), ("l1", 0): arrays("stationary", "not certified")}
    assert unsolved_paths(fine, 1e-6) is None
    note = unsolved_paths({**fine, ("l1", 1): arrays("optimal", "iteration limit")}, 1e-6)
    assert note is not None
    assert note.startswith(
        "1 of 5 solves (0 of 2 on all queries, 1 of 3 without a fold) did not reach their tolerance, a KKT "
        "violation of 1e-06 (0.0001 where only quality is estimated) times alpha_max (1 iteration limit)"
    )
    assert "raise tol, or max_iter" in note
    assert unsolved(["stalled"], "on half-samples", "0.0001").startswith("1 of 1 solves on half-samples")  # type: ignore[union-attr]


def test_half_samples_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.crossval.folded_paths.FOLD_TOL", IMPOSSIBLE)
    with pytest.warns(ConvergenceWarning, match="on half-samples"):
        found = quick(penalties="l1", relaxed=False, half_samples=2)
    assert any("on half-samples" in n for n in found.notes)
