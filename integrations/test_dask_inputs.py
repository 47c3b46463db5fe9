"""What is in no store reaches a cluster too: the model is that of this process, and nothing is left behind."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import sparserank as sr
from sparserank.cli.app import app
from sparserank.data.read import as_datasets
from sparserank.errors import DataError

DATA = sr.datasets.make_ranking(60, (5, 30), 12, n_informative=4, noise=0.5, random_state=3).data
NAMES = [f"x{j}" for j in range(12)]
# Short: what `select` does on a cluster, with refits and half-samples, is looked at in test_dask.py.
SELECT: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 6, "cv": 2, "half_samples": 0, "relaxed": False}


def frame() -> pd.DataFrame:
    return pd.DataFrame(DATA.X, columns=NAMES).assign(qid=DATA.qid, label=DATA.relevance)


def by_query(folder: Path) -> Path:
    """Parquet in three files, queries whole in each."""
    for k, part in frame().groupby(DATA.qid % 3):
        part.to_parquet(folder / f"part-{k}.parquet", index=False)
    return folder


def cut_in_queries(folder: Path) -> Path:
    """Parquet in four files of as many rows, queries split between them."""
    for k, rows in enumerate(np.array_split(np.arange(DATA.n_docs), 4)):
        frame().iloc[rows].to_parquet(folder / f"part-{k}.parquet", index=False)
    return folder


def text(folder: Path) -> Path:
    sr.write_letor(DATA, folder / "train.txt")
    return folder / "train.txt"


def csv(folder: Path) -> Path:
    frame().to_csv(folder / "train.csv", index=False)
    return folder / "train.csv"


INPUTS: dict[str, Callable[[Path], Any]] = {
    "arrays": lambda _: (np.asarray(DATA.X), DATA.relevance, DATA.qid),
    "data set": lambda _: DATA,
    "pandas": lambda _: frame(),
    "dask arrays": lambda _: (
        da.from_array(np.asarray(DATA.X), chunks=(100, 5)),
        da.from_array(DATA.relevance, chunks=70),
        DATA.qid,
    ),
    "parquet partitioned by query": by_query,
    "parquet cut in queries": cut_in_queries,
    "text": text,
    "csv": csv,
}


@pytest.fixture
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("kind", list(INPUTS))
def test_the_model_is_that_of_this_process(kind: str, client: Client, tmp_path: Path, own_tmp: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    train = INPUTS[kind](place)
    there, here = (sr.select(train, client=c, **SELECT) for c in (client, None))
    assert there.sentence == here.sentence
    np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)
    assert there.model.feature_names == here.model.feature_names
    del there, here
    gc.collect()
    assert not list(own_tmp.glob("sparserank-store-*"))


def test_validation_data_of_another_kind(client: Client) -> None:
    valid = sr.datasets.make_ranking(20, (5, 30), 12, n_informative=4, noise=0.5, random_state=4).data
    other = pd.DataFrame(valid.X, columns=NAMES[::-1]).assign(qid=1000 + valid.qid, label=valid.relevance)
    there, here = (sr.select(frame(), other, client=c, **SELECT) for c in (client, None))
    assert there.sentence == here.sentence


@pytest.mark.parametrize("scaling", ["within-query-std", "log-standard", "query-min-max"])
def test_every_scaling(scaling: str, client: Client, tmp_path: Path) -> None:
    train = text(tmp_path)
    there, here = (sr.select(train, client=c, scaling=scaling, **SELECT) for c in (client, None))
    np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "ranker", [sr.SparseRanker(alpha_ratio=0.1), sr.SparseRankerCV(n_alphas=8), sr.papers.FenchelRank(radius=0.1)]
)
def test_estimators(ranker: Any, client: Client) -> None:
    there, here = (
        ranker.fit(frame()[NAMES], DATA.relevance, qid=DATA.qid, client=c).coef_.copy() for c in (client, None)
    )
    np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-12)
    assert not hasattr(ranker, "_client")


def test_an_estimator_that_cannot_says_so(client: Client) -> None:
    with pytest.raises(DataError, match="GreedyRankRLS does not run on a cluster"):
        sr.papers.GreedyRankRLS(k=2).fit(DATA.X, DATA.relevance, qid=DATA.qid, client=client)


def test_paths_and_objectives_of_what_is_in_memory(client: Client) -> None:
    there, here = (sr.fit_path(DATA, "mcp", n_alphas=8, client=c) for c in (client, None))
    np.testing.assert_allclose(there.coefs, here.coefs, rtol=1e-12, atol=1e-12)
    weight = np.linspace(0, 2, DATA.n_docs)
    w = np.linspace(-1, 1, 12)
    values = [
        sr.solvers.PairwiseObjective(DATA, doc_weight=weight, client=c).value_and_gradient(w)[0] for c in (client, None)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_bad_values_are_refused_and_nothing_stays(client: Client, own_tmp: Path) -> None:
    X = np.array(DATA.X)
    X[7, 3] = np.inf
    with pytest.raises(DataError, match="X must be finite; row 7, feature f4 is inf"):
        sr.select((X, DATA.relevance, DATA.qid), client=client, **SELECT)
    for c in (client, None):
        with pytest.raises(DataError, match="train is a Dask data frame; write it with to_parquet and give the folder"):
            sr.select(dd.from_pandas(frame(), npartitions=2), client=c, **SELECT)
    assert not list(own_tmp.iterdir())


def test_what_is_no_open_client(cluster: LocalCluster) -> None:
    closed = Client(cluster)
    closed.close()
    X, y, qid = np.asarray(DATA.X), DATA.relevance, DATA.qid
    for wrong, message in (("tcp://127.0.0.1:1", "got 'str'"), (cluster, "got 'LocalCluster'"), (closed, "is closed")):
        with pytest.raises(DataError, match=message):
            sr.select((X, y, qid), client=wrong, **SELECT)
        with pytest.raises(DataError, match=message):
            sr.SparseRanker().fit(X, y, qid=qid, client=wrong)
        with pytest.raises(DataError, match=message):
            sr.fit_path(DATA, client=wrong)


def test_estimators_compute_collections(client: Client) -> None:
    parts = dd.from_pandas(frame(), npartitions=4)
    here = sr.SparseRanker(alpha_ratio=0.1).fit(frame()[NAMES], DATA.relevance, qid=DATA.qid)
    there = sr.SparseRanker(alpha_ratio=0.1).fit(parts[NAMES], parts.label, qid=parts.qid, client=client)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-12, atol=1e-12)


def test_weights_of_documents_come_along(client: Client, tmp_path: Path) -> None:
    weight = np.linspace(0.5, 2, DATA.n_docs)
    for train in (text(tmp_path), (np.asarray(DATA.X), DATA.relevance, DATA.qid)):
        there, here = (sr.select(train, doc_weight=weight, client=c, **SELECT) for c in (client, None))
        np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transform", ["log", "auto"])
def test_transforms_on_the_cluster(transform: str, client: Client) -> None:
    heavy = DATA.replace_features(np.sign(DATA.X) * np.expm1(2.5 * np.abs(DATA.X)))
    there, here = (sr.select(heavy, feature_transform=transform, client=c, **SELECT) for c in (client, None))
    assert there.sentence == here.sentence
    np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)


def test_a_folder_that_workers_do_not_see(client: Client, tmp_path: Path) -> None:
    sr.write_letor(DATA, tmp_path / "a.txt")
    sr.convert([tmp_path / "a.txt"], tmp_path / "store")
    data = sr.read(tmp_path / "store")
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"cannot access .*set TMPDIR to a folder"):
        sr.fit_path(data, client=client)


def test_a_parquet_file_on_the_command_line(cluster: LocalCluster, tmp_path: Path) -> None:
    pq.write_table(arrow_table(), tmp_path / "train.parquet")
    for command in (["select", "--penalty", "l1", "--n-alphas", "6", "--folds", "2", "--half-samples", "0"], ["fit"]):
        models = []
        for name, more in (("a", ["--scheduler", cluster.scheduler_address]), ("b", [])):
            out = tmp_path / f"{command[0]}-{name}"
            words = [command[0], str(tmp_path / "train.parquet"), *command[1:], "--out", str(out), *more]
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (done.output, done.exception)
            models.append(sr.load_model(out / "model.json" if command[0] == "select" else out))
        np.testing.assert_allclose(models[0].coef, models[1].coef, rtol=1e-12, atol=1e-12)


def arrow_table() -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame(), preserve_index=False)


def test_missing_values_of_collections_become_what_those_in_memory_become() -> None:
    """The same medians, learned on the training rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    y, qid = rng.integers(0, 3, 120), np.repeat(np.arange(12), 10)
    reading = {"missing": "median"}
    (expected,) = as_datasets({"train": (X, y, qid)}, reading=reading).values()
    blocks = (da.from_array(X, chunks=(50, 4)), y, qid)
    (stored,) = as_datasets({"train": blocks}, reading=reading, to_store=("train",)).values()
    assert expected is not None
    assert stored is not None
    np.testing.assert_array_equal(expected.fill_values, np.nanmedian(X, axis=0))
    np.testing.assert_array_equal(stored.fill_values, expected.fill_values)
    np.testing.assert_array_equal(stored.X[:], expected.X)
    with pytest.raises(DataError, match=r"X must be finite; row \d+, feature f\d is nan"):
        as_datasets({"train": blocks}, to_store=("train",))
