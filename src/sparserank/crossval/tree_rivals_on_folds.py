"""Rivals of a selection, scored on the queries on which candidates are evaluated; trees are trained on its folds."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.crossval.rivals import Rival, values_of_scores
from sparserank.crossval.tasks import FINAL
from sparserank.crossval.teachers import TeachingTrees
from sparserank.crossval.tree_rivals import LeftOut, TreeRivals
from sparserank.crossval.trees import TooSlow, TreeData, threads_of_trees
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.metrics import Metric
from sparserank.workdir.pieces import Arrays, Reader, Store, checked
from sparserank.workdir.work import Progress, Work, quiet


@dataclass
class TreesOnFolds:
    """The trees that a selection is compared with, trained on its folds. Trees that do not finish within their time are
    left out, and `left_out` names them.

    fold          (n_queries,) fold numbers from 0; below 0 for queries on which nothing is evaluated
    data          training queries; trees read the columns of their table, and missing values, where these are known
    judged        queries on which candidates are evaluated; test: test queries, for trees on all training queries
    seconds       time limit of each rival for all its folds
    judge         the queries that people graded, if a judge graded the others
    teacher       trees that have learned on the same folds before, or None
    required      whether an error ends the job, because the job is about the trees, which also learn from all queries
    left_out      trees that are not compared, and why
    sources       the column of the table that each feature is made from
    by_gain       {fold: columns of the trees of the rival by total gain}
    """

    fold: np.ndarray
    data: RankingDataset
    judged: RankingDataset
    test: RankingDataset | None
    trees: TreeRivals
    metric: Metric
    query_weight: np.ndarray | None
    seed: int
    n_threads: int
    seconds: float
    judge: JudgedQueries | None = None
    teacher: TeachingTrees | None = None
    required: bool = False
    left_out: list[LeftOut] = field(default_factory=list)
    by_gain: dict[int, np.ndarray] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.left_out.extend(self.trees.left_out)
        self.sources = self.data.sources
        rival = self.trees.rival
        if rival is None:
            return
        try:
            table = rival.table.learned(self.data)
            data = table.of(self.data) if self.teacher is None else self.teacher.of_table
            judged = data if self.judged is self.data else table.of(self.judged)
            test = None if self.test is None else table.of(self.test)
        except DataError as error:  # some of the data lack a column
            if self.required:
                raise
            self._leave_out(str(error).rstrip("."))
            self.trees = TreeRivals()
        else:
            self.data, self.judged, self.test = data, judged, test

    @property
    def folds(self) -> list[int]:
        return sorted(set(self.fold[self.fold >= 0].tolist()))

    @property
    def n_pieces(self) -> int:
        return 0 if self.trees.rival is None else len(self._folds)

    def fit(self, store: Store, progress: Progress) -> list[Rival]:
        """The rival, if there is one that finishes within its time; pieces in `store` are reused."""
        rival = self.trees.rival
        if rival is None:
            return []
        finished = self._scored({rival.name: dict.fromkeys(self._folds, rival.columns)}, store, progress)
        if not finished:
            return []
        of_fold = finished[rival.name]
        self.by_gain = {f: arrays["by_gain"] for f, arrays in of_fold.items()}
        scores = partial(self._scores, of_fold)
        return [Rival(rival.name, len(rival.columns), self._values(of_fold), scores, rival.lacks, rival.for_model)]

    def on_features(self, features: Mapping[int, np.ndarray], store: Store) -> np.ndarray | None:
        """(n_queries,) metric of the trees of the rival on some features of each fold; None if they do not finish
        within their time, or if the trees do not have all of these features."""
        used = {f: {self.sources[j] for j in fold_features.tolist()} for f, fold_features in features.items()}
        names = self.data.names
        if self.trees.rival is None or not set().union(*used.values()).issubset(names):
            return None
        name = self.trees.rival.name
        columns = {f: np.flatnonzero([column in sources for column in names]) for f, sources in used.items()}
        return self.on_lists({name: columns}, store, quiet).get(name)

    def on_lists(
        self, lists: Mapping[str, Mapping[int, np.ndarray]], store: Store, progress: Progress
    ) -> dict[str, np.ndarray]:
        """{list: (n_queries,) metric of the trees of the rival on its columns of each fold}, of those that finish."""
        finished = self._scored(lists, store, progress)
        return {name: self._values(of_fold) for name, of_fold in finished.items()}

    # -- training and scoring ----------------------------------------------------------------------------------------

    @property
    def _folds(self) -> list[int]:
        """The folds that the trees are trained without; FINAL means none."""
        return [*self.folds, *([FINAL] if self.required or self.test is not None or not self.folds else [])]

    def _scored(
        self,
        lists: Mapping[str, Mapping[int, np.ndarray]],
        store: Store,
        progress: Progress,
    ) -> dict[str, dict[int, Arrays]]:
        """{list: {fold: piece of work}}, of the lists whose trees finish; lists: {list: {fold: columns}}."""
        assert self.trees.rival is not None
        n_workers, _ = threads_of_trees(self.data, self.n_threads)
        unseen = {"judged": self.judged} if not self.folds else {}
        if self.test is not None:
            unseen["test"] = self.test
        # The pieces of work: the same columns on the same fold are one.
        pieces = {
            (name, f): self._name(f, used, unseen) for name, of_fold in lists.items() for f, used in of_fold.items()
        }
        of_piece = {piece: (lists[name][f], f) for (name, f), piece in pieces.items()}

        def checked_piece(piece: str, arrays: Arrays) -> Arrays:
            columns, f = of_piece[piece]
            n_docs = {name: data.n_docs for name, data in unseen.items()}
            if f != FINAL:
                n_docs = {"scores": int(self.data.sizes[self.fold == f].sum())}
            checked(arrays, by_gain=("iu", (None,)), **{key: ("f", (n,)) for key, n in n_docs.items()})
            if not np.isin(arrays["by_gain"], columns).all():
                raise ValueError("by_gain has a column that the trees do not have")
            return arrays

        kinds = {piece: name for (name, _), piece in pieces.items()}
        keeper = Reader(store, checked_piece)
        work: Work[Arrays] = Work(kinds, keeper=keeper, n_workers=n_workers, progress=progress)
        out = {}
        for name, of_fold in lists.items():
            fold_of = {pieces[name, f]: f for f in of_fold}
            share, stopped = self.seconds / math.ceil(len(fold_of) / n_workers), threading.Event()
            try:
                tree_data = self._tree_data([of_piece[piece][0] for piece in fold_of if piece not in work.done])
                work.run(
                    partial(self._trained, tree_data, unseen, share, stopped),
                    {piece: of_piece[piece] for piece in fold_of},
                    {piece: f"{name} {_fold_label(f)}" for piece, f in fold_of.items()},
                    processes=False,
                )
            except TooSlow:
                self._leave_out(f"training took longer than {self.seconds:g} s")
            except Exception as error:  # an error in a mere comparison must not end the job
                if self.required:
                    raise
                self._leave_out(str(error).rstrip(".") or type(error).__name__)
            else:
                out[name] = {f: work.results[piece] for piece, f in fold_of.items()}
            finally:  # neither the next list nor an interrupt should wait for trees that are no longer needed
                stopped.set()
        return out

    def _tree_data(self, sets: Sequence[np.ndarray]) -> dict[bytes, TreeData]:
        """{columns as bytes: the data that the trees of the rival learn from}. The data of the teacher are used if it
        has trained the same trees."""
        assert self.trees.rival is not None
        _, n_threads = threads_of_trees(self.data, self.n_threads)
        teacher, settings, weight = self.teacher, self.trees.rival.settings, self.query_weight
        out = {}
        for columns in {columns.tobytes(): columns for columns in sets}.values():
            if teacher is not None and teacher.are_shared and np.array_equal(columns, teacher.rival.columns):
                data = teacher.tree_data
            else:
                data = TreeData(self.data, columns, settings, self.seed, query_weight=weight, n_threads=n_threads)
            out[columns.tobytes()] = data
        return out

    def _trained(
        self,
        tree_data: Mapping[bytes, TreeData],
        unseen: Mapping[str, RankingDataset],
        seconds: float,
        stopped: threading.Event,
        columns: np.ndarray,
        f: int,
    ) -> Arrays:
        """A piece of work: train trees on some columns without fold f, and score the queries of that fold ('scores').
        If f is FINAL, they are trained on all training queries and score each data set of `unseen`, by name. 'by_gain':
        the columns that the trees use, by total gain. Raise TooSlow after so many seconds, or once `stopped` is set."""
        end, training_data = time.perf_counter() + seconds, tree_data[columns.tobytes()]

        def in_time() -> bool:
            return time.perf_counter() < end and not stopped.is_set()

        if f == FINAL:
            trees = training_data.fit(in_time=in_time)
            out = {name: trees.scores(data.X) for name, data in unseen.items()}
        else:
            trees = training_data.fit(self.fold != f, self.seed + f, in_time)
            out = {"scores": trees.scores(self.data.take_queries(np.flatnonzero(self.fold == f)).X)}
        return {**out, "by_gain": trees.by_gain(used=True)}

    def _leave_out(self, reason: str) -> None:
        if not self.left_out and self.trees.rival is not None:
            self.left_out.append(LeftOut(self.trees.rival.name, reason))

    def _scores(self, of_fold: Mapping[int, Arrays], on_test: bool) -> np.ndarray:
        """The scores of all documents on which candidates are evaluated, or of the test documents. Each document is
        scored by trees that have not seen it."""
        if on_test or not self.folds:
            return of_fold[FINAL]["test" if on_test else "judged"]
        data, judged = self.data, self.judged
        sizes = data.sizes
        fold = np.repeat(self.fold, sizes)
        scores = np.full(data.n_docs, np.nan)
        for f in self.folds:
            scores[fold == f] = of_fold[f]["scores"]
        # In each query of `judged`, the documents of `data` come first; no response has the others.
        place = np.arange(data.n_docs) + np.repeat(judged.query_ptr[:-1] - data.query_ptr[:-1], sizes)
        out = np.full(judged.n_docs, scores.min() - 1.0)
        out[place] = scores
        return out

    def _values(self, of_fold: Mapping[int, Arrays]) -> np.ndarray:
        """(n_queries,) metric of the documents on which candidates are evaluated."""
        return values_of_scores(self._scores(of_fold, on_test=False), self.judged, self.judge, self.metric)

    def _name(self, f: int, columns: np.ndarray, unseen: Mapping[str, RankingDataset]) -> str:
        assert self.trees.rival is not None
        depends = self.trees.rival.depends_on(columns, self.seed)
        depends += [(name, data_hash(data)) for name, data in unseen.items()] if f == FINAL else []
        return f"rival {_fold_label(f)} {hashlib.sha256(repr(depends).encode()).hexdigest()[:16]}"


def _fold_label(f: int) -> str:
    return "on all" if f == FINAL else f"fold {f + 1}"
