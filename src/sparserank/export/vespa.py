"""Vespa: rank profiles. A model runs in the second phase; a fusion formula fuses ranks in the global phase.

The normalisers of a global phase see all hits that it reranks, not the list of one retriever. The documents that a
retriever returned have the same ranks in both, because all other documents rank below them. Their minimum score
differs, so norms of scores cannot be exported.
"""

from __future__ import annotations

import math
import re

from sparserank.data.fusion.norms import LOGRANK, RETURNED, RRF
from sparserank.errors import DataError, ParameterError
from sparserank.export.engine import Engine, Files, NeedsDefinitions, Options
from sparserank.export.expression import IDENTIFIER, Dialect, expression
from sparserank.export.fusion_engine import FusionEngine
from sparserank.export.terms import Sum
from sparserank.model.fusion import FusionFormula
from sparserank.options import option
from sparserank.text import brief

PROFILE = """# All hits of the retrievers must reach the global phase, and an operator often matches more than its
# targetHits: set rerank-count to at least the number of hits that a query matches.
rank-profile {name} inherits default {{
{declared}
    match-features {{
{features}
    }}
    first-phase {{
        expression: {first}
    }}
    global-phase {{
        rerank-count: {reached}
        expression {{
            {score}
        }}
    }}
}}
"""
WHOLE = re.compile(r"0|-?[1-9]\d{0,14}")
FUNCTION = """    function {function}() {{
        # score of {retriever}: above 0 for documents that it returns, 0 or less for all others
        expression: REPLACE_{function}
    }}"""


class _Vespa(Dialect):
    engine = "Vespa"
    if_else = "if ({0}, {1}, {2})"
    size = "fabs"
    has_texts = True

    def variable(self, name: str) -> str:
        raise NeedsDefinitions(
            f"Vespa needs a definition of {brief(name)}. Define every selected feature in "
            f"{option('features')}: "
            '{"feature name": "bm25(title)", "another": "attribute(price)", ...}.'
        )

    def equals(self, x: str, text: str) -> str:
        """The condition that an attribute has this level. A level that is a whole number may be in a numeric attribute,
        too; the number of a text is its hash."""
        if not text.isprintable() or not {'"', "\\", "{", "}"}.isdisjoint(text):
            raise DataError(
                f"the level {brief(text)} cannot be written in a Vespa expression. Define its feature, 0 or 1, in "
                f"{option('features')}."
            )
        of_text = f'{x} == "{text}"'
        return f"{of_text} || {x} == {text}" if WHOLE.fullmatch(text) else of_text


def vespa(of: Sum, options: Options) -> Files:
    """Write NAME.profile, a rank profile whose second phase is the model; `features` defines each selected feature in
    Vespa.
    """
    name = options.name
    require_profile_name(name)
    body = expression(of, _Vespa(), options).strip()
    inner = "\n".join(f"            {line}" for line in body.splitlines())
    text = (
        f"rank-profile {name} inherits default {{\n    second-phase {{\n        expression {{\n{inner}\n"
        "        }\n    }\n}\n"
    )
    return {f"{name}.profile": text}


def require_profile_name(name: str) -> None:
    """Raise ParameterError for a name that a rank profile cannot have."""
    if not IDENTIFIER.fullmatch(name) or name in ("default", "unranked"):
        raise ParameterError(
            "name",
            "must consist of letters, digits and _, and must not be default or unranked, which are built into Vespa; "
            f"got {brief(name)}.",
        )


ENGINE = Engine("vespa", "Vespa", vespa, steps=True, defined=True)


def vespa_fusion(formula: FusionFormula, name: str) -> Files:
    """Write NAME.profile, with a placeholder function for each retriever."""
    require_profile_name(name)
    terms = {f"retriever_{i}": term for i, term in enumerate(formula.terms, 1)}
    declared = (FUNCTION.format(function=f, retriever=brief(term.retriever)) for f, term in terms.items())
    profile = PROFILE.format(
        name=name,
        declared="\n".join(declared),
        features="\n".join(f"        {function}" for function in terms),
        first=" + ".join(terms),
        reached=formula.depth * len(terms),
        score="\n            + ".join(_term(formula, term.weight, function) for function, term in terms.items()),
    )
    return {f"{name}.profile": profile}


def _term(formula: FusionFormula, weight: float, function: str) -> str:
    """The text of weight * norm for the documents that a retriever returned up to the depth."""
    k = formula.norm.k if formula.norm.name == RRF else 0
    rank = f"reciprocal_rank({function}, {k})"
    value = {RETURNED: "1", RRF: rank, LOGRANK: f"({math.log1p(formula.depth)!r} + log({rank}))"}[formula.norm.name]
    last = 1.0 / (k + formula.depth + 0.5)  # between the reciprocal ranks at the depth and just below it
    return f"{weight!r} * if ({function} > 0 && {rank} > {last!r}, {value}, 0)"


FUSION = FusionEngine("vespa", "Vespa", vespa_fusion, norms=(RRF, LOGRANK, RETURNED))
