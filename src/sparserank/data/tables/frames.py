"""Data frames as users hold them - pandas, polars, Arrow: names, the column of query ids,
columns that are no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.quoting import brief

QID = "qid"
DATES = "dates, durations or complex ones"
NO_NUMBERS = "mMc"  # kinds of dates, durations and complex numbers, which would be read as numbers


def column_names(X: Any) -> list[Any]:
    """The names of a frame's columns; empty for what has none."""
    return list(X.column_names if hasattr(X, "column_names") else getattr(X, "columns", []))


def names_of(X: Any) -> Sequence[str] | None:
    """The names of a frame's columns, if they are texts."""
    columns = column_names(X)
    return columns if columns and all(isinstance(c, str) for c in columns) else None


def collected(X: Any) -> Any:
    """X; an Arrow batch as a table, which can do more.

    Raises
        DataError   a lazy frame
    """
    if type(X).__name__ == "LazyFrame":
        raise DataError("X is a lazy frame; collect it first.")
    if type(X).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([X])
    return X


def query_ids(frame: Any, qid: Any) -> Any:
    """The column qid of a frame that has one, else qid.

    Raises
        DataError   both are there and differ
    """
    if QID not in column_names(frame):
        return qid
    column = np.asarray(frame[QID])
    if qid is not None and not (np.shape(qid) == column.shape and (np.asarray(qid) == column).all()):
        raise DataError("the frame's column 'qid' and qid= differ; drop or rename the column, or leave qid= out.")
    return column


def numbers_in(frame: Any, name: str) -> np.ndarray:
    """(n_rows,) float64, one column of a frame; NaN for null.

    Raises
        DataError   there is no such column, or two; it holds something else than real numbers
    """
    count = column_names(frame).count(name)
    if count != 1:
        found = "no column" if count == 0 else "two columns"
        raise DataError(f"the data frame has {found} {brief(name)}, which the model uses.")
    values = np.asarray(frame[name])
    what = DATES if values.dtype.kind in NO_NUMBERS else "text or other things"
    texts = values.dtype.kind in "USO" and any(isinstance(v, str | bytes) for v in values.tolist())
    try:
        if values.dtype.kind not in NO_NUMBERS and not texts:
            return np.asarray(frame[name], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"X: column {brief(name)} holds no real numbers but {what}; turn it into numbers.")


def without_qid(X: Any, qid: Any = None) -> tuple[Any, Any]:
    """(X, query ids): a frame's column qid is taken out of it, and is the ids where none are given. What is no frame
    stays as it is.

    Raises
        DataError   both are given and differ; a column that stands twice, or holds dates, durations or complex numbers;
                    no other column
    """
    X = collected(X)
    names = names_of(X)
    if names is None:
        return X, qid
    seen: set[str] = set()
    twice = next((n for n in names if n in seen or seen.add(n)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise DataError(f"X has two columns {brief(twice)}; rename or drop one.")
    odd = next((n for n in names if n != QID and np.asarray(X[n][:0]).dtype.kind in NO_NUMBERS), None)
    if odd is not None:
        raise DataError(f"X: column {brief(odd)} holds no real numbers but {DATES}; turn it into numbers, or drop it.")
    if QID not in seen:
        return X, qid
    column = query_ids(X, qid)
    if len(names) == 1:
        raise DataError("X has no feature beside the column 'qid'.")
    if hasattr(X, "drop_columns"):  # Arrow
        return X.drop_columns([QID]), column
    return X.drop(columns=QID) if hasattr(X, "loc") else X.drop(QID), column
