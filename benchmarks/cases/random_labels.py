"""Does `select` learn anything where there is nothing to learn? Labels of real data permuted within each query, again
and again: any model made from the other queries is then worth the expectation of a random order, which is known
exactly. Judged is the mean that is printed of the chosen model: corrected for the choice, and as it was before. A
query's own constant, planted as a feature, is never chosen."""

from __future__ import annotations

import os
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Verdict, table

N_PERMUTED = int(os.environ.get("SPARSERANK_PERMUTED", "50"))
SETS = {"MQ2008 S1": ["mq2008/S1.txt.gz"], "OHSUMED": [f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in range(1, 6)]}
# Ties in the order of the rows: the default counts them against the model, and 13% of the rows of OHSUMED repeat
# another of their query, so that a fixed ranking is worth 0.0022 less than a random order there.
METRIC = "xgboost:ndcg@10-"
ERRORS = 3.0  # standard errors over the permutations that a mean may be away
CHOSEN, UNCORRECTED = "chosen, corrected", "chosen, not corrected"


def run() -> list[Verdict]:
    data = os.environ.get("SPARSERANK_DATA")
    if data is None:
        print("skipped: SPARSERANK_DATA is not set")
        return []
    rows, verdicts = [], []
    for name, files in SETS.items():
        expected, found, planted = _judged([Path(data) / f for f in files])
        for what, means in found.items():
            error = float(np.std(means, ddof=1) / np.sqrt(len(means)))
            away = float(np.mean(means)) - expected
            rows.append([name, what, len(means), f"{expected:.4f}", f"{away:+.4f} +- {error:.4f}"])
            if what != UNCORRECTED:
                claim = f"{name}, {what}: standard errors from a random order"
                verdicts.append(Verdict("random_labels", claim, abs(away) / error, ERRORS, False, unit=""))
        verdicts.append(Verdict("random_labels", f"{name}: planted constants chosen", planted, 0.5, False, unit=""))
    print(table(["data", "model", "permutations", "random order", "mean - random order, 1 s.e."], rows))
    return verdicts


def _judged(files: list[Path]) -> tuple[float, dict[str, list[float]], int]:
    """(mean metric of a random order, {what: its mean under each permutation}, in how many a planted constant was
    chosen)."""
    import sparserank as sr

    read = sr.read(files)
    rng = np.random.default_rng(0)
    constant = np.repeat(rng.standard_normal(read.n_queries), np.diff(read.query_ptr))
    X = np.column_stack([np.asarray(read.X, dtype=float), constant])
    found: dict[str, list[float]] = {what: [] for what in (CHOSEN, UNCORRECTED)}
    planted = 0
    for i in range(N_PERMUTED):
        y = np.concatenate([rng.permutation(read.relevance[a:b]) for a, b in pairwise(read.query_ptr.tolist())])
        result = _selected(sr.RankingDataset(X, y, read.qid))
        found[CHOSEN].append(result.choice.corrected_chosen)
        found[UNCORRECTED].append(result.chosen.mean)
        planted += X.shape[1] - 1 in result.model.support
        print(f"{i + 1} of {N_PERMUTED} permutations", file=sys.stderr)
    return _of_random_order(read), found, planted


def _selected(data: Any) -> Any:
    import sparserank as sr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sr.select(
            data,
            metric=METRIC,
            n_alphas=15,
            half_samples=0,
            n_threads=1,
        )


def _of_random_order(data: Any) -> float:
    """The mean over queries of the expected NDCG@10 when each order of a query's documents is as likely."""
    import sparserank as sr

    fixed = sr.evaluate(np.zeros(data.n_docs), data, [METRIC]).per_query[METRIC]
    out = []
    for (a, b), without in zip(pairwise(data.query_ptr.tolist()), np.asarray(fixed).tolist(), strict=True):
        gains = np.sort(2.0 ** data.relevance[a:b] - 1.0)[::-1]
        discounts = 1.0 / np.log2(np.arange(2, 2 + min(10, len(gains))))
        ideal = gains[: len(discounts)] @ discounts
        # without a relevant document every order has the same value
        out.append(gains.mean() * discounts.sum() / ideal if ideal > 0 else without)
    return float(np.mean(out))
