"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from sparserank.errors import DataError

T = TypeVar("T")

READING = "Reading files"
NFeatures = Annotated[
    int | None,
    typer.Option(
        "--n-features", help="Number of features, when the files need not show the last one.", rich_help_panel=READING
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What NULL, nan, inf and 1.797e308 become: zero, query-min, a number, or per feature: '11,12=zero;*=query-min'.",
        rich_help_panel=READING,
    ),
]
IndexBase = Annotated[
    int, typer.Option("--index-base", help="Number of the first feature in the files, 0 or 1.", rich_help_panel=READING)
]
Unjudged = Annotated[
    str, typer.Option("--unjudged", help="Rows with label -1: error, drop or zero.", rich_help_panel=READING)
]
FeatureNames = Annotated[
    Path | None, typer.Option("--feature-names", help="File with one feature name per line.", rich_help_panel=READING)
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads; default all cores. Results do not depend on it.")
]
Convention = Annotated[
    str, typer.Option("--convention", help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm.")
]


def parsed(option: str, parse: Callable[[str], T], text: str) -> T:
    """The value of an option; a bad one is misuse of the command line (exit 2)."""
    try:
        return parse(text)
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def require(condition: bool, option: str, message: str) -> None:
    if not condition:
        raise typer.BadParameter(message, param_hint=option)


def check_reading(n_features: int | None, missing: str | None, index_base: int, unjudged: str) -> None:
    """Refuse values of the reading options that no file could make right."""
    from sparserank.data.missing import MissingPolicy

    require(n_features is None or n_features >= 1, "--n-features", f"must be at least 1; got {n_features}.")
    require(index_base in (0, 1), "--index-base", f"must be 0 or 1; got {index_base}.")
    require(unjudged in ("error", "drop", "zero"), "--unjudged", f"must be error, drop or zero; got {unjudged!r}.")
    if missing is not None:
        parsed("--missing", MissingPolicy.parse, missing)
