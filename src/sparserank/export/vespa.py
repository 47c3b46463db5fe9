"""Vespa: a rank profile with a second phase, or with a global phase where scores depend on the other hits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sparserank.data.missing import ERROR
from sparserank.errors import DataError
from sparserank.export.engine import Engine
from sparserank.export.expression import Dialect, expression
from sparserank.export.expression_words import IDENTIFIER, Words, between, by_choice, given_or_nan
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term
from sparserank.options import option
from sparserank.quoting import brief
from sparserank.transforms import LOG


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


RERANKED = 100  # hits of a global phase, where nobody knows how many candidates training had: Vespa's own default


def vespa(of: Sum, options: Options) -> Files:
    """Write NAME.profile, a rank profile whose second phase is the model; `features` defines each selected feature in
    Vespa.

    Where scores depend on the other documents of a query, the model is the global phase, which reranks as many hits as
    the longest training list. A feature that is constant over the hits is 1/2 instead of 0, which shifts all scores.
    """
    options.refuse("the scaling is folded into the expression", "normalizers")
    name = options.name
    require_profile_name(name)
    logs: dict[str, str] = {}
    dialect = replace(VESPA, of_list=partial(_in_list, name, logs))
    body = expression(of, dialect, options.features, options.offset, options.sigmoid).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    phase, count = "second-phase", ""
    if of.of_lists:
        phase, count = "global-phase", f"        rerank-count: {of.longest or RERANKED}\n"
    functions = "".join(
        f"    function {log}() {{\n        expression {{\n            {text}\n        }}\n    }}\n"
        for log, text in logs.items()
    )
    if logs:
        functions += "    match-features {\n" + "".join(f"        {log}\n" for log in logs) + "    }\n"
    text = (
        f"rank-profile {name} inherits default {{\n{functions}    {phase} {{\n        expression {{\n{inner}\n"
        f"        }}\n{count}    }}\n}}\n"
    )
    return {f"{name}.profile": text}


def require_profile_name(name: str) -> None:
    """Raise DataError for a name that a rank profile cannot have."""
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise DataError(
            f"{option('name')} must consist of letters, digits and _, and must not be default or unranked, which are "
            f"built into Vespa; got {brief(name)}."
        )


def _in_list(profile: str, logs: dict[str, str], term: Term, x: str) -> tuple[str, str | None]:
    """The normaliser of a function, which is added to the logs; it excludes NaN from minimum and maximum."""
    if term.fill is not None:
        raise DataError(
            f"the model replaces a missing {brief(term.name)} with {term.fill!r} and excludes it from the minimum and "
            "maximum of its query, but Vespa's normalize_linear cannot exclude it. Export to sql or python, or train "
            f"with {option('missing', ERROR)} or {option('transform', LOG)}."
        )
    log = f"{profile}_log_{len(logs) + 1}"
    logs[log] = VESPA.given(x, VESPA.log(x, True), None)
    return f"normalize_linear({log})", None


ENGINE = Engine("vespa", "Vespa", vespa, sees_lists=True)
