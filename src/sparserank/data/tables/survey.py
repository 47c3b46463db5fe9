"""Survey the columns of a table from its first rows; no value can stop it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.arrow import csv, pa, pc
from sparserank.data.categories import MAX_DISTINCT, MAX_LEVELS, mostly_numbers
from sparserank.data.missing import HUGE
from sparserank.data.tables.batches import InputTable
from sparserank.data.tables.roles import is_number, may_be_category
from sparserank.number_checks import is_written_number
from sparserank.text import brief

# limits of a survey
ROWS = 100_000
BYTES = 1 << 28
BLOCK_ROWS = 1 << 13  # rows read at once: texts may be long


@dataclass(frozen=True)
class Column:
    """The surveyed rows of a column.

    kind        the type, as Arrow calls it
    is_number   whether it can be a feature
    n_missing   rows without a value; n_infinite: rows with an infinite value; both count as missing features;
                n_spelled: rows of n_missing with a word such as NA in a CSV file, which is an id in a column of ids
    n_distinct  number of distinct values, None if unknown
    low, high   smallest and largest number, NaN if there are none
    whole       every value is a whole number
    is_written  text, of which half or more of the distinct values are numbers
    breaks      row and text of the first entry that is not a number, in a CSV column that begins with numbers
    """

    name: str
    kind: str
    n_rows: int
    is_number: bool = False
    n_missing: int = 0
    n_infinite: int = 0
    n_spelled: int = 0
    n_distinct: int | None = None
    low: float = np.nan
    high: float = np.nan
    whole: bool = False
    is_written: bool = False
    breaks: tuple[int, str] | None = None

    @property
    def missing(self) -> float:
        """Fraction of rows without a value or with an infinite one."""
        return (self.n_missing + self.n_infinite) / max(self.n_rows, 1)

    @property
    def is_text(self) -> bool:
        return self.kind.removeprefix("dictionary<values=").startswith(("string", "large_string"))

    @property
    def is_category(self) -> bool:
        """Whether the column can be a category. Texts that nearly all differ, such as ids and titles, cannot."""
        if self.n_distinct is None or self.is_constant:
            return False
        return self.kind.startswith("dictionary") or (self.is_text and self.n_distinct <= MAX_DISTINCT * self.n_rows)

    @property
    def may_be_codes(self) -> bool:
        """Whether the column has so few distinct integers that they may be codes of categories. Two of them are a flag,
        which needs no category."""
        return self.kind.lstrip("u").startswith("int") and 2 < (self.n_distinct or 0) <= MAX_LEVELS

    @property
    def all_differ(self) -> bool:
        """Whether every row has a different value."""
        return self.n_rows > 1 and self.n_distinct == self.n_rows

    @property
    def is_constant(self) -> bool:
        """Whether there is at most one value."""
        return self.n_distinct is not None and self.n_distinct <= 1


@dataclass(frozen=True)
class Survey:
    """The columns of tables that are read as one. whole: whether every row was surveyed."""

    n_rows: int
    columns: dict[str, Column]
    whole: bool


def survey(tables: Sequence[InputTable]) -> Survey:
    """Survey the first rows of vertically stacked tables; a column that a table lacks is missing there.

    Raises
        DataFormatError   a file that cannot be read
    """
    kinds: dict[str, pa.DataType] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, field.type)
    chunks_of: dict[str, list[pa.Array]] = {name: [] for name in kinds}
    n_rows = 0
    n_bytes = 0
    whole = True
    for table in tables:
        plain = [name for name in table.schema.names if not _is_nested(table.schema.field(name).type)]
        for records in table.record_batches(plain or table.schema.names[:1], BLOCK_ROWS):
            if n_rows == ROWS or n_bytes >= BYTES:
                whole = False
                break
            whole = whole and n_rows + records.num_rows <= ROWS
            records = records.slice(0, ROWS - n_rows)
            n_rows += records.num_rows
            n_bytes += records.nbytes
            for name, chunks in chunks_of.items():
                if name in plain:
                    chunks.append(records.column(name))
                elif name not in table.schema.names:
                    chunks.append(pa.nulls(records.num_rows, kinds[name]))
    columns = {}
    for name, kind in kinds.items():
        columns[name] = Column(name, str(kind), n_rows, **_fields_of_values(chunks_of[name], kind))
    return Survey(n_rows, columns, whole)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _fields_of_values(chunks: Sequence[pa.Array], kind: pa.DataType) -> dict[str, Any]:
    """The fields of `Column` that depend on values; none of a type whose values Arrow cannot process."""
    with suppress(pa.ArrowException, ValueError, TypeError):
        if is_number(kind):
            return _of_numbers(chunks, kind)
        if not _is_nested(kind):
            return _of_others(chunks, kind)
    return {}


def _of_others(chunks: Sequence[pa.Array], kind: pa.DataType) -> dict[str, Any]:
    """The fields of text, categories and dates; an empty text is missing."""
    plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in chunks]
    values = pa.chunked_array([c.cast(pa.large_string()) for c in plain], pa.large_string())
    values = values.filter(pc.not_equal(values, ""))  # and without nulls
    texts = values.unique()
    return {
        "n_missing": sum(map(len, chunks)) - len(values),
        "n_distinct": len(texts),
        "is_written": may_be_category(kind) and not pa.types.is_dictionary(kind) and mostly_numbers(texts.to_pylist()),
    }


def _of_numbers(chunks: Sequence[pa.Array], kind: pa.DataType) -> dict[str, Any]:
    n_spelled = 0
    if any(pa.types.is_string(c.type) for c in chunks):  # the table is a CSV file, which is read as text
        texts = pc.utf8_trim_whitespace(pa.chunked_array(chunks, pa.string()))
        spelled = pc.is_in(texts, value_set=pa.array(csv.ConvertOptions().null_values))
        n_spelled = pc.sum(pc.and_(spelled, pc.not_equal(texts, ""))).as_py() or 0
        texts = pc.if_else(spelled, None, texts)
        try:
            values = texts.cast(kind)
        except pa.ArrowException:  # a fraction among whole numbers, or text
            rows = enumerate(texts.to_pylist())
            odd = ((row, brief(text)) for row, text in rows if text is not None and not is_written_number(text))
            breaks = next(odd, None)
            if breaks is not None:
                return {"breaks": breaks}
            values = texts.cast(pa.float64())
    else:
        values = pa.chunked_array([c.cast(kind) for c in chunks], kind)
    numbers = values.cast(pa.float64(), safe=False)
    known = numbers.filter(pc.less(pc.abs(numbers), HUGE))  # neither null nor NaN
    n_missing = values.null_count + (pc.sum(pc.is_nan(numbers)).as_py() or 0)
    ends = pc.min_max(known).as_py() if len(known) else {"min": np.nan, "max": np.nan}
    distinct = values if pa.types.is_integer(values.type) else pc.add(known, 0.0)  # -0.0 is 0.0
    return {
        "is_number": True,
        "n_missing": n_missing,
        "n_infinite": len(values) - n_missing - len(known),
        "n_spelled": n_spelled,
        "n_distinct": pc.count_distinct(distinct).as_py(),
        "low": ends["min"],
        "high": ends["max"],
        "whole": len(known) > 0 and pc.all(pc.equal(known, pc.floor(known))).as_py(),
    }
