"""What a table may not hold, or may not be told: ids and columns that would be taken for others."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.errors import DataError, SparserankError, TableError
from tests.support.command_line import Cli

ONE: dict[str, Any] = {"qid": [1, 1], "label": [1, 0], "a": [1, 2], "b": [0.5, 0.25]}
TWO: dict[str, Any] = {"qid": [2, 2], "label": [0, 1], "a": [3, 4], "b": [1.5, 1.25]}


def folder_of(path: Path, **files: dict[str, Any]) -> Path:
    for name, columns in files.items():
        file = path / f"{name.replace('__', '/')}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)
    return path


def without(columns: dict[str, Any], name: str) -> dict[str, Any]:
    return {n: values for n, values in columns.items() if n != name}


@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("form", ["Arrow", "pandas", "polars", "Parquet", "log", "categories"])
def test_ids_that_end_in_nul_are_refused(form: str, column: str, tmp_path: Path) -> None:
    columns = {"qid": list("aabb"), "docno": list("defg"), "label": [1, 0, 1, 0], "x": [1.0, 2.0, 3.0, 4.0]}
    assert sr.read(pa.table(columns)).n_queries == 2
    columns[column][1] += "\0"  # with which NumPy ends every text
    table = pa.table(columns)
    source: Any = table
    if form == "pandas":
        source = table.to_pandas()
    elif form == "polars":
        source = pl.from_arrow(table)
    elif form == "categories":
        source = table.to_pandas().astype({column: "category"})
    elif form == "Parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
    elif form == "log":
        source = tmp_path / "t.jsonl"
        logged = [{**row, "[features]": f"x={row['x']}"} for row in table.to_pylist()]
        source.write_text("".join(json.dumps(row) + "\n" for row in logged))
    name = "docid" if form == "log" and column == "docno" else column
    expected = rf"row 1, column '{name}': expected an id that does not end in a NUL character; got "
    with pytest.raises(SparserankError, match=expected):
        sr.read(source)
    if isinstance(source, Path):
        with pytest.raises(SparserankError, match=expected):
            convert([source], tmp_path / "store")


def test_nul_within_an_id_is_kept() -> None:
    data = sr.read(pa.table({"qid": ["a\0b", "a\0c"], "label": [1, 0], "x": [1.0, 2.0]}))
    assert data.query_ids.tolist() == ["a\0b", "a\0c"]


EXTRA_FIRST = {"one": {**ONE, "c": [0.0, 1.0]}, "two": TWO}
EXTRA_LAST = {"one": ONE, "two": {**TWO, "c": [0.0, 1.0]}}
EACH_ITS_OWN = {"one": {**without(ONE, "b"), "c": [0.0, 1.0]}, "two": TWO}
UNEVEN = {
    "a column more in the first file": (EXTRA_FIRST, "two.parquet: has no column 'c'"),
    "a column more in the last file": (EXTRA_LAST, "one.parquet: has no column 'c'"),
    "a column each": (EACH_ITS_OWN, "one.parquet: has no column 'b'"),
    "no label": ({"one": ONE, "two": without(TWO, "label")}, "two.parquet: has no column 'label'"),
    "no query": ({"one": ONE, "two": without(TWO, "qid")}, "two.parquet: has no column 'qid'"),
    "no document": ({"one": {**ONE, "docno": ["d", "e"]}, "two": TWO}, "two.parquet: has no column 'docno'"),
    "a query by folder": (
        {"qid=1__one": without(ONE, "qid"), "two": without(TWO, "qid")},
        "two.parquet: has no column 'qid'",
    ),
    "text here": (
        {"one": ONE, "two": {**TWO, "a": ["x", "y"]}},
        r"two.parquet: the type of a column differs .*Field a has",
    ),
}


@pytest.mark.parametrize("case", UNEVEN)
def test_a_folder_of_different_columns_is_refused(case: str, tmp_path: Path, cli: Cli) -> None:
    files, expected = UNEVEN[case]
    folder = folder_of(tmp_path / "folder", **files)
    for attempt in (
        lambda: sr.read(folder),
        lambda: sr.read(folder, missing="zero"),
        lambda: convert([folder], tmp_path / "store", Reading(missing="zero")),
    ):
        with pytest.raises(SparserankError, match=expected):
            attempt()
    done = cli("fit", str(folder), "--missing", "zero", "--out", str(tmp_path / "m.json"))
    assert done.code == 1
    assert len(done.sentences) == 1
    assert not (tmp_path / "m.json").exists()
    if "the type of" not in expected:
        with pytest.raises(SparserankError, match="has no column"):
            sr.read(ds.dataset(folder, partitioning="hive"))


def test_columns_that_are_not_read_may_differ(tmp_path: Path) -> None:
    for k, files in enumerate((EXTRA_FIRST, EXTRA_LAST)):
        folder = folder_of(tmp_path / str(k), **files)
        for options in ({"ignore_columns": ["c"]}, {"feature_columns": ["a", "b"]}):
            for source in (folder, ds.dataset(folder)):
                data = sr.read(source, **options)
                assert data.feature_names == ("a", "b")
                assert data.X.tolist() == [[1, 0.5], [2, 0.25], [3, 1.5], [4, 1.25]]
    with_ids = folder_of(tmp_path / "ids", one={**ONE, "docno": ["d", "e"]}, two=TWO)
    assert sr.read(with_ids, ignore_columns=["docno"]).docid is None


def test_a_folder_takes_types_that_hold_all_values(tmp_path: Path) -> None:
    """Arrow goes by the first file: 0.1 would be rounded to float32, and 1e300 be infinite."""
    single = {**ONE, "a": pa.array([1, 2], pa.float32()), "b": pa.array([0.5, 1], pa.float32())}
    folder = folder_of(tmp_path / "folder", one=single, two={**TWO, "a": [0.1, 1e300], "label": [0.5, 1.0]})
    (folder / "_SUCCESS").write_text("")
    data = sr.read(folder)
    assert data.X.tolist() == [[1, 0.5], [2, 1], [0.1, 1.5], [1e300, 1.25]]
    assert data.relevance.tolist() == [1, 0, 0.5, 1]
    turned = folder_of(tmp_path / "turned", one=ONE, two=dict(reversed(TWO.items())))
    np.testing.assert_array_equal(sr.read(turned).X, [[1, 0.5], [2, 0.25], [3, 1.5], [4, 1.25]])
    by_folder = folder_of(tmp_path / "by", **{"qid=7__x": without(ONE, "qid"), "qid=9__x": without(TWO, "qid")})
    assert sr.read(by_folder).query_ids.tolist() == [7, 9]


@pytest.mark.parametrize("name", ["notes.txt", "a.csv", "sub/empty.parquet"])
def test_a_stray_file_in_a_folder_gets_a_sentence(name: str, tmp_path: Path, cli: Cli) -> None:
    folder = folder_of(tmp_path / "folder", one=ONE)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("")
    done = cli("inspect", str(folder))
    assert done.code == 1
    assert done.sentences == [
        f"error: {folder / name}: is not a Parquet file; a folder that is read as a table must contain only Parquet "
        "files, so move this file elsewhere."
    ]


@pytest.mark.parametrize(("name", "role"), [("label", "label"), ("qid", "query id")])
def test_a_feature_column_is_nothing_else(name: str, role: str, tmp_path: Path, cli: Cli) -> None:
    frame = pd.DataFrame(ONE)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
        for columns in ([name], ["a", name]):
            with pytest.raises(DataError, match=rf"column '{name}' is the {role}, so it cannot also be a feature"):
                sr.read(source, feature_columns=columns)
    with pytest.raises(DataError, match="column 'grade' is the label"):
        sr.read(frame.rename(columns={"label": "grade"}), label="grade", feature_columns=["grade"])
    with pytest.raises(DataError, match="column 'b' is the weight"):
        sr.read(frame, doc_weight="b", feature_columns=["a", "b"])
    with pytest.raises(DataError, match="no feature column"):
        sr.read(frame, feature_columns=[])
    for command, out in (("fit", "m.json"), ("select", "run")):
        done = cli(command, tmp_path / "t.parquet", "--feature-columns", f"{name},a", "--out", tmp_path / out)
        assert done.code == 1
        assert f"column '{name}' is the {role}" in done.sentences[-1]
    assert not (tmp_path / "m.json").exists()


def test_scores_are_compared_with_labels_alone(tmp_path: Path, cli: Cli) -> None:
    """No column has to be a feature for it."""
    frame = pd.DataFrame({"grade": [1, 0, 2, 0], "qid": [1, 1, 2, 2], "title": ["x", "y", "z", "w"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.txt").write_text("3\n2\n1\n4\n")
    expected = sr.evaluate([3, 2, 1, 4], frame["grade"], "map", qid=frame["qid"])
    for source in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert sr.evaluate([3, 2, 1, 4], source, "map", label="grade") == expected
        if isinstance(source, Path):
            options = ("--label-column", "grade", "--metric", "map", "--format", "json")
            done = cli("evaluate", source, "--system", tmp_path / "s.txt", *options).done
            assert json.loads(done.out)[0]["mean"] == expected["map"]


def hit(values: str, more: str = "") -> str:
    return f'{{"qid": 1, "label": 1{more}, "fields": {{"_ltrlog": [{{"e": [{values}]}}]}}}}'


LOGS = {
    "no json": ('{"qid": 1,', "1: is not a JSON object"),
    "no qid": ('{"label": 1, "[features]": "a=1"}', "1: has no 'qid'"),
    "no label": ('{"qid": 1, "[features]": "a=1"}', "1: has no 'label'"),
    "label of text": ('{"qid": 1, "label": "good", "[features]": "a=1"}', "1: label must be a number; got 'good'"),
    "infinite label": (f'{{"qid": 1, "label": {10**400}, "[features]": "a=1"}}', "1: label must be a number"),
    "lone surrogate": (
        '{"qid": "\\ud800", "label": 1, "[features]": "a=1"}',
        "1: the query id must be valid UTF-8 text",
    ),
    "no features": ('{"qid": 1, "label": 1}', "1: has no logged features"),
    "broken features": ('{"qid": 1, "label": 1, "[features]": "a"}', "1: logged features cannot be read .*: 'a'"),
    "more than features": (
        '{"qid": 1, "label": 1, "[features]": "a=1,b"}',
        "1: logged features cannot be read .*: 'a=1,b'",
    ),
    "name of a number": (hit('{"name": 5}'), "1: logged features cannot be read"),
    "null feature": ('{"qid": 1, "label": 1, "[features]": "a=nan"}', ".*missing or infinite feature value"),
    "a key twice": (
        '{"qid": 1, "label": 1, "label": 0, "[features]": "a=1"}',
        "1: .*the key 'label' appears twice in an object",
    ),
    "a query twice": ('{"qid": 1, "qid": 2, "label": 0, "[features]": "a=1"}', "1: .*the key 'qid' appears twice"),
    "features twice": (
        '{"qid": 1, "label": 0, "[features]": "a=1", "[features]": "a=2"}',
        r"1: .*the key '\[features\]' appears twice",
    ),
    "a feature twice": ('{"qid": 1, "label": 1, "[features]": "a=1,b=2,a=1"}', "1: .*the key 'a' appears twice"),
    "with colons": ('{"qid": 1, "label": 1, "[features]": "a:1 b:2 b:3"}', "1: .*the key 'b' appears twice"),
    "a feature twice in a hit": (hit('{"name": "a", "value": 1}, {"name": "a"}'), "1: .*the key 'a' appears twice"),
    "a key twice in a hit": (hit('{"name": "a", "value": 1, "value": 2}'), "1: .*the key 'value' appears twice"),
    "in the source": (hit('{"name": "a"}', ', "_source": {"x": 1, "x": 2}'), "1: .*the key 'x' appears twice"),
}


@pytest.mark.parametrize(("written", "names"), [
    ("brand=a, b=1.0,c=d=-2.5E-4,e,f=0,x=NaN", {"brand=a, b": 1.0, "c=d": -2.5e-4, "e,f": 0.0, "x": 7.5}),
    ("a b:1.5 c:d:-2 e:null", {"a b": 1.5, "c:d": -2.0, "e": 7.5}),
])  # fmt: skip
def test_names_of_logged_features_may_contain_what_separates_them(written: str, names: dict, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"qid": 1, "label": 1, "[features]": written}) + "\n")
    data = sr.read(tmp_path / "t.jsonl", missing=7.5)
    assert list(data.feature_names or ()) == list(names)
    np.testing.assert_array_equal(np.asarray(data.X)[0], list(names.values()))


@pytest.mark.parametrize("case", LOGS)
def test_what_a_feature_log_lacks_or_says_twice_is_refused_by_line(case: str, tmp_path: Path) -> None:
    line, expected = LOGS[case]
    (tmp_path / "t.jsonl").write_text(line + "\n")
    for attempt in (lambda path: sr.read(path), lambda path: convert([path], tmp_path / "store")):
        with pytest.raises(SparserankError, match=rf"t\.jsonl:{expected}"):
            attempt(tmp_path / "t.jsonl")
    assert not (tmp_path / "store/manifest.json").exists()


def test_a_misspelt_column_to_ignore_is_refused(tmp_path: Path) -> None:
    """It was accepted, and the column stayed a feature. A column that only one of the files has may be named."""
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "a": [1.0, 2, 3, 4], "clicked": [0, 1, 1, 0]})
    with pytest.raises(DataError, match=r"no column 'clickd', which ignore_columns names; did you mean 'clicked'\?"):
        sr.read(frame, ignore_columns=["clickd"])
    frame.drop(columns="clicked").to_parquet(tmp_path / "old.parquet")
    frame.to_parquet(tmp_path / "new.parquet")
    files = [tmp_path / "old.parquet", tmp_path / "new.parquet"]
    assert sr.read(files, ignore_columns=["clicked"]).names == ("a",)
    result = sr.select(
        frame, ignore_columns=["clicked"], cv=2, penalties="l1", n_alphas=5, half_samples=0, rival="none"
    )
    assert result.model.predict(frame.drop(columns="clicked")).shape == (4,)


def test_a_number_called_an_id_is_no_feature() -> None:
    """It was one, where text was an id; naming it as a feature makes it one."""
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "a": [1.0, 2, 3, 4], "doc_id": [17, 23, 17, 5]})
    data = sr.read(frame)
    assert (data.names, list(data.docid)) == (("a",), ["17", "23", "17", "5"])
    assert sr.read(frame, feature_columns=["a", "doc_id"]).names == ("a", "doc_id")
    model = sr.RankingModel.from_arrays(
        [1.0, 1.0], feature_names=["a", "doc_id"], scaling=sr.FeatureScaling("none", np.zeros(2), np.ones(2))
    )
    assert model.predict(frame).tolist() == [18.0, 25.0, 20.0, 9.0]


@pytest.mark.parametrize("kind", [int, str])
def test_a_second_column_of_document_ids_is_no_feature(kind: type, tmp_path: Path, cli_here: Cli) -> None:
    """It was one in silence; the remedies of the message and of `inspect` work."""
    rng = np.random.default_rng(0)
    ids = {name: rng.integers(0, 300, 80).astype(kind) for name in ("docno", "docid")}
    features = {"a": rng.random(80), "b": rng.random(80)}
    frame = pd.DataFrame({"qid": np.repeat(range(10), 8), "label": np.arange(80) % 3, **ids, **features})
    with pytest.raises(TableError, match=r"the document ids are in 'docno'; leave .* with ignore_columns=\['docid'\]"):
        sr.read(frame)
    with pytest.raises(TableError, match=r"the document ids are in 'docid'; leave .* with ignore_columns=\['docno'\]"):
        sr.read(frame, docid="docid")
    data = sr.read(frame, ignore_columns=["docid"])
    assert data.names == ("a", "b")
    assert list(data.docid) == [str(d) for d in frame["docno"]]
    frame.to_parquet(tmp_path / "t.parquet")
    command = cli_here("inspect", "t.parquet").out.splitlines()[-1].strip()
    quick = ["--penalty", "l1", "--n-alphas", "5", "--folds", "2", "--half-samples", "0"]
    assert cli_here(*shlex.split(command)[1:], *quick).code == 0
    assert sr.load_model("run/model.json").feature_names == ("a", "b")
