"""Finished pieces of work on disk. A piece is complete and undamaged, or it is computed again; its name includes a hash
of everything that it depends on."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.errors import DataError, RunDirectoryError, warn_caller
from sparserank.files import StrPath, atomic_write, read_regular
from sparserank.options import option
from sparserank.text import source_of
from sparserank.workdir.directory import LOG, PLAN, WorkDirectory

COMPUTING_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
PRESENTING = ("cli", "report")  # subpackages that show results but compute none
LONGEST_LABEL = 100  # file systems allow 255 bytes
RECORDS = "pieces"
ARRAYS = "arrays"
MAX_RECORD_BYTES = 1 << 20
MAX_BYTES = 1 << 34
RULES = {"drop": "drop", "keep": "keep", "monotone": "monotone", "feature_groups": "feature_groups", "weights": "costs"}
_MAKER = re.compile(r"(\w+)\(")
_PART = re.compile(r"'?(\w+)'?(?:=|: )((?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\]|[^,()\[\]{}])+)")
Arrays = dict[str, np.ndarray]
Expected = tuple[str, tuple[int | None, ...]]  # kinds of dtype, and a shape; None in a shape: any number


# -- names: the inputs that results depend on -------------------------------------------------------------------------


@cache
def code_hash(left_out: Callable[[tuple[str, ...]], bool]) -> str:
    """Hash of this package's sources and of the versions of the libraries that compute.

    left_out(path inside the package, as its parts) is true for files on which no result depends. Files that only
    present results are left out in any case.
    """
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(repr([version(name) for name in COMPUTING_LIBRARIES]).encode())
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root).parts
        if inside[0] not in PRESENTING and not left_out(inside):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def foreign_code(cls: type) -> str:
    """Empty for a class of this package, else its name and a hash of its source, if the source can be found."""
    if cls.__module__.split(".")[0] == __name__.split(".")[0]:
        return ""
    return f" of {cls.__module__}.{cls.__qualname__} {hashlib.sha256(source_of(cls).encode()).hexdigest()[:12]}"


def name_of(label: str, depends_on: Any) -> str:
    """A file name for a piece of work: readable, and different if any input (plain JSON values) differs."""
    digest = hashlib.sha256(json.dumps([label, depends_on], sort_keys=True).encode()).hexdigest()[:16]
    readable = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in label)
    return f"{readable[:LONGEST_LABEL]}-{digest}"


# -- pieces of any files ----------------------------------------------------------------------------------------------


class PieceStore:
    """Named pieces below a folder. A piece consists of files and of a record of their checksums, written after them.

    Names must include all that a piece depends on (`name_of`). The folder must be locked (`WorkDirectory`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, name: str, files: Mapping[str, bytes]) -> None:
        """Save a piece, in place of an earlier one of this name; `files` by their path inside the folder."""
        # Between the first file and the new record there is no finished piece, and none that looks damaged.
        self._record(name).unlink(missing_ok=True)
        for inside, content in files.items():
            self._write(self.folder / inside, content)
        # The record comes last: without it, the files are not a finished piece.
        record = {inside: hashlib.sha256(content).hexdigest() for inside, content in files.items()}
        self._write(self._record(name), (json.dumps(record, indent=1) + "\n").encode())

    def load(
        self, name: str, files: Collection[str], read: Callable[[dict[str, bytes]], Any] = lambda content: content
    ) -> Any:
        """The result of `read` on the files of a piece, which must be these; None if the piece has to be computed. A
        damaged piece is dropped, with a warning that names it.

        Whoever made the folder also wrote the checksums, so `read` must check the content: it raises ValueError,
        KeyError or DataError if this cannot be a result.

        Warns
            DataWarning   a file of the piece, or its record, differs from what was written, or `read` refuses it
        """
        record = self._record(name)
        try:
            written = json.loads(read_regular(record, MAX_RECORD_BYTES))
            if set(written) != set(files):
                raise ValueError("the record does not match its files")
            content = {inside: read_regular(self.folder / inside, MAX_BYTES) for inside in written}
            for inside, digest in written.items():
                if hashlib.sha256(content[inside]).hexdigest() != digest:
                    raise ValueError(f"{inside} does not match its checksum")
            return read(content)
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, DataError) as error:
            if record.exists():  # else the piece was never finished
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
                warn_caller(f"{record}: a damaged piece ({why}); it will be computed again.")
                record.unlink(missing_ok=True)
            return None

    def drop(self, name: str, files: Collection[str]) -> None:
        """Remove a piece, its record first; do nothing if there is none."""
        for file in (self._record(name), *(self.folder / inside for inside in files)):
            file.unlink(missing_ok=True)

    def names(self) -> list[str]:
        """The names of all finished pieces."""
        return [record.stem for record in (self.folder / RECORDS).glob("*.json")]

    def _record(self, name: str) -> Path:
        return self.folder / RECORDS / f"{name}.json"

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as out:
            out.write(content)


# -- pieces of arrays, under one plan ---------------------------------------------------------------------------------


class Store:
    """Keeps nothing: every piece has to be computed."""

    def load(self, name: str, read: Callable[[Arrays], Any] = lambda arrays: arrays) -> Any:
        return None

    def save(self, name: str, arrays: Arrays) -> None: ...

    def log(self, event: dict[str, Any]) -> None: ...


NOWHERE = Store()


class WorkStore(WorkDirectory, Store):
    """A run directory for one plan. Finished pieces are written as they come, so that a killed process continues where
    it stopped.

    identity   plain JSON values: everything that stored pieces depend on; part of the name of each piece
    restart    discard the work of any earlier plan in this directory
    kind       kind of work; results: the other files that it writes, which a restart removes
    check      called before a piece is saved: raises if the data that it was computed from have changed
    Raises
        RunDirectoryError   as in `WorkDirectory`; or the directory contains work of another identity
    """

    def __init__(
        self,
        path: StrPath,
        identity: dict[str, Any],
        *,
        restart: bool = False,
        kind: str,
        results: Sequence[str] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(path, kind)
        self._check, self.identity, self.pieces = check, identity, PieceStore(self.path)
        known = self.read_json(PLAN)
        if restart:
            for name in self.pieces.names():
                self.pieces.drop(name, [_file(name)])
            for old in (*results, LOG):
                (self.path / old).unlink(missing_ok=True)
        elif isinstance(known, dict) and known != identity and self.pieces.names():
            self.close()
            changed = sorted(k for k in known.keys() | identity.keys() if known.get(k) != identity.get(k))
            different = dict.fromkeys(name for k in changed for name in _changed_in(k, known.get(k), identity.get(k)))
            raise RunDirectoryError(
                f"{self.path}: contains a run with other data or options; choose another {option('out')}, or "
                f"discard the run with {option('restart', True)} (different: {', '.join(different)})."
            )
        self.write_json(PLAN, identity)

    def load(self, name: str, read: Callable[[Arrays], Any] = lambda arrays: arrays) -> Any:
        """The result of `read` on the arrays of a finished piece; None if the piece has to be computed. As in
        `PieceStore.load`, `read` checks them."""
        full = self._name(name)
        return self.pieces.load(full, [_file(full)], lambda files: read(arrays_of_npz(files[_file(full)])))

    def save(self, name: str, arrays: Arrays) -> None:
        self._check()
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        full = self._name(name)
        self.pieces.save(full, {_file(full): content.getvalue()})

    def _name(self, name: str) -> str:
        return name_of(name, [self.identity, name])


class Reader:
    """A keeper for `Work` whose pieces are checked: read(name, arrays) returns the arrays, or raises ValueError."""

    def __init__(self, store: Store, read: Callable[[str, Arrays], Arrays]) -> None:
        self._store = store
        self._read = read
        self.save = store.save

    def load(self, name: str) -> Arrays | None:
        arrays: Arrays | None = self._store.load(name, partial(self._read, name))
        return arrays


def work_store_in(out: StrPath | None, identity: dict[str, Any], **options: Any) -> AbstractContextManager[Store]:
    """A context with the store in `out`, with the options of `WorkStore`; NOWHERE if nothing is to be kept."""
    return WorkStore(out, identity, **options) if out is not None else nullcontext(NOWHERE)


def load_or_make(store: Store, name: str, make: Callable[[], Arrays], **expected: Expected) -> Arrays:
    """The arrays of a finished piece in the store, or else those that `make` computes, which are saved; expected: as in
    `checked`."""
    arrays: Arrays | None = store.load(name, lambda loaded: checked(loaded, **expected))
    if arrays is None:
        arrays = make()
        store.save(name, arrays)
    return arrays


def _changed_in(name: str, before: Any, now: Any) -> list[str]:
    """The differences in one entry of an identity: the options inside texts such as 'l1(drop=(3,))' or
    "{'tol': 1e-06}", if only their values differ; else the name of the entry."""
    texts = [v if isinstance(v, str) else " ".join(map(str, v)) if isinstance(v, list) else "" for v in (before, now)]
    makers, parts = ([pattern.findall(text) for text in texts] for pattern in (_MAKER, _PART))
    if makers[0] != makers[1]:
        return [name]
    inside = {part for part, _ in set(parts[0]) ^ set(parts[1])}
    return sorted(option(RULES[part]) if part in RULES else part for part in inside) or [name]


def _file(name: str) -> str:
    return f"{ARRAYS}/{name}.npz"


# -- arrays in archives ------------------------------------------------------------------------------------------------


def arrays_of_npz(content: bytes) -> Arrays:
    """The arrays of `np.savez`; nothing is decompressed or unpickled.

    Raises
        ValueError   the content is anything else
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            if any(member.compress_type != zipfile.ZIP_STORED for member in arrays.zip.infolist()):
                raise ValueError("its arrays are compressed")
            return {name: np.asarray(arrays[name]) for name in arrays.files}
    except Exception as error:  # any exception, because the content may be anything
        raise ValueError(f"it is not an archive of arrays: {error}") from error


def checked(arrays: Arrays, **expected: Expected) -> Arrays:
    """The arrays, which must include these.

    Raises
        ValueError   one is missing, or has another type or shape
    """
    for name, (kinds, shape) in expected.items():
        values = arrays.get(name)
        if values is None:
            raise ValueError(f"it has no {name}")
        fits = values.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, values.shape, strict=True))
        if values.dtype.kind not in kinds or not fits:
            raise ValueError(f"{name} has type {values.dtype} and shape {values.shape}; expected shape {shape}")
    return arrays
