"""Fused retrievers in ranx (arguments of `ranx.fuse`), Qdrant (a query) and PyTerrier (a module with an expression).

The RRF of Qdrant is the sum over prefetches of 1 / (rank / weight + k - 1), so a weight also changes how fast the value
falls with the rank. With k = 1 it is the sum of weight / rank. This is the only constant for which the weights are
those of a weighted sum.
"""

from __future__ import annotations

from typing import Any

from sparserank.data.fusion.norms import MINMAX, RRF
from sparserank.export.engine import Files
from sparserank.export.fusion_engine import FusionEngine, as_json, equal_weights, query_placeholder
from sparserank.export.python_code import IMPORTS, NORMS, norm_and_depth
from sparserank.model.fusion import FusionFormula

PIPELINE = '''
def normalised(results):
    """The results of one query, with normalised scores."""
    results = results.sort_values("rank")
    values = NORM(results["score"].tolist()) if len(results) else []
    return results.assign(score=[value if value > 0 else LEAST for value in values])


def pipeline(retrievers):
    """The fused retrievers as a step; retrievers: {name: step}."""
    norm = pt.apply.by_query(normalised, add_ranks=False)
    return (
        TERMS
    )
'''


def ranx(formula: FusionFormula, name: str) -> Files:
    """The arguments of `ranx.fuse(runs=[...], **arguments)`. The runs must be in the order of `retrievers`, each cut at
    the depth."""
    arguments = {
        "norm": "min-max",
        "method": "wsum",
        "params": {"weights": formula.weights},
    }
    content = {"retrievers": list(formula.retrievers), "depth": formula.depth, "arguments": arguments}
    return {"ranx.json": as_json(content)}


RANX = FusionEngine("ranx", "ranx", ranx, norms=(MINMAX,))


def qdrant(formula: FusionFormula, name: str) -> Files:
    """query.json for `POST /collections/NAME/points/query`, with a placeholder for the query of each retriever."""
    prefetch = [{"query": query_placeholder(term), "limit": formula.depth} for term in formula.terms]
    rrf: dict[str, Any] = {"k": formula.norm.k + 1}
    if not equal_weights(formula):
        rrf["weights"] = formula.weights
    body = {"prefetch": prefetch, "query": {"rrf": rrf}, "limit": formula.depth}
    return {"query.json": as_json(body)}


QDRANT = FusionEngine("qdrant", "Qdrant", qdrant, norms=(RRF,), rrf_k=(0, 0), positive=True, single=True)


def pyterrier(formula: FusionFormula, name: str) -> Files:
    """pipeline.py, a module with pipeline(retrievers)."""
    from sparserank import __version__

    terms = "\n        + ".join(f"{t.weight!r} * (retrievers[{t.retriever!r}] % DEPTH >> norm)" for t in formula.terms)
    text = (
        f'"""Fuses retrievers in PyTerrier; written by sparserank {__version__}."""\n\n'
        f"{IMPORTS}\nimport pyterrier as pt\n{NORMS}\n{norm_and_depth(formula)}\n"
    )
    return {"pipeline.py": text + PIPELINE.replace("TERMS", terms)}


PYTERRIER = FusionEngine("pyterrier", "PyTerrier", pyterrier)
