"""Ranking metrics of many models, with the scores of only a few documents in memory, and grades that are made from
scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparserank.execution import BlockExecutor
from sparserank.metrics.ordering import rank_lists
from sparserank.number_checks import clause_sums
from sparserank.shards.rows import Rows, documents_of

if TYPE_CHECKING:
    from sparserank.metrics import Convention, Metric
    from sparserank.metrics.ordering import RankedLists

DENSE_FROM = 0.1  # share of weights that are not 0 from which products with arrays are faster
CHUNK_BYTES = 16 << 20  # of features and scores together
# Grades begin above these shares of the other documents of a query that score lower.
GRADES_FROM = (0.5, 0.7, 0.82, 0.9, 0.96)
EQUAL = 1e-12  # differences of scores below this share of the largest count as none


@dataclass(frozen=True)
class Columns:
    """Models that rank by one feature each: columns (n_models,) and their signs (n_models,)."""

    columns: np.ndarray
    monotone: np.ndarray

    @property
    def shape(self) -> tuple[int]:
        return (len(self.columns),)


def measure(
    rows: Rows,
    lists: tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None],
    models: Sequence[sp.csr_array | Columns],
    assigned: np.ndarray,
    metrics: Sequence[Metric],
    executor: BlockExecutor,
) -> list[np.ndarray]:
    """Metrics of groups of models, each group on its assigned queries.

    Parameters
        lists    relevance, query_ptr, and, if known, the ids of the documents and whether they are returned
        models   per group (n_models, n_columns) float64 CSR, or Columns
        assigned (n_queries,) the group whose models are scored on a query; -1: none
    Returns
        per group (n_metrics, n_models, its queries), queries in order
    """
    relevance, query_ptr, docid, returned = lists
    of_clauses = any(m.convention.of_clauses for m in metrics)
    models = [m if isinstance(m, Columns) else _as_products_want(m, rows) for m in models]
    out = []
    chunks = []
    for g, coefs in enumerate(models):
        queries = np.flatnonzero(assigned == g)
        n_models = coefs.shape[0]
        out.append(np.empty((len(metrics), n_models, len(queries))))
        per_chunk = max(CHUNK_BYTES // (8 * (rows.n_columns if rows.is_dense else 64) + 16 * max(n_models, 1)), 1)
        sizes = query_ptr[queries + 1] - query_ptr[queries]
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // per_chunk)) + 1
        edges = [0, *cuts.tolist(), len(queries)]
        places = [slice(a, b) for a, b in pairwise(edges) if b > a]
        chunks += [(g, queries[place], place) for place in places]

    def one(c: int) -> None:
        g, queries, place = chunks[c]
        documents = documents_of(query_ptr, queries)
        ptr = np.concatenate([[0], np.cumsum(query_ptr[queries + 1] - query_ptr[queries])])
        ids, is_returned = (None if values is None else values[documents] for values in (docid, returned))
        judged = relevance[documents]
        scores = np.asfortranarray(_scores(rows, models[g], documents, of_clauses))
        known: dict[Convention, dict[Any, np.ndarray]] = {}
        for i in range(models[g].shape[0]):
            ranked: dict[Convention, RankedLists] = {}
            for m, metric in enumerate(metrics):
                if metric.convention not in ranked:
                    cache = known.setdefault(metric.convention, {})
                    ranked[metric.convention] = rank_lists(
                        scores[:, i],
                        judged,
                        ptr,
                        metric.convention,
                        ids,
                        cache,
                        returned=is_returned,
                    )
                out[g][m, i, place] = metric.compute(ranked[metric.convention])

    executor.map(one, len(chunks))
    return out


def _as_products_want(models: sp.csr_array, rows: Rows) -> np.ndarray | sp.csr_array:
    """The models in the form that makes products with the rows fast: dense, unless rows and models are sparse."""
    few = not rows.is_dense and models.nnz < DENSE_FROM * np.prod(models.shape)
    return models if few else np.asarray(models.toarray())


def _scores(
    rows: Rows,
    models: np.ndarray | sp.csr_array | Columns,
    documents: np.ndarray,
    of_clauses: bool,
) -> np.ndarray:
    """(len(documents), n_models) scores."""
    if isinstance(models, Columns):
        return rows.columns(documents, models.columns) * models.monotone
    if of_clauses:
        values = rows.columns(documents, np.arange(rows.n_columns))
        weights = models if isinstance(models, np.ndarray) else models.toarray()
        sums = [clause_sums(values, w) for w in weights]
        return np.array(sums).reshape(len(sums), len(documents)).T
    return rows.times(models, documents)


def standardised(scores: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_docs,) scores minus their mean within the query, divided by their standard deviation there; 0 where all are
    equal."""
    sizes = np.diff(query_ptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    n = np.maximum(sizes, 1)
    centred = scores - (np.bincount(query, scores, len(sizes)) / n)[query]
    deviation = np.sqrt(np.bincount(query, centred**2, len(sizes)) / n)
    # Rounding leaves differences of its own size where all scores are equal.
    least = EQUAL * np.abs(scores).max(initial=0.0)
    return np.where(deviation[query] > least, centred / np.maximum(deviation[query], least or 1.0), 0.0)


def grades_of(scores: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_docs,) uint8 labels of distilled models (docs/theory.md section 9): the number of GRADES_FROM below the share
    of the query's other documents that score lower. Tied documents get the same grade."""
    sizes = np.diff(query_ptr)
    starts = np.repeat(query_ptr[:-1], sizes)
    order = np.lexsort((scores, starts))
    # In order of score within each query, each document has as many below it as the first of its ties.
    ordered = scores[order]
    place = np.arange(len(scores))
    begins = (place == starts) | (ordered != np.roll(ordered, 1))
    first = np.maximum.accumulate(np.where(begins, place, 0))
    lower = (first - starts) / np.maximum(np.repeat(sizes, sizes) - 1, 1)
    out = np.empty(len(scores), dtype=np.uint8)
    out[order] = np.searchsorted(GRADES_FROM, lower, side="left")
    return out
