"""`sparserank fit`: one model at one strength."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.output import answer, give
from sparserank.cli.reading import client_of
from sparserank.cli.screen import say, show_all, table
from sparserank.report.document import Table

if TYPE_CHECKING:
    from sparserank.selection.fit import FittedModel

MAX_FEATURES = 12  # shown without --verbose

HELP = """Fit one model at one regularisation strength and save it.

[bold]Examples[/bold]

  sparserank fit train.txt --out model.json

  sparserank fit train.txt --penalty mcp --alpha-ratio 0.1 --out model.json

  sparserank fit train.txt --transform log --k 10 --out model.json

  sparserank fit train.txt --transform log --monotone bm25=+ --k 10 --out model.json
"""


def run(*, train: list[Path], out: Path, client: str | None = None, **options: Any) -> None:
    """Options are those of `fit_model`."""
    from sparserank.files import refuse_foreign, refuse_inputs
    from sparserank.model.file_format import FORMAT
    from sparserank.selection.fit import fit_model

    read = [options[name] for name in ("feature_names", "feature_groups") if name in options]
    refuse_inputs(out, [*train, *read])
    refuse_foreign(out, lambda head: f'"{FORMAT}"'.encode() in head[:200], "is not a sparserank model")
    fitted = fit_model(train, client=client_of(client), **options)
    ranker = fitted.ranker
    model = fitted.model
    data = fitted.data
    model.save(out)
    document = {"model": str(out), **fitted.summary}
    give(document, [{name: value for name, value in document.items() if name != "features"}])
    short = _short(fitted, out)
    if answer().is_text and not answer().verbose:
        show_all(short)
        return
    if answer().verbose:
        show_all(short[:3])
    gap = "-" if ranker.duality_gap_ is None else f"{ranker.duality_gap_:.1e}"
    certificate = [f"{ranker.objective_:.9f}", f"{ranker.kkt_violation_:.1e}", gap]
    table(
        f"{fitted.label} on {data.n_queries} queries, {data.n_docs} documents, {ranker.n_pairs_} pairs",
        ["status", "features", "objective", "kkt violation", "gap", "iterations"],
        [[ranker.status_, str(len(model.columns)), *certificate, str(ranker.n_iter_)]],
    )
    if ranker.certificate_.gap_condition is not None:
        say(f"The gap is valid {ranker.certificate_.gap_condition}.")
    if not fitted.by_size:
        say(
            f"alpha {ranker.alpha_:.6g} (mean loss); on the papers' scales: C_sum {ranker.C_sum_:.6g}, C_mean "
            f"{ranker.C_mean_:.6g}, r = ||w||_1 {ranker.r_:.6g}"
        )
    say(f"wrote {out}")


def _short(fitted: FittedModel, out: Path) -> list[str | Table]:
    """The short output: the fitted model, its largest weights, and the next commands."""
    from sparserank.export import export_command

    model = fitted.model
    data = fitted.data
    by_feature = model.weights.items()
    rows = [[name, f"{w:+.4g}", model.sources[name][0].kind] for name, w in by_feature][:MAX_FEATURES]
    plain = all(row[2] == "none" for row in rows)
    n_others = len(by_feature) - len(rows)
    n_columns = 2 if plain else 3
    weights = Table("", ["feature", "weight", "transform"][:n_columns], [row[:n_columns] for row in rows])
    file = shlex.quote(str(out))
    export = export_command(model, file, "sql")
    return [
        f"{len(by_feature)} of {model.n_available} features by {fitted.label}.  {data.n_queries:,} queries, "
        f"{data.n_docs:,} documents; no queries were held out for evaluation.",
        "",
        weights,
        *([f"{n_others} more: sparserank inspect {file}"] if n_others else []),
        f"Next: sparserank evaluate TEST --system {file} {f' | {export}' if export else ''} | --verbose",
        f"wrote {out}",
    ]
