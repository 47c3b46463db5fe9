"""Write data to a temporary store, which the workers of a cluster read and which exists as long as it is used."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sparserank.data.dataset import RankingDataset, numbered
from sparserank.data.matrices import stored_values
from sparserank.data.store.manifest import VERSION
from sparserank.data.store.opening import open_store
from sparserank.data.store.writing import Conversion
from sparserank.data.streams import BEGIN, RowBlock, Stream, StreamPosition, block_of
from sparserank.execution import SHARD_BYTES
from sparserank.transforms import Transform
from sparserank.workdir.directory import WorkDirectory

BLOCK_BYTES = 32 << 20  # approximate size of the features of a block


class DatasetRows(Stream):
    """The rows of a data set; optionally with its features under a transform."""

    def __init__(self, data: RankingDataset, transform: Transform | None = None) -> None:
        self._data = data
        self._transform = transform
        self.n_features = data.n_features
        self.dtype = data.X.dtype
        self.sparse = data.is_sparse
        names = data.names
        self.text_base = data.index_base
        self.feature_names = None if numbered(names, self.text_base) else names

    def as_dataset(self) -> RankingDataset | None:
        return self._data if self._transform is None else None

    def pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        d = self._data
        n_blocks = max(stored_values(d.X).nbytes // BLOCK_BYTES, 1)
        cuts = np.linspace(0, d.n_docs, n_blocks + 1).round().astype(int).tolist()
        for b, (lo, hi) in enumerate(itertools.pairwise(cuts)):
            X = d.X[lo:hi]
            yield block_of(d, X if self._transform is None else self._transform(X), lo, 0, b)


def in_temporary_store(stream: Stream) -> RankingDataset:
    """Write the rows of a stream to a store in the folder for temporary files (TMPDIR); it is removed together with the
    features of the data set.

    Raises
        DataFormatError     the input cannot be read
        RunDirectoryError   the folder cannot be written, or the disk is full
    """
    folder = Path(tempfile.mkdtemp(prefix="sparserank-store-"))
    try:
        plan = {"version": VERSION, "files": [["the data"]], "shard_bytes": SHARD_BYTES}
        with WorkDirectory(folder, "store") as directory:
            work = Conversion(directory, plan, stream)
            work.finish(work.run())
        data = open_store(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(data.X, shutil.rmtree, folder, ignore_errors=True)
    return data
