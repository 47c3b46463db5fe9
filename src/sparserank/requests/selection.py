"""Selection of boosts: the clauses of a search request are the features, and the request is the ranker in use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval.current_model import LABEL, InUse, run_in
from sparserank.data.combine import concatenate
from sparserank.data.dataset import RankingDataset
from sparserank.data.feature_logs import responses_in
from sparserank.data.matrices import columns_dense
from sparserank.data.read import is_path, paths_of
from sparserank.data.read_files import kind_of
from sparserank.data.run_reader import asked_in, judgments_of
from sparserank.data.runs import Qrels, Run, graded, pairs_of
from sparserank.data.suspects import names_in
from sparserank.errors import DataFormatError, ParameterError, warn_caller
from sparserank.metrics import Metric
from sparserank.metrics.ordering import rank_lists
from sparserank.model import RankingModel
from sparserank.number_checks import rounded
from sparserank.options import option
from sparserank.options.selection import REQUESTS, AllSelectOptions
from sparserank.paths.refits import NamedFormulas
from sparserank.requests.responses import NOISE, REQUEST, REST, Scored
from sparserank.requests.search_query import SearchQuery, difference, read_search_query
from sparserank.selection.plan import SelectionPlan
from sparserank.text import Caution, brief

TODAY = "today's boosts"
DIGITS = 2  # significant digits of a boost
TOP = 10  # number of documents on a first page, if the metric has no cutoff
# beginning of the note that lists the new boosts
BOOSTS = "boosts: "
LOST = "only deleted clauses find "
STAY = f"{BOOSTS}today's stay; by the rule, no other model that was tried replaces them."
NO_CLAUSE = Caution("no named clause is left: only what has no name ranks.")
NO_QUERY = Caution(
    "no clause that is left depends on the query, so the new request returns the same documents for all of them: ask "
    "for longer lists (size), or keep a clause that filters."
)
NO_REST = Caution(
    "what is in no named clause has weight 0, so all figures are those without it: delete it, or name it."
)


@dataclass
class Answers:
    """Search responses, and the judgments of their queries.

    judged    {(query, document): grade}
    request   the request that was sent, if it is known
    run       the hits with their scores: what users see if the request is theirs
    queries   judged queries with a response, also those without hits: {query: its source}
    today     other documents that users see
    also      other (query, document) that a judge finds relevant
    """

    judged: Qrels
    request: SearchQuery | None = None
    run: Run = field(default_factory=Run)
    queries: dict[str, str] = field(default_factory=dict)
    today: Run = field(default_factory=Run)
    also: Sequence[tuple[str, str]] = ()

    def parts(self, data: RankingDataset, queries: Collection[str]) -> tuple[RankingDataset, RankingDataset]:
        """(documents to learn from, documents on which rankings are evaluated) for some queries. Both contain the
        returned documents. The evaluation also uses relevant documents that no response contains, and documents that
        users see. A query without any of these gets one judged document."""
        pairs_in_data = {*pairs_of(data)}
        present = {q for q, _ in pairs_in_data}
        wanted = {*queries}
        wanted_pairs = {pair: grade for pair, grade in self.judged.items() if grade > 0 and pair[0] in wanted}
        wanted_pairs |= {
            pair: max(self.judged.get(pair, 0.0), 0.0) for pair in (*self.today, *self.also) if pair[0] in wanted
        }
        empty = wanted - present - {q for q, _ in wanted_pairs}
        wanted_pairs |= dict.fromkeys({q: (q, d) for q, d in self.judged if q in empty}.values(), 0.0)
        new = {pair: grade for pair, grade in wanted_pairs.items() if pair not in pairs_in_data}

        def with_rows(grades: Mapping[tuple[str, str], float]) -> RankingDataset:
            none = np.zeros(len(grades), dtype=bool)
            return concatenate([data, graded(grades, data.names, returned=none)]) if grades else data

        return with_rows({pair: grade for pair, grade in new.items() if pair[0] not in present}), with_rows(new)

    def top(self, data: RankingDataset, model: RankingModel, metric: Metric) -> dict[str, float]:
        """The shares in `Change.top`, on documents for evaluation."""
        n = metric.cutoff or TOP
        after = data.from_input_order(model.score_dataset(data))
        before, retrieved = (self.today or self.run).known(data)
        lists = data.relevance, data.query_ptr, metric.convention, data.docid
        old = rank_lists(before, *lists, retrieved=retrieved).first(n)
        new = rank_lists(after, *lists, returned=data.returned).first(n)
        unjudged = np.array([pair not in self.judged for pair in pairs_of(data)])
        changed = np.logical_or.reduceat(old != new, data.query_ptr[:-1])
        shares = {"unjudged": unjudged[old], "unjudged_new": unjudged[new], "changed": changed}
        return {"documents": n, **{name: float(values.mean()) for name, values in shares.items()}}

    def applied(
        self,
        train: RankingDataset,
        valid: RankingDataset | None,
        test: RankingDataset | None,
        plan: SelectionPlan,
        weight: np.ndarray | None,
    ) -> tuple[RankingDataset, RankingDataset | None, RankingDataset | None, RankingDataset | None]:
        """(train, validation and test data, documents on which candidates are evaluated; None: the documents from which
        they learn). If queries have weights, only queries with hits are used."""

        def parts(name: str, data: RankingDataset) -> tuple[RankingDataset, RankingDataset]:
            qids = {q for q, source in self.queries.items() if source == name}
            return self.parts(data, qids if weight is None else qids & {*map(str, data.query_ids)})

        learned, judged = parts("train", train)
        last = None if test is None else parts("test", test)[1]
        if valid is None:
            return learned, None, last, None if judged is learned else judged
        more, judged_more = parts("validation", valid)
        if plan.protocol == "holdout":
            return learned, judged_more, last, None
        return learned, more, last, concatenate([judged, judged_more], join_queries=False)


def note_of_top(top: Mapping[str, float]) -> str:
    """A sentence with the shares in `top`."""
    return (
        f"the first {top['documents']:g} documents change for {top['changed']:.0%} of the queries; without a judgment, "
        f"and so counted as not relevant, are {top['unjudged']:.0%} of them today and {top['unjudged_new']:.0%} with "
        "the new boosts."
    )


def answered(sources: Mapping[str, Any], request: SearchQuery | None, chosen: AllSelectOptions) -> Answers:
    """Read the responses of all sources.

    Raises
        DataFormatError   the responses are to another request, or to several
    """
    collected = Answers(judgments_of(chosen["qrels"], asked_in(chosen)), request)
    expected = None if request is None else request.body
    judged = collected.judged.queries
    scored = Scored(None, None if request is None else request.listed)
    answers = (
        (name, *answer)
        for name, source in sources.items()
        if source is not None
        for file in paths_of(source)
        for answer in responses_in(file, scored)
    )
    for name, place, line, hits in answers:
        if REQUEST in line:
            expected = line[REQUEST] if expected is None else expected
            if where := difference(expected, line[REQUEST]):
                other = f"that of {option('query')}" if request is not None else "those of other lines"
                raise DataFormatError(
                    f"{place}: its request differs from {other} in {where}: the responses are to another request; give "
                    "the request that was sent."
                )
        collected.run.update({(q, d): score for q, _, d, _, score in hits})
        collected.queries |= dict.fromkeys({str(line["qid"])} & judged, name)
        if request is None:
            continue
        for hit in line["response"]["hits"]["hits"]:
            if not request.finds(hit.get("matched_queries", {}), True):
                raise DataFormatError(
                    f"{place}: document {brief(str(hit['_id']))} matches less than the request requires: the responses "
                    "are to another request; give the request that was sent."
                )
    return collected


def for_request(
    sources: Mapping[str, Any], chosen: AllSelectOptions
) -> tuple[SearchQuery | None, Answers | None, InUse | None]:
    """(the request; the responses if the data are responses; the ranker in use if `current` names a run).

    Raises
        ParameterError, DataFormatError   no engine runs the request; there are no responses to it; or
                                          it is no sum of clauses
    """
    engine = chosen["engine"]
    query = chosen["query"]
    if query is not None and engine not in REQUESTS:
        raise ParameterError("query", f"needs {' or '.join(option('engine', name) for name in REQUESTS)}.")
    seen = None if chosen["current"] is None else run_in(chosen["current"])
    if query is not None and chosen["current"] is not None and seen is None:
        raise ParameterError(
            "current", f"cannot be combined with {option('query')}, whose boosts are in use, unless it is a run."
        )
    files = [file for source in sources.values() if source is not None for file in paths_of(source)]
    asked = query is not None or chosen["qrels"] is not None
    odd = next((f for f in files if not is_path(f) or kind_of(f) != "log"), None) if asked else None
    if query is not None and odd is not None:
        raise ParameterError(
            "query",
            f"needs responses to the request, as JSON Lines; got {brief(str(odd))}. Without it, a table of "
            "scores gives the factors of its boosts.",
        )
    request = None if query is None else read_search_query(query)
    if request is not None:
        request.check_engine(str(engine))
    if chosen["qrels"] is None or odd is not None:
        return request, None, None
    responses = answered(sources, request, chosen)
    if seen is not None and seen.run is not None:
        responses.today = seen.run
    return request, responses if responses.run else None, None if seen is None or seen.run is None else seen


@dataclass(frozen=True)
class ClauseRules:
    """Rules that a selection of boosts adds to the user's options: features to keep, features to drop, and the ranker
    in use."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    current: InUse | None = None


def for_clauses(
    chosen: AllSelectOptions, plan: SelectionPlan, data: RankingDataset, responses: Answers | None
) -> tuple[SelectionPlan, ClauseRules]:
    """The plan and the rules for weights >= 0. The part of the score outside named clauses is always kept unchanged,
    unless it is the same for all documents of each query. In that case, the first clause of a model keeps its boost.

    Raises
        ParameterError   a clause is to lower scores, or what does not vary is to be kept
    """
    directions = chosen["monotone"] or {}
    names = list(data.names)
    request = None if responses is None else responses.request
    if odd := next((name for name, sign in directions.items() if sign in ("-", -1)), None):
        raise ParameterError("monotone", f"cannot be - for {odd}: a clause cannot lower a score.")
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    current = None
    boosts = _boosts(request, names)
    digits = rounded(boosts, plan.path_plan.round).tolist()
    columns = [names.index(name) for name in request.clauses if name in names] if request is not None else []
    units = [(j, digits[j]) for j in columns if digits[j]]
    if REST in names and _varies(data, names.index(REST), boosts):
        keep = (REST,)
        units = [(names.index(REST), 1.0), *units]
    elif REST in names and REST in names_in(chosen["keep"]):
        raise ParameterError("keep", f"names {REST}, which is the same for all documents of a query; leave it out.")
    elif REST in names:
        drop = (REST,)
    plan = replace(plan, path_plan=replace(plan.path_plan, units=tuple(units)))
    if responses is not None:
        required = set() if request is None else {c.name for c in request.clauses.values() if c.must}
        finds_unscored = request is None or request.finds(required, False)
        plan = plan.with_conventions(of_clauses=True, zero_scores="ranked" if finds_unscored else "left_out")
        if chosen["current"] is None:
            query = chosen["query"]
            of = "the request" if isinstance(query, Mapping) or query is None else Path(query).name
            used = tuple(name for name, boost in zip(names, boosts, strict=True) if boost)
            current = InUse(f"{LABEL} ({of}, these hits)", used, run=responses.run)
    return plan, ClauseRules(keep, drop, current)


def _boosts(request: SearchQuery | None, names: Sequence[str]) -> np.ndarray:
    """(n_features,) the boost of each clause in the request; 1 for the rest of the score. Without a request all are 1:
    listed scores already contain the boosts."""
    return np.array([request.clauses[n].boost if request and n in request.clauses else 1.0 for n in names])


def todays_boosts(request: SearchQuery | None, names: Sequence[str], plan: SelectionPlan) -> NamedFormulas | None:
    """Candidates made from the boosts of the request, rounded like those of the plan: all of them, and all but one
    clause. None if the rules exclude them.

    plan   with completed penalties
    """
    required = set.union(*(set(p.keep) for p in plan.penalties))
    exact = _boosts(request, names)
    boosts = rounded(exact, plan.path_plan.round)
    used = {j: float(b) for j, b in enumerate(boosts) if b and not (names[j] == REST and j in plan.never)}
    if not used or plan.never & used.keys() or not required <= used.keys():
        return None
    silent = request is not None and any(c.boost and c.name not in names for c in request.clauses.values())
    name = TODAY + (" of the clauses that match" if silent else "") + ("" if (boosts == exact).all() else ", rounded")
    without = {
        f"{name} without {names[j]}": {i: b for i, b in used.items() if i != j} for j in used if j not in required
    }
    formulas = {name: used, **(without if len(used) > 2 else {})}
    return NamedFormulas(tuple(formulas), tuple(tuple(of.items()) for of in formulas.values()))


def _varies(data: RankingDataset, j: int, boosts: np.ndarray) -> bool:
    """Whether a feature varies within a query by more than the rounding of scores in single precision."""
    column = columns_dense(data.X, np.array([j]))[:, 0]
    span = np.maximum.reduceat(column, data.query_ptr[:-1]) - np.minimum.reduceat(column, data.query_ptr[:-1])
    return bool(span.max() > NOISE * float((columns_dense(data.X, np.arange(len(boosts))) @ boosts).max()))


def _same_for_all_queries(data: RankingDataset, columns: np.ndarray) -> bool:
    """Whether most queries share documents with other queries, and these documents have the same values in all of
    them."""
    if data.docid is None:
        return False
    order = np.argsort(data.docid, kind="stable")
    again = data.docid[order][1:] == data.docid[order][:-1]
    X = columns_dense(data.X, columns)[order]
    query = np.repeat(np.arange(data.n_queries), data.sizes)[order]
    shared = len(np.unique([*query[1:][again], *query[:-1][again]]))
    return shared > data.n_queries / 2 and np.allclose(X[1:][again], X[:-1][again], rtol=1e-6, atol=0.0)


def notes_of_request(model: RankingModel, data: RankingDataset, request: SearchQuery | None) -> list[str]:
    """Notes on documents that the new request does not find, and on the part of the score outside named clauses."""
    names = list(data.names)
    used = model.weights
    rest = REST in names and REST not in used
    notes: list[str] = [NO_REST] if rest and _varies(data, names.index(REST), np.ones(len(names))) else []
    if _same_for_all_queries(data, model.support):
        notes.insert(0, NO_QUERY)
    for sentence in notes:
        warn_caller(sentence)
    if request is None or not used.keys() & request.clauses.keys():
        return [*notes, *([] if request is None else [NO_CLAUSE])]
    after = SearchQuery(request.with_boosts(used))
    # The part of the score outside named clauses cannot be changed, so it is the unit of the new boosts.
    boosts = {c.name: (c.boost, used.get(c.name, 0.0) / used.get(REST, 1.0)) for c in request.clauses.values()}
    changed = ", ".join(f"{name} {old:g} -> {new:g}" for name, (old, new) in boosts.items() if new)
    deleted = ", ".join(f"{name} ({old:g})" for name, (old, new) in boosts.items() if not new)
    same = all(old == new for old, new in boosts.values())
    notes.append(STAY if same else f"{BOOSTS}{changed}{f'; without: {deleted}' if deleted else ''}.")
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
        notes.append(Caution(f"{LOST}{counted}{why}; the new request does not."))
    return notes
