"""Refits for NDCG by explicit lists and pairs: what an exchange of two documents changes, the hinge so weighted,
coordinate steps that hold on two halves. Loops only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.oracles.metrics import Rules, ndcg, ranked


def value(scores: Sequence[float], relevance: Sequence[float], n: int | None, rules: Rules) -> float:
    """NDCG@n of one list."""
    return ndcg(ranked(scores, relevance, [""] * len(scores), rules), n, rules)


def order_of(scores: Sequence[float], relevance: Sequence[float], rules: Rules) -> list[int]:
    """Rows of one list, best first."""
    left, out = list(range(len(scores))), []
    while left:
        best = left[0]
        for i in left[1:]:
            key_i, key_best = (rules.tie_key(relevance[k], k, "") for k in (i, best))
            if scores[i] > scores[best] or (scores[i] == scores[best] and key_i < key_best):  # type: ignore[operator]
                best = i
        left.remove(best)
        out.append(best)
    return out


def exchange(scores: Sequence[float], relevance: Sequence[float], n: int | None, rules: Rules) -> np.ndarray:
    """(n_docs, n_docs) |change of NDCG@n| when two documents of one list change their places, nothing else moves."""
    order = order_of(scores, relevance, rules)
    before = ndcg([relevance[i] for i in order], n, rules)
    out = np.zeros((len(order), len(order)))
    for a in range(len(order)):
        for b in range(len(order)):
            moved = list(order)
            moved[a], moved[b] = moved[b], moved[a]
            out[order[a], order[b]] = abs(ndcg([relevance[i] for i in moved], n, rules) - before)
    return out


def hinge(X, w, relevance, query_ptr, weights, query_weight, ridge):
    """(sum of weighted squared hinges over pairs, weights of sum 1, plus the ridge, its gradient); weights: per query
    (n_docs, n_docs), the higher grade of each pair is preferred."""
    total, loss, gradient = 0.0, 0.0, np.zeros(len(w))
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        for i in rows:
            for j in rows:
                if relevance[i] > relevance[j]:
                    v = query_weight[q] * weights[q][i - rows[0], j - rows[0]]
                    h = max(0.0, 1.0 - float((X[i] - X[j]) @ w))
                    total += v
                    loss += v * h * h
                    gradient -= 2.0 * v * h * (X[i] - X[j])
    return loss / total + 0.5 * ridge * float(w @ w), gradient / total + ridge * w


def mean_of_half(scores, relevance, query_ptr, n, rules, half, which):
    found = []
    for q in range(len(query_ptr) - 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if half[q] == which:
            found.append(value(list(scores[lo:hi]), list(relevance[lo:hi]), n, rules))
    return sum(found) / len(found)


def polished(X, w, relevance, query_ptr, n, rules, half, keep=(), one_sided=(), both=True):
    """Weights (m,) of standardised columns, the largest 1, after all rounds, and where they began. `both` False is a
    wrong variant: the mean of the halves may rise although one falls."""
    m = len(w)
    spread = np.zeros(m)
    for j in range(m):
        squares = []
        for q in range(len(query_ptr) - 1):
            x = X[query_ptr[q] : query_ptr[q + 1], j]
            squares += [(v - sum(x) / len(x)) ** 2 for v in x]
        spread[j] = (sum(squares) / len(squares)) ** 0.5
    begin = w * spread
    begin = begin / max(abs(begin))
    a = begin.copy()

    def values(weights):
        scores = np.zeros(len(X))
        for j in range(m):
            scores = scores + weights[j] * (X[:, j] / spread[j])
        return [mean_of_half(scores, relevance, query_ptr, n, rules, half, h) for h in (0, 1)]

    for step in (0.3, 0.15, 0.3, 0.1, 0.05):
        for j in range(m):
            here, best, best_sum = values(a), None, -1.0
            for t in (-2, -1, 1, 2) if begin[j] > 0 else (2, 1, -1, -2):  # as a step of |weight|
                new = a[j] + t * step * max(abs(a[j]), 0.1)
                if new * a[j] < 0 or (j in one_sided and new * begin[j] < 0):
                    new = 0.0
                if new == a[j] or (new == 0.0 and j in keep):
                    continue
                trial = a.copy()
                trial[j] = new
                there = values(trial)
                rises = [t > h + 1e-9 for t, h in zip(there, here, strict=True)]
                counts = all(rises) if both else sum(there) > sum(here) + 1e-9
                if counts and sum(there) > best_sum:
                    best, best_sum = new, sum(there)
            if best is not None:
                a[j] = best
    return a, begin
