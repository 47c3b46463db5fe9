"""Write the files of a comparison with trees, and of a selection for trees."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

from sparserank.files import atomic_write
from sparserank.reporting.render import csv_text
from sparserank.selection.comparison import ComparisonResult
from sparserank.selection.for_trees import LIST_FILES, TreesSelection

REPORT = "report.html"
COMPARISON_FILES = ("comparison.csv", "comparison.json", REPORT)


def write_comparison(result: ComparisonResult, folder: Path) -> list[Path]:
    """Write comparison.csv (a row per system and size), comparison.json and, with the extra `report`, report.html."""
    texts = {"comparison.csv": csv_text(result.rows()), "comparison.json": _json(result.to_json())}
    if _can_draw():
        from sparserank.pages.trees_page import comparison_page

        texts[REPORT] = comparison_page(result)
    return _written(folder, COMPARISON_FILES, texts)


def write_lists(result: TreesSelection, folder: Path) -> list[Path]:
    """Write features.txt, trees.txt, result.json and, with the extra `report`, report.html."""
    texts = {
        "features.txt": "\n".join(result.features) + "\n",
        "trees.txt": result.trees.booster.model_to_string(),
        "result.json": _json(result.to_json()),
    }
    if _can_draw():
        from sparserank.pages.trees_page import lists_page

        texts[REPORT] = lists_page(result)
    return _written(folder, LIST_FILES, texts)


def _can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _json(content: object) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _written(folder: Path, known: tuple[str, ...], texts: Mapping[str, str]) -> list[Path]:
    """Write each file completely or not at all. Files of an earlier run are removed first, so that files of two runs
    are never mixed."""
    for name in known:
        (folder / name).unlink(missing_ok=True)
    for name, text in texts.items():
        with atomic_write(folder / name) as out:
            out.write(text)
    return [folder / name for name in texts]
