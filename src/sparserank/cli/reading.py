"""Options for reading files, and what models require of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli import screen
from sparserank.cli.given import require
from sparserank.errors import DataError, DataFormatError, TooManyFeaturesError
from sparserank.options import option
from sparserank.quoting import brief

if TYPE_CHECKING:
    from sparserank.data.dataset import RankingDataset
    from sparserank.data.reading import Reading
    from sparserank.model.ranking_model import RankingModel


def reading_of(options: dict[str, Any], **fixed: Any) -> Reading:
    """Make a Reading from the reading options, which are removed from `options`, and values that the command fixes.

    Raises
        ParameterError   a value that is wrong for every file
    """
    from sparserank.data.reading import Reading

    names = [name for name in options if name in Reading.__dataclass_fields__]
    return Reading(**{name: options.pop(name) for name in names}, **fixed)


def for_models(
    reading: Reading, models: Sequence[RankingModel], data: Sequence[Path], index_base: int | None
) -> Reading:
    """Adapt a Reading to models. If the user sets no index_base, text begins at the number that the models know. If the
    user names no columns, read those that the models use from a table that has them. If the user sets no policy for
    missing values, leave them to models that can replace them."""
    from sparserank.data.missing import KEEP, MissingPolicy
    from sparserank.data.read_files import kind_of

    require_features(models)
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
    reading = _with_columns_of(reading, models, data)
    knows = any(m.fill_values is not None or m.medians is not None for m in models)
    return replace(reading, missing=KEEP) if policy is None and knows else reading


def read_for_models(
    reading: Reading, models: Sequence[RankingModel], data: Sequence[Path], index_base: int | None
) -> RankingDataset:
    """Read files as `for_models` says."""
    from sparserank.data.read_files import read_files

    adapted = for_models(reading, models, data, index_base)
    try:
        return read_files(data, adapted)
    except TooManyFeaturesError as error:
        remedy = f"read every file with {option('n_features', error.width)}, or remove the feature."
        said = str(error).replace(remedy, "remove the feature, which the model does not know.")
        raise DataFormatError(said if models else str(error)) from error


def require_features(models: Sequence[RankingModel]) -> None:
    """Raise DataError for a model that ranks runs instead of documents with features."""
    from sparserank.model.fusion import is_fusion

    if any(is_fusion(model) for model in models):
        raise DataError(
            "this model was made by 'sparserank fuse' and ranks runs, not documents with features. Use evaluate with "
            "--qrels and --runs, or fuse the runs first: sparserank predict MODEL RUNS... --run fused.run"
        )


def require_no_reading(why: str = "a model of fuse, which ranks runs", **options: Any) -> None:
    """Refuse options that say how features are read; None: not given."""
    given = next((name for name, value in options.items() if value is not None), None)
    require(given is None, option(given or ""), f"does not apply to {why}; leave it out.")


def of_reading(missing: str | None) -> str | None:
    """The value of --missing for the reader; None if the model replaces missing values."""
    return None if missing == "model" else missing


def model_of(path: Path, missing: str | None, k: int | None = None) -> RankingModel:
    """Load the model of a file, or that of a run (with k features). It uses its training medians if --missing asks
    for them."""
    from sparserank.model.loading import load_model

    model = load_model(path, k=k)
    if k is not None and len(model.support) != k:
        screen.note(f"no model has {k} features; the best smaller one, with {len(model.support)}, is used.")
    return model if of_reading(missing) == missing else model.with_missing(missing)


def _with_columns_of(reading: Reading, models: Sequence[RankingModel], data: Sequence[Path]) -> Reading:
    from sparserank.data.dataset import numbered
    from sparserank.data.read_files import TABLES, kind_of
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
