"""`select`: the main job in one call; the command line calls it too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank import defaults
from sparserank.crossval.current_model import in_use, left_out, left_out_note
from sparserank.crossval.settings import PathSettings
from sparserank.data.dataset import RankingDataset
from sparserank.data.reading import Reading, with_options
from sparserank.data.sources import as_datasets
from sparserank.data.store.features import check_unchanged
from sparserank.data.suspects import warn_of_suspects
from sparserank.errors import DataError, ParameterError
from sparserank.given_weights import usable_weights
from sparserank.jobs.result_files import RESULT_FILES, write_results
from sparserank.jobs.selection_job import SelectionJob
from sparserank.losses import PairwiseLoss, parse_loss
from sparserank.metrics import Metric
from sparserank.model.ranking_model import RankingModel
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.quoting import brief
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection.inputs import check_overlap, read_query_weights
from sparserank.selection.origin import origin_of
from sparserank.selection.plan import make_plan
from sparserank.selection.result import SelectionResult
from sparserank.shards.dask import usable_client
from sparserank.shards.scaling import LINEAR_SCALINGS
from sparserank.warmup import warming_up


def select(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] = defaults.PENALTIES,
    metric: str | Metric = defaults.METRIC,
    also: Sequence[str | Metric] = defaults.ALSO,
    convention: str = defaults.CONVENTION,
    scaling: str = defaults.SCALING,
    protocol: str = defaults.PROTOCOL,
    folds: int = defaults.N_FOLDS,
    seed: int = defaults.SEED,
    margin: float | str = defaults.MARGIN,
    confidence: float = defaults.CONFIDENCE,
    k: int | None = None,
    budget: float | None = None,
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None = None,
    groups: str | os.PathLike | Mapping[str, str] | None = None,
    query_weight: str | os.PathLike | Mapping[Any, float] | Sequence[float] | None = None,
    refits: bool = defaults.REFITS,
    transform: str = defaults.TRANSFORM,
    shapes: str = defaults.SHAPES,
    n_knots: int = defaults.N_KNOTS,
    monotone: Mapping[str, str | int] | None = None,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    half_samples: int = defaults.HALF_SAMPLES,
    current: str | os.PathLike | RankingModel | None = None,
    n_alphas: int = defaults.N_ALPHAS,
    alpha_min_ratio: float = defaults.ALPHA_MIN_RATIO,
    tol: float = defaults.TOL,
    pair_weights: str = defaults.PAIR_WEIGHTS,
    loss: str | PairwiseLoss = defaults.LOSS,
    doc_weight: Any = None,
    allow_overlap: bool = False,
    out: str | os.PathLike | None = None,
    restart: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
    missing: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    client: Any = None,
) -> SelectionResult:
    """Select the smallest ranking model that ranks as well as the best.

    Fits a path of models for every penalty, estimates the quality of every size out of fold over the queries of train
    and validation, bounds what each loses against the best of all that were tried, chooses the smallest whose bound is
    within `margin`, and compares it on test with the dense model and the best single feature.

    Parameters
        train, valid, test   each a path or list of paths of ranking text, a RankingDataset, a pandas or polars frame,
                             or (X, y, qid); train also X alone with `label` and `qid` the values of its rows. Features
                             of valid and test are found by name where they have names; others are left out
        label, qid           names of a frame's columns (default 'label', 'qid'); its other columns are features
        docid                name of the column of document ids, which is then no feature (default a text column
                             'docno', 'docid' or 'doc_id', if there is one); with X alone the ids of its rows
        penalties            names ('l1', 'mcp(gamma=2.0)', 'best_k': splicing, size by size), Penalty objects, or
                             makers of paths by size (BestK, your own)
        metric, also         metric of choice, further metrics to report; `convention` as in `evaluate`
        scaling              as in `fit_scaling`; learned on the training queries of every fold
        protocol             'cv' (out of fold), or 'holdout' (choice on valid alone)
        margin               loss that still counts as equally good, relative to the best, in [0, 1); 'auto': 1%, or
                             1.25 times the smallest loss that the queries can rule out, where that is more
        k, budget            the best model of at most k features, or of at most this total cost, instead
        costs                one cost > 0 per feature, or a file with one per line; they weight the penalties too; with
                             groups {group: cost}
        groups               features that are computed together: {feature: group}, or a file of lines
                             feature,group,cost. A group enters whole and is paid for once, the smallest model is the
                             one of the lowest total cost; features that are not named are groups of their own, and a
                             cost that is not given is 1. Under l1, mcp, scad, log and best_k
        query_weight         weights >= 0 of queries in the loss: {query id: weight} for every query of train (and of
                             valid, under 'cv'), a file of lines 'id weight', or an array in order of first appearance,
                             train then valid. Queries of weight 0 are left out altogether; metrics count the others
                             alike
        loss                 'squared_hinge', 'modified_huber', or a loss: one whose pairs are weighted by their grades,
                             SquaredHinge(table), or your own (docs/adding.md)
        doc_weight           weights >= 0 of the training documents: of every pair in which the document is the
                             preferred one. A file with one weight per line in the order of the training rows, an array,
                             or the name of a column of the frames; data sets bring their own. Metrics do not know them
        transform            shape in which features enter: 'none' (as they are), 'log' (sign(x) log(1 + |x|)), 'asinh'
                             (asinh(x / median |x|)), or 'auto': as they are, as logs, and each feature in the better
                             one of the two, tried out of fold like all else (logs are left out where they change no
                             feature's shape within queries)
        shapes               'linear', or 'curves': each feature may also enter as a piecewise linear curve, bent where
                             that pays (n_knots knots at quantiles of the training values, flat outside them), under
                             those of l1, mcp, scad and best_k that are asked for
        monotone             {feature: '+' or '-'}: its weight, or its curve, may only rise or only fall
        keep, drop           names of features that every sparse model uses, whatever they cost, or that none may use
        half_samples         halves of the queries on which the chosen penalty and size are fitted again, to say how
                             firm the choice of features is; even, 0: none
        refits               try the models of each size without the shrinkage of their penalty too: half-way and fully
                             refitted
        current              what ranks today, as a rival inside the bounds: a model file, a RankingModel, or the
                             feature that holds its score (which is then no feature of the new model, unless `keep`
                             names it)
        out                  directory to keep finished work in, and to write the results to; the same call goes on
                             after a kill; restart=True discards what a run of other data, options or code left there
        progress             called with (pieces done, pieces in all, the last one, seconds left or None)
        client               a dask.distributed Client whose workers read the training data: a store on a disk that they
                             all see; anything else is written to one in the folder for temporary files (TMPDIR) first
        missing              what missing values become, as in SparseRanker, or 'query-min': learned on all rows of
                             train, without labels, and remembered by the model; default that of `reading`
        reading              a `Reading` or some of its fields (unjudged, feature_columns, ignore_columns, ...), for
                             files and frames
    Returns
        SelectionResult: .model, .sentence, .table(), .sizes(), .report(path), .save(folder), .to_json()
    Raises
        ParameterError       names the parameter that is out of its range
        DataError            data that cannot be used: no preferred pair, one query, ids in two parts, ...
        RunDirectoryError    `out` cannot be used
    """
    plan = make_plan(
        penalties=penalties,
        metric=metric,
        also=also,
        convention=convention,
        settings=PathSettings(scaling, n_alphas, alpha_min_ratio, tol, pair_weights, parse_loss(loss)),
        protocol=protocol,
        n_folds=folds,
        seed=seed,
        margin=margin,
        confidence=confidence,
        k=k,
        budget=budget,
        refits=refits,
        transform=transform,
        shapes=shapes,
        n_knots=n_knots,
        half_samples=half_samples,
    )
    if protocol == "holdout" and valid is None:
        raise ParameterError("protocol", "holdout needs validation data.")
    if client is not None:
        usable_client(client)
    if missing is not None:
        options = reading if isinstance(reading, Reading) else with_options(Reading(), reading or {})
        reading = replace(options, missing=missing)
    with warming_up():
        sources = {"train": train, "validation": valid, "test": test}
        parts = as_datasets(
            sources,
            label=label,
            qid=qid,
            docid=docid,
            doc_weight=doc_weight,
            reading=reading,
            to_store=("train", "validation") if client is not None and scaling in LINEAR_SCALINGS else (),
        )
    if not allow_overlap:
        check_overlap(parts)
    train_data, valid_data, test_data = parts.values()
    assert train_data is not None
    names = tuple(train_data.feature_names or ())
    suspected = warn_of_suspects(train_data, "--drop {0}, drop=['{0}']", drop if isinstance(drop, Sequence) else ())
    score = left_out(current, names, keep, drop, plan.penalties)
    if score is not None and not isinstance(drop, str):  # which is refused
        drop = [*(drop or ()), score]
    plan = plan.for_features(names, costs=costs, groups=groups, monotone=monotone, keep=keep, drop=drop)
    weight = None
    if query_weight is not None:
        given = read_query_weights(query_weight) if isinstance(query_weight, str | os.PathLike) else query_weight
        train_data, valid_data, weight = _weighted(train_data, valid_data, given, protocol)
    used = {"train": train_data, "validation": valid_data, "test": test_data}
    rival = None if current is None else in_use(current, names)
    job = SelectionJob(
        plan, train_data, valid_data, test_data, query_weight=weight, n_threads=n_threads, client=client, current=rival
    )
    identity = plan.identity(train_data, valid_data, None if weight is None else weight.tolist())

    def check() -> None:
        for data in used.values():
            check_unchanged(None if data is None else data.X)

    with work_store_in(out, identity, kind="select", results=RESULT_FILES, restart=restart, check=check) as store:
        if store is not None:
            store.log({"event": "start"})
        result = replace(job.execute(store, progress), origin=origin_of(sources, used))
        result.notes.extend([*suspected, *([] if score is None else [left_out_note(score)])])
        check()
        if store is not None:
            write_results(result, store.path)
    return result


def _weighted(
    train: RankingDataset, valid: RankingDataset | None, given: Any, protocol: str
) -> tuple[RankingDataset, RankingDataset | None, np.ndarray]:
    """(train and valid without their queries of weight 0, weights of the training queries that are left)."""
    weighted = [train] if valid is None or protocol == "holdout" else [train, valid]
    ids = [str(q) for data in weighted for q in data.query_ids.tolist()]
    if isinstance(given, Mapping):
        known = {str(q): w for q, w in given.items()}
        missing = next((q for q in ids if q not in known), None)
        if missing is not None:
            raise ParameterError("query_weight", f"holds no weight for query {brief(missing)}.")
        given = [known[q] for q in ids]
    weight = usable_weights(given, len(ids))
    if weight is None:
        raise ParameterError("query_weight", f"must hold one finite weight >= 0 for each of {len(ids)} queries.")
    if not weight.any():
        raise DataError("every query has weight 0; nothing is left to learn from.")
    kept, at = [], 0
    for data in weighted:
        kept.append(data.take_queries(np.flatnonzero(weight[at : at + data.n_queries])))
        at += data.n_queries
    return kept[0], kept[1] if len(kept) > 1 else valid, weight[weight > 0]
