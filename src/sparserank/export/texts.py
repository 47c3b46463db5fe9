"""Languages that can say every model as an expression: Lucene expressions, Vespa, SQL."""

from __future__ import annotations

import re

from sparserank.errors import DataError
from sparserank.export.expression import Dialect, expression
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum
from sparserank.quoting import brief

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _plain(name: str, engine: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise DataError(
            f"{brief(name)} is no variable of {engine}; give its expression there in a file of features (--features): "
            '{"our name": "the expression", ...}.'
        )
    return name


LUCENE = Dialect(
    "Lucene expressions",
    variable=lambda name: _plain(name, "Lucene expressions"),
    log=lambda x: f"({x} < 0 ? -ln(1 - {x}) : ln(1 + {x}))",
    asinh=lambda x, c: f"asinh({x} / {c})",
    clip=lambda x, low, high: f"max(min({x}, {high}), {low})",
)
VESPA = Dialect(
    "Vespa",
    variable=lambda name: f"attribute({_plain(name, 'Vespa')})",
    log=lambda x: f"if ({x} < 0, -log(1 - {x}), log(1 + {x}))",
    asinh=lambda x, c: (
        f"if ({x} < 0, -log(-{x} / {c} + sqrt({x} * {x} / {c} / {c} + 1)), log({x} / {c} + sqrt({x} * {x} / {c} / {c} + 1)))"
    ),
    clip=lambda x, low, high: f"max(min({x}, {high}), {low})",
)
SQL = Dialect(
    "SQL",
    variable=lambda name: '"' + name.replace('"', '""') + '"',
    log=lambda x: f"CASE WHEN {x} < 0 THEN -ln(1.0 - {x}) ELSE ln(1.0 + {x}) END",
    asinh=lambda x, c: (
        f"CASE WHEN {x} < 0 THEN -ln(-{x} / {c} + sqrt({x} / {c} * {x} / {c} + 1.0)) ELSE ln({x} / {c} + sqrt({x} / {c} * {x} / {c} + 1.0)) END"
    ),
    clip=lambda x, low, high: f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END",
)


def lucene(of: Sum, options: Options) -> Files:
    """model.expression for Lucene's expressions module, and scripts in the language `expression`."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    return {"model.expression": expression(of, LUCENE, options.features, options.offset, options.sigmoid)}


def vespa(of: Sum, options: Options) -> Files:
    """NAME.profile, a rank profile whose second phase is the model; without `features` every feature is an attribute."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    name = _plain(options.name, "Vespa")
    body = expression(of, VESPA, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n        }}\n    }}\n}}\n"
    return {f"{name}.profile": text}


def sql(of: Sum, options: Options) -> Files:
    """score.sql, an expression over columns of the features' names."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    return {"score.sql": expression(of, SQL, options.features, options.offset, options.sigmoid)}
