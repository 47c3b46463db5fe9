"""`sparserank explain`: why documents of a query stand where they stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, say, table
from sparserank.reporting.document import figure

HELP = """Say why documents of a query stand where they stand: what each feature adds, and why one document is above \
another.

A score is a sum over features, so this is exact: contributions are what a feature adds above its mean over the query.

[bold]Examples[/bold]

  sparserank explain run/model.json test.txt --query 18219

  sparserank explain run/model.json test.txt --query 18219 --pair GX020-25-8391882 --pair GX037-06-11625428
"""


def explain(
    model: Annotated[Path, typer.Argument(help="Model file of select or fit.", show_default=False)],
    data: Annotated[list[Path], typer.Argument(help="Files with the query.", show_default=False)],
    query: Annotated[str, typer.Option("--query", help="Id of the query.", show_default=False)],
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair", help="Two documents of it, by their ids: why the first is above the second.", show_default=False
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Documents that are shown, best first.")] = 10,
    missing: opt.MissingOfModel = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "zero",
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
) -> None:
    from sparserank.data.kinds import TABLES, kind_of
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.data.read import read_files
    from sparserank.data.tables.batches import open_table
    from sparserank.data.tables.roles import LABEL
    from sparserank.export.explanation import explain_query

    opt.require(pair is None or len(pair) == 2, "--pair", "is needed twice, once for each document.")
    reading = opt.reading_of(
        missing=opt.of_reading(missing),
        index_base=index_base,
        unjudged=unjudged,
        label_column=label_column,
        qid_column=qid_column,
        docid_column=docid_column,
        feature_columns=feature_columns,
        ignore_columns=ignore_columns,
    )
    kind = kind_of(data[0])
    labelled = kind not in TABLES or (label_column or LABEL) in open_table(data[0], kind).schema.names
    loaded = opt.model_of(model, missing)
    announce_compiling(parse_lines)
    reading = opt.for_models(replace(reading, n_features=loaded.n_features, labelled=labelled), [loaded], data)
    found = explain_query(loaded, read_files(data, reading), query)
    compared = None if pair is None else found.pair(*pair)
    documents: list[dict[str, Any]] = [
        {
            "document": found.documents[i],
            "label": float(found.relevance[i]) if labelled else None,
            "score": float(found.scores[i]),
            "contributions": dict(zip(found.features, found.contributions[i].tolist(), strict=True)),
        }
        for i in range(min(most, len(found.documents)))
    ]
    each = [
        {**{k: v for k, v in d.items() if k != "contributions"}, "feature": feature, "contribution": value}
        for d in documents
        for feature, value in d["contributions"].items()
    ]
    give({"query": found.query, "documents": documents, "pair": compared}, each if compared is None else compared)
    if compared is None:
        table(
            f"Query {found.query}: {len(found.documents)} documents, and what moves each most from their mean",
            ["document", "label", "score", "features"],
            [
                [
                    found.documents[i],
                    f"{found.relevance[i]:g}" if labelled else "-",
                    figure(found.scores[i]),
                    ", ".join(f"{name} {figure(value, signed=True)}" for name, value in found.drivers(i)),
                ]
                for i in range(min(most, len(found.documents)))
            ],
        )
        return
    assert pair is not None
    table(
        f"Query {found.query}: {pair[0]} beside {pair[1]}",
        ["feature", pair[0], pair[1], "adds"],
        [
            [r["feature"], f"{r['above']:.6g}", f"{r['below']:.6g}", figure(r["difference"], signed=True)]
            for r in compared
        ],
    )
    total = sum(r["difference"] for r in compared)
    say(
        f"together {figure(total, signed=True)}: {pair[0] if total > 0 else pair[1]} is above."
        if total
        else "together 0: a tie."
    )
