"""Penalties of groups and curves on the coefficients of an objective: what enters, enters whole;
a feature is straight, or bent at a further price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties import Penalty
from sparserank.penalties.nested import Nested, nested


def on_coefficients(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty on the coefficients of an objective: itself, or, where it has groups or the objective has curves,
    nested.

    A feature bends at the price of as many coefficients as its bends have degrees of freedom.
    """
    if isinstance(penalty, Nested) or not (objective.knots.curved or penalty.feature_groups is not None):
        return penalty
    if penalty.feature_groups is not None:  # what does not vary enters no group, and is no part of its size
        still = ~objective.varying.reshape(-1, objective.width).any(axis=1)
        never = {*penalty.drop, *np.flatnonzero(still).tolist()}
        keep = tuple(j for j in penalty.keep if j not in never)
        penalty = replace(penalty, drop=tuple(sorted(never)), keep=keep)
    return nested(penalty, *objective.knots.bends(objective.curvature))
