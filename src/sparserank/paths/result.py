"""Results of a path: data and plots."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.varying import ROUNDING
from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.options import Count
from sparserank.options.arguments import Position, check_arguments
from sparserank.paths.certificate import Certificate, certificate_of
from sparserank.penalties import FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.solvers import Solution, Status

if TYPE_CHECKING:
    from sparserank.arrow import pa


@dataclass(frozen=True)
class Point:
    """The solution at one strength of a path.

    coef is (1, n_features), sparse: a path stores as many numbers as its models have features. n_iter is 0 if the
    point was found while the previous strength was solved; the time of its evaluation counts for the previous point.
    """

    coef: sp.csr_array
    loss: float
    objective: float
    kkt_violation: float
    gap: float
    n_iter: int
    time_s: float
    status: str

    @classmethod
    def of(cls, s: Solution, seconds: float) -> Point:
        gap = np.nan if s.gap is None else s.gap
        return cls(
            sp.csr_array(s.w[None, :]),
            s.loss,
            s.value,
            s.kkt_violation,
            gap,
            s.n_iter,
            seconds,
            s.status.value,
        )

    @classmethod
    def not_certified(cls, w: np.ndarray, loss: float, seconds: float) -> Point:
        """A point at w that solves no problem."""
        unknown = np.nan
        return cls(sp.csr_array(w[None, :]), loss, loss, unknown, unknown, 0, seconds, Status.NOT_CERTIFIED.value)


@dataclass(frozen=True)
class PathCertificate:
    """Quality of the solutions of a path: statuses, largest kkt_violation relative to alpha_max of l1, largest gap (and
    the models for which it is valid, if these are not all), seconds."""

    status: str
    kkt_violation: float
    gap: float | None
    gap_condition: str | None
    time_s: float


@dataclass(frozen=True, repr=False)
class PathResult:
    """Solutions for decreasing regularisation strengths, each with its certificate, as returned by `fit_path`.

    Attributes
    ----------
    penalty : Penalty
        The penalty with its resolved shape parameters.
    alphas : ndarray of shape (n_alphas,)
        Regularisation strengths, decreasing; NaN for a path by size.
    sparse_coefs : CSR array of shape (n_alphas, n_features)
        Coefficients of the scaled features.
    losses, objectives : ndarray of shape (n_alphas,)
        Mean loss; mean loss plus penalty.
    kkt_violations : ndarray of shape (n_alphas,)
        Largest distance of -gradient to the subdifferential.
    gaps : ndarray of shape (n_alphas,)
        Duality gaps, NaN if the problem is not convex; `penalty.gap_condition` names the models for which they are
        valid with always-kept features.
    n_iters : ndarray of shape (n_alphas,)
        Numbers of iterations; 0 if the solution was found together with that of the previous strength.
    times_s : ndarray of shape (n_alphas,)
        Times in seconds.
    statuses : tuple of str
        'optimal', 'stationary', 'stalled', 'iteration limit' or 'not certified'.
    alpha_max, l1_alpha_max : float
        Strength at the start of the path; scale of the tolerances.
    ridge : ndarray of shape (n_alphas,) or None
        For refits and points of best_k: strength of the ridge problem, on the features of the point, to which the
        certificate applies. NaN: the point solves no problem.
    scaling : FeatureScaling or None
        Scaling of the features; None: they are not scaled.
    values : ndarray of shape (n_metrics, n_alphas, n_queries) or None
        In a cross-validation: metrics on queries that the path has not seen.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> path = sr.fit_path(data, "l1", n_alphas=5)
    >>> path.alphas.shape, path.coefs.shape, set(path.statuses)
    ((5,), (5, 10), {'optimal'})
    """

    penalty: FeatureRules
    alphas: np.ndarray
    sparse_coefs: sp.csr_array
    losses: np.ndarray
    objectives: np.ndarray
    kkt_violations: np.ndarray
    gaps: np.ndarray
    n_iters: np.ndarray
    times_s: np.ndarray
    statuses: tuple[str, ...]
    alpha_max: float
    l1_alpha_max: float
    n_pairs: int
    total_weight: float
    feature_names: tuple[str, ...]
    width: int = 1  # coefficients of each feature, side by side
    ridge: np.ndarray | None = None
    scaling: FeatureScaling | None = None
    values: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        points: Sequence[Point],
        penalty: FeatureRules,
        alphas: np.ndarray,
        alpha_max: float,
        l1_alpha_max: float,
        objective: PairwiseObjective,
        ridge: np.ndarray | None = None,
    ) -> PathResult:
        """Create the path of an objective from these points, one per alpha."""
        coefs = sp.csr_array((0, objective.n_features))
        if points:
            coefs = sp.csr_array(sp.vstack([p.coef for p in points], format="csr"))
        return cls(
            penalty,
            alphas.copy(),
            significant(coefs, objective),
            np.array([p.loss for p in points]),
            np.array([p.objective for p in points]),
            np.array([p.kkt_violation for p in points]),
            np.array([p.gap for p in points]),
            np.array([p.n_iter for p in points]),
            np.array([p.time_s for p in points]),
            tuple(p.status for p in points),
            alpha_max,
            l1_alpha_max,
            objective.n_pairs,
            objective.total_weight,
            objective.feature_names,
            objective.width,
            ridge,
        )

    def __repr__(self) -> str:
        sizes = f"{self.nnz.min()} to {self.nnz.max()}" if len(self.alphas) else "no"
        return (
            f"PathResult({self.penalty.label}, {len(self.alphas)} points, {sizes} of {len(self.feature_names)} "
            "features)"
        )

    @property
    def scaled_coefs(self) -> np.ndarray:
        """(n_alphas, n_features) coefficients of the scaled features; with steps, (n_alphas, n_features * width)."""
        return np.asarray(self.sparse_coefs.toarray())

    @property
    def coefs(self) -> np.ndarray:
        """Coefficients of shape (n_alphas, n_features), in units of X.

        Raises
        ------
        DataError
            The path has steps.
        """
        if self.width > 1:
            raise DataError(
                "a path of steps has no coefficients in units of X; use scaled_coefs, the jumps between bins."
            )
        return self.scaled_coefs if self.scaling is None else self.scaled_coefs / self.scaling.scale

    def scaled_coef(self, index: int) -> np.ndarray:
        """(n_features,) coefficients of one point, of the scaled features."""
        check_arguments(PathResult.scaled_coef, locals(), index=Position(len(self.alphas), "point"))
        return np.asarray(self.sparse_coefs[[index]].toarray()[0])

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The features that some point uses, and (n_alphas, number of these features) values for plots: the
        coefficient of a feature, or the norm of its coefficients."""
        columns = np.unique(self.sparse_coefs.indices)
        dense = self.sparse_coefs[:, columns].toarray()
        if self.width == 1:
            return columns, dense
        features, of_column = np.unique(columns // self.width, return_inverse=True)
        squares = np.zeros((len(self.alphas), len(features)))
        np.add.at(squares.T, of_column, dense.T**2)
        return features, np.sqrt(squares)

    @property
    def weights_sum(self) -> np.ndarray:
        """(n_alphas,) l1 norm of the coefficients; with steps, the sum of the features' norms."""
        return np.asarray(np.abs(self.weights()[1]).sum(axis=1))

    @property
    def nnz(self) -> np.ndarray:
        """(n_alphas,) number of selected features."""
        return n_used(self.sparse_coefs, self.width)

    @property
    def ranks(self) -> np.ndarray:
        """(n_alphas,) numbers by which points within a size are compared, lower is better: their losses; of steps,
        which do not minimise this loss, minus their sizes."""
        return -self.nnz.astype(np.float64) if self.penalty.on_steps else self.losses

    def support(self, index: int) -> np.ndarray:
        """Selected features of one point, 0-based."""
        check_arguments(PathResult.support, locals(), index=Position(len(self.alphas), "point"))
        lo, hi = self.sparse_coefs.indptr[int(index) % len(self.alphas) :][:2]
        return np.unique(self.sparse_coefs.indices[lo:hi] // self.width)

    def certificate_at(self, index: int, penalty: FeatureRules | None = None) -> Certificate:
        """The certificate of one point. penalty: of the path whose points these are or refit, by default this one."""
        return certificate_of(
            (self.penalty if penalty is None else penalty).with_alpha(float(self.alphas[index])),
            len(self.feature_names),
            self.statuses[index],
            float(self.kkt_violations[index]),
            float(self.gaps[index]),
            None if self.ridge is None else float(self.ridge[index]),
        )

    def certificate(self) -> PathCertificate:
        """Return the worst values over the whole path."""
        gaps = self.gaps[np.isfinite(self.gaps)]
        return PathCertificate(
            status=" / ".join(dict.fromkeys(self.statuses)),
            kkt_violation=float(self.kkt_violations.max()) / self.l1_alpha_max,
            gap=float(gaps.max()) if len(gaps) else None,
            gap_condition=self.penalty.gap_condition(len(self.feature_names)) if len(gaps) else None,
            time_s=float(self.times_s.sum()),
        )

    def in_units(self, coefs: sp.csr_array) -> sp.csr_array:
        """Coefficients (n, n_features * width) in units of the features themselves; steps have no other."""
        assert self.scaling is not None
        if self.width > 1:
            return coefs
        scale = self.scaling.scale
        return sp.csr_array((coefs.data / scale[coefs.indices], coefs.indices, coefs.indptr), shape=coefs.shape)

    def without_traces(self, share: float) -> PathResult:
        """The path without coefficients whose absolute value, divided by the scale, is below this share of the sum over
        their point. Other fields remain those of the solutions."""
        assert self.scaling is not None
        return replace(self, sparse_coefs=_without_traces(self.sparse_coefs, 1.0 / self.scaling.scale, share))

    def truncate(self, k: int) -> PathResult:
        """Cut every point to its k largest |scaled coefficients|, without refit; certificates no longer apply (NaN)."""
        check_arguments(PathResult.truncate, locals(), k=Count())
        if self.width > 1:
            raise DataError("a path of steps cannot be truncated: its features have several coefficients.")
        coefs = self.sparse_coefs.copy()
        for lo, hi in pairwise(coefs.indptr.tolist()):
            coefs.data[lo:hi][np.argsort(-np.abs(coefs.data[lo:hi]), kind="stable")[k:]] = 0.0
        coefs.eliminate_zeros()
        nothing = np.full(len(self.alphas), np.nan)
        return replace(
            self,
            sparse_coefs=coefs,
            losses=nothing,
            objectives=nothing,
            kkt_violations=nothing,
            gaps=nothing,
            statuses=("truncated",) * len(self.alphas),
        )

    def plot(self, axes: Any = None) -> Any:
        """Plot the coefficients against the strength, with the features of the last point in colour.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Default: new axes.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        from sparserank.report.figures import plot_path

        return plot_path(self, axes)

    def to_table(self) -> Any:
        """Return `to_arrow` as a pandas frame if pandas is installed, otherwise as an Arrow table."""
        table = self.to_arrow()
        return table.to_pandas() if importlib.util.find_spec("pandas") else table

    def to_arrow(self) -> pa.Table:
        """Return a tidy Arrow table, one row per alpha; C_sum and C_mean are the same strength on the papers' scales,
        r is the l1 norm."""
        from sparserank.arrow import pa

        with np.errstate(divide="ignore"):
            c_mean = 1.0 / self.alphas
        return pa.table(
            {
                "penalty": [self.penalty.label] * len(self.alphas),
                "alpha": self.alphas,
                "alpha_fraction": self.alphas / self.alpha_max if self.alpha_max > 0 else np.ones_like(self.alphas),
                "C_sum": c_mean / self.total_weight,
                "C_mean": c_mean,
                "r": self.weights_sum,
                "nnz": self.nnz,
                "loss": self.losses,
                "objective": self.objectives,
                "kkt_violation": self.kkt_violations,
                "gap": self.gaps,
                "n_iter": self.n_iters,
                "time_s": self.times_s,
                "status": list(self.statuses),
                "features": [[self.feature_names[j] for j in self.support(i)] for i in range(len(self.alphas))],
            }
        )


def n_used(coefs: sp.csr_array, width: int) -> np.ndarray:
    """(n,) number of features in use by each row of coefs (n, n_features * width) CSR."""
    if width == 1:
        return np.diff(coefs.indptr).astype(np.int64)
    point = np.repeat(np.arange(coefs.shape[0]), np.diff(coefs.indptr))
    used = np.unique(point * coefs.shape[1] + coefs.indices // width)
    return np.bincount(used // coefs.shape[1], minlength=coefs.shape[0])


def significant(coefs: sp.csr_array, objective: PairwiseObjective) -> sp.csr_array:
    """Coefficients (n, n_features) without those whose contribution to a score is below its rounding error."""
    return _without_traces(coefs, np.sqrt(objective.pair_norms), ROUNDING)


def _without_traces(coefs: sp.csr_array, units: np.ndarray, share: float) -> sp.csr_array:
    """Coefficients (n, n_columns), in these units (n_columns,), without those of at most this share of the sum of their
    row."""
    row = np.repeat(np.arange(coefs.shape[0]), np.diff(coefs.indptr))
    sizes = np.abs(coefs.data) * units[coefs.indices]
    traces = sizes < share * np.bincount(row, sizes, coefs.shape[0])[row]
    if not traces.any():
        return coefs
    out = coefs.copy()
    out.data[traces] = 0.0
    out.eliminate_zeros()
    return out
