"""How far from the best set of k features, and how long does a proof take?

RankRLS, by branch and bound. "Explained" is the share of the sum of squares of the centred relevance that the
regularised error falls by: what the search maximises. Greedy RankRLS minimises the leave-query-out error instead, which
is printed beside. Sizes 3, 6 and 10 at the strength of the lowest leave-query-out error of RankRLS on all features, and
at 1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Verdict, seconds, table

STRENGTHS = [2.0**e for e in range(17)]
SIZES = (3, 6, 10)
LIMIT_S = 120.0


def run() -> list[Verdict]:
    folder = os.environ.get("SPARSERANK_DATA")
    if folder is None:
        print("skipped: SPARSERANK_DATA is not set")
        return []
    sources = _sources(Path(folder))
    rows, verdicts = _proofs(sources)
    print(
        table(
            [
                "data",
                "features",
                "lambda",
                "k",
                "explained",
                "gap / residual",
                "LQO error",
                "forward selection by LQO",
                "nodes",
                "time",
            ],
            rows,
        )
    )
    return verdicts


def _sources(data: Path) -> dict[str, list[Path]]:
    return {
        "MQ2008 fold 1": [data / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3)],
        "OHSUMED fold 1": [data / f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in (1, 2, 3)],
        "MSLR sample": [data / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz" for part in ("train", "test")],
    }


def _proofs(sources: dict[str, list[Path]]) -> tuple[list[list[Any]], list[Verdict]]:
    import sparserank as sr
    from sparserank.papers.rls.leave_query_out import leave_query_out

    rows, verdicts = [], []
    for name, paths in sources.items():
        train = sr.fit_scaling(sr.read(paths)).apply(sr.read(paths))
        errors = leave_query_out(train, STRENGTHS).errors
        for lam in dict.fromkeys([STRENGTHS[int(np.argmin(errors))], 1.0]):
            greedy = sr.papers.GreedyRankRLS(k=max(SIZES), lam=lam).fit_dataset(train)
            for k in SIZES if name != "MSLR sample" or lam > 1 else (3, 4):
                empty, error, best = _one(train, lam, k)
                rows.append(
                    [
                        name,
                        int((~train.constant_features()).sum()),
                        f"{lam:g}",
                        k,
                        f"{best.explained / empty:.5f}",
                        f"{best.gap / (empty - best.explained):.4f}",
                        f"{error / empty:.5f}",
                        f"{greedy.path_[k - 1].leave_query_out_error / empty:.5f}",
                        best.n_nodes,
                        seconds(best.time_s),
                    ]
                )
                verdicts.append(
                    Verdict(
                        "optimality", f"{name}, lambda {lam:g}, k = {k}: seconds", best.time_s, LIMIT_S, False, unit=""
                    )
                )
    return rows, verdicts


def _one(train: Any, lam: float, k: int) -> tuple[float, float, Any]:
    """(error of the empty model, leave-query-out error, what is proved) of one size alone."""
    from sparserank.papers.rls.best_subset import best_subset, model_of
    from sparserank.papers.rls.centring import centre

    centred = centre(train)
    columns = np.flatnonzero(centred.varying)
    X = centred.X[:, columns]
    best = best_subset(X.T @ X, X.T @ centred.y, k, lam, time_limit=LIMIT_S)
    error = model_of(centred, columns[list(best.features)], lam).leave_query_out_error
    return float(centred.y @ centred.y), error, best
