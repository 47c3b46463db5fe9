"""What runs and judgments in memory have in common: values by query and document, as mappings or columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.quoting import brief

QUERY, DOCUMENT = ("qid", "query_id", "topic"), ("docno", "docid", "doc_id")  # names of columns


def keyed_values(content: Any, must: str) -> Iterator[tuple[Any, Any, Any]]:
    """(query id, document id, value) of {query id: {document id: value}} or {(query id, document id): value}.

    Raises
        DataError   it is neither; the message begins with `must`
    """
    if not isinstance(content, Mapping):
        raise DataError(f"{must}; got {brief(content)}.")
    for key, value in content.items():
        if isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        elif isinstance(value, Mapping):
            for docno, own in value.items():
                yield key, docno, own
        else:
            raise DataError(f"{must}; query {brief(key)} has {brief(value)}.")


def column_of(found: Sequence[str], names: Sequence[str], needs: str) -> str:
    """The first of these names among the columns.

    Raises
        DataError   there is none; the message begins with `needs`
    """
    column = next((name for name in names if name in found), None)
    if column is None:
        raise DataError(f"{needs}; {names[0]} is not among {brief(', '.join(map(str, found)))}.")
    return column


def is_finite_number(value: Any) -> bool:
    """Whether it is a finite number, and no truth value."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False
