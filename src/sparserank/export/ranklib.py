"""RankLib's text format of a linear model."""

from __future__ import annotations

from sparserank.export.engine import Engine, Files, Options
from sparserank.export.terms import Sum
from sparserank.transforms import NONE

# RankLib reserves feature 0.
FROM_0 = "Numbers are one more than in the training file, which begins at 0: RankLib numbers features from 1."


def ranklib(of: Sum, options: Options) -> Files:
    """Write model.txt, with features numbered from 1: as in the training data, or one more if these begin at 0."""
    options.refuse(
        "RankLib's text format has no link function, no normalisers and no definitions",
        "sigmoid",
        "normalizers",
        "features",
    )
    weights = " ".join(f"{t.index + 1}:{t.slope!r}" for t in of.terms)
    comment = "" if of.index_base == 1 else f"## {FROM_0}\n"
    if options.offset:
        head = f"## Linear Regression\n## Lambda = 1.0E-10\n{comment}0:{float(options.offset)!r} "
        return {"model.txt": f"{head}{weights}\n"}
    return {"model.txt": f"## Coordinate Ascent\n{comment}{weights}\n"}


ENGINE = Engine("ranklib", "RankLib's text", ranklib, transforms=(NONE,), takes_zero=True)
