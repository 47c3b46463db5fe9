"""Penalties of groups and curves on the coefficients of an objective: what enters, enters whole;
a feature is straight, or bent at a further price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparserank.curves import CURVE_FREEDOM
from sparserank.objective import PairwiseObjective
from sparserank.penalties import Penalty
from sparserank.penalties.nested import Nested, nested


def on_coefficients(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty on the coefficients of an objective: itself, or, where it has groups or the objective has curves,
    nested.

    A feature bends at the price of as many coefficients as its bends have degrees of freedom.
    """
    if isinstance(penalty, Nested) or (objective.knots is None and penalty.groups is None):
        return penalty
    if penalty.groups is not None:  # what does not vary enters no group, and is no part of its size
        still = ~objective.varying.reshape(-1, objective.width).any(axis=1)
        never = {*penalty.never_use, *np.flatnonzero(still).tolist()}
        keep = tuple(j for j in penalty.always_keep if j not in never)
        penalty = replace(penalty, never_use=tuple(sorted(never)), always_keep=keep)
    knots = objective.knots
    if knots is None:
        return nested(penalty)
    bends = objective.curvature.reshape(-1, objective.width)[:, 1:].sum(axis=1)  # 1 / (1 + rho d_k) each
    freedom = np.where(knots.directions == 0, bends, np.clip(knots.n_segments - 1.0, 0.0, CURVE_FREEDOM))
    return nested(penalty, objective.width, np.sqrt(freedom), np.abs(knots.directions))
