"""A warning if a command replaces the chosen model in a run directory by one of another size."""

from __future__ import annotations

from pathlib import Path

from sparserank.cli.screen import warn
from sparserank.errors import SparserankError
from sparserank.model.loading import load_model
from sparserank.selection.statements import counted


def chosen_in(out: Path) -> int | None:
    """Number of features of the model in a run directory; None if there is none."""
    try:
        return len(load_model(out / "model.json").support)
    except SparserankError:
        return None


def warn_if_replaced(out: Path, before: int | None, now: int, noun: str) -> None:
    """Warn if the directory contained a model of another number of features (or other `noun`)."""
    if before is not None and before != now:
        warn(f"{out} contained the model of {counted(before, noun)}; it now contains the one of {counted(now, noun)}.")
