"""The types of options by name, for type checkers; a test compares them with the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from sparserank.losses import PairwiseLoss


class PathOptions(TypedDict, total=False):
    """Options of `fit_path` by name."""

    n_alphas: int
    alpha_min_ratio: float
    alphas: Sequence[float] | np.ndarray | None
    pair_weights: str
    loss: str | PairwiseLoss
    scaling: str
    tol: float
    max_iter: int
    k: int | None
    early_stop: float | None
