"""Runs of several retrievers with judgments: the input of fusion, and the share of it that is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.lists import MAX_SCORE, RetrieverLists, named_runs, of_ranks, ordered, read_lists
from sparserank.data.fusion.norms import EdgeRules
from sparserank.data.matrices import as_dense
from sparserank.data.run_reader import USUAL, Asked, Ids
from sparserank.data.runs import document_ids
from sparserank.errors import DataError
from sparserank.text import brief

Judgments = dict[tuple[str, str], float]
USUAL_DEPTH = 100  # default depth at which lists are cut
MAX_RANK = 1e9  # ranks count documents


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """The lists of several retrievers, cut at one depth, with judgments.

    lists          one per retriever
    query_ids      ids of the judged queries, by number
    documents      numbers of all documents
    depth          documents of larger ranks are left out
    is_table       whether the lists are columns of a table of judged documents
    of_ranks       whether these columns contain ranks instead of scores
    usual_depths   {retriever: median depth of its lists before they were cut}; empty for a table
    """

    lists: tuple[RetrieverLists, ...]
    query_ids: tuple[str, ...]
    documents: Ids
    qrels: Judgments
    depth: int
    is_table: bool = False
    of_ranks: bool = False
    usual_depths: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(run.name for run in self.lists)

    @property
    def negative(self) -> tuple[str, ...]:
        """The retrievers with scores below 0; empty if the input contains ranks instead of scores."""
        return () if self.of_ranks else tuple(run.name for run in self.lists if (run.score < 0).any())

    def returned(self, rules: EdgeRules) -> JudgedRuns:
        """The same runs, without the documents that an engine with these rules does not return."""
        return self if rules.zeros else replace(self, lists=tuple(run.without_zeros() for run in self.lists))

    def only(self, queries: Iterable[str]) -> JudgedRuns:
        """The same runs, restricted to some queries."""
        query_ids = tuple(queries)
        number = {q: i for i, q in enumerate(query_ids)}
        new = np.array([number.get(q, -1) for q in self.query_ids])
        qrels = {key: grade for key, grade in self.qrels.items() if key[0] in number}
        return replace(self, lists=tuple(_only(run, new) for run in self.lists), query_ids=query_ids, qrels=qrels)

    def judged_at(self, k: int) -> dict[str, float]:
        """{retriever: fraction of its first k documents that are judged, averaged over its lists}."""
        n = len(self.documents)
        number = {q: i for i, q in enumerate(self.query_ids)}
        pairs = [(number[q], self.documents[d]) for q, d in self.qrels if q in number]
        judged = np.array([q * n + d for q, d in pairs], dtype=np.int64)
        out = {}
        for run in self.lists:
            top = run.cut(k)
            known = np.isin(top.of_entry * n + top.document, judged)
            shares = np.add.reduceat(known.astype(float), top.list_ptr[:-1]) / top.depths
            out[run.name] = float(shares.mean()) if len(shares) else 0.0
        return out


def read_judged_runs(
    runs: Any,
    qrels: Judgments,
    depth: int | None,
    cutoff: int | None,
    asked: Asked = USUAL,
) -> JudgedRuns:
    """Runs, as {name: source} or as a list of files, cut at `depth`; None: at `default_depth` of the metric's cutoff.

    Raises
        DataError, DataFormatError   as in `read_lists`
        ParameterError               there are fewer than two runs, or a name cannot be used
    """
    named = named_runs(runs)
    query_ids = tuple(dict.fromkeys(q for q, _ in qrels))
    queries = {q: i for i, q in enumerate(query_ids)}
    documents = Ids()
    for _, docno in qrels:
        documents[docno]  # assigns a number
    lists = [read_lists(source, name, queries, documents, asked=asked) for name, source in named.items()]
    usual = {run.name: float(np.median(run.depths)) for run in lists}
    at = depth or default_depth(list(usual.values()), cutoff)
    return JudgedRuns(tuple(run.cut(at) for run in lists), query_ids, documents, qrels, at, usual_depths=usual)


def default_depth(medians: Sequence[float], cutoff: int | None) -> int:
    """The larger of USUAL_DEPTH and the cutoff, if the median depths of at least half of the retrievers reach it;
    otherwise the median of the median depths, but at least the cutoff. A few short runs do not shorten the others."""
    wanted = max(USUAL_DEPTH, cutoff or 1)
    if 2 * sum(median >= wanted for median in medians) >= len(medians):
        return wanted
    return max(int(np.median(medians)), cutoff or 1)


def _only(run: RetrieverLists, new: np.ndarray) -> RetrieverLists:
    """The lists of some queries; new[q] is the new number of query q, or -1 to leave it out."""
    query = new[run.of_entry]
    at = np.argsort(query, kind="stable")
    at = at[query[at] >= 0]
    return run.take(at, query[at])


def judged_columns(data: RankingDataset, depth: int | None, *, ranks: bool) -> JudgedRuns:
    """The columns of a table as retrievers: ranks from 1 or scores, NaN where a document was not returned; all
    documents are judged.

    Raises
        DataError   a column contains no number, or a rank below 1; there are fewer than two columns
    """
    if data.n_features < 2:
        raise DataError(f"there must be at least two columns, one for each retriever; got {data.n_features}.")
    X = np.asarray(as_dense(data.X[np.arange(data.n_docs)]))  # stored features are read
    ids = [str(d) for d in document_ids(data)]
    query_ids = tuple(str(q) for q in data.query_ids)
    query = np.repeat(np.arange(data.n_queries), data.sizes)
    if len(set(zip(query.tolist(), ids, strict=True))) < len(ids):
        ids = [f"{d} (row {i + 1})" for i, d in enumerate(ids)]
    documents = Ids()
    numbers = np.array([documents[d] for d in ids])
    docno = np.array(ids)
    lists = []
    for name, column in zip(data.names, X.T, strict=True):
        at = np.flatnonzero(~np.isnan(column))
        values = column[at].astype(np.float64)
        if not len(at):
            raise DataError(f"column {brief(name)} contains no number; leave it out.")
        if ranks and not (values.min() >= 1 and values.max() <= MAX_RANK):
            odd = values.min() if values.min() < 1 else values.max()
            raise DataError(f"column {brief(name)} contains the rank {odd:g}; ranks are from 1 to {MAX_RANK:g}.")
        if np.abs(values).max() > MAX_SCORE:
            raise DataError(f"column {brief(name)} contains a score above {MAX_SCORE:g}; scale the scores.")
        entries = name, query[at], numbers[at], values
        lists.append(of_ranks(*entries) if ranks else ordered(*entries, np.zeros(len(at)), docno[at]))
    qrels = {(query_ids[q], d): float(r) for q, d, r in zip(query.tolist(), ids, data.relevance, strict=True)}
    if depth is None:
        depth = int(np.ceil(max(run.rank.max() for run in lists)))
    return JudgedRuns(tuple(run.cut(depth) for run in lists), query_ids, documents, qrels, depth, True, ranks)
