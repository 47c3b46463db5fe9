"""Sparse and wide: 100,000 documents x 1,000,000 features, 50 non-zeros a row (CSR, float32),
frequencies falling as in text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import in_bursts, isolated, measure
from benchmarks.report import Verdict, megabytes, seconds, table

N_DOCS, N_FEATURES, PER_ROW = 100_000, 1_000_000, 50
TARGET = 4.0


@dataclass(frozen=True)
class Outcome:
    bytes_X: int
    product_s: float
    pass_s: float
    path_s: float
    peak_bytes: int
    n_selected: int


def run() -> list[Verdict]:
    o = isolated(_wide)
    print(
        table(
            [
                "X (non-zeros)",
                "X @ w",
                "one pass",
                "/ X @ w",
                "l1 path of 20",
                "features at its end",
                "peak of the path above X",
            ],
            [
                [
                    megabytes(o.bytes_X),
                    seconds(o.product_s),
                    seconds(o.pass_s),
                    f"{o.pass_s / o.product_s:.2f}x",
                    seconds(o.path_s),
                    o.n_selected,
                    megabytes(o.peak_bytes),
                ]
            ],
        )
    )
    return [Verdict("wide", "pass / X @ w", o.pass_s / o.product_s, TARGET, False)]


def _wide() -> Outcome:
    import sparserank as sr
    from sparserank.warmup import load_kernels

    load_kernels()
    rng = np.random.default_rng(0)
    frequency = np.cumsum(1 / np.arange(1, N_FEATURES + 1) ** 0.8)
    columns = np.searchsorted(frequency, rng.random((N_DOCS, PER_ROW)) * frequency[-1]).astype(np.int32)
    columns.sort(axis=1)
    X = sp.csr_matrix(
        (rng.random(columns.size, dtype=np.float32), columns.ravel(), np.arange(0, columns.size + 1, PER_ROW)),
        shape=(N_DOCS, N_FEATURES),
    )
    X.sum_duplicates()
    truth = np.zeros(N_FEATURES)
    truth[rng.permutation(2000)[:50]] = 3 * rng.standard_normal(50)
    grade = np.clip(np.floor(X @ truth + 0.5 * rng.standard_normal(N_DOCS) + 1.5), 0, 3)
    data = sr.RankingDataset(X, grade, np.arange(N_DOCS) // 50)
    objective, w = sr.solvers.PairwiseObjective(data, n_threads=1), 0.01 * rng.standard_normal(N_FEATURES)
    pass_s, product_s = in_bursts([lambda: objective.value_and_gradient(w), lambda: data.X @ w])
    path = measure(lambda: sr.fit_path(data, n_alphas=20, alpha_min_ratio=0.05, n_threads=1), repeats=1)
    size = data.X.data.nbytes + data.X.indices.nbytes
    return Outcome(size, product_s, pass_s, path.time_s, path.peak_bytes, int(path.result.nnz[-1]))
