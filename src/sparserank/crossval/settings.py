"""Settings of path fits, the same for all paths of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparserank.losses import PairwiseLoss, SquaredHinge
from sparserank.options import check_given
from sparserank.options import paths as of_paths


@dataclass(frozen=True)
class PathSettings:
    """Settings of path fits, the same for all paths of a job.

    Raises
        ParameterError   a field is out of its range; the message names it
    """

    scaling: str = of_paths.SCALING.default
    n_alphas: int = of_paths.N_ALPHAS.default
    alpha_min_ratio: float = of_paths.ALPHA_MIN_RATIO.default
    tol: float = of_paths.TOL.default
    pair_weights: str = of_paths.PAIR_WEIGHTS.default
    loss: PairwiseLoss = field(default_factory=SquaredHinge)

    def __post_init__(self) -> None:
        check_given(of_paths.SETTINGS, vars(self))
