"""Passes over the shards of one process: started in turn, processed by all threads together, finished in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparserank.execution import BlockExecutor

if TYPE_CHECKING:
    from sparserank.shards.shard import Shard

PASS_BYTES = 32 << 20  # limit of the partial sums, orders and scores of passes in progress

Share = Callable[[int, int], None]
Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # values (m,), sums of phi'^2 / 4 (m,), gradients (m, n)


class Pass(NamedTuple):
    """A pass over a shard that has been started. `share(start, step)` works on its blocks start, start + step, ... When
    all blocks are done, `finish()` stores the orders, and returns the sums and the scores kept for each row of W."""

    share: Share
    n_blocks: int
    finish: Callable[[], tuple[Sums, list[Any]]]


def run_passes(
    shards: Sequence[Shard],
    executor: BlockExecutor,
    W: np.ndarray,
    key: str,
    ks: Sequence[int],
) -> list[Sums]:
    """The sums of each shard at W (m, n), row i under weighting ks[i]. X is read once, or several times if not all rows
    fit in PASS_BYTES.

    As many passes as fit in PASS_BYTES are given to the threads together: a hand-over takes a third of a millisecond,
    a shard with a fast loss ten. The sums of a shard do not depend on this grouping.
    """
    parts: list[list[Sums]] = [[] for _ in shards]
    begun: list[tuple[list[Sums], Pass]] = []
    n_bytes = 0  # memory of these passes

    def work_off() -> None:
        nonlocal n_bytes
        executor.share([(begun_pass.share, begun_pass.n_blocks) for _, begun_pass in begun])
        for sums, begun_pass in begun:
            sums.append(begun_pass.finish()[0])
        begun.clear()
        n_bytes = 0

    for shard, sums in zip(shards, parts, strict=True):
        of_one = max(shard.bytes_of_a_pass(key), 1)
        at_once = max(PASS_BYTES // of_one, 1)
        for i in range(0, len(ks), at_once):
            rows = slice(i, i + at_once)
            size = len(ks[rows]) * of_one
            if begun and n_bytes + size > PASS_BYTES:
                work_off()
            begun.append((sums, shard.begin(W[rows], key, ks[rows])))
            n_bytes += size
    work_off()
    return [sums[0] if len(sums) == 1 else _one_below_the_other(sums) for sums in parts]


def _one_below_the_other(parts: Sequence[Sums]) -> Sums:
    values, squares, gradients = (np.concatenate(p) for p in zip(*parts, strict=True))
    return values, squares, gradients
