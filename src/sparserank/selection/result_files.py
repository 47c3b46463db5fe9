"""Write the files of a finished run: models, paths, per-query values and the report."""

from __future__ import annotations

import importlib.util
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sparserank.arrow import has_arrow, pa, pq
from sparserank.files import atomic_write
from sparserank.model.size_models import FILE as MODELS
from sparserank.model.size_models import save_size_models
from sparserank.workdir.pieces import Store, WorkStore

if TYPE_CHECKING:
    from sparserank.selection.result import ModelResult, Result, SelectionResult

NO_REPORT = "report.html was not written; to include it, run: pip install 'sparserank[report]'"
NO_TABLES = (
    "path.parquet and per_query.parquet were not written; to include them, run: pip install 'sparserank[tables]'"
)

LIST_FILES = ("features.txt", "trees.txt", "result.json", "report.html")
RESULT_FILES = ("model.json", MODELS, "result.json", "path.parquet", "per_query.parquet", "report.html")


def write_results(result: ModelResult, folder: Path) -> list[Path]:
    """Write model.json, models.json, path.parquet, per_query.parquet, report.html and result.json. Each file is written
    completely or not at all, tables and the report only if their packages are installed; otherwise those of an earlier
    choice are removed."""
    selection = result.selected
    sizes = result.selected.by_size
    written = [folder / "model.json", folder / MODELS]
    selection.model.save(written[0])
    save_size_models(selection.models, [selection.choice.mean(c) for c in sizes], written[1])
    for name, table in (("path.parquet", path_table), ("per_query.parquet", per_query_table)):
        if has_arrow():
            with atomic_write(folder / name, "wb") as out:
                pq.write_table(table(selection), out, compression="zstd")
            written.append(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return [*written, *write_shown(result, folder)]


def write_shown(result: Result, folder: Path) -> list[Path]:
    """Write report.html, if its package is installed, and result.json."""
    texts = {"result.json": json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n"}
    if has_matplotlib():
        texts = {"report.html": result.render_page(shlex.quote(str(folder))), **texts}
    else:
        (folder / "report.html").unlink(missing_ok=True)
    return write_texts(texts, folder)


def has_matplotlib() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def notes_of_files(store: Store) -> list[str]:
    """Notes on files of a run directory that cannot be written here."""
    if not isinstance(store, WorkStore):
        return []
    return [*([] if has_arrow() else [NO_TABLES]), *([] if has_matplotlib() else [NO_REPORT])]


def write_texts(texts: Mapping[str, str], folder: Path) -> list[Path]:
    for name, text in texts.items():
        with atomic_write(folder / name) as out:
            out.write(text)
    return [folder / name for name in texts]


def path_table(result: SelectionResult) -> pa.Table:
    """A table of all paths, one after the other, with the mean quality of each point that represents a size."""
    metric = repr(result.plan.metric)
    quality = {(c.penalty, c.index): c.mean for c in result.choice.candidates if c.relax == 0}
    parts = []
    for label, path in result.paths.items():
        resolved = pa.array([repr(path.penalty)] * len(path.alphas))
        table = path.to_arrow().set_column(0, "penalty", pa.array([label] * len(path.alphas)))
        table = table.append_column("resolved_penalty", resolved)
        means = [quality.get((label, i), np.nan) for i in range(len(path.alphas))]
        parts.append(table.append_column(metric, pa.array(means, type=pa.float64())))
    return pa.concat_tables(parts)


def per_query_table(result: SelectionResult) -> pa.Table:
    """A table with one row per candidate and query: the metric of choice on queries that the model has not seen."""
    n = result.n_queries
    chosen = result.choice.candidates
    labels = list(dict.fromkeys(c.penalty for c in chosen))
    of_label = np.array([labels.index(c.penalty) for c in chosen], dtype=np.int32)
    of_query = np.tile(np.arange(n, dtype=np.int32), len(chosen))
    return pa.table(
        {
            "penalty": pa.DictionaryArray.from_arrays(np.repeat(of_label, n), labels),
            "relax": np.repeat([c.relax for c in chosen], n),
            "index": np.repeat([c.index for c in chosen], n),
            "n_features": np.repeat([c.n_features for c in chosen], n),
            "query": pa.DictionaryArray.from_arrays(of_query, pa.array(result.query_ids)),
            repr(result.plan.metric): np.concatenate([c.shown for c in chosen]),
        }
    )
