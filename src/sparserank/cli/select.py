"""`sparserank select`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.cli import select_for_trees
from sparserank.cli.cluster import client_of
from sparserank.cli.commands import FLAGS
from sparserank.cli.given import require
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import answer
from sparserank.cli.screen import announce_compiling, progress_bar, say
from sparserank.options.spelling import flag_of

SHOWN = (
    *("out", "valid", "test", "label", "qid", "missing", "drop", "ignore_columns", "metric", "k", "margin"),
    *("current", "rival", "engine", "for_model", "verbose"),
)  # by --help
HELP = """Find the smallest ranking model that ranks as well as the best.

The command reads LETOR text or tables, evaluates every model out of fold, keeps the smallest one with an estimated \
loss of at most 1%, and shows the value of each feature. If it is killed, run it again to resume.

[bold]Examples[/bold]

  sparserank select log.parquet --label-column grade --qid-column query --out run

  sparserank select train.txt --valid vali.txt --test test.txt --out run

  sparserank select train.txt --k 10 --out run

  sparserank select train.txt --current bm25 --engine elasticsearch --out run

  sparserank select train.txt --for-model lightgbm --out run
"""


def run(
    *, train: list[Path], out: Path, for_model: str | None = None, client: str | None = None, **options: Any
) -> None:
    """Options are those of `select` or, with `for_model`, those of `select_for_trees`."""
    if for_model is not None:
        select_for_trees.run(
            train, out, {"for_model": for_model, **options, **({} if client is None else {"client": client})}
        )
        return
    for name in ("n_trees", "n_leaves"):
        require(name not in options, flag_of(name, FLAGS), "applies only to trees; add --for-model lightgbm.")

    from sparserank.cli.replaced import chosen_in, warn_if_replaced
    from sparserank.cli.selection_tables import show_selection
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.jobs.options import SELECT
    from sparserank.jobs.result_files import RESULT_FILES
    from sparserank.jobs.select import select
    from sparserank.options import check_given
    from sparserank.solvers._coordinate_descent_kernels import descend

    check_given(SELECT, options)
    before = chosen_in(out)
    with resumable(out, restart=options.get("restart", False)):
        announce_compiling(parse_lines, descend)
        with progress_bar("paths") as progress:
            result = select(train, out=out, client=client_of(client), progress=progress, **options)
    show_selection(result, str(out))
    warn_if_replaced(out, before, len(result.model.support), result.noun)
    if answer.verbose:
        say("wrote " + ", ".join(str(out / name) for name in RESULT_FILES if (out / name).exists()))
