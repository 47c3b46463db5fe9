"""Tables of every kind give the data set of the same arrays; what cannot be meant is refused by place."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.data.collect import collect
from sparserank.data.read_files import kind_of, read_files
from sparserank.data.reading import Reading
from sparserank.data.tables.batches import table_of
from sparserank.data.tables.reader import TableRows
from sparserank.errors import SparserankError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import with_training_record
from sparserank.shards.scaling import FeatureScaling
from tests.support.command_line import Cli, assert_refused

DATA = sr.datasets.make_ranking(30, (3, 12), 5, n_informative=2, n_redundant=0, noise=0.5, random_state=4).data
NAMES = [f"bm25 of field {j}" for j in range(5)]
FRAME = pd.DataFrame(np.array(DATA.X), columns=NAMES).assign(
    qid=[f"q{q}" for q in DATA.qid], label=DATA.relevance.astype(int), docno=[f"d{i}" for i in range(DATA.n_docs)]
)


def write_parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pandas(FRAME), path, row_group_size=50)
    return path


def write_folder(path: Path) -> Path:
    for part, lo in enumerate(range(0, len(FRAME), 70)):
        (path / f"part={part}").mkdir(parents=True)
        FRAME.iloc[lo : lo + 70].to_parquet(path / f"part={part}" / "x.parquet", index=False)
    return path


def write_csv(path: Path) -> Path:
    FRAME.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def write_csv_gz(path: Path) -> Path:
    path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    return path


def write_arrow(path: Path) -> Path:
    feather.write_feather(FRAME, path)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "x.parquet": write_parquet,
    "folder": write_folder,
    "x.csv": write_csv,
    "x.tsv": write_csv,
    "csv without suffix": write_csv,
    "x.csv.gz": write_csv_gz,
    "x.arrow": write_arrow,
}


def assert_same(found: sr.RankingDataset, *, names: bool = True, docid: bool = True) -> None:
    np.testing.assert_array_equal(found.X, DATA.X)
    np.testing.assert_array_equal(found.relevance, DATA.relevance)
    np.testing.assert_array_equal(found.query_ptr, DATA.query_ptr)
    if names:
        assert list(found.feature_names or ()) == NAMES
    if docid:
        assert found.docid is not None
        assert list(found.docid) == list(FRAME["docno"])


@pytest.mark.parametrize("name", list(FILES))
def test_every_kind_of_file_gives_the_same_data(name: str, tmp_path: Path) -> None:
    reading = Reading(feature_columns=NAMES) if name == "folder" else None  # beside the column of its partitions
    found = read_files(FILES[name](tmp_path / name), reading)
    assert_same(found)
    assert list(found.query_ids) == list(dict.fromkeys(FRAME["qid"]))


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "arrow": lambda: pa.Table.from_pandas(FRAME, preserve_index=False),
    "dataset": lambda: ds.dataset(pa.Table.from_pandas(FRAME, preserve_index=False)),
    "categories": lambda: FRAME.assign(qid=FRAME["qid"].astype("category")),
    "without a stream": lambda: _Plain(FRAME),
}


class _Plain(pd.DataFrame):
    """A frame of an older pandas."""

    @property
    def __arrow_c_stream__(self) -> Any:  # type: ignore[override]
        raise AttributeError


@pytest.mark.parametrize("kind", list(FRAMES))
def test_every_kind_of_frame_gives_the_same_data(kind: str) -> None:
    assert_same(collect(TableRows([table_of("train", FRAMES[kind]())], Reading())))


def test_whole_numbers_stay_numbers_whatever_holds_them(tmp_path: Path) -> None:
    for name, qid in {"ints": DATA.qid, "floats": DATA.qid.astype(float), "text": DATA.qid.astype(str)}.items():
        FRAME.assign(qid=qid).to_parquet(tmp_path / name)
        FRAME.assign(qid=qid.astype(int)).to_csv(tmp_path / f"{name}.csv", index=False)
        for path in (tmp_path / name, tmp_path / f"{name}.csv"):
            found = read_files(path)
            assert found.query_ids.dtype == np.int64
            np.testing.assert_array_equal(found.query_ids, DATA.query_ids)


def test_roles_of_columns_are_the_users_to_choose(tmp_path: Path) -> None:
    renamed = FRAME.rename(columns={"label": "grade", "qid": "query"}).assign(url="http://x", weight=1.0)
    renamed.to_parquet(tmp_path / "a.parquet")
    reading = Reading(label="grade", qid="query", feature_columns=NAMES[::-1], doc_weight="weight")
    found = read_files(tmp_path / "a.parquet", reading)
    np.testing.assert_array_equal(found.X, np.array(DATA.X)[:, ::-1])
    assert list(found.feature_names or ()) == NAMES[::-1]
    assert found.doc_weight is not None


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 5)])
def test_lists_of_features(kind: pa.DataType, tmp_path: Path) -> None:
    rows = np.array(DATA.X, dtype=np.float32)
    table = pa.table({"qid": FRAME["qid"], "label": FRAME["label"], "features": pa.array(list(rows), type=kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_files(tmp_path / "a.parquet")
    np.testing.assert_array_equal(found.X, rows.astype(found.X.dtype))
    assert found.X.dtype == (np.float64 if kind == pa.large_list(pa.float64()) else np.float32)
    named = read_files(tmp_path / "a.parquet", Reading(feature_names=NAMES))
    assert list(named.feature_names or ()) == NAMES
    ragged = table.set_column(2, "features", pa.array([[1.0]] * 4 + [[1.0, 2.0]] * (DATA.n_docs - 4)))
    pq.write_table(ragged, tmp_path / "b.parquet")
    with pytest.raises(SparserankError, match=r"b\.parquet: row 4 has 2 features in 'features', but row 0 has 1"):
        read_files(tmp_path / "b.parquet")


@pytest.mark.parametrize("suffix", [".query", ".group"])
@pytest.mark.parametrize("kind", ["csv", "text"])
def test_sizes_beside_a_file_say_where_queries_begin(kind: str, suffix: str, tmp_path: Path) -> None:
    paths = []
    for part in (0, 1):
        path = tmp_path / f"{part}.{kind}"
        if kind == "csv":
            FRAME.drop(columns="qid").to_csv(path, index=False)
        else:
            lines = (
                f"{y:g} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(x))
                for x, y in zip(DATA.X.tolist(), DATA.relevance, strict=True)
            )
            path.write_text("# no query ids\n" + "\n".join(lines) + "\n")
        Path(f"{path}{suffix}").write_text("".join(f"{n}\n" for n in np.diff(DATA.query_ptr)))
        paths.append(path)
    reading = Reading(index_base=0, n_features=5)
    assert_same(read_files(paths[0], reading), names=False, docid=kind == "csv")
    if kind == "csv":
        both = read_files(paths, reading)
        assert (both.n_queries, both.n_docs) == (2 * DATA.n_queries, 2 * DATA.n_docs)
    for sizes, message in (
        ("3\n4\n", ": the sizes sum to 7 rows, but .* has more"),
        (f"{DATA.n_docs}\n5\n", f": the sizes sum to {DATA.n_docs + 5} rows, but .* has {DATA.n_docs}"),
        ("3\nx\n", ":2: a query size must be a whole number >= 1; got 'x'"),
        *((no_file_has, ": contains") for no_file_has in ("", "1e30\n", "9000000000000000000\n" * 2)),
    ):
        Path(f"{paths[0]}{suffix}").write_text(sizes)
        with pytest.raises(SparserankError, match=rf"\{suffix}{message}"):
            read_files(paths[0], reading)


MISSING = FRAME.assign(**{NAMES[1]: FRAME[NAMES[1]].mask(FRAME.index == 7)})
NO_LABEL = FRAME.assign(label=FRAME["label"].mask(FRAME.index == 3))
BAD: dict[str, tuple[pd.DataFrame, dict[str, Any], str]] = {
    "no label": (
        FRAME.drop(columns="label"),
        {},
        "has no column 'label'; it has .*name the column with label; to see its columns, run: sparserank inspect ",
    ),
    "no query": (FRAME.drop(columns="qid"), {}, "has no column 'qid'; it has .*name the column with qid; to see its "),
    "unknown": (FRAME, {"feature_columns": ["bm25"]}, "has no column 'bm25', although you named it as a feature"),
    "text": (
        FRAME.assign(url=pd.Timestamp("2026-01-02")),
        {},
        r"column 'url' is not numeric \(.*ignore_columns=\['url'\]",
    ),
    "label of text": (FRAME.assign(label="good"), {}, "column 'label' is not numeric"),
    "no feature": (FRAME[["qid", "label"]], {}, "has no feature column"),
    "null label": (NO_LABEL, {}, "row 3, column 'label': expected a finite number as the label"),
    "null query": (FRAME.assign(qid=FRAME["qid"].mask(FRAME.index == 4)), {}, "row 4, column 'qid'"),
    "fractions": (FRAME.assign(qid=0.5), {}, "row 0, column 'qid': expected a whole number or text as the query id"),
    "null": (
        MISSING,
        {},
        r"row 7, column 'bm25 of field 1': missing or infinite feature value \(null or NaN\).*missing='zero'",
    ),
    "infinity": (FRAME.assign(**{NAMES[2]: np.inf}), {}, r"row 0, column 'bm25 of field 2'.*\(inf\)"),
    "unjudged": (FRAME.assign(label=-1), {}, "row 0: label -1 means unjudged"),
    "too large": (FRAME.assign(**{NAMES[2]: 1e300}), {"dtype": "float32"}, "row 0, column 'bm25 of field 2'.*float32"),
    "weight": (FRAME.assign(w=-1.0), {"doc_weight": "w"}, "row 0, column 'w': expected a number >= 0 as the weight"),
    "no row": (FRAME.iloc[:0], {}, "no data rows"),
}


@pytest.mark.parametrize(
    ("kind", "case"),
    [(k, c) for k in ("parquet", "csv") for c in BAD if (k, c) != ("csv", "fractions")],  # there it is text
)
def test_bad_tables_are_refused_by_place(kind: str, case: str, tmp_path: Path) -> None:
    frame, options, message = BAD[case]
    path = tmp_path / f"bad.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    with pytest.raises(SparserankError, match=message) as refusal:
        read_files(path, Reading(**options))
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "text in a number": ("a.csv", b"qid,label,x\n1,2,0.5\n1,1,abc\n", "column 'x' is not numeric"),
    "ragged": ("a.csv", b"qid,label,x\n1,2,0.5\n1,1\n", "cannot be read .*Expected 3 columns, got 2"),
    "duplicate column": ("a.csv", b"qid,label,x,x\n1,2,0.5,1\n", "column 'x' appears twice"),
    "header alone": ("a.csv", b"qid,label,x\n", "no data rows"),
    "empty": ("a.csv", b"", "cannot be read"),
    "no header": ("a.csv", b"1,2,0.5\n1,1,0.25\n", "has no column 'label'"),
    "empty query": ("a.csv", b"qid,label,x\n,2,0.5\n", "row 0, column 'qid'"),
    "truncated gzip": ("a.csv.gz", gzip.compress(b"qid,label,x\n" + b"1,2,0.5\n" * 999)[:-9], "damaged gzip file"),
    "damaged parquet": ("a.parquet", b"PAR1" + bytes(100), "cannot be read"),
    "empty parquet": ("a.parquet", b"", "is an empty Parquet file; write it again"),
    "damaged arrow": ("a.arrow", b"ARROW1" + bytes(100), "cannot be read"),
}


@pytest.mark.parametrize("case", list(BAD_FILES))
def test_bad_files_are_refused_in_one_sentence(case: str, tmp_path: Path, cli: Cli) -> None:
    name, content, message = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    outcome = cli("fit", tmp_path / name, "--out", tmp_path / "m.json")
    assert_refused(outcome, 1, f"error: {tmp_path / name}")
    with pytest.raises(SparserankError, match=message):
        read_files(tmp_path / name)


def test_an_empty_parquet_file_is_refused_at_every_door(tmp_path: Path, cli: Cli) -> None:
    empty, run, qrels = tmp_path / "a.parquet", tmp_path / "b.run", tmp_path / "b.qrels"
    empty.touch()
    run.write_text("q Q0 d1 1 2.0 x\nq Q0 d2 2 1.0 x\n")
    qrels.write_text("q 0 d1 1\nq 0 d2 0\n")
    doors: list[tuple[object, ...]] = [
        ("inspect", empty),
        ("convert", empty, tmp_path / "store"),
        ("select", empty, "--out", tmp_path / "chosen"),
        ("evaluate", empty, "--system", run),
        ("evaluate", qrels, "--system", empty),
        ("fuse", run, empty, "--qrels", qrels, "--out", tmp_path / "fused"),
    ]
    for door in doors:
        assert_refused(cli(*door), 1, f"error: {empty}: is an empty Parquet file; write it again.")


@pytest.mark.parametrize("written", ["True False", "true false", "TRUE FALSE"])
def test_true_and_false_are_numbers_in_csv_as_in_parquet(written: str, tmp_path: Path) -> None:
    yes, no = written.split()
    columns = {"qid": [1, 1, 2, 2], "label": [True, False, False, True], "a": [1.0, 2, 3, 4]}
    frame = pd.DataFrame({**columns, "flag": [True, False, True, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    text = frame.to_csv(index=False).replace("True", yes).replace("False", no)
    (tmp_path / "t.csv").write_text(text)
    expected = sr.read(tmp_path / "t.parquet")
    found = sr.read(tmp_path / "t.csv")
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.X[:, 1], [1, 0, 1, 1])
    np.testing.assert_array_equal(found.relevance, [1, 0, 0, 1])
    sr.convert([tmp_path / "t.csv"], tmp_path / "s")
    np.testing.assert_array_equal(sr.read(tmp_path / "s").X[np.arange(4)], expected.X)
    (tmp_path / "m.csv").write_text(text.replace(f"3.0,{yes}", "3.0,"))
    np.testing.assert_array_equal(sr.read(tmp_path / "m.csv", missing=0.25).X[:, 1], [1, 0, 0.25, 1])


def test_features_that_are_booleans_in_every_table_are_known(tmp_path: Path) -> None:
    rows = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "x": [0.0, 1.0, 0.0, 1.0]})
    both = rows.assign(new=[True, False, True, True], odd=[True, False, False, True])
    one = both.assign(qid=[3, 3, 4, 4], odd=[1, 0, 0, 1])
    for name, table in (("both", both), ("one", one)):
        table.to_parquet(tmp_path / f"{name}.parquet")
    assert list(sr.read(both).booleans) == list(sr.read(tmp_path / "both.parquet").booleans) == ["new", "odd"]
    together = sr.read([tmp_path / "both.parquet", tmp_path / "one.parquet"])
    assert list(together.booleans) == list(together.take_queries(np.array([0])).booleans) == ["new"]
    assert list(sr.read(rows).booleans) == []
    scaling = FeatureScaling("none", np.zeros(3), np.ones(3))
    models = [
        RankingModel.from_arrays(np.array(coef), ("x", "new", "odd"), scaling)
        for coef in ([1.0, 0.0, 2.0], [1.0, 0.0, 0.0])
    ]
    recorded = [model.metadata.get("booleans") for model in with_training_record(models, sr.read(both))]
    assert recorded == [["odd"], None]  # of the features that the model uses


def test_a_number_deep_in_a_column_of_booleans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.data.tables.batches.CSV_BLOCK_BYTES", 1000)
    rows = "".join(f"{i // 3},{i % 2},{i},{i % 5 == 0}\n" for i in range(400))
    (tmp_path / "a.csv").write_text("qid,label,x,clicked\n" + rows + "999,1,3,0.5\n")
    with pytest.raises(SparserankError, match=r"a\.csv: cannot be read \(column 'clicked': "):
        read_files(tmp_path / "a.csv")


@pytest.mark.parametrize("header", [b"qid,label,\xe9t\xe9", b"qid,label,x,\xff\xfe"])
def test_a_header_in_another_encoding_is_refused(header: bytes, tmp_path: Path) -> None:
    values = b",2" * (header.count(b",") - 1)
    (tmp_path / "a.csv").write_bytes(header + b"\n1,1" + values + b"\n1,0" + values + b"\n")
    with pytest.raises(
        SparserankError, match=r"a\.csv: a column name is not UTF-8 text \(b'.*'\); save the file as UTF-8"
    ):
        read_files(tmp_path / "a.csv")


def test_unjudged_rows_are_dropped_or_count_as_zero() -> None:
    frame = FRAME.assign(label=FRAME["label"].where(FRAME.index != 2, -1))
    assert collect(TableRows([table_of("train", frame)], Reading(unjudged="drop"))).n_docs == DATA.n_docs - 1
    assert collect(TableRows([table_of("train", frame)], Reading(unjudged="zero"))).relevance[2] == 0


def test_one_call_reads_files_and_frames(tmp_path: Path) -> None:
    assert_same(sr.read(write_parquet(tmp_path / "a")))
    assert_same(sr.read(FRAME.rename(columns={"label": "grade"}), label="grade"))
    with pytest.raises(SparserankError, match="has no option 'labels'; the options are n_features"):
        sr.read(FRAME, labels="grade")
    with pytest.raises(SparserankError, match=r"source must be a path, a list of paths, .*; got 'int'"):
        sr.read(3)


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    paths = [write_parquet(tmp_path / "a"), write_csv(tmp_path / "b.csv")]
    assert [kind_of(p) for p in paths] == ["parquet", "csv"]
    with pytest.raises(SparserankError, match="must be of the same kind"):
        read_files(paths)


def test_columns_called_f1_f2_are_found_by_name_too(tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(20, (4, 8), 5, n_informative=3, n_redundant=0, random_state=0).data
    names = [f"f{j + 1}" for j in range(5)]
    columns = {n: np.array(data.X[:, j]) for j, n in enumerate(names)}
    table = pa.table({"qid": data.qid, "label": data.relevance, **columns})
    for name, columns in (("same", names), ("other", names[::-1]), ("less", names[:3] + names[4:])):
        pq.write_table(table.select(["label", *columns, "qid"]), tmp_path / f"{name}.parquet")
    renamed = table.rename_columns(["qid", "label", *names[:3], "F4", "f5"])
    model = sr.RankingModel.from_arrays(
        np.arange(1.0, 6.0), tuple(names), FeatureScaling("none", np.zeros(5), np.ones(5))
    )
    expected = model.score_dataset(sr.read(tmp_path / "same.parquet"))
    np.testing.assert_array_equal(model.score_dataset(sr.read(tmp_path / "other.parquet")), expected)
    np.testing.assert_array_equal(model.predict(table.select(names[::-1]).to_pandas()), expected)
    for wrong in (sr.read(tmp_path / "less.parquet"), sr.read(renamed)):
        with pytest.raises(SparserankError, match="no feature 'f4', which the model uses"):
            model.score_dataset(wrong)


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, sparserank as sr
from sparserank.__main__ import main
from sparserank.errors import SparserankError
for path in sys.argv[1:]:
    sys.argv = ["sparserank", "select", path, "--out", f"{path}.run"]
    try:
        main()
    except SystemExit as stop:
        print(stop.code)
try:
    sr.select(pd.DataFrame({"label": [1, 0], "qid": [1, 1], "a": [0.5, 0.25]}), label="label", qid="qid")
except SparserankError as error:
    print(error)
"""
REMEDY = "pip install 'sparserank[tables]'"


def test_tables_and_frames_end_with_the_remedy(tmp_path: Path) -> None:
    """Files of the command line, and a frame in Python, in a process of its own, which has not imported PyArrow."""
    files = [tmp_path / "train.csv", tmp_path / "train.parquet"]
    files[0].write_text("label,qid,a\n1,1,0.5\n0,1,0.25\n")
    files[1].write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    command = [sys.executable, "-c", WITHOUT_PYARROW, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    codes, _, message = done.stdout.rpartition("1\n")
    assert codes == "1\n"
    assert REMEDY in message
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert " ".join(done.stderr.split()).count(REMEDY) == len(files)
    assert "Traceback" not in done.stderr
