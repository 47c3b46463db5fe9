"""The main job: cross-validate the candidates, choose one model, and collect the results about it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate
from sparserank.crossval.convergence import unsolved, unsolved_paths
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.current_model import InUse
from sparserank.crossval.feature_groups import groups_of_one
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.crossval.folded_paths import FOLD_TOL
from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.crossval.rivals import Rival
from sparserank.crossval.stability import Stability, on_halves
from sparserank.crossval.substitutes import redundant_features, substitutes_of
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import TeachingTrees
from sparserank.crossval.tree_rivals import TreeRivals
from sparserank.crossval.tree_rivals_on_folds import TreesOnFolds
from sparserank.data.combine import concatenate
from sparserank.data.dataset import RankingDataset, first_index
from sparserank.data.filling import training_medians
from sparserank.data.folds import query_folds
from sparserank.errors import ConvergenceWarning, DataError, warn_caller
from sparserank.execution import available_cores, one_blas_thread, return_freed_memory
from sparserank.export import ENGINES
from sparserank.losses import loss_name
from sparserank.model import RankingModel
from sparserank.model.feature import numbers
from sparserank.model.training_record import LOST, with_training_record
from sparserank.options import option
from sparserank.options.selection import SELECT
from sparserank.paths.refits import NamedFormulas
from sparserank.penalties.rules import ALPHA
from sparserank.selection.ablation import Ablation, ablation_of_sizes
from sparserank.selection.claims import counted
from sparserank.selection.comparisons import Comparisons, against_all_features
from sparserank.selection.for_engine import ForEngine, for_engine, other_fills
from sparserank.selection.inputs import check_relevant
from sparserank.selection.menu import first_look, notes_of_steps, of_earlier, of_people, tasks_of
from sparserank.selection.notes import (
    note_of_folds,
    note_of_judge,
    note_of_teacher,
    notes_of_choice,
    notes_of_keep,
    notes_of_loss,
    notes_of_round,
    notes_of_rules,
)
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.result import SelectionResult
from sparserank.selection.result_files import RESULT_FILES
from sparserank.text import FIRST_LOOK, Caution, change
from sparserank.transforms import NONE, STEPS
from sparserank.workdir.pieces import NOWHERE, Store, load_or_make
from sparserank.workdir.work import Progress, quiet

OF_TREES, OF_HALF, OF_ABLATION = 1.5, 0.5, 8.0  # their times, relative to an l1 path, as measured roughly
NAMED = "named formulas"
NO_TREES = TreeRivals()


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """The data that a plan is applied to.

    train, valid   queries to learn from; under the holdout protocol, candidates are evaluated on valid instead
    test           queries for the final comparison
    judged         the training queries with more documents, on which candidates are evaluated; for the cv protocol
    judge          the training queries that people graded, if a judge graded the others; for the cv protocol
    query_weight   one weight > 0 per query of train and, under the cv protocol, then of valid; None: equal weights
    current        the ranker in use
    trees          rivals that are trained on the same folds, each within `rival_time` seconds; or the trees that lists
                   of features are for
    formulas       rivals that need no training
    transforms     of the features, in place of those that the plan names
    named          formulas with fixed weights that may be chosen too; they replace the dense models
    defended       the named formula that is chosen unless another candidate earns its place, and that all comparisons
                   refer to; '': the best formula is the reference, and none is defended
    today          the formula in use, which may be chosen too
    facts          on the features, stored among the parameters of the models
    """

    train: RankingDataset
    valid: RankingDataset | None = None
    test: RankingDataset | None = None
    judged: RankingDataset | None = None
    judge: JudgedQueries | None = None
    query_weight: np.ndarray | None = None
    current: InUse | None = None
    trees: TreeRivals = NO_TREES
    formulas: Sequence[Rival] = ()
    rival_time: float = SELECT["rival_time"].default
    transforms: Sequence[FeatureTransform] | None = None
    named: NamedFormulas | None = None
    defended: str = ""
    today: NamedFormulas | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Job:
    """A checked plan for a problem, with the folds of its queries.

    kind, files   of the directory in which `select` runs it
    """

    kind, files = "select", RESULT_FILES

    def __init__(self, plan: SelectionPlan, problem: SelectionProblem, n_threads: int | None) -> None:
        valid, holdout = problem.valid, plan.protocol == "holdout"
        self.plan, self.problem, self.n_threads = plan, problem, n_threads or available_cores()
        self.data = problem.train
        if valid is not None and not holdout:
            self.data = concatenate([self.data, valid], join_queries=False)
        self.judged = problem.judged or (valid if holdout and valid is not None else self.data)
        check_relevant(plan.metrics, self.judged.relevance)
        self.fold = np.full(self.data.n_queries, -1) if holdout else _folds(self.data, plan, problem.judge)
        self.feature_groups = plan.feature_groups or groups_of_one(self.data.names, plan.costs)

    @property
    def evaluated(self) -> RankingDataset:
        """The queries on which candidates are evaluated, with the grades of people."""
        judge = self.problem.judge
        return self.judged if judge is None else self.judged.take_queries(judge.people)

    def trees_on_folds(self, trees: TreeRivals, seconds: float, **options: Any) -> TreesOnFolds:
        """Trees to train on the folds, within a time limit."""
        return TreesOnFolds(
            fold=self.fold,
            data=self.data,
            judged=self.judged,
            judge=self.problem.judge,
            test=self.problem.test,
            trees=trees,
            metric=self.plan.metric,
            query_weight=self.problem.query_weight,
            seed=self.plan.random_state,
            n_threads=self.n_threads,
            seconds=seconds,
            **options,
        )


class SelectionJob(Job):
    """The selection of a model; `execute` runs it."""

    def __init__(
        self, plan: SelectionPlan, problem: SelectionProblem, *, n_threads: int | None = None, client: Any = None
    ) -> None:
        super().__init__(plan, problem, n_threads)
        data, fold, n_threads = self.data, self.fold, self.n_threads
        weight, named = problem.query_weight, problem.named
        self.names = data.names
        self.n_all = plan.count(range(len(self.names)))
        groups = self.feature_groups
        trees = None
        if not plan.fast:
            teaching = problem.trees, plan.penalties[0], data, fold, plan.random_state, weight, n_threads
            trees = TeachingTrees(*teaching, problem.rival_time)
        tried = tasks_of(plan, data, groups, client, problem.transforms, trees)
        if named is not None:  # references, in place of dense models
            label = f"{NAMED} ({named.names[0]} first)"
            tried = [*(t for t in tried if t.maker.selects), PathTask(label, named, FeatureTransform(NAMED))]
        if problem.judge is not None:
            tried += of_people(tried)
        if problem.today is not None:
            tried.append(PathTask(problem.today.names[0], problem.today))
        self.engine = None if plan.engine is None else ENGINES[plan.engine]
        self.left_out = [t for t in tried if self.engine is not None and t.transform.lacking(self.engine)]
        self.tasks = [t for t in tried if t not in self.left_out]
        self.first = [] if named is not None else first_look(self.tasks)
        if plan.fast:
            self.tasks = self.first
        self.cv = CrossValidation(
            data,
            fold,
            list(dict.fromkeys(t.transform for t in (*self.tasks, *self.left_out))),
            plan.path_plan,
            plan.metrics,
            valid=problem.valid,
            query_weight=weight,
            feature_groups=groups,
            by_cost=plan.by_cost,
            n_workers=n_threads,
            n_threads=n_threads,
            client=client,
            judged=problem.judged,
            judge=problem.judge,
            seed=plan.random_state,
        )
        self.teacher = next((t.transform.teacher for t in self.tasks if t.transform.teacher is not None), None)
        taught = None if self.teacher is None else self.teacher.of_trees
        self.trees = self.trees_on_folds(problem.trees, problem.rival_time, teacher=taught)
        # Expected time of what follows, relative to an l1 path; shared trees are those of the teacher.
        shared = taught is not None and taught.are_shared
        n_trainings = self.trees.n_pieces + (0 if taught is None or shared else len([FINAL, *self.cv.folds]))
        self._of_trees = OF_TREES * n_trainings
        self._of_the_rest = 0.0 if plan.fast else OF_HALF * plan.half_samples + OF_ABLATION

    @one_blas_thread()
    def execute(self, store: Store = NOWHERE, progress: Progress = quiet) -> SelectionResult:
        """Compute what is missing in `store` (everything without a store), choose and compare."""
        plan, cv, problem = self.plan, self.cv, self.problem
        began = time.perf_counter()
        candidate_set = self.candidates(store, progress)
        return_freed_memory()  # of the paths; the facts about the final models read whole columns
        try:
            choice = plan.choose(candidate_set.sparse, candidate_set.dense, problem.defended)
        except DataError as error:
            if not plan.fast:
                raise
            raise DataError(f"{error} More models are tried without {option('fast', True)}.") from error
        if plan.prefer is not None:
            labels = of_earlier(plan, self.tasks, cv.data)
            choice = choice.preferring(plan.prefer.run, labels, plan.prefer.new(self.evaluated.query_ids))
        of_paths = (1 + len(cv.folds)) * sum(t.effort for t in candidate_set.tasks.values())
        # Expected seconds of the half-samples and the ablation.
        rest = (time.perf_counter() - began) * self._of_the_rest / of_paths
        n_paths = len(candidate_set.paths)

        def after_paths(done: int, n: int, what: str, left: float | None) -> None:
            progress(n_paths + done, n_paths + self.n_later, what, None if left is None else left + rest)

        of_judge = None if candidate_set.judge is None else candidate_set.judge.worth
        compared = [candidate_set.compared(r) for r in (*problem.formulas, *self.trees.fit(store, after_paths))]
        comparisons = Comparisons(
            plan, cv, candidate_set, choice, self.trees, self.judged, problem.test, problem.current
        )
        rivals = comparisons.with_rivals(compared, store)
        strongest = next((r for r in compared if rivals.strongest and r.name == rivals.strongest.name), None)
        short = unsolved_paths(candidate_set.paths, plan.path_plan.tol)
        on_steps = any(t.transform.name == STEPS for t in self.tasks)
        notes = [
            *notes_of_round(plan),
            *notes_of_loss(plan, cv.data, problem.query_weight is not None, on_steps),
            *notes_of_rules(plan, cv.data),
            *([cv.first.transform.note] if cv.first.transform.note else []),
            *notes_of_steps(plan, cv.data),
            *([Caution(short)] if short else []),
            *note_of_judge(of_judge),
            *note_of_folds(plan, len(cv.folds)),
            *comparisons.notes_of_today(),
            *notes_of_choice(plan, choice),
            *([self._only_a_look()] if plan.fast else []),
        ]
        chosen, dense = choice.chosen, choice.reference
        model = self.model(candidate_set, chosen)
        notes += notes_of_keep(plan, model)
        if self.teacher is not None:
            notes.append(note_of_teacher(self.teacher, chosen=candidate_set.transform(chosen).teacher is not None))
        stability = self._stability(candidate_set, chosen, model, store, after_paths, rest, notes)
        engine = self._for_engine(candidate_set, model, store, notes)
        test = comparisons.on_test(model, compared, notes)
        ablation = Ablation(cv, candidate_set, choice, model, plan)
        substitutes = substitutes_of(choice, candidate_set)
        shaped = cv.works[candidate_set.transform(chosen)].transformed_queries
        support = candidate_set.features(chosen, FINAL)
        redundant, correlations = redundant_features(cv.data, support, shaped, substitutes)
        worth = ablation.worth(substitutes, correlations, store)
        models = self._models(candidate_set, choice.by_size)
        size_costs = ablation_of_sizes(ablation, worth, choice.by_size, models, store)
        model = self._with_losses(model, chosen, worth.costs)
        of_sizes = zip(models, choice.by_size, size_costs, strict=True)
        models = [model if c is chosen else self._with_losses(m, c, costs or {}) for m, c, costs in of_sizes]
        result = SelectionResult(
            plan=plan,
            model=model,
            choice=choice,
            dense=dense,
            certificate=candidate_set.certificate(chosen),
            by_penalty={
                label: choice.smallest([c for c in choice.candidates if c.penalty == label])
                for label, task in candidate_set.tasks.items()
                if task.maker.selects
            },
            models=models,
            size_costs=size_costs,
            paths={t: replace(candidate_set.path(t), values=None) for t in candidate_set.tasks},
            all_features=against_all_features(choice, dense),
            worth=worth,
            stability=stability,
            redundant=redundant,
            change=comparisons.with_today(model),
            rivals=rivals,
            references=comparisons.references(strongest),
            judge=of_judge,
            queries=comparisons.by_query(model, strongest, test),
            test=test,
            constant_features=tuple(np.array(self.names)[cv.data.constant_features()]),
            n_all=self.n_all,
            query_ids=comparisons.query_ids,
            notes=notes,
            engine=engine,
            teacher=None if self.teacher is None else self.teacher.record,
        )
        store.log({"event": "done", "seconds": round(time.perf_counter() - began, 3)})
        return result

    def candidates(self, store: Store = NOWHERE, progress: Progress = quiet) -> CandidateSet:
        """All candidates; fits what is missing in `store`."""
        relaxed = self.plan.relaxed and not self.plan.fast

        def with_the_rest(done: int, n: int, what: str, left: float | None) -> None:
            progress(done, n + self.n_later, what, left)

        first = () if self.plan.fast or progress is quiet else self.first
        later = self._of_trees + self._of_the_rest
        reporting: dict[str, Any] = {"progress": with_the_rest, "first": first, "look": self._look, "later": later}
        return self.cv.fit(self.tasks, relaxed=relaxed, store=store, **reporting)

    def _look(self, candidate_set: CandidateSet) -> str:
        """What the first paths say, and what is tried next; "" if none of their models is within the limits."""
        try:
            choice = self.plan.choose(candidate_set.sparse, candidate_set.dense)
        except DataError:
            return ""
        of = f"{FIRST_LOOK}{choice.chosen.n_features} of {counted(self.n_all, self.plan.noun)}"
        later = [
            *(t.label for t in self.tasks if t.maker.selects and t not in self.first),
            *([] if self.trees.trees.rival is None else [self.trees.trees.rival.name]),
            *(["half-samples"] if self.plan.half_samples else []),
        ]
        against = f"{self.plan.metric!r} {change(choice.chosen.mean, choice.reference.mean)} against all of them"
        return f"{of}, {against}{'; trying ' if later else ''}{', '.join(later)}"

    def _only_a_look(self) -> str:
        """The note of a first look."""
        labels = [t.label for t in self.first if t.maker.selects]
        tried = f"{', '.join(labels)} {'were' if len(labels) > 1 else 'was'} tried"
        return (
            f"a first look: only {tried}, without rivals, ablation and half-samples; the same call without "
            f"{option('fast', True)} does the rest."
        )

    @property
    def n_later(self) -> int:
        """Number of pieces of work that follow the paths: trees of rivals and the half-samples."""
        return self.trees.n_pieces + bool(self.plan.half_samples)

    def model(self, candidate_set: CandidateSet, chosen: Candidate) -> RankingModel:
        """The final model of a candidate, with its facts."""
        (model,) = self._models(candidate_set, [chosen])
        return model

    def _models(self, candidate_set: CandidateSet, candidates: Sequence[Candidate]) -> list[RankingModel]:
        """The final models of candidates, with the medians of their features and their lowest scores; the data are read
        twice for all models together."""
        models = [self._weights(candidate_set, c) for c in candidates]
        medians = training_medians(self.cv.data.X, np.unique(np.concatenate([m.support for m in models]))).tolist()
        models = [replace(m, features=tuple(f._replace(median=medians[f.index]) for f in m.features)) for m in models]
        return models if self.cv.first.client is not None else with_training_record(models, self.cv.data)

    def _with_losses(self, model: RankingModel, c: Candidate, costs: Mapping[str, Any]) -> RankingModel:
        """The model with the share of its metric that is lost without each feature, if it is known of all."""
        metric, names = repr(self.plan.metric), model.weights
        if len(names) == 1 or not all(map(costs.get, names)):
            return model
        lost = {name: costs[name][metric]["cost"] / (abs(c.mean) or 1.0) for name in names}
        return replace(model, metadata={**model.metadata, LOST: lost})

    def _weights(self, candidate_set: CandidateSet, chosen: Candidate) -> RankingModel:
        """The final model of a candidate with its provenance."""
        path, alpha = candidate_set.path(chosen.penalty), candidate_set.alpha(chosen)
        strength = {"alpha": alpha, "alpha_fraction": alpha / path.alpha_max} if path.penalty.along == ALPHA else {}
        learned = {
            "loss": path.penalty.lowers or loss_name(self.plan.path_plan.loss),
            "penalty": candidate_set.tasks[chosen.penalty].maker.rules.label,
            **strength,
            "relax": chosen.relax,
            "transform": candidate_set.transform(chosen).name,
            **({} if candidate_set.transform(chosen).teacher is None else {"teacher": str(self.teacher)}),
        }
        parameters = {**({"formula": chosen.formula} if chosen.formula else learned), **self.problem.facts}
        metadata = {
            "metric": repr(self.plan.metric),
            **vars(candidate_set.certificate(chosen)),
            "n_pairs": path.n_pairs,
            "quality": float(chosen.mean),
            "quality_from": "out of fold" if self.cv.folds else "validation queries",
        }
        model = candidate_set.model(
            chosen,
            self.names,
            parameters=parameters,
            metadata=metadata,
            fill_values=self.problem.train.fill_values,
            index_base=first_index(self.problem.train),
            derived=self.cv.data.derived or {},
        )
        plan = self.plan.path_plan
        if plan.round is None:
            return model
        one_row = numbers(model.features, "slope"), model.support, [0, len(model.support)]
        coefs = plan.rounded(sp.csr_array(one_row, shape=(1, model.n_features))).data.tolist()
        features = [f._replace(coef=w, mean=0.0, scale=1.0) for f, w in zip(model.features, coefs, strict=True)]
        return replace(model, features=tuple(features), scaling=NONE)

    # -- results on the chosen model ---------------------------------------------------------------------------------

    def _stability(
        self,
        candidate_set: CandidateSet,
        chosen: Candidate,
        model: RankingModel,
        store: Store,
        report: Progress,
        rest: float,
        notes: list[str],
    ) -> Stability | None:
        """Stability of the chosen maker at the chosen size on halves of the queries with pairs; one piece of work.
        rest: expected seconds of this and of the ablation."""
        n_pairs, n_trees = self.plan.half_samples // 2, self.trees.n_pieces
        if chosen.formula or n_pairs == 0:  # a formula selects nothing
            return None
        work = self.cv.works[candidate_set.transform(chosen)]
        usable = work.learns & (work.pairs() > 0)
        after = rest * (OF_ABLATION / self._of_the_rest - 1.0)
        if usable.sum() < 4:
            report(n_trees + 1, n_trees + 1, "half-samples: too few queries", after)
            return None
        longest = len(candidate_set.features(chosen, FINAL))  # where the paths of the halves end
        name = f"half-samples-{2 * n_pairs}-{chosen.penalty}-{chosen.k}-{longest}"

        def halves() -> dict[str, np.ndarray]:
            report(n_trees, n_trees + 1, f"{2 * n_pairs} half-samples", 0.0)
            return on_halves(self.cv, candidate_set, chosen, usable, n_pairs, self.plan.random_state)

        arrays = load_or_make(store, name, halves, kept=("b", (2 * n_pairs, len(self.names))), statuses=("U", (None,)))
        report(n_trees + 1, n_trees + 1, "half-samples", after)
        short = unsolved(arrays["statuses"].tolist(), "on half-samples", f"{FOLD_TOL:g}")
        if short is not None:
            notes.append(Caution(short))
            warn_caller(short, ConvergenceWarning)
        n_varying = len(self.names) - int(self.cv.data.constant_features().sum())
        one_column = np.array([columns[0] for columns in model.columns.values()], dtype=np.int64)  # of each feature
        return Stability(arrays["kept"], one_column, n_varying)

    def _for_engine(
        self, candidate_set: CandidateSet, model: RankingModel, store: Store, notes: list[str]
    ) -> ForEngine | None:
        """Transforms that the engine cannot run, and what that costs if an earlier run without it left candidates."""
        if self.engine is None:
            return None
        names = dict.fromkeys(t.transform.name for t in self.left_out)
        stored = self.cv.stored_candidates(self.left_out, store, relaxed=self.plan.relaxed)
        others = [] if stored is None else [*stored.sparse, *stored.dense]
        restriction = for_engine(self.engine.name, tuple(names), [*candidate_set.sparse, *candidate_set.dense], others)
        notes += [restriction.sentence(repr(self.plan.metric)), *other_fills(self.engine, model)]
        return restriction


def _folds(data: RankingDataset, plan: SelectionPlan, judge: JudgedQueries | None) -> np.ndarray:
    """(n_queries,) fold numbers; each fold has its part of the queries that people graded.

    Raises
        DataError   there are fewer than two queries
    """
    if data.n_queries == 0:
        raise DataError("the training data contain no documents; give at least two queries.")
    if data.n_queries < 2:
        raise DataError(
            "one query cannot be split into training and validation; give more, or fit a single model with "
            "'sparserank fit'."
        )
    if judge is not None and len(judge.people) < 2:
        raise DataError(
            "people graded one query, on which no choice can be evaluated; add their grades of at least one more."
        )
    fold = query_folds(data.n_queries, min(plan.cv, data.n_queries), plan.random_state)
    if judge is not None:
        n_people = len(judge.people)
        fold[judge.people] = query_folds(n_people, min(plan.cv, n_people), plan.random_state)
    return fold
