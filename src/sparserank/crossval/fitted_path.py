"""A fitted path in the engine: its coefficients with their meaning, and its metric on unseen queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparserank.paths import PathResult
from sparserank.paths.result import n_used
from sparserank.shards.scaling import FeatureScaling


@dataclass(frozen=True, eq=False)
class FittedPath:
    """path     of the scaled columns of a transform
    scaling  of these columns
    blocks   (n_features, m, width) curve blocks that define the coefficients; None without curves
    values   (n_metrics, n_points, n_queries) on queries that the path has not seen; None if it is only a start
    """

    path: PathResult
    scaling: FeatureScaling
    blocks: np.ndarray | None = None
    values: np.ndarray | None = None

    @property
    def coefs(self) -> sp.csr_array:
        """(n_points, n_coefficients) CSR coefficients of the scaled columns."""
        return self.path.sparse_coefs

    @property
    def n_used(self) -> np.ndarray:
        """(n_points,) number of columns in use; a feature is used under at most one transform."""
        return n_used(self.coefs, self.path.width)

    def columns(self, index: int) -> np.ndarray:
        """The columns that a point uses, in rising order."""
        return self.path.support(index)

    def in_units(self, coefs: sp.csr_array) -> sp.csr_array:
        """Coefficients (n, n_coefficients) in units of the columns themselves: features, or ramps of curves."""
        if self.blocks is None:
            scale = self.scaling.scale
            return sp.csr_array((coefs.data / scale[coefs.indices], coefs.indices, coefs.indptr), shape=coefs.shape)
        d, m, width = self.blocks.shape
        mixing = sp.bsr_array(
            (self.blocks.transpose(0, 2, 1), np.arange(d), np.arange(d + 1)), shape=(d * width, d * m)
        )
        product = sp.csr_array(coefs @ mixing)
        product.eliminate_zeros()
        return product
