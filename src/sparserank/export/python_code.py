"""Python modules without dependencies: a model, and fused lists."""

from __future__ import annotations

from sparserank.data.fusion.norms import LEAST, RRF
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import summed
from sparserank.export.fusion_engine import FusionEngine
from sparserank.export.terms import MISSING_FROM, Sum, ends
from sparserank.model.feature import Feature
from sparserank.model.fusion import FusionFormula
from sparserank.transforms import ASINH, LOG

HEAD = f'''
from bisect import bisect_left
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

'''
TEXT = """
def _text(x):
    '''A category as text, empty where there is none.'''
    if x is None or x != x:
        return ""
    return x if isinstance(x, str) or x != int(x) else str(int(x))

"""
IMPORTS = "from functools import partial\nfrom math import frexp, ldexp, log, sqrt\n"
NORMS = f'''
LEAST = {LEAST!r}  # the value of a returned document in place of 0


def minmax(scores):
    low, high = min(scores), max(scores)
    return [1.0 if high == low else (s - low) / (high - low) for s in scores]


def scaled(scores, width):
    """Divided by a power of two near the width, so that no square is too small or too large for a number."""
    power = -frexp(width)[1]
    return [ldexp(s, power) for s in scores]


def l2(scores):
    scores = scaled(scores, max(scores))
    norm = sqrt(sum(s * s for s in scores)) or 1.0
    return [s / norm for s in scores]


def zscore(scores):
    """Standard scores, minus the least one."""
    scores = scaled(scores, max(scores) - min(scores))
    mean, low = sum(scores) / len(scores), min(scores)
    deviation = sqrt(sum((s - mean) ** 2 for s in scores) / len(scores))
    return [1.0 if low == max(scores) else (s - low) / deviation for s in scores]


def rrf(scores, k):
    return [1.0 / (k + rank) for rank in range(1, len(scores) + 1)]


def logrank(scores):
    return [log(1.0 + DEPTH) - log(rank) for rank in range(1, len(scores) + 1)]


def returned(scores):
    return [1.0] * len(scores)

'''
FUSE = '''
def fuse(lists):
    """The fused list of a query, [(document, score)], best first.

    lists: {retriever: [(document, score)]}; of equal scores, the first in the list ranks first. A retriever that
    returned nothing may be missing.
    """
    fused = {}
    for retriever, weight in WEIGHTS.items():
        entries = sorted(lists.get(retriever, ()), key=lambda entry: -entry[1])[:DEPTH]
        values = NORM([score for _, score in entries]) if entries else []
        for (document, _), value in zip(entries, values):
            fused[document] = fused.get(document, 0.0) + weight * (value if value > 0 else LEAST)
    return sorted(fused.items(), key=lambda entry: -entry[1])[:LONGEST]
'''


def python(of: Sum, options: Options) -> Files:
    """Write model.py with score(row), where row maps feature names to numbers; features that it lacks are missing.
    score raises KeyError or ValueError for a missing value that the model refuses."""
    from sparserank import __version__  # here: options import the table of engines, and must not import this

    options.refuse(
        "the scaling is folded into the Python code, which uses the feature names", "normalizers", "features"
    )
    inner = summed([repr(of.intercept + options.offset), *map(_line, of.terms)], "\n        ")
    names = "".join(f"    {name!r},\n" for name in dict.fromkeys(t.source for t in of.terms))
    texts = TEXT if any(t.derived is not None and t.derived.level is not None for t in of.terms) else ""
    result = "_sigmoid(total)" if options.sigmoid else "total"
    text = (
        f'"""A ranking model, written by sparserank {__version__}. score(row) needs only Python."""\n'
        f"{HEAD}{texts}\nFEATURES = (\n{names})\n\n\ndef score(row):\n"
        '    """The score of a document; row: a mapping from the FEATURES to numbers."""\n    total = (\n        '
        f"{inner}\n    )\n    return {result}\n"
    )
    return {"model.py": text}


def _line(term: Feature) -> str:
    if term.derived is not None:
        x = f"row.get({term.source!r})"
        level = term.derived.level
        condition = f"not _is_known({x})" if level is None else f"_text({x}) == {level!r}"
        low, high = ends(term)
        return f"({high!r} if {condition} else {low!r})"
    x = f"_given(row, {term.name!r})" if term.missing is None else f"_known(row.get({term.name!r}), {term.missing!r})"
    t = f"_log({x})" if term.kind == LOG else f"_asinh({x}, {term.constant!r})" if term.kind == ASINH else x
    steps = term.heights
    if steps is None:
        return f"{term.slope!r} * {t}"
    return f"{steps.values.tolist()!r}[bisect_left({steps.edges.tolist()!r}, {t})]"


ENGINE = Engine("python", "Python", python, steps=True)


def python_fusion(formula: FusionFormula, name: str) -> Files:
    """Write fuse.py, a module whose function fuse(lists) applies the formula."""
    from sparserank import __version__

    weights = "".join(f"    {t.retriever!r}: {t.weight!r},\n" for t in formula.terms)
    longest = f"LONGEST = {formula.longest}  # of the fused list; None: no limit\n"
    text = (
        f'"""Fuses retrievers; written by sparserank {__version__}. fuse(lists) needs only Python."""\n\n'
        f"{IMPORTS}{NORMS}\n{norm_and_depth(formula)}{longest}WEIGHTS = {{\n{weights}}}\n\n{FUSE}"
    )
    return {"fuse.py": text}


def norm_and_depth(formula: FusionFormula) -> str:
    """The Python code of the constants DEPTH and NORM; NORM is one of the functions in NORMS."""
    norm = f"partial(rrf, k={formula.norm.k})" if formula.norm.name == RRF else formula.norm.name
    return f"DEPTH = {formula.depth}  # of the lists; later documents are not used\nNORM = {norm}\n"


FUSION = FusionEngine("python", "Python", python_fusion)
