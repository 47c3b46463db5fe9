"""How paths are fitted throughout one job, and what its parameters may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sparserank import defaults
from sparserank.losses import PairwiseLoss, SquaredHinge
from sparserank.parameter_checks import check_choice, check_count, check_number
from sparserank.shards.scaling import SCALINGS
from sparserank.weighting import PAIR_WEIGHTS

MOST_ALPHAS = 10_000


@dataclass(frozen=True)
class PathSettings:
    """How paths are fitted throughout one job."""

    scaling: str = defaults.SCALING
    n_alphas: int = defaults.N_ALPHAS
    alpha_min_ratio: float = defaults.ALPHA_MIN_RATIO
    tol: float = defaults.TOL
    pair_weights: str = defaults.PAIR_WEIGHTS
    loss: PairwiseLoss = field(default_factory=SquaredHinge)

    def __post_init__(self) -> None:
        check_choice("scaling", self.scaling, SCALINGS)
        check_choice("pair_weights", self.pair_weights, PAIR_WEIGHTS)
        check_count("n_alphas", self.n_alphas, 2, MOST_ALPHAS)
        check_number("alpha_min_ratio", self.alpha_min_ratio, 0.0, 1.0)
        check_number("tol", self.tol, 0.0, math.inf)
