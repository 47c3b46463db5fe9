"""Distance between the sets that Greedy RankRLS chose and the best sets of their size,
as a section of the published tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reproduction.protocol.results import Results, Row
from sparserank.data.dataset import RankingDataset
from sparserank.papers.rls.centring import centre
from sparserank.papers.rls.leave_query_out import leave_query_out
from sparserank.report.document import Section, Table

ROUNDING = 1e-12  # relative: bounds closer than this are equal


@dataclass(frozen=True)
class AgainstBest:
    """A choice of Greedy RankRLS and the best set of the same size; errors in units of y^T y, with y centred by query.

    greedy, best              explained share: 1 minus the regularised squared error of training
    greedy_error, best_error  leave-query-out
    """

    lam: float
    k: int
    greedy: float
    best: float
    same: bool
    greedy_error: float
    best_error: float


def best_set(G: np.ndarray, b: np.ndarray, k: int, lam: float) -> tuple[float, tuple[int, ...]]:
    """(b_S^T (G_SS + lam I)^-1 b_S, S) of the set S of k features that maximises it, by branch and bound
    (theory.md section 5, The best set of k features); G (d, d): Gram of centred columns, b (d,): their moments."""
    best = -np.inf
    chosen = tuple[int, ...]()
    A = G + lam * np.eye(len(b))
    waiting = [(tuple[int, ...](), tuple(range(len(b))))]
    while waiting:
        # A node stands for the sets that contain `kept` and leave out all but `kept` and `free`.
        kept, free = waiting.pop()
        at = np.array([*kept, *free])
        inverse = np.linalg.inv(A[np.ix_(at, at)])
        w = inverse @ b[at]
        value = float(b[at] @ w)
        too_many = len(at) - k
        if too_many == 0:
            best, chosen = max((best, chosen), (value, tuple(sorted(at.tolist()))))
            continue
        # Two bounds: what leaving out the cheapest features costs, and the dual of ridge at w.
        costs = (w**2 / np.diag(inverse))[len(kept) :]
        cheapest = np.argsort(costs)
        r2 = (b[at] - G[np.ix_(at, at)] @ w) ** 2
        largest = np.sort(r2[len(kept) :])[::-1][: k - len(kept)].sum()
        dual = float(w @ G[np.ix_(at, at)] @ w + (r2[: len(kept)].sum() + largest) / lam)
        if min(value - costs[cheapest[too_many - 1]], dual) <= best * (1 + ROUNDING):
            continue
        # With the cheapest feature, and first without it.
        j = free[cheapest[0]]
        others = tuple(i for i in free if i != j)
        if len(kept) < k:
            waiting.append(((*kept, j), others))
        waiting.append((kept, others))
    return best, chosen


def against_best(train: RankingDataset, chosen: Row) -> AgainstBest:
    """Compare a stored candidate of `greedy_rank_rls` with the best set on its training data."""
    lam = float(chosen["params"]["lam"])
    features = chosen["features"]
    data = centre(train)
    columns = np.flatnonzero(data.varying)
    X = data.X[:, columns]
    explains, found = best_set(X.T @ X, X.T @ data.y, len(features), lam)
    best = columns[list(found)].tolist()
    alone = train.replace_features(np.asarray(train.X)[:, best])
    total = float(data.y @ data.y)
    explained = float(data.y @ (data.X @ np.array(chosen["coef"])))  # b.w = b_S^T (G_SS + lam I)^-1 b_S
    return AgainstBest(
        lam,
        len(features),
        explained / total,
        explains / total,
        set(features) == set(best),
        chosen["leave_query_out_error"] / total,
        float(leave_query_out(alone, [lam]).errors[0]) / total,
    )


def best_set_sections(results: Results) -> list[Section]:
    """The choices by validation MAP on MQ2007 and MQ2008; the published ones are in Pahikkala (2010),
    Tables 1 and 2."""
    tables = []
    for dataset in [d for d in results.datasets if d in ("MQ2007", "MQ2008")]:
        rows = []
        for fold in results.folds(dataset, "greedy_rank_rls"):
            (chosen,) = results.chosen(dataset, "greedy_rank_rls", fold, "map")
            a = against_best(results.fold_data(dataset, fold).train, chosen)
            rows.append(
                [
                    f"fold {fold}",
                    f"{a.lam:g}",
                    str(a.k),
                    f"{a.greedy:.5f}",
                    f"{a.best:.5f}",
                    "yes" if a.same else "no",
                    f"{a.greedy_error:.5f}",
                    f"{a.best_error:.5f}",
                ]
            )
        columns = ["", "lambda", "k", "greedy explains", "best set", "same set", "LQO error, greedy", "best set"]
        if rows:
            tables.append(Table(f"{dataset}, GRankRLS as chosen by validation map", columns, rows))
    if not tables:
        return []
    text = (
        "Greedy RankRLS adds the feature with the lowest leave-query-out (LQO) error; the best set of k features has "
        "the lowest regularised training error, and is found by branch and bound. Explained is the decrease of that "
        "training error, as a share of the centred sum of squares. The LQO error is relative to that of the empty "
        "model. Lambda and k are our choice by validation MAP."
    )
    return [Section("Greedy RankRLS against the best set", text, tables)]
