"""Synthetic ranking problems with a known answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.options import Count, Number
from sparserank.options.arguments import check_arguments
from sparserank.options.kinds import Kind
from sparserank.text import brief

SIZE = Number(least=0)
COUNTS: dict[str, Kind] = {"n_queries": Count(), "n_features": Count(), "random_state": Count(0, 2**128 - 1)}
COUNTS |= {"noise": SIZE, "query_spread": SIZE}

__all__ = ["SyntheticRanking", "make_curved_ranking", "make_ranking"]


@dataclass(frozen=True)
class SyntheticRanking:
    """A generated data set and its ground truth.

    Attributes
    ----------
    data : RankingDataset
        The documents.
    support : ndarray of int
        The features that determine the grades.
    coef : ndarray
        Their weights.
    redundant : ndarray of int
        Features that are noisy copies of a feature in support.

    Examples
    --------
    >>> import sparserank as sr
    >>> sr.datasets.make_ranking(10, 5, 6, n_informative=2, n_redundant=1).support.shape
    (2,)
    """

    data: RankingDataset
    support: np.ndarray
    coef: np.ndarray
    redundant: np.ndarray


def make_ranking(
    n_queries: int = 100,
    docs_per_query: int | tuple[int, int] = (10, 40),
    n_features: int = 50,
    n_informative: int = 5,
    n_redundant: int = 5,
    n_grades: int = 3,
    grade_shares: tuple[float, ...] | None = None,
    noise: float = 0.1,
    query_spread: float = 1.0,
    random_state: int = 0,
) -> SyntheticRanking:
    """Generate documents whose grades come from a sparse linear score plus noise, cut at quantiles.

    Feature names show the role: signal_, copy_, noise_.

    Parameters
    ----------
    n_queries : int, default 100
        Number of queries.
    docs_per_query : int or (int, int), default (10, 40)
        Number of documents per query, or the (smallest, largest) number.
    n_features : int, default 50
        Number of features.
    n_informative : int, default 5
        Number of features with a weight; absolute weights fall from 1 to 0.5, and signs alternate.
    n_redundant : int, default 5
        Number of features that copy an informative one with correlation 0.9.
    n_grades : int, default 3
        Relevance 0 to n_grades - 1; higher grades are rarer (shares 2^-1, 2^-2, ...).
    grade_shares : tuple of float, optional
        Share of each grade, lowest grade first. Default: the shares described under n_grades.
    noise : float, default 0.1
        Standard deviation of the noise of the score, relative to that of the clean score.
    query_spread : float, default 1.0
        Standard deviation of a shift of every feature per query, which no ranker can use.
    random_state : int, default 0
        Random seed.

    Returns
    -------
    SyntheticRanking
        Data and ground truth.

    Raises
    ------
    DataError
        The counts contradict each other.

    Examples
    --------
    >>> import sparserank as sr
    >>> problem = sr.datasets.make_ranking(20, 5, 6, n_informative=2, n_redundant=1)
    >>> problem.data.n_docs, [problem.data.feature_names[j].split("_")[0] for j in problem.support]
    (100, ['signal', 'signal'])
    """
    check_arguments(make_ranking, locals(), **COUNTS, n_informative=Count(), n_redundant=Count(0), n_grades=Count(2))
    if n_informative + n_redundant > n_features:
        raise DataError("make_ranking needs n_informative + n_redundant <= n_features.")
    sizes_given = [docs_per_query] if isinstance(docs_per_query, int | np.integer) else list(docs_per_query)
    if len(sizes_given) not in (1, 2):
        raise DataError(
            f"docs_per_query must be a number, or the smallest and the largest; got {brief(docs_per_query)}."
        )
    shortest = sizes_given[0]
    longest = sizes_given[-1]
    shares = 0.5 ** np.arange(1, n_grades + 1) if grade_shares is None else np.array(grade_shares, dtype=float)
    if len(shares) != n_grades or (shares <= 0).any() or not 1 <= shortest <= longest:
        raise DataError("grade_shares must contain n_grades positive shares, and docs_per_query numbers >= 1.")
    rng = np.random.default_rng(random_state)
    sizes = rng.integers(shortest, longest + 1, size=n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    X = rng.standard_normal((len(query), n_features))
    place = rng.permutation(n_features)
    support = place[:n_informative]
    redundant = place[n_informative : n_informative + n_redundant]
    for k, j in enumerate(redundant):
        X[:, j] = 0.9 * X[:, support[k % n_informative]] + np.sqrt(1 - 0.81) * X[:, j]
    coef = np.zeros(n_features)
    coef[support] = np.linspace(1.0, 0.5, n_informative) * np.where(np.arange(n_informative) % 2, -1.0, 1.0)
    clean = X @ coef
    score = clean + noise * clean.std() * rng.standard_normal(len(query))
    cuts = np.quantile(score, np.cumsum(shares / shares.sum())[:-1])
    relevance = np.searchsorted(cuts, score, side="right")
    X += query_spread * rng.standard_normal((n_queries, n_features))[query]
    role = np.full(n_features, "noise", dtype=object)
    role[support] = "signal"
    role[redundant] = "copy"
    data = RankingDataset(
        X,
        relevance,
        query + 1,
        np.array([f"d{i}" for i in range(len(query))], dtype=object),
        [f"{role[j]}_{j + 1}" for j in range(n_features)],
    )
    return SyntheticRanking(data, np.sort(support), coef, np.sort(redundant))


def make_curved_ranking(
    n_queries: int = 500,
    docs_per_query: int = 20,
    n_features: int = 100,
    n_curved: int = 10,
    noise: float = 0.5,
    random_state: int = 0,
) -> SyntheticRanking:
    """Generate documents whose grades come from an additive score of curved features.

    Half of the curved features rise and saturate, or fall; the others have a hump. Feature names show the role: rise_,
    fall_, hump_, noise_.

    Parameters
    ----------
    n_queries : int, default 500
        Number of queries.
    docs_per_query : int, default 20
        Number of documents per query.
    n_features : int, default 100
        Number of features.
    n_curved : int, default 10
        Number of features that determine the grades.
    noise : float, default 0.5
        Standard deviation of the noise of the score, relative to that of the clean score.
    random_state : int, default 0
        Random seed.

    Returns
    -------
    SyntheticRanking
        Data and ground truth; coef contains the sign of each rise or fall, and 1 for a hump.

    Raises
    ------
    DataError
        The counts contradict each other.

    Notes
    -----
    Features are heavy-tailed: exponentials of normal variables with standard deviation 1, each shifted by query on the
    scale of the normal variable. If z is the normal variable of a feature, rise is tanh(2 (z - c)), fall is its
    negative, and hump is 2 exp(-2 (z - c)^2) - 1, with c drawn from -0.5 to 0.5. All have the same spread. Of the
    grades 0 to 4, higher ones are rarer (shares 1/2, 1/4, 1/8, 1/16, 1/16).

    Examples
    --------
    >>> import sparserank as sr
    >>> sr.datasets.make_curved_ranking(20, 5, n_features=12, n_curved=4).data.X.shape
    (100, 12)
    """
    check_arguments(make_curved_ranking, locals(), **COUNTS, docs_per_query=Count(2), n_curved=Count())
    if n_curved > n_features:
        raise DataError("make_curved_ranking needs n_curved <= n_features.")
    rng = np.random.default_rng(random_state)
    n = n_queries * docs_per_query
    query = np.repeat(np.arange(n_queries), docs_per_query)
    z = rng.standard_normal((n, n_features)) + 0.3 * rng.standard_normal((n_queries, n_features))[query]
    support = np.sort(rng.permutation(n_features)[:n_curved])
    role = np.full(n_features, "noise", dtype=object)
    coef = np.zeros(n_features)
    clean = np.zeros(n)
    for k, j in enumerate(support):
        centre = rng.uniform(-0.5, 0.5)
        kind = ("rise", "hump", "fall", "hump")[k % 4]
        role[j] = kind
        coef[j] = -1.0 if kind == "fall" else 1.0
        if kind == "hump":
            curve = 2.0 * np.exp(-2.0 * (z[:, j] - centre) ** 2) - 1.0
        else:
            curve = coef[j] * np.tanh(2.0 * (z[:, j] - centre))
        clean += curve / curve.std()
    score = clean + noise * clean.std() * rng.standard_normal(n)
    grades = np.searchsorted(np.quantile(score, [0.5, 0.75, 0.875, 0.9375]), score, side="right")
    names = [f"{role[j]}_{j + 1}" for j in range(n_features)]
    ids = np.array([f"d{i}" for i in range(n)], dtype=object)
    return SyntheticRanking(
        RankingDataset(np.exp(z), grades, query + 1, ids, names), support, coef, np.zeros(0, dtype=np.int64)
    )
