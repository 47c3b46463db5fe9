"""`sparserank select`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.cli import judge as judging
from sparserank.cli.cluster import client_of
from sparserank.cli.commands import FLAGS
from sparserank.cli.given import require
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import answer
from sparserank.cli.screen import announce_compiling, progress_bar, say
from sparserank.options.spelling import flag_of

HELP = """Select the smallest ranking model that ranks as well as the best.

Reads LETOR text or tables, fits a path of models for every penalty, estimates the quality of every point out of \
fold, chooses the
smallest model whose estimated loss against the best is at most 1%, compares it on test queries with the dense \
model and
the best single feature, and writes everything to a directory. Killed runs resume when started again.

[bold]Examples[/bold]

  sparserank select train.txt --valid vali.txt --test test.txt --out run

  sparserank select S1.txt.gz S2.txt.gz S3.txt.gz --valid S4.txt.gz --test S5.txt.gz --penalty l1 --penalty mcp --k 10 \
--out run

  sparserank select train.txt --shapes curves --monotone bm25=+ --out run

  sparserank select train.txt --for-model lightgbm --k 10 --out run

  sparserank select train.txt --scaling log-standard --metric map --margin 0.02 --out run

  sparserank select train.txt --valid vali.txt --protocol holdout --convention letor4 --out run
"""


def run(
    *, train: list[Path], out: Path, for_model: str | None = None, client: str | None = None, **options: Any
) -> None:
    """Options are those of `select`, or for a model of another kind those of `select_for_trees`."""
    if for_model is not None:
        judging.run(train, out, {"for_model": for_model, **options, **({} if client is None else {"client": client})})
        return
    for name in ("n_trees", "n_leaves"):
        require(name not in options, flag_of(name, FLAGS), "is of trees; give --for-model lightgbm.")

    from sparserank.cli.selection_tables import show_selection
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.jobs.options import SELECT
    from sparserank.jobs.result_files import RESULT_FILES
    from sparserank.jobs.select import select
    from sparserank.options import check_given
    from sparserank.solvers._coordinate_descent_kernels import descend

    check_given(SELECT, options)
    with resumable(out, restart=options.get("restart", False)):
        announce_compiling(parse_lines, descend)
        with progress_bar("paths") as progress:
            result = select(train, out=out, client=client_of(client), progress=progress, **options)
    show_selection(result, str(out))
    if answer.verbose:
        say("wrote " + ", ".join(str(out / name) for name in RESULT_FILES if (out / name).exists()))
