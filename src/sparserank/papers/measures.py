"""Importance of single features and similarity of pairs of features, for filters and FSMRank."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import stats

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense
from sparserank.errors import DataError
from sparserank.evaluation import mean_of, per_query_values
from sparserank.metrics import Convention, parse_metrics
from sparserank.options.arguments import check_arguments

CORRELATIONS = ("pearson", "spearman", "kendall")
SIMILARITIES = (*CORRELATIONS, "concordance", "identity")
PAIR_BLOCK = 1 << 20
MAX_FEATURES = 5000  # similarities are dense (n_features, n_features)


def feature_importance(
    data: RankingDataset, measure: str = "pearson", *, convention: str | Convention = "default"
) -> np.ndarray:
    """Importance of each individual feature with respect to relevance.

    Parameters
    ----------
    data : RankingDataset
        The documents.
    measure : str, default 'pearson'
        'pearson', 'spearman', 'kendall': |correlation| with relevance over all rows, not centred by query (0 for a
        constant feature). Or a metric such as 'map' or 'ndcg@10', evaluated on the ranking by the feature in descending
        or ascending order, whichever is better.
    convention : str, default 'default'
        Definition of the metric.

    Returns
    -------
    ndarray of shape (n_features,)
        Values in [0, 1].

    References
    ----------
    Lai et al. (2013), Section III-B (Pearson); Geng et al. (2007) (metrics of ascending and descending order).

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[1.0, 5.0], [3.0, 5.0]], [0, 1], ["a", "a"])
    >>> sr.papers.feature_importance(data).round(9).tolist()
    [1.0, 0.0]
    """
    check_arguments(feature_importance, locals())
    X = as_dense(data.X)
    if measure in CORRELATIONS:
        if measure == "kendall":
            return np.array([_kendall(column, data.relevance) for column in X.T])
        of_relevance = _unit_columns(data.relevance.reshape(-1, 1), measure)[:, 0]
        return np.array(
            [min(abs(float(_unit_columns(c.reshape(-1, 1), measure)[:, 0] @ of_relevance)), 1.0) for c in X.T]
        )
    (best, _) = single_feature_metric(data, measure, convention=convention)
    return np.where(data.constant_features(), 0.0, best)


def single_feature_metric(
    data: RankingDataset, metric: str, *, convention: str | Convention = "default", ascending: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """(n_features,) metric of ranking by each feature alone, and the sign of the order that gives it.

    ascending=False tries descending order only.
    """
    X = as_dense(data.X)
    parsed = parse_metrics([metric], convention)
    if not parsed[0].higher_is_better:
        raise DataError(f"importance must be a metric for which higher is better; got {metric!r}.")
    best = np.zeros(data.n_features)
    sign = np.ones(data.n_features)
    for j in range(data.n_features):
        best[j] = mean_of(per_query_values(X[:, j].astype(np.float64), data, parsed)[0])
        if ascending:
            reverse = mean_of(per_query_values(-X[:, j].astype(np.float64), data, parsed)[0])
            if reverse > best[j]:
                best[j], sign[j] = reverse, -1.0
    return best, sign


def feature_similarity(
    data: RankingDataset, measure: str = "pearson", *, positive_semidefinite: bool = False
) -> np.ndarray:
    """Similarity of every pair of features.

    Parameters
    ----------
    data : RankingDataset
        The documents.
    measure : str, default 'pearson'
        'pearson', 'spearman', 'kendall': |correlation| over all rows, not centred by query; 'concordance': fraction of
        document pairs of a query that two features order alike, mean over queries; 'identity'.
    positive_semidefinite : bool, default False
        Clip negative eigenvalues. |Pearson| has some (-0.03 on MQ2008), which makes the problem of FSMRank nonconvex;
        entries that the clipping turns negative are set to 0.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Values in [0, 1], 1 on the diagonal of features that vary.

    References
    ----------
    Lai et al. (2013), Section III-B; Geng et al. (2007) for 'concordance' (a fraction of pairs, not tau in [-1, 1]).

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]], [0, 1, 0], ["a", "a", "a"])
    >>> sr.papers.feature_similarity(data).round(9).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    check_arguments(feature_similarity, locals())
    d = data.n_features
    if d > MAX_FEATURES:
        raise DataError(f"similarities of {d} features form a {d} x {d} matrix; use at most {MAX_FEATURES} features.")
    X = as_dense(data.X).astype(np.float64)
    if measure == "identity":
        A = np.eye(d)
    elif measure == "concordance":
        A = concordance(X, data.query_ptr)
    elif measure in ("pearson", "spearman"):
        unit = _unit_columns(X, measure)
        A = np.minimum(np.abs(unit.T @ unit), 1.0)
    elif measure == "kendall":
        A = np.array([[_kendall(a, b) if j <= i else 0.0 for j, b in enumerate(X.T)] for i, a in enumerate(X.T)])
        A = A + np.tril(A, -1).T
    else:
        raise DataError(
            f"the measure of similarity must be one of {', '.join(SIMILARITIES)} or an array; got {measure!r}."
        )
    return nearest_positive_semidefinite(A) if positive_semidefinite else A


def nearest_positive_semidefinite(A: np.ndarray) -> np.ndarray:
    """A with negative eigenvalues clipped, alternating with clamping entries at 0 until both hold to within 1e-12.

    Clipping alone can leave entries below 0, and |w|^T A |w| is convex only with entries >= 0.
    """
    for _ in range(1000):
        eigenvalues, V = np.linalg.eigh(A)
        if eigenvalues[0] >= -1e-12:
            break
        clipped = (V * np.maximum(eigenvalues, 0.0)) @ V.T
        A = np.maximum(0.5 * (clipped + clipped.T), 0.0)
    return A


def concordance(X: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(d, d) fraction of the document pairs of a query that two features order alike (or both tie), mean over queries.

    Pairs are visited in blocks of about a million values, never stored.
    """
    d = X.shape[1]
    total = np.zeros((d, d))
    n_queries = 0
    for lo, hi in pairwise(query_ptr):
        m = hi - lo
        if m < 2:
            continue
        n_queries += 1
        alike = np.zeros((d, d))
        rows = max(1, PAIR_BLOCK // (m * d))
        for start in range(0, m - 1, rows):
            first, second = np.nonzero(np.arange(start, min(start + rows, m))[:, None] < np.arange(m))
            order = np.sign(X[lo + start + first] - X[lo + second]).astype(np.float32)  # sums of < 2^24 units are exact
            strict = np.abs(order)
            tie = 1.0 - strict
            alike += (0.5 * (order.T @ order + strict.T @ strict) + tie.T @ tie).astype(np.float64)
        total += alike / (0.5 * m * (m - 1))
    return total / max(n_queries, 1)


def _unit_columns(X: np.ndarray, measure: str) -> np.ndarray:
    """Columns, or their ranks for 'spearman', centred and scaled to length 1; 0 for constant columns. Their products
    are correlations."""
    values = stats.rankdata(X, axis=0) if measure == "spearman" else X.astype(np.float64)
    _, exponent = np.frexp(np.abs(values).max(axis=0))
    values = np.ldexp(values, -exponent)  # exact, and no difference overflows
    centred = values - values[0]  # exact for values close together, however far from 0
    largest = np.abs(centred).max(axis=0)
    centred = centred / np.where(largest > 0, largest, 1.0)
    centred -= centred.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(size > 0, size, 1.0))


def _kendall(a: np.ndarray, b: np.ndarray) -> float:
    if a.max() == a.min() or b.max() == b.min():
        return 0.0
    return min(abs(float(stats.kendalltau(a, b).statistic)), 1.0)
