"""The documents that any retriever returned, with a feature for each retriever and norm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.lists import RetrieverLists
from sparserank.data.fusion.norms import HOUSE_RULES, EdgeRules, Norm
from sparserank.data.run_reader import Ids

MAX_EXACT = 40_000_000  # values that are kept in double precision
MAX_LEARNED = 150_000  # approximate number of documents on which formulas are trained
MAX_DENSE = 10_000_000  # largest dense matrix, in values including zeros; dense ones are faster


@dataclass(frozen=True, eq=False)
class FusionTable:
    """Documents of judged queries, with features named 'retriever:norm', all >= 0, as CSR if large.

    judged    the returned documents, and the relevant documents that no retriever returned, which are rows of zeros. A
              query with neither has one row, a judged document. The relevance of unjudged documents is 0
    learned   the rows on which formulas are trained: the returned documents of the same queries. If these are too many,
              the relevant ones, and those that some run has at rank `learned_to` or better
    learned_to  None: all returned documents
    """

    judged: RankingDataset
    learned: RankingDataset
    learned_to: int | None = None


def feature_name(retriever: str, norm: Norm) -> str:
    return f"{retriever}:{norm}"


def fusion_table(
    runs: Sequence[RetrieverLists],
    norms: Sequence[Norm],
    depth: int,
    qrels: Mapping[tuple[str, str], float],
    query_ids: Sequence[str],
    documents: Ids,
    rules: EdgeRules = HOUSE_RULES,
    *,
    judged_only: bool = False,
    also: Iterable[tuple[str, str]] = (),
) -> FusionTable:
    """The table for the given queries.

    Parameters
        runs         lists that are cut at `depth`
        query_ids    ids of the queries, by number
        documents    numbers of the documents of all runs, and of those in qrels
        judged_only  leave out returned documents without a judgment; the norms still see them
        also         (query, document) of further rows of `judged`
    """
    number = {q: i for i, q in enumerate(query_ids)}
    known = [(number[q], documents[d], grade) for (q, d), grade in qrels.items() if q in number]
    names = list(documents)
    n = len(documents)
    by_name = np.array(sorted(range(n), key=names.__getitem__), dtype=np.int64)
    place = np.empty(n, dtype=np.int64)  # position of each document in the sorted ids, the order of the rows
    place[by_name] = np.arange(n)
    judged = np.array([q * n + place[d] for q, d, _ in known], dtype=np.int64)
    grades = np.array([grade for *_, grade in known])
    returned = reduce(np.union1d, (_keys(run, place) for run in runs), np.zeros(0, dtype=np.int64))
    if judged_only:
        returned = returned[np.isin(returned, judged)]
    others = [number[q] * n + place[documents[d]] for q, d in also]
    extra = np.concatenate([judged[grades > 0], np.array(others, dtype=np.int64)])
    empty = np.setdiff1d(np.arange(len(query_ids)), np.concatenate([returned // n, extra // n]))
    if len(empty):
        of_query, first = np.unique(judged // n, return_index=True)
        extra = np.concatenate([extra, judged[first[np.isin(of_query, empty)]]])
    rows = np.union1d(returned, extra)
    X: Any = _features(runs, norms, depth, rules, place, rows)
    if X.shape[0] * X.shape[1] <= MAX_DENSE:
        X = X.toarray()
    relevance = np.zeros(len(rows))
    at, is_row = _places(rows, judged)
    relevance[at] = np.maximum(grades[is_row], 0.0)
    query, document = np.divmod(rows, n)
    ids = np.array([names[d] for d in by_name[document].tolist()], dtype=object)
    qids = np.array(query_ids, dtype=object)[query]
    columns = [feature_name(run.name, norm) for run in runs for norm in norms]
    whole = RankingDataset(X, relevance, qids, ids, columns)
    learned = np.isin(rows, returned)
    learned_to = None
    if learned.sum() > MAX_LEARNED:
        best = _best_ranks(runs, place, rows)
        learned_to = int(np.sort(best[learned & (relevance == 0)])[MAX_LEARNED - 1])
        learned &= (relevance > 0) | (best <= learned_to)
    learned[np.flatnonzero(~np.isin(query, query[learned]))] = True  # queries for which nothing was returned
    if learned.all():
        return FusionTable(whole, whole)
    X_learned = X[learned]
    if sp.issparse(X_learned) and X_learned.shape[0] * X_learned.shape[1] <= 2 * MAX_DENSE:
        X_learned = X_learned.toarray()
    learned_data = RankingDataset(X_learned, relevance[learned], qids[learned], ids[learned], columns)
    return FusionTable(whole, learned_data, learned_to)


def _keys(run: RetrieverLists, place: np.ndarray) -> np.ndarray:
    """(n_entries,) sort key of each entry, by query and then by place of the document. Computed on demand, because the
    keys of all runs would take as much memory as their scores."""
    return np.asarray(run.of_entry * len(place) + place[run.document])


def _best_ranks(runs: Sequence[RetrieverLists], place: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(len(rows),) the best rank that any run gives to a row; infinite if none returned it."""
    best = np.full(len(rows), np.inf)
    for run in runs:
        at, is_row = _places(rows, _keys(run, place))
        best[at] = np.minimum(best[at], run.rank[is_row])  # a run returns a document at most once per query
    return best


def _features(
    runs: Sequence[RetrieverLists],
    norms: Sequence[Norm],
    depth: int,
    rules: EdgeRules,
    place: np.ndarray,
    rows: np.ndarray,
) -> sp.csr_matrix:
    """(len(rows), len(runs) * len(norms)) values of the norms; 0 where a run did not return the document."""
    counts = np.zeros(len(rows) + 1, dtype=np.int64)
    for run in runs:
        at, _ = _places(rows, _keys(run, place))
        counts[at + 1] += len(norms)
    indptr = np.cumsum(counts)
    if indptr[-1] < 2**31:  # otherwise SciPy would widen the column indices to 64 bits
        indptr = indptr.astype(np.int32)
    exact = indptr[-1] <= MAX_EXACT
    values = np.empty(indptr[-1], dtype=np.float64 if exact else np.float32)
    columns = np.empty(indptr[-1], dtype=np.int32)
    free = indptr[:-1].copy()  # the next free entry of each row
    for r, run in enumerate(runs):
        at, is_row = _places(rows, _keys(run, place))
        if not len(at):
            continue
        for f, norm in enumerate(norms):
            values[free[at] + f] = norm(run, depth, rules)[is_row]
            columns[free[at] + f] = r * len(norms) + f
        free[at] += len(norms)
    return sp.csr_matrix((values, columns, indptr), shape=(len(rows), len(runs) * len(norms)))


def _places(rows: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(positions in `rows` of the keys that occur there, (len(keys),) bool: which keys occur)"""
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(rows, keys), len(rows) - 1)
    is_row = rows[at] == keys
    return at[is_row], is_row
