"""Write LETOR text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset, first_index
from sparserank.errors import DataError
from sparserank.files import atomic_write
from sparserank.options import Count, Or
from sparserank.options.arguments import check_arguments
from sparserank.text import brief

_BLANKS = "".join(map(chr, range(33)))  # every character that separates words
_NO_DOCUMENT = re.compile(r"[\x00-\x20\ud800-\udfff]")  # surrogates cannot be encoded
_NO_QUERY = re.compile(r"[\x00-\x20#\ud800-\udfff]")
_NO_COMMENT = re.compile(r"[\x00\n\r\ud800-\udfff]")
_DOCID = re.compile(r"docid[ \t]*[=:][ \t]*([^ \t]*)", re.IGNORECASE | re.ASCII)


def write_letor(data: RankingDataset, path: str | os.PathLike, *, index_base: int | None = None) -> None:
    r"""Write a data set as ranking text, `label qid:ID index:value ... # comment`.

    Parameters
    ----------
    data : RankingDataset
        The data set. Values have the shortest exact representation; zeros of sparse data are left out.
    path : path
        The file.
    index_base : {1, 0}, optional
        Index of the first feature in the file. Default: as in the text that the data were read from, otherwise 1.

    Raises
    ------
    DataError
        An id that the text cannot contain (blanks, control characters, in a query id also '#'), or a comment of several
        lines. In both cases nothing is written.

    Notes
    -----
    `read` restores the same data; pass `n_features` if the last features are absent. Blanks around a comment are
    lost.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> file = Path(tempfile.mkdtemp(), "train.txt")
    >>> sr.write_letor(sr.RankingDataset([[0.5, 2.0], [1.0, 0.0]], [1, 0], ["a", "a"]), file)
    >>> file.read_text()
    '1 qid:a 1:0.5 2:2.0\n0 qid:a 1:1.0 2:0.0\n'
    """
    check_arguments(write_letor, locals(), index_base=Or(None, Count(0, 1)))
    base = first_index(data) if index_base is None else index_base
    with atomic_write(path) as out:
        out.writelines(letor_lines(data.X, data.relevance, data.qid, data.docid, data.comment, base))


def letor_lines(
    X: Any,
    relevance: np.ndarray,
    qid: Any,
    docid: Any,
    comment: Any,
    index_base: int,
) -> Iterator[str]:
    """One line of ranking text per row; docid and comment may be None.

    Raises
        DataError   an id or a comment that would be read back differently
    """
    for i in range(len(relevance)):
        label = relevance[i]
        text = str(int(label)) if label == int(label) else repr(float(label))
        features = " ".join(f"{j + index_base}:{value}" for j, value in _row(X, i))
        query = str(qid[i])
        if _NO_QUERY.search(query) or not query:
            raise _unwritable("query id", query, "blanks, '#' or control characters")
        behind = comment[i] if comment is not None else ""
        if _NO_COMMENT.search(behind):
            raise _unwritable("comment", behind, "line breaks")
        document = str(docid[i]) if docid is not None and docid[i] else ""
        if _NO_DOCUMENT.search(document):
            raise _unwritable("document id", document, "blanks or control characters")
        if document and document != docid_in(behind):
            behind = f"docid = {document} {behind}".rstrip()
        yield f"{text} qid:{query} {features}{f' #{behind}' if behind else ''}\n"


def docid_in(comment: str) -> str:
    """The X of `docid = X` (any spacing) in a comment; "" if there is none."""
    match = _DOCID.search(comment.strip(_BLANKS))
    return "" if match is None else match[1]


def _unwritable(part: str, text: str, forbidden: str) -> DataError:
    return DataError(
        f"{part} {brief(text)} is empty or contains {forbidden}, which ranking text does not allow; change it, or "
        "write Parquet or a store."
    )


def _row(X: Any, i: int) -> Iterator[tuple[int, str]]:
    if sp.issparse(X):
        lo = X.indptr[i]
        hi = X.indptr[i + 1]
        return zip(X.indices[lo:hi].tolist(), _texts(X.data[lo:hi]), strict=True)
    return enumerate(_texts(X[i]))


def _texts(values: np.ndarray) -> list[str]:
    """The shortest text that reads back as each value, in the dtype of the values."""
    return [repr(v) for v in values.tolist()] if values.dtype == np.float64 else values.astype("U").tolist()
