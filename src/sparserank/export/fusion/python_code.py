"""A formula as a Python module without dependencies."""

from __future__ import annotations

from sparserank.data.fusion.norms import LEAST, RRF
from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula

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


def write(formula: FusionFormula, name: str) -> Files:
    """fuse.py, a module with fuse(lists)."""
    from sparserank import __version__

    weights = "".join(f"    {t.retriever!r}: {t.weight!r},\n" for t in formula.terms)
    longest = f"LONGEST = {formula.longest}  # of the fused list; None: no limit\n"
    text = (
        f'"""Fuses retrievers; written by sparserank {__version__}. fuse(lists) needs only Python."""\n\n'
        f"{IMPORTS}{NORMS}\n{norm_and_depth(formula)}{longest}WEIGHTS = {{\n{weights}}}\n\n{FUSE}"
    )
    return {"fuse.py": text}


def norm_and_depth(formula: FusionFormula) -> str:
    """The constants DEPTH and NORM, one of the functions of NORMS."""
    norm = f"partial(rrf, k={formula.norm.k})" if formula.norm.name == RRF else formula.norm.name
    return f"DEPTH = {formula.depth}  # of the lists; later documents are not used\nNORM = {norm}\n"


ENGINE = FusionEngine("python", "Python", write)
