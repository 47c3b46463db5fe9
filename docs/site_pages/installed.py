"""What the wheel installs, from the table in the transcript of the first hour."""

from __future__ import annotations

import re
from pathlib import Path

ROW = re.compile(r"(?m)^\| (\S+) \| \S+ \| ([0-9.]+) \|$")
LARGE = 0.01  # of the whole: smaller packages are named together


def table(transcript: Path) -> str:
    """The packages by size, with their share."""
    sizes = {name: float(size) for name, size in ROW.findall(transcript.read_text(encoding="utf-8"))}
    whole = sum(sizes.values())
    small = [name for name, size in sizes.items() if size < LARGE * whole]
    rows = [(name, size) for name, size in sizes.items() if name not in small]
    rows.append((", ".join(sorted(small, key=str.lower)), sum(sizes[name] for name in small)))
    lines = ["| package | MB | share |", "|---|---:|---:|"]
    lines += [f"| {name} | {size:.0f} | {size / whole:.0%} |" for name, size in [*rows, ("all", whole)]]
    return "\n".join(lines)
