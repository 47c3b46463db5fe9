"""Missing values: learned on training rows, remembered by the model, alike in every container and export."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.filling import fill_matrix, learn_filling
from sparserank.data.missing import MissingPolicy
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.datasets import make_ranking
from sparserank.errors import DataError
from tests.oracles import filling as oracle
from tests.support.command_line import Cli, assert_refused
from tests.support.models import array_of

RULES = ("zero", "min", "median", "2.5")
NAMES = tuple(f"c{j}" for j in range(6))


def holed(seed: int = 0, n_queries: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(X with holes, relevance, qid)."""
    data = make_ranking(n_queries, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=seed).data
    rng = np.random.default_rng(seed)
    X = np.array(data.X) + 3.0
    X[rng.random(X.shape) < 0.15] = np.nan
    X[0, 0], X[1, 1] = np.inf, -np.inf
    return X, np.array(data.relevance), np.array(data.qid)


def frame_of(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(NAMES)).assign(label=y, qid=qid)


def nullable(X: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list(NAMES)).astype("Float64")
    return frame.mask(frame.isna(), pd.NA)


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda X: X,
    "CSR": sp.csr_matrix,
    "lists": lambda X: X.tolist(),
    "masked": np.ma.masked_invalid,
    "pandas": lambda X: pd.DataFrame(X, columns=list(NAMES)),
    "pandas, nullable": nullable,
    "pandas, objects": lambda X: nullable(X).astype(object).where(nullable(X).notna(), None),
    "polars, null": lambda X: pl.DataFrame(X, schema=list(NAMES)).fill_nan(None),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_values_are_learned_on_the_training_rows_alone_whatever_holds_them(form: str, rule: str) -> None:
    X, y, qid = holed()
    X[2, 2], X[3, 3] = 1.797e308, -1.797e308  # marks of a missing value
    expected = oracle.learned(X.tolist(), rule)
    plain = sr.SparseRanker().fit(np.array(oracle.filled(X.tolist(), expected)), y, qid=qid)
    ranker = sr.SparseRanker(missing=rule).fit(FORMS[form](X), y, qid=qid)
    np.testing.assert_array_equal(ranker.fill_values_, expected)
    np.testing.assert_allclose(ranker.scaled_coef_, plain.scaled_coef_, rtol=1e-9)
    other, _, _ = holed(seed=5)
    scores = plain.predict(np.array(oracle.filled(other.tolist(), expected)))
    for system in (ranker, ranker.to_model()):
        np.testing.assert_allclose(system.predict(FORMS[form](other)), scores, rtol=1e-9)
    own = np.array(oracle.learned(other.tolist(), rule))
    if rule in ("min", "median"):  # the variant that learns from what it scores would be seen
        assert np.abs(own - expected).max() > 1e-3


def test_rankers_with_validation_keep_what_they_learned() -> None:
    X, y, qid = holed()
    expected = oracle.learned(X.tolist(), "median")
    whole = np.array(oracle.filled(X.tolist(), expected))
    rankers = (sr.SparseRankerCV(n_alphas=8, cv=3, missing="median"), sr.SparseRanker(missing="median"))
    for ranker, form in itertools.product(rankers, (X, nullable(X))):
        ranker.fit(form, y, qid=qid, eval_set=[(form, y)], eval_qid=[qid])
        np.testing.assert_array_equal(ranker.fill_values_, expected)
        np.testing.assert_allclose(ranker.predict(form), whole @ ranker.coef_, rtol=1e-9)
        held = {f.index: f.missing for f in ranker.to_model().features}
        assert held == {j: expected[j] for j in ranker.support_.tolist()}
    on_data = sr.SparseRankerCV(n_alphas=8, cv=3).fit_dataset(sr.RankingDataset(whole, y, qid))
    np.testing.assert_array_equal(on_data.coef_, rankers[0].fit(X, y, qid=qid).coef_)


def test_missing_values_without_a_fill_value_are_refused() -> None:
    X, y, qid = holed()
    frame = frame_of(X, y, qid)
    features, clean = frame[list(NAMES)], np.nan_to_num(X, nan=0.0, posinf=0.0, neginf=0.0)
    digits = features.set_axis(["02", "01", "c", "d", "e", "f"], axis=1)
    plain = sr.SparseRanker().fit(clean, y, qid=qid)
    error = {"c0": "error", "*": "zero"}
    partly = sr.SparseRanker(missing=error).fit(features.assign(c0=clean[:, 0]), y, qid=qid)
    gap = features.assign(c0=np.where(np.arange(len(y)) == 3, np.nan, clean[:, 0]))
    lists, parts = ([[1.0], [1.0, 2.0]], [0, 1], [1, 1]), (sr.RankingDataset(clean, y, qid), None, (X, y, qid + 1000))

    def fit(X: Any, missing: Any) -> Any:
        return sr.SparseRanker(missing=missing).fit(X, y, qid=qid)

    for call, message in (
        (lambda: sr.RankingDataset(X, y, qid), r"row 0, feature f1 is inf.*missing='median'"),
        (lambda: fit(features, error), r"feature 'c0' has a missing or infinite value"),
        (lambda: fit(X, {"f3": "median"}), "feature 'f1' has a missing"),
        (lambda: fit(digits, {"c": "median"}), "feature '02' has a missing"),
        (lambda: fit(X, "query-min"), "query-min' needs the query of every row"),
        (lambda: fit(X, "mean"), "must be 'error', 'zero', 'min', 'median', 'query-min' or a number"),
        (lambda: fit(X, "a=zero;a=min"), "'a' is named twice"),
        (lambda: fit(digits, {"02": 7.0, 1: 8.0, "*": 0}), "contains feature 1 twice, by its name and by its number"),
        (lambda: fit(X.astype(np.float32), 1e39), "is too large for float32"),
        (lambda: sr.read(frame, missing={"c9": "zero"}), "missing policy contains feature 'c9'"),
        (lambda: as_datasets({"d": lists}, reading={"missing": "zero"}), "X must be a matrix of numbers"),
        (lambda: plain.to_model().predict(X), r"train with missing='median'"),
        (lambda: plain.predict(sp.csr_matrix(X)), "missing"),
        (lambda: plain.predict(np.ma.masked_array(clean, np.isnan(X))), "missing"),
        (lambda: partly.predict(gap), "SparseRanker: row 3, feature 'c0' is missing"),
        (lambda: partly.to_model().predict(gap), "row 3: feature 'c0' is nan"),
        (lambda: sr.select(*parts, missing="median"), "'median' is learned from the training rows"),
    ):
        with pytest.raises(DataError, match=message):
            call()
    assert fit(digits, {"01": 7.0, "*": 0}).fill_values_.tolist() == [0, 7, 0, 0, 0, 0]
    assert MissingPolicy.parse({}) is MissingPolicy.parse("*=error") is None
    one = np.where(np.isfinite(X) | (np.arange(6) == 2), X, 0.0)
    np.testing.assert_array_equal(fit(one, {"f3": "median"}).coef_, fit(one, {3: "median"}).coef_)


def test_medians_of_more_rows_than_are_kept_come_from_evenly_spread_ones() -> None:
    rows = np.arange(10_000, dtype=np.float64)[:, None] * [1.0, -2.0]
    policy = MissingPolicy.parse("median")
    assert policy is not None
    blocks = np.array_split(rows, 37)
    exact = learn_filling(policy, iter(blocks), 2, np.dtype(np.float64)).values
    assert exact.tolist() == [4999.5, -9999.0]
    near = learn_filling(policy, iter(blocks), 2, np.dtype(np.float64), sample_values=400).values
    assert np.abs(near / exact - 1.0).max() < 0.01
    sparse = learn_filling(policy, iter([sp.csr_matrix(b) for b in blocks]), 2, np.dtype(np.float64)).values
    assert sparse.tolist() == exact.tolist()


def test_select_fills_validation_and_test_with_what_train_teaches(cli_here: Cli, tmp_path: Path) -> None:
    train, test = holed(), holed(seed=5)
    options = {"missing": {"c1": "min", "*": "median"}}
    medians, smallest = (oracle.learned(train[0].tolist(), rule) for rule in ("median", "min"))
    expected = np.array([smallest[j] if name == "c1" else medians[j] for j, name in enumerate(NAMES)])
    quick = {"penalties": "l1", "n_alphas": 8, "half_samples": 0, "relaxed": False, "cv": 3}
    quick["feature_transform"] = "none"
    result = sr.select(frame_of(*train), test=frame_of(*test).assign(qid=lambda f: f.qid + 1000), **options, **quick)
    model = result.model
    support = model.support
    np.testing.assert_array_equal(array_of(model, "missing")[support], expected[support])
    frame_of(*train).to_parquet(tmp_path / "train.parquet")
    frame_of(*test).to_parquet(tmp_path / "test.parquet")
    few = {"--penalty": "l1", "--n-alphas": "8", "--half-samples": "0", "--transform": "none", "--folds": "3"}
    words = ["--no-relaxed", *(word for option in few.items() for word in option)]
    assert cli_here("select", "train.parquet", "--missing", "c1=min;*=median", "--out", "run", *words).code == 0
    loaded = sr.load_model(tmp_path / "run/model.json")
    assert json.loads((tmp_path / "run/model.json").read_text())["version"] == 4
    np.testing.assert_array_equal(loaded.coef, model.coef)
    done = cli_here("predict", "run/model.json", "test.parquet").done
    scores = np.array([float(line) for line in done.out.split()])
    np.testing.assert_allclose(scores, model.predict(frame_of(*test)), rtol=1e-12)
    whole = np.array(oracle.filled(test[0].tolist(), expected.tolist()))
    np.testing.assert_allclose(scores, model.predict(whole), rtol=1e-12)


def test_models_fill_in_their_own_values_side_by_side(cli_here: Cli, tmp_path: Path) -> None:
    X, y, qid = holed()
    frame = frame_of(X, y, qid)
    frame.to_parquet(tmp_path / "t.parquet")
    models = {r: sr.SparseRanker(missing=r).fit(frame[list(NAMES)], y, qid=qid).to_model() for r in ("min", "median")}
    for rule, model in models.items():
        model.save(tmp_path / f"{rule}.json")
    done = cli_here("evaluate", "t.parquet", "--system", "min.json", "--system", "median.json", "--format", "json").done
    found = {(r["system"], r["metric"]): r["mean"] for r in json.loads(done.out)}
    for rule, model in models.items():
        for source in (frame, (X, y, qid)):
            assert sr.evaluate(model, source)["ndcg@10"] == found[f"{rule}.json", "ndcg@10"]
    assert found["min.json", "ndcg@10"] != found["median.json", "ndcg@10"]
    for rule in ("min", "median"):  # learned from what is scored it would be another model
        done = cli_here("predict", "min.json", "t.parquet", "--missing", rule)
        assert_refused(done, 2, "stored in the model")
    by_hand = np.where(np.isfinite(X), X, 7.0)
    done = cli_here("predict", "min.json", "t.parquet", "--missing", "7")
    np.testing.assert_allclose([float(s) for s in done.out.split()], models["min"].predict(by_hand), rtol=1e-12)
    clean = sr.SparseRanker().fit(by_hand, y, qid=qid).to_model()
    with pytest.raises(DataError, match="row 0: feature 'f1' is nan"):
        sr.evaluate(clean, (X, y, qid))
    assert np.isfinite(sr.evaluate(np.arange(len(y)), (X, y, qid))["map"])  # scores need no features


def test_rows_of_queries_that_do_not_count_teach_nothing() -> None:
    X, y, qid = holed()
    first = np.unique(qid)[:15]
    counts = np.isin(qid, first)
    X[~counts] += 100.0
    weight = np.isin(np.unique(qid), first).astype(float)
    ranker = sr.SparseRanker(missing="median").fit(X, y, qid=qid, query_weight=weight)
    np.testing.assert_array_equal(ranker.fill_values_, oracle.learned(X[counts].tolist(), "median"))
    assert np.abs(ranker.fill_values_ - oracle.learned(X.tolist(), "median")).max() > 10.0


def feature_log(path: Path, frame: pd.DataFrame, names: list[str]) -> None:
    """The frame as a log of Solr."""
    rows = (
        {"qid": q, "label": y, "[features]": ",".join(f"{n}={v}" for n, v in zip(names, x, strict=True))}
        for x, y, q in zip(frame[names].to_numpy(), frame["label"].tolist(), frame["qid"].tolist(), strict=True)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("names", [("1", "2", "0", "4", "3", "5"), ("f2", "f1", "f3", "f4", "f5", "f6"), NAMES])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_values_go_to_the_features_whose_names_they_have(kind, names, cli_here, tmp_path):
    """Names that are numbers, in orders that are not theirs; scattered rows; a column that no model knows."""
    train, test = holed(), holed(seed=5)
    frames = [pd.DataFrame(X, columns=list(names)).assign(label=y, qid=q) for X, y, q in (train, test)]
    frames[1]["qid"] += 1000
    frames[1] = frames[1][[*reversed(names), "label", "qid"]].assign(more=1.0)
    order = np.random.default_rng(0).permutation(len(frames[1]))
    frames[1], test = frames[1].iloc[order], (test[0][order], *test[1:])
    medians = oracle.learned(train[0].tolist(), "median")
    for name, frame in zip(("train", "test"), frames, strict=True):
        if kind == "csv":
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            feature_log(tmp_path / f"{name}.jsonl", frame, [c for c in frame.columns if c not in ("label", "qid")])
    sources = [dict(zip(("train", "test"), frames, strict=True))]
    sources.append({name: str(tmp_path / f"{name}.{kind}") for name in ("train", "test")})
    expected = oracle.filled(test[0].tolist(), medians)
    for source in sources:
        parts = as_datasets(source, reading={"missing": "median"})
        assert (parts["test"].row_index != np.arange(len(order))).any()
        np.testing.assert_array_equal(parts["test"].to_input_order(np.array(parts["test"].X)), expected)
    model = sr.SparseRanker().fit_dataset(parts["train"]).to_model()
    model.save(tmp_path / "m.json")
    done = cli_here("predict", "m.json", f"test.{kind}").done
    np.testing.assert_allclose([float(s) for s in done.out.split()], model.predict(frames[1]), rtol=1e-12)
    by_hand = np.array(expected) @ (model.coef / array_of(model, "scale", 1.0))
    np.testing.assert_allclose(model.predict(frames[1]), by_hand, rtol=1e-9)


def test_stores_that_learned_for_themselves_are_not_used_together(tmp_path: Path) -> None:
    train, test = holed(), holed(seed=5)
    for name, (X, y, q) in (("train", train), ("test", test)):
        frame_of(X, y, q + 1000 * (name == "test")).to_parquet(tmp_path / f"{name}.parquet")
        convert([tmp_path / f"{name}.parquet"], tmp_path / f"{name}-store", Reading(missing="median", dtype="float64"))
    parts = {"train": tmp_path / "train-store", "test": tmp_path / "test-store"}
    with pytest.raises(DataError, match=r"missing values of 'c0' were replaced by .* like the first store \(like\)"):
        as_datasets(parts)
    with pytest.raises(DataError, match="missing values of 'c0' were replaced by"):
        sr.read([str(p) for p in parts.values()])
    convert([tmp_path / "test.parquet"], tmp_path / "like", Reading(dtype="float64"), like=tmp_path / "train-store")
    expected = oracle.filled(test[0].tolist(), oracle.learned(train[0].tolist(), "median"))
    for source in (tmp_path / "like", tmp_path / "test.parquet"):  # a file beside a store learns nothing either
        np.testing.assert_array_equal(as_datasets({**parts, "test": source})["test"].X[:], expected)


def differ(found: Any, wrong: Any) -> bool:
    """Whether two tables differ by more than any rounding."""
    return not np.allclose(np.array(found, dtype=float), np.array(wrong, dtype=float), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", oracle.WRONG_LEARNED, ids=lambda f: f.__name__)
def test_wrong_values_for_missing_ones_are_rejected(wrong: Callable) -> None:
    """Each is what a reader could have learned from the rows that are compared bit by bit above, and differs for one
    rule at least."""
    rows = holed()[0].tolist()
    assert any(differ(oracle.learned(rows, rule), wrong(rows, rule)) for rule in ("min", "median"))


def with_queries_without_a_value(seed: int, share_of_zeros: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`holed`, with zeros, and two queries that know nothing of a feature."""
    X, y, qid = holed(seed)
    X[np.random.default_rng(seed + 1).random(X.shape) < share_of_zeros] = 0.0
    X[qid == qid[0], 2] = np.nan
    X[qid == qid[-1], 4] = np.inf
    return X, y, qid


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.1])
def test_a_querys_minimum_of_a_matrix_is_that_of_its_rows(share_of_zeros: float) -> None:
    """What a sparse matrix does not store is 0, and is known."""
    X, _, qid = with_queries_without_a_value(2, share_of_zeros)
    X = np.where(np.arange(X.shape[1]) == 5, -X, X)  # 0 is not the smallest of a feature whose values are negative
    expected = oracle.query_minimum(X.tolist(), qid.tolist())
    policy = MissingPolicy.parse("query-min")
    assert policy is not None
    query = np.unique(qid, return_inverse=True)[1]
    for matrix in (X, sp.csr_matrix(X)):
        filled, filling = fill_matrix(policy, matrix, query, NAMES)
        values = filled.toarray() if sp.issparse(filled) else filled
        np.testing.assert_array_equal(values, expected)
        assert np.isnan(filling.values).all()
        for wrong in oracle.WRONG_QUERY_MINIMUM:
            assert differ(values, wrong(X.tolist(), qid.tolist())), wrong.__name__
