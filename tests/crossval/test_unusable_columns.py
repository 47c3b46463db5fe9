"""A column that no model may use does not change a model, whatever its values."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.paths import fit_path, parse_maker
from sparserank.solvers import PairwiseObjective
from sparserank.solvers.loop import solve
from sparserank.solvers.prox_newton import ProxNewton

DATA = sr.datasets.make_ranking(40, 8, 6, n_informative=3, n_redundant=1).data
LARGE = 1000.0 * np.random.default_rng(0).normal(size=(DATA.n_docs, 1)) + 300.0 * DATA.relevance[:, None]
X, WIDER = np.asarray(DATA.X), np.hstack([DATA.X, LARGE])
OTHER = X.shape[1]  # the number of the additional column


def fitted(columns: np.ndarray, penalty: Any, **options: Any) -> sr.SparseRanker:
    return sr.SparseRanker(penalty=penalty, n_threads=1, **options).fit(columns, DATA.relevance, qid=DATA.qid)


@pytest.mark.slow_but("[l1-none]", "[mcp-curves]", "[best_k-none]")
@pytest.mark.parametrize("transform", ["none", "curves"])
@pytest.mark.parametrize("name", ["l1", "mcp", "scad", "log", "best_k"])
def test_a_ranker_is_the_same_with_a_dropped_column(name: str, transform: str) -> None:
    options = {"k": 3, "scaling": "none", "feature_transform": transform}
    without = fitted(X, name, **options)
    with_it = fitted(WIDER, replace(parse_maker(name), drop=(OTHER,)), **options)
    assert with_it.scaled_coef_[OTHER] == 0
    np.testing.assert_allclose(with_it.scaled_coef_[:OTHER], without.scaled_coef_, rtol=1e-9)
    assert with_it.alpha_max_ == pytest.approx(without.alpha_max_, rel=1e-12)


@pytest.mark.parametrize("rule", [{"drop": (OTHER,)}, {"weights": (1.0,) * OTHER + (np.inf,)}])
@pytest.mark.parametrize("penalty", [sr.penalties.MCP, sr.penalties.SCAD, sr.penalties.Ridge])
def test_gamma_strengths_and_tolerance_are_those_of_the_usable_features(penalty: Any, rule: dict[str, Any]) -> None:
    paths = [
        fit_path(sr.RankingDataset(columns, DATA.relevance, DATA.qid), penalty(**of), n_alphas=4, scaling="none")
        for columns, of in ((X, {}), (WIDER, rule))
    ]
    for what in ("alphas", "losses", "kkt_violations"):
        np.testing.assert_allclose(getattr(paths[1], what), getattr(paths[0], what), rtol=1e-9, atol=1e-13)
    assert paths[1].l1_alpha_max == pytest.approx(paths[0].l1_alpha_max, rel=1e-12)
    shapes = [path.penalty.shape() for path in paths]
    assert shapes[1] == pytest.approx(shapes[0], rel=1e-12)


def test_a_solve_has_the_tolerance_of_the_usable_features() -> None:
    wider = PairwiseObjective(sr.RankingDataset(WIDER, DATA.relevance, DATA.qid))
    narrow = PairwiseObjective(sr.RankingDataset(X, DATA.relevance, DATA.qid))
    found = solve(ProxNewton(), wider, sr.penalties.MCP(0.02, drop=(OTHER,)))
    np.testing.assert_allclose(found.w[:OTHER], solve(ProxNewton(), narrow, sr.penalties.MCP(0.02)).w, rtol=1e-9)


def test_a_selection_is_the_same_with_a_dropped_column() -> None:
    quick: dict[str, Any] = {"penalties": ["mcp"], "scaling": "none", "feature_transform": ["none"], "rival": "none"}
    quick |= {"half_samples": 0, "n_threads": 1, "cv": 2, "n_alphas": 8}
    found = []
    for columns, drop in ((X, []), (WIDER, [f"f{OTHER + 1}"])):
        data = sr.RankingDataset(columns, DATA.relevance, DATA.qid)
        choice = sr.select(data, drop=drop, **quick).choice
        found.append([(c.label, c.n_features, c.mean) for c in choice.candidates])
    assert found[1] == [(label, n, pytest.approx(mean, rel=1e-12)) for label, n, mean in found[0]]
    assert {label for label, *_ in found[0]} >= {"mcp relaxed (0.5)", "mcp relaxed (1)", "ridge"}
