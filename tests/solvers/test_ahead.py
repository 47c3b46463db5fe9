"""Looking ahead on a path: fewer reads than strengths, the same solutions;
samples of the Hessian along a path: other queries every time, their mean, their drift."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
import sparserank.solvers.curvature as module
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.paths import PathPlan
from sparserank.paths.follow import following
from sparserank.penalties import L1, Penalty
from sparserank.shards import local
from sparserank.solvers.ahead import MAX_LOOKS, Ahead
from sparserank.solvers.curvature import Curvature, Samples
from sparserank.solvers.lockstep import Evaluate, Hessian, Steps, run, run_all
from sparserank.solvers.solution import Iterate
from sparserank.weighting import Weighting
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


@pytest.mark.slow_but("csr")
@pytest.mark.parametrize("kind", ["csr", "logistic"])
def test_where_a_second_place_costs_a_pass_none_is_evaluated(kind: str, reads: list[int]) -> None:
    X = sp.csr_array(DATA.X) if kind == "csr" else DATA.X
    loss = PairwiseLogistic() if kind == "logistic" else "squared_hinge"
    objective = PairwiseObjective(X, DATA.relevance, DATA.query_ptr, loss=loss)
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


OPTIONS = {"n_alphas": 14, "alpha_min_ratio": 0.01}
KEPT = (0.0,) * 2 + (1.0,) * 10


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MIN_WORK": 1000.0, "WORK_PER_DOCUMENT": 0.0, "DOCUMENTS_PER_COLUMN": 5}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "AVERAGED_DOCUMENTS_PER_COLUMN", 5)


def finish(steps: Any, reply: Any = None) -> Any:
    """What a computation returns that asks for one thing more, or for nothing more."""
    try:
        steps.send(reply)
    except StopIteration as done:
        return done.value
    raise AssertionError("it asks for more")


def test_the_turns_of_a_sample_are_all_queries_once() -> None:
    objective = PairwiseObjective(DATA)
    w, columns = np.linspace(-0.3, 0.3, 12), np.array([0, 3, 4, 9])
    key = objective.weighting.key
    parts = objective.shards.call("hessians", key, [(w, columns, 0, first, 7) for first in range(7)])[0]
    whole = objective.shards.call("hessians", key, [(w, columns, 0, 0, 1)])[0][0]
    np.testing.assert_allclose(sum(H for H, _ in parts), whole[0], rtol=1e-12)
    assert sum(share for _, share in parts) == pytest.approx(whole[1], rel=1e-12)
    assert not np.allclose(7 * parts[0][0], whole[0], rtol=1e-3)  # one of them, again and again, is another thing


def test_a_hessian_that_changes_evenly_is_foreseen() -> None:
    """The loss is cubic along the path, with steps that shrink by a ratio: sampled curvature, agreed with the last
    step, misses the next by what it changes; with the drift it does not."""

    def gradient(w: float) -> float:
        return 3.0 * w + 0.4 * w * w

    def known(w: float) -> Any:
        at = SimpleNamespace(value=0.0, gradient=np.array([gradient(w), 0.0, 0.0]))
        return Iterate(np.array([w, 0.0, 0.0]), at, 0.0)  # type: ignore[arg-type]

    points = [0.0, 1.0, 1.9, 2.71, 3.439]
    objective = SimpleNamespace(n_useful_docs=10**7)
    samples = Samples(objective)  # type: ignore[arg-type]
    columns = np.arange(3)
    steps = samples.add(known(points[2]), columns, 3)
    next(steps)
    finish(steps, 8.0 * np.eye(3))  # far off, as samples are
    curvature = Curvature(objective, [known(w) for w in points[:3]], samples=samples, strides=1)  # type: ignore[arg-type]
    H = finish(curvature.near(known(points[2]), columns))
    for beyond in (0, 1):
        step, truth = points[3 + beyond] - points[2], gradient(points[3 + beyond]) - gradient(points[2])
        drift = curvature.drift(columns, beyond)
        assert drift is not None
        assert abs(H[0, 0] * step - truth) > (0.05 + 0.05 * beyond) * abs(truth)
        assert abs(H[0, 0] * step + drift[0] - truth) < 0.005 * abs(truth)
    curvature.learn(known(points[2]), known(points[3]))
    H = curvature.known(columns)[1]
    assert curvature.drift(columns) is None  # there is no way to go
    further = curvature.drift(columns, 1)
    assert further is not None
    step, truth = points[4] - points[3], gradient(points[4]) - gradient(points[3])
    assert abs(H[0, 0] * step - truth) > 0.05 * abs(truth)
    assert abs(H[0, 0] * step + further[0] - truth) < 0.005 * abs(truth)


@pytest.mark.parametrize(("n_queries", "n_docs"), [(5, 400), (12, 150), (300, 8)])
def test_no_sample_is_empty_whatever_the_lists(n_queries: int, n_docs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps count documents, turns count queries: of few long lists, or of shards of few lists,
    every turn finds one."""
    data = sr.datasets.make_ranking(n_queries, (n_docs, n_docs), 12, n_informative=5, noise=0.5, random_state=5).data
    if n_queries > 20:
        monkeypatch.setattr(local, "SHARD_BYTES", 60 * 8 * 12)
    weighting = PairwiseObjective(data).weighting
    exact = weighting.hessians([(np.zeros(12), np.arange(12), 0, None, 0)])[0]
    several = [weighting.hessians([(np.zeros(12), np.arange(12), 0, 100, turn)])[0] for turn in range(30)]
    assert min(np.trace(H) for H in several) > 0.3 * np.trace(exact)
    assert len({H.tobytes() for H in several}) >= 5  # not the same one again and again


@pytest.mark.usefixtures("small_samples")
def test_each_point_of_a_sampled_path_has_a_sample_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []
    answer = Hessian.answer
    monkeypatch.setattr(
        Hessian,
        "answer",
        staticmethod(lambda weighting, asked: turns.extend(a.turn for a in asked) or answer(weighting, asked)),
    )
    path = run(following(PairwiseObjective(DATA), L1(), PathPlan(**OPTIONS)))  # type: ignore[arg-type]
    assert len(set(turns)) > min(module.POINTS, len(path.alphas) - 3)


def test_a_sampled_path_is_the_exact_path(request: pytest.FixtureRequest) -> None:
    exact = run(following(PairwiseObjective(DATA), L1(), PathPlan(tol=1e-9, **OPTIONS)))  # type: ignore[arg-type]
    request.getfixturevalue("small_samples")
    sampled = run(following(PairwiseObjective(DATA), L1(), PathPlan(tol=1e-9, **OPTIONS)))  # type: ignore[arg-type]
    assert set(sampled.statuses) == {"optimal"}
    np.testing.assert_allclose(sampled.objectives, exact.objectives, rtol=1e-12)
    np.testing.assert_allclose(sampled.scaled_coefs, exact.scaled_coefs, atol=1e-6)
