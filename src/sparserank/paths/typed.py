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
    """Number of regularisation strengths on each path. Default 40."""
    alpha_min_ratio: float
    """Last regularisation strength of a path, as a fraction of the first. Default 0.01."""
    alphas: Sequence[float] | np.ndarray | None
    """Regularisation strengths > 0, used instead of n_alphas and alpha_min_ratio; sorted in decreasing order.
    Default None."""
    pair_weights: str
    """Weighting of the loss: pair (all pairs count equally) or query (all queries count equally). Default
    'pair'."""
    loss: str | PairwiseLoss
    """Loss: squared_hinge, modified_huber or a custom PairwiseLoss. Default 'squared_hinge'."""
    scaling: str
    """Scaling of the features: within-query-std (by the standard deviation within queries), standard, min-max or
    none. Default 'within-query-std'."""
    tol: float
    """KKT violation at which the solver stops, relative to alpha_max. In a selection, this applies to the final
    paths; folds stop at 1e-4. Default 1e-06."""
    max_iter: int
    """Maximum number of solver iterations at one regularisation strength. Default 300."""
    k: int | None
    """Stop after the first point with more features than this number. Default never."""
    early_stop: float | None
    """Stop when ten successive points together lower the loss by less than this fraction of it. Default never."""
