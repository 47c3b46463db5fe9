"""Arrays, and files beside ranking text, that were once misread or refused without help: one sentence with the place
and the remedy."""

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
from sparserank import RankingDataset
from sparserank.crossval.feature_rules import costs_of
from sparserank.errors import DataError, DataFormatError

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


# -- files of names and costs ------------------------------------------------------------------------------------------


@pytest.fixture
def two_features(tmp_path: Path) -> Path:
    return write(tmp_path / "a.txt", "1 qid:1 1:1 2:2\n")


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
    names = write(tmp_path / "names.txt", content)
    assert sr.read(two_features, feature_names=names).feature_names == expected
    assert sr.read(two_features, feature_names=list(expected)).feature_names == expected


BAD_SIDE_FILES: list[tuple[str, str | bytes, str, str]] = [
    ("names", "bm25\n\ntf\n", ":2: ", "blank line"),
    ("names", "\nbm25\ntf\n", ":1: ", "blank line"),
    ("names", "bm25\rtf\r", ":1: ", "LF or CRLF"),
    ("names", b"bm25\nt\xe9\n", ":2: ", "UTF-8"),
    ("names", "bm25\nbm25\n", ":2: ", "line 1"),
    ("names", "x" * LONG + "\n" + "x" * LONG, ":2: ", "line 1"),
    ("costs", "1\n\n2\n", ":2: ", "blank line"),
    ("costs", "1\r2\r", ":1: ", "LF or CRLF"),
    ("costs", b"1\n\xe9\n", ":2: ", "UTF-8"),
    ("costs", "1\n-" + "9" * LONG, ":2: ", "a cost must be a number > 0"),
    ("costs", "1\n2\n3\n", ": ", "3 costs for 2 features"),
]


@pytest.mark.parametrize(("kind", "content", "place", "reason"), BAD_SIDE_FILES, ids=range(len(BAD_SIDE_FILES)))
def test_a_bad_file_of_names_or_costs_is_refused_by_file_and_line(
    kind: str, content: str | bytes, place: str, reason: str, two_features: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "side.txt", content)
    if kind == "names":
        message = refusal(sr.read, two_features, feature_names=path)
    else:
        message = refusal(costs_of, path, ("a", "b"))
    assert message.startswith(f"{path}{place}")
    assert reason in message


def test_costs_may_have_a_byte_order_mark_crlf_and_blank_lines_at_the_end(tmp_path: Path) -> None:
    path = write(tmp_path / "costs.txt", b"\xef\xbb\xbf1\r\n 2.5 \r\n\r\n\n")
    assert costs_of(path, ("a", "b")) == (1.0, 2.5)


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float, "float32", np.float32, np.dtype("f8")])
def test_float_types_by_any_name_are_read(dtype: Any, tmp_path: Path) -> None:
    assert sr.read(write(tmp_path / "a.txt", "1 qid:1 1:1.5\n"), dtype=dtype).X.dtype == np.dtype(dtype)


# -- rows in any order, and wide rows ----------------------------------------------------------------------------------


def place_of(field: str) -> int:
    """The number of the feature in 'number:value'."""
    return int(field.partition(":")[0])


def test_numbers_of_rows_in_any_order_follow_their_features_in_time(tmp_path: Path) -> None:
    """Values that need correct rounding are resolved after the row is sorted; n^3 takes ten seconds for a long row.
    Compared with rows in order, in time of the processor: a busy or slow machine changes nothing."""
    rng = random.Random(3)
    texts = ["1.5", "0.1234567890123456789", "9007199254740993e30", "-2.00000000000000000001e-30"]
    expected, lines = np.zeros((160, 2000)), []
    for n in range(160):
        indices = list(range(1999, -1, -1)) if n < 10 else rng.sample(range(300), rng.randint(1, 300))
        if 5 <= n < 10:
            rng.shuffle(indices)
        row = {i: f"0.123456789012345678901{i}" if n < 10 else rng.choice(texts) for i in indices}
        expected[n, indices] = list(map(float, row.values()))
        lines.append(f"0.12345678901234567890123 qid:{n} {' '.join(f'{i + 1}:{t}' for i, t in row.items())}\n")
    sr.read(write(tmp_path / "small.txt", "1 qid:1 2:1 1:2\n"))  # compile first
    sorted_lines = [" ".join([*line.split()[:2], *sorted(line.split()[2:], key=place_of)]) + "\n" for line in lines]

    def read(name: str, own: list[str]) -> tuple[sr.RankingDataset, float]:
        start = time.process_time()
        return sr.read(write(tmp_path / name, "".join(own)), sparse=False), time.process_time() - start

    _, in_order = read("sorted.txt", sorted_lines)
    data, taken = read("a.txt", lines)
    assert taken < 20.0 * in_order + 0.5
    np.testing.assert_array_equal(data.X, expected)
    assert set(data.relevance) == {0.12345678901234567890123}


def test_missing_values_do_not_make_wide_data_dense(tmp_path: Path) -> None:
    lines = [f"{n % 2} qid:{n // 10} 1:{n} 2:NULL\n" for n in range(15_000)]
    path = write(tmp_path / "a.txt", "".join(lines) + "1 qid:x 1000000:3\n")
    data = sr.read(path, missing="query-min")
    assert data.is_sparse
    assert data.n_features == 1_000_000
    assert data.X[:, 1].sum() == 0.0


# -- messages, and what the system refuses -----------------------------------------------------------------------------


def test_a_long_query_id_is_cut_in_the_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", f"1 qid:{'q' * 5000} 1:1\n0 qid:b 1:1\n1 qid:{'q' * 5000} 1:2\n")
    with pytest.warns(UserWarning, match=r"a\.txt:3: query 'q+\.\.\.q+' continues") as caught:
        sr.read(path)
    assert len(str(caught[0].message)) < 500


def test_a_read_error_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def peek(self, size: int = 0) -> bytes:
            return b"1 "

        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n")
    monkeypatch.setattr("builtins.open", lambda *a, **k: Broken())
    message = refusal(sr.read, path)
    assert message.startswith(f"{path}: cannot be read")
    assert os.strerror(errno.EIO) in message


# -- arrays ------------------------------------------------------------------------------------------------------------


SPARSE = [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_matrix, sp.coo_array]


@pytest.mark.parametrize("make", SPARSE)
@pytest.mark.parametrize("damage", [-1, 7, 100_000, "indptr"])
def test_a_damaged_sparse_matrix_is_refused_where_it_is_trained_on_and_scored(make: Any, damage: Any) -> None:
    X = make(np.eye(2))
    if damage != "indptr":
        (X.row if X.format == "coo" else X.indices)[0] = damage
    elif X.format != "coo":
        X.indptr[1] = 10**6
    else:
        return
    assert "X is not a valid sparse matrix" in refusal(RankingDataset, X, [0, 1], error=DataError)
    ranker = sr.SparseRanker().fit(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 0])
    for system in (ranker, ranker.to_model()):
        assert "not a valid sparse matrix" in refusal(system.predict, X, error=DataError)


@pytest.mark.parametrize(
    ("arguments", "message"),
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
        ((np.eye(3), [1, 2]), "one value per row"),
        ((np.eye(3), [1, np.nan, 0]), "relevance must be finite; row 1"),
        (([[1.0], [np.inf]], [0, 1]), "row 1, feature f1 is inf"),
        ((sp.csr_matrix([[np.nan, 1.0]]), [0]), "finite"),
        ((np.ones(3), [0, 1, 1]), "two-dimensional"),
        ((np.eye(2), [0, 1], [1]), "qid must have one value"),
        ((np.eye(2), [0, 1], None, None, ["a", "a"]), "'a' appears twice"),
        ((np.eye(2), [0, 1], None, None, ["a" * LONG] * 2), "appears twice"),
        ((np.eye(2), [0, 1], None, None, ["a"]), "must contain 2 names"),
        ((np.eye(2), [0, 1], None, None, ["a", "b\udc80"]), "name 2"),
    ],
)
def test_bad_arrays_are_refused_in_a_sentence(arguments: tuple, message: str) -> None:
    found = refusal(RankingDataset, *arguments, error=DataError)
    assert message in found
    assert found.isprintable()


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
