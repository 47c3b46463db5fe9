"""A run directory with its plan, and the finished pieces of work under that plan, as arrays."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from sparserank.errors import RunDirectoryError
from sparserank.npy import arrays_of_npz, checked
from sparserank.options import option
from sparserank.runs.directory import RunDirectory
from sparserank.runs.identity import name_of
from sparserank.runs.pieces import RECORDS, PieceStore

PLAN = "plan.json"
ARRAYS = "arrays"


Arrays = dict[str, np.ndarray]


def kept(
    store: WorkStore | None, name: str, make: Callable[[], Arrays], **expected: tuple[str, tuple[int | None, ...]]
) -> Arrays:
    """The arrays of a finished piece in the store, or those that are made now, which are saved; expected: as in
    `checked`."""
    known = None if store is None else store.load(name, lambda arrays: checked(arrays, **expected))
    if known is None:
        known = make()
        if store is not None:
            store.save(name, known)
    return known


RULES = {"drop": "drop", "keep": "keep", "monotone": "monotone", "feature_groups": "feature_groups", "weights": "costs"}
_MAKER = re.compile(r"(\w+)\(")
_PART = re.compile(r"'?(\w+)'?(?:=|: )((?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\]|[^,()\[\]{}])+)")


class WorkStore(RunDirectory):
    """Finished pieces, written as they come, so that a killed run continues where it stopped.

    identity   plain JSON values: everything that stored pieces depend on; part of the name of each piece
    restart    discard the work of any earlier run in this directory
    kind       of run; results: the other files that it writes, which a restart removes
    check      called before a piece is saved: raises if the data that it was computed from have changed
    Raises
        RunDirectoryError   as in `RunDirectory`; or the directory contains work of another identity
    """

    def __init__(
        self,
        path: str | os.PathLike,
        identity: dict[str, Any],
        *,
        restart: bool = False,
        kind: str,
        results: Sequence[str] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(path, kind)
        self._check = check
        self.identity, self._results = identity, tuple(results)
        self.pieces = PieceStore(self.path)
        known = self.read_json(PLAN)
        if restart:
            self._discard()
        elif isinstance(known, dict) and known != identity and any((self.path / RECORDS).glob("*.json")):
            self.close()
            changed = sorted(k for k in known.keys() | identity.keys() if known.get(k) != identity.get(k))
            different = dict.fromkeys(name for k in changed for name in _changed_in(k, known.get(k), identity.get(k)))
            raise RunDirectoryError(
                f"{self.path}: contains a run with other data or options; choose another {option('out')}, or "
                f"discard the run with {option('restart', True)} (different: {', '.join(different)})."
            )
        self.write_json(PLAN, identity)

    def load(self, name: str, read: Callable[[Arrays], Any] = lambda arrays: arrays) -> Any:
        """What `read` makes of the arrays of a finished piece; None if it has to be computed. As in `PieceStore.load`,
        `read` checks them."""
        full = self._name(name)
        return self.pieces.load(full, [_file(full)], lambda files: read(arrays_of_npz(files[_file(full)])))

    def save(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        self._check()
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        full = self._name(name)
        self.pieces.save(full, {_file(full): content.getvalue()})

    def drop(self, name: str) -> None:
        """Forget a piece that is no longer needed."""
        full = self._name(name)
        self.pieces.drop(full, [_file(full)])

    def _name(self, name: str) -> str:
        return name_of(name, [self.identity, name])

    def _discard(self) -> None:
        ours = [self.path / _file(record.stem) for record in (self.path / RECORDS).glob("*.json")]
        self.pieces.clear()
        for old in [*ours, *(self.path / name for name in (*self._results, "log.jsonl"))]:
            old.unlink(missing_ok=True)


class Reader:
    """A keeper for `Work` whose pieces are checked: read(name, arrays) returns the arrays, or raises ValueError."""

    def __init__(self, store: WorkStore, read: Callable[[str, Arrays], Arrays]) -> None:
        self._store, self._read, self.save = store, read, store.save

    def load(self, name: str) -> Arrays | None:
        found: Arrays | None = self._store.load(name, partial(self._read, name))
        return found


def work_store_in(
    out: str | os.PathLike | None, identity: dict[str, Any], **options: Any
) -> AbstractContextManager[WorkStore | None]:
    """A context with the store in `out`, with the options of `WorkStore`; None if nothing is to be kept."""
    return WorkStore(out, identity, **options) if out is not None else nullcontext()


def _changed_in(name: str, before: Any, now: Any) -> list[str]:
    """What differs in one entry of an identity: the options inside texts such as 'l1(drop=(3,))' or "{'tol': 1e-06}",
    if only their values differ; else the entry."""
    texts = [v if isinstance(v, str) else " ".join(map(str, v)) if isinstance(v, list) else "" for v in (before, now)]
    makers, parts = ([pattern.findall(text) for text in texts] for pattern in (_MAKER, _PART))
    if makers[0] != makers[1]:
        return [name]
    inside = {part for part, _ in set(parts[0]) ^ set(parts[1])}
    return sorted(option(RULES[part]) if part in RULES else part for part in inside) or [name]


def _file(name: str) -> str:
    return f"{ARRAYS}/{name}.npz"
