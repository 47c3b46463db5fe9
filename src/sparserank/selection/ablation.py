"""The ablation of selected features and of groups in use, on queries that the models have not seen. Each feature is
removed with the others refitted, removed with the others unchanged, and replaced by another feature."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.tasks import FINAL
from sparserank.data.matrices import without_entries
from sparserank.evaluation.statistics import mean_interval
from sparserank.model import RankingModel
from sparserank.paths import BoostedSteps, RuledMaker
from sparserank.paths.boosting import StepsOn
from sparserank.paths.refits import TOUCH, GivenSupports
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.worth import Substitute, Worth, drawn
from sparserank.transforms import NONE
from sparserank.workdir.pieces import WorkStore, load_or_make

MAX_OF_SIZE = 12  # features: models of other sizes with more are not ablated
MAX_DOCUMENTS = 100_000  # training documents: with more, only the chosen model is ablated
MAX_REFITTED = 60  # features with the largest weights that are left out with refits

Costs = dict[str, dict[str, float]]  # by metric: cost, low, high


@dataclass(frozen=True)
class Ablation:
    """The ablation of a candidate, by default the chosen one; `model` is its final model."""

    cv: CrossValidation
    candidate_set: CandidateSet
    choice: Choice
    model: RankingModel
    plan: SelectionPlan
    candidate: Candidate | None = None

    @property
    def chosen(self) -> Candidate:
        return self.candidate or self.choice.chosen

    def worth(
        self, substitutes: Mapping[int, int], correlations: Mapping[int, float], store: WorkStore | None = None
    ) -> Worth:
        """Ablate the chosen model. substitutes: {feature: its substitute}; correlations: {feature: its correlation with
        its substitute}. Finished refits are kept in `store` and reused."""
        model = self.model
        feature_groups = self.cv.feature_groups
        with_groups = self.plan.by_cost
        # The selected features, largest weight first: the columns of each, and the first of them.
        weights = model.weights
        firsts = [model.sources[name][0] for name in model.weights]
        alone = [np.array(model.columns[name]) for name in weights]
        features = np.array([f.index for f in firsts], dtype=np.int64)
        used = sorted(feature_groups.used(model.support), key=lambda g: -feature_groups.costs[g]) if with_groups else []
        members = [np.flatnonzero(np.array(feature_groups.of_feature) == g) for g in used]
        swaps = [(j, substitutes[j]) for j in features[:MAX_REFITTED].tolist() if j in substitutes]
        price = feature_groups.cost_of_feature
        no_swaps = self.plan.feature_groups is not None or self.chosen.formula or self.plan.fast
        swaps = [] if no_swaps else [(j, other) for j, other in swaps if price[other] <= price[j]]
        sets = [*alone, *members]
        # The features beyond the largest MAX_REFITTED have no refits.
        refits = [*range(min(len(alone), MAX_REFITTED)), *range(len(alone), len(sets))]
        refitted = None if self.plan.fast else self._stored_refits([sets[i] for i in refits], swaps, store)
        costs: dict[int, Costs] = {}
        if refitted is not None:
            costs = {i: self._cost_without(refitted, at, sets[i]) for at, i in enumerate(refits)}
        unfitted = self.unfitted(sets)

        def worth_of(i: int) -> dict[str, Any]:
            return {"cost": costs.get(i), "zeroed": self._costs(unfitted[:, 0], unfitted[:, 1 + i])}

        rows = [
            {
                "feature": first.source,
                "coef": weights[first.source],
                "transform": first.kind if first.derived is None else NONE,
                "steps": drawn(first, self.cv.data) if first.derived is None else None,
                "folds": sum(
                    first.index in self.candidate_set.features(self.chosen, f) for f in self.cv.folds or [FINAL]
                ),
                **worth_of(i),
            }
            for i, first in enumerate(firsts)
        ]
        of_groups = [
            {
                "group": feature_groups.names[g],
                "group_cost": feature_groups.costs[g],
                "features": [model.feature_names[j] for j in np.intersect1d(features_of, model.support)],
                **worth_of(i),
            }
            for i, (g, features_of) in enumerate(zip(used, members, strict=True), len(alone))
        ]
        possible = []
        if refitted is not None:
            differences = self.candidate_set.with_judge(refitted[0, 1 + len(refits) :] - refitted[0, 0])
            possible = [self._substitute(swap, differences[i], correlations) for i, swap in enumerate(swaps)]
        return Worth(rows, of_groups, tuple(s for s in possible if -s.difference <= self.choice.margin))

    def _stored_refits(
        self, sets: Sequence[np.ndarray], swaps: Sequence[tuple[int, int]], store: WorkStore | None
    ) -> np.ndarray:
        """`_refitted`, stored as one piece of work."""
        depends = repr([*self.key, self.learner, [s.tolist() for s in sets], list(swaps)])
        name = f"ablation-{hashlib.sha256(depends.encode()).hexdigest()[:16]}"
        shape = len(self.cv.metrics), 1 + len(sets) + len(swaps), None
        return load_or_make(store, name, lambda: {"values": self._refitted(sets, swaps)}, values=("f", shape))["values"]

    def _refitted(self, sets: Sequence[np.ndarray], swaps: Sequence[tuple[int, int]]) -> np.ndarray:
        """(n_metrics, 1 + n_sets + n_swaps, n_queries) metric of refits that have not seen the query: on all features
        of the candidate, without each set of features, and with one feature swapped for another. A named formula keeps
        its weights."""
        if self.chosen.formula:
            return self.unfitted(sets)
        transform = self.candidate_set.transform(self.chosen)
        rows = {f: self._rows(f, sets, swaps) for f in self.cv.folds or [FINAL]}
        return self.cv.refitted(transform, {f: _refits(self.learner, of) for f, of in rows.items()})

    def unfitted(self, sets: Sequence[np.ndarray]) -> np.ndarray:
        """(n_metrics, 1 + n_sets, n_queries) metric of the candidate, and without each set of features; no refits."""
        of_candidate = [self.candidate_set.values(self.chosen, m) for m in range(len(self.cv.metrics))]
        return np.concatenate(
            [np.array(of_candidate)[:, None], self.cv.without(self.candidate_set, self.chosen, sets)], axis=1
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """Identifies the candidate among those of the same paths."""
        c = self.chosen
        return self.candidate_set.tasks[c.penalty].key, c.k, c.relax, c.index

    @property
    def learner(self) -> BoostedSteps | tuple[int, ...] | None:
        """The part of the task that refits depend on: the maker of boosted steps, or the sign rules of the
        coefficients."""
        rules = self.candidate_set.tasks[self.chosen.penalty].maker.rules
        return rules if isinstance(rules, BoostedSteps) else rules.monotone

    def _rows(self, f: int, sets: Sequence[np.ndarray], swaps: Sequence[tuple[int, int]] = ()) -> list[sp.csr_array]:
        """Coefficients in fold f: of the candidate, without each set of features, and with one feature swapped for
        another."""
        of_candidate = self.candidate_set.coefficients(self.chosen, f)
        width = self.candidate_set.width(self.chosen)
        feature = of_candidate.indices // width  # of each coefficient
        rows = [of_candidate, *(without_entries(of_candidate, np.isin(feature, features)) for features in sets)]
        return [*rows, *(_moved(of_candidate, feature == j, (other - j) * width) for j, other in swaps)]

    def rows(self, f: int) -> list[sp.csr_array]:
        """Coefficients of fold f: of the candidate, and without each of its features."""
        return self._rows(f, self.columns)

    @property
    def columns(self) -> list[np.ndarray]:
        """The columns of each selected feature, in data order."""
        return list(map(np.array, self.model.columns.values()))

    def costs_of(self, values: np.ndarray) -> dict[str, Costs]:
        """{feature: costs} from values (n_metrics, 1 + n_selected, n_queries) of refits of `rows`."""
        return {
            name: self._cost_without(values, i, np.array(columns))
            for i, (name, columns) in enumerate(self.model.columns.items())
        }

    def _cost_without(self, values: np.ndarray, i: int, features: np.ndarray) -> Costs:
        """Costs of leaving out set number i, from values (n_metrics, 1 + n_sets, n_queries) of `_refitted`. In a
        fusion, if a single retriever remains, the known values of that retriever are used instead."""
        names = [f.name.rpartition(":")[0] for f in self.model.features if f.index not in features]
        alone = self.candidate_set.formula(f"{names[0]} alone") if len(names) == 1 else None
        if alone is None:
            return self._costs(values[:, 0], values[:, 1 + i])
        metrics = range(len(self.cv.metrics))
        of_chosen, of_rest = (
            np.array([self.candidate_set.values(c, m) for m in metrics]) for c in (self.chosen, alone)
        )
        return self._costs(of_chosen, of_rest)

    def _costs(self, values: np.ndarray, without: np.ndarray) -> Costs:
        """Mean costs with intervals, from values of shape (n_metrics, n_queries)."""
        costs = self.candidate_set.with_judge(values - without)
        return {
            repr(metric): dict(zip(("cost", "low", "high"), mean_interval(cost, self.plan.confidence), strict=True))
            for metric, cost in zip(self.cv.metrics, costs, strict=True)
        }

    def _substitute(
        self, swap: tuple[int, int], differences: np.ndarray, correlations: Mapping[int, float]
    ) -> Substitute:
        feature, other = swap
        names = self.model.feature_names
        mean, low, high = mean_interval(differences, self.plan.confidence)
        return Substitute(names[feature], names[other], correlations.get(feature, 0.0), mean, low, high)


def ablation_of_sizes(
    ablation: Ablation,
    worth: Worth,
    by_size: Sequence[Candidate],
    models: Sequence[RankingModel],
    store: WorkStore | None,
) -> list[dict[str, Costs] | None]:
    """For each candidate, the costs of leaving out each of its features; None for a single feature, in a first look, or
    if it would take long (`--k N` computes it). Finished refits are kept in `store`.

    ablation, worth   of the chosen candidate; models: the final model of each candidate
    """
    cv = ablation.cv
    out: list[dict[str, Costs] | None] = [None] * len(by_size)
    if ablation.plan.fast or cv.data.n_docs > MAX_DOCUMENTS:
        return out
    ablations = {
        i: replace(ablation, candidate=c, model=model)
        for i, (c, model) in enumerate(zip(by_size, models, strict=True))
        if 1 < len(model.columns) <= MAX_OF_SIZE
    }
    together: dict[Any, list[int]] = {}  # refits of the same kind share their passes
    for i, one in ablations.items():
        if one.chosen is ablation.chosen:
            known = {row["feature"]: row["cost"] for row in worth.features}
            out[i] = {name: known[name] for name in one.model.columns}
            continue
        if one.chosen.formula:
            out[i] = one.costs_of(one.unfitted(one.columns))
            continue
        learner = one.learner
        if isinstance(learner, BoostedSteps):
            learner = replace(learner, draws=1)  # in a third of the time
        together.setdefault((one.candidate_set.transform(one.chosen), learner), []).append(i)
    for (transform, learner), members in together.items():
        depends = repr([learner, [(ablations[i].key, ablations[i].model.support.tolist()) for i in members]])
        name = f"ablation-of-sizes-{hashlib.sha256(depends.encode()).hexdigest()[:16]}"

        def refits(together: list[int] = members, transform: Any = transform, learner: Any = learner) -> Any:
            rows = {f: [row for i in together for row in ablations[i].rows(f)] for f in cv.folds or [FINAL]}
            return {"values": cv.refitted(transform, {f: _refits(learner, of) for f, of in rows.items()})}

        shape = len(cv.metrics), sum(1 + len(ablations[i].columns) for i in members), None
        values = load_or_make(store, name, refits, values=("f", shape))["values"]
        cuts = np.cumsum([1 + len(ablations[i].columns) for i in members])[:-1]
        for i, of_size in zip(members, np.split(values, cuts, axis=1), strict=True):
            out[i] = ablations[i].costs_of(of_size)
    return out


def _refits(learner: BoostedSteps | tuple[int, ...] | None, rows: Sequence[sp.csr_array]) -> RuledMaker:
    """The maker of refits on the coefficients of rows, for a `learner`."""
    stacked = sp.csr_array(sp.vstack(rows, format="csr"))
    return StepsOn(learner, stacked) if isinstance(learner, BoostedSteps) else GivenSupports(stacked, learner)


def _moved(row: sp.csr_array, moved: np.ndarray, by: int) -> sp.csr_array:
    """A row (1, n_coefficients) with some entries moved `by` places and set to TOUCH, which changes no score. Existing
    entries at these places are kept."""
    rest = without_entries(row, moved)
    places = np.setdiff1d(row.indices[moved] + by, rest.indices)
    added = sp.csr_array((np.full(len(places), TOUCH), places, [0, len(places)]), shape=row.shape)
    return sp.csr_array(rest + added)
