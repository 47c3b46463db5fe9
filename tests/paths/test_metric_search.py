"""The search on a metric from the models of an l1 path: against the slow one, on the queries of a fold, resumed, and in
a selection of boosts."""

import numpy as np
import pytest

import sparserank as sr
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan, PathStarts, PenaltyPath
from sparserank.paths.metric_search import MetricSearch
from sparserank.penalties import L1
from sparserank.solvers.lockstep import run
from tests.oracles import metric_search as oracle
from tests.oracles import pairs

DATA = sr.datasets.make_ranking(30, (6, 14), 7, n_informative=4, n_redundant=2, noise=1.0, random_state=4).data
MAKER = MetricSearch(metric=parse_metric("ndcg@5"))


def lists(query_weight: np.ndarray | None) -> list[tuple[int, int]]:
    """The rows of the queries from which a path learns: with weight, and with two different grades."""
    edges = list(zip(DATA.query_ptr[:-1].tolist(), DATA.query_ptr[1:].tolist(), strict=True))
    kept = np.ones(len(edges)) if query_weight is None else query_weight
    return [e for e, w in zip(edges, kept, strict=True) if w > 0 and len(set(DATA.relevance[slice(*e)])) > 1]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("fold", [False, True])
def test_the_search_is_that_of_scoring_every_list_anew(scaled: bool, fold: bool) -> None:
    weight = np.where(np.arange(DATA.n_queries) % 3 == 0, 0.0, 1.0) if fold else None
    scale = np.linspace(0.5, 3.0, DATA.n_features) if scaled else None
    objective = PairwiseObjective(DATA.X, DATA.relevance, DATA.query_ptr, query_weight=weight, scale=scale)
    l1 = run(PenaltyPath(L1(1.0)).path(objective, PathPlan(n_alphas=15)))
    starts = PathStarts(l1.alphas, l1.sparse_coefs, l1.losses)
    path = run(MAKER.path(objective, PathPlan(starts=starts)))
    divisors = np.ones(DATA.n_features) if scale is None else scale
    sizes = [int(n) for n in path.nnz]
    assert sizes == sorted(set(sizes))
    assert len(sizes) >= 3
    moved = wrong = 0
    every = pairs.pairs_of(DATA.relevance, DATA.query_ptr, weight)
    for i, n in enumerate(sizes):
        at = max(np.flatnonzero(l1.nnz == n), key=lambda k: -l1.losses[k])
        start = l1.coefs[at]

        def value(w: np.ndarray) -> float:
            return oracle.mean_ndcg(DATA.X, DATA.relevance, lists(weight), w / divisors, 5)

        w, mean = oracle.searched(start, value)
        np.testing.assert_array_equal(path.coefs[i], w)
        assert path.losses[i] == pytest.approx(-mean, rel=1e-12)
        moved += not np.array_equal(w, start)
        # The wrong variant, which searches for the loss of pairs, leads elsewhere.
        of_loss, _ = oracle.searched(start, lambda w: -float(pairs.loss(DATA.X @ (w / divisors), every)))
        wrong += not np.array_equal(of_loss, w)
    assert moved >= 2
    assert wrong >= 2


@pytest.mark.usefixtures("no_processes")
def test_boosts_of_long_lists_are_those_of_the_metric() -> None:
    """Text decides which documents are relevant at all, and popularity which of these are best: in a loss of pairs, the
    many others hide the second."""
    rng = np.random.default_rng(0)
    n = 60 * 300
    about = rng.random(n) < 0.2
    text = rng.binomial(40, np.where(about, 0.07, 0.03)) + rng.binomial(3, np.where(about, 0.17, 0.003))
    popularity = rng.random(n)
    noise = 0.6 * rng.standard_normal(n)
    grades = np.searchsorted([2.6, 3.6], np.where(about, 1.2 + 2.5 * popularity + noise, 0.0))
    X = np.column_stack([text, popularity])
    quick = {"half_samples": 0, "rival": "none", "n_alphas": 15, "feature_transform": "none"}
    data = sr.RankingDataset(X, grades, np.repeat(np.arange(60), 300), feature_names=["text", "popularity"])
    found = sr.select(data, engine="elasticsearch-query", **quick)
    straight = sr.select(data, engine="elasticsearch-query", penalties=["l1", "mcp"], **quick)
    assert found.chosen.penalty == "refined"
    assert found.chosen.mean > straight.chosen.mean + 0.02
    # Without a query that is run, it is not tried.
    assert "refined" not in {c.penalty for c in sr.select(data, **quick).choice.candidates}
