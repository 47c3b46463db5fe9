"""Detect a feature that alone is nearly as good as the best model, while no other feature comes close: often one that
is known only after documents have been ranked."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column
from sparserank.data.suspects import suspect
from sparserank.evaluation import per_query_values
from sparserank.metrics import Metric

# Tuned on nine real data sets, where some other feature has at least 81% of the gain of the strongest one, and on
# simulated leaks (docs/evidence.md).
REACHED = 0.95  # a feature with this share of the best model's gain over a random order is suspicious,
OTHERS = 0.7  # if every other feature has at most this share of the feature's gain
COPY = 0.9  # rank correlation from which another feature counts as a copy of it
MIN_QUERIES, MIN_FEATURES = 20, 6  # with fewer, the rule is not applied
MAX_QUERIES, MAX_FEATURES = 200, 500  # examined at most
N_RANDOM = 10  # random orders


def nearly_best_alone(
    data: RankingDataset,
    best: np.ndarray,
    metric: Metric,
    used: Collection[int],
    excused: Collection[str] = (),
    *,
    others: float = OTHERS,
) -> dict[str, str]:
    """{column of the table: sentence} for the strongest of the features in use, if the rule finds it suspicious.

    Parameters
        data      the queries on which candidates are evaluated; the rule reads at most MAX_QUERIES of them
        best      (n_queries,) metric of the best model on them
        used      features of the chosen model; excused: names of columns that users know not to be leaks
    """
    names = data.names
    derived = data.derived or {}
    columns = data.sources
    n = min(data.n_queries, MAX_QUERIES)
    if n < MIN_QUERIES or data.n_features < MIN_FEATURES or not used:
        return {}
    taken = np.linspace(0, data.n_queries - 1, n).astype(np.int64)
    sample = data.take_queries(taken)
    rng = np.random.default_rng(0)

    def mean(scores: np.ndarray) -> float:
        return float(per_query_values(scores, sample, [metric])[0].mean())

    chance = float(np.mean([mean(rng.random(sample.n_docs)) for _ in range(N_RANDOM)]))
    gain = float(best[taken].mean()) - chance

    def reached(j: int) -> float:
        """The share of the best model's gain that a feature has in the better of its two directions."""
        x = np.asarray(column(sample.X, j), dtype=np.float64)
        return max((mean(s * x) - chance) / gain for s in (1.0, -1.0))

    if gain == 0.0:
        return {}
    top = max(sorted(used)[:MAX_FEATURES], key=reached)
    share = reached(top)
    if share < REACHED or columns[top] in excused:
        return {}
    order = _ranks(column(sample.X, top))
    step = max(data.n_features // MAX_FEATURES, 1)
    others_of = (j for j in range(0, data.n_features, step) if columns[j] != columns[top])
    rest = []
    for j in others_of:  # except constant features, and copies, which order documents nearly in the same way
        ranks = _ranks(column(sample.X, j))
        if ranks.max() > 0 and not abs(np.corrcoef(ranks, order)[0, 1]) >= COPY:
            rest.append(j)
    next_best = max((reached(j) for j in rest), default=0.0)
    if len(rest) + 1 < MIN_FEATURES or next_best > others * share:
        return {}
    why = (
        f"alone has {min(share, 1.0):.0%} of what the best model gains in {metric!r} over a random order, and no other "
        f"feature has more than {max(next_best, 0.0):.0%}; leave it out if it is not known when documents are ranked "
        "({remedy})."
    )
    return {columns[top]: suspect(columns[top], why, derived=derived.get(names[top]))}


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks of values, equal for equal values."""
    return np.unique(x, return_inverse=True)[1].astype(np.float64)
