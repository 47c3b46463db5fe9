"""What the chosen model of a job is compared with: trees, what ranks today, the dense model; on the queries that
candidates are judged on, and on test queries."""

from __future__ import annotations

from dataclasses import dataclass

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.current_model import LABEL, Change, InUse, change
from sparserank.crossval.engine import CrossValidation
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.rivals import Rival, Rivals
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import Comparison, mean_of, per_query_values
from sparserank.jobs.rivals import TreesOnFolds
from sparserank.jobs.test_comparison import compare_on_test
from sparserank.lazy import cached_property
from sparserank.model import RankingModel
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import WorkStore
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Queries, compare_queries
from sparserank.selection.rivals import RivalReport, report_of


@dataclass(frozen=True)
class Comparisons:
    """judged: queries that candidates are judged on; test: others, or None; current: what ranks today, or None."""

    plan: SelectionPlan
    cv: CrossValidation
    trees: TreesOnFolds
    judged: RankingDataset
    test: RankingDataset | None
    current: InUse | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.cv.data.feature_names or ())

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Of the queries that candidates are judged on."""
        return tuple(str(q) for q in self.judged.query_ids)

    @cached_property
    def held(self) -> Rival | None:
        """What ranks today, on the queries that candidates are judged on."""
        if self.current is None:
            return None
        scores = self.judged.from_input_order(self.current.scores(self.judged))
        (values,) = per_query_values(scores, self.judged, [self.plan.metric])
        return Rival(LABEL, len(self.current.features), values)

    def with_trees(
        self, candidate_set: CandidateSet, choice: Choice, store: WorkStore | None, progress: Progress | None
    ) -> RivalReport:
        """Trees that were finished in their time; those that are shown better are tried on the chosen features too."""
        fitted = self.trees.fit(store, progress)
        rivals = Rivals(choice, fitted) if fitted else None
        first = report_of(rivals, self.trees.for_model, self.trees.left_out, not self.cv.tries_curves)
        if first.better is None:
            return first
        name, chosen = first.better.name, choice.chosen
        features = {f: candidate_set.features(chosen, f) for f in self.cv.folds or [FINAL]}
        values = self.trees.on_features(name, features, store)
        return first if values is None else first.with_chosen_features(name, mean_of(values), chosen.mean)

    def with_today(self, choice: Choice, model: RankingModel) -> Change | None:
        """What ranks today has an interval of its own, which is the same with and without trees."""
        if self.current is None or self.held is None:
            return None
        return change(choice, Rivals(choice, [self.held]), self.current, model, self.query_ids)

    def on_test(
        self, candidate_set: CandidateSet, model: RankingModel, dense: Candidate, notes: list[str]
    ) -> Comparison | None:
        """The final model beside the final dense one, what ranks today, and trees, on the test queries."""
        if self.test is None:
            return None
        full = self._dense_in_use(candidate_set, dense)
        assert full.model is not None
        scores = {} if self.current is None else {self.current.name: self.current.scores(self.test)}
        others = {**scores, **self.trees.test_scores}
        return compare_on_test(self.plan, self.test, self.cv.first, model, {full.name: full.model}, others, notes)

    def by_query(
        self,
        candidate_set: CandidateSet,
        chosen: Candidate,
        model: RankingModel,
        dense: Candidate,
        test: Comparison | None,
    ) -> Queries:
        """The chosen model beside what is in use, or the dense model: on the test queries, or else on those that
        candidates are judged on, each by the models that have not seen it."""
        metric, cv, rival = self.plan.metric, self.cv, self.held or dense
        if test is not None:
            assert self.test is not None
            of_rival = self._scorer(candidate_set, rival)
            names = next(iter(test.values)), of_rival.name
            values = tuple(test.values[name][repr(metric)] for name in names)
            return compare_queries(self.test, metric, (values[0], values[1]), lambda q: (model, of_rival), "test")
        models: dict[int, tuple[RankingModel, InUse]] = {}

        def scorers(q: int) -> tuple[RankingModel, InUse]:
            f = int(cv.fold[q]) if cv.folds else FINAL
            if f not in models:
                models[f] = candidate_set.model(chosen, self.names, f), self._scorer(candidate_set, rival, f)
            return models[f]

        on = "out of fold" if cv.folds else "validation"
        return compare_queries(self.judged, metric, (chosen.values, rival.values), scorers, on)

    def _scorer(self, candidate_set: CandidateSet, rival: Candidate | Rival, fold: int = FINAL) -> InUse:
        """What ranks as the rival of the chosen model."""
        if isinstance(rival, Rival):
            assert self.current is not None
            return self.current
        return self._dense_in_use(candidate_set, rival, fold)

    def _dense_in_use(self, candidate_set: CandidateSet, dense: Candidate, fold: int = FINAL) -> InUse:
        """The dense reference as what ranks."""
        transform = candidate_set.transform(dense)
        name = f"dense RankSVM ({dense.n_features} features{f' {transform.name}' if transform.transforms else ''})"
        return InUse(name, (), candidate_set.model(dense, self.names, fold))
