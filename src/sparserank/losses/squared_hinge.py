"""The pairwise squared hinge in score space: RankSVM's smooth loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparserank.losses import _grade_sweeps, _tree_sweeps
from sparserank.losses.levels import RelevanceLevels
from sparserank.losses.pairwise import PairwiseLoss


@dataclass(frozen=True, repr=False)
class SquaredHinge(PairwiseLoss):
    """Squared hinge loss over all preferred pairs of each query, without forming pairs.

    phi(m) = max(0, 1 - m)^2; a margin of exactly 1 is not active.

    Parameters
    ----------
    grade_pair_weights : array_like of shape (n_grades, n_grades), optional
        Weight of a pair, by its two grades; default 1.

    Notes
    -----
    For the conventions, see `PairwiseLoss`. The conjugate is phi*(u) = u + u^2 / 4 for u <= 0. Cost: O(n log n + n K)
    for K <= 12 grades or a table, otherwise O(n log n) with a Fenwick tree.

    References
    ----------
    Laporte et al. (2014), equation (4) with the squared hinge; the sweeps follow Lee and Lin (2014), without
    subtraction.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[1.0], [3.0]], [1, 0], ["a", "a"])
    >>> objective = sr.solvers.PairwiseObjective(data, loss=sr.losses.SquaredHinge())
    >>> objective.value_and_gradient(np.array([1.0]))[0]  # one pair, margin -2
    9.0
    """

    name = "squared_hinge"
    smoothness = 2.0
    value_at_zero = 1.0
    largest_scale = float("inf")
    square_is_value = True

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        module = _grade_sweeps if len(levels.table) else _tree_sweeps
        return module.sweep, module.hessian_sweep
