"""Judgments as files or objects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sparserank.data.fusion.keyed import DOCUMENT, QUERY, column_of, is_finite_number, keyed_values
from sparserank.data.fusion.runs import ROWS_AT_ONCE
from sparserank.data.kinds import existing
from sparserank.data.tables.batches import document_texts, is_frame, table_of
from sparserank.data.trec import read_qrels
from sparserank.errors import DataError
from sparserank.quoting import brief

EXPECTED = "a file in TREC format, {query id: {document id: grade}}, or a frame with qid, docno and label"
GRADE = ("label", "relevance", "rel", "grade")


def judgments_of(given: Any, name: str) -> dict[tuple[str, str], float]:
    """{(query id, document id): grade}.

    Raises
        DataError, DataFormatError   they cannot be read, contradict each other, or are empty
    """
    if isinstance(given, str | os.PathLike):
        return dict(read_qrels(existing(given)))
    is_table = not isinstance(given, Mapping) and is_frame(given)
    entries = _of_frame(given, name) if is_table else keyed_values(given, f"{name}: judgments must be {EXPECTED}")
    found: dict[tuple[str, str], float] = {}
    for qid, docno, grade in entries:
        if not is_finite_number(grade):
            raise DataError(f"{name}: document {brief(docno)} of query {brief(qid)} has the grade {brief(grade)}.")
        key = str(qid), str(docno)
        if key in found:
            raise DataError(f"{name}: document {brief(key[1])} of query {brief(key[0])} is judged twice.")
        found[key] = float(grade)
    if not found:
        raise DataError(f"{name}: contains no judgments.")
    return found


def _of_frame(frame: Any, name: str) -> list[tuple[str, str, float]]:
    table = table_of(name, frame)
    needs = f"{name}: judgments need the columns qid, docno and label"
    columns = [column_of(table.schema.names, names, needs) for names in (QUERY, DOCUMENT, GRADE)]
    out: list[tuple[str, str, float]] = []
    for batch in table.raw_batches(columns, ROWS_AT_ONCE):
        qids, docnos = (document_texts(batch.column(c)).tolist() for c in columns[:2])
        out += zip(qids, docnos, batch.column(columns[2]).to_pylist(), strict=True)
    return out
