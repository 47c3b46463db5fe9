"""Made pages on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Make the folder hold these pages and no others; one that is as it was keeps its time,
    so that it is not built again."""
    folder.mkdir(exist_ok=True)
    for other in folder.glob("*.md"):
        if other.name not in pages:
            other.unlink()
    for name, text in pages.items():
        target = folder / name
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
