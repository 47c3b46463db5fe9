"""Data frames as users hold them - pandas, polars, Arrow: names, the column of query ids, columns that are no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.quoting import brief

QID = "qid"
NO_NUMBERS = "mMc"  # kinds of dates, durations and complex numbers, which would be read as numbers


def column_names(X: Any) -> list[Any]:
    """The names of a frame's columns; empty for what has none."""
    return list(X.column_names if hasattr(X, "column_names") else getattr(X, "columns", []))


def names_of(X: Any) -> Sequence[str] | None:
    """The names of a frame's columns, if they are texts."""
    columns = column_names(X)
    return columns if columns and all(isinstance(c, str) for c in columns) else None


def without_qid(X: Any, qid: Any = None) -> tuple[Any, Any]:
    """(X, query ids): a frame's column qid is taken out of it, and is the ids where none are given. What is no frame stays as it is.

    Raises
        DataError   both are given and differ; a column that stands twice, or holds dates, durations or complex numbers; no other column
    """
    if type(X).__name__ == "LazyFrame":
        raise DataError("X is a lazy frame; collect it first.")
    if type(X).__name__ == "RecordBatch":  # Arrow, without what tables can do
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    names = names_of(X)
    if names is None:
        return X, qid
    seen: set[str] = set()
    twice = next((n for n in names if n in seen or seen.add(n)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise DataError(f"X has two columns {brief(twice)}; rename or drop one.")
    odd = next((n for n in names if n != QID and np.asarray(X[n][:0]).dtype.kind in NO_NUMBERS), None)
    if odd is not None:
        raise DataError(
            f"X: column {brief(odd)} holds no real numbers but dates, durations or complex ones; turn it into numbers, or drop it."
        )
    if QID not in seen:
        return X, qid
    column = np.asarray(X[QID])
    if qid is not None and not (np.shape(qid) == column.shape and (np.asarray(qid) == column).all()):
        raise DataError("the frame's column 'qid' and qid= differ; drop or rename the column, or leave qid= out.")
    if len(names) == 1:
        raise DataError("X has no feature beside the column 'qid'.")
    if hasattr(X, "drop_columns"):  # Arrow
        return X.drop_columns([QID]), column
    return X.drop(columns=QID) if hasattr(X, "loc") else X.drop(QID), column
