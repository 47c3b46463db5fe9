"""Languages that can say every model as an expression: Lucene expressions, Vespa, SQL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from sparserank.errors import DataError
from sparserank.export.expression import Dialect, expression
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, zero_only
from sparserank.quoting import brief

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _plain(name: str, engine: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise DataError(
            f"{brief(name)} is no variable of {engine}; give its expression there in a file of features (--features): "
            '{"our name": "the expression", ...}.'
        )
    return name


SMALL, LARGE, LOG2 = "0.0001", "1e8", repr(math.log(2.0))  # where log(1 + x) would lose digits, and x * x + 1 its 1


def _between(x: str, t: str, ends: tuple[str, str], values: tuple[str, str]) -> str:
    return f"max(min({t}, {values[1]}), {values[0]})"


def _branches(conditional: Callable[[str, str, str], str], last: str, *cases: tuple[str, str]) -> str:
    """The first case whose condition holds, else the last."""
    for condition, value in reversed(cases):
        last = conditional(condition, value, last)
    return last


def _log(conditional: Callable[[str, str, str], str], ln: str, one: str) -> Callable[[str], str]:
    def log(x: str) -> str:
        square, cube = f"{x} * {x} / 2", f"{x} * {x} * {x} / 3"
        return _branches(
            conditional, f"{ln}({one} + {x})", (f"{x} < -{SMALL}", f"-{ln}({one} - {x})"), (f"{x} < 0", f"{x} + {square} + {cube}"),
            (f"{x} < {SMALL}", f"{x} - {square} + {cube}"),
        )  # fmt: skip

    return log


def _asinh(conditional: Callable[[str, str, str], str], ln: str, one: str) -> Callable[[str, str], str]:
    def asinh(x: str, c: str) -> str:
        z = f"({x} / {c})"
        root = f"sqrt({z} * {z} + {one})"
        return _branches(
            conditional, f"{ln}({z}) + {LOG2}", (f"{z} < -{LARGE}", f"-{ln}(-{z}) - {LOG2}"), (f"{z} < -{SMALL}", f"-{ln}(-{z} + {root})"),
            (f"{z} < {SMALL}", f"{z} - {z} * {z} * {z} / 6"), (f"{z} < {LARGE}", f"{ln}({z} + {root})"),
        )  # fmt: skip

    return asinh


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


LUCENE = Dialect(
    "Lucene expressions",
    variable=lambda name: _plain(name, "Lucene expressions"),
    log=_log(_question, "ln", "1"),
    asinh=_asinh(_question, "ln", "1"),
    clip=_between,
    comments=("#", "//"),
)
VESPA = Dialect(
    "Vespa",
    variable=lambda name: f"attribute({_plain(name, 'Vespa')})",
    log=_log(_if, "log", "1"),
    asinh=_asinh(_if, "log", "1"),
    clip=_between,
    known=lambda x, fill: f"if (isNan({x}) == 1, {fill}, {x})",
)
SQL = Dialect(
    "SQL",
    variable=lambda name: '"' + name.replace('"', '""') + '"',
    log=_log(_case, "ln", "1e0"),
    asinh=_asinh(_case, "ln", "1e0"),
    clip=lambda x, t, ends, values: (
        f"CASE WHEN {x} < {ends[0]} THEN {values[0]} WHEN {x} > {ends[1]} THEN {values[1]} ELSE {t} END"
    ),
    number=_approximate,
    known=lambda x, fill: f"COALESCE({x}, {fill})",
)


def lucene(of: Sum, options: Options) -> Files:
    """model.expression for Lucene's expressions module, and scripts in the language `expression`."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    zero_only(of, "Lucene", filled=options.filled)
    return {"model.expression": expression(of, LUCENE, options.features, options.offset, options.sigmoid)}


def vespa(of: Sum, options: Options) -> Files:
    """NAME.profile, a rank profile whose second phase is the model; without `features` every feature is an attribute."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    name = options.name
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise DataError(
            f"--name must be letters, digits and _, and not default or unranked, which Vespa has already; got {brief(name)}."
        )
    body = expression(of, VESPA, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n        }}\n    }}\n}}\n"
    return {f"{name}.profile": text}


def sql(of: Sum, options: Options) -> Files:
    """score.sql, an expression over columns of the features' names."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    return {"score.sql": expression(of, SQL, options.features, options.offset, options.sigmoid)}
