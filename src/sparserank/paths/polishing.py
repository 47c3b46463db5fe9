"""Coordinate steps on the training metric, each of which must improve both halves of the queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.paths.metric_sample import MetricSample

STEPS = (0.3, 0.15, 0.3, 0.1, 0.05)  # sizes of the steps, round after round, of weights whose largest is 1
MULTIPLES = (-2.0, -1.0, 1.0, 2.0)
SMALLEST = 0.1  # weights below move as if they were as large
RISE = 1e-9  # of the mean metric, on either half: less is rounding


@dataclass(frozen=True, eq=False)
class Blocks:
    """Units that move as a whole: a feature, the curve of a feature, a group.

    of_column  (m,) the block of each column of a sample, from 0 without gaps
    keep       (n_blocks,) bool: must not become 0
    one_sided  (n_blocks,) bool: must not change its sign
    """

    of_column: np.ndarray
    keep: np.ndarray
    one_sided: np.ndarray


def polish(sample: MetricSample, w: np.ndarray, blocks: Blocks) -> np.ndarray:
    """(n_blocks,) factors of the weights of each block, from w (m,).

    Weights refer to blocks scaled to a standard deviation of 1 within the queries of the sample, the largest being 1.
    In rounds of STEPS, each weight in turn moves by MULTIPLES of the step times its size, but not across 0. Of the
    moves that raise the metric on both halves by more than RISE, the one that raises it most is made.

    Both halves take part in every step, so the rise estimates nothing: it only prevents steps that help only some
    queries.
    """
    parts = np.array([sample.Z @ np.where(blocks.of_column == u, w, 0.0) for u in range(len(blocks.keep))])
    sizes = np.array([_spread(part, sample.query_ptr) for part in parts])
    movable = np.flatnonzero(sizes > 0)
    if len(movable) == 0:
        return np.ones(len(sizes))
    divisor = np.where(sizes > 0, sizes, 1.0)
    directions, start = parts / divisor[:, None], sizes / sizes.max()
    a, scores = start.copy(), _added(directions, start)
    here = first = sample.in_halves(scores, directions[0], np.zeros(1))[0]
    for step in STEPS:
        for u in movable.tolist():
            moves = _moves(a[u], step, bool(blocks.keep[u]), bool(blocks.one_sided[u]))
            if len(moves) == 0:
                continue
            values = sample.in_halves(scores, directions[u], moves - a[u])
            rises = np.where((values > here + RISE).all(axis=1), values.sum(axis=1), -np.inf)
            best = int(np.argmax(rises))
            if rises[best] > -np.inf:
                a[u] = moves[best]
                scores = _added(directions, a)
                here = sample.in_halves(scores, directions[u], np.zeros(1))[0]
    if (here < first).any():  # equal scores told apart by rounding
        return np.ones(len(sizes))
    return np.where(sizes > 0, a / np.where(start > 0, start, 1.0), 1.0)


def _moves(a: float, step: float, keep: bool, one_sided: bool) -> np.ndarray:
    """Possible new values of a weight: each multiple of the step once; 0 if it would cross 0."""
    moves = a + np.array(MULTIPLES) * step * max(abs(a), SMALLEST)
    moves[moves * a < 0] = 0.0
    if one_sided:
        moves = np.maximum(moves, 0.0)
    moves = np.array(list(dict.fromkeys(moves.tolist())))
    return moves[(moves != a) & ~(keep & (moves == 0))]


def _added(directions: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(n_docs,) sum over blocks in order, so that it does not depend on the number of threads."""
    scores = np.zeros(directions.shape[1])
    for part, own in zip(directions, a.tolist(), strict=True):
        scores += own * part
    return scores


def _spread(part: np.ndarray, ptr: np.ndarray) -> float:
    """Standard deviation within queries, over all their documents."""
    sizes = np.diff(ptr)
    mean = np.repeat(np.add.reduceat(part, ptr[:-1]) / sizes, sizes)
    return float(np.sqrt(((part - mean) ** 2).mean()))
