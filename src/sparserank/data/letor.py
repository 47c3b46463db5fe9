"""Read LETOR / SVMlight ranking text: plain or gzip, several files as one set."""

from __future__ import annotations

import gzip
import os
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data import _letor_kernels as kernels
from sparserank.data.dataset import RankingDataset
from sparserank.data.missing import MissingPolicy
from sparserank.errors import DataError, DataFormatError, DataWarning, TooManyFeaturesError

CHUNK_BYTES = 8 << 20  # large enough to hide Python's overhead, small enough that two threads share a 20 MB file
DENSE_FROM = 0.25  # fraction of values present from which a dense array is smaller than 12-byte CSR entries and faster
MOST_EMPTY_FEATURES = 1_000_000  # beyond, a feature count far above the number of values is a mistyped index
UNJUDGED = -1.0
_CANONICAL_INT = re.compile(r"-?(0|[1-9][0-9]{0,17})")


@dataclass
class _Chunk:
    """The parsed rows of one stretch of one file."""

    path: str
    first_line: int
    labels: np.ndarray
    row_lines: np.ndarray
    row_ptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    run_rows: np.ndarray
    run_qids: list[str]
    comments: np.ndarray
    docids: np.ndarray
    max_index: int
    n_lines: int
    missing: tuple[int, str] | None


def read_letor(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    n_features: int | None = None,
    *,
    missing: str | float | Mapping | None = None,
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
        missing        what NULL, nan, inf and 1.797e308 become: None (an error), 'zero', 'query-min', a number,
                       a mapping such as {11: 'zero', '*': 'query-min'}, or its text form '11=zero;*=query-min'
        index_base     number of the first feature in the file, 1 or 0
        unjudged       what a label of -1 means: 'error', 'drop' the row, or 'zero'
        feature_names  names, or a file with one name per line
        sparse         True for CSR, False for dense, None for whichever is smaller
        dtype          float64 or float32
        n_threads      parsing threads, default the number of cores
    Returns
        RankingDataset; `docid` and `comment` are kept, absent features are 0
    Raises
        DataFormatError   names file and line, what was expected and what to do
    Warns
        DataWarning       a query's rows stand in several places
    Source
        formats.md section 8: a superset of the SVMlight ranking format (strings as qid, any index order, tabs, CRLF)
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise DataError("read_letor needs at least one file.")
    if index_base not in (0, 1):
        raise DataError(f"index_base must be 0 or 1; got {index_base!r}.")
    if unjudged not in ("error", "drop", "zero"):
        raise DataError(f"unjudged must be 'error', 'drop' or 'zero'; got {unjudged!r}.")
    if n_features is not None and n_features < 1:
        raise DataError(f"n_features must be at least 1; got {n_features}.")
    if n_threads is not None and n_threads < 1:
        raise DataError(f"n_threads must be at least 1; got {n_threads}.")
    policy = MissingPolicy.parse(missing)
    chunks = [c for path in paths for c in _read_file(Path(path), index_base, n_features, n_threads)]
    for chunk in chunks:
        _check_values(chunk, policy, unjudged)
    return _assemble(chunks, n_features, policy, index_base, unjudged, feature_names, sparse, np.dtype(dtype))


def _read_file(path: Path, index_base: int, n_features: int | None, n_threads: int | None) -> list[_Chunk]:
    limit = -1 if n_features is None else n_features - 1
    workers = n_threads or min(os.cpu_count() or 1, 8)
    chunks: list[_Chunk] = []
    first_line = 1
    with ThreadPoolExecutor(workers) as pool:
        pending: list[Future[_Chunk]] = []

        def collect() -> None:
            nonlocal first_line
            chunk = pending.pop(0).result()
            chunk.first_line = first_line
            _raise_parse_error(chunk, path, index_base, n_features)
            first_line += chunk.n_lines
            chunks.append(chunk)

        for text in _line_blocks(path):
            pending.append(pool.submit(_parse, text, str(path), index_base, limit))
            if len(pending) > 2 * workers:
                collect()
        while pending:
            collect()
    if not any(len(c.labels) for c in chunks):
        raise DataFormatError(f"{path}: no data rows; expected lines such as '2 qid:10 1:0.03 2:0.67'.")
    return chunks


def _line_blocks(path: Path) -> Iterator[bytes]:
    """Stretches of whole lines; refuses what is not a readable text file."""
    if path.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a LETOR text file.")
    try:
        with open(path, "rb") as raw:
            zipped = raw.peek(2)[:2] == b"\x1f\x8b"  # opened once: a pipe cannot be read twice
            stream: Any = gzip.GzipFile(fileobj=raw) if zipped else raw
            rest = b""
            while block := stream.read(CHUNK_BYTES):
                if b"\0" in block:
                    raise DataFormatError(f"{path}: is a binary file; expected LETOR text, plain or gzip.")
                cut = block.rfind(b"\n") + 1
                if cut == 0:
                    rest += block
                    continue
                yield rest + block[:cut]
                rest = block[cut:]
            if rest:
                yield rest
    except FileNotFoundError as error:
        raise DataFormatError(f"{path}: no such file; check the path.") from error
    except PermissionError as error:
        raise DataFormatError(f"{path}: cannot be read (permission denied).") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFormatError(
            f"{path}: damaged or truncated gzip file ({error}); fetch or compress it again."
        ) from error


def _parse(text: bytes, path: str, index_base: int, limit: int) -> _Chunk:
    buf = np.frombuffer(text, dtype=np.uint8)
    n_lines, n_colons = kernels.count_lines_and_colons(buf)
    rows = n_lines + 1
    labels = np.empty(rows)
    row_lines = np.empty(rows, dtype=np.int64)
    row_ptr = np.empty(rows + 1, dtype=np.int64)
    indices = np.empty(n_colons, dtype=np.int32)
    values = np.empty(n_colons)
    runs = np.empty((rows, 3), dtype=np.int64)
    comments = np.empty((rows, 4), dtype=np.int64)
    info = np.zeros(kernels.N_INFO, dtype=np.int64)
    slow = np.empty((n_colons + rows, 3), dtype=np.int64)  # rarely touched, so rarely backed by memory
    kernels.parse_lines(buf, index_base, limit, labels, row_ptr, indices, values, row_lines, runs, comments, slow, info)
    n_rows, n_values = int(info[kernels.N_ROWS]), int(info[kernels.N_VALUES])
    missing: tuple[int, str] | None = None
    if info[kernels.FIRST_NAN] >= 0:
        missing = (int(info[kernels.FIRST_NAN]), "NULL or NaN")
    for p, a, b in slow[: info[kernels.N_SLOW]].tolist():
        value = float(text[a:b])  # correctly rounded
        if p < 0:
            labels[-1 - p] = value
            continue
        if abs(value) >= kernels.HUGE:
            line = int(row_lines[np.searchsorted(row_ptr[: n_rows + 1], p, side="right") - 1])
            if missing is None or line < missing[0]:
                missing = (line, text[a:b].decode("ascii", "replace"))
            value = np.nan
        values[p] = value
    runs = runs[: info[kernels.N_RUNS]]
    chunk = _Chunk(
        path=path,
        first_line=0,
        labels=labels[:n_rows],
        row_lines=row_lines[:n_rows],
        row_ptr=row_ptr[: n_rows + 1],
        indices=indices[:n_values],
        values=values[:n_values],
        run_rows=runs[:, 0],
        run_qids=[text[a:b].decode("utf-8", "replace") for _, a, b in runs.tolist()],
        comments=_texts(text, comments[:n_rows, :2]),
        docids=_texts(text, comments[:n_rows, 2:]),
        max_index=int(info[kernels.MAX_INDEX]),
        n_lines=int(info[kernels.N_LINES]),
        missing=missing,
    )
    if info[kernels.STATUS] != kernels.OK:
        a, b = int(info[kernels.SPAN_START]), int(info[kernels.SPAN_STOP])
        what = a if b == 0 else text[a : min(b, a + 60)].decode("utf-8", "replace")
        chunk.missing = (-int(info[kernels.STATUS]), str(what))
    return chunk


def _texts(text: bytes, spans: np.ndarray) -> np.ndarray:
    out = np.empty(len(spans), dtype=object)
    if len(spans) and (spans[:, 1] > spans[:, 0]).any():
        out[:] = [text[a:b].decode("utf-8", "replace") for a, b in spans.tolist()]
    else:
        out[:] = ""
    return out


def _raise_parse_error(chunk: _Chunk, path: Path, index_base: int, n_features: int | None) -> None:
    if chunk.missing is None or chunk.missing[0] >= 0:
        return
    code, what = -chunk.missing[0], chunk.missing[1]
    line = chunk.first_line + chunk.n_lines
    sentence = {
        kernels.BAD_LABEL: f"label must be a number; got {what!r}. A line reads 'label qid:ID index:value ... # comment'.",
        kernels.MISSING_QID: f"expected 'qid:ID' after the label; got {what!r}. Add the query id to every line.",
        kernels.EMPTY_QID: "query id is empty after 'qid:'; give every line the id of its query.",
        kernels.BAD_TOKEN: f"expected 'index:value'; got {what!r}. Start comments with '#'.",
        kernels.BAD_INDEX: f"feature index is too large: {what!r}.",
        kernels.INDEX_BELOW_BASE: f"feature indices start at {index_base}; got {what!r}. "
        "Pass index_base=0 (--index-base 0) for files that count from 0.",
        kernels.REPEATED_INDEX: f"feature index {what} appears twice; give each feature once per line.",
        kernels.BAD_VALUE: f"feature value must be a number; got {what!r}.",
        kernels.INDEX_ABOVE_LIMIT: f"has feature {what.partition(':')[0]}, but {n_features} features are expected; ",
    }[code]
    if code == kernels.INDEX_ABOVE_LIMIT:
        width = int(what.partition(":")[0]) + 1 - index_base
        raise TooManyFeaturesError(
            f"{path}:{line}: {sentence}read every file with n_features={width}, or remove it.", width
        )
    raise DataFormatError(f"{path}:{line}: {sentence}")


def _check_values(chunk: _Chunk, policy: MissingPolicy | None, unjudged: str) -> None:
    if chunk.missing is not None and policy is None:
        line, what = chunk.missing
        raise DataFormatError(
            f"{chunk.path}:{chunk.first_line + line}: missing or infinite feature value ({what}); choose what it becomes "
            "with missing='zero' or 'query-min' (--missing zero)."
        )
    bad = np.flatnonzero(~np.isfinite(chunk.labels))
    if len(bad):
        raise DataFormatError(
            f"{chunk.path}:{chunk.first_line + chunk.row_lines[bad[0]]}: label must be finite; got {chunk.labels[bad[0]]}."
        )
    if unjudged == "error":
        bad = np.flatnonzero(chunk.labels == UNJUDGED)
        if len(bad):
            raise DataFormatError(
                f"{chunk.path}:{chunk.first_line + chunk.row_lines[bad[0]]}: label -1 means unjudged; choose "
                "unjudged='drop' or unjudged='zero' (--unjudged drop)."
            )


def _assemble(
    chunks: list[_Chunk],
    n_features: int | None,
    policy: MissingPolicy | None,
    index_base: int,
    unjudged: str,
    feature_names: str | os.PathLike | Sequence[str] | None,
    sparse: bool | None,
    dtype: np.dtype,
) -> RankingDataset:
    names = _names_from_file(feature_names) if isinstance(feature_names, str | os.PathLike) else feature_names
    width = n_features or (len(names) if names is not None else 0)
    if names is not None and n_features is not None and len(names) != n_features:
        raise DataError(
            f"{_names_source(feature_names)} holds {len(names)} names for {n_features} features; they must agree."
        )
    largest = max(c.max_index for c in chunks) + 1
    if names is not None and largest > len(names):
        raise DataError(
            f"the data have {largest} features but {_names_source(feature_names)} holds {len(names)} names; complete it."
        )
    width = max(width, largest)
    n_present = sum(len(c.values) for c in chunks)
    if n_present == 0:
        raise DataFormatError(f"{chunks[0].path}: no line has a feature; expected 'label qid:ID index:value ...'.")
    if width > MOST_EMPTY_FEATURES and width > 100 * n_present:
        raise DataFormatError(
            f"{chunks[0].path}: the largest feature index is {width - 1 + index_base}, but only {n_present} values are present; "
            "correct the index, or renumber the features."
        )
    labels = np.concatenate([c.labels for c in chunks])
    n_rows = len(labels)
    n_values = sum(len(c.values) for c in chunks)
    qid = _query_ids(chunks)
    has_missing = any(c.missing is not None for c in chunks)
    as_sparse = (n_values < DENSE_FROM * n_rows * width) if sparse is None else sparse
    X: Any
    if as_sparse and not has_missing:
        row_ptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(c.row_ptr) for c in chunks]))])
        X = sp.csr_matrix(
            (
                np.concatenate([c.values for c in chunks]).astype(dtype, copy=False),
                np.concatenate([c.indices for c in chunks]),
                row_ptr.astype(np.int32 if n_values < 2**31 else np.int64),
            ),
            shape=(n_rows, width),
        )
    else:
        X = np.zeros((n_rows, width), dtype=dtype)
        at = 0
        for c in chunks:
            kernels.scatter_rows(c.row_ptr, c.indices, c.values, X[at : at + len(c.labels)])
            at += len(c.labels)
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
    if has_missing:
        assert policy is not None
        from sparserank.data.grouping import group_rows

        order, query_ptr, _ = group_rows(qid)
        grouped = X if order is None else X[order]
        policy.fill(grouped, query_ptr, index_base)
        if order is not None:
            X[order] = grouped
        if as_sparse:
            X = sp.csr_matrix(X)
    return RankingDataset(
        X,
        labels,
        qid,
        docid if docid.astype(bool).any() else None,
        names,
        comment if comment.astype(bool).any() else None,
    )


def _query_ids(chunks: list[_Chunk]) -> np.ndarray:
    """One id per row, int64 when every id is a plain integer; warns of a query whose rows stand in several places."""
    ids: list[str] = []
    lengths: list[int] = []
    where: list[tuple[str, int]] = []
    for c in chunks:
        for k, run in enumerate(c.run_qids):
            stop = c.run_rows[k + 1] if k + 1 < len(c.run_qids) else len(c.labels)
            length = int(stop - c.run_rows[k])
            if ids and ids[-1] == run:
                lengths[-1] += length
                continue
            ids.append(run)
            lengths.append(length)
            where.append((c.path, c.first_line + int(c.row_lines[c.run_rows[k]])))
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        k = next(k for k, i in enumerate(ids) if first.setdefault(i, k) != k)
        (path, line), (path0, line0) = where[k], where[first[ids[k]]]
        warnings.warn(
            f"{path}:{line}: query {ids[k]} continues here after other queries (first seen at {path0}:{line0}); "
            "its rows were gathered.",
            DataWarning,
            stacklevel=4,
        )
    if all(_CANONICAL_INT.fullmatch(i) for i in set(ids)):
        return np.repeat(np.array([int(i) for i in ids], dtype=np.int64), lengths)
    return np.repeat(np.array(ids), lengths)


def _names_from_file(path: str | os.PathLike) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataFormatError(f"{path}: cannot read feature names ({error}); expected one name per line.") from error
    return [line.strip() for line in lines if line.strip()]


def _names_source(feature_names: Any) -> str:
    return str(feature_names) if isinstance(feature_names, str | os.PathLike) else "feature_names"
