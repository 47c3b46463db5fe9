"""`sparserank select --for-model`: the list of features that a tree ranker should keep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparserank.cli.commands import FLAGS
from sparserank.cli.given import require
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import TEXT, answer, give
from sparserank.cli.screen import announce_compiling, gap, progress_bar, say, show, show_all
from sparserank.options.spelling import flag_of


def run(train: list[Path], out: Path, given: Mapping[str, Any]) -> None:
    """Run, show and write; `given` has options of `select`, some of which `select_for_trees` takes."""
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.jobs.trees.options import SELECT_FOR_TREES
    from sparserank.jobs.trees.select_for_trees import select_for_trees
    from sparserank.pages.selection_tables import comparison_rows
    from sparserank.pages.trees_screens import for_model_lines
    from sparserank.pages.trees_tables import kept_table, list_table
    from sparserank.selection.for_trees import LIST_FILES
    from sparserank.solvers._coordinate_descent_kernels import descend

    options = dict(given)
    for flag, several, one in (("--penalty", "penalties", "penalty"), ("--transform", *2 * ("feature_transform",))):
        asked = options.pop(several, [])
        require(len(asked) < 2, flag, "can be used only once with --for-model.")
        options |= {one: asked[0]} if asked else {}
    known = {"valid", "test", *(o.name for o in SELECT_FOR_TREES)}
    for name in options:
        require(name in known, "--for-model", f"cannot be combined with {flag_of(name, FLAGS)}.")
    with resumable(out, restart=options.get("restart", False)):
        announce_compiling(parse_lines, descend)
        with progress_bar("select") as progress:
            result = select_for_trees(train, out=out, progress=progress, **options)
    give(result.to_json(), [{"feature": name} for name in result.features])
    if answer.format == TEXT and not answer.verbose:
        show_all(for_model_lines(result))
    else:
        for sentence in result.sentences:
            say(sentence)
        for text in result.notes:
            say(f"note: {text}")
        gap()
        show(list_table(result))
        show(kept_table(result))
        if result.test is not None:
            show(comparison_rows(result.test, result.plan.confidence))
        say(
            "trees.txt expects these features in the order of the data, and missing values unchanged (`trees.columns` "
            "and `trees.missing` in result.json)."
        )
    say("wrote " + ", ".join(str(out / name) for name in LIST_FILES if (out / name).exists()))
