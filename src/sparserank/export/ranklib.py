"""RankLib's text format of a linear model."""

from __future__ import annotations

from sparserank.export.engine import Engine
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum
from sparserank.transforms import NONE


def ranklib(of: Sum, options: Options) -> Files:
    """Write model.txt, with features numbered from 1 as in the training data."""
    options.refuse(
        "RankLib's text format has no link function, no normalisers and no definitions",
        "sigmoid",
        "normalizers",
        "features",
    )
    weights = " ".join(f"{t.index + 1}:{t.slope!r}" for t in of.terms)
    if options.offset:
        return {"model.txt": f"## Linear Regression\n## Lambda = 1.0E-10\n0:{float(options.offset)!r} {weights}\n"}
    return {"model.txt": f"## Coordinate Ascent\n{weights}\n"}


ENGINE = Engine("ranklib", "RankLib's text", ranklib, transforms=(NONE,), curves=False, takes_zero=True)
