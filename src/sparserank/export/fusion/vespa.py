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


def write(formula: FusionFormula, name: str) -> Files:
    """NAME.profile, with a function to be replaced for each retriever."""
    require_profile_name(name)
    functions = [f"retriever_{i}" for i in range(1, len(formula.terms) + 1)]
    k = formula.norm.k if formula.norm.name == RRF else 0
    terms = [_term(formula, t.weight, function, k) for t, function in zip(formula.terms, functions, strict=True)]
    declared = "".join(
        f"    function {function}() {{\n"
        f"        # score of {brief(t.retriever)}: above 0 for documents that it returns, 0 or less for all others\n"
        f"        expression: REPLACE_{function}\n    }}\n"
        for t, function in zip(formula.terms, functions, strict=True)
    )
    reached = formula.depth * len(functions)
    text = (
        f"# All hits of the retrievers must reach the global phase, and an operator often matches more than its\n"
        f"# targetHits: set rerank-count to at least the number of hits that a query matches.\n"
        f"rank-profile {name} inherits default {{\n{declared}"
        f"    match-features {{\n{''.join(f'        {function}{chr(10)}' for function in functions)}    }}\n"
        f"    first-phase {{\n        expression: {' + '.join(functions)}\n    }}\n"
        f"    global-phase {{\n        rerank-count: {reached}\n        expression {{\n            "
        + "\n            + ".join(terms)
        + "\n        }\n    }\n}\n"
    )
    return {f"{name}.profile": text}


def _term(formula: FusionFormula, weight: float, function: str, k: int) -> str:
    """weight * norm of what a retriever returned up to the depth."""
    rank = f"reciprocal_rank({function}, {k})"
    value = {RETURNED: "1", RRF: rank, LOGRANK: f"({math.log1p(formula.depth)!r} + log({rank}))"}[formula.norm.name]
    last = 1.0 / (k + formula.depth + 0.5)  # between the reciprocal ranks of the depth and of the next document
    return f"{weight!r} * if ({function} > 0 && {rank} > {last!r}, {value}, 0)"


ENGINE = FusionEngine("vespa", "Vespa", write, norms=(RRF, LOGRANK, RETURNED))
