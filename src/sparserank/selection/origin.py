"""Where a result comes from: when, by which command, from which files, with which versions."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparserank import __version__
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.workdir.pieces import COMPUTING_LIBRARIES

PROGRAM = "sparserank"


@dataclass(frozen=True)
class Part:
    """One part of the data as it was used: its name, files (empty: it came from memory), numbers of documents and
    queries, and a hash of its content."""

    part: str
    files: tuple[str, ...]
    documents: int
    queries: int
    hash: str


@dataclass(frozen=True)
class Origin:
    """date: in UTC, to the second; command: None if no command was run; versions: {name: version}."""

    date: str
    command: str | None
    data: tuple[Part, ...]
    versions: Mapping[str, str]


def origin_of(sources: Mapping[str, Any], data: Mapping[str, RankingDataset | None]) -> Origin:
    """The origin of a result made now; sources: {name: what the data set of that name in `data` was read from}."""
    parts = tuple(
        Part(name, files_of(sources[name]), own.n_docs, own.n_queries, data_hash(own))
        for name, own in data.items()
        if own is not None
    )
    return Origin(datetime.now(UTC).isoformat(timespec="seconds"), command_line(), parts, versions())


def files_of(source: Any) -> tuple[str, ...]:
    """The paths that a source names, as given."""
    listed = source if isinstance(source, list | tuple) else [source]
    return tuple(map(str, listed)) if all(isinstance(s, str | os.PathLike) for s in listed) else ()


def command_line() -> str | None:
    """The command line, if this process runs our command; those of other programs are not recorded."""
    path = Path(sys.argv[0]) if sys.argv and sys.argv[0] else Path()
    ours = path.name in (PROGRAM, f"{PROGRAM}.exe") or path.parts[-2:] == (PROGRAM, "__main__.py")
    return shlex.join([PROGRAM, *sys.argv[1:]]) if ours else None


def versions() -> dict[str, str]:
    """Versions of the program, of Python, and of the libraries that compute."""
    return {
        PROGRAM: __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in COMPUTING_LIBRARIES},
    }
