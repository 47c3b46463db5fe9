"""The best set of at most k features, for k = 1, 2, ...: no price, a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties.base import Penalty


@dataclass(frozen=True, repr=False)
class BestK(Penalty):
    """ridge * (curvature of the loss) * |w|^2 / 2 with at most k features in use. Its path goes through k = 1 .. k_max,
    not through strengths (`paths.BestKPath`); solvers know nothing of it. Signs, never_use and always_keep hold; costs
    do not matter to it.

    ridge keeps it well-posed: a share of the mean curvature of the features that vary.
    """

    k_max: int = 20
    ridge: float = 1e-3

    name: ClassVar[str] = "best_k"
    by_size: ClassVar[bool] = True

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        raise DataError(
            "best_k goes through sizes, not strengths: fit a path of it, or give the number of features "
            "(n_features_to_select, --k)."
        )

    def strength(self, curvature: np.ndarray) -> float:
        """The factor of |w|^2 / 2 on the scale of the mean loss, given the curvatures (any number) of what varies."""
        return self.ridge * float(curvature.mean()) if len(curvature) else self.ridge

    def _check(self) -> None:
        if isinstance(self.k_max, bool) or not isinstance(self.k_max, int | np.integer) or self.k_max < 1:
            raise DataError(f"BestK: k_max must be a whole number >= 1; got {self.k_max!r}.")
        object.__setattr__(self, "k_max", int(self.k_max))
        if not 0 < self.ridge < 1:
            raise DataError(f"BestK: ridge must lie between 0 and 1; got {self.ridge}.")
