"""`sparserank evaluate`: metrics of models, runs or score files, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, note, say, table
from sparserank.quoting import brief
from sparserank.reporting.document import figure, p_text

if TYPE_CHECKING:
    from sparserank.metrics import Metric

HELP = """Evaluate one or several systems on judged documents: means, intervals, paired tests, Holm correction.

A system is a model file, a TREC run or a file with one score per line in file order, whatever it is called. The \
first is the one that
the others are tested against. With --qrels, TREC judgments take the place of judged documents: all of their queries \
count, those that a run misses with 0.

[bold]Examples[/bold]

  sparserank evaluate test.txt --system run/model.json --metric ndcg@10 --metric map

  sparserank evaluate test.txt --system sparse.json --system dense.json --system bm25.run --convention letor4

  sparserank evaluate --qrels test.qrels --system now.run --system new.run --metric ndcg@10

  sparserank evaluate test.txt --system run/model.json --format csv
"""


def evaluate(
    system: Annotated[
        list[Path], typer.Option("--system", help="Model, TREC run or score file; may be repeated.", show_default=False)
    ],
    data: Annotated[
        list[Path] | None, typer.Argument(help="LETOR files or tables with judgments.", show_default=False)
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", help="TREC judgments instead, for runs.", show_default=False)
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Metric; may be repeated. \\[default: ndcg@10, map]", show_default=False),
    ] = None,
    convention: Annotated[
        str | None,
        typer.Option(
            "--convention",
            help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. \\[default: default; trec with "
            "--qrels]",
            show_default=False,
        ),
    ] = None,
    n_features: opt.NFeatures = None,
    missing: opt.MissingOfModel = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
) -> None:
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.data.read import read_files
    from sparserank.data.trec import read_qrels, read_run
    from sparserank.evaluation import evaluate as compare
    from sparserank.metrics import parse_convention, parse_metric

    reading = opt.reading_of(
        n_features=n_features,
        missing=opt.of_reading(missing),
        index_base=index_base,
        unjudged=unjudged,
        label_column=label_column,
        qid_column=qid_column,
        docid_column=docid_column,
        feature_columns=feature_columns,
        ignore_columns=ignore_columns,
    )
    opt.require(bool(data) != (qrels is not None), "DATA", "judged documents or --qrels, one of them, is needed.")
    rules = opt.parsed("--convention", parse_convention, convention or ("default" if qrels is None else "trec"))
    metrics = [opt.parsed("--metric", lambda m: parse_metric(m, rules), m) for m in metric or ["ndcg@10", "map"]]
    opt.require(len(set(system)) == len(system), "--system", "names the same file twice.")
    kinds = {path: _kind_of(path) for path in system}
    if qrels is not None:
        other = next((path for path in system if kinds[path] != "run"), None)
        opt.require(other is None, "--system", f"must be TREC runs with --qrels; {other} is none.")
        judgments, runs = read_qrels(qrels), {str(path): read_run(path) for path in system}
        for name, found in runs.items():
            absent = sorted({q for q, _ in judgments} - {q for q, _ in found})
            if absent:
                note(
                    f"note: {name} has nothing for {len(absent)} of the judged queries, e.g. {brief(absent[0])}; they "
                    "count 0 (trec_eval -c)."
                )
        _show(compare(runs, judgments, metrics).rows(), judgments.documents(list(runs.values())), metrics)
        return
    assert data
    models = {path: opt.model_of(path, missing) for path in system if kinds[path] == "model"}
    widths = {m.n_features for m in models.values()}
    width = n_features or (max(widths) if widths else None)
    announce_compiling(parse_lines)
    reading = replace(reading, featureless=not models)
    judged = read_files(data, opt.for_models(replace(reading, n_features=width), list(models.values()), data))
    scores: dict[str, Any] = {}
    for path in system:
        if kinds[path] == "run":
            scores[str(path)] = read_run(path)
        else:
            scores[str(path)] = models[path].score_dataset(judged) if path in models else _scores(path, judged)
    _show(compare(scores, judged, metrics).rows(), judged, metrics)


def _kind_of(path: Path) -> str:
    """'model', 'run' or 'scores', by the first line that holds something."""
    from sparserank.data.text_lines import text_lines
    from sparserank.data.trec import RUN
    from sparserank.errors import DataFormatError

    expected = f"a model file (JSON), a TREC run (lines '{RUN}') or one score per line"
    for _, text in text_lines(path, expected):
        fields = text.split()
        if fields:
            kind = "model" if fields[0].startswith("{") else {6: "run", 1: "scores"}.get(len(fields))
            if kind is None:
                raise DataFormatError(f"{path}: expected {expected}; its first line is {brief(text)}.")
            return kind
    raise DataFormatError(f"{path}: is empty; expected {expected}.")


def _scores(path: Path, data: Any) -> Any:
    """Scores of a plain file with one score per line."""
    import numpy as np

    from sparserank.data.text_lines import read_numbers
    from sparserank.errors import DataFormatError

    scores = read_numbers(path, "score", "a finite number", lambda v: True)
    if len(scores) != data.n_docs:
        raise DataFormatError(
            f"{path}: {len(scores)} scores for {data.n_docs} documents; give one per line, in file order."
        )
    return np.array(scores)


def _show(rows: list[dict[str, Any]], data: Any, metrics: list[Metric]) -> None:
    from sparserank.evaluation.statistics import DEFAULT_CONFIDENCE, as_percent

    give(rows, rows)
    titles = {repr(m): m.title for m in metrics}
    table(
        f"{data.n_queries} queries, {data.n_docs} documents; {as_percent(DEFAULT_CONFIDENCE)} intervals; differences "
        "to the first system, paired t test",
        ["system", "metric", "mean", "interval", "difference", "interval", "p", "p (Holm)"],
        [
            [
                r["system"],
                titles[r["metric"]],
                figure(r["mean"]),
                f"[{figure(r['low'])}, {figure(r['high'])}]",
                figure(r.get("difference"), signed=True),
                f"[{figure(r['difference_low'], signed=True)}, {figure(r['difference_high'], signed=True)}]"
                if "difference" in r
                else "",
                p_text(r.get("p_value")),
                p_text(r.get("p_holm")),
            ]
            for r in rows
        ],
    )
    for r in rows:
        if r["metric"] == rows[0]["metric"] and "difference" in r:
            word = "better" if r["difference"] > 0 else "worse"
            interval = f"[{figure(r['difference_low'], signed=True)}, {figure(r['difference_high'], signed=True)}]"
            shown = (
                ""
                if r["difference_low"] > 0 or r["difference_high"] < 0
                else "; these queries cannot tell the two apart"
            )
            say(
                f"{r['system']} is {word} than {rows[0]['system']} by {figure(abs(r['difference']))} {r['metric']}, "
                f"{interval}{shown}."
            )
