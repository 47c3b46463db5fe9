"""`sparserank select --judge`: the list that a tree ranker should keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, gap, progress_bar, say, show

JUDGES = ("lightgbm",)
READING = (
    "n_features",
    "missing",
    "index_base",
    "unjudged",
    "feature_names",
    "label_column",
    "qid_column",
    "docid_column",
    "feature_columns",
    "ignore_columns",
)
TAKEN = (
    "train",
    "valid",
    "test",
    "out",
    "judge",
    "penalty",
    "metric",
    "also",
    "convention",
    "transform",
    "folds",
    "seed",
    "margin",
    "confidence",
    "k",
    "budget",
    "costs",
    "groups",
    "keep",
    "drop",
    "n_trees",
    "n_leaves",
    "allow_overlap",
    "restart",
    "threads",
    "format",
    "quiet",
    "verbose",
    *READING,
)


def refuse_others(context: typer.Context, judge: str) -> None:
    """An option of `select` that means nothing to trees, but was given, is misuse."""
    opt.require(judge in JUDGES, "--judge", f"must be one of {', '.join(JUDGES)}; got {judge!r}.")
    for name in context.params:
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        opt.require(not given or name in TAKEN, "--judge", f"cannot be combined with --{name.replace('_', '-')}.")


def select_by_trees(train: list[Path], out: Path, restart: bool, **options: Any) -> None:
    """Run, show, write; options as in `select_for_trees`."""
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.jobs.trees.select_for_trees import select_for_trees
    from sparserank.pages.selection_tables import comparison_rows
    from sparserank.pages.trees_tables import kept_table, list_table
    from sparserank.selection.for_trees import JUDGED_FILES
    from sparserank.solvers._coordinate_descent_kernels import descend

    with resumable(out, restart=restart):
        announce_compiling(parse_lines, descend)
        with progress_bar("judge") as progress:
            result = select_for_trees(train, out=out, restart=restart, progress=progress, **options)
    give(result.to_json(), [{"feature": name} for name in result.features])
    for sentence in result.sentences:
        say(sentence)
    gap()
    show(list_table(result))
    show(kept_table(result))
    if result.test is not None:
        show(comparison_rows(result.test, result.plan.confidence))
    say(
        "trees.txt takes these features in the order of the data (`trees.columns` in result.json), and missing values "
        "as they were filled here (`trees.missing`)."
    )
    say("wrote " + ", ".join(str(out / name) for name in JUDGED_FILES if (out / name).exists()))
