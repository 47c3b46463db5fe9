"""Samples of the Hessian along a path: other queries every time, their mean, their drift, resumed paths."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
import sparserank.solvers.curvature as module
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan, following
from sparserank.penalties import L1
from sparserank.shards import local
from sparserank.solvers.curvature import Curvature, Samples
from sparserank.solvers.lockstep import Hessian, run
from sparserank.solvers.solution import Iterate

DATA = sr.datasets.make_ranking(60, (10, 40), 12, n_informative=5, noise=0.5, random_state=4).data
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


RULES = [{}, {"weights": KEPT}, {"shards": 4}, {"k": 6}, {"weights": KEPT, "alphas": np.geomspace(0.03, 0.001, 9)}]


@pytest.mark.slow_but("rules3")
@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("rules", RULES)
def test_a_sampled_path_goes_on_behind_known_points_to_the_same_bits(rules, monkeypatch):
    if "shards" in rules:
        monkeypatch.setattr(local, "SHARD_BYTES", DATA.X.nbytes // rules["shards"])
    penalty = L1(weights=rules.get("weights"))
    options = OPTIONS | {name: rules[name] for name in ("k",) if name in rules}
    alphas = rules.get("alphas")
    turns: list[int] = []
    answer = Hessian.answer
    monkeypatch.setattr(
        Hessian,
        "answer",
        staticmethod(lambda weighting, asked: turns.extend(a.turn for a in asked) or answer(weighting, asked)),
    )
    points: list = []
    plan = PathPlan(keep=lambda p, n: points.append(p), **options)
    whole = run(following(PairwiseObjective(DATA), penalty, plan, alphas=alphas))
    assert len(set(turns)) > min(module.POINTS, len(points) - 3)  # each point has a sample of its own
    for n in range(len(points) + 1):
        known = PathPlan(done=points[:n], **options)
        again = run(following(PairwiseObjective(DATA), penalty, known, alphas=alphas))
        np.testing.assert_array_equal(again.scaled_coefs, whole.scaled_coefs)
        np.testing.assert_array_equal(again.objectives, whole.objectives)


def test_a_sampled_path_is_the_exact_path(request: pytest.FixtureRequest) -> None:
    exact = run(following(PairwiseObjective(DATA), L1(), PathPlan(tol=1e-9, **OPTIONS)))  # type: ignore[arg-type]
    request.getfixturevalue("small_samples")
    sampled = run(following(PairwiseObjective(DATA), L1(), PathPlan(tol=1e-9, **OPTIONS)))  # type: ignore[arg-type]
    assert set(sampled.statuses) == {"optimal"}
    np.testing.assert_allclose(sampled.objectives, exact.objectives, rtol=1e-12)
    np.testing.assert_allclose(sampled.scaled_coefs, exact.scaled_coefs, atol=1e-6)
