"""From any input back to one file, in bounded memory: ranking text or Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from sparserank.data.reading import Reading
from sparserank.data.streams import RowBlock, Stream, open_stream
from sparserank.data.writers import letor_lines
from sparserank.errors import DataError
from sparserank.files import atomic_write, refuse_inputs

TEXT, PARQUET = (".txt", ".letor", ".svm", ".dat"), (".parquet", ".pq")


def is_file_name(out: str | os.PathLike) -> bool:
    """Whether `rewrite` writes to such a name; other names are those of stores."""
    return Path(out).suffix.lower() in TEXT + PARQUET


def rewrite(
    paths: Sequence[str | os.PathLike],
    out: str | os.PathLike,
    reading: Reading | None = None,
    *,
    progress: Callable[[int, str], None] | None = None,
) -> int:
    """Write one file, whole or not at all; returns the number of documents.

    Parameters
        out   ends in .txt, .letor, .svm or .dat for ranking text, .parquet or .pq for Parquet (columns qid, label, docno where there
              are document ids, weight where there are weights, then the features)
    Raises
        DataFormatError     names file and line, or row and column
        DataError           sparse features for Parquet
        RunDirectoryError   the file cannot be written, is one of the inputs, the disk is full
    """
    refuse_inputs(out, paths)
    stream = open_stream(paths, reading or Reading())
    write = _write_text if Path(out).suffix.lower() in TEXT else _write_parquet
    return write(stream, out, (reading or Reading()).index_base, progress)


def _write_text(
    stream: Stream, out: str | os.PathLike, index_base: int, progress: Callable[[int, str], None] | None
) -> int:
    n = 0
    with atomic_write(out) as text:
        for block in stream.blocks():
            text.writelines(letor_lines(block.X, block.label, block.qid, block.docid, None, index_base))
            n += len(block.label)
            if progress is not None:
                progress(n, "written")
    return n


def _write_parquet(
    stream: Stream, out: str | os.PathLike, index_base: int, progress: Callable[[int, str], None] | None
) -> int:
    if stream.sparse:
        raise DataError(
            f"{out}: Parquet holds dense features, and these are sparse; write ranking text (.txt) or a store."
        )
    names = stream.feature_names or tuple(f"f{j + 1}" for j in range(stream.n_features))
    n, writer = 0, None
    with atomic_write(out, "wb") as raw:
        for block in stream.blocks():
            table = _table(block, names)
            writer = writer or pq.ParquetWriter(raw, table.schema, compression="zstd")
            writer.write_table(table)
            n += len(block.label)
            if progress is not None:
                progress(n, "written")
        if writer is not None:
            writer.close()
    return n


def _table(block: RowBlock, names: Sequence[str]) -> pa.Table:
    columns = {"qid": pa.array(block.qid), "label": pa.array(block.label)}
    if block.docid is not None:
        columns["docno"] = pa.array(block.docid.tolist(), pa.string())
    if block.weight is not None:
        columns["weight"] = pa.array(block.weight)
    assert not sp.issparse(block.X)
    return pa.table(columns | {name: pa.array(np.ascontiguousarray(block.X[:, j])) for j, name in enumerate(names)})
