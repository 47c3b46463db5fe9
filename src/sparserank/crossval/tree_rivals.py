"""Trees as rivals: the tree ensembles that a job compares its models with."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval import trees
from sparserank.crossval.tree_files import read_tree_file
from sparserank.crossval.trees import TreeSettings, check_trees
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, ParameterError
from sparserank.text import brief

AUTO, NO, LIGHTGBM = "auto", "none", "lightgbm"  # words that select the rivals
MAX_VALUES = 200_000_000  # values of the training documents, of which LightGBM gets a dense copy
NUMBERED = re.compile(r"Column_\d+")  # LightGBM's names for unnamed features
AS_IN, WITHOUT = "LightGBM as in ", ", without "  # in the name of a rival: before its file, and before what it lacks
NAMED = 3  # features that a name lists


@dataclass(frozen=True, eq=False)
class TreeRival:
    """Trees that are trained on the folds of a job. columns: the features that they use; for_model: the value of
    `--for-model` that chooses features for them, 'lightgbm' or a file."""

    name: str
    settings: TreeSettings
    columns: np.ndarray
    for_model: str = "lightgbm"


@dataclass(frozen=True)
class LeftOut:
    """A rival that was not compared, and the reason, as a clause."""

    name: str
    reason: str


@dataclass(frozen=True)
class TreeRivals:
    """trees: rivals to compare; left_out: rivals that cannot be compared; notes: on a file's settings."""

    trees: tuple[TreeRival, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def tree_rivals(given: Any, data: RankingDataset, never: Collection[int] = (), *, here: bool = True) -> TreeRivals:
    """The requested tree rivals.

    Parameters
        given   'auto' (LightGBM, if it is installed), 'none' (or None), 'lightgbm', or a file: a
                model that LightGBM saved, or its parameters
        data    training queries; never: features that no model may use
        here    the data are in the memory of this process; if they are not, 'auto' leaves trees out
    Raises
        ParameterError     it is none of these
        DataFormatError    the file contains no settings
        DataError          'lightgbm' or a file was requested, and LightGBM is not installed
    """
    if given is None or (isinstance(given, str) and given == NO):
        return TreeRivals()
    columns = np.setdiff1d(np.arange(data.n_features), list(never))
    found = TreeRivals((TreeRival("LightGBM", trees.LIGHTGBM_SETTINGS, columns),))
    if isinstance(given, str) and given == AUTO:
        if not is_installed():
            return TreeRivals()
        if not here or data.is_stored:
            return _none(found, "the training data are not in the memory of one process")
    elif not (isinstance(given, str) and given == LIGHTGBM):
        found = _of_file(given, data, columns)
    try:
        check_trees(data)
    except DataError as error:
        if importlib.util.find_spec("lightgbm") is None:
            raise
        return _none(found, str(error).rstrip("."))
    if data.n_docs * len(columns) > MAX_VALUES:
        return _none(found, f"trees need a dense copy of the data, which would have more than {MAX_VALUES:,} values")
    return found


def is_installed() -> bool:
    """True if LightGBM is installed, so that trees are compared by default."""
    return importlib.util.find_spec("lightgbm") is not None


def _none(found: TreeRivals, reason: str) -> TreeRivals:
    return TreeRivals((), tuple(LeftOut(rival.name, reason) for rival in found.trees), found.notes)


def _of_file(given: Any, data: RankingDataset, columns: np.ndarray) -> TreeRivals:
    if not is_file(given):
        raise ParameterError(
            "rival", f"must be {AUTO}, {NO}, {LIGHTGBM}, or an existing LightGBM file; got {brief(given)}."
        )
    rival, notes = rival_of_file(given, data.feature_names or (), columns)
    return TreeRivals((rival,), (), notes)


def is_file(given: Any) -> bool:
    """True if this is the path of an existing file."""
    try:
        return isinstance(given, str | os.PathLike) and Path(given).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False


def rival_of_file(
    path: str | os.PathLike, names: Sequence[str], columns: np.ndarray
) -> tuple[TreeRival, tuple[str, ...]]:
    """(trees with the settings in a file, on those of these columns that the file names, notes on them)

    Raises
        DataFormatError   the file contains no settings
    """
    file, name = read_tree_file(path), f"{AS_IN}{Path(path).name}"
    place = places(file.features, names)
    found = [place[known] for known in file.features if known in place]
    own = np.intersect1d(columns, found) if found else columns
    missing = [known for known in file.features if known not in place] if found else []
    categorical = [c for c in file.settings.categorical if c in place]
    settings = replace(file.settings, categorical=tuple(names[place[c]] for c in categorical))
    said = list(file.said)
    if missing:
        said.append(f"features that the data do not have ({brief(', '.join(missing))})")
    unknown = [c for c in file.settings.categorical if c not in place and c not in missing]
    if unknown:
        said.append(f"categorical features that the data do not have ({brief(', '.join(unknown))})")
    if file.features and not found:
        said.append("its feature list, because the data have none of these features, so it uses all features")
    notes = [f"{name} does not use {'; '.join(said)}."] if said else []
    notes.append(
        f"{name} has {file.settings.n_trees} trees. If its settings were tuned on these queries, its mean is "
        "optimistically biased."
    )
    used = set(own.tolist())
    given = [*file.features, *unknown] if found else unknown
    lacking = [n for n in dict.fromkeys(given) if n not in file.constant and place.get(n) not in used]
    if file.features and not found:
        name += f"{WITHOUT}its own features"
    elif lacking:
        more = len(lacking) - NAMED
        name += f"{WITHOUT}{', '.join(lacking[:NAMED])}{f' and {more} more' if more > 0 else ''}"
    return TreeRival(name, settings, own, os.fspath(path)), tuple(notes)


def places(known: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """{feature name in the trees: column}: matched by name (LightGBM replaces blanks in names), or by number if the
    trees have no feature names and as many features as the data."""
    if known and all(NUMBERED.fullmatch(name) for name in known):
        return {f"Column_{j}": j for j in range(len(names))} if len(known) == len(names) else {}
    return {**{re.sub(r"\s", "_", name): j for j, name in enumerate(names)}, **{n: j for j, n in enumerate(names)}}
