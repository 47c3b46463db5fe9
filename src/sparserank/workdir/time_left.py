"""The time that is left of work in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence


class TimeLeft:
    """Seconds until all pieces, and the work after them, are done, from the durations of finished pieces.

    Kinds differ in duration by orders of magnitude. For kinds without a finished piece, the time of the others is
    scaled by `efforts`.

    efforts   {kind: expected time of a piece, in any unit}; by default, all take equally long
    later     effort of the work that follows the pieces, in the same unit
    """

    def __init__(
        self, kinds: Sequence[str], n_workers: int, efforts: Mapping[str, float] | None = None, later: float = 0.0
    ) -> None:
        self._unfinished, self._n_workers, self._later = Counter(kinds), n_workers, later
        self._efforts = dict.fromkeys(kinds, 1.0) | dict(efforts or {})
        self._finished: dict[str, tuple[int, float]] = {}  # {kind: (number of finished pieces, their total seconds)}

    def finished(self, kind: str, seconds: float) -> None:
        """Record that a piece of this kind took so many seconds."""
        n, total = self._finished.get(kind, (0, 0.0))
        self._finished[kind] = n + 1, total + seconds
        self.skip(kind)

    def skip(self, kind: str) -> None:
        """Record that a piece of this kind needs no time."""
        self._unfinished[kind] = max(self._unfinished[kind] - 1, 0)

    def drop(self, kind: str) -> None:
        """Record that no piece of this kind is left."""
        self._unfinished[kind] = 0

    def seconds(self) -> float | None:
        """The estimate; None if no piece is finished yet."""
        if not self._finished:
            return None
        effort = sum(n * self._efforts[kind] for kind, (n, _) in self._finished.items())
        unit = sum(total for _, total in self._finished.values()) / effort
        # Seconds of a piece of each kind.
        known = {kind: total / n for kind, (n, total) in self._finished.items()}
        seconds_of = {kind: known.get(kind, self._efforts[kind] * unit) for kind in +self._unfinished}
        together = sum(self._unfinished[kind] * seconds for kind, seconds in seconds_of.items())
        return max(together / self._n_workers, *seconds_of.values(), 0.0) + self._later * unit / self._n_workers
