"""Names of retrievers: those that users give, or those of their files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparserank.errors import DataError, ParameterError
from sparserank.quoting import brief

SUFFIXES = (".gz", ".run", ".txt", ".trec", ".json", ".parquet", ".pq", ".csv", ".tsv")


def named_runs(runs: Any, least: int = 2) -> dict[str, Any]:
    """{name of the retriever: source}, from a mapping, or from files, 'name=FILE' or FILE.

    Raises
        ParameterError   there are fewer than `least`, or a name cannot be used
        DataError        two files have the same name, or 'name=FILE' lacks one of the two
    """
    if isinstance(runs, Mapping) and not any(isinstance(key, tuple) for key in runs):
        named = {str(name): source for name, source in runs.items()}
    elif (
        isinstance(runs, Sequence)
        and not isinstance(runs, str)
        and all(isinstance(path, str | os.PathLike) for path in runs)
    ):
        given = [_named_file(str(path)) for path in runs]
        for text, (name, file) in zip(runs, given, strict=True):
            if not file or name == "":
                raise DataError(f"{brief(str(text))}: names no {'retriever' if file else 'file'}; write NAME=FILE.")
        files = [file for _, file in given]
        stems = iter(names_of_runs([file for name, file in given if name is None]))
        names = _distinct([next(stems) if name is None else name for name, _ in given], files)
        named = dict(zip(names, files, strict=True))
    else:
        raise ParameterError("runs", f"must be files, or {{name: run}}; got {brief(runs)}.")
    if len(named) < least:
        raise ParameterError("runs", f"must be at least {least}, one of each retriever; got {len(named)}.")
    for name in named:
        if not name or not name.isprintable():
            raise ParameterError("runs", f"a retriever needs a printable name; got {brief(name)}.")
    return named


def file_of(text: str) -> str:
    """The file of 'name=FILE' or FILE."""
    return _named_file(text)[1]


def _named_file(text: str) -> tuple[str | None, str]:
    """(name or None, file) of 'name=FILE' or FILE."""
    name, sign, file = text.partition("=")
    return (None, text) if not sign or os.path.exists(text) else (name, file)


def names_of_runs(paths: Sequence[str | os.PathLike]) -> list[str]:
    """The name of the retriever of each file: that of the file without endings, with its folder if names repeat.

    Raises
        DataError   two files have the same name even so
    """
    stems = [_stem(Path(p)) for p in paths]
    names = [s if stems.count(s) == 1 else f"{Path(p).parent.name}/{s}" for s, p in zip(stems, paths, strict=True)]
    return _distinct(names, paths)


def _stem(path: Path) -> str:
    name = path.name
    while (suffix := Path(name).suffix) in SUFFIXES and name != suffix:
        name = name.removesuffix(suffix)
    return name


def _distinct(names: list[str], files: Sequence[str | os.PathLike]) -> list[str]:
    """The names of files; raises DataError if two are equal."""
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        first, second, *_ = (str(file) for name, file in zip(names, files, strict=True) if name == twice)
        if os.path.realpath(first) == os.path.realpath(second):
            raise DataError(f"{first} and {second}: are the same run; leave one out.")
        raise DataError(
            f"{first} and {second}: both runs are called {brief(twice)}. Name each of them: NAME=FILE, or a mapping "
            "in Python."
        )
    return names
