"""Quantiles of the largest standardised lead over each candidate, if all candidates are equally good and their means
differ only by chance."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sparserank.evaluation._lead_kernels import GROUP, largest_leads

ROUND = 4096  # draws per round; half are points, and half are the mirror images of these points (antithetic)
PILOT = 1024  # draws that locate the quantiles roughly; they are not used otherwise
SURELY_BELOW = 0.9  # share of the pilot's quantile below which a lead needs no exact value
SLACK = 0.999  # safety factor on floors; float32 rounding changes a standardised lead by far less
PRIMES = np.array([n for n in range(2, 312) if all(n % p for p in range(2, n))])
EVEN = len(PRIMES)  # 64 leading components, which get quasi-random points; the others get pseudo-random ones


class Leads:
    """Largest leads (z_i - z_j) / error_ij over each candidate j, z normal with the covariance of the candidates'
    means (multiple comparisons with the best, Hsu 1981).

    Definition: L_j = max(0, max over i of (z_i - z_j) / error_ij), z ~ N(0, covariance); without candidates i of
    error 0.

    A draw needs L_j only if it may exceed a floor below the quantile. If the largest z of a group of candidates exceeds
    z_j by no more than floor times the smallest error of the group against j, no lead in the group exceeds the floor,
    and the group is skipped. A quantile that is not above its floor is computed again from all leads.

    Parameters
        covariance   (m, m) of the means
        error        (m, m) >= 0, symmetric, 0 on the diagonal
        confidence   of the quantiles, > 0.5 and < 1
    """

    def __init__(self, covariance: np.ndarray, error: np.ndarray, confidence: float, seed: int) -> None:
        # Factor the covariance: z = root @ standard normal. Leads are differences, so z may be taken less its mean over
        # the candidates, which leaves more digits; units are such that the largest error is 1.
        unit = float(error.max())
        mean = covariance.mean(axis=0)
        of_differences = covariance - mean - mean[:, None] + mean.mean()
        size, directions = np.linalg.eigh(of_differences / unit**2)
        size = size[::-1]
        directions = directions[:, ::-1]
        rank = max(int((size > size[0] * len(size) * np.finfo(float).eps).sum()), 1)
        root = directions[:, :rank] * np.sqrt(np.maximum(size[:rank], 0.0))
        # Sort similar candidates into groups, so that whole groups can be skipped.
        self._order = _neighbours_together(root, np.arange(len(root)))
        self._root = root[self._order]
        error = error[np.ix_(self._order, self._order)] / unit
        has_error = error > 0
        self._inverse = np.divide(1.0, error, out=np.zeros_like(error), where=has_error).astype(np.float32)
        starts = np.arange(0, len(root), GROUP)
        # Smallest error of each group against each candidate, which decides whether the group can be skipped.
        self._least = np.minimum.reduceat(np.where(has_error, error, np.inf), starts, axis=1)
        self._starts = starts
        self._confidence = confidence
        self._rng = np.random.default_rng(seed)
        # A pilot finds the quantiles roughly; a share of them is the floor of the later draws.
        floor = np.full(len(root), SURELY_BELOW * float(ndtri(confidence)))
        self._floor = SURELY_BELOW * self._quantiles(PILOT, floor)

    def round(self) -> np.ndarray:
        """(m,) quantiles of L from ROUND draws, which are independent of those of other rounds."""
        out = np.empty(len(self._order))
        out[self._order] = self._quantiles(ROUND, self._floor)
        return out

    def _quantiles(self, n_draws: int, floor: np.ndarray) -> np.ndarray:
        """(m,) quantiles of L from new draws, in the order of the groups; leads below floor (m,) need no exact
        value."""
        # Draw points and their mirror images, which makes the sample symmetric.
        points = normal_points(self._rng, n_draws // 2, self._root.shape[1])
        half = (points @ self._root.T).astype(np.float32)
        z = np.concatenate([half, -half])
        everyone = np.arange(len(floor))
        # Quantiles from leads above the floor; a quantile that is not above its floor is computed again from all leads.
        low, high, share = neighbours_of_quantile(self._largest(z, floor, everyone), self._confidence)
        again = np.flatnonzero(low <= floor)
        if len(again):
            largest = self._largest(z, np.zeros_like(floor), again)
            low[again], high[again], _ = neighbours_of_quantile(largest, self._confidence)
        return np.asarray((1.0 - share) * low + share * high)

    def _largest(self, z: np.ndarray, floor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(len(rows), n_draws) L of these candidates where it exceeds the floor, and elsewhere a value from 0 to the
        floor."""
        # A group may be skipped if its largest z exceeds that of the candidate by at most floor times the smallest
        # error.
        top = np.maximum.reduceat(z, self._starts, axis=1)
        room = np.where(floor[:, None] > 0, SLACK * floor[:, None] * self._least, 0.0).astype(np.float32)
        out = np.empty((len(rows), len(z)), dtype=np.float32)
        largest_leads(z, top, self._inverse, room, rows, out)
        return out


def normal_points(rng: np.random.Generator, n_points: int, n_dimensions: int) -> np.ndarray:
    """(n_points, n_dimensions) standard normal points; the first EVEN dimensions are spread evenly over the quantiles.

    Source
        Multiples of square roots of primes, shifted at random and folded (Richtmyer 1951; Genz and Bretz 2009,
        Computation of Multivariate Normal and t Probabilities, section 4.2.2).
    """
    # Pseudo-random normals in all dimensions; the first ones are replaced by a randomly shifted lattice.
    points = rng.standard_normal((n_points, n_dimensions))
    even = min(EVEN, n_dimensions)
    steps = np.sqrt(PRIMES[:even])
    u = (np.arange(1, n_points + 1)[:, None] * steps + rng.random(even)) % 1.0
    points[:, :even] = ndtri(np.clip(np.abs(2.0 * u - 1.0), 1e-15, 1.0 - 1e-15))
    return points


def _neighbours_together(root: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The members, sorted so that consecutive runs of GROUP are similar: halved repeatedly along the component in which
    they vary most."""
    if len(members) <= GROUP:
        return members
    widest = int(np.argmax(root[members].var(axis=0)))
    members = members[np.argsort(root[members, widest], kind="stable")]
    half = GROUP * ((len(members) + GROUP) // (2 * GROUP))
    return np.concatenate([_neighbours_together(root, members[:half]), _neighbours_together(root, members[half:])])


def neighbours_of_quantile(draws: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray, float]:
    """The two order statistics of draws (..., n_draws) between which the quantile lies, and the share of the way from
    the first to the second. The quantile is median-unbiased for almost any distribution (Hyndman and Fan 1996,
    definition 8)."""
    position = (draws.shape[-1] + 1.0 / 3.0) * confidence + 1.0 / 3.0  # among the sorted draws, counted from 1
    k = int(position)
    both = np.partition(draws, [k - 1, k])[..., k - 1 : k + 1].astype(np.float64)
    return both[..., 0], both[..., 1], position - k
