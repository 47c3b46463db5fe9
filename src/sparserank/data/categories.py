"""Features that are made from columns of tables: 1 for a level of a category, or for a missing number, else 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.errors import warn_caller
from sparserank.number_checks import is_written_number
from sparserank.text import brief, listed

if TYPE_CHECKING:
    from sparserank.arrow import pa

# a level is frequent if it has this share of the rows, or is in so many queries
MIN_SHARE = 0.01
MIN_QUERIES = 20
MAX_LEVELS = 30  # of a category; the others count as one, which has no feature
MAX_DISTINCT = 0.5  # text with a larger share of distinct values is an id or a title
MISSING = "NULL"  # a missing value, where levels are listed


@dataclass(frozen=True)
class Derived:
    """A feature of zeros and ones that is made from a column of a table.

    source   the column
    level    the feature is 1 where the column has this text ("": where the text is missing); None: the column contains
             numbers, and the feature is 1 where the number is missing
    """

    source: str
    level: str | None

    @property
    def name(self) -> str:
        return f"{self.source}={self.level}" if self.level else f"{self.source} is missing"

    def among(self, texts: pa.DictionaryArray) -> np.ndarray:
        """(n,) bool: which texts are this level."""
        code = texts.dictionary.index(self.level or "").as_py()
        return np.asarray(texts.indices.to_numpy(zero_copy_only=False) == code)


class KnownLevels:
    """Finds the categories among `derived` of which no row has a known level."""

    def __init__(self, derived: Mapping[str, Derived]) -> None:
        self._unseen: dict[str, list[str]] = {}  # {column without a known level so far: its levels}
        self._first: dict[str, str] = {}  # {column: its first level}
        for d in derived.values():
            if d.level is not None:
                self._unseen.setdefault(d.source, []).append(d.level)

    def see(self, source: str, texts: pa.DictionaryArray) -> None:
        """Note whether some of the texts of a column are known levels."""
        if source in self._unseen and len(texts):
            self._first.setdefault(source, texts[0].as_py())
            if not set(texts.dictionary.to_pylist()).isdisjoint(self._unseen[source]):
                del self._unseen[source]

    def warn(self, place: str) -> None:
        """Warn of each column without a known level."""
        for source, levels in self._unseen.items():
            if source in self._first:
                shown = listed([brief(level or MISSING) for level in levels], 3)
                message = (
                    f"{place}: no row of column {brief(source)} has a level that is known from training ({shown}); the "
                    f"first has {brief(self._first[source] or MISSING)}; all count as others."
                )
                warn_caller(message)


def texts_in(column: Any) -> pa.DictionaryArray:
    """`texts_of` for a column of any library."""
    from sparserank.arrow import pa

    array = column.combine_chunks() if hasattr(column, "combine_chunks") else pa.array(column, from_pandas=True)
    return texts_of(array)


def texts_of(column: pa.Array) -> pa.DictionaryArray:
    """A column as dictionary-encoded text. Null and NaN become "", and whole numbers have no decimal point, even in a
    column of floats.

    Raises
        ArrowException   a number with a fraction, or a type that is not text, a category, a boolean or a number
    """
    return _written(column).dictionary_encode()


def _written(column: pa.Array) -> pa.Array:
    from sparserank.arrow import pa, pc

    if pa.types.is_dictionary(column.type):  # not every type of values can be decoded
        column = pa.DictionaryArray.from_arrays(column.indices, _written(column.dictionary)).dictionary_decode()
    if pa.types.is_floating(column.type):  # pandas keeps whole numbers as floats if some are missing
        column = pc.if_else(pc.is_nan(column), None, column)
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.int64())
    return pc.fill_null(column.cast(pa.large_string()), "")


def mostly_numbers(texts: Sequence[str]) -> bool:
    """Whether half or more of some texts are numbers."""
    return len(texts) > 0 and 2 * sum(map(is_written_number, texts)) >= len(texts)


def objects_of(texts: pa.DictionaryArray, *, numeric: bool) -> np.ndarray:
    """(n,) the texts as objects, None for a missing one; with `numeric`, texts of numbers become floats. Equal texts
    share an object."""
    values = [float(t) if numeric and is_written_number(t) else t or None for t in texts.dictionary.to_pylist()]
    return np.array(values, dtype=object)[texts.indices.to_numpy(zero_copy_only=False)]


def already_called(place: str, derived: Derived) -> str:
    """The message for a table with a column that has the name of a derived feature."""
    return (
        f"{place}: a column is called {brief(derived.name)}, like the feature that {brief(derived.source)} gets; "
        "rename it."
    )


def sources_of(derived: Mapping[str, Derived], names: Sequence[str]) -> tuple[str, ...]:
    """The column of the table that each feature is made from. A feature that is not derived is a column itself."""
    return tuple(derived[name].source if name in derived else name for name in names)


def frequent_levels(
    source: str,
    coded: pa.ChunkedArray,
    query: np.ndarray,
    *,
    is_number: bool,
) -> list[Derived]:
    """The features of a category, the most frequent level first; no features if the category is constant within every
    query.

    Parameters
        coded   texts of all rows, dictionary-encoded
        query   (n,) number of the query of each row
        is_number   whether the column contains numbers; the feature for missing ones then has the level None
    """
    whole = coded.unify_dictionaries()
    values = whole.chunk(0).dictionary.to_pylist()
    code = np.concatenate([c.indices.to_numpy(zero_copy_only=False) for c in whole.chunks]).astype(np.int64)
    rows = np.bincount(code, minlength=len(values))
    n_queries = int(query.max()) + 1
    pairs = np.unique(code * n_queries + query)
    in_queries = np.bincount(pairs // n_queries, minlength=len(values))
    if len(pairs) == len(np.unique(query)):
        return []
    frequent = (rows >= MIN_SHARE * len(code)) | (in_queries >= MIN_QUERIES)
    frequent_codes = np.flatnonzero(frequent).tolist()
    shown_codes = sorted(frequent_codes, key=lambda i: (-rows[i], values[i]))[:MAX_LEVELS]
    return [Derived(source, None if is_number and not values[i] else values[i]) for i in shown_codes]
