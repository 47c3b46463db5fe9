"""Ranking metrics of one list by explicit loops, for any gain, discount and tie rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Number = float | int


@dataclass(frozen=True)
class Rules:
    """One tool's definitions, as functions of a grade, of a rank from 1, and of a document.

    tie_key  documents of equal score are put in ascending order of tie_key(relevance, row, docid)
    """

    gain: Callable[[float], float]
    discount: Callable[[int], float]
    tie_key: Callable[[float, int, str], object]
    relevant: Callable[[float], bool]
    empty_ndcg: float = 0.0  # and of average precision
    beyond_the_list: str = (
        "full"  # NDCG@n and P@n for n > length: "full", "zero_ndcg", "zero", "length": P@n is a share of the list
    )
    at_most_the_cutoff: bool = False  # average precision at a cutoff is divided by at most that


def descending(docid: str) -> tuple[int, ...]:
    """Key that sorts strings of equal length from large to small."""
    return tuple(-ord(letter) for letter in docid)


def exponential(rel: float) -> float:
    return max(2.0**rel - 1.0, 0.0)


def linear(rel: float) -> float:
    return max(rel, 0.0)


def letor_gain(rel: float) -> float:
    return {0: 0.0, 1: 1.0, 2: 3.0, 3: 7.0, 4: 15.0}.get(rel, 0.0)


def log2_discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)


def letor_discount(rank: int) -> float:
    return 1.0 if rank <= 2 else 1.0 / math.log2(rank)


def at_least_one(rel: float) -> bool:
    return rel >= 1


def pessimistic(rel: float, row: int, docid: str) -> object:
    return rel


def file_order(rel: float, row: int, docid: str) -> object:
    return row


def largest_id_first(rel: float, row: int, docid: str) -> object:
    return descending(docid)


def letor_relevant(rel: float) -> bool:
    return 1 <= rel <= 4


RULES = {
    "default": Rules(exponential, log2_discount, pessimistic, at_least_one),
    "letor3": Rules(letor_gain, letor_discount, file_order, letor_relevant, 0.0, "zero"),
    "letor4": Rules(letor_gain, letor_discount, file_order, letor_relevant, 0.0, "zero_ndcg"),
    "trec": Rules(linear, log2_discount, largest_id_first, at_least_one),
    "xgboost": Rules(exponential, log2_discount, file_order, at_least_one, 1.0, "length", True),
    "xgboost-": Rules(exponential, log2_discount, file_order, at_least_one, 0.0, "length", True),
    "lightgbm": Rules(exponential, log2_discount, file_order, at_least_one, 1.0, "length", True),
}


def ranked(scores: Sequence[Number], relevance: Sequence[Number], docids: Sequence[str], rules: Rules) -> list[float]:
    """Relevance in ranked order, by selecting the next document over and over."""
    left = list(range(len(scores)))
    out = []
    while left:
        best = left[0]
        for i in left[1:]:
            tie = scores[i] == scores[best]
            key_i, key_best = (rules.tie_key(relevance[k], k, docids[k]) for k in (i, best))
            if scores[i] > scores[best] or (tie and key_i < key_best):  # type: ignore[operator]
                best = i
        left.remove(best)
        out.append(float(relevance[best]))
    return out


def dcg(labels: Sequence[float], n: int, rules: Rules) -> float:
    total = 0.0
    for rank, rel in enumerate(labels[:n], start=1):
        total += rules.gain(rel) * rules.discount(rank)
    return total


def ndcg(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    if n is not None and n > len(labels) and rules.beyond_the_list in ("zero", "zero_ndcg"):
        return 0.0
    n = len(labels) if n is None else n
    ideal = sorted(labels, key=rules.gain, reverse=True)
    best = dcg(ideal, n, rules)
    return dcg(labels, n, rules) / best if best > 0 else rules.empty_ndcg


def mean_ndcg(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    total = 0.0
    for cutoff in range(1, len(labels) + 1):
        total += ndcg(labels, cutoff, rules)
    return total / len(labels)


def precision(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    assert n is not None
    if n > len(labels) and rules.beyond_the_list == "zero":
        return 0.0
    hits = sum(1 for rel in labels[:n] if rules.relevant(rel))
    return hits / (min(n, len(labels)) if rules.beyond_the_list == "length" else n)


def recall(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    assert n is not None
    relevant = sum(1 for rel in labels if rules.relevant(rel))
    return sum(1 for rel in labels[:n] if rules.relevant(rel)) / relevant if relevant else 0.0


def average_precision(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    found, total = 0, 0.0
    for rank, rel in enumerate(labels, start=1):
        if rules.relevant(rel):
            found += 1
            if n is None or rank <= n:
                total += found / rank
    if not found:
        return rules.empty_ndcg
    return total / (min(found, n) if n is not None and rules.at_most_the_cutoff else found)


def reciprocal_rank(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    for rank, rel in enumerate(labels, start=1):
        if rules.relevant(rel) and (n is None or rank <= n):
            return 1.0 / rank
    return 0.0


def expected_reciprocal_rank(labels: Sequence[float], n: int | None, rules: Rules) -> float:
    """Chapelle et al. (2009), algorithm 2, grades 0..4."""
    total, still_looking = 0.0, 1.0
    for rank, rel in enumerate(labels, start=1):
        if n is not None and rank > n:
            break
        satisfied = (2.0**rel - 1.0) / 16.0
        total += still_looking * satisfied / rank
        still_looking *= 1.0 - satisfied
    return total


def pairwise_error(scores: Sequence[Number], relevance: Sequence[Number]) -> float:
    """Share of pairs (i, j), y_i > y_j, with s_i < s_j; equal scores count one half."""
    wrong, pairs = 0.0, 0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if relevance[i] > relevance[j]:
                pairs += 1
                wrong += 1.0 if scores[i] < scores[j] else 0.5 if scores[i] == scores[j] else 0.0
    return wrong / pairs if pairs else 0.0


BY_NAME: dict[str, Callable[[Sequence[float], int | None, Rules], float]] = {
    "ndcg": ndcg,
    "mean_ndcg": mean_ndcg,
    "p": precision,
    "recall": recall,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "err": expected_reciprocal_rank,
}
