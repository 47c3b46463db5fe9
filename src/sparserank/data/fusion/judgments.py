"""Judgments as files or objects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparserank.data.faults import no_such_file
from sparserank.data.tables.batches import document_texts, is_frame, table_of
from sparserank.data.trec import read_qrels
from sparserank.errors import DataError
from sparserank.quoting import brief

EXPECTED = "a file in TREC format, {query id: {document id: grade}}, or a frame with qid, docno and label"
COLUMNS = (("qid", "query_id", "topic"), ("docno", "docid", "doc_id"), ("label", "relevance", "rel", "grade"))


def judgments_of(given: Any, name: str) -> dict[tuple[str, str], float]:
    """{(query id, document id): grade}.

    Raises
        DataError, DataFormatError   they cannot be read, contradict each other, or are empty
    """
    if isinstance(given, str | os.PathLike):
        if "\0" in str(given) or not os.path.exists(given):
            raise no_such_file(given)
        return dict(read_qrels(given))
    if isinstance(given, Mapping):
        entries = list(_entries(given, name))
    elif is_frame(given):
        entries = _of_frame(given, name)
    else:
        raise DataError(f"{name}: judgments must be {EXPECTED}; got {brief(given)}.")
    found: dict[tuple[str, str], float] = {}
    for qid, docno, grade in entries:
        known = isinstance(grade, int | float | np.number) and not isinstance(grade, bool) and np.isfinite(grade)
        if not known:
            raise DataError(f"{name}: document {brief(docno)} of query {brief(qid)} has the grade {brief(grade)}.")
        key = str(qid), str(docno)
        if key in found:
            raise DataError(f"{name}: document {brief(key[1])} of query {brief(key[0])} is judged twice.")
        found[key] = float(grade)
    if not found:
        raise DataError(f"{name}: contains no judgments.")
    return found


def _entries(given: Mapping[Any, Any], name: str) -> Any:
    for key, value in given.items():
        if isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        elif isinstance(value, Mapping):
            for docno, grade in value.items():
                yield key, docno, grade
        else:
            raise DataError(f"{name}: judgments must be {EXPECTED}; query {brief(key)} has {brief(value)}.")


def _of_frame(frame: Any, name: str) -> list[tuple[str, str, float]]:
    table = table_of(name, frame)
    found = []
    for known in COLUMNS:
        column = next((c for c in known if c in table.schema.names), None)
        if column is None:
            raise DataError(
                f"{name}: judgments need the columns qid, docno and label; {known[0]} is not among "
                f"{brief(', '.join(table.schema.names))}."
            )
        found.append(column)
    out: list[tuple[str, str, float]] = []
    for batch in table.raw_batches(found, 1 << 16):
        qids, docnos = (document_texts(batch.column(c)).tolist() for c in found[:2])
        out += zip(qids, docnos, batch.column(found[2]).to_pylist(), strict=True)
    return out
