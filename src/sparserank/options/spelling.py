"""The spelling of an option: ignore_columns=['a'] in Python, --ignore-columns a on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

Flags = Mapping[str, str]  # {name of an option: its flag}, for those that differ
PLACE = re.compile(r"\{(\w+)(?:=([^{}]*))?\}")
# The flags of the command that this thread runs; None if Python code made the call. Threads that a command starts run
# in a copy of its context.
_flags: ContextVar[Flags | None] = ContextVar("flags", default=None)


@contextmanager
def command_line(flags: Flags) -> Iterator[None]:
    """A context in which messages name options as on the command line; flags: {name: flag} for those that differ."""
    before = _flags.set(flags)
    try:
        yield
    finally:
        _flags.reset(before)


def spelled_as_here(task: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a task for another process, so that its messages spell options as this process does."""
    flags = _flags.get()
    return task if flags is None else partial(_with_flags, dict(flags), task)


def _with_flags(flags: Flags, task: Callable[..., Any], *arguments: Any) -> Any:
    with command_line(flags):
        return task(*arguments)


def flag_of(name: str, flags: Flags) -> str:
    """The flag of an option."""
    return flags.get(name, f"--{name.replace('_', '-')}")


def option(name: str, value: Any = None) -> str:
    """An option as messages name it, with its value if one is passed: in the spelling of Python, or of the command line
    if a command runs."""
    flags = _flags.get()
    if flags is None:
        return name if value is None else f"{name}={value!r}"
    flag = flag_of(name, flags)
    if value is None or value is True:
        return flag
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{flag} {_shell(v)}" for v in values)


def rendered(text: str, flags: Flags | None) -> str:
    """A text with {name} and {name=value} replaced by options, for Python (flags None) or for the command line."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        value = match[2]
        if flags is None:
            return name if value is None else f"{name}={value}"
        flag = flag_of(name, flags)
        bare = "" if value is None or value == "True" else value.strip("'\"")
        return f"{flag} {bare}".rstrip()

    return PLACE.sub(one, text)


def _shell(value: Any) -> str:
    text = str(value)
    return text if re.fullmatch(r"[\w.,:/=+%@-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"
