"""The menu of a selection: every penalty under every transform of the features, and the dense reference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sparserank.crossval.feature_groups import FeatureGroups
from sparserank.crossval.feature_rules import Maker
from sparserank.crossval.feature_transforms import FeatureTransform, feature_transforms, logs_differ
from sparserank.crossval.tasks import PEOPLE_ALONE, PathTask
from sparserank.crossval.teachers import TeachingTrees
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ParameterError
from sparserank.export import ENGINES
from sparserank.options import option
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.options.selection import (
    MAX_FEATURES_OF_STEPS,
    MIN_DOCS_OF_STEPS,
    MIN_QUERIES_OF_STEPS,
)
from sparserank.paths import PenaltyPath, SizedMaker, maker_of
from sparserank.paths.boosting import MAX_CUTOFF, BoostedSteps
from sparserank.paths.metric_search import MetricSearch
from sparserank.penalties import Penalty, Ridge
from sparserank.selection.plan import SelectionPlan
from sparserank.transforms import AUTO, DISTILLED, LOG, NONE, STEPS

DENSE = "ridge"  # the label of the dense reference
MANY_QUERIES = 1_000  # from which 100 rounds may underfit (docs/theory.md section 9)
MANY_ROUNDS: dict[str, Any] = {"rounds": 300, "rate": 0.3, "draws": 1}
MAX_VALUES_OF_STEPS = 1 << 30  # one byte each
OF_EARLIER = "on earlier features"  # of the run that is preferred
RIDGE_ALPHAS = 8  # the strength of the dense reference matters only to within a factor of three
RIDGE_MIN_RATIO = 1e-6


def tasks_of(
    plan: SelectionPlan,
    data: RankingDataset,
    groups: FeatureGroups,
    client: Any = None,
    transforms: Sequence[FeatureTransform] | None = None,
    trees: TeachingTrees | None = None,
) -> list[PathTask]:
    """The tasks, transform by transform: the penalties, then the dense reference, which steps and distilled models do
    not have. By default, concave penalties are tried only under the last linear transform, and under the last linear
    transform that the engine can run.

    transforms   by default those that the plan names
    trees        of the teacher of distilled models

    Raises
        ParameterError   distilled models without a linear penalty
    """
    if any(p.label == DENSE for p in plan.penalties):
        raise ParameterError("penalties", f"cannot be called {DENSE}, which is the name of the dense reference.")
    # The search on the metric, by default for engines that run boosts of queries, under the rules of the first penalty.
    of_boosts = plan.engine is not None and ENGINES[plan.engine].boosts
    searches = []
    if plan.with_steps and of_boosts and client is None and not data.is_stored:
        searches = [MetricSearch(metric=plan.metric).with_rules_of(plan.penalties[0])]
    by_default = (*steps_tried(plan, data), *searches) if transforms is None else ()
    limited = _limited(plan, by_default, groups, data)
    if transforms is None:
        names = transforms_tried(plan, data)
        if any(p.on_steps for p in limited.values()):
            names.append(STEPS)
        transforms = feature_transforms(data, names, plan.penalties[0], plan.renamed(data), trees)
    unasked = plan.with_steps and plan.feature_transform == (AUTO,)
    linear = [t for t in transforms if t.teacher is None and not t.shape.stepped]
    run = [t for t in linear if plan.engine is None or not t.lacking(ENGINES[plan.engine])]
    for_all = [*linear[-1:], *run[-1:]]
    steps = {label: p for label, p in limited.items() if p.on_steps}
    limited = {label: p for label, p in limited.items() if not p.on_steps}
    convex = {label: p for label, p in limited.items() if not isinstance(p, Penalty) or p.is_convex}
    out: list[PathTask] = []
    for transform in transforms:
        if transform.name == STEPS:
            out += _on(transform, steps)
        elif transform.teacher is not None:
            if not limited:
                raise ParameterError("feature_transform", f"{transform.name} needs a linear penalty, such as mcp.")
            asked = plan.feature_transform != (AUTO,)
            tried = {n: p for n, p in limited.items() if asked or (isinstance(p, Penalty) and not p.is_convex)}
            tried = {n: p for n, p in tried.items() if not isinstance(p, MetricSearch)}  # its metric needs true labels
            out += _on(transform, tried)
        else:
            dense = PenaltyPath(transform.limited(_dense(plan)), RIDGE_ALPHAS, RIDGE_MIN_RATIO)
            tried = convex if unasked and transform not in for_all else limited
            out += [*_on(transform, tried), PathTask(transform.label(DENSE), dense, transform)]
    return out


def first_look(tasks: Sequence[PathTask]) -> list[PathTask]:
    """The tasks of the first look: weights that learn from labels, which take a small part of the time of all tasks;
    if there are none, the first task and its reference."""
    weights = [t for t in tasks if isinstance(t.maker, PenaltyPath) and t.transform.teacher is None]
    if any(t.maker.selects for t in weights):
        return weights
    return [next(t for t in tasks if t.maker.selects), *weights]


def of_people(tasks: Sequence[PathTask]) -> list[PathTask]:
    """The tasks of weights once more, learned only from the queries that people graded."""
    weights = [t for t in first_look(tasks) if isinstance(t.maker, PenaltyPath) and t.maker.selects]
    return [
        replace(t, label=f"{t.label}{PEOPLE_ALONE}", transform=replace(t.transform, of_people=True)) for t in weights
    ]


def transforms_tried(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """The names of the transforms that are tried, distilled ones last."""
    if plan.feature_transform != (AUTO,):
        others = [name for name in plan.feature_transform if name in DISTILLED]
        linear = [name for name in plan.feature_transform if name not in DISTILLED]
        return [*(linear or dict.fromkeys(DISTILLED[name] for name in others)), *others]
    if plan.path_plan.scaling not in LINEAR_SCALINGS:
        return [NONE]
    differ = logs_differ(data)
    names = [NONE, LOG] if differ else [NONE]
    if not _could_be_steps(plan, data) or _too_large_for_steps(data):
        return names
    takes_logs = plan.engine is None or not ENGINES[plan.engine].lacks([LOG])
    return [*names, *(["distilled(log)"] if differ else []), *([] if differ and takes_logs else ["distilled"])]


def steps_tried(plan: SelectionPlan, data: RankingDataset) -> tuple[BoostedSteps, ...]:
    """The boosted steps tried by default, if any, under the rules of the first penalty: from MANY_QUERIES queries,
    one sequence of many steps."""
    if plan.path_plan.round is not None or not _could_be_steps(plan, data) or _too_large_for_steps(data):
        return ()
    cutoff = min(plan.metric.cutoff or BoostedSteps.cutoff, MAX_CUTOFF)
    kind = MANY_ROUNDS if data.n_queries >= MANY_QUERIES else {}
    return (BoostedSteps(cutoff=cutoff, **kind).with_rules_of(plan.penalties[0]),)


def notes_of_steps(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """A note on why steps were not tried, if they are tried by default on smaller data."""
    unasked = plan.path_plan.round is None and _could_be_steps(plan, data)
    if not unasked or not _too_large_for_steps(data):
        return []
    return [
        f"steps, and models distilled from them, were not tried, because the data have {data.n_docs} documents x "
        f"{data.n_features} features; {option('penalties', STEPS)} and {option('feature_transform', 'distilled')} try "
        "them."
    ]


def _could_be_steps(plan: SelectionPlan, data: RankingDataset) -> bool:
    """True if no option excludes steps, and there is enough to learn them."""
    unasked = plan.with_steps and plan.feature_transform == (AUTO,) and plan.path_plan.scaling in LINEAR_SCALINGS
    return unasked and data.n_queries >= MIN_QUERIES_OF_STEPS and data.n_docs >= MIN_DOCS_OF_STEPS


def _too_large_for_steps(data: RankingDataset) -> bool:
    return data.n_features > MAX_FEATURES_OF_STEPS or data.n_docs * data.n_features > MAX_VALUES_OF_STEPS


def _on(transform: FeatureTransform, labelled: dict[str, Maker]) -> list[PathTask]:
    return [
        PathTask(transform.label(label), maker_of(transform.limited(p)), transform) for label, p in labelled.items()
    ]


def _dense(plan: SelectionPlan) -> Ridge:
    """The dense reference, under the rules that all penalties share, so that it is an admissible rival."""
    monotone = {p.monotone for p in plan.penalties}
    return Ridge(monotone=monotone.pop() if len(monotone) == 1 else None, drop=tuple(sorted(plan.never)))


def _limited(
    plan: SelectionPlan, makers: Sequence[SizedMaker], feature_groups: FeatureGroups, data: RankingDataset
) -> dict[str, Maker]:
    """The penalties and `makers`. If single groups exceed --k or --budget, each is also tried without these groups,
    because a path that begins with a large group may contain no small model. If the features of an earlier run are
    preferred, each is also tried without all other features."""
    labelled = {**plan.labelled, **{maker.label: maker for maker in makers}}
    out, beyond = dict(labelled), feature_groups.beyond(plan.k, plan.budget)
    if beyond and len(beyond) < data.n_features:
        # All digits of the budget: paths of different limits have different labels.
        within = f"{plan.k} features" if plan.k is not None else f"a cost of {str(plan.budget).removesuffix('.0')}"
        out |= {
            f"{label} within {within}": _without(p, beyond)
            for label, p in labelled.items()
            if plan.feature_groups is not None
            or p.on_steps  # elimination keeps those of large gain, whatever they cost
        }
    if plan.prefer is not None:
        others = plan.prefer.others(data)
        out |= {f"{label} {OF_EARLIER}": _without(p, others) for label, p in labelled.items()}
    return out


def _without(p: Maker, features: Collection[int]) -> Maker:
    """The same without these features, except for those that it keeps."""
    return replace(p, drop=tuple(sorted({*p.drop, *features} - set(p.keep))))


def of_earlier(plan: SelectionPlan, tasks: Sequence[PathTask], data: RankingDataset) -> list[str]:
    """Labels of the tasks limited to the features of the earlier run, and to those in `keep`."""
    others = plan.prefer.others(data) if plan.prefer else frozenset()
    return [t.label for t in tasks if others.issubset({*t.maker.rules.drop, *t.maker.rules.keep})]
