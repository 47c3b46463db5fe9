"""What a comparison says: systems by size, with intervals that hold for all sizes of a system at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from sparserank import __version__
from sparserank.crossval.trees import TreeSettings
from sparserank.evaluation.loss_bounds import MIN_QUERIES
from sparserank.evaluation.statistics import mean_interval
from sparserank.selection.statements import counted
from sparserank.strict_json import plain

FORMAT, FORMAT_VERSION = "sparserank-comparison", 1
ALL = "trees on all features"
CHOICE = "our choice"
N_DRAWS = 2000


@dataclass(frozen=True)
class ComparedSystem:
    """name; k, the number of features it may use (None: its own business);
    values (n_queries,), means over repeats and seeds."""

    name: str
    k: int | None
    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values))


@dataclass(frozen=True)
class Costs:
    """Means over folds: seconds to fit the trees on all features, seconds to score a document, bytes of their model;
    seconds of all our paths."""

    fitting: float
    scoring: float
    n_bytes: float
    ours: float


@dataclass(frozen=True)
class ComparisonResult:
    """The result of `compare_with_trees`.

    Attributes
    ----------
    systems : list of ComparedSystem
        Our models by penalty and size, trees by list and size, and two systems without a size: our choice, and the
        trees on all features.
    n_chosen : list of int
        Number of features of our choice in each repetition.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> result = sr.trees.compare_with_trees(data, penalties="mcp", sizes=[2], n_trees=5, n_seeds=1, cv=2, repeats=1)
    >>> len(result.n_chosen)
    1
    """

    n_queries: int
    n_features: int
    metric: str
    repeats: int
    n_folds: int
    n_seeds: int
    confidence: float
    systems: list[ComparedSystem]
    n_chosen: list[int]
    costs: Costs
    trees: TreeSettings

    @property
    def all_features(self) -> ComparedSystem:
        """The trees on all features."""
        return next(s for s in self.systems if s.name == ALL)

    @property
    def choice(self) -> ComparedSystem:
        """The model that `select` would choose."""
        return next(s for s in self.systems if s.name == CHOICE)

    @property
    def names(self) -> list[str]:
        """The systems that have sizes, ours first."""
        found = list(dict.fromkeys(s.name for s in self.systems if s.k is not None))
        return [n for n in found if not n.startswith("trees")] + [n for n in found if n.startswith("trees")]

    @property
    def sizes(self) -> list[int]:
        return sorted({s.k for s in self.systems if s.k is not None})

    def of(self, name: str) -> dict[int, ComparedSystem]:
        """{k: the system of that size}"""
        return {s.k: s for s in self.systems if s.name == name and s.k is not None}

    def plot(self, axes: Any = None) -> Any:
        """Plot the means of our models and of trees by number of features.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Default: new axes.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        from sparserank.pages.axes import plot_comparison

        return plot_comparison(self, axes)

    def rows(self) -> list[dict[str, Any]]:
        """One row per system and size: mean, and difference from the trees on all features with its interval,
        which is simultaneous over all sizes of a system."""
        out: list[dict[str, Any]] = []
        base = self.all_features.values
        for name in [*self.names, CHOICE, ALL]:
            own = sorted((s for s in self.systems if s.name == name), key=lambda s: s.k or 0)
            differences = np.array([s.values - base for s in own])
            low, high = simultaneous_intervals(differences, self.confidence)
            for i, s in enumerate(own):
                row: dict[str, Any] = {"system": name, "features": s.k, "metric": self.metric, "mean": s.mean}
                if name != ALL:
                    row |= {
                        "difference": float(np.nanmean(differences[i])),
                        "low": float(low[i]),
                        "high": float(high[i]),
                    }
                out.append(row)
        return out

    @property
    def headline(self) -> str:
        """The comparison in one line."""
        return (
            f"Our choice of {counted(self.span)}: {self.metric} {self.choice.mean:.4f}; trees on all "
            f"{self.n_features}: {self.all_features.mean:.4f}"
        )

    @property
    def span(self) -> str:
        """Number of features of our choice: '4', or '4 to 9' over the repeats."""
        least, most = min(self.n_chosen), max(self.n_chosen)
        return str(least) if least == most else f"{least} to {most}"

    def sentences(self) -> list[str]:
        """The comparison in full sentences."""
        difference = self.choice.values - self.all_features.values
        mean, low, high = mean_interval(difference, self.confidence)
        chosen = sorted(set(self.n_chosen))
        said = [
            f"Our choice of {counted(self.span)} has {self.metric} {self.choice.mean:.4f} out of fold; trees on all "
            f"{counted(self.n_features)} have {self.all_features.mean:.4f}. The difference is {mean:+.4f} "
            f"[{low:+.4f}, {high:+.4f}] on these {self.n_queries} queries. The choice is optimistically biased, "
            "because the same queries were used to make it; the intervals do not account for this bias."
        ]
        if self.n_queries < MIN_QUERIES:
            said.append(
                f"{self.n_queries} queries are too few to tell systems apart; at least {MIN_QUERIES} are needed."
            )
        at = min(
            (s for s in self.systems if s.name == "trees on own gain"),
            key=lambda s: abs((s.k or 0) - np.median(chosen)),
            default=None,
        )
        if at is not None:
            mean, low, high = mean_interval(self.choice.values - at.values, self.confidence)
            said.append(
                f"Against trees on the {counted(at.k or 0)} with the largest gain ({at.mean:.4f}), our "
                f"choice differs by {mean:+.4f} [{low:+.4f}, {high:+.4f}]."
            )
        return said

    def to_json(self) -> dict[str, Any]:
        """The content of comparison.json."""
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "sparserank": __version__,
            "headline": self.headline,
            "sentences": self.sentences(),
            "metric": self.metric,
            "n_queries": self.n_queries,
            "n_features": self.n_features,
            "folds": self.n_folds,
            "repeats": self.repeats,
            "seeds": self.n_seeds,
            "confidence": self.confidence,
            "chosen": self.n_chosen,
            "costs": vars(self.costs),
            "trees": vars(self.trees),
            "systems": self.rows(),
        }
        out: dict[str, Any] = plain(content)
        return out


def simultaneous_intervals(differences: np.ndarray, confidence: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Intervals (low, high), each (m,), of the means of m rows (m, n_queries) that all hold together: the largest
    standardised deviation of N_DRAWS normal reweightings of the queries gives the quantile."""
    known = np.isfinite(differences).all(axis=0)
    d = differences[:, known]
    n = d.shape[1]
    mean = d.mean(axis=1) if n else np.full(len(d), np.nan)
    if n < 2:
        return np.full(len(d), np.nan), np.full(len(d), np.nan)
    centred = d - mean[:, None]
    error = centred.std(axis=1, ddof=1) / np.sqrt(n)
    draws = np.random.default_rng(seed).standard_normal((N_DRAWS, n)) @ centred.T / np.sqrt(n * (n - 1.0))
    safe = np.where(error > 0, error, 1.0)
    largest = np.abs(draws / safe).max(axis=1)
    quantile = float(stdtrit(n - 1, ndtr(np.quantile(largest, confidence))))  # errors are estimates
    return mean - quantile * error, mean + quantile * error
