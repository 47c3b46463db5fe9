"""Looking ahead on a path: fewer reads than strengths, the same solutions, resumed to the same bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval.path_files import save_points, stored_points
from sparserank.curves import STRAIGHT, fit_knots
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.paths import PathPlan, Point
from sparserank.paths.follow import following
from sparserank.penalties import Penalty
from sparserank.solvers.ahead import MAX_LOOKS, Ahead
from sparserank.solvers.lockstep import Evaluate, Steps, run, run_all
from sparserank.weighting import Weighting
from sparserank.workdir.pieces import WorkStore
from tests.extension.logistic import PairwiseLogistic
from tests.oracles import pairs

DATA = sr.datasets.make_ranking(60, (10, 40), 12, n_informative=5, noise=0.5, random_state=4).data
PENALTIES: list[Penalty] = [
    sr.penalties.L1(),
    sr.penalties.L1(monotone=(1,) * 6 + (0,) * 6),
    sr.penalties.L1(keep=(1, 7)),
    sr.penalties.ElasticNet(l1_ratio=0.5),
    sr.penalties.Ridge(),
    sr.penalties.L1(feature_groups=(0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3)),
]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of places of each read of X, as they come."""
    seen: list[int] = []
    evaluate = Weighting.evaluate

    def counted(self: Weighting, ks: Any, W: np.ndarray) -> Any:
        seen.append(len(W))
        return evaluate(self, ks, W)

    monkeypatch.setattr(Weighting, "evaluate", counted)
    return seen


def solved(penalty: Penalty, **options: Any) -> Any:
    return run(following(PairwiseObjective(DATA), penalty, PathPlan(**options)))


def test_several_places_in_one_read_get_what_each_gets_alone(reads: list[int]) -> None:
    objectives = objectives_of(
        Weighting(PairwiseObjective(DATA).shards, np.array([np.ones(60), np.arange(60) % 3 + 0.0]))
    )
    W = np.random.default_rng(0).standard_normal((3, 12))

    def several(objective: PairwiseObjective) -> Steps[Any]:
        both = yield Evaluate(objective, W[:2])
        alone = yield Evaluate(objective, W[2])
        return [*both, alone]

    together = run_all([several(o) for o in objectives])
    assert reads == [4, 2]
    for objective, found in zip(objectives, together, strict=True):
        for w, at in zip(W, found, strict=True):
            value, gradient = objective.value_and_gradient(w)
            assert at.value == value
            np.testing.assert_array_equal(at.gradient, gradient)


@pytest.mark.parametrize("tol", [1e-4, 1e-7])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_a_path_is_the_same_in_fewer_reads(penalty, tol, reads, monkeypatch):
    options = {"n_alphas": 30, "alpha_min_ratio": 0.01}
    with monkeypatch.context() as patched:
        patched.setattr(Ahead, "guess", lambda self, curvature, here: None)
        one_by_one = solved(penalty, tol=tol, **options)
    alone = len(reads)
    reads.clear()
    path = solved(penalty, tol=tol, **options)
    assert set(path.statuses) == {"optimal"}
    np.testing.assert_allclose(path.objectives, one_by_one.objectives, rtol=10 * tol)
    assert len(reads) < 0.75 * alone
    assert sum(reads) < 1.3 * alone  # and hardly more places
    assert max(reads) == 2


def test_what_was_found_beforehand_is_the_solution_on_explicit_pairs() -> None:
    """Points that took no step are as good as any other: certificates are of the points themselves."""
    path = solved(sr.penalties.L1(), n_alphas=40, alpha_min_ratio=0.01, tol=1e-3)
    foreseen = np.flatnonzero(path.n_iters[1:] == 0) + 1
    assert len(foreseen) >= 8
    uppers, lowers, weights = (
        np.array(column) for column in zip(*pairs.pairs_of(DATA.relevance, DATA.query_ptr), strict=True)
    )
    differences = DATA.X[uppers] - DATA.X[lowers]
    for i in foreseen:
        w = path.scaled_coef(int(i))
        gradient = -2.0 * differences.T @ (weights * np.maximum(0.0, 1.0 - differences @ w))
        alpha = path.alphas[i]
        off = np.where(w != 0, np.abs(gradient + alpha * np.sign(w)), np.maximum(np.abs(gradient) - alpha, 0.0))
        assert off.max() <= 1e-3 * path.l1_alpha_max * (1 + 1e-6)


@pytest.mark.slow_but("feature_groups")
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_paths_go_on_behind_stored_points_to_the_same_bits(penalty: Penalty, tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_alphas": 12, "alpha_min_ratio": 0.01, "tol": 1e-5}
    points: list[Point] = []
    whole = solved(penalty, keep=lambda p, n: points.append(p), **options)
    assert sum(p.ahead is not None for p in points) >= 4
    forgetful = 0
    with WorkStore(tmp_path / "run", {"a": 1}, kind="select") as store:
        for n in range(len(points) + 1):
            save_points(store, "l1", {0: points[:n]}, n)
            known = stored_points(store, "l1", [0], whole.scaled_coefs.shape[1])[0]
            again = solved(penalty, done=known, **options)
            np.testing.assert_array_equal(again.scaled_coefs, whole.scaled_coefs)
            np.testing.assert_array_equal(again.n_iters, whole.n_iters)
            without = [Point(*(getattr(p, f) for f in p.__dataclass_fields__ if f != "ahead")) for p in known]
            forgetful += not np.array_equal(solved(penalty, done=without, **options).scaled_coefs, whole.scaled_coefs)
    assert forgetful >= 2  # that place is part of what a path goes on from


def test_a_place_at_zero_differs_from_none(tmp_path: Path) -> None:
    def point(ahead: sp.csr_array | None) -> Point:
        return Point(sp.csr_array(np.ones((1, 3))), 1.0, 1.0, 0.0, 0.0, 1, 0.1, "optimal", ahead)

    given = [point(None), point(sp.csr_array(np.zeros((1, 3)))), point(None), point(sp.csr_array([[0.0, 2.5, 0.0]]))]
    with WorkStore(tmp_path / "run", {"a": 1}, kind="select") as store:
        save_points(store, "l1", {0: given, 1: given[:1]}, 0)
        known = stored_points(store, "l1", [0, 1], 3)
    assert [p.ahead is None for p in known[0]] == [True, False, True, False]
    assert known[0][1].ahead is not None
    assert known[0][1].ahead.nnz == 0
    assert known[0][3].ahead is not None
    np.testing.assert_array_equal(known[0][3].ahead.toarray(), [[0.0, 2.5, 0.0]])
    assert [p.ahead for p in known[1]] == [None]


@pytest.mark.slow_but("csr", "curves")
@pytest.mark.parametrize("kind", ["csr", "curves", "logistic"])
def test_where_a_second_place_costs_a_pass_none_is_evaluated(kind: str, reads: list[int]) -> None:
    X = sp.csr_array(DATA.X) if kind == "csr" else DATA.X
    knots = fit_knots(DATA, 4) if kind == "curves" else STRAIGHT
    loss = PairwiseLogistic() if kind == "logistic" else "squared_hinge"
    objective = PairwiseObjective(X, DATA.relevance, DATA.query_ptr, knots=knots, loss=loss)
    assert not objective.shares_reads
    run(following(objective, sr.penalties.L1(), PathPlan(n_alphas=6, tol=1e-3)))
    assert set(reads) == {1}


def test_a_solve_of_many_steps_looks_ahead_a_few_times_only(reads: list[int]) -> None:
    rng = np.random.default_rng(0)
    X = np.hstack([DATA.X, DATA.X + 1e-7 * rng.standard_normal(DATA.X.shape)])
    objective = PairwiseObjective(X, DATA.relevance, DATA.query_ptr)
    path = run(following(objective, sr.penalties.L1(), PathPlan(n_alphas=12, alpha_min_ratio=1e-3, tol=1e-9)))
    assert path.n_iters.max() > 2 * MAX_LOOKS
    assert sum(n - 1 for n in reads) <= MAX_LOOKS * len(path.alphas)
