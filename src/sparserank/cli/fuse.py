"""`sparserank fuse`: which retrievers to keep, and with what weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparserank.cli.interrupts import resumable
from sparserank.cli.output import answer, give
from sparserank.cli.screen import progress_bar, show_all, width_of_screen

SHOWN = (
    "qrels",
    "out",
    "metric",
    "k",
    "margin",
    "costs",
    "budget",
    "engine",
    "depth",
    "norm",
    "test_qrels",
    "judge",
)  # shown by --help
HELP = """Find which retrievers are worth running, and the weights with which to fuse them.

The command reads one run of each retriever and judgments, and evaluates models of one retriever, of two and so on out \
of fold. It keeps RRF of all retrievers, or the smallest model with an estimated loss of at most 1% of those that lead \
it by enough, and names fewer retrievers that may be as good.

[bold]Examples[/bold]

  sparserank fuse bm25.run dense.run splade.run --qrels train.qrels --out run

  sparserank fuse runs/*.run --qrels train.qrels --engine elasticsearch --out run

  sparserank fuse runs/*.run --qrels train.qrels --costs ms.txt --budget 80 --out run

  sparserank fuse runs/*.run --qrels people.qrels --judge model.qrels --out run

  sparserank fuse ranks.txt --rank-columns --out run

  sparserank export run --to elasticsearch
"""


def run(*, runs: list[Path], out: Path, qrels: Path | None = None, **options: Any) -> None:
    """Options are those of `fuse`."""
    from sparserank.cli.selection_tables import chosen_in, say_written, warn_if_replaced
    from sparserank.report.fusion import fusion_lines
    from sparserank.report.tables import penalty_table, rival_table, size_table
    from sparserank.selection.fuse import fuse
    from sparserank.selection.result_files import RESULT_FILES

    before = chosen_in(out)
    columns = options.get("rank_columns") or options.get("score_columns")
    with resumable(out, restart=options.get("restart", False)), progress_bar("paths") as progress:
        result = fuse(list(map(str, runs)) if not columns else runs, qrels, out=out, progress=progress, **options)
    give(result.to_json(), result.rows())
    warn_if_replaced(out, before, len(result.retrievers), "retriever")
    if not answer().is_text:
        return
    show_all(fusion_lines(result, str(out), width=width_of_screen()))
    if answer().verbose:
        selection = result.selection
        notes = [f"note: {text}" for text in selection.notes]
        show_all([*notes, size_table(selection), rival_table(selection), penalty_table(selection)])
        say_written(out, RESULT_FILES)
