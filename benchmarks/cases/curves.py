"""Curves: what a pass over them costs beside one over float32 features, and a problem whose truth is curved
(`make_curved_ranking`, 10 of 100 features, 500 training and 2,000 test queries), beside LightGBM on all features, tuned
over a stated grid by five folds of the training queries, mean of 5 seeds.
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Verdict, table

LEAVES, RATES, TREES = (7, 15, 31), (0.05, 0.1), (100, 300)
SEEDS = 5
COPIES = 8
ACTIVE = 13  # features with a weight in the pass that is timed
ROUNDS = 30


def run() -> list[Verdict]:
    verdicts = _passes()
    return verdicts + _truth()


def _passes() -> list[Verdict]:
    folder = os.environ.get("SPARSERANK_DATA")
    if folder is None:
        print("pass skipped: SPARSERANK_DATA is not set")
        return []
    import sparserank as sr
    from sparserank.curves import fit_knots
    from sparserank.data.combine import concatenate
    from sparserank.objective import PairwiseObjective

    mslr = Path(folder) / "mslr-web10k-sample"
    data = sr.read([mslr / f"fold1.{part}.5k.txt.gz" for part in ("train", "test")])
    data = data.replace_features(np.log1p(np.maximum(data.X, 0.0)).astype(np.float32))
    data = concatenate([data] * COPIES, join_queries=False)
    knots = fit_knots(data)
    rows, verdicts = [], []
    for threads in (1, 2):
        curved = PairwiseObjective(data, knots=knots, n_threads=threads)
        linear = PairwiseObjective(data, n_threads=threads)
        slow, fast = _interleaved(curved, linear)
        rows.append(
            [
                threads,
                f"{data.n_docs:,} x {data.n_features}",
                f"{1e3 * slow:.1f} ms",
                f"{1e3 * fast:.1f} ms",
                f"{slow / fast:.2f}",
            ]
        )
        verdicts.append(
            Verdict("curves", f"pass over curves / over float32, {threads} threads", slow / fast, 3.0, False)
        )
    n_bytes = knots.rows(data.X[:1000]).nbytes / (1000 * data.n_features)
    verdicts.append(Verdict("curves", "bytes a value", n_bytes, 6.0, False, unit=""))
    print(table(["threads", "data", "curves", "float32", "ratio"], rows))
    return verdicts


def _interleaved(*objectives: Any) -> list[float]:
    """Median seconds of a pass with ACTIVE features in use, one after the other."""
    points = []
    for o in objectives:
        w = np.zeros((o.n_features // o.width, o.width))
        w[:: len(w) // ACTIVE] = 0.1
        points.append(w.ravel())
        o.value_and_gradient(points[-1])
    seconds: list[list[float]] = [[] for _ in objectives]
    for r in range(ROUNDS):
        for o, w, own in zip(objectives, points, seconds, strict=True):
            began = time.perf_counter()
            o.value_and_gradient(w * (1.0 + 1e-4 * r))
            own.append(time.perf_counter() - began)
    return [float(np.median(s)) for s in seconds]


def _truth() -> list[Verdict]:
    import sparserank as sr
    from sparserank.datasets import make_curved_ranking

    made = make_curved_ranking(n_queries=2500, random_state=0)
    train, test = made.data.take_queries(np.arange(500)), made.data.take_queries(np.arange(500, 2500))

    def quality(scores: Any) -> float:
        return float(sr.evaluate(scores, test, ["ndcg@10"])["ndcg@10"])

    began = time.perf_counter()
    curves = sr.select(train, feature_transform=("none", "log", "curves(log)"), half_samples=0)
    seconds = time.perf_counter() - began
    logs = sr.select(train, feature_transform="log", half_samples=0)
    raw = sr.select(train, feature_transform="none", half_samples=0)
    settings, of_trees, tuning_s = _tuned_trees(train, test, quality)
    found = len(set(made.support) & set(curves.model.support))
    ours, of_logs = quality(curves.model), quality(logs.model)
    print()
    print(
        table(
            ["model", "features", "of the 10", "NDCG@10 on test", "time"],
            [
                ["select --transform curves", len(curves.model.support), found, f"{ours:.4f}", f"{seconds:.0f} s"],
                [f"LightGBM, {settings}", 100, "-", f"{of_trees:.4f}", f"{tuning_s:.0f} s"],
                [
                    "select --transform log",
                    len(logs.model.support),
                    len(set(made.support) & set(logs.model.support)),
                    f"{of_logs:.4f}",
                    "-",
                ],
                [
                    "select --transform none",
                    len(raw.model.support),
                    len(set(made.support) & set(raw.model.support)),
                    f"{quality(raw.model):.4f}",
                    "-",
                ],
            ],
        )
    )
    return [
        Verdict("curves", "NDCG@10 above LightGBM's", ours - of_trees, 0.0, True, unit=""),
        Verdict(
            "curves",
            "features beyond or short of the ten",
            float(len(curves.model.support) + 10 - 2 * found),
            1.0,
            False,
            unit="",
        ),
        Verdict("curves", "logarithms below curves, share", 1.0 - of_logs / ours, 0.05, True, unit=""),
    ]


def _tuned_trees(train: Any, test: Any, quality: Any) -> tuple[str, float, float]:
    """(the settings of the highest NDCG@10 over five folds of the training queries, mean test quality of SEEDS seeds,
    seconds)"""
    import sparserank as sr
    from benchmarks.trees_by_size import SHARES
    from sparserank.crossval.trees import TreeSettings, fit_trees
    from sparserank.data.folds import query_folds

    began = time.perf_counter()
    columns, fold = np.arange(train.n_features), query_folds(train.n_queries, 5, 0)
    found = []
    for leaves, rate, trees in itertools.product(LEAVES, RATES, TREES):
        settings = TreeSettings(trees, (*SHARES, ("num_leaves", leaves), ("learning_rate", rate)))
        values = []
        for f in range(5):
            seen, unseen = train.take_queries(np.flatnonzero(fold != f)), train.take_queries(np.flatnonzero(fold == f))
            scores = fit_trees(seen, columns, settings, 0, n_threads=os.cpu_count() or 1).scores(unseen.X)
            values.append(sr.evaluate(scores, unseen, ["ndcg@10"])["ndcg@10"])
        found.append((float(np.mean(values)), f"{trees} trees of {leaves} leaves, rate {rate:g}", settings))
    _, label, best = max(found, key=lambda f: f[0])
    n = os.cpu_count() or 1
    means = [quality(fit_trees(train, columns, best, seed, n_threads=n).scores(test.X)) for seed in range(SEEDS)]
    return label, float(np.mean(means)), time.perf_counter() - began
