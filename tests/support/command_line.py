"""The command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def sentences(self) -> list[str]:
        """Standard error without progress: what is left of a failed run is one line."""
        return [s for s in self.err.splitlines() if s and not s.startswith(("compiling ", "paths: "))]


Cli = Callable[..., Outcome]
