"""Tasks for workers, in a module that they import quickly: nothing of pytest, numpy or the tests."""

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from sparserank.errors import DataError, DataWarning, TooManyFeaturesError


def square(x: float) -> float:
    """A task for workers."""
    return x * x


class Unreadable:
    """Travels, but nobody can open it."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


@dataclass
class Memorable:
    """A task that notes in a file the process in which it was forgotten."""

    mark: Path
    home: int = field(default_factory=os.getpid)

    def __call__(self, x: int) -> int:
        return x

    def __del__(self) -> None:
        if os.getpid() != self.home:
            self.mark.write_text(str(os.getpid()))


def moody(what: str) -> str:
    """A task that ends in every way a task can."""
    if what == "warn":
        warnings.warn("queries in \x1b[1mpieces", DataWarning, stacklevel=1)
    elif what == "unreadable":
        return Unreadable()  # type: ignore[return-value]
    elif what == "print":
        print("a line that must not come between messages")
    elif what == "data":
        raise DataError("no pair.")
    elif what == "wide":
        raise TooManyFeaturesError("too wide", 7)
    elif what == "exit":
        os._exit(3)
    elif what == "unpicklable":
        return lambda: None  # type: ignore[return-value]
    return what
