"""Write LETOR text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.files import atomic_write


def write_letor(data: RankingDataset, path: str | os.PathLike, *, index_base: int = 1) -> None:
    """Write `label qid:ID index:value ... # comment`; values by shortest exact representation, zeros left out if sparse.

    `read_letor` gives the same data back, if ids hold no blanks and it is told `n_features` when the last ones are absent.
    """
    with atomic_write(path) as out:
        out.writelines(letor_lines(data.X, data.relevance, data.qid, data.docid, data.comment, index_base))


def letor_lines(X: Any, relevance: np.ndarray, qid: Any, docid: Any, comment: Any, index_base: int) -> Iterator[str]:
    """A line per row; docid and comment may be None."""
    for i in range(len(relevance)):
        label = relevance[i]
        text = str(int(label)) if label == int(label) else repr(float(label))
        features = " ".join(f"{j + index_base}:{value}" for j, value in _row(X, i))
        behind = comment[i] if comment is not None else ""
        if docid is not None and docid[i] and str(docid[i]) not in behind:
            behind = f"docid = {docid[i]} {behind}".rstrip()
        yield f"{text} qid:{qid[i]} {features}{f' #{behind}' if behind else ''}\n"


def _row(X: Any, i: int) -> Iterator[tuple[int, str]]:
    if sp.issparse(X):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        return zip(X.indices[lo:hi].tolist(), _texts(X.data[lo:hi]), strict=True)
    return enumerate(_texts(X[i]))


def _texts(values: np.ndarray) -> list[str]:
    """The shortest text that reads back as each value, in the values' own dtype."""
    return [repr(v) for v in values.tolist()] if values.dtype == np.float64 else values.astype("U").tolist()
