"""A model remembers training medians: missing values are refused, or filled on request, by every way to predict."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparserank as sr
from sparserank.data import filling
from sparserank.data.filling import training_medians
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.data.store.features import StoredFeatures
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from tests.oracles import filling as oracle
from tests.support.command_line import Cli

NAMES = tuple(f"c{j}" for j in range(6))
PROBLEM = sr.datasets.make_ranking(30, (6, 9), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data
X, Y, QID = np.array(PROBLEM.X) + 1.0, np.array(PROBLEM.relevance), np.array(PROBLEM.qid)
X[:, 0] = np.round(X[:, 0] * 3.0)
MEDIANS = np.array(oracle.learned(X.tolist(), "median"))
FRAME = pd.DataFrame(X, columns=list(NAMES))


def known_of(support: np.ndarray, medians: np.ndarray = MEDIANS) -> np.ndarray:
    out = np.full(6, np.nan)
    out[support] = medians[support]
    return out


def holed() -> np.ndarray:
    out = X[:40].copy()
    out[np.random.default_rng(0).random(out.shape) < 0.3] = np.nan
    out[0], out[1, 2] = np.nan, np.inf
    return out


@pytest.fixture(scope="module")
def model() -> RankingModel:
    ranker = sr.SparseRanker(k=4, feature_transform="log", n_threads=1)
    return ranker.fit(FRAME, Y, qid=QID).to_model()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_medians_are_those_of_the_training_rows_whatever_holds_them(dtype: type, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((101, 6)) * (rng.random((101, 6)) < [1.0, 0.6, 0.4, 0.9, 0.45, 0.0])).astype(dtype)
    rows[:, 3] = np.abs(rows[:, 3])
    columns = np.array([0, 1, 2, 3, 5])
    for n in (100, 101):
        held = rows[:n]
        want = np.full(6, np.nan)
        want[columns] = np.array(oracle.learned(held.tolist(), "median"))[columns].astype(dtype)
        parts = [held[:37], held[37:38], held[38:]]
        stored = StoredFeatures(parts, "dense"), StoredFeatures([sp.csr_matrix(p) for p in parts], "sparse")
        for form in (held, np.asfortranarray(held), sp.csr_matrix(held), *stored):
            np.testing.assert_array_equal(training_medians(form, columns), want)
            counted = np.arange(n) % 3 > 0
            some = training_medians(form, columns, counted)
            weighed = np.array(oracle.learned(held[counted].tolist(), "median")).astype(dtype)
            np.testing.assert_array_equal(some[columns], weighed[columns])
    stored_alone = [np.median(held[:, j][held[:, j] != 0]) for j in (1, 2)]  # the variant that forgets zeros
    assert np.abs(stored_alone - want[1:3]).max() > 1e-3


def test_medians_of_many_rows_come_from_evenly_spread_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).standard_normal((1000, 3))
    monkeypatch.setattr(filling, "SAMPLE_VALUES", 500)
    columns = np.array([0, 2])
    want = [np.median(rows[::4, j]) for j in columns]
    for form in (rows, StoredFeatures([rows[:333], rows[333:334], rows[334:]], "x")):
        np.testing.assert_array_equal(training_medians(form, columns)[columns], want)
    want = [np.median(rows[::6, j]) for j in columns]  # of a sparse matrix all that it stores counts
    np.testing.assert_array_equal(training_medians(sp.csr_matrix(rows), columns)[columns], want)


def test_every_way_to_a_model_keeps_them(tmp_path: Path) -> None:
    labelled = FRAME.assign(label=Y, qid=QID)
    labelled.to_parquet(tmp_path / "t.parquet")
    convert([tmp_path / "t.parquet"], tmp_path / "store", Reading(dtype="float64"), shard_bytes=2000)
    small = {"k": 3, "n_threads": 1}
    models = [sr.SparseRanker(**small).fit(form, Y, qid=QID).to_model() for form in (X, sp.csr_matrix(X), FRAME)]
    models.append(sr.SparseRanker(**small).fit_dataset(sr.read(tmp_path / "store")).to_model())
    bent = sr.SparseRanker(feature_transform="curves", **small).fit(X, Y, qid=QID)
    models += [bent.to_model(), sr.papers.FSRank(k=3, n_threads=1).fit(X, Y, qid=QID).to_model()]
    models.append(sr.select(labelled, cv=2, penalties=["l1"], k=3, half_samples=0, n_threads=1).model)
    for model in models:
        assert 0 < len(model.support) <= 3
        np.testing.assert_array_equal(model.medians, known_of(model.support))
    weight = np.r_[np.zeros(10), np.ones(20)]
    counted = sr.SparseRanker(**small).fit(X, Y, qid=QID, query_weight=weight).to_model()
    used = np.repeat(weight, np.diff(PROBLEM.query_ptr)) > 0
    own = np.array(oracle.learned(X[used].tolist(), "median"))
    np.testing.assert_array_equal(counted.medians, known_of(counted.support, own))
    assert np.abs(own - MEDIANS)[counted.support].max() > 1e-3
    pipeline = make_pipeline(StandardScaler(), sr.SparseRanker(**small))
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        folded = RankingModel.from_pipeline(pipeline.fit(X, Y, qid=QID))
    np.testing.assert_allclose(folded.medians, known_of(folded.support), rtol=1e-12)


def test_a_missing_value_is_refused_by_default_and_filled_on_request(model: RankingModel) -> None:
    gaps = holed()
    whole = np.array(oracle.filled(gaps.tolist(), MEDIANS.tolist()))
    name = NAMES[model.support[0]]
    one = X[:1].copy()
    one[0, model.support[0]] = np.nan
    for asked in (None, "error"):
        expected = rf"feature '{name}' is nan; use its training median .* with missing='model'"
        with pytest.raises(DataError, match=expected):
            model.predict(one, missing=asked)
    expected = model.predict(whole)
    dataset = sr.RankingDataset(gaps, Y[:40], QID[:40], feature_names=NAMES, keep_missing=True)
    np.testing.assert_array_equal(model.predict(gaps, missing="model"), expected)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(gaps, columns=list(NAMES)), missing="model"), expected)
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(gaps), missing="model"), expected)
    np.testing.assert_array_equal(model.score_dataset(dataset, missing="model"), expected)
    for other in ("median", "zero", 0.0, "Model"):
        with pytest.raises(DataError, match="missing must be 'model'"):
            model.predict(gaps, missing=other)  # type: ignore[arg-type]
    unused = X[:1].copy()
    unused[0, np.setdiff1d(np.arange(6), model.support)[0]] = np.nan
    assert np.isfinite(model.predict(unused)).all()  # asks for nothing


def test_a_fill_value_of_training_comes_before_the_median() -> None:
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    ranker = sr.SparseRanker(missing={"c1": 40.0}, n_threads=1, alpha_ratio=0.001).fit(
        pd.DataFrame(gaps, columns=list(NAMES)), Y, qid=QID
    )
    model = ranker.to_model()
    assert {0, 1} <= set(model.support)
    row = X[:1].copy()
    row[0, :2] = np.nan
    filled = X[:1].copy()
    filled[0, :2] = MEDIANS[0], 40.0
    np.testing.assert_array_equal(model.predict(row, missing="model"), model.predict(filled))
    with pytest.raises(DataError, match="'c0' is nan"):
        model.predict(row)
    with pytest.raises(DataError, match=r"to_model\(\).predict\(X, missing='model'\)"):
        ranker.predict(pd.DataFrame(row, columns=list(NAMES)))


def test_the_file_holds_them_and_older_versions_refuse_it(model: RankingModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["version"] == 5  # 0.2 reads 1 to 4
    loaded = sr.load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.medians, model.medians)
    np.testing.assert_array_equal(loaded.predict(holed(), missing="model"), model.predict(holed(), missing="model"))
    assert loaded.fill_values is None
    older = [{k: v for k, v in f.items() if k != "median"} for f in content["features"]]
    (tmp_path / "old.json").write_text(json.dumps(content | {"version": 2, "features": older}))
    old = sr.load_model(tmp_path / "old.json")
    assert old.medians is None
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    for call in (lambda: old.predict(X, missing="model"), lambda: old.export("sql", missing="model")):
        with pytest.raises(DataError, match=r"contains no training median of 'c\d'.*\. Train it again"):
            call()
    old.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["version"] == 2
    with_fill_values = sr.SparseRanker(missing="zero", n_threads=1).fit(X, Y, qid=QID).to_model().to_json()
    assert with_fill_values["version"] == 4  # they are enough


def test_the_commands(cli_here: Cli, tmp_path: Path) -> None:
    FRAME.assign(label=Y, qid=QID).to_parquet(tmp_path / "t.parquet")
    assert cli_here("fit", "t.parquet", "--k", "3", "--transform", "log", "--out", "m.json").code == 0
    model = sr.load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(model.medians, known_of(model.support))  # of the features as they are
    gaps = holed()
    pd.DataFrame(gaps, columns=list(NAMES)).assign(label=Y[:40], qid=QID[:40]).to_parquet(tmp_path / "g.parquet")
    refused = cli_here("predict", "m.json", "g.parquet", "--out", "s.txt")
    assert refused.code == 1
    assert "--missing model" in refused.err
    assert f"'{NAMES[model.support[0]]}'" in refused.err
    assert not (tmp_path / "s.txt").exists()
    assert cli_here("predict", "m.json", "g.parquet", "--missing", "model", "--out", "s.txt").code == 0
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "s.txt"), model.predict(gaps, missing="model"))
    assert cli_here("explain", "m.json", "g.parquet", "--query", str(QID[0]), "--missing", "model").code == 0
    assert cli_here("evaluate", "g.parquet", "--system", "m.json", "--missing", "model").code == 0
    text = cli_here("export", "m.json", "--to", "sql", "--missing", "model").out
    assert text == model.export("sql", missing="model")["score.sql"] != model.export("sql")["score.sql"]
    for command in (
        ("export", "m.json", "--to", "sql", "--missing", "zero"),
        ("fit", "t.parquet", "--out", "n.json", "--missing", "model"),
    ):
        wrong = cli_here(*command)
        assert wrong.code == 2
        assert "Traceback" not in wrong.err
