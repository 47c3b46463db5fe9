"""Search responses of Elasticsearch, OpenSearch and Solr with the scores of named clauses, one JSON object per line.

    {"qid": 7, "request": {"query": {"match": {"title": {"query": "red lamp", "_name": "title"}}}},
    "response": {"hits": {"hits": [{"_id": "D4", "_score": 3.6, "matched_queries": {"title": 3.1}}]}}}

A response has no labels; they come from judgments, and queries without any judgment are left out. The line may also
contain the request that was sent. A named clause is a feature, 0 where it does not match. The feature 'rest' is the
score of a hit minus the scores of its named clauses. In a response of Solr, the clauses of a document are its values
other than id and score.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataFormatError, warn_caller
from sparserank.lazy import cached_property
from sparserank.number_checks import as_real
from sparserank.options import option
from sparserank.strict_json import Json
from sparserank.text import brief, listed

Entry = tuple[str, float, str, dict[str, float], float]  # qid, label, docid, {feature: value}, score
ROLES = ("qid", "label", "docid")  # columns besides the features, in the order of an entry
RESPONSE = "response"
REQUEST = "request"
REST = "rest"
RESERVED = (*ROLES, REST)
OF_SOLR = "responses of Solr"
LARGEST = 3.4e38  # largest number in single precision, which engines use for scores
SCORES = "include_named_queries_score=true"  # Elasticsearch 8.8, OpenSearch 2.13
NOISE = 1e-5  # tolerance relative to a score, larger than the rounding errors of a sum in single precision
NO_RESPONSE = {  # keys of lines that are no response, or one without its query: what such a line is
    "error": "is an error of the engine; send its request again, or leave the query out",
    "query": "is a search request; give the responses to it, one per line",
    "responses": 'is an answer of _msearch; write one line {"qid": ..., "response": ...} for each of its responses',
    "grouped": "is a grouped response; send the request without groups",
    "docs": 'is a response without its query; write {"qid": ..., "response": ...} with the whole answer inside',
    "hits": 'is a response without its query; write {"qid": ..., "response": ...} with the whole answer inside',
}
NO_CLAUSES = (
    "no hit has the score of a clause; give each clause a _name, as 'sparserank inspect REQUEST' writes it, and send "
    f"that request with {SCORES} in its URL (in Solr, name the clauses in fl)."
)
OTHER_SCORE = "something multiplies or replaces scores (in Solr, also a tie below 1, or fields in q), or"
SINGLE = 2.0**-22  # relative error of a sum of two scores in single precision


@dataclass(frozen=True)
class Scored:
    """How the listed scores of named clauses are converted to features.

    judged   {(query, document): grade}; None: labels are not read, and are 0
    clauses  {name: (factor, boost, least, most)}: the feature is the listed score times the factor, and the boost times
             the feature is the share of the clause in the score of the hit; listed scores are from least to most
             (models of earlier versions: not known). None: it does not count, or (REST) every clause has a name.
             Without the mapping, every listed score counts as it is
    """

    judged: Mapping[tuple[str, str], float] | None = None
    clauses: Mapping[str, tuple[float, ...] | None] | None = None

    @cached_property
    def queries(self) -> frozenset[str]:
        """The queries that have a judgment."""
        return frozenset(q for q, _ in self.judged or ())

    def counts(self, qid: str) -> bool:
        """Whether a query is used: all are if no judgments are read, otherwise those with a judgment."""
        return self.judged is None or qid in self.queries


def tell(
    hits: Mapping[str, Collection[str]],
    names: Collection[str],
    scored: Scored,
    left_out: Collection[str],
) -> None:
    """Warn about what cannot be learned from the responses. left_out: queries without any judgment."""
    depth = statistics.median(map(len, hits.values()))
    notes = [f"responses with hits to {len(hits):,} queries, of {depth:g} documents (median); only these can move"]
    if left_out:
        notes.append(f"queries without any judgment, which are left out: {len(left_out):,}")
    if judged := scored.judged:
        returned = {(q, d) for q, of in hits.items() for d in of}
        if returned.isdisjoint(judged):
            (_, ours), (_, theirs) = min(returned), min(judged)
            raise DataFormatError(other_ids("document", ours, theirs))
        n_unjudged = len(returned.difference(judged))
        n_absent = sum(pair not in returned for pair in judged)
        notes.append(f"returned documents without a judgment, which count as 0: {n_unjudged:,}")
        n_empty = len(scored.queries.difference(hits))
        notes.append(
            f"judged documents that are in no response: {n_absent:,} ({n_empty:,} judged queries have no hit here)"
        )
    silent = [name for name, of in (scored.clauses or {}).items() if of and (of[1] == 0 or name not in names)]
    if silent:
        notes.append(f"clauses that never match, or whose boost is 0, so that nothing can be learned: {listed(silent)}")
    warn_caller(f"{'; '.join(notes)}.")


def other_ids(noun: str, ours: str, theirs: str) -> str:
    """The message if no document or query of the responses is judged, because the ids differ."""
    return (
        f"no {noun} of the responses is judged: they have ids such as {brief(ours)}, and the judgments "
        f"{brief(theirs)}; use the same ids in both."
    )


def form_of(content: Json) -> str:
    """What a line contains, for messages; all lines of a file have the same form."""
    if RESPONSE not in content:
        return "logged features"
    response = content[RESPONSE]
    of_solr = isinstance(response, dict) and RESPONSE in response
    form = OF_SOLR if of_solr else "responses of Elasticsearch or OpenSearch"
    return f"{form} with their requests" if REQUEST in content else form


def refuse_other(content: Json, place: str) -> None:
    """Refuse a line that is neither a response with its query nor a feature log; the message says what it is."""
    body = content.get(RESPONSE, content)
    is_log = not content.keys().isdisjoint(("label", "[features]", "fields"))
    for key, why in NO_RESPONSE.items() if isinstance(body, dict) and not is_log else ():
        if isinstance(body.get(key), dict | list) and (key != "hits" or RESPONSE not in content):
            raise DataFormatError(f"{place}: {why}.")


def hits_of(content: Json, place: str, scored: Scored) -> Iterator[Entry]:
    """The hits of a response as entries; the scores of their named clauses are the features."""
    qid = content.get("qid")
    if qid is None or isinstance(qid, dict | list | bool) or not str(qid).isprintable():
        raise DataFormatError(f"{place}: has no 'qid'; every response needs its query, as text or a number.")
    try:
        response = content[RESPONSE]
        head = content[RESPONSE].get("responseHeader", {})
        partial = response.get("timed_out") or response.get("_shards", {}).get("failed") or head.get("partialResults")
        if RESPONSE in response:  # convert Solr's documents to hits
            docs = response[RESPONSE]["docs"]
            hits = []
            for doc in docs:
                clauses = {name: score for name, score in doc.items() if name not in ("id", "score")}
                hits.append({"_id": doc["id"], "_score": doc["score"], "matched_queries": clauses})
            response["hits"] = {"hits": hits}
        entries = [(hit["_id"], hit["_score"], hit.get("matched_queries", {})) for hit in response["hits"]["hits"]]
        if any(document is None for document, *_ in entries):
            raise KeyError
        for document, _, matched in entries:
            # raises if a text contains lone surrogates
            "".join([str(document), *(matched if isinstance(matched, dict) else ())]).encode()
    except UnicodeEncodeError as error:
        raise DataFormatError(f"{place}: ids and names of clauses must be valid UTF-8 text.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise DataFormatError(
            f"{place}: is no search response; expected response.hits.hits, each with _id and _score, or, of Solr, "
            "response.response.docs, each with id and score."
        ) from error
    if partial:
        raise DataFormatError(f"{place}: is partial (timed out, or shards failed); send the request again.")
    for raw_id, score, matched in entries:
        document = str(raw_id)
        where = f"{place}: document {brief(document)}"
        matched = {} if matched == [] else matched
        if not isinstance(matched, dict):
            raise DataFormatError(f"{where} has clauses without scores; send the request with {SCORES} in its URL.")
        total_score = _score(score, where)
        values = _values(matched, total_score, where, scored.clauses)
        yield str(qid), (scored.judged or {}).get((str(qid), document), 0.0), document, values, total_score


def _values(
    matched: Json,
    score: float,
    where: str,
    clauses: Any,
) -> dict[str, float]:
    """The features of a hit: one per named clause, and the rest of its score."""
    out = {}
    total = 0.0
    for name, listed_score in matched.items():
        known: Any = (1.0, 1.0) if clauses is None else clauses.get(name, ())
        if name in RESERVED:
            raise DataFormatError(f"{where} has a clause called {brief(name)}, which is taken; rename the clause.")
        if known == ():
            raise DataFormatError(
                f"{where} has the clause {brief(name)}, which the request does not have: two requests are mixed."
            )
        if known is not None:
            as_clause = f"{where}, clause {brief(name)} (in Solr, any value besides id and score; fl names them),"
            value = _score(listed_score, as_clause)
            least, most = known[2:] or (0.0, LARGEST)
            if not least * (1 - NOISE) <= value <= most * (1 + NOISE):
                raise DataFormatError(
                    f"{where}, clause {brief(name)}, has the score {value:.7g}, which its boost of {known[1]:g} cannot "
                    "give: the responses are to another request; give the request that was sent."
                )
            out[name] = value * known[0]
            total += out[name] * known[1]
    error = SINGLE * (len(out) + 1) * max(total, score)
    if total - score > error:
        odd = next((name for name in out if clauses is None and abs(total - out[name] - score) <= error), "")
        why = f"without {brief(odd)}, they sum to the score, so" if odd else OTHER_SCORE
        raise DataFormatError(
            f"{where} has the score {score:.7g}, but its clauses sum to {total:.7g}: {why} clauses in filter are "
            "counted, which only the request shows (for Elasticsearch and OpenSearch: select with "
            f"{option('query')}), or, in Solr, stored fields, which fl must not name."
        )
    if clauses is not None and REST in clauses and not matched:
        raise DataFormatError(
            f"{where} has no matched_queries, although every clause of the request has a name: the request that was "
            f"sent had no names; send this one, with {SCORES} in its URL."
        )
    if clauses is not None and REST in clauses and score - total > NOISE * score:
        raise DataFormatError(
            f"{where} has the score {score:.7g}, but its clauses sum to {total:.7g}, and every clause of the request "
            "has a name: the responses are to another request."
        )
    return {**out, REST: score - total} if score - total > error else out


def _score(value: Any, where: str) -> float:
    if not 0 <= as_real(value) <= LARGEST:
        sorts = " (null if a request sorts by something else)" if value is None else ""
        raise DataFormatError(f"{where} has the score {brief(str(value))}; expected numbers >= 0{sorts}.")
    return float(np.float32(value))
