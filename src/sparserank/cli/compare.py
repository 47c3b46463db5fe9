"""`sparserank compare`: our models beside tree ensembles, size by size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparserank import defaults
from sparserank.cli import options as opt
from sparserank.cli.interrupts import resumable
from sparserank.cli.judge import JUDGES
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, gap, progress_bar, say, show

HELP = """Compare our models of every size with LightGBM, on the same folds: trees on all features, and on k features \
of their own choice or of ours.

[bold]Examples[/bold]

  sparserank compare train.txt --with lightgbm --out comparison

  sparserank compare train.txt --with lightgbm --shapes curves --repeats 5 --size 5 --size 10 --out comparison
"""


def compare(
    data: Annotated[list[Path], typer.Argument(help=opt.TRAINING, show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Directory for results.", show_default=False)],
    with_: Annotated[str, typer.Option("--with", help="The tree ranker: lightgbm.")] = "lightgbm",
    penalty: Annotated[
        list[str] | None,
        typer.Option(
            "--penalty",
            help=f"As in select; may be repeated. \\[default: {', '.join(defaults.PENALTIES)}]",
            show_default=False,
        ),
    ] = None,
    transform: Annotated[
        str, typer.Option("--transform", help="As in select: auto, none, log, asinh.")
    ] = defaults.TRANSFORM,
    shapes: opt.Shapes = defaults.SHAPES,
    n_knots: opt.Knots = defaults.N_KNOTS,
    size: Annotated[
        list[int] | None,
        typer.Option(
            "--size", min=1, help="Number of features; may be repeated. \\[default: 1 to 20]", show_default=False
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds, the same for all.")] = defaults.N_FOLDS,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Times that all folds are drawn anew.")] = 1,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Of the trees on all features; means are shown.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the first folds.")] = defaults.SEED,
    n_trees: Annotated[int, typer.Option("--n-trees", min=1, help="Trees of each ensemble.")] = defaults.N_TREES,
    n_leaves: Annotated[int, typer.Option("--n-leaves", min=2, help="Leaves of each tree.")] = defaults.N_LEAVES,
    metric: Annotated[str, typer.Option("--metric", help="Metric.")] = defaults.METRIC,
    convention: opt.Convention = defaults.CONVENTION,
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
    restart: Annotated[bool, typer.Option("--restart", help="Discard what --out already holds.")] = False,
    threads: opt.Threads = None,
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
    opt.require(with_ in JUDGES, "--with", f"must be one of {', '.join(JUDGES)}; got {with_!r}.")

    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.errors import ParameterError
    from sparserank.jobs.trees.compare import compare_with_trees
    from sparserank.jobs.trees.comparison_job import SIZES
    from sparserank.jobs.trees.files import COMPARISON_FILES
    from sparserank.pages.comparison_tables import comparison_table
    from sparserank.solvers._coordinate_descent_kernels import descend

    try:
        with resumable(out, restart=restart):
            announce_compiling(parse_lines, descend)
            with progress_bar("comparison") as progress:
                result = compare_with_trees(
                    data,
                    penalties=penalty or defaults.PENALTIES,
                    metric=metric,
                    convention=convention,
                    transform=transform,
                    shapes=shapes,
                    n_knots=n_knots,
                    sizes=sorted(set(size or SIZES)),
                    folds=folds,
                    repeats=repeats,
                    n_seeds=seeds,
                    seed=seed,
                    n_trees=n_trees,
                    n_leaves=n_leaves,
                    out=out,
                    restart=restart,
                    n_threads=threads,
                    progress=progress,
                    reading=reading,
                )
    except ParameterError as error:
        raise typer.BadParameter(error.message, param_hint=f"--{error.parameter.replace('_', '-')}") from error
    rows = result.rows()
    give({"sentences": result.sentences(), "systems": rows}, rows)
    for sentence in result.sentences():
        say(sentence)
    gap()
    show(comparison_table(result))
    say("wrote " + ", ".join(str(out / name) for name in COMPARISON_FILES if (out / name).exists()))
