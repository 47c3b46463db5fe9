"""`sparserank inspect`: the contents of a data file or a model file."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.output import FAILED_CHECK, answer, give
from sparserank.cli.reading import documents_for, model_of, reading_of, require, require_no_reading
from sparserank.cli.screen import note, say, show_all, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparserank.model.fusion import FusionFormula
    from sparserank.report.document import Cells

# Matches the beginning of a search request. In place of its object, a run has numbers; the keys qid and ratings exclude
# responses and judged requests.
BEGINS_REQUEST = re.compile(
    rb'\s*\{(?!.*"(?:qid|ratings)"\s*:).*"(?:query|retriever|source|params)"\s*:\s*\{\s*"\w+"\s*:\s*[{\["]', re.DOTALL
)
HELP = """Show the contents of data files, a store, a run, judgments, a model file or a search request.

For a table (Parquet, CSV, Arrow), you do not have to name any column. The command shows each column, guesses \
which columns are the label, the query, the document and the features, and prints the next command, ready to paste.

[bold]Examples[/bold]

  sparserank inspect train.txt

  sparserank inspect train.parquet

  sparserank inspect run/model.json

  sparserank inspect bm25.run

  sparserank inspect store/ --verify

Of a search request without names, it prints the request with names:

  sparserank inspect search.json > named.json

With a model and new data, it compares the columns that the model uses with those of training:

  sparserank inspect run/model.json new.parquet --fail-if-drift
"""


def run(*, files: list[Path], verify: bool = False, fail_if_drift: bool = False, **options: Any) -> None:
    """Options are those of `Reading`."""
    from sparserank.cli.data_summary import summary_of, suspicious
    from sparserank.cli.inspect_tables import show_tables
    from sparserank.data.missing import KEEP
    from sparserank.data.read import verify_store
    from sparserank.data.read_files import TABLES, head_of, kind_of, read_files
    from sparserank.data.run_reader import TABLE, kind_of_content
    from sparserank.model.file_format import FORMAT

    first, *others = files
    head = (head_of(first) or b"") if first.is_file() else b""
    is_model = (first / "model.json").is_file() or FORMAT.encode() in head
    if others and is_model:
        require(not verify, "--verify", "applies to stores.")
        _drift(first, others, options, fail=fail_if_drift)
        return
    require(not fail_if_drift, "--fail-if-drift", "needs a model, then data.")
    if not others and BEGINS_REQUEST.match(head):
        _request(first)
        return
    reading = reading_of(options, flags=True)
    entry_kind = "" if others else kind_of_content(first)
    if entry_kind and entry_kind != TABLE:  # the columns of a table are shown
        _entries(first, entry_kind)
        return
    if not others and (is_model or first.suffix == ".json"):
        _model(first)
        return
    for file in files if verify else []:
        verify_store(file)
        say(f"{file}: every file is unchanged since it was written")
    kind = kind_of(first)
    if kind in TABLES:
        show_tables(files, kind, reading)
        return
    data = read_files(files, replace(reading, missing=KEEP) if reading.missing is None else reading)
    summary, rows = summary_of(files, data, suspicions=[*suspicious(data).values()])
    _show_summary(" ".join(map(str, files)), summary, rows)


def _entries(path: Path, kind: str) -> None:
    """Show a summary of a run or of judgments."""
    import numpy as np

    from sparserank.cli.data_summary import shown_value
    from sparserank.data.run_reader import JUDGMENTS, read_qrels, read_run
    from sparserank.errors import DataFormatError

    entries = read_qrels(path) if kind == JUDGMENTS else read_run(path)
    if not entries:
        raise DataFormatError(f"{path}: contains no entry.")
    values = np.array([*entries.values()])
    depths = np.array([*Counter(q for q, _ in entries).values()])
    grades, counts = np.unique(values, return_counts=True)
    summary: dict[str, Any] = {
        "file": str(path),
        "kind": kind,
        "queries": len(depths),
        "documents": len({d for _, d in entries}),
        "documents per query": f"{depths.min()} to {depths.max()}, median {np.median(depths):g}",
    }
    if kind == JUDGMENTS:
        summary["grades"] = {f"{v:g}": int(c) for v, c in zip(grades, counts, strict=True)}
    else:
        summary["scores"] = f"{values.min():g} to {values.max():g}"
    _show_summary(f"{path}: {kind}", summary, [[name, shown_value(summary[name])] for name in list(summary)[2:]])


def _show_summary(title: str, summary: dict[str, Any], rows: Cells) -> None:
    """Set the summary as the result for programs, and print these rows of it for people."""
    from sparserank.cli.data_summary import shown_value

    give(summary, [{"fact": name, "value": shown_value(value)} for name, value in summary.items()])
    table(title, ["", ""], rows)


def _model(path: Path) -> None:
    from sparserank.model.fusion import formula_of, is_fusion
    from sparserank.model.size_models import load_model
    from sparserank.model.training_record import VALUES
    from sparserank.report.tables import column_table

    model = load_model(path)
    if is_fusion(model):
        _formula(path, formula_of(model), model.metadata)
        return
    known = {**model.parameters, **model.metadata}
    settings = " ".join(f"{key}={value}" for key, value in known.items() if key != VALUES)
    content = model.to_json()
    give(content, [{name: f[name] for name in f if name != "steps"} for f in content["features"]])
    knows = any(f.missing is not None for f in model.features)
    rows = []
    steps = []
    for name, weight in model.weights.items():
        f = model.sources[name][0]
        if f.derived is not None:  # the feature is a level of a category, or says whether a number is missing
            rows.append([name, f"{weight:.6g}", *["-"] * (4 + knows)])
            continue
        is_raw = f.kind == "none" and not (model.logarithmic or model.per_query)
        numbers = [f"{f.coef:.6g}", f.kind, f"{f.mean:.6g}", f"{f.scale:.6g}", f"{f.slope:.6g}" if is_raw else "-"]
        fill = "refused" if f.missing is None else f"{f.missing:.6g}"
        rows.append([name, *numbers, *([fill] if knows else [])])
        if f.steps is not None:
            begins = f.steps.begins.tolist()
            values = (f.coef * f.steps.values).tolist()
            adds = ", ".join(f"{x:.4g}: {y:.4g}" for x, y in zip(begins, values, strict=True))
            steps.append([name, f"{min(values):.4g}", f"{max(values):.4g}", adds])
    columns = ["feature", "weight", "transform", "center", "scale", "weight on raw values"]
    table(
        f"{path}: {len(model.columns)} of {model.n_available} features, scaling {model.scaling}",
        [*columns, *(["missing value"] if knows else [])],
        rows,
    )
    levels = column_table(model)
    show_all([levels] if levels.rows else [])
    if steps:
        table(
            "steps: contribution to the score beyond each value of the feature",
            ["feature", "lowest", "highest", "beyond: adds"],
            steps,
        )
    say(settings)


def _request(path: Path) -> None:
    """Show the clauses of a search request. A request that cannot be tuned as it is, is printed in a form that can."""
    from sparserank.export.linear_weights import json_text
    from sparserank.requests.search_query import EXPECTED, proposed, search_query
    from sparserank.strict_json import read_json

    body = read_json(path, EXPECTED)
    named, notes = proposed(body, str(path))
    for sentence in notes:
        note(f"note: {sentence}")
    if named is not None:
        print(json_text(named), end="")
        return
    request = search_query(body, str(path))
    if request.unnamed:
        n = len(request.unnamed)
        name = "value in fl" if request.of_solr else "_name"
        note(f"note: {n} of its scored clauses have no {name} and keep their boosts; name what is to be tuned.")
    clauses = request.clauses.values()
    rows = [{"clause": c.name, "boost": c.boost, "boosts around": c.outer, "must": c.must} for c in clauses]
    give(rows)
    cells = [[c.name, f"{c.boost:g}", f"{c.outer:g}", "must" if c.must else "should"] for c in clauses]
    table(f"{path}: a search request", ["clause", "boost", "boosts around", "part"], cells)


def _drift(path: Path, data: list[Path], options: dict[str, Any], *, fail: bool) -> None:
    """How the values of the model's columns in new data differ from those of training."""
    from sparserank.model.drift import FALSE_ALARMS, TOP, drift
    from sparserank.model.training_record import RISES, of_whole_columns

    odd = {name: options.get(name) for name in ("missing", "n_features", "categories")}
    require_no_reading("a comparison with training", **odd)
    model = model_of(path, None)
    options = {"unjudged": "zero", **options}
    documents = documents_for([of_whole_columns(model)], [path], data, options, labelled=False, grouped=True)
    rows = drift(model, documents)
    give(rows, [{**row, "drift": " ".join(row["drift"])} for row in rows])
    cells = []
    has_deep_lists = documents.sizes.max() > TOP  # otherwise every document is in the top ranks
    for r in rows:
        missing, outside, distance = (_compared(r, rule, rise) for rule, rise in RISES.items())
        of_training = f"{r['training_missing']:.1%}" if "training_missing" in r else "-"
        spans = ["-", "-"]
        if "median" in r:
            spans = [
                f"{r[f'{of}median']:.4g} ({r[f'{of}low']:.4g} to {r[f'{of}high']:.4g})" for of in ("", "training_")
            ]
        word = ", ".join(r["drift"]) or "no"
        changed = f"{r['changed']:.0%}" if has_deep_lists else "-"
        cells.append([r["feature"], missing, of_training, *spans, outside, distance, changed, word])
    head = f"{path}: {documents.n_queries:,} queries, {documents.n_docs:,} documents, beside those of training"
    before = ["missing in training", "median (5 to 95%)", "median in training"]
    table(head, ["feature", "missing", *before, "outside", "distance", "top 10s", "drift"], cells)
    more, beyond, apart = (f"{rise:.0%}" for rise in RISES.values())
    say(
        f"drift: {more} more values missing; {beyond} more outside of those of training (of a category: levels without "
        f"a feature); or proportions that differ by {apart} (distance). Each must be beyond what queries like those of "
        f"training show by chance ('of': this limit): in at most {100 * FALSE_ALARMS:.0f} of 100 comparisons with such "
        f"queries, any column drifts. top 10s: share of queries with other documents among the first {TOP} if the "
        "column is held at one value."
    )
    answer().code = FAILED_CHECK if fail and any(r["drift"] for r in rows) else 0


def _compared(row: dict[str, Any], rule: str, rise: float) -> str:
    """The share of new values for a rule, such as '12.0%'. If its rise is large enough for drift, the limit follows
    that it must exceed to be more than noise."""
    if rule not in row:
        return "-"
    beyond = row[rule] - row.get(f"training_{rule}", math.inf) > rise
    return f"{row[rule]:.1%}" + (f" of {row[f'{rule}_limit']:.0%}" if beyond else "")


def _formula(path: Path, formula: FusionFormula, metadata: Mapping[str, Any]) -> None:
    from sparserank.selection.claims import counted
    from sparserank.text import figure

    terms = [{"retriever": t.retriever, "weight": t.weight} for t in formula.terms]
    content = {"norm": str(formula.norm), "depth": formula.depth, "engine": formula.engine, "retrievers": terms}
    give({**content, "metadata": dict(metadata)}, terms)
    table(
        f"{path}: {counted(len(terms), 'retriever')}, norm {formula.norm}, lists cut at rank {formula.depth}",
        ["retriever", "weight"],
        [[t.retriever, f"{t.weight:.6g}"] for t in formula.terms],
    )
    details = {"engine": formula.engine} | {key: metadata.get(key) for key in ("metric", "quality", "quality_from")}
    if isinstance(details["quality"], float):
        details["quality"] = figure(details["quality"])
    say("; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in details.items() if value is not None))
