"""A refit with pairs weighted by the change of the metric if their documents were exchanged."""

from __future__ import annotations

import numpy as np

from sparserank.execution.threads import one_blas_thread
from sparserank.paths._metric_kernels import weighted_hinge, weighted_hinge_curvature
from sparserank.paths.metric_sample import MetricSample
from sparserank.penalties import Ridge
from sparserank.penalties.parts import SeparablePart
from sparserank.solvers.quadratic import minimise_model

ROUNDS = 3  # of new weights; each is followed by a refit
MAX_STEPS = 30  # of Newton's method in each
ENOUGH = 1e-9  # share of the objective: a step that promises less ends a round
MAX_HALVINGS = 30


def refit_by_delta(sample: MetricSample, w: np.ndarray, ridge: Ridge, columns: np.ndarray, n: int) -> np.ndarray:
    """(m,) weights of the sample's columns: among w (m,) and the results of all rounds, those with the best mean
    metric, the earliest among equals.

    A round weights the pairs of the sample by |delta metric| under the last weights, times the query's weight, sum 1,
    and minimises the squared hinge of these pairs plus the ridge. Pairs of two documents below the cutoff have weight
    0. Rounds do not minimise a majoriser, so the metric may fall in a round; this is why the best is kept.

    Parameters
        ridge    with its signs, on all n coefficients; columns: those of the sample
    Source
        Burges, Ragno and Le (2006) for |delta NDCG| as the weight of a pair
    """
    part = ridge.restrict(columns, n)
    assert isinstance(part, SeparablePart)
    best, best_value = w, sample.value(sample.Z @ w)
    for _ in range(ROUNDS):
        w = _refit(sample, w, part, ridge.alpha)
        value = sample.value(sample.Z @ w)
        if value > best_value:
            best, best_value = w, value
    return best


def _refit(sample: MetricSample, w: np.ndarray, part: SeparablePart, alpha: float) -> np.ndarray:
    """argmin of the squared hinge weighted by |delta metric| at w, plus the ridge; from w, to rounding."""
    Z = sample.Z
    lists = sample.order(Z @ w), sample.gains, sample.query_ptr, sample.discounts
    share = sample.weight * sample.per_dcg
    gradient, product = np.empty(len(Z)), np.empty(Z.shape)
    total, _ = weighted_hinge(Z @ w, *lists, share, gradient)
    if total <= 0:
        return w
    share = share / total

    def value_at(u: np.ndarray) -> float:
        loss = weighted_hinge(Z @ u, *lists, share, gradient)[1]
        return float(loss + 0.5 * alpha * float(u @ u))

    with one_blas_thread():
        value = value_at(w)
        for _ in range(MAX_STEPS):
            slope = Z.T @ gradient
            weighted_hinge_curvature(Z @ w, *lists, share, Z, product)
            H = Z.T @ product
            led = minimise_model(0.5 * (H + H.T), slope, w, part, 1e-9 * float(np.abs(slope).max(initial=1e-300)))
            move = led - w
            promised = -float((slope + alpha * w) @ move)
            if promised <= ENOUGH * value:
                break
            size = 1.0
            for _ in range(MAX_HALVINGS):
                trial = w + size * move
                new = value_at(trial)
                if new < value - 1e-4 * size * promised:
                    break
                size *= 0.5
            else:
                break
            w, value = trial, new
    return w
