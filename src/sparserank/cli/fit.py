"""`sparserank fit`: one model at one strength."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sparserank.cli import options as opt
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, say, table

REST_OF = {"log-standard": "standard", "query-min-max": "none"}  # of a scaling, when what is not linear is done

HELP = """Fit one model at one penalty strength and save it.

[bold]Examples[/bold]

  sparserank fit train.txt --out model.json

  sparserank fit train.txt --penalty mcp --alpha-ratio 0.1 --out model.json

  sparserank fit train.txt --transform log --k 10 --out model.json

  sparserank fit train.txt --transform log --shapes curves --monotone bm25=+ --k 10 --out model.json
"""


def fit(
    train: Annotated[list[Path], typer.Argument(help=opt.TRAINING, show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Model file to write (JSON).", show_default=False)],
    penalty: Annotated[
        str | None,
        typer.Option(
            "--penalty",
            help="l1, l0.5, log, mcp, scad, elastic_net, ridge, best_k (with --k). \\[default: l1, with --k mcp]",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Strength on the mean-loss scale, for scaled features.")
    ] = None,
    alpha_ratio: Annotated[
        float, typer.Option("--alpha-ratio", help="Strength relative to where the penalty's path starts.")
    ] = 0.05,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Take the densest point of the path with at most K features.")
    ] = None,
    scaling: Annotated[
        str, typer.Option("--scaling", help="within-query-std, none, min-max, standard, log-standard, query-min-max.")
    ] = "within-query-std",
    transform: Annotated[
        str, typer.Option("--transform", help="Shape in which features enter: none, log (signed log1p), asinh.")
    ] = "none",
    shapes: opt.Shapes = "linear",
    n_knots: opt.Knots = 10,
    monotone: opt.Monotone = None,
    keep: opt.Keep = None,
    drop: opt.Drop = None,
    groups: opt.Groups = None,
    loss: Annotated[str, typer.Option("--loss", help="squared_hinge or modified_huber.")] = "squared_hinge",
    tol: Annotated[float, typer.Option("--tol", help="KKT violation to reach, relative to alpha_max.")] = 1e-6,
    n_features: opt.NFeatures = None,
    missing: opt.Missing = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    feature_names: opt.FeatureNames = None,
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
    threads: opt.Threads = None,
    scheduler: opt.Scheduler = None,
) -> None:
    from sparserank.curves import LEAST_KNOTS, LINEAR, MOST_KNOTS, SHAPES
    from sparserank.data.filling import training_medians
    from sparserank.data.transformed import fit_transform, transformed
    from sparserank.losses import LOSSES
    from sparserank.paths import BestK, maker_of, parse_maker
    from sparserank.penalties import Penalty
    from sparserank.penalties.nested import NESTING, nests
    from sparserank.shards.scaling import LINEAR_SCALINGS, SCALINGS
    from sparserank.transforms import KINDS

    reading = opt.reading_of(
        n_features=n_features,
        missing=missing,
        index_base=index_base,
        unjudged=unjudged,
        feature_names=feature_names,
        threads=threads,
        label_column=label_column,
        qid_column=qid_column,
        docid_column=docid_column,
        feature_columns=feature_columns,
        ignore_columns=ignore_columns,
    )
    chosen = opt.parsed("--penalty", parse_maker, penalty or ("l1" if k is None else "mcp"))
    assert isinstance(chosen, Penalty | BestK)  # no other has a name
    opt.require(transform in KINDS, "--transform", f"must be one of {', '.join(KINDS)}; got {transform!r}.")
    opt.require(scaling in SCALINGS, "--scaling", f"must be one of {', '.join(SCALINGS)}; got {scaling!r}.")
    opt.require(
        transform == "none" or scaling in LINEAR_SCALINGS,
        "--transform",
        f"cannot be combined with --scaling {scaling}.",
    )
    opt.require(shapes in SHAPES, "--shapes", f"must be one of {', '.join(SHAPES)}; got {shapes!r}.")
    opt.require(
        shapes == LINEAR or scaling in LINEAR_SCALINGS,
        "--shapes",
        f"curves cannot be combined with --scaling {scaling}.",
    )
    by_size = isinstance(chosen, BestK)
    opt.require(
        shapes == LINEAR or by_size or nests(chosen),
        "--shapes",
        f"curves know the penalties {', '.join(NESTING)} and best_k; got {chosen.name}.",
    )
    opt.require(
        groups is None or by_size or nests(chosen),
        "--groups",
        f"know the penalties {', '.join(NESTING)} and best_k; got {chosen.name}.",
    )
    opt.require(
        LEAST_KNOTS <= n_knots <= MOST_KNOTS, "--n-knots", f"must be from {LEAST_KNOTS} to {MOST_KNOTS}; got {n_knots}."
    )
    opt.require(not by_size or k is not None, "--penalty", f"{chosen.name} goes through sizes; give --k.")
    directions = opt.directions_of(monotone)
    opt.require(loss in LOSSES, "--loss", f"must be one of {', '.join(LOSSES)}; got {loss!r}.")
    opt.require(alpha is None or 0 < alpha < math.inf, "--alpha", f"must be positive and finite; got {alpha}.")
    opt.require(0 < alpha_ratio < math.inf, "--alpha-ratio", f"must be positive and finite; got {alpha_ratio}.")
    opt.require(0 < tol < math.inf, "--tol", f"must be positive; got {tol}.")
    opt.require(
        k is None or bool(maker_of(chosen).selects), "--k", f"{chosen.name} selects no features; use another penalty."
    )
    opt.require(k is None or alpha is None, "--k", "cannot be combined with --alpha.")

    import numpy as np

    from sparserank.crossval.groups import read_groups
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.data.sources import as_datasets
    from sparserank.data.suspects import warn_of_suspects
    from sparserank.errors import ParameterError
    from sparserank.files import refuse_inputs
    from sparserank.model.ranking_model import RankingModel
    from sparserank.rankers import SparseRanker
    from sparserank.selection.inputs import rules_of
    from sparserank.shards.dask import placed, sums_on
    from sparserank.shards.scaling import FeatureScaling, fit_scalings, prepared
    from sparserank.solvers._coordinate_descent_kernels import descend

    refuse_inputs(out, [*train, *(f for f in (feature_names, groups) if f)])
    announce_compiling(parse_lines, descend)
    client = opt.client_of(scheduler)
    to_store = ["train"] if client is not None and scaling in LINEAR_SCALINGS else []  # others are done here first
    data = as_datasets({"train": train}, reading=reading, to_store=to_store)["train"]
    assert data is not None
    names = tuple(data.feature_names or ())
    warn_of_suspects(data, "--drop {}", drop or ())
    try:
        if groups is not None:
            own = read_groups(groups, names)
            chosen = replace(chosen, weights=own.cost_of_feature, groups=own.of_feature)
        chosen = replace(chosen, **rules_of(directions, keep, drop, names, chosen))
    except ParameterError as error:
        raise typer.BadParameter(error.message, param_hint=f"--{error.parameter}") from error
    shape = fit_transform(data, transform)
    ready = transformed(prepared(data, scaling), [shape])  # what no factor per feature can do; else the data themselves
    if client is not None:
        ready = placed(client, ready)
    fitted = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    if shapes == LINEAR:
        sums_of = None if client is None else sums_on(client, ready.X)
        center, scale = fit_scalings(ready, scaling, np.ones((1, data.n_queries), dtype=bool), sums_of)
        fitted = FeatureScaling(scaling, center[0], scale[0])
    ranker = SparseRanker(
        loss=loss,
        penalty=chosen,
        alpha=alpha,
        alpha_ratio=alpha_ratio,
        n_features_to_select=k,
        scaling=scaling if scaling in LINEAR_SCALINGS else REST_OF[scaling],
        shapes=shapes,
        n_knots=n_knots,
        tol=tol,
        n_threads=threads,
    ).fit_dataset(ready, client=client)
    metadata = {**vars(ranker.certificate_), "n_pairs": ranker.n_pairs_}
    strengths = {"alpha": ranker.alpha_, "C_sum": ranker.C_sum_, "C_mean": ranker.C_mean_}
    parameters = {
        "loss": loss,
        "transform": transform,
        "shapes": shapes,
        "penalty": repr(ranker.penalty_),
        **({} if by_size else strengths),
        "r": ranker.r_,
    }
    model = RankingModel(
        ranker.scaled_coef_,
        names,
        fitted,
        parameters,
        metadata,
        None if shape.is_identity else shape,
        ranker.to_model().curves,
        data.fill_values,
        training_medians(data.X, np.flatnonzero(ranker.scaled_coef_)),
    )
    model.save(out)
    facts = {
        "model": str(out),
        "n_features": len(model.support),
        "features": [names[j] for j in model.support],
        "objective": float(ranker.objective_),
        "duality_gap": ranker.duality_gap_,
        "n_iter": ranker.n_iter_,
        "n_queries": data.n_queries,
        "n_docs": data.n_docs,
        **metadata,
        **({} if by_size else strengths),
    }
    give(facts, [{name: value for name, value in facts.items() if name != "features"}])
    gap = "-" if ranker.duality_gap_ is None else f"{ranker.duality_gap_:.1e}"
    table(
        f"{chosen.label} on {data.n_queries} queries, {data.n_docs} documents, {ranker.n_pairs_} pairs",
        ["status", "features", "objective", "kkt violation", "gap", "iterations"],
        [
            [
                ranker.status_,
                str(len(model.support)),
                f"{ranker.objective_:.9f}",
                f"{ranker.kkt_violation_:.1e}",
                gap,
                str(ranker.n_iter_),
            ]
        ],
    )
    if ranker.certificate_.gap_condition is not None:
        say(f"The gap holds {ranker.certificate_.gap_condition}.")
    if not by_size:
        say(
            f"alpha {ranker.alpha_:.6g} (mean loss); the papers' scales of it: C_sum {ranker.C_sum_:.6g}, C_mean "
            f"{ranker.C_mean_:.6g}, r = ||w||_1 {ranker.r_:.6g}"
        )
    say(f"wrote {out}")
