"""A request to Solr's edismax as a sum of clauses: each field, phrase field, query and function with its boost is one.

With tie=1, edismax adds the scores of its fields (qf, pf, pf2, pf3), queries (bq) and functions (bf). A response lists
a clause by NAME:query($of_NAME) in fl; the parameter of_NAME is the part of the request that is the clause, with its
boost (Solr Reference Guide: Extended DisMax Query Parser; function `query`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataFormatError, warn_caller
from sparserank.requests.query_types import BOOST, NAME, SCORED, Body, entries_of
from sparserank.strict_json import Json
from sparserank.text import brief, listed

PARAMS = "params"
QF = "qf"
FIELDS = (QF, "pf", "pf2", "pf3")
QUERY = "bq"
FUNCTION = "bf"
PARTS = (*FIELDS, QUERY, FUNCTION)
TIMES = r"(?:\^(\d+(?:\.\d+)?))?"
FORMS = {
    **dict.fromkeys(FIELDS, re.compile(rf"([A-Za-z_][\w.-]*(?:~\d+)?){TIMES}", re.ASCII)),
    # One field with a word or phrase, or anything in brackets: Solr applies the boost of other forms differently.
    QUERY: re.compile(rf"""([\w.]+:(?:\w+|"[^"\\]*")|\((?:[^()"]|"[^"]*"|\([^()"]*\))*\)){TIMES}"""),
    FUNCTION: re.compile(rf"([^\s^]+){TIMES}"),
}
OFF = (*PARTS[1:], "boost")  # parameters that are emptied in the request for the score of a single clause
REFUSED = {  # parameters that change scores, or which documents come first
    "boost": "multiplies scores; write it as bf, which adds, or tune the request without it",
    "rq": "replaces scores of the query; tune the request without it",
    "sort": "orders documents otherwise; tune the request without it",
    "start": "skips the first documents, which other boosts move; tune the request without it",
    "cursorMark": "skips the first documents, which other boosts move; tune the request without it",
    "group": "leaves out documents that other boosts may rank first; tune the request without it",
}
FREE = ("q", "rows", "fq", "wt", "indent")  # parameters with the user's search, and those that change no score
ABSENT = (None, 0, "0", "", "false")
ONE_WORD = (None, 0, 1, "0", "1", "0%", "")  # values of mm with which one word is enough


@dataclass(frozen=True)
class Entry:
    """A clause of a request. part: the parameter that contains it; written: its text there; text: its text without the
    boost; name: "" if its boost cannot be read."""

    part: str
    written: str
    text: str = ""
    boost: float = 1.0

    @property
    def name(self) -> str:
        called = re.sub(r"\W+", "_", self.text).strip("_")
        return called if self.part == QF else f"{self.part}_{called}" if called else ""

    def alone(self, fields: list[Entry]) -> str:
        """The query whose score is that of the clause. For a field or phrase, it is the request with all other boosts
        0, because all fields together decide which documents match."""
        if self.part == QUERY:
            return self.written
        if self.part == FUNCTION:
            return f"{{!func}}product({_number(self.boost)},{self.text})"
        searched = " ".join(e.written if e == self else f"{e.written.partition('^')[0]}^0" for e in fields)
        phrases = "" if self.part == QF else f" {self.part}='{self.written}'"
        off = " ".join(f"{other}=''" for other in OFF if other != self.part)
        return f"{{!edismax qf='{searched}'{phrases} {off} v=$q}}"

    def times(self, boost: float) -> Entry:
        """The same clause with another boost."""
        written = self.written if boost == self.boost else f"{self.text}^{_number(boost)}"
        return Entry(self.part, written, self.text, boost)


def _number(boost: float) -> str:
    """The boost as digits, because the grammar of Solr's queries has no exponents."""
    return str(np.format_float_positional(boost, trim="-"))


def is_request(body: Any) -> bool:
    """Whether the JSON of a request is one to Solr."""
    return isinstance(body, Mapping) and PARAMS in body and body.keys().isdisjoint(("query", "source", "id"))


def check(body: Body) -> None:
    """Refuse a request that is not a sum of its clauses, or whose other parameters affect the order of documents."""
    params = body[PARAMS]
    if not isinstance(params, Mapping) or len(body) > 1:
        raise DataFormatError('expected {"params": {...}} alone; write filters as fq, limits as rows.')
    for part, why in REFUSED.items():
        if params.get(part) not in ABSENT:
            raise DataFormatError(f"{part} {why}.")
    if params.get("defType") != "edismax":
        raise DataFormatError(f"defType is {brief(str(params.get('defType')))}; only edismax can be tuned.")
    if not all(isinstance(text, str) for part in PARTS for text in entries_of(params.get(part))):
        raise DataFormatError(f"{', '.join(PARTS)} must be text.")
    parts_used = [entry.part for entry in entries(params)]
    if QF not in parts_used:
        raise DataFormatError("has no qf; write the parameters of your handler into the request.")
    tie = params.get("tie", 0)
    for part in FIELDS:
        if parts_used.count(part) > 1 and str(tie) not in ("1", "1.0"):
            raise DataFormatError(
                f"tie is {tie}, so the best field of {part} counts; with tie 1, which is another query, each "
                "field is a clause."
            )


def entries(params: Body) -> list[Entry]:
    """The clauses, in the order of PARTS."""
    parsed = []
    for part in PARTS:
        for text in entries_of(params.get(part)):
            for written in [text.strip()] if part == QUERY else text.split():
                known = FORMS[part].fullmatch(written)
                entry = Entry(part, written, known[1], float(known[2] or 1)) if known else Entry(part, written)
                parsed += [entry] if written else []
    return parsed


def asked(params: Body) -> set[str]:
    """The names of the clauses whose scores the request asks for in fl.

    Raises
        DataFormatError   with another boost
    """
    fields = {text for of in entries_of(params.get("fl")) for text in re.split(r"[,\s]+", of)}
    clauses = entries(params)
    expected = {e.name: e.alone(_searched(clauses)) for e in clauses if e.name and _field(e.name) in fields}
    for name, alone in expected.items():
        if params.get(f"of_{name}") != alone:
            raise DataFormatError(
                f"of_{name} is not the clause {brief(name)} of the request; remove fl, and write it again "
                "with 'sparserank inspect'."
            )
    return set(expected)


def _searched(clauses: list[Entry]) -> list[Entry]:
    return [e for e in clauses if e.part == QF]


def _field(name: str) -> str:
    return f"{name}:query($of_{name})"


def as_bool(body: Body) -> Json:
    """The request as a bool query with one clause per entry, named if the request asks for its score. One of the fields
    must match."""
    names = asked(body[PARAMS])
    fields: list[Json] = []
    others: list[Json] = []
    for entry in entries(body[PARAMS]):
        named = {NAME: entry.name} if entry.name in names else {}
        clauses = fields if entry.part == QF else others
        clauses.append({"edismax": {"of": entry.text, **named, BOOST: entry.boost}})
    must, should = SCORED
    return {"bool": {must: [{"bool": {should: fields}}], should: others}}


def with_entries(body: Body, clauses: list[Entry], names: set[str]) -> Json:
    """The request with `entries` as its clauses; its answer lists the scores of the clauses in `names`."""
    params = {key: value for key, value in body[PARAMS].items() if not key.startswith("of_")}
    for part in (part for part in PARTS if part in params):
        texts = [e.written for e in clauses if e.part == part]
        params[part] = texts if isinstance(params[part], list) and part == QUERY else " ".join(texts)
    named = [e for e in clauses if e.name in names]
    params["fl"] = ",".join(["id", "score", *(_field(e.name) for e in named)])
    return {**body, PARAMS: {**params, **{f"of_{e.name}": e.alone(_searched(clauses)) for e in named}}}


def with_boosts(body: Body, boosts: Mapping[str, float], place: str) -> Json | None:
    """The request with these boosts; a clause without a boost is deleted. The last fields keep the boost 0, because
    they determine which documents match. None if no clause has a boost."""
    params = body[PARAMS]
    names = asked(params)
    changed = [e.times(boosts.get(e.name, 0.0)) if e.name in names else e for e in entries(params)]
    if not any(e.boost for e in changed):
        return None
    fields = _searched(changed)
    finds = any(e.boost for e in fields)
    several = params.get("mm") not in ONE_WORD or str(params.get("q.op")).upper() == "AND"
    deleted = [e.text for e in fields if not e.boost]
    if several and finds and deleted:
        warn_caller(
            f"{place}: documents must have several words (mm, q.op), so without {listed(deleted)} in qf, some "
            "that have them in different fields are not found any more; no note counts these."
        )
    left = [e for e in changed if e.boost or e.name not in names or (e.part == QF and not finds)]
    return with_entries(body, left, names)


def proposed(body: Body) -> tuple[Json | None, list[str]]:
    """(the request with the score of each clause added to fl, or None if it asks for scores already; sentences about
    what was done, and what could not be)."""
    clauses = entries(body[PARAMS])
    if asked(body[PARAMS]):
        return None, []
    notes = ["the scores of the clauses were added to fl; all documents and scores are the same."]
    for entry in clauses:
        if not entry.name:
            form = "(...)^1" if entry.part == QUERY else "a name or function, ^ and a number such as 0.5"
            notes.append(f"{brief(entry.written)} of {entry.part} keeps its boost; as {form}, it can be tuned.")
    return with_entries(body, clauses, {e.name for e in clauses if e.name}), notes
