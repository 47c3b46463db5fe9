"""`select(for_model=)`: the shortest list of features on which trees rank as well as on the best list tried. Lists come
from the gain of the trees; the candidates are trees on each list, evaluated out of fold."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, choose
from sparserank.crossval.tasks import FINAL
from sparserank.crossval.tree_rivals import LIGHTGBM, TreeRivals, allowed, is_file
from sparserank.crossval.trees import Trees, TreeSettings, check_trees, fit_trees, usable_by_trees
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import compare_systems
from sparserank.execution import one_blas_thread
from sparserank.lazy import cached_property
from sparserank.options import option, values_of
from sparserank.options.selection import FOR_MODEL, SELECT, AllSelectOptions
from sparserank.selection.claims import counted
from sparserank.selection.comparisons import against_all_features
from sparserank.selection.facts import Row, model_row
from sparserank.selection.job import Job, SelectionProblem
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.result import ChoiceResult
from sparserank.selection.result_files import LIST_FILES, write_shown, write_texts
from sparserank.strict_json import plain
from sparserank.text import brief
from sparserank.workdir.pieces import NOWHERE, Store
from sparserank.workdir.work import Progress, quiet

ALL = "trees on all features"
FORMAT, FORMAT_VERSION = "sparserank-trees-selection", 7
N_SIZES = 8  # default lengths of lists, at most; each is a multiple of the one before


class ListFacts(NamedTuple):
    """The tables of a selection of features for trees.

    features      a row for each feature to keep, with its share of the `gain`
    lists         a row for each list of features that was tried
    sizes         for each length, the best list of at most that length, with the features that `enter` and `leave`
    substitutes   a row for each kept feature that another feature could replace
    """

    features: list[Row]
    lists: list[Row]
    sizes: list[Row]
    substitutes: Sequence[Row] = ()


@dataclass(frozen=True, repr=False, kw_only=True)
class TreesSelection(ChoiceResult):
    """The result of `select(for_model=)`.

    Attributes
    ----------
    choice : Choice
        The choice among lists of different lengths.
    dense : Candidate
        The trees on all features, which may be chosen too.
    all_features : ComparedRival
        They are compared with the trees on the chosen list, and on that of each of `by_size`.
    by_size : list of Candidate
        The best list of at most each length (or cost, if groups were given). A length without a better list than a
        shorter one is left out.
    trees : Trees
        The trees on the chosen list, fitted to all queries.
    test : Comparison or None
        `trees` and the trees on all features, compared on the test queries.
    notes : list of str
        What is not used, what handicaps the trees, and suspicious columns.
    facts : ListFacts
        Plain rows about `features`, `lists` and `sizes`, from which screen, report, JSON and frames pick columns.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> found = sr.select(data, for_model="lightgbm", k=2, sizes=[2], cv=2)
    >>> found.dense.n_features
    6
    """

    settings: TreeSettings
    trees: Trees
    lists: Mapping[Candidate, tuple[str, ...]]  # the features of each candidate, from the trees on all queries
    feature_names: tuple[str, ...]
    fills: Mapping[str, float]  # {feature: value that replaces a missing one in scoring}
    kind = "for_model"

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features to keep, in descending order of their gain in `trees`."""
        return tuple(self.feature_names[j] for j in self.trees.by_gain())

    @property
    def gains(self) -> np.ndarray:
        """(len(features),) share of the total gain of `trees`."""
        gain = np.sort(self.trees.booster.feature_importance(importance_type="gain"))[::-1]
        return gain / max(float(gain.sum()), 1e-300)

    @property
    def used(self) -> list[tuple[str, ...]]:
        return [self.lists[c] for c in self.by_size]

    def write(self, folder: Path) -> list[Path]:
        """Write features.txt, trees.txt, result.json and, with the extra `report`, report.html. Files of an earlier run
        are removed first, so that files of two runs are never mixed."""
        for name in LIST_FILES:
            (folder / name).unlink(missing_ok=True)
        texts = {
            "features.txt": "\n".join(self.features) + "\n",
            "trees.txt": re.sub(r"\[num_threads: \d+\]", "[num_threads: 0]", self.trees.booster.model_to_string()),
        }
        return [*write_texts(texts, folder), *write_shown(self, folder)]

    @cached_property
    def facts(self) -> ListFacts:
        """Plain rows, from which screen, report, JSON and frames pick columns."""
        gains = zip(self.features, self.gains.tolist(), strict=True)
        moves = zip(self.by_size, self.moves(), strict=True)
        return ListFacts(
            [{"feature": feature, "gain": gain} for feature, gain in gains],
            list(map(self._row, self.choice.candidates)),
            [{**self._row(c), "enter": enter, "leave": leave} for c, (enter, leave) in moves],
        )

    def sizes(self) -> Any:
        """Every list: k, n_features (of the final list), cost, mean of the metric, mean loss against the best, the
        bound on that loss (simultaneous), and whether it is the chosen one."""
        return frame_of(self.facts.lists)

    def _row(self, c: Candidate) -> Row:
        row = model_row(self.choice, c, ("k", "n_features", "cost", "mean"))
        return {**row, "chosen": c is self.chosen}

    def to_json(self) -> dict[str, Any]:
        """The content of result.json (docs/result-json.md)."""
        columns = [self.feature_names[j] for j in self.trees.columns]
        content = {
            **self.opening(FORMAT, FORMAT_VERSION),
            "n_features": self.n_all,
            "trees": {
                "n_trees": self.settings.n_trees,
                "parameters": self.settings.parameters,
                "categorical": list(self.settings.categorical),
                "columns": columns,
                "missing": list(map(self.fills.get, columns)),
            },
            "features": self.facts.features,
            "chosen": self._row(self.chosen),
            "all_features": self._row(self.dense),
            "lists": [self._row(c) for c in self.choice.candidates if c is not self.dense],
        }
        out: dict[str, Any] = plain(content)
        return out


def refuse_others(chosen: AllSelectOptions) -> None:
    """Raise ParameterError for an option that cannot be combined with for_model, or for a value of it that names no
    trees."""
    for name, value in values_of(SELECT, chosen).items():
        if name not in FOR_MODEL and not np.array_equal(value, SELECT[name].default):
            raise ParameterError(name, f"cannot be combined with {option('for_model')}.")
    path = chosen["for_model"]
    if not (isinstance(path, str) and path == LIGHTGBM) and not is_file(path):
        raise ParameterError("for_model", f"must be {LIGHTGBM}, or an existing LightGBM file; got {brief(path)}.")


class ListsJob(Job):
    """The selection of a list of features for trees; `execute` evaluates lists and chooses one."""

    kind, files = "for_model", LIST_FILES

    def __init__(self, plan: SelectionPlan, problem: SelectionProblem, chosen: AllSelectOptions) -> None:
        super().__init__(plan, problem, chosen["n_threads"])
        data, rival = self.data, problem.trees.rival
        assert rival is not None
        check_trees(data, rival.settings)
        self.notes: list[str] = []
        if rival.lacks:
            lacks = f"{', '.join(rival.lacks)}, which the table does not have."
            self.notes = [f"the trees are handicapped: they are trained without {lacks}"]
        # The columns that trees can use, and those that every list has.
        table, rules = rival.table.learned(data), plan.penalties[0]
        required = {data.sources[j] for j in rules.keep}
        if not required.issubset(table.names):
            unknown = brief(min(required.difference(table.names)))
            raise ParameterError(
                "keep", f"names {unknown}, which is not a feature of the trees in {option('for_model')}."
            )
        permitted = allowed(table.names, data, rules.drop).tolist()
        permitted = [j for j in permitted if table.names[j] not in chosen["ignore_columns"]]
        columns = np.intersect1d(np.array(permitted, dtype=np.int64), usable_by_trees(table.of(data)))
        self.front = np.array([j for j in columns.tolist() if table.names[j] in required], dtype=np.int64)
        self.lengths = _lengths(plan.k, len(required), len(columns), chosen["sizes"])
        self.rival = replace(rival, name=ALL, columns=columns, table=table)
        self.trees = self.trees_on_folds(TreeRivals(self.rival), math.inf, required=True)

    @one_blas_thread()
    def execute(self, store: Store = NOWHERE, progress: Progress = quiet) -> TreesSelection:
        """Compute what is missing in `store` (everything without a store), and choose."""
        plan, data, rival, on_folds = self.plan, self.data, self.rival, self.trees
        table, usable, folds = rival.table, rival.columns, on_folds.folds
        first, began = on_folds.n_pieces, time.perf_counter()
        n = first + len(folds) * len(self.lengths)

        def report(before: int, done: int, activity: str) -> None:
            """Report progress of a part of the work, after `before` pieces of the other parts."""
            done += before
            progress(done, n, activity, (time.perf_counter() - began) / done * (n - done) if done else None)

        per_fold = f"{1 + len(self.lengths)} in each of {len(folds)} folds"
        report(0, 0, f"at most {n + 1} trainings of LightGBM: {per_fold}")
        # The trees on all features, without each fold and on all queries (FINAL).
        (everything,) = on_folds.fit(store, lambda done, _, activity, left: report(0, done, activity))
        if not len(on_folds.by_gain[FINAL]):
            raise DataError(
                f"trees with these settings ({option('for_model')}) never split on these data; allow smaller leaves "
                "(min_data_in_leaf)."
            )
        # The lists of every fold and of all queries: the features with the largest gain, after those that are always
        # kept, with their whole groups.
        groups, front = self.feature_groups.by_column(data.sources, table.names), self.front
        orders = {f: np.concatenate([front, order[~np.isin(order, front)]]) for f, order in on_folds.by_gain.items()}
        lengths = self.lengths if all(map(len, orders.values())) else ()
        lists = {
            f"trees on {counted(k)}": (k, {f: groups.whole(order[:k], usable) for f, order in orders.items()})
            for k in lengths
        }
        # Trees on lists, each evaluated on the queries that its list has not seen.
        columns = {label: {f: by_fold[f] for f in folds} for label, (_, by_fold) in lists.items()}
        values = on_folds.on_lists(columns, store, lambda done, _, activity, left: report(first, done, activity))
        tried = [(label, k, by_fold[FINAL], values[label]) for label, (k, by_fold) in lists.items()]
        tried.append((ALL, len(usable), usable, everything.values))
        final = {Candidate(label, k, 0.0, -1, len(js), groups.cost(js), metric): js for label, k, js, metric in tried}
        dense = [*final][-1]
        # The choice, and the trees on the chosen list.
        choice = choose(
            list(final),
            rule=replace(plan.rule, smaller=("shorter lists", "sizes")),
            confidence=plan.confidence,
            seed=plan.random_state,
            out_of_fold=True,
        )
        chosen, settings = final[choice.chosen], rival.settings
        names, n_threads = table.names, on_folds.n_threads
        trees = fit_trees(on_folds.data, chosen, settings, plan.random_state, names, n_threads=n_threads)
        trees.booster.pandas_categorical = [list(table.levels[names[j]]) for j in chosen if names[j] in table.levels]
        test, unseen = None, on_folds.test
        if unseen is not None and everything.scores is not None:
            systems = {f"trees on the {len(chosen)} chosen": trees.scores(unseen.X), ALL: everything.scores(True)}
            scores = {name: unseen.to_input_order(s) for name, s in systems.items()}
            test = compare_systems(scores, unseen, plan.metrics)
        report(n, 0, "done")
        # Where trees saw no missing value, our models' value for a missing one replaces it. The others are missing in
        # training too, and trees handle them themselves.
        fills = {}
        if data.fill_values is not None:
            seen = False if data.filled is None else data.filled.any(axis=0)
            values = np.where(seen, np.nan, data.fill_values).tolist()
            fills = {name: v for name, v in zip(data.names, values, strict=True) if not math.isnan(v)}
        return TreesSelection(
            plan=plan,
            choice=choice,
            dense=dense,
            all_features=against_all_features(choice, dense),
            test=test,
            n_all=len(names),
            query_ids=tuple(map(str, data.query_ids)),
            notes=self.notes,
            settings=settings,
            trees=trees,
            lists={c: tuple(names[j] for j in js) for c, js in final.items()},
            feature_names=names,
            fills=fills,
        )


def _lengths(most: int | None, required: int, usable: int, asked: Sequence[int] | None) -> list[int]:
    """The lengths of lists: at least the number of required features, fewer than the usable ones, and at most k.

    Raises
        DataError        there is nothing to choose
        ParameterError   the sizes are out of range
    """
    k, least = most or usable, max(required, 1)
    largest = min(k, usable - 1)
    if least > largest:
        limit = "" if most is None else f" with {option('k', most)}"
        raise DataError(
            f"there is nothing to choose: the number of features that vary and may be used is {usable}, and "
            f"{option('keep')} names {required}{limit}."
        )
    grid = np.geomspace(1, min(k, usable), N_SIZES + 1)[:-1].round().astype(int).tolist()
    sizes = [max(n, required) for n in grid] if asked is None else asked
    possible = sorted({n for n in (*sizes, k) if least <= n <= largest})
    if not possible:
        raise ParameterError(
            "sizes", f"contain no length from {least} to {largest}: {usable} features vary and may be used."
        )
    return possible
