"""Boosted steps (theory.md section 9): additive models of step functions, by rounds of one-split trees, with few
features by recursive elimination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.errors import DataError, ParameterError
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import OnColumns, SizedMaker
from sparserank.paths.result import PathResult, Point
from sparserank.penalties.rules import RULES
from sparserank.shards._step_kernels import random_numbers
from sparserank.solvers.lockstep import BinSums, Evaluate, Seconds, Steps

LOSS = "lambdarank"  # its name in model files
LARGEST = 60  # number of features of the second model; the first one has all
DROPPED = 0.2  # share of the features that an elimination leaves out
STEPS_A_ROUND = 8  # at most, and at most half as many as the round has features
NEARLY = 0.5  # share of the gain of the best step that the others of its round must have
GAIN_STEPS = 150  # steps after which the gain of the features decides on the next elimination
OTHERS = 1e-9  # share of a gain that counts there if the step is not the best: it orders features that never were
SHARE = 0.7  # share of the queries that a round learns from
MOST_DOCS = 8_000  # largest number of their documents, approximately
LEAST_DOCS = 20  # documents on each side of a step, or a twentieth of very few documents
MAX_CUTOFF = 100_000
FIRST = 1e-9  # cost of an always-keep feature: the first steps are its own
RIDGE = 1e-2  # added to the curvature of a leaf, as a share of that of all documents


@dataclass(frozen=True, repr=False)
class BoostedSteps(SizedMaker):
    """A path maker: models of step functions of at most 60 features. It learns from all features, keeps those of
    largest gain, learns again from these, and so on, a fifth fewer at a time, down to a single one.

    Each round adds steps, trees of one split, to the model: the best one of each of a few features, those with the
    largest gains of a Newton step for the logistic loss of pairs weighted by |delta NDCG| (docs/theory.md section 9).
    Rounds learn from random queries.

    Signs, drop, keep, groups and costs are respected. A path that was interrupted is computed from its beginning.

    Parameters
    ----------
    rounds : int, default 100
        Number of steps of each sequence.
    rate : float, default 0.1
        Share of each Newton step that is added.
    cutoff : int, default 10
        Rank at which the ideal DCG of the weights ends.
    seed : int, default 0
        Seed of the queries of each round, and of the order of tied scores.
    draws : int, default 3
        Number of sequences of random queries; a model is the mean of theirs.

    Source
        Stumps for ranking: Freund, Iyer, Schapire and Singer (2003); weights: Burges (2010).
    """

    rounds: int = 100
    rate: float = 0.1
    cutoff: int = 10
    seed: int = 0
    draws: int = 3

    name = "steps"
    respects = RULES
    on_steps = True
    lowers = LOSS

    def _check(self) -> None:
        for name, least in (("rounds", 1), ("cutoff", 1), ("seed", 0), ("draws", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ParameterError(name, f"must be an integer >= {least}; got {value!r}.", owner="BoostedSteps")
            object.__setattr__(self, name, int(value))
        if self.cutoff > MAX_CUTOFF:
            raise ParameterError("cutoff", f"must be at most {MAX_CUTOFF}; got {self.cutoff}.", owner="BoostedSteps")
        if not 0 < self.rate <= 1:
            raise ParameterError(
                "rate", f"must be greater than 0 and at most 1; got {self.rate}.", owner="BoostedSteps"
            )

    def n_points(self, plan: PathPlan) -> int:
        return len(_ladder(max(LARGEST, len(self.keep)), plan.k))

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        boosting = _Boosting(self, objective)
        sizes = [s for s in boosting.ladder(plan.k) if plan.k is None or s <= plan.k]
        points = (yield from self._points(boosting, plan, len(sizes))) if sizes else []
        points.reverse()  # they are found from the largest size down
        return PathResult.of(points, self, np.full(len(points), np.nan), 1.0, 1.0, objective)

    def on_all_features(self, objective: PairwiseObjective) -> Steps[np.ndarray]:
        """The jumps (n_columns,) of the model of all features that the rules allow."""
        boosting = _Boosting(self, objective)
        w, _ = yield from boosting.learned(boosting.features_of(boosting.elements), self.rounds)
        return w

    def _points(self, boosting: _Boosting, plan: PathPlan, n: int) -> Steps[list[Point]]:
        elements, points = boosting.elements, []
        began = yield Seconds()
        _, gains = yield from boosting.learned(boosting.features_of(elements), GAIN_STEPS)
        # From the largest size down: keep the features of largest gain, learn again from these only.
        for size in boosting.ladder(plan.k):
            elements = boosting.best(elements, gains, size)
            w, gains = yield from boosting.learned(boosting.features_of(elements), self.rounds)
            if plan.k is None or size <= plan.k:
                here = yield Evaluate(boosting.objective, w)
                now = yield Seconds()
                points.append(Point.not_certified(w, here.value, now - began))
                began = now
                if plan.tell is not None:
                    plan.tell(n)
                if plan.enough is not None and plan.enough(points[-1]):
                    break
        return points


@dataclass(frozen=True, eq=False)
class StepsOn(OnColumns):
    """A path maker: boosted steps learned again on each of these sets of features.

    starts   (n_sets, n_coefficients) CSR; the features with an entry in a row are a set
    """

    maker: BoostedSteps
    starts: sp.csr_array

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        boosting, points = _Boosting(self.maker, objective), []
        for i in range(self.n_points(plan)):
            began = yield Seconds()
            features = np.unique(self.starts[[i]].indices // objective.width)
            w, _ = yield from boosting.learned(features, self.maker.rounds)
            now = yield Seconds()
            points.append(Point.not_certified(w, np.nan, now - began))
        return PathResult.of(points, self.maker, np.ones(len(points)), 1.0, 1.0, objective)

    def n_points(self, plan: PathPlan) -> int:
        return int(self.starts.shape[0])


class _Boosting:
    """Rounds on one objective. An element is a feature or a group: it is paid for once and eliminated as a whole."""

    def __init__(self, maker: BoostedSteps, objective: PairwiseObjective) -> None:
        self._maker, self.objective = maker, objective
        self._m = objective.width
        n = objective.n_features // self._m
        self._cost = maker.feature_weights(n)
        self._of_feature = np.asarray(maker.group_of(n))
        self._signs = maker.feature_signs(n)
        varying = objective.varying.reshape(n, -1).any(axis=1)
        self._usable = np.flatnonzero(np.isfinite(self._cost) & varying)
        if len(self._usable) == 0:
            raise DataError(
                f"{maker.label}: the rules exclude every feature that varies (by drop, or by weights of inf); allow at "
                "least one."
            )
        priced = self._cost[self._usable][self._cost[self._usable] > 0]
        self._cost = self._cost / (priced.min() if len(priced) else 1.0)  # only ratios of costs matter
        self.elements = np.unique(self._of_feature[self._usable])
        self._always = np.unique(self._of_feature[self._usable[self._cost[self._usable] == 0]])
        n_docs, n_queries = objective.n_useful_docs, objective.shards.n_queries
        self._price = np.ones(int(self._of_feature.max(initial=-1)) + 1)
        self._price[self._of_feature[self._usable]] = np.maximum(self._cost[self._usable], FIRST)
        self._share, self._n_queries = min(SHARE, MOST_DOCS / max(n_docs, 1)), n_queries

    def ladder(self, k: int | None) -> Sequence[int]:
        """The sizes of the models, decreasing, without those that always-keep elements exceed."""
        largest = max(LARGEST, len(self._always))
        sizes = _ladder(min(largest, len(self.elements)), k)
        return [s for s in sizes if s >= len(self._always)] or sizes[:1]

    def best(self, elements: np.ndarray, gains: np.ndarray, size: int) -> np.ndarray:
        """The `size` elements of largest gain for their cost, always-keep elements first."""
        worth = np.where(np.isin(elements, self._always), np.inf, gains[elements] / self._price[elements])
        return np.sort(elements[np.argsort(-worth, kind="stable")[:size]])

    def features_of(self, elements: np.ndarray) -> np.ndarray:
        """The usable features of these elements."""
        features: np.ndarray = self._usable[np.isin(self._of_feature[self._usable], elements)]
        return features

    def learned(self, features: np.ndarray, rounds: int) -> Steps[tuple[np.ndarray, np.ndarray]]:
        """(jumps (n_columns,) of a model of some features, the mean over the seeds; gain of every element in the first
        GAIN_STEPS steps)."""
        sequences = []
        for seed in range(self._maker.seed, self._maker.seed + self._maker.draws):
            sequences.append((yield from self._learned(features, rounds, seed)))
        return np.mean([w for w, _ in sequences], axis=0), np.sum([gains for _, gains in sequences], axis=0)

    def _learned(self, features: np.ndarray, rounds: int, seed: int) -> Steps[tuple[np.ndarray, np.ndarray]]:
        maker, m = self._maker, self._m
        w, gains = np.zeros(self.objective.n_features), np.zeros(len(self._price))
        unpaid = np.maximum(self._cost[features], FIRST)
        most, n_steps = min(max(len(features) // 2, 1), STEPS_A_ROUND), 0
        for t in range(rounds if len(features) else 0):
            # Sum gradients and curvatures by bin, over queries drawn by seed, round and query.
            seeds = drawn(seed, t, self._n_queries, self._share)
            sums = yield BinSums(self.objective, w, features, seeds, maker.cutoff)
            # Add the best steps, of which there are none if no query was drawn, or none that allows a step.
            steps = best_steps(sums, unpaid, self._signs[features], min(most, rounds - n_steps))
            for step in steps:
                w[features[step.feature] * m + step.bin] += maker.rate * step.jump
                element = self._of_feature[features[step.feature]]
                # The gains of the other steps do not take the best step into account, which may have the same effect.
                if n_steps < GAIN_STEPS:
                    gains[element] += step.gain * (1.0 if step is steps[0] else OTHERS)
                # A feature or group costs until the model uses it.
                unpaid[self._of_feature[features] == element] = 1.0
            n_steps += len(steps)
            if n_steps == rounds:
                break
        return w, gains


class Step(NamedTuple):
    """One boosting step: position of the feature, bin, jump, and the gain before it is divided by a cost."""

    feature: int
    bin: int
    jump: float
    gain: float


def best_steps(sums: np.ndarray, costs: np.ndarray, signs: np.ndarray, most: int) -> list[Step]:
    """The best step of each of at most `most` features whose gain for its cost is at least NEARLY of the largest, the
    best first.

    sums (n_features, n_bins, 3): gradient, curvature and number of documents by bin; costs (n_features,) divide gains;
    signs (n_features,): 1 and -1 allow only jumps of this sign.
    """
    left = np.cumsum(sums, axis=1)
    total = left[:, -1:]
    left, right = left[:, :-1], total - left[:, :-1]
    ridge = RIDGE * total[..., 1]
    # Newton leaves and their gain (theory.md section 9); jumps of a wrong sign are not allowed.
    with np.errstate(divide="ignore", invalid="ignore"):
        leaves = [-side[..., 0] / (side[..., 1] + ridge) for side in (left, right)]
        gain = -(left[..., 0] * leaves[0] + right[..., 0] * leaves[1])
    jump = leaves[1] - leaves[0]
    least = min(LEAST_DOCS, total[..., 2].max(initial=0.0) / 20)
    allowed = (np.minimum(left[..., 2], right[..., 2]) >= max(least, 1.0)) & (jump * signs[:, None] >= 0) & (gain > 0)
    worth = np.where(allowed, gain / costs[:, None], 0.0)
    bins, best = worth.argmax(axis=1), worth.max(axis=1)
    first = np.argsort(-best, kind="stable")[:most]
    taken = first[(best[first] > 0) & (best[first] >= NEARLY * best.max())].tolist()
    return [Step(j, int(bins[j]), float(jump[j, bins[j]]), float(gain[j, bins[j]])) for j in taken]


def drawn(seed: int, t: int, n_queries: int, share: float) -> np.ndarray:
    """(n_queries,) uint64 random seeds of the queries in round t, and 0 for those that are not drawn (splitmix64)."""
    z = np.empty(n_queries, dtype=np.uint64)
    random_numbers(np.random.SeedSequence([seed, t]).generate_state(1, np.uint64)[0], z)
    return np.where((z >> np.uint64(11)) * 2.0**-53 < share, z | np.uint64(1), np.uint64(0))


def _ladder(largest: int, k: int | None = None) -> Sequence[int]:
    """The sizes of recursive elimination: each is about a fifth smaller than the one before, down to 1; and k."""
    sizes = [largest] if largest else []
    while sizes and sizes[-1] > 1:
        sizes.append(sizes[-1] - max(round(DROPPED * sizes[-1]), 1))
    return sizes if k is None else sorted({*sizes, min(k, largest)}, reverse=True)
