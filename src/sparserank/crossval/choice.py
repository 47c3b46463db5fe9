"""The rule that picks a model: the smallest one whose loss against the best of all candidates is bounded by a
margin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.groups import within_budget
from sparserank.errors import DataError
from sparserank.evaluation.loss_bounds import LossBounds, loss_bounds
from sparserank.lazy import cached_property
from sparserank.options import option

AUTO = "auto"
LEAST_MARGIN = 0.01  # relative to the best: what `auto` never goes below
ABOVE_RESOLUTION = 1.25  # `auto` is at least this multiple of what the queries can show
N_RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to make a model of at most k features, and how good the models are that it makes.

    penalty      label of the path maker
    k            features at most, or cost where there are groups: in every fold and in the final path the point of
                 lowest training loss within it
    relax        share of the way from the point to its refit without the sparsity penalty: 0, 1/2 or 1
    index        point on the final path (of the label's own path, or of its refits when relax > 0)
    n_features   of the final model; cost: their total cost
    values       (n_queries,) metric on queries that the scored model has not seen
    """

    penalty: str
    k: float
    relax: float
    index: int
    n_features: int
    cost: float
    values: np.ndarray

    @property
    def mean(self) -> float:
        finite = self.values[np.isfinite(self.values)]
        return float(finite.mean()) if len(finite) else float("nan")

    def size(self, by_cost: bool) -> tuple[float, float]:
        """What smaller means: fewer features, then a lower cost, or a lower cost, then fewer features."""
        return (self.cost, self.n_features) if by_cost else (self.n_features, self.cost)

    @property
    def label(self) -> str:
        """'mcp', 'mcp half refitted', 'mcp refitted'."""
        return self.penalty + {0.0: "", 0.5: " half refitted", 1.0: " refitted"}[self.relax]


@dataclass(frozen=True)
class Resampled:
    """The rule applied to resampled queries, without fitting anything anew.

    n_features   (n_resamples,) sizes that it chose
    loss         mean over resamples of what the chosen one loses, on the queries left out, against the candidate that
                 is best on the resample; None where no query was ever left out
    """

    n_features: np.ndarray
    loss: float | None

    def range(self, share: float = 0.9) -> tuple[int, int]:
        """The sizes between which this share of the choices lies."""
        low, high = np.quantile(self.n_features, [(1 - share) / 2, (1 + share) / 2], method="closest_observation")
        return int(low), int(high)


@dataclass(frozen=True)
class Choice:
    """What was chosen among which candidates, and what the data can say of it.

    candidates   all that were compared, those that may not be chosen (dense ones) included; bounds are theirs, row by
                 row
    margin       absolute, in units of the metric; relative_margin: of the best mean
    limit        'at most 5 features', or None when the margin decided
    by_cost      the smallest is the one of the lowest cost, not of the fewest features
    """

    candidates: tuple[Candidate, ...]
    bounds: LossBounds
    best: Candidate
    chosen: Candidate
    margin: float
    relative_margin: float
    limit: str | None
    resampled: Resampled
    by_cost: bool = False

    def bound(self, c: Candidate) -> float:
        """Simultaneous upper bound on the mean loss against the best of all candidates."""
        return float(self.bounds.upper[self._row[c]])

    def bound_against(self, c: Candidate, other: Candidate) -> float:
        """Upper bound on the mean loss against another candidate, named before the choice; holds whichever c is chosen.
        Below 0: c gains at least as much."""
        return self.bounds.against(self._row[c], self._row[other])

    def loss(self, c: Candidate) -> float:
        """Mean loss against the candidate of the highest mean."""
        return float(self.bounds.means[self._row[self.best]] - self.bounds.means[self._row[c]])

    def within_margin(self, c: Candidate) -> bool:
        return self.bound(c) <= self.margin

    @cached_property
    def _row(self) -> dict[Candidate, int]:
        return {c: i for i, c in enumerate(self.candidates)}

    def smallest(self, among: Sequence[Candidate]) -> Candidate | None:
        """The smallest of these within the margin: fewest features, then lowest cost (or the other way round),
        then highest mean."""
        within = [c for c in among if self.within_margin(c)]
        return min(within, key=lambda c: (*c.size(self.by_cost), -c.mean), default=None)


def choose(
    sparse: Sequence[Candidate],
    others: Sequence[Candidate] = (),
    *,
    margin: float | str = AUTO,
    confidence: float = 0.95,
    k: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    by_cost: bool = False,
) -> Choice:
    """The smallest of the sparse candidates that loses at most `margin` against the best of all; others are compared,
    never chosen.

    Parameters
        margin      relative to the best mean, or 'auto': 1%, or 1.25 times what the queries can show where that is
                    more, 100% at most
        k, budget   instead: the best of at most k features, or of at most this total cost
        seed        of the draws behind the bounds, and of the resampling
        by_cost     the smallest is the one of the lowest cost
    Raises
        DataError   no candidate has a feature and a value; none is that small
    """
    usable = [c for c in sparse if c.n_features > 0 and np.isfinite(c.mean)]
    if not usable:
        raise DataError(
            "nothing can be chosen: no size has a model with features in every fold; take more strengths "
            f"({option('n_alphas')}) or fewer folds."
        )
    everyone = (*usable, *(c for c in others if np.isfinite(c.mean)))
    values = np.array([c.values for c in everyone])
    bounds = loss_bounds(values, confidence, seed=seed)
    best = min(everyone, key=lambda c: (-c.mean, *c.size(by_cost)))
    limit = None
    if k is not None or budget is not None:
        limit = f"at most {k} feature{'s' if k > 1 else ''}" if k is not None else f"a total cost of at most {budget:g}"
    allowed = _allowed(usable, k, budget)

    def rule(means: np.ndarray, upper: np.ndarray, resolution: float) -> tuple[int, float, float]:
        """(the candidate to take by these means and bounds, the margin in units of the metric, relative to the best
        mean)."""
        unit = abs(float(means.max())) or 1.0
        relative = relative_margin(margin, resolution, unit)
        within = [i for i in allowed if upper[i] <= relative * unit] if limit is None else []
        if within:
            taken = min(within, key=lambda i: (*usable[i].size(by_cost), -means[i]))
        else:
            taken = min(allowed, key=lambda i: (-means[i], *usable[i].size(by_cost)))
        return taken, relative * unit, relative

    taken, absolute, relative = rule(np.array([c.mean for c in everyone]), bounds.upper, bounds.resolution)
    resampled = _resampled(values, everyone, lambda means: rule(means, *bounds.at(means))[0], seed)
    return Choice(everyone, bounds, best, usable[taken], absolute, relative, limit, resampled, by_cost)


def relative_margin(margin: float | str, resolution: float, unit: float) -> float:
    """The margin relative to a best mean of |unit|."""
    if not isinstance(margin, str):
        return float(margin)
    if not np.isfinite(resolution):
        return LEAST_MARGIN
    return min(max(LEAST_MARGIN, ABOVE_RESOLUTION * resolution / unit), 1.0)


def _allowed(among: Sequence[Candidate], k: int | None, budget: float | None) -> list[int]:
    """Which of the candidates the limits allow."""
    within = [
        i
        for i, c in enumerate(among)
        if (k is None or c.n_features <= k) and (budget is None or within_budget(np.array(c.cost), budget))
    ]
    if not within:
        limit = f"{k} feature{'s' if k != 1 else ''}" if budget is None else f"a cost of {budget:g}"
        least = min(c.cost if budget is not None else c.n_features for c in among)
        raise DataError(
            f"no model that was tried stays within {limit}; the smallest has {least:g}. Allow more, or try more "
            f"strengths ({option('n_alphas')})."
        )
    return within


def _resampled(
    values: np.ndarray, everyone: Sequence[Candidate], again: Callable[[np.ndarray], int], seed: int
) -> Resampled:
    """`again` gives the candidate that the same rule takes by other means, the errors of differences taken as known.
    Source: Tsamardinos, Greasidou and Borboudakis (2018), the bootstrap of out-of-fold predictions."""
    V = values[:, np.isfinite(values).all(axis=0)]
    n = V.shape[1]
    rng = np.random.default_rng([seed, 1])
    sizes, losses = [], []
    for _ in range(N_RESAMPLES if n else 0):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        means = V @ (counts / n)
        taken, out = again(means), counts == 0
        sizes.append(everyone[taken].n_features)
        if out.any():
            losses.append(float((V[int(np.argmax(means))] - V[taken])[out].mean()))
    return Resampled(np.array(sizes, dtype=np.int64), float(np.mean(losses)) if losses else None)
