"""Pieces of work done one after another in a pool, with what is done and how long the rest will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sparserank.runs.pool import Outcome, run_pieces

Progress = Callable[[int, int, str, float | None], None]  # pieces done, in all, the last one, seconds left or None


@dataclass(frozen=True)
class Piece:
    """Arguments of the task, what people call the piece, and what pieces of about its duration have in common."""

    arguments: tuple[Any, ...]
    label: str
    kind: str


def work_through(
    task: Callable[..., Any],
    pieces: Sequence[Piece],
    *,
    n_workers: int,
    processes: bool,
    progress: Progress | None = None,
    n_resumed: int = 0,
) -> Generator[tuple[Piece, Outcome], None, None]:
    """Every piece with its outcome, as they finish; close it (contextlib.closing) to end what is still running.

    n_resumed pieces are done already.
    """
    report = progress or (lambda done, total, what, left: None)
    total = n_resumed + len(pieces)
    report(n_resumed, total, "resumed" if n_resumed else "start", None)
    left = TimeLeft([p.kind for p in pieces], min(n_workers, max(len(pieces), 1)))
    with closing(run_pieces(task, [p.arguments for p in pieces], n_workers, processes=processes)) as outcomes:
        for done, outcome in enumerate(outcomes, start=n_resumed + 1):
            yield pieces[outcome.index], outcome
            piece = pieces[outcome.index]
            left.finished(piece.kind, outcome.seconds)
            report(done, total, piece.label, left.seconds())


class TimeLeft:
    """Seconds until all pieces are done, from the durations of finished pieces of the same kind.

    Kinds differ in duration by orders of magnitude, so the mean over all finished pieces stands in only for kinds of
    which none is finished.
    """

    def __init__(self, kinds: Sequence[str], n_workers: int) -> None:
        self._unfinished = Counter(kinds)
        self._n_workers = n_workers
        self._durations: dict[str, list[float]] = {}

    def finished(self, kind: str, seconds: float) -> None:
        """A piece of this kind took so long."""
        self._durations.setdefault(kind, []).append(seconds)
        self.skip(kind)

    def skip(self, kind: str, n: int = 1) -> None:
        """So many pieces of this kind need no time."""
        self._unfinished[kind] = max(self._unfinished[kind] - n, 0)

    def drop(self, kind: str) -> None:
        """No piece of this kind is left."""
        self._unfinished[kind] = 0

    def seconds(self) -> float | None:
        if not self._durations:
            return None
        means = {kind: sum(d) / len(d) for kind, d in self._durations.items()}
        overall = sum(means.values()) / len(means)
        expected = [means.get(kind, overall) for kind in self._unfinished.elements()]
        return max(sum(expected) / self._n_workers, max(expected, default=0.0))


class LaterWork:
    """Seconds of work that follows the pieces, worth so many of them, from the time that each piece takes."""

    def __init__(self, worth: float) -> None:
        self._worth, self._began, self._first = worth, 0.0, 0

    def seconds(self, done: int, left: float | None, now: float | None = None) -> float | None:
        """`left` and the work that follows, `done` pieces being done;
        None where nothing is known yet (left is None)."""
        now = time.perf_counter() if now is None else now
        if left is None or self._began == 0.0:  # the first piece comes after starting and compiling, and tells nothing
            self._began, self._first = (0.0 if left is None else now), done
            return left
        return left + (self._worth * (now - self._began) / (done - self._first) if done > self._first else 0.0)
