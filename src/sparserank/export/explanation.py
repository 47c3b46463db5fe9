"""Explanations of the order of a query's documents: exact, because a score is a sum over features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.dataset import RankingDataset
from sparserank.data.runs import document_ids
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.options.arguments import check_arguments
from sparserank.text import brief


@dataclass(frozen=True)
class QueryExplanation:
    """The documents of one query in the order of their scores.

    features       names of the selected features
    documents, relevance, scores   (n_docs,)
    values         (n_docs, n_features) unchanged from the data; of a category, its level
    contributions  (n_docs, n_features) contribution of each to the score, relative to the mean over the query: rows sum
                   to the score minus the mean score
    steps          {feature: its step function}, of the features that have one
    """

    query: str
    features: tuple[str, ...]
    documents: tuple[str, ...]
    relevance: np.ndarray
    scores: np.ndarray
    values: np.ndarray
    contributions: np.ndarray
    steps: Mapping[str, StepFunction] = field(default_factory=dict)

    def drivers(self, i: int) -> list[tuple[str, float]]:
        """The three features that move the i-th document most from the mean of the query."""
        added = self.contributions[i]
        order = np.argsort(-np.abs(added), kind="stable")[:3]
        return [(self.features[j], float(added[j])) for j in order if added[j] != 0.0]

    def pair(self, above: str, below: str) -> list[dict[str, Any]]:
        """Compare two documents: for each feature, both values, the steps on which they lie (None without steps), and
        the contribution to the score difference, largest first. The differences sum to that of the scores.

        Raises
            DataError   the query has no such document
        """
        a, b = (self._place(name) for name in (above, below))
        difference = self.contributions[a] - self.contributions[b]
        order = np.argsort(-np.abs(difference), kind="stable")
        return [
            {
                "feature": self.features[j],
                "above": self.values[a, j],
                "below": self.values[b, j],
                "above_step": self._step(j, a),
                "below_step": self._step(j, b),
                "difference": float(difference[j]),
            }
            for j in order
        ]

    def _step(self, j: int, i: int) -> tuple[float | None, float | None] | None:
        steps = self.steps.get(self.features[j])
        value = self.values[i, j]
        return None if steps is None or isinstance(value, str) else steps.step_of(value)

    def _place(self, document: str) -> int:
        if document not in self.documents:
            raise DataError(
                f"query {brief(self.query)} has no document {brief(document)}; its documents are "
                f"{brief(self.documents[0])} ... {brief(self.documents[-1])}."
            )
        return self.documents.index(document)


def explain_query(model: RankingModel, data: RankingDataset, query: Any) -> QueryExplanation:
    """Explain the order of the documents of one query.

    Parameters
    ----------
    model : RankingModel
        The model.
    data : RankingDataset
        The documents.
    query : str or int
        Id of the query.

    Returns
    -------
    QueryExplanation
        The contribution of each feature to the score of each document.

    Raises
    ------
    DataError
        There is no such query, or the model cannot score the data.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> model = sr.SparseRanker(k=2, penalty="mcp").fit(data.X, data.relevance, qid=data.qid).to_model()
    >>> type(sr.explain_query(model, data, data.query_ids[0])).__name__
    'QueryExplanation'
    """
    check_arguments(explain_query, locals())
    ids = [str(q) for q in data.query_ids.tolist()]
    if str(query) not in ids:
        raise DataError(
            f"there is no query {brief(str(query))}; the data contain {brief(ids[0])} ... {brief(ids[-1])}."
        )
    documents = data.take_queries(np.array([ids.index(str(query))]))
    explained = model.explained(documents)
    shape = len(explained), documents.n_docs
    added = np.array([parts for _, parts in explained.values()]).reshape(shape).T
    scores = model.score_dataset(documents)
    order = np.argsort(-scores, kind="stable")
    names = document_ids(documents)
    return QueryExplanation(
        str(query),
        tuple(explained),
        tuple(str(names[i]) for i in order),
        documents.relevance[order],
        scores[order],
        np.array([values for values, _ in explained.values()], dtype=object).reshape(shape).T[order],
        (added - added.mean(axis=0))[order],
        {f.name: f.steps for f in model.features if f.steps is not None},
    )
