"""The minimum of a quadratic model plus a penalty, also with nearly collinear columns; a Newton step on the support."""

import numpy as np
import pytest

import sparserank as sr
from sparserank.penalties.nested import nested
from sparserank.solvers import quadratic
from sparserank.solvers.quadratic import minimise_model, newton_on_support

D, SIGNS, GROUPS = 6, (1, -1, 0, 0, 1, -1), (0, 0, 1, 1, 2, 2)
PENALTIES = {
    "l1": sr.penalties.L1(0.2),
    "signs": sr.penalties.L1(0.2, monotone=SIGNS),
    "elastic net": sr.penalties.ElasticNet(0.2, l1_ratio=0.5),
    "groups": nested(sr.penalties.L1(0.2, feature_groups=GROUPS)),
}


def model(seed):
    """H, gradient at w, w; the first two columns are nearly the same, so that H has a condition number of about 1e5."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, D))
    X[:, 1] = X[:, 0] + 1e-2 * rng.standard_normal(30)
    return X.T @ X / 30, rng.standard_normal(D), rng.standard_normal(D)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_minimum_satisfies_the_optimality_conditions(name, monkeypatch):
    penalty, apart = PENALTIES[name], []
    for seed in range(6):
        H, gradient, w = model(seed)
        part = penalty.restrict(np.arange(D), D)
        for rounds in (quadratic.MAX_ROUNDS, 1):  # the wrong variant: a few sweeps, without Newton steps
            monkeypatch.setattr(quadratic, "MAX_ROUNDS", rounds)
            monkeypatch.setattr(quadratic, "MAX_BLOCK_ROUNDS", rounds)
            u = minimise_model(H, gradient, w, part, 1e-11)
            apart.append(penalty.subdiff_distance(u, gradient + H @ (u - w)).max())
        monkeypatch.undo()
    assert max(apart[::2]) < 1e-9 < 1e-6 < max(apart[1::2])


def test_a_newton_step_ends_at_the_first_change_of_sign():
    H, gradient = np.eye(3), np.array([-1.0, 3.0, 0.5])
    w = np.array([1.0, 1.0, 0.0])  # the free minimum is (2, -2, -0.5); with l1 of 0.2, (1.8, -1.8) on the support
    part = sr.penalties.L1(0.2).restrict(np.arange(3), 3)
    share = 1.0 / 3.2  # of the step -3.2 of the second coordinate
    np.testing.assert_allclose(newton_on_support(H, gradient, w, part), [1.0 + 0.8 * share, 0.0, 0.0], atol=1e-15)
