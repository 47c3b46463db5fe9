"""The compiled coordinate and block descents against plain loops, within a running error bound; degenerate models."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sparserank.penalties import PENALTIES as BY_NAME
from sparserank.penalties import _scalar_prox
from sparserank.solvers._descent_kernels import STEPS, descend, descend_blocks
from tests.oracles import descent as oracle
from tests.oracles import scalars
from tests.support.penalty_kinds import OF_GROUPS, PENALTIES, TOL, Kind, says_nothing

SWEEPS = 8
MAX_SWEEPS = 500
# Of a residual: 3 u of numbers below 10 at each step, in so many sweeps of 6 columns.
STRAYED = 500 * 6 * 3 * 10 * scalars.U
every_penalty = pytest.mark.parametrize("name", PENALTIES)


def test_every_penalty_that_the_kernel_knows_is_compared() -> None:
    numbers = {value for name, value in vars(_scalar_prox).items() if name.isupper() and isinstance(value, int)}
    assert {kind.number for kind in PENALTIES.values()} == numbers, "add a Kind to support/penalty_kinds.py"


@dataclass(frozen=True)
class Case:
    """A quadratic model and prices; H (k, k) symmetric."""

    H: np.ndarray
    gradient: np.ndarray
    w: np.ndarray
    prices: np.ndarray
    monotone: np.ndarray

    def lists(self) -> tuple[list, list, list, list, list]:
        return self.H.tolist(), self.gradient.tolist(), self.w.tolist(), self.prices.tolist(), self.monotone.tolist()


def random_case(seed: int, k: int, *, definite: bool = False) -> Case:
    """Correlated columns of size about 1, some of them 0, or equal; free and infinite prices, signs, starts of the
    wrong sign."""
    rng = np.random.default_rng([seed, k])
    X = rng.standard_normal((3 * k + 4, k)) + 0.5 * rng.standard_normal((3 * k + 4, 1))
    if not definite and k > 2:
        X[:, rng.integers(k)] = 0.0
        X[:, k - 1] = X[:, 0]
    y = rng.standard_normal(len(X)) + X @ rng.choice([0.0, 1.0, -2.0], k)
    w = rng.standard_normal(k) * rng.integers(0, 2, k)
    H = X.T @ X / len(X) + (0.8 * np.eye(k) if definite else 0.0)
    prices = 0.3 * rng.random(k) + 0.02
    rules = rng.random(k)
    prices[rules < 0.15] = 0.0
    prices[rules > 0.85] = np.inf
    return Case(0.5 * (H + H.T), X.T @ (X @ w - y) / len(X), w, prices, rng.choice([0, 0, 1, -1], k))


def ran(
    kernel: Callable, case: Case, kind: Kind, sweeps: int, tol: float = TOL
) -> tuple[np.ndarray, np.ndarray, int, float]:
    w, residual = case.w.copy(), case.gradient.copy()
    done = kernel(case.H, residual, w, case.prices, case.monotone, kind.number, *kind.shape, tol, sweeps)
    return w, residual, int(done[0]), float(done[1])


def agree(case: Case, kind: Kind, tol: float = TOL, **variant: Any) -> bool | None:
    """Whether the kernel is where the oracle is after each number of sweeps; None where the oracle cannot tell."""
    H, gradient, w, prices, monotone = case.lists()
    monotone = [0] * len(monotone) if variant.get("wrong") == "monotone" else monotone
    prices = [min(p, 0.3) for p in prices] if variant.get("wrong") == "infinite prices" else prices
    prices = [p or 0.1 for p in prices] if variant.get("wrong") == "free" else prices
    trace = oracle.descend(H, gradient, w, prices, monotone, kind.scalar, tol, SWEEPS, **variant)
    if says_nothing(trace):
        return None
    found = [ran(descend, case, kind, m, tol) for m in range(1, SWEEPS + 1)]
    return all(trace.agrees(m, *f) and trace.same_zeros(m, f[0]) for m, f in enumerate(found, 1))


@every_penalty
@pytest.mark.parametrize("k", [1, 2, 7])
def test_coordinate_descent_is_where_plain_loops_are_after_every_sweep(name: str, k: int) -> None:
    verdicts = [agree(random_case(seed, k), PENALTIES[name]) for seed in range(8)]
    assert verdicts.count(None) <= 1
    assert False not in verdicts


@pytest.mark.parametrize("wrong", ["monotone", "stale", "all", "unscaled", "infinite prices", "free"])
@pytest.mark.parametrize("name", ["l1", "mcp", "l0.5"])
def test_wrong_coordinate_descents_are_rejected(wrong: str, name: str) -> None:
    """Signs forgotten, residuals of the beginning of the sweep, zeros visited in every sweep, a prox of curvature 1, a
    price for what is free or barred."""
    assert False in [agree(random_case(seed, 7), PENALTIES[name], wrong=wrong) for seed in range(12)]


# -- optima -----------------------------------------------------------------------------------------------------------


def converged(case: Case, kind: Kind, tol: float = 1e-10) -> np.ndarray:
    w, residual, sweeps, largest = ran(descend, case, kind, MAX_SWEEPS, tol)
    assert sweeps < MAX_SWEEPS
    assert largest <= tol
    np.testing.assert_allclose(residual, case.gradient + case.H @ (w - case.w), rtol=0, atol=STRAYED)
    return w


def slack(case: Case, tol: float) -> np.ndarray:
    """(k,) what is left of the optimality conditions where a sweep ends: the steps of others after one's own are at
    most tol / h each; and rounding, which is STRAYED in the residual."""
    h = np.diag(case.H)
    others = np.abs(case.H) - np.diag(h)
    return tol * (others[:, h > 0] / h[h > 0]).sum(axis=1) + STRAYED


def missed(case: Case, kind: Kind, w: np.ndarray, tol: float) -> float:
    """By how much w misses more than `slack` allows: the gradient the subdifferential, or a coordinate with curvature
    its minimiser given the others, which may be a jump away."""
    H, gradient, start, prices, monotone = case.lists()
    residual, left = oracle.residual_at(H, gradient, start, w.tolist()), slack(case, tol)
    worst = -math.inf
    for j, h in enumerate(np.diag(case.H)):
        if h <= 0:
            worst = max(worst, abs(w[j] - start[j]))
            continue
        worst = max(worst, oracle.distance(residual[j], w[j], prices[j], monotone[j], kind.scalar) - left[j])
        best = scalars.minimiser(kind.scalar, w[j] - residual[j] / h, h, prices[j], monotone[j])
        if best.safe > left[j] / h:
            worst = max(worst, abs(w[j] - best.x) - 2 * best.stretch * left[j] / h - best.added)
    return worst


@every_penalty
def test_coordinate_descent_ends_where_no_coordinate_can_gain(name: str) -> None:
    """Where the whole is convex, that is the optimum. With signs forgotten, with a price for what is free, or without a
    price it ends elsewhere."""
    kind, tol = PENALTIES[name], 1e-10
    wrong = []
    for seed in range(6):
        case = random_case(seed, 6)
        assert missed(case, kind, converged(case, kind, tol), tol) <= 0
        others = (
            replace(case, monotone=0 * case.monotone),
            replace(case, prices=np.where(case.prices > 0, case.prices, 5.0)),
            replace(case, prices=np.where(np.isfinite(case.prices), 0.0, np.inf)),
        )
        wrong.append([missed(case, kind, converged(other, kind, tol), tol) for other in others])
    monotone, free, unpriced = np.max(wrong, axis=0)
    assert monotone > 1e-3
    assert unpriced > 1e-3
    assert free > 1e-3


# -- degenerate models ------------------------------------------------------------------------------------------------


def case_of(H: Any, gradient: Any, w: Any, prices: Any, monotone: Any) -> Case:
    k = len(gradient)
    return Case(
        np.array(H, dtype=float).reshape(k, k),
        *(np.array(v, dtype=float) for v in (gradient, w, prices)),
        np.array(monotone, dtype=np.int64),
    )


TWO = [[1.0, 0.5], [0.5, 1.0]]
DEGENERATE = {
    "no column": case_of([], [], [], [], []),
    "one column": case_of([[2.0]], [-3.0], [0.0], [0.5], [0]),
    "one column of zeros": case_of([[0.0]], [0.0], [0.0], [0.5], [0]),
    "one column of zeros, not at 0": case_of([[0.0]], [0.0], [1.5], [0.5], [0]),
    "zero curvature and a slope": case_of([[0.0]], [-1.0], [0.0], [0.5], [0]),
    "zero curvature, wrong sign, barred": case_of([[0.0]], [1.0], [1.5], [np.inf], [-1]),
    "nothing but zeros": case_of(np.zeros((3, 3)), [0.0] * 3, [0.0] * 3, [0.5, 0.0, np.inf], [0, 1, -1]),
    "a column of zeros between others": case_of(
        [[1, 0, 0.5], [0, 0, 0], [0.5, 0, 1]], [-2.0, 0.0, 1.0], [0.0, 0.5, 0.0], [0.25, 0.25, 0.25], [0, 0, 0]
    ),
    "equal columns": case_of(np.ones((2, 2)), [-2.0, -2.0], [0.0, 0.0], [0.5, 0.5], [0, 0]),
    "equal columns, the cheaper later": case_of(np.ones((2, 2)), [-2.0, -2.0], [0.0, 0.0], [0.5, 0.25], [0, 0]),
    "equal columns, the first barred": case_of(np.ones((2, 2)), [-2.0, -2.0], [0.0, 0.0], [np.inf, 0.5], [0, 0]),
    "opposite columns under signs": case_of([[1, -1], [-1, 1]], [-2.0, 2.0], [0.0, 0.0], [0.5, 0.5], [-1, 1]),
    "barred, but not at 0": case_of(TWO, [0.25, -1.0], [2.0, 0.0], [np.inf, 0.25], [0, 0]),
    "all barred": case_of(TWO, [0.25, -1.0], [2.0, -1.0], [np.inf, np.inf], [0, 0]),
    "all free": case_of(TWO, [0.25, -1.0], [2.0, -1.0], [0.0, 0.0], [0, 0]),
    "a free one": case_of(TWO, [0.25, -1.0], [0.0, 0.0], [0.0, 0.25], [0, 0]),
    "starts of the wrong sign": case_of(TWO, [0.25, -1.0], [-2.0, 3.0], [0.25, 0.25], [1, -1]),
    "signs that hold everything back": case_of(TWO, [2.0, -1.0], [0.0, 0.0], [0.0, 0.25], [1, -1]),
    "already there": case_of([[1.0]], [0.5], [-1.0], [0.5], [0]),
}


@every_penalty
@pytest.mark.parametrize("what", DEGENERATE)
def test_coordinate_descent_on_degenerate_models(what: str, name: str) -> None:
    """Compiled and as Python: within the bounds as everywhere, and where the oracle stays, exactly there."""
    case, kind = DEGENERATE[what], PENALTIES[name]
    trace = oracle.descend(*case.lists(), kind.scalar, TOL, SWEEPS)
    assert not trace.doubtful or "equal columns" in what
    for kernel in (descend, descend.py_func):
        assert ran(kernel, case, kind, 0)[2:] == (0, 0.0)
        for m in range(1, SWEEPS + 1):
            found = ran(kernel, case, kind, m)
            assert trace.doubtful or trace.agrees(m, *found)
            assert np.isfinite(found[0]).all()
            stays = np.array(trace.w[min(m, len(trace.w)) - 1]) == case.w
            still = (np.diag(case.H) <= 0) & stays
            np.testing.assert_array_equal(found[0][still], case.w[still])
            barred = np.isinf(case.prices) & (np.diag(case.H) > 0)
            assert not found[0][barred].any()
            assert not (found[0] * case.monotone < 0)[np.diag(case.H) > 0].any()


# (penalty, h, target, price): 0 and another point are equally good, or 0 is left from there on; no number or product
# here is rounded.
EXACT_TIES = {
    # z = price sqrt(gamma / h): 1/8 both
    "mcp": (Kind(_scalar_prox.MCP, (0.25, 0.0), scalars.mcp(0.25), lambda a: 4.0), 1.0, 0.5, 1.0),
    # h z^2 / 2 = 2, what a flat coefficient pays
    "scad": (Kind(_scalar_prox.SCAD, (3.0, 1.0), scalars.scad(3.0, 1.0), lambda a: 0.5), 0.25, 4.0, 1.0),
    "l1, at the threshold": (PENALTIES["l1"], 2.0, 0.25, 0.5),
    "mcp, at the threshold": (PENALTIES["mcp"], 2.0, 0.25, 0.5),
    "scad, at the threshold": (PENALTIES["scad"], 2.0, 0.25, 0.5),
    "log, at the threshold": (Kind(_scalar_prox.LOG, (1.0, 0.0), scalars.log(1.0), lambda a: a), 2.0, 0.25, 0.5),
}


@pytest.mark.parametrize("what", EXACT_TIES)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_of_equally_good_points_coordinate_descent_takes_0(what: str, side: float) -> None:
    kind, h, z, price = EXACT_TIES[what]
    for start in (0.0, side * z):  # from the other point too
        case = case_of([[h]], [h * (start - side * z)], [start], [price], [0])
        assert oracle.descend(*case.lists(), kind.scalar, TOL, SWEEPS).w[-1] == [0.0]
        assert ran(descend, case, kind, SWEEPS)[0].tolist() == [0.0]
        more = case_of([[h]], [h * (start - 1.001 * side * z)], [start], [price], [0])
        assert ran(descend, more, kind, SWEEPS)[0][0] * side > 0


def test_of_equal_columns_coordinate_descent_uses_the_first_unless_another_is_cheaper() -> None:
    equal = [what for what in DEGENERATE if "equal" in what]
    ends = {what: ran(descend, DEGENERATE[what], PENALTIES["l1"], SWEEPS)[0].tolist() for what in equal}
    assert ends == {
        "equal columns": [1.5, 0.0],
        "equal columns, the cheaper later": [0.0, 1.75],
        "equal columns, the first barred": [0.0, 1.5],
    }


# -- blocks -----------------------------------------------------------------------------------------------------------

BLOCK_SWEEPS = 5
# Of a residual: 3 u of numbers below 10 at each of 3 steps, in so many sweeps of 11 columns.
BLOCKS_STRAYED = MAX_SWEEPS * 11 * 3 * 3 * 10 * scalars.U


def test_every_group_penalty_that_the_kernel_knows_is_compared() -> None:
    assert {PENALTIES[name].number for name in OF_GROUPS} == {
        cls.kind for cls in BY_NAME.values() if "feature_groups" in cls.respects
    }
    assert STEPS == oracle.BLOCK_STEPS


@dataclass(frozen=True)
class BlockCase:
    """A quadratic model and prices of blocks of consecutive columns; largest_h (n_blocks,) the largest curvature of
    each."""

    H: np.ndarray
    gradient: np.ndarray
    w: np.ndarray
    blocks: tuple[oracle.Block, ...]
    monotone: np.ndarray

    @property
    def largest_h(self) -> np.ndarray:
        return np.array([np.linalg.eigvalsh(self.H[np.ix_(b.columns, b.columns)])[-1] for b in self.blocks])

    def run(self, kernel: Callable, kind: Kind, sweeps: int, tol: float = TOL) -> tuple:
        """(w, residual, sweeps, largest step)"""
        w, residual = self.w.copy(), self.gradient.copy()
        starts = np.cumsum([0, *(len(b.columns) for b in self.blocks)])
        blocks = (starts, np.array([b.price for b in self.blocks], dtype=float))
        rules = (self.monotone, self.largest_h, kind.number, *kind.shape)
        done = kernel(self.H, residual, w, *blocks, *rules, tol, sweeps)
        return w, residual, int(done[0]), float(done[1])

    def trace(self, kind: Kind, tol: float = TOL, **wrong: str) -> oracle.Trace:
        model = (self.H.tolist(), self.gradient.tolist(), self.w.tolist(), self.blocks)
        rules = (self.monotone.tolist(), self.largest_h.tolist(), kind.scalar)
        return oracle.descend_blocks(*model, *rules, tol, BLOCK_SWEEPS, **wrong)

    def agrees_with(self, trace: oracle.Trace, kind: Kind) -> bool | None:
        """Whether the kernel is where the oracle is after each number of sweeps; None where the oracle cannot tell."""
        if says_nothing(trace):
            return None
        return all(trace.agrees(m, *self.run(descend_blocks, kind, m)) for m in range(1, BLOCK_SWEEPS + 1))

    def value(self, kind: Kind, u: np.ndarray) -> float:
        """The objective: model, and what blocks pay; of blocks without curvature, which stay, nothing."""
        step = u - self.w
        total = float(self.gradient @ step + 0.5 * step @ self.H @ step)
        for block, h in zip(self.blocks, self.largest_h, strict=True):
            if h <= 0:
                continue
            if any(u[c] * self.monotone[c] < 0 for c in block.columns):
                return math.inf
            size, price = oracle.size_of(u.tolist(), block.columns), block.price
            total += (kind.scalar.value(size, price) if price < math.inf else math.inf) if size > 0 else 0.0
        return total


LAYOUTS = {  # the length of each block
    "single columns": (1, 1, 1),
    "groups": (1, 3, 2),
    "one group": (4,),
    "large groups": (1, 3, 5, 2),
}


def random_blocks(seed: int, layout: str, *, definite: bool = False) -> BlockCase:
    """Columns of size about 1, a little correlated, with free and infinite prices of blocks; a block of zeros, or of
    which one column is zeros."""
    rng = np.random.default_rng([seed, 77])
    k = sum(LAYOUTS[layout])
    X = rng.standard_normal((10 * k, k)) + 0.2 * rng.standard_normal((10 * k, 1))
    if not definite:
        X[:, rng.integers(k)] = 0.0
    blocks, at = [], 0
    for n in LAYOUTS[layout]:
        free_or_barred, priced = rng.random() < 0.15, 0.3 * rng.random() + 0.02
        price = float(rng.choice([0.0, np.inf])) if free_or_barred else priced
        blocks.append(oracle.Block(tuple(range(at, at + n)), price))
        if not definite and rng.random() < 0.1:
            X[:, at : at + n] = 0.0
        at += n
    y = rng.standard_normal(len(X)) + X @ rng.choice([0.0, 1.0, -2.0], k)
    w = rng.standard_normal(k) * rng.integers(0, 2, k)
    H = X.T @ X / len(X) + (0.8 * np.eye(k) if definite else 0.0)
    monotone = np.repeat(rng.choice([0, 0, 1, -1], len(blocks)), [len(b.columns) for b in blocks])
    return BlockCase(0.5 * (H + H.T), X.T @ (X @ w - y) / len(X), w, tuple(blocks), monotone.astype(np.int64))


group_penalty = pytest.mark.parametrize("name", OF_GROUPS)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@group_penalty
@every_layout
def test_block_descent_is_where_plain_loops_are_after_every_sweep(name: str, layout: str) -> None:
    kind, cases = PENALTIES[name], [random_blocks(s, layout) for s in range(8)]
    verdicts = [case.agrees_with(case.trace(kind), kind) for case in cases]
    assert verdicts.count(True) >= 3
    assert False not in verdicts


WRONG_BLOCKS = ("stale", "one step", "mean curvature", "signs last", "monotone")


@pytest.mark.parametrize("wrong", WRONG_BLOCKS)
@pytest.mark.parametrize("name", ["l1", "mcp", "log"])
def test_wrong_block_descents_are_rejected(wrong: str, name: str) -> None:
    """Residuals of the beginning of the sweep, one step at each visit, steps of the mean curvature, the whole shortened
    before signs, signs forgotten."""
    verdicts = []
    for seed in range(8):
        case = random_blocks(seed, "large groups")
        changed = replace(case, monotone=0 * case.monotone) if wrong == "monotone" else case
        verdicts.append(case.agrees_with(changed.trace(PENALTIES[name], wrong=wrong), PENALTIES[name]))
    assert False in verdicts


def block_case(H: Any, gradient: list[float], w: list[float], *blocks: oracle.Block, sign: int = 0) -> BlockCase:
    k = len(gradient)
    H = np.array(H, dtype=float).reshape(k, k)
    return BlockCase(H, np.array(gradient), np.array(w), blocks, np.full(k, sign, dtype=np.int64))


Block = oracle.Block
BLOCK_DEGENERATE = {
    "no block": block_case([], [], []),
    "one column": block_case(np.eye(1), [-2.0], [0.0], Block((0,), 0.5)),
    "a block of zeros, not at 0": block_case(
        np.diag([0, 0, 1]), [0.0, 0.0, -2.0], [1.0, -1.0, 0.0], Block((0, 1), 0.5), Block((2,), 0.5)
    ),
    "one column of zeros within": block_case(
        np.diag([1, 0, 1]), [-2.0, 0.0, -1.0], [0.0, 1.0, 0.0], Block((0, 1, 2), 0.5)
    ),
    "equal columns in two blocks": block_case(
        np.ones((4, 4)), [-2.0] * 4, [0.0] * 4, Block((0, 1), 0.5), Block((2, 3), 0.5)
    ),
    "barred, but not at 0": block_case(
        np.eye(3), [0.5, 1.0, -2.0], [1.0, 2.0, 0.0], Block((0, 1), np.inf), Block((2,), 0.5)
    ),
    "signs that hold everything back": block_case(
        np.eye(3), [0.5, 1.0, 2.0], [0.0, 0.0, 0.0], Block((0, 1, 2), 0.25), sign=1
    ),
    "starts of the wrong sign": block_case(np.eye(2), [-0.5, 1.0], [1.0, 2.0], Block((0, 1), 0.25), sign=-1),
}


@group_penalty
@pytest.mark.parametrize("what", BLOCK_DEGENERATE)
def test_block_descent_on_degenerate_models(what: str, name: str) -> None:
    case, kind = BLOCK_DEGENERATE[what], PENALTIES[name]
    trace = case.trace(kind)
    assert not trace.doubtful or "equal columns" in what
    for kernel in (descend_blocks, descend_blocks.py_func):
        assert case.run(kernel, kind, 0)[2:] == (0, 0.0)
        for m in range(1, BLOCK_SWEEPS + 1):
            found = case.run(kernel, kind, m)
            assert trace.doubtful or trace.agrees(m, *found)
            assert np.isfinite(found[0]).all()
            for block, h in zip(case.blocks, case.largest_h, strict=True):
                at = list(block.columns)
                if h <= 0:
                    np.testing.assert_array_equal(found[0][at], case.w[at])
                else:
                    assert not (found[0] * case.monotone < 0)[at].any()
                    assert not found[0][at].any() or block.price < np.inf


def block_slack(case: BlockCase, tol: float) -> np.ndarray:
    """(n_blocks,) what is left of the optimality conditions of each block where a sweep ends: the last step of each
    column is at most tol / h, which moves the residual and the point where the penalty is looked at; and rounding,
    BLOCKS_STRAYED in the residual."""
    h_of = np.repeat(case.largest_h, [len(b.columns) for b in case.blocks])
    moved = (np.abs(case.H)[:, h_of > 0] / h_of[h_of > 0]).sum(axis=1)
    sizes = np.array([np.linalg.norm(moved[list(b.columns)]) + np.sqrt(len(b.columns)) for b in case.blocks])
    return tol * sizes + BLOCKS_STRAYED


def blocks_missed(case: BlockCase, kind: Kind, u: np.ndarray, tol: float) -> float:
    """By how much the gradient at u misses the subdifferential on some block with curvature, more than `block_slack`
    allows."""
    r = oracle.residual_at(case.H.tolist(), case.gradient.tolist(), case.w.tolist(), u.tolist())
    left = block_slack(case, tol)
    return max(
        oracle.block_distance(r, u.tolist(), b, case.monotone.tolist(), kind.scalar) - slack
        for b, h, slack in zip(case.blocks, case.largest_h, left, strict=True)
        if h > 0
    )


@group_penalty
@every_layout
def test_block_descent_falls_and_ends_at_the_optimum(name: str, layout: str) -> None:
    """The objective never rises; at the end the gradient is in the subdifferential, which where the whole is convex
    makes it the optimum. Other prices and signs forgotten end elsewhere."""
    kind, tol, wrong = PENALTIES[name], 1e-10, []
    for seed in range(20):
        case = random_blocks(seed, layout, definite=True)
        values = [case.value(kind, case.run(descend_blocks, kind, m, tol)[0]) for m in range(1, 30)]
        # A sum of at most 40 terms, none larger than what it starts from.
        assert np.diff(values).max() <= 100 * scalars.U * (1 + abs(values[0]))
        w, residual, sweeps, largest = case.run(descend_blocks, kind, MAX_SWEEPS, tol)
        assert sweeps < MAX_SWEEPS
        assert largest <= tol
        np.testing.assert_allclose(residual, case.gradient + case.H @ (w - case.w), rtol=0, atol=BLOCKS_STRAYED)
        assert blocks_missed(case, kind, w, tol) <= 0
        dearer = tuple(replace(b, price=10 + b.price) for b in case.blocks)
        others = (replace(case, blocks=dearer), replace(case, monotone=0 * case.monotone))
        ends = [other.run(descend_blocks, kind, MAX_SWEEPS, tol)[0] for other in others]
        wrong.append([blocks_missed(case, kind, u, tol) for u in ends])
    assert np.max(wrong, axis=0).min() > 1e-3
