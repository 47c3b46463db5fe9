"""Penalties written out as scalar formulas, and their prox by search: nothing from the package."""

import math

import numpy as np
from scipy.optimize import minimize_scalar


def l1(t, alpha):
    return alpha * t


def elastic(t, alpha, l1_ratio):
    return alpha * (l1_ratio * t + (1 - l1_ratio) * t * t / 2)


def ridge(t, alpha):
    return alpha * t * t / 2


def lp(t, alpha, p):
    return alpha * t**p


def smoothed_lp(t, alpha, p, eps):
    return alpha * eps**p * math.expm1(p * math.log1p(t / eps))  # (t + eps)^p - eps^p without cancellation


def log(t, alpha, eps):
    return alpha * math.log(1 + t / eps)


def mcp(t, alpha, gamma):
    return alpha * t - t * t / (2 * gamma) if t <= gamma * alpha else gamma * alpha * alpha / 2


def scad(t, alpha, a, s):
    """By integrating its slope: alpha up to s alpha, (a s alpha - t) / ((a - 1) s) up to a s alpha, then 0."""
    first, last = s * alpha, a * s * alpha
    value = alpha * min(t, first)
    if t > first:
        top = min(t, last)
        value += ((last * top - top**2 / 2) - (last * first - first**2 / 2)) / ((a - 1) * s)
    return value


def brute_force_prox(penalty, z, h, sign=0):
    """argmin over x of h/2 (x - z)^2 + penalty(|x|): a grid over all that can be optimal, then golden section."""

    def objective(x):
        return h / 2 * (x - z) ** 2 + penalty(abs(x))

    low, high = min(z, 0.0), max(z, 0.0)
    if sign > 0:
        low, high = 0.0, max(high, 0.0)
    if sign < 0:
        low, high = min(low, 0.0), 0.0
    grid = np.linspace(low, high, 2001)
    best = min(grid, key=objective)
    width = (high - low) / 2000
    if width > 0:
        fine = minimize_scalar(
            objective,
            bounds=(max(low, best - width), min(high, best + width)),
            method="bounded",
            options={"xatol": 1e-12},
        )
        if fine.fun < objective(best):
            best = float(fine.x)
    return 0.0 if objective(0.0) <= objective(best) else float(best)
