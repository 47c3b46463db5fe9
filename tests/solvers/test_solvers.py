"""Solvers against each other, explicit pairs and certificates that are computed by hand; the quadratic model that they
minimise."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.errors import ConvergenceWarning
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1, MCP, SCAD, ElasticNet, Log, Lp, Penalty, Ridge
from sparserank.penalties.groups import grouped
from sparserank.solvers import Fista, ProxNewton, Reweighted, Status, Stop, quadratic, solve
from sparserank.solvers.certificates import dual_scale, duality_gap
from sparserank.solvers.fista import published_lipschitz, tight_lipschitz
from sparserank.solvers.quadratic import minimise_model, newton_on_support
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


@pytest.fixture(scope="module")
def minima(data: RankingDataset, scale: float) -> list[float]:
    """The optimal values of all convex cases."""
    out = []
    for penalty in _convex_cases(scale):
        alphas, signs = penalty.feature_alphas(10), penalty.feature_signs(10)
        out.append(_minimum_by_splitting(data, np.where(np.isinf(alphas), 1e6, alphas), penalty.shape()[0], signs))
    return out


@pytest.mark.parametrize("case", range(9))
@pytest.mark.parametrize("solver", SOLVERS)
def test_convex_optimum_equals_an_independent_solver_and_the_gap_closes(objective, scale, minima, case, solver):
    penalty = _convex_cases(scale)[case]
    tol = 1e-9 if solver == "newton" else 2e-8
    solution = solve(SOLVERS[solver], objective, penalty, stop=Stop(tol, 20_000, scale))
    assert solution.status is Status.OPTIMAL
    assert solution.gap is not None
    assert 0.0 <= solution.gap < 1e-6
    assert solution.value == pytest.approx(minima[case], abs=2e-9)
    assert (solution.w * penalty.feature_signs(10) >= 0).all()
    assert not solution.w[np.isinf(penalty.feature_alphas(10))].any()


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


# -- a quadratic model plus a penalty, also with nearly collinear columns; a Newton step on the support ----------------

D, SIGNS, GROUPS = 6, (1, -1, 0, 0, 1, -1), (0, 0, 1, 1, 2, 2)
OF_MODELS = {
    "l1": L1(0.2),
    "signs": L1(0.2, monotone=SIGNS),
    "elastic net": ElasticNet(0.2, l1_ratio=0.5),
    "groups": grouped(L1(0.2, feature_groups=GROUPS)),
}


def model(seed):
    """H, gradient at w, w; the first two columns are nearly the same, so that H has a condition number of about 1e5."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, D))
    X[:, 1] = X[:, 0] + 1e-2 * rng.standard_normal(30)
    return X.T @ X / 30, rng.standard_normal(D), rng.standard_normal(D)


@pytest.mark.parametrize("name", OF_MODELS)
def test_the_minimum_satisfies_the_optimality_conditions(name, monkeypatch):
    penalty, apart = OF_MODELS[name], []
    for seed in range(6):
        H, gradient, w = model(seed)
        part = penalty.restrict(np.arange(D), D)
        for rounds in (quadratic.MAX_ROUNDS, 1):  # the wrong variant: a few sweeps, without Newton steps
            monkeypatch.setattr(quadratic, "MAX_ROUNDS", rounds)
            monkeypatch.setattr(quadratic, "MAX_BLOCK_ROUNDS", rounds)
            u = minimise_model(H, gradient, w, part, 1e-11)
            apart.append(penalty.subdiff_distance(u, gradient + H @ (u - w)).max())
        monkeypatch.undo()
    assert max(apart[::2]) < 1e-9 < 1e-6 < max(apart[1::2])


def test_a_newton_step_ends_at_the_first_change_of_sign():
    H, gradient = np.eye(3), np.array([-1.0, 3.0, 0.5])
    w = np.array([1.0, 1.0, 0.0])  # the free minimum is (2, -2, -0.5); with l1 of 0.2, (1.8, -1.8) on the support
    part = L1(0.2).restrict(np.arange(3), 3)
    share = 1.0 / 3.2  # of the step -3.2 of the second coordinate
    np.testing.assert_allclose(newton_on_support(H, gradient, w, part), [1.0 + 0.8 * share, 0.0, 0.0], atol=1e-15)
