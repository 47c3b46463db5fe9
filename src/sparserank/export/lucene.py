"""Lucene's expressions."""

from __future__ import annotations

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import IDENTIFIER, Dialect, expression
from sparserank.export.terms import Sum
from sparserank.options import option
from sparserank.text import brief


class _Lucene(Dialect):
    engine = "Lucene expressions"
    if_else = "({0} ? {1} : {2})"
    ln = "ln"
    comments = ("#", "//")

    def variable(self, name: str) -> str:
        if not IDENTIFIER.fullmatch(name):
            raise DataError(
                f"{brief(name)} cannot be a variable of Lucene expressions. Give its expression in "
                f"{option('features')}: "
                '{"feature name": "expression", ...}.'
            )
        return name


LUCENE = _Lucene()


def lucene(of: Sum, options: Options) -> Files:
    """Write model.expression for Lucene's expressions module, and for scripts in the language `expression`."""
    return {"model.expression": expression(of, LUCENE, options)}


ENGINE = Engine("lucene", "Lucene", lucene, takes_zero=True, negative="Lucene clamps negative scores to 0;", steps=True)
