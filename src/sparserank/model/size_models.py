"""The file with the best model of every size that a selection tried; loading a model from a file, or by its size."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparserank.errors import ModelFormatError
from sparserank.files import StrPath, atomic_write
from sparserank.model.file_format import FORMAT_OF_SIZES as FORMAT
from sparserank.model.file_format import FORMAT_VERSION as MODEL_VERSION
from sparserank.model.file_format import fields_of
from sparserank.model.model_file import read_content, read_model
from sparserank.model.ranking_model import RankingModel
from sparserank.options import Count, option
from sparserank.options.arguments import check_arguments
from sparserank.strict_json import LIST, Json, part
from sparserank.text import brief

FILE = "models.json"
FORMAT_VERSION = 1
NAMES = "feature_names_in"  # feature names, the same for all models and stored once


def save_size_models(models: Sequence[RankingModel], means: Sequence[float], path: StrPath) -> None:
    """Write one model per size. means: mean metric of each model, which decides between several models that are small
    enough.

    Raises
        DataError           as `RankingModel.to_json`
        RunDirectoryError   the file cannot be written
    """
    entries = []
    for model, mean in zip(models, means, strict=True):
        content = model.to_json()
        entries.append(
            {"mean": float(mean), **{name: v for name, v in content.items() if name not in (NAMES, "format")}}
        )
    names = [str(name) for name in models[0].feature_names] if models else []
    content = {"format": FORMAT, "version": FORMAT_VERSION, NAMES: names, "models": entries}
    with atomic_write(path) as out:
        out.write(json.dumps(content, indent=1, allow_nan=False) + "\n")


def best_within(sizes: Sequence[int], means: Sequence[float], k: int) -> int | None:
    """The position of the model with k features or, if there is none, of the best model with fewer; None if all models
    are larger."""
    within = [i for i, n in enumerate(sizes) if n <= k]
    exact = [i for i in within if sizes[i] == k]
    return max(exact or within, key=lambda i: (means[i], -sizes[i]), default=None)


def load_size_model(path: StrPath, k: int) -> RankingModel:
    """Load the model of k features, or the best smaller one if no size is k. path: file, or directory of the run.

    Raises
        ParameterError     k is not a size
        ModelFormatError   not such a file, damaged, written by a newer version, or no model is that small
    """
    check_arguments(load_size_model, {"k": k}, k=Count())
    inside = Path(path).is_dir()
    path = Path(path) / FILE if inside else Path(path)
    if not path.exists():
        raise ModelFormatError(
            f"{path}: not found; run the selection again to get models of other sizes, or omit {option('k')}."
        )
    try:
        content = read_content(
            path, FORMAT, FORMAT_VERSION, "models.json that 'sparserank select' writes", links=not inside
        )
        entries = [_entry(e) for e in part(content, "models", LIST)]
        models = [RankingModel(**fields_of({**e, NAMES: part(content, NAMES, LIST)})) for e in entries]
        sizes = [len(m.columns) for m in models]
        if not entries:
            raise ValueError("it contains no model")
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{path}: damaged models file: {error}; run the selection again.") from error
    best = best_within(sizes, [e["mean"] for e in entries], k)
    if best is None:
        raise ModelFormatError(f"{path}: no model has at most {k} features; the smallest has {min(sizes)}.")
    return models[best]


def _entry(entry: Any) -> Json:
    if not isinstance(entry, dict) or type(entry.get("mean")) not in (int, float):
        raise ValueError(f"each model must be an object with a mean; got {brief(entry)}")
    part(entry, "features", LIST)
    version = entry.get("version")
    if type(version) is not int or not 1 <= version <= MODEL_VERSION:
        raise ValueError(f"the version of a model must be an integer from 1 to {MODEL_VERSION}; got {brief(version)}")
    return entry


def load_model(path: str | os.PathLike, *, k: int | None = None) -> RankingModel:
    """Read a model from its file.

    Nothing that the file names is imported or run, and unknown content is rejected.

    Parameters
    ----------
    path : path
        A model file, or the directory of a selection, from which the chosen model is loaded.
    k : int, optional
        Load the selection's model with k features instead. If no model has exactly k, the best smaller one is loaded.

    Returns
    -------
    RankingModel
        The model.

    Raises
    ------
    ModelFormatError
        The file is not a model file, is damaged, or was written by a newer version; or no model has at most k features.

    Examples
    --------
    >>> import tempfile
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> _ = sr.SparseRanker(k=2, penalty="mcp").fit(data.X, data.relevance, qid=data.qid).save(file)
    >>> len(sr.load_model(file).support)
    2
    """
    check_arguments(load_model, locals())
    if k is not None:
        return load_size_model(path, k)
    inside = Path(path).is_dir()
    trees = Path(path) / "trees.txt"
    if inside and trees.exists():
        raise ModelFormatError(
            f"{path}: is the run of {option('for_model')}, which has no model of ours; load its trees with "
            f"lightgbm.Booster(model_file={str(trees)!r}), or measure them by 'sparserank evaluate --system {trees}'."
        )
    return read_model(Path(path) / "model.json" if inside else path, links=not inside)
