"""A model as a Python module without dependencies."""

from __future__ import annotations

from sparserank.export.engine import Engine
from sparserank.export.expression import summed
from sparserank.export.options import Files, Options
from sparserank.export.terms import MISSING_FROM, Sum, Term
from sparserank.transforms import ASINH, LOG

HEAD = f'''
from bisect import bisect_right
from math import asinh, copysign, exp, inf, log, log1p


def _log(x):
    return copysign(log1p(abs(x)), x)


def _asinh(x, c):
    """asinh(x / c), which is log(2 x / c) where x / c is too large for a number."""
    if abs(x / c) < inf:
        return asinh(x / c)
    return copysign(log(abs(x)) - log(c) + log(2.0), x)


def _sigmoid(x):
    return 1.0 / (1.0 + exp(-x)) if x >= 0.0 else exp(x) / (1.0 + exp(x))


def _is_known(x):
    return x is not None and abs(x) < {MISSING_FROM}


def _known(x, fill):
    return x if _is_known(x) else fill


def _given(row, name):
    if not _is_known(row[name]):
        raise ValueError(f"{{name!r}} is {{row[name]!r}}: a missing value, and the model has no fill value for it")
    return row[name]


def _curve(x, knots, values):
    """Straight between knots, flat outside."""
    if x <= knots[0]:
        return values[0]
    if x >= knots[-1]:
        return values[-1]
    i = bisect_right(knots, x)
    return values[i - 1] + (values[i] - values[i - 1]) * ((x - knots[i - 1]) / (knots[i] - knots[i - 1]))

'''


def python(of: Sum, options: Options) -> Files:
    """Write model.py with score(row); row maps feature names to numbers, absent ones are missing. score raises KeyError
    or ValueError for a missing value that the model refuses."""
    from sparserank import __version__  # of which options are no part: they read the table of engines

    options.refuse(
        "the scaling is folded into the Python code, which uses the feature names", "normalizers", "features"
    )
    inner = summed([repr(of.intercept + options.offset), *map(_line, of.terms)], "\n        ")
    names = "".join(f"    {t.name!r},\n" for t in of.terms)
    result = "_sigmoid(total)" if options.sigmoid else "total"
    text = (
        f'"""A ranking model, written by sparserank {__version__}. score(row) needs only Python."""\n'
        f"{HEAD}\nFEATURES = (\n{names})\n\n\ndef score(row):\n"
        '    """The score of a document; row: a mapping from the FEATURES to numbers."""\n    total = (\n        '
        f"{inner}\n    )\n    return {result}\n"
    )
    return {"model.py": text}


def _line(term: Term) -> str:
    x = f"_given(row, {term.name!r})" if term.fill is None else f"_known(row.get({term.name!r}), {term.fill!r})"
    t = f"_log({x})" if term.kind == LOG else f"_asinh({x}, {term.constant!r})" if term.kind == ASINH else x
    if term.curve is None:
        return f"{term.slope!r} * {t}"
    return f"_curve({t}, {term.curve.knots.tolist()!r}, {term.curve.values.tolist()!r})"


ENGINE = Engine("python", "Python", python)
