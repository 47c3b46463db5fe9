"""The rule that picks a model: the smallest one whose estimated loss against the best of all candidates is small
enough. The bound on that loss is reported; it decides only where a guarantee is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.crossval.feature_groups import within_budget
from sparserank.crossval.resampling import Resamples
from sparserank.errors import DataError
from sparserank.evaluation import mean_of
from sparserank.evaluation.loss_bounds import LossBounds, loss_bounds
from sparserank.lazy import cached_property
from sparserank.options import option

MARGIN = 0.01  # largest estimated loss by default, relative to the best mean
ROUNDING = 1e-12  # of the best mean: less than differences of means are known to


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
    for_metric   '', or how the full refit was changed for the metric: 'refitted', 'polished', 'half polished'
    """

    penalty: str
    k: float
    relax: float
    index: int
    n_features: int
    cost: float
    values: np.ndarray
    for_metric: str = ""

    @property
    def mean(self) -> float:
        return mean_of(self.values)

    def size(self, by_cost: bool) -> tuple[float, float]:
        """What smaller means: fewer features, then a lower cost, or a lower cost, then fewer features."""
        return (self.cost, self.n_features) if by_cost else (self.n_features, self.cost)

    @property
    def label(self) -> str:
        """'mcp', 'mcp relaxed (0.5)', 'mcp relaxed (1)', 'mcp polished for the metric'."""
        if self.for_metric:
            return f"{self.penalty} {self.for_metric} for the metric"
        return self.penalty + (f" relaxed ({self.relax:g})" if self.relax else "")


@dataclass(frozen=True)
class Rule:
    """What is small enough.

    margin      largest estimated loss, relative to the best mean of all candidates
    guarantee   instead: largest bound on the loss, relative to the same
    k, budget   instead of either: the best of at most k features, or of at most this total cost
    by_cost     the smallest candidate is the one of the lowest cost, not of the fewest features
    """

    margin: float = MARGIN
    guarantee: float | None = None
    k: int | None = None
    budget: float | None = None
    by_cost: bool = False

    @property
    def limit(self) -> str | None:
        """'at most 5 features', or None where a loss decides."""
        if self.k is not None:
            return f"at most {self.k} feature{'s' if self.k > 1 else ''}"
        return None if self.budget is None else f"a total cost of at most {self.budget:g}"

    @property
    def largest_loss(self) -> float:
        """Relative to the best mean: of the estimate, or of the bound where there is a guarantee."""
        return self.margin if self.guarantee is None else self.guarantee

    def small_enough(self, losses: Any, unit: float) -> Any:
        """Whether losses, or bounds on them, are within what is allowed; unit: the size of the best mean."""
        return losses <= (self.largest_loss + ROUNDING) * unit

    def sizes(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """(m,) ranks: the smaller the candidate, the lower."""
        sizes = [c.size(self.by_cost) for c in candidates]
        rank = {size: i for i, size in enumerate(sorted(set(sizes)))}
        return np.array([rank[size] for size in sizes], dtype=np.int64)

    def allows(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """(m,) whether each stays within k and the budget."""
        cost, n_features = np.array([c.cost for c in candidates]), np.array([c.n_features for c in candidates])
        within = np.ones(len(candidates), dtype=bool)
        if self.k is not None:
            within &= n_features <= self.k
        if self.budget is not None:
            within &= within_budget(cost, self.budget)
        return within

    def take(self, means: np.ndarray, bounds: LossBounds, allowed: np.ndarray, sizes: np.ndarray) -> int:
        """The row of the candidate to take by these means (m,): of the allowed ones the smallest whose loss is small
        enough, the best of these sizes; where none is, or a limit decides, the one of the highest mean."""
        rows = np.flatnonzero(allowed)
        if self.limit is None:
            losses = means.max() - means if self.guarantee is None else bounds.at(means)
            enough = rows[self.small_enough(losses[rows], abs(float(means.max())) or 1.0)]
            if len(enough):
                rows = enough[sizes[enough] == sizes[enough].min()]
        best = rows[means[rows] == means[rows].max()]
        return int(best[np.argmin(sizes[best])])


@dataclass(frozen=True)
class Choice:
    """What was chosen among which candidates, and what the data can say of it.

    candidates   all that were compared, those that may not be chosen (dense ones) included; means and bounds are
                 theirs, row by row
    n_sparse     how many of them, the first ones, may be chosen
    rule         that decided; seed: of the resampling
    out_of_fold  whether the candidates of a fold learned from the other queries of the table
    """

    candidates: tuple[Candidate, ...]
    n_sparse: int
    means: np.ndarray
    bounds: LossBounds
    best: Candidate
    chosen: Candidate
    rule: Rule
    seed: int = 0
    out_of_fold: bool = False

    @property
    def by_cost(self) -> bool:
        """The smallest candidate is the one of the lowest cost."""
        return self.rule.by_cost

    @property
    def unit(self) -> float:
        """The size of the best mean, which relative losses refer to."""
        return abs(float(self.means.max())) or 1.0

    @property
    def margin(self) -> float:
        """The largest loss that is small enough, in units of the metric."""
        return self.rule.largest_loss * self.unit

    @property
    def margin_kind(self) -> str:
        """What decides: 'estimate' or 'bound' of the loss, or 'limit' of size or cost."""
        if self.rule.limit is not None:
            return "limit"
        return "estimate" if self.rule.guarantee is None else "bound"

    @property
    def resolution(self) -> float:
        """The smallest loss that the queries can rule out, relative to the best mean."""
        return self.bounds.resolution / self.unit

    @property
    def sparse(self) -> tuple[Candidate, ...]:
        """Those that may be chosen."""
        return self.candidates[: self.n_sparse]

    def bound(self, c: Candidate) -> float:
        """Simultaneous upper bound on the mean loss against the best of all candidates."""
        return float(self.bounds.upper[self._row[c]])

    def loss(self, c: Candidate) -> float:
        """Mean loss against the candidate of the highest mean: an estimate, not corrected for the choice of either."""
        return float(self.means[self._row[self.best]] - self.means[self._row[c]])

    def within_margin(self, c: Candidate) -> bool:
        """Whether its loss is small enough: the estimate, or with a guarantee the bound."""
        loss = self.loss(c) if self.rule.guarantee is None else self.bound(c)
        return bool(self.rule.small_enough(loss, self.unit))

    def smallest(self, among: Sequence[Candidate]) -> Candidate | None:
        """The smallest of these within the margin: fewest features, then lowest cost (or the other way round),
        then highest mean."""
        within = [c for c in among if self.within_margin(c)]
        return min(within, key=lambda c: (*c.size(self.by_cost), -c.mean), default=None)

    @property
    def is_corrected(self) -> bool:
        """Whether there are resamples to correct means by: not for a single query."""
        return len(self.resamples.out) > 0

    @cached_property
    def corrected_chosen(self) -> float:
        """The mean of the chosen candidate, less what it owes to having been chosen by the rule."""
        return self.resamples.corrected(self._row[self.chosen], self._picks)

    def corrected(self, c: Candidate) -> float:
        """The mean of the best candidate of a size, or of the best dense one, less what it owes to being the best of
        these; NaN for one that is not."""
        if self._row[c] < self.n_sparse:
            rows = np.array([i for i, other in enumerate(self.sparse) if self._length(other) == self._length(c)])
        else:
            rows = np.arange(self.n_sparse, len(self.candidates))
        if self.means[self._row[c]] < self.means[rows].max():
            return float("nan")
        return self.resamples.corrected(self._row[c], rows[np.argmax(self.resamples.means[:, rows], axis=1)])

    def size_range(self, share: float = 0.9) -> tuple[int, int]:
        """The numbers of features between which this share of the choices on resampled queries lies."""
        low, high = np.quantile(self.resampled_sizes, [(1 - share) / 2, (1 + share) / 2], method="closest_observation")
        return int(low), int(high)

    @cached_property
    def resampled_sizes(self) -> np.ndarray:
        """(n_resamples,) numbers of features that the same rule keeps on resampled queries."""
        return np.array([c.n_features for c in self.candidates])[self._picks]

    @cached_property
    def resamples(self) -> Resamples:
        return Resamples(np.array([c.values for c in self.candidates]), self.seed)

    def _length(self, c: Candidate) -> float:
        return c.cost if self.by_cost else c.n_features

    @cached_property
    def _picks(self) -> np.ndarray:
        """(n_resamples,) what the rule takes from each resample."""
        allowed = _allowed(self.sparse, len(self.candidates), self.rule)
        sizes = self.rule.sizes(self.candidates)
        return self.resamples.picks(lambda means: self.rule.take(means, self.bounds, allowed, sizes))

    @cached_property
    def _row(self) -> dict[Candidate, int]:
        return {c: i for i, c in enumerate(self.candidates)}


def choose(
    sparse: Sequence[Candidate],
    others: Sequence[Candidate] = (),
    *,
    rule: Rule | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    out_of_fold: bool = False,
) -> Choice:
    """The smallest of the sparse candidates whose loss against the best of all is small enough; others are compared,
    never chosen.

    Parameters
        rule         what is small enough; default an estimated loss of at most 1%
        confidence   of the bounds
        seed         of the draws behind the bounds, and of the resampling
        out_of_fold  whether the candidates of a fold learned from the other queries
    Raises
        DataError   no candidate has a feature and a value; none is that small
    """
    rule = rule or Rule()
    usable = [c for c in sparse if c.n_features > 0 and np.isfinite(c.mean)]
    if not usable:
        raise DataError(
            "nothing can be chosen: no size has a model with features in every fold; take more strengths "
            f"({option('n_alphas')}) or fewer folds."
        )
    everyone = (*usable, *(c for c in others if np.isfinite(c.mean)))
    bounds = loss_bounds(np.array([c.values for c in everyone]), confidence, seed=seed)
    allowed, sizes = _allowed(usable, len(everyone), rule), rule.sizes(everyone)
    # Of the queries that have a value for all candidates, where there are any.
    means = bounds.means if np.isfinite(bounds.means).all() else np.array([c.mean for c in everyone])
    best = everyone[min(range(len(everyone)), key=lambda i: (-means[i], sizes[i]))]
    chosen = everyone[rule.take(means, bounds, allowed, sizes)]
    return Choice(everyone, len(usable), means, bounds, best, chosen, rule, seed, out_of_fold)


def _allowed(usable: Sequence[Candidate], n: int, rule: Rule) -> np.ndarray:
    """(n,) which candidates may be chosen: of the first ones, which are `usable`, those within the limits.

    Raises
        DataError   none is that small
    """
    allowed = np.zeros(n, dtype=bool)
    allowed[: len(usable)] = rule.allows(usable)
    if not allowed.any():
        k, budget = rule.k, rule.budget
        limit = f"{k} feature{'s' if k != 1 else ''}" if budget is None else f"a cost of {budget:g}"
        least = min(c.cost if budget is not None else c.n_features for c in usable)
        raise DataError(
            f"no model that was tried stays within {limit}; the smallest has {least:g}. Allow more, or try more "
            f"strengths ({option('n_alphas')})."
        )
    return allowed
