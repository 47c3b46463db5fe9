"""A feature that alone is nearly as good as the best model, while no other feature comes near: often one that is known
only after documents were ranked."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column
from sparserank.data.suspects import suspect
from sparserank.evaluation import per_query_values
from sparserank.metrics import Metric

# Set on nine real data sets, where another feature has at least 81% of the gain of the strongest one, and with
# simulated leaks (docs/data-formats.md).
REACHED = 0.95  # of what the best model gains over a random order, from which a feature alone is suspicious
OTHERS = 0.7  # of what that feature gains, up to which no other one comes near
COPY = 0.9  # correlation of ranks, from which another feature is a copy of it
MIN_QUERIES, MIN_FEATURES = 20, 6  # of fewer nothing is said
MAX_QUERIES, MAX_FEATURES = 200, 500  # that are examined
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
    """{feature: sentence} for the strongest of the features in use, if the rule finds it suspicious.

    Parameters
        data      the queries that candidates are judged on; the rule reads at most MAX_QUERIES of them
        best      (n_queries,) metric of the best model on them
        used      features of the chosen model; excused: names of features that users know to be no leak
    """
    names = data.feature_names or ()
    n = min(data.n_queries, MAX_QUERIES)
    if n < MIN_QUERIES or data.n_features < MIN_FEATURES or not used:
        return {}
    taken = np.linspace(0, data.n_queries - 1, n).astype(np.int64)
    sample = data.take_queries(taken)
    rng = np.random.default_rng(0)
    chance = float(np.mean([_mean(rng.random(sample.n_docs), sample, metric) for _ in range(N_RANDOM)]))
    gain = float(best[taken].mean()) - chance

    def reached(j: int) -> float:
        """The share of the best model's gain that a feature has in the better of its two directions."""
        x = np.asarray(column(sample.X, j), dtype=np.float64)
        return max((_mean(s * x, sample, metric) - chance) / gain for s in (1.0, -1.0))

    if gain == 0.0:
        return {}
    top = max(sorted(used)[:MAX_FEATURES], key=reached)
    share = reached(top)
    if share < REACHED or names[top] in excused:
        return {}
    order = _ranks(column(sample.X, top))
    step = max(data.n_features // MAX_FEATURES, 1)
    rest = [j for j in range(0, data.n_features, step) if j != top and not _is_copy(column(sample.X, j), order)]
    next_best = max((reached(j) for j in rest), default=0.0)
    if len(rest) + 1 < MIN_FEATURES or next_best > others * share:
        return {}
    why = (
        f"alone has {min(share, 1.0):.0%} of what the best model gains in {metric!r} over a random order, and no other "
        f"feature has more than {max(next_best, 0.0):.0%}; leave it out if it is not known when documents are ranked "
        "({remedy})."
    )
    return {names[top]: suspect(names[top], why)}


def _mean(scores: np.ndarray, data: RankingDataset, metric: Metric) -> float:
    return float(per_query_values(scores, data, [metric])[0].mean())


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks of values, equal for equal values."""
    return np.unique(x, return_inverse=True)[1].astype(np.float64)


def _is_copy(x: np.ndarray, order: np.ndarray) -> bool:
    """Whether a feature is constant, or orders documents nearly as another one."""
    own = _ranks(x)
    return bool(own.max() == 0 or abs(np.corrcoef(own, order)[0, 1]) >= COPY)
