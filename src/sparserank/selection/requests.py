"""A selection of boosts: the clauses of a search request are the features, and its boosts the ranker in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.feature_logs import REST
from sparserank.data.matrices import columns_dense
from sparserank.errors import ParameterError
from sparserank.export import ENGINES
from sparserank.export.boosts import NO_REST
from sparserank.export.search_query import SearchQuery, read_search_query
from sparserank.model import RankingModel
from sparserank.options import option
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.typed import AllSelectOptions
from sparserank.shards.scaling import FeatureScaling

DIGITS = 2  # significant digits of a boost


def for_request(chosen: AllSelectOptions) -> tuple[AllSelectOptions, SearchQuery | None]:
    """(the options, boosts with two significant digits; the request).

    Raises
        ParameterError, DataFormatError   a request without an engine that runs it, or one that is no sum of clauses
    """
    engine, query = chosen["engine"], chosen["query"]
    boosts = engine is not None and ENGINES[engine].boosts
    if query is not None and not boosts:
        needs = " or ".join(option("engine", name) for name, e in ENGINES.items() if e.boosts)
        raise ParameterError("query", f"needs {needs}.")
    if boosts and chosen["round"] is None:
        chosen = cast(AllSelectOptions, {**chosen, "round": DIGITS})
    return chosen, None if query is None else read_search_query(query)


def listed_as(request: SearchQuery | None) -> dict[str, tuple[float, float] | None] | None:
    """How the listed scores of clauses are read (`feature_logs.Scored.clauses`): a feature is the score of a clause
    without its boost, times the boosts around it, so that its weight is the boost."""
    if request is None:
        return None
    factors = {c.name: (c.outer / c.boost if c.boost else 0.0, c.boost) for c in request.clauses.values()}
    return {**factors, **dict.fromkeys(request.unscored)}


def with_boosts(
    chosen: AllSelectOptions, plan: SelectionPlan, names: Sequence[str], request: SearchQuery | None
) -> tuple[AllSelectOptions, SelectionPlan]:
    """The options and the plan for weights >= 0; what is in no clause is always kept, and is the unit of the boosts."""
    given: Mapping[str, Any] = chosen["monotone"] or {}
    if odd := next((name for name, sign in given.items() if sign in ("-", -1)), None):
        raise ParameterError("monotone", f"cannot be - for {odd}: a clause cannot lower a score.")
    more: dict[str, Any] = {"monotone": {**dict.fromkeys(names, "+"), **given}}
    if REST in names:
        more["keep"] = [*(chosen["keep"] or ()), REST]
        plan = replace(plan, path_plan=replace(plan.path_plan, unit=list(names).index(REST)))
    if request is not None and chosen["current"] is None:
        boosts = np.array([request.clauses[n].boost if n in request.clauses else 1.0 for n in names])
        none = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
        more["current"] = RankingModel(boosts, tuple(names), none)
    return cast(AllSelectOptions, {**chosen, **more}), plan


def notes_of_request(model: RankingModel, data: RankingDataset, request: SearchQuery | None) -> list[str]:
    """Notes on what the new request does to documents that only deleted clauses find, and to what is in no clause."""
    names, used = list(data.feature_names or ()), set(model.columns)
    said = [f"{NO_REST}."] if REST in names and REST not in used else []
    clauses = {} if request is None or request.finds_otherwise else request.clauses
    gone = [j for j, n in enumerate(names) if n in clauses and n not in used and not clauses[n].must]
    others = [j for j in range(len(names)) if j not in gone]
    if gone:
        X = [(columns_dense(data.X, np.array(of)) != 0).any(axis=1) for of in (gone, others)]
        if n := int((X[0] & ~X[1]).sum()):
            said.append(
                f"documents that deleted clauses alone find, and are no longer returned: {n:,} of {len(X[0]):,}."
            )
    return said
