"""Comparisons of the chosen model: with all features at every size, with rivals and the ranker in use, on a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate, Choice, reference_name
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.current_model import LABEL, Change, InUse, change
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.rivals import Rival, Rivals
from sparserank.crossval.tasks import FINAL
from sparserank.crossval.tree_rivals_on_folds import TreesOnFolds
from sparserank.data.dataset import RankingDataset
from sparserank.errors import warn_caller
from sparserank.evaluation import Comparison, compare_systems, mean_of
from sparserank.evaluation.compare import lacking_queries
from sparserank.lazy import cached_property
from sparserank.model import RankingModel
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Queries, Ranker, compare_queries
from sparserank.selection.rivals import ComparedRival, RivalReport, compared
from sparserank.text import Caution
from sparserank.workdir.pieces import Store

MAX_SINGLE_FEATURES = 2000  # beyond, ranking by every feature would take longer than the paths


def against_all_features(choice: Choice, dense: Candidate) -> ComparedRival:
    """Compare the chosen candidate, and the candidate of each size, with `dense`: the best dense candidate, or the
    named formula. The intervals are valid for any candidate; with too few queries they are infinite."""
    others = dict.fromkeys([*choice.candidates[choice.n_sparse :], dense])
    rivals = Rivals(choice, [Rival(reference_name(c), c.n_features, c.values) for c in others])
    return compared(rivals, rivals.rivals[list(others).index(dense)], choice)


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
    candidate_set: CandidateSet
    choice: Choice
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
        return tuple(str(q) for q in self.judged.query_ids[self._evaluated])

    @property
    def _evaluated(self) -> Any:
        """Index of the queries on which candidates are evaluated."""
        return slice(None) if self.cv.judge is None else self.cv.judge.people

    @cached_property
    def rival_in_use(self) -> Rival | None:
        """The ranker in use, on the queries on which candidates are evaluated."""
        if self.current is None:
            return None
        parts = [self.judged, *([] if self.cv.judge is None else [self.cv.judge.again])]
        values = np.concatenate([self.current.values(data, self.plan.metric) for data in parts])
        return self.candidate_set.compared(Rival(LABEL, len(self.current.features), values))

    def with_rivals(self, rivals: Sequence[Rival], store: Store) -> RivalReport:
        """Compare with rivals. Trees that are shown to be better are also trained on the chosen features."""
        choice = self.choice
        compared_rivals = []
        if rivals:
            together = Rivals(choice, rivals)
            compared_rivals = [compared(together, r, choice) for r in rivals]
        steps = any(transform.shape.stepped for transform in self.cv.works)
        report = RivalReport(tuple(compared_rivals), tuple(self.trees.left_out), not steps)
        better = report.better
        chosen = choice.chosen
        if better is None or not better.for_model:
            return report
        features = {f: self.candidate_set.features(chosen, f) for f in self.cv.folds or [FINAL]}
        values = self.trees.on_features(features, store)
        if values is None:
            return report
        on_chosen = replace(better, on_chosen=mean_of(self.candidate_set.with_judge(values)), chosen_mean=chosen.mean)
        return replace(report, compared=tuple(on_chosen if r is better else r for r in compared_rivals))

    def notes_of_today(self) -> list[str]:
        """A note on queries for which the run of the ranker in use has no documents; also issued as a warning."""
        current = self.current
        if current is None or current.features:  # responses, whose features are known, contain all queries
            return []
        tested = () if self.test is None else self.test.query_ids
        notes: list[str] = []
        for ids, which in ((self.query_ids, "judged queries"), (tested, "test queries")):
            sentence = lacking_queries(current.name, current.run, ids, which)
            if sentence:
                warn_caller(sentence)
                notes.append(Caution(sentence))
        return notes

    def with_today(self, model: RankingModel) -> Change | None:
        """Compare with the ranker in use. Its interval is computed separately, so trees do not change it."""
        if self.current is None or self.rival_in_use is None:
            return None
        return change(self.choice, Rivals(self.choice, [self.rival_in_use]), self.current, model, self.query_ids)

    def on_test(self, model: RankingModel, rivals: Sequence[Rival], notes: list[str]) -> Comparison | None:
        """Compare the final model with the final dense model, the best single feature (unless single features are among
        the others), the ranker in use and rivals, on the test queries."""
        test = self.test
        if test is None:
            return None
        full = self._dense_in_use()
        assert full.model is not None
        systems: dict[str, Any] = {f"chosen ({len(model.columns)} features)": model.score_dataset(test)}
        systems[full.name] = full.model.score_dataset(test)
        if not self.choice.reference.formula:
            feature, sign = best_single_feature(self.plan, self.cv.first, notes)
            name = model.feature_names[feature]
            alone = f"best single feature ({name}{' ascending' if sign < 0 else ''})"
            systems[alone] = sign * InUse(alone, (name,)).scores(test)
        if self.current is not None:
            systems[self.current.name] = self.current.system(test)
        systems |= {r.name: test.to_input_order(r.scores(True)) for r in rivals if r.scores}
        return compare_systems(systems, test, self.plan.metrics)

    def references(self, strongest: Rival | None) -> tuple[Rival, ...]:
        """The rankers that models of every size are compared with query by query: all features, the strongest rival,
        the ranker in use. They are part of the result, so they leave out `scores`, which refers to the data."""
        dense = self.choice.reference
        full = Rival(reference_name(dense), dense.n_features, dense.values, per_query=dense.per_query)
        return tuple(replace(r, scores=None) for r in (full, strongest, self.rival_in_use) if r is not None)

    def by_query(self, model: RankingModel, strongest: Rival | None, test: Comparison | None) -> Queries:
        """Compare the chosen model query by query with the ranker in use, or else with the dense model. The queries are
        the test queries, or else those on which candidates are evaluated; these are scored by models that have not seen
        them."""
        metric, chosen, dense = self.plan.metric, self.choice.chosen, self.choice.reference
        folds = self.cv.folds if test is None else ()

        @cache
        def of_fold(f: int) -> tuple[RankingModel, InUse]:
            """The models that have not seen a fold: the chosen one and the dense one."""
            unseen = self.candidate_set.model(chosen, self.names, f) if test is None else model
            return unseen, self._dense_in_use(f)

        def of_query(q: int) -> tuple[RankingModel, InUse]:
            return of_fold(int(self.cv.fold[q]) if folds else FINAL)

        def both(q: int) -> tuple[RankingModel, InUse]:
            chosen_model, full = of_query(q)
            return chosen_model, self.current or full

        rankers = [
            Ranker("chosen model", lambda q, documents: of_query(q)[0].score_dataset(documents)),
            Ranker(reference_name(dense), lambda q, documents: of_query(q)[1].scores(documents)),
        ]
        data = self.judged if test is None else self.test
        assert data is not None
        if strongest is not None and strongest.scores is not None:
            scores = strongest.scores(test is not None)
            rankers.append(Ranker(strongest.name, lambda q, _: scores[data.query_ptr[q] : data.query_ptr[q + 1]]))
        if (current := self.current) is not None:
            rankers.append(Ranker(LABEL, lambda _, documents: current.scores(documents)))
        if test is None:
            on = "out of fold" if folds else "validation"
            values = np.full((2, data.n_queries), np.nan)
            values[:, self._evaluated] = chosen.shown, (self.rival_in_use or dense).shown
        else:
            on = "test"
            values = np.array([test.values[name][repr(metric)] for name in (test.baseline, both(0)[1].name)])
        return compare_queries(data, metric, values, both, on, rankers)

    def _dense_in_use(self, fold: int = FINAL) -> InUse:
        """The dense reference as a ranker in use."""
        dense = self.choice.reference
        transform = self.candidate_set.transform(dense)
        under = f" {transform.name}" if transform.transform is not None else ""
        name = f"dense RankSVM ({dense.n_features} {self.plan.noun}s{under})"
        return InUse(
            reference_name(dense) if dense.formula else name, (), self.candidate_set.model(dense, self.names, fold)
        )
