"""Runs and judgments: their classes and their TREC files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.files import atomic_write
from sparserank.options.arguments import Numbers, check_arguments
from sparserank.text import brief

ROUNDING = 1e-12  # relative; sums of the same values in another order differ by less
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # cannot be encoded


class Pairs(dict[tuple[str, str], float]):
    """Numbers of documents, as {(qid, docno): number}."""

    @property
    def queries(self) -> KeysView[str]:
        """The queries, in their order."""
        return dict.fromkeys(q for q, _ in self).keys()


class Run(Pairs):
    """The documents that a system retrieved, as {(qid, docno): score}; ranks: those in the source of documents with
    equal scores, in the same form."""

    ranks: Mapping[tuple[str, str], float] = MappingProxyType({})

    def of(self, data: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
        """((n_docs,) scores of the documents of `data`, by query and document id, 0 where the run has none; (n_docs,)
        bool, True where it has one).

        Raises
            DataError   the run has no score for any of the documents
        """
        scores, retrieved = self.known(data)
        if not retrieved.any():
            pairs = pairs_of(data)
            first = f"document {brief(pairs[0][1])} of query {brief(pairs[0][0])}" if pairs else "a document"
            raise DataError(
                f"the run ranks none of the {len(pairs)} documents, e.g. {first}; use the same query and document ids "
                "in the run and the data."
            )
        return scores, retrieved

    def known(self, data: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
        """Like `of`, but the run may lack a score for every document."""
        scores = [self.get(pair) for pair in pairs_of(data)]
        retrieved = np.array([score is not None for score in scores], dtype=bool)
        return np.array([0.0 if score is None else score for score in scores]), retrieved


class Qrels(Pairs):
    """Judgments, as {(qid, docno): relevance}."""

    def documents(self, runs: Sequence[Run]) -> RankingDataset:
        """The judged or retrieved documents of each judged query, without features; unjudged documents have relevance
        0. Queries that were not judged are left out.

        Raises
            DataError   there are no judgments
        """
        if not self:
            raise DataError("there are no judgments for the evaluation.")
        queries = self.queries
        retrieved = (pair for run in runs for pair in run if pair[0] in queries)
        return graded({**self, **{pair: self.get(pair, 0.0) for pair in retrieved}})

    def only(self, queries: Collection[str]) -> Qrels:
        """The judgments of these queries."""
        return Qrels({pair: grade for pair, grade in self.items() if pair[0] in queries})


def graded(grades: Mapping[tuple[str, str], float], names: Sequence[str] = ("f1",), **fields: Any) -> RankingDataset:
    """A data set of the documents {(query, document): grade}, at least one, whose features are all 0.

    names    names of the features
    fields   other fields of the data set
    """
    qid, docid = (np.array(ids, dtype=object) for ids in zip(*grades, strict=True))
    relevance = np.array([*grades.values()])
    return RankingDataset(np.zeros((len(grades), len(names))), relevance, qid, docid, names, **fields)


def document_ids(data: RankingDataset) -> np.ndarray:
    """(n_docs,) the document ids, or 'd' + row number from 1 for documents without one."""
    docid = data.docid if data.docid is not None else np.full(data.n_docs, "", dtype=object)
    return np.array([d or f"d{i + 1}" for d, i in zip(docid, data.row_index, strict=True)], dtype=object)


def pairs_of(data: RankingDataset) -> list[tuple[str, str]]:
    """(n_docs,) the query and the document id of each document, as the keys of runs and judgments."""
    pairs = zip(data.qid, document_ids(data), strict=True)  # type: ignore[arg-type]
    return [(str(q), str(d)) for q, d in pairs]


def _checked_ids(data: RankingDataset) -> np.ndarray:
    """The document ids; raises DataError for ids that TREC files cannot contain: with blanks, or twice in a query."""
    ids = document_ids(data)
    for q, (lo, hi) in enumerate(pairwise(data.query_ptr)):
        ids_of_query = [str(d) for d in ids[lo:hi]]
        _refuse_unwritable(str(data.query_ids[q]), ids_of_query)
        if len(set(ids_of_query)) < len(ids_of_query):
            twice = next(name for name in ids_of_query if ids_of_query.count(name) > 1)
            raise DataError(
                f"query {brief(str(data.query_ids[q]))} has document {brief(twice)} twice; TREC files list each "
                "document once."
            )
    return ids


def _refuse_unwritable(qid: str, docnos: Sequence[str]) -> None:
    """Raise DataError for an id that a TREC file cannot contain."""
    # Where tabs separate the columns, the id of a query may be words with single blanks.
    qid_word = qid.replace(" ", "_") if qid == " ".join(qid.split()) else qid
    odd = qid if not _is_word(qid_word) else next((name for name in docnos if not _is_word(name)), None)
    if odd is not None:
        raise DataError(f"the id {brief(odd)} contains blanks, which TREC files do not allow; rename it.")
    for mark, what in {"#": "marks comments", "{": "begins JSON", "[": "begins JSON", "\ufeff": "is no text"}.items():
        if qid.startswith(mark):
            raise DataError(f"the query id {brief(qid)} begins with {mark!r}, which {what} in TREC files; rename it.")


def _is_word(name: str) -> bool:
    """Whether a name fits into one column of a TREC file."""
    return name.split() == [name] and not _SURROGATE.search(name)


def write_run(
    data: RankingDataset,
    scores: np.ndarray,
    path: str | os.PathLike,
    tag: str = "sparserank",
) -> None:
    """Write scores as a TREC run, `qid Q0 docno rank score tag`.

    Parameters
    ----------
    data : RankingDataset
        The documents.
    scores : array_like of shape (n_docs,)
        Scores in the order of the rows from which the data set was made, as `RankingModel.score_dataset` returns them.
    path : path
        The file. The documents of a query are in descending order of score; equal scores are in the order of the rows
        and have equal ranks. Tabs separate the columns if a query id contains blanks.
    tag : str, default 'sparserank'
        Name of the run, a single word.

    Raises
    ------
    DataError
        The number of scores is wrong, scores are not finite, or the file cannot contain an id.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> file = Path(tempfile.mkdtemp(), "new.run")
    >>> data = sr.RankingDataset([[1.0], [4.0]], [0, 1], ["q1", "q1"], docid=["d1", "d2"])
    >>> sr.write_run(data, [0.1, 0.4], file, tag="bm25")
    >>> print(file.read_text(), end="")
    q1 Q0 d2 1 0.4 bm25
    q1 Q0 d1 2 0.1 bm25
    """
    check_arguments(write_run, locals())
    check_arguments(write_run, {"scores": scores}, scores=Numbers(data.n_docs, "document"))
    ids = _checked_ids(data)
    if not _is_word(tag):
        raise DataError(f"tag must be one word; got {brief(tag)}.")
    scores = data.from_input_order(np.asarray(scores, dtype=np.float64))
    blank = _separator(data.query_ids)
    with atomic_write(path) as out:
        for q, (lo, hi) in enumerate(pairwise(data.query_ptr)):
            best_first = lo + np.argsort(-scores[lo:hi], kind="stable")
            entries = zip(ids[best_first], scores[best_first], strict=True)
            out.writelines(_lines(data.query_ids[q], entries, tag, blank))


def ranked(run: Run) -> dict[str, list[tuple[str, float]]]:
    """{query id: [(document id, score)]}, by descending score, equal scores by id."""
    lists: dict[str, list[tuple[str, float]]] = {}
    for (qid, docno), score in run.items():
        lists.setdefault(qid, []).append((docno, score))
    return {qid: sorted(entries, key=lambda e: (-e[1], e[0])) for qid, entries in lists.items()}


def run_lines(run: Run) -> Iterator[str]:
    """The lines of a TREC run file: queries in the order of the run, documents by descending score, equal scores by id.

    Raises
        DataError   an id that the file cannot contain
    """
    lists = ranked(run)
    blank = _separator(lists)
    for qid, entries in lists.items():
        _refuse_unwritable(qid, [docno for docno, _ in entries])
        yield from _lines(qid, entries, "sparserank", blank)


def _separator(query_ids: Iterable[Any]) -> str:
    """What separates the columns of a file: tabs, if the id of a query contains blanks, as the text of a query does."""
    return "\t" if any(" " in str(qid) for qid in query_ids) else " "


def _lines(qid: Any, entries: Iterable[tuple[Any, float]], tag: str, blank: str) -> Iterator[str]:
    """The lines of a query, whose documents and scores are in the order of their ranks; equal scores, which differ in
    rounding at most, have equal ranks."""
    rank = 0
    last = math.inf
    for place, (docno, score) in enumerate(entries, start=1):
        rank = rank if math.isclose(score, last, rel_tol=ROUNDING) else place
        last = score
        yield blank.join([str(qid), "Q0", str(docno), str(rank), f"{float(score)!r}", f"{tag}\n"])


def write_qrels(data: RankingDataset, path: str | os.PathLike) -> None:
    r"""Write relevance as TREC judgments, `qid 0 docno rel`.

    Parameters
    ----------
    data : RankingDataset
        The documents; their relevance must be integers.
    path : path
        The file.

    Raises
    ------
    DataError
        A relevance value is not an integer, or an id cannot be written in this format.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> file = Path(tempfile.mkdtemp(), "test.qrels")
    >>> sr.write_qrels(sr.RankingDataset([[1.0], [4.0]], [0, 1], ["q1", "q1"], docid=["d1", "d2"]), file)
    >>> file.read_text()
    'q1 0 d1 0\nq1 0 d2 1\n'
    """
    check_arguments(write_qrels, locals())
    ids = _checked_ids(data)
    blank = _separator(data.query_ids)
    with atomic_write(path) as out:
        for i in range(data.n_docs):
            label = float(data.relevance[i])
            grade = int(label) if label == int(label) else label
            out.write(blank.join([str(data.qid[i]), "0", str(ids[i]), f"{grade!r}\n"]))  # type: ignore[index]
