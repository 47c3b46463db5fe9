"""Tables and verdicts, as text that can be pasted into a README."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MEGABYTE = 1e6


@dataclass(frozen=True)
class Verdict:
    """A measured figure beside its target."""

    case: str
    claim: str
    measured: float
    target: float
    at_least: bool = True  # False: the figure must not exceed the target
    bound: str = ""  # '>= ' when the competitor was stopped before it was done
    unit: str = "x"  # '' for figures that are no ratios

    @property
    def met(self) -> bool:
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def row(self) -> list[str]:
        sign = ">=" if self.at_least else "<="
        measured = f"{self.bound}{figure(self.measured)}{self.unit}"
        return [self.case, self.claim, measured, f"{sign} {self.target:g}{self.unit}", "met" if self.met else "MISSED"]


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    return table(["case", "claim", "measured", "target", ""], [v.row() for v in verdicts])


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Markdown table with aligned columns."""
    cells = [[str(c) for c in row] for row in (headers, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(headers))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def figure(x: float) -> str:
    """Three digits; integers from 100."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"


def seconds(x: float) -> str:
    return f"{x * 1e3:.3g} ms" if x < 1 else f"{figure(x)} s"


def megabytes(x: float) -> str:
    return f"{figure(x / MEGABYTE)} MB"
