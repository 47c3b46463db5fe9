"""The best set of features, of ridge regression and of a ranking loss: every set tried, searches that are stopped."""

import numpy as np
import pytest

import sparserank as sr
from sparserank.datasets import make_ranking
from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.paths import BestK, PathPlan, PathStarts, PenaltyPath, RefitPath, fit_path, fit_path_on
from sparserank.penalties import MCP
from sparserank.solvers.lockstep import run, run_all
from tests.oracles import best_k as oracle
from tests.oracles import pairs as pair_oracle

DATA = sr.datasets.make_ranking(30, (6, 14), 12, n_informative=4, n_redundant=4, noise=0.5, random_state=2).data


def correlated(seed: int, d: int = 9):
    """Grades made of sums of features that also come disguised: forward choice goes wrong often."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(12), 6)
    X = rng.standard_normal((72, d))
    X[:, 3] = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(72)
    X[:, 4] = X[:, 1] - X[:, 2] + 0.3 * rng.standard_normal(72)
    score = X[:, 0] + X[:, 1] - X[:, 2] + 0.8 * rng.standard_normal(72)
    y = np.searchsorted(np.quantile(score, [0.4, 0.8]), score).astype(float)
    return sr.RankingDataset(X, y, qid)


def explicit(data, objective):
    pairs = pair_oracle.pairs_of(data.relevance, data.query_ptr)
    root = np.array([np.sqrt(v) for _, _, v in pairs])
    return pair_oracle.pair_matrix(data.X, pairs), root, 1e-3 * float(objective.curvature.mean())


@pytest.mark.parametrize(
    ("of", "columns", "n_seeds"),
    [
        pytest.param(None, [[j] for j in range(9)], 12, marks=pytest.mark.slow),
        ((0, 1, 1, 2, 3, 3, 4, 5, 6), [[0], [1, 2], [3], [4, 5], [6], [7], [8]], 10),
    ],
)
def test_splicing_finds_the_best_set_nearly_always_and_forward_choice_does_not(of, columns, n_seeds):
    """Of single features, and of groups of different sizes."""
    found = wrong = n = 0
    for seed in range(n_seeds):
        data = correlated(seed)
        objective = PairwiseObjective(data)
        K, root, ridge = explicit(data, objective)
        path = run(BestK(k_max=4, feature_groups=of).path(objective, PathPlan(tol=1e-9)))
        if of is None:
            assert path.nnz.tolist() == [1, 2, 3, 4]
            assert (np.diff(path.objectives) <= 1e-12).all()
        for k, value in zip((1, 2, 3, 4), path.objectives, strict=True):
            best, chosen = oracle.best_of_size(K, root, ridge, k, columns)
            used = set(path.support(k - 1).tolist())
            assert value >= best - 1e-9
            assert all(used.issuperset(own) or not used & set(own) for own in columns)
            n += 1
            found += value <= best + 1e-8
            wrong += oracle.forward(K, root, ridge, k, columns)[0] <= best + 1e-8
            if of is None and value <= best + 1e-8:
                assert tuple(path.support(k - 1)) == chosen
    assert found >= 0.9 * n
    assert wrong < found


def cancelling(seed: int):
    """A few queries of features that are mixtures, some with long tails:
    what a quadratic at 0 promises is far from what a feature alone gives."""
    rng = np.random.default_rng(seed)
    d, n_queries, m = int(rng.integers(4, 12)), int(rng.integers(2, 8)), int(rng.integers(3, 9))
    X = rng.standard_normal((n_queries * m, d)) @ rng.standard_normal((d, d))
    y = np.digitize(X[:, 0] + rng.standard_normal(len(X)), [-0.5, 0.5, 1.5]).astype(float)
    X[:, ::2] **= 3
    return sr.RankingDataset(X, y, np.repeat(np.arange(n_queries), m))


def test_best_k_of_one_feature_tries_every_feature():
    promised_best = 0
    for seed in range(30):
        data = cancelling(seed)
        objective = PairwiseObjective(data)
        K, root, ridge = explicit(data, objective)
        best, (chosen,) = oracle.best_of_size(K, root, ridge, 1, [[j] for j in range(data.n_features)])
        path = run(BestK(k_max=1).path(objective, PathPlan(tol=1e-9)))
        assert path.support(0).tolist() == [chosen]
        assert path.objectives[0] == pytest.approx(best, abs=1e-8)
        # With weights >= 0, only features whose gradient is negative can lower the objective.
        rising = np.flatnonzero(objective.gradient_at_zero < 0)
        path = run(BestK(k_max=1, monotone=(1,) * data.n_features).path(objective, PathPlan(tol=1e-9)))
        assert (path.sparse_coefs.data > 0).all()
        if len(rising):
            best, _ = oracle.best_of_size(K, root, ridge, 1, [[j] for j in rising.tolist()])
            assert path.objectives[0] == pytest.approx(best, abs=1e-8)
        promise = objective.gradient_at_zero**2 / objective.curvature
        promised_best += int(np.argmax(promise)) == chosen
    assert promised_best < 30  # the wrong variant, the feature of the largest promise


def test_best_k_is_never_above_a_penalty_refitted_at_the_same_size():
    data = make_ranking(60, (8, 14), 25, n_informative=5, n_redundant=8, random_state=3).data
    objective = PairwiseObjective(data)
    mcp = run(PenaltyPath(MCP()).path(objective, PathPlan(30, 1e-2, 1e-6)))
    starts = PathStarts(mcp.alphas, mcp.sparse_coefs, mcp.losses)
    relaxed = run(RefitPath().path(objective, PathPlan(tol=1e-7, starts=starts)))
    path = run(BestK(k_max=12).path(objective, PathPlan(tol=1e-7, starts=starts)))
    ridge = 1e-3 * float(objective.curvature.mean())
    whole = relaxed.ridge > 0  # the others are on the way, and have no loss
    assert whole.sum() >= 5
    for loss, w, k in zip(relaxed.losses[whole], relaxed.scaled_coefs[whole], relaxed.nnz[whole], strict=True):
        if k <= 12:
            assert path.objectives[k - 1] <= loss + 0.5 * ridge * w @ w + 1e-7


def test_rules_hold_and_nothing_is_called_optimal():
    data = correlated(1)
    objective = PairwiseObjective(data)
    penalty = BestK(k_max=5, drop=(0,), keep=(7,), monotone=(0, 1, 0, 0, 0, -1, 0, 0, 0))
    path = run(penalty.path(objective, PathPlan(tol=1e-7)))
    w = path.scaled_coefs
    assert not w[:, 0].any()
    assert w[:, 7].all()
    assert (w[:, 1] >= 0).all()
    assert (w[:, 5] <= 0).all()
    assert set(path.statuses) == {"stationary"}
    assert np.isnan(path.gaps).all()


def test_lockstep_changes_no_bit():
    data = correlated(2)
    objective = PairwiseObjective(data)
    maker, plan = BestK(k_max=6), PathPlan(tol=1e-7)
    whole = run(maker.path(objective, plan))
    for again in run_all([maker.path(objective, plan), maker.path(objective, plan)]):
        np.testing.assert_array_equal(again.scaled_coefs, whole.scaled_coefs)


def test_the_main_job_the_estimator_and_paths_take_it(tmp_path):
    made = make_ranking(60, (8, 12), 15, n_informative=3, n_redundant=3, random_state=6)
    few = {"n_alphas": 6, "cv": 2}
    both = {"penalties": ["best_k", "l1"], "half_samples": 2, "k": 3, "feature_transform": "none"}
    result = sr.select(made.data, **both, out=tmp_path / "run", **few)
    assert {c.penalty for c in result.choice.candidates} >= {"best_k", "l1"}
    assert sorted(c.k for c in result.choice.candidates if c.penalty == "best_k")[:3] == [1, 2, 3]
    path = fit_path(made.data, "best_k(k_max=5)")
    assert path.nnz.tolist() == [1, 2, 3, 4, 5]
    assert len(path.to_table()) == 5
    ranker = sr.SparseRanker(penalty="best_k", k=3).fit(made.data.X, made.data.relevance, qid=made.data.qid)
    assert ranker.support_.tolist() == made.support.tolist()
    assert np.isnan(ranker.alpha_)
    for estimator, message in ((sr.SparseRanker, "set k"), (sr.SparseRankerCV, "searches over the number of features")):
        with pytest.raises(DataError, match=message):
            estimator(penalty="best_k").fit(made.data.X, made.data.relevance, qid=made.data.qid)
    more = sr.SparseRanker(penalty="best_k(k_max=2)", k=5).fit(made.data.X, made.data.relevance, qid=made.data.qid)
    assert len(more.support_) == 5
    wide = sr.select(made.data, penalties="best_k(k_max=2)", k=6, half_samples=0, feature_transform="none", **few)
    assert max(c.k for c in wide.choice.candidates if c.penalty.startswith("best_k")) == 6
    with pytest.raises(DataError, match="k_max must be"):
        BestK(k_max=0)
    with pytest.raises(DataError, match="between 0 and 1"):
        BestK(ridge=0.0)
    assert fit_path_on(PairwiseObjective(made.data), BestK(k_max=2)).nnz.tolist() == [1, 2]
