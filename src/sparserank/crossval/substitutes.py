"""Replacements of selected features: features that models of nearly equal quality use instead, and correlated ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Choice
from sparserank.crossval.tasks import FINAL
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense, column_products, n_stored, within_queries

MAX_RELATIVE_SIZE = 1.25  # size of the largest models considered, relative to the chosen model
MIN_CORRELATION = 0.9  # smallest |correlation| of a redundant feature with a selected one
MAX_DOCUMENTS = 500_000  # approximate; with more, only every n-th query is read
BLOCK_VALUES = 1 << 19  # values read at once: a few megabytes, whatever the store
MAX_PRODUCTS = 1 << 24  # products of features summed at once; for more, the data are read again


def substitutes_of(choice: Choice, candidate_set: CandidateSet) -> dict[int, int]:
    """{feature of the chosen model: its substitute}, from the sets of features of similar models: within the margin or
    at least as good as the chosen one, and with at most a quarter more features."""
    chosen = choice.chosen
    most = min(math.ceil(MAX_RELATIVE_SIZE * chosen.n_features - 1e-9), max(c.n_features for c in choice.candidates))
    if choice.rule.k is not None:
        most = min(most, max(choice.rule.k, chosen.n_features))
    sets = {tuple(candidate_set.features(chosen, FINAL).tolist()): None}
    for c in choice.sparse:
        enough = choice.within_margin(c) or choice.loss(c) <= choice.loss(chosen)
        if enough and c.n_features <= most:
            sets.setdefault(tuple(candidate_set.features(c, FINAL).tolist()))
    return substitutes_in(list(sets))


def substitutes_in(sets: Sequence[tuple[int, ...]]) -> dict[int, int]:
    """{feature of the first set: its substitute}. The substitute is the feature outside this set whose share rises most
    in the sets without the feature. A feature in all sets, or without a rising share, has none."""
    features = np.unique(np.concatenate([np.array(s, dtype=np.int64) for s in sets]))
    used = np.array([np.isin(features, s) for s in sets])
    out = {}
    for at in np.flatnonzero(used[0]):
        with_it = used[:, at]
        if with_it.all():
            continue
        rise = used[~with_it].mean(axis=0) - used[with_it].mean(axis=0)
        rise[used[0]] = -1.0
        other = int(np.argmax(rise))
        if rise[other] > 0:
            out[int(features[at])] = int(features[other])
    return out


@dataclass(frozen=True)
class RedundantFeature:
    """A feature that was left out, and the selected feature with which it correlates most."""

    feature: str
    selected: str
    correlation: float


@dataclass(frozen=True)
class RedundantFeatures:
    """Left-out features whose |correlation| with a selected feature is at least `least`, largest first, computed on
    n_queries queries."""

    least: float
    n_queries: int
    left: tuple[RedundantFeature, ...]


def redundant_features(
    data: RankingDataset,
    support: np.ndarray,
    shaped: Callable[[RankingDataset], RankingDataset],
    substitutes: Mapping[int, int],
) -> tuple[RedundantFeatures, dict[int, float]]:
    """(features that are redundant with those of a model, {feature: its correlation with its substitute})

    Parameters
        support      features of the model, ascending
        shaped       returns queries under the transform of the model
        substitutes  {feature of the model: its substitute}
    """
    # The queries that contain documents; every n-th one if there are too many.
    queries = np.flatnonzero(data.sizes > 0)[:: max(-(-data.n_docs // MAX_DOCUMENTS), 1)]
    names, d = data.names, data.n_features
    # For each feature: the largest correlation with a feature of the model, and that feature.
    best = np.zeros(d)
    nearest = np.zeros(d, dtype=np.int64)
    of_pairs: dict[int, float] = {}
    at_once = max(MAX_PRODUCTS // max(d, 1), 1)
    for lo in range(0, len(support), at_once):
        block = support[lo : lo + at_once]
        correlations = within_query_correlations(data, queries, shaped, block)
        of_pairs |= {
            of: float(correlations[k, substitutes[of]]) for k, of in enumerate(block.tolist()) if of in substitutes
        }
        strongest = np.abs(correlations).argmax(axis=0)
        closest = correlations[strongest, np.arange(d)]
        larger = np.abs(closest) > np.abs(best)
        best[larger], nearest[larger] = closest[larger], block[strongest[larger]]
    best[support] = 0.0
    best[[name in (data.derived or {}) for name in names]] = 0.0  # a level or a flag is only a part of its column
    rows = [
        RedundantFeature(names[j], names[nearest[j]], float(best[j]))
        for j in np.flatnonzero(np.abs(best) >= MIN_CORRELATION).tolist()
    ]
    return RedundantFeatures(
        MIN_CORRELATION, len(queries), tuple(sorted(rows, key=lambda row: -abs(row.correlation)))
    ), of_pairs


def within_query_correlations(
    data: RankingDataset,
    queries: np.ndarray,
    shaped: Callable[[RankingDataset], RankingDataset],
    features: np.ndarray,
) -> np.ndarray:
    """(len(features), n_features) Pearson correlation of deviations from the query mean, over some queries, with all
    features. 0 if one of the two does not vary, or if squares overflow."""
    together, squares = np.zeros((len(features), data.n_features)), np.zeros(data.n_features)
    with np.errstate(all="ignore"):
        for some in _blocks(data, queries):
            block = shaped(data.take_queries(some))
            # Deviations from the query mean; sparse rows stay sparse.
            X, ptr = block.X.astype(np.float64), np.asarray(block.query_ptr)
            together += within_queries(lambda some, every: as_dense(some.T @ every), X[:, features], X, ptr)
            squares += np.maximum(within_queries(column_products, X, X, ptr), 0.0)
        if len(features) and len(queries):
            together /= np.sqrt(squares[features])[:, None] * np.sqrt(squares)
    return np.clip(np.where(np.isfinite(together), together, 0.0), -1.0, 1.0)


def _blocks(data: RankingDataset, queries: np.ndarray) -> list[np.ndarray]:
    """The queries in blocks of about BLOCK_VALUES values."""
    if data.is_stored:
        values_of_row = 100 if data.is_sparse else data.n_features
    else:
        values_of_row = n_stored(data.X) // max(data.n_docs, 1)
    rows = max(BLOCK_VALUES // max(values_of_row, 1), 1)
    before = np.cumsum(data.sizes[queries]) - 1
    return [block for block in np.split(queries, np.flatnonzero(np.diff(before // rows)) + 1) if len(block)]
