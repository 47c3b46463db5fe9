"""Feature logs of search engines, one JSON object per line: Solr documents with [features], Elasticsearch and
OpenSearch hits with _ltrlog, and whole responses with the scores of named clauses.

    {"qid": 7, "label": 2, "id": "D4", "[features]": "title_bm25=3.1,body_bm25=0.5"}
    {"qid": 7, "label": 2, "_id": "D4", "fields": {"_ltrlog": [{"log_entry1": [{"name": "title_bm25", "value": 3.1},
    {"name": "body_bm25"}]}]}}

qid and label are next to the features that the engine logged (or inside _source). A feature without a value counts as
0, as in both engines. Solr writes 'name=value,name=value' or, if so configured, 'name:value name:value'.

    {"qid": 7, "response": {"hits": {"hits": [{"_id": "D4", "_score": 3.6, "matched_queries": {"title": 3.1}}]}}}

A response has no labels, which come from judgments. A named clause is a feature, 0 where it does not match; what the
clauses leave of the score of a hit is the feature 'rest'. In a response of Solr, the clauses of a document are its
values besides id and score.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import warnings
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sparserank.arrow import pa
from sparserank.data.reading import no_such_file
from sparserank.data.tables.batches import BATCH_ROWS, Table
from sparserank.data.text_lines import unzipped
from sparserank.errors import DataFormatError, DataWarning
from sparserank.options import option
from sparserank.text import brief, listed

Entry = tuple[str, float, str, dict[str, float]]  # qid, label, docid, {feature: value}
SOLR, ELASTIC = "[features]", "_ltrlog"
ROLES = ("qid", "label", "docid")  # columns besides the features, in the order of an entry
IDS = ("id", "_id", "docno", "docid")
RESPONSE, REST = "response", "rest"
RESERVED = (*ROLES, REST)
OF_SOLR = "responses of Solr"
LARGEST = 3.4e38  # of single precision, in which engines score
SCORES = "include_named_queries_score=true"  # Elasticsearch 8.8, OpenSearch 2.13
NOISE = 1e-5  # relative to a score, above what single precision leaves of a sum
SINGLE = 2.0**-22  # relative error of a sum of two scores in single precision


@dataclass(frozen=True)
class Scored:
    """How the listed scores of named clauses are read.

    judged   {(query, document): grade}; None: labels are not read, and are 0
    clauses  {name: (factor, boost)}: the feature is the listed score times the factor, and the boost times the feature
             is the share of the clause in the score of the hit; None: it does not count, or (REST) every clause has a
             name. Without the mapping, every listed score counts as it is
    """

    judged: Mapping[tuple[str, str], float] | None = None
    clauses: Mapping[str, tuple[float, float] | None] | None = None


def log_names(
    paths: Sequence[str | os.PathLike], given: Sequence[str] | None = None, scored: Scored | None = None
) -> list[str]:
    """The given features, or else every feature in the logs in order of first appearance, which reads all files. Of
    responses, issue a DataWarning with the numbers of documents that cannot move, or were not judged."""
    if given is not None:
        return list(given)
    names: dict[str, None] = {}
    hits: dict[str, dict[str, int]] = {}
    for n, path in enumerate(paths):
        for line, entry in _entries(str(path), scored):
            names.update(dict.fromkeys(entry[3]))
            if scored is not None and hits.setdefault(entry[0], {}).setdefault(entry[2], n) != n:
                raise DataFormatError(
                    f"{path}:{line}: document {brief(entry[2])} of query {brief(entry[0])} is also in "
                    f"{paths[hits[entry[0]][entry[2]]]}; give each file once, with all pages of its queries."
                )
    if scored is not None and scored.judged is not None and hits:
        _tell(hits, names, scored)
    return list(names)


def _tell(hits: Mapping[str, Collection[str]], names: Collection[str], scored: Scored) -> None:
    """Warn of what the responses cannot show."""
    depth = statistics.median(map(len, hits.values()))
    said = [f"responses with hits to {len(hits):,} queries, of {depth:g} documents (median); only these can move"]
    if judged := scored.judged:
        returned = {(q, d) for q, of in hits.items() for d in of}
        n_unjudged, n_absent = len(returned.difference(judged)), sum(pair not in returned for pair in judged)
        said.append(f"returned documents without a judgment, which count as 0: {n_unjudged:,}")
        n_empty = len({q for q, _ in judged}.difference(hits))
        said.append(
            f"judged documents that are in no response: {n_absent:,} ({n_empty:,} judged queries have no hit here)"
        )
    silent = [name for name, of in (scored.clauses or {}).items() if of and (of[1] == 0 or name not in names)]
    if silent:
        said.append(f"clauses that never match, or whose boost is 0, so that nothing can be learned: {listed(silent)}")
    warnings.warn(f"{'; '.join(said)}.", DataWarning, stacklevel=2)


class LogTable(Table):
    """A log as a table with the columns qid, label, docid and the named features. Other features are refused, unless
    `others`."""

    def __init__(self, path: str, names: Sequence[str], *, others: bool, scored: Scored | None = None) -> None:
        features = [(name, pa.float64()) for name in names]
        schema = pa.schema([("qid", pa.string()), ("label", pa.float64()), ("docid", pa.string()), *features])
        super().__init__(path, schema, None)
        self._at, self._others, self._scored = {name: j for j, name in enumerate(names)}, others, scored

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        asked, entries = pa.schema([self.schema.field(name) for name in names]), self._known_entries()
        while some := list(islice(entries, BATCH_ROWS)):
            X = np.zeros((len(some), len(self._at)))
            for row, (*_, values) in zip(X, some, strict=True):
                for name in values.keys() & self._at.keys():
                    row[self._at[name]] = values[name]
            columns: dict[str, Any] = {role: [entry[k] for entry in some] for k, role in enumerate(ROLES)}
            columns |= {name: X[:, j] for name, j in self._at.items()}
            yield pa.RecordBatch.from_arrays([columns[name] for name in names], schema=asked)

    def _known_entries(self) -> Iterator[Entry]:
        for line, entry in _entries(self.place, self._scored):
            unknown = next((name for name in entry[3] if name not in self._at), None)
            if unknown is not None and not self._others:
                raise DataFormatError(f"{self.place}:{line}: feature {brief(unknown)} is not an expected feature.")
            yield entry


def _entries(path: str, scored: Scored | None = None) -> Iterator[tuple[int, Entry]]:
    """(line, entry); of a response, its hits, each document of a query once."""
    known: dict[tuple[str, str], int] = {}
    form, fields = "", frozenset[str]()
    try:
        with open(path, "rb") as raw:
            for number, line in enumerate(unzipped(raw), start=1):
                if line.strip():
                    place = f"{path}:{number}"
                    content = _object_of(line, place)
                    if form not in ("", own := _form(content)):
                        raise DataFormatError(f"{place}: is {own}, but the lines before are {form}; use one file each.")
                    form = own
                    if RESPONSE not in content:
                        yield number, _entry(content, place)
                        continue
                    if scored is None:
                        raise DataFormatError(
                            f"{place}: responses have no labels; give judgments to select or inspect (--qrels); "
                            "evaluate the run of a model (predict --run)."
                        )
                    for entry in _hits(content, place, scored):
                        names = frozenset(entry[3]) - {REST}
                        fields = fields or names
                        if form == OF_SOLR and names != fields:
                            raise DataFormatError(
                                f"{place}: document {brief(entry[2])} has the values {listed(sorted(names))}, others "
                                f"{listed(sorted(fields))}: two requests are mixed."
                            )
                        pair, values = (entry[0], entry[2]), hash(tuple(entry[3].items()))
                        if pair not in known:  # pages may overlap
                            known[pair] = values
                            yield number, entry
                        elif known[pair] != values:
                            raise DataFormatError(
                                f"{place}: document {brief(entry[2])} of query {brief(entry[0])} has other scores than "
                                "before; write each query once."
                            )
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise no_such_file(path) from error
        raise DataFormatError(f"{path}: cannot be read ({error}).") from error


def _form(content: dict[str, Any]) -> str:
    """What a line holds, for messages; all lines of a file hold the same."""
    if RESPONSE not in content:
        return "logged features"
    response = content[RESPONSE]
    of_solr = isinstance(response, dict) and RESPONSE in response
    return OF_SOLR if of_solr else "responses of Elasticsearch or OpenSearch"


def _object_of(line: bytes, place: str) -> dict[str, Any]:
    try:
        entry = json.loads(line, object_pairs_hook=_object)
    except _Twice as error:
        raise DataFormatError(
            f"{place}: the key {brief(str(error))} appears twice in an object; use each key once."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataFormatError(f"{place}: is not a JSON object; expected one document or hit per line.") from error
    if not isinstance(entry, dict):
        raise DataFormatError(f"{place}: expected one document or hit per line; got {brief(entry)}.")
    return entry


def _hits(content: dict[str, Any], place: str, scored: Scored) -> Iterator[Entry]:
    """The hits of a response, with the scores of their named clauses."""
    qid = content.get("qid")
    if qid is None or isinstance(qid, dict | list | bool) or not str(qid).isprintable():
        raise DataFormatError(f"{place}: has no 'qid'; every response needs its query, as text or a number.")
    try:
        response, head = content[RESPONSE], content[RESPONSE].get("responseHeader", {})
        partial = response.get("timed_out") or response.get("_shards", {}).get("failed") or head.get("partialResults")
        if RESPONSE in response:  # of Solr
            found = [(doc.pop("id"), doc.pop("score"), doc) for doc in response[RESPONSE]["docs"]]
        else:
            found = [(hit["_id"], hit["_score"], hit.get("matched_queries", {})) for hit in response["hits"]["hits"]]
        if any(document is None for document, *_ in found):
            raise KeyError
        for document, _, matched in found:
            "".join([str(document), *(matched if isinstance(matched, dict) else ())]).encode()  # no lone surrogates
    except UnicodeEncodeError as error:
        raise DataFormatError(f"{place}: ids and names of clauses must be valid UTF-8 text.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise DataFormatError(
            f"{place}: is no search response; expected response.hits.hits, each with _id and _score, or, of Solr, "
            "response.response.docs, each with id and score."
        ) from error
    if partial:
        raise DataFormatError(f"{place}: is partial (timed out, or shards failed); send the request again.")
    for given_id, score, matched in found:
        document = str(given_id)
        where = f"{place}: document {brief(document)}"
        if not isinstance(matched, dict):
            raise DataFormatError(f"{where} has clauses without scores; send the request with {SCORES} in its URL.")
        values = _values(matched, _score(score, where), where, scored.clauses)
        grade = 0.0 if scored.judged is None else scored.judged.get((str(qid), document), 0.0)
        yield str(qid), grade, document, values


def _values(matched: dict[str, Any], score: float, where: str, clauses: Any) -> dict[str, float]:
    """The features of a hit: those of its clauses, and the rest of its score."""
    out, total = {}, 0.0
    for name, listed_score in matched.items():
        known = (1.0, 1.0) if clauses is None else clauses.get(name, ())
        if name in RESERVED:
            raise DataFormatError(f"{where} has a clause called {brief(name)}, which is taken; rename the clause.")
        if known == ():
            raise DataFormatError(
                f"{where} has the clause {brief(name)}, which the request does not have: two requests are mixed."
            )
        if known is not None:
            out[name] = _score(listed_score, f"{where}, clause {brief(name)},") * known[0]
            total += out[name] * known[1]
    error = SINGLE * (len(out) + 1) * max(total, score)
    if total - score > error:
        raise DataFormatError(
            f"{where} has the score {score:.9g}, but its clauses sum to {total:.9g}: something multiplies or replaces "
            "scores (in Solr, a tie below 1 too), or clauses in filter are counted, which only the request shows (for "
            f"Elasticsearch and OpenSearch: select with {option('query')})."
        )
    if clauses is not None and REST in clauses and score - total > NOISE * score:
        raise DataFormatError(
            f"{where} has the score {score:.9g}, but its clauses sum to {total:.9g}, and every clause of the request "
            "has a name: the responses are to another request."
        )
    return {**out, REST: score - total} if score - total > error else out


def _score(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise DataFormatError(f"{where} has the score {brief(str(value))}; expected numbers >= 0.")
    return float(value)


def _entry(entry: dict[str, Any], place: str) -> Entry:
    source = entry.get("_source")
    held = {**source, **entry} if isinstance(source, dict) else entry
    for name in ("qid", "label"):
        if held.get(name) is None or isinstance(held[name], dict | list | bool):
            raise DataFormatError(f"{place}: has no {name!r}; every line needs a query and a label.")
    try:
        label = float(held["label"])
    except (ValueError, OverflowError) as error:
        raise DataFormatError(f"{place}: label must be a number; got {brief(held['label'])}.") from error
    try:
        str(held["qid"]).encode()
    except UnicodeEncodeError as error:
        raise DataFormatError(f"{place}: the query id must be valid UTF-8 text; got {brief(held['qid'])}.") from error
    docid = next((str(held[name]) for name in IDS if held.get(name) is not None), "")
    return str(held["qid"]), label, docid, _features(entry, place)


class _Twice(Exception):
    """A key appears twice; the argument is the key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict from JSON pairs; raises _Twice for a key that appears twice."""
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise _Twice(key)
        out[key] = value
    return out


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError("a name is not a string")
    name.encode()  # also refuses lone surrogates
    return name


def _number(value: Any) -> float:
    """The value as a float; NaN for null, which means missing. A value that was not logged is 0, as in both engines."""
    return math.nan if value is None or value == "null" else float(value)


def _features(entry: dict[str, Any], place: str) -> dict[str, float]:
    logged: Any = None
    try:
        if SOLR in entry:
            logged = entry[SOLR]
            separator, equals = (",", "=") if "=" in logged else (None, ":")
            pairs = [part.rsplit(equals, 1) for part in logged.split(separator) if part.strip()]
            return _object([(_name(name), _number(value)) for name, value in pairs])
        logged = entry["fields"][ELASTIC][0]
        (values,) = logged.values()
        return _object([(_name(v["name"]), _number(v.get("value", 0.0))) for v in values])
    except _Twice as error:
        raise DataFormatError(
            f"{place}: feature {brief(str(error))} is logged twice; log each feature once per document."
        ) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if logged is None:
            raise DataFormatError(
                f"{place}: has no logged features; expected {SOLR!r} (Solr) or fields.{ELASTIC} (Elasticsearch, "
                "OpenSearch)."
            ) from error
        raise DataFormatError(f"{place}: logged features cannot be read: {brief(logged)}.") from error
