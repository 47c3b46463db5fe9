"""What the commands share: options, the run, its tables and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.commands import cli_option
from sparserank.cli.interrupts import resumable
from sparserank.cli.output import TEXT, answer
from sparserank.cli.reading import parsed, require
from sparserank.cli.screen import note, progress_bar, say, show_all, table

if TYPE_CHECKING:
    from reproduction.protocol.experiment import Experiment
    from reproduction.protocol.plan import ExperimentPlan
    from sparserank.report.document import Section, Table

OUT = cli_option("out", "Path", "Directory for results; an earlier run there is resumed.")
SYSTEM = cli_option(
    "system",
    "list[str] | None",
    "Name of a system in 'python -m reproduction systems'; may be repeated.",
    shown="the 19 systems of the comparison",
)


def check_systems(system: list[str] | None) -> None:
    from reproduction.systems import find_system

    for s in system or ():
        parsed("--system", find_system, s)
    require(len(set(system or ())) == len(system or ()), "--system", "names the same system twice.")


More = Callable[[Any, bool], "tuple[list[Section], dict[str, list[dict[str, Any]]]]"]


def execute(
    plan: ExperimentPlan,
    out: Path,
    threads: int | None,
    *,
    name: str = "summary",
    more: More | None = None,
    screen: Callable[[Any], list[str | Table]] | None = None,
    absent: dict[str, str] | None = None,
    markdown: Path | None = None,
    preface: str = "",
) -> None:
    """Run the missing pieces, print the tables, and write them as CSV and as one page.

    more     sections and rows of files in addition to those of every experiment
    screen   lines printed without --verbose; default: the summary
    """
    import time

    from reproduction.protocol.experiment import Experiment
    from sparserank.errors import DataError
    from sparserank.warmup import finish_compiling, start_compiling
    from sparserank.workdir.directory import refuse_unusable

    if markdown is not None:
        _refuse_foreign_pictures(_pictures_of(markdown))
    refuse_unusable(out, "experiment")
    began = time.monotonic()
    with resumable(out):
        finish_compiling(start_compiling())
        experiment = Experiment(plan, out, n_workers=threads)
        with experiment.store:
            skipped = {**experiment.skipped, **(absent or {})}
            for name_of_set, why in skipped.items():
                note(f"skipped {name_of_set}: {why}")
            with progress_bar("pieces") as progress:
                experiment.run(progress)
            ran = time.monotonic() - began
            _note_failures(experiment)
            written = _present(experiment, out, name, more, screen, skipped, markdown, preface)
    say(f"{len(experiment.tasks)} pieces, {ran:.0f} s of computing in this run; wrote " + ", ".join(map(str, written)))
    if experiment.failed:
        raise DataError(
            f"{len(experiment.failed)} of {len(experiment.tasks)} pieces failed; the tables contain the others."
        )


def _refuse_foreign_pictures(folder: Path) -> None:
    """Refuse a folder with pictures that `write_picture` did not write.

    Raises
        RunDirectoryError   there is one; the message names the first
    """
    from reproduction.written import DRAWN_HERE
    from sparserank.errors import RunDirectoryError

    for picture in sorted(folder.glob("*.svg")):
        if not picture.read_bytes().startswith(DRAWN_HERE.encode()):
            raise RunDirectoryError(f"{picture}: was not drawn by sparserank; choose another name for the page.")


def _pictures_of(markdown: Path) -> Path:
    return markdown.parent / f"{markdown.stem}-figures"


def _note_failures(experiment: Experiment) -> None:
    from sparserank.errors import DataError

    reasons: dict[str, list[str]] = {}
    for piece, why in experiment.failed.items():
        reasons.setdefault(why, []).append(piece)
    for why, pieces in reasons.items():
        note(f"failed: {pieces[0]}{f' and {len(pieces) - 1} more' if len(pieces) > 1 else ''}: {why}")
    if len(experiment.failed) == len(experiment.tasks):
        raise DataError(f"no piece succeeded; the first error: {next(iter(experiment.failed.values()))}")
    for dataset, folds in experiment.partial.items():
        note(f"{dataset}: {len(folds)} of 5 folds ({', '.join(map(str, folds))})")


def _present(
    experiment: Experiment,
    out: Path,
    name: str,
    more: More | None,
    screen: Callable[[Any], list[str | Table]] | None,
    skipped: dict[str, str],
    markdown: Path | None,
    preface: str,
) -> list[Path]:
    """Show the tables on the screen and write them to files; return the files."""
    import importlib.util

    from reproduction.protocol.frontier_tables import frontier_rows, frontier_sections
    from reproduction.protocol.results import Results
    from reproduction.protocol.summary import fold_rows
    from reproduction.protocol.summary_screen import summary_lines
    from reproduction.protocol.summary_tables import summary_rows, summary_sections
    from reproduction.written import to_markdown, write_csv, write_picture, write_text
    from sparserank.report.html import to_html

    plan = experiment.plan
    results = Results(experiment)
    pictures = importlib.util.find_spec("matplotlib") is not None
    first, files = more(results, pictures) if more else ([], {})
    sections = [*first, *summary_sections(results), *frontier_sections(results, pictures=pictures)]
    if answer().format == TEXT and not answer().verbose:
        show_all((screen or summary_lines)(results))
    for s in sections if answer().format != TEXT or answer().verbose else ():
        for t in s.tables:
            if t.rows:
                table(t.title, *t.on_screen())
                if t.note:
                    say(t.note)
                    say("")
    if not pictures:
        note("figures were left out; to include them, run: pip install 'sparserank[report]'")
    title = "Published tables and ours" if more else f"Experiment {plan.name}"
    intro = (
        f"{len(results.datasets)} data sets ({', '.join(results.datasets)}), {len(plan.systems)} systems, "
        f"{len(experiment.tasks)} pieces; metric convention {plan.convention}."
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
        folder = _pictures_of(markdown)
        for s in sections:
            for p in s.pictures:
                write_picture(folder / f"{p.name}.svg", p.svg)
        written.append(write_text(markdown, to_markdown(title, intro, sections, folder.name, preface)))
    return written
