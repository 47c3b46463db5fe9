"""Parse a file of ranking text in chunks of whole lines, with several threads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparserank.data.letor import _kernels as kernels
from sparserank.data.letor.side_files import SideQueries, warn_of_unused, with_query_ids
from sparserank.data.letor.writer import docid_in
from sparserank.data.missing import HUGE
from sparserank.data.streams import RowBlock
from sparserank.data.text_lines import LINE_ENDS, LONE_RETURN, line_blocks, readable
from sparserank.data.trec import foreign_format_hint
from sparserank.errors import DataFormatError, TooManyFeaturesError
from sparserank.options import option
from sparserank.text import LONGEST, brief

LAYOUT = "Lines must be 'label qid:ID index:value ... # comment'."
STATED_BASE = re.compile(rb"(?:#.*\n)*?# Column indices are (zero|one)-based")  # of scikit-learn's dump_svmlight_file
BASES = {b"zero": 0, b"one": 1}
CHUNK_BYTES = 8 << 20  # large enough to hide Python's overhead, small enough that two threads share a 20 MB file


@dataclass
class Chunk:
    """One chunk of a file and its rows, without positions, whose X is only as wide as these rows require. Lines of the
    chunk, also those of its rows, are numbered from 0; it starts at line `first_line` of the file, which is numbered
    from 1."""

    path: str
    rows: RowBlock
    max_line: int  # the first line with the largest feature index
    n_lines: int
    missing: tuple[int, str] | None  # line and text of the first value that a missing policy must replace
    # line and message of the error that ended parsing, and the number of features that would avoid it, if that helps
    problem: tuple[int, str, int | None] | None
    first_line: int = 0

    def line(self, row: int) -> str:
        """`path:line` of a row, for messages."""
        return self.place(int(self.rows.line[row]))  # type: ignore[index]

    def place(self, line: int) -> str:
        """`path:line` of a line of the chunk."""
        return f"{self.path}:{self.first_line + line}"


def stream_chunks(
    path: Path,
    index_base: int,
    n_features: int | None,
    n_threads: int,
    queries: SideQueries | None = None,
    skip: int = 0,
) -> Iterator[Chunk]:
    """Yield the chunks as they are parsed, only a few at a time; the first `skip` are skipped without parsing.

    Raises
        DataFormatError        the file cannot be read, or a line is malformed; the message names the first such line
        TooManyFeaturesError   a line names a feature beyond n_features
    """
    texts = _with_ids(path, queries, index_base)
    first_line = 1
    for text in islice(texts, skip):
        first_line += text.count(b"\n")
    for chunk in _parsed(texts, str(path), index_base, n_features, n_threads):
        chunk.first_line = first_line
        if chunk.problem is not None:
            line, sentence, width = chunk.problem
            message = f"{chunk.place(line)}: {sentence}"
            raise DataFormatError(message) if width is None else TooManyFeaturesError(message, width)
        first_line += chunk.n_lines
        yield chunk


def _parsed(
    texts: Iterator[bytes],
    path: str,
    index_base: int,
    n_features: int | None,
    n_threads: int,
) -> Iterator[Chunk]:
    """Parse chunks with several threads, in order; only a few are in memory."""
    with ThreadPoolExecutor(n_threads) as pool:
        pending: deque[Future[Chunk]] = deque()
        for text in texts:
            pending.append(pool.submit(copy_context().run, _parse, text, path, index_base, n_features))
            if len(pending) > 2 * n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _with_ids(path: Path, queries: SideQueries | None, index_base: int) -> Iterator[bytes]:
    """The chunks of text, with query ids from a side file if the lines have none.

    Raises
        DataFormatError   the file says that its feature indices begin at another number
    """
    blocks = _line_blocks(path)
    first = next(blocks, b"")
    stated = STATED_BASE.match(first)
    if stated is not None and BASES[stated[1]] != index_base:
        remedy = option("index_base", BASES[stated[1]])
        raise DataFormatError(f"{path}: says that its column indices are {stated[1].decode()}-based; use {remedy}.")
    line = next((ln for ln in first.split(b"\n") if ln.strip() and not ln.lstrip().startswith(b"#")), b"")
    whole = chain([first], blocks)
    if queries is None:
        return whole
    if any(field.startswith(b"qid:") for field in line.split(None, 2)[1:2]):
        warn_of_unused(queries, str(path))
        return whole
    return with_query_ids(whole, queries, str(path))


def _line_blocks(path: Path) -> Iterator[bytes]:
    """Chunks of whole lines without byte-order mark; refuses anything but a readable text file."""
    expected = "LETOR text, plain or gzip"
    with readable(path, expected):
        yield from line_blocks(path, CHUNK_BYTES, expected)


def _parse(
    text: bytes,
    path: str,
    index_base: int,
    n_features: int | None,
) -> Chunk:
    lone_return = LONE_RETURN.search(text) if b"\r" in text else None
    if lone_return:  # an earlier line may be malformed too
        text = text[: text.rfind(b"\n", 0, lone_return.start()) + 1]
    buf = np.frombuffer(text, dtype=np.uint8)
    # NumPy counts without the lock of the interpreter, so that other threads go on.
    n_colons = np.count_nonzero(buf == ord(":"))
    rows = np.count_nonzero(buf == ord("\n")) + 1
    labels = np.empty(rows)
    row_lines = np.empty(rows, dtype=np.int64)
    row_ptr = np.empty(rows + 1, dtype=np.int64)
    indices = np.empty(n_colons, dtype=np.int32)
    values = np.empty(n_colons)
    runs = np.empty((rows, 3), dtype=np.int64)
    comments = np.empty((rows, 2), dtype=np.int64)
    info = np.empty(kernels.N_INFO, dtype=np.int64)
    slow = np.empty((n_colons + rows, 3), dtype=np.int64)  # mostly untouched, so it takes little physical memory
    limit = -1 if n_features is None else n_features - 1
    kernels.parse_lines(
        buf,
        index_base,
        limit,
        labels,
        row_ptr,
        indices,
        values,
        row_lines,
        runs,
        comments,
        slow,
        info,
    )
    n_rows = int(info[kernels.N_ROWS])
    n_values = int(info[kernels.N_VALUES])
    first_nan = int(info[kernels.FIRST_NAN])
    missing = (first_nan, "NULL or NaN") if first_nan >= 0 else None
    for p, a, b in slow[: info[kernels.N_SLOW]].tolist():
        value = float(text[a:b])  # correctly rounded
        if p < 0:
            labels[-1 - p] = value
            continue
        if abs(value) >= HUGE:
            line = int(row_lines[np.searchsorted(row_ptr[: n_rows + 1], p, side="right") - 1])
            if missing is None or line < missing[0]:
                missing = (line, text[a : min(b, a + LONGEST)].decode("ascii"))
            value = np.nan
        values[p] = value
    shape = n_rows, int(info[kernels.MAX_INDEX]) + 1
    X = sp.csr_matrix((values[:n_values], indices[:n_values], row_ptr[: n_rows + 1]), shape=shape)
    problem = _problem(text, info, index_base, n_features)
    if 0 <= info[kernels.UNSORTED] < n_rows:
        X.sort_indices()
        same = 1 + np.flatnonzero(X.indices[1:] == X.indices[:-1])
        same = same[~np.isin(same, X.indptr)]  # an entry of another row is not the same
        if len(same):  # on an earlier line than the one where the parser stopped
            row = np.searchsorted(X.indptr, same[0], side="right") - 1
            index = X.indices[same[0]] + index_base
            sentence = f"feature index {index} appears twice; give each feature once per line."
            problem = int(row_lines[row]), sentence, None
    if problem is None and lone_return:
        problem = int(info[kernels.N_LINES]), f"carriage return inside a line; {LINE_ENDS}.", None
    runs = runs[: info[kernels.N_RUNS]]
    encoded = [text[a:b] for a, b in runs[:, 1:].tolist()]
    ids = [qid.decode("utf-8", "replace") for qid in encoded]
    odd = next((k for k, qid in enumerate(ids) if qid.encode() != encoded[k]), None)
    if odd is not None:
        sentence = f"query id is not UTF-8 text: {brief(encoded[odd])}; save the file as UTF-8."
        problem = int(row_lines[runs[odd, 0]]), sentence, None
    qid = np.repeat(ids, np.diff(np.append(runs[:, 0], n_rows)))
    comment, docid = _comments(text, comments[:n_rows])
    block = RowBlock(X, labels[:n_rows], qid, docid, None, np.empty((n_rows, 0)), comment, row_lines[:n_rows])
    return Chunk(path, block, int(info[kernels.MAX_LINE]), int(info[kernels.N_LINES]), missing, problem)


def _comments(text: bytes, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((rows,) the comments in these spans, (rows,) the document ids in the comments); bytes that are not UTF-8 become
    escapes, so that different ones stay different."""
    texts = [text[a:b].decode("utf-8", "backslashreplace") for a, b in spans.tolist()]
    docids = [docid_in(comment) for comment in texts]
    return np.array(texts, dtype=object), np.array(docids, dtype=object)


def _token_remedy(token: bytes, index_base: int) -> str:
    """The remedy for a token that is not a feature."""
    index, colon, _ = token.partition(b":")
    if not colon:
        return "Start comments with '#'."
    if index.removeprefix(b"-").isdigit() or not index:
        before = f"Feature indices are whole numbers from {index_base} on"
        return f"{before}." if index.startswith(b"-") or not index else "Give a value after the colon, or no token."
    return f"Number the features, and give their names in a file: {option('feature_names', 'names.txt')}."


def _problem(
    text: bytes,
    info: np.ndarray,
    index_base: int,
    n_features: int | None,
) -> tuple[int, str, int | None] | None:
    """The error that stopped the parser, as in `Chunk.problem`."""
    status = int(info[kernels.STATUS])
    if status == kernels.OK:
        return None
    a = int(info[kernels.SPAN_START])
    b = int(info[kernels.SPAN_STOP])
    if status == kernels.INDEX_ABOVE_LIMIT:
        token = str(a)
    else:
        token = brief(text[a : min(b, a + 4 * LONGEST)].decode("utf-8", "backslashreplace"))
    start = text.rfind(b"\n", 0, min(a, len(text))) + 1
    line = text[start : start + 4 * LONGEST].partition(b"\n")[0]
    foreign_format = foreign_format_hint(line)
    from_1 = (a, index_base) == (n_features, 0)
    begins_at_1 = f"if the numbers begin at 1, use {option('index_base', 1)}; else " if from_1 else ""
    sentence = {
        kernels.BAD_LABEL: f"label must be a number; got {token}. {foreign_format or LAYOUT}",
        kernels.MISSING_QID: f"expected 'qid:ID' after the label; got {token}. "
        f"{foreign_format or 'Add the query id to every line, or the sizes of the queries to a file DATA.query.'}",
        kernels.EMPTY_QID: "query id is empty after 'qid:'; give every line the id of its query.",
        kernels.BAD_TOKEN: f"expected 'index:value'; got {token}. "
        f"{_token_remedy(text[a : min(b, a + LONGEST)], index_base)}",
        kernels.BAD_INDEX: f"feature index is too large: {token}.",
        kernels.INDEX_BELOW_BASE: f"feature indices start at {index_base}; got {token}. "
        f"Use {option('index_base', 0)} for files whose feature indices start at 0.",
        kernels.BAD_VALUE: f"feature value must be a number; got {token}.",
        kernels.INDEX_ABOVE_LIMIT: f"has feature {token}, but {n_features} features are expected; {begins_at_1}"
        f"read every file with {option('n_features', a + 1 - index_base)}, or remove the feature.",
    }[status]
    width = a + 1 - index_base if status == kernels.INDEX_ABOVE_LIMIT else None
    return int(info[kernels.N_LINES]), sentence, width
