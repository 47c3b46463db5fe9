"""Ranked lists of retrievers for the judged queries, read from runs, and the names of the retrievers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.run_reader import OF_RUNS, USUAL, Asked, Ids, read_entries
from sparserank.data.trec import RUN
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.files import StrPath
from sparserank.text import brief

SUFFIXES = (".gz", ".run", ".txt", ".trec", ".json", ".parquet", ".pq", ".csv", ".tsv")
NO_QUERY = "contains none of the judged queries; do the query ids agree?"
NO_ENTRY = f"contains no entry; expected lines '{RUN}'."
MAX_SCORE = 1e100  # squares of scores must not overflow


def named_runs(runs: Any, least: int = 2) -> dict[str, Any]:
    """{retriever name: source}, from a mapping, or from files given as 'name=FILE' or FILE.

    Raises
        ParameterError   there are fewer than `least`, or a name cannot be used
        DataError        two files have the same name, or 'name=FILE' lacks one of the two
    """
    if isinstance(runs, Mapping) and not any(isinstance(key, tuple) for key in runs):
        named = {str(name): source for name, source in runs.items()}
    elif isinstance(runs, Sequence) and not isinstance(runs, str) and all(isinstance(path, StrPath) for path in runs):
        named_files = [_named_file(str(path)) for path in runs]
        for text, (name, file) in zip(runs, named_files, strict=True):
            if not file or name == "":
                raise DataError(f"{brief(str(text))}: names no {'retriever' if file else 'file'}; write NAME=FILE.")
        files = [file for _, file in named_files]
        stems = iter(names_of_runs([file for name, file in named_files if name is None]))
        names = _distinct([name or next(stems) for name, _ in named_files], files)
        named = dict(zip(names, files, strict=True))
    else:
        raise ParameterError("runs", f"must be files, or {{name: run}}; got {brief(runs)}.")
    if len(named) < least:
        raise ParameterError("runs", f"must be at least {least}, one of each retriever; got {len(named)}.")
    for name in named:
        if not name or not name.isprintable():
            raise ParameterError("runs", f"a retriever needs a printable name; got {brief(name)}.")
    return named


def file_of(text: str) -> str:
    """The FILE part of 'name=FILE' or FILE."""
    return _named_file(text)[1]


def _named_file(text: str) -> tuple[str | None, str]:
    """(name or None, file) of 'name=FILE' or FILE."""
    name, sign, file = text.partition("=")
    return (None, text) if not sign or os.path.exists(text) else (name, file)


def names_of_runs(paths: Sequence[StrPath]) -> list[str]:
    """A retriever name for each file: the file name without suffixes, preceded by its folder if names repeat.

    Raises
        DataError   two files still have the same name
    """
    stems = [_stem(Path(p)) for p in paths]
    names = [s if stems.count(s) == 1 else f"{Path(p).parent.name}/{s}" for s, p in zip(stems, paths, strict=True)]
    return _distinct(names, paths)


def _stem(path: Path) -> str:
    name = path.name
    while (suffix := Path(name).suffix) in SUFFIXES and name != suffix:
        name = name.removesuffix(suffix)
    return name


def _distinct(names: list[str], files: Sequence[StrPath]) -> list[str]:
    """The names of files; raises DataError if two names or two files are equal."""
    places = [os.path.realpath(file) for file in files]
    for given in (places, names):
        twice = next((one for one in given if given.count(one) > 1), None)
        if twice is None:
            continue
        first, second, *_ = (str(file) for one, file in zip(given, files, strict=True) if one == twice)
        if given is places:
            problem = f"{first}: is given twice" if first == second else f"{first} and {second}: are the same run"
            raise DataError(f"{problem}; leave one out.")
        raise DataError(
            f"{first} and {second}: both runs are called {brief(twice)}. Name each of them: NAME=FILE, or a mapping "
            "in Python."
        )
    return names


@dataclass(frozen=True, eq=False)
class RetrieverLists:
    """The lists of one retriever, one per query, best document first.

    name        of the retriever
    query       (n_lists,) query numbers, ascending; list_ptr (n_lists + 1,): offsets of the lists in the entries
    document    (n_entries,) document numbers; score (n_entries,), descending within a list; rank (n_entries,)
                from 1, ascending within a list
    has_ranks   whether the run has ranks, which order equal scores
    n_contrary  number of lists whose ranks in the run contradict the scores
    n_other     number of entries of queries without judgments, which are left out
    """

    name: str
    query: np.ndarray
    list_ptr: np.ndarray
    document: np.ndarray
    score: np.ndarray
    rank: np.ndarray
    has_ranks: bool = False
    n_contrary: int = 0
    n_other: int = 0

    @property
    def depths(self) -> np.ndarray:
        """(n_lists,) number of documents in each list."""
        return np.diff(self.list_ptr)

    @property
    def of_entry(self) -> np.ndarray:
        """(n_entries,) query numbers."""
        return np.repeat(self.query, self.depths)

    @property
    def _differ(self) -> np.ndarray:
        """The entries whose score differs from that of the entry before in the same list."""
        after = np.delete(np.arange(len(self.score)), self.list_ptr[:-1])  # entries with a predecessor in their list
        return after[self.score[after] != self.score[after - 1]]

    @property
    def unordered(self) -> bool:
        """Whether no list has an order except that of document ids, because all its scores are equal."""
        return not self.has_ranks and not len(self._differ) and len(self.score) > len(self.query)

    @property
    def merged(self) -> float:
        """Of the adjacent entries with different scores, the fraction whose scores are equal in single precision."""
        differ = self._differ
        with np.errstate(over="ignore"):
            single = self.score.astype(np.float32)
        return float((single[differ] == single[differ - 1]).mean()) if len(differ) else 0.0

    def cut(self, depth: int) -> RetrieverLists:
        """The documents of rank `depth` or less."""
        return self._only(self.rank <= depth)

    def without_zeros(self) -> RetrieverLists:
        """The documents whose score is above 0; all documents if any score is below 0."""
        return self if (self.score < 0).any() else self._only(self.score > 0)

    def _only(self, mask: np.ndarray) -> RetrieverLists:
        """The entries that `mask` (n_entries,) selects; lists without any are left out."""
        return self.take(np.flatnonzero(mask), self.of_entry[mask])

    def take(self, at: np.ndarray, query: np.ndarray) -> RetrieverLists:
        """The entries at these positions as lists of the given queries, (len(at),), ascending."""
        starts = _starts(query)
        list_ptr = np.append(starts, len(at))
        document = self.document[at]
        score = self.score[at]
        return replace(self, query=query[starts], list_ptr=list_ptr, document=document, score=score, rank=self.rank[at])


def _starts(query: np.ndarray) -> np.ndarray:
    """The first entry of each list, from the query numbers of the entries."""
    return np.flatnonzero(np.diff(query, prepend=-1))


def read_lists(
    source: Any,
    name: str,
    queries: Mapping[str, int],
    documents: Ids,
    *,
    least: int = 1,
    asked: Asked = USUAL,
) -> RetrieverLists:
    """The lists of a run in any form that `read_run` accepts, for the queries in `queries` ({id: number}). Equal scores
    are ordered by the ranks in the source.

    Raises
        DataFormatError   a malformed line or row, or a document twice in a list; the message names file and line(s)
        DataError         fewer than `least` entries belong to known queries, or the source has none of these forms
    """
    entries = read_entries(source, name, replace(OF_RUNS, asked=asked), queries, documents)
    query, document, at, score, rank = entries.columns()
    if len(query) < least:
        raise DataError(f"{entries.place}: {NO_QUERY if entries.n_other else NO_ENTRY}")
    far = np.flatnonzero(np.abs(score) > MAX_SCORE)
    if len(far):
        raise DataFormatError(
            f"{entries.place}:{at[far[0]]}: the score {score[far[0]]:g} is too large; scale scores to at most "
            f"{MAX_SCORE:g} in absolute value."
        )
    ties = _ties(query, score, rank, document, documents)
    return ordered(name, query, document, score, rank, ties, entries.n_other)


def _ties(
    query: np.ndarray,
    score: np.ndarray,
    rank: np.ndarray,
    document: np.ndarray,
    documents: Ids,
) -> np.ndarray:
    """(n_entries,) position in the order of document ids, for entries with the same score and rank as another entry of
    their list; 0 for other entries."""
    order = np.lexsort((rank, score, query))
    equal = np.all([np.diff(values[order]) == 0 for values in (query, score, rank)], axis=0)
    first = np.flatnonzero(equal)
    tied = order[np.union1d(first, first + 1)]  # sort only the ids of tied entries
    names = list(documents) if len(tied) else []
    places = np.zeros(len(query), dtype=np.int64)
    places[sorted(tied.tolist(), key=lambda i: names[document[i]])] = np.arange(len(tied))
    return places


def ordered(
    name: str,
    query: np.ndarray,
    document: np.ndarray,
    score: np.ndarray,
    rank: np.ndarray,
    docno: np.ndarray,
    n_other: int = 0,
) -> RetrieverLists:
    """Sort entries into lists: by descending score, equal scores by rank, equal ranks by document id."""
    order = np.lexsort((docno, rank, -score, query))
    query = query[order]
    document = document[order]
    score = score[order]
    rank = rank[order]
    starts = _starts(query)
    list_ptr = np.append(starts, len(query))
    falls = (np.diff(rank) < 0) & (np.diff(query) == 0)
    contrary = np.unique(query[1:][falls])
    places = (np.arange(len(query)) - np.repeat(starts, np.diff(list_ptr)) + 1).astype(np.int32)
    small = document.astype(np.int32) if document.max(initial=0) < 2**31 else document
    return RetrieverLists(
        name,
        query[starts],
        list_ptr,
        small,
        score,
        places,
        bool(rank.any()),
        len(contrary),
        n_other,
    )


def of_ranks(
    name: str,
    query: np.ndarray,
    document: np.ndarray,
    rank: np.ndarray,
) -> RetrieverLists:
    """Sort entries into lists by rank, with negated ranks as scores; equal ranks are ordered by document number."""
    lists = ordered(name, query, document, -rank, np.zeros(len(rank)), document)
    return replace(lists, rank=-lists.score)
