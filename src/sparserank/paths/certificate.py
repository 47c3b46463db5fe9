"""What is known of a model as the solution of a problem: what model files and results say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.penalties import FeatureRules, Ridge

ALL, OF_MODEL = "all", "of the model"
ON_CURVES = "on the coefficients of curves"


@dataclass(frozen=True)
class Certificate:
    """Of the coefficients of the scaled features.

    problem           the penalty that is added to the mean loss; None: the coefficients solve no problem, as those
                      half-way to a refit or changed for a metric. With curves it is paid for their coefficients, as
                      `penalties.nested` has it, and says so: such a text is no penalty by itself
    problem_features  'all' (where features enter under one of several transforms, each under its own), or 'of the
                      model': the others, of curves the other coefficients, are fixed at 0; None without a problem
    status            how the solve ended ('optimal', 'stationary', 'stalled', 'iteration limit'); 'not certified'
                      without a problem
    kkt_violation     of the problem, in units of the gradient; None without one
    gap               a bound on the distance to the minimum of the problem, where it is convex
    gap_condition     over which models the gap holds, where these are not all (always-kept features)
    """

    problem: str | None
    problem_features: str | None
    status: str
    kkt_violation: float | None
    gap: float | None
    gap_condition: str | None = None


def certificate_of(
    penalty: FeatureRules,
    n_features: int,
    status: str,
    kkt_violation: float,
    gap: float | None,
    ridge: float | None = None,
    *,
    curves: bool = False,
) -> Certificate:
    """From the numbers of a solve or of a point of a path.

    Parameters
        penalty   of the path, at the strength of the point
        ridge     strength of the ridge on the features of the model that was solved instead; NaN: nothing was; None:
                  the penalty itself
        curves    the coefficients are those of curves
    """
    known = None if gap is None or np.isnan(gap) else float(gap)
    if ridge is None:
        condition = None if known is None else penalty.gap_condition(n_features)
        problem = f"{penalty!r} {ON_CURVES}" if curves else repr(penalty)
        return Certificate(problem, ALL, status, float(kkt_violation), known, condition)
    if np.isnan(ridge):
        return Certificate(None, None, status, None, None)
    problem = f"{Ridge(float(ridge))!r} {ON_CURVES}" if curves else repr(Ridge(float(ridge), monotone=penalty.monotone))
    return Certificate(problem, OF_MODEL, status, float(kkt_violation), known)
