"""How stable a choice of features is: indices by explicit sets, halves by explicit copies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.bins import fit_bins
from sparserank.crossval import stability
from sparserank.crossval.folded_paths import FOLD_TOL
from sparserank.crossval.stability import Stability, complementary_halves, kuncheva, nogueira, sets_of
from sparserank.errors import ParameterError
from sparserank.objective import PairwiseObjective
from sparserank.paths import BoostedSteps, fit_path_on
from sparserank.shards.scaling import fit_scaling
from tests.oracles import stability as oracle

DATA = sr.datasets.make_ranking(60, (8, 20), 10, n_informative=3, n_redundant=3, noise=0.4, random_state=9).data
OPTIONS: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 10, "alpha_min_ratio": 0.02, "cv": 3}


def as_sets(kept: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in kept]


def test_indices_are_those_of_explicit_sets() -> None:
    """Rejected: Kuncheva with k and d in each other's place, or without the correction for chance, or over all pairs;
    Nogueira with a biased variance, or of the features that some half kept."""
    rng = np.random.default_rng(0)
    same_size = np.array([np.isin(np.arange(12), rng.choice(12, 4, replace=False)) for _ in range(10)])
    sets = as_sets(same_size)
    pairs = [oracle.kuncheva(sets[2 * i], sets[2 * i + 1], 12) for i in range(5)]
    assert kuncheva(same_size, 12) == pytest.approx(np.mean(pairs))
    assert nogueira(same_size, 12) == pytest.approx(oracle.nogueira(sets, 12))
    assert nogueira(same_size, 12) == pytest.approx(oracle.mean_of_all_pairs(sets, 12))
    assert Stability(same_size, np.arange(4), 12).index[0] == "Kuncheva"
    sizes = rng.random((10, 12)) < 0.3
    assert Stability(sizes, np.arange(4), 12).index == ("Nogueira", pytest.approx(oracle.nogueira(as_sets(sizes), 12)))
    assert Stability(sizes, np.arange(4), 12).index[1] != pytest.approx(oracle.nogueira(as_sets(sizes), 40))
    for wrong in (oracle.kuncheva_swapped, oracle.kuncheva_without_chance):
        wrongs = [wrong(sets[2 * i], sets[2 * i + 1], 12) for i in range(5)]
        assert abs(kuncheva(same_size, 12) - np.mean(wrongs)) > 0.05
    assert abs(kuncheva(same_size, 12) - oracle.mean_of_all_pairs(sets, 12)) > 0.01
    rare = sizes & (np.arange(12) < 9)  # three that no half kept
    for wrong in (oracle.nogueira_biased, oracle.nogueira_of_kept):
        assert abs(nogueira(rare, 12) - wrong(as_sets(rare), 12)) > 0.01
    assert nogueira(rare, 12) == pytest.approx(oracle.nogueira(as_sets(rare), 12), abs=1e-14)


def test_equal_sets_have_the_index_1_chance_0_and_all_features_none() -> None:
    same = np.tile(np.arange(10) < 3, (20, 1))
    assert Stability(same, np.arange(3), 10).index == ("Kuncheva", 1.0)
    rng = np.random.default_rng(1)
    chance = np.array([np.isin(np.arange(30), rng.choice(30, 6, replace=False)) for _ in range(2000)])
    assert abs(kuncheva(chance, 30)) < 0.02
    assert np.isnan(Stability(np.ones((4, 5), dtype=bool), np.arange(5), 5).index[1])
    assert np.isnan(Stability(np.zeros((4, 5), dtype=bool), np.arange(2), 5).index[1])


def test_halves_are_disjoint_cover_what_is_usable_and_depend_on_the_seed() -> None:
    usable = np.arange(31) % 4 != 0
    halves = complementary_halves(usable, 5, seed=3)
    assert halves.shape == (10, 31)
    assert (complementary_halves(usable, 5, seed=3) == halves).all()
    assert (complementary_halves(usable, 5, seed=4) != halves).any()
    # Rejected: halves drawn each on its own, two equal halves of an odd number, halves of queries that teach nothing.
    can = set(np.flatnonzero(usable).tolist())
    assert len(can) % 2 == 1
    for seed in range(5):
        assert oracle.complementary(as_sets(complementary_halves(usable, 5, seed)), can)
        assert not oracle.complementary(oracle.overlapping_halves(can, 5, seed), can)
        assert not oracle.complementary(oracle.halves_without_the_odd_one(can, 5, seed), can)
        assert not oracle.complementary(oracle.halves_of_all_queries(len(usable), 5, seed), can)


def test_kept_features_are_those_of_paths_on_copies_of_the_halves() -> None:
    result = sr.select(DATA, half_samples=4, random_state=5, relaxed=False, **OPTIONS)
    assert result.stability is not None
    c = result.chosen
    usable = np.array(
        [len(set(DATA.relevance[lo:hi])) > 1 for lo, hi in zip(DATA.query_ptr[:-1], DATA.query_ptr[1:], strict=True)]
    )
    halves = complementary_halves(usable, 2, seed=5)
    expected = []
    for row in halves:
        half = DATA.take_queries(row)
        objective = sr.solvers.PairwiseObjective(half, scale=fit_scaling(half).scale)
        path = fit_path_on(objective, result.plan.labelled[c.penalty], n_alphas=10, alpha_min_ratio=0.02, tol=FOLD_TOL)
        within = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
        expected.append(path.support(min(within, key=lambda i: path.losses[i])))
    found = result.stability.kept
    assert (found != sets_of(expected, 10)).mean() <= 0.05  # halves are solved to 1e-4, and stop once they are larger


def test_steps_on_halves_eliminate_from_the_features_of_a_larger_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stability, "OF_HALVES", 9)
    wide = sr.datasets.make_ranking(60, 20, 40, n_informative=6, n_redundant=10, noise=0.6, random_state=3).data
    maker = BoostedSteps(rounds=20, draws=1)
    result = sr.select(wide, penalties=[maker], cv=2, n_alphas=10, half_samples=4, random_state=5, k=4, rival="none")
    assert result.stability is not None
    whole = result.paths["steps(rounds=20, draws=1)"]
    largest = whole.support(max(np.flatnonzero(whole.nnz <= 9), key=lambda i: int(whole.nnz[i])))
    assert result.chosen.n_features < len(largest) <= 9 < whole.nnz.max()
    dropped = tuple(np.setdiff1d(np.arange(40), largest).tolist())
    halves = complementary_halves(np.ones(60, dtype=bool), 2, seed=5)
    from_largest, from_all = (
        [
            fit_path_on(PairwiseObjective(wide, shape=fit_bins(wide), query_weight=row.astype(float)), of)
            for row in halves
        ]
        for of in (replace(maker, drop=dropped), maker)
    )
    at = int(result.chosen.k) - 1  # sizes begin at 1
    expected, wrong = (sets_of([path.support(at) for path in paths], 40) for paths in (from_largest, from_all))
    np.testing.assert_array_equal(result.stability.kept, expected)
    assert (expected != wrong).any()  # from all features again


def test_the_result_reports_its_stability() -> None:
    result = sr.select(DATA, **OPTIONS)
    stability = result.stability
    assert stability is not None
    assert stability.n_samples == 20
    rows = result.table().to_dict("records")
    names = list(result.model.feature_names)
    for row in rows:
        assert row["selection_frequency"] == stability.frequency[names.index(row["feature"])]
    content = result.to_json()
    assert content["stability"]["half_samples"] == 20
    assert "of 20 half-samples: " in result.sentence
    assert f"index {stability.index[1]:.2f}" in result.sentence
    again = sr.select(DATA, n_threads=1, **OPTIONS)
    assert again.sentence == result.sentence


def test_half_samples_can_be_left_out_and_need_an_even_number() -> None:
    result = sr.select(DATA, half_samples=0, **OPTIONS)
    assert result.stability is None
    assert result.to_json()["stability"] is None
    assert "halves" not in result.sentence
    with pytest.raises(ParameterError, match="must be even"):
        sr.select(DATA, half_samples=3, **OPTIONS)
