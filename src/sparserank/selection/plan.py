"""The plan of a selection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, Unpack

import numpy as np

from sparserank import __version__
from sparserank.crossval.choice import FEATURE, TOTAL_COST, Candidate, Choice, Rule, choose
from sparserank.crossval.feature_groups import MAX, FeatureGroups
from sparserank.crossval.feature_rules import Maker, complete_penalties
from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.data.categories import Derived
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ParameterError
from sparserank.export import ENGINES, Engine
from sparserank.losses import loss_identity
from sparserank.metrics import Convention, Metric, parse_convention, parse_metric
from sparserank.options import check_options, option, parse_option, values_of
from sparserank.options.paths import JOB_PATHS, LINEAR_SCALINGS
from sparserank.options.selection import LINEAR, SELECT, TREES, FeatureOptions
from sparserank.paths import BestK, PathPlan, maker_of, parse_maker
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import brief
from sparserank.transforms import AUTO, DISTILLED, LOG, NONE
from sparserank.workdir.pieces import code_hash, foreign_code


@dataclass(frozen=True)
class Earlier:
    """The features of an earlier run, which are preferred.

    run      its name, for sentences
    names    of its features
    trained  ids of the queries from which it has learned; None: not known
    """

    run: str
    names: tuple[str, ...]
    trained: frozenset[str] | None

    def others(self, data: RankingDataset) -> frozenset[int]:
        """The columns of all other features."""
        columns = data.sources
        return frozenset(j for j, column in enumerate(columns) if column not in self.names)

    def new(self, query_ids: Iterable[Any]) -> np.ndarray | None:
        """(n_queries,) bool: queries from which it has not learned; None: not known."""
        known = self.trained
        return None if known is None else np.array([str(q) not in known for q in query_ids], dtype=bool)


@dataclass(frozen=True)
class SelectionPlan:
    """The checked options of a selection.

    protocol   'cv': quality out of fold over all queries of train and validation, final path on all of them;
               'holdout': paths on train, choice on validation alone (the papers' protocol)
    margin     largest estimated loss of the chosen model, relative to the best of all
    guarantee  largest bound on that loss; takes the place of margin
    feature_transform  transforms to try, by their names in `transforms.parse_transform`
    engine     engine that will run the model; only models that it can run are tried; None: all models
    half_samples  number of half-samples of the queries on which the selection is repeated, for stability; even, or 0
    fast       only the tasks of the first look are tried (`menu.first_look`), without rivals, ablation and half-samples
    relaxed    whether the models of each size are also tried without the shrinkage of their penalty
    k, budget  largest number of features, largest total cost; either replaces the margin
    costs      one per feature, in the order of the features; they weight the penalties too
    prefer     an earlier run, whose features are also tried alone, and chosen if their loss is within the margin
    most       models with more features are not chosen
    with_steps   boosted steps, models distilled from them, and a search on the metric are tried too, where `menu` says
    noun       word for a feature in sentences
    feature_groups  groups of features that are computed together, enter the penalties together and are paid for once

    Raises
        ParameterError   names the field that is out of its range
    """

    penalties: tuple[Maker, ...]
    metric: Metric
    report_metrics: tuple[Metric, ...] = ()
    path_plan: PathPlan = field(default_factory=PathPlan)
    protocol: str = SELECT["protocol"].default
    cv: int = SELECT["cv"].default
    random_state: int = SELECT["random_state"].default
    margin: float = SELECT["margin"].default
    guarantee: float | None = None
    confidence: float = SELECT["confidence"].default
    k: int | None = None
    budget: float | None = None
    costs: tuple[float, ...] | None = None
    feature_groups: FeatureGroups | None = None
    relaxed: bool = SELECT["relaxed"].default
    with_steps: bool = False
    feature_transform: tuple[str, ...] = SELECT["feature_transform"].default
    engine: str | None = None
    half_samples: int = SELECT["half_samples"].default
    fast: bool = SELECT["fast"].default
    prefer: Earlier | None = None
    most: int | None = None
    noun: str = FEATURE

    def __post_init__(self) -> None:
        dense = next((p.name for p in self.penalties if not maker_of(p).selects), None if self.penalties else "ridge")
        if dense is not None:
            it = "it" if dense == "ridge" else "ridge"
            reason = f"{dense} selects no features; {it} is always fitted as the dense reference."
            raise ParameterError("penalties", reason)
        if len({p.with_alpha(1.0) for p in self.penalties}) < len(self.penalties):
            raise ParameterError("penalties", "names the same penalty twice; one path covers all strengths.")
        if not self.metric.higher_is_better:
            raise ParameterError(
                "metric", f"must be a metric for which higher is better. Report others with {option('report_metrics')}."
            )
        check_options({name: SELECT[name] for name in PLANNED}, vars(self))
        check_options(JOB_PATHS, vars(self.path_plan))
        if self.half_samples % 2:
            raise ParameterError("half_samples", f"must be even, because they come in pairs; got {self.half_samples}.")
        if self.fast and self.half_samples not in (0, SELECT["half_samples"].default):
            raise ParameterError("half_samples", f"cannot be combined with {option('fast', True)}.")
        if self.fast:
            object.__setattr__(self, "half_samples", 0)
        named = (self.feature_transform,) if isinstance(self.feature_transform, str) else self.feature_transform
        object.__setattr__(self, "feature_transform", tuple(dict.fromkeys(named)))
        if not named or (AUTO in named and len(named) > 1):
            raise ParameterError("feature_transform", f"must be {AUTO}, or one or several others; got {brief(named)}.")
        if not {AUTO, NONE}.issuperset(named) and self.path_plan.scaling not in LINEAR_SCALINGS:
            scaling = option("scaling", self.path_plan.scaling)
            raise ParameterError("feature_transform", f"cannot be combined with {scaling}.")
        stepped = [p.label for p in self.penalties if p.on_steps]
        if self.path_plan.round is not None and (stepped or self.path_plan.scaling not in LINEAR_SCALINGS):
            other = stepped[0] if stepped else option("scaling", self.path_plan.scaling)
            raise ParameterError("round", f"cannot be combined with {other}, which has no weights of features.")
        if self.engine is not None:
            self._refuse_what_the_engine_lacks(ENGINES[self.engine])
        limits = [name for name in ("k", "budget", "guarantee") if getattr(self, name) is not None]
        if len(limits) > 1:
            raise ParameterError(limits[1], f"cannot be combined with {option(limits[0])}.")
        if self.prefer is not None and (self.fast or self.guarantee is not None):
            other = option("fast", True) if self.fast else option("guarantee", self.guarantee)
            raise ParameterError("prefer", f"cannot be combined with {other}.")
        if self.guarantee is not None and self.margin != SELECT["margin"].default:
            raise ParameterError("guarantee", f"cannot be combined with {option('margin', self.margin)}.")

    def _refuse_what_the_engine_lacks(self, engine: Engine) -> None:
        """Raise ParameterError for a requested transform or scaling that the engine cannot run."""
        if engine.name in TREES and not all(p.on_steps for p in self.penalties):
            raise ParameterError("engine", f"{engine.name} takes steps only; add {option('penalties', 'steps')}.")
        scaling = FeatureScaling(self.path_plan.scaling)
        asked = [
            ("feature_transform", name, engine.lacks([DISTILLED.get(name, name)])) for name in self.feature_transform
        ]
        asked.append(
            ("scaling", scaling.method, engine.lacks([LOG] if scaling.logarithmic else [], lists=scaling.per_query))
        )
        asked += [("penalties", p.label, engine.lacks(steps=p.on_steps)) for p in self.penalties]
        for name, value, lacks in asked:
            if lacks:
                with_engine = option("engine", engine.name)
                raise ParameterError(name, f"cannot be {value} with {with_engine}: {engine.title} {lacks}.")

    def for_features(
        self, names: Sequence[str], derived: Mapping[str, Derived] | None = None, **options: Unpack[FeatureOptions]
    ) -> SelectionPlan:
        """Resolve the options that name features, as in `select`, and return the plan with completed penalties.
        Features that are made from a column of a table, `derived`, are a group.

        Raises
            ParameterError, DataFormatError   name what cannot be used
        """
        if self.budget is not None and options.get("costs") is None and options.get("feature_groups") is None:
            raise ParameterError("budget", f"needs {option('costs')} or {option('feature_groups')}.")
        completed = complete_penalties(self.penalties, names, derived, **options)
        return replace(
            self,
            penalties=completed.penalties,
            feature_groups=completed.feature_groups or self.feature_groups,
            costs=completed.costs or self.costs,
        )

    def with_conventions(self, **rules: Any) -> SelectionPlan:
        """A copy of the plan. rules: fields of `Convention`, which replace those of each of its metrics."""

        metric, *reported = (
            replace(m, convention=replace(m.convention, **rules)) for m in (self.metric, *self.report_metrics)
        )
        return replace(self, metric=metric, report_metrics=tuple(reported))

    def choose(self, sparse: Sequence[Candidate], others: Sequence[Candidate] = (), named: str = "") -> Choice:
        """The choice among sparse candidates by the rule of the plan; others are compared, never chosen. named: the
        formula that is chosen unless another candidate earns its place."""
        return choose(
            sparse,
            others,
            rule=self.rule,
            confidence=self.confidence,
            seed=self.random_state,
            out_of_fold=self.protocol == "cv",
            named=named,
        )

    def count(self, features: Collection[int]) -> int:
        """The number of some features (numbers), of which those that are made from one column count as one."""
        return len(features) if self.feature_groups is None else self.feature_groups.count(np.array(list(features)))

    @property
    def never(self) -> set[int]:
        """The features that no penalty may use."""
        return set.intersection(*(set(p.drop) for p in self.penalties))

    @property
    def by_cost(self) -> bool:
        """Whether the smallest model is the cheapest one, because users named groups."""
        return self.feature_groups is not None and self.feature_groups.by_user

    @property
    def rule(self) -> Rule:
        """The rule that decides among candidates."""
        groups = self.feature_groups
        return Rule(
            self.margin,
            self.guarantee,
            self.k,
            self.budget,
            by_cost=self.by_cost,
            most=self.most,
            noun=self.noun,
            cost="largest cost" if groups is not None and groups.rule == MAX else TOTAL_COST,
        )

    @property
    def metrics(self) -> list[Metric]:
        """The metric of choice first, then the others that are reported."""
        return list(dict.fromkeys([self.metric, *self.report_metrics]))

    @property
    def labelled(self) -> dict[str, Maker]:
        """The penalties by unique labels: short names, numbered if only weights or signs distinguish them."""
        out: dict[str, Maker] = {}
        for penalty in self.penalties:
            same = sum(p.label == penalty.label for p in out.values())
            out[f"{penalty.label} #{same + 1}" if same else penalty.label] = penalty
        return out

    def renamed(self, data: RankingDataset) -> list[str]:
        """The columns whose names the format of the engine does not allow."""
        return [c for c in data.sources if self.engine is not None and not ENGINES[self.engine].takes(c)]

    def identity(
        self,
        train: RankingDataset,
        valid: RankingDataset | None,
        query_weight: Sequence[float] | None = None,
        judged: RankingDataset | None = None,
        judge: JudgedQueries | None = None,
    ) -> dict[str, Any]:
        """Everything that stored pieces of work depend on: a run directory is resumed only under the same identity.
        judged: documents on which candidates are evaluated, if these are others; judge: the queries that people graded,
        if a judge graded the others.

        Margin, guarantee, confidence, k and budget are left out, because they choose among finished pieces. Relaxed
        models, transforms, the engine, half-samples and `fast` only add or omit pieces, which have their own names.
        """
        loss, conventions = self.path_plan.loss, [repr(m.convention) for m in self.metrics]
        return {
            "sparserank": __version__,
            "code": code_hash(_computes_nothing_here),
            "train": data_hash(train),
            "valid": None if valid is None else data_hash(valid),
            "query_weight": None if query_weight is None else [float(v) for v in query_weight],
            "penalties": [repr(p) + foreign_code(type(p)) for p in self.penalties],
            "settings": repr(values_of(JOB_PATHS, vars(self.path_plan)) | {"loss": loss_identity(loss)}),
            "protocol": self.protocol,
            "folds": self.cv,
            "seed": self.random_state,
            "metrics": [repr(m) for m in self.metrics],
            "renamed": self.renamed(train),
            **({} if self.prefer is None else {"prefer": list(self.prefer.names)}),
            **({} if judged is None else {"judged": data_hash(judged), "conventions": conventions}),
            **({} if judge is None else {"judge": data_hash(judge.again)}),
        }


def _computes_nothing_here(inside: tuple[str, ...]) -> bool:
    """True for the package `papers` and for the module that writes result files: no piece depends on them."""
    return inside[0] == "papers" or inside == ("selection", "result_files.py")


PLANNED = {field.name for field in fields(SelectionPlan)} & SELECT.keys() - {"penalties", "prefer"}


def make_plan(
    *,
    penalties: str | Maker | Sequence[str | Maker] | None,
    metric: str | Metric,
    report_metrics: Sequence[str | Metric],
    convention: str | Convention,
    path_plan: PathPlan | None = None,
    **choices: Any,
) -> SelectionPlan:
    """A plan from names; `choices` are the other fields of SelectionPlan.

    Raises
        ParameterError   names the parameter that cannot be read or is out of its range
    """
    with_steps, penalties = penalties is None, LINEAR if penalties is None else penalties
    listed = [penalties] if isinstance(penalties, str | Maker) else list(penalties)
    reported = [report_metrics] if isinstance(report_metrics, str | Metric) else report_metrics
    rules = parse_option("convention", parse_convention, convention)
    parsed = [parse_option("penalties", parse_maker, p) for p in listed]
    k = choices.get("k")
    if isinstance(k, Integral) and int(k) >= 1:  # best_k must reach the requested size
        parsed = [replace(p, k_max=int(k)) if isinstance(p, BestK) and p.k_max < int(k) else p for p in parsed]
    return SelectionPlan(
        tuple(parsed),
        parse_option("metric", lambda m: parse_metric(m, rules), metric),
        tuple(parse_option("report_metrics", lambda m: parse_metric(m, rules), m) for m in reported),
        path_plan or PathPlan(),
        with_steps=with_steps,
        **choices,
    )


def planned(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a job that `make_plan` takes, except penalties and the plan of paths."""
    names = {"metric", "report_metrics", "convention", *PLANNED}
    return {name: value for name, value in chosen.items() if name in names}
