"""Vespa: a rank profile with a second phase."""

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
        f"Vespa needs a definition of {brief(name)}. Define every selected feature in "
        f"{option('features')}: "
        '{"feature name": "bm25(title)", "another": "attribute(price)", ...}.'
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
    """Write NAME.profile, a rank profile whose second phase is the model; `features` defines each selected feature in
    Vespa.
    """
    options.refuse("the scaling is folded into the expression", "normalizers")
    name = options.name
    require_profile_name(name)
    body = expression(of, VESPA, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = (
        f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n"
        "        }\n    }\n}\n"
    )
    return {f"{name}.profile": text}


def require_profile_name(name: str) -> None:
    """Raise DataError for a name that a rank profile cannot have."""
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise DataError(
            f"{option('name')} must consist of letters, digits and _, and must not be default or unranked, which are "
            f"built into Vespa; got {brief(name)}."
        )


ENGINE = Engine("vespa", "Vespa", vespa)
