"""`select`: the main job in one call, which the command line also uses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast, overload

import numpy as np

from sparserank.crossval.current_model import in_use, left_out, made_for
from sparserank.crossval.tree_rivals import AUTO, NO, columns_in, tree_rivals
from sparserank.data.dataset import RankingDataset
from sparserank.data.read import read_sources, read_weighted_sources
from sparserank.data.run_reader import asked_in, judgments_of
from sparserank.data.runs import Qrels
from sparserank.data.store.features import check_unchanged
from sparserank.data.suspects import names_in, warn_of_suspects
from sparserank.data.tables.roles import LABEL
from sparserank.errors import ParameterError, warn_caller
from sparserank.export import ENGINES
from sparserank.losses import parse_loss
from sparserank.metrics import Metric
from sparserank.model import RankingModel
from sparserank.model.ranking_model import OF_CLAUSES
from sparserank.model.table_columns import REQUEST
from sparserank.options import asked, option, values_of
from sparserank.options.arguments import check_arguments
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.options.selection import SELECT, AllSelectOptions, FeatureOptions, ModelOptions
from sparserank.paths import PathPlan, SizedMaker
from sparserank.penalties import Penalty
from sparserank.requests.search_query import SearchQuery
from sparserank.requests.selection import (
    DIGITS,
    Answers,
    ClauseRules,
    for_clauses,
    for_request,
    note_of_top,
    notes_of_request,
    todays_boosts,
)
from sparserank.selection.diff import side_of
from sparserank.selection.for_engine import warn_of_engine
from sparserank.selection.inputs import (
    NO_DOC_WEIGHT,
    GradesOfJudge,
    check_judge,
    check_queries,
    grades_of_judge,
    notes_of_side_weights,
    weighted,
    with_judge_column,
)
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.lists import ListsJob, TreesSelection, refuse_others
from sparserank.selection.one_feature import nearly_best_alone
from sparserank.selection.origin import origin_of, started
from sparserank.selection.plan import Earlier, SelectionPlan, make_plan, planned
from sparserank.selection.result import SelectionResult
from sparserank.selection.result_files import notes_of_files
from sparserank.shards.dask import usable_client
from sparserank.text import Caution, brief, listed
from sparserank.warmup import warming_up
from sparserank.workdir.directory import refuse_unusable
from sparserank.workdir.pieces import WorkStore, work_store_in
from sparserank.workdir.work import Progress, quiet


@overload
def select(
    train: Any, valid: Any = None, test: Any = None, *, for_model: str | os.PathLike, **options: Any
) -> TreesSelection: ...


@overload
def select(
    train: Any, valid: Any = None, test: Any = None, *, for_model: None = None, **options: Unpack[ModelOptions]
) -> SelectionResult: ...


def select(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    label: Any = None,
    qid: Any = None,
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] | None = None,
    metric: str | Metric = SELECT["metric"].default,
    margin: float = SELECT["margin"].default,
    k: int | None = None,
    budget: float | None = None,
    out: str | os.PathLike | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    for_model: str | os.PathLike | None = None,
    **options: Any,
) -> SelectionResult | TreesSelection:
    """Select the smallest ranking model that ranks as well as the best.

    Fits a path of models for every penalty, estimates the quality of every size out of fold over the queries of `train`
    and `valid`, and chooses the smallest model whose estimated loss against the best of all models tried is within
    `margin`. The loss of every size has a simultaneous bound. On `test`, the chosen model is compared with the dense
    model and the best single feature.

    Parameters
    ----------
    train, valid, test : path, list of paths, RankingDataset, frame or (X, y, qid)
        Judged documents. `train` may also be X alone, with `label` and `qid` as the values of its rows. Features of
        `valid` and `test` are matched by name if they have names; other columns are ignored.
    label, qid : str or array_like, optional
        Columns of a frame, by default 'label' and 'qid'; the other columns are features.
    penalties : str, Penalty, SizedMaker, or sequence of them, optional
        By default 'l1' and 'mcp', and from 200 queries on also 'steps' (boosted step functions); with an engine of
        boosts, also a search on the metric. Names such as
        'mcp(gamma=2.0)' or 'best_k' (splicing, size by size), Penalty objects, or makers of paths by size (BestK,
        BoostedSteps, or a custom class).
    metric : str or Metric, default 'ndcg@10'
        Metric by which models are compared and chosen.
    margin : float, default 0.01
        Largest acceptable estimated loss, relative to the best, in [0, 1). The option `guarantee` limits the bound on
        the loss instead.
    k, budget : int, float, optional
        Choose the best model of at most k features, or of at most this total cost, instead of by margin.
    out : path, optional
        Directory for finished work and results. After an interruption, the same call continues from there.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    progress : callable, optional
        Called with (pieces done, pieces in total, the last piece, seconds left or None).
    for_model : str or path, optional
        Choose features for this ranker instead: 'lightgbm', or the path of a saved LightGBM model or of a file of its
        parameters, whose settings are used. Lists contain the features with the largest gain in the trees; the shortest
        one on which the trees rank as well as on the best is chosen.
    **options
        feature_transform, feature_groups, costs, keep, drop, cv, missing, current, ... `SelectOptions` and
        docs/options.md give the type, default and meaning of each.

    Returns
    -------
    SelectionResult
        .model, .headline, .table(), .sizes(), .plot(), .report(path), .save(folder), .to_json(). With `for_model`, a
        `TreesSelection`: .features and .trees in place of .model

    Raises
    ------
    ParameterError
        A parameter is unknown or out of its range; the message names it.
    DataError
        The data cannot be used: no preferred pair, one query, the same query id in two parts, ...
    RunDirectoryError
        `out` cannot be used.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> result = sr.select(data, penalties="l1", half_samples=0, rival="none", feature_transform="none")
    >>> len(result.model.support) <= 10
    True
    """
    check_arguments(select, {"out": out, "progress": progress})
    options |= {"label": label, "qid": qid, "penalties": penalties, "metric": metric, "margin": margin, "k": k}
    options |= {"budget": budget, "out": out, "n_threads": n_threads, "progress": progress, "for_model": for_model}
    sources = {"train": train, "validation": valid, "test": test}
    chosen = asked("select", SELECT, cast(AllSelectOptions, options))
    start = ""
    if chosen["start"] is not None:
        with_earlier, start = started(chosen, sources)
        chosen = cast(AllSelectOptions, with_earlier)
    if chosen["for_model"] is not None:
        refuse_others(chosen)
    elif chosen["sizes"] is not None:
        raise ParameterError("sizes", f"needs {option('for_model', 'lightgbm')}.")
    return _finished(prepare(sources, chosen), sources, chosen, start)


@dataclass(frozen=True, eq=False)
class ReadySelection:
    """A selection that is ready to run.

    job, identity   what is run; of the run directory
    used            {part: the data as they were read}
    excused         columns about which nothing is said; suspects: {column: what is said}
    notes           what follows the notes of the job
    request, responses   those whose boosts are selected; None otherwise
    """

    job: SelectionJob | ListsJob
    identity: dict[str, Any]
    used: Mapping[str, RankingDataset | None]
    excused: Sequence[str]
    suspects: Mapping[str, str]
    notes: Sequence[str]
    request: SearchQuery | None
    responses: Answers | None

    def check(self) -> None:
        """Raise DataError if stored data have changed since they were opened."""
        for data in self.used.values():
            check_unchanged(None if data is None else data.X)


def prepare(sources: Mapping[str, Any], chosen: AllSelectOptions) -> ReadySelection:
    """Check the options, read the data, and resolve the rules that name features."""
    # The plan, as far as it needs no data.
    of_trees = chosen["for_model"] is not None
    check_judge(sources, chosen)
    grades = GradesOfJudge()
    if chosen["judge"] is not None:
        people = judgments_of(chosen["qrels"], asked_in(chosen))
        grades = grades_of_judge(people, chosen["judge"], chosen["judge_grades"], ())
        chosen = {**chosen, "qrels": Qrels({**people, **grades.others})}
    request, responses, seen = for_request(sources, chosen)
    engine = None if chosen["engine"] is None else ENGINES[chosen["engine"]]
    boosts = engine is not None and engine.boosts
    plan = _plan(chosen, boosts, sources["validation"] is not None)
    # The data.
    parts, side_weights = _read(sources, chosen, request, seen)
    train, valid, test = parts.values()
    assert train is not None
    judge = None
    if chosen["judge_column"] is not None:
        train, judge = with_judge_column(
            train, chosen["label"] or LABEL, chosen["judge_column"], chosen["judge_grades"]
        )
    names = train.names
    # The rules that name features, with those of clauses, and without the score of the ranker in use.
    plan, rules = for_clauses(chosen, plan, train, responses) if boosts else (plan, ClauseRules())
    current = rules.current or seen or chosen["current"]
    derived = train.derived or {}
    ranker_in_use = None if current is None else in_use(current, [name for name in names if name not in derived])
    excused = [
        *names_in(chosen["keep"], chosen["drop"]),
        *rules.keep,
        *(() if ranker_in_use is None else ranker_in_use.features),
    ]
    suspects = warn_of_suspects(train, excused)
    notes = [
        *([] if plan.prefer is None else _gone(plan.prefer, train)),
        *([] if of_trees else notes_of_side_weights(sources, side_weights, chosen)),
    ]
    keep, drop = _with(chosen["keep"], rules.keep), _with(chosen["drop"], rules.drop)
    score = left_out(current, names, keep, drop, plan.penalties)
    if score is not None:
        drop = _with(drop, (score,))
        notes.append(
            f"{brief(score)}, today's score, is left out of the features; {option('keep', score)} puts it into every "
            "model."
        )
    rules_of_features = values_of(FeatureOptions.__annotations__, chosen)
    plan = plan.for_features(names, derived, **{**rules_of_features, "keep": keep, "drop": drop})
    if boosts:
        # All features get weights >= 0, also those that are made from columns.
        up = (1.0,) * len(names)
        plan = replace(plan, penalties=tuple(replace(p, monotone=up) for p in plan.penalties))
    # What is learned from, and what it is compared with.
    train, valid, weight = weighted(train, valid, chosen["query_weight"], side_weights, plan.protocol)
    used = {"train": train, "validation": valid, "test": test}
    if engine is not None:
        warn_of_engine(engine, train, plan.never)
    asked_for = chosen["for_model"] or (NO if plan.fast else chosen["rival"])
    never = () if of_trees else plan.never
    trees = tree_rivals(asked_for, train, never, here=chosen["client"] is None, required=of_trees)
    if trees.rival is not None and train.doc_weight is not None:
        trees = replace(trees, notes=(*trees.notes, NO_DOC_WEIGHT))
    facts: dict[str, Any] = {} if request is None else {REQUEST: request.listed}
    judged = None
    if responses is not None:
        facts |= {OF_CLAUSES: True} if boosts else {}
        responses.also = grades.relevant
        train, valid, test, judged = responses.applied(train, valid, test, plan, weight)
        judge = grades.queries(judged or train)
    problem = SelectionProblem(
        train,
        valid,
        test,
        judged,
        judge,
        query_weight=weight,
        current=ranker_in_use,
        trees=trees,
        rival_time=chosen["rival_time"],
        today=todays_boosts(request, names, plan) if responses is not None and boosts else None,
        facts=facts,
    )
    job: SelectionJob | ListsJob
    if of_trees:
        job = ListsJob(plan, problem, chosen)
    else:
        job = SelectionJob(plan, problem, n_threads=chosen["n_threads"], client=chosen["client"])
    return ReadySelection(
        job=job,
        identity=plan.identity(train, valid, None if weight is None else weight.tolist(), judged, judge),
        used=used,
        excused=excused,
        suspects=suspects,
        notes=[*notes, *trees.notes],
        request=request,
        responses=responses,
    )


def _plan(chosen: AllSelectOptions, boosts: bool, has_validation: bool) -> SelectionPlan:
    """The plan, without the rules that name features; boosts: whether boosts are selected, whose weights are rounded.

    Raises
        ParameterError      options exclude each other, or the cluster cannot be used
        RunDirectoryError   the directory cannot be used
        ModelFormatError    `prefer` names no model
    """
    paths = PathPlan(
        chosen["n_alphas"],
        chosen["alpha_min_ratio"],
        chosen["tol"],
        scaling=chosen["scaling"],
        pair_weights=chosen["pair_weights"],
        loss=parse_loss(chosen["loss"]),
        round=DIGITS if boosts and chosen["round"] is None else chosen["round"],
    )
    earlier = None
    if (preferred := chosen["prefer"]) is not None:
        side = side_of(preferred)
        run = "the given model" if isinstance(preferred, RankingModel) else brief(os.fspath(preferred))
        earlier = Earlier(run, tuple(side.model.columns), side.trained)
    plan = make_plan(path_plan=paths, **planned(chosen), penalties=chosen["penalties"], prefer=earlier)
    if plan.fast and chosen["rival"] not in (AUTO, NO, None):
        raise ParameterError("rival", f"cannot be combined with {option('fast', True)}.")
    if plan.protocol == "holdout" and not has_validation:
        raise ParameterError("protocol", "holdout needs validation data.")
    if chosen["client"] is not None:
        usable_client(chosen["client"])
    refuse_unusable(chosen["out"], (SelectionJob if chosen["for_model"] is None else ListsJob).kind)
    return plan


def _read(
    sources: Mapping[str, Any], chosen: AllSelectOptions, request: SearchQuery | None, seen: Any
) -> tuple[dict[str, RankingDataset | None], dict[str, np.ndarray]]:
    """{part: data}, and the weights of their queries from side files; seen: the ranker in use as responses show it.

    Raises
        DataError   the data cannot be read, or a query is in two parts
    """
    clustered = chosen["client"] is not None and chosen["scaling"] in LINEAR_SCALINGS
    known: dict[str, Any] = {
        "takes_zero": chosen["engine"] is not None and ENGINES[chosen["engine"]].takes_zero,
        "also": made_for(chosen["current"] if seen is None else seen),
        "clauses": None if request is None else request.listed,
        "kept": columns_in(chosen["for_model"] or chosen["rival"]),
        "judge_column": chosen["judge_column"],
    }
    side_weights: dict[str, np.ndarray] = {}
    with warming_up():
        if chosen["for_model"] is not None:
            parts = read_sources(sources, chosen, **known)
        else:
            to_store = ("train", "validation") if clustered else ()
            parts, side_weights = read_weighted_sources(sources, chosen, to_store=to_store, **known)
    if not chosen["allow_overlap"]:
        query_ids = {name: data.query_ids.tolist() for name, data in parts.items() if data is not None}
        check_queries(query_ids, may_be_allowed=True)
    return parts, side_weights


def _with(names: Any, added: tuple[str, ...]) -> Any:
    """The names that an option contains, and the added ones. A value that is no list of names is returned as it is;
    it is refused later."""
    listed = names is None or (isinstance(names, Iterable) and not isinstance(names, str))
    return [*(() if names is None else names), *added] if listed and added else names


def _finished(
    ready: ReadySelection, sources: Mapping[str, Any], chosen: AllSelectOptions, start: str
) -> SelectionResult | TreesSelection:
    """Run a selection, or finish it in its directory; start: what is different from the run that it starts from."""
    job = ready.job
    place = {"kind": job.kind, "results": job.files, "restart": chosen["restart"]}
    with work_store_in(chosen["out"], ready.identity, **place, check=ready.check) as store:
        store.log({"event": "start"})
        selection: SelectionResult | TreesSelection
        if isinstance(job, SelectionJob):
            selection, alone = _remarked(job, job.execute(store, chosen["progress"] or quiet), ready)
            last = notes_of_files(store)
        else:
            selection, alone, last = job.execute(store, chosen["progress"] or quiet), {}, []
        suspects = {**ready.suspects, **alone}
        result = replace(
            selection,
            origin=origin_of(sources, ready.used, chosen, start),
            suspects=suspects,
            notes=[*selection.notes, *map(Caution, suspects.values()), *ready.notes, *last],
        )
        ready.check()
        if isinstance(store, WorkStore):
            result.write(store.path)
    return result


def _remarked(
    job: SelectionJob, selection: SelectionResult, ready: ReadySelection
) -> tuple[SelectionResult, dict[str, str]]:
    """A selection with remarks on its model, and the chosen features that alone are nearly as good."""
    metric = job.plan.metric
    support = selection.model.support.tolist()
    excused = [*ready.excused, *ready.suspects]
    alone = nearly_best_alone(job.evaluated, selection.best.shown, metric, support, excused)
    for sentence in alone.values():
        warn_caller(sentence)
    if job.engine is None or not job.engine.boosts:
        return selection, alone
    change = selection.change
    notes = notes_of_request(selection.model, job.problem.train, ready.request)
    if ready.responses is not None and change is not None:
        top = ready.responses.top(job.judged, selection.model, metric)
        change = replace(change, top=top)
        notes.insert(1, note_of_top(top))
    return replace(selection, change=change, notes=[*notes, *selection.notes]), alone


def _gone(earlier: Earlier, data: RankingDataset) -> list[str]:
    """A note on features of the earlier run that the data do not have.

    Raises
        ParameterError   they have none of them
    """
    known = {*data.sources}
    gone = [name for name in earlier.names if name not in known]
    if len(gone) == len(earlier.names):
        raise ParameterError("prefer", f"names {earlier.run}, but the data have none of its features.")
    return [Caution(f"features of {earlier.run} that the data do not have: {listed(gone)}.")] if gone else []
