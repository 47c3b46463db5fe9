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
from sparserank.crossval.feature_transforms import FeatureTransform
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
from sparserank.workdir.pieces import NOWHERE, Arrays, Store, load_or_make

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

    def worth(self, substitutes: Mapping[int, int], correlations: Mapping[int, float], store: Store = NOWHERE) -> Worth:
        """Ablate the chosen model. substitutes: {feature: its substitute}; correlations: {feature: its correlation with
        its substitute}. Finished refits are kept in `store` and reused."""
        model, plan = self.model, self.plan
        feature_groups = self.cv.groups
        # The selected features, largest weight first: the columns of each, and the first of them.
        weights = model.weights
        firsts = [model.sources[name][0] for name in weights]
        alone = [np.array(model.columns[name]) for name in weights]
        used = (
            sorted(feature_groups.used(model.support), key=lambda g: -feature_groups.costs[g]) if plan.by_cost else []
        )
        members = [np.flatnonzero(np.array(feature_groups.of_feature) == g) for g in used]
        sets = [*alone, *members]
        price = feature_groups.cost_of_feature
        swaps = [(f.index, substitutes[f.index]) for f in firsts[:MAX_REFITTED] if f.index in substitutes]
        swaps = [(j, other) for j, other in swaps if price[other] <= price[j]]
        if plan.feature_groups is not None or self.chosen.formula or plan.fast:
            swaps = []
        # The features beyond the largest MAX_REFITTED have no refits.
        refits = [*range(min(len(alone), MAX_REFITTED)), *range(len(alone), len(sets))]
        unfitted = self.unfitted(sets)
        costs: dict[int, Costs] = {}
        possible = []
        if not plan.fast:
            if self.chosen.formula:  # a named formula keeps its weights
                refitted = unfitted[:, [0, *(1 + i for i in refits)]]
            else:
                refitted = self.refitted([sets[i] for i in refits], swaps, store)
            costs = {i: self._cost_without(refitted, at, sets[i]) for at, i in enumerate(refits)}
            differences = self.candidate_set.with_judge(refitted[0, 1 + len(refits) :] - refitted[0, 0])
            names = model.feature_names
            for (j, other), difference in zip(swaps, differences, strict=True):
                interval = mean_interval(difference, plan.confidence)
                possible.append(Substitute(names[j], names[other], correlations.get(j, 0.0), *interval))

        def worth_of(i: int) -> dict[str, Any]:
            return {"cost": costs.get(i), "zeroed": self._costs(unfitted[:, 0], unfitted[:, 1 + i])}

        used_in = [self.candidate_set.features(self.chosen, f) for f in self.folds]
        rows = [
            {
                "feature": first.source,
                "coef": weights[first.source],
                "transform": first.kind if first.derived is None else NONE,
                "steps": drawn(first, self.cv.data) if first.derived is None else None,
                "folds": sum(first.index in features for features in used_in),
                **worth_of(i),
            }
            for i, first in enumerate(firsts)
        ]
        of_groups = [
            {
                "group": feature_groups.names[g],
                "group_cost": feature_groups.costs[g],
                "features": [model.feature_names[j] for j in np.intersect1d(features, model.support)],
                **worth_of(i),
            }
            for i, (g, features) in enumerate(zip(used, members, strict=True), len(alone))
        ]
        return Worth(rows, of_groups, tuple(s for s in possible if -s.difference <= self.choice.margin))

    @property
    def folds(self) -> list[int]:
        return self.cv.folds or [FINAL]

    def refitted(
        self, sets: Sequence[np.ndarray], swaps: Sequence[tuple[int, int]] = (), store: Store = NOWHERE
    ) -> np.ndarray:
        """(n_metrics, 1 + n_sets + n_swaps, n_queries) metric of refits that have not seen the query: on all features
        of the candidate, without each set of features, and with one feature swapped for another."""
        rows = {f: self.rows(f, sets, swaps) for f in self.folds}
        return _refitted(self.cv, self.candidate_set.transform(self.chosen), self.learner, rows, store)

    def unfitted(self, sets: Sequence[np.ndarray]) -> np.ndarray:
        """(n_metrics, 1 + n_sets, n_queries) metric of the candidate, and without each set of features; no refits."""
        return np.concatenate(
            [self._values(self.chosen)[:, None], self.cv.without(self.candidate_set, self.chosen, sets)], axis=1
        )

    def _values(self, c: Candidate) -> np.ndarray:
        """(n_metrics, n_queries) values of a candidate."""
        return np.array([self.candidate_set.values(c, m) for m in range(len(self.cv.metrics))])

    @property
    def learner(self) -> BoostedSteps | tuple[int, ...] | None:
        """The part of the task that refits depend on: the maker of boosted steps, or the sign rules of the
        coefficients."""
        rules = self.candidate_set.tasks[self.chosen.penalty].maker.rules
        return rules if isinstance(rules, BoostedSteps) else rules.monotone

    def rows(self, f: int, sets: Sequence[np.ndarray], swaps: Sequence[tuple[int, int]] = ()) -> list[sp.csr_array]:
        """Coefficients in fold f: of the candidate, without each set of features, and with one feature swapped for
        another."""
        of_candidate = self.candidate_set.coefficients(self.chosen, f)
        width = self.candidate_set.width(self.chosen)
        feature = of_candidate.indices // width  # of each coefficient
        rows = [of_candidate, *(without_entries(of_candidate, np.isin(feature, features)) for features in sets)]
        return [*rows, *(_moved(of_candidate, feature == j, (other - j) * width) for j, other in swaps)]

    @property
    def columns(self) -> list[np.ndarray]:
        """The columns of each selected feature, in data order."""
        return list(map(np.array, self.model.columns.values()))

    def costs_of(self, values: np.ndarray) -> dict[str, Costs]:
        """{feature: costs} from values (n_metrics, 1 + n_selected, n_queries) of refits without each of `columns`."""
        without = [self._cost_without(values, i, columns) for i, columns in enumerate(self.columns)]
        return dict(zip(self.model.columns, without, strict=True))

    def _cost_without(self, values: np.ndarray, i: int, features: np.ndarray) -> Costs:
        """Costs of leaving out set number i, from values (n_metrics, 1 + n_sets, n_queries) of `refitted`. In a
        fusion, if a single retriever remains, the known values of that retriever are used instead."""
        names = [f.name.rpartition(":")[0] for f in self.model.features if f.index not in features]
        alone = self.candidate_set.formula(f"{names[0]} alone") if len(names) == 1 else None
        if alone is None:
            return self._costs(values[:, 0], values[:, 1 + i])
        return self._costs(self._values(self.chosen), self._values(alone))

    def _costs(self, values: np.ndarray, without: np.ndarray) -> Costs:
        """Mean costs with intervals, from values of shape (n_metrics, n_queries)."""
        costs = self.candidate_set.with_judge(values - without)
        return {
            repr(metric): dict(zip(("cost", "low", "high"), mean_interval(cost, self.plan.confidence), strict=True))
            for metric, cost in zip(self.cv.metrics, costs, strict=True)
        }


def ablation_of_sizes(
    ablation: Ablation,
    worth: Worth,
    by_size: Sequence[Candidate],
    models: Sequence[RankingModel],
    store: Store,
) -> list[dict[str, Costs] | None]:
    """For each candidate, the costs of leaving out each of its features; None for a single feature, in a first look, or
    if it would take long (`--k N` computes it). Finished refits are kept in `store`.

    ablation, worth   of the chosen candidate; models: the final model of each candidate
    """
    cv = ablation.cv
    out: list[dict[str, Costs] | None] = [None] * len(by_size)
    if ablation.plan.fast or cv.data.n_docs > MAX_DOCUMENTS:
        return out
    together: dict[Any, list[tuple[int, Ablation]]] = {}  # refits of the same kind share their passes
    for i, (c, model) in enumerate(zip(by_size, models, strict=True)):
        one = replace(ablation, candidate=c, model=model)
        if not 1 < len(model.columns) <= MAX_OF_SIZE:
            continue
        if c is ablation.chosen:
            out[i] = {name: worth.costs[name] for name in model.columns}
        elif c.formula:
            out[i] = one.costs_of(one.unfitted(one.columns))
        else:
            learner = one.learner
            if isinstance(learner, BoostedSteps):
                learner = replace(learner, draws=1)  # in a third of the time
            together.setdefault((one.candidate_set.transform(c), learner), []).append((i, one))
    for (transform, learner), members in together.items():
        rows = {f: [row for _, one in members for row in one.rows(f, one.columns)] for f in ablation.folds}
        values = _refitted(cv, transform, learner, rows, store)
        cuts = np.cumsum([1 + len(one.columns) for _, one in members])[:-1]
        for (i, one), of_size in zip(members, np.split(values, cuts, axis=1), strict=True):
            out[i] = one.costs_of(of_size)
    return out


def _refitted(
    cv: CrossValidation,
    transform: FeatureTransform,
    learner: BoostedSteps | tuple[int, ...] | None,
    rows: Mapping[int, Sequence[sp.csr_array]],
    store: Store,
) -> np.ndarray:
    """(n_metrics, n_rows, n_queries) metric of refits of a `learner` that have not seen the query; one piece of work.
    rows: {fold: coefficients, whose features are refitted}"""
    stacked = {f: sp.csr_array(sp.vstack(of_fold, format="csr")) for f, of_fold in rows.items()}
    depends = hashlib.sha256(repr([transform.name, learner]).encode())
    for of_fold in stacked.values():
        for part in (of_fold.indptr, of_fold.indices, of_fold.data):
            depends.update(part.tobytes())

    def values() -> Arrays:
        makers: dict[int, RuledMaker] = {
            f: StepsOn(learner, of_fold) if isinstance(learner, BoostedSteps) else GivenSupports(of_fold, learner)
            for f, of_fold in stacked.items()
        }
        return {"values": cv.refitted(transform, makers)}

    shape = len(cv.metrics), len(next(iter(rows.values()))), None
    return load_or_make(store, f"ablation-{depends.hexdigest()[:16]}", values, values=("f", shape))["values"]


def _moved(row: sp.csr_array, moved: np.ndarray, by: int) -> sp.csr_array:
    """A row (1, n_coefficients) with some entries moved `by` places and set to TOUCH, which changes no score. Existing
    entries at these places are kept."""
    rest = without_entries(row, moved)
    places = np.setdiff1d(row.indices[moved] + by, rest.indices)
    added = sp.csr_array((np.full(len(places), TOUCH), places, [0, len(places)]), shape=row.shape)
    return sp.csr_array(rest + added)
