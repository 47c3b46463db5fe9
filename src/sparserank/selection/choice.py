"""The rule that picks a model: the smallest one shown not to be worse than the best by more than a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.errors import DataError
from sparserank.statistics import as_percent, mean_interval, upper_bound


@dataclass(frozen=True)
class Candidate:
    """One model: where it stands, its size, its cost, and its metric per query (out of fold, or on validation)."""

    penalty: str
    index: int
    n_features: int
    cost: float
    values: np.ndarray

    @property
    def mean(self) -> float:
        finite = self.values[np.isfinite(self.values)]
        return float(finite.mean()) if len(finite) else float("nan")


@dataclass(frozen=True)
class Verdict:
    """A candidate against the best: mean loss per query, its one-sided upper bound and two-sided interval, the margin.

    Bound and interval hold with probability `confidence`.
    """

    candidate: Candidate
    reference: Candidate
    loss: float
    bound: float
    interval: tuple[float, float]
    margin: float
    confidence: float

    @property
    def non_inferior(self) -> bool:
        return self.bound <= self.margin

    def sentence(self, metric: str) -> str:
        c, r = self.candidate, self.reference
        if c is r:
            return f"{c.n_features} features: the best candidate itself, {metric} {c.mean:.4f}."
        best = f"the best ({r.n_features} features, {r.penalty})"
        claim = (
            f"not worse than {best} by more than {self.margin:.4f} {metric}"
            if self.non_inferior
            else f"NOT shown to be within {self.margin:.4f} {metric} of {best}"
        )
        return (
            f"{c.n_features} features ({c.penalty}): {claim}: loss {self.loss:+.4f}, {as_percent(self.confidence)} interval [{self.interval[0]:+.4f}, "
            f"{self.interval[1]:+.4f}], upper bound {self.bound:+.4f}."
        )


def judge(candidate: Candidate, reference: Candidate, margin: float, confidence: float = 0.95) -> Verdict:
    """Paired loss of `candidate` against `reference` over queries; `margin` is in units of the metric."""
    loss = reference.values - candidate.values
    if candidate is reference:
        return Verdict(candidate, reference, 0.0, 0.0, (0.0, 0.0), margin, confidence)
    mean, low, high = mean_interval(loss, confidence)
    return Verdict(candidate, reference, mean, upper_bound(loss, confidence), (low, high), margin, confidence)


def best_candidate(candidates: Sequence[Candidate]) -> Candidate:
    """Highest mean; the smaller, then the cheaper, among equals. Models without features never count."""
    usable = [c for c in candidates if c.n_features > 0 and np.isfinite(c.mean)]
    if not usable:
        raise DataError("no candidate model has a feature; nothing can be chosen.")
    return min(usable, key=lambda c: (-c.mean, c.n_features, c.cost))


def smallest_non_inferior(
    candidates: Sequence[Candidate], reference: Candidate, margin: float, confidence: float = 0.95
) -> Verdict | None:
    """The smallest candidate whose upper bound on the mean paired loss is at most `margin`; None if there is none.

    Smallest means fewest features, then lowest cost, then highest mean. Models without features never count.
    """
    verdicts = [judge(c, reference, margin, confidence) for c in candidates if c.n_features > 0 and np.isfinite(c.mean)]
    passing = [v for v in verdicts if v.non_inferior]
    return min(passing, key=lambda v: (v.candidate.n_features, v.candidate.cost, -v.candidate.mean), default=None)


def best_within(candidates: Sequence[Candidate], k: int | None, budget: float | None) -> Candidate:
    """The best candidate of at most k features and at most `budget` total cost.

    Raises
        DataError   no candidate is that small
    """
    within = [
        c
        for c in candidates
        if c.n_features > 0 and (k is None or c.n_features <= k) and (budget is None or c.cost <= budget)
    ]
    if not within:
        limit = f"{k} features" if budget is None else f"a cost of {budget:g}"
        raise DataError(f"no model on the path stays within {limit}; allow more, or use more alphas (--n-alphas).")
    return best_candidate(within)
