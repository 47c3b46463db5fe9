"""Candidates: matched by size in every fold, refits among them; everything again by explicit folds on copies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.folded_paths import FOLD_TOL
from sparserank.data.folds import query_folds
from sparserank.paths import PathPlan, PathStarts, RefitPath, fit_path_on, refit_on_support
from sparserank.penalties import parse_penalty
from sparserank.selection.job import Problem, SelectionJob
from sparserank.shards.scaling import fit_scaling
from sparserank.solvers.lockstep import run

DATA = sr.datasets.make_ranking(60, (8, 20), 12, n_informative=4, noise=0.5, random_state=7).data
OPTIONS: dict[str, Any] = {"n_alphas": 10, "alpha_min_ratio": 0.02}


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    return sr.select(DATA, penalties=["l1", "mcp"], cv=3, random_state=1, half_samples=0, **OPTIONS)


@pytest.fixture(scope="module")
def of_l1() -> sr.SelectionResult:
    return sr.select(DATA, penalties=["l1"], cv=3, random_state=1, half_samples=0, **OPTIONS)


def fold_path(penalty: str, used: np.ndarray) -> tuple[sr.solvers.PairwiseObjective, Any, np.ndarray]:
    """A copy of the fold's training queries, its path, what its features are divided by."""
    train = DATA.take_queries(used)
    scale = fit_scaling(train).scale
    objective = sr.solvers.PairwiseObjective(train, scale=scale)
    return objective, fit_path_on(objective, parse_penalty(penalty), tol=FOLD_TOL, **OPTIONS), scale


@pytest.mark.parametrize("relax", [0.0, 0.5, 1.0])
def test_values_are_those_of_explicit_folds(of_l1: sr.SelectionResult, relax: float) -> None:
    fold = query_folds(DATA.n_queries, 3, 1)
    candidates = [c for c in of_l1.choice.candidates if c.penalty == "l1" and c.relax == relax]
    assert len(candidates) >= 4
    for f in range(3):
        objective, path, scale = fold_path("l1", fold != f)
        unseen = DATA.take_queries(fold == f)
        for c in candidates:
            within = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
            point = min(within, key=lambda i: path.losses[i])
            w = path.scaled_coefs[point]
            if relax and path.nnz[point]:
                w = (1 - relax) * w + relax * refit_on_support(objective, path.support(point)).w
            expected = sr.evaluate(np.asarray(unseen.X @ (w / scale)), unseen, ["ndcg@10"]).per_query["ndcg@10"]
            np.testing.assert_allclose(c.values[fold == f], expected, atol=0.02)
            assert np.mean(np.abs(c.values[fold == f] - expected) > 1e-9) < 0.1  # fold paths are solved to 1e-4


def test_matching_by_index_would_give_other_models(result: sr.SelectionResult) -> None:
    """The wrong variant: the point of the same number in every fold, which need not have so few features."""
    fold = query_folds(DATA.n_queries, 3, 1)
    larger = 0
    for f in range(3):
        _, path, _ = fold_path("l1", fold != f)
        larger += sum(path.nnz[c.index] > c.k for c in result.choice.candidates if c.penalty == "l1" and c.relax == 0)
    assert larger > 0


def test_every_size_is_there_once_per_penalty_and_refit(result: sr.SelectionResult) -> None:
    for label in ("l1", "mcp"):
        nnz = result.paths[label].nnz
        sizes = [c.n_features for c in result.choice.candidates if c.penalty == label and c.relax == 0]
        assert sizes == sorted(set(sizes))
        assert set(sizes) <= set(nnz.tolist()) - {0}
        for relax in (0.5, 1.0):  # MCP starts from l1, whose models are then not refitted
            refits = [c.n_features for c in result.choice.candidates if c.penalty == label and c.relax == relax]
            assert refits == (sizes if label == "mcp" else [])


def test_the_saved_model_is_the_chosen_candidate() -> None:
    for k in (2, 4):
        found = sr.select(DATA, penalties=["mcp"], cv=2, k=k, half_samples=0, **OPTIONS)
        c, path = found.chosen, found.paths["mcp"]
        objective = sr.solvers.PairwiseObjective(DATA, scale=found.paths["mcp"].scaling.scale)
        candidates = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
        point = min(candidates, key=lambda i: path.losses[i])
        refit = refit_on_support(objective, path.support(point)).w
        expected = (1 - c.relax) * path.scaled_coef(point) + c.relax * refit
        np.testing.assert_allclose(found.model.coef, expected, atol=1e-5)
        assert found.model.parameters["relax"] == c.relax
        assert len(found.model.support) == c.n_features <= k


def test_costs_of_a_weight_of_0_are_those_of_explicit_fold_models() -> None:
    found = sr.select(DATA, penalties=["l1"], cv=3, random_state=1, relaxed=False, k=3, half_samples=0, **OPTIONS)
    fold = query_folds(DATA.n_queries, 3, 1)
    costs = {name: np.zeros(DATA.n_queries) for name in found.table()["feature"]}
    for f in range(3):
        _, path, scale = fold_path("l1", fold != f)
        w = path.scaled_coefs[
            min((i for i in range(10) if 0 < path.nnz[i] <= found.chosen.k), key=lambda i: path.losses[i])
        ]
        unseen = DATA.take_queries(fold == f)

        def values(coef: np.ndarray, unseen: sr.RankingDataset = unseen, scale: np.ndarray = scale) -> np.ndarray:
            scores = np.asarray(unseen.X @ (coef / scale))
            return np.asarray(sr.evaluate(scores, unseen, ["ndcg@10"]).per_query["ndcg@10"])

        for name, cost in costs.items():
            without = np.where(np.array(DATA.feature_names) == name, 0.0, w)
            cost[fold == f] = values(w) - values(without)
    for row in found.worth.features:
        assert row["zeroed"]["ndcg@10"]["cost"] == pytest.approx(costs[row["feature"]].mean(), abs=2e-3)


def test_refits_keep_signs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 900))
    c = a + b + 0.3 * rng.standard_normal(900)
    score = 1.5 * a + 1.5 * b - 0.4 * c + 0.3 * rng.standard_normal(900)
    data = sr.RankingDataset(np.column_stack([a, b, c]), np.digitize(score, [-1, 1]), np.arange(900) // 15)
    options: dict[str, Any] = {"n_alphas": 10, "alpha_min_ratio": 0.03, "cv": 3, "half_samples": 0}
    for transform in ("none", "log"):
        free = sr.select(data, penalties=["l1"], feature_transform=transform, k=3, **options)
        held = sr.select(
            data, penalties=[sr.penalties.L1(monotone=(1, 1, 1))], feature_transform=transform, k=3, **options
        )
        assert (held.model.coef >= 0).all()
        assert len(free.choice.candidates) > 3
    candidate_set = SelectionJob(held.plan, Problem(data)).candidates()
    sparse = candidate_set.sparse
    assert any(c.relax > 0 for c in sparse)
    for c in sparse:
        for f in (-1, 0, 1, 2):
            assert (candidate_set.coefficients(c, f).toarray() >= 0).all()


def test_a_fold_without_a_model_that_small_leaves_the_size_out() -> None:
    """The wrong variant counts the empty model of that fold,
    which under ties by file order is the order of the labels."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, 300).reshape(30, 10), axis=1)[:, ::-1].ravel()
    X = 0.05 * y[:, None] + rng.standard_normal((300, 30))
    data = sr.RankingDataset(X, y, np.repeat(np.arange(30), 10))
    path = {"penalties": ["l1"], "n_alphas": 8, "alpha_min_ratio": 0.3, "feature_transform": "none"}
    found = sr.select(data, **path, convention="letor4", half_samples=0, random_state=0)
    job = SelectionJob(found.plan, Problem(data))
    candidate_set = job.candidates()
    sparse = candidate_set.sparse
    assert len(sparse) < 3 * len({int(k) for k in found.paths["l1"].nnz if k > 0})  # some sizes are left out
    for c in sparse:
        for f in (-1, *job.cv.folds):
            assert candidate_set.coefficients(c, f).nnz > 0
            assert c.relax > 0 or candidate_set.coefficients(c, f).nnz <= c.k


@pytest.mark.parametrize("kills", [[1], [5], [5, 5], [3, 7], [3, 3, 3]])
def test_refits_killed_at_any_point_go_on_to_the_same_bits(kills: list[int]) -> None:
    objective = sr.solvers.PairwiseObjective(DATA)
    l1 = fit_path_on(objective, parse_penalty("l1"), **OPTIONS)
    plan = PathPlan(starts=PathStarts(l1.alphas, l1.sparse_coefs, l1.losses))
    whole = run(RefitPath().path(objective, plan))
    known: list[Any] = []
    for n in kills:
        left = n

        def keep(point: Any, in_all: int) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            known.append(point)

        with pytest.raises(KeyboardInterrupt):
            run(RefitPath().path(objective, replace(plan, done=tuple(known), keep=keep)))
    again = run(RefitPath().path(objective, replace(plan, done=tuple(known))))
    np.testing.assert_array_equal(again.scaled_coefs, whole.scaled_coefs)
    np.testing.assert_array_equal(again.alphas, whole.alphas)
