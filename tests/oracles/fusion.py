"""What retrievers returned, the slow way: one list at a time, one document at a time, in plain Python."""

import math


def ordered(entries: list[tuple[str, float, float]]) -> list[tuple[str, float]]:
    """(document, score) of one list, best first, of (document, rank, score): by score, then rank, then document."""
    return [(d, s) for d, _, s in sorted(entries, key=lambda e: (-e[2], e[1], e[0]))]


def min_max(scores: list[float]) -> list[float]:
    low, high = min(scores), max(scores)
    return [1.0 if high == low else (s - low) / (high - low) for s in scores]


def l2(scores: list[float]) -> list[float]:
    norm = math.sqrt(sum(s * s for s in scores))
    return [0.0 if norm == 0 else s / norm for s in scores]


def z_score(scores: list[float]) -> list[float]:
    """Standard scores, whose least one is what a document that was not returned has."""
    n, mean = len(scores), sum(scores) / len(scores)
    sd = math.sqrt(sum((s - mean) ** 2 for s in scores) / n)
    return [0.0 if sd == 0 else (s - mean) / sd for s in scores]


def reciprocal_rank(scores: list[float], k: int) -> list[float]:
    return [1.0 / (k + rank) for rank in range(1, len(scores) + 1)]


def log_rank(scores: list[float], depth: int) -> list[float]:
    return [math.log(1 + depth) - math.log(rank) for rank in range(1, len(scores) + 1)]


def fused(runs: list[dict[str, float]], weights: list[float]) -> list[str]:
    """Documents of a query by the weighted sum of their values in each run, 0 where a run did not return them."""
    documents = sorted({d for run in runs for d in run})
    total = {d: sum(w * run.get(d, 0.0) for run, w in zip(runs, weights, strict=True)) for d in documents}
    return sorted(documents, key=lambda d: -total[d])
