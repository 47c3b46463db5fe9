"""`sparserank convert`: from files of any kind to an on-disk store, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.cli.interrupts import resumable
from sparserank.cli.output import give
from sparserank.cli.reading import reading_of, require
from sparserank.cli.screen import counting_documents, say

HELP = """Write an on-disk store. Every command accepts a store in place of files, and reads features when needed.

The input is LETOR text, gzip, Parquet, CSV, Arrow, folders of Parquet files, Solr and Elasticsearch feature logs (one \
JSON object per line) or other stores. It is read in bounded memory, and the rows of each query are brought together. \
If the command is killed, run it again to resume. If OUT ends in .txt or .parquet, the command writes that \
file instead; files in other formats are only read.

Use only your own stores: later, only damage is looked for. Of others, ask for the files and convert those.

[bold]Examples[/bold]

  sparserank convert train.txt.gz store/

  sparserank convert 2024.parquet 2025.parquet store/ --label-column grade --qid-column query

  sparserank convert valid.parquet valid-store/ --like store/

  sparserank select store/ --valid valid-store/ --out run

  sparserank convert store/ train.parquet
"""


STORE_FIELDS = ("n_docs", "n_queries", "n_features", "dtype", "sparse")


def run(
    *, files: list[Path], shard_mb: int = 128, like: Path | None = None, restart: bool = False, **options: Any
) -> None:
    """Options are those of `Reading`."""
    require(len(files) >= 2, "FILES", "needs the files to read, then the store or file to write.")
    reading = reading_of(options)

    from sparserank.data.read_files import TABLES, kind_of
    from sparserank.data.store.convert import convert as to_store
    from sparserank.data.write_files import is_file_name, write_file

    *sources, out = files
    if reading.doc_weight is not None:
        require(
            kind_of(sources[0]) in TABLES, "--doc-weight", f"names a column of a table; {sources[0]} is not a table."
        )
    if is_file_name(out):
        require(like is None, "--like", "applies only to stores.")
        with counting_documents() as progress:
            n = write_file(sources, out, reading, progress=progress)
        give({"wrote": str(out), "n_docs": n})
        say(f"wrote {out}: {n} documents")
        return
    with resumable(out, restart=restart), counting_documents() as progress:
        store = to_store(
            sources, out, reading, shard_bytes=shard_mb << 20, restart=restart, like=like, progress=progress
        )
    document = {"wrote": str(out), **{name: store[name] for name in STORE_FIELDS}, "n_shards": len(store["shards"])}
    give(document)
    kind = "sparse" if store["sparse"] else "dense"
    say(
        f"wrote {out}: {store['n_docs']} documents, {store['n_queries']} queries, {store['n_features']} features "
        f"({kind} {store['dtype']}) in {len(store['shards'])} shards"
    )
