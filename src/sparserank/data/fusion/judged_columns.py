"""A table of judged documents with a column for each retriever: its ranks or its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.judged_runs import JudgedRuns
from sparserank.data.fusion.lists import MAX_SCORE, RetrieverLists, of_ranks, ordered
from sparserank.data.run_reader import Ids
from sparserank.data.runs import document_ids
from sparserank.errors import DataError
from sparserank.quoting import brief

MAX_RANK = 1e9  # ranks are numbers of documents


def judged_columns(data: RankingDataset, depth: int | None, *, ranks: bool) -> JudgedRuns:
    """The columns of a table as retrievers: ranks from 1 or scores, NaN where a document was not returned; all
    documents are judged.

    Raises
        DataError   as in `_lists`, or fewer than two columns
    """
    if data.n_features < 2:
        raise DataError(f"there must be at least two columns, one for each retriever; got {data.n_features}.")
    X = data.X.toarray() if data.is_sparse else np.asarray(data.X)
    ids = [str(d) for d in document_ids(data)]
    query_ids = tuple(str(q) for q in data.query_ids)
    query = np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))
    if len(set(zip(query.tolist(), ids, strict=True))) < len(ids):
        ids = [f"{d} (row {i + 1})" for i, d in enumerate(ids)]
    documents = Ids()
    numbers = np.array([documents[d] for d in ids])
    lists = _lists(X, data.feature_names or (), data.query_ptr, ranks=ranks, docno=np.array(ids), document=numbers)
    qrels = {(query_ids[q], d): float(r) for q, d, r in zip(query.tolist(), ids, data.relevance, strict=True)}
    if depth is None:
        depth = int(np.ceil(max(run.rank.max() for run in lists)))
    return JudgedRuns(tuple(run.cut(depth) for run in lists), query_ids, documents, qrels, depth, True, ranks)


def _lists(
    X: np.ndarray,
    names: Sequence[str],
    query_ptr: np.ndarray,
    *,
    ranks: bool,
    docno: np.ndarray,
    document: np.ndarray,
) -> list[RetrieverLists]:
    """The lists of each column of X (n_docs, n_columns), NaN where a retriever did not return a document: of ranks
    (1 is best) or of scores. document (n_docs,): their numbers; docno (n_docs,): their ids, which decide ties.

    Raises
        DataError   a column contains no number, or a rank below 1
    """
    query, out = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr)), []
    for j, name in enumerate(names):
        at = np.flatnonzero(~np.isnan(X[:, j]))
        values = X[at, j].astype(np.float64)
        if not len(at):
            raise DataError(f"column {brief(name)} contains no number; leave it out.")
        if ranks and not (values.min() >= 1 and values.max() <= MAX_RANK):
            odd = values.min() if values.min() < 1 else values.max()
            raise DataError(f"column {brief(name)} contains the rank {odd:g}; ranks are from 1 to {MAX_RANK:g}.")
        if np.abs(values).max() > MAX_SCORE:
            raise DataError(f"column {brief(name)} contains a score above {MAX_SCORE:g}; scale the scores.")
        if ranks:
            out.append(of_ranks(name, query[at], document[at], values))
        else:
            out.append(ordered(name, query[at], document[at], values, np.zeros(len(at)), docno[at].astype(str)))
    return out
