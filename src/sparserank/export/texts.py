"""Languages that can say every model as an expression: Lucene expressions, Vespa, SQL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparserank.errors import DataError
from sparserank.export.expression import Dialect, expression
from sparserank.export.options import Files, Options
from sparserank.export.terms import MISSING_FROM, Sum, zero_only
from sparserank.quoting import brief

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _plain(name: str, engine: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise DataError(
            f"{brief(name)} is no variable of {engine}; give its expression there in a file of features (--features): "
            '{"our name": "the expression", ...}.'
        )
    return name


def _no_attribute(name: str) -> str:
    raise DataError(
        f"Vespa does not know what {brief(name)} is; say it of every selected feature in a file of features "
        "(--features, features=): "
        '{"our name": "bm25(title)", "another": "attribute(price)", ...}.'
    )


def _column(name: str) -> str:
    if not name or "\0" in name:
        raise DataError(
            f"no column of SQL can be called {brief(name)}; give its expression in a file of features (--features): "
            '{"our name": "the expression", ...}.'
        )
    return '"' + name.replace('"', '""') + '"'


def _one_column_each(of: Sum, given: Mapping[str, Any]) -> None:
    """Raises DataError for two features that SQLite and DuckDB would read from one column."""
    first: dict[str, str] = {}
    for name in (t.name for t in of.terms if t.name not in given):
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise DataError(
                f"{brief(other)} and {brief(name)} are one column where SQL does not look at capitals; give the "
                "expression of one of them in a file of "
                'features (--features): {"our name": "the expression", ...}.'
            )


SMALL, LARGE, LOG2 = "0.0001", "1e8", repr(math.log(2.0))  # where log(1 + x) would lose digits, and x * x + 1 its 1


def _between(x: str, t: str, ends: tuple[str, str], values: tuple[str, str]) -> str:
    return f"max(min({t}, {values[1]}), {values[0]})"


@dataclass(frozen=True)
class _Words:
    """What a language has for its transforms; signed: (x, f(|x|)) as sign(x) f(|x|)."""

    ln: str
    size: str
    one: str
    choice: Callable[[str, str, str], str]
    signed: Callable[[str, str], str]

    def log(self, x: str, fine: bool) -> str:
        size = f"{self.size}({x})"
        whole = self.signed(x, f"{self.ln}({self.one} + {size})")
        series = f"{x} * ({self.one} - {size} * (3 - 2 * {size}) / 6)"
        return self.choice(f"{size} < {SMALL}", series, whole) if fine else whole

    def asinh(self, x: str, c: str, fine: bool) -> str:
        z = f"({x} / {c})"
        size = f"{self.size}{z}"
        near = f"{self.ln}({size} + sqrt({z} * {z} + {self.one}))"
        whole = self.signed(z, self.choice(f"{size} < {LARGE}", near, f"({self.ln}({size}) + {LOG2})"))
        return self.choice(f"{size} < {SMALL}", f"{z} - {z} * {z} * {z} / 6", whole) if fine else whole


def _question(condition: str, yes: str, no: str) -> str:
    return f"({condition} ? {yes} : {no})"


def _if(condition: str, yes: str, no: str) -> str:
    return f"if ({condition}, {yes}, {no})"


def _case(condition: str, yes: str, no: str) -> str:
    return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"


def _approximate(value: float) -> str:
    """A literal of approximate type: databases read 1.25 as a decimal, and overflow or round with it."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text


def _by_choice(choice: Callable[[str, str, str], str]) -> Callable[[str, str], str]:
    return lambda x, of_size: choice(f"{x} < 0", f"-({of_size})", of_size)


def _given(choice: Callable[[str, str, str], str], size: str) -> Callable[[str, str, str | None], str]:
    """Where nothing may stand for a missing value, the score is NaN: of every x the root of what is below 0."""

    def given(x: str, value: str, other: str | None) -> str:
        nothing = f"sqrt(-1 - {size}({x}))"
        return choice(f"{size}({x}) < {MISSING_FROM}", value, nothing if other is None else other)

    return given


def _known(x: str, value: str, other: str | None) -> str:
    """NaN is larger than all numbers in DuckDB and PostgreSQL, so the second comparison would do; but DuckDB decides it
    by the smallest and largest values in a Parquet file, which leave NaN out. Differences it computes."""
    known = f"{x} - {x} = 0 AND ABS({x}) < {MISSING_FROM}"
    return f"CASE WHEN {known} THEN {value} END" if other is None else _case(known, value, other)


_LUCENE = _Words("ln", "abs", "1", _question, _by_choice(_question))
_VESPA = _Words("log", "fabs", "1", _if, _by_choice(_if))
_SQL = _Words("LN", "ABS", "1e0", _case, lambda x, of_size: f"SIGN({x}) * {of_size}")

LUCENE = Dialect(
    "Lucene expressions",
    variable=lambda name: _plain(name, "Lucene expressions"),
    log=_LUCENE.log,
    asinh=_LUCENE.asinh,
    clip=_between,
    given=_given(_question, "abs"),
    comments=("#", "//"),
)
VESPA = Dialect(
    "Vespa",
    variable=_no_attribute,
    log=_VESPA.log,
    asinh=_VESPA.asinh,
    clip=_between,
    given=_given(_if, "fabs"),
)
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
    number=_approximate,
)


def lucene(of: Sum, options: Options) -> Files:
    """model.expression for Lucene's expressions module, and scripts in the language `expression`."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    zero_only(of, "Lucene", filled=options.filled)
    return {"model.expression": expression(of, LUCENE, options.features, options.offset, options.sigmoid)}


def vespa(of: Sum, options: Options) -> Files:
    """NAME.profile, a rank profile whose second phase is the model;
    `features` say what each selected feature is in Vespa."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    name = options.name
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise DataError(
            "--name must be letters, digits and _, and not default or unranked, which Vespa has already; got "
            f"{brief(name)}."
        )
    body = expression(of, VESPA, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = (
        f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n        }}\n"
        "    }\n}\n"
    )
    return {f"{name}.profile": text}


def sql(of: Sum, options: Options) -> Files:
    """score.sql, an expression over columns of the features' names;
    NULL where a feature is missing that the model knows no value for."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    _one_column_each(of, options.features or {})
    return {"score.sql": expression(of, SQL, options.features, options.offset, options.sigmoid)}
