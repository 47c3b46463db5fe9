"""Greedy RankRLS: forward selection by exact leave-query-out error in O(k n_docs n_features)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.execution import BlockExecutor, split_queries
from sparserank.papers.rls import _kernels as kernels
from sparserank.papers.rls.centring import DETERMINED, CentredData, lam_too_small

Candidates = Callable[[np.ndarray], np.ndarray]  # remaining features -> those that may be added now
TIE = 1e-12  # errors this close, relative to the current one, are equal


def best_candidate(errors: np.ndarray, remaining: np.ndarray, candidates: Candidates | None, lam: float) -> int:
    """The position of the smallest error among the allowed ones in `errors`; ties go to the smaller index.

    Raises
        DataError   an error is not a number: lam is too small for the data
    """
    allowed = remaining if candidates is None else np.sort(candidates(remaining))
    least = float(errors[allowed].min())
    if not np.isfinite(errors[allowed]).all():
        raise lam_too_small(lam)
    return int(allowed[np.argmax(errors[allowed] <= least + TIE * abs(least))])


@dataclass(frozen=True)
class GreedyStep:
    """One model of a search: `features` in order of selection, `coef` (n_features,),
    and its exact leave-query-out error."""

    features: tuple[int, ...]
    coef: np.ndarray
    leave_query_out_error: float

    @property
    def k(self) -> int:
        return len(self.features)


def greedy_search(
    data: CentredData,
    lam: float,
    k: int,
    *,
    candidates: Candidates | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[GreedyStep]:
    """Add k times the feature whose addition gives the smallest leave-query-out error.

    Up to rounding, this equals refitting RankRLS without each query for each candidate. Ties are broken in favour of
    the smaller index. Memory is 3 n_docs n_features float64; see `gram_search` for long lists of few features.

    Source
        Pahikkala et al. (2010), Algorithm 1, with line 2 C <- X^T / lam, lines 14 and 24 C_Q^T U_Q and line 28
        C <- C - C_b t. The errors of all candidates come from four sums per query, so the hold-out residuals of a
        candidate are never computed.
    """
    columns = np.flatnonzero(data.varying)
    X = np.ascontiguousarray(data.X[:, columns])
    y = data.y
    with np.errstate(over="ignore"):
        C = X / lam
        U = X.copy()
        a = y / lam
        p = y.copy()
    ptr = data.query_ptr
    blocks = split_queries(ptr, 8.0 * 3 * len(columns))
    executor = BlockExecutor(n_threads)
    per_query = [np.empty((data.n_queries, len(columns))) for _ in range(4)]
    steps: list[GreedyStep] = []
    selected: list[int] = []
    remaining = np.arange(len(columns))

    def each_block(kernel: Any, n_rows: int, *arguments: Any, of_query: Sequence[np.ndarray] = ()) -> np.ndarray:
        """The sum of what a kernel adds to rows of zeros (n_rows, n_columns) on each block of queries."""

        def run(block: int) -> np.ndarray:
            out = np.zeros((n_rows, len(columns)))
            kernel(*arguments, ptr, blocks[block], blocks[block + 1], *out, *of_query)
            return out

        parts = executor.map(run, len(blocks) - 1)
        return np.asarray(sum(parts[1:], start=parts[0]))  # in block order, whatever the number of threads

    while len(selected) < min(k, len(columns)):
        XC, Cy = each_block(kernels.candidate_sums, 2, X, C, U, a, p, y, of_query=per_query)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # best_candidate checks the result
            c = 1.0 / (1.0 + XC)
            d = c * Cy
            CU, aU, pU, UU = per_query
            step = d + (aU - d * CU) / (CU - 1.0 / c)
            errors = float(p @ p) + (step * (step * UU - 2.0 * pU)).sum(axis=0)
            errors[(1.0 - c * CU < DETERMINED).any(axis=0)] = np.nan
        b = best_candidate(errors, remaining, candidates, lam)

        (product,) = each_block(kernels.column_product, 1, X, C, b)
        t = c[b] * product
        each_block(kernels.add_feature, 1, C, U, a, p, b, c[b], d[b], t)  # the row is scratch
        selected.append(b)
        remaining = remaining[remaining != b]
        coef = np.zeros(len(data.varying))
        coef[columns[selected]] = (a @ X)[selected]
        steps.append(GreedyStep(tuple(int(j) for j in columns[selected]), coef, float(p @ p)))
        if progress is not None:
            progress(len(selected), min(k, len(columns)))
    return steps
