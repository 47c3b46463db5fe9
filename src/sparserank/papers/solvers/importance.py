"""RSRank's problem: pairs weighted by the change in NDCG if they were swapped in the current order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.papers.solvers._importance_kernels import weighted_huber
from sparserank.shards.local import as_rows
from sparserank.shards.rows import scores_of, transposed_times
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.problem import Penalised
from sparserank.solvers.solution import Iterate
from sparserank.weighting import LossEvaluation


class ImportanceWeighted:
    """The importance-weighted mean of the modified Huber loss and its gradient, plus the penalty. The weights depend on
    w, so this is not the gradient of a function, and nothing is certified.

    Source
        Sun et al. (2009), in the form of Lai et al. (2012), equation (8.5).
    """

    is_convex = False

    def __init__(self, data: RankingDataset, penalised: Penalised) -> None:
        self._data = data
        self._penalised = penalised
        self._rows = as_rows(data.X)
        self._gains = 2.0**data.relevance - 1.0
        longest = int(data.sizes.max())
        self._discounts = 1.0 / np.log2(np.arange(2, longest + 2))
        ideal = np.array(
            [
                float(np.sort(self._gains[lo:hi])[::-1] @ self._discounts[: hi - lo])
                for lo, hi in pairwise(data.query_ptr)
            ]
        )
        scale = penalised.objective.query_scale
        self._scale = np.where(ideal > 0, scale / np.maximum(ideal, 1e-300), 0.0)

    def start(self, w: np.ndarray | None) -> np.ndarray:
        return self._penalised.start(w)

    def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
        yield from ()
        g = np.empty(self._data.n_docs)
        ptr = self._data.query_ptr
        total, loss = weighted_huber(scores_of(self._rows, w), self._gains, self._discounts, ptr, self._scale, g)
        total = max(total, 1e-300)
        moment = transposed_times(self._rows, g)
        gradient = np.where(self._penalised.objective.varying, moment, 0.0) / total
        return Iterate(w, LossEvaluation(loss / total, gradient, 0.0), loss / total + self._penalised.penalty.value(w))

    def violation(self, here: Iterate) -> float:
        return self._penalised.violation(here)

    def gap(self, here: Iterate) -> float | None:
        return None
