"""One list of penalties, one claim at a time, all members."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparserank.errors import DataError
from sparserank.penalties import L1, MCP, SCAD, ElasticNet, Log, Lp, Penalty, Ridge, SmoothedLp, parse_penalty
from sparserank.penalties import PENALTIES as BY_NAME
from tests.oracles import prox as oracle

ALPHA = 0.7
# A penalty on the mean scale and its scalar formula, written out independently.
PENALTIES: list[tuple[Penalty, Callable[[float], float]]] = [
    (L1(ALPHA), partial(oracle.l1, alpha=ALPHA)),
    (ElasticNet(ALPHA, l1_ratio=0.3), partial(oracle.elastic, alpha=ALPHA, l1_ratio=0.3)),
    (Ridge(ALPHA), partial(oracle.ridge, alpha=ALPHA)),
    *((Lp(ALPHA, p=p), partial(oracle.lp, alpha=ALPHA, p=p)) for p in (0.5, 0.2, 0.8)),
    (SmoothedLp(ALPHA, p=0.5, eps=0.1), partial(oracle.smoothed_lp, alpha=ALPHA, p=0.5, eps=0.1)),
    (SmoothedLp(ALPHA, p=0.8, eps=2.0), partial(oracle.smoothed_lp, alpha=ALPHA, p=0.8, eps=2.0)),
    (SmoothedLp(ALPHA, p=0.2), partial(oracle.smoothed_lp, alpha=ALPHA, p=0.2, eps=1e-3)),
    *((Log(ALPHA, eps=eps), partial(oracle.log, alpha=ALPHA, eps=eps)) for eps in (0.1, 1.5)),
    (MCP(ALPHA, gamma=2.0, gamma_scale="mean"), partial(oracle.mcp, alpha=ALPHA, gamma=2.0)),
    (SCAD(ALPHA, a=3.7, gamma_scale="mean"), partial(oracle.scad, alpha=ALPHA, a=3.7, s=1.0)),
    (SCAD(ALPHA, a=2.5, gamma_scale="mean", threshold_scale=3.0), partial(oracle.scad, alpha=ALPHA, a=2.5, s=3.0)),
]
CURVATURES = (0.06, 0.3, 0.9, 1.7, 5.0)  # MCP (gamma 2) and SCAD (a 3.7) are concave below 0.5 and 0.37
every_penalty = pytest.mark.parametrize(("penalty", "formula"), PENALTIES, ids=[repr(p) for p, _ in PENALTIES])


def prox_of_one(penalty: Penalty, v: float, step: float) -> float:
    return float(penalty.prox(np.array([v]), step)[0])


def test_every_penalty_has_a_formula() -> None:
    assert {p.name for p, _ in PENALTIES} == set(BY_NAME), "add it to PENALTIES here and to oracles/prox.py"


@every_penalty
def test_value_equals_the_formula(penalty: Penalty, formula: Callable[[float], float]) -> None:
    w = np.array([0.0, 0.01, -0.3, 0.7, -1.4, 2.59, 8.0])
    assert penalty.value(w) == pytest.approx(sum(formula(abs(x)) for x in w), rel=1e-12)


def test_the_prox_of_mcp_at_curvature_1_is_rejected_at_another() -> None:
    """The wrong variant: firm thresholding as it is published, for h = 1."""
    h, z, gamma = 2.5, 1.2 * ALPHA, 2.0
    wrong = (z - ALPHA / h) / (1 - 1 / gamma)
    assert abs(wrong - oracle.brute_force_prox(partial(oracle.mcp, alpha=ALPHA, gamma=gamma), z, h)) > 1e-2


@pytest.mark.slow_but("[0.3-")
@every_penalty
@pytest.mark.parametrize("h", CURVATURES)
def test_prox_equals_brute_force(penalty: Penalty, formula: Callable[[float], float], h: float) -> None:
    for z in np.concatenate([np.linspace(-6, 6, 41), [0.01, 1.0, 1.234, 3.3, 20.0]]):
        x = prox_of_one(penalty, z, 1.0 / h)
        best = oracle.brute_force_prox(formula, z, h)
        value = lambda u, z=z: h / 2 * (u - z) ** 2 + formula(abs(u))  # noqa: E731
        # Near a jump two points are equally good; the objective decides, the point only away from jumps.
        assert value(x) <= value(best) + 1e-9 * (1 + abs(value(best))), (z, x, best)
        if abs(value(0.0) - value(best)) > 1e-6:
            assert x == pytest.approx(best, abs=2e-5), z


@pytest.mark.parametrize("p", [0.2, 0.8])
@pytest.mark.parametrize("eps", [1e-6, 0.1, 1e3])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e2])
def test_prox_of_smoothed_lp_equals_brute_force_over_decades(p: float, eps: float, alpha: float) -> None:
    formula = partial(oracle.smoothed_lp, alpha=alpha, p=p, eps=eps)
    penalty = SmoothedLp(alpha, p=p, eps=eps)
    slope = alpha * p * eps ** (p - 1.0)
    for z in (1e-3, 0.3, 1.0, 7.0, 0.9 * slope, 1.1 * slope, 3.0 * slope):
        x, best = prox_of_one(penalty, z, 1.0), oracle.brute_force_prox(formula, z, 1.0)
        value = lambda u, z=z: 0.5 * (u - z) ** 2 + formula(abs(u))  # noqa: E731
        assert value(x) <= value(best) + 1e-9 * abs(value(best)), (z, x, best)
        if abs(value(0.0) - value(best)) > 1e-6 * value(best):
            assert x == pytest.approx(best, rel=1e-4, abs=1e-7 * z), z


@every_penalty
@pytest.mark.parametrize("sign", [1, -1])
def test_prox_under_a_sign_constraint(penalty: Penalty, formula: Callable[[float], float], sign: int) -> None:
    constrained = replace(penalty, monotone=(sign,))
    for z in (-3.0, -0.2, 0.0, 0.2, 3.0):
        x = constrained.prox(np.array([z]), 1.0)[0]
        assert x * sign >= 0
        assert x == pytest.approx(oracle.brute_force_prox(formula, z, 1.0, sign), abs=2e-5)


@every_penalty
def test_derivative_is_the_slope_of_the_value(penalty: Penalty, formula: Callable[[float], float]) -> None:
    for t in (0.05, 0.31, 0.93, 1.9, 4.4):
        numeric = (formula(t + 1e-6) - formula(t - 1e-6)) / 2e-6
        assert penalty.derivative(np.array([t]))[0] == pytest.approx(numeric, rel=1e-5, abs=1e-8)
        bend = (penalty.derivative(np.array([t + 1e-6]))[0] - penalty.derivative(np.array([t - 1e-6]))[0]) / 2e-6
        found = penalty._second_derivative(np.array([t]), penalty.feature_alphas(1))[0]
        assert found == pytest.approx(bend, rel=1e-5, abs=1e-7)


@every_penalty
def test_subdifferential_distance_is_zero_at_a_prox_fixed_point(penalty, formula):
    h = 1.3
    for z in (-4.0, -0.4, 0.2, 1.1, 5.0):
        x = prox_of_one(penalty, z, 1.0 / h)
        gradient = np.array([h * (x - z)])  # of the quadratic, at its minimiser with the penalty
        assert penalty.subdiff_distance(np.array([x]), gradient)[0] == pytest.approx(0.0, abs=1e-12)


@every_penalty
def test_repr_parses_back(penalty: Penalty, formula: Callable[[float], float]) -> None:
    assert parse_penalty(repr(penalty)) == penalty
    kept, second = ((), 1.0) if isinstance(penalty, Ridge) else ((0,), 2.0)  # ridge honours neither
    weights = (1.0, second, float("inf"))
    dressed = replace(penalty, weights=weights, monotone=(0, 1, -1), keep=kept, drop=(2,))
    assert parse_penalty(repr(dressed)) == dressed
    assert hash(dressed) != hash(penalty)


def test_alpha_max_is_where_zero_stops_being_stationary() -> None:
    gradient = np.array([0.3, -0.8, 0.1])
    assert L1().alpha_max(gradient) == pytest.approx(0.8)
    assert Log(eps=0.1).alpha_max(gradient) == pytest.approx(0.08)
    assert MCP().alpha_max(gradient) == pytest.approx(0.8)
    assert ElasticNet(l1_ratio=0.5).alpha_max(gradient) == pytest.approx(1.6)
    assert Lp().alpha_max(gradient) == 0.0
    assert SmoothedLp(p=0.5, eps=0.25).alpha_max(gradient) == pytest.approx(0.8)
    assert L1(weights=(1.0, 4.0, 1.0)).alpha_max(gradient) == pytest.approx(0.3)
    assert L1(monotone=(0, -1, 0)).alpha_max(gradient) == pytest.approx(0.3)
    for penalty, _ in PENALTIES:
        if not penalty.smooth_at_zero and not penalty.kkt_is_vacuous_at_zero:
            top = penalty.alpha_max(gradient)
            zero = np.zeros(3)
            assert penalty.with_alpha(top * 1.000001).subdiff_distance(zero, gradient).max() == 0.0
            assert penalty.with_alpha(top * 0.999).subdiff_distance(zero, gradient).max() > 0.0


@pytest.mark.parametrize("penalty", [p for p, _ in PENALTIES if not p.smooth_at_zero], ids=repr)
def test_paths_start_where_no_coordinate_step_leaves_zero(penalty: Penalty) -> None:
    gradient, curvature = np.array([0.3, -0.8, 0.1]), np.array([0.5, 1.0, 0.2])
    start = penalty.path_alpha_max(gradient, curvature)
    v = -gradient / curvature
    assert not penalty.with_alpha(start * 1.0001).prox(v, 1 / curvature).any()
    assert penalty.with_alpha(start * 0.99).prox(v, 1 / curvature).any()


def test_gamma_scales_mean_the_same_penalty() -> None:
    curvature, n_pairs = np.array([0.5, 2.0, 1.0, 0.0]), 100
    assert MCP(gamma=3.0).resolve(curvature, n_pairs).gamma == pytest.approx(3.0)  # median curvature is 1
    assert MCP(gamma=2.0, gamma_scale="sum").resolve(curvature, n_pairs).gamma == pytest.approx(200.0)
    assert MCP(gamma=2.0, gamma_scale="mean").resolve(curvature, n_pairs).gamma == 2.0
    # A sum-scaled penalty divided by P is the resolved one at alpha / P.
    t, lam = 0.9, 40.0
    summed = oracle.scad(t, lam, 3.7, 1.0) / n_pairs
    resolved = SCAD(lam / n_pairs, gamma_scale="sum").resolve(curvature, n_pairs)
    assert resolved.value(np.array([t])) == pytest.approx(summed)
    again = SCAD(1.0).resolve(curvature, n_pairs)
    assert again.resolve(curvature, n_pairs) == again


def test_value_strengths_and_prox_of_each_coordinate_obey_its_rules() -> None:
    penalty = L1(0.5, weights=(1.0, 2.0, 4.0), keep=(0,), drop=(2,))
    assert penalty.feature_alphas(3).tolist() == [0.0, 1.0, np.inf]
    assert penalty.prox(np.full(3, 3.0), 1.0).tolist() == [3.0, 2.0, 0.0]
    assert penalty.value(np.array([1.0, 1.0, 0.0])) == 1.0
    assert penalty.value(np.array([0.0, 0.0, 1.0])) == np.inf
    signed = L1(0.5, monotone=(1, -1, 0), keep=(1,))
    assert signed.prox(np.full(3, -3.0), 1.0).tolist() == [0.0, -3.0, -2.5]
    with pytest.raises(DataError, match="monotone must contain 4 values"):
        signed.prox(np.ones(4), 1.0)


def test_ridge_refuses_weights_that_it_cannot_honour() -> None:
    assert Ridge(0.5, weights=(1.0, float("inf")), drop=(1,)).feature_alphas(2).tolist() == [0.0, np.inf]
    for rules in ({"weights": (1.0, 2.0)}, {"weights": (0.0, 1.0)}, {"keep": (0,)}):
        with pytest.raises(DataError, match=r"Ridge: .* ElasticNet"):
            Ridge(0.5, **rules)  # type: ignore[arg-type]


def test_strengths_that_leave_the_range_of_numbers_are_refused() -> None:
    for penalty in (L1(1e-300, weights=(1.0, 1e-100)), L1(1e300, weights=(1.0, 1e100))):
        with pytest.raises(DataError, match="feature f2"):
            penalty.feature_alphas(2)
    assert L1(0.0, weights=(1.0, 1e-100)).feature_alphas(2).tolist() == [0.0, 0.0]


def test_labels_of_different_shapes_differ() -> None:
    shapes = [Lp(), SmoothedLp(), SmoothedLp(eps=0.1), SmoothedLp(p=0.3), Lp(p=0.3), Lp(p=0.30000001), Lp(p=1e-6)]
    assert len({p.label for p in shapes}) == len(shapes)
    for penalty in shapes:
        assert parse_penalty(penalty.label) == penalty
    assert (Lp().label, Lp(p=0.3).label) == ("l0.5", "l0.3")


BAD_CALLS = ["l1(alpha=-1.0)", "lp(p=1.5)", "log(eps=0.0)", "mcp(gamma=-1.0)", "scad(a=1.5)"]
BAD_CALLS += ["elastic_net(l1_ratio=0.0)", "l1(weights=(-1.0,))", "l1(monotone=(2,))", "nonsense", "l1(gamma=1.0)"]
BAD_CALLS += ["mcp(gamma_scale='other')", "l1(", "l1(alpha='x')", "l1(alpha=True)", "l1(alpha=nan)"]
BAD_CALLS += ["l1(alpha=1e400)", "l1(alpha=" + "9" * 400 + ")", "l1(weights='12')", "l1(keep=(1.5,))"]
BAD_CALLS += ["l1(alpha=1, alpha=2)", "l1(weights=((1,2),))", "l1(monotone=(0.5,))", "l1(drop=(-1,))"]
BAD_CALLS += ["l1(**{'alpha': 1})", "l1(alpha=x)", "", "l1(alpha=" + "9" * 5000 + ")"]
BAD_CALLS += ["l1(weights=" + "(" * 100_000 + ")", "l1(alpha=" + "-" * 100_000 + "1)", "l1\0"]
BAD_CALLS += ["l1(alpha=1)" * 100_000, "\udcff", "l1(weights={[1]: 2})"]


@pytest.mark.parametrize("call", BAD_CALLS, ids=lambda call: ascii(call[:40]))
def test_bad_parameters_are_refused(call: str) -> None:
    with pytest.raises(DataError, match=r"\w+.*\.") as caught:
        parse_penalty(call)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("spec", [5, None, [], object(), L1, b"l1"], ids=lambda spec: type(spec).__name__)
def test_what_is_no_penalty_is_refused(spec: object) -> None:
    with pytest.raises(DataError, match="penalty"):
        parse_penalty(spec)  # type: ignore[arg-type]


def test_a_wrong_parameter_of_a_penalty_is_not_called_an_option(cli, tmp_path):
    (tmp_path / "t.txt").write_text("1 qid:1 1:1 2:0 3:2\n0 qid:1 1:0 2:1 3:1\n")
    told = {"mcp(gamma=-1)": "--penalty: cannot be parsed: MCP: gamma", "l1(drop=(9,))": "error: L1: drop contains"}
    for penalty, words in told.items():
        assert words in cli("fit", tmp_path / "t.txt", "--penalty", penalty, "--out", tmp_path / "m.json").err
