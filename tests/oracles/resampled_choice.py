"""A choice made again on every resample of the queries, judged on the queries left out: explicit loops.

Source: Tsamardinos, Greasidou and Borboudakis (2018), Machine Learning 107, algorithm 5.
"""

from collections.abc import Callable, Sequence

import numpy as np


def smallest_within(sizes: Sequence[int], margin: float) -> Callable[[list[float]], list[int]]:
    """The rule: of the candidates that lose at most a share of the best mean the smallest, of these the best."""

    def rule(means: list[float]) -> list[int]:
        best = max(means)
        taken = None
        for i, mean in enumerate(means):
            if best - mean > margin * abs(best):
                continue
            if taken is None or (sizes[i], -mean) < (sizes[taken], -means[taken]):
                taken = i
        assert taken is not None
        return [taken]

    return rule


def smallest_ties(sizes: Sequence[int]) -> Callable[[list[float]], list[int]]:
    """The rule without a margin: of the candidates with the best mean all of the smallest size."""

    def rule(means: list[float]) -> list[int]:
        best = [i for i, mean in enumerate(means) if mean == max(means)]
        return [i for i in best if sizes[i] == min(sizes[j] for j in best)]

    return rule


def left_out_means(
    values: np.ndarray, draws: np.ndarray, rule: Callable[[list[float]], list[int]]
) -> list[tuple[list[int], float]]:
    """For each draw of queries (n_draws, n) that leaves some out: what the rule takes, and its mean on those."""
    out = []
    for draw in draws:
        taken = rule([float(np.mean([row[q] for q in draw])) for row in values])
        left = [q for q in range(values.shape[1]) if q not in set(draw.tolist())]
        if left:
            out.append((taken, float(np.mean([values[i, q] for q in left for i in taken]))))
    return out


def corrected_mean(values: np.ndarray, draws: np.ndarray, rule: Callable[[list[float]], list[int]]) -> float:
    """The mean of what the rule takes from all queries, less on average what its picks from draws are worth less than
    that, on the queries left out; if they are worth more, the mean itself."""
    chosen = rule([float(row.mean()) for row in values])
    picked = left_out_means(values, draws, rule)
    fixed = left_out_means(values, draws, lambda means: chosen)
    best = float(np.mean([values[i].mean() for i in chosen]))
    return best - max(float(np.mean([b - a for (_, a), (_, b) in zip(picked, fixed, strict=True)])), 0.0)
