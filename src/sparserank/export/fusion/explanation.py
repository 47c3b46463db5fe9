"""Explanations of fused lists: exact, because a fused score is a sum over retrievers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.runs import Run, ranked
from sparserank.errors import DataError
from sparserank.export.explanation import QueryExplanation
from sparserank.model.fusion import FusionFormula
from sparserank.quoting import brief


def explain_fused(formula: FusionFormula, runs: Any, query: str) -> QueryExplanation:
    """Explain the fused list of a query: the features are the retrievers, and their values the ranks in their lists
    (nan where a retriever did not return the document).

    Parameters
        runs   as in `FusionFormula.apply`
    Raises
        DataError   no retriever in use returned anything for the query; a run is missing or cannot be read
    """
    every = formula.added(runs)
    own = [
        {d: (rank, value) for (q, d), rank, value in zip(a.keys, a.ranks, a.values, strict=True) if q == query}
        for a in every
    ]
    documents = list(dict.fromkeys(d for found in own for d in found))
    if not documents:
        known = list(dict.fromkeys(q for a in every for q, _ in a.keys))
        among = f" The runs contain {brief(known[0])} ... {brief(known[-1])}." if known else ""
        raise DataError(f"no retriever in use returned documents for query {brief(query)}.{among}")
    ranks, added = np.array([[found.get(d, (np.nan, 0.0)) for found in own] for d in documents]).transpose(2, 0, 1)
    scores = added.sum(axis=1)
    fused = ranked(Run({(query, d): score for d, score in zip(documents, scores.tolist(), strict=True)}))[query]
    place = {d: i for i, d in enumerate(documents)}
    order = [place[d] for d, _ in fused[: formula.longest]]
    return QueryExplanation(
        query,
        formula.retrievers,
        tuple(documents[i] for i in order),
        np.full(len(order), np.nan),
        scores[order],
        ranks[order],
        (added - added.mean(axis=0))[order],
    )
