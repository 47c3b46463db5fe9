"""Scores of trees that LightGBM saved."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval.tree_files import parts_of_model, read_text
from sparserank.crossval.tree_rivals import NUMBERED, places
from sparserank.data.matrices import columns_dense
from sparserank.data.missing import KEEP
from sparserank.data.read_files import TABLES, kind_of, read_files
from sparserank.data.reading import Reading
from sparserank.errors import DataError, DataFormatError
from sparserank.options import option
from sparserank.text import brief

OTHERWISE = "or score the documents with LightGBM and pass the scores"
SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")  # required fields of a tree
OF_SPLITS = ("split_gain", "internal_value", "internal_weight", "internal_count")
OF_LEAVES = ("leaf_weight", "leaf_count")
FRACTIONS = {  # fields of a tree that are not whole numbers
    *("threshold", "split_gain", "internal_value", "internal_weight", "leaf_value", "leaf_weight", "shrinkage"),
    *("leaf_const", "leaf_coeff"),
}
KNOWN = {*SPLITS, *OF_SPLITS, *OF_LEAVES, *FRACTIONS, "num_leaves", "num_cat", "cat_boundaries", "cat_threshold"}
KNOWN |= {"is_linear", "num_features", "leaf_features"}
NUMBER = re.compile(r"[ 0-9.e+\-inf]*")  # characters of numbers that LightGBM and Python read alike
WHOLE = re.compile(r"[ 0-9-]*")


@dataclass(frozen=True, eq=False)
class SavedTrees:
    """A saved ensemble. features: names; used: numbers of the features that some split uses; categories: {number of a
    feature: its categories in pandas, in the order of their codes}."""

    path: Path
    booster: Any
    features: tuple[str, ...]
    used: tuple[int, ...]
    categories: dict[int, list[Any]]

    def scores(self, paths: Sequence[str | os.PathLike], reading: Reading) -> np.ndarray:
        """(n_docs,) scores of the documents in files of one kind, in the order of the input. Values that are missing
        are passed on as missing, unless the reading replaces them.

        Raises
            DataError   the files lack a feature that the trees use, or have it in another form
        """
        texts = [j for j in self.used if self._of_text(j)]
        numbers = [j for j in self.used if j not in texts]
        reading = replace(reading, featureless=False, missing=KEEP if reading.missing is None else reading.missing)
        if kind_of(paths[0]) in TABLES:
            from sparserank.data.tables.batches import open_table
            from sparserank.data.tables.roles import is_number

            schema = open_table(paths[0], kind_of(paths[0])).schema
            place = self._places(schema.names, str(paths[0]), named=True)
            if place:
                odd = next((j for j in numbers if not is_number(schema.field(place[j]).type)), None)
                if odd is not None:
                    raise DataError(
                        f"{paths[0]}: column {brief(schema.names[place[odd]])} is not numeric, as {self.path} needs "
                        f"it; convert it to numbers, {OTHERWISE}."
                    )
                columns = [schema.names[place[j]] for j in numbers]
                reading = replace(reading, feature_columns=columns, featureless=not columns)
            held = {j: self._codes(j, paths, replace(reading, featureless=True), schema.names[place[j]]) for j in texts}
        elif texts:
            raise DataError(
                f"{paths[0]}: contains no text, but {self.features[texts[0]]} of {self.path} is a category in text; "
                f"give a table, {OTHERWISE}."
            )
        else:
            held = {}
        data = read_files(list(paths), reading)
        X = np.full((data.n_docs, len(self.features)), np.nan)
        if numbers:
            place = self._places(data.feature_names or (), str(paths[0]), numbers=numbers)
            X[:, numbers] = columns_dense(data.X, np.array([place[j] for j in numbers]))
        for j, codes in held.items():
            X[:, j] = codes
        for j in (j for j in numbers if j in self.categories):
            known = {float(value): float(i) for i, value in enumerate(self.categories[j])}
            X[:, j] = self._coded(j, known, X[:, j].tolist(), [v for v in X[:, j].tolist() if v == v])
        scores = np.asarray(self.booster.predict(X))
        if scores.shape != (data.n_docs,) or not np.isfinite(scores).all():
            raise DataError(f"{self.path}: its scores are not one finite number per document; {OTHERWISE[3:]}.")
        return data.to_input_order(scores)

    def _of_text(self, j: int) -> bool:
        return any(isinstance(value, str) for value in self.categories.get(j, ()))

    def _places(
        self, names: Sequence[str], where: str, *, named: bool = False, numbers: Sequence[int] | None = None
    ) -> dict[int, int]:
        """{number of a used feature: its column}; named: {} if the trees have no names."""
        place = places(self.features, names)
        if named and self._nameless:
            return {}
        needed = self.used if numbers is None else numbers
        lacking = [self.features[j] for j in needed if self.features[j] not in place]
        if not lacking:
            return {j: place[self.features[j]] for j in self.used if self.features[j] in place}
        if self._nameless:
            raise DataError(
                f"{where}: has {len(names)} features, but {self.path} has {len(self.features)}, which have no names; "
                f"for text give {option('n_features', len(self.features))} if the last ones are absent, or "
                f"{option('index_base', 0)} if LightGBM itself read the training file, {OTHERWISE}."
            )
        raise DataError(f"{where}: has no feature {brief(lacking[0])}, which {self.path} uses; add it, {OTHERWISE}.")

    @property
    def _nameless(self) -> bool:
        return not self.categories and all(NUMBERED.fullmatch(name) for name in self.features)

    def _codes(self, j: int, paths: Sequence[str | os.PathLike], reading: Reading, column: str) -> np.ndarray:
        """(n_docs,) category codes of a text column, which is read like a column of document ids."""
        data = read_files(list(paths), replace(reading, feature_columns=None, docid=column))
        texts = [] if data.docid is None else data.docid.tolist()
        known = {str(value): float(i) for i, value in enumerate(self.categories[j])}
        return self._coded(j, known, texts, [text for text in texts if text])

    def _coded(self, j: int, known: dict[Any, float], values: Sequence[Any], present: Sequence[Any]) -> np.ndarray:
        if present and known.keys().isdisjoint(present):
            raise DataError(
                f"feature {brief(self.features[j])} has none of the categories that {self.path} knows (e.g. "
                f"{brief(next(iter(known)))}; the data have {brief(present[0])}); convert it, {OTHERWISE}."
            )
        return np.array([known.get(value, np.nan) for value in values])


def read_saved_trees(path: str | os.PathLike) -> SavedTrees:
    """Read a model file of LightGBM.

    Raises
        DataError         LightGBM is not installed
        DataFormatError   the file is damaged
    """
    file, text = Path(path), read_text(path)
    lines, trees, listed = parts_of_model(file, text)
    try:
        import lightgbm
    except ImportError:
        raise DataError(
            f"{file}: is a LightGBM model, and LightGBM is not installed; install it with: pip install "
            f"'sparserank[trees]', {OTHERWISE}."
        ) from None

    names = tuple(lines["feature_names"].split())
    if not lines.get("num_class") == lines.get("num_tree_per_iteration") == "1":
        raise DataError(f"{file}: scores classes, not documents; pass one score per document.")
    damaged = DataFormatError(f"{file}: is a LightGBM model that is damaged; save it again.")
    try:  # check first: LightGBM ends the process if it cannot parse a tree
        _check(lines, trees)
        held = text.rpartition("\npandas_categorical:")[2] if "\npandas_categorical:" in text else "null"
        categories = json.loads(held) or []
        _require(isinstance(categories, list) and all(isinstance(values, list) for values in categories))
        _require(all(isinstance(value, str | int | float) for values in categories for value in values))
        end = text.index("\nend of trees")  # cut off the parameters, because LightGBM prints unknown ones
        booster = lightgbm.Booster(model_str=f"{text[:end]}\nend of trees\n")
    except (ValueError, KeyError, RecursionError, lightgbm.basic.LightGBMError) as error:
        raise damaged from error
    chosen = dict(listed).get("categorical_feature", "")
    numbers = [int(c) for c in chosen.split(",") if c.isdecimal()]
    if categories and len(numbers) != len(categories):
        raise DataError(
            f"{file}: does not say which features the {len(categories)} lists of categories belong to; {OTHERWISE[3:]}."
        )
    splits = booster.feature_importance("split")
    used = tuple(int(j) for j in np.flatnonzero(splits > 0))
    return SavedTrees(file, booster, names, used, dict(zip(sorted(numbers), categories, strict=False)))


def _check(lines: dict[str, str], trees: Sequence[str]) -> None:
    """Raise ValueError or KeyError for a header or a tree that LightGBM could not traverse."""
    sizes = [len(f"Tree={i}\n{tree}\n".encode()) for i, tree in enumerate(trees)]
    n_features = len(lines["feature_names"].split())
    _require(list(map(int, lines["tree_sizes"].split())) == sizes)
    _require(len(lines["feature_infos"].split()) == n_features == int(lines["max_feature_idx"]) + 1)
    for tree in trees:
        _check_tree(tree, n_features)


def _check_tree(tree: str, n_features: int) -> None:
    given = [line.partition("=") for line in tree.splitlines() if line]
    _require(all(equals for _, equals, _ in given))
    held = {name: _numbers(name, value) for name, _, value in given if name in KNOWN}
    n, n_sets = (int(held[name].item()) for name in ("num_leaves", "num_cat"))
    linear = held.get("is_linear", np.zeros(1)).item()  # absent in files of earlier versions
    _require(n >= 1 and len(held["leaf_value"]) == n and linear in (0, 1))
    _require(len(held["shrinkage"]) == 1)
    lengths = {n - 1: (*SPLITS, *OF_SPLITS), n: OF_LEAVES}
    _require(all(len(held[name]) in (0, m) for m, names in lengths.items() for name in names if name in held))
    if n == 1:
        return
    feature, at, kind, left, right = (held[name] for name in SPLITS)
    _require(all(len(values) == n - 1 for values in (feature, at, kind, left, right)))
    for child in (left, right):  # LightGBM numbers children after their parents
        _require((((child < 0) & (child >= -n)) | ((child > np.arange(n - 1)) & (child <= n - 2))).all())
    _require(((feature >= 0) & (feature < n_features)).all() and ((kind >= 0) & (kind < 16)).all())
    at = at[kind % 2 == 1]
    if len(at):
        ends, sets = held["cat_boundaries"], held["cat_threshold"]
        _require(len(ends) == n_sets + 1 and ends[0] == 0 and ends[-1] == len(sets) and (np.diff(ends) >= 0).all())
        _require(((at >= 0) & (at < n_sets)).all() and (at == np.floor(at)).all() and (sets >= 0).all())
    if linear:
        _require(all(len(held[name]) == n for name in ("leaf_const", "num_features")))
        _require(((held["leaf_features"] >= 0) & (held["leaf_features"] < n_features)).all())
        _require(held["num_features"].sum() == len(held["leaf_features"]) == len(held["leaf_coeff"]))


def _numbers(name: str, value: str) -> np.ndarray:
    _require(NUMBER.fullmatch(value) is not None)
    numbers = np.array([float(x) for x in value.split()])
    _require(name == "split_gain" or np.isfinite(numbers).all())
    whole = name not in FRACTIONS
    _require(not whole or (WHOLE.fullmatch(value) is not None and (np.abs(numbers) < 2**32).all()))
    return numbers


def _require(holds: Any) -> None:
    if not holds:
        raise ValueError
