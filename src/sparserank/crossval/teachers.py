"""The teacher of distilled weights: boosted steps, and trees of LightGBM where these can be trained (theory.md 9)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.bins import Bins
from sparserank.crossval import tree_rivals
from sparserank.crossval.tree_rivals import TreeRival, TreeRivals
from sparserank.crossval.trees import OF_RANKING, TreeData, identity_of_trees, threads_of_trees
from sparserank.data.dataset import RankingDataset
from sparserank.errors import RunDirectoryError
from sparserank.lazy import cached_property
from sparserank.options import option
from sparserank.paths import BoostedSteps
from sparserank.penalties import FeatureRules
from sparserank.shards.measuring import grades_of, standardised
from sparserank.text import listed
from sparserank.workdir.pieces import NOWHERE, Arrays, Reader, Store, checked
from sparserank.workdir.work import Work

MONOTONE = "monotone_constraints"  # LightGBM's name for signs
NOT_INSTALLED = "LightGBM is not installed"
TEACHER = "teacher of distilled weights"
Tell = Callable[[str], None]  # reports progress


def silent(_: str) -> None:
    """Report nothing."""


def labels_of(grades: Sequence[np.ndarray], used: np.ndarray, data: RankingDataset) -> list[np.ndarray]:
    """(n_docs,) float64 labels for each row of `used` (n, n_queries) bool: the grades, or the true labels if all grades
    are 0 in the queries of the row."""
    out = []
    for row_grades, row in zip(grades, used, strict=True):
        has_grades = row_grades[np.repeat(row, data.sizes)].any()
        out.append(row_grades.astype(np.float64) if has_grades else data.relevance)
    return out


@dataclass(eq=False, repr=False)
class TeachingTrees:
    """The trees of a teacher: one ensemble for each set of queries, on the columns that our models may use.

    Parameters
        rivals    the trees that a selection is compared with, whose settings and columns are used
        rules     the features that are not used, and the signs that the trees respect
        data      training queries; fold: (n_queries,) fold numbers from 0
        seed      of the ensemble on all queries; those without fold f have seed + f, like rivals
        query_weight   (n_queries,) weights in the loss, or None
        seconds   longest expected time of all trainings, on one core
    Attributes
        reason    why there are no trees, as a clause; "" if there are
    """

    rivals: TreeRivals
    rules: FeatureRules
    data: RankingDataset
    fold: np.ndarray
    seed: int
    query_weight: np.ndarray | None
    n_threads: int
    seconds: float
    reason: str = field(default="", init=False)
    rival: TreeRival = field(init=False)

    def __post_init__(self) -> None:
        rival = self.rivals.rival
        if self.rivals.left_out:
            self.reason = self.rivals.left_out[0].reason
        elif rival is None:
            self.reason = f"of {option('rival', 'none')}" if tree_rivals.is_installed() else NOT_INSTALLED
        elif rival.lacks:
            self.reason = f"the data lack features of the rival ({listed(rival.lacks)})"
        elif not OF_RANKING.search(objective := rival.settings.parameters["objective"]):
            self.reason = f"{rival.name} has the objective {objective}"
        if self.reason or rival is None:
            return
        self.rival = _under_rules(rival, self.rules, self.data)
        n_trainings = 1 + len(np.unique(self.fold[self.fold >= 0]))
        expected = n_trainings * self.rival.settings.seconds(self.data.n_docs)
        if len(self.rival.columns) == 0:
            self.reason = "the rules leave no column for trees"
        elif expected > self.seconds:  # as measured once: what a model learns must not depend on the speed of a machine
            self.reason = f"{self.rival.name} is expected to take {expected:,.0f} CPU seconds on all folds"

    @property
    def are_shared(self) -> bool:
        """True if they are the trees of the rival too: it has the same columns and settings."""
        return not self.reason and self.rival is self.rivals.rival

    @cached_property
    def of_table(self) -> RankingDataset:
        """The training queries with the columns of the table.

        Raises
            DataError   they lack a column
        """
        return self.rival.table.learned(self.data).of(self.data)

    @cached_property
    def tree_data(self) -> TreeData:
        """The data that the trees learn from."""
        rival = self.rival
        return TreeData(
            self.of_table,
            rival.columns,
            rival.settings,
            self.seed,
            query_weight=self.query_weight,
            n_threads=threads_of_trees(self.data, self.n_threads)[1],
        )

    @cached_property
    def key(self) -> str:
        """Hash of everything that the scores of the trees depend on, except the plan of the selection."""
        depends = self.rival.depends_on(self.rival.columns, self.seed)
        return hashlib.sha256(repr(depends).encode()).hexdigest()[:16]

    def scores(self, seen: np.ndarray, store: Store = NOWHERE, tell: Tell = silent) -> list[np.ndarray]:
        """(n_docs,) scores for each row of `seen` (n, n_queries) bool, by trees that learn from the queries of the row;
        each row is a piece of work.

        Raises
            DataError   LightGBM refuses the data or the settings
        """
        stopped, tree_data = threading.Event(), self.tree_data

        def of_row(row: np.ndarray) -> Arrays:
            without = np.unique(self.fold[~row])
            seed = self.seed + (int(without[0]) if len(without) == 1 else 0)
            return {"scores": tree_data.fit(row, seed, lambda: not stopped.is_set()).scores(tree_data.data.X)}

        def read(_: str, arrays: Arrays) -> Arrays:
            return checked(arrays, scores=("f", (self.data.n_docs,)))

        def report(done: int, n: int, label: str, left: float | None) -> None:
            tell(f"{label}: {self.rival.name} {done} of {n}")

        of_name = {f"teacher-trees-{self.key}-{hashlib.sha256(row.tobytes()).hexdigest()[:16]}": row for row in seen}
        kinds = dict.fromkeys(of_name, TEACHER)
        n_workers, _ = threads_of_trees(self.data, self.n_threads)
        work: Work[Arrays] = Work(kinds, keeper=Reader(store, read), n_workers=n_workers, progress=report)
        try:
            work.run(of_row, {name: (row,) for name, row in of_name.items()}, kinds, processes=False)
        finally:  # neither an error nor an interrupt should wait for trees that are no longer needed
            stopped.set()
        return [work.results[name]["scores"] for name in of_name]


def _under_rules(rival: TreeRival, rules: FeatureRules, data: RankingDataset) -> TreeRival:
    """The rival under the rules; the same object if nothing changes.

    It loses the columns without a feature, those with a dropped feature, and those with a signed feature that is a
    level or a flag. The signs of the rules replace those in its settings.
    """
    names, sources = data.names, data.sources
    signs = rules.feature_signs(len(names))
    others, categorical = dict(rival.settings.others), rival.settings.categorical
    # LightGBM would end the process over a category with a sign.
    signed = [j for j in np.flatnonzero(signs) if sources[j] != names[j] or names[j] in categorical]
    ours = {*sources} - {sources[j] for j in (*rules.drop, *signed)}
    columns = [j for j in rival.columns.tolist() if rival.table.names[j] in ours]
    of_column = {names[j]: int(signs[j]) for j in np.flatnonzero(signs)}
    used = [rival.table.names[j] for j in columns]
    if len(columns) == len(rival.columns) and of_column.keys().isdisjoint(used):
        return rival
    if not of_column.keys().isdisjoint(used):
        signs_of_columns = others.get(MONOTONE, ",".join("0" * len(rival.table.names))).split(",")
        both = zip(rival.table.names, signs_of_columns, strict=True)
        others[MONOTONE] = ",".join(str(of_column.get(name, sign)) for name, sign in both)
    settings = replace(rival.settings, others=tuple(others.items()))
    return replace(rival, settings=settings, columns=np.array(columns, dtype=np.int64))


@dataclass(eq=False, repr=False)
class Teacher:
    """Teaches linear models an order of documents in place of the labels: that of boosted steps and, if there are
    any, of trees.

    grades    {bytes of the mask (n_queries,) of the queries that were learned from: (n_docs,) uint8 grades}
    """

    maker: BoostedSteps
    bins: Bins
    trees: TeachingTrees | None = None
    grades: dict[bytes, np.ndarray] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "trees": None}

    @property
    def of_trees(self) -> TeachingTrees | None:
        """Its trees; None if it has none."""
        return None if self.reason else self.trees

    @property
    def reason(self) -> str:
        """Why the teacher has no trees, as a clause; "" if it has trees, or if it was not to have any."""
        return "" if self.trees is None else self.trees.reason

    @cached_property
    def key(self) -> str:
        """Hash of everything that pieces of work depend on, except the plan of the selection; "" without trees."""
        trees = self.of_trees
        return "" if trees is None else trees.key

    def graded(
        self,
        used: np.ndarray,
        scores: list[np.ndarray],
        query_ptr: np.ndarray,
        store: Store = NOWHERE,
        tell: Tell = silent,
    ) -> list[np.ndarray]:
        """(n_docs,) grades for each row of `used` (n, n_queries) bool, from the scores (n_docs,) of its steps and of
        its trees: their sum, each standardised within the queries."""
        trees = self.of_trees
        if trees is not None:
            try:
                others = trees.scores(used, store, tell)
            except RunDirectoryError:  # it says nothing about the trees
                raise
            except Exception as error:  # as with a rival, it must not end the job
                trees.reason = str(error).rstrip(".") or type(error).__name__
            else:
                pairs = zip(scores, others, strict=True)
                scores = [standardised(s, query_ptr) + standardised(other, query_ptr) for s, other in pairs]
        return [grades_of(row_scores, query_ptr) for row_scores in scores]

    @property
    def record(self) -> Mapping[str, Any]:
        """The fields of the teacher in the result file: names, versions and seeds."""
        trees = self.of_trees
        return {
            "steps": self.maker.label,
            "trees": None if trees is None else trees.rival.name,
            **({} if trees is None else {**identity_of_trees(), "seed": trees.seed}),
            "without_trees": self.reason or None,
        }

    def __str__(self) -> str:
        """'LightGBM (4.6.0, seed 0) and 100 boosted steps (seed 0)'"""
        steps = f"{self.maker.rounds} boosted steps (seed {self.maker.seed})"
        trees = self.of_trees
        if trees is not None:
            version = identity_of_trees()["lightgbm"]
            return f"{trees.rival.name} ({version}, seed {trees.seed}) and {steps}"
        return f"{steps} alone, because {self.reason}" if self.reason else steps
