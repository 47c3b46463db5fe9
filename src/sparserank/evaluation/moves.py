"""How far other grades move the values of a metric: that of one document, or grades that follow one of the rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.runs import Qrels, Run, document_ids, pairs_of
from sparserank.metrics import Convention, Metric
from sparserank.metrics.ordering import RankedLists, in_order, rank_lists

DEPTH = 10  # ranks that count here, if the metric has no cutoff
MAX_GRADES = 10  # that a document may get; of more, as of probabilities, so many in equal steps of their order


def lists_of(system: Run | np.ndarray, data: RankingDataset, convention: Convention) -> RankedLists:
    """The documents of `data` as a run ranks them, or scores (n_docs,) do. The run's own ranks order its equal scores,
    except where a convention orders them as a tool does.

    Raises
        DataError   the run has no score for any of the documents
    """
    ids = data.docid
    retrieved = None
    scores: Any = system
    if isinstance(system, Run):
        ids = document_ids(data)
        scores, retrieved = system.of(data)
        if convention.ties == "pessimistic":
            scores = in_order(scores, np.array([system.ranks.get(pair, 0.0) for pair in pairs_of(data)]))
    return rank_lists(
        scores, data.relevance, data.query_ptr, convention, ids, retrieved=retrieved, returned=data.returned
    )


class Moves(NamedTuple):
    """How far the grade of each of k documents can move m differences from the baseline on its query.

    documents   k of (query, document)
    queries     (k,) numbers of their queries, in the order of `Qrels.documents`
    ranks       (n_systems, k), 0 where a system does not show the document
    sizes       (m, k) the largest absolute changes
    """

    documents: list[tuple[str, str]]
    queries: np.ndarray
    ranks: np.ndarray
    sizes: np.ndarray


def moves(runs: Mapping[str, Run], baseline: str, judgments: Qrels, metric: Metric) -> Moves:
    """The moves of all documents that a system shows, within the cutoff of the metric: by the metric with 0 and each
    grade that occurs, while all ranks and all other grades stay as they are. Differences are those of the other
    systems, in their order; of one system, its value.
    """
    data = judgments.documents([*runs.values()])
    lists = {name: lists_of(run, data, metric.convention) for name, run in runs.items()}
    cutoff = metric.cutoff or DEPTH
    ranks = np.array([np.where(one.first(cutoff), one.rank[np.argsort(one.order)], 0) for one in lists.values()])
    rows = np.flatnonzero(ranks.any(axis=0))
    queries = np.searchsorted(data.query_ptr, rows, side="right") - 1

    def values(relevance: np.ndarray) -> np.ndarray:
        """(m, n_queries)"""
        of = {name: _values(one, relevance, metric) for name, one in lists.items()}
        base = of.pop(baseline)
        return np.array([value - base for value in of.values()] or [base])

    # One document of each query at a time gets another grade.
    grades = np.unique([0.0, *judgments.values()])
    grades = grades[np.linspace(0, len(grades) - 1, min(len(grades), MAX_GRADES)).astype(int)]
    turn = np.arange(len(rows)) - np.searchsorted(queries, queries)
    before = values(data.relevance)
    sizes = np.zeros((len(before), len(rows)))
    for k in np.unique(turn):
        now = turn == k
        for grade in grades:
            relevance = data.relevance.copy()
            relevance[rows[now]] = grade
            change = (values(relevance) - before)[:, queries[now]]
            sizes[:, now] = np.fmax(sizes[:, now], np.abs(change))
    names = pairs_of(data)
    return Moves([names[row] for row in rows], queries, ranks[:, rows], sizes)


def rooms(
    runs: Mapping[str, Run], baseline: str, judgments: Qrels, metrics: Mapping[str, Metric]
) -> dict[str, np.ndarray]:
    """{metric: (m, n_queries)}, the room of a judge for favour: for each difference of another system from the
    baseline, its absolute value if the grades of each query, in the same numbers, followed the ranking of the one
    system, plus that if they followed the ranking of the other (docs/theory.md, section 10, (8))."""
    data = judgments.documents([*runs.values()])
    query = np.repeat(np.arange(data.n_queries), data.sizes)
    best_first = data.relevance[np.lexsort((-data.relevance, query))]
    conventions = {metric.convention for metric in metrics.values()}
    ordered = {c: {name: lists_of(run, data, c) for name, run in runs.items()} for c in conventions}
    found = {}
    for name, metric in metrics.items():
        lists = {**ordered[metric.convention]}
        base = lists.pop(baseline)
        found[name] = np.zeros((len(lists), data.n_queries))
        for room, other in zip(found[name], lists.values(), strict=True):
            for ranking in (other, base):
                following = best_first[np.argsort(ranking.order)]
                room += np.abs(_values(other, following, metric) - _values(base, following, metric))
    return found


def _values(one: RankedLists, relevance: np.ndarray, metric: Metric) -> np.ndarray:
    """(n_queries,) of the metric, if the documents had this relevance (n_docs,), in the order of the rows."""
    return metric.compute(replace(one, relevance=relevance[one.order], known={}))
