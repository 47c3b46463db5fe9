"""Progress of long work: how much is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence

Progress = Callable[[int, int, str, float | None], None]  # pieces done, in all, the last one, seconds left or None


class TimeLeft:
    """Seconds until all pieces are done, from the durations of finished pieces of the same kind.

    Kinds differ in duration by orders of magnitude. The mean over all finished pieces is therefore used only for kinds
    without a finished piece.
    """

    def __init__(self, kinds: Sequence[str], n_workers: int, alone: Collection[str] = ()) -> None:
        """alone: kinds whose pieces each use all workers."""
        self._unfinished = Counter(kinds)
        self._n_workers, self._alone = n_workers, frozenset(alone)
        self._took: dict[str, tuple[int, float]] = {}  # of each kind, finished pieces and their seconds together

    def finished(self, kind: str, seconds: float) -> None:
        """Record that a piece of this kind took so long."""
        n, total = self._took.get(kind, (0, 0.0))
        self._took[kind] = n + 1, total + seconds
        self.skip(kind)

    def skip(self, kind: str, n: int = 1) -> None:
        """Record that so many pieces of this kind need no time."""
        self._unfinished[kind] = max(self._unfinished[kind] - n, 0)

    def drop(self, kind: str) -> None:
        """Record that no piece of this kind is left."""
        self._unfinished[kind] = 0

    def seconds(self) -> float | None:
        if not self._took:
            return None
        means = {kind: total / n for kind, (n, total) in self._took.items()}
        overall = sum(means.values()) / len(means)
        expected = [(kind, n, means.get(kind, overall)) for kind, n in self._unfinished.items() if n]
        shared = [(n, each) for kind, n, each in expected if kind not in self._alone]
        own = sum(n * each for kind, n, each in expected if kind in self._alone)
        longest = max((each for _, each in shared), default=0.0)
        return own + max(sum(n * each for n, each in shared) / self._n_workers, longest)


class LaterWork:
    """Seconds of work that follows the pieces, estimated as the time of `worth` pieces."""

    def __init__(self, worth: float) -> None:
        self._worth, self._began, self._first = worth, 0.0, 0

    def seconds(self, done: int, left: float | None, now: float | None = None) -> float | None:
        """Seconds for `left` and the following work, after `done` pieces;
        None if nothing is known yet (left is None)."""
        now = time.perf_counter() if now is None else now
        if left is None or self._began == 0.0:  # the first piece comes after starting and compiling, and tells nothing
            self._began, self._first = (0.0 if left is None else now), done
            return left
        return left + (self._worth * (now - self._began) / (done - self._first) if done > self._first else 0.0)
