"""The LETOR reader against a plain Python reader, bit for bit."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank.data.letor.chunks as letor_chunks
from sparserank import (
    RankingDataset,
    fit_scaling,
    read_data,
    read_letor,
    read_qrels,
    read_run,
    write_letor,
    write_qrels,
    write_run,
)
from sparserank.data.rewrite import rewrite
from sparserank.data.store.convert import convert
from sparserank.data.trec import Run
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataFormatError, DataWarning
from tests.oracles import letor_reader as oracle


def assert_equals_oracle(data: RankingDataset, rows: list[oracle.Row], base: int = 1) -> None:
    """Same bits in every array, documents gathered by query, and the way back to file order."""
    order = oracle.gather_queries(rows)
    expected = np.array(oracle.dense(rows, data.n_features, base))[order]
    X = data.X.toarray() if data.is_sparse else data.X
    np.testing.assert_array_equal(X.view(np.int64)[X != 0], expected.view(np.int64)[X != 0])
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(data.relevance, [rows[i].label for i in order])
    assert [str(q) for q in data.qid] == [rows[i].qid for i in order]  # type: ignore[union-attr]
    nothing = np.full(data.n_docs, "", dtype=object)
    assert list(nothing if data.docid is None else data.docid) == [rows[i].docid for i in order]
    assert list(nothing if data.comment is None else data.comment) == [rows[i].comment for i in order]
    np.testing.assert_array_equal(data.row_index, order)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")  # random rows are rarely grouped
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("base", [0, 1])
def test_random_files_equal_the_oracle(seed: int, base: int, tmp_path: Path) -> None:
    text = oracle.random_text(seed, base=base, contiguous=seed % 3 == 0, ids="int" if seed % 2 else "string")
    rows = oracle.read_rows(text, base)
    data = read_letor(write(tmp_path / "a.txt", text), n_features=11, index_base=base)
    assert data.n_features == 11
    assert np.ptp(data.X.toarray() if data.is_sparse else data.X) > 0
    assert_equals_oracle(data, rows, base)


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_the_comparison_rejects_a_reader_that_is_off_by_one_column(tmp_path: Path) -> None:
    text = oracle.random_text(1, base=1)
    data = read_letor(write(tmp_path / "a.txt", text), n_features=11)
    with pytest.raises(AssertionError):
        assert_equals_oracle(data, oracle.read_rows(text), base=0)


@pytest.mark.parametrize("ids", ["int", "string"])
def test_query_ids_are_integers_when_all_are_plain_integers(ids: str, tmp_path: Path) -> None:
    text = oracle.random_text(3, contiguous=True, ids=ids)
    data = read_letor(write(tmp_path / "a.txt", text))
    assert data.qid is not None
    assert (data.qid.dtype.kind == "i") == (ids == "int")


@pytest.mark.parametrize("other", ["007", "1e3", "+3", "9999999999999999999"])
def test_ids_that_differ_as_text_stay_different_queries(other: str, tmp_path: Path) -> None:
    text = f"1 qid:7 1:1\n0 qid:{other} 1:2\n"
    assert read_letor(write(tmp_path / "a.txt", text)).query_ids.tolist() == ["7", other]


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_several_files_are_one_set(tmp_path: Path) -> None:
    texts = [oracle.random_text(seed, ids="int") for seed in (4, 5, 6)]
    paths = [write(tmp_path / f"{k}.txt", text) for k, text in enumerate(texts)]
    paths[1].write_bytes(gzip.compress(paths[1].read_bytes()))  # gzip by content, whatever the name
    assert_equals_oracle(read_letor(paths), [row for text in texts for row in oracle.read_rows(text)])


def test_a_file_without_final_newline_does_not_run_into_the_next(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.txt", "1 qid:1 1:1"), write(tmp_path / "b.txt", "0 qid:1 1:2")]
    data = read_letor(paths)
    assert data.n_docs == 2
    assert data.query_ids.tolist() == [1]


def test_gzip_of_several_members_is_read_whole(tmp_path: Path) -> None:
    members = [b"1 qid:1 1:1\n0 qid:1 1:2\n", b"2 qid:2 1:3\n"]
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(map(gzip.compress, members)))
    assert read_letor(path).X.ravel().tolist() == [1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_chunks_and_threads_change_nothing(
    chunk: int, n_threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [oracle.random_text(seed) for seed in (7, 8)]
    paths = [write(tmp_path / f"{k}.txt", text) for k, text in enumerate(texts)]
    monkeypatch.setattr(letor_chunks, "CHUNK_BYTES", chunk)
    assert_equals_oracle(
        read_letor(paths, n_threads=n_threads), [row for text in texts for row in oracle.read_rows(text)]
    )


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_sparse_and_dense_hold_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", oracle.random_text(9))
    sparse, full = read_letor(path, sparse=True), read_letor(path, sparse=False)
    assert sparse.is_sparse
    assert not full.is_sparse
    assert sparse.X.has_sorted_indices
    np.testing.assert_array_equal(sparse.X.toarray(), full.X)
    assert read_letor(path, dtype=np.float32).X.dtype == np.float32
    assert read_letor(path, n_features=500).is_sparse  # whichever is smaller


def test_a_split_query_is_gathered_and_the_first_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n\n0 qid:2 1:2\n2 qid:1 1:3\n0 qid:2 1:4\n")
    with pytest.warns(DataWarning, match=r"a\.txt:4: query 1 continues .*a\.txt:1\)") as caught:
        data = read_letor(path)
    assert len(caught) == 1
    assert data.X.ravel().tolist() == [1.0, 3.0, 2.0, 4.0]
    assert data.to_input_order(data.X.ravel()).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_feature_names_come_from_a_file_or_a_list(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n")
    names = write(tmp_path / "names.txt", "bm25\r\n tf \n\n")
    assert read_letor(path, feature_names=names).feature_names == ("bm25", "tf")
    assert read_letor(path, feature_names=["bm25", "tf"]).n_features == 2


def test_rows_without_features_and_without_comments_are_rows(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path / "a.txt", "2 qid:1\n1 qid:1 3:1\n0 qid:1#x\n"))
    assert data.X.shape == (3, 3)
    assert data.relevance.tolist() == [2.0, 1.0, 0.0]
    assert list(data.comment) == ["", "", "x"]  # type: ignore[arg-type]


def test_numbers_are_correctly_rounded_to_the_last_bit(tmp_path: Path) -> None:
    texts = oracle.edge_numbers()
    path = write(tmp_path / "a.txt", "".join(f"0 qid:1 1:{t} 2:-{t.lstrip('-')}\n" for t in texts))
    X = np.ascontiguousarray(read_letor(path).X)
    expected = np.array([[float(t), -float(t.lstrip("-"))] for t in texts])
    assert len(texts) > 8000
    np.testing.assert_array_equal(X.view(np.int64), expected.view(np.int64))
    truncated = np.array([float(t) for t in texts]) * (1 + 2e-16)  # one bit off must be seen
    assert (truncated.view(np.int64) != X[:, 0].copy().view(np.int64)).mean() > 0.5


def test_labels_are_correctly_rounded_too(tmp_path: Path) -> None:
    texts = oracle.edge_numbers()[::7]
    data = read_letor(write(tmp_path / "a.txt", "".join(f"{t} qid:1 1:1\n" for t in texts)))
    np.testing.assert_array_equal(
        data.relevance.copy().view(np.int64), np.array([float(t) for t in texts]).view(np.int64)
    )


def test_numbers_of_an_unsorted_row_follow_their_features(tmp_path: Path) -> None:
    """Values that need correct rounding are resolved later: they must move with their index when a row is sorted."""
    slow = ["0.1234567890123456789", "2.00000000000000000001e-30", "9007199254740993e30", "1.5"]
    for seed in range(50):
        order = random.Random(seed).sample(range(4), 4)
        path = write(tmp_path / "a.txt", "0 qid:1 1:7\n0 qid:1 " + " ".join(f"{k + 1}:{slow[k]}" for k in order))
        assert read_letor(path).X[1].tolist() == [float(t) for t in slow]


# -- what missing and unjudged values become ---------------------------------------------------------------------------

MISSING_WORDS = ("NULL", "null", "nan", "-NaN", "inf", "-Infinity", "1.79769313486232e+308", "-1.797e308", "1e999")


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_missing_values_become_what_the_policy_says(word: str, tmp_path: Path) -> None:
    text = f"1 qid:1 1:5 2:{word}\n0 qid:1 1:3 2:-4\n0 qid:1 1:{word} 2:8\n0 qid:2 2:{word} 1:1\n"
    path = write(tmp_path / "a.txt", text)
    expected = {
        "zero": [[5, 0], [3, -4], [0, 8], [1, 0]],
        "query-min": [[5, -4], [3, -4], [3, 8], [1, 0]],
        7.5: [[5, 7.5], [3, -4], [7.5, 8], [1, 7.5]],
        "2=zero;*=query-min": [[5, 0], [3, -4], [3, 8], [1, 0]],
    }
    for policy, X in expected.items():
        assert read_letor(path, missing=policy).X.tolist() == X
    assert read_letor(path, missing={2: "zero", "*": "query-min"}).X.tolist() == expected["2=zero;*=query-min"]
    assert read_letor(path, missing="query-min", sparse=True).X.toarray().tolist() == expected["query-min"]


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_query_minimum_equals_the_oracle_and_rows_find_their_way_back(tmp_path: Path) -> None:
    """Missing values in queries whose rows are scattered: filled within the query, file order kept in row_index."""
    rng = random.Random(5)
    where = {(n, j) for n in range(80) for j in (1, 2, 3) if rng.random() < 0.4}
    rows = [
        oracle.Row(float(n), rng.choice("abc"), {j: rng.uniform(-9, 9) for j in (1, 2, 3)}, "", "") for n in range(80)
    ]

    def token(n: int, j: int) -> str:
        return f"{j}:NULL" if (n, j) in where else f"{j}:{rows[n].values[j]!r}"

    text = "".join(f"{n} qid:{r.qid} {token(n, 1)} {token(n, 2)} {token(n, 3)}\n" for n, r in enumerate(rows))
    data = read_letor(write(tmp_path / "a.txt", text), missing="query-min")
    filled = [
        [oracle.query_minimum(rows, r.qid, j, where) if (n, j) in where else r.values[j] for j in (1, 2, 3)]
        for n, r in enumerate(rows)
    ]
    np.testing.assert_array_equal(data.X, np.array(filled)[oracle.gather_queries(rows)])
    np.testing.assert_array_equal(data.to_input_order(data.relevance), np.arange(80.0))


def test_unjudged_rows_are_dropped_or_zero_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "-1 qid:1 1:1\n2 qid:1 1:2\n-1.0 qid:2 1:3\n0 qid:3 1:4\n")
    assert read_letor(path, unjudged="drop").X.ravel().tolist() == [2.0, 4.0]
    assert read_letor(path, unjudged="drop").query_ids.tolist() == [1, 3]
    assert read_letor(path, unjudged="zero").relevance.tolist() == [0.0, 2.0, 0.0, 0.0]


# -- what is refused: (bad line, options, what the message says) -------------------------------------------------------

BAD_LINES: list[tuple[str, dict[str, Any], str]] = [
    *[(f"0 qid:1 {token}", {}, "expected 'index:value'") for token in ("1", "a:1", "1:", ":1", "1:1 x", "-1:1")],
    *[
        (f"0 qid:1 1:{v}", {}, "value must be a number")
        for v in ("x", "1:1", "1_0", "0x1", "1e", "--1", "1,5", "infinite")
    ],
    *[(f"{v} qid:1 1:1", {}, "label must be a number") for v in ("x", "NULL", "nan", "1_0", "infinite")],
    ("qid:1 1:1", {}, "label must be a number"),
    ("inf qid:1 1:1", {}, "label must be finite"),
    *[(line, {}, "expected 'qid:ID' after the label") for line in ("0 1:1", "0", "0 QID:1 1:1", "0 # qid:1 1:1")],
    ("0 qid: 1:1", {}, "query id is empty"),
    ("0 qid:1 0:1", {}, "indices start at 1; got '0:1'. Use index_base=0"),
    ("0 qid:1 1:1 2:2 1:1", {}, "feature index 1 appears twice"),
    ("0 qid:1 0:1 0:2", {"index_base": 0}, "feature index 0 appears twice"),
    ("0 qid:1 99999999999999999999:1", {}, "too large"),
    *[(f"0 qid:1 1:1 2:{v}", {}, "(missing='zero')") for v in MISSING_WORDS],
    ("-1 qid:1 1:1", {}, "choose unjudged='drop'"),
    ("0 qid:1 1:1 9:1", {"n_features": 5}, "has feature 9, but 5 features are expected"),
    ("0 qid:1 5:1", {"n_features": 5, "index_base": 0}, "has feature 5, but 5 features are expected"),
]


@pytest.mark.parametrize("chunk", [16, 1 << 20])
@pytest.mark.parametrize(("bad", "options", "says"), BAD_LINES)
def test_a_bad_line_is_named_by_file_and_line(
    bad: str, options: dict[str, Any], says: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letor_chunks, "CHUNK_BYTES", chunk)
    before = "1 qid:1 1:1\r\n\n# comment\n2 qid:1 # 3:NULL\n"
    good = write(tmp_path / "good.txt", before)
    path = write(tmp_path / "bad.txt", before + bad + "\n0 qid:1 1:1\n")
    with pytest.raises(DataFormatError) as caught:
        read_letor([good, path], **options)
    assert str(caught.value).startswith(f"{path}:5: ")
    assert says in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("base", [0, 1])
def test_the_remedy_for_too_many_features_helps(base: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 7:1\n")
    with pytest.raises(DataFormatError) as caught:
        read_letor(path, n_features=3, index_base=base)
    remedy = re.search(r"n_features=(\d+)", str(caught.value))
    assert remedy
    assert read_letor(path, n_features=int(remedy[1]), index_base=base).n_features == int(remedy[1])


BAD_FILES = {
    "empty": (b"", "no data rows"),
    "comments only": (b"\n# 1 qid:1 1:1\n \n", "no data rows"),
    "empty gzip": (gzip.compress(b""), "no data rows"),
    "truncated gzip": (gzip.compress(b"1 qid:1 1:1\n" * 999)[:-20], "truncated gzip"),
    "damaged gzip": (b"\x1f\x8b damaged", "gzip"),
    "damaged checksum": (gzip.compress(b"1 qid:1 1:1\n" * 999)[:-8] + b"\0" * 8, "gzip"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
    "all unjudged": (b"-1 qid:1 1:1\n", "no row is left"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_an_unusable_file_is_named(name: str, tmp_path: Path) -> None:
    content, says = BAD_FILES[name]
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataFormatError, match=says) as caught:
        read_letor(path, unjudged="drop")
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(("place", "says"), [("", "is a directory"), ("absent.txt", "no such file")])
def test_a_directory_or_absent_file_is_named(place: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match=says) as caught:
        read_letor(tmp_path / place)
    assert str(caught.value).startswith(f"{tmp_path / place}: ")


@pytest.mark.parametrize(
    "options",
    [
        {"index_base": 2},
        {"unjudged": "skip"},
        {"n_features": 0},
        {"missing": "mean"},
        {"missing": {"x": "zero"}},
        {"missing": {3: "zero"}},
        {"missing": float("nan")},
        {"feature_names": ["a"]},
        {"feature_names": ["a", "a"]},
        {"n_threads": -1},
        {"paths": []},
    ],
    ids=str,
)
def test_a_bad_option_is_a_data_error(options: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 2:NULL\n")
    with pytest.raises(DataError):
        read_letor(**({"paths": path, "missing": "zero"} | options))


# -- writers and real data ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("base", [0, 1])
def test_written_letor_text_reads_back_the_same(seed: int, sparse: bool, base: int, tmp_path: Path) -> None:
    dtype = np.float32 if seed == 3 else np.float64
    data = read_letor(write(tmp_path / "a.txt", oracle.random_text(seed)), 12, sparse=sparse, dtype=dtype)
    write_letor(data, tmp_path / "b.txt", index_base=base)
    again = read_letor(tmp_path / "b.txt", 12, sparse=sparse, index_base=base, dtype=dtype)
    for name in ("relevance", "qid", "docid", "comment", "query_ptr", "query_ids"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))
    assert (again.X != data.X).sum() == 0


def test_document_ids_alone_survive_writing(tmp_path: Path) -> None:
    data = RankingDataset(np.eye(2), np.array([1.0, 0.5]), np.array(["x", "y"]), np.array([["d", "1"][0], "d2"]))
    write_letor(data, tmp_path / "a.txt")
    again = read_letor(tmp_path / "a.txt")
    assert list(again.docid) == ["d", "d2"]  # type: ignore[arg-type]
    assert again.relevance.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("with_ids", [True, False])
def test_trec_run_and_qrels_read_back_the_same(with_ids: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    data = make_ranking(n_queries=5, docs_per_query=(1, 6), n_features=4, n_informative=1, n_redundant=0).data
    if not with_ids:
        data = RankingDataset(data.X, data.relevance, data.qid)
    scores = np.round(rng.standard_normal(data.n_docs), 1) / 3
    write_run(data, scores, tmp_path / "a.run")
    write_qrels(data, tmp_path / "a.qrels")
    found, retrieved = read_run(tmp_path / "a.run").of(data)
    np.testing.assert_array_equal(found, scores)
    assert retrieved.all()
    assert list(read_qrels(tmp_path / "a.qrels").values()) == data.relevance.tolist()
    lines = [line.split() for line in (tmp_path / "a.run").read_text().splitlines()]
    for q in data.query_ids:
        ranked = [(int(f[3]), float(f[4])) for f in lines if f[0] == str(q)]
        assert [r for r, _ in ranked] == list(range(1, len(ranked) + 1))
        assert [s for _, s in ranked] == sorted((s for _, s in ranked), reverse=True)


@pytest.mark.parametrize(
    ("line", "says"), [("1 Q0 d2 1 x t", "finite number"), ("1 Q0 d2 1 nan t", "finite"), ("1 Q0 d2", "expected")]
)
def test_a_bad_run_line_is_named(line: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", f"1 Q0 d1 1 0.5 t\n\n{line}\n")
    with pytest.raises(DataFormatError, match=rf"a\.run:3: .*{says}"):
        read_run(path)


def test_a_run_of_other_documents_is_refused(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path / "a.txt", "1 qid:q 1:1 #docid = A\n0 qid:q 1:2 #docid = B\n"))
    assert [a.tolist() for a in Run({("q", "A"): 1.0}).of(data)] == [[1.0, 0.0], [True, False]]
    with pytest.raises(DataError, match=r"ranks none of the 2 documents, e\.g\. document 'A' of query 'q'"):
        Run({("p", "A"): 1.0}).of(data)


NULL_POLICY = {11: "zero", 12: "zero", 26: "zero", 27: "zero", 41: "zero", 42: "zero", "*": "query-min"}


@pytest.mark.parametrize("part", range(1, 6))
def test_ohsumed_null_filled_by_policy_equals_the_published_filling(part: int, data_folder: Path) -> None:
    published = read_letor(data_folder / f"ohsumed/feature-min/S{part}.txt.gz")
    null = data_folder / f"ohsumed/feature-null/S{part}.txt.gz"
    filled = read_letor(null, missing=NULL_POLICY)
    np.testing.assert_array_equal(filled.X, published.X)
    for name in ("relevance", "qid", "docid", "comment"):
        np.testing.assert_array_equal(getattr(filled, name), getattr(published, name))
    assert (read_letor(null, missing="zero").X != published.X).any()
    with pytest.raises(DataFormatError, match=rf"feature-null/S{part}\.txt\.gz:\d+: .*NULL"):
        read_letor(null)


@pytest.mark.parametrize("part", range(1, 6))
def test_query_min_max_scaling_of_raw_ohsumed_gives_the_published_normalisation(part: int, data_folder: Path) -> None:
    raw = read_letor(data_folder / f"ohsumed/feature-min/S{part}.txt.gz")
    published = read_letor(data_folder / f"ohsumed/querylevelnorm/S{part}.txt.gz")
    scaled = fit_scaling(raw, "query-min-max").apply(raw)
    np.testing.assert_allclose(scaled.X, published.X, rtol=0, atol=1e-6)  # published with six decimals
    assert np.abs(raw.X - published.X).max() > 1


UNWRITABLE = ["x 3:77", "a\tb", "a\n1 qid:2 1:5", "a\r", "a\x00b", "\x1f", " ", "a\x0bb", "\ud800"]


@pytest.mark.parametrize("column", ["qid", "docid"])
@pytest.mark.parametrize("text", [*UNWRITABLE, "a#b"])
def test_ids_that_text_cannot_hold_are_refused(text: str, column: str, tmp_path: Path) -> None:
    ids = {"qid": ["q", text], "docid": ["d", "e"]} if column == "qid" else {"qid": ["q", "r"], "docid": ["d", text]}
    data = RankingDataset(np.eye(2) + 1, [1.0, 0.0], np.array(ids["qid"], dtype=object), ids["docid"])
    if (column, text) == ("docid", "a#b"):  # the comment has begun
        write_letor(data, tmp_path / "a.txt")
        assert list(read_letor(tmp_path / "a.txt").docid) == ["d", "a#b"]  # type: ignore[arg-type]
        return
    with pytest.raises(
        DataError, match=rf"{'query' if column == 'qid' else 'document'} id .* which ranking text does not allow"
    ):
        write_letor(data, tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
    if text == "\ud800":
        return
    convert_to = tmp_path / "store"
    table = pa.table({**ids, "label": [1.0, 0.0], "x": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    convert([tmp_path / "t.parquet"], convert_to)
    for source in (tmp_path / "t.parquet", convert_to):
        with pytest.raises(DataError, match=r"id .* which ranking text does not allow"):
            rewrite([source], tmp_path / "back.txt")
        assert not (tmp_path / "back.txt").exists()
        rewrite([source], tmp_path / f"{source.stem}-back.parquet")
        again = read_data(tmp_path / f"{source.stem}-back.parquet")
        assert (again.query_ids.tolist(), list(again.docid)) == (ids["qid"], ids["docid"])  # type: ignore[arg-type]


@pytest.mark.parametrize("comment", ["a\n0 qid:9 1:1", "a\rb", "a\x00b"])
def test_comments_of_several_lines_are_refused(comment: str, tmp_path: Path) -> None:
    data = RankingDataset(np.eye(2), [1.0, 0.0], [1, 2], comment=[comment, ""])
    with pytest.raises(DataError, match=r"comment .* contains line breaks"):
        write_letor(data, tmp_path / "a.txt")


@pytest.mark.parametrize("base", [0, 1])
def test_what_is_written_is_read_back(base: int, tmp_path: Path) -> None:
    """Ids and comments of all kinds; a comment that only seems to hold the document's id does not hide it."""
    queries = np.array(["5", "x", "qid:1", "ä\u2028", "-", "1:2", "a=b"], dtype=object)
    docids = ["d", "d2", "docid", "=", "#", "ü\x7f", "docid=x"]
    comments = ["docid = d2", "see d2", "", "DocID : other", "docid", "x # y", " docid = docid=x"]
    data = RankingDataset(np.arange(14.0).reshape(7, 2), np.arange(7.0), queries, docids, comment=comments)
    write_letor(data, tmp_path / "a.txt", index_base=base)
    again = read_letor(tmp_path / "a.txt", index_base=base)
    np.testing.assert_array_equal(again.X, data.X)
    assert again.query_ids.tolist() == queries.tolist()
    assert list(again.docid) == docids  # type: ignore[arg-type]
    for written, found in zip(comments, again.comment, strict=True):  # type: ignore[arg-type]
        assert found.endswith(written.strip())
