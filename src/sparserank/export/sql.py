"""SQL: an expression for databases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.errors import DataError
from sparserank.export.engine import Engine
from sparserank.export.expression import Dialect, expression
from sparserank.export.expression_words import Words
from sparserank.export.options import Files, Options
from sparserank.export.terms import MISSING_FROM, Sum
from sparserank.options import option
from sparserank.quoting import brief


def _column(name: str) -> str:
    if not name or "\0" in name:
        raise DataError(
            f"{brief(name)} cannot be the name of an SQL column. Give its expression in {option('features')}: "
            '{"feature name": "expression", ...}.'
        )
    return '"' + name.replace('"', '""') + '"'


def _one_column_each(of: Sum, given: Mapping[str, Any]) -> None:
    """Raise DataError for two features that SQLite and DuckDB would read from the same column."""
    first: dict[str, str] = {}
    for name in (t.name for t in of.terms if t.name not in given):
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise DataError(
                f"{brief(other)} and {brief(name)} differ only in case, which some SQL databases ignore. Give the "
                f"expression of one of them in {option('features')}: "
                '{"feature name": "expression", ...}.'
            )


def _case(condition: str, yes: str, no: str) -> str:
    return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"


def approximate(value: float) -> str:
    """A literal of approximate type: databases read 1.25 as a decimal, which overflows or rounds."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text


def _known(x: str, value: str, other: str | None) -> str:
    """The value if x is known. NaN is larger than all numbers in DuckDB and PostgreSQL, so the second comparison would
    do; but DuckDB decides it by a Parquet file's minimum and maximum, without NaN. It does compute differences."""
    known = f"{x} - {x} = 0 AND ABS({x}) < {MISSING_FROM}"
    return f"CASE WHEN {known} THEN {value} END" if other is None else _case(known, value, other)


_SQL = Words("LN", "ABS", "1e0", _case, lambda x, of_size: f"SIGN({x}) * {of_size}", approximate)


SQL = Dialect(
    "SQL",
    variable=_column,
    log=_SQL.log,
    asinh=_SQL.asinh,
    clip=lambda x, t, ends, values: (
        f"CASE WHEN {x} < {ends[0]} THEN {values[0]} WHEN {x} > {ends[1]} THEN {values[1]} ELSE {t} END"
    ),
    given=_known,
    real=lambda x: f"CAST({x} AS DOUBLE PRECISION)",
    number=approximate,
)


def sql(of: Sum, options: Options) -> Files:
    """Write score.sql, an expression over columns with the features' names;
    NULL where a feature is missing and the model has no fill value for it.
    """
    options.refuse("the scaling is folded into the expression", "normalizers")
    _one_column_each(of, options.features or {})
    return {"score.sql": expression(of, SQL, options.features, options.offset, options.sigmoid)}


ENGINE = Engine("sql", "SQL", sql)
