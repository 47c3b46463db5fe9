"""The types of options by name.

Written by `make options` from the declarations in paths/options.py: edit those."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from sparserank.losses import PairwiseLoss


class PathOptions(TypedDict, total=False):
    """Options of `fit_path` by name."""

    n_alphas: int
    """Points on each path. Default 40."""
    alpha_min_ratio: float
    """Last strength of a path relative to the first. Default 0.01."""
    alphas: Sequence[float] | np.ndarray | None
    """Strengths > 0 instead of n_alphas and alpha_min_ratio; sorted downwards. Default None."""
    pair_weights: str
    """pair (every pair counts the same) or query (every query does). Default 'pair'."""
    loss: str | PairwiseLoss
    """squared_hinge, modified_huber, or a loss of your own. Default 'squared_hinge'."""
    scaling: str
    """What features are divided by: within-query-std (their standard deviation within queries), standard, min-max
    or none. Default 'within-query-std'."""
    tol: float
    """KKT violation to reach, relative to alpha_max (of a selection, in its final paths; folds stop at 1e-4).
    Default 1e-06."""
    max_iter: int
    """Iterations of the solver at one strength. Default 300."""
    k: int | None
    """Stop after the first point with more features than this. Default never."""
    early_stop: float | None
    """Stop once ten successive points together lower the loss by less than this share of it. Default never."""
