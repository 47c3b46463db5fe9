"""Resumable work in named pieces. Pieces of an earlier call are reused. The others are computed, kept as they finish,
and reported with the time that is left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, Protocol, TypeVar

from sparserank.workdir.processes import run_pieces

T = TypeVar("T")
Progress = Callable[[int, int, str, float | None], None]  # pieces done, in all, the last one, seconds left or None


class Keeper(Protocol[T]):
    """Storage for results of pieces."""

    def load(self, name: str, /) -> T | None:
        """The result of a finished piece; None if it has to be computed."""
        ...

    def save(self, name: str, result: T, /) -> None: ...


class Work(Generic[T]):
    """Pieces by name. `done` names the finished pieces, and `results` contains them.

    Parameters
        kinds      {name: kind}, where pieces of one kind take about equally long
        keeper     where results are kept and taken from, or None
        n_workers  pieces of `run` that are computed at a time
        in_memory  False: results are in the keeper only
        progress   called with (pieces done, pieces in all, the last one, seconds left or None)
    """

    def __init__(
        self,
        kinds: Mapping[str, str],
        *,
        keeper: Keeper[T] | None = None,
        n_workers: int = 1,
        in_memory: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self._kinds, self._keeper, self._n_workers, self._in_memory = dict(kinds), keeper, n_workers, in_memory
        self._progress = progress or (lambda done, n, what, left: None)
        self.done: set[str] = set()
        self.results: dict[str, T] = {}
        if keeper is not None:
            for name in self._kinds:
                if (result := keeper.load(name)) is not None:
                    self._note(name, result)
        self._n_failed = 0
        self._left = TimeLeft([kind for n, kind in self._kinds.items() if n not in self.done], n_workers)

    def begin(self, more: str = "") -> None:
        """Report the pieces that exist already; more: other work that exists."""
        self.tell(f"resumed{more}" if self.done or more else "start", None)

    def tell(self, what: str, left: float | None) -> None:
        """Report progress."""
        self._progress(len(self.done) + self._n_failed, len(self._kinds), what, left)

    def keep(self, name: str, result: T) -> None:
        """Keep the result of a finished piece."""
        self._note(name, result)
        if self._keeper is not None:
            self._keeper.save(name, result)

    def finish(self, name: str, what: str, result: T, seconds: float) -> None:
        """Keep the result of a piece that took so many seconds, and report it."""
        self.keep(name, result)
        self._left.finished(self._kinds[name], seconds)
        self.tell(what, self._left.seconds())

    def _note(self, name: str, result: T) -> None:
        self.done.add(name)
        if self._in_memory:
            self.results[name] = result

    def run(
        self,
        task: Any,
        arguments: Mapping[str, tuple[Any, ...]],
        what: Mapping[str, str],
        *,
        processes: bool = True,
        failed: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """Run `task(*arguments[name])` for each of these pieces that is not done, n_workers at a time.

        failed   called with a piece and its error; by default the error is raised, and ends the others
        """
        waiting = [name for name in arguments if name not in self.done]
        each = [arguments[name] for name in waiting]
        with closing(run_pieces(task, each, self._n_workers, processes=processes)) as outcomes:
            for outcome in outcomes:
                name = waiting[outcome.index]
                if outcome.error is None:
                    self.finish(name, what[name], outcome.result, outcome.seconds)
                elif failed is None:
                    raise outcome.error
                else:
                    failed(name, outcome.error)
                    self._n_failed += 1
                    self._left.skip(self._kinds[name])
                    self.tell(what[name], self._left.seconds())


class TimeLeft:
    """Seconds until all pieces are done, from the durations of finished pieces of the same kind.

    Kinds differ in duration by orders of magnitude. For kinds without a finished piece, the time of the others is
    scaled by `efforts`: {kind: expected time of a piece, in any unit}; all alike by default.
    """

    def __init__(self, kinds: Sequence[str], n_workers: int, efforts: Mapping[str, float] | None = None) -> None:
        self._unfinished, self._n_workers = Counter(kinds), n_workers
        self._efforts = dict.fromkeys(kinds, 1.0) | dict(efforts or {})
        self._took: dict[str, tuple[int, float]] = {}  # {kind: (number of finished pieces, their total seconds)}

    def finished(self, kind: str, seconds: float) -> None:
        """Record that a piece of this kind took so many seconds."""
        n, total = self._took.get(kind, (0, 0.0))
        self._took[kind] = n + 1, total + seconds
        self.skip(kind)

    def skip(self, kind: str, n: int = 1) -> None:
        """Record that n pieces of this kind need no time."""
        self._unfinished[kind] = max(self._unfinished[kind] - n, 0)

    def drop(self, kind: str) -> None:
        """Record that no piece of this kind is left."""
        self._unfinished[kind] = 0

    def seconds(self) -> float | None:
        """The estimate; None if no piece is finished yet."""
        if not self._took:
            return None
        means = {kind: total / n for kind, (n, total) in self._took.items()}
        unit = sum(means.values()) / sum(self._efforts[kind] for kind in means)
        expected = [(n, means.get(kind, unit * self._efforts[kind])) for kind, n in self._unfinished.items() if n]
        longest = max((each for _, each in expected), default=0.0)
        return max(sum(n * each for n, each in expected) / self._n_workers, longest)


class LaterWork:
    """Seconds of work that follows the pieces and takes as long as `worth` pieces of average duration."""

    def __init__(self, worth: float) -> None:
        self._worth, self._began, self._first = worth, 0.0, 0
        self.each = 0.0  # average seconds of a piece

    def seconds(self, done: int, n: int, left: float | None, now: float | None = None) -> float | None:
        """Seconds left for the pieces (`left`) and for the work after them, when `done` of n pieces are finished; None
        if left is None."""
        now = time.perf_counter() if now is None else now
        if left is None or self._began == 0.0:  # the time of the first piece includes startup and compiling
            self._began, self._first = (0.0 if left is None else now), done
            return left
        self.each = (now - self._began + left) / max(n - self._first, 1)
        return left + self._worth * self.each
