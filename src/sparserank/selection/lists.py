"""`select(for_model=)`: the shortest list of features on which trees rank as well as on the best list tried. Lists come
from the gain of the trees; the candidates are trees on each list, evaluated out of fold."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.feature_groups import each_alone
from sparserank.crossval.tasks import FINAL
from sparserank.crossval.tree_files import refuse_objective
from sparserank.crossval.tree_rivals import (
    LIGHTGBM,
    TreeRival,
    TreeRivals,
    allowed,
    columns_in,
    default_rival,
    is_file,
    rival_of_file,
)
from sparserank.crossval.tree_rivals_on_folds import TreesOnFolds
from sparserank.crossval.trees import Trees, TreeSettings, check_trees, fit_trees, usable_by_trees
from sparserank.data.combine import concatenate
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.read import read_sources
from sparserank.data.suspects import names_in, warn_of_suspects
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import Comparison, compare_systems
from sparserank.evaluation.statistics import as_percent
from sparserank.execution import available_cores, one_blas_thread
from sparserank.lazy import cached_property
from sparserank.options import option, values_of
from sparserank.options.selection import FOR_MODEL, SELECT, AllSelectOptions
from sparserank.selection.claims import BELOW, FIRST, Claim, claims_of_choice, counted
from sparserank.selection.facts import Row, model_row
from sparserank.selection.inputs import NO_DOC_WEIGHT, check_overlap, check_relevant
from sparserank.selection.plan import SelectionPlan, make_plan, planned
from sparserank.selection.result import Result
from sparserank.selection.result_files import LIST_FILES, write_lists
from sparserank.strict_json import plain
from sparserank.text import brief
from sparserank.warmup import warming_up
from sparserank.workdir.directory import refuse_unusable
from sparserank.workdir.pieces import WorkStore, work_store_in
from sparserank.workdir.work import Progress

ALL = "trees on all features"
FORMAT, FORMAT_VERSION = "sparserank-trees-selection", 6
GAIN = "trees on own gain"
N_SIZES = 8  # default lengths of lists, at most; each is a multiple of the one before


@dataclass(frozen=True, repr=False)
class TreesSelection(Result):
    """The result of `select(for_model=)`.

    Attributes
    ----------
    choice : Choice
        The choice among lists and sizes.
    all_features : Candidate
        The trees on all features, which are also a candidate.
    trees : Trees
        The trees on the chosen list, fitted to all queries.
    test : Comparison or None
        `trees` and the trees on all features, compared on the test queries.
    notes : tuple of str
        Settings that are not used.
    facts : dict
        Plain rows about `features`, `lists` and `sizes`, from which screen, report, JSON and frames pick columns.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> found = sr.select(data, for_model="lightgbm", k=2, sizes=[2], cv=2)
    >>> found.all_features.k
    6
    """

    plan: SelectionPlan
    settings: TreeSettings
    choice: Choice
    all_features: Candidate
    trees: Trees
    feature_names: tuple[str, ...]
    n_queries: int
    test: Comparison | None
    kind = "for_model"
    fill_values: np.ndarray | None = None  # (n_features,) replace missing values in scoring; NaN: no replacement
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Name of the metric by which the choice is made, with its convention."""
        return repr(self.plan.metric)

    @property
    def chosen(self) -> Candidate:
        return self.choice.chosen

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
    def by_size(self) -> list[Candidate]:
        """The best list of at most each length (or cost, if groups were given), where it is better than a shorter
        one."""
        return [c for c in self.choice.by_size if c is not self.all_features]

    @cached_property
    def claims(self) -> list[Claim]:
        """What the data support, by rank: what to keep, its loss, and the value of all features."""
        choice, everything, noun = self.choice, self.all_features, "feature"
        kept = f"{self.chosen.n_features} of {counted(len(self.feature_names))}"
        text = f"Trees on the chosen list have {self.metric} {self.chosen.mean:.4f} out of fold"
        if self.chosen is not everything:
            text += (
                f"; trees on all {everything.n_features} features that vary and may be used have {everything.mean:.4f}"
            )
        expected = f"Expected on new queries: {choice.corrected_chosen:.4f}." if choice.is_corrected else ""
        judged = f"{self.n_queries} queries, each scored by trees not trained on it"
        confidence = as_percent(self.plan.confidence)
        stars = f"* {confidence}, for all lists at once ('at most': one-sided)."
        found = [
            Claim("keep", kept, judged, FIRST, f"Keep {kept}: {self.chosen.penalty}.  {judged}."),
            *claims_of_choice(choice, self.metric, len(self.feature_names), noun),
            Claim("mean", said=f"{text}."),
            Claim("expected", rank=BELOW, said=expected),
            Claim("intervals", rank=BELOW, said=stars if math.isfinite(choice.bound(self.chosen)) else ""),
        ]
        return sorted((claim for claim in found if claim.text), key=lambda claim: claim.rank)

    def render_screen(self) -> list[str]:
        from sparserank.report.for_model import screen_of_lists

        return screen_of_lists(self)

    def render_page(self, place: str | None = None) -> str:
        from sparserank.report.for_model import lists_page

        return lists_page(self)

    def write(self, folder: Path) -> list[Path]:
        return write_lists(self, folder)

    @cached_property
    def facts(self) -> dict[str, list[Row]]:
        """Plain rows, from which screen, report, JSON and frames pick columns.

        features   the features to keep, with their share of the `gain`
        lists      every list and length
        sizes      the best list of each length, and all features
        """
        gains = zip(self.features, self.gains.tolist(), strict=True)
        return {
            "features": [{"feature": feature, "gain": gain} for feature, gain in gains],
            "lists": [self._row(c) for c in self.choice.candidates],
            "sizes": [{"label": c.label, **self._row(c)} for c in (*self.by_size, self.all_features)],
        }

    def sizes(self) -> Any:
        """Every list and length: list, k, n_features (of the final list), cost, mean of the metric, mean loss against
        the best, the bound on that loss (simultaneous), and whether it is the chosen one."""
        return frame_of(self.facts["lists"])

    def _row(self, c: Candidate) -> Row:
        row = model_row(self.choice, c, ("k", "n_features", "cost", "mean"))
        return {"list": c.penalty, **row, "chosen": c is self.chosen}

    def to_json(self) -> dict[str, Any]:
        """The content of result.json (docs/result-json.md)."""
        plan, choice = self.plan, self.choice
        content = {
            **self.opening(FORMAT, FORMAT_VERSION),
            "metric": self.metric,
            "n_queries": self.n_queries,
            "n_features": len(self.feature_names),
            "seed": plan.random_state,
            "confidence": plan.confidence,
            "margin_kind": choice.margin_kind,
            "margin": {"relative": plan.rule.largest_loss, "absolute": choice.margin},
            "trees": {
                "n_trees": self.settings.n_trees,
                "parameters": self.settings.parameters,
                "categorical": list(self.settings.categorical),
                "columns": [self.feature_names[j] for j in self.trees.columns],
                "missing": [
                    None if self.fill_values is None or np.isnan(self.fill_values[j]) else float(self.fill_values[j])
                    for j in self.trees.columns
                ],
            },
            "notes": list(self.notes),
            "features": self.facts["features"],
            "chosen": self._row(self.chosen),
            "corrected": {"chosen": choice.corrected_chosen if choice.is_corrected else None},
            "all_features": self._row(self.all_features),
            "lists": [self._row(c) for c in choice.candidates if c is not self.all_features],
            "test": None if self.test is None else self.test.rows(plan.confidence),
        }
        out: dict[str, Any] = plain(content)
        return out


def select_for_model(sources: dict[str, Any], chosen: AllSelectOptions) -> TreesSelection:
    """Select features for trees. sources: train, validation and test data; chosen: all options of `select`."""
    plan = _plan(chosen)
    refuse_unusable(chosen["out"], "for_model")
    with warming_up():
        parts = read_sources(sources, chosen, kept=columns_in(chosen["for_model"]))
    if not chosen["allow_overlap"]:
        check_overlap(parts)
    train, valid, test = parts.values()
    assert train is not None
    data = train if valid is None else concatenate([train, valid], join_queries=False)
    check_relevant(plan.metrics, data.relevance)
    file: Any = chosen["for_model"]
    rival, notes = (default_rival(data), ()) if file == LIGHTGBM else rival_of_file(file, data)
    rival = replace(rival, table=rival.table.learned(data))
    if rival.lacks:
        lacks = ", ".join(rival.lacks)
        notes = (f"the trees are handicapped: they are trained without {lacks}, which the table does not have.", *notes)
    if data.doc_weight is not None:
        notes = (*notes, NO_DOC_WEIGHT)
    refuse_objective(file, rival.settings)
    check_trees(data, rival.settings)
    warn_of_suspects(train, names_in(chosen["keep"], chosen["drop"]))
    names = data.names
    plan = plan.for_features(names, data.derived, **values_of(("costs", "feature_groups", "keep", "drop"), chosen))
    own, columns = data.sources, rival.table.names
    plan = _without(plan, [j for j, column in enumerate(own) if column not in columns], names)
    ignored = {columns.index(name) for name in chosen["ignore_columns"] if name in columns}
    may = np.setdiff1d(allowed(columns, data, plan.penalties[0].drop), list(ignored))
    rival = replace(rival, name=ALL, columns=np.intersect1d(may, usable_by_trees(rival.table.of(data))))
    sizes, n_threads = _sizes(plan, len(rival.columns), chosen["sizes"]), chosen["n_threads"] or available_cores()
    fold = query_folds(data.n_queries, min(plan.cv, data.n_queries), plan.random_state)
    trees = TreesOnFolds(
        fold=fold,
        data=data,
        judged=data,
        test=None,
        trees=TreeRivals(rival),
        metric=plan.metric,
        query_weight=None,
        seed=plan.random_state,
        n_threads=n_threads,
        seconds=math.inf,
        required=True,
    )
    place = {"restart": chosen["restart"], "kind": "for_model", "results": LIST_FILES}
    with work_store_in(chosen["out"], plan.identity(data, None), **place) as store:
        with one_blas_thread():
            found = _chosen(plan, rival, trees, sizes, store, chosen["progress"])
        unseen = None if test is None else rival.table.of(test)
        result = TreesSelection(
            plan,
            rival.settings,
            found.choice,
            found.everything,
            found.trees,
            rival.table.names,
            data.n_queries,
            None if unseen is None else _on_test(plan, unseen, found.trees, found.full),
            _filled_values(data, rival.table.names),
            notes,
        )
        if store is not None:
            write_lists(result, store.path)
    return result


def _plan(chosen: AllSelectOptions) -> SelectionPlan:
    """The plan; the rules about features are those of its one penalty, of which no path is computed.

    Raises
        ParameterError   an option cannot be combined with for_model
    """
    given, values = option("for_model"), values_of(SELECT, chosen)
    for name, o in SELECT.items():
        value = values[name]
        if name not in FOR_MODEL and (value is not None if o.default is None else value != o.default):
            raise ParameterError(name, f"cannot be combined with {given}.")
    path = chosen["for_model"]
    if not (isinstance(path, str) and path == LIGHTGBM) and not is_file(path):
        raise ParameterError("for_model", f"must be {LIGHTGBM}, or an existing LightGBM file; got {brief(path)}.")
    return make_plan(penalties="l1", **planned(chosen))


def _without(plan: SelectionPlan, unknown: Sequence[int], names: tuple[str, ...]) -> SelectionPlan:
    """The plan without the features that the trees do not know.

    Raises
        ParameterError   keep names one of these features
    """
    (p,) = plan.penalties
    kept = [names[j] for j in p.keep if j in unknown]
    if kept:
        raise ParameterError(
            "keep", f"names {brief(kept[0])}, which is not a feature of the trees in {option('for_model')}."
        )
    never = tuple(sorted({*p.drop, *unknown}))
    return replace(plan, penalties=(replace(p, drop=never),))


def _sizes(plan: SelectionPlan, usable: int, asked: Sequence[int] | None) -> tuple[int, ...]:
    """The lengths of lists: at least the number of kept features, fewer than the usable ones, and at most k.

    Raises
        DataError        there is nothing to choose
        ParameterError   k or the sizes are out of range
    """
    kept, k = plan.count(plan.penalties[0].keep), plan.k
    if k is not None and k < kept:
        raise ParameterError("k", f"is {k}, but keep names {kept} features.")
    most = usable if k is None else min(int(k), usable)
    grid = np.geomspace(1, max(most, 1), N_SIZES + 1)[:-1].round().astype(int).tolist()
    sizes = [max(n, kept) for n in grid] if asked is None else asked
    wanted = sorted({s for s in sizes if s < most} | ({most} if most < usable else set()))
    if usable < 2:
        raise DataError(
            f"{'one feature varies' if usable else 'no feature varies'} and may be used, so there is nothing to choose."
        )
    if kept >= usable:
        raise ParameterError("keep", f"names all {usable} features that may be used; there is nothing to choose.")
    possible = tuple(s for s in wanted if s >= max(kept, 1))
    if not possible:
        raise ParameterError(
            "sizes", f"contain no length from {max(kept, 1)} to {usable - 1}: {usable} features vary and may be used."
        )
    return possible


class Found(NamedTuple):
    """The choice among lists, the candidate of all features, and the trees on the chosen list and on all features, both
    fitted to all queries."""

    choice: Choice
    everything: Candidate
    trees: Trees
    full: Trees


def _chosen(
    plan: SelectionPlan,
    rival: TreeRival,
    on_folds: TreesOnFolds,
    sizes: Sequence[int],
    store: WorkStore | None,
    progress: Progress | None,
) -> Found:
    """Evaluate lists, choose one, and fit trees on it to all queries. Finished pieces are kept in `store`."""
    n_folds, began = len(on_folds.folds), time.perf_counter()
    n = n_folds * (1 + len(sizes))

    def tell(before: int, done: int, what: str) -> None:
        """Report both parts as one."""
        done += before
        if progress is not None:
            progress(done, n, what, (time.perf_counter() - began) / done * (n - done) if done else None)

    tell(0, 0, f"at most {n + 2} trainings of LightGBM: {1 + len(sizes)} in each of {n_folds} folds")
    # The trees on all features, without each fold and on all queries.
    (all_features,) = on_folds.fit(store, lambda done, _, what, left: tell(0, done, what))
    usable, names = rival.columns, rival.table.names
    full = fit_trees(on_folds.data, usable, rival.settings, plan.random_state, n_threads=on_folds.n_threads)
    if not len(full.by_gain(used=True)):
        raise DataError(
            f"trees with these settings ({option('for_model')}) never split on these data; allow smaller leaves "
            "(min_data_in_leaf)."
        )
    # The lists of every fold and of all queries (FINAL): the features with the largest gain, after those that are
    # always kept, with their whole groups.
    groups = plan.feature_groups or each_alone(on_folds.sources, plan.costs)
    groups = groups.by_column(on_folds.sources, names)
    front = np.intersect1d(on_folds.columns_of(np.array(plan.penalties[0].keep, dtype=np.int64)), usable)
    by_gain = {**on_folds.by_gain, FINAL: full.by_gain(used=True)}
    orders = {f: np.concatenate([front, own[~np.isin(own, front)]]) for f, own in by_gain.items()}
    lists = {k: {f: groups.whole(own[:k], usable) for f, own in orders.items()} for k in sizes}
    lists = lists if all(map(len, orders.values())) else {}
    # Trees on lists, each evaluated on the queries that its list has not seen.
    of_name = {f"{GAIN}, {k}": {f: own[f] for f in on_folds.folds} for k, own in lists.items()}
    values = on_folds.on_lists(of_name, store, lambda done, _, what, left: tell(n_folds, done, what))

    def candidate(of: str, k: int, features: np.ndarray, values: np.ndarray) -> Candidate:
        return Candidate(of, k, 0.0, -1, len(features), groups.cost(features), values)

    finals = {candidate(GAIN, k, own[FINAL], values[f"{GAIN}, {k}"]): own[FINAL] for k, own in lists.items()}
    everything = candidate(ALL, len(usable), usable, all_features.values)
    # The choice, and the trees on the chosen list.
    _refuse_too_large(plan, [*finals, everything])
    choice = plan.choose([*finals, everything])
    kept = {**finals, everything: usable}[choice.chosen]
    settings, seed = rival.settings, plan.random_state
    trees = fit_trees(on_folds.data, kept, settings, seed, names, n_threads=on_folds.n_threads)
    levels = rival.table.levels
    coded = [levels[name] for name in (names[j] for j in kept.tolist()) if name in levels]
    trees.booster.pandas_categorical = [list(values) for values in coded]
    tell(n, 0, "done")
    return Found(choice, everything, trees, full)


def _refuse_too_large(plan: SelectionPlan, lists: list[Candidate]) -> None:
    """Raise DataError if no list is within the budget, or none of whole groups within k features."""
    for limit, size, what in (("budget", "cost", "cost"), ("k", "n_features", "length")):
        most, least = getattr(plan, limit), min(getattr(c, size) for c in lists)
        if most is not None and least > most:
            raise DataError(
                f"no list tried has a {what} within {option(limit, most)}, the least is {least:g}; allow more, "
                f"or try shorter lists with {option('sizes')}."
            )


def _filled_values(data: RankingDataset, columns: Sequence[str]) -> np.ndarray | None:
    """(n_columns,) fill value of each column for trees that saw no missing value of it: the one that our models use.
    NaN if the trees saw missing values, which they then handle themselves. None if nothing is known."""
    values, filled = data.fill_values, data.filled
    if values is None:
        return None
    known = values if filled is None else np.where(filled.any(axis=0), np.nan, values)
    of_name = dict(zip(data.names, known.tolist(), strict=True))
    return np.array([of_name.get(column, np.nan) for column in columns])


def _on_test(plan: SelectionPlan, test: RankingDataset, chosen: Trees, full: Trees) -> Comparison:
    """Compare the trees on the chosen list with those on all features."""
    systems = {f"trees on the {len(chosen.columns)} chosen": chosen, ALL: full}
    scores = {name: test.to_input_order(trees.scores(test.X)) for name, trees in systems.items()}
    return compare_systems(scores, test, plan.metrics)
