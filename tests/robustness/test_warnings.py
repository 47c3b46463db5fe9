"""A warning names the line of the user's code, however deep in the package it is issued."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.errors import ConvergenceWarning, DataWarning, warn_caller

DATA = sr.datasets.make_ranking(20, 8, 6, n_informative=2, n_redundant=1, random_state=0).data
RUN = {str(q): {"a": 2.0, "b": 1.0} for q in range(3)}
FAST: dict[str, Any] = {"fast": True, "penalties": "l1", "feature_transform": "none"}


def frame() -> pd.DataFrame:
    table = pd.DataFrame(DATA.X, columns=list(DATA.names)).assign(qid=DATA.qid, label=DATA.relevance)
    return table.assign(title=[f"text {i}" for i in range(len(table))])


def scattered(folder: Path) -> Path:
    """Ranking text in which the documents of a query are not consecutive."""
    sr.write_letor(DATA, folder / "t.txt")
    lines = (folder / "t.txt").read_text(encoding="utf-8").splitlines()
    (folder / "t.txt").write_text("\n".join(lines[::2] + lines[1::2]) + "\n", encoding="utf-8")
    return folder / "t.txt"


CALLS: dict[str, Callable[[Path], Any]] = {
    "read, text": lambda folder: sr.read(scattered(folder)),
    "read, frame": lambda _: sr.read(frame()),
    "select, text": lambda folder: sr.select(scattered(folder), **FAST),
    "select, frame": lambda _: sr.select(frame(), **FAST),
    "select, lists": lambda _: sr.select(frame(), for_model="lightgbm", k=2, sizes=[2], cv=2),
    "fit_path": lambda _: sr.fit_path(DATA, n_alphas=5, max_iter=1),
    "rank": lambda _: sr.SparseRanker(max_iter=1, alpha_ratio=0.01).fit_dataset(DATA),
    "fit": lambda _: sr.SparseRanker(max_iter=1, alpha_ratio=0.01).fit(DATA.X, DATA.relevance, qid=DATA.qid),
    "evaluate, arrays": lambda _: sr.evaluate(np.arange(2000.0), np.arange(2000) % 2, "map"),
    "evaluate, run": lambda _: sr.evaluate(RUN, {"0": {"x": 1}}, "map"),
    "compare_systems": lambda _: sr.compare_systems({"a": RUN}, {"0": {"x": 1}}, "map"),
    "papers": lambda _: sr.papers.FenchelRank(max_iter=2).fit_dataset(DATA),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_caller(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](tmp_path)
    ours = [w for w in caught if issubclass(w.category, DataWarning | ConvergenceWarning)]
    assert ours
    assert {w.filename for w in ours} == {__file__}, [(str(w.message), w.filename, w.lineno) for w in ours]


def test_frames_of_other_packages_between_do_not_matter() -> None:
    """A call of the package that goes through another module back into the package, as through a decorator."""
    between = {"__name__": "elsewhere", "warn_caller": warn_caller}
    exec("def inner(): warn_caller('now')", between)
    package = {"__name__": "sparserank.made", "inner": between["inner"]}
    exec("def job(): inner()", package)
    with pytest.warns(DataWarning, match="now") as caught:
        package["job"]()
    assert caught[0].filename == __file__
