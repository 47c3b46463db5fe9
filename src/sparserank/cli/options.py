"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sparserank.errors import DataError
from sparserank.quoting import brief

if TYPE_CHECKING:
    from sparserank.data.reading import Reading
    from sparserank.model.ranking_model import RankingModel

S = TypeVar("S")
T = TypeVar("T")

READING = "Reading files"
TRAINING = "Training files: LETOR text (plain or gzip), Parquet, CSV or Arrow tables, or a folder of Parquet files."
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
        help="What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model "
        "remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'. \\[default: error]",
        rich_help_panel=READING,
    ),
]
MissingOfModel = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What NULL, nan, inf and 1.797e308 become: what training said, else error; model (the training median "
        "that the model holds), zero, query-min, a number, or per feature: '11,12=zero;bm25=3'. \\[default: what "
        "training said, else error]",
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
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        help="Column of a table with the labels. \\[default: label]",
        rich_help_panel=READING,
        show_default=False,
    ),
]
QidColumn = Annotated[
    str | None,
    typer.Option(
        "--qid-column",
        help="Column of a table with the query ids. \\[default: qid]",
        rich_help_panel=READING,
        show_default=False,
    ),
]
DocidColumn = Annotated[
    str | None,
    typer.Option(
        "--docid-column",
        help="Column of a table with the document ids. \\[default: a text column docno, docid or doc_id]",
        rich_help_panel=READING,
        show_default=False,
    ),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-columns",
        help="Columns of a table that are features: names with commas between them (in double quotes where a name "
        "holds one), or a file with one per line; may be repeated. \\[default: every other column]",
        rich_help_panel=READING,
        show_default=False,
    ),
]
IgnoreColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-columns",
        help="Columns of a table that are left out: names with commas between them (in double quotes where a name "
        "holds one); may be repeated.",
        rich_help_panel=READING,
        show_default=False,
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads; default all cores. Results do not depend on it.")
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="Address of a Dask scheduler whose workers read the store, e.g. tcp://host:8786."),
]
Convention = Annotated[
    str, typer.Option("--convention", help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm.")
]


def split_names(given: str) -> list[str]:
    """Names with commas between them; one that holds a comma stands in double quotes."""
    try:
        rows = list(csv.reader([given], strict=True))
    except csv.Error:  # a quote that does not end, or that a name goes on behind, is one of the name
        return given.split(",")
    return rows[0] if len(rows) == 1 and rows[0] else given.split(",")


def joined_names(names: Sequence[str]) -> str:
    """What `split_names` takes apart."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(names)  # what ends lines is quoted
    return "" if list(names) == [""] else out.getvalue().removesuffix("\r\n")


def parsed(option: str, parse: Callable[[S], T], value: S) -> T:
    """The value of an option; a bad one is misuse of the command line (exit 2)."""
    try:
        return parse(value)
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def require(condition: bool, option: str, message: str) -> None:
    if not condition:
        raise typer.BadParameter(message, param_hint=option)


def reading_of(
    *,
    n_features: int | None = None,
    missing: str | None = None,
    index_base: int = 1,
    unjudged: str = "error",
    feature_names: Path | None = None,
    threads: int | None = None,
    label_column: str | None = None,
    qid_column: str | None = None,
    docid_column: str | None = None,
    feature_columns: list[str] | None = None,
    ignore_columns: list[str] | None = None,
    labelled: bool = True,
) -> Reading:
    """The reading options of a command; refuses values that no file could make right."""
    from sparserank.data.missing import MissingPolicy
    from sparserank.data.reading import Reading
    from sparserank.data.text_lines import read_names

    require(n_features is None or n_features >= 1, "--n-features", f"must be at least 1; got {n_features}.")
    require(index_base in (0, 1), "--index-base", f"must be 0 or 1; got {index_base}.")
    require(unjudged in ("error", "drop", "zero"), "--unjudged", f"must be error, drop or zero; got {unjudged!r}.")
    if missing is not None:
        parsed("--missing", MissingPolicy.parse, missing)
    names: list[str] | None = None
    if feature_columns:
        names = [
            n for given in feature_columns for n in (read_names(given) if Path(given).is_file() else split_names(given))
        ]
        twice = next((n for n in names if names.count(n) > 1), None)
        require(twice is None, "--feature-columns", f"names {twice!r} twice.")
    return Reading(
        n_features=n_features,
        missing=missing,
        index_base=index_base,
        unjudged=unjudged,
        feature_names=feature_names,
        n_threads=threads,
        label=label_column,
        qid=qid_column,
        feature_columns=names,
        ignore_columns=tuple(name for given in ignore_columns or () for name in split_names(given)),
        labelled=labelled,
        docid=docid_column,
    )


def for_models(reading: Reading, models: Sequence[RankingModel], data: Sequence[Path]) -> Reading:
    """The same, taking from a table the columns that the models use, where it has them and the user names none, and
    leaving missing values to models that know what they become, where the user does not say."""
    from sparserank.data.missing import KEEP, MissingPolicy

    policy = MissingPolicy.parse(reading.missing)
    require(
        policy is None or not policy.learns,
        "--missing",
        "min and median are learned in training, and the model remembers them: leave the option out, or say model, "
        "zero, query-min or a number.",
    )
    reading = _with_columns_of(reading, models, data)
    knows = any(m.fill_values is not None or m.medians is not None for m in models)
    return replace(reading, missing=KEEP) if policy is None and knows else reading


def of_reading(missing: str | None) -> str | None:
    """What --missing asks of the reader: nothing where the model is asked."""
    return None if missing == "model" else missing


def model_of(path: Path, missing: str | None) -> RankingModel:
    """The model of a file, which takes its training medians where --missing asks for them."""
    from sparserank.model.model_file import load_model

    model = load_model(path)
    return model if of_reading(missing) == missing else model.with_missing(missing)


def _with_columns_of(reading: Reading, models: Sequence[RankingModel], data: Sequence[Path]) -> Reading:
    from sparserank.data.dataset import numbered
    from sparserank.data.kinds import TABLES, kind_of
    from sparserank.data.tables.batches import open_table

    def selected(model: RankingModel) -> list[str]:
        return [model.feature_names[j] for j in model.support]

    kind = kind_of(data[0])
    if reading.feature_columns is not None or kind not in TABLES:
        return reading
    # Features that are called f1, f2, ... may also be found by their place, for which all of them are needed.
    used = list(
        dict.fromkeys(name for m in models for name in (m.feature_names if numbered(m.feature_names) else selected(m)))
    )
    held = set(open_table(data[0], kind).schema.names)
    if used and held.issuperset(used):
        return replace(reading, feature_columns=used)
    lacking = next((name for m in models for name in selected(m) if name not in held), None)
    if lacking is not None and not held.isdisjoint(used):
        raise DataError(f"{data[0]} has no column {brief(lacking)}, which the model uses.")
    return reading


Shapes = Annotated[
    str,
    typer.Option(
        "--shapes",
        help="linear, or curves: each feature may also enter as a piecewise linear curve, flat outside its knots.",
        rich_help_panel="Models",
    ),
]
Knots = Annotated[
    int, typer.Option("--n-knots", help="Of each curve, at quantiles of the training values.", rich_help_panel="Models")
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        "--monotone",
        help="NAME=+ or NAME=-: a larger value of the feature may only raise, or only lower, the score; may be "
        "repeated.",
        rich_help_panel="Models",
        show_default=False,
    ),
]


Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="Feature that every model uses, whatever it costs (--budget counts it); may be repeated.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", help="Feature that no model may use; may be repeated.", rich_help_panel="Models", show_default=False
    ),
]


Groups = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        help="File of lines feature,group,cost: features that are computed together. A group enters whole and is paid "
        "for once; others are groups of their own, and a cost that is not given is 1.",
        rich_help_panel="Models",
        show_default=False,
    ),
]


def directions_of(monotone: list[str] | None) -> dict[str, str] | None:
    """{feature: '+' or '-'} from NAME=+ and NAME=-."""
    found: dict[str, str] = {}
    for given in monotone or []:
        name, equals, direction = given.rpartition("=")
        require(
            bool(equals) and bool(name) and direction in ("+", "-"),
            "--monotone",
            f"must be NAME=+ or NAME=-; got {brief(given)}.",
        )
        require(name not in found, "--monotone", f"names {brief(name)} twice.")
        found[name] = direction
    return found or None


def number_or(text: str, word: str, option: str) -> float | str:
    """A number, or the word that stands for none."""
    try:
        return text if text == word else float(text)
    except ValueError as error:
        raise typer.BadParameter(f"must be a number or {word}; got {brief(text)}.", param_hint=option) from error


def client_of(scheduler: str | None) -> Any:
    """A client of the cluster that --scheduler names, or None."""
    if scheduler is None:
        return None
    from sparserank.cli.screen import note
    from sparserank.shards.dask import connect

    client = connect(scheduler)
    _quieten("distributed")  # whose import sets the levels; what matters of it is said in one sentence
    note(f"{len(client.nthreads())} workers at {scheduler}; dashboard: {client.dashboard_link}")
    return client


def _quieten(package: str) -> None:
    """Say nothing of what its loggers say, each of which may have a level of its own."""
    import logging

    for name in [package, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == package:
            logging.getLogger(name).setLevel(logging.CRITICAL)
