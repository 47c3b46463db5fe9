"""Coordinate and block descent on a quadratic model plus a penalty: plain loops, residuals summed anew at every visit,
nothing from the package.

Model: gradient.(u - w) + (u - w)^T H (u - w) / 2 + penalty(u), from u = w.

Every iterate comes with a bound on how far another program may be off that makes the same steps in floating point. It
is a running error analysis (Wilkinson; Higham (2002), section 3.3), u = 2^-53 the unit roundoff:
    * a residual that is kept up to date strays from the gradient at its own iterate by 2 u |H_ij step| + u |residual_i|
      with every step;
    * errors E_i of the iterate move the target z of a prox by sum over i != j of |H_ji| E_i / h; its own error cancels.
      Of a block, in Euclidean norms, it stays: I - H / h has norm <= 1;
    * a prox stretches what comes in by its slope in z, h / (h + p''), at least 1 and 0 where it is 0, and adds
      ROUNDINGS u (|z| + the width of the penalty) times that (`scalars.minimiser`);
    * decisions (0 or not, over `tol` or not) must not hang on that. A trace in which one does is `doubtful`, and says
      nothing.
A bound is doubled where it is used, for products of errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracles.scalars import INF, ROUNDINGS, Scalar, U, minimiser

BLOCK_STEPS = 3  # prox steps at a visit to a block of several columns


@dataclass
class Trace:
    """What holds after each sweep, and by how much another program may be off; `doubtful`: its decisions may be
    others."""

    w: list[list[float]] = field(default_factory=list)
    residual: list[list[float]] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    off_w: list[list[float]] = field(default_factory=list)
    off_residual: list[list[float]] = field(default_factory=list)
    off_largest: list[float] = field(default_factory=list)
    doubtful: bool = False

    def agrees(self, m: int, w: Sequence[float], residual: Sequence[float], sweeps: int, largest: float) -> bool:
        """Whether that is what holds after at most m sweeps, within the bounds."""
        at = min(m, len(self.w)) - 1
        if sweeps != at + 1:
            return False
        pairs = [
            *zip(w, self.w[at], self.off_w[at], strict=True),
            *zip(residual, self.residual[at], self.off_residual[at], strict=True),
            (largest, self.largest[at], self.off_largest[at]),
        ]
        return all(abs(a - b) <= 2 * off for a, b, off in pairs)

    def same_zeros(self, m: int, w: Sequence[float]) -> bool:
        return [v == 0 for v in w] == [v == 0 for v in self.w[min(m, len(self.w)) - 1]]


class Model:
    """A quadratic model at an iterate, summed anew whenever it is asked, and the bounds on what rounding can change in
    a program that keeps its residual.

    `off` holds one for each block of columns, on the Euclidean norm.
    """

    def __init__(self, H, gradient, w, blocks):
        self.H, self.gradient, self.start, self.w = H, list(gradient), list(w), list(w)
        self.n = range(len(self.w))
        self.block_of = {c: b for b, columns in enumerate(blocks) for c in columns}
        self.norms = [[size_of(H[j], columns) for columns in blocks] for j in self.n]
        self.off = [0.0] * len(blocks)
        self.strayed = [0.0] * len(self.w)

    def residual(self, j: int) -> float:
        return math.fsum([self.gradient[j], *(self.H[j][i] * (self.w[i] - self.start[i]) for i in self.n)])

    def noise(self, j: int, but: int = -1) -> float:
        """By how much the residual may be off: what the other program's has strayed, this one's sum, and errors of the
        iterate but in block `but`."""
        terms = [abs(self.H[j][i] * (self.w[i] - self.start[i])) for i in self.n]
        of_iterate = [norm * off for b, (norm, off) in enumerate(zip(self.norms[j], self.off, strict=True)) if b != but]
        return self.strayed[j] + 2 * U * math.fsum(terms) + U * abs(self.residual(j)) + math.fsum(of_iterate)

    def move(self, j: int, x: float) -> float:
        """The step to w_j = x."""
        step, self.w[j] = x - self.w[j], x
        for i in self.n:
            self.strayed[i] += 2 * U * abs(self.H[j][i] * step) + U * abs(self.residual(i))
        return step

    def record(self, trace: Trace, largest: float, off_largest: float) -> None:
        trace.w.append(list(self.w))
        trace.off_w.append([self.off[self.block_of[j]] for j in self.n])
        trace.residual.append([self.residual(j) for j in self.n])
        trace.off_residual.append([self.noise(j) for j in self.n])
        trace.largest.append(largest)
        trace.off_largest.append(off_largest)


def descend(H, gradient, w, prices, monotone, p, tol, max_sweeps, wrong=""):
    """Coordinate after coordinate to its minimiser, until a sweep over all of them has no step above tol in units of
    the gradient; after a sweep with one, the next visits only those that are not 0. A coordinate without curvature
    stays.

    Wrong variants: "stale" takes the residuals of the beginning of the sweep, "all" visits all in every sweep,
    "unscaled" forgets the curvature in the prox.
    """
    n = range(len(w))
    model, trace = Model(H, gradient, w, [[j] for j in n]), Trace()
    full = True
    while len(trace.w) < max_sweeps:
        largest = off_largest = 0.0
        before = [model.residual(j) for j in n]
        for j in n:
            h = H[j][j]
            if h <= 0 or (not full and wrong != "all" and model.w[j] == 0):
                continue
            r = before[j] if wrong == "stale" else model.residual(j)
            z = model.w[j] - r / h
            off = model.noise(j, but=j) / h + 2 * U * (abs(r) / h + abs(z))
            found = minimiser(p, z, 1.0 if wrong == "unscaled" else h, prices[j], monotone[j])
            trace.doubtful |= off > 0 and 2 * off >= found.safe
            before_off, model.off[j] = model.off[j], found.stretch * off + found.added
            step = model.move(j, found.x)
            largest = max(largest, abs(step) * h)
            off_largest = max(off_largest, (before_off + model.off[j] + 2 * U * abs(step)) * h)
        model.record(trace, largest, off_largest)
        trace.doubtful |= abs(largest - tol) <= 2 * off_largest
        if largest <= tol and full:
            break
        full = largest <= tol
    return trace


@dataclass(frozen=True)
class Block:
    """Columns that pay p(|u|; price) together."""

    columns: Sequence[int]
    price: float


def size_of(u: Sequence[float], columns: Sequence[int]) -> float:
    return math.sqrt(math.fsum(u[c] * u[c] for c in columns))


def shrunk(v, block, monotone, h, p, wrong=""):
    """(argmin over u of h/2 |u - v|^2 + p(|u|; price), under monotone; what was found of |u|).

    Signs first, then the whole is shortened to the minimiser of its size. Wrong variant: "signs last".
    """
    u = {c: 0.0 if monotone[c] * x < 0 and wrong != "signs last" else x for c, x in v.items()}
    size = math.sqrt(math.fsum(x * x for x in u.values()))
    found = minimiser(p, size, h, block.price)
    for c in u:
        u[c] *= found.x / size if size > 0 else 0.0
    return {c: 0.0 if monotone[c] * x < 0 else x for c, x in u.items()}, found


def descend_blocks(H, gradient, w, blocks, monotone, largest_h, p, tol, max_sweeps, wrong=""):
    """Block after block a few prox steps with its largest curvature; otherwise as `descend`.

    Wrong variants, besides those of `shrunk`: "stale", "one step" at each visit, and "mean curvature" for the largest.
    """
    n = range(len(w))
    model, trace = Model(H, gradient, w, [block.columns for block in blocks]), Trace()
    full = True
    while len(trace.w) < max_sweeps:
        largest = off_largest = 0.0
        before = [model.residual(j) for j in n]
        for b, (block, h) in enumerate(zip(blocks, largest_h, strict=True)):
            columns = block.columns
            if wrong == "mean curvature":
                h = math.fsum(H[c][c] for c in columns) / len(columns)
            if h <= 0 or (not full and all(model.w[c] == 0 for c in columns)):
                continue
            for _ in range(1 if len(columns) == 1 or wrong == "one step" else BLOCK_STEPS):
                r = {c: before[c] if wrong == "stale" else model.residual(c) for c in columns}
                v = {c: model.w[c] - r[c] / h for c in columns}
                around = [model.noise(c, but=b) / h + 2 * U * (abs(r[c]) / h + abs(v[c])) for c in columns]
                off = math.sqrt(math.fsum(x * x for x in around)) + (model.off[b] if len(columns) > 1 else 0.0)
                length = math.sqrt(math.fsum(x * x for x in v.values()))
                off += (len(columns) + ROUNDINGS) * U * length
                u, found = shrunk(v, block, monotone, h, p, wrong)
                trace.doubtful |= off > 0 and 2 * off >= found.safe
                before_off, model.off[b] = model.off[b], found.stretch * off + found.added
                most = off_most = 0.0
                for c in columns:
                    step = model.move(c, u[c])
                    most = max(most, abs(step) * h)
                    off_most = max(off_most, (before_off + model.off[b] + 2 * U * abs(step)) * h)
                largest, off_largest = max(largest, most), max(off_largest, off_most)
                trace.doubtful |= len(columns) > 1 and abs(most - tol) <= 2 * off_most
                if most <= tol:
                    break
        model.record(trace, largest, off_largest)
        trace.doubtful |= abs(largest - tol) <= 2 * off_largest
        if largest <= tol and full:
            break
        full = largest <= tol
    return trace


# -- optima -----------------------------------------------------------------------------------------------------------


def residual_at(
    H: Sequence[Sequence[float]], gradient: Sequence[float], w: Sequence[float], u: Sequence[float]
) -> list[float]:
    """The gradient of the model at u."""
    n = range(len(w))
    return [math.fsum([gradient[j], *(H[j][i] * (u[i] - w[i]) for i in n)]) for j in n]


def distance(r: float, u: float, price: float, sign: int, p: Scalar) -> float:
    """How far -r is from the subdifferential at u of p(|u|; price) under a sign."""
    if price == INF:
        return INF if u else 0.0
    if sign * u < 0:
        return INF
    if u:
        return abs(r + math.copysign(p.slope(abs(u), price), u))
    low = -INF if sign == 1 else -p.slope(0.0, price)  # below 0 a sign of 1 lets nothing pass
    high = INF if sign == -1 else p.slope(0.0, price)
    return max(low - -r, -r - high, 0.0)


def block_distance(r: Sequence[float], u: Sequence[float], block: Block, monotone: Sequence[int], p: Scalar) -> float:
    """How far -r is on a block from the subdifferential of p(|u|), under signs."""
    if block.price == INF:
        return INF if any(u[c] for c in block.columns) else 0.0
    if any(monotone[c] * u[c] < 0 for c in block.columns):
        return INF
    size = size_of(u, block.columns)
    rest = {}
    for c in block.columns:
        rest[c] = -r[c] - (p.slope(size, block.price) * u[c] / size if size else 0.0)
        if u[c] == 0 and monotone[c] * rest[c] < 0:
            rest[c] = 0.0  # the sign holds it back
    length = math.sqrt(math.fsum(x * x for x in rest.values()))
    return length if size else max(length - p.slope(0.0, block.price), 0.0)
