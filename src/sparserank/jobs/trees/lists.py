"""Lists of features that trees are tried on: their sources, and whole groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.trees import Trees
from sparserank.data.dataset import RankingDataset

GAIN, SHAP, RECURSIVE, RANDOM, OURS = "own gain", "SHAP", "recursive gain", "random", "ours"
LISTS = (GAIN, SHAP, RECURSIVE, RANDOM, OURS)


def on_list(name: str) -> str:
    """The name of trees on a list."""
    return f"trees on {name}"


def ranked(
    trees: Trees, train: RankingDataset, first: Sequence[int] = (), lists: Sequence[str] = (GAIN, SHAP)
) -> dict[str, np.ndarray]:
    """{list: all features of trees fitted to these data, the most important first}, with `first` at the front, for
    those of `lists` that have such an order."""
    front = np.array([j for j in first if j in trees.columns], dtype=np.int64)
    orders = {GAIN: trees.by_gain(), **({SHAP: trees.by_shap(train.X)} if SHAP in lists else {})}
    return {name: np.concatenate([front, order[~np.isin(order, front)]]) for name, order in orders.items()}


def whole_groups(features: np.ndarray, usable: np.ndarray, feature_groups: Sequence[int] | None) -> np.ndarray:
    """Some features with all usable features of their groups (n_features,), in rising order."""
    if feature_groups is None:
        return np.sort(features)
    of_feature = np.array(feature_groups)
    return usable[np.isin(of_feature[usable], of_feature[features])]


def largest_within(candidates: Sequence[Candidate], sizes: Sequence[int]) -> dict[int, Candidate]:
    """{k: the largest of some candidates of one maker with at most k features}, without candidates that already
    represent a smaller k."""
    out: dict[int, Candidate] = {}
    for k in sorted(sizes):
        c = max((c for c in candidates if c.k <= k), key=lambda c: c.k, default=None)
        if c is not None and c not in out.values():
            out[k] = c
    return out


def our_lists(
    candidate_set: CandidateSet, candidates: Sequence[Candidate], sizes: Sequence[int], folds: Sequence[int]
) -> dict[str, np.ndarray]:
    """The features of some candidates of one maker, at most k for each size, in every fold and on all queries (FINAL).
    The keys are the names that `lists_of_fold` reads."""
    found = largest_within(candidates, sizes)
    return {_named(f, k): candidate_set.features(c, f) for k, c in found.items() for f in (FINAL, *folds)}


def lists_of_fold(ours: Mapping[str, np.ndarray], f: int, sizes: Sequence[int]) -> dict[int, np.ndarray]:
    """{k: features} of our lists when a fold is left out."""
    return {k: ours[_named(f, k)] for k in sizes if _named(f, k) in ours}


def _named(f: int, k: int) -> str:
    return f"features|{f}|{k}"
