"""LightGBM trained by hand on a pandas frame: categories as pandas has them, folds by rows."""

from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np

ALWAYS = {"deterministic": True, "force_row_wise": True, "verbosity": -1, "num_threads": 1, "data_random_seed": 0}


def out_of_fold(X: Any, y: Any, sizes: Sequence[int], fold: np.ndarray, settings: dict, n_trees: int, categorical: Any):
    """(n_docs,) scores of every row by trees of the other folds; bins are those of all rows. `categorical` names the
    columns whose values are categories, 'auto' for those of a category type."""
    scores = np.full(len(y), np.nan)
    for f in np.unique(fold):
        held = lightgbm.Dataset(
            X, y, group=sizes, params={**settings, **ALWAYS}, categorical_feature=categorical, free_raw_data=False
        )
        seen = held.subset(np.flatnonzero(fold != f).tolist())
        booster = lightgbm.train({**settings, **ALWAYS, "seed": int(f)}, seen, n_trees)
        scores[fold == f] = booster.predict(X[fold == f])
    return scores
