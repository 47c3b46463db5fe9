"""`sparserank compare`: sparse models compared with tree ensembles, size by size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.cli.given import check
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import TEXT, answer, give
from sparserank.cli.screen import announce_compiling, gap, progress_bar, say, show, show_all
from sparserank.options import Choice

HELP = """Compare sparse models of every size with LightGBM on the same folds.

The trees use all features, or k features chosen by LightGBM or by sparserank.

[bold]Examples[/bold]

  sparserank compare train.txt --with lightgbm --out comparison

  sparserank compare train.txt --with lightgbm --transform curves --repeats 5 --size 5 --size 10 --out comparison
"""


def run(*, data: list[Path], out: Path, with_: str = "lightgbm", **options: Any) -> None:
    """Options are those of `compare_with_trees`."""
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.jobs.trees.compare import compare_with_trees
    from sparserank.jobs.trees.files import COMPARISON_FILES
    from sparserank.jobs.trees.options import TREE_RANKERS
    from sparserank.pages.comparison_tables import comparison_table
    from sparserank.pages.trees_screens import comparison_lines
    from sparserank.solvers._coordinate_descent_kernels import descend

    check("--with", Choice(TREE_RANKERS), with_)
    with resumable(out, restart=options.get("restart", False)):
        announce_compiling(parse_lines, descend)
        with progress_bar("comparison") as progress:
            result = compare_with_trees(data, out=out, progress=progress, **options)
    rows = result.rows()
    give({"sentences": result.sentences(), "systems": rows}, rows)
    if answer.format == TEXT and not answer.verbose:
        show_all(comparison_lines(result))
    else:
        for sentence in result.sentences():
            say(sentence)
        gap()
        show(comparison_table(result))
    say("wrote " + ", ".join(str(out / name) for name in COMPARISON_FILES if (out / name).exists()))
