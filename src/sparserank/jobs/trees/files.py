"""The files of a comparison with trees, and of lists for trees."""

from __future__ import annotations

import json
from pathlib import Path

from sparserank import __version__
from sparserank.files import atomic_write
from sparserank.reporting.render import write_csv
from sparserank.selection.comparison import ComparisonResult
from sparserank.selection.for_trees import JUDGED_FILES, JudgedSelection
from sparserank.strict_json import plain

COMPARISON_FILES = ("comparison.csv", "comparison.json", "report.html")


def write_comparison(result: ComparisonResult, folder: Path) -> list[Path]:
    """Write comparison.csv (a row per system and size), comparison.json and, with the extra `report`, report.html."""
    written = [write_csv(folder / "comparison.csv", result.rows()), folder / "comparison.json"]
    content = {
        "format": "sparserank-comparison",
        "version": 1,
        "sparserank": __version__,
        "headline": result.headline,
        "sentences": result.sentences(),
        "metric": result.metric,
        "n_queries": result.n_queries,
        "n_features": result.n_features,
        "folds": result.n_folds,
        "repeats": result.repeats,
        "seeds": result.n_seeds,
        "confidence": result.confidence,
        "chosen": result.n_chosen,
        "costs": vars(result.costs),
        "trees": vars(result.trees),
        "systems": result.rows(),
    }
    with atomic_write(written[1]) as out:
        out.write(json.dumps(plain(content), indent=1, allow_nan=False) + "\n")
    try:
        from sparserank.pages.trees_page import comparison_page
    except ImportError:  # no matplotlib
        return written
    with atomic_write(folder / "report.html") as out:
        out.write(comparison_page(result))
    return [*written, folder / "report.html"]


def write_judged(result: JudgedSelection, folder: Path) -> list[Path]:
    """Each file appears whole or not at all; report.html with the extra `report`."""
    texts = {
        "features.txt": "\n".join(result.features) + "\n",
        "trees.txt": result.trees.booster.model_to_string(),
        "result.json": json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n",
    }
    try:
        from sparserank.pages.trees_page import judged_page
    except ImportError:  # no matplotlib
        pass
    else:
        texts["report.html"] = judged_page(result)
    for name in JUDGED_FILES:  # so that files of two runs never stand side by side
        (folder / name).unlink(missing_ok=True)
    for name, text in texts.items():
        with atomic_write(folder / name) as out:
            out.write(text)
    return [folder / name for name in texts]
