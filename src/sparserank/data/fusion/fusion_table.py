"""The documents that any retriever returned, with a feature for each retriever and norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.norms import HOUSE_RULES, EdgeRules, Norm
from sparserank.data.fusion.returned import Ids, Returned

MAX_EXACT = 40_000_000  # values that are kept in double precision
MAX_DENSE = 10_000_000  # values, zeros included, of a dense matrix, which is faster to compute with


@dataclass(frozen=True, eq=False)
class FusionTable:
    """Documents of judged queries.

    data          features named 'retriever:norm', all >= 0, CSR if they are many; relevance 0 for unjudged documents.
                  A relevant document that no retriever returned is a row of zeros that is never the preferred one of a
                  pair; so is a judged document of a query for which nothing was returned and nothing is relevant
    is_returned   (n_docs,) bool
    is_judged     (n_docs,) bool
    """

    data: RankingDataset
    is_returned: np.ndarray
    is_judged: np.ndarray


def feature_name(retriever: str, norm: Norm) -> str:
    return f"{retriever}:{norm}"


def fusion_table(
    runs: Sequence[Returned],
    norms: Sequence[Norm],
    depth: int,
    qrels: Mapping[tuple[str, str], float],
    query_ids: Sequence[str],
    documents: Ids,
    rules: EdgeRules = HOUSE_RULES,
    *,
    judged_only: bool = False,
) -> FusionTable:
    """The table of these queries.

    Parameters
        runs         lists that are cut at `depth`
        query_ids    ids of the queries, by number
        documents    numbers of the documents of all runs, and of those in qrels
        judged_only  leave out returned documents without a judgment; the norms still see them
    """
    number = {q: i for i, q in enumerate(query_ids)}
    judged = [(number[q], documents[d], grade) for (q, d), grade in qrels.items() if q in number]
    names, n = np.array(list(documents), dtype=object), len(documents)
    by_name = np.argsort(names.astype(str), kind="stable")
    place = np.empty(n, dtype=np.int64)  # of each document among their sorted ids, in which rows come
    place[by_name] = np.arange(n)
    keys = [np.repeat(run.query, run.depths) * n + place[run.document] for run in runs]
    judged_keys = np.array([q * n + place[d] for q, d, _ in judged], dtype=np.int64)
    grades = np.array([grade for *_, grade in judged])
    returned = _distinct(keys)
    extra = judged_keys[grades > 0]
    empty = np.setdiff1d(np.arange(len(query_ids)), np.concatenate([returned // n, extra // n]))
    if len(empty):
        of_query, first = np.unique(judged_keys // n, return_index=True)
        extra = np.concatenate([extra, judged_keys[first[np.isin(of_query, empty)]]])
    rows = np.union1d(returned, extra)
    if judged_only:
        rows = rows[np.isin(rows, judged_keys)]
    X: Any = _features(runs, norms, depth, rules, keys, rows)
    if X.shape[0] * X.shape[1] <= MAX_DENSE:
        X = X.toarray()
    is_returned, is_judged = np.isin(rows, returned), np.isin(rows, judged_keys)
    relevance = np.zeros(len(rows))
    at = np.searchsorted(rows, judged_keys)
    known = (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == judged_keys) if len(rows) else np.zeros(0, bool)
    relevance[at[known]] = np.maximum(grades[known], 0.0)
    query, document = np.divmod(rows, n)
    data = RankingDataset(
        X,
        relevance,
        np.array(query_ids, dtype=object)[query],
        names[by_name[document]],
        [feature_name(run.name, norm) for run in runs for norm in norms],
        doc_weight=None if is_returned.all() else is_returned.astype(np.float64),
    )
    return FusionTable(data, is_returned, is_judged)


def _distinct(keys: Sequence[np.ndarray]) -> np.ndarray:
    """The distinct keys, ascending, one run at a time."""
    out = np.zeros(0, dtype=np.int64)
    for own in keys:
        out = np.union1d(out, own)
    return out


def _features(
    runs: Sequence[Returned],
    norms: Sequence[Norm],
    depth: int,
    rules: EdgeRules,
    keys: Sequence[np.ndarray],
    rows: np.ndarray,
) -> sp.csr_matrix:
    """(len(rows), len(runs) * len(norms))"""
    places = [np.searchsorted(rows, own) for own in keys]
    kept = [
        (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == own) for at, own in zip(places, keys, strict=True)
    ]
    counts = np.zeros(len(rows) + 1, dtype=np.int64)
    for at, own in zip(places, kept, strict=True):
        counts[at[own] + 1] += len(norms)
    indptr = np.cumsum(counts)
    exact = indptr[-1] <= MAX_EXACT
    values = np.empty(indptr[-1], dtype=np.float64 if exact else np.float32)
    columns = np.empty(indptr[-1], dtype=np.int32)
    free = indptr[:-1].copy()  # the next free entry of each row
    for r, (run, at, own) in enumerate(zip(runs, places, kept, strict=True)):
        here = at[own]
        if not len(here):
            continue
        for f, norm in enumerate(norms):
            values[free[here] + f] = norm(run, depth, rules)[own]
            columns[free[here] + f] = r * len(norms) + f
        free[here] += len(norms)
    return sp.csr_matrix((values, columns, indptr), shape=(len(rows), len(runs) * len(norms)))
