"""Weights of queries and documents for the loss: those of options, or of files beside the data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.read import weight_files
from sparserank.errors import DataError, DataWarning, ParameterError
from sparserank.given_weights import usable_weights
from sparserank.options import option
from sparserank.quoting import brief
from sparserank.selection.inputs import read_query_weights

Weighted = tuple[RankingDataset, RankingDataset | None, np.ndarray | None]


def weighted(
    train: RankingDataset,
    valid: RankingDataset | None,
    given: Any,
    beside: Mapping[str, np.ndarray],
    protocol: str = "cv",
) -> Weighted:
    """(train and valid without queries of weight 0, weights of the remaining training queries or None).

    Parameters
        given     query_weight of the user: a file, a mapping, or weights; None: none
        beside    the weights of queries beside files, by name of the source, which are used if there is no `given`
        protocol  'holdout': the queries of `valid` are not learned from
    Raises
        ParameterError   the weights of `given` do not fit the queries
        DataError        every query has weight 0
    """
    learned = {"train": train} if valid is None or protocol == "holdout" else {"train": train, "validation": valid}
    if given is None and not beside.keys() & learned.keys():
        return train, valid, None
    ids = [str(q) for data in learned.values() for q in data.query_ids.tolist()]
    if given is None:
        given = np.concatenate([beside.get(name, np.ones(data.n_queries)) for name, data in learned.items()])
    if isinstance(given, str | os.PathLike):
        given = read_query_weights(given)
    if isinstance(given, Mapping):
        known = {str(q): w for q, w in given.items()}
        missing = next((q for q in ids if q not in known), None)
        if missing is not None:
            raise ParameterError("query_weight", f"contains no weight for query {brief(missing)}.")
        given = [known[q] for q in ids]
    weight = usable_weights(given, len(ids))
    if weight is None:
        raise ParameterError("query_weight", f"must contain one finite weight >= 0 for each of {len(ids)} queries.")
    if not weight.any():
        raise DataError("every query has weight 0; nothing is left to learn from.")
    kept, at = [], 0
    for data in learned.values():
        kept.append(data.take_queries(np.flatnonzero(weight[at : at + data.n_queries])))
        at += data.n_queries
    return kept[0], kept[1] if len(kept) > 1 else valid, weight[weight > 0]


def notes_of_side_weights(
    sources: Mapping[str, Any], beside: Mapping[str, np.ndarray], chosen: Mapping[str, Any], *, stacklevel: int = 4
) -> list[str]:
    """A note on the weights beside each source of training data, also issued as a warning."""
    said = []
    for name in ("train", "validation") if chosen.get("protocol") != "holdout" else ("train",):
        files = ", ".join(map(str, weight_files(sources.get(name))))
        what = "query_weight" if name in beside else "doc_weight"
        if files and chosen.get(what) is not None:
            said.append(f"{files}: not used, because {option(what)} replaces these weights.")
        elif files:
            said.append(f"{files}: these {'query' if name in beside else 'document'} weights are used in the loss.")
    for sentence in said:
        warnings.warn(sentence, DataWarning, stacklevel=stacklevel)
    return said
