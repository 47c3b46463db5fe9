"""Conversion of command-line values to arguments of Python calls."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from sparserank.errors import DataError
from sparserank.options.kinds import Kind
from sparserank.quoting import brief

S = TypeVar("S")
T = TypeVar("T")


def require(condition: bool, flag: str, message: str) -> None:
    """Raise a usage error (exit 2) unless the condition is true."""
    if not condition:
        raise click.BadParameter(message, param_hint=flag)


def check(flag: str, kind: Kind, value: Any) -> None:
    """Refuse an invalid value of an option."""
    problem = kind.problem(value)
    require(not problem, flag, typed(problem))


def typed(problem: str) -> str:
    """What is wrong with a value, without the alternative that nobody can type."""
    return problem.replace(" or None; got", "; got", 1)


def parsed(flag: str, parse: Callable[[S], T], value: S) -> T:
    """Parse the value of an option; a bad value is a usage error."""
    try:
        return parse(value)
    except DataError as error:
        raise click.BadParameter(str(error), param_hint=flag) from error


def _columns(given: list[str]) -> list[str]:
    """Names of columns, from comma-separated names and files with one name per line."""
    from sparserank.data.text_lines import read_names

    names = [n for text in given for n in (read_names(text) if Path(text).is_file() else split_names(text))]
    twice = next((n for n in names if names.count(n) > 1), None)
    require(twice is None, "--feature-columns", f"names {twice!r} twice.")
    return names


def _names(given: list[str]) -> list[str]:
    return [name for text in given for name in split_names(text)]


def _directions(given: list[str]) -> dict[str, str]:
    """{feature: '+' or '-'} from NAME=+ and NAME=-."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, direction = text.rpartition("=")
        valid = bool(equals) and bool(name) and direction in ("+", "-")
        require(valid, "--monotone", f"must be NAME=+ or NAME=-; got {brief(text)}.")
        require(name not in found, "--monotone", f"names {brief(name)} twice.")
        found[name] = direction
    return found


READ: dict[str, Callable[[Any], Any]] = {  # how options are written that Python takes otherwise
    "feature_columns": _columns,
    "ignore_columns": _names,
    "monotone": _directions,
}


def split_names(given: str) -> list[str]:
    """Split names at commas; a name that contains a comma is in double quotes."""
    try:
        rows = list(csv.reader([given], strict=True))
    except csv.Error:  # a quote that does not end, or that a name goes on behind, is one of the name
        return given.split(",")
    return rows[0] if len(rows) == 1 and rows[0] else given.split(",")


def joined_names(names: Sequence[str]) -> str:
    """Join names into a text that `split_names` splits."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(names)  # what ends lines is quoted
    return "" if list(names) == [""] else out.getvalue().removesuffix("\r\n")
