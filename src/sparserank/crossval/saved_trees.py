"""Scores of trees that LightGBM saved, by its own prediction on the columns that the file names."""

from __future__ import annotations

import os

import numpy as np

from sparserank.crossval.tree_files import read_tree_file
from sparserank.crossval.tree_rivals import rival_of_file
from sparserank.crossval.trees import saved_booster
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.text import brief


def scores_of_saved(path: str | os.PathLike, data: RankingDataset) -> np.ndarray:
    """(n_docs,) scores in the order of the input, as the trees give them.

    Raises
        DataError   LightGBM is missing, or the data lack a column or have it in another form
    """
    rival, _ = rival_of_file(path, data)
    if rival.lacks:
        raise DataError(f"{path}: needs {brief(', '.join(rival.lacks))}, which the data do not have; add the columns.")
    lists = [values for values in read_tree_file(path).categories if values != tuple(range(len(values)))]
    if len(lists) > len([known for known in rival.table.levels.values() if known]):
        raise DataError(f"{path}: does not say to which columns its categories belong; give its scores instead.")
    for name, known in rival.table.levels.items():
        held = [value for value in data.column(name).tolist() if value is not None and value == value]
        if held and set(held).isdisjoint(known):
            there = brief(str(known[0])) if known else "a number"
            raise DataError(
                f"{path}: has {there} for {brief(name)} where the data have {brief(str(held[0]))}; convert it."
            )
    return data.to_input_order(saved_booster(path).predict(rival.table.of(data).X))
