"""Where a result comes from: when, by which command, from which files, with which versions."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparserank import __version__
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ParameterError
from sparserank.metrics import Metric
from sparserank.options import asked, option
from sparserank.options.selection import SELECT
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.strict_json import read_own_json
from sparserank.text import brief
from sparserank.workdir.pieces import COMPUTING_LIBRARIES

PROGRAM = "sparserank"
OF_ONE_RUN = ("out", "restart", "n_threads", "progress", "allow_overlap", "client", "start", "prefer")
OF_THE_REST = ("rival", "half_samples")  # options that --fast excludes
PARSED = (Penalty, SizedMaker, Metric)  # what `select` parses from their names


@dataclass(frozen=True)
class DataPart:
    """One part of the data as it was used: its name, files (empty: it came from memory), numbers of documents and
    queries, and a hash of its content."""

    part: str
    files: tuple[str, ...]
    documents: int
    queries: int
    hash: str


@dataclass(frozen=True)
class Origin:
    """Where a result comes from.

    date       in UTC, to the second
    command    None if no command was run
    data       the parts of the data
    versions   {name: version}
    options    the options that differ from the defaults, as JSON
    start      a sentence about the run whose options were taken over, and what is different; "" if there is none
    """

    date: str
    command: str | None
    data: tuple[DataPart, ...]
    versions: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""


def origin_of(
    sources: Mapping[str, Any],
    data: Mapping[str, RankingDataset | None],
    options: Mapping[str, Any] | None = None,
    start: str = "",
) -> Origin:
    """The origin of a result made now.

    sources   {name: the source of the data set of that name in `data`}
    options   all options of `select`
    """
    parts = tuple(
        DataPart(name, files_of(sources[name]), part.n_docs, part.n_queries, data_hash(part))
        for name, part in data.items()
        if part is not None
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Origin(now, command_line(), parts, versions(), given_options(options or {}), start)


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `select` that are not defaults, as JSON; arrays and other objects are left out, and so is what
    concerns only this run."""
    out = {}
    for name, declared in SELECT.items():
        value = None if name in OF_ONE_RUN else _as_json(options.get(name))
        if value is not None and value != _as_json(declared.default):
            out[name] = value
    return out


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, str | int | float | bool):
        return value
    return str(value) if isinstance(value, os.PathLike) else repr(value) if isinstance(value, PARSED) else None


def started(options: Mapping[str, Any], sources: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(the options of a call, completed with those of an earlier run; what is different, in sentences). Data are not
    taken over.

    sources   {part: the source of the data of this call, or None}

    Raises
        ParameterError   `start` is not the directory of a selection that knows its options
    """
    start = options["start"]
    try:
        content = read_own_json(Path(start) / "result.json")
        if "origin" not in content or content.get("fusion"):
            raise ValueError(f"it is of another command, or of {option('for_model')}")
        origin = content["origin"]
        old = origin["options"]
        taken = asked("select", SELECT, old)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ParameterError(
            "start",
            f"must be the directory of a selection of this version; got {brief(str(start))} ({brief(str(error))}).",
        ) from error
    set_here = given_options(options)
    # A run that starts from a first look does the rest; a first look does without the rest.
    not_taken = [name for name in old if name in OF_THE_REST and options["fast"]]
    both = {**options, **{name: taken[name] for name in old if name not in (*set_here, "fast", *not_taken)}}
    new = [option(name, value) for name, value in set_here.items() if old.get(name) != value]
    new += [f"not {option(name, old[name])}" for name in not_taken]
    gone = [part["part"] for part in origin["data"] if sources[part["part"]] is None]
    without = f" Its {' and '.join(gone)} data are not taken over: name them again, or new ones." if gone else ""
    return both, f"Options of {brief(str(start))}{', but ' if new else ''}{', '.join(new)}.{without}"


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
