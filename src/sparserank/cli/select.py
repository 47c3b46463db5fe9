"""`sparserank select`: the main job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparserank.cli.interrupts import resumable
from sparserank.cli.output import answer
from sparserank.cli.reading import client_of
from sparserank.cli.screen import progress_bar

SHOWN = (
    *("out", "valid", "test", "label", "qid", "missing", "drop", "ignore_columns", "metric", "k", "margin"),
    *("current", "rival", "engine", "for_model", "fast", "verbose"),
)  # shown by --help
HELP = """Find the smallest ranking model that ranks as well as the best.

The command evaluates models out of fold, keeps the smallest one with an estimated loss of at most 1%, and shows the \
value of each feature, in about 30 CPU seconds per 10,000 rows of 50 features. Run it again to resume.

[bold]Examples[/bold]

  sparserank select log.parquet --label-column grade --qid-column q --out run

  sparserank select train.txt --valid vali.txt --test test.txt --out run

  sparserank select train.txt --current bm25 --engine sql --k 10 --out run

  sparserank select train.txt --for-model lightgbm --out run

  sparserank select responses.jsonl --qrels judged.qrels --query search.json --engine elasticsearch-query --out run
"""


def run(*, train: list[Path], out: Path, client: str | None = None, **options: Any) -> None:
    """Options are those of `select`."""
    from sparserank.cli.selection_tables import chosen_in, say_written, show_selection, warn_if_replaced
    from sparserank.selection.result import SelectionResult
    from sparserank.selection.result_files import LIST_FILES, RESULT_FILES
    from sparserank.selection.select import select

    before = chosen_in(out)
    title = "paths" if options.get("for_model") is None else "select"
    with resumable(out, restart=options.get("restart", False)), progress_bar(title) as progress:
        result = select(train, out=out, client=client_of(client), progress=progress, **options)
    if isinstance(result, SelectionResult):
        n_features = len(result.model.columns)
        files: Sequence[str] = RESULT_FILES
    else:
        n_features = len(result.features)
        files = LIST_FILES
    show_selection(result, str(out), k=files is RESULT_FILES)
    warn_if_replaced(out, before, n_features, result.noun)
    if answer().verbose:
        say_written(out, files)
