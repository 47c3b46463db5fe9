"""A model by its file, or by the run that made it."""

from __future__ import annotations

import os
from pathlib import Path

from sparserank.model.model_file import read_model
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_size_model


def load_model(path: str | os.PathLike, *, k: int | None = None) -> RankingModel:
    """Read a model; nothing named in it is imported or run, and whatever does not belong there is refused.

    Parameters
        path   a model file, or the directory of a selection: its chosen model
        k      of a selection: its model of k features instead; where no size is k, the best of fewer
    Raises
        ModelFormatError   not a model file, damaged, or written by a newer version; no model is that small
    """
    if k is not None:
        return load_size_model(path, k)
    return read_model(Path(path) / "model.json" if Path(path).is_dir() else path)
