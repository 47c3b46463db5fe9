"""`sparserank diff`: a model compared with the model that was trained after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sparserank.cli.evaluate import show_comparison, show_queries
from sparserank.cli.output import give
from sparserank.cli.reading import documents_for, model_of, require_no_reading
from sparserank.cli.screen import show_all
from sparserank.report.document import Table
from sparserank.text import figure, signed

COLUMNS = ["feature", "change", "old", "new", "difference", "shape", "halves, old", "halves, new", "verdict"]
HELP = """Compare two trained models: features that came in or left, weights that changed, and rankings on data.

A change of features is called real only if it is beyond the noise, which the half-samples of both runs show, and \
not due to the sizes of the models. With \
DATA, the metrics of both models, the queries that changed most and the overlap of the two top 10s are added.

[bold]Examples[/bold]

  sparserank diff run-monday run-today

  sparserank diff run-monday run-today test.txt --format markdown

  sparserank diff run-monday run-today --k 7
"""


def run(*, old: Path, new: Path, data: list[Path] | None = None, missing: str | None = None, **options: Any) -> None:
    """Options are `k` and those of `Reading`."""
    from sparserank.selection.diff import BOTH, diff_of, side_of

    k = options.pop("k", None)
    if not data:
        require_no_reading("a comparison without DATA", **options, missing=missing)
    first, second = (replace(side_of(path, k), model=model_of(path, missing, k)) for path in (old, new))
    judged = None
    if data:
        judged = documents_for([first.model, second.model], [old, new], data, options, missing=missing)
    changes = diff_of(first, second, judged)
    cells = []
    for r in changes.features:
        weights = [*(signed(r[name]) for name in COLUMNS[2:5]), figure(r["shape"])]
        shares = ["-" if share is None else f"{share:.0%}" for share in (r["old_share"], r["new_share"])]
        unknown = "-" if r["change"] == BOTH or "-" in shares else "cannot tell"
        verdict = {True: "real", False: "noise", None: unknown}[r["real"]]
        cells.append([r["feature"], r["change"], *weights, *shares, verdict])
    filled = tuple(i for i, column in enumerate(zip(*cells, strict=True)) if set(column) != {"-"})
    show_all([changes.sentences[0], "", Table("Features and their weights", COLUMNS, cells, screen=filled)])
    if changes.comparison is not None:
        show_comparison(changes.comparison)
        show_queries(f"Queries whose {next(iter(changes.comparison.metrics))} changed most", changes.queries)
    show_all(changes.sentences[1:])
    give(changes.to_json(), changes.features)
