"""Stability of a selection: the same maker on half of the queries, repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stability:
    """Features that the half-samples of the queries kept.

    kept       (n_samples, n_features) bool; rows 2i and 2i + 1 are two halves of the same queries
    chosen     the selected features, 0-based
    n_varying  features that could have been kept
    """

    kept: np.ndarray
    chosen: np.ndarray
    n_varying: int

    @property
    def n_samples(self) -> int:
        return len(self.kept)

    @property
    def frequency(self) -> np.ndarray:
        """(n_features,) share of half-samples that kept each feature."""
        return np.asarray(self.kept.mean(axis=0))

    def often(self) -> list[int]:
        """Features that at least one half-sample kept, the most frequent first."""
        share = self.frequency
        return [int(j) for j in np.argsort(-share, kind="stable") if share[j] > 0]

    @property
    def index(self) -> tuple[str, float]:
        """('Kuncheva', mean over the complementary pairs) if all sets have one size, else ('Nogueira', over all
        samples). 1: always the same set; 0: as by chance; NaN if every feature was kept, or none."""
        sizes = set(self.kept.sum(axis=1).tolist())
        if len(sizes) == 1:
            return "Kuncheva", kuncheva(self.kept, self.n_varying)
        return "Nogueira", nogueira(self.kept, self.n_varying)


def kuncheva(kept: np.ndarray, n_features: int) -> float:
    """Kuncheva (2007): (r d - k^2) / (k (d - k)), with r shared features, mean over pairs of consecutive rows."""
    k = int(kept[0].sum())
    if not 0 < k < n_features:
        return float("nan")
    shared = (kept[0::2] & kept[1::2]).sum(axis=1)
    return float(np.mean((shared * n_features - k * k) / (k * (n_features - k))))


def nogueira(kept: np.ndarray, n_features: int) -> float:
    """Nogueira, Sechidis and Brown (2018), JMLR 18(174), equation 4, for sets of different sizes."""
    m, share = len(kept), kept.mean(axis=0)
    size = float(kept.sum(axis=1).mean())
    if not 0 < size < n_features or m < 2:
        return float("nan")
    variance = float((m / (m - 1) * share * (1.0 - share)).sum()) / n_features
    return 1.0 - variance / (size / n_features * (1.0 - size / n_features))


def complementary_halves(usable: np.ndarray, n_pairs: int, seed: int) -> np.ndarray:
    """(2 n_pairs, n_queries) bool: each pair of rows splits the usable queries (n_queries,) bool in two.

    Source
        Shah and Samworth (2013), complementary pairs stability selection.
    """
    queries = np.flatnonzero(usable)
    rng = np.random.default_rng([seed, 2])
    out = np.zeros((2 * n_pairs, len(usable)), dtype=bool)
    for i in range(n_pairs):
        order = rng.permutation(queries)
        out[2 * i, order[: len(order) // 2]] = True
        out[2 * i + 1, order[len(order) // 2 :]] = True
    return out


def sets_of(supports: Sequence[np.ndarray], n_features: int) -> np.ndarray:
    """(n_samples, n_features) bool from the features of each model."""
    kept = np.zeros((len(supports), n_features), dtype=bool)
    for row, columns in zip(kept, supports, strict=True):
        row[columns] = True
    return kept
