"""Trees as rivals: the tree ensembles that a job compares its models with."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval import trees
from sparserank.crossval.tree_columns import (
    TreeColumns,
    categories_of,
    columns_of_table,
    is_text,
    levels_of,
    places,
)
from sparserank.crossval.tree_files import TreeFile, read_tree_file, refuse_objective
from sparserank.crossval.trees import BY_FEATURE, INTERACTIONS, TreeSettings, check_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.derived import sources_of
from sparserank.errors import DataError, ParameterError
from sparserank.number_checks import is_written_number
from sparserank.text import brief

AUTO, NO, LIGHTGBM = "auto", "none", "lightgbm"  # words that select the rivals
MAX_VALUES = 200_000_000  # values of the training documents, of which LightGBM gets a dense copy
AS_IN, WITHOUT = "LightGBM as in ", ", without "  # in the name of a rival: before its file, and before what it lacks
NAMED = 3  # features that a name lists


@dataclass(frozen=True, eq=False)
class TreeRival:
    """Trees that are trained on the folds of a job. table: the columns of the table that are their features; columns:
    the numbers of those that they use; for_model: the value of `--for-model` that chooses features for them, 'lightgbm'
    or a file; lacks: features of the file that the table does not have."""

    name: str
    settings: TreeSettings
    columns: np.ndarray
    table: TreeColumns
    for_model: str = "lightgbm"
    lacks: tuple[str, ...] = ()


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


def tree_rivals(
    given: Any, parts: Sequence[RankingDataset], never: Collection[int] = (), *, here: bool = True
) -> TreeRivals:
    """The requested tree rivals.

    Parameters
        given   'auto' (LightGBM, if it is installed), 'none' (or None), 'lightgbm', or a file: a
                model that LightGBM saved, or its parameters
        parts   training queries, then those that the trees score; never: features that our models may not use
        here    the data are in the memory of this process; if they are not, 'auto' leaves trees out
    Raises
        ParameterError     it is none of these
        DataFormatError    the file contains no settings
        DataError          'lightgbm' or a file was requested, and LightGBM is not installed
    """
    if given is None or (isinstance(given, str) and given == NO):
        return TreeRivals()
    data = parts[0]
    if isinstance(given, str) and given == AUTO and not is_installed():
        return TreeRivals()
    found = TreeRivals((default_rival(parts, never),))
    if isinstance(given, str) and given == AUTO:
        if not here or data.is_stored:
            return _none(found, "the training data are not in the memory of one process")
    elif not (isinstance(given, str) and given == LIGHTGBM):
        found = _of_file(given, parts)
    (rival,) = found.trees
    try:
        check_trees(data, rival.settings)
    except DataError as error:
        if importlib.util.find_spec("lightgbm") is None:
            raise
        return _none(found, str(error).rstrip("."))
    if data.n_docs * len(rival.columns) > MAX_VALUES:
        return _none(found, f"trees need a dense copy of the data, which would have more than {MAX_VALUES:,} values")
    return found


def is_installed() -> bool:
    """True if LightGBM is installed, so that trees are compared by default."""
    return importlib.util.find_spec("lightgbm") is not None


def _none(found: TreeRivals, reason: str) -> TreeRivals:
    return TreeRivals((), tuple(LeftOut(rival.name, reason) for rival in found.trees), found.notes)


def _of_file(given: Any, parts: Sequence[RankingDataset]) -> TreeRivals:
    if not is_file(given):
        raise ParameterError(
            "rival", f"must be {AUTO}, {NO}, {LIGHTGBM}, or an existing LightGBM file; got {brief(given)}."
        )
    rival, notes = rival_of_file(given, parts)
    return TreeRivals((rival,), (), notes)


def is_file(given: Any) -> bool:
    """True if this is the path of an existing file."""
    try:
        return isinstance(given, str | os.PathLike) and Path(given).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False


def columns_in(given: Any) -> tuple[str, ...]:
    """The features that a file names, if this is one."""
    file = read_tree_file(given) if is_file(given) else TreeFile(trees.LIGHTGBM_SETTINGS)
    return tuple(dict.fromkeys([*file.features, *file.settings.categorical]))


def rival_of_file(path: str | os.PathLike, parts: Sequence[RankingDataset]) -> tuple[TreeRival, tuple[str, ...]]:
    """(trees with the settings in a file, on those columns of the table that the file names, notes on them); parts: the
    data to learn from first, then all others.

    Raises
        DataFormatError   the file contains no settings
    """
    file, name, data = read_tree_file(path), f"{AS_IN}{Path(path).name}", parts[0]
    refuse_objective(path, file.settings)
    shared = _shared(parts)
    place = places(file.features, shared)
    known = [f for f in file.features if f in place]
    used = [place[f] for f in known] or [column for column in shared if column not in file.ignored]
    given = dict.fromkeys([*file.features, *file.settings.categorical])
    lacks = tuple(f for f in given if f not in place and f not in file.constant)
    said = list(file.said)
    if file.features and not known:
        lacks = ("its own features",)
        said.append("its feature list, because the table has none of these columns, so it uses all of them")
    # Categories are those that the file names, and text, except numbers in text that the file has as numbers.
    named = {place[c] for c in file.settings.categorical if c in place}
    texts = [c for c in used if is_text(data, c) and not (known and c not in named and _all_numbers(parts, c))]
    first = categories_of(file, place, data)
    levels = {c: levels_of(c, parts, first.get(c, ())) for c in used if c in texts or c in first}
    odd = [c for c in texts if known and c not in named and c not in first]
    # Values by feature are in the order of the file, or else of the table.
    of_file = list(file.features) or shared
    at = [of_file.index(f) for f in known or used] if known or not file.features else []
    off = [n for n, value in file.settings.others if n in BY_FEATURE and len(value.split(",")) != len(of_file)]
    off += [n for n in (*BY_FEATURE, INTERACTIONS) if not at and n in file.settings.parameters]
    said += [f"{n}, which does not have one value for each of the {len(of_file)} columns" for n in dict.fromkeys(off)]
    others = tuple((n, value) for n, value in file.settings.others if n not in off)
    settings = replace(file.settings, others=others, categorical=tuple(c for c in used if c in named or c in texts))
    notes = [f"{name} does not use {'; '.join(said)}."] if said else []
    if odd:
        notes.append(f"{name} takes {', '.join(odd)} as a category: text in the table, but a number in the file.")
    notes.append(
        f"{name} has {settings.n_trees} trees. If its settings were tuned on these queries, its mean is "
        "optimistically biased."
    )
    more = len(lacks) - NAMED
    if lacks:
        name += f"{WITHOUT}{', '.join(lacks[:NAMED])}{f' and {more} more' if more > 0 else ''}"
    table = TreeColumns(tuple(used), levels)
    rival = TreeRival(name, settings.on(at), np.arange(len(used)), table, os.fspath(path), lacks)
    return rival, tuple(notes)


def _all_numbers(parts: Sequence[RankingDataset], name: str) -> bool:
    return all(map(is_written_number, levels_of(name, parts)))


def _shared(parts: Sequence[RankingDataset]) -> list[str]:
    """The columns of the table that all parts have."""
    return [c for c in columns_of_table(parts[0]) if all(c in columns_of_table(part) for part in parts)]


def default_rival(parts: Sequence[RankingDataset], never: Collection[int] = ()) -> TreeRival:
    """Trees with our settings, on all columns of the table but those of which no feature may be used."""
    data, names = parts[0], _shared(parts)
    levels = {name: levels_of(name, parts) for name in names if name in data.columns}
    settings = replace(trees.LIGHTGBM_SETTINGS, categorical=tuple(levels))
    return TreeRival("LightGBM", settings, allowed(names, data, never), TreeColumns(tuple(names), levels))


def allowed(names: Sequence[str], data: RankingDataset, never: Collection[int]) -> np.ndarray:
    """The numbers of those of these columns of which some feature may be used, or none is made."""
    sources = sources_of(data.derived or {}, data.feature_names or ())
    out = {*sources}.difference(source for j, source in enumerate(sources) if j not in never)
    return np.flatnonzero([name not in out for name in names])
