"""Queries on which the chosen model loses and wins most against a rival, and the documents and features that explain
the differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.current_model import InUse, in_order
from sparserank.data.dataset import RankingDataset
from sparserank.data.runs import document_ids
from sparserank.evaluation.statistics import SAME_ABSOLUTE
from sparserank.metrics import Metric
from sparserank.metrics.ordering import rank_documents
from sparserank.model.ranking_model import RankingModel

MAX_QUERIES = 10  # losses, and wins, that are listed
MAX_LISTED = 10  # documents of a list
MAX_OTHERS = 10  # features used only by the rival that are listed
MAX_VALUES = 1 << 26  # dense feature values of a query; larger queries are not explained
MAX_WORSE, MAX_BETTER = 10, 20  # documents tried as the one ranked too high, and as the one ranked too low


@dataclass(frozen=True)
class Placed:
    """A document: its id, its grade, and its rank by both models."""

    document: str
    grade: float
    chosen: int
    rival: int


@dataclass(frozen=True)
class FeatureContribution:
    """A feature: its values in the better and in the worse document, and its contribution to the difference of their
    scores (better minus worse) by both models; None: the model does not use it."""

    feature: str
    better: float | str
    worse: float | str
    chosen: float | None
    rival: float | None


@dataclass(frozen=True)
class Pair:
    """Two documents that the models order differently, where `better` has the higher grade: of all such pairs, the one
    whose exchange raises the metric most in the ranking that has it wrong.

    chosen, rival  score of the better minus that of the worse; rival is None if the rival is no model with features
    features       those of the chosen model by size, then the MAX_OTHERS others that contribute most to the rival
    others         (number of further features of the rival, their total contribution); all contributions sum to
                   `chosen` and `rival`
    """

    better: Placed
    worse: Placed
    chosen: float
    rival: float | None
    features: tuple[FeatureContribution, ...]
    others: tuple[int, float]


@dataclass(frozen=True)
class RankedList:
    """The first MAX_LISTED documents of a query as a ranker orders them, each as (id, grade)."""

    ranker: str
    documents: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class QueryDifference:
    """A query: the metric of both models on it, the pair of documents that explains the difference (None: no pair does,
    or the query is too large), and the lists of these and other rankers."""

    query: str
    n_docs: int
    chosen: float
    rival: float
    pair: Pair | None
    lists: tuple[RankedList, ...] = ()

    @property
    def difference(self) -> float:
        return self.chosen - self.rival


@dataclass(frozen=True)
class Queries:
    """The chosen model compared with a rival, query by query.

    on                   'test', 'out of fold' or 'validation'
    wins, losses, ties   numbers of queries
    lost, won            queries with the largest differences, the largest first
    """

    rival: str
    on: str
    wins: int
    losses: int
    ties: int
    lost: tuple[QueryDifference, ...]
    won: tuple[QueryDifference, ...]


@dataclass(frozen=True)
class Ranker:
    """A ranker whose lists are shown; scores(q, documents of query q) returns scores in row order."""

    name: str
    scores: Callable[[int, RankingDataset], np.ndarray]


def compare_queries(
    data: RankingDataset,
    metric: Metric,
    values: np.ndarray,
    scorers: Callable[[int], tuple[RankingModel, InUse]],
    on: str,
    rankers: Sequence[Ranker] = (),
) -> Queries:
    """Compare the chosen model with a rival, query by query.

    Parameters
        values   (2, n_queries) of the metric, of the chosen model and of the rival
        scorers  (chosen model, rival) that score a query, by its position
        on       kind of queries, as in `Queries`
        rankers  rankers whose lists of these queries are shown
    """
    chosen, rival = values
    difference = chosen - rival
    order, n_lost, n_won = in_order(difference)
    lost, won = (most[:MAX_QUERIES].tolist() for most in (order[:n_lost], order[::-1][:n_won]))

    def row(q: int) -> QueryDifference:
        documents, (model, other) = data.take_queries(np.array([q])), scorers(q)
        width = max(len(m.support) for m in (model, other.model) if m is not None)
        lost = bool(difference[q] < 0)
        pair = (
            None if documents.n_docs * width > MAX_VALUES else decisive_pair(documents, metric, model, other, lost=lost)
        )
        lists = tuple(RankedList(r.name, _first(documents, metric, r.scores(q, documents))) for r in rankers)
        return QueryDifference(str(data.query_ids[q]), documents.n_docs, float(chosen[q]), float(rival[q]), pair, lists)

    name = scorers(int(order[0]))[1].name if len(order) else ""
    return Queries(name, on, n_won, n_lost, len(order) - n_won - n_lost, tuple(map(row, lost)), tuple(map(row, won)))


def _first(documents: RankingDataset, metric: Metric, scores: np.ndarray) -> tuple[tuple[str, float], ...]:
    """The first documents of a query."""
    order = rank_documents(scores, documents.relevance, documents.query_ptr, metric.convention.ties, documents.docid)
    if documents.returned is not None:  # documents that were not returned, with the lowest score, are left out
        order = order[documents.returned[order] | (scores[order] > scores.min())]
    ids = document_ids(documents)
    return tuple((str(ids[i]), float(documents.relevance[i])) for i in order[:MAX_LISTED].tolist())


def decisive_pair(
    documents: RankingDataset, metric: Metric, chosen: RankingModel, rival: InUse, *, lost: bool
) -> Pair | None:
    """The pair of documents that explains the difference on one query.

    The worse document is among the first MAX_WORSE of the ranking that has the pair wrong. The better one is among
    MAX_BETTER documents of the highest grades; within a grade, those that the other ranking ranks highest are tried.

    documents   of the query
    lost        whether the chosen model has the pair wrong
    """
    scores = chosen.score_dataset(documents), rival.scores(documents)
    orders = [
        rank_documents(s, documents.relevance, documents.query_ptr, metric.convention.ties, documents.docid)
        for s in scores
    ]
    ranks = [np.argsort(order) for order in orders]
    wrong, right = (0, 1) if lost else (1, 0)

    def value(rank: np.ndarray) -> float:
        return float(metric(-rank.astype(np.float64), documents.relevance, documents.query_ptr)[0])

    pair = None
    most = SAME_ABSOLUTE
    for worse in orders[wrong][:MAX_WORSE].tolist():
        better = np.flatnonzero(
            (documents.relevance > documents.relevance[worse])
            & (ranks[wrong] > ranks[wrong][worse])
            & (ranks[right] < ranks[right][worse])
        )
        first = np.lexsort((ranks[right][better], -documents.relevance[better]))[:MAX_BETTER]
        for b in better[first].tolist():
            exchanged = ranks[wrong].copy()
            exchanged[[b, worse]] = exchanged[[worse, b]]
            gained = value(exchanged) - value(ranks[wrong])
            if gained > most:
                pair = (b, worse)
                most = gained
    if pair is None:
        return None
    ids = document_ids(documents)
    placed = [Placed(str(ids[i]), float(documents.relevance[i]), *(int(r[i]) + 1 for r in ranks)) for i in pair]
    b, worse = pair
    by_chosen, by_rival = (float(s[b] - s[worse]) for s in scores)
    added = _added(documents, chosen, rival, b, worse)
    return Pair(placed[0], placed[1], by_chosen, None if rival.model is None else by_rival, *added)


def _added(
    documents: RankingDataset, chosen: RankingModel, rival: InUse, better: int, worse: int
) -> tuple[tuple[FeatureContribution, ...], tuple[int, float]]:
    values: dict[str, tuple[float | str, float | str]] = {}
    added: list[dict[str, float]] = []
    for model in (chosen, rival.model):
        added.append({})
        if model is not None:
            for name, (shown, parts) in model.explained(documents).items():
                values[name] = shown[better], shown[worse]
                added[-1][name] = float(parts[better] - parts[worse])
    of_chosen, of_rival = (sorted(of, key=lambda name: -abs(of[name])) for of in added)
    others = [name for name in of_rival if name not in added[0]]
    names = [*of_chosen, *others[:MAX_OTHERS]]
    rest = others[MAX_OTHERS:]
    rows = tuple(FeatureContribution(name, *values[name], added[0].get(name), added[1].get(name)) for name in names)
    return rows, (len(rest), float(sum(added[1][name] for name in rest)))
