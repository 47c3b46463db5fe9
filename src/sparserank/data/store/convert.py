"""Convert files to a store; an interrupted conversion resumes where it stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparserank.data.letor.side_files import side_paths
from sparserank.data.read_files import open_stream
from sparserank.data.reading import Reading, with_options
from sparserank.data.store.manifest import MANIFEST, PROGRESS, VERSION, files_of, read_manifest
from sparserank.data.store.opening import STAMPS, is_store, open_store
from sparserank.data.store.writing import Conversion, Progress, progress_name
from sparserank.data.text_lines import no_such_file
from sparserank.errors import DataError, DataFormatError, RunDirectoryError
from sparserank.execution import SHARD_BYTES
from sparserank.files import StrPath
from sparserank.options import Count, option
from sparserank.options.arguments import check_arguments
from sparserank.workdir.directory import WorkDirectory
from sparserank.workdir.pieces import PieceStore

MAX_SHARD_BYTES = 2**40
FILE_NAME = re.compile(r"\d{5,}-(X|data|indices|indptr|label|qid|query_ptr|docid|weight)\.npy")


def convert(
    paths: Sequence[str | os.PathLike],
    out: str | os.PathLike,
    reading: Reading | Mapping[str, Any] | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
    restart: bool = False,
    like: str | os.PathLike | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Convert files to a store, whose features are read from disk when they are used.

    Parameters
    ----------
    paths : sequence of paths
        Files of the same kind, as for `read`.
    out : path
        A new or empty folder, or the folder of an interrupted or finished conversion of the same files.
    reading : mapping, optional
        Options of `read` for the files, such as {'label': 'grade'}; dtype is float32 unless specified.
    shard_bytes : int, default 134217728
        Approximate size of a shard in bytes.
    restart : bool, default False
        Discard the files of an earlier conversion.
    like : path, optional
        The store of the training data: use its features, their order, and its replacements for missing values.
    progress : callable, optional
        Called during the conversion.

    Returns
    -------
    dict
        The manifest of the store.

    Raises
    ------
    DataFormatError
        A malformed file; the message names the file and line, or the row and column. Files written so far are kept, and
        the same call continues from there.
    RunDirectoryError
        The folder cannot be written or contains something else, or the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> import sparserank as sr
    >>> folder = tempfile.mkdtemp()
    >>> sr.write_letor(sr.datasets.make_ranking(20, 5, 4, n_informative=2, n_redundant=1).data, folder + "/train.txt")
    >>> sr.convert([folder + "/train.txt"], folder + "/store")["n_queries"]
    20
    """
    check_arguments(convert, locals(), shard_bytes=Count(most=MAX_SHARD_BYTES))
    reading = reading if isinstance(reading, Reading) else with_options(Reading(), reading or {})
    if len(paths) == 0:
        raise DataError("convert needs at least one file to read.")
    _refuse_itself(paths, out)
    plan = _plan(paths, reading, shard_bytes)
    first = None if like is None else open_store(like)
    if first is not None:
        plan["like"] = first.X.identity
    with WorkDirectory(out, "store") as folder:
        progress_of = PieceStore(folder.path)
        if restart:
            for file in [*_shard_files(folder.path), *(folder.path / name for name in (MANIFEST, STAMPS))]:
                file.unlink(missing_ok=True)
            for name in progress_of.names():
                progress_of.drop(name, [PROGRESS])
        known = read_manifest(folder.path) if (folder.path / MANIFEST).exists() else None
        of_others = {*progress_of.names()} - {progress_name(plan)}
        if of_others or (known is not None and known.get("plan") != plan):
            raise RunDirectoryError(
                f"{folder.path}: contains a store of other files, of other options, or of files that have changed "
                f"since; choose another folder, or discard the store with {option('restart', True)}."
            )
        if known is not None:
            open_store(folder.path)
            _drop_others(folder.path, known)
            return known
        stream = open_stream(paths, replace(reading, derived={}), like=first)
        work = Conversion(folder, plan, stream, progress)
        manifest = work.run()
        if _plan(paths, reading, shard_bytes) != {k: v for k, v in plan.items() if k != "like"}:
            raise DataFormatError(
                f"{', '.join(map(str, paths))}: changed while being read; convert again with {option('restart', True)}."
            )
        work.finish(manifest)
        _drop_others(folder.path, manifest)
        return manifest


def _plan(paths: Sequence[StrPath], reading: Reading, shard_bytes: int) -> dict[str, Any]:
    """Everything that a conversion depends on, as plain JSON values."""
    files: list[list[Any]] = []
    names_or_file = reading.feature_names
    named = [Path(names_or_file)] if isinstance(names_or_file, StrPath) else []
    reading = replace(reading, n_threads=None)  # has no effect on the result
    for path in paths:
        place = Path(path)
        if is_store(place):
            files.append([os.path.abspath(place), read_manifest(place)["identity"]])
            continue
        inside = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
        for file in [*inside, *side_paths(place), *named]:
            try:
                status = os.stat(file)
            except OSError as error:
                raise no_such_file(file) from error
            files.append([os.path.abspath(file), status.st_size, status.st_mtime_ns])
    # Earlier versions did not have docid; their conversions can resume, because it is named only if it is used.
    described = repr(reading) + ("" if reading.docid is None else f" docid={reading.docid!r}")
    return {"version": VERSION, "files": files, "reading": described, "shard_bytes": shard_bytes}


def _refuse_itself(paths: Sequence[StrPath], out: StrPath) -> None:
    """Refuse to write into an input."""
    target = Path(os.path.realpath(out))
    for path in paths:
        source = Path(os.path.realpath(path))
        if target == source or target in source.parents or source in target.parents:
            raise RunDirectoryError(
                f"{out}: is, contains or is inside an input ({path}); choose another output folder."
            )


def _shard_files(folder: Path) -> list[Path]:
    """Files with names that only a store uses."""
    return [f for f in folder.glob("*.npy") if FILE_NAME.fullmatch(f.name)]


def _drop_others(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove shards that are not in the manifest: those from before scattered queries were gathered."""
    ours = {folder / name for name, _ in files_of(manifest["shards"])}
    for file in set(_shard_files(folder)) - ours:
        file.unlink(missing_ok=True)
