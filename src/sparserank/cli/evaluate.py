"""`sparserank evaluate`: metrics of models, runs or score files, compared."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.screen import announce_compiling, table, visible_row
from sparserank.reports.document import figure, p_text

HELP = """Evaluate one or several systems on judged documents: means, intervals, paired tests, Holm correction.

A system is a model file (.json), a TREC run (.run) or a file with one score per line in file order. The first is the one that
the others are tested against.

[bold]Examples[/bold]

  sparserank evaluate test.txt --system run/model.json --metric ndcg@10 --metric map

  sparserank evaluate test.txt --system sparse.json --system dense.json --system bm25.run --convention letor4

  sparserank evaluate test.txt --system run/model.json --format csv
"""


def evaluate(
    data: Annotated[list[Path], typer.Argument(help="LETOR files with judgments.", show_default=False)],
    system: Annotated[
        list[Path], typer.Option("--system", help="Model, TREC run or score file; may be repeated.", show_default=False)
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Metric; may be repeated. [default: ndcg@10, map]", show_default=False),
    ] = None,
    convention: opt.Convention = "default",
    format: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    n_features: opt.NFeatures = None,
    missing: opt.Missing = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    feature_columns: opt.FeatureColumns = None,
) -> None:
    from sparserank.data._letor_kernels import parse_lines
    from sparserank.data.read import read_files
    from sparserank.evaluation import evaluate as compare
    from sparserank.metrics import parse_convention, parse_metric
    from sparserank.model_file import load_model

    reading = opt.reading_of(
        n_features=n_features, missing=missing, index_base=index_base, unjudged=unjudged, label_column=label_column,
        qid_column=qid_column, feature_columns=feature_columns,
    )  # fmt: skip
    rules = opt.parsed("--convention", parse_convention, convention)
    metrics = [opt.parsed("--metric", lambda m: parse_metric(m, rules), m) for m in metric or ["ndcg@10", "map"]]
    opt.require(format in WRITERS, "--format", f"must be one of {', '.join(WRITERS)}; got {format!r}.")
    opt.require(len(set(system)) == len(system), "--system", "names the same file twice.")
    models = {path: load_model(path) for path in system if path.suffix == ".json"}
    widths = {m.n_features for m in models.values()}
    width = n_features or (max(widths) if widths else None)
    announce_compiling(parse_lines)
    judged = read_files(data, opt.for_models(replace(reading, n_features=width), list(models.values()), data))
    scores = {
        str(path): models[path].score_dataset(judged) if path in models else _scores(path, judged) for path in system
    }
    WRITERS[format](compare(scores, judged, metrics).rows(), judged)


def _scores(path: Path, data: Any) -> Any:
    """Scores of a TREC run, or of a plain file with one score per line."""
    import numpy as np

    from sparserank.data.text_lines import read_numbers
    from sparserank.data.writers import read_run, run_scores
    from sparserank.errors import DataFormatError

    if path.suffix == ".run":
        return run_scores(read_run(path), data, path)
    scores = read_numbers(path, "score", "a finite number", lambda v: True)
    if len(scores) != data.n_docs:
        raise DataFormatError(
            f"{path}: {len(scores)} scores for {data.n_docs} documents; give one per line, in file order."
        )
    return np.array(scores)[data.row_index]


def _as_table(rows: list[dict[str, Any]], data: Any) -> None:
    from sparserank.evaluation.statistics import DEFAULT_CONFIDENCE, as_percent

    table(
        f"{data.n_queries} queries, {data.n_docs} documents; {as_percent(DEFAULT_CONFIDENCE)} intervals; differences to the first system, paired t test",
        ["system", "metric", "mean", "interval", "difference", "interval", "p", "p (Holm)"],
        [
            [r["system"], r["metric"], figure(r["mean"]), f"[{figure(r['low'])}, {figure(r['high'])}]",
             figure(r.get("difference"), signed=True),
             f"[{figure(r['difference_low'], signed=True)}, {figure(r['difference_high'], signed=True)}]" if "difference" in r else "",
             p_text(r.get("p_value")), p_text(r.get("p_holm"))]
            for r in rows
        ],
    )  # fmt: skip


def _as_csv(rows: list[dict[str, Any]], data: Any) -> None:
    fields = list(dict.fromkeys(key for row in rows for key in row))
    out = csv.DictWriter(sys.stdout, fields, lineterminator="\n")
    out.writeheader()
    out.writerows(visible_row(row) for row in rows)


def _as_json(rows: list[dict[str, Any]], data: Any) -> None:
    clean = [{k: None if v != v else v for k, v in row.items()} for row in rows]
    print(json.dumps(clean, indent=1))


WRITERS: dict[str, Callable[[list[dict[str, Any]], Any], None]] = {"table": _as_table, "csv": _as_csv, "json": _as_json}
