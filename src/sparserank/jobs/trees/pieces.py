"""Pieces of a comparison: those that an earlier run left, those that are finished, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from sparserank.runs.pool import run_pieces
from sparserank.runs.progress import Progress, TimeLeft
from sparserank.runs.work_store import SelectionStore

Arrays = dict[
    str, np.ndarray
]  # of a piece: values "values|system|k" of its queries (k 0: none), `where` they are, and more


class Pieces:
    """Known by names "kind-..."; finished ones are kept in `store`, and taken from there.
    Those of trees run n_workers at a time."""

    def __init__(
        self, names: Sequence[str], n_workers: int, progress: Progress | None, store: SelectionStore | None
    ) -> None:
        self._names, self._n_workers = list(names), n_workers
        self._report, self._store = progress or (lambda done, n, what, left: None), store
        self._found = {n: p for n in self._names if store is not None and (p := store.load(n)) is not None}
        kinds = [n.partition("-")[0] for n in self._names if n not in self._found]
        self._left = TimeLeft(kinds, 1)
        self._report(len(self._found), len(self._names), "resumed" if self._found else "start", None)

    def known(self, name: str) -> Arrays | None:
        return self._found.get(name)

    def finished(self, name: str, what: str, piece: Arrays, seconds: float) -> None:
        self._found[name] = piece
        if self._store is not None:
            self._store.save(name, piece)
        kind = name.partition("-")[0]
        self._left.finished(kind, seconds / (self._n_workers if kind == "trees" else 1))
        self._report(len(self._found), len(self._names), what, self._left.seconds())

    def run(self, task: Any, arguments: dict[str, tuple], what: dict[str, str]) -> None:
        """A task for each of these pieces, with its arguments, those that are not known. A process each, with one
        thread: threads of one ensemble wait for each other, and for whoever else is on their cores."""
        waiting = [n for n in arguments if n not in self._found]
        with closing(run_pieces(task, [arguments[n] for n in waiting], self._n_workers, processes=True)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                name = waiting[outcome.index]
                self.finished(name, what[name], outcome.result, outcome.seconds)

    def in_order(self) -> list[Arrays]:
        return [self._found[n] for n in self._names]
