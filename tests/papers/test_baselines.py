"""The other systems that the papers run, against loops: GAS-E, FS-Rank, FSMSVM, TGRank, RSRank, random, laporte2014;
what no ranker of the papers can use is refused in a sentence that names it."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.papers.rankers.laporte2014 import PENALTIES, laporte2014_penalty, laporte_path
from sparserank.papers.rankers.truncated_gradient import TruncatedGradient
from sparserank.papers.rankers.two_stage import gas_order
from sparserank.papers.solvers._importance_kernels import weighted_huber
from sparserank.penalties import MCP, Lp
from sparserank.solvers import Reweighted, Status, Stop, lockstep, solve
from sparserank.solvers.fista import tight_lipschitz
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.loop import minimising
from sparserank.solvers.solution import Iterate
from sparserank.weighting import LossEvaluation
from tests.oracles import baselines as oracle
from tests.oracles import pairs
from tests.support.problems import copies_of_queries, small_problem, unit_problem

PROBLEMS = [unit_problem(0), unit_problem(1), small_problem(2, n_queries=8), small_problem(3, n_queries=6, grades=5)]


def _objective(data: RankingDataset) -> PairwiseObjective:
    return PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=1)


# Two stages


def test_gas_takes_features_in_the_order_of_the_oracle() -> None:
    by_importance = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        importance, similarity = rng.random(7).round(1), rng.random((7, 7))  # ties in importance
        similarity = (similarity + similarity.T) / 2
        for c in (0.0, 0.2, 1.0):
            for k in (1, 4, 7):
                assert gas_order(importance, similarity, c, k).tolist() == oracle.gas_e(importance, similarity, k, c)
        half = gas_order(importance, similarity, 0.1, 7).tolist()  # the wrong variant: c e instead of 2 c e
        by_importance += gas_order(importance, similarity, 0.2, 7).tolist() == half
    assert by_importance < 150
    assert gas_order(np.ones(3), np.zeros((3, 3)), 0.5, 3).tolist() == [0, 1, 2]
    for c, k in ((-1.0, 1), (float("nan"), 1), (0.5, 0), (0.5, 4)):
        with pytest.raises(DataError, match="GAS"):
            gas_order(np.ones(3), np.eye(3), c, k)


def _expected_order(ranker: sr.papers.RankSVM, data: RankingDataset) -> list[int]:
    varying = np.flatnonzero(~data.constant_features()).tolist()
    if isinstance(ranker, sr.papers.GasRanker):
        similarity = oracle.kendall_concordance(data.X[:, varying], data.query_ptr)
        both = [[sr.evaluate(sign * data.X[:, j], data, "map")["map"] for sign in (1, -1)] for j in varying]
        taken = oracle.gas_e([max(pair) for pair in both], similarity, ranker.k, ranker.c)
        return [varying[i] for i in taken]
    if isinstance(ranker, sr.papers.FSRank):
        key = [sr.evaluate(data.X[:, j], data, "ndcg@10")["ndcg@10"] for j in range(data.n_features)]
    else:
        m = sr.papers.FSMRank(lambda1=ranker.lambda1, lambda2=ranker.lambda2).fit(data.X, data.relevance, qid=data.qid)
        key = list(np.abs(m.coef_))
        varying = np.flatnonzero(m.coef_).tolist()
    return sorted(varying, key=lambda j: (-key[j], j))[: ranker.k]


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("k", [1, 3, 99])
@pytest.mark.parametrize("make", [sr.papers.FSRank, sr.papers.GasRanker, sr.papers.FSMSVM])
def test_two_stages_are_an_order_and_ranksvm_on_its_first_features(data: RankingDataset, k: int, make: type) -> None:
    m = make(k=k, alpha=0.05).fit(data.X, data.relevance, qid=data.qid)
    assert m.selected_.tolist() == _expected_order(m, data)
    assert sorted(m.selected_) == m.support_.tolist()
    listed = pairs.pairs_of(data.relevance, data.query_ptr)
    g = data.X.T @ pairs.score_gradient(data.X @ m.coef_, listed) + 0.05 * m.coef_
    np.testing.assert_allclose(g[m.selected_], 0.0, atol=1e-7)
    assert not np.delete(m.coef_, m.selected_).any()
    assert m.status_ == "optimal"
    assert m.objective_ == pytest.approx(pairs.loss(data.X @ m.coef_, listed) + 0.025 * m.coef_ @ m.coef_, rel=1e-10)
    again = make(k=k, alpha=0.05).fit(sp.csr_matrix(data.X), data.relevance, qid=data.qid)
    np.testing.assert_allclose(again.coef_, m.coef_, atol=1e-8)


# Truncated gradient


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize(("window", "max_iter"), [(1, 7), (5, 5), (5, 20), (10, 40)])
def test_tg_rank_is_the_truncated_gradient_of_explicit_pairs(data: RankingDataset, window: int, max_iter: int) -> None:
    m = sr.papers.TGRank(alpha=0.03, window=window, max_iter=max_iter, step=0.8)
    m.fit(data.X, data.relevance, qid=data.qid)
    step = 0.8 / tight_lipschitz(_objective(data))
    run = (data.X, data.relevance, data.query_ptr, 0.03, step)
    expected = oracle.truncated_gradient(*run, window, max_iter)
    np.testing.assert_allclose(m.coef_, expected, rtol=1e-9, atol=1e-13)
    value = oracle.l1_squared_hinge(data.X, data.relevance, data.query_ptr, m.coef_, 0.03)
    assert m.objective_ == pytest.approx(value, rel=1e-10)
    if window > 1:
        assert np.abs(expected - oracle.truncated_gradient(*run, 1, max_iter)).max() > 1e-3


def test_the_last_step_of_truncated_gradient_ends_a_window() -> None:
    """As stated there; the gravity is that of the steps since the last truncation."""

    class Slope:
        """A gradient that is the same everywhere."""

        is_convex = False

        def __init__(self, slope: float) -> None:
            self.slope = slope

        def start(self, w: np.ndarray | None) -> np.ndarray:
            return np.zeros(1)

        def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
            yield from ()
            return Iterate(w, LossEvaluation(0.0, np.array([self.slope]), 0.0), 0.0)

        def violation(self, here: Iterate) -> float:
            return 1.0

        def gap(self, here: Iterate) -> None:
            return None

    def end(slope: float, alpha: float, window: int, max_iter: int = 1000) -> float:
        solver = TruncatedGradient(alpha, step=0.1, window=window, max_iter=max_iter)
        solution = lockstep.run(minimising(solver, Slope(slope), None, Stop(-1.0, max_iter + 1)))
        assert (solution.n_iter, solution.status) == (max_iter, Status.NOT_CERTIFIED)
        return float(solution.w[0])

    def run(max_iter: int, window: int) -> float:
        return end(-1.0, 0.5, window, max_iter)

    assert run(7, 5) == pytest.approx(0.7 - 0.35)
    assert run(7, 50) == pytest.approx(0.7 - 0.35)
    assert run(4, 4) == pytest.approx(0.4 - 0.2)
    assert end(1.0, 2.0, 3) == 0.0


# RSRank


def _swap_weights(scores: np.ndarray, data: RankingDataset) -> np.ndarray:
    """W[i][j]: the change of the query's NDCG (gain 2^y - 1, discount 1 / log2(1 + rank)) if i and j swap ranks."""
    W = np.zeros((data.n_docs, data.n_docs))
    for lo, hi in itertools.pairwise(data.query_ptr):
        y = data.relevance[lo:hi]
        order = sorted(range(hi - lo), key=lambda i: (-scores[lo + i], i))

        def dcg(order: list[int], y: np.ndarray = y) -> float:
            return sum((2.0 ** y[i] - 1) / np.log2(rank + 2) for rank, i in enumerate(order))

        ideal = dcg(sorted(range(hi - lo), key=lambda i: -y[i]))
        for i, j in itertools.permutations(range(hi - lo), 2):
            if y[i] > y[j]:
                swapped = [{i: j, j: i}.get(d, d) for d in order]
                W[lo + i, lo + j] = abs(dcg(order) - dcg(swapped)) / ideal
    return W


def _weighted_loss(scores: np.ndarray, W: np.ndarray) -> float:
    return sum(W[i, j] * oracle.modified_huber(scores[i] - scores[j]) for i, j in zip(*np.nonzero(W), strict=True))


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_the_importance_kernel_equals_loops_and_its_gradient_is_that_of_frozen_weights(data, spread):
    scores = (spread * np.random.default_rng(0).standard_normal(data.n_docs)).round(1)  # ties in the scores
    W = _swap_weights(scores, data)
    gains = 2.0**data.relevance - 1
    discounts = 1 / np.log2(np.arange(2, 40))
    ideal = [float(np.sort(gains[lo:hi])[::-1] @ discounts[: hi - lo]) for lo, hi in itertools.pairwise(data.query_ptr)]
    scale = np.array([1 / v if v > 0 else 0.0 for v in ideal])
    gradient = np.full(data.n_docs, 9.0)
    for kernel in (weighted_huber, weighted_huber.py_func):
        total, loss = kernel(scores, gains, discounts, data.query_ptr, scale, gradient)
        assert total == pytest.approx(W.sum(), rel=1e-10)
        assert loss == pytest.approx(_weighted_loss(scores, W), rel=1e-10)
        for i in range(data.n_docs):
            e = 1e-6 * np.eye(data.n_docs)[i]
            slope = (_weighted_loss(scores + e, W) - _weighted_loss(scores - e, W)) / 2e-6
            assert gradient[i] == pytest.approx(slope, abs=1e-5)
    assert loss > 0
    assert spread < 1 or abs(_weighted_loss(scores, (W > 0) * 1.0) - loss) > 0.1  # weights matter


@pytest.mark.parametrize("data", PROBLEMS)
def test_rs_rank_follows_the_weights_of_the_current_order(data: RankingDataset) -> None:
    m = sr.papers.RSRank(alpha=0.01, window=2, max_iter=6, step=2.0).fit(data.X, data.relevance, qid=data.qid)
    step, w = 2.0 / tight_lipschitz(_objective(data)), np.zeros(data.n_features)
    frozen = None
    for iteration in range(1, 7):
        scores = data.X @ w
        W = _swap_weights(scores, data)
        frozen = W if frozen is None else frozen
        gradient = np.zeros(data.n_features)
        for i, j in zip(*np.nonzero(W), strict=True):
            slope = oracle.modified_huber_derivative(scores[i] - scores[j])
            gradient += W[i, j] / W.sum() * slope * (data.X[i] - data.X[j])
        w = w - step * gradient
        if iteration % 2 == 0:
            w = np.sign(w) * np.maximum(np.abs(w) - 2 * step * 0.01, 0.0)
    assert np.abs(frozen / frozen.sum() - W / W.sum()).max() > 1e-3
    np.testing.assert_allclose(m.coef_, w, rtol=1e-8, atol=1e-11)
    with pytest.raises(DataError, match=r"RSRank: relevance must lie in 0\.\.60"):
        sr.papers.RSRank().fit(data.X, data.relevance - 1, qid=data.qid)


def test_query_weights_are_copies_for_rs_rank() -> None:
    data = PROBLEMS[0]
    model, three = sr.papers.RSRank(max_iter=30), copies_of_queries(data, [3, 1, 1, 1, 1])
    weighted = model.fit(data.X, data.relevance, qid=data.qid, query_weight=np.array([3.0, 1, 1, 1, 1])).coef_
    np.testing.assert_allclose(weighted, sr.papers.RSRank(max_iter=30).fit_dataset(three).coef_, atol=1e-12)
    assert np.abs(weighted - model.fit_dataset(data).coef_).max() > 1e-3


WEIGHED = [sr.papers.FSMRank(lambda2=1e-3), sr.papers.FSMSVM(k=2, lambda2=1e-3)]
WEIGHED += [ranker(k=2) for ranker in (sr.papers.FSRank, sr.papers.GasRanker)]


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
@pytest.mark.parametrize("model", WEIGHED, ids=repr)
def test_a_query_of_weight_zero_is_not_there(model: sr.papers.FSMRank) -> None:
    data = PROBLEMS[0]
    weight = np.array([1.0, 0, 1, 1, 1])
    with_zero = model.fit(data.X, data.relevance, qid=data.qid, query_weight=weight).coef_
    np.testing.assert_allclose(with_zero, model.fit_dataset(data.take_queries(weight > 0)).coef_, atol=1e-9)


# Random weights


def test_random_weights_are_nonnegative_sum_to_one_and_follow_the_seed() -> None:
    data = PROBLEMS[0]

    def drawn(seed: int) -> np.ndarray:
        return sr.papers.RandomRanker(random_state=seed).fit(data.X, data.relevance, qid=data.qid).coef_

    coefs = np.array([drawn(seed) for seed in range(300)])
    assert (coefs[:, [0, 1, 2, 4]] > 0).all()
    assert not coefs[:, [3, 5]].any()  # constant within queries
    np.testing.assert_allclose(coefs.sum(axis=1), 1.0)
    np.testing.assert_allclose(coefs[:, [0, 1, 2, 4]].mean(axis=0), 0.25, atol=0.05)
    # Uniform on the simplex of 4: the variance of a weight is 3/80; normalised uniform draws have less than half of it.
    np.testing.assert_allclose(coefs[:, [0, 1, 2, 4]].var(axis=0), 3 / 80, atol=0.01)
    assert np.array_equal(coefs[7], drawn(7))


# Laporte et al. (2014)


@pytest.fixture(scope="module")
def objective() -> PairwiseObjective:
    sizes = {"n_queries": 12, "docs_per_query": (4, 12), "n_features": 10, "n_informative": 3, "n_redundant": 3}
    return _objective(sr.datasets.make_ranking(**sizes, noise=1.0, random_state=3).data)


def test_the_unsmoothed_lp_objective_does_increase(objective: PairwiseObjective) -> None:
    """The wrong variant: what descends is the smoothed objective only."""
    scale, alpha = float(np.abs(objective.gradient_at_zero).max()), 0.03215
    smoothed, plain = Lp(alpha, p=0.5, eps=1e-3).smoothed(), Lp(alpha, p=0.5)
    runs = [solve(Reweighted(), objective, smoothed, stop=Stop(1e-9, n, scale), warn=False) for n in range(1, 8)]
    assert max(np.diff([s.value for s in runs])) < 0
    assert max(np.diff([s.loss + plain.value(s.w) for s in runs])) > 1e-7


@pytest.mark.parametrize("name", PENALTIES)
def test_the_published_solver_and_ours_reach_the_same_solutions(objective: PairwiseObjective, name: str) -> None:
    ours = laporte_path(objective, name, (0.02, 0.5, 0.1))
    published = laporte_path(objective, name, (0.5, 0.1, 0.02), published=True)
    assert [p.alpha_ratio for p in ours] == [0.5, 0.1, 0.02]
    sizes = []
    for a, b in zip(ours, published, strict=True):
        assert a.status == b.status == ("optimal" if name == "l1" else "stationary")
        np.testing.assert_allclose(a.w, b.w, atol=1e-5)
        assert np.array_equal(a.w != 0, b.w != 0)
        assert a.alpha == b.alpha
        assert a.loss == pytest.approx(objective.value_and_gradient(a.w)[0], rel=1e-12)
        sizes.append(np.count_nonzero(a.w))
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    with pytest.raises(DataError, match="laporte2014 has the penalties l1, mcp, log"):
        laporte2014_penalty("scad")


def test_algorithm_2_goes_through_its_first_round_where_zero_is_stationary() -> None:
    data = PROBLEMS[0]
    objective = _objective(data)
    top = np.abs(objective.gradient_at_zero).max()
    (point,) = laporte_path(objective, "log", (0.3,))  # above eps times the largest gradient, w = 0 is stationary
    assert np.count_nonzero(point.w) > 0
    model = sr.papers.Laporte2014(penalty="log", C_sum=1 / (0.3 * top * objective.n_pairs)).fit_dataset(data)
    np.testing.assert_allclose(model.coef_, point.w, atol=1e-8)
    assert len(model.history_) >= 1
    assert (np.diff(model.history_) <= 1e-12).all()


def test_mcp_of_gamma_2_in_sum_scale_is_practically_l1(mq2008_train: RankingDataset) -> None:
    """Table IV's least sparse penalty: gamma = 2 over 52,325 pairs is 104,650 on the mean loss."""
    data = mq2008_train
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr)
    resolved = laporte2014_penalty("mcp").resolve(2 * objective.pair_norms, objective.total_weight)
    assert resolved.shape()[0] == 104_650
    ratios = (0.1, 0.01)
    l1, mcp = (laporte_path(objective, name, ratios) for name in ("l1", "mcp"))
    literal = laporte_path(objective, "mcp", ratios, penalty=MCP(gamma=2.0, gamma_scale="mean"))
    for a, b, c in zip(l1, mcp, literal, strict=True):
        assert a.alpha == b.alpha
        assert np.array_equal(a.w != 0, b.w != 0)
        np.testing.assert_allclose(a.w, b.w, atol=0.005 * np.abs(a.w).max())
        assert np.count_nonzero(c.w) < np.count_nonzero(a.w)  # gamma = 2 in mean scale is hard thresholding
        assert np.abs(a.w - c.w).max() > 0.2


# Refusals

SIX = unit_problem(0)
NAN, INF = float("nan"), float("inf")
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *[("FSRank", {"k": k}, "k must be an integer >= 1") for k in (0, 1.5)],
    ("FSMSVM", {"k": 2, "alpha": 0.0}, "alpha must be finite and > 0"),
    ("FSMSVM", {"k": 2, "lambda2": 1e3}, "the first stage keeps no feature"),
    ("GasRanker", {"k": 2, "c": -1.0}, "c must be >= 0"),
    ("TGRank", {"alpha": 0.0}, "alpha must be finite and > 0"),
    ("TGRank", {"window": 0}, "window must be an integer >= 1"),
    ("TGRank", {"step": INF}, "step must be finite and > 0"),
    ("RSRank", {"max_iter": 0}, "max_iter must be an integer >= 1"),
    ("FenchelRank", {"solver": "simplex"}, "solver must be one of frank_wolfe, exact"),
    ("FenchelRank", {"step": "constant"}, "step must be one of exact, closed_form"),
    ("FenchelRank", {"radius": INF}, "radius must be finite and > 0"),
    ("FenchelRank", {"epsilon": NAN}, "epsilon must be >= 0 and finite"),
    ("FenchelRank", {"max_iter": 1.5}, "max_iter must be an integer >= 1"),
    ("FSMRank", {"form": "cubic"}, "form must be one of split, quadratic"),
    ("FSMRank", {"lambda1": -1.0}, "lambda1 must be >= 0"),
    ("FSMRank", {"lambda2": NAN}, "lambda2 must be >= 0"),
    ("FSMRank", {"max_iter": 0}, "max_iter must be an integer >= 1"),
    ("FSMRank", {"tol": -1.0}, "tol must be >= 0"),
    ("FSMRank", {"importance": "gain"}, "importance 'gain' is unknown"),
    *[("FSMRank", {"importance": v}, "importance must contain 6 finite values >= 0") for v in ([1.0], [-1.0] * 6)],
    ("FSMRank", {"similarity": "cosine"}, "similarity must be one of"),
    *[
        ("FSMRank", {"similarity": S}, "similarity must be a symmetric")
        for S in (np.eye(3), -np.eye(6), np.triu(np.ones((6, 6))))
    ],
    ("FSMRank", {"form": "quadratic", "similarity": 1.0 - np.eye(6)}, "has the negative eigenvalue -1"),
    ("GreedyRankRLS", {"search": "backward"}, "search must be one of forward, floating, backfitting"),
    ("GreedyRankRLS", {"lam": INF}, "lam must be finite and > 0"),
    ("GreedyRankRLS", {"k": 2.5}, "k must be an integer >= 1"),
    ("GreedyRankRLS", {"n_candidates": 0}, "n_candidates must be an integer >= 1"),
    ("GreedyRankRLS", {"k_max": -1}, "k_max must be an integer >= 1"),
    ("GreedyRankRLS", {"size_penalty": NAN}, "size_penalty must be >= 0"),
    *[("RankRLS", {"lam": lam}, "lam must be finite and > 0") for lam in (0.0, NAN, INF, (), (1.0, 0.0))],
    ("Laporte2014", {"C_sum": 0.0}, "C_sum must be finite and > 0"),
    ("Laporte2014", {"penalty": "scad"}, "penalty must be one of l1, mcp, log"),
]


@pytest.mark.parametrize(("ranker", "parameters", "sentence"), REFUSED)
def test_a_wrong_parameter_is_refused_by_name(ranker: str, parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=f"{ranker}: .*{sentence}"):
        getattr(sr.papers, ranker)(**parameters).fit(SIX.X, SIX.relevance, qid=SIX.qid)


@pytest.mark.parametrize(
    "ranker", [sr.papers.RankRLS(), sr.papers.GreedyRankRLS(), sr.papers.GreedyRankRLS(search="backfitting")], ids=repr
)
def test_data_without_a_preference_and_wrong_weights_are_refused(ranker: sr.papers.RankRLS) -> None:
    own_level = np.repeat([0.1, 0.7, 0.2, 0.4, 0.3], np.diff(SIX.query_ptr))  # real labels, equal within each query
    for labels, weight in ((np.ones(SIX.n_docs), None), (own_level, None), (SIX.relevance, np.zeros(5))):
        with pytest.raises(DataError, match="no preferred pair"):
            ranker.fit(SIX.X, labels, qid=SIX.qid, query_weight=weight)
    for weight in ([1, 1], [1, 1, 1, 1, -1], [1, 1, 1, 1, np.nan]):
        with pytest.raises(DataError, match="query_weight must contain"):
            ranker.fit(SIX.X, SIX.relevance, qid=SIX.qid, query_weight=weight)


def test_data_that_are_too_large_to_decompose_name_the_alternative() -> None:
    square = sp.csr_matrix(([1.0], ([0], [0])), shape=(20_001, 20_001))
    with pytest.raises(DataError, match=r"smaller side of X, at most 20000.*backfitting"):
        sr.papers.RankRLS().fit(square, np.arange(20_001) % 2, qid=np.arange(20_001) // 10_000)
