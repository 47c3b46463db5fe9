"""Penalties of groups and curves on the coefficients of an objective: groups enter as a whole;
a feature is linear, or bends at an extra penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties import Penalty
from sparserank.penalties.nested import Nested, nested


def resolved(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty with every parameter on the scale of the mean loss; of curves, the linear parts count."""
    per_value = 1 if isinstance(penalty, Nested) else objective.width  # the others have their rules per feature
    return penalty.resolve(objective.curvature[::per_value], objective.total_weight)


def on_coefficients(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty on the coefficients of an objective: unchanged, or nested if it has groups or the objective has
    curves.

    The penalty of bending is that of as many coefficients as the bends have degrees of freedom.
    """
    if isinstance(penalty, Nested) or not (objective.knots.curved or penalty.feature_groups is not None):
        return penalty
    if penalty.feature_groups is not None:  # what does not vary enters no group, and is no part of its size
        still = ~objective.varying.reshape(-1, objective.width).any(axis=1)
        never = {*penalty.drop, *np.flatnonzero(still).tolist()}
        keep = tuple(j for j in penalty.keep if j not in never)
        penalty = replace(penalty, drop=tuple(sorted(never)), keep=keep)
    return nested(penalty, *objective.knots.bends(objective.curvature))
