"""Mutated files: the reader and the plain one read the same data, or both refuse, ours with file and line."""

import gzip
import random
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sparserank import RankingDataset, read
from sparserank.errors import DataFormatError, DataWarning
from tests.oracles import letor_reader as oracle

TOKENS = [
    *b"\r \n \r\n \r\r\n # : qid: qid:-0 DocID: NULL nan -inf +Infinity 1e999 1.797e308 1.79e308 -1 -0 0".split(b" "),
    *b"00 + - . e e5 E-400 9007199254740993 99999999999999999999 2147483647 2147483648 _".split(),
    *(b" ", b"\t", b"# ", b" qid:7 ", b"0 qid:3 1:1\n", b"docid = ", b" 1000000:2", b" 200000000:1", b" 12:3"),
    *(b" 1:1", b" 0:1", b"1" * 40, b"0." + b"0" * 30 + b"7", b"\xe9", b"\xc3\xa9", b"\xed\xa0\x80", b"\xe2\x80\xa8"),
    *(b"\xc2\x85", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xff", b"\x0b", b"\x0c", b"\x1a", b"\x1c", b"\x7f", b"\0"),
    *(b"\\xe9", b"\xd9\xa3"),
]
MISSING_TEXT = (
    "2 qid:1 1:NULL 2:3 3:-1\n1 qid:1 2:nan 3:1e999 1:-2\n0 qid:1 3:5\n\n1 qid:2 1:NULL\n0 qid:2 2:-1.797e308\n"
    "-1 qid:3 1:2 2:NULL #docid = a\n1 qid:3 2:NULL\n-1.0 qid:1 3:NULL 1:4\n"
)
SEEDS = [oracle.random_text(seed, ids=ids).encode() for seed, ids in enumerate(["int", "string"] * 3)]
SEEDS += [MISSING_TEXT.encode() * 2, MISSING_TEXT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf1 qid:1 1:1 # one\r\n"]


def mutated(rng: random.Random, content: bytes) -> bytes:
    """A few bytes flipped, tokens put in, stretches deleted, doubled or moved, or two files spliced."""
    data = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8])):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice([1, 1, 2, 5, 40]))
        kind = rng.randrange(6)
        if kind == 0 and a < len(data):
            data[a] ^= 1 << rng.randrange(8)
        elif kind <= 2:
            data[a : b if rng.random() < 0.3 else a] = rng.choice(TOKENS)
        elif kind == 3:
            del data[a:b]
        elif kind == 4:
            data[a:a] = data[a:b]
        else:
            other = rng.choice(SEEDS)
            c = rng.randrange(len(other) + 1)
            data[a:] = other[c : c + 300]
    return bytes(data)


def case(seed: int) -> tuple[bytes, dict[str, Any]]:
    """Content and reading options of one case; equal for equal seeds."""
    rng = random.Random(seed)
    content = rng.choice(SEEDS)
    if rng.random() < 0.6:  # a few lines: a fault is more often the only one
        lines = content.splitlines(keepends=True)
        first = rng.randrange(len(lines))
        content = b"".join(lines[first : first + rng.randint(1, 6)])
    content = mutated(rng, content)
    if rng.random() < 0.15:
        content = gzip.compress(content, mtime=0)
        if rng.random() < 0.4:
            content = mutated(rng, content)
    options: dict[str, Any] = {
        "index_base": rng.choice([1, 1, 0]),
        "n_features": rng.choice([None, None, 5, 12]),
        "missing": rng.choice([None, "zero", "query-min", -7.5]),
        "unjudged": rng.choice(["error", "drop", "zero"]),
        "sparse": rng.choice([None, None, True]),
        "n_threads": rng.choice([1, 2]),
    }
    return content, options


def entries(data: RankingDataset) -> list[dict[int, bytes]]:
    """The non-zero values of each row, bit for bit."""
    X = sp.csr_matrix(data.X)
    found = []
    for i in range(data.n_docs):
        row = zip(X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]], strict=True)
        found.append({int(j): float(v).hex() for j, v in row if v != 0})
    return found


def assert_refused(at_fault: set[int], path: Path, read: Callable[[], RankingDataset]) -> None:
    """One short sentence that names the file and one of the lines at fault, if it is a matter of lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataFormatError) as caught:
            read()
    message = str(caught.value)
    assert len(message) < 400
    assert message.isprintable()
    named = re.match(re.escape(f"{path}:") + r"((\d+):)? ", message)
    assert named, message
    assert not at_fault or int(named[2] or 0) in at_fault, message


def compare(content: bytes, options: dict[str, Any], path: Path, read: Callable[..., RankingDataset]) -> bool:
    """Whether the file was accepted; AssertionError when the two readers differ."""
    path.write_bytes(content)
    plain = {k: options[k] for k in ("index_base", "n_features", "unjudged")}
    rows, at_fault = [], None
    try:
        rows = oracle.read_file(content, missing=options["missing"] is not None, **plain)
    except oracle.Refused as refused:
        at_fault = refused.lines
    if at_fault is not None:
        assert_refused(at_fault, path, lambda: read(path, **options))
        return False
    oracle.fill(rows, options["missing"] or "zero")
    order = oracle.gather_queries(rows)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        data = read(path, **options)
    scattered = order != sorted(order)
    if scattered or options["unjudged"] != "drop":  # dropped rows may have been what was scattered
        assert [w.category for w in warned] == [DataWarning] * scattered
    assert list(data.row_index) == order
    assert data.relevance.tolist() == [rows[i].label for i in order]
    assert [str(q) for q in data.qid] == [rows[i].qid for i in order]  # type: ignore[union-attr]
    assert data.query_ids.tolist() == list(dict.fromkeys(data.qid.tolist()))  # type: ignore[union-attr]
    nothing = np.full(data.n_docs, "", dtype=object)
    assert list(nothing if data.docid is None else data.docid) == [rows[i].docid for i in order]
    assert list(nothing if data.comment is None else data.comment) == [rows[i].comment for i in order]
    base = options["index_base"]
    assert entries(data) == [{j - base: v.hex() for j, v in rows[i].values.items() if v != 0} for i in order]
    width = options["n_features"] or data.n_features
    assert data.n_features == width > max((j - base for row in rows for j in row.values), default=0)
    return True


def test_mutated_files_are_read_alike_or_refused_with_file_and_line(
    fuzz_seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = time.monotonic() + fuzz_seconds
    accepted = seed = 0
    while time.monotonic() < end or seed < 20:
        content, options = case(seed)
        monkeypatch.setattr("sparserank.data.letor.chunks.CHUNK_BYTES", [1 << 20, 64, 7][seed % 3])
        try:
            accepted += compare(content, options, tmp_path / "a.txt", read)
        except BaseException:
            print(f"seed {seed}: {content!r} {options}")
            raise
        seed += 1
    print(f"{seed} cases, {accepted} accepted")
    assert 0 < accepted < seed


# (content, the message of its refusal or nothing)
EXAMPLES: list[tuple[bytes, str]] = [
    (b"1 qid:1 1:1\n1 qid:1 1:1 #a\r0 qid:1 1:2 #b\r", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:1\n1 qid:1 1:1\r0 qid:1 1:2\r", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:1\n# a\r1 qid:1 1:1\n", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:1\n\r1 qid:1 1:1\n", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:1\n1 qid:1 1:1\r\r0 qid:1 1:2\n", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:1\n1 qid:1 1:1\r2:1\n", ":2: .*LF or CRLF"),
    (b"1 qid:1 1:x\n1 qid:1 1:1\r0 qid:1 1:2\r", ":1: feature value must be a number"),
    *[
        (end.join([b"1 qid:1 1:1 # a", b"", b"# b", b"0 qid:1 1:2 # c"]) + last, "")
        for end in (b"\n", b"\r\n", b"\r\r\n", b"\r\r\r\n")
        for last in (b"", b"\r", b"\r\r")
    ],
    (b"\xef\xbb\xbf1 qid:1 1:1\n0 qid:1 1:2\n", ""),
    (b"1 qid:1 1:1\n\xef\xbb\xbf0 qid:1 1:2\n", ":2: label must be a number"),
    (b"1 qid:ok 1:1\n# note\n0 qid:\xe9 1:2\n1 qid:\xe8 1:3\n", ":3: query id is not UTF-8"),
    (b"1 qid:1 1:1 # docid = \xe9 caf\xe9\n0 qid:1 1:2 # docid = \xe8 x\n", ""),
    *[(b"1 qid:7 1:1\n0 qid:%b 1:2\n" % other, "") for other in (b"007", b"1e3", b"+3", b"-0", b"9" * 19)],
    (b"1 qid:0 1:1\n0 qid:-0 1:2\n", ""),
    (b"2 qid:1\n1 qid:1 3:1\n0 qid:1#x\n", ""),
    (b"-1 qid:1 1:NULL\n1 qid:1 9:2\n", ""),
]


@pytest.mark.parametrize("chunk", [4, 1 << 20])
@pytest.mark.parametrize(("content", "refusal"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_files_that_were_once_misread(
    content: bytes, refusal: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line ends, byte order marks, ids that are no integers or not UTF-8, rows without features."""
    monkeypatch.setattr("sparserank.data.letor.chunks.CHUNK_BYTES", chunk)
    path = tmp_path / "a.txt"
    options: dict[str, Any] = {"index_base": 1, "n_features": None, "n_threads": 1, "sparse": None}
    options |= {"missing": "query-min", "unjudged": "drop"}
    assert compare(content, options, path, read) == (not refusal)
    if refusal:  # the slow reader is as strict
        with pytest.raises(oracle.Refused):
            oracle.read_file(content)
        with pytest.raises(DataFormatError, match=re.escape(str(path)) + refusal):
            read(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        lambda content: content.replace(b"\r", b"\n"),
        lambda content: content.replace(b"\xe9", b"\xe8"),
        lambda content: content.replace(b"docid", b"docno"),
        lambda content: content.replace(b"-", b""),
        lambda content: content.lower(),
    ],
    ids=["carriage return as line end", "other bytes", "no document ids", "no sign", "lower case"],
)
def test_the_comparison_rejects_a_wrong_reader(wrong: Callable[[bytes], bytes], tmp_path: Path) -> None:
    def misread(path: Path, **options: Any) -> RankingDataset:
        path.write_bytes(wrong(path.read_bytes()))
        return read(path, **options)

    rejected = 0
    for seed in range(400):
        content, options = case(seed)
        try:
            compare(content, options, tmp_path / "a.txt", misread)
        except (AssertionError, pytest.fail.Exception, DataFormatError):
            rejected += 1
    assert rejected > 0
