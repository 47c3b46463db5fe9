"""Survey the columns of a table in one pass and bounded memory; no value can stop it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.arrow import csv, pa, pc
from sparserank.data.missing import is_missing
from sparserank.data.tables.batches import Table
from sparserank.data.tables.roles import is_number
from sparserank.quoting import brief

DISTINCT, DISTINCT_OF_MANY = (
    10_000,
    1_000,
)  # values of a column that are counted; the second where there are MANY columns
MANY = 500
ROWS = 1 << 13  # that are looked at at once: texts may be long


@dataclass(frozen=True)
class Column:
    """A column of a table.

    kind        the type, as Arrow calls it
    is_number   whether it can be a feature
    n_missing   rows without a value; n_infinite: rows with an infinite one; both count as missing features; n_spelled:
                those of n_missing for which a CSV file has a word, such as NA, which counts as an id in a column of ids
    n_distinct  number of distinct values, None if unknown; `more`: there are more than these
    low, high   of numbers, NaN if there are none
    whole       every value is a whole number
    grows       every value is larger than the one before
    n_runs      runs of rows with the same value
    same_as     an earlier column with the same value in every row
    breaks      row and text of the first entry that is not a number, in a CSV column that begins with numbers
    """

    name: str
    kind: str
    is_number: bool
    n_rows: int = 0
    n_missing: int = 0
    n_infinite: int = 0
    n_spelled: int = 0
    n_distinct: int | None = None
    more: bool = False
    low: float = np.nan
    high: float = np.nan
    whole: bool = False
    grows: bool = False
    n_runs: int = 0
    same_as: str | None = None
    breaks: tuple[int, str] | None = None

    @property
    def missing(self) -> float:
        """Share of the rows, infinite values included."""
        return (self.n_missing + self.n_infinite) / max(self.n_rows, 1)

    @property
    def is_text(self) -> bool:
        return self.kind.removeprefix("dictionary<values=").startswith(("string", "large_string"))

    @property
    def all_differ(self) -> bool:
        """Whether every row is known to have a different value."""
        return (
            self.missing == 0 and self.n_rows > 1 and (self.grows or (not self.more and self.n_distinct == self.n_rows))
        )

    @property
    def is_constant(self) -> bool:
        """Whether there is at most one value."""
        return self.n_distinct is not None and self.n_distinct <= 1 and not self.more


@dataclass(frozen=True)
class Survey:
    """The columns of tables that are read as one. whole: whether every row was read."""

    n_rows: int
    columns: dict[str, Column]
    whole: bool


def survey(tables: Sequence[Table], *, most_values: float = np.inf) -> Survey:
    """Survey the columns of vertically stacked tables; a column that a table lacks counts as missing there.

    Parameters
        most_values   stop after about this many values
    Raises
        DataFormatError   a file that cannot be read
    """
    schema: dict[str, pa.Field] = {}
    for table in tables:
        for field in table.schema:
            schema.setdefault(field.name, field)
    most = DISTINCT if len(schema) <= MANY else DISTINCT_OF_MANY
    watches = {name: _watch(field.type, most) for name, field in schema.items()}
    at, whole = 0, True
    for table in tables:
        names = [name for name in table.schema.names if not _is_nested(table.schema.field(name).type)]
        began = at
        for records in table.raw_batches(names or table.schema.names[:1], ROWS):
            for name, watch in list(watches.items()):
                if name in names:
                    try:
                        watch.see(records.column(name), at)
                    except (pa.ArrowException, ValueError, TypeError):  # of a kind that Arrow itself cannot look into
                        watches[name] = _Watch(most, known=False)
                else:
                    watch.n_missing += 0 if name in table.schema.names else records.num_rows
            at += records.num_rows
            if at * len(schema) >= most_values:
                whole = table.n_rows is not None and at - began == table.n_rows and table is tables[-1]
                break
        if not whole:
            break
    columns: dict[str, Column] = {}
    first: dict[bytes, str] = {}
    for name, watch in watches.items():
        found = replace(watch.found(name, str(schema[name].type)), n_rows=at)
        digest = watch.digest.digest() if watch.digest is not None and at else None
        same = None if digest is None or found.is_constant or found.breaks else first.setdefault(digest, name)
        columns[name] = replace(found, same_as=None if same == name else same)
    return Survey(at, columns, whole)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _watch(kind: pa.DataType, most: int) -> _Watch:
    if is_number(kind):
        return _Numbers(kind, most)
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    texts = pa.types.is_string(held) or pa.types.is_large_string(held)
    return _Texts(most) if texts else _Watch(most, known=not _is_nested(kind))


class _Watch:
    """A column of any kind, read block by block."""

    is_number = False

    def __init__(self, most: int, known: bool = True) -> None:
        self.most = most
        self.seen: Any = set()
        self.known = known  # whether distinct values can be counted
        self.more = False
        self.n_missing = self.n_infinite = self.n_spelled = self.n_runs = 0
        self.digest: Any = None
        self._last: Any = None

    def see(self, column: pa.Array, at: int) -> None:
        self.n_missing += column.null_count
        if self.known and not self.more:
            try:
                self._count(pc.unique(column.drop_null()).cast(pa.string()))
            except (pa.ArrowException, TypeError):
                self.known = False

    def _count(self, distinct: pa.Array) -> None:
        # A long text is told by its checksum.
        self.seen.update(t if len(t) <= 64 else hashlib.blake2b(t.encode()).digest() for t in distinct.to_pylist())
        if len(self.seen) > self.most:
            self.seen, self.more = set(), True

    def found(self, name: str, kind: str) -> Column:
        n_distinct = self.most if self.more else len(self.seen)
        return Column(
            name,
            kind,
            self.is_number,
            n_missing=self.n_missing,
            n_infinite=self.n_infinite,
            n_spelled=self.n_spelled,
            n_distinct=n_distinct if self.known else None,
            more=self.more,
            n_runs=self.n_runs,
        )


class _Texts(_Watch):
    """Text or categories; an empty string is missing."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.digest = hashlib.blake2b(b"text")

    def see(self, column: pa.Array, at: int) -> None:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = column.cast(pa.large_string())
        lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
        self.n_missing += int((lengths == 0).sum())
        texts = pc.fill_null(column, "")
        self.digest.update(np.ascontiguousarray(lengths).tobytes())
        self.digest.update("".join(texts.to_pylist()).encode())
        if len(texts):
            changes = pc.sum(pc.not_equal(texts[1:], texts[:-1])).as_py() or 0
            self.n_runs += changes + (self._last is None or texts[0].as_py() != self._last)
            self._last = texts[-1].as_py()
        if not self.more:
            self._count(pc.unique(texts.filter(pa.array(lengths > 0))))


class _Numbers(_Watch):
    is_number = True

    def __init__(self, kind: pa.DataType, most: int) -> None:
        super().__init__(most)
        self._kind = kind
        self.seen = np.empty(0)
        self.digest = hashlib.blake2b(b"numbers")
        self.low, self.high, self.whole, self.grows = np.inf, -np.inf, True, True
        self.breaks: tuple[int, str] | None = None

    def see(self, column: pa.Array, at: int) -> None:
        if self.breaks is not None:
            return
        if pa.types.is_string(column.type):  # of a CSV file
            numbers = self._parsed(column, at)
            if numbers is None:
                return
            column = numbers
        if column.null_count == len(column):
            values = np.full(len(column), np.nan)
        else:
            values = column.to_numpy(zero_copy_only=False)
            if values.dtype.kind not in "biuf":
                values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 is 0.0
        missing = np.isnan(values)
        infinite = is_missing(values) & ~missing
        self.n_missing += int(missing.sum())
        self.n_infinite += int(infinite.sum())
        values[missing] = np.nan  # of one kind
        self.digest.update(values.tobytes())
        finite = values[~(infinite | missing)]
        exact = finite
        if pa.types.is_integer(column.type) and len(finite) and np.abs(finite).max() >= 2**53:
            exact = column.drop_null().to_numpy(zero_copy_only=False)
            self.digest.update(np.ascontiguousarray(exact).tobytes())
        if not len(exact):
            return
        self.low, self.high = min(self.low, float(np.min(finite))), max(self.high, float(np.max(finite)))
        self.whole = self.whole and bool((finite == np.floor(finite)).all())
        self.n_runs += int((exact[1:] != exact[:-1]).sum()) + (self._last is None or exact[0] != self._last)
        self.grows = (
            self.grows and (self._last is None or exact[0] > self._last) and bool((exact[1:] > exact[:-1]).all())
        )
        self._last = exact[-1]
        if not self.more:
            self.seen = np.unique(exact) if not len(self.seen) else np.union1d(self.seen, exact)
            if len(self.seen) > self.most:
                self.seen, self.more = np.empty(0), True

    def _parsed(self, column: pa.Array, at: int) -> pa.Array | None:
        """Parse numbers from text; None if this fails, in which case the first other text is recorded."""
        column = pc.utf8_trim_whitespace(column)
        spelled = pc.is_in(column, value_set=pa.array(csv.ConvertOptions().null_values))
        self.n_spelled += pc.sum(pc.and_(spelled, pc.not_equal(column, ""))).as_py() or 0
        column = pc.if_else(spelled, None, column)
        kinds = [pa.int64()] if pa.types.is_integer(self._kind) else []
        for kind in (*kinds, pa.float64(), pa.bool_()):
            try:
                return column.cast(kind)
            except pa.ArrowException:
                continue
        for row, text in enumerate(column.to_pylist()):
            try:
                float("0" if text is None else text)
            except ValueError:
                self.breaks = (at + row, brief(text))
                break
        return None

    def found(self, name: str, kind: str) -> Column:
        known = super().found(name, kind)
        some = np.isfinite(self.low)
        return replace(
            known,
            is_number=self.breaks is None,
            low=self.low if some else np.nan,
            high=self.high if some else np.nan,
            whole=bool(some) and self.whole,
            grows=bool(some) and self.grows,
            breaks=self.breaks,
            more=self.more or self.breaks is not None,
        )
