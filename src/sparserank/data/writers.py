"""Write LETOR text, TREC runs and qrels; read TREC runs and qrels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.text_lines import text_lines
from sparserank.errors import DataFormatError
from sparserank.files import atomic_write
from sparserank.quoting import brief


def write_letor(data: RankingDataset, path: str | os.PathLike, *, index_base: int = 1) -> None:
    """Write `label qid:ID index:value ... # comment`; values by shortest exact representation, zeros left out if sparse.

    `read_letor` gives the same data back, if ids hold no blanks and it is told `n_features` when the last ones are absent.
    """
    with atomic_write(path) as out:
        out.writelines(letor_lines(data.X, data.relevance, data.qid, data.docid, data.comment, index_base))


def letor_lines(X: Any, relevance: np.ndarray, qid: Any, docid: Any, comment: Any, index_base: int) -> Iterator[str]:
    """A line per row; docid and comment may be None."""
    for i in range(len(relevance)):
        label = relevance[i]
        text = str(int(label)) if label == int(label) else repr(float(label))
        features = " ".join(f"{j + index_base}:{value}" for j, value in _row(X, i))
        behind = comment[i] if comment is not None else ""
        if docid is not None and docid[i] and str(docid[i]) not in behind:
            behind = f"docid = {docid[i]} {behind}".rstrip()
        yield f"{text} qid:{qid[i]} {features}{f' #{behind}' if behind else ''}\n"


def _row(X: Any, i: int) -> Iterator[tuple[int, str]]:
    if sp.issparse(X):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        return zip(X.indices[lo:hi].tolist(), _texts(X.data[lo:hi]), strict=True)
    return enumerate(_texts(X[i]))


def _texts(values: np.ndarray) -> list[str]:
    """The shortest text that reads back as each value, in the values' own dtype."""
    return [repr(v) for v in values.tolist()] if values.dtype == np.float64 else values.astype("U").tolist()


def document_ids(data: RankingDataset) -> np.ndarray:
    """(n_docs,) the documents' own ids, or 'd' + row number from 1 where they have none."""
    given = data.docid if data.docid is not None else np.full(data.n_docs, "", dtype=object)
    return np.array([d or f"d{i + 1}" for d, i in zip(given, data.row_index, strict=True)], dtype=object)


def write_run(data: RankingDataset, scores: np.ndarray, path: str | os.PathLike, tag: str = "sparserank") -> None:
    """TREC run, `qid Q0 docno rank score tag`, ranked by descending score (row order among equals)."""
    ids = document_ids(data)
    with atomic_write(path) as out:
        for q in range(data.n_queries):
            lo, hi = data.query_ptr[q], data.query_ptr[q + 1]
            for rank, i in enumerate(lo + np.argsort(-scores[lo:hi], kind="stable"), start=1):
                out.write(f"{data.query_ids[q]} Q0 {ids[i]} {rank} {float(scores[i])!r} {tag}\n")


def write_qrels(data: RankingDataset, path: str | os.PathLike) -> None:
    """TREC judgments, `qid 0 docno rel`."""
    ids = document_ids(data)
    with atomic_write(path) as out:
        for i in range(data.n_docs):
            label = data.relevance[i]
            out.write(f"{data.qid[i]} 0 {ids[i]} {int(label) if label == int(label) else float(label)!r}\n")  # type: ignore[index]


def read_run(path: str | os.PathLike) -> dict[tuple[str, str], float]:
    """{(qid, docno): score} of a TREC run.

    Raises
        DataFormatError   names file and line; both lines where a document stands twice for a query
    """
    return _read_trec(path, "qid Q0 docno rank score tag", number_at=4)


def read_qrels(path: str | os.PathLike) -> dict[tuple[str, str], float]:
    """{(qid, docno): relevance} of TREC judgments.

    Raises
        DataFormatError   names file and line; both lines where a document stands twice for a query
    """
    return _read_trec(path, "qid 0 docno rel", number_at=3)


def run_scores(run: dict[tuple[str, str], float], data: RankingDataset, path: str | os.PathLike = "run") -> np.ndarray:
    """(n_docs,) scores of a run for the documents of `data`, matched by query and document id.

    Raises
        DataFormatError   a document of `data` is not in the run
    """
    ids = document_ids(data)
    scores = np.empty(data.n_docs)
    for i in range(data.n_docs):
        key = (str(data.qid[i]), str(ids[i]))  # type: ignore[index]
        if key not in run:
            raise DataFormatError(
                f"{path}: document {brief(key[1])} of query {brief(key[0])} is missing; a run must score every document."
            )
        scores[i] = run[key]
    return scores


def _read_trec(path: str | os.PathLike, layout: str, number_at: int) -> dict[tuple[str, str], float]:
    """{(qid, docno): number} of lines in the given layout; blank lines are skipped."""
    found: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], int] = {}
    count = len(layout.split())
    for line, text in text_lines(path, f"lines '{layout}'"):
        fields = [f for f in text.replace("\t", " ").split(" ") if f]
        if not fields:
            continue
        if len(fields) != count:
            raise DataFormatError(f"{path}:{line}: expected '{layout}'; got {brief(text)}.")
        key = (fields[0], fields[2])
        if lines.setdefault(key, line) != line:
            raise DataFormatError(
                f"{path}:{line}: document {brief(key[1])} of query {brief(key[0])} stands on line {lines[key]} already; "
                "give each document once per query."
            )
        found[key] = _number(path, line, fields[number_at])
    return found


def _number(path: str | os.PathLike, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise DataFormatError(f"{path}:{line}: expected a finite number; got {brief(text)}.")
    return value
