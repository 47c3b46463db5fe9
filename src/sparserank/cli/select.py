"""`sparserank select`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sparserank import defaults
from sparserank.cli import judge as judging
from sparserank.cli import options as opt
from sparserank.cli.interrupts import resumable
from sparserank.cli.screen import announce_compiling, progress_bar, say

HELP = """Select the smallest ranking model that ranks as well as the best.

Reads LETOR text or tables, fits a path of models for every penalty, estimates the quality of every point out of \
fold, chooses the
smallest model that is not worse than the best by more than a margin, compares it on test queries with the dense \
model and
the best single feature, and writes everything to a directory. Killed runs resume when started again.

[bold]Examples[/bold]

  sparserank select train.txt --valid vali.txt --test test.txt --out run

  sparserank select S1.txt.gz S2.txt.gz S3.txt.gz --valid S4.txt.gz --test S5.txt.gz --penalty l1 --penalty mcp --k 10 \
--out run

  sparserank select train.txt --shapes curves --monotone bm25=+ --out run

  sparserank select train.txt --judge lightgbm --k 10 --out run

  sparserank select train.txt --scaling log-standard --metric map --margin 0.02 --out run

  sparserank select train.txt --valid vali.txt --protocol holdout --convention letor4 --out run
"""

MODEL = "Models"
CHOICE = "Choice"
JUDGE = "Trees as judge"


def select(
    context: typer.Context,
    train: Annotated[list[Path], typer.Argument(help=opt.TRAINING, show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Directory for results.", show_default=False)],
    valid: Annotated[list[Path] | None, typer.Option("--valid", help="Validation file; may be repeated.")] = None,
    test: Annotated[
        list[Path] | None, typer.Option("--test", help="Test file; may be repeated. Used for the comparison only.")
    ] = None,
    penalty: Annotated[
        list[str] | None,
        typer.Option(
            "--penalty",
            help="l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), or with parameters: "
            f"'mcp(gamma=2.0)'; may be repeated. \\[default: {', '.join(defaults.PENALTIES)}]",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            "--scaling",
            help="within-query-std, none, min-max, standard, log-standard (signed log1p first), query-min-max.",
            rich_help_panel=MODEL,
        ),
    ] = defaults.SCALING,
    n_alphas: Annotated[
        int, typer.Option("--n-alphas", min=2, help="Points on each path.", rich_help_panel=MODEL)
    ] = defaults.N_ALPHAS,
    alpha_min_ratio: Annotated[
        float,
        typer.Option("--alpha-min-ratio", help="Last alpha of a path relative to the first.", rich_help_panel=MODEL),
    ] = defaults.ALPHA_MIN_RATIO,
    tol: Annotated[
        float,
        typer.Option(
            "--tol",
            help="KKT violation that the final paths reach, relative to alpha_max; folds stop at 1e-4.",
            rich_help_panel=MODEL,
        ),
    ] = defaults.TOL,
    pair_weights: Annotated[
        str, typer.Option("--pair-weights", help="pair (every pair counts the same) or query.", rich_help_panel=MODEL)
    ] = defaults.PAIR_WEIGHTS,
    transform: Annotated[
        str,
        typer.Option(
            "--transform",
            help="Shape in which features enter: none, log (signed log1p), asinh (of x over its median size), or auto: "
            "as they are, as logs, and each feature in the better of the two, whichever is best out of fold.",
            rich_help_panel=MODEL,
        ),
    ] = defaults.TRANSFORM,
    shapes: opt.Shapes = defaults.SHAPES,
    n_knots: opt.Knots = defaults.N_KNOTS,
    monotone: opt.Monotone = None,
    keep: opt.Keep = None,
    drop: opt.Drop = None,
    groups: opt.Groups = None,
    half_samples: Annotated[
        int,
        typer.Option(
            "--half-samples",
            min=0,
            help="Halves of the queries on which the choice of features is repeated, to say how firm it is; 0: none.",
            rich_help_panel=CHOICE,
        ),
    ] = defaults.HALF_SAMPLES,
    refits: Annotated[
        bool,
        typer.Option(
            "--refits/--no-refits",
            help="Try the models of each size also half-way and fully refitted without the sparsity penalty.",
            rich_help_panel=MODEL,
        ),
    ] = defaults.REFITS,
    metric: Annotated[
        str, typer.Option("--metric", help="Metric of choice.", rich_help_panel=CHOICE)
    ] = defaults.METRIC,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help=f"Further metrics to report. \\[default: {', '.join(defaults.ALSO)}]",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    convention: opt.Convention = defaults.CONVENTION,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="cv (out of fold over train and validation) or holdout (validation only).",
            rich_help_panel=CHOICE,
        ),
    ] = defaults.PROTOCOL,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Folds of the cv protocol.", rich_help_panel=CHOICE)
    ] = defaults.N_FOLDS,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the folds.", rich_help_panel=CHOICE)
    ] = defaults.SEED,
    margin: Annotated[
        str,
        typer.Option(
            "--margin",
            help="Loss that still counts as equally good, relative to the best (0.01 is 1%), or auto: 1%, or 1.25 "
            "times the smallest loss that the queries can rule out, where that is more.",
            rich_help_panel=CHOICE,
        ),
    ] = defaults.MARGIN,
    k: Annotated[
        int | None,
        typer.Option("--k", min=1, help="Take the best model of at most K features.", rich_help_panel=CHOICE),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Take the best model of at most this total cost.", rich_help_panel=CHOICE),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            "--costs",
            help="File with one feature cost per line; costs also weight the penalty.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence", help="Of every bound and interval: above 0.5, at most 0.99.", rich_help_panel=CHOICE
        ),
    ] = defaults.CONFIDENCE,
    query_weight: Annotated[
        Path | None,
        typer.Option(
            "--query-weight",
            help="File of lines 'query-id weight' (>= 0) for train and validation; weights of queries in the loss.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    doc_weight: Annotated[
        str | None,
        typer.Option(
            "--doc-weight",
            help="File with one weight (>= 0) per line of the training files, or column of a table: of every pair in "
            "which the document is the preferred one, e.g. 1 / propensity of its click.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    loss: Annotated[
        str, typer.Option("--loss", help="squared_hinge or modified_huber.", rich_help_panel=MODEL)
    ] = defaults.LOSS,
    current: Annotated[
        str | None,
        typer.Option(
            "--current",
            help="What ranks today: a model file, or the feature that holds its score, which is then left out of the "
            "features unless --keep names it. It is a rival inside the bounds, and the screen says what a change gains "
            "and loses.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="lightgbm: the shortest list of features on which LightGBM ranks as well as on the best that was "
            "tried, among lists of ours, of its own gain and of SHAP values; needs sparserank\\[trees].",
            rich_help_panel=JUDGE,
        ),
    ] = None,
    n_trees: Annotated[
        int, typer.Option("--n-trees", min=1, help="Trees of the judge.", rich_help_panel=JUDGE)
    ] = defaults.N_TREES,
    n_leaves: Annotated[
        int, typer.Option("--n-leaves", min=2, help="Leaves of each of its trees.", rich_help_panel=JUDGE)
    ] = defaults.N_LEAVES,
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
    allow_overlap: Annotated[
        bool,
        typer.Option(
            "--allow-overlap",
            help="Accept a query id in two of train, validation and test.",
            rich_help_panel=opt.READING,
        ),
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard what --out already holds.")] = False,
    threads: opt.Threads = None,
    scheduler: opt.Scheduler = None,
) -> None:
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

    from sparserank.cli.selection_tables import show_selection
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.errors import ParameterError
    from sparserank.jobs.result_files import RESULT_FILES
    from sparserank.jobs.select import select as run
    from sparserank.solvers._coordinate_descent_kernels import descend

    optional: dict[str, Any] = {"also": also}
    try:
        if judge is not None:
            judging.refuse_others(context, judge)
            opt.require(len(penalty or []) < 2, "--penalty", "may be given once with --judge.")
            optional |= {"penalty": penalty[0] if penalty else None}
            judging.select_by_trees(
                train,
                out,
                restart,
                valid=valid,
                test=test,
                metric=metric,
                convention=convention,
                transform=transform,
                folds=folds,
                seed=seed,
                margin=opt.number_or(margin, "auto", "--margin"),
                confidence=confidence,
                k=k,
                budget=budget,
                costs=costs,
                groups=groups,
                keep=keep,
                drop=drop,
                n_trees=n_trees,
                n_leaves=n_leaves,
                allow_overlap=allow_overlap,
                n_threads=threads,
                reading=reading,
                **{name: value for name, value in optional.items() if value},
            )
            return
        for option, given in (
            ("--n-trees", n_trees != defaults.N_TREES),
            ("--n-leaves", n_leaves != defaults.N_LEAVES),
        ):
            opt.require(not given, option, "is of the judge; give --judge lightgbm.")
        optional |= {"penalties": penalty}
        with resumable(out, restart=restart):
            announce_compiling(parse_lines, descend)
            with progress_bar("paths") as progress:
                result = run(
                    train,
                    valid,
                    test,
                    metric=metric,
                    convention=convention,
                    scaling=scaling,
                    protocol=protocol,
                    folds=folds,
                    seed=seed,
                    margin=opt.number_or(margin, "auto", "--margin"),
                    confidence=confidence,
                    k=k,
                    budget=budget,
                    costs=costs,
                    query_weight=query_weight,
                    doc_weight=doc_weight,
                    loss=loss,
                    refits=refits,
                    transform=transform,
                    shapes=shapes,
                    n_knots=n_knots,
                    monotone=opt.directions_of(monotone),
                    keep=keep,
                    drop=drop,
                    groups=groups,
                    half_samples=half_samples,
                    current=current,
                    n_alphas=n_alphas,
                    alpha_min_ratio=alpha_min_ratio,
                    tol=tol,
                    pair_weights=pair_weights,
                    allow_overlap=allow_overlap,
                    out=out,
                    restart=restart,
                    n_threads=threads,
                    progress=progress,
                    client=opt.client_of(scheduler),
                    reading=reading,
                    **{name: value for name, value in optional.items() if value},
                )
    except ParameterError as error:
        raise typer.BadParameter(error.message, param_hint=f"--{error.parameter.replace('_', '-')}") from error
    show_selection(result)
    say("wrote " + ", ".join(str(out / name) for name in RESULT_FILES if (out / name).exists()))
