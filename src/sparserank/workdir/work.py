"""Resumable work in named pieces. Pieces of an earlier call are reused. The others are computed, kept as they finish,
and reported with the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, Generic, Protocol, TypeVar

from sparserank.workdir.pieces import NOWHERE
from sparserank.workdir.processes import run_pieces
from sparserank.workdir.time_left import TimeLeft

T = TypeVar("T")
Progress = Callable[[int, int, str, float | None], None]  # pieces done, in all, the last one, seconds left or None


def quiet(*_: object) -> None:
    """Report no progress."""


class Keeper(Protocol[T]):
    """Storage for results of pieces."""

    def load(self, name: str, /) -> T | None:
        """The result of a finished piece; None if it has to be computed."""

    def save(self, name: str, result: T, /) -> None: ...


class Work(Generic[T]):
    """Pieces by name. `done` names the finished pieces, and `results` contains them.

    Parameters
        kinds      {name: kind}, where pieces of one kind take about equally long
        keeper     storage of the results; NOWHERE keeps none
        n_workers  pieces of `run` that are computed at a time
        in_memory  False: results are in the keeper only
        progress   called with (pieces done, pieces in all, the last one, seconds left or None)
    """

    def __init__(
        self,
        kinds: Mapping[str, str],
        *,
        keeper: Keeper[T] = NOWHERE,  # type: ignore[assignment]
        n_workers: int = 1,
        in_memory: bool = True,
        progress: Progress = quiet,
    ) -> None:
        self._kinds, self._keeper, self._n_workers, self._in_memory = dict(kinds), keeper, n_workers, in_memory
        self._progress = progress
        self.done: set[str] = set()
        self.results: dict[str, T] = {}
        for name in self._kinds:
            if (result := keeper.load(name)) is not None:
                self._note(name, result)
        self._n_failed = 0
        self._left = TimeLeft([kind for n, kind in self._kinds.items() if n not in self.done], n_workers)

    def begin(self) -> None:
        """Report the pieces that exist already."""
        self.tell("resumed" if self.done else "start", None)

    def tell(self, label: str, left: float | None) -> None:
        """Report progress."""
        self._progress(len(self.done) + self._n_failed, len(self._kinds), label, left)

    def keep(self, name: str, result: T) -> None:
        """Keep the result of a finished piece."""
        self._note(name, result)
        self._keeper.save(name, result)

    def finish(self, name: str, label: str, result: T, seconds: float) -> None:
        """Keep the result of a piece that took so many seconds, and report it."""
        self.keep(name, result)
        self._left.finished(self._kinds[name], seconds)
        self.tell(label, self._left.seconds())

    def _note(self, name: str, result: T) -> None:
        self.done.add(name)
        if self._in_memory:
            self.results[name] = result

    def run(
        self,
        task: Any,
        arguments: Mapping[str, tuple[Any, ...]],
        labels: Mapping[str, str],
        *,
        processes: bool = True,
        failed: Callable[[str, Exception], None] | None = None,
    ) -> None:
        """Run `task(*arguments[name])` for each of these pieces that is not done, n_workers at a time.

        failed   called with a piece and its error; by default the error is raised, and ends the others
        """
        waiting = [name for name in arguments if name not in self.done]
        waiting_arguments = [arguments[name] for name in waiting]
        with closing(run_pieces(task, waiting_arguments, self._n_workers, processes=processes)) as outcomes:
            for outcome in outcomes:
                name = waiting[outcome.index]
                if outcome.error is None:
                    self.finish(name, labels[name], outcome.result, outcome.seconds)
                elif failed is None:
                    raise outcome.error
                else:
                    failed(name, outcome.error)
                    self._n_failed += 1
                    self._left.skip(self._kinds[name])
                    self.tell(labels[name], self._left.seconds())
