"""The command line in this process."""

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
        return [s for s in self.err.splitlines() if s and not s.startswith(("compiling ", "paths: ", "after "))]

    @property
    def done(self) -> "Outcome":
        """The same, of a command that ended well; any other is a failure of the test."""
        assert self.code == 0, self
        return self


Cli = Callable[..., Outcome]


def assert_refused(outcome: Outcome, code: int, message: str) -> None:
    """The command ended with this status and message, whatever the width of the terminal, and without a traceback."""
    assert outcome.code == code, outcome
    assert message in " ".join(outcome.err.replace("│", " ").split())
    assert "Traceback" not in outcome.err
