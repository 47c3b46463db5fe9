"""Comparisons of the chosen model: with all features at every size, with rivals and the ranker in use, on a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate, Choice, reference_name
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.current_model import LABEL, Change, InUse, change
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.rivals import Rival, RivalDifference, Rivals
from sparserank.crossval.tasks import FINAL
from sparserank.crossval.trees_on_folds import TreesOnFolds
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import Comparison, compare_systems, mean_of
from sparserank.lazy import cached_property
from sparserank.model import RankingModel
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Queries, Ranker, compare_queries
from sparserank.selection.rivals import ComparedRival, RivalReport, report_of
from sparserank.workdir.pieces import WorkStore

MAX_SINGLE_FEATURES = 2000  # beyond, ranking by every feature would take longer than the paths


def against_all_features(choice: Choice, dense: Candidate, by_size: Sequence[Candidate]) -> ComparedRival:
    """Compare the chosen candidate and that of each size with dense, the best dense candidate or the named formula.
    Intervals are valid whichever it is; they are infinite if there are too few queries."""
    others = dict.fromkeys([*choice.candidates[choice.n_sparse :], dense])
    everything = [Rival(c.label, c.n_features, c.values) for c in others]
    rivals = Rivals(choice, everything)
    full = next(r for r in everything if r.values is dense.values)

    def against(c: Candidate) -> RivalDifference:
        b = rivals.beside(c, full)
        return b if math.isfinite(b.high - b.low) else RivalDifference(b.difference, -math.inf, math.inf)

    b, *sizes = map(against, (choice.chosen, *by_size))
    between = (b.difference, b.low, b.high)
    return ComparedRival(
        reference_name(dense), dense.n_features, dense.mean, *between, for_model="", sizes=tuple(sizes)
    )


def compare_on_test(
    plan: SelectionPlan,
    test: RankingDataset,
    work: FoldedPaths | None,
    chosen: RankingModel,
    dense: dict[str, RankingModel],
    others: Mapping[str, Any],
    notes: list[str],
) -> Comparison:
    """Compare the chosen model with dense models {name: model}, the best single feature on the training queries of
    `work` (None: single features are among the others), and other rankers {name: scores in input order, or a run}."""
    names = chosen.feature_names
    systems = {f"chosen ({len(chosen.columns)} features)": chosen.score_dataset(test)}
    systems |= {name: model.score_dataset(test) for name, model in dense.items()}
    if work is not None:
        feature, sign = best_single_feature(plan, work, notes)
        alone = f"best single feature ({names[feature]}{' ascending' if sign < 0 else ''})"
        systems[alone] = sign * InUse(alone, (names[feature],)).scores(test)
    return compare_systems(systems | dict(others), test, plan.metrics)


def best_single_feature(plan: SelectionPlan, work: FoldedPaths, notes: list[str]) -> tuple[int, float]:
    """The feature and direction with the highest mean metric on the training queries."""
    sought = np.flatnonzero(~work.data.constant_features())
    if len(sought) > MAX_SINGLE_FEATURES:
        notes.append(
            f"the best single feature was searched for among the {MAX_SINGLE_FEATURES} of {len(sought)} that best "
            "separate preferred pairs."
        )
        (objective,), _ = work.objectives([FINAL])
        separation = np.abs(objective.gradient_at_zero) / np.sqrt(np.maximum(objective.pair_norms, 1e-300))
        sought = np.sort(np.argsort(-separation, kind="stable")[:MAX_SINGLE_FEATURES])
    means = work.single_features(sought, plan.metric)
    _, negative, sign = max(
        (mean, -j, sign)
        for of_sign, sign in zip(means, (1.0, -1.0), strict=True)
        for mean, j in zip(of_sign, sought, strict=True)
    )
    return -int(negative), sign


@dataclass(frozen=True)
class Comparisons:
    """trees: rivals trained on the folds; judged: queries on which candidates are evaluated; test: test queries or
    None; current: ranker in use or None."""

    plan: SelectionPlan
    cv: CrossValidation
    trees: TreesOnFolds
    judged: RankingDataset
    test: RankingDataset | None
    current: InUse | None

    @property
    def names(self) -> tuple[str, ...]:
        return self.cv.data.names

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Ids of the queries on which candidates are evaluated."""
        return tuple(str(q) for q in self.judged.query_ids)

    @cached_property
    def held(self) -> Rival | None:
        """The ranker in use, on the queries on which candidates are evaluated."""
        if self.current is None:
            return None
        values = self.current.values(self.judged, self.plan.metric)
        return Rival(LABEL, len(self.current.features), values)

    def with_rivals(
        self, candidate_set: CandidateSet, choice: Choice, rivals: Sequence[Rival], store: WorkStore | None
    ) -> RivalReport:
        """Compare with rivals; trees shown to be better are also run on the chosen features."""
        compared = Rivals(choice, rivals) if rivals else None
        left_out, straight = self.trees.left_out, not self.cv.tries_steps
        first = report_of(compared, left_out, straight, choice.chosen, choice.by_size)
        if first.better is None or not first.better.for_model:
            return first
        name, chosen = first.better.name, choice.chosen
        features = {f: candidate_set.features(chosen, f) for f in self.cv.folds or [FINAL]}
        values = self.trees.on_features(features, store)
        return first if values is None else first.with_chosen_features(name, mean_of(values), chosen.mean)

    def with_today(self, choice: Choice, model: RankingModel) -> Change | None:
        """Compare with the ranker in use. Its interval is computed separately, so trees do not change it."""
        if self.current is None or self.held is None:
            return None
        return change(choice, Rivals(choice, [self.held]), self.current, model, self.query_ids)

    def on_test(
        self,
        candidate_set: CandidateSet,
        model: RankingModel,
        dense: Candidate,
        rivals: Sequence[Rival],
        notes: list[str],
    ) -> Comparison | None:
        """Compare the final model with the final dense model, the ranker in use and rivals, on the test queries."""
        if self.test is None:
            return None
        full = self._dense_in_use(candidate_set, dense)
        assert full.model is not None
        scores = {} if self.current is None else {self.current.name: self.current.system(self.test)}
        others = {**scores, **{r.name: self.test.to_input_order(r.scores(True)) for r in rivals if r.scores}}
        work = None if dense.formula else self.cv.first
        return compare_on_test(self.plan, self.test, work, model, {full.name: full.model}, others, notes)

    def references(self, dense: Candidate, strongest: Rival | None) -> tuple[Rival, ...]:
        """The rankers that models of every size are compared with query by query: all features, the strongest rival,
        the ranker in use."""
        full = Rival(reference_name(dense), dense.n_features, dense.values)
        return tuple(r for r in (full, strongest, self.held) if r is not None)

    def by_query(
        self,
        candidate_set: CandidateSet,
        chosen: Candidate,
        model: RankingModel,
        dense: Candidate,
        strongest: Rival | None,
        test: Comparison | None,
    ) -> Queries:
        """Compare the chosen model query by query with the ranker in use, or else the dense model: on the test queries,
        or else on those on which candidates are evaluated, each scored by models that have not seen it."""
        metric, cv, rival = self.plan.metric, self.cv, self.held or dense
        models: dict[int, tuple[RankingModel, InUse, InUse]] = {}
        final = test is not None or not cv.folds

        def of_fold(q: int) -> tuple[RankingModel, InUse, InUse]:
            """The models that have not seen a query: the chosen one, its rival and the dense one."""
            f = FINAL if final else int(cv.fold[q])
            if f not in models:
                own = model if f == FINAL and test is not None else candidate_set.model(chosen, self.names, f)
                full = self._dense_in_use(candidate_set, dense, f)
                models[f] = own, (self.current if isinstance(rival, Rival) and self.current else full), full
            return models[f]

        rankers = [
            Ranker("chosen model", lambda q, own: of_fold(q)[0].score_dataset(own)),
            Ranker(reference_name(dense), lambda q, own: of_fold(q)[2].scores(own)),
        ]
        data = self.judged if test is None else self.test
        assert data is not None
        if strongest is not None and strongest.scores is not None:
            scores = strongest.scores(test is not None)
            rankers.append(Ranker(strongest.name, lambda q, _: scores[data.query_ptr[q] : data.query_ptr[q + 1]]))
        if (current := self.current) is not None:
            rankers.append(Ranker(LABEL, lambda _, own: current.scores(own)))
        on = "test" if test is not None else "out of fold" if cv.folds else "validation"
        values = (chosen.values, rival.values)
        if test is not None:
            of_test = [test.values[name][repr(metric)] for name in (next(iter(test.values)), of_fold(0)[1].name)]
            values = of_test[0], of_test[1]
        return compare_queries(data, metric, values, lambda q: of_fold(q)[:2], on, rankers)

    def _dense_in_use(self, candidate_set: CandidateSet, dense: Candidate, fold: int = FINAL) -> InUse:
        """The dense reference as a ranker in use."""
        transform = candidate_set.transform(dense)
        under = f" {transform.name}" if transform.transform is not None else ""
        name = f"dense RankSVM ({dense.n_features} {self.plan.noun}s{under})"
        return InUse(reference_name(dense) if dense.formula else name, (), candidate_set.model(dense, self.names, fold))
