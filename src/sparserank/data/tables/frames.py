"""Data frames of users (pandas, polars, Arrow): column names, the column of query ids,
and columns that are not numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError, SparserankError
from sparserank.text import brief

QID = "qid"
DATES = "dates, durations or complex numbers"
NO_NUMBERS = "mMc"  # dtype kinds of dates, durations and complex numbers, which must not be read as numbers


def column_names(X: Any) -> list[Any]:
    """The names of a frame's columns; empty if there are none."""
    return list(X.column_names if hasattr(X, "column_names") else getattr(X, "columns", []))


def names_of(X: Any) -> Sequence[str] | None:
    """The names of a frame's columns, if all are strings."""
    columns = column_names(X)
    return columns if columns and all(isinstance(c, str) for c in columns) else None


def library_of(X: Any) -> str:
    """The package that an object comes from."""
    return type(X).__module__.partition(".")[0]


def is_lazy(X: Any) -> bool:
    """Whether X is a lazy frame of polars."""
    return type(X).__name__ == "LazyFrame"


def repeated(names: Iterable[Any]) -> str | None:
    """The first name that repeats an earlier one; None if there is none."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            return name
        seen.add(name)
    return None


def reason_of(error: Exception) -> str:
    """The first line of an error of another library, or its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def refuse_repeated(names: Iterable[Any], place: str, error: type[SparserankError] = DataError) -> None:
    """Raise the error for a column that appears twice in a table."""
    twice = repeated(names)
    if twice is not None:
        raise error(f"{place}: column {brief(twice)} appears twice; rename or drop one.")


def collected(X: Any, name: str = "X") -> Any:
    """X, but an Arrow batch, or a frame of another library with an Arrow stream, as an Arrow table, which has more
    methods.

    Raises
        DataError   a lazy frame, or something else with columns that cannot be read
    """
    if is_lazy(X):
        raise DataError(f"{name} is a lazy frame; collect it first, with .collect().")
    if not hasattr(X, "columns") or library_of(X) in ("polars", "dask", "dask_expr"):
        return X
    is_batch = type(X).__name__ == "RecordBatch"
    streams = hasattr(X, "__arrow_c_stream__")
    if (
        hasattr(X, "__getitem__")
        and not is_batch
        and (library_of(X) == "pandas" or hasattr(X, "column_names") or not streams)
    ):
        return X
    from sparserank.arrow import pa

    try:
        return pa.Table.from_batches([X]) if is_batch else pa.table(X)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"{name}: a {type(X).__name__} cannot be read; pass a pandas or polars frame, or an Arrow table."
        ) from error


def without_sparse(frame: Any) -> Any:
    """A pandas frame whose sparse columns are dense."""
    sparse = {name: kind.subtype for name, kind in frame.dtypes.items() if type(kind).__name__ == "SparseDtype"}
    return frame.astype(sparse) if sparse else frame


def query_ids(frame: Any, qid: Any) -> Any:
    """The column qid of a frame that has one, else qid.

    Raises
        DataError   both exist and differ
    """
    if QID not in column_names(frame):
        return qid
    column = np.asarray(frame[QID])
    if qid is not None and not (np.shape(qid) == column.shape and (np.asarray(qid) == column).all()):
        raise DataError("the frame's column 'qid' and qid= differ; drop or rename the column, or omit qid=.")
    return column


def column_of(frame: Any, name: str) -> Any:
    """One column of a frame.

    Raises
        DataError   there is no such column, or there are two
    """
    count = column_names(frame).count(name)
    if count != 1:
        how_many = "no column" if count == 0 else "two columns"
        raise DataError(f"the data frame has {how_many} {brief(name)}, which the model uses.")
    return frame[name]


def numbers_in(frame: Any, name: str) -> np.ndarray:
    """(n_rows,) float64, one column of a frame; NaN for null.

    Raises
        DataError   as `column_of`; its values are not real numbers
    """
    values = _as_array(column_of(frame, name), name)
    contents = DATES if values.dtype.kind in NO_NUMBERS else "text or other objects"
    texts = values.dtype.kind in "USO" and any(isinstance(v, str | bytes) for v in values.tolist())
    try:
        if values.dtype.kind not in NO_NUMBERS and not texts:
            return np.asarray(frame[name], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"X: column {brief(name)} contains {contents}, not real numbers; convert it to numbers.")


def without_qid(X: Any, qid: Any = None) -> tuple[Any, Any]:
    """(X, query ids): a frame's column qid is removed from it, and provides the ids if none are given. Anything but a
    frame is unchanged.

    Raises
        DataError   both are given and differ; a column appears twice, or contains dates, durations or complex numbers;
                    there is no other column
    """
    X = collected(X)
    names = names_of(X)
    if names is None:
        return X, qid
    twice = repeated(names)
    if twice is not None:
        raise DataError(f"X has two columns {brief(twice)}; rename or drop one.")
    odd = next((n for n in names if n != QID and _as_array(X[n][:0], n).dtype.kind in NO_NUMBERS), None)
    if odd is not None:
        raise DataError(
            f"X: column {brief(odd)} contains {DATES}, not real numbers; convert it to numbers, or drop it."
        )
    if QID not in names:
        return X, qid
    column = query_ids(X, qid)
    if len(names) == 1:
        raise DataError("X has no feature column; its only column is 'qid'.")
    if hasattr(X, "drop_columns"):  # Arrow
        return X.drop_columns([QID]), column
    return X.drop(columns=QID) if hasattr(X, "loc") else X.drop(QID), column


def _as_array(column: Any, name: str) -> np.ndarray:
    """A column as an array.

    Raises
        DataError   NumPy has no dtype for it
    """
    try:
        return np.asarray(column)
    except Exception as error:  # each library raises different exceptions
        reason = brief(str(error).splitlines()[0])
        raise DataError(f"X: column {brief(name)} cannot be converted to numbers ({reason}); convert it.") from error
