"""A model remembers training medians: missing values are refused, or filled on request, by every way to predict.
The number of the first feature in ranking text is kept too: rows that lack feature 0 shift nothing.
"""

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
from sparserank.data.read_files import read_files
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.data.store.features import StoredFeatures
from sparserank.errors import DataError, SparserankError
from sparserank.export import export
from sparserank.model import load_model
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.oracles import filling as oracle
from tests.support.command_line import Cli
from tests.support.models import array_of

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
def test_medians_are_those_of_the_training_rows_whatever_holds_them(dtype: type) -> None:
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
    stepped = sr.SparseRanker(penalty="steps", **small).fit(X, Y, qid=QID)
    models += [stepped.to_model(), sr.papers.FSRank(k=3, n_threads=1).fit(X, Y, qid=QID).to_model()]
    models.append(sr.select(labelled, cv=2, penalties=["l1"], k=3, n_alphas=10, half_samples=0, n_threads=1).model)
    for model in models:
        assert 0 < len(model.support) <= 3
        np.testing.assert_array_equal(array_of(model, "median"), known_of(model.support))
    weight = np.r_[np.zeros(10), np.ones(20)]
    counted = sr.SparseRanker(**small).fit(X, Y, qid=QID, query_weight=weight).to_model()
    used = np.repeat(weight, np.diff(PROBLEM.query_ptr)) > 0
    own = np.array(oracle.learned(X[used].tolist(), "median"))
    np.testing.assert_array_equal(array_of(counted, "median"), known_of(counted.support, own))
    assert np.abs(own - MEDIANS)[counted.support].max() > 1e-3
    pipeline = make_pipeline(StandardScaler(), sr.SparseRanker(**small))
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        folded = RankingModel.from_pipeline(pipeline.fit(X, Y, qid=QID))
    np.testing.assert_allclose(array_of(folded, "median"), known_of(folded.support), rtol=1e-12)


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
    np.testing.assert_array_equal(array_of(loaded, "median"), array_of(model, "median"))
    np.testing.assert_array_equal(loaded.predict(holed(), missing="model"), model.predict(holed(), missing="model"))
    assert np.isnan(array_of(loaded, "missing")).all()
    older = [{k: v for k, v in f.items() if k != "median"} for f in content["features"]]
    (tmp_path / "old.json").write_text(json.dumps(content | {"version": 2, "features": older}))
    old = sr.load_model(tmp_path / "old.json")
    assert np.isnan(array_of(old, "median")).all()
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
    np.testing.assert_array_equal(array_of(model, "median"), known_of(model.support))  # of the features as they are
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


N = 4  # features, 0 to 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.txt, whose features begin at 0; test.txt, in which feature 0 is absent from every row; run: a selection."""
    folder = tmp_path_factory.mktemp("base")
    rng = np.random.default_rng(0)
    lines = []
    for q in range(30):
        x = rng.normal(size=(6, N)).round(3)
        labels = (x[:, 1] + 0.5 * x[:, 3] + 0.3 * x[:, 0] > 0.3).astype(int)
        lines += [
            f"{y} qid:{q} " + " ".join(f"{j}:{v}" for j, v in enumerate(row)) for y, row in zip(labels, x, strict=True)
        ]
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    (folder / "test.txt").write_text("1 qid:7 1:2.0 3:0.5\n0 qid:7 1:0.25 2:9.0 3:-1.0\n")
    few = {"penalties": "l1", "half_samples": 0, "rival": "none", "cv": 3, "feature_transform": "none"}
    sr.select(folder / "train.txt", index_base=0, out=folder / "run", **few)
    return folder


def scores_by_hand(model: RankingModel) -> np.ndarray:
    """The scores of test.txt: feature j of the text has the name f{j}."""
    rows = [{1: 2.0, 3: 0.5}, {1: 0.25, 2: 9.0, 3: -1.0}]
    weights = {int(f.name[1:]): f.slope for f in model.features}
    center = sum(f.coef * f.mean / f.scale for f in model.features)
    return np.array([sum(weights.get(j, 0.0) * v for j, v in row.items()) for row in rows]) - center


@pytest.mark.parametrize("which", ["run", "run/model.json", "a smaller model", "named features"])
def test_predict_reads_text_from_the_number_that_the_model_knows(which, cli, folder, tmp_path):
    k = 1 if which == "a smaller model" else None
    model, words = load_model(folder / "run", k=k), [] if k is None else ["--k", "1"]
    assert model.index_base == 0
    source = folder / ("run" if k else which)
    if which == "named features":
        (tmp_path / "names.txt").write_text("age\nbm25\nlength\npr\n")
        fit = ["fit", folder / "train.txt", "--index-base", "0", "--alpha-ratio", "0.1"]
        source = tmp_path / "named.json"
        assert cli(*fit, "--feature-names", tmp_path / "names.txt", "--out", source).code == 0
        assert cli(*fit, "--out", tmp_path / "m.json").code == 0
        model = load_model(tmp_path / "m.json")
    for given in ([], ["--index-base", "0"]):
        found = cli("predict", source, folder / "test.txt", *given, *words)
        np.testing.assert_allclose([float(line) for line in found.out.split()], scores_by_hand(model), rtol=1e-12)


def test_evaluate_and_explain_read_as_the_model_knows(cli: Cli, folder: Path) -> None:
    run, model = folder / "run", load_model(folder / "run")
    (folder / "own.txt").write_text("".join(f"{v!r}\n" for v in scores_by_hand(model).tolist()))
    systems = ("--system", run, "--system", folder / "own.txt")
    rows = json.loads(cli("evaluate", folder / "test.txt", *systems, "--format", "json").out)
    assert rows[0]["mean"] == rows[2]["mean"]
    told = json.loads(cli("explain", run, folder / "test.txt", "--query", "7", "--format", "json").out)
    assert set(told["documents"][0]["contributions"]) == {model.feature_names[j] for j in model.support}
    np.testing.assert_allclose(sorted(d["score"] for d in told["documents"]), sorted(scores_by_hand(model)), rtol=1e-12)


def test_text_that_was_read_from_1_is_refused_and_the_remedy_works(folder: Path) -> None:
    model = load_model(folder / "run")
    with pytest.raises(DataError, match="index_base=0"):
        model.score_dataset(sr.read(folder / "test.txt", n_features=N))
    own = sr.read(folder / "test.txt", n_features=N, index_base=model.index_base)
    np.testing.assert_allclose(model.score_dataset(own), scores_by_hand(model), rtol=1e-12)
    # Arrays have no numbers: they are matched by position.
    assert np.array_equal(model.score_dataset(sr.RankingDataset(own.X, own.relevance, own.qid)), model.predict(own.X))


def test_files_that_begin_at_1_are_read_from_1_on_request(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Number 1 is the first feature, with a note; without the option the remedy of the error works."""
    train = sr.read(folder / "train.txt", index_base=0)
    sr.write_letor(train, tmp_path / "from-1.txt", index_base=1)
    refused = cli("predict", folder / "run", tmp_path / "from-1.txt")
    assert refused.code == 1
    remedy = "if the numbers begin at 1, use --index-base 1; else"
    assert f"has feature 4, but 4 features are expected; {remedy}" in refused.err
    assert "n_features" not in refused.err
    assert "--n-features" not in refused.err
    found = cli("predict", folder / "run", tmp_path / "from-1.txt", "--index-base", "1")
    assert found.out == cli("predict", folder / "run", folder / "train.txt").out
    assert "number 1 of these files is the first feature of the model, f0" in found.err


def test_models_of_earlier_versions_begin_at_1(cli: Cli, folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "run" / "model.json").read_text())
    del content["index_base"]
    content["version"] = 5
    content["feature_names_in"] = [f"f{j + 1}" for j in range(N)]
    for feature in content["features"]:
        feature["name"] = f"f{feature['index'] + 1}"
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = load_model(tmp_path / "old.json")
    assert old.index_base == 1
    assert cli("predict", tmp_path / "old.json", folder / "train.txt").err.count("--index-base 0")
    # What their users had to add still works: the first feature is the first feature.
    found = cli("predict", tmp_path / "old.json", folder / "test.txt", "--index-base", "0")
    np.testing.assert_allclose(
        [float(line) for line in found.out.split()], scores_by_hand(load_model(folder / "run")), rtol=1e-12
    )
    both = cli("evaluate", folder / "test.txt", "--system", tmp_path / "old.json", "--system", folder / "run")
    assert both.code == 2
    assert "--index-base" in both.err
    again = cli(
        "evaluate", folder / "test.txt", "--system", tmp_path / "old.json", "--system", folder / "run",
        "--index-base", "0",
    )  # fmt: skip
    assert again.code == 0, again.err


def test_stores_keep_the_number_of_the_first_feature(cli: Cli, folder: Path, tmp_path: Path) -> None:
    for name in ("train", "test"):
        n = [] if name == "train" else ["--n-features", str(N)]
        cli("convert", folder / f"{name}.txt", "--index-base", "0", *n, tmp_path / name)
    data = sr.read(tmp_path / "train")
    assert (data.index_base, data.feature_names) == (0, ("f0", "f1", "f2", "f3"))
    expected = cli("predict", folder / "run", folder / "test.txt").out
    text = np.array(expected.split(), dtype=float)
    stored = cli("predict", folder / "run", tmp_path / "test").out
    np.testing.assert_allclose(np.array(stored.split(), dtype=float), text, rtol=1e-6)  # features in float32
    # A store that was read from 1 is refused, and so is text that joins the training data from 1.
    cli("convert", folder / "test.txt", "--n-features", str(N), tmp_path / "shifted")
    assert "--index-base 0" in cli("predict", folder / "run", tmp_path / "shifted").err
    like = cli("convert", folder / "test.txt", tmp_path / "x", "--like", tmp_path / "train")
    assert "--index-base 0" in like.err
    with pytest.raises(SparserankError, match="index_base=0"):
        sr.select(data, test=folder / "test.txt", penalties="l1", n_alphas=10, half_samples=0, rival="none")
    manifest = json.loads((tmp_path / "train" / "manifest.json").read_text())
    (tmp_path / "train" / "manifest.json").write_text(json.dumps(manifest | {"index_base": 1}))
    with pytest.raises(SparserankError, match="checksum"):
        sr.read(tmp_path / "train")


def test_text_is_written_with_the_numbers_that_it_was_read_with(cli: Cli, folder: Path, tmp_path: Path) -> None:
    data = sr.read(folder / "train.txt", index_base=0)
    sr.write_letor(data, tmp_path / "again.txt")
    assert np.array_equal(sr.read(tmp_path / "again.txt", index_base=0).X, data.X)
    cli("convert", folder / "train.txt", "--index-base", "0", "--dtype", "float64", tmp_path / "store")
    cli("convert", tmp_path / "store", "--dtype", "float64", tmp_path / "back.txt")
    assert (tmp_path / "back.txt").read_text() == (tmp_path / "again.txt").read_text()
    table = read_files(folder / "train.txt", Reading(index_base=0, missing="f0=zero"))
    assert table.fill_values is not None
    assert not np.isnan(table.fill_values[0])


def test_exports_use_the_numbers_of_the_text(cli: Cli, folder: Path) -> None:
    model = load_model(folder / "run")
    names = [model.feature_names[j] for j in model.support]
    assert all(f'"{name}"' in export(model, "sql")["score.sql"] for name in names)  # type: ignore[operator]
    found = cli("export", folder / "run", "--to", "ranklib")
    assert "RankLib numbers features from 1" in found.err
    head, comment, weights = found.out.splitlines()
    assert (head, comment[:3]) == ("## Coordinate Ascent", "## ")
    numbers = {int(pair.split(":")[0]) for pair in weights.split()}
    assert numbers == {int(name[1:]) + 1 for name in names}


def test_columns_of_tables_that_look_like_numbers_are_names() -> None:
    model = RankingModel.from_arrays(
        np.array([0.0, 0.0, 1.0]), ("f0", "f1", "f2"), FeatureScaling("none", np.zeros(3), np.ones(3))
    )
    data = sr.RankingDataset([[1.0, 5.0], [2.0, 3.0]], [1, 0], feature_names=["f1", "f2"])
    assert model.score_dataset(data).tolist() == [5.0, 3.0]
