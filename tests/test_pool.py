"""Candidates: matched by size in every fold, refits among them; everything again by explicit folds on copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.folds import query_folds
from sparserank.data.scaling import fit_scaling
from sparserank.paths import fit_path_on, refit_on_support
from sparserank.penalties import parse_penalty
from sparserank.selection.candidates import FOLD_TOL
from sparserank.selection.pool import best_of_sizes

DATA = sr.make_ranking(60, (8, 20), 12, n_informative=4, noise=0.5, seed=7).data
OPTIONS: dict[str, Any] = {"n_alphas": 10, "alpha_min_ratio": 0.02}


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    return sr.select(DATA, penalties=["l1", "mcp"], folds=3, seed=1, **OPTIONS)


def fold_path(penalty: str, used: np.ndarray) -> tuple[sr.PairwiseObjective, Any, np.ndarray]:
    """A copy of the fold's training queries, its path, what its features are divided by."""
    train = DATA.take_queries(used)
    scale = fit_scaling(train).scale
    objective = sr.PairwiseObjective(train, scale=scale)
    return objective, fit_path_on(objective, parse_penalty(penalty), tol=FOLD_TOL, **OPTIONS), scale


@pytest.mark.parametrize("relax", [0.0, 0.5, 1.0])
def test_values_are_those_of_explicit_folds(result: sr.SelectionResult, relax: float) -> None:
    fold = query_folds(DATA.n_queries, 3, 1)
    candidates = [c for c in result.choice.candidates if c.penalty == "l1" and c.relax == relax]
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
            expected = sr.evaluate(np.asarray(unseen.X @ (w / scale)), unseen, ["ndcg@10"], per_query=True)["ndcg@10"]
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
        for relax in (0.5, 1.0):
            assert [c.n_features for c in result.choice.candidates if c.penalty == label and c.relax == relax] == sizes


def test_the_saved_model_is_the_chosen_candidate() -> None:
    for k in (2, 4):
        found = sr.select(DATA, penalties=["mcp"], folds=3, k=k, **OPTIONS)
        c, path = found.chosen, found.paths["mcp"]
        objective = sr.PairwiseObjective(DATA, scale=found.scalings["mcp"].scale)
        candidates = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
        point = min(candidates, key=lambda i: path.losses[i])
        refit = refit_on_support(objective, path.support(point)).w
        expected = (1 - c.relax) * path.scaled_coef(point) + c.relax * refit
        np.testing.assert_allclose(found.model.coef, expected, atol=1e-5)
        assert found.model.parameters["relax"] == c.relax
        assert len(found.model.support) == c.n_features <= k


def test_without_refits_there_are_none() -> None:
    found = sr.select(DATA, penalties=["l1"], folds=3, refits=False, **OPTIONS)
    assert {c.relax for c in found.choice.candidates} == {0.0}


def test_best_of_sizes_is_the_highest_mean_of_each(result: sr.SelectionResult) -> None:
    sparse = [c for c in result.choice.candidates if c.penalty in ("l1", "mcp")]
    for c in best_of_sizes(sparse):
        assert c.mean == max(o.mean for o in sparse if o.n_features == c.n_features)


def test_costs_of_dropping_are_those_of_the_chosen_models_out_of_fold(result: sr.SelectionResult) -> None:
    again = sr.select(DATA, penalties=["l1", "mcp"], folds=3, seed=1, **OPTIONS)
    assert again.table().to_pydict() == result.table().to_pydict()
    assert len(result.table()) == result.chosen.n_features
