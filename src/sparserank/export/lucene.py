"""Lucene's expressions."""

from __future__ import annotations

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import IDENTIFIER, Dialect, Words, by_choice, expression, given_or_nan
from sparserank.export.terms import Sum
from sparserank.options import option
from sparserank.text import brief


def _plain(name: str, engine: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise DataError(
            f"{brief(name)} cannot be a variable of {engine}. Give its expression in {option('features')}: "
            '{"feature name": "expression", ...}.'
        )
    return name


def _question(condition: str, yes: str, no: str) -> str:
    return f"({condition} ? {yes} : {no})"


_LUCENE = Words("ln", "abs", "1", _question, by_choice(_question))


LUCENE = Dialect(
    "Lucene expressions",
    variable=lambda name: _plain(name, "Lucene expressions"),
    log=_LUCENE.log,
    asinh=_LUCENE.asinh,
    case=_question,
    given=given_or_nan(_question, "abs"),
    comments=("#", "//"),
)


def lucene(of: Sum, options: Options) -> Files:
    """Write model.expression for Lucene's expressions module, and for scripts in the language `expression`."""
    options.refuse("the scaling is folded into the expression", "normalizers")
    return {"model.expression": expression(of, LUCENE, options.features, options.offset, options.sigmoid)}


ENGINE = Engine("lucene", "Lucene", lucene, takes_zero=True, negative="Lucene clamps negative scores to 0;", steps=True)
