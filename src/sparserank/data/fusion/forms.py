"""How what a retriever returned becomes a feature: its scores, normalised within each list, or its ranks.

A document that the retriever did not return has 0, whatever the form; every form is >= 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparserank.data.fusion.returned import Returned
from sparserank.errors import DataError
from sparserank.quoting import brief


def _per_list(values: np.ndarray, lists: Returned) -> np.ndarray:
    """(n_entries,) of one value per list."""
    return np.repeat(values, lists.depths)


def min_max(lists: Returned, depth: int) -> np.ndarray:
    """(s - min) / (max - min); 1 where all scores of a list are equal."""
    low = np.minimum.reduceat(lists.score, lists.list_ptr[:-1])
    width = np.maximum.reduceat(lists.score, lists.list_ptr[:-1]) - low
    flat = _per_list(width == 0, lists)
    return np.where(flat, 1.0, (lists.score - _per_list(low, lists)) / _per_list(np.where(width == 0, 1, width), lists))


def l2(lists: Returned, depth: int) -> np.ndarray:
    """s / |s|, with |s| the Euclidean norm of the list; 0 where it is 0.

    Raises
        DataError   a score is negative: more would then be less than what is not returned
    """
    if lists.score.min() < 0:
        raise DataError(f"{lists.name}: l2 needs scores >= 0; use min-max, z-score or a form of ranks.")
    norm = np.sqrt(np.add.reduceat(lists.score**2, lists.list_ptr[:-1]))
    return lists.score / _per_list(np.where(norm == 0, 1.0, norm), lists)


def z_score(lists: Returned, depth: int) -> np.ndarray:
    """(s - mean) / sd of the list, minus its least value, which documents that are not returned get; the order of a
    query's documents is that of z-scores. 1 where all scores are equal."""
    n = lists.depths
    mean = np.add.reduceat(lists.score, lists.list_ptr[:-1]) / n
    deviation = np.sqrt(np.add.reduceat((lists.score - _per_list(mean, lists)) ** 2, lists.list_ptr[:-1]) / n)
    low = np.minimum.reduceat(lists.score, lists.list_ptr[:-1])
    flat = low == np.maximum.reduceat(lists.score, lists.list_ptr[:-1])
    scaled = (lists.score - _per_list(low, lists)) / _per_list(np.where(flat, 1.0, deviation), lists)
    return np.where(_per_list(flat, lists), 1.0, scaled)


def reciprocal_rank(lists: Returned, depth: int, k: int = 60) -> np.ndarray:
    """1 / (k + rank) (Cormack et al. 2009)."""
    return np.asarray(1.0 / (k + lists.rank))


def log_rank(lists: Returned, depth: int) -> np.ndarray:
    """log(1 + depth) - log(rank)."""
    return np.asarray(np.log1p(depth) - np.log(lists.rank))


def returned_at_all(lists: Returned, depth: int) -> np.ndarray:
    """1."""
    return np.ones(len(lists.document))


FORMS: dict[str, Callable[[Returned, int], np.ndarray]] = {
    "minmax": min_max,
    "l2": l2,
    "zscore": z_score,
    "rrf": reciprocal_rank,
    "rrf10": lambda lists, depth: reciprocal_rank(lists, depth, 10),
    "logrank": log_rank,
    "returned": returned_at_all,
}


def parse_form(name: object) -> str:
    """A name of FORMS.

    Raises
        DataError   there is no such form
    """
    if not isinstance(name, str) or name not in FORMS:
        raise DataError(f"forms are {', '.join(FORMS)}; got {brief(name)}.")
    return name
