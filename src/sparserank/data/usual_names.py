"""Usual names of columns in tables, runs and judgments, and of keys in JSON: one list for every reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_words = str.split
# Names in the form of `plain`, the most telling first.
QUERIES = _words(
    "qid queryid query querytext searchid srchid sessionid topicid topic requestid groupid group querystring keywords"
)
DOCUMENTS = _words(
    "docno docid documentid document doc corpusid productid itemid listingid passageid asin sku url uri id"
)
SCORES = _words("score relevancescore similarity")
JUDGED = _words("label relevance relevancelabel rel grade relevancegrade judgment judgement rating")
GRADES = JUDGED + _words("target gain y clicked isclicked click clicks")  # clicks may also be features
OF_JUDGMENTS = [*GRADES, "score"]  # BEIR calls the grade `score`
OF_RUNS = {*QUERIES, *DOCUMENTS, *SCORES, *JUDGED, *_words("iteration q0 rank tag"), ""}  # "": an index of pandas


def plain(name: object) -> str:
    """The name in lower case, without blanks, points, hyphens and underscores: query_id, queryId and Query ID agree."""
    return "".join(c for c in str(name).lower() if c not in " .-_")


def called(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """The one of the names that is first among the usual ones; None if no name is usual."""
    known = {plain(name): name for name in reversed(list(names))}
    return next((known[word] for word in usual if word in known), None)
