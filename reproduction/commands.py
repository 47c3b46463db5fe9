"""Plans, the papers' tables, the list of systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduction.execute import check_systems, execute
from sparserank.cli.reading import require
from sparserank.cli.screen import table

if TYPE_CHECKING:
    from sparserank.report.document import Section

RUN_HELP = """Run an experiment plan: data sets x folds x systems, each with its grid.

A plan is a TOML file. Models are chosen on validation queries, tested on test queries, and compared. Finished pieces \
are kept. If the command is killed, run it again to resume. If you change the plan, only the affected pieces are \
computed again.

[bold]A plan[/bold]

  systems = \\["fenchel_rank", "greedy_rank_rls", "log"]
  choose_by = \\["map", "ndcg@10"]   # one choice per metric and fold
  metrics = \\["map", "ndcg@5"]      # reported on the test queries
  watch = \\["mean_ndcg"]            # further metrics on validation
  convention = "letor4"
  max_size = 15                     # largest model of the frontier
  folds = \\[1, 2, 3, 4, 5]
  seed = 0

  \\[\\[datasets]]                    # Fold1..Fold5 or S1..S5
  name = "MQ2008"
  path = "$SPARSERANK_DATA/mq2008"  # also: missing = "zero", scaling = "min-max"

  \\[grids.fenchel_rank]             # replaces the default grid of the system
  radius = \\[1, 2, 4, 8]

All keys except the data sets have defaults; 'python -m reproduction systems' lists systems and grids.

[bold]Examples[/bold]

  python -m reproduction run plan.toml --out results

  python -m reproduction run plan.toml --out results --threads 4
"""

PUBLISHED_HELP = """Reproduce the papers' tables and figures on the available data sets.

The command runs every system of Pahikkala 2010, Lai 2012, Lai 2013 and Laporte 2014 on the LETOR data sets in DATA \
(folders named MQ2008, OHSUMED, HP2004, ... in any case; QueryLevelNorm inside them). It prints the number of \
published values that are reproduced. With --verbose, it also prints the published tables and ours. published.csv and \
published.html (with figures) contain all results. Missing data sets are reported and skipped.

[bold]Examples[/bold]

  python -m reproduction published $SPARSERANK_DATA --out results

  python -m reproduction published ~/letor --out results --markdown report.md --preface words.md
"""


def run(*, plan: Path, out: Path, n_threads: int | None = None) -> None:
    from reproduction.protocol.plan import read_plan

    execute(read_plan(plan), out, n_threads)


def published(
    *,
    data: Path,
    out: Path,
    system: list[str] | None = None,
    markdown: Path | None = None,
    preface: Path | None = None,
    n_threads: int | None = None,
) -> None:
    from reproduction.datasets import PUBLISHED_DATASETS, find_published
    from reproduction.protocol.plan import MAX_BYTES, DatasetPlan, ExperimentPlan
    from reproduction.published.screen import published_lines
    from reproduction.published.tables import published_rows, published_sections
    from reproduction.systems import SYSTEMS
    from sparserank.errors import DataError
    from sparserank.files import read_bounded, refuse_inputs

    check_systems(system)
    require(preface is None or markdown is not None, "--preface", "needs --markdown.")
    if preface is not None and markdown is not None:
        refuse_inputs(markdown, [preface])
    try:
        words = "" if preface is None else read_bounded(preface, MAX_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{preface}: cannot be read ({error}).") from error
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; expected one that contains MQ2008, OHSUMED, ... in LETOR layout.")
    found, absent = find_published(data)
    if not found:
        raise DataError(f"{data}: contains none of {', '.join(PUBLISHED_DATASETS)}.")
    chosen = ExperimentPlan(
        tuple(DatasetPlan(n, str(p)) for n, p in found.items()), systems=tuple(system or SYSTEMS), name="published"
    )

    def more(results: Any, pictures: bool) -> tuple[list[Section], dict[str, list[dict[str, Any]]]]:
        return published_sections(results, pictures=pictures), {"published": published_rows(results)}

    files: dict[str, Any] = {"markdown": markdown, "preface": words}
    execute(chosen, out, n_threads, name="published", more=more, screen=published_lines, absent=absent, **files)


def systems() -> None:
    """List the systems, their sources and their default grids."""
    from reproduction.systems import SYSTEMS

    table(
        "Systems",
        ["name", "title", "source", "grid"],
        [
            [s.name, s.title, s.source, "; ".join(f"{k}: {_values(v)}" for k, v in s.grid.items())]
            for s in SYSTEMS.values()
        ],
    )


def _values(values: Sequence[Any]) -> str:
    """The values of a grid for people: all values of a short one, the ends of a long one."""
    texts = [v if isinstance(v, str) else f"{v:.4g}" for v in values]
    return " ".join(texts) if len(texts) <= 5 else f"{texts[0]} {texts[1]} ... {texts[-1]} ({len(texts)})"
