"""RankLib's text of a linear model."""

from __future__ import annotations

from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, linear_only, zero_only


def ranklib(of: Sum, options: Options) -> Files:
    """model.txt, features numbered from 1 as in the training data."""
    linear_only(of, "RankLib's text")
    zero_only(of, "RankLib", filled=options.filled)
    options.refuse("RankLib's text has no link and no normalisers", "sigmoid", "normalizers", "features")
    weights = " ".join(f"{t.index + 1}:{t.slope!r}" for t in of.terms)
    if options.offset:
        return {"model.txt": f"## Linear Regression\n## Lambda = 1.0E-10\n0:{float(options.offset)!r} {weights}\n"}
    return {"model.txt": f"## Coordinate Ascent\n{weights}\n"}
