"""`fuse`: which retrievers to keep, and with what weights; the command line uses it too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from sparserank.crossval.feature_groups import MAX, FeatureGroups
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.crossval.metric_refits import why_not
from sparserank.crossval.settings import PathSettings
from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.fusion_table import FusionTable, feature_name, fusion_table
from sparserank.data.fusion.judged_runs import JudgedRuns, judged_columns, read_judged_runs
from sparserank.data.fusion.judgments import judgments_of
from sparserank.data.fusion.norms import AUTO, JOINED, MINMAX, OF_SCORES, RRF, ZSCORE, Norm, parse_norm, rules_of
from sparserank.data.missing import KEEP
from sparserank.data.reading import Reading
from sparserank.data.sources import read_sources
from sparserank.data.text_lines import read_entries
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.jobs.formulas import Formulas
from sparserank.jobs.fusion_options import FUSE
from sparserank.jobs.result_files import RESULT_FILES, tell_of_other_choice, write_results
from sparserank.jobs.selection_job import SelectionJob
from sparserank.jobs.typed import FuseOptions
from sparserank.metrics import Metric, parse_convention
from sparserank.model.fusion import facts_of
from sparserank.options import asked, option
from sparserank.quoting import brief
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection.fusion import FusionFacts, FusionResult
from sparserank.selection.inputs import check_overlap
from sparserank.selection.origin import origin_of
from sparserank.selection.plan import SelectionPlan, make_plan
from sparserank.warmup import warming_up

OF_RUNS, OF_RANK_COLUMNS = (MINMAX, ZSCORE, RRF), (RRF, "rrf(k=10)", "logrank")  # what auto tries
EQUAL_SCORES, EQUAL_RANKS = (MINMAX, ZSCORE), ("logrank",)  # norms with equal weights that are compared
N_ALPHAS = 20  # regularisation strengths on each path: retrievers are few
JUDGED_AT = 10  # where the metric has no cutoff


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
    """Choose the retrievers to keep and their weights, from the runs of all and judgments.

    Lists are cut at one depth and normalised. The fused score is a weighted sum, with weights >= 0 unless you ask for
    free signs. Every number of retrievers is evaluated out of fold over the judged queries, and the smallest set within
    `margin` of the best is kept. Single retrievers, reciprocal rank fusion (RRF), CombSUM and equal weights are
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
        Keep the best at most k retrievers, or retrievers of at most this cost, instead of choosing by margin.
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
    given: dict[str, Any] = {"metric": metric, "margin": margin, "k": k, "budget": budget, "engine": engine, "out": out}
    given |= {"n_threads": n_threads, "progress": progress, **options}
    return _fuse(runs, qrels, asked("fuse", FUSE, given))


def _fuse(runs: Any, qrels: Any, chosen: Mapping[str, Any]) -> FusionResult:
    with warming_up():
        judged = _judged(runs, qrels, chosen)
    tests = _tests(runs, chosen, judged)
    norms = _norms(chosen, judged)
    rules, skip = rules_of(chosen["engine"]), chosen["unjudged"] == "skip"
    rivals = [Norm(RRF), *(parse_norm(n)[0] for n in (EQUAL_RANKS if judged.of_ranks else EQUAL_SCORES))]
    columns = list(dict.fromkeys([*(n for joined in norms for n in joined), *rivals]))

    def table(of: JudgedRuns) -> FusionTable:
        return fusion_table(of.lists, columns, of.depth, of.qrels, of.query_ids, of.documents, rules, judged_only=skip)

    train, test = table(judged), None if tests is None else table(tests)
    _check(train.data, judged)
    if test is not None:
        check_overlap({"qrels": train.data, "test_qrels": test.data}, may_be_allowed=False)
    groups = _groups(judged.names, columns, chosen)
    plan = _plan(chosen, train.data, groups, judged)
    transforms = [_transform(joined, columns, judged.names) for joined in norms]
    formulas = _formulas(plan.metric, train.data, None if test is None else test.data, judged.names, columns, rivals)
    job = SelectionJob(
        plan,
        train.data,
        None,
        None if test is None else test.data,
        n_threads=chosen["n_threads"],
        formulas=formulas,
        transforms=transforms,
        facts=facts_of(judged.depth, chosen["engine"]),
    )
    identity = {**plan.identity(train.data, None), "depth": judged.depth, "engine": chosen["engine"]}
    place = {"kind": "fuse", "results": RESULT_FILES, "restart": chosen["restart"]}
    with work_store_in(chosen["out"], identity, **place) as store:
        if store is not None:
            store.log({"event": "start"})
        found = job.execute(store, chosen["progress"])
        sources = {"train": list(runs.values()) if isinstance(runs, Mapping) else runs, "test": chosen["test_qrels"]}
        used = {"train": train.data, "test": None if test is None else test.data}
        selection = replace(found, origin=origin_of(sources, used), noun="retriever", n_available=len(judged.names))
        result = FusionResult(selection, _facts(judged, plan, groups, chosen))
        selection.notes.extend(_notes(result, judged))
        if store is not None:
            tell_of_other_choice(selection, store.path)
            write_results(selection, store.path, result)
    return result


# -- what is read ------------------------------------------------------------------------------------------------------


def _judged(runs: Any, qrels: Any, chosen: Mapping[str, Any]) -> JudgedRuns:
    of_ranks, of_scores = chosen["rank_columns"], chosen["score_columns"]
    if of_ranks and of_scores:
        raise ParameterError("rank_columns", f"cannot be combined with {option('score_columns', True)}.")
    if not of_ranks and not of_scores:
        if qrels is None:
            raise ParameterError("qrels", "is required: the judgments of the queries.")
        return read_judged_runs(runs, judgments_of(qrels, "qrels"), chosen["depth"])
    columns = option("rank_columns" if of_ranks else "score_columns", True)
    for name, value in (("qrels", qrels), ("test_qrels", chosen["test_qrels"])):
        if value is not None:
            raise ParameterError(name, f"cannot be combined with {columns}: the table contains the judgments.")
    reading = {"label": chosen["label"], "qid": chosen["qid"], "docid": chosen["docid"], "missing": KEEP}
    (data,) = read_sources({"train": runs}, {**vars(Reading()), **reading, "n_threads": chosen["n_threads"]}).values()
    assert data is not None
    return judged_columns(data, chosen["depth"], ranks=of_ranks)


def _tests(runs: Any, chosen: Mapping[str, Any], judged: JudgedRuns) -> JudgedRuns | None:
    if chosen["test_qrels"] is None:
        return None
    return read_judged_runs(runs, judgments_of(chosen["test_qrels"], "test_qrels"), judged.depth)


def _check(data: RankingDataset, judged: JudgedRuns) -> None:
    """Refuse judgments that no formula can be learned from."""
    if not (data.relevance > 0).any():
        raise DataError("no judged document is relevant (grade > 0); nothing can be learned.")
    if data.doc_weight is not None and not ((data.relevance > 0) & (data.doc_weight > 0)).any():
        raise DataError(
            f"no retriever returned a relevant document within rank {judged.depth}; do the document ids of runs and "
            "judgments agree?"
        )


# -- what is tried -----------------------------------------------------------------------------------------------------


def _norms(chosen: Mapping[str, Any], judged: JudgedRuns) -> list[tuple[Norm, ...]]:
    """The norms that are tried; each entry is used as a whole."""
    given = chosen["norm"]
    names = [given] if isinstance(given, str) else list(given)
    engine = None if chosen["engine"] is None else FUSION_ENGINES[chosen["engine"]]
    if names == [AUTO]:
        names = list(OF_RANK_COLUMNS if judged.of_ranks else OF_RUNS)
        found = [parse_norm(n) for n in names]
        if engine is not None:
            found = [n for n in found if engine.computes(n)]
        if not found:
            raise ParameterError("engine", f"cannot be {brief(chosen['engine'])}: it does not fuse by ranks.")
        return found
    if AUTO in names:
        raise ParameterError("norm", f"must be {AUTO}, or one or several others; got {brief(names)}.")
    found = list(dict.fromkeys(parse_norm(n) for n in names))
    odd = next((n for n in found if engine is not None and not engine.computes(n)), None)
    if odd is not None and engine is not None:
        said = JOINED.join(map(str, odd))
        raise ParameterError("norm", f"cannot be {said}: {engine.title} computes {', '.join(engine.norms)}, one alone.")
    scores = next((n for joined in found for n in joined if n.name in OF_SCORES), None)
    if judged.of_ranks and scores is not None:
        raise ParameterError("norm", f"cannot be {scores} with {option('rank_columns', True)}: there are no scores.")
    return found


def _transform(joined: tuple[Norm, ...], columns: Sequence[Norm], retrievers: Sequence[str]) -> FeatureTransform:
    """These norms of every retriever as a transform: the columns of the others are left out."""
    others = [c for c, norm in enumerate(columns) if norm not in joined]
    left_out = [r * len(columns) + c for r in range(len(retrievers)) for c in others]
    return FeatureTransform(JOINED.join(map(str, joined)), left_out=tuple(left_out))


@dataclass(frozen=True)
class Priced:
    """groups: the retrievers, each with all its columns; priced: whether users gave costs."""

    groups: FeatureGroups
    priced: bool


def _groups(names: Sequence[str], columns: Sequence[Norm], chosen: Mapping[str, Any]) -> Priced:
    costs = _costs(chosen["costs"], names)
    of_feature = tuple(np.repeat(np.arange(len(names)), len(columns)).tolist())
    prices = tuple(costs.get(name, 1.0) for name in names) if costs else (1.0,) * len(names)
    if chosen["cost_rule"] == MAX and not costs:
        raise ParameterError("cost_rule", f"needs {option('costs')}.")
    if chosen["budget"] is not None and not costs:
        raise ParameterError("budget", f"needs {option('costs')}.")
    return Priced(FeatureGroups(tuple(names), prices, of_feature, chosen["cost_rule"]), bool(costs))


def _costs(given: Any, names: Sequence[str]) -> dict[str, float]:
    """{retriever: cost}; empty: none were given."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        found, places = {str(n): c for n, c in given.items()}, dict.fromkeys(map(str, given), "costs")
    else:
        found, places = {}, {}
        for line, text in enumerate(read_entries(given, "'retriever cost' per line"), start=1):
            name, _, cost = text.replace("\t", " ").replace(",", " ").strip().rpartition(" ")
            name = name.strip()
            if name in found:
                raise DataFormatError(f"{given}:{line}: {brief(name)} already has a cost.")
            found[name], places[name] = cost, f"{given}:{line}"
    for name, cost in found.items():
        if name not in names:
            raise ParameterError(
                "costs", f"{places[name]}: {brief(name)} is not a retriever; they are {brief(', '.join(names))}."
            )
        try:
            value = float(cost)
        except (TypeError, ValueError):
            value = np.nan
        if not 0 < value < np.inf:
            raise ParameterError("costs", f"{places[name]}: expected a cost > 0 of {brief(name)}; got {brief(cost)}.")
        found[name] = value
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise ParameterError("costs", f"has no cost of {brief(missing)}; give one for every retriever.")
    return {name: float(cost) for name, cost in found.items()}


def _plan(chosen: Mapping[str, Any], data: RankingDataset, priced: Priced, judged: JudgedRuns) -> SelectionPlan:
    convention = replace(
        parse_convention(chosen["convention"]), zero_scores="left_out", relevant_from=chosen["relevant_from"]
    )
    engine = None if chosen["engine"] is None else FUSION_ENGINES[chosen["engine"]]
    if engine is not None and engine.positive and chosen["sign"] == "free":
        raise ParameterError("sign", f"cannot be free: {engine.title} takes only weights >= 0.")
    k = chosen["k"]
    most = None if engine is None else engine.most
    if most is not None and len(judged.names) > most:
        if k is None and (chosen["guarantee"] is not None or chosen["budget"] is not None):
            raise ParameterError("k", f"is required: {engine.title} fuses at most {most} retrievers.")  # type: ignore[union-attr]
        k = min(k or most, most)
    fields = ("report_metrics", "cv", "random_state", "margin", "guarantee", "confidence", "budget")
    plan = make_plan(
        penalties=chosen["penalties"],
        metric=chosen["metric"],
        convention=convention,
        k=k,
        relaxed=chosen["relaxed"],
        half_samples=chosen["half_samples"],
        settings=PathSettings(n_alphas=N_ALPHAS),
        feature_transform=("none",),
        **{name: chosen[name] for name in fields},
    )
    plan = replace(plan, metric_refits=chosen["metric_refits"] and why_not(plan.metric, data.n_queries) is None)
    names, groups = data.feature_names or (), priced.groups
    signs = dict.fromkeys(names, "+") if chosen["sign"] == "positive" else None
    if not priced.priced and not _joint(chosen):
        return plan.for_features(names, monotone=signs)
    of = {name: groups.names[g] for name, g in zip(names, groups.of_feature, strict=True)}
    costs = None if groups.rule == MAX else dict(zip(groups.names, groups.costs, strict=True))
    return replace(plan.for_features(names, feature_groups=of, costs=costs, monotone=signs), feature_groups=groups)


def _joint(chosen: Mapping[str, Any]) -> bool:
    """Whether norms are used together, so that a retriever has several features."""
    given = chosen["norm"]
    return any(JOINED in name for name in ([given] if isinstance(given, str) else given))


# -- what is compared --------------------------------------------------------------------------------------------------


def _formulas(
    metric: Metric,
    data: RankingDataset,
    test: RankingDataset | None,
    names: Sequence[str],
    columns: Sequence[Norm],
    rivals: Sequence[Norm],
) -> Formulas:
    """Each retriever alone, and all of them with equal weights under the norms that rivals use."""
    n = len(names)
    at = {feature_name(name, norm): j for j, (name, norm) in enumerate((a, b) for a in names for b in columns)}
    of = {f"{name} alone": [at[feature_name(name, rivals[0])]] for name in names}
    titles = {RRF: "RRF", MINMAX: "CombSUM"}
    for norm in rivals:
        of[titles.get(norm.name, f"equal weights, {norm}")] = [at[feature_name(name, norm)] for name in names]

    def scores(of_data: RankingDataset, use: list[int]) -> np.ndarray:
        return np.asarray(of_data.X[:, use].sum(axis=1)).ravel()

    return Formulas(
        data,
        metric,
        {name: scores(data, use) for name, use in of.items()},
        {name: 1 if len(use) == 1 else n for name, use in of.items()},
        {} if test is None else {name: test.to_input_order(scores(test, use)) for name, use in of.items()},
    )


def _facts(judged: JudgedRuns, plan: SelectionPlan, priced: Priced, chosen: Mapping[str, Any]) -> FusionFacts:
    at = plan.metric.cutoff or JUDGED_AT
    costs = dict(zip(priced.groups.names, priced.groups.costs, strict=True)) if priced.priced else {}
    return FusionFacts(
        retrievers=judged.names,
        depth=judged.depth,
        engine=chosen["engine"],
        costs=costs,
        cost_rule=chosen["cost_rule"],
        unjudged=chosen["unjudged"],
        judged_depth=at,
        judged_share={} if judged.of_ranks else judged.judged_at(at),
        n_lists={run.name: len(run.query) for run in judged.lists},
    )


def _notes(result: FusionResult, judged: JudgedRuns) -> list[str]:
    out = []
    n = len(judged.query_ids)
    short = {run.name: n - len(run.query) for run in judged.lists if len(run.query) < n}
    if short:
        said = ", ".join(f"{name} {missing}" for name, missing in list(short.items())[:3])
        out.append(f"queries for which a retriever returned nothing: {said}{', ...' if len(short) > 3 else ''}.")
    other = sum(run.n_other for run in judged.lists)
    if other:
        out.append(f"{other:,} entries of queries without judgments were left out.")
    contrary = {run.name: run.n_contrary for run in judged.lists if run.n_contrary}
    if contrary:
        said = ", ".join(f"{name} ({count} lists)" for name, count in list(contrary.items())[:3])
        out.append(f"ranks contradict scores in {said}; lists are ordered by score.")
    gap = result.judged_gap
    if gap is not None:
        kept, dropped = gap
        out.append(
            f"{100 * kept:.0f}% of the first {result.facts.judged_depth} documents of the kept retrievers are judged, "
            f"and {100 * dropped:.0f}% of those of the others: unjudged documents count as not relevant, which favours "
            f"the better judged ones. Compare with {option('unjudged', 'skip')}."
        )
    return out
