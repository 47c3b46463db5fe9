"""Models that are nearly as good as the chosen one: the features that they use, and their substitutes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Choice
from sparserank.crossval.tasks import FINAL
from sparserank.lazy import cached_property

MORE_FEATURES = 1.25  # times those of the chosen model: the largest models that count


@dataclass(frozen=True)
class NearEqual:
    """Different sets of features of models with at most `most` features that are within the margin, or at least as good
    as the chosen one. Each set counts once, so their shares are not probabilities.

    features     (n,) in any of the sets, rising; used: (n_models, n) bool, the chosen set first
    """

    most: int
    features: np.ndarray
    used: np.ndarray

    @classmethod
    def of(cls, most: int, sets: Sequence[tuple[int, ...]]) -> NearEqual:
        """Make it from sets of features, the chosen one first."""
        features = np.unique(np.concatenate([np.array(s, dtype=np.int64) for s in sets]))
        return cls(most, features, np.array([np.isin(features, s) for s in sets]))

    @property
    def n_models(self) -> int:
        return len(self.used)

    def share(self, feature: int) -> float:
        """The share of the models that use a feature."""
        return float(self.used[:, self.features == feature].any(axis=1).mean())

    @cached_property
    def substitutes(self) -> dict[int, int]:
        """{feature of the chosen set: its substitute}. The substitute is the feature outside the set whose share rises
        most in models without the chosen feature. A feature in all models, or without a rising share, has none."""
        out = {}
        for at in np.flatnonzero(self.used[0]):
            with_it = self.used[:, at]
            if with_it.all():
                continue
            more = self.used[~with_it].mean(axis=0) - self.used[with_it].mean(axis=0)
            more[self.used[0]] = -1.0
            other = int(np.argmax(more))
            if more[other] > 0:
                out[int(self.features[at])] = int(self.features[other])
        return out


def near_equal(choice: Choice, candidate_set: CandidateSet) -> NearEqual:
    """The nearly equal models of a choice."""
    chosen = choice.chosen
    most = min(math.ceil(MORE_FEATURES * chosen.n_features - 1e-9), max(c.n_features for c in choice.candidates))
    if choice.rule.k is not None:
        most = min(most, max(choice.rule.k, chosen.n_features))
    sets = {tuple(candidate_set.features(chosen, FINAL).tolist()): None}
    for c in choice.sparse:
        enough = choice.within_margin(c) or choice.loss(c) <= choice.loss(chosen)
        if enough and c.n_features <= most:
            sets.setdefault(tuple(candidate_set.features(c, FINAL).tolist()))
    return NearEqual.of(most, list(sets))
