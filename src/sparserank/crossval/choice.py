"""The rule that chooses a model: the smallest candidate with a loss that is small enough. A loss is the difference to
the best mean of all candidates. Its estimate decides; the bound on it decides only if a guarantee is requested."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.crossval.feature_groups import within_budget
from sparserank.crossval.resampling import TIE, Resamples, tied
from sparserank.errors import DataError
from sparserank.evaluation import mean_of
from sparserank.evaluation.loss_bounds import MIN_DIFFERENT, LossBounds, loss_bounds
from sparserank.evaluation.statistics import mean_interval
from sparserank.lazy import cached_property
from sparserank.options import option
from sparserank.options.selection import DEFAULT_MARGIN

STEPS_COUNT = 1.25 * (1.0 - 1e-9)  # weights that a step function counts as: steps must have a fifth fewer features
LEAD, LEAD_ALONE = 1.0, 1.5  # paired standard errors by which a choice must lead a named formula; a single feature
MIN_NEW = 50  # queries on which an earlier run has not been trained, from which they alone judge its features
ROUNDING = 1e-12  # relative to the best mean; differences of means are not known more exactly


class Measured:
    """What has values of the metric."""

    values: np.ndarray
    per_query: np.ndarray | None

    @property
    def mean(self) -> float:
        return mean_of(self.values)

    @property
    def shown(self) -> np.ndarray:
        """(n_queries,) the metric query by query."""
        return self.values if self.per_query is None else self.per_query


@dataclass(frozen=True, eq=False)
class Candidate(Measured):
    """A way to make a model of at most k features, with the quality of the models that it makes.

    penalty      label of the path maker
    k            largest number of features, or cost if there are groups; in every fold and in the final path, the
                 candidate is the point with the lowest training loss within it
    relax        share of the way from the point to its refit without the sparsity penalty: 0, 1/2 or 1
    index        point on the final path (of the label's own path, or of its refits when relax > 0)
    n_features   of the final model; cost: total cost of these features
    values       (n_queries,) metric on queries that the scored model has not seen
    formula      name of a formula with fixed weights, which was not fitted; '' for others
    on_steps     whether it is made of step functions, which are more to read and to run than weights
    per_query    (n_queries,) the metric by the grades of people, if a judge has corrected the values; None: the values
    """

    penalty: str
    k: float
    relax: float
    index: int
    n_features: int
    cost: float
    values: np.ndarray
    formula: str = ""
    on_steps: bool = False
    per_query: np.ndarray | None = None

    def size(self, by_cost: bool) -> tuple[float, float]:
        """Sort key, smallest first: by number of features, then by cost (or the other way round, if by_cost). A step
        function counts as STEPS_COUNT weights."""
        factor = STEPS_COUNT if self.on_steps else 1.0
        cost, n_features = factor * self.cost, factor * self.n_features
        return (cost, n_features) if by_cost else (n_features, cost)

    @property
    def label(self) -> str:
        """'mcp', 'mcp relaxed (0.5)', 'mcp relaxed (1)', 'RRF'."""
        if self.formula:
            return self.formula
        return self.penalty + (f" relaxed ({self.relax:g})" if self.relax else "")


def reference_name(c: Candidate) -> str:
    """Name of the reference candidate in tables and messages: 'all features', 'RRF of all', 'bm25 alone'."""
    if not c.formula:
        return "all features"
    return c.formula if c.n_features == 1 else f"{c.formula} of all"


FEATURE, TOTAL_COST = "feature", "total cost"  # default nouns in messages


@dataclass(frozen=True)
class Rule:
    """The criterion for a loss that is small enough.

    margin      largest estimated loss, relative to the best mean of all candidates
    guarantee   instead: largest bound on the loss, relative to the same mean
    k, budget   instead of either: the best of at most k features, or of at most this total cost
    by_cost     the smallest candidate is the one with the lowest cost, not with the fewest features
    most        candidates with more features are not chosen, whatever decides
    only        labels of the path makers whose candidates may be chosen; None: all of them
    whose       the candidates of the rule in words, such as ' of the features of last-week'
    noun, cost  words for a feature and for the cost of a candidate in messages
    smaller     what may make smaller candidates, in words, and its option
    """

    margin: float = DEFAULT_MARGIN
    guarantee: float | None = None
    k: int | None = None
    budget: float | None = None
    by_cost: bool = False
    most: int | None = None
    noun: str = FEATURE
    cost: str = TOTAL_COST
    only: frozenset[str] | None = None
    whose: str = ""
    smaller: tuple[str, str] = ("more strengths", "n_alphas")

    @property
    def limit(self) -> str | None:
        """'at most 5 features', or None if a loss decides."""
        if self.k is not None:
            return f"at most {self.k} {self.noun}{'s' if self.k > 1 else ''}"
        return None if self.budget is None else f"a {self.cost} of at most {self.budget:g}"

    @property
    def largest_loss(self) -> float:
        """Largest loss relative to the best mean: of the estimate, or of the bound if there is a guarantee."""
        return self.margin if self.guarantee is None else self.guarantee

    def small_enough(self, losses: Any, unit: float) -> Any:
        """Whether losses, or bounds on them, are within the limit; unit: absolute value of the best mean."""
        return losses <= (self.largest_loss + ROUNDING) * unit

    def sizes(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """(m,) rank of each candidate by size; 0 for the smallest, equal ranks for equal sizes."""
        sizes = [c.size(self.by_cost) for c in candidates]
        rank = {size: i for i, size in enumerate(sorted(set(sizes)))}
        return np.array([rank[size] for size in sizes], dtype=np.int64)

    def allows(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """(m,) bool: candidates within k and the budget."""
        cost, n_features = np.array([c.cost for c in candidates]), np.array([c.n_features for c in candidates])
        within = np.array([self.only is None or c.penalty in self.only for c in candidates], dtype=bool)
        if self.most is not None:
            within &= n_features <= self.most
        if self.k is not None:
            within &= n_features <= self.k
        if self.budget is not None:
            within &= within_budget(cost, self.budget)
        return within

    def take(self, means: np.ndarray, bounds: LossBounds, allowed: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The row of the chosen candidate by these means (m,), followed by rows of its size that are tied with it.

        The choice is the best one of the smallest size among the allowed candidates whose loss is small enough. If
        there is none, or a limit decides, it is the allowed candidate with the highest mean.
        """
        rows = np.flatnonzero(allowed)
        if self.limit is None:
            # The loss compared with the best mean, or its simultaneous upper bound under a guarantee.
            losses = means.max() - means if self.guarantee is None else bounds.at(means)
            enough = rows[self.small_enough(losses[rows], abs(float(means.max())) or 1.0)]
            # Among those whose loss is small enough, only the smallest size remains.
            if len(enough):
                rows = enough[sizes[enough] == sizes[enough].min()]
        # The highest mean decides; of tied candidates, the smallest.
        best = rows[tied(means[rows])]
        return best[sizes[best] == sizes[best].min()]


@dataclass(frozen=True)
class Preference:
    """The loss of the models that use only the features of an earlier run, and whether these models are preferred.

    run        name of the earlier run
    loss       mean loss of the best choice among these models, and its paired standard error, in units of the metric;
               None: no such model is within the limits, or there are fewer than two queries
    unit       the mean of the model that it is compared with, on the queries that decided
    n_queries  number of these
    new        whether only queries that the run has not learned from decided; None: these queries are not known
    kept       whether the loss is within the margin, so that one of these models is chosen
    """

    run: str
    loss: tuple[float, float] | None
    unit: float
    n_queries: int
    new: bool | None
    kept: bool


@dataclass(frozen=True)
class Choice:
    """The chosen candidate, all candidates that it was chosen from, and the statistics on them.

    candidates   all compared candidates, including dense ones, which may not be chosen; means and bounds have one row
                 for each
    n_sparse     number of candidates that may be chosen; they come first
    rule         rule that decided; seed: of the resampling
    named        the formula that was named before the data were seen, if there is one
    contender    the candidate that the rule alone would choose
    needed       (m,) lead over the mean of the named formula that earns a candidate its place: LEAD paired standard
                 errors, LEAD_ALONE for a candidate of a single feature; None: the formula is not defended
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
    named: Candidate | None = None
    contender: Candidate | None = None
    needed: np.ndarray | None = None
    preference: Preference | None = None

    @property
    def by_cost(self) -> bool:
        """True if the smallest candidate is the one with the lowest cost."""
        return self.rule.by_cost

    @property
    def unit(self) -> float:
        """Absolute value of the best mean, the unit of relative losses; 1 if it is 0."""
        return abs(float(self.means.max())) or 1.0

    @property
    def margin(self) -> float:
        """The largest accepted loss, in units of the metric."""
        return self.rule.largest_loss * self.unit

    @property
    def margin_kind(self) -> str:
        """The criterion that decides: 'estimate' or 'bound' of the loss, or 'limit' of size or cost."""
        if self.rule.limit is not None:
            return "limit"
        return "estimate" if self.rule.guarantee is None else "bound"

    @property
    def resolution(self) -> float:
        """The smallest loss that the queries can rule out, relative to the best mean."""
        return self.bounds.resolution / self.unit

    @property
    def sparse(self) -> tuple[Candidate, ...]:
        """Candidates that may be chosen."""
        return self.candidates[: self.n_sparse]

    def bound(self, c: Candidate) -> float:
        """Simultaneous upper bound on the mean loss compared with the best of all candidates."""
        return float(self.bounds.upper[self._row[c]])

    def loss(self, c: Candidate) -> float:
        """Mean loss compared with the candidate with the highest mean. The estimate is not corrected for the fact that
        both were chosen on the same queries."""
        return float(self.means[self._row[self.best]] - self.means[self._row[c]])

    def within_margin(self, c: Candidate) -> bool:
        """True if the loss is small enough: the estimate, or with a guarantee the bound."""
        loss = self.loss(c) if self.rule.guarantee is None else self.bound(c)
        return bool(self.rule.small_enough(loss, self.unit))

    def smallest(self, among: Sequence[Candidate]) -> Candidate | None:
        """The smallest of these candidates within the margin: fewest features, then lowest cost (or the other way
        round), then highest mean."""
        within = [c for c in among if self.within_margin(c)]
        return min(within, key=lambda c: (*c.size(self.by_cost), -c.mean), default=None)

    @cached_property
    def passed_over(self) -> Candidate | None:
        """The smallest model of step functions that is within the margin and has fewer features than the chosen model
        of weights, but not a fifth fewer; None if there is none."""
        if self.rule.limit is not None or self.chosen.on_steps:
            return None
        fewer = [c for c in self.sparse if c.on_steps and self._length(c) < self._length(self.chosen)]
        return self.smallest([c for c in fewer if self._allowed[self._row[c]]])

    @cached_property
    def corrected_chosen(self) -> float:
        """The mean of the chosen candidate, corrected for the optimistic bias of the choice; NaN for a single
        query, which cannot be resampled."""
        return self.resamples.corrected(self._take(self.means), self._picks)

    @property
    def n_unequal(self) -> int:
        """Number of queries on which the chosen candidate has another value than its most frequent one."""
        known = self.chosen.shown[np.isfinite(self.chosen.shown)]
        return len(known) - int(np.unique(known, return_counts=True)[1].max(initial=0))

    def corrected_interval(self, confidence: float) -> tuple[float, float]:
        """The t interval of the mean of the chosen candidate over queries, moved to its corrected mean; NaN if fewer
        than MIN_DIFFERENT queries have another value than the most frequent one: rarer values may be missing by
        chance."""
        if self.n_unequal < MIN_DIFFERENT:
            return np.nan, np.nan
        mean, low, high = mean_interval(self.chosen.values, confidence)
        bias = mean - self.corrected_chosen
        return low - bias, high - bias

    @cached_property
    def by_size(self) -> list[Candidate]:
        """The best candidate of each number of features, or of each cost, smallest first. A size is left out if a
        smaller size has a candidate that is as good. The chosen candidate always represents its size."""
        # The best candidate of each size; the chosen one represents its own.
        best: dict[float, Candidate] = {}
        for c in self.sparse:
            size = self._length(c)
            if size not in best or self.mean(c) > self.mean(best[size]):
                best[size] = c
        best[self._length(self.chosen)] = self.chosen
        # Leave out sizes that are no better than a smaller one.
        out: list[Candidate] = []
        highest = -np.inf
        for _, c in sorted(best.items()):
            if c is self.chosen or self.mean(c) > highest + TIE * self.unit:
                out.append(c)
            highest = max(highest, self.mean(c))
        return out

    @cached_property
    def other(self) -> Candidate | None:
        """The alternative if the queries cannot distinguish candidates: the smallest of `by_size` whose loss is within
        one standard error of its difference from the best (Breiman et al. 1984, the one-standard-error rule, paired).
        If that is the chosen candidate, it is the one with the highest mean, or None if that is the chosen one too."""
        error = self.bounds.error[self._row[self.best]]
        if not np.isfinite(error).all():  # too few queries for standard errors
            return None
        near = [c for c in self.by_size if self.loss(c) <= error[self._row[c]]]
        alternatives = [*near[:1], max(self.by_size, key=self.mean)]
        return next((c for c in alternatives if c is not self.chosen), None)

    @cached_property
    def reference(self) -> Candidate:
        """The candidate that differences refer to: the named formula, or else the best one that may not be chosen (all
        features), or else the best formula, or else the best of all."""
        dense, formulas = self.candidates[self.n_sparse :], [c for c in self.sparse if c.formula]
        return self.named or max(dense or formulas, key=self.mean, default=self.best)

    def asked(self, c: Candidate) -> float:
        """The lead over the named formula that earns a candidate its place."""
        assert self.needed is not None
        return float(self.needed[self._row[c]])

    def shows_difference(self, a: Candidate, b: Candidate) -> bool:
        """Whether the bounds show one of two candidates to be better than the other."""
        i, j = sorted((self._row[a], self._row[b]), key=lambda row: self.means[row])
        return bool(self.means[j] - self.means[i] > self.bounds.quantile[j] * self.bounds.error[i, j])

    def mean(self, c: Candidate) -> float:
        """Mean metric of a candidate on the queries that have a value for every candidate."""
        return float(self.means[self._row[c]])

    def size_range(self) -> tuple[int, int]:
        """The range of numbers of features that contains 90% of the choices on resampled queries."""
        low, high = np.quantile(self.resampled_sizes, [(1 - 0.9) / 2, (1 + 0.9) / 2], method="closest_observation")
        return int(low), int(high)

    def preferring(self, run: str, labels: Collection[str], new: np.ndarray | None) -> Choice:
        """The choice among the candidates with these labels, which use only the features of an earlier run, if its loss
        is within the margin; otherwise the same choice. The loss is the difference to the best of all, or under a limit
        to the choice of the rule. Only the queries that the run has not learned from decide, if there are MIN_NEW.

        new  (n_queries,) bool: the queries that the run has not learned from; None: not known
        """
        values = np.array([c.values for c in self.candidates])
        on = np.isfinite(values).all(axis=0)
        known = None
        if new is not None:
            known = int((on & new).sum()) >= MIN_NEW
            on = on & new if known else on
        rule = replace(self.rule, only=frozenset(labels), whose=f" of the features of {run}")
        rival = values[self._row[self.best if rule.limit is None else self.chosen], on]
        unit = abs(float(rival.mean())) if len(rival) else 0.0
        if len(rival) < 2 or not rule.allows(self.sparse).any():
            return replace(self, preference=Preference(run, None, unit, len(rival), known, kept=False))
        allowed = _allowed(self.sparse, len(self.candidates), rule)
        row = int(rule.take(self.means, self.bounds, allowed, self._sizes)[0])
        lost = rival - values[row, on]
        loss = float(lost.mean()), float(lost.std(ddof=1) / np.sqrt(len(lost)))
        is_preferred = bool(rule.small_enough(loss[0], unit or 1.0))
        out = replace(self, preference=Preference(run, loss, unit, len(lost), known, is_preferred))
        return replace(out, chosen=self.candidates[row], rule=rule) if is_preferred else out

    @cached_property
    def resampled_sizes(self) -> np.ndarray:
        """(n_resamples,) numbers of features that the same rule chooses on resampled queries."""
        return np.array([c.n_features for c in self.candidates])[self._picks.argmax(axis=1)]

    @cached_property
    def resamples(self) -> Resamples:
        return Resamples(np.array([c.values for c in self.candidates]), self.seed)

    def _length(self, c: Candidate) -> float:
        return c.cost if self.by_cost else c.n_features

    @cached_property
    def _picks(self) -> np.ndarray:
        """(n_resamples, m) bool: the rows that the rule takes on each resample; several are tied candidates of one
        size."""
        return self.resamples.picks(self._take)

    def _take(self, means: np.ndarray) -> np.ndarray:
        """The rows that the rule takes for means (m,) of these candidates; if the named formula is defended, among it
        and the candidates that earn their place. Several rows are tied candidates of one size."""
        allowed = self._allowed
        if self.needed is not None and self.named is not None:
            row = self._row[self.named]
            lead = means - means[row]
            earned = (lead > 0) & (lead >= self.needed)
            earned[row] = True
            allowed = allowed & earned
        return self.rule.take(means, self.bounds, allowed, self._sizes)

    @cached_property
    def _allowed(self) -> np.ndarray:
        return _allowed(self.sparse, len(self.candidates), self.rule)

    @cached_property
    def _sizes(self) -> np.ndarray:
        return self.rule.sizes(self.candidates)

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
    named: str = "",
) -> Choice:
    """Choose the smallest sparse candidate whose loss compared with the best of all is small enough. The others are
    compared, but never chosen.

    Parameters
        rule         criterion for a small enough loss; default an estimated loss of at most 1%
        confidence   of the bounds
        seed         of the draws behind the bounds, and of the resampling
        out_of_fold  whether the candidates of a fold learned from the other queries
        named        the formula that is chosen unless another candidate earns its place: unless a limit decides, the
                     rule chooses among the formula and the candidates that lead it by enough paired standard errors
    Raises
        DataError   no candidate has a feature and a value; no candidate is small enough
    """
    rule = rule or Rule()
    usable = [c for c in sparse if c.n_features > 0 and np.isfinite(c.mean)]
    if not usable:
        raise DataError(
            "no model can be chosen: no size has a model with features in every fold; use more strengths "
            f"({option('n_alphas')}) or fewer folds."
        )
    # The usable candidates are the first rows of all arrays; the rows after them are compared, but never chosen.
    everyone = (*usable, *(c for c in others if np.isfinite(c.mean)))
    values, shown = (np.array(of) for of in zip(*((c.values, c.shown) for c in everyone), strict=True))
    bounds = loss_bounds(values, confidence, seed=seed, shown=shown)
    allowed, sizes = _allowed(usable, len(everyone), rule), rule.sizes(everyone)
    # The means of the bounds are over the queries on which every candidate has a value. Without such a query, the mean
    # of a candidate is over the queries on which it has a value itself.
    means = bounds.means if np.isfinite(bounds.means).all() else np.array([c.mean for c in everyone])
    # Losses are relative to `best`, the largest mean (the smaller model if means are equal). `contender` is what the
    # rule chooses if it does not prefer a named formula.
    best = everyone[np.lexsort((sizes, -means))[0]]
    contender = everyone[rule.take(means, bounds, allowed, sizes)[0]]
    formula = next((c for c in usable if named and c.formula == named), None)
    alone = Choice(everyone, len(usable), means, bounds, best, contender, rule, seed, out_of_fold, formula, contender)
    # The contender is chosen if no formula is named, if the formula is outside the limits, or if k or a budget decides.
    if formula is None or rule.limit is not None or not allowed[everyone.index(formula)]:
        if alone.passed_over is None:
            return alone
        return replace(alone, rule=replace(rule, whose=f"{rule.whose} (a step function counts as 1.25 weights)"))
    # Otherwise the rule chooses among the formula and the candidates that earn their place.
    errors = np.array([LEAD_ALONE if c.n_features == 1 else LEAD for c in everyone])
    defended = replace(alone, needed=errors * bounds.error[everyone.index(formula)])
    leads = (
        f" that leads {reference_name(formula)} by {LEAD:g} standard error ({LEAD_ALONE:g} for a single {rule.noun})"
    )
    return replace(defended, chosen=everyone[defended._take(means)[0]], rule=replace(rule, whose=leads))


def _allowed(usable: Sequence[Candidate], n: int, rule: Rule) -> np.ndarray:
    """(n,) bool: the candidates that may be chosen. These are the `usable` ones, which come first, within the limits.

    Raises
        DataError   none is within the limits
    """
    allowed = np.zeros(n, dtype=bool)
    allowed[: len(usable)] = rule.allows(usable)
    if not allowed.any():
        k, budget = rule.k, rule.budget
        limit = f"{k} feature{'s' if k != 1 else ''}" if budget is None else f"a cost of {budget:g}"
        least = min(c.cost if budget is not None else c.n_features for c in usable)
        remedy, name = rule.smaller
        raise DataError(
            f"none of the models tried stays within {limit}; the smallest has {least:g}. Allow more, or try {remedy} "
            f"({option(name)})."
        )
    return allowed
