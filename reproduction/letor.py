"""All systems on LETOR folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reproduction.execute import OUT, SYSTEM, check_systems, execute
from sparserank.cli.commands import Argument, Command, cli_option
from sparserank.cli.reading import parsed, require
from sparserank.options.paths import SCALINGS
from sparserank.options.selection import SELECT

HELP = """Compare all systems on LETOR folders: five folds, grids, choice on the validation queries, significance tests.

Any folder with Fold1..Fold5 (train.txt, vali.txt, test.txt or trainingset.txt, ...) or S1.txt..S5.txt works, plain \
or gzip. Running all systems takes about five minutes on two cores for a data set of 15,000 documents and 46 \
features. Finished pieces are kept.

[bold]Examples[/bold]

  python -m reproduction letor $SPARSERANK_DATA/mq2008 $SPARSERANK_DATA/ohsumed/querylevelnorm --out results

  python -m reproduction letor MSLR-WEB10K --scaling within-query-std --system log --out results
"""


COMMAND = Command(
    "letor",
    [Argument("folders", "list[Path]", "LETOR folders.")],
    [
        OUT,
        SYSTEM,
        cli_option(
            "choose_by", "list[str] | None", "Metric for choosing models; may be repeated.", shown="map, ndcg@10"
        ),
        replace(SELECT["convention"], default="letor4", panel=""),
        replace(SELECT["scaling"], default="none", panel=""),
        SELECT["missing"],
        SELECT["n_threads"],
    ],
    required=["out"],
)


def letor(
    *,
    folders: list[Path],
    out: Path,
    system: list[str] | None = None,
    choose_by: list[str] | None = None,
    convention: str = "letor4",
    scaling: str = "none",
    missing: str | None = None,
    n_threads: int | None = None,
) -> None:
    from reproduction.datasets import find_folds
    from reproduction.protocol.plan import CHOOSE_BY, DatasetPlan, ExperimentPlan
    from reproduction.systems import COMPARED
    from sparserank.data.missing import MissingPolicy
    from sparserank.metrics import parse_convention, parse_metric

    check_systems(system)
    rules = parsed("--convention", parse_convention, convention)
    chosen = [parsed("--choose-by", lambda text: parse_metric(text, rules), m) for m in choose_by or ()]
    require(len(set(chosen)) == len(chosen), "--choose-by", "names the same metric twice.")
    require(scaling in SCALINGS, "--scaling", f"must be one of {', '.join(SCALINGS)}; got {scaling!r}.")
    if missing is not None:
        parsed("--missing", MissingPolicy.parse, missing)
    for folder in folders:
        find_folds(folder)
    names = [_name_of(f.resolve()) for f in folders]
    if len(set(names)) < len(names):
        names = [str(f) for f in folders]
    datasets = tuple(DatasetPlan(n, str(f), missing, scaling) for n, f in zip(names, folders, strict=True))
    plan = ExperimentPlan(
        datasets, tuple(system or COMPARED), tuple(choose_by or CHOOSE_BY), convention=convention, name="letor"
    )
    execute(plan, out, n_threads)


def _name_of(folder: Path) -> str:
    """The data set's name: that of the parent folder if the folder only names a normalisation."""
    return (
        folder.parent.name if folder.name.lower() in ("querylevelnorm", "feature-min", "feature-null") else folder.name
    )
