"""Maps from solvers' coefficients to the columns of a shard: identity, division by scales,
or mixing within each feature."""

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


@dataclass(frozen=True, eq=False)
class Mixed:
    """Coefficients of combinations of the columns of each feature:
    blocks (K, n_features, columns of a feature, its coefficients)."""

    blocks: np.ndarray

    def raw(self, W: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return np.array([mixed(self.blocks[k], w) for k, w in zip(ks, W, strict=True)])

    def pulled_back(self, G: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        return np.array([mixed(self.blocks[k].transpose(0, 2, 1), g) for k, g in zip(ks, G, strict=True)])

    def on(self, k: int, columns: np.ndarray) -> np.ndarray | None:
        return np.asarray(self.blocks[k])


def mixed(blocks: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The product of a block-diagonal matrix (n, a, b) with a vector (n * b,)."""
    return np.asarray(np.matmul(blocks, v.reshape(len(blocks), -1, 1)).ravel())


def coordinates_of(maps: np.ndarray | None) -> Coordinates:
    """The map for `Shard.set_weights`: from None, (K, n_columns) column factors, or the blocks of `Mixed`."""
    if maps is None:
        return Plain()
    return Scaled(maps) if maps.ndim == 2 else Mixed(maps)
