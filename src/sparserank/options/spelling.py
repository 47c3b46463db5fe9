"""The spelling of an option: ignore_columns=['a'] in Python, --ignore-columns a on the command line."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PLACE = re.compile(r"\{(\w+)(?:=([^{}]*))?\}")
_lock, _inside = threading.Lock(), 0  # number of running commands
_flags: Mapping[str, str] | None = None  # flags while a command runs; None: Python calls


@contextmanager
def command_line(flags: Mapping[str, str]) -> Iterator[None]:
    """A context in which messages name options as on the command line; flags: {name: flag} for those that differ."""
    global _flags, _inside
    with _lock:
        _flags, _inside = flags, _inside + 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _flags = None


@dataclass(frozen=True)
class _Spelled:
    """A task for another process, in which messages spell options as in this process."""

    task: Callable[..., Any]
    flags: Mapping[str, str]

    def __call__(self, *arguments: Any) -> Any:
        with command_line(self.flags):
            return self.task(*arguments)


def spelled_as_here(task: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a task for another process, so that its messages spell options as in this process."""
    return task if _flags is None else _Spelled(task, dict(_flags))


def flag_of(name: str, flags: Mapping[str, str]) -> str:
    """The flag of an option."""
    return flags.get(name, f"--{name.replace('_', '-')}")


def option(name: str, value: Any = None) -> str:
    """An option in a message, with its value if given, in the spelling that the caller must use."""
    if _flags is None:
        return name if value is None else f"{name}={value!r}"
    flag = flag_of(name, _flags)
    if value is None or value is True:
        return flag
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{flag} {_shell(v)}" for v in values)


def rendered(text: str, flags: Mapping[str, str] | None) -> str:
    """A text with {name} and {name=value} replaced by options, for Python (flags None) or for the command line."""

    def one(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if flags is None:
            return name if value is None else f"{name}={value}"
        flag = flag_of(name, flags)
        bare = "" if value is None or value == "True" else value.strip("'\"")
        return f"{flag} {bare}".rstrip()

    return PLACE.sub(one, text)


def _shell(value: Any) -> str:
    text = str(value)
    return text if re.fullmatch(r"[\w.,:/=+%@-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"
