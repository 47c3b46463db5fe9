"""Write any input to one file of ranking text or Parquet, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from sparserank.arrow import pa, pq
from sparserank.data.dataset import numbers
from sparserank.data.letor.writer import letor_lines
from sparserank.data.query_ids import query_codes
from sparserank.data.read_files import PARQUET, open_stream
from sparserank.data.reading import Reading
from sparserank.data.store.opening import is_store
from sparserank.data.streams import RowBlock, Stream
from sparserank.errors import DataError, RunDirectoryError, warn_caller
from sparserank.files import StrPath, atomic_write, refuse_inputs
from sparserank.options import option

TEXT = (".txt", ".letor", ".svm", ".dat")
OTHERS = (".csv", ".tsv", ".gz", ".json", ".jsonl", ".arrow", ".feather")  # endings of files that are only read
# columns of a Parquet file besides the features
QID = "qid"
LABEL = "label"
DOCUMENT = "docno"
WEIGHT = "weight"
Progress = Callable[[int, str], None]


def is_file_name(out: StrPath) -> bool:
    """Whether `write_file` writes a file of this name; other names are for stores.

    Raises
        DataError   the name is that of a file in a format that is only read
    """
    ending = Path(out).suffix.lower()
    if ending in OTHERS and not Path(out).is_dir():
        raise DataError(f"{out}: files ending in {ending} are only read; write .txt or .parquet, or name a store.")
    return ending in TEXT + PARQUET


def write_file(
    paths: Sequence[StrPath],
    out: StrPath,
    reading: Reading | None = None,
    *,
    progress: Progress | None = None,
) -> int:
    """Write one file, completely or not at all; return the number of documents.

    Parameters
        out   a path that does not exist yet; ends in .txt, .letor, .svm or .dat for ranking text, in .parquet or .pq
              for Parquet (columns qid, label, docno, weight if there are weights, then the features)
    Raises
        DataFormatError     invalid input, whose file and line, or row and column, the message names; no row is left
        DataError           for Parquet: sparse features, or a feature with the name of another column;
                            missing='query-min'
        RunDirectoryError   `out` exists, is inside an input or cannot be written; the disk is full
    """
    reading = reading or Reading()
    if reading.policy is not None and reading.policy.by_query:
        raise DataError(
            f"{option('missing', 'query-min')} needs the rows of each query to be adjacent; write a store first, and "
            "then write the file from the store."
        )
    refuse_inputs(out, paths)
    if os.path.lexists(out):
        raise RunDirectoryError(f"{out}: already exists; remove it, or choose another name.")
    if is_store(Path(os.path.realpath(out)).parent):
        raise RunDirectoryError(f"{out}: is inside a store; choose another path.")
    stream = open_stream(paths, reading)
    stream.look()
    base = reading.index_base if stream.text_base is None else stream.text_base
    is_text = Path(out).suffix.lower() in TEXT
    n = 0
    weighted = False

    def blocks() -> Iterator[RowBlock]:
        nonlocal n, weighted
        filling = stream.filling()
        for block in stream.blocks():
            if filling is not None:
                filling.fill(block.X, query_codes(block.qid))
            yield block
            n = n + len(block.label)
            weighted = weighted or block.weight is not None
            if progress is not None:
                progress(n, "written")

    if is_text:
        with atomic_write(out) as text:
            for block in blocks():
                text.writelines(letor_lines(block.X, block.label, block.qid, block.docid, None, base))
    else:
        _write_parquet(out, blocks(), stream)
    if weighted and is_text:
        warn_caller(f"{out}: ranking text contains no weights, so they were left out.")
    return n


def _write_parquet(out: StrPath, blocks: Iterator[RowBlock], stream: Stream) -> None:
    if stream.sparse:
        raise DataError(
            f"{out}: Parquet files can contain only dense features, but these are sparse; write ranking text (.txt) or "
            "a store."
        )
    names = stream.known_names or numbers(stream.n_features)
    clash = next((name for name in (QID, LABEL, DOCUMENT, WEIGHT) if name in names), None)
    if clash is not None:
        raise DataError(
            f"{out}: a feature and another column are both called {clash!r}; rename the feature with "
            f"{option('feature_names')}."
        )
    with atomic_write(out, "wb") as raw:
        tables = (_table(block, names) for block in blocks)
        first = next(tables)
        with pq.ParquetWriter(raw, first.schema, compression="zstd") as writer:
            for table in chain([first], tables):
                writer.write_table(table.cast(first.schema))


def _table(block: RowBlock, names: Sequence[str]) -> pa.Table:
    docid = [""] * len(block.label) if block.docid is None else block.docid.tolist()
    qid = pa.array(block.qid.tolist())  # as a list: Arrow cuts strings of a NumPy array at a NUL
    columns = {QID: qid, LABEL: pa.array(block.label), DOCUMENT: pa.array(docid, pa.string())}
    if block.weight is not None:
        columns[WEIGHT] = pa.array(block.weight)
    for j, name in enumerate(names):
        columns[name] = pa.array(np.ascontiguousarray(block.X[:, j]))
    return pa.table(columns)
