"""Files and arrays that were once misread, or refused without help: one sentence with file, line and remedy."""

from __future__ import annotations

import errno
import io
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank import RankingDataset, read_letor, read_qrels, read_run
from sparserank.data.grouping import group_rows
from sparserank.errors import DataError, DataFormatError
from sparserank.selection.inputs import costs_of
from tests.oracles import letor_reader as oracle

LONG = 200_000  # characters of a hostile token


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(call: Any, *arguments: Any, error: type[Exception] = DataFormatError, **options: Any) -> str:
    """The one sentence that `call` fails with."""
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "\r" not in message
    assert len(message) < 500
    return message


# -- query ids ---------------------------------------------------------------------------------------------------------

MISSING_IDS = {
    "nan among floats": np.array([1.0, 2.0, np.nan, np.nan]),
    "list with nan": [1, 2, float("nan"), 3],
    "strings and nan": ["a", "b", float("nan"), "c"],
    "strings and None": ["a", "b", None, "c"],
    "object array with None": np.array(["a", "b", None, "c"], dtype=object),
    "object array with nan": np.array(["a", "b", np.nan, "c"], dtype=object),
    "nullable integers": pd.array([1, 2, pd.NA, 3], dtype="Int64"),
    "nullable integers, as an array": np.asarray(pd.Series([1, 2, pd.NA, 3], dtype="Int64")),
    "nullable strings": pd.Series(["a", "b", pd.NA, "c"], dtype="string"),
    "categories": pd.Series(["a", "b", None, "c"], dtype="category"),
    "dates": np.array(["2024-01-01", "2024-01-02", "NaT", "NaT"], dtype="datetime64[D]"),
    "masked": np.ma.array([1, 2, 3, 3], mask=[0, 0, 1, 1]),
}


@pytest.mark.parametrize("name", MISSING_IDS)
def test_a_missing_query_id_is_refused_with_its_row(name: str) -> None:
    message = refusal(RankingDataset, np.eye(4), [0, 1, 0, 1], MISSING_IDS[name], error=DataError)
    assert "qid" in message
    assert "row 2" in message


def test_grouping_refuses_a_missing_query_id_too() -> None:
    assert "row 1" in refusal(group_rows, np.array([1.0, np.nan]), error=DataError)


@pytest.mark.parametrize(
    "qid",
    [
        [1, 1, 2, 2],
        ["a", "a", "b", "b"],
        np.array([1.5, 1.5, 2, 2]),
        np.array(["a", "a", "b", "b"], dtype=object),
        pd.array([1, 1, 2, 2], dtype="Int64"),
        pd.Series(["a", "a", "b", "b"], dtype="string"),
        np.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"], dtype="datetime64[D]"),
    ],
    ids=str,
)
def test_whole_query_ids_of_any_kind_are_taken(qid: Any) -> None:
    assert RankingDataset(np.eye(4), [0, 1, 0, 1], qid).query_ptr.tolist() == [0, 2, 4]


@pytest.mark.parametrize("make", [list, lambda ids: np.array(ids, dtype=object)])
def test_numbers_and_strings_are_not_mixed_as_query_ids(make: Any) -> None:
    message = refusal(RankingDataset, np.eye(3), [0, 1, 0], make([1, "1", 2]), error=DataError)
    assert "qid" in message


def test_query_ids_that_are_not_utf8_are_refused_by_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"1 qid:ok 1:1\n# note\n0 qid:\xe9 1:2\n1 qid:\xe8 1:3\n")
    message = refusal(read_letor, path)
    assert message.startswith(f"{path}:3: query id is not UTF-8")


def test_document_ids_that_are_not_utf8_stay_different(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"1 qid:1 1:1 # docid = \xe9 caf\xe9\n0 qid:1 1:2 # docid = \xe8 x\n")
    data = read_letor(path)
    assert list(data.docid) == [r"\xe9", r"\xe8"]  # type: ignore[arg-type]
    assert data.comment[0] == r"docid = \xe9 caf\xe9"  # type: ignore[index]


def test_minus_zero_is_a_text_id_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:0 1:1\n0 qid:-0 1:2\n")
    assert read_letor(path).query_ids.tolist() == ["0", "-0"]


# -- line ends ---------------------------------------------------------------------------------------------------------

LONE_RETURNS = {
    "in a comment": b"1 qid:1 1:1\n1 qid:1 1:1 #a\r0 qid:1 1:2 #b\r",
    "old line ends": b"1 qid:1 1:1\n1 qid:1 1:1\r0 qid:1 1:2\r",
    "in a whole-line comment": b"1 qid:1 1:1\n# a\r1 qid:1 1:1\n",
    "at the start of a line": b"1 qid:1 1:1\n\r1 qid:1 1:1\n",
    "two of them": b"1 qid:1 1:1\n1 qid:1 1:1\r\r0 qid:1 1:2\n",
    "between features": b"1 qid:1 1:1\n1 qid:1 1:1\r2:1\n",
}


@pytest.mark.parametrize("chunk", [4, 1 << 20])
@pytest.mark.parametrize("name", LONE_RETURNS)
def test_a_lone_carriage_return_is_refused_by_file_and_line(
    name: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparserank.data.letor.chunks.CHUNK_BYTES", chunk)
    path = write(tmp_path / "a.txt", LONE_RETURNS[name])
    message = refusal(read_letor, path)
    assert message.startswith(f"{path}:2: ")
    assert "LF or CRLF" in message


def test_an_earlier_bad_line_comes_before_a_lone_carriage_return(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"1 qid:1 1:x\n1 qid:1 1:1\r0 qid:1 1:2\r")
    assert refusal(read_letor, path).startswith(f"{path}:1: feature value must be a number")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n", b"\r\r\r\n"])
@pytest.mark.parametrize("last", [b"", b"\r", b"\r\r"])
def test_carriage_returns_before_a_line_feed_or_the_end_are_line_ends(end: bytes, last: bytes, tmp_path: Path) -> None:
    data = read_letor(write(tmp_path / "a.txt", end.join([b"1 qid:1 1:1 # a", b"", b"# b", b"0 qid:1 1:2 # c"]) + last))
    assert data.X.ravel().tolist() == [1.0, 2.0]
    assert list(data.comment) == ["a", "c"]  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_byte_order_mark_is_skipped(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.data.letor.chunks.CHUNK_BYTES", chunk)
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbf1 qid:1 1:1\n0 qid:1 1:2\n")
    assert read_letor(path).relevance.tolist() == [1.0, 0.0]
    twice = write(tmp_path / "b.txt", b"1 qid:1 1:1\n\xef\xbb\xbf0 qid:1 1:2\n")
    assert refusal(read_letor, twice).startswith(f"{twice}:2: label must be a number")


# -- files of names and costs ------------------------------------------------------------------------------------------


@pytest.fixture
def two_features(tmp_path: Path) -> Path:
    return write(tmp_path / "a.txt", "1 qid:1 1:1 2:2\n")


def names_of(folder: Path, content: str | bytes, data: Path) -> tuple[str, ...]:
    return tuple(read_letor(data, feature_names=write(folder / "names.txt", content)).feature_names or ())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfbm25\ntf\n", ("bm25", "tf")),
        ("bm25\u2028x\ntf\x85y\x0bz\n", ("bm25\u2028x", "tf\x85y\x0bz")),
        ("\u00a0\ntf", ("\u00a0", "tf")),
        ("bm25\r\ntf\r\n\r\n \t\n\n", ("bm25", "tf")),
    ],
)
def test_lines_of_a_names_file_are_the_names(
    content: str | bytes, expected: tuple[str, ...], two_features: Path, tmp_path: Path
) -> None:
    assert names_of(tmp_path, content, two_features) == expected


@pytest.mark.parametrize(
    ("content", "place", "says"),
    [
        ("bm25\n\ntf\n", ":2: ", "blank line"),
        ("\nbm25\ntf\n", ":1: ", "blank line"),
        ("bm25\rtf\r", ":1: ", "LF or CRLF"),
        (b"bm25\nt\xe9\n", ":2: ", "UTF-8"),
        ("bm25\nbm25\n", ":2: ", "line 1"),
        ("x" * LONG + "\n" + "x" * LONG, ":2: ", "line 1"),
    ],
)
def test_a_bad_names_file_is_refused_by_file_and_line(
    content: str | bytes, place: str, says: str, two_features: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "names.txt", content)
    message = refusal(read_letor, two_features, feature_names=path)
    assert message.startswith(f"{path}{place}")
    assert says in message


@pytest.mark.parametrize(
    ("content", "place", "says"),
    [
        ("1\n\n2\n", ":2: ", "blank line"),
        ("1\r2\r", ":1: ", "LF or CRLF"),
        (b"1\n\xe9\n", ":2: ", "UTF-8"),
        ("1\n-" + "9" * LONG, ":2: ", "a cost must be a number > 0"),
        ("1\n2\n3\n", ": ", "3 costs for 2 features"),
    ],
)
def test_a_bad_cost_file_is_refused_by_file_and_line(
    content: str | bytes, place: str, says: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "costs.txt", content)
    message = refusal(costs_of, path, ("a", "b"))
    assert message.startswith(f"{path}{place}")
    assert says in message


def test_costs_may_have_a_byte_order_mark_crlf_and_blank_lines_at_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "costs.txt", b"\xef\xbb\xbf1\r\n 2.5 \r\n\r\n\n")
    assert costs_of(path, ("a", "b")) == (1.0, 2.5)


# -- runs and judgments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "lines"),
    [
        (read_run, ["1 Q0 a 1 0.9 t", "2 Q0 a 1 0.9 t", "1 Q0 b 2 0.5 t", "1 Q0 a 3 0.1 t"]),
        (read_qrels, ["1 0 a 2", "2 0 a 2", "1 0 b 1", "1 0 a 0"]),
    ],
)
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n"])
def test_a_repeated_document_in_a_run_or_in_judgments_names_both_lines(
    read: Any, lines: list[str], between: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.run", between.join(lines) + "\n")
    second = 4 if between != "\n\n" else 7
    message = refusal(read, path)
    assert message.startswith(f"{path}:{second}: ")
    assert "line 1" in message
    assert len(read(write(path, between.join(lines[:3])))) == 3


def test_runs_may_have_a_byte_order_mark_and_ids_with_other_blanks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", "\ufeff1\tQ0  d\u00a0\u20281 1 0.5 t\r\n")
    assert read_run(path) == {("1", "d\u00a0\u20281"): 0.5}


def test_long_fields_of_a_run_are_cut_in_the_message(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", f"1 Q0 a 1 x{'9' * LONG} t\n")
    assert refusal(read_run, path).startswith(f"{path}:1: expected a finite number")


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [int, "int32", bool, complex, "float16", object, str, "no such type", 5])
def test_only_float_types_are_read(dtype: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1.7\n")
    assert "float64 or float32" in refusal(read_letor, path, dtype=dtype, error=DataError)


@pytest.mark.parametrize("dtype", [float, "float32", np.float32, np.dtype("f8")])
def test_float_types_by_any_name_are_read(dtype: Any, tmp_path: Path) -> None:
    assert read_letor(write(tmp_path / "a.txt", "1 qid:1 1:1.5\n"), dtype=dtype).X.dtype == np.dtype(dtype)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_value_beyond_float32_is_refused_by_file_and_line(sparse: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 2:3\n\n0 qid:1 2:1e39 1:2\n")
    message = refusal(read_letor, path, dtype=np.float32, sparse=sparse)
    assert message.startswith(f"{path}:3: ")
    assert "float64" in message


# -- rows in any order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["descending", "random"])
def test_long_rows_in_any_order_take_no_longer_than_their_length(order: str, tmp_path: Path) -> None:
    indices = list(range(2000, 0, -1))
    if order == "random":
        random.Random(0).shuffle(indices)
    row = "1 qid:1 " + " ".join(f"{i}:0.123456789012345678901{i}" for i in indices) + "\n"
    path = write(tmp_path / "a.txt", row * 5)
    read_letor(write(tmp_path / "small.txt", "1 qid:1 2:1 1:2\n"))  # compile first
    start = time.perf_counter()
    data = read_letor(path)
    assert time.perf_counter() - start < 5.0  # n^3 takes ten seconds a row
    np.testing.assert_array_equal(data.X[4], [float(f"0.123456789012345678901{i}") for i in range(1, 2001)])


def test_numbers_of_rows_in_any_order_and_of_any_length_follow_their_features(tmp_path: Path) -> None:
    rng = random.Random(3)
    expected = np.zeros((150, 300))
    lines = []
    for n in range(150):
        indices = rng.sample(range(300), rng.randint(1, 300))
        tokens = []
        for i in indices:
            text = rng.choice(["1.5", "0.1234567890123456789", "9007199254740993e30", "-2.00000000000000000001e-30"])
            expected[n, i] = float(text)
            tokens.append(f"{i + 1}:{text}")
        lines.append(f"0.12345678901234567890123 qid:{n} {' '.join(tokens)}\n")
    data = read_letor(write(tmp_path / "a.txt", "".join(lines)), n_features=300)
    np.testing.assert_array_equal(data.X, expected)
    assert set(data.relevance) == {0.12345678901234567890123}


@pytest.mark.parametrize("length", [2, 3, 50])
def test_a_repeated_index_is_found_wherever_it_stands(length: int, tmp_path: Path) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        indices = rng.sample(range(1, 1000), length)
        indices[rng.randrange(1, length)] = indices[0]
        path = write(tmp_path / "a.txt", "1 qid:1 1:1\n1 qid:1 " + " ".join(f"{i}:1" for i in indices))
        assert refusal(read_letor, path).startswith(f"{path}:2: feature index {indices[0]} appears twice")


# -- widths and missing values in sparse data --------------------------------------------------------------------------


def test_too_large_a_number_of_features_blames_the_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 3:1\n")
    message = refusal(read_letor, path, n_features=1_000_000_000, error=DataError)
    assert message.startswith("n_features is 1000000000")
    assert read_letor(path, n_features=1_000_000).n_features == 1_000_000


@pytest.mark.parametrize("n_features", ["46", 4.5, True, np.nan])
def test_a_number_of_features_is_an_integer(n_features: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n")
    assert "n_features must be an integer" in refusal(read_letor, path, n_features=n_features, error=DataError)


@pytest.mark.parametrize("base", [0, 1])
def test_a_mistyped_index_is_named_by_file_and_line(base: int, tmp_path: Path) -> None:
    good = write(tmp_path / "good.txt", "1 qid:1 1:1\n" * 3)
    path = write(tmp_path / "a.txt", "# note\n1 qid:1 1:1\n\n0 qid:1 3:1 200000000:1\n0 qid:1 100000000:1\n")
    message = refusal(read_letor, [good, path, good], index_base=base)
    assert message.startswith(f"{path}:4: ")
    assert "200000000" in message


def test_more_features_than_names_are_named_by_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n0 qid:1 3:1\n1 qid:1 2:1\n")
    message = refusal(read_letor, path, feature_names=["a", "b"], error=DataError)
    assert message.startswith(f"{path}:2: has feature 3, but feature_names contains 2 names")


def test_an_index_with_leading_zeros_counts_as_its_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", f"1 qid:1 {'0' * 5000}7:1\n")
    assert "has feature 7, but 3 features" in refusal(read_letor, path, n_features=3)


def test_missing_values_do_not_make_wide_data_dense(tmp_path: Path) -> None:
    lines = [f"{n % 2} qid:{n // 10} 1:{n} 2:NULL\n" for n in range(15_000)]
    path = write(tmp_path / "a.txt", "".join(lines) + "1 qid:x 1000000:3\n")
    data = read_letor(path, missing="query-min")
    assert data.is_sparse
    assert data.n_features == 1_000_000
    assert data.X[:, 1].sum() == 0.0


@pytest.mark.parametrize("policy", ["zero", "query-min", 7.5, -7.5, "2=zero;3=4.5;*=query-min"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_missing_values_become_the_same_in_sparse_and_in_dense_data(policy: Any, dtype: Any, tmp_path: Path) -> None:
    rng = random.Random(8)
    lines = []
    for _ in range(300):
        tokens = [
            f"{j}:{'NULL' if rng.random() < 0.4 else rng.uniform(-1 if j < 4 else 0.1, 1)}"
            for j in rng.sample(range(1, 8), rng.randint(0, 7))
        ]
        lines.append(f"{rng.choice([-1, 0, 1])} qid:{rng.randrange(40)} {' '.join(tokens)}\n")
    path = write(tmp_path / "a.txt", "".join(lines))
    for unjudged in ("zero", "drop"):
        dense, sparse = (
            read_letor(path, missing=policy, sparse=s, dtype=dtype, unjudged=unjudged) for s in (False, True)
        )
        np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    assert np.count_nonzero(dense.X) > 50


def test_missing_values_of_dropped_rows_only_need_no_filling(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "-1 qid:1 1:NULL\n1 qid:1 9:2\n")
    for sparse in (False, True):
        data = read_letor(path, missing="query-min", unjudged="drop", sparse=sparse)
        assert data.X.sum() == 2.0


# -- messages ----------------------------------------------------------------------------------------------------------

LONG_TOKENS = {
    "label": f"x{'9' * LONG} qid:1 1:1",
    "label too large": f"{'9' * LONG} qid:1 1:1",
    "no qid": f"1 {'x' * LONG}",
    "token": f"1 qid:1 {'x' * LONG}",
    "index": f"1 qid:1 {'9' * LONG}:1",
    "value": f"1 qid:1 1:{'9' * LONG}x",
    "value too large": f"1 qid:1 1:{'9' * LONG}",
    "accents": f"1 qid:1 {'é' * LONG}",
}


@pytest.mark.parametrize("name", LONG_TOKENS)
def test_long_tokens_are_cut_in_messages(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", LONG_TOKENS[name] + "\n")
    assert refusal(read_letor, path).startswith(f"{path}:1: ")


def test_a_long_query_id_is_cut_in_the_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", f"1 qid:{'q' * 5000} 1:1\n0 qid:b 1:1\n1 qid:{'q' * 5000} 1:2\n")
    with pytest.warns(UserWarning, match=r"a\.txt:3: query 'q+\.\.\.q+' continues") as caught:
        read_letor(path)
    assert len(str(caught[0].message)) < 500


@pytest.mark.parametrize("missing", ["x" * LONG, {"x" * LONG: "zero"}, "9" * LONG + "=zero"])
def test_a_long_policy_is_cut_in_the_message(missing: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n")
    refusal(read_letor, path, missing=missing, error=DataError)


# -- what the system refuses -------------------------------------------------------------------------------------------


def test_a_loop_of_links_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "b.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    assert refusal(read_letor, tmp_path / "a.txt").startswith(f"{tmp_path / 'a.txt'}: ")


def test_a_read_error_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def peek(self, size: int = 0) -> bytes:
            return b"1 "

        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n")
    monkeypatch.setattr("builtins.open", lambda *a, **k: Broken())
    message = refusal(read_letor, path)
    assert message.startswith(f"{path}: cannot be read")
    assert os.strerror(errno.EIO) in message


# -- arrays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_matrix, sp.coo_array])
@pytest.mark.parametrize("index", [-1, 7, 100_000])
def test_a_sparse_matrix_with_an_index_outside_is_refused(make: Any, index: int) -> None:
    X = make(np.eye(2))
    (X.row if X.format == "coo" else X.indices)[0] = index
    assert "X is not a valid sparse matrix" in refusal(RankingDataset, X, [0, 1], error=DataError)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[1.0, 2.0], [3.0]], [0, 1]), "row 0 has 2 values, row 1 has 1 values"),
        (([[1.0, 2.0], 3.0], [0, 1]), "row 1"),
        (([[[1.0], [2.0, 3.0]]], [0]), "X must be"),
        ((None, [0, 1]), "X must be"),
        (([[1.0], [2.0]], [0, [1]]), "relevance must contain"),
        (([[1.0], [2.0]], [0, None]), "relevance must be numeric"),
        (([[1.0], [2.0]], None), "relevance must"),
        (([[1.0], [2.0]], [0, 1], [1, [2]]), "qid must"),
        (([[1.0], [2.0]], [0, 1], [(1, 2), (3, 4)]), "qid must"),
        (([[1.0], [2.0]], [0, 1], [1, 2], 5), "docid must"),
        (([[1.0]], [0], None, None, 5), "feature_names must"),
        (([[1.0]], [0], None, None, "a"), "feature_names must"),
        (([["x" * LONG]], [0]), "X must be numeric"),
    ],
)
def test_lists_of_the_wrong_shape_get_a_sentence(arguments: tuple, says: str) -> None:
    assert says in refusal(RankingDataset, *arguments, error=DataError)


def test_names_that_cannot_be_written_are_refused() -> None:
    message = refusal(RankingDataset, np.eye(2), [0, 1], feature_names=["a", "b\udc80"], error=DataError)
    assert "name 2" in message
    assert message.isascii()


def test_a_repeated_name_is_cut_in_the_message() -> None:
    refusal(RankingDataset, np.eye(2), [0, 1], feature_names=["a" * LONG] * 2, error=DataError)


def test_the_slow_reader_refuses_what_it_should() -> None:
    """The comparison that fuzzing makes is worth as much as the slow reader's own strictness."""
    for content in LONE_RETURNS.values():
        with pytest.raises(oracle.Refused) as caught:
            oracle.read_file(content)
        assert caught.value.lines == {2}


@pytest.mark.parametrize(
    "qid",
    [
        [2**63, 2**63 + 1, -1, -1],
        [2**53, 2**53 + 1, 0.5, 0.5],
        ["a\0", "a", "a", "b"],
        np.array(["a\0", "a", "a", "b"], dtype=object),
        np.array([1e300, 1e300, 2.0, 2.0]),
    ],
)
def test_query_ids_that_numpy_cannot_keep_apart_are_refused(qid: Any) -> None:
    with pytest.raises(DataError, match=r"qid of row \d (is too large|ends in a NUL)"):
        RankingDataset(np.ones((4, 1)), [0, 1, 0, 1], qid)


def test_what_is_masked_complex_or_a_date_is_no_feature() -> None:
    X, y = np.ones((4, 1)), [0, 1, 0, 1]
    for bad in (np.ma.masked_array(X, mask=[[0], [1], [0], [0]]), X * 1j, X.astype("datetime64[s]")):
        with pytest.raises(DataError, match=r"X (contains masked|must be numeric)"):
            RankingDataset(bad, y)
    with pytest.raises(DataError, match="relevance contains masked"):
        RankingDataset(X, np.ma.masked_array(y, mask=[1, 0, 0, 0]))
    assert RankingDataset(np.ma.masked_array(X), y).n_docs == 4  # nothing is masked


@pytest.mark.parametrize("damage", ["indptr", "index beyond", "index below"])
def test_damaged_sparse_matrices_are_refused_where_they_are_scored_too(damage: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((20, 4)), np.arange(20) % 3
    ranker = sr.SparseRanker().fit(X, y)
    for system in (ranker, ranker.to_model()):
        bad = sp.csr_matrix(X)
        if damage == "indptr":
            bad.indptr[1] = 10**6
        else:
            bad.indices[3] = 99 if damage == "index beyond" else -1
        with pytest.raises(DataError, match="not a valid sparse matrix"):
            system.predict(bad)


@pytest.mark.parametrize("paths", [5, b"a.txt", ["a.txt", 5], "a\0b.txt", None, []])
def test_what_is_no_path_gets_a_sentence(paths: Any) -> None:
    with pytest.raises((DataError, DataFormatError), match=r"read_letor (takes|needs)|no such file"):
        read_letor(paths)
