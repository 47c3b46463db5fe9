"""The menu of a selection: every penalty under every transform of the features, and the dense reference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.crossval.feature_groups import FeatureGroups
from sparserank.crossval.feature_transforms import FeatureTransform, feature_transforms, logs_differ
from sparserank.crossval.tasks import PathTask
from sparserank.curves import Knots, not_in_memory
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ParameterError
from sparserank.export import ENGINES
from sparserank.options import option
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.options.selection import (
    MAX_FEATURES_OF_STEPS,
    MAX_VALUES_OF_CURVES,
    MIN_DOCS_OF_STEPS,
    MIN_QUERIES_OF_STEPS,
    MIN_QUERIES_OF_TEACHERS,
)
from sparserank.paths import PenaltyPath, SizedMaker, maker_of
from sparserank.paths.boosting import MAX_CUTOFF, BoostedSteps
from sparserank.paths.metric_search import MetricSearch
from sparserank.penalties import MCP, Penalty, Ridge
from sparserank.penalties.nested import like_l1
from sparserank.selection.plan import SelectionPlan
from sparserank.transforms import AUTO, CURVES, DISTILLED, LOG, NONE, STEPS

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
) -> list[PathTask]:
    """The tasks, transform by transform: the penalties, then the dense reference, which curves and distilled
    models do not have. If curves of logarithms are tried by default, penalties that support them are not tried on plain
    logarithms.
    transforms: by default those that the plan names.

    Raises
        ParameterError   curves with data that are not in memory, or with penalties of different signs; distilled models
                         without a linear penalty
    """
    if any(p.label == DENSE for p in plan.penalties):
        raise ParameterError("penalties", f"cannot be called {DENSE}, which is the name of the dense reference.")
    by_default = (*steps_tried(plan, data), *searches_tried(plan, data, client)) if transforms is None else ()
    limited = _limited(plan, by_default, groups, data)
    if transforms is None:
        names = transforms_tried(plan, data, client)
        if any(p.on_steps for p in limited.values()):
            names.append(STEPS)
        directions = _directions(plan, data.n_features) if not CURVES.keys().isdisjoint(names) else None
        first = plan.penalties[0]
        transforms = feature_transforms(data, names, plan.n_knots, directions, first, plan.renamed(data))
    unasked = plan.feature_transform == (AUTO,) and any(isinstance(t.knots, Knots) for t in transforms)
    steps = {label: p for label, p in limited.items() if p.on_steps}
    limited = {label: p for label, p in limited.items() if label not in steps}
    straight = {label: p for label, p in limited.items() if not p.tried_on_curves}
    out: list[PathTask] = []
    for transform in transforms:
        if transform.name == STEPS:
            out += _on(transform, steps)
        elif transform.teacher is not None:
            if not limited:
                raise ParameterError("feature_transform", f"{transform.name} needs a linear penalty, such as mcp.")
            asked = plan.feature_transform != (AUTO,)
            own = {n: p for n, p in limited.items() if asked or (isinstance(p, Penalty) and not p.is_convex)}
            own = {n: p for n, p in own.items() if not isinstance(p, MetricSearch)}  # its metric needs true labels
            out += _on(transform, own)
        elif transform.knots.curved:
            out += _on(transform, _for_curves(limited)) if limited else []
        else:
            dense = PenaltyPath(transform.limited(_dense(plan)), RIDGE_ALPHAS, RIDGE_MIN_RATIO)
            own = straight if unasked and transform.transform is not None else limited
            out += [*_on(transform, own), PathTask(transform.label(DENSE), dense, transform)]
    return out


def first_look(tasks: Sequence[PathTask]) -> list[PathTask]:
    """The tasks of the first look: the first penalty, and the dense reference under its transform."""
    first = next(t for t in tasks if t.maker.selects)
    return [first, *(t for t in tasks if t.transform == first.transform and not t.maker.selects)]


def transforms_tried(plan: SelectionPlan, data: RankingDataset, client: Any = None) -> list[str]:
    """The names of the transforms that are tried, curves and distilled ones last.

    Raises
        ParameterError   curves were requested, and the data are not in memory
    """
    if plan.feature_transform != (AUTO,):
        beside = CURVES | DISTILLED
        others = [name for name in plan.feature_transform if name in beside]
        if not CURVES.keys().isdisjoint(others) and not _in_memory(data, client):
            raise ParameterError("feature_transform", not_in_memory())
        linear = [name for name in plan.feature_transform if name not in beside]
        return [*(linear or dict.fromkeys(beside[name] for name in others)), *others]
    if plan.path_plan.scaling not in LINEAR_SCALINGS:
        return [NONE]
    differ = logs_differ(data)
    if tries_curves(plan, data, client):
        names = [NONE, LOG, "curves(log)"] if differ else [NONE, "curves"]
    else:
        names = [NONE, LOG] if differ else [NONE]
    if not _could_be_steps(plan, data, MIN_QUERIES_OF_TEACHERS) or _too_large_for_steps(data):
        return names
    if not differ:
        return [*names, "distilled"]
    takes_logs = plan.engine is None or not ENGINES[plan.engine].lacks([LOG])
    return [*names, "distilled(log)", *([] if takes_logs else ["distilled"])]


def tries_curves(plan: SelectionPlan, data: RankingDataset, client: Any) -> bool:
    """True if curves are tried by default, because they cost little."""
    return _could_be_curves(plan, data) and _in_memory(data, client) and _n_values(data) <= MAX_VALUES_OF_CURVES


def notes_of_curves(plan: SelectionPlan, data: RankingDataset, client: Any) -> list[str]:
    """Notes on why curves were not tried, if they are tried by default on other data."""
    if not _could_be_curves(plan, data):
        return []
    if not _in_memory(data, client):
        return ["curves were not tried: they need features in memory."]
    n = _n_values(data)
    if n <= MAX_VALUES_OF_CURVES:
        return []
    asked = option("feature_transform", "curves(log)" if logs_differ(data) else "curves")
    return [f"curves were not tried, because the data have {n / 1e6:.3g} million values; {asked} tries them."]


def steps_tried(plan: SelectionPlan, data: RankingDataset) -> tuple[BoostedSteps, ...]:
    """The boosted steps tried by default, if any, under the rules of the first penalty: from MANY_QUERIES queries,
    one sequence of many steps."""
    if plan.path_plan.round is not None or not _could_be_steps(plan, data) or _too_large_for_steps(data):
        return ()
    cutoff = min(plan.metric.cutoff or BoostedSteps.cutoff, MAX_CUTOFF)
    kind = MANY_ROUNDS if data.n_queries >= MANY_QUERIES else {}
    return (BoostedSteps(cutoff=cutoff, **kind).with_rules_of(plan.penalties[0]),)


def searches_tried(plan: SelectionPlan, data: RankingDataset, client: Any) -> tuple[MetricSearch, ...]:
    """The search on the metric, by default for engines that run boosts of queries. It follows the rules of the first
    penalty."""
    of_boosts = plan.engine is not None and ENGINES[plan.engine].boosts
    tried = plan.with_steps and of_boosts and _in_memory(data, client)
    return (MetricSearch(metric=plan.metric).with_rules_of(plan.penalties[0]),) if tried else ()


def notes_of_steps(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """A note on why steps were not tried, if they are tried by default on smaller data."""
    unasked = plan.path_plan.round is None and _could_be_steps(plan, data, MIN_QUERIES_OF_TEACHERS)
    if not unasked or not _too_large_for_steps(data):
        return []
    return [
        f"steps, and models distilled from them, were not tried, because the data have {data.n_docs} documents x "
        f"{data.n_features} features; {option('penalties', STEPS)} and {option('feature_transform', 'distilled')} try "
        "them."
    ]


def _could_be_steps(plan: SelectionPlan, data: RankingDataset, n_queries: int = MIN_QUERIES_OF_STEPS) -> bool:
    """True if no option excludes steps, and there is enough to learn them."""
    unasked = plan.with_steps and plan.feature_transform == (AUTO,) and plan.path_plan.scaling in LINEAR_SCALINGS
    return unasked and data.n_queries >= n_queries and data.n_docs >= MIN_DOCS_OF_STEPS


def _too_large_for_steps(data: RankingDataset) -> bool:
    return data.n_features > MAX_FEATURES_OF_STEPS or _n_values(data) > MAX_VALUES_OF_STEPS


def _could_be_curves(plan: SelectionPlan, data: RankingDataset) -> bool:
    """True if no other option excludes curves, and at least one penalty supports them."""
    return (
        plan.feature_transform == (AUTO,)
        and plan.path_plan.round is None
        and plan.path_plan.scaling in LINEAR_SCALINGS
        and len(_signs(plan, data.n_features)) == 1
        and any(p.tried_on_curves for p in plan.penalties)
        and (plan.engine is None or not ENGINES[plan.engine].lacks(curves=True))
    )


def _in_memory(data: RankingDataset, client: Any) -> bool:
    return not data.is_stored and client is None


def _n_values(data: RankingDataset) -> int:
    return data.n_docs * data.n_features


def _on(transform: FeatureTransform, labelled: dict[str, Penalty | SizedMaker]) -> list[PathTask]:
    own = {transform.label(label): transform.limited(penalty) for label, penalty in labelled.items()}
    return [PathTask(label, maker_of(penalty), transform) for label, penalty in own.items()]


def _dense(plan: SelectionPlan) -> Ridge:
    """The dense reference, under the rules that all penalties share, so that it is an admissible rival."""
    monotone = {p.monotone for p in plan.penalties}
    return Ridge(monotone=monotone.pop() if len(monotone) == 1 else None, drop=tuple(sorted(plan.never)))


def _for_curves(labelled: dict[str, Penalty | SizedMaker]) -> dict[str, Penalty | SizedMaker]:
    """The requested penalties that support curves, or else l1 and MCP under the rules of the first penalty."""
    known = {label: p for label, p in labelled.items() if p.tried_on_curves}
    if known:
        return known
    first = next(iter(labelled.values()))
    l1 = like_l1(first)
    return {"l1": l1, "mcp": MCP().with_rules_of(l1)}


def _limited(
    plan: SelectionPlan, more: Sequence[SizedMaker], feature_groups: FeatureGroups, data: RankingDataset
) -> dict[str, Penalty | SizedMaker]:
    """The penalties and more makers. If single groups exceed --k or --budget, each is also tried without these groups,
    because a path that begins with a large group may contain no small model; and if the features of an earlier run are
    preferred, without all others."""
    labelled = {**plan.labelled, **{maker.label: maker for maker in more}}
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


def _without(p: Penalty | SizedMaker, features: Collection[int]) -> Penalty | SizedMaker:
    """The same without these features, except for those that it keeps."""
    return replace(p, drop=tuple(sorted({*p.drop, *features} - set(p.keep))))


def of_earlier(plan: SelectionPlan, tasks: Sequence[PathTask], data: RankingDataset) -> list[str]:
    """The labels of the tasks that use only features of the run that is preferred, and those that are kept anyway."""
    others = plan.prefer.others(data) if plan.prefer else frozenset()
    return [t.label for t in tasks if others.issubset({*t.maker.rules.drop, *t.maker.rules.keep})]


def _signs(plan: SelectionPlan, n_features: int) -> set[tuple[float, ...]]:
    """The different sign rules of the penalties, one sign for each feature."""
    return {tuple(p.feature_signs(n_features).tolist()) for p in plan.penalties}


def _directions(plan: SelectionPlan, n_features: int) -> np.ndarray:
    """(n_features,) directions of curves: the sign rules that all penalties must share."""
    monotone = _signs(plan, n_features)
    if len(monotone) > 1:
        raise ParameterError(
            "feature_transform", "curves need the same monotone rule for all penalties; pass monotone as an option."
        )
    return np.array(monotone.pop())
