"""Every ranker under hostile parameters and hostile numbers: a model of finite weights, or one sentence."""

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import sparserank as sr
from sparserank.errors import DataError
from sparserank.rankers.base import LinearRanker
from tests.support.problems import small_problem, unit_problem

pytestmark = pytest.mark.filterwarnings(
    "ignore::sparserank.errors.ConvergenceWarning", "ignore::sparserank.errors.DataWarning"
)

ITERATIVE = ("FenchelRank", "FSMRank", "Laporte2014", "TGRank", "RSRank")
DIRECT = ("RankSVM", "RankRLS", "GreedyRankRLS", "FSRank", "GasRanker", "FSMSVM", "RandomRanker")
FEW: dict[type[LinearRanker], dict[str, Any]] = {  # what makes a fit of each ranker quick
    sr.SparseRanker: {"n_alphas": 5},
    sr.SparseRankerCV: {"n_alphas": 5, "cv": 2},
    **{getattr(sr.papers, name): {"max_iter": 20} for name in ITERATIVE},
    **{getattr(sr.papers, name): {} for name in DIRECT},
}
VARIANTS = [
    *(cls(**few) for cls, few in FEW.items()),
    *(sr.SparseRanker(**given) for given in ({"penalty": "mcp"}, {"penalty": "smoothed_lp"}, {"k": 2, "n_alphas": 10})),
    *(sr.papers.GreedyRankRLS(k=2, search=search) for search in ("floating", "backfitting")),
    sr.papers.FenchelRank(solver="exact"),
    sr.papers.FSMRank(importance="spearman", similarity="concordance", max_iter=20),
    sr.papers.Laporte2014(penalty="l0.5", published=True, max_iter=5),
]
every_variant = pytest.mark.parametrize("model", VARIANTS, ids=repr)
DATA = unit_problem(0)
X, Y, QID = np.array(DATA.X), np.array(DATA.relevance), np.array(DATA.qid)


def _fit(model: LinearRanker, X: Any, y: Any = Y, **rest: Any) -> str | None:
    """The sentence that refused the fit, or None after a fit whose weights and scores are finite."""
    try:
        model.fit(X, y, **{"qid": QID} | rest)
    except DataError as error:
        sentence = str(error)
        assert len(sentence) < 500
        assert sentence.endswith(".")
        assert sentence.isprintable()
        return sentence
    for fitted in ("coef_", "loss_", "objective_", "kkt_violation_", "gap_", "leave_query_out_errors_"):
        assert np.isfinite(getattr(model, fitted, 0.0)).all(), fitted
    return None


def _refusal(*fit: Any, **rest: Any) -> str:
    """The sentence that refused a fit."""
    sentence = _fit(*fit, **rest)
    assert sentence is not None
    return sentence


ENDS = [1e-320, 1e-300, 1e-160, 1e-99, 1e-30, 1e30, 1e99, 1e160, 1e300, 1.7e308, 2**63, np.float32(1e-3), np.ones(6)]


@pytest.mark.parametrize("cls", FEW, ids=lambda cls: cls.__name__)
def test_numbers_of_any_size_give_finite_weights_or_a_sentence(cls: type[LinearRanker]) -> None:
    for parameter in inspect.signature(cls).parameters:
        for value in ENDS:
            _fit(cls(**FEW[cls] | {parameter: value}), X)


SHAPES = (
    "mcp(gamma=1e300) mcp(gamma=1e-300) scad(a=1e300) scad(threshold_scale=1e-300) scad(threshold_scale=1e300) "
    "log(eps=1e300) log(eps=1e-300) smoothed_lp(eps=1e-300) smoothed_lp(eps=1e300) smoothed_lp(p=1e-200) "
    "lp(p=1e-300) lp(p=0.999999999999) elastic_net(l1_ratio=1e-300)"
)


@pytest.mark.parametrize("penalty", SHAPES.split())
def test_shapes_of_any_size_give_finite_weights_or_a_sentence(penalty: str) -> None:
    _fit(sr.SparseRanker(penalty=penalty), X)


@pytest.mark.parametrize("radius", [1e-90, 1e-30, 1e-9, 1.0])
def test_exact_fenchel_rank_on_a_small_ball_ends_on_its_surface(radius: float) -> None:
    model = sr.papers.FenchelRank(radius=radius, solver="exact")
    assert _fit(model, X) is None
    assert np.abs(model.coef_).sum() == pytest.approx(radius, rel=1e-9)


@pytest.mark.slow
@every_variant
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e-110, 1e-95, 1e-40, 1e40, 1e95, 1e110, 1e160, 1e300])
def test_features_of_any_scale_give_finite_weights_or_a_sentence(model: LinearRanker, scale: float) -> None:
    one = X.copy()
    one[:, 2] *= scale
    for data in (X * scale, one):
        sentence = _fit(model, data)
        if 1e-100 <= scale <= 1e100 or isinstance(model, sr.papers.RandomRanker):
            continue
        scales = model.get_params().get("scaling") == "within-query-std" and 1e-285 < scale < 1e285
        assert (sentence is None) == scales
        if "scaling" in model.get_params():
            assert _fit(clone(model).set_params(scaling="none"), data) is not None


@pytest.mark.slow
@every_variant
def test_hostile_values_give_finite_weights_or_a_sentence(model: LinearRanker) -> None:
    ends = np.where(X > 0.5, 1e308, -1e308)
    apart = np.column_stack([X, np.full(len(X), 1e308), QID * 1e307])
    _fit(model, ends)
    _fit(model, apart)
    _fit(model, sp.csr_matrix(ends))
    _fit(model, X + 1e15)
    _fit(model, X.astype(np.float32) * np.float32(1e-42))
    _fit(model, np.where(X > 0.5, 3e38, -3e38).astype(np.float32))
    for scale in (1e-300, 1e-20, 1e50, 1e150, 1e300):
        _fit(model, X, Y * scale)
        _fit(model, X, qid=QID, query_weight=np.full(5, scale))
    _fit(model, X, Y * 50)
    _fit(model, X, Y - 3)


@every_variant
def test_query_weights_of_the_wrong_kind_get_a_sentence(model: LinearRanker) -> None:
    numbers = (3.0, [1.0] * 4, [[1.0] * 5], [[1.0], [1.0, 2.0]], [np.nan] + [1.0] * 4, [np.inf] * 5, [-1.0] * 5)
    for weight in (*numbers, "x", ["a"] * 5, [None] * 5, object()):
        assert "query_weight" in _refusal(model, X, query_weight=weight)


@every_variant
def test_features_that_are_constant_within_queries_are_nothing_to_learn_from(model: LinearRanker) -> None:
    for data in (np.ones((27, 3)), np.column_stack([QID, QID**2.0]), sp.csr_matrix((27, 2))):
        assert "no feature varies within the queries" in _refusal(model, data)


def test_features_that_may_never_be_used_are_nothing_to_learn_from() -> None:
    barred = (of(weights=(np.inf,) * 6) for of in (sr.penalties.MCP, sr.penalties.Ridge))
    for penalty in (sr.penalties.L1(drop=tuple(range(6))), *barred):
        for alpha in (None, 0.1):
            assert "drop" in _refusal(sr.SparseRanker(penalty=penalty, alpha=alpha), X)
        assert _fit(sr.SparseRankerCV(penalty=penalty, rule="best", n_alphas=3), X) is not None
    assert _fit(sr.papers.FSMRank(importance=np.zeros(6)), X) is not None


def test_always_keeping_every_feature_is_legal() -> None:
    model = sr.SparseRanker(penalty=sr.penalties.L1(weights=(0.0,) * 6))
    assert _fit(model, X) is None
    assert np.count_nonzero(model.coef_) == 4  # those that vary
    assert model.objective_ == model.loss_


def test_exact_fenchel_rank_stays_at_zero_where_the_gradient_is_zero() -> None:
    flat = np.array([[1.0], [-1.0], [1.0], [-1.0]])  # the two queries pull in opposite directions
    model = sr.papers.FenchelRank(solver="exact")
    assert _fit(model, flat, [1, 0, 0, 1], qid=[1, 1, 2, 2]) is None
    assert (model.coef_.tolist(), model.gap_, model.status_) == ([0.0], 0.0, "optimal")


def test_weights_that_float32_cannot_hold_stay_float64() -> None:
    single = X.astype(np.float32)
    assert sr.papers.RankRLS().fit(single, Y, qid=QID).coef_.dtype == np.float32
    tiny = sr.papers.RankRLS(lam=1e-30).fit(single * np.float32(1e-36), Y, qid=QID)
    assert tiny.coef_.dtype == (np.float32 if np.abs(tiny.coef_).max() < 3e38 else np.float64)
    small = sr.papers.RankRLS(lam=1e60).fit(single, Y, qid=QID)
    assert small.coef_.dtype == np.float64
    assert np.count_nonzero(small.coef_) == 4
    cv = sr.SparseRankerCV(n_alphas=5, cv=2).fit(single, Y, qid=QID)
    assert cv.coef_.dtype == np.float32


def test_the_feature_at_fault_is_named() -> None:
    bad = X.copy()
    bad[:, 2] *= 1e150
    frame = pd.DataFrame(bad, columns=["a", "b", "bm25", "d", "e", "f"])
    greedy = (sr.papers.GreedyRankRLS(k=2), sr.papers.GreedyRankRLS(k=2, search="backfitting"))
    for model in (sr.papers.RankRLS(), *greedy):
        for data, name in ((bad, "feature f3"), (sp.csr_matrix(bad), "feature f3"), (frame, "feature bm25")):
            sentence = _refusal(model, data)
            assert name in sentence
            assert "Multiply" in sentence
        assert "relevance" in _refusal(model, X, Y * 1e120)


def test_lists_that_leave_one_query_undetermined_are_right_or_name_lam() -> None:
    rng = np.random.default_rng(0)
    wide = np.zeros((12, 6))
    wide[:6, :3], wide[6:, 3:] = rng.random((6, 3)), rng.random((6, 3))  # no query has values of the other's features
    y, qid = rng.integers(0, 3, 12).astype(float), np.repeat([1, 2], 6)
    centred = y - np.repeat([y[:6].mean(), y[6:].mean()], 6)
    refused = 0
    for lam in 10.0 ** -np.arange(0, 41, 4):
        searches = (sr.papers.GreedyRankRLS(k=6, lam=lam, search=s) for s in ("forward", "floating", "backfitting"))
        for model in (sr.papers.RankRLS(lam=lam), *searches):
            sentence = _fit(model, wide, y, qid=qid)
            if sentence is None:  # without its query, a model predicts nothing
                error = getattr(model, "leave_query_out_error_", None) or model.leave_query_out_errors_[0]
                assert error == pytest.approx(float(centred @ centred), rel=1e-3), (model, lam)
            else:
                refused += 1
                assert "lam" in sentence
    assert refused > 4


@pytest.mark.parametrize("rule", ["smallest", "best"])
def test_queries_of_weight_zero_do_not_count_when_cv_chooses(rule: str) -> None:
    data = sr.datasets.make_ranking(
        n_queries=20, docs_per_query=(4, 8), n_features=6, n_informative=2, n_redundant=1, noise=2.0, random_state=4
    ).data
    rng = np.random.default_rng(0)
    y = np.array(data.relevance)
    weight = np.ones(20)
    weight[10:] = 0.0
    rows = np.arange(data.n_docs) >= data.query_ptr[10]
    y[rows] = rng.permutation(y[rows])  # queries of weight 0 that contradict the others
    shuffled = sr.RankingDataset(data.X, y, data.qid)
    some = shuffled.take_queries(np.arange(10))
    model = sr.SparseRankerCV(rule=rule, n_alphas=12)
    alone = model.fit(some.X, some.relevance, qid=some.qid)
    coef, curve, values = alone.coef_, alone.curve_, alone.values_
    weighted = model.fit(shuffled.X, shuffled.relevance, qid=shuffled.qid, query_weight=weight)
    np.testing.assert_allclose(weighted.coef_, coef, atol=1e-7)
    np.testing.assert_allclose([c["mean"] for c in weighted.curve_], [c["mean"] for c in curve], rtol=1e-9)
    np.testing.assert_allclose([c["low"] for c in weighted.curve_], [c["low"] for c in curve], rtol=1e-9)
    np.testing.assert_allclose(weighted.values_[:, :10], values, rtol=1e-9)
    assert np.isnan(weighted.values_[:, 10:]).all()


def test_cv_with_one_query_of_positive_weight_is_scored_on_itself() -> None:
    model = sr.SparseRankerCV(n_alphas=5)
    assert _fit(model, X, query_weight=[0, 1, 0, 0, 0]) is None
    assert np.isfinite(model.values_[:, 1]).all()
    assert np.isnan(np.delete(model.values_, 1, axis=1)).all()


def test_steps_that_diverge_are_refused() -> None:
    sentence = _refusal(sr.papers.TGRank(step=1e99), X)
    assert "the gradient steps diverge" in sentence
    assert "smaller step" in sentence


def test_nearly_constant_features_have_a_correlation() -> None:
    data = small_problem(1)
    near = np.array(data.X) * 1e-9 + 1e6
    shifted = data.replace_features(near)
    exact = near - 1e6
    for measure in ("pearson", "spearman", "kendall"):
        expected = sr.papers.feature_importance(data.replace_features(exact), measure)
        np.testing.assert_allclose(sr.papers.feature_importance(shifted, measure), expected, atol=1e-6)
        for scale in (1e-200, 1e200):
            scaled = data.replace_features(data.X * scale)
            plain = sr.papers.feature_similarity(data, measure)
            np.testing.assert_allclose(sr.papers.feature_similarity(scaled, measure), plain, atol=1e-9)
            np.testing.assert_allclose(
                sr.papers.feature_importance(scaled, measure), sr.papers.feature_importance(data, measure), atol=1e-9
            )
