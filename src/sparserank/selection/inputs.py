"""Checks on what the main job is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataFormatError

OVERLAP_REMEDY = "Separate them, or pass --allow-overlap if equal ids mean different queries."


def check_overlap(parts: Mapping[str, RankingDataset | None], remedy: str = OVERLAP_REMEDY) -> None:
    """Refuse a query id that stands in two parts: its documents would leak.

    Raises
        DataError   names the parts and the first such query
    """
    present = [(name, {str(q) for q in data.query_ids}) for name, data in parts.items() if data is not None]
    for (first, a), (second, b) in combinations(present, 2):
        common = a & b
        if common:
            raise DataError(
                f"{first} and {second} have {len(common)} query ids in common (first: {min(common)}); this leaks. "
                f"{remedy}"
            )


def read_costs(path: str | os.PathLike, names: tuple[str, ...]) -> tuple[float, ...]:
    """One cost > 0 per feature, one per line.

    Raises
        DataFormatError   names file and line
    """
    try:
        lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataFormatError(f"{path}: cannot be read ({error}); expected one cost per line.") from error
    costs = []
    for number, text in enumerate(lines, start=1):
        if not text:
            continue
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not (np.isfinite(value) and value > 0):
            raise DataFormatError(f"{path}:{number}: a cost must be a number > 0; got {text!r}.")
        costs.append(value)
    if len(costs) != len(names):
        raise DataFormatError(f"{path}: {len(costs)} costs for {len(names)} features; give one per line.")
    return tuple(costs)
