"""Solvers against each other, explicit pairs and certificates that are computed by hand."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.errors import ConvergenceWarning
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1, MCP, SCAD, ElasticNet, Log, Lp, Penalty, Ridge
from sparserank.solvers import Fista, ProxNewton, Reweighted, Status, Stop, solve
from sparserank.solvers.certificates import dual_scale, duality_gap
from sparserank.solvers.fista import published_lipschitz, tight_lipschitz
from tests.oracles import pairs as oracle
from tests.support.problems import iterate_at, small_problem


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return make_ranking(
        n_queries=12, docs_per_query=(4, 12), n_features=10, n_informative=3, n_redundant=3, noise=1.0, random_state=3
    ).data


@pytest.fixture(scope="module")
def objective(data: RankingDataset) -> PairwiseObjective:
    return PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=1)


@pytest.fixture(scope="module")
def scale(objective: PairwiseObjective) -> float:
    return float(np.abs(objective.gradient_at_zero).max())


def _minimum_by_splitting(data: RankingDataset, alphas: np.ndarray, alpha2: float, monotone: np.ndarray) -> float:
    """Optimal value by L-BFGS-B on w = u - v, u, v >= 0, with explicit pairs: another formulation, another solver."""
    pairs = oracle.pairs_of(data.relevance, data.query_ptr)
    K = oracle.pair_matrix(data.X, pairs)
    root = np.sqrt([v for _, _, v in pairs])
    d = data.n_features

    def f(uv: np.ndarray) -> tuple[float, np.ndarray]:
        w = uv[:d] - uv[d:]
        h = np.maximum(root - K @ w, 0.0)
        g = -2 * K.T @ h + alpha2 * w
        value = h @ h + alphas @ (uv[:d] + uv[d:]) + alpha2 / 2 * w @ w
        return float(value), np.concatenate([g + alphas, -g + alphas])

    bounds = [(0, 0 if s < 0 else None) for s in monotone] + [(0, 0 if s > 0 else None) for s in monotone]
    options = {"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-11}
    best = minimize(f, np.zeros(2 * d), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(best.fun)


def _convex_cases(scale: float) -> list[Penalty]:
    return [
        L1(0.2 * scale),
        L1(0.01 * scale),
        L1(0.05 * scale, weights=tuple(np.linspace(0.5, 3, 10))),
        L1(0.02 * scale, monotone=(1, -1, 0, 1, 1, -1, 0, 1, -1, 1)),
        ElasticNet(0.1 * scale, l1_ratio=0.7),
        ElasticNet(0.05 * scale, l1_ratio=0.4, monotone=(1,) * 10),
        Ridge(0.1 * scale),
        L1(0.1 * scale, keep=(1, 4)),
        L1(0.1 * scale, drop=(0, 1)),
    ]


SOLVERS = {"newton": ProxNewton(), "fista": Fista(), "fista, backtracking": Fista("backtracking")}


@pytest.mark.parametrize("case", range(9))
@pytest.mark.parametrize("solver", SOLVERS)
def test_convex_optimum_equals_an_independent_solver_and_the_gap_closes(data, objective, scale, case, solver):
    penalty = _convex_cases(scale)[case]
    tol = 1e-9 if solver == "newton" else 2e-8
    solution = solve(SOLVERS[solver], objective, penalty, stop=Stop(tol, 20_000, scale))
    assert solution.status is Status.OPTIMAL
    assert solution.gap is not None
    assert 0.0 <= solution.gap < 1e-6
    alphas = penalty.feature_alphas(10)
    alpha2 = penalty.shape()[0]
    expected = _minimum_by_splitting(data, np.where(np.isinf(alphas), 1e6, alphas), alpha2, penalty.feature_signs(10))
    assert solution.value == pytest.approx(expected, abs=2e-9)
    monotone = penalty.feature_signs(10)
    assert (solution.w * monotone >= 0).all()
    assert not solution.w[np.isinf(alphas)].any()


def test_gap_is_an_upper_bound_away_from_the_optimum(objective: PairwiseObjective, scale: float) -> None:
    rng = np.random.default_rng(0)
    for penalty in _convex_cases(scale):
        best = solve(ProxNewton(), objective, penalty, stop=Stop(1e-10, 500, scale)).value
        for _ in range(5):
            w = np.abs(rng.standard_normal(10)) * np.where(penalty.feature_signs(10) == 0, 1, penalty.feature_signs(10))
            w[np.isinf(penalty.feature_alphas(10))] = 0.0
            here = iterate_at(objective, penalty, w)
            gap = duality_gap(objective, penalty, here)
            assert gap >= here.loss + penalty.value(w) - best - 1e-10


def test_the_two_sided_dual_is_rejected_under_sign_constraints(objective: PairwiseObjective, scale: float) -> None:
    """The wrong variant: |g_j| instead of the open side leaves a gap at the optimum."""
    penalty = L1(0.02 * scale, monotone=(-1,) * 10)
    solution = solve(ProxNewton(), objective, penalty, stop=Stop(1e-10, 500, scale))
    _, wrong = dual_scale(objective, L1(0.02 * scale), solution.iterate)
    assert solution.gap is not None
    assert solution.gap < 1e-9
    assert solution.value - wrong > 1e-3


CONCAVE = [Log(0.02), Lp(0.01), Lp(0.01, eps=0.1).smoothed(), MCP(0.05), SCAD(0.05), Log(0.02, monotone=(1,) * 10)]


@pytest.mark.parametrize("penalty", [*CONCAVE, MCP(0.05, keep=(2,), drop=(3,))], ids=repr)
def test_nonconvex_solutions_are_stationary_and_never_called_optimal(objective, scale, penalty):
    resolved = penalty.resolve(2 * objective.pair_norms, objective.n_pairs)
    solution = solve(ProxNewton(), objective, resolved, stop=Stop(1e-8, 500, scale))
    assert solution.status is Status.STATIONARY
    assert solution.gap is None
    assert solution.kkt_violation <= 1e-8 * scale
    values = [value for _, value, _ in solution.history]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))
    if not penalty.kkt_is_vacuous_at_zero:
        assert resolved.subdiff_distance(solution.w, solution.gradient)[objective.varying].max() <= 1e-7


@pytest.mark.parametrize("penalty", [Log(0.02), Lp(0.01).smoothed(), MCP(0.05), SCAD(0.05)], ids=repr)
@pytest.mark.parametrize("inner", [ProxNewton, Fista])
def test_reweighting_never_increases_its_objective(objective, scale, penalty, inner):
    """Algorithm 2; from the second round on (the first starts at beta = 1, wherever it came from)."""
    resolved = penalty.resolve(2 * objective.pair_norms, objective.n_pairs)
    options = {} if inner is ProxNewton else {"check_every": 50}
    solution = solve(Reweighted(inner, options), objective, resolved, stop=Stop(1e-5, 60, scale), warn=False)
    values = [value for _, value, _ in solution.history][1:]
    assert len(values) > 2
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(values))
    assert values[-1] < values[0]


def test_lipschitz_constants_are_those_of_explicit_pairs_and_give_steps_to_the_optimum(data, objective, scale):
    K = oracle.pair_matrix(data.X, oracle.pairs_of(data.relevance, data.query_ptr))
    largest = 2 * np.linalg.eigvalsh(K.T @ K)[-1]
    assert published_lipschitz(objective) == pytest.approx(2 * (K**2).sum(), rel=1e-10)
    assert largest <= tight_lipschitz(objective) <= 1.02 * largest
    reference = solve(ProxNewton(), objective, L1(0.1 * scale), stop=Stop(1e-10, 100, scale)).value
    found = solve(Fista("published"), objective, L1(0.1 * scale), stop=Stop(1e-6, 20_000, scale))
    assert found.value == pytest.approx(reference, abs=1e-9)


def test_running_out_of_iterations_is_never_silent(objective: PairwiseObjective, scale: float) -> None:
    with pytest.warns(ConvergenceWarning, match="did not converge: kkt_violation"):
        solution = solve(ProxNewton(), objective, L1(0.001 * scale), stop=Stop(1e-12, 1, scale))
    assert solution.status is Status.ITERATION_LIMIT


def test_solve_resolves_the_scale_of_gamma() -> None:
    objective, penalty = PairwiseObjective(small_problem(1)), MCP(0.05)
    resolved = penalty.resolve(2 * objective.pair_norms, objective.total_weight)
    assert resolved != penalty
    one, two = (solve(ProxNewton(), objective, p) for p in (penalty, resolved))
    np.testing.assert_allclose(one.w, two.w, rtol=1e-9)
