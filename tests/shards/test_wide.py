"""Wide sparse data: ridge by products with the Hessian, features that vary, nothing of n_features squared."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.paths import fit_path_on, follow
from sparserank.shards.dask import packed, unpacked
from sparserank.solvers.newton_cg import NewtonCG

DATA = sr.datasets.make_ranking(120, (8, 40), 40, n_informative=6, noise=0.5, random_state=2).data


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_truncated_newton_finds_the_ridge_optimum(share: float) -> None:
    objective = sr.solvers.PairwiseObjective(DATA)
    penalty = sr.penalties.Ridge(
        share * sr.penalties.Ridge(1.0).path_alpha_max(objective.gradient_at_zero, objective.curvature)
    )
    stop = sr.solvers.Stop(tol=1e-10, scale=float(np.abs(objective.gradient_at_zero).max()))
    exact, found = (
        sr.solvers.solve(solver, objective, penalty, stop=stop) for solver in (sr.solvers.ProxNewton(), NewtonCG())
    )
    assert found.status.converged
    assert found.kkt_violation <= 1e-10 * stop.scale
    assert found.gap is not None
    assert found.gap < 1e-12
    np.testing.assert_allclose(found.w, exact.w, atol=1e-7)
    assert found.n_iter <= 12


def test_truncated_newton_is_for_ridge() -> None:
    with pytest.raises(DataError, match="NewtonCG solves only problems with the ridge penalty; l1 is not smooth"):
        sr.solvers.solve(NewtonCG(), sr.solvers.PairwiseObjective(DATA), sr.penalties.L1(0.1))


def test_ridge_paths_do_not_depend_on_which_solver_the_width_calls_for(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"n_alphas": 5, "alpha_min_ratio": 1e-5, "tol": 1e-9}
    few = sr.fit_path(DATA, sr.penalties.Ridge(), **options)
    monkeypatch.setattr(follow, "MAX_IN_HESSIAN", 10)
    many = sr.fit_path(DATA, sr.penalties.Ridge(), **options)
    np.testing.assert_allclose(many.coefs, few.coefs, atol=1e-6)


def text_like(n_docs: int, n_features: int, per_row: int, seed: int = 0) -> RankingDataset:
    """Documents with a few of very many features, the frequent ones by far most often."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / np.arange(1, n_features + 1))
    columns = np.searchsorted(frequency, rng.random((n_docs, per_row)) * frequency[-1]).astype(np.int32)
    columns.sort(axis=1)
    X = sp.csr_matrix(
        (rng.random(columns.size, dtype=np.float32), columns.ravel(), np.arange(0, columns.size + 1, per_row)),
        shape=(n_docs, n_features),
    )
    X.sum_duplicates()
    w = np.zeros(n_features)
    w[rng.choice(300, 20, replace=False)] = 3 * rng.standard_normal(20)
    grade = np.clip(np.floor(X @ w + 0.5 * rng.standard_normal(n_docs) + 1.5), 0, 3)
    return RankingDataset(X, grade, np.repeat(np.arange(n_docs // 25), 25))


def test_features_that_vary_are_found_without_a_dense_row() -> None:
    data = text_like(500, 3000, 10)
    dense = data.replace_features(data.X.toarray())
    np.testing.assert_array_equal(data.constant_features(), dense.constant_features())
    shifted = sp.csr_matrix(np.where(np.arange(3000) == 7, 5.0, data.X.toarray()))  # stored everywhere, and constant
    assert data.replace_features(shifted).constant_features()[7]


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_a_hundred_thousand_features_go_through_path_and_selection() -> None:
    resource = pytest.importorskip("resource")
    data = text_like(2000, 100_000, 30)
    path = sr.fit_path(data, n_alphas=5, alpha_min_ratio=0.05)
    assert set(path.statuses) == {"optimal"}
    result = sr.select(data, penalties=["l1"], n_alphas=4, alpha_min_ratio=0.2, cv=2, half_samples=2, relaxed=False)
    assert 0 < len(result.model.support) < 300
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert peak < 4000  # a Hessian on the features that vary would take 10 GB alone


def test_what_travels_between_shards_is_as_large_as_what_is_not_zero() -> None:
    gradient = np.zeros((2, 50_000))
    gradient[0, [3, 40_000]] = 1.5, -np.inf
    sent = packed((gradient, "key", [gradient[0]]))
    assert len(pickle.dumps(sent)) < 2000
    back = unpacked(pickle.loads(pickle.dumps(sent)))
    np.testing.assert_array_equal(back[0], gradient)
    np.testing.assert_array_equal(back[2][0], gradient[0])
    assert back[1] == "key"
    full = np.ones(50_000)
    assert packed(full) is full
    assert packed(gradient.astype(np.float32)).dtype == np.float32
    X = sp.random_array((60, 200_000), density=1e-5, rng=np.random.default_rng(0), format="csr")
    objective = sr.solvers.PairwiseObjective(X, np.arange(60.0) % 3, np.arange(0, 61, 10))
    sums = objective.shards.shards[0].value_and_gradient(np.zeros((1, 200_000)), objective.weighting.key, [0])
    assert len(pickle.dumps(packed(sums))) < sums[2].nbytes / 100  # a plain tuple of what a shard answers


def test_a_path_holds_what_its_models_have_features() -> None:
    data = text_like(500, 3000, 10)
    path = sr.fit_path(data, n_alphas=10, alpha_min_ratio=0.1)
    assert len(path.sparse_coefs.data) == path.nnz.sum() < 500
    np.testing.assert_array_equal(path.truncate(2).nnz, np.minimum(path.nnz, 2))


@pytest.mark.slow
def test_a_path_holds_no_vectors_of_every_strength() -> None:
    """Penalties keep vectors as long as there are features; those of strengths that are done are gone."""
    rng = np.random.default_rng(0)
    n, d = 400, 60_000
    X = sp.csr_array((rng.random(n * 20), rng.integers(0, d, n * 20), np.arange(0, n * 20 + 1, 20)), shape=(n, d))
    X.sum_duplicates()
    objective = sr.solvers.PairwiseObjective(X, rng.integers(0, 3, n).astype(float), np.arange(0, n + 1, 20))

    def peak(n_alphas: int) -> int:
        tracemalloc.start()
        fit_path_on(objective, sr.penalties.L1(), n_alphas=n_alphas, alpha_min_ratio=0.5, tol=1e-3)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)
    assert peak(20) < peak(5) + 8 * d * 4
