"""The query-normalised logarithm: the same numbers by explicit loops, in every container, model file and command."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval.feature_transforms import feature_transforms
from sparserank.data.dataset import RankingDataset
from sparserank.data.store.temporary import HeldRows, in_temporary_store
from sparserank.data.transformed import changes_features, fit_transform, transformed
from sparserank.errors import DataError, DataWarning, ModelFormatError
from sparserank.jobs.trials import transforms_tried
from sparserank.metrics import parse_metric
from sparserank.model import RankingModel
from sparserank.model.list_lengths import ListLengths
from sparserank.selection.plan import SelectionPlan
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.command_line import Cli
from tests.oracles import query_logs as oracle

QUICK: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 12, "cv": 3, "half_samples": 0}
FILL = [0.0, 3.0, -1e9, 1.0, 2.0, 0.5]


def hostile(seed: int = 0, *, missing: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(X, y, qid in any order): both signs, ties, constants, tiny and huge values, single documents, a query in which a
    feature is missing throughout."""
    rng = np.random.default_rng(seed)
    qid = np.concatenate([rng.integers(0, 12, 150), [100, 101]])
    X = np.exp(4 * rng.standard_normal((152, 6))) * rng.choice([-1.0, 1.0], (152, 6))
    X[:, 1] = rng.integers(0, 3, 152)
    X[:, 2] *= 1e-12
    X[:, 3] = 7.0
    X[:, 4] = 1e6 + rng.random(152)  # logs far from 0 and close to each other
    X[40:60] = X[60:80]  # duplicates
    X[5, 0], X[6, 0] = 1e300, -1e300
    if missing:
        X[rng.random((152, 6)) < 0.15] = np.nan
        X[qid == 3, 0] = np.nan
    return X, rng.integers(0, 3, 152), qid


def by_loops(X: np.ndarray, qid: np.ndarray, fill: list[float | None]) -> np.ndarray:
    rows = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    return np.array(oracle.query_log(rows, qid.tolist(), fill), dtype=float)


def close(found: Any, expected: np.ndarray) -> None:
    # log1p near 1e6 has an error of 1e-16 * 14, and the logs there differ by 1e-6
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-9, atol=2e-9)


def test_values_are_those_of_explicit_loops() -> None:
    X, y, qid = hostile()
    data = RankingDataset(X, y, qid, fill_values=FILL)
    found = transformed(data, [fit_transform(data, "query-log")])
    expected = by_loops(X, qid, FILL)  # type: ignore[arg-type]
    close(found.to_input_order(np.asarray(found.X)), expected)
    assert found.X.min() == 0.0
    assert found.X.max() == 1.0
    assert not found.X[:, 3].any()  # constant
    assert not found.to_input_order(np.asarray(found.X))[-2:].any()  # single documents
    assert not expected[qid == 3, 0].any()  # missing throughout
    outside = np.isnan(X[:, 2])
    assert set(expected[outside, 2].tolist()) == {0.0}  # -1e9 is below all known values: clipped


@pytest.mark.parametrize("wrong", ["all rows", "missing counted", "constants kept", "log left out"])
def test_the_comparison_rejects_wrong_variants(wrong: str) -> None:
    X, _, qid = hostile()
    fill: list[Any] = FILL
    expected = by_loops(X, qid, fill)
    if wrong == "all rows":
        variant = by_loops(X, np.zeros(len(qid)), fill)
    elif wrong == "missing counted":
        variant = by_loops(np.where(np.isnan(X), FILL, X), qid, fill)
    elif wrong == "constants kept":
        variant = np.where(np.arange(6) == 3, oracle.signed_log(7.0), expected)
    else:
        variant = by_loops(np.expm1(np.clip(X, -500, 500)), qid, fill)
    with pytest.raises(AssertionError):
        close(variant, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float32_keeps_the_digits_of_its_values(dtype: type) -> None:
    X, y, qid = hostile(missing=False)
    X = X.clip(-1e30, 1e30).astype(dtype)
    data = RankingDataset(X, y, qid)
    found = transformed(data, [fit_transform(data, "query-log")])
    assert found.X.dtype == dtype
    expected = by_loops(X.astype(np.float64), qid, [None] * 6)
    np.testing.assert_allclose(
        found.to_input_order(np.asarray(found.X, dtype=float)),
        expected,
        rtol=1e-6,
        atol=2e-7 if dtype == np.float32 else 2e-9,
    )


def test_sparse_rows_stay_sparse_and_negative_ones_are_refused() -> None:
    X, y, qid = hostile(missing=False)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.5, np.abs(X), 0.0)
    dense, sparse = RankingDataset(X, y, qid), RankingDataset(sp.csr_matrix(X), y, qid)
    t = fit_transform(dense, "query-log")
    found = transformed(sparse, [t]).X
    assert found.nnz <= sparse.X.nnz
    np.testing.assert_allclose(found.toarray(), transformed(dense, [t]).X, rtol=1e-12)
    mixed = Transform(("none", "query-log", "log", "none", "query-log", "asinh"), np.ones(6))
    np.testing.assert_allclose(transformed(sparse, [mixed]).X.toarray(), transformed(dense, [mixed]).X, rtol=1e-12)
    X[:, 2] *= -1
    with pytest.raises(DataError, match="feature number 3 is below 0 in a query that also has documents without it"):
        transformed(RankingDataset(sp.csr_matrix(X), y, qid), [t])
    full = np.where(X == 0, -1.0, X)  # every document has it: nothing is filled in
    close(
        transformed(RankingDataset(sp.csr_matrix(full), y, qid), [t]).X.toarray(),
        transformed(RankingDataset(full, y, qid), [t]).X,
    )


def test_a_store_gives_the_same_bits_and_does_not_guess_what_was_missing() -> None:
    X, y, qid = hostile(missing=False)
    data = RankingDataset(X, y, qid)
    t = fit_transform(data, "query-log")
    expected = transformed(data, [t])
    stored = in_temporary_store(HeldRows(data))
    found = transformed(stored, [t])
    assert found.is_stored
    np.testing.assert_array_equal(found.X[:], expected.X)
    holes = np.where(np.arange(152)[:, None] % 9 == 0, np.nan, X)
    filled = in_temporary_store(HeldRows(RankingDataset(holes, y, qid, fill_values=FILL)))
    object.__setattr__(filled, "fill_values", np.array(FILL))  # as a store of files keeps them
    with pytest.raises(DataError, match="this store contains only the values that replaced them"):
        transformed(filled, [t])
    sparse = RankingDataset(sp.csr_matrix(np.abs(X)), y, qid, fill_values=FILL)
    with pytest.raises(DataError, match="this sparse matrix contains only the values that replaced them"):
        transformed(sparse, [t])


def test_blocks_of_rows_end_where_queries_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import sparserank.data.store.temporary as temporary
    import sparserank.query_logs as module

    X, y, qid = hostile(missing=False)
    data = RankingDataset(X, y, qid)
    t = fit_transform(data, "query-log")
    expected = np.asarray(transformed(data, [t]).X)
    monkeypatch.setattr(module.query_blocks, "__defaults__", (20,))
    np.testing.assert_array_equal(transformed(data, [t]).X, expected)
    monkeypatch.setattr(temporary, "BLOCK_BYTES", 1000)
    np.testing.assert_array_equal(transformed(in_temporary_store(HeldRows(data)), [t]).X[:], expected)


def test_select_from_a_store_is_that_in_memory(raw: RankingDataset, tmp_path: Path) -> None:
    sr.write_letor(raw, tmp_path / "train.txt")
    sr.convert([tmp_path / "train.txt"], tmp_path / "store")
    stored = sr.open_store(tmp_path / "store")
    held = raw.replace_features(stored.X[:])  # in the precision of the store
    there, here = (sr.select(data, feature_transform="query-log", **QUICK).model for data in (stored, held))
    np.testing.assert_allclose(there.coef, here.coef, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.score_dataset(stored), here.score_dataset(held), rtol=1e-9, atol=1e-12)


def test_subsets_of_queries_features_and_joined_data_keep_what_was_missing() -> None:
    X, y, qid = hostile()
    data = RankingDataset(X, y, qid, fill_values=FILL)
    t = fit_transform(data, "query-log")
    whole = np.asarray(transformed(data, [t]).X)
    part = data.take_queries(np.array([3, 1]))
    rows = np.concatenate([np.arange(data.query_ptr[q], data.query_ptr[q + 1]) for q in (3, 1)])
    np.testing.assert_array_equal(transformed(part, [t]).X, whole[rows])
    two = data.take_features([4, 0])
    np.testing.assert_array_equal(transformed(two, [t.take(np.array([4, 0]))]).X, whole[:, [4, 0]])
    from sparserank.data.joining import concatenate

    both = concatenate([data, data], join_queries=False)
    np.testing.assert_array_equal(transformed(both, [t]).X, np.concatenate([whole, whole]))


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw() -> RankingDataset:
    """Heavy tails, whose level differs from query to query."""
    plain = sr.datasets.make_ranking(60, (6, 20), 8, n_informative=4, n_redundant=0, noise=0.4, random_state=5).data
    level = np.repeat(np.random.default_rng(0).normal(0, 2, plain.n_queries), np.diff(plain.query_ptr))
    return plain.replace_features(np.exp(1.5 * np.asarray(plain.X) + level[:, None]))


@pytest.fixture(scope="module")
def selected(raw: RankingDataset) -> RankingModel:
    return sr.select(raw, feature_transform="query-log", **QUICK).model


def scores_by_loops(model: RankingModel, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
    fill: list[Any] = [None] * model.n_features if model.fill_values is None else model.fill_values.tolist()
    t = by_loops(X, qid, fill)
    S = model.support
    return np.asarray(((t[:, S] - model.scaling.center[S]) / model.scaling.scale[S]) @ model.coef[S])


def test_select_predict_and_files_agree(raw: RankingDataset, selected: RankingModel, tmp_path: Path) -> None:
    assert {selected.transform_of(j) for j in selected.support} == {"query-log"}
    X, qid = np.asarray(raw.X), np.asarray(raw.qid)
    expected = scores_by_loops(selected, X, qid)
    close(selected.predict(X, qid), expected)
    np.testing.assert_array_equal(selected.score_dataset(raw), selected.predict(X, qid))
    mixed = np.random.default_rng(2).permutation(len(X))
    np.testing.assert_array_equal(selected.predict(X[mixed], qid[mixed]), selected.predict(X, qid)[mixed])
    frame = pd.DataFrame(X, columns=list(raw.feature_names or ())).assign(qid=qid)
    np.testing.assert_array_equal(selected.predict(frame), selected.predict(X, qid))
    np.testing.assert_array_equal(selected.predict(sp.csr_matrix(X), qid), selected.predict(X, qid))
    close(selected.contributions(raw).sum(axis=1), expected)
    with pytest.raises(DataError, match="normalises features within each query; pass qid"):
        selected.predict(X)
    selected.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["version"] == 6
    assert content["list_length"] == {"median": 12.5, "shortest": 6, "longest": 20}
    again = sr.load_model(tmp_path / "model.json")
    assert again.list_lengths == selected.list_lengths == ListLengths.of(raw.query_ptr)
    np.testing.assert_array_equal(again.predict(X, qid), selected.predict(X, qid))


def test_quality_out_of_fold_is_that_of_lists_of_their_own(raw: RankingDataset) -> None:
    """What validation says of the final model is what evaluating it says."""
    train, valid = raw.take_queries(np.arange(40)), raw.take_queries(np.arange(40, 60))
    found = sr.select(train, valid=valid, protocol="holdout", feature_transform="query-log", relaxed=False, **QUICK)
    direct = sr.evaluate(found.model, valid, ["ndcg@10"])["ndcg@10"]
    assert found.chosen.mean == pytest.approx(direct, abs=1e-12)


@pytest.mark.slow_but("median")
@pytest.mark.parametrize("missing", ["median", "zero", "query-min"])
def test_missing_values_are_the_same_in_training_and_prediction(raw: RankingDataset, missing: str) -> None:
    X, qid = np.array(raw.X), np.asarray(raw.qid)
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    found = sr.select((X, raw.relevance, qid), feature_transform="query-log", missing=missing, relaxed=False, **QUICK)
    if missing == "query-min":
        with pytest.raises(DataError, match="is nan"):
            found.model.predict(X, qid)
        return
    close(found.model.predict(X, qid), scores_by_loops(found.model, X, qid))
    ranker = sr.SparseRanker(feature_transform="query-log", missing=missing, alpha_ratio=0.1).fit(
        X, raw.relevance, qid=qid
    )
    close(ranker.predict(X, qid), scores_by_loops(ranker.to_model(), X, qid))
    frame = pd.DataFrame(X, columns=list(raw.feature_names or ())).assign(qid=qid, label=raw.relevance)
    data = sr.read_data(frame, label="label", qid="qid", missing=missing)
    assert data.filled is not None
    close(found.model.score_dataset(data), found.model.predict(X, qid))  # filled when read, and known as filled
    kept = RankingDataset(X, raw.relevance, qid, keep_missing=True)
    np.testing.assert_array_equal(found.model.score_dataset(kept), found.model.predict(X, qid))


def test_medians_on_request_move_no_minimum(raw: RankingDataset, selected: RankingModel) -> None:
    X, qid = np.array(raw.X), np.asarray(raw.qid)
    X[::7, selected.support[0]] = np.nan
    expected = scores_by_loops(replace(selected, fill_values=selected.medians), X, qid)
    close(selected.predict(X, qid, missing="model"), expected)


def test_rankers_need_the_queries(raw: RankingDataset) -> None:
    X, qid = np.asarray(raw.X), np.asarray(raw.qid)
    ranker = sr.SparseRanker(feature_transform="query-log", k=3).fit(X, raw.relevance, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X, qid), ranker.to_model().predict(X, qid))
    assert ranker.to_model().list_lengths == ListLengths.of(raw.query_ptr)
    assert ranker.score(X, raw.relevance, qid=qid) == pytest.approx(sr.evaluate(ranker, raw, ["ndcg@10"])["ndcg@10"])
    with pytest.raises(DataError, match="SparseRanker normalises features within each query; pass qid"):
        ranker.predict(X)
    one = slice(0, int(raw.query_ptr[1]))
    alone = sr.SparseRanker(feature_transform="query-log").fit(X[one], raw.relevance[one])
    np.testing.assert_array_equal(alone.predict(X[one]), alone.predict(X[one], qid[one]))
    plain = sr.SparseRanker().fit(X, raw.relevance, qid=qid)
    np.testing.assert_array_equal(plain.predict(X, qid), plain.predict(X))
    both = sr.SparseRanker(feature_transform="curves(query-log)", penalty="mcp", k=3)
    curved = both.fit(X, raw.relevance, qid=qid)
    np.testing.assert_allclose(curved.predict(X, qid), curved.to_model().predict(X, qid), rtol=1e-12)


def test_explanations_and_pipelines_go_by_the_list(raw: RankingDataset, selected: RankingModel) -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from sparserank.export.explanation import explain_query

    query = raw.query_ids[4]
    found = explain_query(selected, raw, query)
    own = np.asarray(raw.qid) == query
    np.testing.assert_allclose(np.sort(found.scores), np.sort(selected.score_dataset(raw)[own]), rtol=1e-12)
    np.testing.assert_allclose(
        found.contributions.sum(axis=1), found.scores - found.scores.mean(), rtol=1e-9, atol=1e-12
    )
    X, qid = np.asarray(raw.X), np.asarray(raw.qid)
    ranker = sr.SparseRanker(feature_transform="query-log", k=3)
    piped = make_pipeline(SimpleImputer(), ranker).fit(X, raw.relevance, sparseranker__qid=qid)
    model = RankingModel.from_pipeline(piped)
    np.testing.assert_allclose(model.predict(X, qid), ranker.predict(X, qid), rtol=1e-12)
    scaled = make_pipeline(StandardScaler(), ranker).fit(X, raw.relevance, sparseranker__qid=qid)
    with pytest.raises(DataError, match="leave the scaler out"):
        RankingModel.from_pipeline(scaled)


# -- the length of lists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "warned"), [(2, True), (3, False), (60, False), (63, True)])
def test_lists_of_another_length_are_warned_of_beyond_fivefold(selected: RankingModel, n: int, warned: bool) -> None:
    assert selected.list_lengths is not None
    assert selected.list_lengths.median == 12.5
    X = np.random.default_rng(0).exponential(size=(3 * n, 8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selected.predict(X, np.repeat([1, 2, 3], n))
    assert len(caught) == warned
    if warned:
        assert caught[0].category is DataWarning
        expected = f"median length of the candidate lists is {n}, compared with 12.5 in training (range 6 to 20)"
        assert expected in str(caught[0].message)


def test_lengths_are_those_of_lists_alone(raw: RankingDataset) -> None:
    plain = sr.select(raw, feature_transform="log", **QUICK).model
    assert plain.list_lengths is None
    assert plain.to_json()["version"] < 6
    assert "list_length" not in plain.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 5}, "has the transform query-log, which version 5 does not support"),
        ({"list_length": {"median": 3, "shortest": 4, "longest": 5}}, "1 <= shortest <= median <= longest"),
        ({"list_length": {"median": 1e400, "shortest": 4, "longest": 5}}, "not a readable|must satisfy"),
        ({"list_length": {"median": 4.0, "shortest": 4.0, "longest": 5}}, "shortest must be an integer"),
        ({"list_length": {"median": 4.0}}, "shortest is missing"),
        ({"list_length": [4]}, "list_length must be an object"),
    ],
)
def test_damaged_model_files_are_refused(
    selected: RankingModel, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "model.json").write_text(json.dumps(selected.to_json() | change))
    with pytest.raises(ModelFormatError, match=message):
        sr.load_model(tmp_path / "model.json")


def test_files_without_lengths_are_read_and_warn_of_nothing(selected: RankingModel, tmp_path: Path) -> None:
    content = selected.to_json()
    del content["list_length"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    again = sr.load_model(tmp_path / "model.json")
    assert again.list_lengths is None
    again.predict(np.ones((100, 8)), np.zeros(100, dtype=int))


# -- what is tried, and the command line -------------------------------------------------------------------------------


def test_it_is_one_transform_of_its_own(raw: RankingDataset) -> None:
    auto = SelectionPlan((sr.penalties.L1(),), parse_metric("ndcg@10"))
    assert "query-log" not in transforms_tried(auto, raw)
    (transform,) = feature_transforms(raw, ["query-log"])
    assert transform.label("l1") == "l1 on query-log"
    assert transform.names(("a", "b", "c", "d", "e", "f", "g", "h"))[0] == "query-log(a)"
    level = RankingDataset(
        np.tile(np.array([[0.0], [0.5], [1.0]]), (5, 1)), np.tile([0, 1, 2], 5), np.repeat(range(5), 3)
    )
    assert not changes_features(level, fit_transform(level, "query-log"))
    assert changes_features(raw, fit_transform(raw, "query-log"))


def test_a_model_of_lists_is_a_rival_like_others(raw: RankingDataset, selected: RankingModel) -> None:
    found = sr.select(raw, feature_transform="none", current=selected, **QUICK)
    assert found.change is not None
    expected = sr.evaluate(selected, raw, ["ndcg@10"])["ndcg@10"]
    assert found.change.mean == pytest.approx(expected, abs=1e-12)


def test_the_command_line_predicts_by_lists(
    raw: RankingDataset, selected: RankingModel, cli_here: Cli, tmp_path: Path
) -> None:
    lines = [
        f"{int(y)} qid:{q} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row)) + "\n"
        for y, q, row in zip(
            raw.relevance.tolist(), np.asarray(raw.qid).tolist(), np.asarray(raw.X).tolist(), strict=True
        )
    ]
    (tmp_path / "train.txt").write_text("".join(lines))
    cli_here("fit", "train.txt", "--transform", "query-log", "--k", "3", "--out", "model.json")
    model = sr.load_model(tmp_path / "model.json")
    assert model.list_lengths == ListLengths.of(raw.query_ptr)
    cli_here("predict", "model.json", "train.txt", "--out", "scores.txt")
    found = np.loadtxt(tmp_path / "scores.txt")
    close(found, scores_by_loops(model, np.asarray(raw.X), np.asarray(raw.qid)))
    said = cli_here("inspect", "model.json")
    assert "query-log" in said.out


def test_a_model_with_curves_of_it_agrees_with_loops() -> None:
    from sparserank.curves import Curve

    X, _, qid = hostile(missing=False)
    curve = Curve(np.array([0.0, 0.2, 0.7, 1.0]), np.array([0.0, 1.0, -1.0, 3.0]))
    scaling = FeatureScaling("none", np.zeros(6), np.ones(6))
    model = RankingModel(
        np.array([2.0, 0, 0, 0, 0, 0]),
        tuple("abcdef"),
        scaling,
        transform=Transform(("query-log",) * 6, np.ones(6)),
        curves={0: curve},
    )
    t = by_loops(X, qid, [None] * 6)[:, 0]
    np.testing.assert_allclose(model.predict(X, qid), 2 * np.interp(t, curve.knots, curve.values), rtol=1e-9, atol=1e-9)
