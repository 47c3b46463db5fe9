"""One rule for which values are missing, in every container and every way to score."""

import gzip
import json
import math
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
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.missing import HUGE, any_missing, is_missing
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.data.write_files import write_file
from sparserank.errors import SparserankError
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.oracles import filling as oracle
from tests.support.command_line import Cli
from tests.support.models import array_of

NAMES = ["a", "b", "c"]
MARK, ISTELLA = 1.797e308, float("1.79769313486232e+308")  # the second is infinity for some parsers
ROWS = [[math.nan, 1.0, 2.0], [0.5, math.inf, 3.0], [2.0, -math.inf, -1.0], [MARK, 4.0, 0.25], [1.0, -MARK, 7.0]]
ROWS += [[ISTELLA, 2.5, 1.0], [1.7e308, 0.125, 5.0], [-3.0, 6.0, 8.0]]  # 1.7e308 is a number
LABELS, QIDS = [0, 1, 2, 0, 1, 0, 2, 1], [4, 4, 4, 4, 9, 9, 9, 9]
RULES = ["zero", "min", "median", "2.5", "query-min"]


def text_of(rows: list[list[float]], null: str = "NULL") -> str:
    return "".join(
        f"{label} qid:{q} " + " ".join(f"{j}:{null if v != v else repr(v)}" for j, v in enumerate(row, 1)) + "\n"
        for row, label, q in zip(rows, LABELS, QIDS, strict=True)
    ).replace("inf\n", "1.79769313486232e+308\n")


def csv_of(rows: list[list[float]], separator: str = ",") -> str:
    lines = [[*map(str, (*row, y, q))] for row, y, q in zip(rows, LABELS, QIDS, strict=True)]
    return "\n".join(separator.join(fields) for fields in [[*NAMES, "label", "qid"], *lines]) + "\n"


def frame_of(rows: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES).assign(label=LABELS, qid=QIDS)


def arrow_of(rows: list[list[float]]) -> pa.Table:
    """NULL where a value is NaN."""
    columns = [[None if v != v else v for v in column] for column in zip(*rows, strict=True)]
    return pa.table(dict(zip(NAMES, columns, strict=True)) | {"label": LABELS, "qid": QIDS})


def packed_of(rows: list[list[float]]) -> pa.Table:
    return pa.table({"features": pa.array(rows, pa.list_(pa.float64())), "label": LABELS, "qid": QIDS})


def log_of(rows: list[list[float]], features: Callable[[list[tuple[str, float]]], dict[str, Any]]) -> str:
    """A line of JSON for each row."""
    named = [features(list(zip(NAMES, row, strict=True))) for row in rows]
    lines = ({"qid": q, "label": y, **own} for own, y, q in zip(named, LABELS, QIDS, strict=True))
    return "".join(json.dumps(line) + "\n" for line in lines)


def solr_of(rows: list[list[float]]) -> str:
    return log_of(rows, lambda row: {"[features]": ",".join(f"{n}={'null' if v != v else v}" for n, v in row)})


def elastic_of(rows: list[list[float]]) -> str:
    def entry(row: list[tuple[str, float]]) -> dict[str, Any]:
        return {"_ltrlog": [{"e": [{"name": n, "value": None if v != v else v} for n, v in row]}]}

    return log_of(rows, lambda row: {"fields": entry(row)})


def written(path: Path, content: Any) -> Path:
    """The file, from text, bytes or an Arrow table."""
    if isinstance(content, pa.Table) and path.suffix == ".parquet":
        pq.write_table(content, path)
    elif isinstance(content, pa.Table):
        feather.write_feather(content, path, compression="uncompressed")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content)
    return path


def folder_of(path: Path) -> Path:
    path.mkdir()
    whole = arrow_of(ROWS)
    pq.write_table(whole.slice(0, 4), path / "1.parquet")
    pq.write_table(whole.slice(4), path / "2.parquet")
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "text": lambda f: written(f / "t.txt", text_of(ROWS)),
    "text with nan": lambda f: written(f / "t.txt", text_of(ROWS, "nan")),
    "text, gzip": lambda f: written(f / "t.txt.gz", text_of(ROWS)),
    "CSV": lambda f: written(f / "t.csv", csv_of(ROWS)),
    "TSV": lambda f: written(f / "t.tsv", csv_of(ROWS, "\t")),
    "CSV, gzip": lambda f: written(f / "t.csv.gz", csv_of(ROWS)),
    "Parquet": lambda f: written(f / "t.parquet", arrow_of(ROWS)),
    "Parquet with NaN": lambda f: written(f / "t.parquet", pa.Table.from_pandas(frame_of(ROWS))),
    "Parquet, lists": lambda f: written(f / "t.parquet", packed_of(ROWS)),
    "Arrow": lambda f: written(f / "t.arrow", arrow_of(ROWS)),
    "folder": lambda f: folder_of(f / "folder"),
    "Solr log": lambda f: written(f / "t.jsonl", solr_of(ROWS)),
    "Elasticsearch log": lambda f: written(f / "t.jsonl", elastic_of(ROWS)),
}
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: frame_of(ROWS),
    "pandas, nullable": lambda: frame_of(ROWS).convert_dtypes(),
    "pandas, Arrow": lambda: arrow_of(ROWS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_pandas(frame_of(ROWS)),
    "polars, null": lambda: pl.from_arrow(arrow_of(ROWS)),
    "Arrow table": lambda: arrow_of(ROWS),
    "Arrow batch": lambda: arrow_of(ROWS).to_batches()[0],
    "Arrow data set": lambda: ds.dataset(arrow_of(ROWS)),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.array(ROWS),
    "masked": lambda: np.ma.masked_array(np.where(~np.isfinite(ROWS), 5.0, ROWS), ~np.isfinite(ROWS)),
    "Fortran array": lambda: np.asfortranarray(ROWS),
    "lists": lambda: ROWS,
    "CSR": lambda: sp.csr_matrix(np.array(ROWS)),
    "CSC": lambda: sp.csc_matrix(np.array(ROWS)),
    "COO array": lambda: sp.coo_array(np.array(ROWS)),
    "pandas": lambda: frame_of(ROWS)[NAMES],
    "pandas, nullable": lambda: frame_of(ROWS)[NAMES].convert_dtypes(),
    "polars": lambda: pl.from_pandas(frame_of(ROWS)[NAMES]),
    "Arrow table": lambda: arrow_of(ROWS).select(NAMES),
}


def dense(data: sr.RankingDataset) -> np.ndarray:
    return np.asarray(data.X.toarray() if data.is_sparse else data.X[:])


def expected(rule: str) -> tuple[list[float], list[list[float]]]:
    """(what replaces a missing value of each feature, the rows without missing values)."""
    if rule == "query-min":
        return [math.nan] * 3, oracle.query_minimum(ROWS, QIDS)
    values = oracle.learned(ROWS, rule)
    return values, oracle.filled(ROWS, values)


def test_there_is_one_rule_and_a_narrower_one_differs() -> None:
    values = np.array([v for row in ROWS for v in row] + [HUGE, -HUGE, np.nextafter(HUGE, 0), -np.nextafter(HUGE, 0)])
    rule = [not oracle.is_number(v) for v in values.tolist()]
    np.testing.assert_array_equal(is_missing(values), rule)
    assert not np.array_equal(~np.isfinite(values), rule)
    for value, missing in zip(values, rule, strict=True):
        assert any_missing(np.array([0.0, value])) == missing
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    np.testing.assert_array_equal(is_missing(single), ~np.isfinite(single))
    assert not any_missing(np.array([1.7e308, -1.7e308, 1.7e308]))  # whose sum is none
    assert not any_missing(np.empty((0, 3)))


@pytest.mark.parametrize("kind", FILES)
def test_files_give_the_same_data_set_and_are_refused_without_a_policy(kind: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    for attempt in (
        lambda: sr.read(path),
        lambda: convert([path], tmp_path / "store", Reading(dtype=np.float64)),
        lambda: write_file([path], tmp_path / "back.txt", Reading(dtype=np.float64)),
    ):
        with pytest.raises(SparserankError, match=r"missing or infinite feature value .*missing"):
            attempt()
    assert not (tmp_path / "back.txt").exists()
    for rule in RULES:
        values, whole = expected(rule)
        reading = Reading(missing=rule, dtype=np.float64)
        convert([path], tmp_path / rule, reading)
        for data in (sr.read(path, missing=rule), sr.read(tmp_path / rule)):
            np.testing.assert_array_equal(dense(data), whole)
            np.testing.assert_array_equal(data.fill_values, values)
        for name in () if rule == "query-min" else ("back.txt", "back.parquet"):  # a store gathers queries
            write_file([path], tmp_path / f"{rule}-{name}", reading)
            np.testing.assert_array_equal(dense(sr.read(tmp_path / f"{rule}-{name}")), whole)


@pytest.mark.parametrize("mark", [MARK, -MARK, ISTELLA])
@pytest.mark.parametrize("content", [text_of, csv_of, arrow_of, packed_of, solr_of, frame_of])
def test_the_mark_alone_is_refused_and_replaces_nothing(content: Any, mark: float, tmp_path: Path) -> None:
    rows = [[1.0, 2.0, 3.0] for _ in LABELS]
    rows[5][1] = mark
    source = content(rows)
    if not isinstance(source, pd.DataFrame):
        suffix = {text_of: "txt", csv_of: "csv", solr_of: "jsonl"}.get(content, "parquet")
        source = written(tmp_path / f"t.{suffix}", source)
    with pytest.raises(SparserankError, match=r"(row 5|:6).*missing or infinite feature value"):
        sr.read(source)
    for policy in (mark, str(mark), {"b": mark}):
        with pytest.raises(SparserankError, match="missing policy must be"):
            sr.read(source, missing=policy)
    with pytest.raises(SparserankError, match="fill_values must contain one finite number"):
        sr.RankingDataset(np.array(rows), LABELS, QIDS, fill_values=[0.0, mark, 0.0])
    X = np.array(rows)
    for form in (X, rows, sp.csr_matrix(X), pd.DataFrame(X, columns=NAMES)):
        with pytest.raises(SparserankError, match=r"X must be finite; .*missing='median'"):
            sr.RankingDataset(form, LABELS, QIDS)
        with pytest.raises(SparserankError, match="X must be finite" if math.isfinite(mark) else "contains infinity"):
            sr.SparseRanker().fit(form, LABELS, qid=QIDS)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_the_same_data_set(kind: str) -> None:
    for rule in RULES:
        values, whole = expected(rule)
        data = sr.read(FRAMES[kind](), missing=rule)
        np.testing.assert_array_equal(dense(data), whole)
        np.testing.assert_array_equal(data.fill_values, values)
    with pytest.raises(SparserankError, match="missing or infinite feature value"):
        sr.read(FRAMES[kind]())


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_give_the_same_data_set(kind: str) -> None:
    X = ARRAYS[kind]()
    for rule in RULES:
        values, whole = expected(rule)
        data = as_datasets({"d": (X, LABELS, QIDS)}, reading=Reading(missing=rule))["d"]
        assert data is not None
        np.testing.assert_array_equal(dense(data), whole)
        if rule != "query-min":
            np.testing.assert_array_equal(dense(sr.RankingDataset(X, LABELS, QIDS, fill_values=values)), whole)
    with pytest.raises(SparserankError, match=r"X must be|missing|X contains masked values"):
        sr.RankingDataset(X, LABELS, QIDS)


@pytest.mark.parametrize("fill", [None, [0.25, -4.0, 9.0]])
def test_every_way_to_score_gives_the_same(fill: list[float] | None, tmp_path: Path, cli: Cli) -> None:
    """By hand: the oracle's rows times the weights."""
    coef = np.array([0.5, 2.0, -1.0])
    none = FeatureScaling("none", np.zeros(3), np.ones(3))
    model = RankingModel.from_arrays(coef, tuple(NAMES), none, fill_values=None if fill is None else np.array(fill))
    model.save(tmp_path / "m.json")
    nameless = RankingModel.from_arrays(coef, ("f1", "f2", "f3"), none, fill_values=array_of(model, "missing"))
    nameless.save(tmp_path / "n.json")
    scores = None if fill is None else np.array(oracle.filled(ROWS, fill)) @ coef

    def check(score: Callable[[], Any]) -> None:
        if scores is None:
            with pytest.raises(SparserankError, match=r"row 0: feature '[af]1?' holds|missing"):
                score()
        else:
            np.testing.assert_allclose(score(), scores, rtol=1e-12)

    for make in [*ARRAYS.values(), FRAMES["Arrow batch"]]:
        check(lambda make=make: model.predict(make()))
    keep = sr.RankingDataset(np.array(ROWS), LABELS, QIDS, feature_names=NAMES, keep_missing=True)
    check(lambda: model.score_dataset(keep))
    for k, (kind, make_file) in enumerate(FILES.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        path = make_file(folder)
        used = "n.json" if kind in ("text", "text with nan", "text, gzip", "Parquet, lists") else "m.json"
        done = cli("predict", str(tmp_path / used), str(path))
        assert done.code == (1 if scores is None else 0), (kind, done.err)
        if scores is None:
            assert "missing or infinite feature value" in done.sentences[-1], (kind, done.err)
        else:
            np.testing.assert_allclose([float(s) for s in done.out.split()], scores, rtol=1e-12, err_msg=kind)


def test_float32_holds_the_mark_as_infinity(tmp_path: Path) -> None:
    rows = [[3e38 if v == 1.7e308 else v for v in row] for row in ROWS]
    values = oracle.learned(rows, "zero")
    whole = np.array(oracle.filled(rows, values), dtype=np.float32)
    with np.errstate(over="ignore"):
        single = np.array(rows, dtype=np.float32)
    table = pa.table({n: single[:, j] for j, n in enumerate(NAMES)} | {"label": LABELS, "qid": QIDS})
    sources = [table, frame_of(rows), written(tmp_path / "t.parquet", table)]
    sources += [written(tmp_path / "t.txt", text_of(rows)), written(tmp_path / "t.csv", csv_of(rows))]
    for source in sources:
        data = sr.read(source, missing="zero", dtype=np.float32)
        assert data.X.dtype == np.float32
        np.testing.assert_array_equal(data.X, whole)
        if isinstance(source, Path):
            convert([source], tmp_path / f"{source.suffix}-store", Reading(missing="zero"))
            np.testing.assert_array_equal(dense(sr.read(tmp_path / f"{source.suffix}-store")), whole)
    # a number that is not missing
    with pytest.raises(SparserankError, match=r"feature value 1\.7e\S+ is too large for float32"):
        sr.read(frame_of(ROWS), missing="zero", dtype=np.float32)


def test_a_store_that_holds_the_mark_as_a_number_is_read_by_the_rule(tmp_path: Path, monkeypatch: Any) -> None:
    """Stores of tables that earlier versions wrote may hold it."""
    monkeypatch.setattr("sparserank.data.tables.reader.any_missing", lambda values: False)
    rows = [[v if oracle.is_number(v) else MARK for v in row] for row in ROWS]
    convert([written(tmp_path / "t.parquet", arrow_of(rows))], tmp_path / "old", Reading(dtype=np.float64))
    monkeypatch.undo()
    assert (dense(sr.read(tmp_path / "old")) == MARK).any()
    with pytest.raises(SparserankError, match="old: missing or infinite feature value"):
        convert([tmp_path / "old"], tmp_path / "new")
    values, whole = expected("median")
    convert([tmp_path / "old"], tmp_path / "new", Reading(missing="median"))
    np.testing.assert_array_equal(dense(sr.read(tmp_path / "new")), whole)
    none = FeatureScaling("none", np.zeros(3), np.ones(3))
    model = RankingModel.from_arrays(np.ones(3), tuple(NAMES), none, fill_values=np.array(values))
    np.testing.assert_allclose(model.score_dataset(sr.read(tmp_path / "old")), np.sum(whole, axis=1))
