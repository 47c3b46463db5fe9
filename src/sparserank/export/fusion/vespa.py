"""Vespa: a rank profile whose global phase fuses ranks.

The normalisers of a global phase see all hits that it reranks, and not the list of one retriever. The ranks of the
documents that a retriever returned are the same in both, because all other documents rank below them; their minimum
is not, so norms of scores cannot be exported.
"""

from __future__ import annotations

import math

from sparserank.data.fusion.norms import LOGRANK, RETURNED, RRF
from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.options import Files
from sparserank.export.vespa import require_profile_name
from sparserank.model.fusion import FusionFormula
from sparserank.quoting import brief

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
FUNCTION = """    function {function}() {{
        # score of {retriever}: above 0 for documents that it returns, 0 or less for all others
        expression: REPLACE_{function}
    }}"""


def write(formula: FusionFormula, name: str) -> Files:
    """NAME.profile, with a function to be replaced for each retriever."""
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
    """weight * norm of what a retriever returned up to the depth."""
    k = formula.norm.k if formula.norm.name == RRF else 0
    rank = f"reciprocal_rank({function}, {k})"
    value = {RETURNED: "1", RRF: rank, LOGRANK: f"({math.log1p(formula.depth)!r} + log({rank}))"}[formula.norm.name]
    last = 1.0 / (k + formula.depth + 0.5)  # between the reciprocal ranks of the depth and of the next document
    return f"{weight!r} * if ({function} > 0 && {rank} > {last!r}, {value}, 0)"


ENGINE = FusionEngine("vespa", "Vespa", write, norms=(RRF, LOGRANK, RETURNED))
