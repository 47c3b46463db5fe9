"""`sparserank convert`: from files of any kind to an on-disk store, and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sparserank.cli import options as opt
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, counting, say

HELP = """Write an on-disk store: every command takes it wherever it takes files, and reads features when they are used.

Reads LETOR text, gzip, Parquet, CSV, Arrow, folders of Parquet files, Solr and Elasticsearch feature logs (one JSON \
object per line) and other
stores, in bounded memory. Queries whose rows stand in several places are gathered. Killed and started again it goes \
on. With an OUT
that ends in .txt or .parquet it writes that file instead.

[bold]Examples[/bold]

  sparserank convert train.txt.gz store/

  sparserank convert 2024.parquet 2025.parquet store/ --label-column grade --qid-column query

  sparserank convert valid.parquet valid-store/ --like store/

  sparserank select store/ --valid valid-store/ --out run

  sparserank convert store/ train.parquet
"""


FACTS = ("n_docs", "n_queries", "n_features", "dtype", "sparse")


def convert(
    files: Annotated[
        list[Path], typer.Argument(help="Files of one kind, then the store (or file) to write.", show_default=False)
    ],
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype", help="float32 or float64. \\[default: float32; that of a store that is read]", show_default=False
        ),
    ] = None,
    sparse: Annotated[
        bool | None,
        typer.Option(
            "--sparse/--dense",
            help="How features of text are kept. \\[default: whichever is smaller]",
            show_default=False,
        ),
    ] = None,
    shard_mb: Annotated[int, typer.Option("--shard-mb", min=1, help="Megabytes of features per shard.")] = 128,
    doc_weight: Annotated[
        str | None,
        typer.Option(
            "--doc-weight-column", help="Column of a table with the weights of documents.", rich_help_panel=opt.READING
        ),
    ] = None,
    n_features: opt.NFeatures = None,
    missing: opt.Missing = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    feature_names: opt.FeatureNames = None,
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            help="Store of the training data: its features in their order, and its values for missing ones.",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Discard what OUT already holds.")] = False,
    threads: opt.Threads = None,
) -> None:
    opt.require(len(files) >= 2, "FILES", "name what to read and then what to write.")
    opt.require(dtype in (None, "float32", "float64"), "--dtype", f"must be float32 or float64; got {dtype!r}.")
    reading = opt.reading_of(
        n_features=n_features,
        missing=missing,
        index_base=index_base,
        unjudged=unjudged,
        feature_names=feature_names,
        threads=threads,
        label_column=label_column,
        qid_column=qid_column,
        docid_column=docid_column,
        feature_columns=feature_columns,
        ignore_columns=ignore_columns,
    )
    reading = replace(reading, dtype=dtype, sparse=sparse, doc_weight=doc_weight)

    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.data.rewrite import is_file_name, rewrite
    from sparserank.data.store.convert import convert as to_store

    *sources, out = files
    announce_compiling(parse_lines)
    if is_file_name(out):
        opt.require(like is None, "--like", "is for stores.")
        with counting("documents") as progress:
            n = rewrite(sources, out, reading, progress=progress)
        give({"wrote": str(out), "n_docs": n}, [{"wrote": str(out), "n_docs": n}])
        say(f"wrote {out}: {n} documents")
        return
    with resumable(out, restart=restart), counting("documents") as progress:
        store = to_store(
            sources, out, reading, shard_bytes=shard_mb << 20, restart=restart, like=like, progress=progress
        )
    facts = {"wrote": str(out), **{name: store[name] for name in FACTS}, "n_shards": len(store["shards"])}
    give(facts, [facts])
    kind = "sparse" if store["sparse"] else "dense"
    say(
        f"wrote {out}: {store['n_docs']} documents, {store['n_queries']} queries, {store['n_features']} features "
        f"({kind} {store['dtype']}) in {len(store['shards'])} shards"
    )
