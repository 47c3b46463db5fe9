"""Load a model from its file, or from the directory of its run."""

from __future__ import annotations

import os
from pathlib import Path

from sparserank.model.model_file import read_model
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_size_model
from sparserank.options.arguments import check_arguments


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
    return read_model(Path(path) / "model.json" if inside else path, links=not inside)
