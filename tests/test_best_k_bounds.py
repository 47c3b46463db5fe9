"""Bounds below every set of k features, against all sets on explicit pairs; wrong variants;
curves, other losses, rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from sparserank.curves import STRAIGHT, fit_knots
from sparserank.data.synthetic import make_curved_ranking
from sparserank.errors import DataError
from sparserank.losses import ModifiedHuber
from sparserank.objective import PairwiseObjective
from sparserank.paths import BestK, best_k_bounds, fit_path_on, lower_bound
from sparserank.paths.set_bounds import CLOSE
from sparserank.penalties import L1, Ridge
from sparserank.solvers import ProxNewton, Stop, solve
from tests.extension.logistic import PairwiseLogistic
from tests.oracles import best_k as oracle
from tests.oracles import pairs as pair_oracle
from tests.problems import small_problem
from tests.test_best_k import correlated, explicit

RIDGES = (1e-3, 1e-2, 0.3)


@pytest.mark.parametrize("seed", range(4))
def test_from_any_coefficients_it_is_the_dual_of_the_worst_set_and_below_the_best(seed: int) -> None:
    """Among k - 1 features, or without the loss in the denominator, the same figure exceeds the optimum:
    no bound at all."""
    data = correlated(seed, 7)
    objective = PairwiseObjective(data)
    K, root, _ = explicit(data, objective)
    feature_groups = [[j] for j in range(7)]
    rng = np.random.default_rng(seed)
    above = {"fewer": 0, "without_loss": 0}
    for ridge in (float(r * objective.curvature.mean()) for r in RIDGES):
        path = fit_path_on(objective, BestK(k_max=4, ridge=ridge / float(objective.curvature.mean())), tol=1e-9)
        for k in (1, 2, 4):
            best = oracle.best_of_size(K, root, ridge, k, feature_groups)[0]
            for w in (np.zeros(7), 0.3 * rng.standard_normal(7), path.scaled_coef(k - 1)):
                bound = lower_bound(objective, w, k, ridge)
                assert bound == pytest.approx(oracle.lower_bound(K, root, ridge, k, feature_groups, w), rel=1e-9)
                assert 0 < bound <= best + 1e-12
                for name in above:
                    above[name] += oracle.lower_bound(K, root, ridge, k, feature_groups, w, **{name: 1}) > best + 1e-6
    assert all(above.values()), above


def test_bounds_of_a_path_hold_for_all_sets_and_are_the_best_of_their_kind() -> None:
    above = 0
    for seed in range(2):
        data = correlated(seed)
        objective = PairwiseObjective(data)
        K, root, _ = explicit(data, objective)
        feature_groups = [[j] for j in range(9)]
        for share in RIDGES:
            path = fit_path_on(objective, BestK(k_max=9, ridge=share), tol=1e-9)
            found = best_k_bounds(objective, path)
            assert found.ridge == pytest.approx(share * objective.curvature.mean())
            of_all = oracle.ridge_minimum(K, root, found.ridge, range(9))
            assert of_all * (1 - 1e-3) <= found.of_all <= of_all + 1e-12
            for k in (1, 2, 3, 9):
                best, bound = oracle.best_of_size(K, root, found.ridge, k, feature_groups)[0], found.bounds[k - 1]
                assert bound <= best + 1e-12
                assert bound <= found.relaxed[k - 1] + 1e-12
                assert found.relaxed[k - 1] - bound <= 1.01 * CLOSE
                assert bound >= max(lower_bound(objective, w, k, found.ridge) for w in path.scaled_coefs) - CLOSE
                above += bound > of_all + CLOSE
            assert found.gaps == pytest.approx(np.maximum(path.objectives - found.bounds, 0.0))
            assert (np.diff(found.bounds) <= CLOSE).all()
    assert above >= 16  # of 18 with k < 9: they say more than the model with all features does


@pytest.mark.parametrize("case", ["curves", "huber", "logistic", "never used"])
def test_groups_other_losses_and_rules(case: str) -> None:
    """Every set solved by the package itself."""
    made = make_curved_ranking(40, 8, 6, n_curved=2, noise=0.3, random_state=4)
    data = made.data
    loss = {"huber": ModifiedHuber(), "logistic": PairwiseLogistic()}.get(case, "squared_hinge")
    objective = PairwiseObjective(data, knots=fit_knots(data, 4) if case == "curves" else STRAIGHT, loss=loss)
    never = (int(made.support[0]),) if case == "never used" else ()
    path = fit_path_on(objective, BestK(k_max=3, ridge=0.05, drop=never), tol=1e-8)
    found = best_k_bounds(objective, path)
    for k in (1, 2, 3):
        values = []
        for chosen in combinations([j for j in range(6) if j not in never], k):
            weights = np.full(objective.n_features, np.inf).reshape(6, -1)
            weights[list(chosen)] = 1.0
            ridge = Ridge(found.ridge, weights=tuple(weights.ravel().tolist()))
            values.append(solve(ProxNewton(), objective, ridge, stop=Stop(1e-9)).value)
        assert found.bounds[k - 1] <= min(values) + 1e-9
        assert found.bounds[k - 1] > found.of_all + CLOSE
        assert path.objectives[k - 1] <= max(values)
    if never:  # the bounds know of it
        free = best_k_bounds(objective, fit_path_on(objective, BestK(k_max=3, ridge=0.05), tol=1e-8))
        assert (found.bounds > free.bounds + CLOSE).all()


def test_without_anything_to_learn_and_on_what_it_cannot_bound() -> None:
    data = correlated(0)
    objective = PairwiseObjective(data)
    with pytest.raises(DataError, match="needs a path of best_k"):
        best_k_bounds(objective, fit_path_on(objective, L1(), n_alphas=3))
    path = fit_path_on(objective, BestK(k_max=2))
    with pytest.raises(DataError, match="needs a path of best_k"):
        best_k_bounds(PairwiseObjective(correlated(0, 8)), path)
    wide = PairwiseObjective(
        np.random.default_rng(0).standard_normal((6, 1200)), np.array([0, 1, 2, 0, 1, 2]), np.array([0, 3, 6])
    )
    with pytest.raises(DataError, match="at most 1000 coefficients"):
        best_k_bounds(wide, fit_path_on(wide, BestK(k_max=1)))
    y = np.array([0.0, 1.0, 2.0])
    assert (
        lower_bound(PairwiseObjective(y[:, None], y, np.array([0, 3])), np.array([2.0]), 1, 0.1) == 0.0
    )  # no loss left
    for k, wrong in ((0, 1.0), (1, 0.0)):
        with pytest.raises(DataError, match="k >= 1 and ridge > 0"):
            lower_bound(objective, np.zeros(9), k, wrong)


def test_bounds_of_groups_are_below_every_set_of_groups():
    """Counted by features the bounds would be of smaller sets: too high."""
    feature_groups, columns = (0, 0, 1, 1, 2), [[0, 1], [2, 3], [4]]
    rejected = 0
    for seed in range(4):
        data = small_problem(seed, n_queries=10, d=5)
        objective = PairwiseObjective(data)
        path = fit_path_on(objective, BestK(k_max=3, feature_groups=feature_groups, ridge=0.05), tol=1e-9)
        pairs = pair_oracle.pairs_of(data.relevance, data.query_ptr)
        K, root = pair_oracle.pair_matrix(data.X, pairs), np.array([np.sqrt(v) for _, _, v in pairs])
        found, alone = (
            best_k_bounds(objective, path),
            best_k_bounds(objective, replace(path, penalty=BestK(k_max=3, ridge=0.05))),
        )
        for k in (1, 2, 3):
            best, _ = oracle.best_of_size(K, root, found.ridge, k, columns)
            assert found.bounds[k - 1] <= best + 1e-9
            rejected += alone.bounds[k - 1] > best + 1e-6
    assert rejected > 0


def test_another_objective_is_refused():
    data = small_problem(0, n_queries=10, d=5)
    path = fit_path_on(PairwiseObjective(data), BestK(k_max=2), tol=1e-9)
    with pytest.raises(DataError, match="needs the objective on which the path was fitted"):
        best_k_bounds(PairwiseObjective(data.X * 10.0, data.relevance, data.query_ptr), path)
