"""Equal columns: up to a factor and a shift, which change no ranking, they are one feature."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.penalties import ElasticNet, FeatureRules, Ridge
from sparserank.shards import as_rows
from sparserank.shards.rows import transposed_times
from sparserank.text import brief, listed

DIGITS = 11  # in which the sums over equal columns agree
DIGITS_OF_SINGLE = 5  # if a factor or a shift rounds values to single precision


def equal_columns(
    data: RankingDataset, rules: FeatureRules, *, per_query: bool = True, last: Collection[str] = ()
) -> tuple[tuple[int, ...], str]:
    """(features of columns that are left out, because an equal column represents them; a sentence about them, or "").
    Columns of the table are equal if their features are equal and have the same sign rules. Equal columns are
    represented by the one that is to be kept, or else the cheapest, or else one that is not among `last`, or else the
    first.

    per_query   whether columns count as equal if they differ by a shift in each query, which changes no linear ranking;
                steps depend on it
    """
    if isinstance(rules, Ridge | ElasticNet):  # these give equal columns equal weights
        return (), ""
    # Sums over the documents with random weights, which add up to 0 wherever a shift is allowed: their ratios are the
    # same for equal features, and for no others.
    ptr = np.unique(data.query_ptr) if per_query else np.array([0, data.n_docs])
    draws = np.random.default_rng(0).standard_normal((3, data.n_docs))
    draws -= np.repeat(np.add.reduceat(draws, ptr[:-1], axis=1) / np.diff(ptr), np.diff(ptr), axis=1)
    first, *others = (transposed_times(as_rows(data.X), draw) for draw in draws)
    single = per_query and data.X.dtype == np.float32
    with np.errstate(all="ignore"):
        seen = np.round(np.arctan(others / first), DIGITS_OF_SINGLE if single else DIGITS).T
    # The features of each column that may be used, in the order in which columns are preferred.
    costs, signs = rules.feature_weights(data.n_features), rules.feature_signs(data.n_features)
    names = data.sources
    of_column: dict[str, list[int]] = {}
    for j in np.flatnonzero(np.isfinite(costs) & ~data.constant_features()).tolist():
        of_column.setdefault(names[j], []).append(j)
    preferred = sorted(of_column, key=lambda name: (costs[of_column[name]].max(), name in last))
    representatives: dict[frozenset, str] = {}
    out, clauses = [], []
    for name in preferred:
        # If the factor between two columns is below 0, a sign rule of one means the opposite for the other.
        same = frozenset((*seen[j], signs[j] * np.sign(first[j])) for j in of_column[name])
        representative = representatives.setdefault(same, name)
        if representative != name:
            out += of_column[name]
            clauses.append(f"{brief(name)} ({brief(representative)} stands for it)")
    sentence = f"columns that are equal, up to a factor and a shift in each query, count as one: {listed(clauses)}."
    return tuple(out), sentence if clauses else ""
