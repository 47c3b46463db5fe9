"""The LETOR reader against a plain Python reader, bit for bit."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank.data.letor.chunks as letor_chunks
from sparserank import RankingDataset, fit_scaling, read, write_letor
from sparserank.data.read import read_sources
from sparserank.data.reading import Reading
from sparserank.data.runs import Run
from sparserank.data.store.convert import convert
from sparserank.data.write_files import write_file
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
    data = read(write(tmp_path / "a.txt", text), n_features=11, index_base=base)
    assert data.n_features == 11
    assert np.ptp(data.X.toarray() if data.is_sparse else data.X) > 0
    assert_equals_oracle(data, rows, base)


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_the_comparison_rejects_a_reader_that_is_off_by_one_column(tmp_path: Path) -> None:
    text = oracle.random_text(1, base=1)
    data = read(write(tmp_path / "a.txt", text), n_features=11)
    with pytest.raises(AssertionError):
        assert_equals_oracle(data, oracle.read_rows(text), base=0)


@pytest.mark.parametrize("ids", ["int", "string"])
def test_query_ids_are_integers_when_all_are_plain_integers(ids: str, tmp_path: Path) -> None:
    text = oracle.random_text(3, contiguous=True, ids=ids)
    data = read(write(tmp_path / "a.txt", text))
    assert data.qid is not None
    assert (data.qid.dtype.kind == "i") == (ids == "int")


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize("chunk", [1, 7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_several_files_are_one_set_whatever_the_chunks_and_threads(
    chunk: int, n_threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ends without a newline; the second is gzip, whatever its name, of two members."""
    texts = [oracle.random_text(seed, ids="int") for seed in (4, 5, 6)]
    paths = [write(tmp_path / f"{k}.txt", text.removesuffix("\n")) for k, text in enumerate(texts)]
    second = texts[1].encode()
    paths[1].write_bytes(gzip.compress(second[:99]) + gzip.compress(second[99:]))
    monkeypatch.setattr(letor_chunks, "CHUNK_BYTES", chunk)
    expected = [row for text in texts for row in oracle.read_rows(text)]
    assert_equals_oracle(read(paths, n_threads=n_threads), expected)


def test_a_split_query_is_gathered_and_the_first_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1\n\n0 qid:2 1:2\n2 qid:1 1:3\n0 qid:2 1:4\n")
    with pytest.warns(DataWarning, match=r"a\.txt:4: query 1 continues .*a\.txt:1\)") as caught:
        data = read(path)
    assert len(caught) == 1
    assert data.X.ravel().tolist() == [1.0, 3.0, 2.0, 4.0]
    assert data.to_input_order(data.X.ravel()).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_numbers_are_correctly_rounded_to_the_last_bit(tmp_path: Path) -> None:
    texts = oracle.edge_numbers()
    path = write(tmp_path / "a.txt", "".join(f"0 qid:1 1:{t} 2:-{t.lstrip('-')}\n" for t in texts))
    X = np.ascontiguousarray(read(path).X)
    expected = np.array([[float(t), -float(t.lstrip("-"))] for t in texts])
    assert len(texts) > 8000
    np.testing.assert_array_equal(X.view(np.int64), expected.view(np.int64))
    truncated = np.array([float(t) for t in texts]) * (1 + 2e-16)  # one bit off must be seen
    assert (truncated.view(np.int64) != X[:, 0].copy().view(np.int64)).mean() > 0.5


# -- what missing and unjudged values become ---------------------------------------------------------------------------

MISSING_WORDS = ("NULL", "null", "nan", "-NaN", "inf", "-Infinity", "1.79769313486232e+308", "-1.797e308", "1e999")


def test_unjudged_rows_are_dropped_or_zero_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "-1 qid:1 1:1\n2 qid:1 1:2\n-1.0 qid:2 1:3\n0 qid:3 1:4\n")
    assert read(path, unjudged="drop").X.ravel().tolist() == [2.0, 4.0]
    assert read(path, unjudged="drop").query_ids.tolist() == [1, 3]
    assert read(path, unjudged="zero").relevance.tolist() == [0.0, 2.0, 0.0, 0.0]


# -- what is refused: (bad line, options, message) ---------------------------------------------------------------------

LONG = 200_000  # characters of a hostile token
REMEDIES = {
    "bm25:0.3": "Number the features, and give their names in a file: feature_names='names.txt'.",
    **dict.fromkeys(("-1:0.3", ":0.3"), "Feature indices are whole numbers from 1 on."),
    "3:": "Give a value after the colon, or no token.",
    "word": "Start comments with '#'.",
}
NO_NUMBERS = ("x", "1:1", "1_0", "0x1", "1e", "--1", "1,5", "infinite", ".inf", "-.infinity", ".nan", ".null")
BAD_LINES: list[tuple[str | bytes, dict[str, Any], str]] = [
    *[(f"0 qid:1 {token}", {}, "expected 'index:value'") for token in ("1", "a:1", "1:", ":1", "1:1 x", "-1:1")],
    *[(f"0 qid:1 {token} 4:1", {}, f"'index:value'; got {token!r}. {remedy}") for token, remedy in REMEDIES.items()],
    *[(f"0 qid:1 1:{v}", o, "feature value must be a number") for v in NO_NUMBERS for o in ({}, {"missing": "zero"})],
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
    (f"0 qid:1 {'0' * 5000}7:1", {"n_features": 3}, "has feature 7, but 3 features"),
    ("0 qid:1 3:1", {"feature_names": ["a", "b"]}, "has feature 3, but feature_names contains 2 names"),
    *[("0 qid:1 3:1 200000000:1", {"index_base": base}, "200000000") for base in (0, 1)],
    ("0 qid:1 2000000000:1", {}, "has feature 2000000000, but only"),
    *[("0 qid:1 2:1e39 1:2", {"dtype": np.float32, "sparse": sparse}, "float64") for sparse in (True, False)],
    (f"0 qid:1 {' '.join(f'{j}:1' for j in (*range(50, 0, -1), 30))}", {}, "feature index 30 appears twice"),
    (b"0 qid:\xe9 1:2", {}, "query id is not UTF-8"),
    *[(f"{label} qid:1 1:1", {}, "label must be") for label in (f"x{'9' * LONG}", "9" * LONG)],
    (f"1 {'x' * LONG}", {}, "expected 'qid:ID' after the label"),
    *[(f"1 qid:1 {token}", {}, "expected 'index:value'") for token in ("x" * LONG, "é" * LONG)],
    (f"1 qid:1 {'9' * LONG}:1", {}, "too large"),
    (f"1 qid:1 1:{'9' * LONG}x", {}, "value must be a number"),
    (f"1 qid:1 1:{'9' * LONG}", {}, "(missing='zero')"),
]


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize(("bad", "options", "message"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_by_file_and_line(
    bad: str | bytes, options: dict[str, Any], message: str, cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, short however long the line is. Short chunks cut it: a hundred times if it is long."""
    monkeypatch.setattr(letor_chunks, "CHUNK_BYTES", max(16, len(bad) // 100) if cut else 1 << 20)
    before = b"1 qid:1 1:1\r\n\n# comment\n2 qid:1 # 3:NULL\n"
    good, path = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_bytes(before)
    path.write_bytes(before + (bad if isinstance(bad, bytes) else bad.encode()) + b"\n0 qid:1 1:1\n")
    reading, store = Reading(**{"dtype": "float64", **options}), tmp_path / "store"
    for attempt in (lambda: read([good, path], **options), lambda: convert([good, path], store, reading)):
        with pytest.raises((DataError, DataFormatError)) as caught:
            attempt()
        found = str(caught.value)
        assert found.startswith(f"{path}:5: ")
        assert message in found
        assert found.endswith(message if message[-1] == "." else ".")
        assert "\n" not in found
        assert len(found) < 500


@pytest.mark.parametrize("base", [0, 1])
def test_the_remedy_for_too_many_features_helps(base: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 7:1\n")
    with pytest.raises(DataFormatError) as caught:
        read(path, n_features=3, index_base=base)
    remedy = re.search(r"n_features=(\d+)", str(caught.value))
    assert remedy
    assert read(path, n_features=int(remedy[1]), index_base=base).n_features == int(remedy[1])


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"index_base": 2}, "index_base must be 0 or 1"),
    ({"unjudged": "skip"}, "unjudged must be"),
    ({"n_features": 0}, "n_features must be"),
    *[({"n_features": n}, "n_features must be an integer") for n in ("46", 4.5, True, np.nan)],
    ({"n_features": 1_000_000_000}, "n_features is 1000000000"),
    *[({"missing": policy}, "missing policy") for policy in ("mean", {"x": "zero"}, {3: "zero"}, float("nan"))],
    *[({"missing": policy}, "missing policy") for policy in ("x" * LONG, {"x" * LONG: "zero"}, "9" * LONG + "=zero")],
    *[({"feature_names": names}, "name") for names in (["a"], ["a", "a"])],
    ({"n_threads": -1}, "n_threads"),
    *[({"dtype": t}, "float64 or float32") for t in (int, "int32", bool, complex, "float16", str, "no such type", 5)],
    *[({"source": p}, "source must be a path|no such file") for p in (5, b"a.txt", ["a.txt", 5], "a\0b.txt", None, [])],
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=range(len(BAD_OPTIONS)))
def test_a_bad_option_is_refused_in_a_sentence(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:1 1:1 2:NULL\n")
    with pytest.raises((DataError, DataFormatError), match=message) as caught:
        read(**({"source": path, "missing": "zero"} | options))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


# -- writers and real data ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("base", [0, 1])
def test_written_letor_text_reads_back_the_same(seed: int, sparse: bool, base: int, tmp_path: Path) -> None:
    dtype = np.float32 if seed == 3 else np.float64
    data = read(write(tmp_path / "a.txt", oracle.random_text(seed)), n_features=12, sparse=sparse, dtype=dtype)
    write_letor(data, tmp_path / "b.txt", index_base=base)
    again = read(tmp_path / "b.txt", n_features=12, sparse=sparse, index_base=base, dtype=dtype)
    for name in ("relevance", "qid", "docid", "comment", "query_ptr", "query_ids"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))
    assert (again.X != data.X).sum() == 0


def test_a_run_of_other_documents_is_refused(tmp_path: Path) -> None:
    data = read(write(tmp_path / "a.txt", "1 qid:q 1:1 #docid = A\n0 qid:q 1:2 #docid = B\n"))
    assert [a.tolist() for a in Run({("q", "A"): 1.0}).of(data)] == [[1.0, 0.0], [True, False]]
    with pytest.raises(DataError, match=r"ranks none of the 2 documents, e\.g\. document 'A' of query 'q'"):
        Run({("p", "A"): 1.0}).of(data)


NULL_POLICY = {11: "zero", 12: "zero", 26: "zero", 27: "zero", 41: "zero", 42: "zero", "*": "query-min"}


@pytest.mark.parametrize("part", range(1, 6))
def test_ohsumed_null_filled_by_policy_equals_the_published_filling(part: int, data_folder: Path) -> None:
    published = read(data_folder / f"ohsumed/feature-min/S{part}.txt.gz")
    null = data_folder / f"ohsumed/feature-null/S{part}.txt.gz"
    filled = read(null, missing=NULL_POLICY)
    np.testing.assert_array_equal(filled.X, published.X)
    for name in ("relevance", "qid", "docid", "comment"):
        np.testing.assert_array_equal(getattr(filled, name), getattr(published, name))
    assert (read(null, missing="zero").X != published.X).any()
    with pytest.raises(DataFormatError, match=rf"feature-null/S{part}\.txt\.gz:\d+: .*NULL"):
        read(null)


@pytest.mark.parametrize("part", range(1, 6))
def test_query_min_max_scaling_of_raw_ohsumed_gives_the_published_normalisation(part: int, data_folder: Path) -> None:
    raw = read(data_folder / f"ohsumed/feature-min/S{part}.txt.gz")
    published = read(data_folder / f"ohsumed/querylevelnorm/S{part}.txt.gz")
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
        assert list(read(tmp_path / "a.txt").docid) == ["d", "a#b"]  # type: ignore[arg-type]
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
            write_file([source], tmp_path / "back.txt")
        assert not (tmp_path / "back.txt").exists()
        write_file([source], tmp_path / f"{source.stem}-back.parquet")
        again = read(tmp_path / f"{source.stem}-back.parquet")
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
    again = read(tmp_path / "a.txt", index_base=base)
    np.testing.assert_array_equal(again.X, data.X)
    assert again.query_ids.tolist() == queries.tolist()
    assert list(again.docid) == docids  # type: ignore[arg-type]
    for written, found in zip(comments, again.comment, strict=True):  # type: ignore[arg-type]
        assert found.endswith(written.strip())


def test_files_of_other_numbers_of_features_are_named(tmp_path: Path) -> None:
    """Two data sets were read as one without a word. A file whose last feature is left out somewhere says nothing."""
    for name, lines in {
        "three": ["1 qid:1 1:1 2:2 3:3", "0 qid:1 1:2 2:1 3:0"],
        "two": ["1 qid:2 1:1 2:2", "0 qid:2 1:2 2:1"],
        "sparse": ["1 qid:3 1:1 2:2", "0 qid:3 1:2"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    three, two, sparse = (tmp_path / name for name in ("three", "two", "sparse"))
    assert read([three, sparse]).n_features == 3
    with pytest.warns(DataWarning, match="two: every line has 2 features, but 3 in .*three; are they of the same data"):
        assert read([three, two]).n_features == 3
    with pytest.warns(DataWarning, match="two: every line has 2 features, but 3 in the training data"):
        read_sources({"train": three, "test": two}, {})
