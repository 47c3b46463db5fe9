"""The pairwise modified Huber loss in score space: a squared hinge that grows linearly for pairs far out of order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sparserank.losses import _huber_grade_sweeps, _huber_tree_sweeps
from sparserank.losses.levels import RelevanceLevels
from sparserank.losses.pairwise import PairwiseLoss


@dataclass(frozen=True, repr=False)
class ModifiedHuber(PairwiseLoss):
    """Modified Huber loss over all preferred pairs of each query, without forming pairs.

    phi(m) = 0 for m >= 1, (1 - m)^2 for -1 <= m < 1, -4 m for m < -1.

    Parameters
    ----------
    grade_pair_weights : array_like of shape (n_grades, n_grades), optional
        Weight of a pair, by its two grades; default 1.

    Notes
    -----
    For the conventions, see `PairwiseLoss`. The conjugate is phi*(u) = u + u^2 / 4 for -4 <= u <= 0; the generalised
    Hessian is that of the pairs with -1 <= m < 1. Cost: O(n log n + n K) for K <= 12 grades or a table, otherwise O(n
    log n) with a Fenwick tree.

    References
    ----------
    Zhang (2004). RSRank's pairwise loss has this form, with weights that depend on w.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[1.0], [3.0]], [1, 0], ["a", "a"])
    >>> objective = sr.solvers.PairwiseObjective(data, loss=sr.losses.ModifiedHuber())
    >>> objective.value_and_gradient(np.array([1.0]))[0]  # one pair, margin -2
    8.0
    """

    name: ClassVar[str | None] = "modified_huber"
    smoothness: ClassVar[float] = 2.0
    value_at_zero: ClassVar[float] = 1.0
    largest_scale: ClassVar[float | None] = 1.0  # a pair with phi' = -4 leaves the domain beyond s = 1

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        module = _huber_grade_sweeps if len(levels.table) else _huber_tree_sweeps
        return module.sweep, module.hessian_sweep
