"""What a model file records of the training documents: its lowest score, for engines without negative scores, and the
values of its features, with which those of new documents are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import columns_dense
from sparserank.data.missing import is_missing
from sparserank.errors import DataError
from sparserank.model.ranking_model import OF_MODEL, RankingModel

# In the metadata of a model; the last has the share of the metric that is lost without each feature.
LOWEST, VALUES, LOST = "lowest_score", "training_values", "lost_without"
ROWS_AT_ONCE = 1 << 16
SHARES = np.linspace(0.0, 1.0, 21)  # the recorded quantiles
SAMPLE_VALUES, SAMPLE_QUERIES = 4_000_000, 20_000  # with more, those of evenly spaced queries are recorded
N_HALVES = 50  # random halves of the queries, whose distance is noise
SAME = 1e-6  # relative: values in single and in double precision
# Drift: the share of missing values rises by so much; or so many values are outside of those of training, or the
# distributions are so far apart, and both more than noise.
MISSING_RISE, OUTSIDE, DISTANCE = 0.05, 0.05, 0.1
TOP = 10  # ranks
QUANTILES = {"low": 0.05, "median": 0.5, "high": 0.95}


def with_training_record(models: Sequence[RankingModel], data: RankingDataset) -> list[RankingModel]:
    """The models with, in their metadata, their lowest score on these documents, on which they were trained, and the
    values of their features. The features are read once. A model has no lowest score if its scores depend on the other
    documents of a query, or if a document has none."""
    lowest = {i: math.inf for i, m in enumerate(models) if not m.per_query and len(m.support)}
    used = np.unique(np.concatenate([m.support for m in models]))
    step = max(-(-data.n_docs * len(used) // SAMPLE_VALUES), -(-data.n_queries // SAMPLE_QUERIES), 1)
    of_query = np.diff(data.query_ptr)
    taken = np.repeat(np.arange(data.n_queries) % step == 0, of_query)
    ends, kept, at = [], [], 0
    for block in _blocks(data.X):
        for i in list(lowest):
            try:
                lowest[i] = min(lowest[i], float(models[i].predict(block).min()))
            except DataError:
                del lowest[i]
        # The extremes of all rows, and the values of those in the sample.
        x = columns_dense(block, used)
        ends.append((x.min(axis=0), x.max(axis=0)))
        kept.append(x[taken[at : at + len(x)]])
        at += len(x)
    lengths = of_query[::step]
    known = _values(used, np.concatenate(kept), np.array(ends), lengths, data)
    out = []
    for i, m in enumerate(models):
        record = {"queries": len(lengths), "features": {m.feature_names[j]: known[j] for j in m.support.tolist()}}
        low = {LOWEST: lowest[i]} if math.isfinite(lowest.get(i, math.nan)) else {}
        out.append(replace(m, metadata={**m.metadata, **low, VALUES: record}))
    return out


def lowest_score(model: RankingModel) -> float | None:
    """The recorded lowest score; None if the model has none."""
    known = model.metadata.get(LOWEST)
    return float(known) if isinstance(known, Real) and math.isfinite(known) else None


def _blocks(X: Any) -> Iterator[Any]:
    for part in getattr(X, "parts", (X,)):
        for lo in range(0, part.shape[0], ROWS_AT_ONCE):
            yield part[lo : lo + ROWS_AT_ONCE]


# -- values of the features --------------------------------------------------------------------------------------------


def _values(
    used: np.ndarray, columns: np.ndarray, ends: np.ndarray, lengths: np.ndarray, data: RankingDataset
) -> dict[int, dict[str, Any]]:
    """{feature: quantiles, with the share of values up to each; the share that was missing (None: unknown); the largest
    distance of random halves of the queries}

    Parameters
        columns   (n, len(used)) values of the features `used` in queries of these lengths
        ends      (n_blocks, 2, len(used)) the extremes of all their values
    """
    starts = np.cumsum(lengths) - lengths
    half = np.tile(np.arange(len(lengths)) % 2 == 0, (N_HALVES, 1))
    half = np.random.default_rng(0).permuted(half, axis=1).astype(np.float64)
    n_of_half = np.maximum((half @ lengths)[:, None], 1.0)
    n_of_other = np.maximum(lengths.sum() - n_of_half, 1.0)
    filled = 0.0 if data.fill_values is None else None
    known = {}
    for k, j in enumerate(used.tolist()):
        x = columns[:, k]
        points = np.unique([*np.quantile(x, SHARES), ends[:, 0, k].min(), ends[:, 1, k].max()])
        n_below = np.add.reduceat(_up_to(x, points), starts, axis=0, dtype=np.float64)
        # The largest distance of the distributions of two halves.
        of_half, of_all = half @ n_below, n_below.sum(axis=0)
        distances = np.abs(of_half / n_of_half - (of_all - of_half) / n_of_other)
        known[j] = {
            "points": points.tolist(),
            "shares": (of_all / len(x)).tolist(),
            **{name: float(np.quantile(x, q, method="inverted_cdf")) for name, q in QUANTILES.items()},
            "halves": float(distances.max()),
            "missing": filled if data.filled is None else float(data.filled[:, j].mean()),
        }
    return known


def _up_to(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, n_points) bool: which values are at most each point."""
    return np.asarray(x[:, None] <= points + SAME * np.abs(points))


class _Record(NamedTuple):
    """The values of a feature in training: points, with the shares of values up to them; the largest distance of random
    halves; the share that was missing, and quantiles."""

    points: np.ndarray
    shares: np.ndarray
    halves: float
    before: dict[str, float | None]

    @classmethod
    def of(cls, known: Any) -> _Record:
        points, shares = (np.array(known[name], dtype=np.float64) for name in ("points", "shares"))
        halves, missing = float(known["halves"]), known["missing"]
        rise = np.isfinite(points).all() and (np.diff(points) > 0).all()
        if points.shape != shares.shape or not rise or not halves >= 0:
            raise ValueError("points that do not rise, or not one share for each")
        before = {name: float(known[name]) for name in QUANTILES}
        return cls(points, shares, halves, {"missing": missing and float(missing), **before})


def record_of(model: RankingModel, name: str) -> _Record | None:
    """The values of a feature in training; None if the model has no usable record."""
    try:
        return _Record.of(model.metadata[VALUES]["features"][name])
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def drift(model: RankingModel, data: RankingDataset) -> list[dict[str, Any]]:
    """The values of the selected features in new documents, beside those of training, the largest weight first.

    Parameters
        data   new documents; missing values may have been kept
    Returns
        one row per feature: `missing`, `low`, `median`, `high` (quantiles 5, 50 and 95%), each also as `training_...`;
        `outside`: share of values outside of those of training; `distance`: the largest difference of the shares of
        values up to a quantile of training; their limits; `changed`: share of the queries whose top 10 has other
        documents if the feature is held at its training median; `drift`: which of these count as drift
    Raises
        DataError   the model has no record of its training values
    """
    try:
        n_before, known = int(model.metadata[VALUES]["queries"]), model.metadata[VALUES]["features"]
        if n_before < 1:
            raise ValueError("no query")
        records = [_Record.of(known[model.feature_names[j]]) for j in model.support]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            "the model has no usable record of its training values, which select and fit save since version 0.4 (but "
            "not on a cluster); train it again."
        ) from error
    model = model.with_missing(OF_MODEL)
    missing = is_missing(replace(model, fill_values=None).selected_values(data))
    columns, query_ptr = model.selected_values(data), data.query_ptr
    parts = model.contributions(data)
    scores = parts.sum(axis=1)
    top, query = _top(scores, query_ptr)
    noise = 0.5 * math.sqrt(1.0 + n_before / data.n_queries)  # of these queries, relative to that of halves
    rows = []
    for k, (points, shares, halves, before) in enumerate(records):
        x, j = columns[:, k], int(model.support[k])
        # Held at one value, whichever, a feature adds the same to all documents of a query.
        changed, _ = _top(scores - parts[:, k], query_ptr)
        slack = SAME * np.abs(points[[0, -1]])
        row: dict[str, Any] = {
            "feature": model.feature_names[j],
            "missing": float(missing[:, k].mean()),
            **{name: float(np.quantile(x, q, method="inverted_cdf")) for name, q in QUANTILES.items()},
            **{f"training_{name}": value for name, value in before.items()},
            "outside": float(((x < points[0] - slack[0]) | (x > points[-1] + slack[1])).mean()),
            "outside_limit": max(OUTSIDE, halves * noise),
            "distance": float(np.abs(_up_to(x, points).mean(axis=0) - shares).max()),
            "distance_limit": max(DISTANCE, halves * noise),
            "changed": len(np.unique(query[top != changed])) / data.n_queries,
        }
        rises = before["missing"] is not None and row["missing"] - before["missing"] > MISSING_RISE
        beyond = (name for name in ("outside", "distance") if row[name] > row[f"{name}_limit"])
        rows.append({**row, "drift": [*(["missing"] if rises else []), *beyond]})
    order = np.argsort(-np.abs(model.coef[model.support]), kind="stable")
    return [rows[k] for k in order.tolist()]


def _top(scores: np.ndarray, query_ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(documents on the first TOP ranks of each query, by their numbers; the query of each)."""
    lengths = np.diff(query_ptr)
    query = np.repeat(np.arange(len(lengths)), lengths)
    first = np.arange(len(scores)) - np.repeat(query_ptr[:-1], lengths) < TOP
    return np.sort(np.lexsort((-scores, query))[first]), query[first]
