"""A selection of boosts: the clauses of a search request are the features, and its boosts the ranker in use."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import columns_dense
from sparserank.data.read import is_path, paths_of
from sparserank.data.read_files import kind_of
from sparserank.data.responses import NOISE, REST
from sparserank.errors import DataWarning, ParameterError
from sparserank.export import ENGINES
from sparserank.export.search_query import SearchQuery, read_search_query
from sparserank.model import RankingModel
from sparserank.number_checks import rounded
from sparserank.options import option
from sparserank.options.selection import REQUESTS
from sparserank.paths.refits import NamedFormulas
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.typed import AllSelectOptions
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import Caution, brief

TODAY = "today's boosts"
DIGITS = 2  # significant digits of a boost
STAY = "boosts: today's stay; by the rule, no other model that was tried replaces them."
NO_CLAUSE = Caution("no named clause is left: only what has no name ranks.")
NO_QUERY = Caution(
    "no clause that is left depends on the query, so the new request returns the same documents for all of them: ask "
    "for longer lists (size), or keep a clause that filters."
)
NO_REST = Caution(
    "what is in no named clause has weight 0, so all figures are those without it: delete it, or name it."
)


def for_request(sources: Mapping[str, Any], chosen: AllSelectOptions) -> tuple[AllSelectOptions, SearchQuery | None]:
    """(the options, boosts with two significant digits; the request).

    Raises
        ParameterError, DataFormatError   a request without an engine that runs it, or without responses to it, or one
                                          that is no sum of clauses
    """
    engine, query = chosen["engine"], chosen["query"]
    boosts = engine is not None and ENGINES[engine].boosts
    if query is not None and engine not in REQUESTS:
        raise ParameterError("query", f"needs {' or '.join(option('engine', name) for name in REQUESTS)}.")
    if query is not None and chosen["current"] is not None:
        raise ParameterError("current", f"cannot be combined with {option('query')}, whose boosts are in use.")
    files = [file for source in sources.values() if source is not None for file in paths_of(source)]
    odd = next((f for f in files if not is_path(f) or kind_of(f) != "log"), None) if query is not None else None
    if odd is not None:
        raise ParameterError(
            "query",
            f"needs responses to the request, as JSON Lines; got {brief(str(odd))}. Without it, a table of "
            "scores gives the factors of its boosts.",
        )
    if boosts and chosen["round"] is None:
        chosen = cast(AllSelectOptions, {**chosen, "round": DIGITS})
    return chosen, None if query is None else read_search_query(query)


def for_clauses(
    chosen: AllSelectOptions, plan: SelectionPlan, data: RankingDataset, request: SearchQuery | None
) -> tuple[AllSelectOptions, SelectionPlan]:
    """The options and the plan for weights >= 0. What is in no clause is always kept as it is, unless it is the same
    for all documents of a query; otherwise, the first clause of a model keeps its boost.

    Raises
        ParameterError   a clause is to lower scores
    """
    given, names = chosen["monotone"] or {}, list(data.feature_names or ())
    if odd := next((name for name, sign in given.items() if sign in ("-", -1)), None):
        raise ParameterError("monotone", f"cannot be - for {odd}: a clause cannot lower a score.")
    more: dict[str, Any] = {"monotone": {**dict.fromkeys(names, "+"), **given}}
    boosts = _boosts(request, names)
    known = [] if request is None else [c for c in request.clauses.values() if c.boost and c.name in names]
    digits = rounded(np.array([c.boost for c in known]), plan.path_plan.round)
    units = [(names.index(c.name), float(boost)) for c, boost in zip(known, digits, strict=True)]
    if REST in names and _varies(data, names.index(REST), boosts):
        more["keep"] = [*(chosen["keep"] or ()), REST]
        units = [(names.index(REST), 1.0), *units]
    elif REST in names:
        more["drop"] = [*(chosen["drop"] or ()), REST]
    plan = replace(plan, path_plan=replace(plan.path_plan, units=tuple(units)))
    if chosen["current"] is None and (request is not None or chosen["qrels"] is not None):
        none = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
        more["current"] = RankingModel(boosts, tuple(names), none)
    return cast(AllSelectOptions, {**chosen, **more}), plan


def _boosts(request: SearchQuery | None, names: Sequence[str]) -> np.ndarray:
    """(n_features,) the boost of each clause, and 1 of what is in no clause; 1 of all without the request, because
    listed scores contain the boosts."""
    return np.array([request.clauses[n].boost if request and n in request.clauses else 1.0 for n in names])


def todays_boosts(request: SearchQuery | None, names: Sequence[str], plan: SelectionPlan) -> NamedFormulas | None:
    """Today's boosts with the digits of the plan, and these without one clause each, as candidates; None if the rules
    exclude them.

    plan   with completed penalties
    """
    never = set.intersection(*(set(p.drop) for p in plan.penalties))
    kept = set.union(*(set(p.keep) for p in plan.penalties))
    exact = _boosts(request, names)
    boosts = rounded(exact, plan.path_plan.round)
    used = {j: float(b) for j, b in enumerate(boosts) if b and not (names[j] == REST and j in never)}
    if not used or never & used.keys() or not kept <= used.keys():
        return None
    silent = request is not None and any(c.boost and c.name not in names for c in request.clauses.values())
    name = TODAY + (" of the clauses that match" if silent else "") + ("" if (boosts == exact).all() else ", rounded")
    without = {f"{name} without {names[j]}": {i: b for i, b in used.items() if i != j} for j in used if j not in kept}
    formulas = {name: used, **(without if len(used) > 2 else {})}
    return NamedFormulas(tuple(formulas), tuple(tuple(of.items()) for of in formulas.values()))


def _varies(data: RankingDataset, j: int, boosts: np.ndarray) -> bool:
    """Whether a feature varies within queries by more than single precision leaves of the scores."""
    column = columns_dense(data.X, np.array([j]))[:, 0]
    span = np.maximum.reduceat(column, data.query_ptr[:-1]) - np.minimum.reduceat(column, data.query_ptr[:-1])
    return bool(span.max() > NOISE * float((columns_dense(data.X, np.arange(len(boosts))) @ boosts).max()))


def _same_for_all_queries(data: RankingDataset, columns: np.ndarray) -> bool:
    """Whether most queries share documents with others, and these have the same values in all of them."""
    if data.docid is None:
        return False
    order = np.argsort(data.docid, kind="stable")
    again = data.docid[order][1:] == data.docid[order][:-1]
    X = columns_dense(data.X, columns)[order]
    query = np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))[order]
    shared = len(np.unique([*query[1:][again], *query[:-1][again]]))
    return shared > data.n_queries / 2 and np.allclose(X[1:][again], X[:-1][again], rtol=1e-6, atol=0.0)


def notes_of_request(model: RankingModel, data: RankingDataset, request: SearchQuery | None) -> list[str]:
    """Notes on documents that the new request does not find, and on what is in no clause."""
    names, used = list(data.feature_names or ()), model.weights
    rest = REST in names and REST not in used
    said: list[str] = [NO_REST] if rest and _varies(data, names.index(REST), np.ones(len(names))) else []
    if _same_for_all_queries(data, model.support):
        said.insert(0, NO_QUERY)
    for sentence in said:
        warnings.warn(sentence, DataWarning, stacklevel=4)
    if request is None or not used.keys() & request.clauses.keys():
        return [*said, *([] if request is None else [NO_CLAUSE])]
    after = SearchQuery(request.with_boosts(used))
    # What is in no clause stays as it is, so it is the unit of the new boosts.
    boosts = {c.name: (c.boost, used.get(c.name, 0.0) / used.get(REST, 1.0)) for c in request.clauses.values()}
    changed = ", ".join(f"{name} {old:g} -> {new:g}" for name, (old, new) in boosts.items() if new)
    deleted = ", ".join(f"{name} ({old:g})" for name, (old, new) in boosts.items() if not new)
    same = all(old == new for old, new in boosts.values())
    said.append(STAY if same else f"boosts: {changed}{f'; without: {deleted}' if deleted else ''}.")
    patterns, n_docs = np.unique(columns_dense(data.X, np.arange(len(names))) != 0, axis=0, return_counts=True)
    lost = at_most = 0
    for pattern, n in zip(patterns.tolist(), n_docs.tolist(), strict=True):
        matched = {name for name, has in zip(names, pattern, strict=True) if has}
        can_be = request.loses(after, matched, REST in matched)
        lost += n * (can_be == {True})
        at_most += n * (True in can_be)
    if at_most:
        exact = lost == at_most
        counted = f"{'' if exact else 'at least '}{lost:,} of the {data.n_docs:,} documents"
        why = "" if exact else f" ({len(request.unnamed)} clauses have no name, which hides others)"
        said.append(Caution(f"only deleted clauses find {counted}{why}; the new request does not."))
    return said
