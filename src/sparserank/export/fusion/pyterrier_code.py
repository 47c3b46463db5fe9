"""A formula as a PyTerrier expression, in a Python module that needs only PyTerrier."""

from __future__ import annotations

from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.fusion.python_code import IMPORTS, NORMS, norm_and_depth
from sparserank.export.options import Files
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


def write(formula: FusionFormula, name: str) -> Files:
    """pipeline.py, a module with pipeline(retrievers)."""
    from sparserank import __version__

    terms = "\n        + ".join(f"{t.weight!r} * (retrievers[{t.retriever!r}] % DEPTH >> norm)" for t in formula.terms)
    text = (
        f'"""Fuses retrievers in PyTerrier; written by sparserank {__version__}."""\n\n'
        f"{IMPORTS}\nimport pyterrier as pt\n{NORMS}\n{norm_and_depth(formula)}\n"
    )
    return {"pipeline.py": text + PIPELINE.replace("TERMS", terms)}


ENGINE = FusionEngine("pyterrier", "PyTerrier", write)
