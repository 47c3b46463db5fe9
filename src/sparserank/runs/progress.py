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
        self._durations: dict[str, list[float]] = {}

    def finished(self, kind: str, seconds: float) -> None:
        """Record that a piece of this kind took so long."""
        self._durations.setdefault(kind, []).append(seconds)
        self.skip(kind)

    def skip(self, kind: str, n: int = 1) -> None:
        """Record that so many pieces of this kind need no time."""
        self._unfinished[kind] = max(self._unfinished[kind] - n, 0)

    def drop(self, kind: str) -> None:
        """Record that no piece of this kind is left."""
        self._unfinished[kind] = 0

    def seconds(self) -> float | None:
        if not self._durations:
            return None
        means = {kind: sum(d) / len(d) for kind, d in self._durations.items()}
        overall = sum(means.values()) / len(means)
        expected = [(kind in self._alone, means.get(kind, overall)) for kind in self._unfinished.elements()]
        shared = [seconds for alone, seconds in expected if not alone]
        own = sum(seconds for alone, seconds in expected if alone)
        return own + max(sum(shared) / self._n_workers, max(shared, default=0.0))


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
