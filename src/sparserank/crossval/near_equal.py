"""The models that are nearly as good as the chosen one: which features they use, and what they use instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.candidates import Pool
from sparserank.crossval.choice import Choice
from sparserank.crossval.folded_paths import FINAL

MORE_FEATURES = 1.25  # times those of the chosen model: the largest models that count


@dataclass(frozen=True)
class NearEqual:
    """Different sets of features of models within the margin, or at least as good as the chosen one, of at most
    `most` features; each counts once, which makes no probabilities of their shares.

    used     (n_models, n_features) bool, the chosen set first
    """

    most: int
    used: np.ndarray

    @property
    def n_models(self) -> int:
        return len(self.used)

    @property
    def share(self) -> np.ndarray:
        """(n_features,) of the models that use each feature."""
        return np.asarray(self.used.mean(axis=0))

    def substitute(self, feature: int) -> int | None:
        """The feature outside the chosen set that models use most more often without this one than with it; None where
        all models use this one, or no other is used more often without it."""
        with_it = self.used[:, feature]
        if with_it.all():
            return None
        more = self.used[~with_it].mean(axis=0) - self.used[with_it].mean(axis=0)
        more[self.used[0]] = -1.0
        at = int(np.argmax(more))
        return at if more[at] > 0 else None


def near_equal(choice: Choice, pool: Pool, n_features: int) -> NearEqual:
    """Those of a choice."""
    chosen = choice.chosen
    most = math.ceil(MORE_FEATURES * chosen.n_features - 1e-9)
    sets = {tuple(pool.features(chosen, FINAL).tolist()): None}
    for c in choice.sparse:
        enough = choice.within_margin(c) or choice.loss(c) <= choice.loss(chosen)
        if enough and c.n_features <= most:
            sets.setdefault(tuple(pool.features(c, FINAL).tolist()))
    return NearEqual(most, _indicators(list(sets), n_features))


def _indicators(sets: Sequence[tuple[int, ...]], n_features: int) -> np.ndarray:
    used = np.zeros((len(sets), n_features), dtype=bool)
    for row, features in zip(used, sets, strict=True):
        row[list(features)] = True
    return used
