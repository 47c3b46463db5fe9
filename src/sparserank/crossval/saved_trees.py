"""Scores of trees that LightGBM saved, by its own prediction on the columns that the file names."""

from __future__ import annotations

import os

import numpy as np

from sparserank.crossval.tree_columns import TreeColumns, categories_of, columns_of_table, is_text, levels_of, places
from sparserank.crossval.tree_files import read_tree_file
from sparserank.crossval.trees import lightgbm_here
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.text import brief


def scores_of_saved(path: str | os.PathLike, data: RankingDataset) -> np.ndarray:
    """(n_docs,) scores in the order of the input.

    Raises
        DataError   LightGBM is missing, the data lack a column or have it in another form, or the scores are of no use
    """
    file, columns = read_tree_file(path), columns_of_table(data)
    place = places(file.features, columns)
    first = categories_of(file, place, data)
    numbers = [values for values in file.categories if not any(isinstance(value, str) for value in values)]
    recoded = any(values != tuple(range(len(values))) for values in numbers)
    for name in (name for name in file.features if name not in file.constant):
        if name not in place:
            raise DataError(f"{path}: needs the feature {brief(name)}, but the data have {brief(', '.join(columns))}.")
        unknown = is_text(data, place[name]) or (name in file.settings.categorical and recoded)
        if unknown and place[name] not in first:
            raise DataError(
                f"{path}: has no list of categories for {brief(name)}, so it cannot be known which number stands for "
                "which of them; score the documents with LightGBM and give the scores."
            )
    for name, values in first.items():
        held = levels_of(name, [data])
        if held and set(held).isdisjoint(values):
            raise DataError(
                f"{path}: {brief(name)} has categories such as {brief(values[0])} there, but {brief(held[0])} in the data; "
                "write them alike."
            )
    table = TreeColumns(tuple(place.get(name, name) for name in file.features), first)
    scores = np.asarray(lightgbm_here().Booster(model_file=str(path)).predict(table.of(data).X))
    if scores.shape != (data.n_docs,) or not np.isfinite(scores).all():
        raise DataError(f"{path}: its scores are not one finite number for each document.")
    return data.to_input_order(scores)
