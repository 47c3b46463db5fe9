"""Resampled queries: they estimate the optimistic bias of a choice, and its stability, without fitting anything
again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparserank.execution import one_blas_thread

N_RESAMPLES = 1000
BLOCK_BYTES = 1 << 24  # memory for the counts held at a time
TIE = 1e-9  # relative; means that agree to this differ only by rounding, which depends on summation order and processor


def tied(means: np.ndarray) -> np.ndarray:
    """Along the last axis, True for the highest mean and those tied with it."""
    highest = means.max(axis=-1, keepdims=True)
    return np.asarray(means >= highest - TIE * np.abs(highest))


class Resamples:
    """The candidates on queries drawn with replacement, and on those that a draw left out.

    Parameters
        values   (m, n_queries) metric of each candidate on queries that it has not seen; queries without a value for
                 one of them are left out
        seed     of the draws
    Attributes
        means   (n_resamples, m) on the queries that were drawn
        out     (n_resamples, m) on those that were left out. Draws that leave none out are not kept, so fewer than
                N_RESAMPLES may remain; a single query leaves no draw
    Source
        Tsamardinos, Greasidou and Borboudakis (2018), Machine Learning 107, bootstrap bias corrected cross-validation.
        Difference from it: the bias of the choice is estimated from differences to the candidate that all queries
        choose, whose mean on left-out queries equals its mean in expectation. A candidate that every draw picks thus
        keeps its mean exactly. Candidates that tie on a draw differ only on queries that it left out, so a pick is the
        set of all tied candidates, which count equally.
    """

    def __init__(self, values: np.ndarray, seed: int) -> None:
        V = values[:, np.isfinite(values).all(axis=0)]
        n = V.shape[1]
        rng = np.random.default_rng([seed, 1])
        means, out = [np.empty((0, len(V)))], [np.empty((0, len(V)))]
        step = max(BLOCK_BYTES // (8 * max(n, 1)), 1)
        for start in range(0, N_RESAMPLES if n else 0, step):
            drawn = rng.integers(0, n, (min(step, N_RESAMPLES - start), n))
            counts = np.array([np.bincount(row, minlength=n) for row in drawn], dtype=np.float64)
            left = (counts == 0).astype(np.float64)
            usable = left.any(axis=1)
            counts, left = counts[usable], left[usable]
            with one_blas_thread():
                means.append(counts @ V.T / n)
                out.append(left @ V.T / left.sum(axis=1, keepdims=True))
        self.means, self.out = np.concatenate(means), np.concatenate(out)
        self._mean = V.mean(axis=1) if n else np.full(len(V), np.nan)

    def picks(self, rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """(n_resamples, m) bool: the tied rows that a rule chooses from means (m,)."""
        picks = np.zeros(self.means.shape, dtype=bool)
        for pick, means in zip(picks, self.means, strict=True):
            pick[rule(means)] = True
        return picks

    def corrected(self, rows: np.ndarray, picks: np.ndarray) -> float:
        """The mean of tied candidates, corrected for the optimistic bias of being picked; picks: rows that the same
        rule takes from each resample. The bias is not negative, so an estimate below 0 counts as 0 (docs/claims.md): a
        corrected mean is never above the mean itself. Without draws, it is NaN."""
        if len(picks) == 0:
            return float("nan")
        picked = (self.out * picks).sum(axis=1) / picks.sum(axis=1)
        bias = float((self.out[:, rows].mean(axis=1) - picked).mean())
        return float(self._mean[rows].mean()) - max(bias, 0.0)
