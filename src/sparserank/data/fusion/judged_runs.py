"""Runs of several retrievers with judgments: what is fused, and how much of it is judged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.returned import Ids, Returned
from sparserank.data.fusion.runs import lists_of_columns, names_of_runs, read_lists
from sparserank.data.trec import document_ids
from sparserank.errors import DataError, ParameterError
from sparserank.quoting import brief

Judgments = dict[tuple[str, str], float]


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """lists: of each retriever; query_ids: of the judged queries, by number; documents: numbers of all documents;
    depth: ranks beyond it are not used; is_table: a table of judged documents; of_ranks: of their ranks, not scores;
    shortest: the retriever with the smallest median depth before lists were cut."""

    lists: tuple[Returned, ...]
    query_ids: tuple[str, ...]
    documents: Ids
    qrels: Judgments
    depth: int
    is_table: bool = False
    of_ranks: bool = False
    shortest: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(run.name for run in self.lists)

    def only(self, queries: Iterable[str]) -> JudgedRuns:
        """The same runs on some of the queries."""
        query_ids = tuple(queries)
        number = {q: i for i, q in enumerate(query_ids)}
        new = np.array([number.get(q, -1) for q in self.query_ids])
        return JudgedRuns(
            tuple(_only(run, new) for run in self.lists),
            query_ids,
            self.documents,
            {key: grade for key, grade in self.qrels.items() if key[0] in number},
            self.depth,
            self.is_table,
            self.of_ranks,
            self.shortest,
        )

    def judged_at(self, k: int) -> dict[str, float]:
        """{retriever: share of its first k documents of each query that are judged}, a mean over its lists."""
        n, number = len(self.documents), {q: i for i, q in enumerate(self.query_ids)}
        judged = np.array([number[q] * n + self.documents[d] for q, d in self.qrels if q in number], dtype=np.int64)
        out = {}
        for run in self.lists:
            top = run.cut(k)
            known = np.isin(np.repeat(top.query, top.depths) * n + top.document, judged)
            out[run.name] = float((np.add.reduceat(known.astype(float), top.list_ptr[:-1]) / top.depths).mean())
        return out


def read_judged_runs(runs: Any, qrels: Judgments, depth: int | None) -> JudgedRuns:
    """Runs, as {name: source} or as a list of files, cut at `depth`: by default the smallest of the retrievers' median
    depths.

    Raises
        DataError, DataFormatError   as in `read_lists`
        ParameterError               there are fewer than two runs, or a name cannot be used
    """
    named = named_runs(runs)
    query_ids = tuple(dict.fromkeys(q for q, _ in qrels))
    queries, documents = {q: i for i, q in enumerate(query_ids)}, Ids()
    for _, docno in qrels:
        documents[docno]  # gets its number
    lists = [read_lists(source, name, queries, documents) for name, source in named.items()]
    shortest = min(lists, key=lambda run: float(np.median(run.depths)))
    at = depth or int(np.median(shortest.depths))
    cut = tuple(run.cut(at) for run in lists)
    return JudgedRuns(cut, query_ids, documents, qrels, at, shortest=shortest.name)


def named_runs(runs: Any, least: int = 2) -> dict[str, Any]:
    """{name of the retriever: source}, from a mapping, or from files, 'name=FILE' or FILE.

    Raises
        ParameterError   there are fewer than `least`, or a name cannot be used
        DataError        two files have the same name
    """
    if isinstance(runs, Mapping) and not any(isinstance(key, tuple) for key in runs):
        named = {str(name): source for name, source in runs.items()}
    elif (
        isinstance(runs, Sequence)
        and not isinstance(runs, str)
        and all(isinstance(path, str | os.PathLike) for path in runs)
    ):
        given = [_named_file(str(path)) for path in runs]
        stems = iter(names_of_runs([file for name, file in given if name is None]))
        names = [next(stems) if name is None else name for name, _ in given]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise DataError(f"two runs are called {brief(twice)}; each retriever needs a name of its own.")
        files = [file for _, file in given]
        named = dict(zip(names, files, strict=True))
    else:
        raise ParameterError("runs", f"must be files, or {{name: run}}; got {brief(runs)}.")
    if len(named) < least:
        raise ParameterError("runs", f"must be at least {least}, one of each retriever; got {len(named)}.")
    for name in named:
        if not name or not name.isprintable():
            raise ParameterError("runs", f"a retriever needs a printable name; got {brief(name)}.")
    return named


def _named_file(text: str) -> tuple[str | None, str]:
    """(name or None, file) of 'name=FILE' or FILE."""
    name, sign, file = text.partition("=")
    return (None, text) if not sign or os.path.exists(text) else (name, file)


def judged_columns(data: RankingDataset, depth: int | None, *, ranks: bool) -> JudgedRuns:
    """The columns of a table as retrievers: ranks from 1 or scores, NaN where a document was not returned; all
    documents are judged.

    Raises
        DataError   as in `lists_of_columns`, or fewer than two columns
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
    lists = lists_of_columns(
        X, data.feature_names or (), data.query_ptr, ranks=ranks, docno=np.array(ids), document=numbers
    )
    qrels = {(query_ids[q], d): float(r) for q, d, r in zip(query.tolist(), ids, data.relevance, strict=True)}
    if depth is None:
        depth = int(np.ceil(max(run.rank.max() for run in lists)))
    return JudgedRuns(tuple(run.cut(depth) for run in lists), query_ids, documents, qrels, depth, True, ranks)


def _only(run: Returned, new: np.ndarray) -> Returned:
    """The lists of some queries, with new numbers; -1: left out."""
    kept = new[run.query] >= 0
    entries = np.repeat(kept, run.depths)
    order = np.argsort(new[run.query[kept]], kind="stable")
    depths, starts = run.depths[kept][order], (np.cumsum(run.depths[kept]) - run.depths[kept])[order]
    at = np.arange(depths.sum()) + np.repeat(starts - (np.cumsum(depths) - depths), depths)
    document, score, rank = (values[entries][at] for values in (run.document, run.score, run.rank))
    list_ptr = np.concatenate([[0], np.cumsum(depths)])
    return Returned(run.name, new[run.query[kept]][order], list_ptr, document, score, rank, run.n_contrary, run.n_other)
