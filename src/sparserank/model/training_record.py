"""The record of the training documents in a model file: the lowest score, for engines that reject negative scores, and
the values of each column, with which the values of new documents are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import columns_dense
from sparserank.errors import DataError
from sparserank.model.feature import Feature
from sparserank.model.ranking_model import RankingModel
from sparserank.number_checks import as_real

# Keys in the metadata of a model. The value of the last is the share of the metric that is lost without each feature.
LOWEST = "lowest_score"
VALUES = "training_values"
LOST = "lost_without"
# also a key in the metadata; its value is the names of the features that were boolean columns of a table
BOOLEANS = "booleans"
ROWS_AT_ONCE = 1 << 16
SHARES = np.linspace(0.0, 1.0, 21)  # levels of the recorded quantiles
# From larger data, only a sample of evenly spaced queries is recorded.
SAMPLE_VALUES = 4_000_000
SAMPLE_QUERIES = 20_000
SAME = 1e-6  # relative difference between a value in single and in double precision
# A column drifts if the share of missing values, or of values outside the training range, rises by more than this, or
# if the distance of the distributions is larger than this. In each case, the change must also be more than noise.
RISES = {"missing": 0.05, "outside": 0.05, "distance": 0.1}
QUANTILES = {"low": 0.05, "median": 0.5, "high": 0.95}


def with_training_record(models: Sequence[RankingModel], data: RankingDataset) -> list[RankingModel]:
    """The models with a record of their training documents in their metadata: their lowest score, and the values of
    their columns. The features are read once. A model has no lowest score if its scores depend on the other documents
    of a query, or if a document has no score."""
    lowest = {i: math.inf for i, m in enumerate(models) if not m.per_query and len(m.support)}
    wholes = [of_whole_columns(m) for m in models]
    used = np.unique(np.concatenate([m.support for m in wholes]))
    step = max(-(-data.n_docs * len(used) // SAMPLE_VALUES), -(-data.n_queries // SAMPLE_QUERIES), 1)
    of_query = data.sizes
    taken = np.repeat(np.arange(data.n_queries) % step == 0, of_query)
    lows = []
    highs = []
    samples = []
    at = 0
    for block in _blocks(data.X):
        for i in list(lowest):
            try:
                lowest[i] = min(lowest[i], float(models[i].predict(block).min()))
            except DataError:
                del lowest[i]
        # Record the extremes of all rows, and the values of the rows in the sample; filled-in values count as NaN.
        x = columns_dense(block, used).astype(np.float64)
        rows = slice(at, at + len(x))
        if data.filled is not None:
            x[data.filled[rows][:, used]] = np.nan
        lows.append(np.fmin.reduce(x))
        highs.append(np.fmax.reduce(x))
        samples.append(x[taken[rows]])
        at += len(x)
    sample = np.concatenate(samples)
    lengths = of_query[::step]
    samples.clear()  # frees a copy as large as the sample
    ends = np.column_stack([np.fmin.reduce(lows), np.fmax.reduce(highs)])
    knows_missing = data.filled is not None or data.fill_values is None
    out = []
    for i, m in enumerate(models):
        positions = np.searchsorted(used, wholes[i].support)
        table = tables_of(wholes[i], [sample[:, k] for k in positions])
        extremes = dict(zip((f.name for f in wholes[i].features), ends[positions], strict=True))
        record = {name: _record(x, extremes.get(name, ()), lengths, knows_missing) for name, x in table.items()}
        low = {LOWEST: lowest[i]} if math.isfinite(lowest.get(i, math.nan)) else {}
        booleans = [name for name in data.booleans if name in table]
        known = {BOOLEANS: booleans} if booleans else {}
        out.append(replace(m, metadata={**m.metadata, **low, **known, VALUES: record}))
    return out


def lowest_score(model: RankingModel) -> float | None:
    """The recorded lowest score; None if the model has none."""
    known = as_real(model.metadata.get(LOWEST))
    return known if math.isfinite(known) else None


def _blocks(X: Any) -> Iterator[Any]:
    for part in getattr(X, "parts", (X,)):
        for lo in range(0, part.shape[0], ROWS_AT_ONCE):
            yield part[lo : lo + ROWS_AT_ONCE]


# -- columns of the table ----------------------------------------------------------------------------------------------


def of_whole_columns(model: RankingModel) -> RankingModel:
    """A model that reads all levels, and all flags for missing values, of the columns that this model uses."""
    at = {name: j for j, name in enumerate(model.feature_names)}
    used = model.sources
    selected = set(model.support.tolist())
    derived = [Feature(at[name], name, 1.0) for name, d in model.derived.items() if d.source in used]
    return replace(model, features=(*model.features, *(f for f in derived if f.index not in selected)))


def tables_of(whole: RankingModel, features: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """{column of the table: its values (n_docs,), NaN where missing}. For a category, a value is the number of the
    level, or infinite if the level has no feature. whole: a model made by `of_whole_columns`; features: the values
    (n_docs,) of each of its selected features, NaN where missing."""
    values = dict(zip(whole.support.tolist(), features, strict=True))
    n_docs = len(features[0]) if features else 0
    out = {}
    for name, members in whole.sources.items():
        parts = {None if f.derived is None else f.derived.level or "": values[f.index] for f in members}
        number = parts.pop(None, None)
        flag = parts.pop("", None)
        x = np.full(n_docs, np.inf if parts else 0.0) if number is None else number.copy()
        for level, has in enumerate(parts.values()):
            x[has > 0] = level
        if flag is not None:
            x[flag > 0] = np.nan
        out[name] = x
    return out


# -- values of a column ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """Shares of values, and how well they are known. Model files have these fields by name. Values of one query
    resemble each other: with the correlation r of two of them, a share of n values is known as well as that of
    1 / (r * clumps + (1 - r) / n) independent ones.

    shares   shares of the values that are of each kind
    queries, found_in   number of queries; number of queries with a value of any kind
    n, clumps   number of values; sum over queries of the squared share of the values that belong to the query
    """

    shares: Sequence[float]
    queries: int
    found_in: int
    n: float
    clumps: float
    correlation: float

    @classmethod
    def of(cls, kinds: np.ndarray, counted: np.ndarray, lengths: np.ndarray) -> _Sample:
        """kinds (n_docs, n_kinds) bool: the values of each kind; counted (n_docs,) bool: the rows that count; lengths:
        number of rows of each query."""
        starts = np.cumsum(lengths) - lengths
        of_query = np.add.reduceat(counted, starts, dtype=np.float64)
        # One kind at a time: all kinds as float64 would take eight times the memory.
        sums = [np.add.reduceat(kind & counted, starts, dtype=np.float64) for kind in kinds.T]
        per_query = np.column_stack(sums)
        n = float(of_query.sum())
        n_queries = len(lengths)
        shares = per_query.sum(axis=0) / max(n, 1.0)
        clumps = float(((of_query / max(n, 1.0)) ** 2).sum())
        # The variance of the shares, relative to that of independent values, is 1 + r (n clumps - 1).
        alone = float((shares * (1.0 - shares)).sum()) * n
        spread = float(((per_query - np.outer(of_query, shares)) ** 2).sum()) * n_queries / max(n_queries - 1, 1)
        excess = alone * (n * clumps - 1.0)  # 0: the correlation r cannot be estimated
        correlation = min(max((spread - alone) / excess, 0.0), 1.0) if excess > SAME and n_queries > 1 else 1.0
        return cls(shares.tolist(), n_queries, int(per_query.any(axis=1).sum()), n, clumps, correlation)

    @classmethod
    def read(cls, known: Any) -> _Sample:
        """The sample that a model file describes; raises ValueError, TypeError or LookupError if it cannot be one."""
        values = {name: np.asarray(value, dtype=np.float64) for name, value in known.items()}
        shares = np.append(values["shares"], values["correlation"])
        if not (all((v >= 0).all() for v in values.values()) and shares.max() <= 1):
            raise ValueError("numbers out of range")
        return cls(**{name: v.tolist() for name, v in values.items()})

    def rise(self, new: _Sample, chance: float, *, apart: bool) -> tuple[float, float, float]:
        """(the statistic of the new values, the same of these values, the rise that noise alone exceeds with
        probability `chance`).

        The statistic is the share of the only kind. With `apart`, it is the largest difference between the shares of
        new and of these values, which is 0 for these. The rise is infinite if noise cannot be bounded.
        """
        if not (self.found_in or apart):
            # Among all queries in random order, the k most extreme ones would all be new with the probability
            # n / (N + n) * (n - 1) / (N + n - 1) * ...; and there are k + 1 ways to be extreme at two ends.
            left = new.queries - np.arange(new.found_in)
            all_new = (new.found_in + 1) * np.prod(left / (self.queries + left))
            return new.shares[0], 0.0, 0.0 if all_new <= chance else math.inf
        variances = (self.correlation * s.clumps + (1.0 - self.correlation) / s.n for s in (self, new))
        independent = 1.0 / sum(variances)
        if apart:  # the inequality of Dvoretzky, Kiefer and Wolfowitz
            distance = np.abs(np.subtract(new.shares, self.shares)).max()
            return float(distance), 0.0, math.sqrt(0.5 * math.log(2.0 / chance) / independent)
        (share,), third = self.shares, math.log(1.0 / chance) / independent / 3.0
        # Bernstein's inequality
        noise = third + math.sqrt(third**2 + 6.0 * share * (1.0 - share) * third)
        return new.shares[0], share, noise


def samples_of(x: np.ndarray, points: np.ndarray, lengths: np.ndarray) -> dict[str, _Sample]:
    """One sample for each rule: "missing" counts missing values, "outside" those of the other values that lie beyond
    the first and last of the points, and "distance" the values up to each point."""
    known = ~np.isnan(x)
    everywhere = np.ones(len(x), dtype=bool)
    slack = SAME * np.abs(points)
    outside = (x < points[0] - slack[0]) | (x > points[-1] + slack[-1])
    up_to = x[:, None] <= points + slack
    kinds = {"missing": (~known[:, None], everywhere), "outside": (outside[:, None], known), "distance": (up_to, known)}
    return {rule: _Sample.of(*kinds_and_rows, lengths) for rule, kinds_and_rows in kinds.items()}


def _record(x: np.ndarray, extremes: Sequence[float], lengths: np.ndarray, knows_missing: bool) -> dict[str, Any]:
    """The record of one column. extremes: for a numeric column, its smallest and largest value in all rows, also those
    outside this sample."""
    finite = x[np.isfinite(x)] if np.isfinite(x).any() else np.zeros(1)
    points = np.unique([*np.quantile(finite, SHARES, method="inverted_cdf"), *extremes])
    points = points[np.isfinite(points)]
    samples: dict[str, Any] = {rule: vars(s) for rule, s in samples_of(x, points, lengths).items()}
    # Without a feature for missing values, a missing category cannot be distinguished from a level that has no feature.
    if not (knows_missing and len(extremes)) and not np.isnan(x).any():
        samples["missing"] = None
    return {"points": points.tolist(), **samples, **quantiles_of(finite)}


def quantiles_of(x: np.ndarray) -> dict[str, float]:
    return {name: float(np.quantile(x, q, method="inverted_cdf")) for name, q in QUANTILES.items()}


def records_of(model: RankingModel) -> dict[str, dict[str, Any]]:
    """{column: its record, as made by `_record`}"""
    try:
        out = {name: dict(model.metadata[VALUES][name]) for name in model.columns}
        for known in out.values():
            known |= {rule: known[rule] and _Sample.read(known[rule]) for rule in RISES}
            known["points"] = np.array(known["points"], dtype=np.float64)
            if known["points"].shape != np.array(known["distance"].shares, dtype=np.float64).shape:
                raise ValueError("not one share for each point")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            "the model has no usable record of its training values, which select and fit of this version save (but not "
            "on a cluster); train it again."
        ) from error
    return out


def points_of(model: RankingModel, feature: Feature) -> list[float]:
    """The recorded quantiles of a numeric column in training, from its smallest to its largest value; empty if the
    model has no usable record. Replacements of missing values are left out, even if they look like other values."""
    try:
        record = records_of(model)[feature.source]
    except DataError:
        return []
    points: list[float] = record["points"].tolist()
    return points if record["missing"] is not None else [x for x in points if x != feature.missing]
