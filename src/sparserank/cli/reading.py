"""Command-line values as arguments of Python calls, options for reading files, and what models require of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sparserank.cli import screen
from sparserank.errors import DataError, DataFormatError, TooManyFeaturesError
from sparserank.options import option
from sparserank.options.kinds import Kind
from sparserank.text import brief

if TYPE_CHECKING:
    from sparserank.data.dataset import RankingDataset
    from sparserank.data.reading import Reading
    from sparserank.model.ranking_model import RankingModel

S = TypeVar("S")
T = TypeVar("T")


def require(condition: bool, flag: str, message: str) -> None:
    """Raise a usage error (exit 2) unless the condition is true."""
    if not condition:
        raise click.BadParameter(message, param_hint=flag)


def check(flag: str, kind: Kind, value: Any) -> None:
    """Refuse an invalid value of an option."""
    problem = kind.problem(value)
    require(not problem, flag, typed(problem))


def typed(problem: str) -> str:
    """The problem with a value, as a sentence that omits the alternative None, which cannot be typed on a command
    line."""
    return problem.replace(" or None; got", "; got", 1)


def parsed(flag: str, parse: Callable[[S], T], value: S) -> T:
    """Parse the value of an option; a bad value is a usage error."""
    try:
        return parse(value)
    except DataError as error:
        raise click.BadParameter(str(error), param_hint=flag) from error


def _columns(texts: list[str]) -> list[str]:
    """Names of columns, from comma-separated names and files with one name per line."""
    from sparserank.data.text_lines import read_names

    names = [n for text in texts for n in (read_names(text) if Path(text).is_file() else split_names(text))]
    for name in names:
        require(names.count(name) == 1, "--feature-columns", f"names {name!r} twice.")
    return names


def _names(texts: list[str]) -> list[str]:
    return [name for text in texts for name in split_names(text)]


def _directions(texts: list[str]) -> dict[str, str]:
    """{feature: '+' or '-'} from NAME=+ and NAME=-."""
    directions: dict[str, str] = {}
    for text in texts:
        name, equals, direction = text.rpartition("=")
        valid = bool(equals) and bool(name) and direction in ("+", "-")
        require(valid, "--monotone", f"must be NAME=+ or NAME=-, without a bound; got {brief(text)}.")
        require(name not in directions, "--monotone", f"names {brief(name)} twice.")
        directions[name] = direction
    return directions


# parsers of options whose text on the command line is split into names or pairs
READ: dict[str, Callable[[Any], Any]] = {
    "feature_columns": _columns,
    "ignore_columns": _names,
    "categories": _names,
    "monotone": _directions,
}


def split_names(text: str) -> list[str]:
    """Split names at commas; a name that contains a comma is in double quotes."""
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error:  # an unclosed quote, or one followed by more text, belongs to the name
        return text.split(",")
    return rows[0] if len(rows) == 1 and rows[0] else text.split(",")


def joined_names(names: Sequence[str]) -> str:
    """Join names into a text that `split_names` splits."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(names)  # line breaks are quoted
    return "" if list(names) == [""] else out.getvalue().removesuffix("\r\n")


def client_of(scheduler: str | None) -> Any:
    """A client of the cluster that --scheduler names, or None."""
    if scheduler is None:
        return None
    import logging

    from sparserank.shards.dask import connect

    client = connect(scheduler)
    # Importing distributed sets log levels, and each of its loggers may have its own. The command reports errors in
    # one sentence, so all are silenced.
    for name in ["distributed", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    screen.note(f"{len(client.nthreads())} workers at {scheduler}; dashboard: {client.dashboard_link}")
    return client


def reading_of(options: dict[str, Any], **fixed: Any) -> Reading:
    """Make a Reading from the reading options, which are removed from `options`, and values that the command fixes.

    Raises
        ParameterError   a value that is wrong for every file
    """
    from sparserank.data.reading import Reading
    from sparserank.data.run_reader import asked_in, judgments_of

    names = [name for name in options if name in Reading.__dataclass_fields__]
    values = {name: options.pop(name) for name in names}
    if values.get("qrels") is not None:
        values["qrels"] = judgments_of(values["qrels"], asked_in(values))
    return Reading(**values, **fixed)


def columns_of_run(models: Sequence[Path], data: Sequence[Path], user_options: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of labels, query ids and document ids that the runs of the models read, if a table has them and the
    user names no others."""
    from sparserank.data.read_files import TABLES, kind_of
    from sparserank.data.tables.batches import open_table
    from sparserank.strict_json import read_own_json

    kind = kind_of(data[0])
    out = dict[str, Any]()
    columns = set(open_table(data[0], kind).schema.names) if kind in TABLES else set()
    for model in models if columns else []:
        with suppress(OSError, ValueError, LookupError, TypeError):  # a model without a run, or another kind of run
            run = read_own_json((model if model.is_dir() else model.parent) / "result.json")["origin"]["options"]
            names = [
                name for name in ("label", "qid", "docid") if name not in user_options and run.get(name) in columns
            ]
            out |= {name: run[name] for name in names}
    return out


def for_models(
    reading: Reading, models: Sequence[RankingModel], data: Sequence[Path], index_base: int | None
) -> Reading:
    """Adapt a Reading to models, which rank documents with features. If the user sets no index_base, text begins at the
    number that the models know. If the user names no columns, read those that the models use from a table that has
    them. If the user sets no policy for missing values, leave them to models that can replace them."""
    from sparserank.data.missing import KEEP, MissingPolicy
    from sparserank.data.read_files import kind_of
    from sparserank.model.fusion import refuse_fusion
    from sparserank.model.table_columns import with_columns_of

    refuse_fusion(models)
    policy = MissingPolicy.parse(reading.missing)
    require(
        policy is None or not policy.learns,
        "--missing",
        "min and median are learned in training and stored in the model; omit the option, or use model, zero, "
        "query-min or a number.",
    )
    if index_base is None and models:
        bases = {m.index_base for m in models}
        require(len(bases) == 1, "--index-base", "is needed, because the features of one model begin at 0 in text.")
        reading = replace(reading, index_base=bases.pop())
    if index_base == 1 and models and all(m.index_base == 0 for m in models) and kind_of(data[0]) == "letor":
        names = max(models, key=lambda m: m.n_features).feature_names
        reading = replace(reading, feature_names=names)
        screen.note(
            f"note: number 1 of these files is the first feature of the model, {names[0]}, as --index-base says."
        )
    reading = with_columns_of(reading, models, list(data))
    knows = any(f.missing is not None or f.median is not None for m in models for f in m.features)
    return replace(reading, missing=KEEP) if policy is None and knows else reading


def documents_for(
    models: Sequence[RankingModel],
    places: Sequence[Path],
    data: Sequence[Path],
    options: dict[str, Any],
    *,
    missing: str | None = None,
    **fixed: Any,
) -> RankingDataset:
    """Read files for the models at these places with the options of the user, and values that the command fixes."""
    from sparserank.data.read_files import read_files

    widest = max((m.n_features for m in models), default=None)
    options = {"n_features": widest, **options, **columns_of_run(places, data, options)}
    index_base = options.get("index_base")
    # `model`: the model replaces missing values
    reading = reading_of(options, missing=None if missing == "model" else missing, **fixed)
    adapted = for_models(reading, models, data, index_base)
    try:
        return read_files(data, adapted)
    except TooManyFeaturesError as error:
        remedy = f"read every file with {option('n_features', error.width)}, or remove the feature."
        message = str(error).replace(remedy, "remove the feature, which the model does not know.")
        raise DataFormatError(message if models else str(error)) from error


def require_no_reading(why: str = "a model of fuse, which ranks runs", **options: Any) -> None:
    """Refuse options that say how features are read; an option that is None was not set."""
    for name, value in options.items():
        require(value is None, option(name), f"does not apply to {why}; leave it out.")


def model_of(path: Path, missing: str | None, k: int | None = None) -> RankingModel:
    """Load the model of a file, or that of a run (with k features). It uses its training medians if --missing asks
    for them."""
    from sparserank.model.size_models import load_model

    model = load_model(path, k=k)
    if k is not None and len(model.columns) != k:
        screen.note(f"no model has {k} features; the best smaller one, with {len(model.columns)}, is used.")
    return model.with_missing(missing) if missing == "model" else model
