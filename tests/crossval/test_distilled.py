"""Distilled models: linear paths that learn the order of a model of steps, which never saw the left-out queries."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.bins import fit_bins
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.feature_groups import groups_of_one
from sparserank.crossval.feature_transforms import FeatureTransform, feature_transforms
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.data.reading import Reading
from sparserank.errors import ParameterError
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import BoostedSteps, PathPlan, PenaltyPath
from sparserank.paths.boosting import StepsOn
from sparserank.paths.result import PathResult
from sparserank.penalties import MCP
from sparserank.selection import menu
from sparserank.selection.plan import make_plan
from sparserank.shards.measuring import grades_of
from sparserank.shards.scaling import FeatureScaling
from sparserank.solvers.lockstep import run_all
from tests.oracles.grades import grades_of as grades_of_loops

PLAN = PathPlan(n_alphas=6, tol=1e-4)
FOLDS = (FINAL, 0, 1)
QUICK = {"half_samples": 0, "rival": "none", "cv": 2, "n_alphas": 5}


@pytest.fixture(scope="module")
def data() -> sr.RankingDataset:
    return sr.datasets.make_ranking(60, 40, 8, n_informative=3, random_state=2).data


@pytest.mark.parametrize("distinct", [2, 5, 10_000])
def test_grades_are_those_of_loops(distinct: int) -> None:
    rng = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(1, 60, 50))])
    scores = rng.integers(0, distinct, ptr[-1]) / 7.0
    found = grades_of(scores, ptr)
    assert np.array_equal(found, grades_of_loops(scores, ptr))
    assert set(found) == set(range(6)) or distinct == 2
    shuffled = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(ptr)])
    assert np.array_equal(grades_of(scores[shuffled], ptr), found[shuffled])
    assert not np.array_equal(grades_of(scores, np.array([0, ptr[-1]])), found)  # all queries as one


def fitted(data: sr.RankingDataset, kind: str = "distilled", **more: object) -> dict[int, PathResult]:
    """The MCP path without each fold of two, and on all queries."""
    (transform,) = feature_transforms(data, [kind])
    cv = CrossValidation(data, fold_of(data), [transform], PLAN, [parse_metric("ndcg@10")], **more)
    tasks = [PathTask("mcp", PenaltyPath(MCP()), transform, fold=f) for f in FOLDS]
    return dict(zip(FOLDS, cv.works[transform](tasks), strict=True))


def fold_of(data: sr.RankingDataset) -> np.ndarray:
    return np.arange(data.n_queries) % 2


def scores_of_teacher(data: sr.RankingDataset, used: np.ndarray) -> np.ndarray:
    """(n_docs,) scores of the steps of a teacher of these queries, from its parts."""
    bins = fit_bins(data)
    objective = PairwiseObjective(data, shape=bins, query_weight=used.astype(np.float64))
    every = sp.csr_array(np.ones((1, objective.n_features)))
    (path,) = run_all([StepsOn(BoostedSteps(draws=1), every).path(objective, PathPlan())])
    names, unscaled = tuple(data.feature_names), FeatureScaling("none")
    return FeatureTransform("", shape=bins).model(path.scaled_coefs[0], names, unscaled).predict(data.X)


def taught(data: sr.RankingDataset, used: np.ndarray) -> sr.RankingDataset:
    """These queries with the grades of a teacher of theirs."""
    grades = grades_of_loops(np.round(scores_of_teacher(data, used), 9), data.query_ptr)
    qid = np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))
    return sr.RankingDataset(data.X, grades, qid).take_queries(np.flatnonzero(used))


@pytest.mark.parametrize("kind", ["distilled", "distilled(log)"])
def test_a_path_without_a_fold_learns_the_order_of_a_teacher_without_it(data, kind: str) -> None:
    for fold, path in fitted(data, kind).items():
        used = (fold_of(data) != fold) | (fold == FINAL)
        by_grades, by_labels = taught(data, used), data.take_queries(np.flatnonzero(used))
        for own, same in ((by_grades, True), (by_labels, False)):
            if kind != "distilled":
                own = replace(own, X=np.copysign(np.log1p(np.abs(own.X)), own.X))
            alone = sr.fit_path(own, "mcp", n_alphas=6, tol=PLAN.tol)
            close = np.allclose(path.scaled_coefs, alone.scaled_coefs, rtol=0, atol=1e-3 * np.abs(alone.coefs).max())
            assert close == same


def test_threads_change_no_bit_and_a_store_only_rounding(data: sr.RankingDataset, tmp_path) -> None:
    sr.write_letor(data, tmp_path / "train.txt")
    sr.convert([tmp_path / "train.txt"], tmp_path / "store", Reading(dtype="float64"), shard_bytes=9_000)
    here, stored = sr.read(tmp_path / "train.txt", dtype="float64"), sr.read(tmp_path / "store")
    paths = [fitted(d, n_threads=n) for d, n in ((here, 1), (here, 2), (stored, 2))]
    for other in paths[1:]:
        assert all(np.allclose(other[f].scaled_coefs, paths[0][f].scaled_coefs, rtol=1e-9) for f in FOLDS)
    assert all(np.array_equal(paths[1][f].scaled_coefs, paths[0][f].scaled_coefs) for f in FOLDS)


def test_rules_hold_for_the_teacher_too(data: sr.RankingDataset) -> None:
    ordered = np.argsort(-np.abs(np.corrcoef(data.X.T, data.relevance)[-1, :-1]))
    best = data.feature_names[int(ordered[0])]
    shuffled = data.X.copy()
    shuffled[:, int(ordered[0])] = np.random.default_rng(0).permutation(shuffled[:, int(ordered[0])])
    results = [
        sr.select(d, feature_transform="distilled", penalties="mcp", drop=[best], **QUICK)
        for d in (data, replace(data, X=shuffled))
    ]
    assert results[0].chosen.mean == results[1].chosen.mean


def test_selections_resume_and_repeat_the_teacher_on_halves(data, tmp_path) -> None:
    options = {**QUICK, "half_samples": 4, "out": tmp_path / "run"}
    first = sr.select(data, feature_transform=["none", "distilled"], **options)
    again = sr.select(data, feature_transform=["none", "distilled"], **options)
    assert {"distilled l1", "distilled mcp"} <= set(first.paths)
    assert np.array_equal(first.model.predict(data.X), again.model.predict(data.X))
    assert np.array_equal(first.stability.kept, again.stability.kept)


def test_distilled_weights_are_tried_by_default_where_there_is_enough_to_learn() -> None:
    made = {"n_informative": 3, "n_redundant": 2, "random_state": 0}
    few, many = (sr.datasets.make_ranking(n, 45, 8, **made).data for n in (49, 51))
    curved = sr.datasets.make_curved_ranking(110, random_state=0).data
    plan = make_plan(penalties=None, metric="ndcg@5", report_metrics=(), convention="default")
    assert menu.transforms_tried(plan, few) == ["none"]
    assert menu.transforms_tried(plan, many) == ["none", "distilled"]
    labels = [t.label for t in menu.tasks_of(plan, many, groups_of_one(many.feature_names))]
    assert labels == ["l1", "mcp", "ridge", "distilled mcp", "steps(cutoff=5)"]
    assert menu.transforms_tried(plan, curved) == ["none", "log", "distilled(log)"]
    assert menu.transforms_tried(replace(plan, engine="ranklib"), curved)[2:] == ["distilled(log)", "distilled"]
    for other in ({"with_steps": False}, {"path_plan": PathPlan(scaling="query-min-max")}):
        assert menu.transforms_tried(replace(plan, **other), many) == ["none"]


def test_a_teacher_that_finds_no_step_leaves_the_labels() -> None:
    """No feature has enough documents on both sides of a step."""
    rng = np.random.default_rng(0)
    X = np.zeros((2400, 150))
    for column in X.T:
        column[rng.choice(2400, 18, replace=False)] = 1.0
    rare = sr.RankingDataset(X, (X[:, :30].sum(axis=1) > 0).astype(float), np.repeat(np.arange(60), 40))
    by_labels = fitted(rare, "none")
    for fold, path in fitted(rare).items():
        assert np.array_equal(path.scaled_coefs, by_labels[fold].scaled_coefs)
    result = sr.select(rare, feature_transform="distilled", penalties="mcp", **{**QUICK, "half_samples": 4})
    assert "distilled mcp" in result.paths


def test_a_linear_penalty_is_needed(data: sr.RankingDataset) -> None:
    with pytest.raises(ParameterError, match="distilled needs a linear penalty, such as mcp"):
        sr.select(data, feature_transform="distilled", penalties="steps", **QUICK)
