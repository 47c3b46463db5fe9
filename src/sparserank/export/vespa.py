"""Vespa: a rank profile."""

from __future__ import annotations

from sparserank.errors import DataError
from sparserank.export.engine import Engine
from sparserank.export.expression import Dialect, expression
from sparserank.export.expression_words import IDENTIFIER, Words, between, by_choice, given_or_nan
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum
from sparserank.options import option
from sparserank.quoting import brief


def _no_attribute(name: str) -> str:
    raise DataError(
        f"Vespa does not know what {brief(name)} is; say it of every selected feature as "
        f"{option('features')}: "
        '{"our name": "bm25(title)", "another": "attribute(price)", ...}.'
    )


def _if(condition: str, yes: str, no: str) -> str:
    return f"if ({condition}, {yes}, {no})"


_VESPA = Words("log", "fabs", "1", _if, by_choice(_if))


VESPA = Dialect(
    "Vespa",
    variable=_no_attribute,
    log=_VESPA.log,
    asinh=_VESPA.asinh,
    clip=between,
    given=given_or_nan(_if, "fabs"),
)


def vespa(of: Sum, options: Options) -> Files:
    """NAME.profile, a rank profile whose second phase is the model;
    `features` say what each selected feature is in Vespa."""
    options.refuse("an expression has its scaling folded in", "normalizers")
    name = options.name
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise DataError(
            f"{option('name')} must be letters, digits and _, and not default or unranked, which Vespa has already; "
            f"got {brief(name)}."
        )
    body = expression(of, VESPA, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = (
        f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n        }}\n"
        "    }\n}\n"
    )
    return {f"{name}.profile": text}


ENGINE = Engine("vespa", "Vespa", vespa)
