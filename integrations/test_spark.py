"""Spark's door: a frame becomes a store, a selection on it is that of any partitioning, and scores go back to Spark."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from distributed import Client
from integrations.matrix import ran
from servers import unavailable
from test_sql_servers import COLUMNS, KINDS, RECORDED, ROWS, expected, model_of

import sparserank as sr
from sparserank.cli.app import app
from sparserank.data.categories import Derived
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling

SELECT: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 8, "cv": 3, "half_samples": 0, "relaxed": False}
OF_SPARK = {"number": "double", "whole": "bigint", "boolean": "boolean", "text": "string"}


def training() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 2_000
    rows = pd.DataFrame({"qid": rng.permutation(np.arange(n) % 80), "doc": np.arange(n)})
    for name in ("bm25", "price", "age"):
        rows[name] = rng.normal(size=n) * 3
    rows["new"] = rng.random(n) < 0.4
    score = rows["bm25"] + 2.0 * rows["new"] - 0.5 * rows["age"] + rng.normal(size=n)
    return rows.assign(label=np.digitize(score, [0.0, 2.0, 4.0]))


TRAINING = training()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        unavailable("Spark needs Java (java), which is not installed")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        unavailable("pyspark is not installed (pip install pyspark)")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "700m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frame in folders of Parquet, of different partitions."""
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.functions import vector_to_array

    folder = tmp_path_factory.mktemp("spark")
    frame = spark.createDataFrame(TRAINING).cache()
    for n in (2, 5):
        by_query = frame.repartitionByRange(n, "qid").sortWithinPartitions("qid", "doc")
        by_query.drop("doc").write.parquet(str(folder / f"by-range-{n}"))
    frame.repartition(4).drop("doc").write.parquet(str(folder / "cut"))
    assembled = VectorAssembler(inputCols=["bm25", "price", "age"], outputCol="features")
    vectors = assembled.transform(frame.repartitionByRange(2, "qid").sortWithinPartitions("qid", "doc"))
    vectors = vectors.select("qid", "label", "features")
    vectors.write.parquet(str(folder / "vectors"))
    vectors.withColumn("features", vector_to_array("features")).write.parquet(str(folder / "arrays"))
    return folder


def converted(folder: Path, name: str, to: Path) -> Path:
    store = to / name
    call = ["convert", str(folder / name), str(store), "--shard-mb", "1", "--dtype", "float64"]
    done = CliRunner().invoke(app, call, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return store


def test_a_store_of_any_partitions_by_query_has_the_same_bits(client: Client, written: Path, tmp_path: Path) -> None:
    """In this process and on Dask. Partitions that cut queries, or in another order, add the same terms in another
    order."""
    stores = {name: converted(written, name, tmp_path) for name in ("by-range-2", "by-range-5", "cut")}
    here = sr.select(stores["by-range-2"], **SELECT).model
    assert len(here.support) >= 3
    for other in (
        sr.select(stores["by-range-5"], **SELECT).model,
        sr.select(stores["by-range-2"], client=client, **SELECT).model,
        sr.select(stores["by-range-5"], client=client, **SELECT).model,
    ):
        np.testing.assert_array_equal(other.coef, here.coef)
    whole, cut = (sr.read(stores[name]) for name in ("by-range-2", "cut"))
    assert cut.n_queries == whole.n_queries == 80
    paths = [sr.fit_path(data, "l1", n_alphas=8, tol=1e-9).coefs for data in (whole, cut)]
    np.testing.assert_allclose(*paths, rtol=0, atol=1e-9)
    assert (paths[0] != paths[1]).any()


def test_vectors_are_told_and_arrays_are_read(written: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a vector of Spark: convert it with pyspark\.ml\.functions\.vector_to_array"):
        sr.read(written / "vectors")
    assert sr.read(converted(written, "arrays", tmp_path)).X.shape == (len(TRAINING), 3)
    in_order = TRAINING.sort_values(["qid", "doc"])
    np.testing.assert_array_equal(sr.read(written / "arrays").X, in_order[["bm25", "price", "age"]])


def test_scores_go_back_as_an_expression_and_by_arrow(spark: Any, written: Path, tmp_path: Path) -> None:
    from pyspark.sql.functions import expr

    model = sr.select(written / "by-range-2", **SELECT).model
    assert model.metadata["booleans"] == ["new"]
    model.save(tmp_path / "model.json")
    frame = spark.createDataFrame(TRAINING)
    text = model.export("spark")["score.sql"]
    by_sql = frame.select("doc", expr(text).alias("score")).toPandas().set_index("doc")["score"]

    def scored(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        loaded = sr.load_model(tmp_path / "model.json")
        for batch in batches:
            yield pd.DataFrame({"doc": batch["doc"], "score": loaded.predict(batch)})

    by_arrow = frame.mapInPandas(scored, "doc long, score double").toPandas().set_index("doc")["score"]
    want = model.predict(TRAINING)
    np.testing.assert_allclose(by_sql[TRAINING["doc"]], want, rtol=1e-12)
    np.testing.assert_array_equal(by_arrow[TRAINING["doc"]], want)


@pytest.mark.parametrize("kind", KINDS)
def test_wild_rows_have_the_scores_of_predict(spark: Any, kind: str) -> None:
    from pyspark.sql.functions import expr

    model = model_of(kind, kind == "log")
    want, rounding = expected(model)
    schema = ", ".join(["n long", *(f"`{name}` {OF_SPARK[of]}" for name, of in COLUMNS.items())])
    rows = [(i, *row) for i, row in enumerate(ROWS.to_numpy().tolist())]
    frame = spark.createDataFrame(rows, schema)
    text = model.export("spark", offset=2.5)["score.sql"]
    found = frame.select("n", expr(text).alias("score")).orderBy("n").toPandas()["score"].to_numpy(float)
    assert (np.isnan(found) == np.isnan(want)).all()
    known = ~np.isnan(want)
    assert (np.abs(found - want - 2.5)[known] <= 1e-9 * np.abs(want[known]) + rounding[known]).all()
    for shown in (RECORDED.get(kind, "logarithms"), "categories", "missing", "offset"):
        ran("spark", f"Spark {spark.version}", shown)


def test_what_spark_would_replace(spark: Any) -> None:
    """${NAME} is a variable in Spark, in quotes too."""
    from pyspark.sql.functions import expr

    levels = ["${env:HOME}", "a$b", "`", "back\\", "tab\\t"]
    made = {d.name: d for d in (Derived("brand", level) for level in levels)}
    n = len(levels)
    model = RankingModel.from_arrays(
        2.0 ** np.arange(n), tuple(made), FeatureScaling("none", np.zeros(n), np.ones(n)), derived=made
    )
    frame = spark.createDataFrame(
        [(i, level) for i, level in enumerate([*levels, "", "tab\t"])], "n long, brand string"
    )
    scored = frame.select("n", expr(model.export("spark")["score.sql"]).alias("score")).orderBy("n").collect()
    assert [score for _, score in scored] == [1.0, 2.0, 4.0, 8.0, 16.0, 0.0, 0.0]
    for name in ("${x}", ""):
        plain = RankingModel.from_arrays(np.ones(1), (name,), FeatureScaling("none", np.zeros(1), np.ones(1)))
        with pytest.raises(DataError, match="cannot be the name of an SQL column"):
            plain.export("spark")
        assert "CAST(price AS DOUBLE)" in plain.export("spark", features={name: "price"})["score.sql"]
