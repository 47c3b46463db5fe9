"""Tables that are scored may hold anything beside what the model uses, in Python and on the command line."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sparserank as sr
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.support.command_line import Cli
from tests.support.models import scaling_of

DAY = datetime.datetime(2024, 5, 17)
NAMES = ("bm25", "age", "clicks")
COEF = np.array([2.0, 0.0, -0.5])  # age is not used
X = np.array([[0.5, 9.0, 1.0], [0.25, 9.0, 3.0], [1.5, 9.0, 2.0], [0.0, 9.0, 8.0]])
EXPECTED = X @ COEF


def model_of(names: tuple[str, ...] = NAMES, scaling: str = "none") -> RankingModel:
    return RankingModel.from_arrays(COEF, names, FeatureScaling(scaling, np.zeros(3), np.ones(3)))


def table_of(names: tuple[str, ...] = NAMES) -> pa.Table:
    """The selected features among columns of every kind, the unused one missing."""
    columns: dict[str, Any] = {
        "seen": [DAY] * 4,
        "day": [DAY.date()] * 4,
        "took": [datetime.timedelta(seconds=1)] * 4,
        "title": ["x", None, "y", "z"],
        names[2]: X[:, 2],
        "tags": [["a"], [], ["b"], None],
        "qid": [7, 7, 8, 8],
        "raw": [b"x"] * 4,
        names[0]: X[:, 0],
        "seen again": [DAY] * 4,
        "label": ["good", None, "bad", "good"],
    }
    return pa.table(columns)


FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "Arrow": lambda t: t,
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "pandas": lambda t: t.to_pandas(),
    "pandas, Arrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, an unused column twice": lambda t: pd.concat([t.to_pandas(), t.to_pandas()[["title", "seen"]]], axis=1),
    "pandas, an unused column without text as name": lambda t: t.to_pandas().assign(z=DAY).rename(columns={"z": 0}),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_may_hold_columns_of_any_kind_that_the_model_does_not_use(form: str) -> None:
    frame = FORMS[form](table_of())
    np.testing.assert_allclose(model_of().predict(frame), EXPECTED, rtol=1e-12)
    by_query = model_of(scaling="query-min-max").predict(frame)
    np.testing.assert_allclose(by_query, model_of(scaling="query-min-max").predict(X, qid=[7, 7, 8, 8]), rtol=1e-12)
    with pytest.raises(DataError, match="the frame's column 'qid' and qid= differ"):
        model_of().predict(frame, qid=[1, 2, 3, 4])
    filled = RankingModel.from_arrays(COEF, NAMES, scaling_of(model_of()), fill_values=np.array([1.0, np.nan, np.nan]))
    np.testing.assert_allclose(filled.predict(frame), EXPECTED, rtol=1e-12)


USED = {
    "dates": [DAY] * 4,
    "days": [DAY.date()] * 4,
    "durations": [datetime.timedelta(seconds=1)] * 4,
    "text": ["x", "y", "z", None],
    "numbers as text": ["1", "2", "3", "4"],
    "lists": [[1.0], [2.0], [3.0], [4.0]],
}


@pytest.mark.parametrize("kind", USED)
@pytest.mark.parametrize("form", ["Arrow", "pandas", "polars"])
def test_a_used_column_must_hold_numbers(form: str, kind: str) -> None:
    table = table_of()
    table = table.set_column(table.schema.get_field_index("bm25"), "bm25", pa.array(USED[kind]))
    with pytest.raises(DataError, match=r"column 'bm25' contains .*, not real numbers; convert it to numbers"):
        model_of().predict(FORMS[form](table))


def test_used_columns_that_are_absent_or_there_twice() -> None:
    frame = table_of().to_pandas()
    with pytest.raises(DataError, match="the data frame has no column 'clicks', which the model uses"):
        model_of().predict(frame.drop(columns="clicks"))
    with pytest.raises(DataError, match="the data frame has two columns 'bm25', which the model uses"):
        model_of().predict(pd.concat([frame, frame[["bm25"]]], axis=1))
    with pytest.raises(DataError, match="has no column 'bm25'"):
        model_of().predict(frame[["title", "seen"]])
    with pytest.raises(DataError, match="X is a lazy frame"):
        model_of().predict(pl.from_arrow(table_of()).lazy())  # type: ignore[union-attr]
    with pytest.raises(DataError):  # by their place all columns are features
        model_of().predict(pd.DataFrame({"f1": [DAY], "f2": [DAY], "f3": [DAY]}))
    dates = np.full((4, 3), np.datetime64("2024-05-17"))
    for odd in (dates, pd.DataFrame(dict.fromkeys(range(3), [DAY] * 4)), X + 1j):
        with pytest.raises(DataError, match="X must be a matrix of numbers"):
            model_of().predict(odd)
    np.testing.assert_allclose(model_of().predict(pd.DataFrame(X, columns=["f1", "f2", "f3"])), EXPECTED)
    np.testing.assert_allclose(model_of().predict(pd.DataFrame(X)), EXPECTED)
    np.testing.assert_allclose(
        model_of(("f1", "f2", "f3")).predict(pd.DataFrame(X, columns=list("abc")).assign(qid=1)), EXPECTED
    )


@pytest.mark.parametrize("names", [NAMES, ("f1", "f2", "f3")])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_predict_reads_the_columns_that_the_model_uses(
    suffix: str, names: tuple[str, ...], tmp_path: Path, cli: Cli
) -> None:
    model_of(names).save(tmp_path / "m.json")
    table = table_of(names)
    frame = table.to_pandas().drop(columns=["tags", "raw"])
    if names != NAMES:
        frame[names[1]] = X[:, 1]
    path = tmp_path / f"t.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    done = cli("predict", str(tmp_path / "m.json"), str(path)).done
    np.testing.assert_allclose([float(s) for s in done.out.split()], EXPECTED, rtol=1e-12)
    done = cli("predict", str(tmp_path / "m.json"), str(path), "--format", "json")
    assert [r["qid"] for r in json.loads(done.out)] == [7, 7, 8, 8]
    done = cli("predict", str(tmp_path / "m.json"), str(path), "--qrels", str(tmp_path / "q"))
    assert done.code == 1  # what it is asked for it needs
    assert "'label'" in done.sentences[-1]
    assert not (tmp_path / "q").exists()
    lacking = frame.drop(columns=names[0])
    lacking.to_parquet(path) if suffix == "parquet" else lacking.to_csv(path, index=False)
    done = cli("predict", str(tmp_path / "m.json"), str(path))
    assert done.code == 1
    assert done.sentences == [f"error: {path} has no column '{names[0]}', which the model uses."]


def test_evaluate_and_explain_read_the_same_columns(tmp_path: Path, cli: Cli) -> None:
    model_of().save(tmp_path / "m.json")
    frame = table_of().to_pandas().assign(label=[1, 0, 1, 0])
    frame.to_parquet(tmp_path / "t.parquet")
    at = [str(tmp_path / "m.json"), str(tmp_path / "t.parquet")]
    done = cli("evaluate", at[1], "--system", at[0], "--metric", "map", "--format", "json").done
    assert json.loads(done.out)[0]["mean"] == sr.evaluate(model_of(), (X, [1, 0, 1, 0], [7, 7, 8, 8]), "map")["map"]
    assert sr.evaluate(model_of(), frame, "map")["map"] == json.loads(done.out)[0]["mean"]
    renamed = frame.rename(columns={"label": "grade", "qid": "query"}).sample(frac=1.0, random_state=0)
    found = sr.evaluate(model_of(), renamed, "map", label="grade", qid="query")
    assert found["map"] == pytest.approx(json.loads(done.out)[0]["mean"], rel=1e-12)
    assert cli("explain", at[0], at[1], "--query", "8", "--format", "json").code == 0
    assert cli("predict", *at, "--qrels", str(tmp_path / "q"), "--run", str(tmp_path / "r")).code == 0
    assert list(sr.read_qrels(tmp_path / "q").values()) == [1, 0, 1, 0]
