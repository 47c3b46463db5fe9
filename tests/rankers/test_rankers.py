"""Estimators beyond scikit-learn's own checks: query ids, routing, sizes, validation, weights, the model file;
models of pipelines rank as the pipelines do; rules and transforms are those of a penalty object and of features."""

import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import sparserank as sr
from sparserank.errors import DataError, DataWarning, ParameterError
from sparserank.metrics.ndcg import Ndcg
from sparserank.metrics.ordering import RankedLists
from sparserank.model.ranking_model import RankingModel
from sparserank.penalties import L1, MCP
from sparserank.selection.fit import fit_model
from tests.support.problems import small_problem

PROBLEM = sr.datasets.make_ranking(
    n_queries=30, docs_per_query=(5, 12), n_features=10, n_informative=3, n_redundant=2, noise=0.3
)
DATA = PROBLEM.data
X, Y, QID = np.array(DATA.X), np.array(DATA.relevance), np.array(DATA.qid)


def test_query_ids_of_any_kind_and_order_give_one_model() -> None:
    base = sr.SparseRanker().fit(X, Y, qid=QID)
    order = np.random.default_rng(0).permutation(len(Y))
    shuffled = sr.SparseRanker().fit(X[order], Y[order], qid=np.array([f"q{i}" for i in QID])[order])
    np.testing.assert_allclose(base.coef_, shuffled.coef_, atol=1e-9)
    grouped = sr.SparseRanker().fit(X, Y, group=np.diff(DATA.query_ptr))
    np.testing.assert_array_equal(base.coef_, grouped.coef_)
    with pytest.raises(DataError, match="not both"):
        sr.SparseRanker().fit(X, Y, qid=QID, group=[len(Y)])
    with pytest.raises(DataError, match="query sizes"):
        sr.SparseRanker().fit(X, Y, group=[3, 4])


def test_query_weight_zero_equals_leaving_the_query_out_and_two_equals_a_copy() -> None:
    data = small_problem(11, n_queries=8)
    weight = np.ones(8)
    weight[2], weight[3] = 0.0, 2.0
    weighted = sr.SparseRanker(alpha=0.02, scaling="none", tol=1e-10).fit(
        data.X, data.relevance, qid=data.qid, query_weight=weight
    )
    kept = np.repeat([0, 1, 3, 3, 4, 5, 6, 7], 1)
    parts = [np.arange(data.query_ptr[q], data.query_ptr[q + 1]) for q in kept]
    qid = np.repeat(np.arange(len(kept)), [len(p) for p in parts])
    rows = np.concatenate(parts)
    copied = sr.SparseRanker(alpha=0.02, scaling="none", tol=1e-10).fit(data.X[rows], data.relevance[rows], qid=qid)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-8)


def test_k_takes_at_most_k_and_excludes_alpha() -> None:
    for penalty in ("l1", "log", "mcp"):
        for k in (1, 3):
            m = sr.SparseRanker(penalty=penalty, k=k).fit(X, Y, qid=QID)
            assert 1 <= len(m.support_) <= k
    with pytest.raises(DataError, match="k cannot be combined with alpha"):
        sr.SparseRanker(alpha=0.1, k=2).fit(X, Y, qid=QID)


def test_cv_recovers_the_support_and_keeps_the_whole_curve() -> None:
    cv = sr.SparseRankerCV(penalty="log", n_alphas=15).fit(X, Y, qid=QID)
    assert set(cv.support_) == set(PROBLEM.support)
    sizes = [c["n_features"] for c in cv.curve_]
    assert sizes == sorted(set(cv.path_.nnz[cv.path_.nnz > 0].tolist()))
    assert cv.values_.shape == (len(sizes), DATA.n_queries)
    chosen = cv.curve_[sizes.index(len(cv.support_))]
    best = max(c["mean"] for c in cv.curve_)
    assert cv.resolution_ <= cv.bound_ == chosen["bound"] <= 0.02 * best
    assert best - chosen["mean"] <= 0.01 * best
    assert all(best - c["mean"] > 0.01 * best for c in cv.curve_ if c["n_features"] < chosen["n_features"])
    assert len(cv.support_) <= cv.path_.nnz[cv.best_index_]
    by_mean = sr.SparseRankerCV(penalty="log", n_alphas=15, rule="best").fit(X, Y, qid=QID)
    assert by_mean.chosen_index_ == by_mean.best_index_ == cv.best_index_
    with pytest.raises(DataError, match="higher is better"):
        sr.SparseRankerCV(metric="pairwise_error").fit(X, Y, qid=QID)
    with pytest.warns(UserWarning, match="a single query cannot be cross-validated"):
        sr.SparseRankerCV(n_alphas=5).fit(X[:8], np.arange(8) % 3, qid=np.ones(8, dtype=int))


def test_cv_on_a_given_validation_set_uses_that_set() -> None:
    train, valid = QID <= 20, QID > 20
    cv = sr.SparseRankerCV(n_alphas=15)
    cv.fit(X[train], Y[train], qid=QID[train], eval_set=[(X[valid], Y[valid])], eval_qid=[QID[valid]])
    held_out = DATA.take_queries(np.arange(20, 30))
    point = int(np.flatnonzero(cv.path_.alphas == cv.curve_[3]["alpha"])[0])
    scores = np.asarray(held_out.X @ cv.path_.coefs[point])
    expected = sr.evaluate(scores, held_out, ["ndcg@10"]).per_query["ndcg@10"]
    np.testing.assert_allclose(cv.values_[3], expected)
    with pytest.raises(DataError, match="features"):
        cv.fit(X, Y, qid=QID, eval_set=(X[:, :3], Y), eval_qid=QID)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_features_to_select": 3}, "SparseRanker: n_features_to_select is now called k."),
        ({"alfa": 1.0}, "SparseRanker: alfa is not an option of SparseRanker; did you mean alpha?"),
        ({"n_knots": 5}, "SparseRanker: n_knots was removed; sparserank 0.3.0 is the last version that has it."),
    ],
)
def test_a_parameter_that_is_not_known_is_refused_in_a_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        sr.SparseRanker(**given)
    assert str(refused.value) == said


def test_missing_qid_is_warned_of_in_fit_and_refused_in_score() -> None:
    many = np.random.default_rng(0).standard_normal((1001, 2))
    with pytest.warns(DataWarning, match="qid is missing"):
        m = sr.SparseRanker().fit(many, np.arange(1001) % 3)
    with pytest.raises(DataError, match="fitted on many rows without query ids"):
        m.score(many, np.arange(1001) % 3)
    m.score(many, np.arange(1001) % 3, qid=np.arange(1001) % 50)
    with pytest.warns(DataWarning, match="evaluate: qid is missing, so all 1001 rows are one query"):
        sr.evaluate(many[:, 0], np.arange(1001) % 3)
    two = sr.SparseRanker().fit(X, Y, qid=QID)
    with pytest.raises(DataError, match=r"SparseRanker\.score: pass qid="):
        two.score(X, Y)


def test_groups_of_cross_validation_are_no_query_ids() -> None:
    data = sr.datasets.make_ranking(40, 8, 4, n_informative=2, n_redundant=1).data
    X, y, qid = data.X, data.relevance, np.asarray(data.qid)
    with pytest.warns(DataWarning, match=r"groups= only splits the rows\. .*enable_metadata_routing=True"):
        cross_val_score(sr.SparseRanker(), X, y, groups=qid, cv=GroupKFold(2))
    sr.SparseRanker().fit(X[:100], y[:100])  # may be one list
    sr.SparseRanker().fit(X, X[:, 0])  # of values that do not repeat, as one list may have


def test_query_ids_travel_through_scikit_learn() -> None:
    grid = GridSearchCV(sr.SparseRanker(), {"alpha_ratio": [0.3, 0.01]}, cv=GroupKFold(3))
    with config_context(enable_metadata_routing=True):
        out = cross_validate(sr.SparseRanker(), X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
        assert (out["test_score"] > 0.6).all()
        grid.fit(X, Y, groups=QID, qid=QID)
        pipe = make_pipeline(StandardScaler(), sr.SparseRanker())
        assert pipe.fit(X, Y, qid=QID).score(X, Y, qid=QID) > 0.6
        selected = SelectFromModel(sr.SparseRanker(), threshold=1e-12, importance_getter="feature_importances_").fit(
            X, Y, qid=QID
        )
        assert selected.transform(X).shape[1] < X.shape[1]
        eliminated = RFE(sr.SparseRanker(), n_features_to_select=3, importance_getter="feature_importances_")
        assert eliminated.fit(X, Y, qid=QID).support_.sum() == 3
    assert grid.best_params_["alpha_ratio"] in (0.3, 0.01)


def test_scaling_is_folded_into_coef_and_certificates_belong_to_the_scaled_problem() -> None:
    units = np.logspace(-3, 4, DATA.n_features)
    raw = sr.RankingDataset(DATA.X * units, DATA.relevance, DATA.qid)
    scaled = sr.fit_scaling(raw).apply(raw)
    for penalty in ("l1", "mcp"):
        m = sr.SparseRanker(penalty=penalty, tol=1e-9).fit(raw.X, Y, qid=QID)
        exact = sr.SparseRanker(penalty=penalty, tol=1e-9, scaling="none").fit(scaled.X, Y, qid=QID)
        assert m.scaled_coef_.dtype == np.float64
        np.testing.assert_allclose(m.scaled_coef_, exact.coef_, atol=1e-7)
        np.testing.assert_allclose(m.coef_ * m.scale_, m.scaled_coef_, rtol=1e-12)
        np.testing.assert_allclose(m.predict(raw.X), exact.predict(scaled.X), atol=1e-5)
        np.testing.assert_array_equal(m.feature_importances_, np.abs(m.scaled_coef_))
        assert m.support_.tolist() == np.flatnonzero(m.scaled_coef_).tolist()
        for what in ("objective_", "alpha_", "alpha_max_", "r_", "C_mean_", "kkt_violation_"):
            assert getattr(m, what) == pytest.approx(getattr(exact, what), rel=1e-5, abs=1e-8), what
    assert sr.alpha_max(raw.X, Y, qid=QID) == pytest.approx(sr.alpha_max(scaled.X, Y, qid=QID, scaling="none"))
    path = sr.fit_path(raw, n_alphas=5)
    np.testing.assert_allclose(path.coefs * path.scaling.scale, path.scaled_coefs, rtol=1e-12)
    with pytest.raises(DataError, match="scaling must be one of"):
        sr.SparseRanker(scaling="log").fit(raw.X, Y, qid=QID)


def test_raw_web_features_need_no_option(data_folder: Path) -> None:
    """MSLR as it comes: counts of 1e6 beside ratios of 1e-3; also through SelectFromModel."""
    train, test = (sr.read(data_folder / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz") for part in ("train", "test"))
    m = sr.SparseRanker(alpha_ratio=0.02).fit(train.X, train.relevance, qid=train.qid)
    raw = sr.SparseRanker(alpha_ratio=0.02, scaling="none").fit(train.X, train.relevance, qid=train.qid)
    quality, unscaled = (sr.evaluate(f.predict(test.X), test, "ndcg@10")["ndcg@10"] for f in (m, raw))
    assert len(m.support_) >= 15
    assert quality > unscaled + 0.05
    chosen = SelectFromModel(m, threshold=1e-10, importance_getter="feature_importances_", prefit=True)
    assert chosen.get_support().sum() == len(m.support_)


# -- sample_weight of score: the weight of a query, given with each of its rows ----------------------------------------

SCORE_RNG = np.random.default_rng(0)
SCORE_QID = SCORE_RNG.permutation(np.repeat(np.arange(12), 6))  # rows of a query do not stand together
SCORE_X = SCORE_RNG.normal(size=(72, 3))
SCORE_Y = np.digitize(SCORE_X[:, 0] + SCORE_RNG.normal(size=72), [0.0, 1.0])
RANKER = sr.SparseRanker().fit(SCORE_X, SCORE_Y, qid=SCORE_QID)
WEIGHT = np.array([0, 1, 2, 3, 0, 1, 1, 5, 2, 1, 1, 2])  # of queries


def test_a_whole_weight_is_that_many_copies_of_the_query_and_0_is_none() -> None:
    rows = [np.flatnonzero(q == SCORE_QID) for q in range(12)]
    copies = [(r, 100 * q + k) for q, r in enumerate(rows) for k in range(WEIGHT[q])]
    at = np.concatenate([r for r, _ in copies])
    ids = np.concatenate([np.full(len(r), name) for r, name in copies])
    expected = RANKER.score(SCORE_X[at], SCORE_Y[at], qid=ids)
    assert RANKER.score(SCORE_X, SCORE_Y, WEIGHT[SCORE_QID], qid=SCORE_QID) == pytest.approx(expected, rel=1e-12)
    assert RANKER.score(
        SCORE_X, SCORE_Y, sample_weight=pd.Series(WEIGHT[SCORE_QID] * 0.25), qid=SCORE_QID
    ) == pytest.approx(expected, rel=1e-12)
    assert abs(RANKER.score(SCORE_X, SCORE_Y, qid=SCORE_QID) - expected) > 1e-3  # what it was before
    frame = pd.DataFrame(SCORE_X).rename(columns=str).assign(qid=SCORE_QID)
    by_name = sr.SparseRanker().fit(frame, SCORE_Y)
    assert by_name.score(frame, SCORE_Y, WEIGHT[SCORE_QID]) == pytest.approx(expected, rel=1e-9)


def test_equal_weights_and_none_change_nothing() -> None:
    plain = RANKER.score(SCORE_X, SCORE_Y, qid=SCORE_QID)
    assert RANKER.score(SCORE_X, SCORE_Y, None, qid=SCORE_QID) == plain
    for weight in (1.0, 7.5, 1e-300, 1e300):
        assert RANKER.score(SCORE_X, SCORE_Y, np.full(72, weight), qid=SCORE_QID) == pytest.approx(plain, rel=1e-12)
    one = sr.SparseRanker().fit(SCORE_X, SCORE_Y)
    assert one.score(SCORE_X, SCORE_Y, np.ones(72)) == pytest.approx(one.score(SCORE_X, SCORE_Y), rel=1e-12)


class NdcgOfSome(Ndcg):
    """A metric of the user's own: queries without relevant documents have no value."""

    def compute(self, lists: RankedLists) -> np.ndarray:
        return np.where(lists.sum_per_query(lists.relevance) > 0, super().compute(lists), np.nan)


def test_queries_without_a_value_are_left_out() -> None:
    skipping = NdcgOfSome(10)
    for metric in ("ndcg@10", skipping):
        ranker = sr.SparseRanker(metric=metric).fit(SCORE_X, SCORE_Y, qid=SCORE_QID)
        y = np.where(SCORE_QID == 3, 0, SCORE_Y)
        (values,) = sr.evaluate(ranker.predict(SCORE_X), y, [metric], qid=SCORE_QID).per_query.values()
        assert np.isnan(values).any() == (metric is skipping)
        order = list(dict.fromkeys(SCORE_QID.tolist()))  # of first appearance
        known = [(v, WEIGHT[q]) for q, v in zip(order, values, strict=True) if not math.isnan(v)]
        expected = sum(v * w for v, w in known) / sum(w for _, w in known)
        assert ranker.score(SCORE_X, y, WEIGHT[SCORE_QID], qid=SCORE_QID) == pytest.approx(expected, rel=1e-12)


def test_weights_that_cannot_be_of_queries_are_refused() -> None:
    weight = WEIGHT[SCORE_QID].astype(float)
    row = int(np.flatnonzero(SCORE_QID == 7)[3])
    weight[row] = 4.0
    expected = (
        r"SparseRanker\.score: sample_weight is the weight of the query, so it must be the same for all rows of a "
        rf"query; the first row of query 7 has 5, row {row} has 4"
    )
    with pytest.raises(DataError, match=expected):
        RANKER.score(SCORE_X, SCORE_Y, weight, qid=SCORE_QID)
    with pytest.raises(DataError, match="must be the same for all rows"):
        sr.SparseRanker().fit(SCORE_X, SCORE_Y).score(SCORE_X, SCORE_Y, WEIGHT[SCORE_QID])  # one query
    for bad in (np.ones(71), -np.ones(72), np.full(72, np.nan), np.full(72, np.inf), ["a"] * 72, 1.0, np.ones((72, 1))):
        with pytest.raises(DataError, match="sample_weight must contain one finite weight >= 0 per row"):
            RANKER.score(SCORE_X, SCORE_Y, bad, qid=SCORE_QID)
    with pytest.raises(DataError, match="sample_weight must be positive"):
        RANKER.score(SCORE_X, SCORE_Y, np.zeros(72), qid=SCORE_QID)


def test_a_pipeline_passes_weights_on() -> None:
    with config_context(enable_metadata_routing=True):
        ranker = sr.SparseRanker().set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), ranker).fit(SCORE_X, SCORE_Y, qid=SCORE_QID)
        found = pipeline.score(SCORE_X, SCORE_Y, sample_weight=WEIGHT[SCORE_QID], qid=SCORE_QID)
        alone = pipeline[-1].score(pipeline[0].transform(SCORE_X), SCORE_Y, WEIGHT[SCORE_QID], qid=SCORE_QID)
    assert found == alone != pipeline[-1].score(pipeline[0].transform(SCORE_X), SCORE_Y, qid=SCORE_QID)


NAMES = [f"c{j}" for j in range(6)]
CLIPPED = [(MaxAbsScaler(clip=True), "MaxAbsScaler")] if "clip" in MaxAbsScaler().get_params() else []


@pytest.fixture(scope="module")
def problem() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    data = sr.datasets.make_ranking(40, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data
    X = np.array(data.X) * 10.0 ** np.arange(-2, 4) + 5.0
    return pd.DataFrame(X, columns=NAMES), data.relevance, np.asarray(data.qid)


def fitted(pipeline, X, y, qid):
    with sklearn.config_context(enable_metadata_routing=True):
        return pipeline.fit(X, y, qid=qid)


STEPS = [["passthrough"], [StandardScaler()], [StandardScaler(with_mean=False)], [MinMaxScaler((-1, 3))]]
STEPS += [[MaxAbsScaler()], [RobustScaler(with_centering=False, with_scaling=False)]]
STEPS += [[VarianceThreshold(), StandardScaler(), SelectKBest(k=4), MinMaxScaler()]]
STEPS += [[SimpleImputer(strategy="median"), RobustScaler(), VarianceThreshold(1e-9)]]


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize(
    "ranker", [sr.SparseRanker(), sr.SparseRanker(scaling="none", alpha_ratio=0.01), sr.papers.RankSVM()]
)
def test_models_rank_as_their_pipelines(problem, steps, ranker, tmp_path):
    X, y, qid = problem
    X = X.copy()
    if any(isinstance(s, SimpleImputer) for s in steps):
        X.iloc[::7, 1] = np.nan
        X.iloc[::5, 3] = np.nan
    pipeline = fitted(make_pipeline(*steps, sklearn.clone(ranker)), X, y, qid)
    model = RankingModel.from_pipeline(pipeline)
    model.save(tmp_path / "m.json")
    loaded = sr.load_model(tmp_path / "m.json")
    assert loaded.feature_names == tuple(NAMES)
    expected = pipeline.predict(X)
    for form in (X, X[NAMES[::-1]], X.to_numpy()):
        np.testing.assert_allclose(loaded.predict(form), expected, atol=1e-9 * np.abs(expected).max())
    if any(isinstance(s, MinMaxScaler) or (isinstance(s, RobustScaler) and s.with_scaling) for s in steps):
        last = pipeline.steps[-1][1]  # alone, on raw features
        shift = last.to_model().predict(np.nan_to_num(X.to_numpy())[:, : last.n_features_in_]) - expected
        assert not np.allclose(shift, np.median(shift), rtol=1e-3)


def test_transforms_and_steps_go_along_where_nothing_is_scaled_before(problem):
    X, y, qid = problem
    for ranker in (sr.SparseRanker(feature_transform="log"), sr.SparseRanker(penalty="steps", k=3)):
        pipeline = fitted(make_pipeline(SelectKBest(k=5), ranker), X, y, qid)
        np.testing.assert_allclose(RankingModel.from_pipeline(pipeline).predict(X), pipeline.predict(X), rtol=1e-9)
        scaled = fitted(make_pipeline(StandardScaler(), sklearn.clone(ranker)), X, y, qid)
        with pytest.raises(DataError, match="leave the scaler out"):
            RankingModel.from_pipeline(scaled)


ENCODERS = {
    "plain": OneHotEncoder(handle_unknown="ignore"),
    "first dropped": OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
    "rare": OneHotEncoder(min_frequency=60, handle_unknown="ignore"),
    "rare and unknown": OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"),
    "rare dropped": OneHotEncoder(min_frequency=60, drop=["b2", "1"], handle_unknown="infrequent_if_exist"),
}


def log_frame(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "clicks": rng.lognormal(2, 1, n),
            "price": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "brand": rng.choice([f"b{i}" for i in range(12)], n, p=np.arange(12, 0, -1) / 78),
            "size": rng.choice(["1", "2", "3"], n),
            "age": rng.random(n),
            "unused": "text",
        }
    )
    frame.loc[::50, "brand"] = None
    return frame


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    "ranker", [sr.SparseRanker(alpha_ratio=0.01), sr.SparseRanker(scaling="none", alpha_ratio=0.01)]
)
def test_column_transformers_fold_into_a_model_of_the_raw_columns(encoder: str, ranker, tmp_path):
    X, rng = log_frame(), np.random.default_rng(1)
    y = np.digitize(
        np.log1p(X["clicks"]) + X["brand"].isin(["b1", "b7"]) - X["price"].isna() + rng.normal(0, 0.3, 600), [2, 3]
    )
    columns = ColumnTransformer(
        [
            ("logs", make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), ["clicks"]),
            ("filled", make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), ["price"]),
            ("texts", sklearn.clone(ENCODERS[encoder]), ["brand", "size"]),
            ("rest", "passthrough", [4]),
            ("gone", "drop", ["unused"]),
        ]
    )
    pipeline = fitted(make_pipeline(columns, sklearn.clone(ranker)), X, y, np.arange(600) // 10)
    model = RankingModel.from_pipeline(pipeline)
    model.save(tmp_path / "m.json")
    model = sr.load_model(tmp_path / "m.json")
    later = log_frame(200, seed=5)
    later.loc[3:9, "brand"] = "never seen"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown categories
        expected = pipeline.predict(later)
    np.testing.assert_allclose(model.predict(later), expected, atol=1e-9 * np.abs(expected).max())
    assert {"clicks", "brand"} <= set(model.columns)
    module: dict = {}
    exec(model.export("python")["model.py"], module)
    rows = later.astype(object).where(later.notna(), None).to_dict("records")
    np.testing.assert_allclose([module["score"](row) for row in rows], expected, atol=1e-9 * np.abs(expected).max())
    wrong = model.predict(later.assign(brand="b1"))
    assert not np.allclose(wrong, expected)


@pytest.mark.filterwarnings("ignore:SparseRanker. columns that are equal:sparserank.errors.DataWarning")
def test_what_a_model_cannot_say_of_columns_is_refused(problem):
    X, y, qid = problem
    X = X.assign(text=np.where(np.arange(len(X)) % 3, "a", "b"), **{"text=a": 1.0})
    scaled = [("n", StandardScaler(), NAMES[:3])]
    filled = ("f", SimpleImputer(), [NAMES[3]])
    mixed = X["text"].astype(object).where(np.arange(len(X)) % 5 > 0, None).replace({"b": ""})
    for columns, frame, message in (
        (ColumnTransformer(scaled, transformer_weights={"n": 2.0}), X, "transformer_weights cannot be folded"),
        (ColumnTransformer([*scaled, ("t", OneHotEncoder(), ["text"])]), X, "is called 'text=a'; rename it"),
        (ColumnTransformer([*scaled, ("t", OneHotEncoder(), ["text"])]), X.assign(text=mixed), "the same as text"),
        (ColumnTransformer([filled, ("p", "passthrough", [NAMES[3], *NAMES[:3]])]), X, "imputes .* and uses it twice"),
    ):
        with pytest.raises(DataError, match=message):
            RankingModel.from_pipeline(fitted(make_pipeline(columns, sr.SparseRanker()), frame, y, qid))
    within = fitted(make_pipeline(StandardScaler(), sr.SparseRanker(scaling="query-min-max")), X[NAMES], y, qid)
    with pytest.raises(DataError, match="scaling='query-min-max' cannot follow"):
        RankingModel.from_pipeline(within)


def test_what_cannot_be_folded_is_refused_with_the_remedy(problem):
    X, y, qid = problem
    for step, name in (
        (PCA(3), "PCA"),
        (PowerTransformer(), "PowerTransformer"),
        (MinMaxScaler(clip=True), "MinMaxScaler"),
        *CLIPPED,
        (ColumnTransformer([("a", PCA(2), NAMES[:3])]), "PCA"),
        (FunctionTransformer(np.abs), "FunctionTransformer"),
        (make_pipeline(MinMaxScaler(), FunctionTransformer(np.log1p)), "FunctionTransformer"),
    ):
        with pytest.raises(DataError, match=rf"\({name}\) cannot be folded into a model\. .*scaling="):
            RankingModel.from_pipeline(fitted(make_pipeline(step, sr.SparseRanker()), X, y, qid))
    with pytest.raises(DataError, match="SimpleImputer replaces -1"):
        RankingModel.from_pipeline(
            fitted(make_pipeline(SimpleImputer(missing_values=-1), sr.SparseRanker()), X, y, qid)
        )
    with pytest.raises(DataError, match="put a SimpleImputer first"):
        RankingModel.from_pipeline(
            fitted(make_pipeline(StandardScaler(), sr.SparseRanker(missing="median")), X, y, qid)
        )
    half = make_pipeline(StandardScaler(), sr.SparseRanker())
    half.steps[-1][1].fit(X, y, qid=qid)
    with pytest.raises(DataError, match="is not fitted"):
        RankingModel.from_pipeline(half)
    with pytest.warns(DataWarning, match="qid is missing"):  # what the scaler makes of it has no names
        with_ids = make_pipeline(StandardScaler(), sr.SparseRanker()).fit(X.assign(qid=qid), y)
    with pytest.raises(
        DataError, match=r"column 'qid', which its steps treat as a feature. Drop the column and route the ids"
    ):
        RankingModel.from_pipeline(with_ids)
    with pytest.raises(DataError, match="is not fitted"):
        RankingModel.from_pipeline(make_pipeline(StandardScaler(), sr.SparseRanker()))
    for other in (sr.SparseRanker(), make_pipeline(StandardScaler(), LinearRegression()), 3):
        with pytest.raises(DataError, match="whose last step is a ranker"):
            RankingModel.from_pipeline(other)


MADE = sr.datasets.make_ranking(60, (6, 12), 8, n_informative=4, n_redundant=2, random_state=3).data
LETTERS = list("abcdefgh")
NAMED = sr.RankingDataset(MADE.X, MADE.relevance, MADE.qid, feature_names=LETTERS)
FRAME = pd.DataFrame(NAMED.X, columns=LETTERS)
BOTH = [sr.SparseRanker(alpha_ratio=0.05), sr.SparseRankerCV(n_alphas=4, alpha_min_ratio=0.1, cv=2)]
each_ranker = pytest.mark.parametrize("ranker", BOTH, ids=lambda r: type(r).__name__)
COSTS = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 2.0]
GROUPS, WEIGHTS = {"a": "g", "b": "g", "c": "other"}, (2.0, 2.0, *[1.0] * 6)
RULES = {
    "costs": ({"costs": COSTS}, {"weights": COSTS}),
    "monotone": ({"monotone": {"d": "+", "c": "+"}}, {"monotone": (0, 0, 1, 1, 0, 0, 0, 0)}),
    "keep, drop": ({"keep": ["h"], "drop": ["a", "b"]}, {"keep": (7,), "drop": (0, 1)}),
    "groups": ({"feature_groups": GROUPS, "costs": {"g": 2.0}}, {"weights": WEIGHTS, "feature_groups": (0, *range(7))}),
}


def of_rules(ranker, **changed):
    return type(ranker)(**ranker.get_params(deep=False) | changed).fit_dataset(NAMED)


@cache
def without_rules(ranker, penalty) -> np.ndarray:
    return of_rules(ranker, penalty=penalty()).coef_


@each_ranker
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("penalty", [L1, MCP])
@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_rules_are_those_of_a_penalty_object(ranker, kind: str, penalty) -> None:
    options, of_penalty = RULES[kind]
    found = of_rules(ranker, penalty=penalty(), **options)
    np.testing.assert_array_equal(found.coef_, of_rules(ranker, penalty=penalty(**of_penalty)).coef_)
    assert (found.coef_ != without_rules(ranker, penalty)).any()  # the wrong variant: rules that nobody reads


@each_ranker
def test_rules_of_arrays_name_features_by_number(ranker) -> None:
    by_number = type(ranker)(**ranker.get_params(deep=False) | {"drop": ["f1"], "keep": ["f8"]})
    found = by_number.fit(MADE.X, MADE.relevance, qid=MADE.qid)
    np.testing.assert_array_equal(found.coef_, of_rules(ranker, drop=["a"], keep=["h"]).coef_)


@each_ranker
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["z"]}, "drop names 'z', which is not a feature"),
        ({"monotone": {"a": "up"}}, "monotone must give '\\+' or '-' for 'a'"),
        ({"keep": ["a"], "drop": ["a"]}, "drop names 'a', which is to be kept"),
        ({"costs": [1.0, 2.0]}, "costs must contain 8 values, one per feature; got 2"),
        ({"costs": [1.0] * 8, "penalty": L1(weights=COSTS)}, "costs cannot be combined with the weights of penalty"),
        ({"penalty": "l0.5", "feature_groups": {"a": "g"}}, "feature_groups are supported by the penalties"),
        ({"feature_transform": "auto"}, "feature_transform must be one of none, log, asinh; got 'auto'"),
        ({"feature_transform": "log", "scaling": "query-min-max"}, "feature_transform must be none with scaling"),
    ],
)
def test_wrong_rules_are_parameters_that_are_named(ranker, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{type(ranker).__name__}: {message}"):
        of_rules(ranker, **options)


@pytest.mark.parametrize("transform", ["log", "asinh"])
def test_a_transform_under_cross_validation_is_that_of_one_fit(transform: str) -> None:
    cv = of_rules(BOTH[1], feature_transform=transform)
    alone = of_rules(BOTH[0], feature_transform=transform, alpha=cv.alpha_, alpha_ratio=1.0, tol=1e-9)
    np.testing.assert_allclose(cv.scaled_coef_, alone.scaled_coef_, atol=2e-4)  # both within tol of one optimum
    np.testing.assert_allclose(cv.predict(FRAME), cv.to_model().predict(FRAME), rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match="weights transformed"):
        _ = cv.coef_
    if transform == "log":
        by_hand = np.sign(NAMED.X) * np.log1p(np.abs(NAMED.X))
        logs = clone(BOTH[1]).fit(by_hand, NAMED.relevance, qid=NAMED.qid)
        np.testing.assert_allclose(cv.scaled_coef_, logs.scaled_coef_, atol=2e-4)
        assert abs(cv.values_ - logs.values_).mean() < 0.01  # a last bit of a logarithm may swap two documents


@each_ranker
def test_scalings_that_are_not_linear(ranker) -> None:
    logs = of_rules(ranker, scaling="log-standard")
    by_hand = of_rules(ranker, scaling="standard", feature_transform="log")
    np.testing.assert_allclose(logs.scaled_coef_, by_hand.scaled_coef_, atol=2e-4)
    difference = logs.predict(FRAME) - by_hand.predict(FRAME)
    np.testing.assert_allclose(difference, difference[0], atol=0.01)  # 8 scaled values, below 6 in size
    within = of_rules(ranker, scaling="query-min-max")
    scores = within.predict(FRAME, qid=NAMED.qid)
    np.testing.assert_allclose(scores, within.to_model().predict(FRAME, qid=NAMED.qid), rtol=1e-12)
    scaled = sr.fit_scaling(NAMED, "query-min-max").apply(NAMED)
    np.testing.assert_allclose(scores, scaled.X @ within.scaled_coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match="scales by query-min-max, so there is no coef_"):
        _ = within.coef_
    with pytest.raises(DataError, match="qid"):
        within.predict(FRAME)


def test_fit_is_a_sparse_ranker() -> None:
    options = {"penalty": "mcp", "k": 3, "drop": ["b"], "feature_transform": "log", "costs": COSTS}
    model, ranker = fit_model(NAMED, **options).model, sr.SparseRanker(**options).fit_dataset(NAMED)
    np.testing.assert_array_equal(model.coef, ranker.to_model().coef)
    np.testing.assert_array_equal(model.predict(FRAME), ranker.to_model().predict(FRAME))
    with pytest.raises(ParameterError, match=r"^drop names 'z', which is not a feature"):
        fit_model(NAMED, drop=["z"])


def test_cross_validated_ranker_is_the_model_of_select(problem):
    X, y, qid = problem
    data = sr.RankingDataset(X, y, qid)
    ranker = sr.SparseRankerCV(penalty="mcp", k=3, n_alphas=12).fit(X, y, qid=qid)
    options = {"n_alphas": 12, "half_samples": 0, "rival": "none", "feature_transform": "none", "relaxed": False}
    result = sr.select(data, penalties="mcp", k=3, **options)
    assert (ranker.to_model().predict(X) == result.model.predict(X)).all()
    assert ranker.best_score_ == max(ranker.cv_results_["mean_test_score"]) == max(row["mean"] for row in ranker.curve_)
    assert set(ranker.cv_results_["param_alpha"]) <= set(ranker.alphas_)
    assert ranker.curve_[0]["n_features"] == ranker.cv_results_["n_features"][0]
