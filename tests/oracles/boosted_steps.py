"""One round of boosted steps by loops over pairs, features and thresholds (docs/theory.md section 9)."""

from __future__ import annotations

import math

import numpy as np

TOP, NEAR = 20, 0.01  # ranks beyond the cut-off whose pairs count; added to differences of scores


def gradients_of_query(
    scores: np.ndarray, relevance: np.ndarray, rank: np.ndarray, cutoff: int, doc_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and curvature (n,) of the loss of one query, whose documents have these ranks from 0."""
    n = len(scores)
    g, h, total = np.zeros(n), np.zeros(n), 0.0
    gains = 2.0**relevance - 2.0 ** min(relevance.min(), 0.0)
    ideal = sum(gain / math.log2(2.0 + r) for r, gain in enumerate(sorted(gains, reverse=True)[:cutoff]))
    for i in range(n):
        for j in range(n):
            if relevance[i] <= relevance[j] or min(rank[i], rank[j]) >= cutoff + TOP:
                continue
            discounts = abs(1.0 / math.log2(2.0 + rank[i]) - 1.0 / math.log2(2.0 + rank[j]))
            weight = (gains[i] - gains[j]) * discounts / ideal * doc_weight[i] / doc_weight.mean()
            if scores.max() > scores.min():
                weight /= NEAR + abs(scores[i] - scores[j])
            p = 1.0 / (1.0 + math.exp(scores[i] - scores[j]))
            g[i] -= weight * p
            g[j] += weight * p
            h[i] += weight * p * (1.0 - p)
            h[j] += weight * p * (1.0 - p)
            total += 2.0 * weight * p
    factor = doc_weight.mean() * math.log2(1.0 + total) / total if total > 0.0 else 0.0
    return g * factor, h * factor


def best_steps(
    bins: np.ndarray,
    n_bins: int,
    g: np.ndarray,
    h: np.ndarray,
    counted: np.ndarray,
    ridge: float,
    least: int,
    most: int,
    nearly: float,
) -> list[tuple[float, int, int, float, float]]:
    """(gain, feature, last bin of the left side, left leaf, right leaf), before shrinkage, of the best step of each of
    at most `most` features whose gain is at least `nearly` of the largest, the best first. Only `counted` documents
    (n,) bool count, at least `least` on each side."""
    total = ridge * sum(h[i] for i in range(len(h)) if counted[i])
    found = []
    for j in range(bins.shape[1]):
        best = (-math.inf, j, -1, 0.0, 0.0)
        for b in range(n_bins - 1):
            left = [i for i in range(len(g)) if counted[i] and bins[i, j] <= b]
            right = [i for i in range(len(g)) if counted[i] and bins[i, j] > b]
            if min(len(left), len(right)) < least:
                continue
            (gl, hl), (gr, hr) = ((sum(g[i] for i in side), sum(h[i] for i in side)) for side in (left, right))
            gain = gl * gl / (hl + total) + gr * gr / (hr + total)
            if gain > best[0]:
                best = (gain, j, b, -gl / (hl + total), -gr / (hr + total))
        found.append(best)
    found.sort(key=lambda step: -step[0])
    return [step for step in found[:most] if step[0] >= nearly * found[0][0]]
