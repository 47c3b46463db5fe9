"""Curves with every column and pair written out: loops and brute force, nothing from the package."""

import numpy as np


def ramps(X, at, n_segments, m):
    """(n, d * m): ramp b of feature j is 0 before knot b, 1 behind knot b + 1, straight between;
    columns of missing segments are 0."""
    out = np.zeros((len(X), X.shape[1] * m))
    for i in range(len(X)):
        for j in range(X.shape[1]):
            for b in range(n_segments[j]):
                passed = (X[i, j] - at[j][b]) / (at[j][b + 1] - at[j][b])
                out[i, j * m + b] = min(max(passed, 0.0), 1.0)
    return out


def ramps_that_go_on(X, at, n_segments, m):
    """A wrong variant: curves go on straight outside their knots."""
    out = ramps(X, at, n_segments, m)
    for i in range(len(X)):
        for j in range(X.shape[1]):
            L = n_segments[j]
            if L:
                below, above = X[i, j] - at[j][0], X[i, j] - at[j][L]
                out[i, j * m] += min(below, 0.0) / (at[j][1] - at[j][0])
                out[i, j * m + L - 1] += max(above, 0.0) / (at[j][L] - at[j][L - 1])
    return out


def nested(u, whole, bend):
    """whole |u| + bend |u without its first|"""
    return whole * np.sqrt(sum(x * x for x in u)) + bend * np.sqrt(sum(x * x for x in u[1:]))


def nested_prox(v, whole, bend, nonnegative=False):
    """argmin of |u - v|^2 / 2 + nested(u): the best point of finer and finer grids around the best so far."""
    rng = np.random.default_rng(0)

    def value(u):
        return 0.5 * ((u - v) ** 2).sum() + nested(u, whole, bend)

    def allowed(u):
        return np.maximum(u, 0.0) if nonnegative else u

    corners = [np.zeros(len(v)), v.copy(), np.concatenate([v[:1], np.zeros(len(v) - 1)])]
    best = min((allowed(c) for c in corners), key=value)
    spread = 1.0 + np.abs(v).max()
    for _ in range(60):
        trials = [best + spread * rng.standard_normal(len(v)) for _ in range(60)]
        trials += [best * np.concatenate([[1.0], np.zeros(len(v) - 1)]), np.zeros(len(v))]
        trials += [best * f for f in 1.0 + spread * rng.standard_normal(20)]
        best = min([best, *(allowed(t) for t in trials)], key=value)
        spread *= 0.75
    return best


def prox_in_the_wrong_order(v, whole, bend):
    """A wrong variant: the whole is shrunk first, then the bends."""
    size = np.linalg.norm(v)
    u = v * max(1.0 - whole / size, 0.0) if size > 0 else v
    bends = np.linalg.norm(u[1:])
    return np.concatenate([u[:1], u[1:] * (max(1.0 - bend / bends, 0.0) if bends > 0 else 0.0)])


def held_at_zero(v, whole, bend):
    """Whether 0 minimises v.u + nested(u): no direction of a dense set descends."""
    rng = np.random.default_rng(1)
    directions = [-v, np.concatenate([-v[:1], np.zeros(len(v) - 1)]), *rng.standard_normal((200, len(v)))]
    bends = np.linalg.norm(v[1:])
    if bends > 0:  # the steepest: along the whole of v, its bends shortened
        for share in np.linspace(0.0, 1.0, 201):
            directions.append(np.concatenate([-v[:1], -share * v[1:]]))
    return all(v @ d + nested(d, whole, bend) >= -1e-12 for d in directions)


def smallest_strength(v, beta, kappa):
    """The smallest alpha that holds v at 0, by bisection."""
    low, high = 0.0, 10.0 * (np.abs(v).sum() + 1.0) / beta
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if held_at_zero(v, middle * beta, middle * beta * kappa) else (middle, high)
    return high


def minimum(K, T, alpha, beta, kappa, width, steps=20000):
    """(objective, u) of the mean squared hinge over pairs (rows of K: sqrt(v) times differences of ramps, with v as the
    last column) plus alpha times the nested norms, by plain proximal gradient on explicit columns."""
    root, Z = K[:, -1], K[:, :-1] @ T
    h = 2.0 * np.linalg.eigvalsh(Z.T @ Z)[-1]
    u = np.zeros(Z.shape[1])

    def objective(u):
        slack = np.maximum(root - Z @ u, 0.0)
        blocks = u.reshape(-1, width)
        return (slack**2).sum() + alpha * sum(nested(b, w, w * k) for b, w, k in zip(blocks, beta, kappa, strict=True))

    z, momentum = u.copy(), 1.0
    for _ in range(steps):
        gradient = -2.0 * Z.T @ np.maximum(root - Z @ z, 0.0)
        v = z - gradient / h
        new = np.concatenate(
            [
                shrunk(b, alpha * w / h, alpha * w * k / h)
                for b, w, k in zip(v.reshape(-1, width), beta, kappa, strict=True)
            ]
        )
        if (z - new) @ (new - u) > 0:
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        z, u, momentum = new + (momentum - 1.0) / grown * (new - u), new, grown
    return objective(u), u


def shrunk(v, whole, bend):
    """The closed form of the prox, which `nested_prox` finds by search."""
    v = v.copy()
    bends = np.linalg.norm(v[1:])
    v[1:] *= max(1.0 - bend / bends, 0.0) if bends > 0 else 0.0
    size = np.linalg.norm(v)
    return v * (max(1.0 - whole / size, 0.0) if size > 0 else 0.0)
