"""Resumable work in named pieces. Pieces of an earlier call are reused. The others are computed, kept as they finish,
and reported with the time that is left."""

from __future__ import annotations

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

    def begin(self) -> None:
        """Report the pieces that exist already."""
        self.tell("resumed" if self.done else "start", None)

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
    """Seconds until all pieces, and the work after them, are done, from the durations of finished pieces.

    Kinds differ in duration by orders of magnitude. For kinds without a finished piece, the time of the others is
    scaled by `efforts`: {kind: expected time of a piece, in any unit}; all alike by default. later: effort of the work
    that follows the pieces, in the same unit.
    """

    def __init__(
        self, kinds: Sequence[str], n_workers: int, efforts: Mapping[str, float] | None = None, later: float = 0.0
    ) -> None:
        self._unfinished, self._n_workers, self._later = Counter(kinds), n_workers, later
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
        effort = sum(n * self._efforts[kind] for kind, (n, _) in self._took.items())
        unit = sum(total for _, total in self._took.values()) / effort
        # Seconds of a piece of each kind.
        known = {kind: total / n for kind, (n, total) in self._took.items()}
        each = {kind: known.get(kind, self._efforts[kind] * unit) for kind in +self._unfinished}
        together = sum(self._unfinished[kind] * seconds for kind, seconds in each.items())
        return max(together / self._n_workers, *each.values(), 0.0) + self._later * unit / self._n_workers
