"""The pairwise squared hinge in score space: RankSVM's smooth loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sparserank.losses import _grade_sweeps, _tree_sweeps
from sparserank.losses.levels import RelevanceLevels
from sparserank.losses.pairwise import PairwiseLoss


@dataclass(frozen=True, repr=False)
class SquaredHinge(PairwiseLoss):
    """Squared hinge over all preferred pairs of each query, without pairs.

    Definition: phi(m) = max(0, 1 - m)^2; a margin of exactly 1 is not active. phi*(u) = u + u^2 / 4 for u <= 0.

    Conventions
        As in PairwiseLoss.
    Cost
        O(n log n + n K) for K <= 12 grades or a table, O(n log n) with a Fenwick tree otherwise.
    Source
        Laporte et al. (2014), equation (4) with the squared hinge; sweeps after Lee and Lin (2014), never subtracting.
    """

    name: ClassVar[str | None] = "squared_hinge"
    smoothness: ClassVar[float] = 2.0
    value_at_zero: ClassVar[float] = 1.0
    largest_scale: ClassVar[float | None] = float("inf")
    square_is_value: ClassVar[bool] = True

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        module = _grade_sweeps if len(levels.table) else _tree_sweeps
        return module.sweep, module.hessian_sweep
