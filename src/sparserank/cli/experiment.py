"""`sparserank experiment` and `sparserank letor`: the LETOR protocol and the papers' tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.screen import note, progress_bar, slow_start_note, table

if TYPE_CHECKING:
    from sparserank.experiments.document import Section
    from sparserank.experiments.plan import ExperimentPlan

app = typer.Typer(no_args_is_help=True, help="Run experiments on LETOR data sets and compare with published tables.")

RUN_HELP = """Run an experiment plan: data sets x folds x systems, each with its grid.

A plan is a TOML file. Models are chosen on validation, tested on test queries, and compared. Finished pieces are kept: the
same command goes on after a kill, and a changed plan recomputes only what it changes.

[bold]A plan[/bold]

  systems = \\["fenchel_rank", "greedy_rank_rls", "log"]
  choose_by = \\["map", "ndcg@10"]   # each makes its own choice per fold
  metrics = \\["map", "ndcg@5"]      # reported on the test queries
  watch = \\["mean_ndcg"]            # further metrics on validation
  convention = "letor4"
  max_size = 15                     # the frontier's largest model
  folds = \\[1, 2, 3, 4, 5]
  seed = 0

  \\[\\[datasets]]                    # Fold1..Fold5 or S1..S5
  name = "MQ2008"
  path = "$SPARSERANK_DATA/mq2008"  # also: missing = "zero", scaling = "min-max"

  \\[grids.fenchel_rank]             # instead of the system's own grid
  radius = \\[1, 2, 4, 8]

All keys but the data sets have defaults: 'sparserank experiment systems' lists systems and grids.

[bold]Examples[/bold]

  sparserank experiment run plan.toml --out results

  sparserank experiment run plan.toml --out results --threads 4
"""

PUBLISHED_HELP = """Reproduce the papers' tables and figures on the data sets that are there.

Runs every system of Pahikkala 2010, Lai 2012, Lai 2013 and Laporte 2014 on the LETOR data sets found below DATA (folders named
MQ2008, OHSUMED, HP2004, ... in any case; QueryLevelNorm inside them), and prints their tables with ours beside: as text, as
published.csv and as published.html with pictures. A data set that is absent is named and skipped.

[bold]Examples[/bold]

  sparserank experiment published $SPARSERANK_DATA --out results

  sparserank experiment published ~/letor --out results --markdown report.md --preface words.md
"""

LETOR_HELP = """Compare all systems on LETOR folders: five folds, grids, choice on validation, tests.

Any folder with Fold1..Fold5 (train.txt, vali.txt, test.txt or trainingset.txt, ...) or S1.txt..S5.txt works, plain or gzip. All systems
take about five minutes on two cores for a data set of 15,000 documents and 46 features; finished pieces are kept.

[bold]Examples[/bold]

  sparserank letor $SPARSERANK_DATA/mq2008 $SPARSERANK_DATA/ohsumed/querylevelnorm --out results

  sparserank letor MSLR-WEB10K --scaling within-query-std --system log --system greedy_rank_rls --out results
"""

Out = Annotated[
    Path, typer.Option("--out", help="Directory for results; an earlier run in it is continued.", show_default=False)
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        help="System, by its name in 'sparserank experiment systems'; may be repeated. [default: the 19 that are compared]",
        show_default=False,
    ),
]


@app.command("run", help=RUN_HELP)
def run(
    plan: Annotated[Path, typer.Argument(help="Plan, a TOML file.", show_default=False)],
    out: Out,
    threads: opt.Threads = None,
) -> None:
    from sparserank.experiments.plan import read_plan

    _execute(read_plan(plan), out, threads)


@app.command("published", help=PUBLISHED_HELP)
def published(
    data: Annotated[Path, typer.Argument(help="Folder that holds the LETOR data sets.", show_default=False)],
    out: Out,
    system: Systems = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", help="Also write a Markdown document; pictures go to a folder beside it."),
    ] = None,
    preface: Annotated[
        Path | None, typer.Option("--preface", help="Markdown file to put before the tables of --markdown.")
    ] = None,
    threads: opt.Threads = None,
) -> None:
    from sparserank.errors import DataError
    from sparserank.experiments.layouts import PUBLISHED_DATASETS, find_published
    from sparserank.experiments.plan import DatasetPlan, ExperimentPlan
    from sparserank.experiments.published_tables import published_rows, published_sections
    from sparserank.experiments.systems import SYSTEMS

    _check_systems(system)
    opt.require(preface is None or markdown is not None, "--preface", "needs --markdown.")
    try:
        words = "" if preface is None else preface.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{preface}: cannot be read ({error}).") from error
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; expected one that holds MQ2008, OHSUMED, ... in LETOR layout.")
    found, absent = find_published(data)
    if not found:
        raise DataError(f"{data}: none of {', '.join(PUBLISHED_DATASETS)} found below it.")
    chosen = ExperimentPlan(
        tuple(DatasetPlan(n, str(p)) for n, p in found.items()), systems=tuple(system or SYSTEMS), name="published"
    )

    def more(results: Any, pictures: bool) -> tuple[list[Section], dict[str, list[dict[str, Any]]]]:
        return published_sections(results, pictures=pictures), {"published": published_rows(results)}

    _execute(chosen, out, threads, name="published", more=more, absent=absent, markdown=markdown, preface=words)


@app.command("systems")
def systems() -> None:
    """List the systems, their sources and their default grids."""
    from sparserank.experiments.systems import SYSTEMS

    table(
        "Systems",
        ["name", "title", "source", "grid"],
        [
            [s.name, s.title, s.source, "; ".join(f"{k}: {_values(v)}" for k, v in s.grid.items())]
            for s in SYSTEMS.values()
        ],
    )


def _values(values: Sequence[Any]) -> str:
    """A grid for people: all of a short one, the ends of a long one."""
    texts = [v if isinstance(v, str) else f"{v:.4g}" for v in values]
    return " ".join(texts) if len(texts) <= 5 else f"{texts[0]} {texts[1]} ... {texts[-1]} ({len(texts)})"


def letor(
    folders: Annotated[list[Path], typer.Argument(help="LETOR folders.", show_default=False)],
    out: Out,
    system: Systems = None,
    choose_by: Annotated[
        list[str] | None,
        typer.Option(
            "--choose-by", help="Metric of choice; may be repeated. [default: map, ndcg@10]", show_default=False
        ),
    ] = None,
    convention: Annotated[
        str, typer.Option("--convention", help="Metric convention: letor4, letor3, default, trec, xgboost, lightgbm.")
    ] = "letor4",
    scaling: Annotated[
        str, typer.Option("--scaling", help="none, within-query-std, min-max, standard, log-standard, query-min-max.")
    ] = "none",
    missing: opt.Missing = None,
    threads: opt.Threads = None,
) -> None:
    from sparserank.data.missing import MissingPolicy
    from sparserank.data.scaling import SCALINGS
    from sparserank.experiments.layouts import find_folds
    from sparserank.experiments.plan import CHOOSE_BY, DatasetPlan, ExperimentPlan
    from sparserank.experiments.systems import COMPARED
    from sparserank.metrics import parse_convention, parse_metric

    _check_systems(system)
    rules = opt.parsed("--convention", parse_convention, convention)
    for m in choose_by or ():
        opt.parsed("--choose-by", lambda text: parse_metric(text, rules), m)
    opt.require(scaling in SCALINGS, "--scaling", f"must be one of {', '.join(SCALINGS)}; got {scaling!r}.")
    if missing is not None:
        opt.parsed("--missing", MissingPolicy.parse, missing)
    for folder in folders:
        find_folds(folder)
    names = [_name_of(f.resolve()) for f in folders]
    if len(set(names)) < len(names):
        names = [str(f) for f in folders]
    datasets = tuple(DatasetPlan(n, str(f), missing, scaling) for n, f in zip(names, folders, strict=True))
    plan = ExperimentPlan(
        datasets, tuple(system or COMPARED), tuple(choose_by or CHOOSE_BY), convention=convention, name="letor"
    )
    _execute(plan, out, threads)


def _name_of(folder: Path) -> str:
    """The data set's name: that of the folder above where the folder only names a normalisation."""
    return (
        folder.parent.name if folder.name.lower() in ("querylevelnorm", "feature-min", "feature-null") else folder.name
    )


def _check_systems(system: list[str] | None) -> None:
    from sparserank.experiments.systems import find_system

    for s in system or ():
        opt.parsed("--system", find_system, s)
    opt.require(len(set(system or ())) == len(system or ()), "--system", "names the same system twice.")


More = Callable[[Any, bool], "tuple[list[Section], dict[str, list[dict[str, Any]]]]"]


def _execute(
    plan: ExperimentPlan,
    out: Path,
    threads: int | None,
    *,
    name: str = "summary",
    more: More | None = None,
    absent: dict[str, str] | None = None,
    markdown: Path | None = None,
    preface: str = "",
) -> None:
    """Run what is missing, print the tables, write them as CSV and as one page."""
    import importlib.util
    import time

    from sparserank.errors import DataError
    from sparserank.experiments.job import Experiment
    from sparserank.experiments.render import to_html, to_markdown, write_csv, write_text
    from sparserank.experiments.results import Results
    from sparserank.experiments.summary import fold_rows
    from sparserank.experiments.summary_tables import frontier_rows, frontier_sections, summary_rows, summary_sections
    from sparserank.warmup import finish_compiling, start_compiling

    began = time.monotonic()
    try:
        with slow_start_note():
            finish_compiling(start_compiling())
        experiment = Experiment(plan, out, n_workers=threads)
        skipped = {**experiment.skipped, **(absent or {})}
        for name_of_set, why in skipped.items():
            note(f"skipped {name_of_set}: {why}")
        with progress_bar("pieces") as progress:
            experiment.run(progress)
    except KeyboardInterrupt:
        note(f"interrupted; finished work is kept in {out}. Run the same command again to go on.")
        os._exit(130)  # workers inside compiled kernels cannot be interrupted; nothing half-written exists
    ran = time.monotonic() - began
    reasons: dict[str, list[str]] = {}
    for piece, why in experiment.failed.items():
        reasons.setdefault(why, []).append(piece)
    for why, pieces in reasons.items():
        note(f"failed: {pieces[0]}{f' and {len(pieces) - 1} more' if len(pieces) > 1 else ''}: {why}")
    if len(experiment.failed) == len(experiment.units):
        raise DataError(f"no piece succeeded; the first: {next(iter(experiment.failed.values()))}")
    for dataset, folds in experiment.partial.items():
        note(f"{dataset}: {len(folds)} of 5 folds ({', '.join(map(str, folds))})")
    results = Results(experiment)
    pictures = importlib.util.find_spec("matplotlib") is not None
    first, files = more(results, pictures) if more else ([], {})
    sections = [*first, *summary_sections(results), *frontier_sections(results, pictures=pictures)]
    for s in sections:
        for t in s.tables:
            if t.rows:
                table(t.title, *t.on_screen())
                if t.note:
                    print(f"{t.note}\n")
    if not pictures:
        note("pictures were left out; install them with: pip install 'sparserank[report]'")
    title = "Published tables and ours" if more else f"Experiment {plan.name}"
    intro = (
        f"{len(results.datasets)} data sets ({', '.join(results.datasets)}), {len(plan.systems)} systems, "
        f"{len(experiment.units)} pieces; metric convention {plan.convention}."
    )
    if skipped:
        intro += f" Not available: {', '.join(skipped)}."
    if experiment.failed:
        intro += f" Failed: {'; '.join(experiment.failed)}."
    written = [write_text(out / f"{name}.html", to_html(title, intro, sections))]
    for stem, rows in {
        "summary": summary_rows(results),
        "folds": fold_rows(results),
        "frontier": frontier_rows(results),
        **files,
    }.items():
        written.append(write_csv(out / f"{stem}.csv", rows))
    if markdown is not None:
        folder = markdown.parent / f"{markdown.stem}-figures"
        folder.mkdir(parents=True, exist_ok=True)
        for s in sections:
            for p in s.pictures:
                write_text(folder / f"{p.name}.svg", p.svg)
        written.append(write_text(markdown, to_markdown(title, intro, sections, folder.name, preface)))
    print(
        f"{len(experiment.units)} pieces, {ran:.0f} s of computing in this run; wrote " + ", ".join(map(str, written))
    )
    if experiment.failed:
        raise DataError(
            f"{len(experiment.failed)} of {len(experiment.units)} pieces failed; the tables hold the others."
        )
