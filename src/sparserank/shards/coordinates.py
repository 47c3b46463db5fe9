"""Maps from solvers' coefficients to the columns of a shard: identity, or division by scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Coordinates(Protocol):
    """Linear maps from coefficients to column weights, one for each of K weightings of the same shards."""

    def raw(self, W: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        """(m, n_columns) column weights for W (m, n_coordinates), row i under weighting ks[i]."""
        ...

    def pulled_back(self, G: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        """(m, n_coordinates) gradients with respect to coefficients, from those with respect to columns (m, n_columns):
        the transposed map."""
        ...

    def on(self, k: int, columns: np.ndarray) -> np.ndarray | None:
        """The map of weighting k for some coefficients, in the form for `Rows.differences`; None: identity."""
        ...


@dataclass(frozen=True)
class Plain:
    """Coefficients that are column weights."""

    def raw(self, W: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return W

    def pulled_back(self, G: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return G

    def on(self, k: int, columns: np.ndarray) -> np.ndarray | None:
        return None


@dataclass(frozen=True, eq=False)
class Scaled:
    """Coefficients of columns multiplied by inverse (K, n_columns)."""

    inverse: np.ndarray

    def raw(self, W: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return W * self.inverse[list(ks)]

    def pulled_back(self, G: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return G * self.inverse[list(ks)]

    def on(self, k: int, columns: np.ndarray) -> np.ndarray | None:
        return np.asarray(self.inverse[k][columns])


def coordinates_of(maps: np.ndarray | None) -> Coordinates:
    """The map for `Shard.set_weights`: from None, or (K, n_columns) column factors."""
    return Plain() if maps is None else Scaled(maps)
