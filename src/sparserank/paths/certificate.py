"""Certificate of a model as the solution of a problem, for model files and results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.penalties import FeatureRules, Ridge

ALL, OF_MODEL = "all", "of the model"


@dataclass(frozen=True)
class Certificate:
    """Certificate of the coefficients of the scaled features.

    problem           the penalty that is added to the mean loss; None: the coefficients solve no problem, such as those
                      half-way to a refit
    problem_features  'all' (if features enter under one of several transforms, each under its transform), or 'of the
                      model': the other features are fixed at 0; None without a problem
    status            how the solve ended ('optimal', 'stationary', 'stalled', 'iteration limit'); 'not certified'
                      without a problem
    kkt_violation     of the problem, in units of the gradient; None without one
    gap               a bound on the distance to the minimum of the problem, if it is convex
    gap_condition     the models for which the gap is valid, if these are not all (always-kept features)
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
) -> Certificate:
    """The certificate from the numbers of a solve or of a point of a path.

    Parameters
        penalty   of the path, at the strength of the point
        ridge     strength of the ridge problem on the features of the model, if that was solved instead; NaN: no
                  problem was solved; None: the problem with the penalty was solved
    """
    known = None if gap is None or np.isnan(gap) else float(gap)
    if ridge is None:
        condition = None if known is None else penalty.gap_condition(n_features)
        return Certificate(repr(penalty), ALL, status, float(kkt_violation), known, condition)
    if np.isnan(ridge):
        return Certificate(None, None, status, None, None)
    problem = repr(Ridge(float(ridge), monotone=penalty.monotone))
    return Certificate(problem, OF_MODEL, status, float(kkt_violation), known)
