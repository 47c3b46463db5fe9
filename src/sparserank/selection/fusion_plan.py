"""The plan of a fusion: norms of lists to try, costs of retrievers, and the plan of the selection."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.crossval.feature_groups import COSTS, MAX, FeatureGroups, positive_cost
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.fusion.norms import AUTO, MINMAX, OF_SCORES, RRF, Norm, parse_norm, rules_of
from sparserank.data.text_lines import read_entries
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.options import option
from sparserank.options.fusion import AllFuseOptions
from sparserank.paths import PathPlan
from sparserank.selection.plan import SelectionPlan, make_plan, planned
from sparserank.text import brief

OF_RUNS, OF_RANK_COLUMNS = ("minmax", "zscore", "rrf"), ("rrf", "rrf(k=10)", "logrank")  # norms that 'auto' tries
NO_PATH = "no retriever ranks the relevant documents above the others"
N_ALPHAS = 20  # regularisation strengths on each path: retrievers are few
MAX_RETRIEVER = 28  # characters of the name of a retriever
TITLES = {RRF: "RRF", MINMAX: "CombSUM"}
LEAST_WEIGHT = 1e-6  # smallest share of a kept retriever: smaller ones are residues of the solver's tolerance


def norms_tried(requested: Any, engine_name: str | None, negative: Sequence[str], *, of_ranks: bool) -> list[Norm]:
    """The norms that are tried; negative: retrievers with scores below 0.

    Raises
        ParameterError   the engine does not compute a norm, or there are no scores for it
    """
    names = [requested] if isinstance(requested, str) else list(requested)
    engine = None if engine_name is None else FUSION_ENGINES[engine_name]
    if names == [AUTO]:
        by_ranks = of_ranks or (engine is not None and all(engine.why_not(Norm(name), negative) for name in OF_SCORES))
        norms = [parse_norm(name) for name in (OF_RANK_COLUMNS if by_ranks else OF_RUNS)]
        norms = [norm for norm in norms if engine is None or engine.why_not(norm, negative) is None]
        if not norms and engine is not None and engine.why_not(rrf := Norm(RRF, engine.rrf_k[0])) is None:
            return [rrf]
        if not norms:
            raise ParameterError("engine", f"cannot be {engine_name}: it does not fuse ranks.")
        return norms
    if AUTO in names or not names:
        raise ParameterError("norm", f"must be {AUTO}, or one or several others; got {brief(names)}.")
    norms = list(dict.fromkeys(parse_norm(name) for name in names))
    for norm in norms:
        lacking = None if engine is None else engine.why_not(norm, negative)
        if lacking is not None:
            raise ParameterError("norm", f"cannot be {norm}: {lacking}.")
    scores = next((norm for norm in norms if norm.name in OF_SCORES), None)
    if of_ranks and scores is not None:
        raise ParameterError("norm", f"cannot be {scores} with {option('rank_columns', True)}: there are no scores.")
    return norms


def norms_with_paths(
    data: RankingDataset, norms: Sequence[Norm], columns: Sequence[Norm], plan: SelectionPlan
) -> list[Norm]:
    """The norms under which some weight that the signs allow lowers the loss, on all queries and without each fold.

    Raises
        DataError   there is none
    """
    slopes = np.array([_slopes(data, q) for q in range(data.n_queries)])  # (n_queries, n_features)
    fold = query_folds(data.n_queries, min(plan.cv, data.n_queries), plan.random_state)
    sums = np.array([slopes.sum(axis=0), *(slopes[fold != f].sum(axis=0) for f in np.unique(fold))])
    if all(p.monotone is None for p in plan.penalties):
        sums = np.abs(sums)
    falls = sums.reshape(len(sums), -1, len(columns)).max(axis=1) > 0  # (1 + n_folds, n_norms)
    usable = [norm for norm in norms if falls[:, columns.index(norm)].all()]
    if not usable:
        raise DataError(f"{NO_PATH}. Check that larger scores mean more relevant, or use {option('sign', 'free')}.")
    return usable


def _slopes(data: RankingDataset, q: int) -> np.ndarray:
    """(n_features,) how much the features of preferred documents exceed those of the others, summed over pairs."""
    rows = slice(data.query_ptr[q], data.query_ptr[q + 1])
    grades = data.relevance[rows]
    ordered = np.sort(grades)
    lower = np.searchsorted(ordered, grades, "left")
    higher = len(grades) - np.searchsorted(ordered, grades, "right")
    return np.asarray((lower - higher) @ data.X[rows]).ravel()


def transform_of(norm: Norm, columns: Sequence[Norm], n_retrievers: int) -> FeatureTransform:
    """A transform that uses this norm for every retriever and leaves out the columns of the other norms."""
    others = [c for c, other in enumerate(columns) if other != norm]
    left_out = [r * len(columns) + c for r in range(n_retrievers) for c in others]
    return FeatureTransform(str(norm), left_out=tuple(left_out), least=LEAST_WEIGHT)


def fusion_plan(
    chosen: AllFuseOptions, data: RankingDataset, names: Sequence[str], costs: Mapping[str, float], depth: int
) -> SelectionPlan:
    """The plan of the selection.

    Parameters
        chosen   options of `fuse`; data: the judged documents
        names    of the retrievers, whose columns are adjacent; costs: empty if there are none
    Raises
        ParameterError   options that exclude each other
    """
    engine = None if chosen["engine"] is None else FUSION_ENGINES[chosen["engine"]]
    if engine is not None and engine.positive and chosen["sign"] == "free":
        raise ParameterError("sign", f"cannot be free: {engine.title} takes only weights >= 0.")
    for name, value in (("budget", chosen["budget"]), ("cost_rule", chosen["cost_rule"])):
        if not costs and value not in (None, "sum"):
            raise ParameterError(name, f"needs {option('costs')}.")
    cheapest = min(costs, key=costs.__getitem__, default="")
    if costs and chosen["budget"] is not None and chosen["budget"] < costs[cheapest]:
        raise ParameterError(
            "budget", f"is below the cost of the cheapest retriever, {cheapest} ({costs[cheapest]:g})."
        )
    plan = make_plan(
        penalties=chosen["penalties"],
        path_plan=PathPlan(n_alphas=N_ALPHAS),
        feature_transform=("none",),
        most=None if engine is None else engine.most,
        noun="retriever",
        **{**planned(chosen), "engine": None},
    )
    # Fused lists leave out documents that no retriever in use returned, or that an engine cuts off.
    rules: dict[str, Any] = {"zero_scores": "left_out", "longest": depth if rules_of(chosen["engine"]).trims else None}
    if chosen["relevant_from"] != 1:
        rules["relevant_from"] = chosen["relevant_from"]
    plan = plan.with_conventions(**rules)
    features = data.names
    signs = dict.fromkeys(features, "+") if chosen["sign"] == "positive" else None
    if not costs:
        return plan.for_features(features, monotone=signs)
    width = len(features) // len(names)
    of_feature = tuple(np.repeat(np.arange(len(names)), width).tolist())
    groups = FeatureGroups(tuple(names), tuple(costs[n] for n in names), of_feature, chosen["cost_rule"])
    owner = {feature: names[g] for feature, g in zip(features, of_feature, strict=True)}
    prices = None if groups.rule == MAX else costs
    plan = plan.for_features(features, feature_groups=owner, costs=prices, monotone=signs)
    return replace(plan, feature_groups=groups)


def retriever_costs(source: Any, names: Sequence[str]) -> dict[str, float]:
    """{retriever: cost > 0}, from such a mapping or from a file of lines 'retriever cost'; empty for None.

    Raises
        ParameterError, DataFormatError   name what cannot be used
    """
    if source is None:
        return {}
    places: dict[str, str] = {}
    if isinstance(source, Mapping):
        costs = {str(name): cost for name, cost in source.items()}
    elif isinstance(source, str | os.PathLike):
        costs = {}
        for line, text in enumerate(read_entries(source, "'retriever cost' per line"), start=1):
            # 'name cost', 'name, cost' or with a tab; a name may contain blanks and commas.
            entry = text.strip().replace("\t", " ")
            at = max(entry.rfind(" "), entry.rfind(","))
            name, cost = (entry[:at].rstrip(" ,"), entry[at + 1 :].strip()) if at >= 0 else (entry, "")
            if name in costs:
                raise DataFormatError(f"{source}:{line}: {brief(name)} already has a cost.")
            costs[name], places[name] = cost, f"{source}:{line}: "
    else:
        raise ParameterError("costs", f"must be {{retriever: cost}} or a file; got {brief(source)}.")
    known = f"the retrievers are {brief(', '.join(names))}"
    for name, cost in costs.items():
        value = None if isinstance(cost, bool) else positive_cost(cost)
        problem = ""
        if name not in names:
            problem = f"{brief(name)} is not a retriever; {known}."
        elif value is None:
            problem = f"expected a cost > 0 of {brief(name)}; got {brief(cost)} (costs may be {COSTS})."
        if problem and name in places:
            raise DataFormatError(f"{places[name]}{problem}")
        if problem:
            raise ParameterError("costs", f"cannot be used: {problem}")
        costs[name] = value
    missing = next((name for name in names if name not in costs), None)
    if missing is not None:
        raise ParameterError(
            "costs", f"cannot be used: there is no cost of {brief(missing)}; give one for every retriever."
        )
    return {name: float(costs[name]) for name in names}


# -- the words for formulas -------------------------------------------------------------------------------------------


def title_of(norm: Norm) -> str:
    """The name of the sum of all retrievers under a norm."""
    return TITLES.get(str(norm), f"equal weights, {norm}")


def alone(retriever: str) -> str:
    """The name of the formula of one retriever."""
    return f"{retriever} alone"


def shown_weight(weight: float, decimals: int) -> str:
    """The weight with this many decimals, or in scientific notation if it would show as 0, which no kept weight is."""
    text = f"{weight:.{decimals}f}"
    return text if float(text) else f"{weight:.0e}"
