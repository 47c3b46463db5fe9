"""TGRank and RSRank: l1-penalised pairwise losses by truncated gradient, as the papers' baselines."""

from __future__ import annotations

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.losses._importance_kernels import weighted_huber
from sparserank.objective import PairwiseObjective
from sparserank.rankers.base import LinearRanker
from sparserank.rankers.checks import require_count, require_number
from sparserank.solvers.fista import tight_lipschitz
from sparserank.solvers.truncated_gradient import truncated_gradient


class TGRank(LinearRanker):
    """Mean squared hinge over preferred pairs + alpha ||w||_1 by truncated gradient.

    Parameters
        alpha     strength > 0 on the mean-loss scale; the papers' C over the sum of pairs is 1 / (alpha n_pairs)
        window    steps between truncations; 1 is the proximal gradient method
        max_iter  steps; the paper's is 1000. There is no other stopping rule
        step      of the gradient, times 1 / (largest curvature of the mean loss); from 2 on the steps may diverge, which is
                  refused
        metric, n_threads   as in SparseRanker
    Attributes
        coef_ (n_features,), objective_, n_iter_
    Notes
        The papers print neither step nor window: ours are stated here. The result is not a certified optimum;
        SparseRanker solves the same problem exactly.
    Source
        Lai et al. (2012), Section 8.5.1.
    """

    def __init__(
        self,
        alpha: float = 1e-3,
        window: int = 10,
        max_iter: int = 1000,
        step: float = 1.0,
        metric: str = "ndcg@10",
        n_threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.window = window
        self.max_iter = max_iter
        self.step = step
        self.metric = metric
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        name = type(self).__name__
        require_number(name, "alpha", self.alpha, above=0)
        require_number(name, "step", self.step, above=0)
        require_count(name, "window", self.window)
        require_count(name, "max_iter", self.max_iter)

    def _learn(self, data: RankingDataset, query_weight: np.ndarray | None) -> None:
        objective = self._objective(data, query_weight)
        w = truncated_gradient(
            self._gradient(data, objective),
            data.n_features,
            self.alpha,
            step=self.step / tight_lipschitz(objective),
            window=self.window,
            max_iter=self.max_iter,
        )
        self.coef_ = w
        self.objective_ = objective.value_and_gradient(w)[0] + self.alpha * float(np.abs(w).sum())
        self.n_iter_ = self.max_iter

    def _gradient(self, data: RankingDataset, objective: PairwiseObjective):  # type: ignore[no-untyped-def]
        return lambda w: objective.value_and_gradient(w)[1]


class RSRank(TGRank):
    """Modified Huber loss of pairs weighted by their current NDCG importance + alpha ||w||_1, by truncated gradient.

    The weight of a pair is the change of NDCG (gain 2^y - 1, discount 1 / log2(1 + rank)) if its documents swapped ranks
    in the current order; the loss is the weighted mean. The weights follow w, so there is no fixed objective and no
    certificate: `objective_` is that of TGRank at the final point.

    Parameters
        alpha, window, max_iter, step, metric, n_threads   as in TGRank; alpha is on the scale of the weighted mean
    Notes
        query_weight multiplies the importance. Relevance must be >= 0 and at most 60 (gains are powers of 2).
    Source
        Sun, Qin, Tao and Wang (2009), doi:10.1145/1571941.1571987, in the form of Lai et al. (2012), equation (8.5); they
        print no weight function, ours is the one above.
    """

    def _gradient(self, data: RankingDataset, objective: PairwiseObjective):  # type: ignore[no-untyped-def]
        if data.relevance.min() < 0 or data.relevance.max() > 60:
            raise DataError("RSRank: relevance must lie in 0..60: its gains are powers of 2.")
        gains = 2.0**data.relevance - 1.0
        longest = int(np.diff(data.query_ptr).max())
        discounts = 1.0 / np.log2(np.arange(2, longest + 2))
        ideal = np.array(
            [
                float(np.sort(gains[lo:hi])[::-1] @ discounts[: hi - lo])
                for lo, hi in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True)
            ]
        )
        scale = np.where(ideal > 0, objective.query_scale / np.maximum(ideal, 1e-300), 0.0)
        g = np.empty(data.n_docs)

        def gradient(w: np.ndarray) -> np.ndarray:
            scores = np.asarray(data.X @ w, dtype=np.float64)
            total, _ = weighted_huber(scores, gains, discounts, data.query_ptr, scale, g)
            return np.where(objective.varying, np.asarray(data.X.T @ g), 0.0) / max(total, 1e-300)

        return gradient
