"""ranx: the arguments of `ranx.fuse`."""

from __future__ import annotations

from sparserank.data.fusion.norms import MINMAX
from sparserank.export.fusion.engine import FusionEngine, as_json
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula


def write(formula: FusionFormula, name: str) -> Files:
    """`fuse(runs=[...], **arguments)`, with the runs in the order of `retrievers`, each cut at the depth."""
    arguments = {
        "norm": "min-max",
        "method": "wsum",
        "params": {"weights": [term.weight for term in formula.terms]},
    }
    content = {"retrievers": list(formula.retrievers), "depth": formula.depth, "arguments": arguments}
    return {"ranx.json": as_json(content)}


ENGINE = FusionEngine("ranx", "ranx", write, norms=(MINMAX,))
