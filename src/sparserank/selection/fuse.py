"""`fuse`: which retrievers to keep, and with what weights; the command line uses it too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast

import numpy as np

from sparserank.crossval.rivals import formulas_as_rivals
from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.fusion_table import FusionTable, fusion_table
from sparserank.data.fusion.judged_runs import JudgedRuns, judged_columns, read_judged_runs
from sparserank.data.fusion.norms import MINMAX, OF_SCORES, RRF, Norm, rules_of
from sparserank.data.missing import KEEP
from sparserank.data.read import read_sources
from sparserank.data.run_reader import asked_in, judgments_of
from sparserank.data.runs import Qrels
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.execution import return_freed_memory
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.metrics import Metric, parse_metric
from sparserank.model.fusion import formula_of, fusion_parameters
from sparserank.options import CheckedLater, asked, option, values_of
from sparserank.options.arguments import check_arguments
from sparserank.options.fusion import FUSE, AllFuseOptions, FuseOptions
from sparserank.paths.refits import NamedFormulas
from sparserank.selection.fusion import FusionFacts, FusionResult
from sparserank.selection.fusion_plan import (
    NO_PATH,
    alone,
    fusion_plan,
    norms_tried,
    norms_with_paths,
    retriever_costs,
    title_of,
    transform_of,
)
from sparserank.selection.inputs import GradesOfJudge, check_queries, check_relevant, grades_of_judge
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.notes import notes_of_judged, notes_of_runs
from sparserank.selection.origin import origin_of
from sparserank.selection.result_files import RESULT_FILES, notes_of_files, write_results
from sparserank.warmup import warming_up
from sparserank.workdir.directory import refuse_unusable
from sparserank.workdir.pieces import WorkStore, work_store_in
from sparserank.workdir.work import Progress, quiet

JUDGED_AT = 10  # depth of judged shares if the metric has no cutoff
EQUAL_SCORES, EQUAL_RANKS = (Norm(MINMAX), Norm("zscore")), (Norm("logrank"),)  # compared with equal weights


def fuse(
    runs: Any,
    qrels: Any = None,
    *,
    metric: str | Metric = "ndcg@10",
    margin: float = 0.01,
    k: int | None = None,
    budget: float | None = None,
    engine: str | None = None,
    out: str | os.PathLike | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[FuseOptions],
) -> FusionResult:
    """Choose the retrievers to keep and their weights, from the runs of all retrievers and judgments.

    Lists are cut at one depth and normalised. The fused score is a weighted sum, with weights >= 0 unless you set
    sign='free'. Each number of retrievers is evaluated out of fold over the judged queries. Of the sets whose mean
    leads reciprocal rank fusion (RRF) of all by one paired standard error (1.5 for a single retriever), the smallest
    within `margin` of the best is kept; if there is none, RRF of all. CombSUM, equal weights and single retrievers are
    compared with it.

    Parameters
    ----------
    runs : mapping or sequence of paths
        {retriever: run}, where a run is a TREC run file, a JSON file {query id: {document id: score}}, a Parquet or CSV
        file or a frame with columns qid, docno and score, or a dictionary; or a list of files, which name their
        retrievers. With `rank_columns` or `score_columns`, a table of judged documents.
    qrels : path, Qrels, mapping or frame
        Judgments: a file in TREC format, or a frame with columns qid, docno and label. All judged queries count; a
        query for which nothing is returned has the value 0.
    metric : str or Metric, default 'ndcg@10'
        Metric by which formulas are compared and chosen. The ideal order and the number of relevant documents are those
        of the judgments, whether a retriever returned the documents or not.
    margin : float, default 0.01
        Largest accepted estimated loss, relative to the best, in [0, 1).
    k, budget : int, float, optional
        Keep the best set of at most k retrievers, or of at most this cost, instead of choosing by margin.
    engine : str, optional
        Engine that will fuse: 'elasticsearch', 'opensearch', 'ranx', 'python' or 'sql'. Only formulas that it can
        compute are tried, by its own rules.
    out : path, optional
        Directory for finished work and results. After an interruption, the same call continues from there.
    n_threads : int, optional
        Threads. Default: all cores. Results do not depend on it.
    progress : callable, optional
        Called with (pieces done, pieces in all, the last piece, seconds left or None).
    **options
        norm, depth, unjudged, relevant_from, sign, costs, cost_rule, ... docs/options.md gives the meaning of each.

    Returns
    -------
    FusionResult
        .weights, .retrievers, .formula, .selection, .export(engine), .report(path), .save(folder)

    Raises
    ------
    ParameterError
        A parameter is unknown or out of its range; the message names it.
    DataError
        The runs or judgments cannot be used; messages name file and line.
    RunDirectoryError
        `out` cannot be used.

    Examples
    --------
    >>> import sparserank as sr
    >>> good = {f"q{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(20)}
    >>> bad = {f"q{i}": {"c": 3.0, "b": 2.0, "d": 1.0} for i in range(20)}
    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> result = sr.fuse({"good": good, "bad": bad}, qrels, penalties="l1", half_samples=0)
    >>> result.retrievers
    ('good',)
    """
    check_arguments(fuse, {"out": out, "progress": progress, "qrels": qrels}, qrels=CheckedLater(path=True))
    passed = cast(AllFuseOptions, options)
    passed |= {"metric": metric, "margin": margin, "k": k, "budget": budget, "engine": engine, "out": out}
    passed |= {"n_threads": n_threads, "progress": progress}
    chosen = asked("fuse", FUSE, passed)
    refuse_unusable(chosen["out"], "fuse")
    ready = prepare(runs, qrels, chosen)
    return_freed_memory()
    return _finished(ready, _sources(runs, qrels, chosen), chosen)


@dataclass(frozen=True, eq=False)
class ReadyFusion:
    """The selection of a fusion, ready to run; facts, notes: what is known before it runs."""

    job: SelectionJob
    table: FusionTable
    test: RankingDataset | None
    facts: FusionFacts
    notes: list[str]


def _finished(ready: ReadyFusion, sources: Mapping[str, Any], chosen: AllFuseOptions) -> FusionResult:
    """Run the selection of a fusion, or finish it in its directory."""
    table = ready.table
    facts = ready.facts
    identity = ready.job.plan.identity(table.learned, None, judged=table.judged, judge=ready.job.problem.judge)
    place = {"kind": "fuse", "results": RESULT_FILES, "restart": chosen["restart"]}
    with work_store_in(chosen["out"], identity, **place) as store:
        store.log({"event": "start"})
        selection = ready.job.execute(store, chosen["progress"] or quiet)
        notes = [
            *ready.notes,
            *notes_of_judged(formula_of(selection.model), facts),
            *selection.notes,
            *notes_of_files(store),
        ]
        origin = origin_of(sources, {"train": table.judged, "test": ready.test})
        selection = replace(selection, origin=origin, n_all=len(facts.retrievers), notes=notes)
        result = FusionResult(selection, facts)
        if isinstance(store, WorkStore):
            write_results(result, store.path)
    return result


def prepare(runs: Any, qrels: Any, chosen: AllFuseOptions) -> ReadyFusion:
    """Read the runs, make the table of features from them, and plan the selection. The ranked lists take as much memory
    as the table, and are freed when this returns."""
    with warming_up():
        judged, tests, grades = _read(runs, qrels, chosen)
    return_freed_memory()
    engine = chosen["engine"]
    rules = rules_of(engine)
    skip = chosen["unjudged"] == "skip"
    judged = judged.returned(rules)
    tests = None if tests is None else tests.returned(rules)
    negative = tuple(dict.fromkeys([*judged.negative, *(() if tests is None else tests.negative)]))
    norms, usual = (norms_tried(chosen["norm"], engine, names, of_ranks=judged.of_ranks) for names in (negative, ()))
    named = Norm(RRF) if Norm(RRF) in norms else norms[0]
    others = [named, Norm(RRF), *(EQUAL_RANKS if judged.of_ranks else EQUAL_SCORES)]
    compared = [n for n in others if engine is None or FUSION_ENGINES[engine].why_not(n, negative) is None]
    columns = list(dict.fromkeys([*norms, *compared]))

    def table_of(read: JudgedRuns, also: Iterable[tuple[str, str]] = ()) -> FusionTable:
        of_lists = read.lists, columns, read.depth, read.qrels, read.query_ids, read.documents, rules
        return fusion_table(*of_lists, judged_only=skip, also=also)

    if len(judged.query_ids) < 2:
        raise DataError("one judged query cannot be split into training and evaluation; judge at least two.")
    table = table_of(judged, grades.relevant)
    judge = grades.queries(table.judged)
    test = None
    _check(table, judged)
    if tests is not None:
        of_tests = table_of(tests)
        _check(of_tests, tests, option("test_qrels"))
        test = of_tests.judged
    costs = retriever_costs(chosen["costs"], judged.names)
    plan = fusion_plan(chosen, table.judged, judged.names, costs, judged.depth)
    for m in plan.metrics:
        if m.uses_gain:  # may refuse a grade: raise before work begins
            m.convention.gains(table.judged.relevance)
    usable = norms_with_paths(table.learned, norms, columns, plan)
    most = None if engine is None else FUSION_ENGINES[engine].most
    of_all = compared if most is None or len(judged.names) <= most else []  # what the engine can run
    # A retriever alone is its lists in their own order: of ranks if the run has them, which also order equal scores,
    # otherwise of scores; under the first norm if there is none of these.
    of_each = [
        next((norm for norm in columns if (norm.name in OF_SCORES) != run.has_ranks), columns[0])
        for run in judged.lists
    ]
    formulas = _formulas(judged.names, columns, of_all, of_each)
    defended = title_of(named) if of_all else ""
    # The formulas that may be chosen: the defended one, if there is one, and each retriever alone.
    titles = tuple(filter(None, (defended, *map(alone, judged.names))))
    rivals = {name: added for name, added in formulas.items() if name != defended}
    problem = SelectionProblem(
        table.learned,
        test=test,
        judged=table.judged,
        judge=judge,
        formulas=formulas_as_rivals(table.judged, judge, test, plan.metric, rivals),
        named=NamedFormulas(titles, tuple(tuple((j, 1.0) for j in formulas[title]) for title in titles)),
        defended=defended,
        transforms=[transform_of(norm, columns, len(judged.names)) for norm in usable],
        facts=fusion_parameters(judged.depth, engine, negative, {run.name: run.merged for run in judged.lists}),
    )
    job = SelectionJob(plan, problem, n_threads=chosen["n_threads"])
    if test is not None:
        check_relevant(plan.metrics, test.relevance)
    refused: dict[Norm, str | None] = {n: NO_PATH for n in norms if n not in usable}
    if engine is not None:
        refused = {n: FUSION_ENGINES[engine].why_not(n, negative) for n in usual if n not in norms} | refused
    notes = [f"the norm {n} was not tried: {why}." for n, why in refused.items() if why is not None]
    notes += notes_of_runs(judged, tests, table)
    if judge is not None:  # shares of judged documents, and numbers of lists, are those of people
        judged = judged.only(map(str, table.judged.query_ids[judge.people]))
    at = plan.metric.cutoff or JUDGED_AT
    facts = FusionFacts(
        retrievers=judged.names,
        depth=judged.depth,
        engine=engine,
        costs=costs,
        cost_rule=chosen["cost_rule"],
        unjudged=chosen["unjudged"],
        judged_depth=at,
        judged_share={} if judged.is_table else judged.judged_at(at),
        n_lists={run.name: len(run.query) for run in judged.lists},
    )
    return ReadyFusion(job, table, test, facts, notes)


def _read(runs: Any, qrels: Any, chosen: AllFuseOptions) -> tuple[JudgedRuns, JudgedRuns | None, GradesOfJudge]:
    """The runs on the judged queries, and on those of test_qrels; the grades of a judge."""
    of_ranks = chosen["rank_columns"]
    of_scores = chosen["score_columns"]
    tests = chosen["test_qrels"]
    grades = GradesOfJudge()
    if of_ranks and of_scores:
        raise ParameterError("rank_columns", f"cannot be combined with {option('score_columns', True)}.")
    if not of_ranks and not of_scores:
        if qrels is None:
            why = "of the queries"
            if chosen["judge"] is not None:
                why = "of people: without them, nobody can know how wrong the judge is"
            raise ParameterError("qrels", f"is required: the judgments {why}.")
        asked = asked_in(chosen)
        train = judgments_of(qrels, asked, "qrels")
        test = Qrels() if tests is None else judgments_of(tests, asked, "test_qrels")
        learned, tested = train.queries, test.queries
        check_queries({"qrels": learned, "test_qrels": tested}, may_be_allowed=False)
        if chosen["judge"] is not None:
            if chosen["unjudged"] == "skip":
                raise ParameterError("judge", f"cannot be combined with {option('unjudged', 'skip')}.")
            grades = grades_of_judge(train, chosen["judge"], chosen["judge_grades"], tested)
        elif chosen["judge_grades"] is not None:
            raise ParameterError("judge_grades", f"needs {option('judge')}.")
        cutoff = parse_metric(chosen["metric"]).cutoff
        both = read_judged_runs(runs, {**train, **grades.others, **test}, chosen["depth"], cutoff, asked)
        if not grades.others and not tested:
            return both, None, grades
        others = grades.others.queries
        answered = sorted(others & {both.query_ids[q] for run in both.lists for q in run.query.tolist()})
        if others and not answered:
            raise DataError(
                f"{grades.name}: no retriever returned a document for its other queries; add them to the runs."
            )
        if len(answered) < len(others):
            why = "left out, because no retriever returned a document for them"
            sentence = f"{grades.name}: {why}: {len(others) - len(answered):,} of its queries."
            warn_caller(sentence)
        return both.only([*learned, *answered]), both.only(tested) if tested else None, grades
    columns = option("rank_columns" if of_ranks else "score_columns", True)
    for name, value in (("qrels", qrels), ("test_qrels", tests), ("judge", chosen["judge"])):
        if value is not None:
            raise ParameterError(name, f"cannot be combined with {columns}: the table contains the judgments.")
    of_table = values_of(("label", "qid", "docid", "n_threads"), chosen)
    (data,) = read_sources({"train": runs}, of_table, missing=KEEP, derived={}, flags=False).values()
    assert data is not None
    return judged_columns(data, chosen["depth"], ranks=of_ranks), None, grades


def _check(table: FusionTable, judged: JudgedRuns, name: str = "") -> None:
    """Refuse judgments from which no formula can be learned, or test judgments (name) that cannot evaluate one."""
    at = f"{name}: " if name else ""
    if not (table.judged.relevance > 0).any():
        raise DataError(
            f"{at}no judged document is relevant (grade > 0); nothing can be {'compared' if name else 'learned'}."
        )
    if not any(len(run.query) for run in judged.lists):
        raise DataError(f"{at}the runs contain none of its {len(judged.query_ids)} queries; do the query ids agree?")
    relevant = table.learned.relevance > 0
    if not (relevant & (np.asarray(abs(table.learned.X).sum(axis=1)).ravel() > 0)).any():
        raise DataError(
            f"{at}no retriever returned a relevant document within rank {judged.depth}; do the document ids of runs "
            "and judgments agree?"
        )


def _formulas(
    names: Sequence[str], columns: Sequence[Norm], of_all: Sequence[Norm], of_each: Sequence[Norm]
) -> dict[str, tuple[int, ...]]:
    """{name: columns whose sum is the score}: all retrievers with equal weights, under each norm of `of_all`, and each
    retriever alone, under its norm of `of_each`."""
    at = {(name, norm): j for j, (name, norm) in enumerate((a, b) for a in names for b in columns)}
    uses = {title_of(norm): tuple(at[name, norm] for name in names) for norm in of_all}
    return uses | {alone(name): (at[name, norm],) for name, norm in zip(names, of_each, strict=True)}


def _sources(runs: Any, qrels: Any, chosen: AllFuseOptions) -> dict[str, Any]:
    """The sources of the queries, as recorded in the result."""
    listed = list(runs.values()) if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else [runs]
    judged = [source for source in (qrels, chosen["judge"]) if source is not None]
    return {"train": [*listed, *judged], "test": chosen["test_qrels"]}
