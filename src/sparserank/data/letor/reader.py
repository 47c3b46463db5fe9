"""Read LETOR / SVMlight ranking text: plain or gzip, several files as one set."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import CHOICES, learn_filling
from sparserank.data.grouping import plain_ids, query_codes
from sparserank.data.letor import _line_kernels as kernels
from sparserank.data.letor.chunks import Chunk, read_chunks
from sparserank.data.letor.side_files import side_files
from sparserank.data.missing import MissingPolicy
from sparserank.data.text_lines import read_names
from sparserank.errors import DataError, DataFormatError, DataWarning
from sparserank.execution.cores import available_cores
from sparserank.quoting import brief

DENSE_FROM = 0.25  # fraction of values present from which a dense array is smaller than 12-byte CSR entries and faster
MOST_EMPTY_FEATURES = 1_000_000  # beyond, a feature count far above the number of values is a mistyped index
UNJUDGED = -1.0


def read_letor(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    n_features: int | None = None,
    *,
    missing: str | float | Mapping | MissingPolicy | None = None,
    index_base: int = 1,
    unjudged: str = "error",
    feature_names: str | os.PathLike | Sequence[str] | None = None,
    sparse: bool | None = None,
    dtype: Any = np.float64,
    n_threads: int | None = None,
) -> RankingDataset:
    """Read ranking text, `label qid:ID index:value ... # comment`, as one data set.

    Parameters
        paths          one path or several (read as one set); gzip is recognised by content
        n_features     number of features; default the largest index found. Larger indices in a file are an error
        missing        what NULL, nan, inf and 1.797e308 become: None or 'error' (refused), 'zero', 'min' or 'median'
                       (of the known values of the feature in these rows), 'query-min', a number, a mapping such as {11:
                       'zero', 'bm25': 5, '*': 'median'}, or its text form '11=zero;bm25=5;*=median'
        index_base     number of the first feature in the file, 1 or 0
        unjudged       what a label of -1 means: 'error', 'drop' the row, or 'zero'
        feature_names  names, or a file with one name per line
        sparse         True for CSR, False for dense, None for whichever is smaller
        dtype          float64 or float32
        n_threads      parsing threads, default the number of cores
    Returns
        RankingDataset; `docid` and `comment` are kept, absent features are 0; `fill_values` say what missing values
        became
    Raises
        DataFormatError   names file and line, what was expected and what to do
        DataError         an option that cannot be, or that does not fit the data
    Warns
        DataWarning       a query's rows stand in several places
    Source
        formats.md section 8: a superset of the SVMlight ranking format (strings as qid, any index order, tabs, CRLF)
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not isinstance(paths, Sequence) or not all(isinstance(p, str | os.PathLike) for p in paths):
        raise DataError(f"read_letor takes a path or several; got {brief(paths)}.")
    unreadable = next((str(p) for p in paths if "\0" in str(p)), None)
    if unreadable is not None:
        raise DataFormatError(f"{brief(unreadable)}: no such file; check the path.")
    if not paths:
        raise DataError("read_letor needs at least one file.")
    if index_base not in (0, 1):
        raise DataError(f"index_base must be 0 or 1; got {brief(index_base)}.")
    if unjudged not in ("error", "drop", "zero"):
        raise DataError(f"unjudged must be 'error', 'drop' or 'zero'; got {brief(unjudged)}.")
    for option, count in (("n_features", n_features), ("n_threads", n_threads)):
        if count is not None and (isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1):
            raise DataError(f"{option} must be an integer of at least 1; got {brief(count)}.")
    kind = float_type(dtype)
    policy = MissingPolicy.parse(missing)
    workers = n_threads or min(available_cores(), 8)
    chunks = [
        c
        for path, queries in zip(paths, side_files(paths), strict=True)
        for c in read_chunks(Path(path), index_base, n_features, workers, queries)
    ]
    for chunk in chunks:
        check_values(chunk, policy, unjudged, kind)
    names = read_names(feature_names) if isinstance(feature_names, str | os.PathLike) else feature_names
    width = _width(chunks, n_features, names, feature_names, index_base)
    X = features_of(chunks, width, sparse, kind)
    labels = np.concatenate([c.labels for c in chunks])
    qid = _query_ids(chunks)
    docid = np.concatenate([c.docids for c in chunks])
    comment = np.concatenate([c.comments for c in chunks])
    if unjudged == "drop" and (labels == UNJUDGED).any():
        keep = labels != UNJUDGED
        X, labels, qid, docid, comment = X[keep], labels[keep], qid[keep], docid[keep], comment[keep]
        if len(labels) == 0:
            raise DataFormatError(
                f"{chunks[0].path}: every label is -1 (unjudged); nothing is left after dropping them."
            )
    elif unjudged == "zero":
        labels = np.where(labels == UNJUDGED, 0.0, labels)
    fill_values = None
    if policy is not None:
        filling = learn_filling(policy, [X], width, X.dtype, names, index_base=index_base)
        fill_values = filling.values
        if any(c.missing is not None for c in chunks) and not policy.keeps:
            filling.fill(X, query_codes(qid))
    return RankingDataset(
        X,
        labels,
        qid,
        docid if docid.astype(bool).any() else None,
        names,
        comment if comment.astype(bool).any() else None,
        fill_values=fill_values,
        keep_missing=policy is not None and policy.keeps,
    )


def float_type(dtype: Any) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = None
    if found not in (np.float64, np.float32):
        raise DataError(f"dtype must be float64 or float32; got {brief(dtype)}.")
    return found


def check_values(chunk: Chunk, policy: MissingPolicy | None, unjudged: str, dtype: np.dtype) -> None:
    """Refuse values that the options do not allow, by file and line."""
    if chunk.missing is not None and policy is None:
        line, what = chunk.missing
        raise DataFormatError(f"{chunk.place(line)}: missing or infinite feature value ({what}); {CHOICES}.")
    if dtype == np.float32:
        bad = np.flatnonzero(np.abs(chunk.values) > np.finfo(np.float32).max)
        if len(bad):
            row = int(np.searchsorted(chunk.row_ptr, bad[0], side="right")) - 1
            raise DataFormatError(
                f"{chunk.line(row)}: feature value {chunk.values[bad[0]]} is too large for float32; read it as float64."
            )
    bad = np.flatnonzero(~np.isfinite(chunk.labels))
    if len(bad):
        raise DataFormatError(f"{chunk.line(bad[0])}: label must be finite; got {chunk.labels[bad[0]]}.")
    if unjudged == "error":
        bad = np.flatnonzero(chunk.labels == UNJUDGED)
        if len(bad):
            raise DataFormatError(
                f"{chunk.line(bad[0])}: label -1 means unjudged; choose "
                "unjudged='drop' or unjudged='zero' (--unjudged drop)."
            )


def _width(
    chunks: list[Chunk], n_features: int | None, names: Sequence[str] | None, names_source: Any, index_base: int
) -> int:
    """The number of features: what was asked for or named, or the largest index; refuses what cannot be meant."""
    n_present = sum(len(c.values) for c in chunks)
    if n_present == 0:
        raise DataFormatError(f"{chunks[0].path}: no line has a feature; expected 'label qid:ID index:value ...'.")
    widest = max(chunks, key=lambda c: c.max_index)
    place, largest = widest.place(widest.max_line), widest.max_index + index_base
    most = max(MOST_EMPTY_FEATURES, 100 * n_present)
    if names is not None:
        source = str(names_source) if isinstance(names_source, str | os.PathLike) else "feature_names"
        if n_features is not None and len(names) != n_features:
            raise DataError(f"{source} holds {len(names)} names for {n_features} features; they must agree.")
        if widest.max_index >= len(names):
            raise DataError(f"{place}: has feature {largest}, but {source} holds {len(names)} names; complete it.")
        return len(names)
    if widest.max_index >= most:
        raise DataFormatError(
            f"{place}: has feature {largest}, but only {n_present} values are present; "
            "correct the index, or renumber the features."
        )
    if n_features is not None and n_features > most:
        raise DataError(
            f"n_features (--n-features) is {n_features}, but the data hold {n_present} values, none of a feature "
            f"beyond {largest} ({place}); give the number of features that the data have."
        )
    return n_features or widest.max_index + 1


def features_of(chunks: list[Chunk], width: int, sparse: bool | None, dtype: np.dtype) -> Any:
    """(n_docs, width) dense or CSR, whichever is asked for or smaller; missing values are NaN."""
    n_rows, n_values = sum(len(c.labels) for c in chunks), sum(len(c.values) for c in chunks)
    if n_values < DENSE_FROM * n_rows * width if sparse is None else sparse:
        row_ptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(c.row_ptr) for c in chunks]))])
        return sp.csr_matrix(
            (
                np.concatenate([c.values for c in chunks]).astype(dtype, copy=False),
                np.concatenate([c.indices for c in chunks]),
                row_ptr.astype(np.int32 if n_values < 2**31 else np.int64),
            ),
            shape=(n_rows, width),
        )
    X = np.zeros((n_rows, width), dtype=dtype)
    at = 0
    for c in chunks:
        kernels.scatter_rows(c.row_ptr, c.indices, c.values, X[at : at + len(c.labels)])
        at += len(c.labels)
    return X


def _query_ids(chunks: list[Chunk]) -> np.ndarray:
    """One id per row, int64 when every id is a plain integer; warns of a query whose rows stand in several places."""
    ids: list[str] = []
    lengths: list[int] = []
    where: list[str] = []
    for c in chunks:
        for k, run in enumerate(c.run_qids):
            stop = c.run_rows[k + 1] if k + 1 < len(c.run_qids) else len(c.labels)
            length = int(stop - c.run_rows[k])
            if ids and ids[-1] == run:
                lengths[-1] += length
                continue
            ids.append(run)
            lengths.append(length)
            where.append(c.line(c.run_rows[k]))
    values = plain_ids(np.array(ids))
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        k = next(k for k, i in enumerate(ids) if first.setdefault(i, k) != k)
        warnings.warn(
            f"{where[k]}: query {brief(values[k].item())} continues here after other queries "
            f"(first seen at {where[first[ids[k]]]}); its rows were gathered.",
            DataWarning,
            stacklevel=3,
        )
    return np.repeat(values, lengths)
