"""Feature logs of search engines, one JSON object per line: Solr documents with [features], Elasticsearch and
OpenSearch hits with _ltrlog; or whole responses (`responses`).

    {"qid": 7, "label": 2, "id": "D4", "[features]": "title_bm25=3.1,body_bm25=0.5"}
    {"qid": 7, "label": 2, "_id": "D4", "fields": {"_ltrlog": [{"log_entry1": [{"name": "title_bm25", "value": 3.1},
    {"name": "body_bm25"}]}]}}

qid and label are next to the features that the engine logged (or inside _source). A feature without a value counts as
0, as in both engines. Solr writes 'name=value,name=value' or, if so configured, 'name:value name:value'.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from sparserank.arrow import pa
from sparserank.data.tables.batches import BATCH_ROWS, InputTable
from sparserank.data.text_lines import readable, unzipped
from sparserank.errors import DataFormatError
from sparserank.files import StrPath
from sparserank.requests.responses import (
    NO_CLAUSES,
    OF_SOLR,
    RESPONSE,
    REST,
    ROLES,
    Entry,
    Scored,
    form_of,
    hits_of,
    other_ids,
    refuse_other,
    tell,
)
from sparserank.strict_json import of_pairs
from sparserank.text import brief, listed

SOLR = "[features]"
ELASTIC = "_ltrlog"
NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?i:nan|[-+]?inf(?:inity)?)|null)"
LISTED = {  # names may contain what separates the pairs
    "=": re.compile(rf"(.+?)={NUMBER}(?:,|$)", re.DOTALL),
    ":": re.compile(rf"(\S.*?):{NUMBER}(?:\s+|$)", re.DOTALL),
}
IDS = ("id", "_id", "docno", "docid")


def log_names(
    paths: Sequence[StrPath], feature_columns: Sequence[str] | None = None, scored: Scored | None = None
) -> list[str]:
    """The names of the features: `feature_columns`, or else every feature in the logs in order of first appearance,
    which reads all files. For responses, also warn about what cannot be learned from them."""
    if feature_columns is not None:
        return list(feature_columns)
    names: dict[str, None] = {}
    hits: dict[str, dict[str, int]] = {}
    left_out: set[str] = set()
    for n, path in enumerate(paths):
        for line, entry in _entries(str(path), scored, left_out):
            names.update(dict.fromkeys(entry[3]))
            if scored is not None and hits.setdefault(entry[0], {}).setdefault(entry[2], n) != n:
                raise DataFormatError(
                    f"{path}:{line}: document {brief(entry[2])} of query {brief(entry[0])} is also in "
                    f"{paths[hits[entry[0]][entry[2]]]}; give each file once, with all pages of its queries."
                )
    if hits and not names.keys() - {REST}:
        raise DataFormatError(f"{paths[0]}: {NO_CLAUSES}")
    if scored is not None and scored.judged is not None and hits:
        tell(hits, names, scored, left_out)
    return list(names)


class LogTable(InputTable):
    """A log as a table with the columns qid, label, docid and the named features.

    others   whether a log may have other features, which are left out
    """

    def __init__(
        self,
        path: str,
        names: Sequence[str],
        *,
        others: bool,
        scored: Scored | None = None,
    ) -> None:
        features = [(name, pa.float64()) for name in names]
        schema = pa.schema([("qid", pa.string()), ("label", pa.float64()), ("docid", pa.string()), *features])
        super().__init__(path, schema, None)
        self._at = {name: j for j, name in enumerate(names)}
        self._others = others
        self._scored = scored

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        asked = pa.schema([self.schema.field(name) for name in names])
        entries = self._known_entries()
        while some := list(islice(entries, BATCH_ROWS)):
            X = np.zeros((len(some), len(self._at)))
            for row, entry in zip(X, some, strict=True):
                for name in entry[3].keys() & self._at.keys():
                    row[self._at[name]] = entry[3][name]
            columns: dict[str, Any] = {role: [entry[k] for entry in some] for k, role in enumerate(ROLES)}
            columns |= {name: X[:, j] for name, j in self._at.items()}
            yield pa.RecordBatch.from_arrays([columns[name] for name in names], schema=asked)

    def _known_entries(self) -> Iterator[Entry]:
        for line, entry in _entries(self.place, self._scored, set()):
            unknown = next((name for name in entry[3] if name not in self._at), None)
            if unknown is not None and not self._others:
                raise DataFormatError(f"{self.place}:{line}: feature {brief(unknown)} is not an expected feature.")
            yield entry


def responses_in(path: StrPath, scored: Scored) -> Iterator[tuple[str, dict[str, Any], Iterator[Entry]]]:
    """(place, response, its hits, which are read on demand) of each response in a file."""
    for number, content in _objects(str(path)):
        if RESPONSE in content:
            place = f"{path}:{number}"
            yield place, content, hits_of(content, place, scored)


def _objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, content) of each line that is not empty."""
    with readable(path, "one JSON object per line"), open(path, "rb") as raw:
        for number, line in enumerate(unzipped(raw), start=1):
            if line.strip():
                place = f"{path}:{number}"
                content = _object_of(line, place)
                refuse_other(content, place)
                yield number, content


def _entries(path: str, scored: Scored | None, left_out: set[str]) -> Iterator[tuple[int, Entry]]:
    """(line, entry) of each document. The entries of a response are its hits, each document of a query once. The ids of
    queries without any judgment are added to `left_out`.

    Raises
        DataFormatError   no query is judged, or a line is malformed
    """
    known: dict[tuple[str, str], int] = {}
    form = ""
    fields = frozenset[str]()
    for number, content in _objects(path):
        place = f"{path}:{number}"
        if form not in ("", form_of_line := form_of(content)):
            raise DataFormatError(f"{place}: is {form_of_line}, but the lines before are {form}; use one file each.")
        form = form_of_line
        if RESPONSE not in content:
            yield number, _entry(content, place)
            continue
        if scored is None:
            raise DataFormatError(
                f"{place}: responses have no labels; give judgments to select or inspect (--qrels); evaluate the run "
                "of a model (predict --run)."
            )
        for entry in hits_of(content, place, scored):
            names = frozenset(entry[3]) - {REST}
            fields = fields or names
            if form.startswith(OF_SOLR) and names != fields:
                raise DataFormatError(
                    f"{place}: document {brief(entry[2])} has the values {listed(sorted(names))}, others "
                    f"{listed(sorted(fields))}: two requests are mixed."
                )
            if not scored.counts(entry[0]):
                left_out.add(entry[0])
                continue
            pair = (entry[0], entry[2])
            values = hash(tuple(entry[3].items()))
            if pair not in known:  # pages may overlap
                known[pair] = values
                yield number, entry
            elif known[pair] != values:
                raise DataFormatError(
                    f"{place}: document {brief(entry[2])} of query {brief(entry[0])} has other scores than before; "
                    "write each query once."
                )
    if scored is not None and left_out and not known:
        raise DataFormatError(f"{path}: {other_ids('query', min(left_out), min(scored.queries))}")


def _object_of(line: bytes, place: str) -> dict[str, Any]:
    try:
        entry = json.loads(line, object_pairs_hook=of_pairs)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(
            f"{place}: is not a JSON object ({brief(str(error))}); expected one document, hit or response per line, "
            "without line breaks inside (jq -c . removes them)."
        ) from error
    if not isinstance(entry, dict):
        raise DataFormatError(
            f"{place}: expected one document, hit or response per line; got {brief(entry)} (jq -c '.[]' writes a list "
            "so)."
        )
    return entry


def _entry(entry: dict[str, Any], place: str) -> Entry:
    source = entry.get("_source")
    fields = {**source, **entry} if isinstance(source, dict) else entry
    for name in ("qid", "label"):
        if fields.get(name) is None or isinstance(fields[name], dict | list | bool):
            raise DataFormatError(f"{place}: has no {name!r}; every line needs a query and a label.")
    try:
        label = float(fields["label"])
    except (ValueError, OverflowError) as error:
        raise DataFormatError(f"{place}: label must be a number; got {brief(fields['label'])}.") from error
    try:
        str(fields["qid"]).encode()
    except UnicodeEncodeError as error:
        raise DataFormatError(f"{place}: the query id must be valid UTF-8 text; got {brief(fields['qid'])}.") from error
    docid = next((str(fields[name]) for name in IDS if fields.get(name) is not None), "")
    return str(fields["qid"]), label, docid, _features(entry, place), 0.0


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
            known = LISTED["=" if "=" in logged else ":"]
            pairs = [match.groups() for match in known.finditer(logged)]
            if known.sub("", logged).strip(" ,"):
                raise ValueError("not all of it are pairs of a name and a number")
            return of_pairs([(_name(name), _number(value)) for name, value in pairs])
        logged = entry["fields"][ELASTIC][0]
        (values,) = logged.values()
        return of_pairs([(_name(v["name"]), _number(v.get("value", 0.0))) for v in values])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if logged is None:
            raise DataFormatError(
                f"{place}: has no logged features; expected {SOLR!r} (Solr) or fields.{ELASTIC} (Elasticsearch, "
                "OpenSearch)."
            ) from error
        raise DataFormatError(f"{place}: logged features cannot be read ({error}): {brief(logged)}.") from error
