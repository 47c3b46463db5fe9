"""A warning names the line of the user's code, however deep in the package it is issued."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import sparserank as sr
from sparserank.errors import ConvergenceWarning, DataWarning, warn_caller
from sparserank.execution import one_blas_thread
from sparserank.workdir import work
from sparserank.workdir.work import Work

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


def located(call: Callable[[], Any]) -> list[tuple[str, int]]:
    """File and line of each warning of the package in a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(w.filename, w.lineno) for w in caught if issubclass(w.category, DataWarning | ConvergenceWarning)]


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_caller(name: str, tmp_path: Path) -> None:
    call = CALLS[name]
    places = located(lambda: call(tmp_path))
    assert places
    assert set(places) == {(__file__, call.__code__.co_firstlineno)}


def test_through_scikit_learn_a_decorator_and_a_module_without_a_name() -> None:
    ranker = sr.SparseRanker(max_iter=1, alpha_ratio=0.01)
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", ranker)])
    with sklearn.config_context(enable_metadata_routing=False):
        calls = [
            lambda: pipeline.fit(DATA.X, DATA.relevance, rank__qid=DATA.qid),
            lambda: one_blas_thread()(warn_caller)("now"),
            lambda: exec("warn('now')", {"__name__": None, "warn": warn_caller}),
        ]
        found = [located(call) for call in calls]
    assert found[0] == [(__file__, calls[0].__code__.co_firstlineno)]
    assert found[1] == [(__file__, calls[1].__code__.co_firstlineno)]
    assert found[2] == [("<string>", 1)]


def test_in_a_callback_the_line_of_the_callback_counts() -> None:
    """The outermost call of the package, `select`, is not what warns."""

    def tell(*_: Any) -> None:
        sr.evaluate(RUN, {"0": {"x": 1}}, "map")

    line = tell.__code__.co_firstlineno + 1
    clean = DATA.take_queries(np.arange(10))
    assert set(located(lambda: sr.select(clean, progress=tell, cv=2, **FAST))) == {(__file__, line)}


def task(kind: str) -> str:
    if kind == "ours":
        warnings.warn("of the data", DataWarning, stacklevel=1)
    else:
        warnings.warn("of another package", DeprecationWarning, stacklevel=1)
    return kind


def test_of_worker_processes_only_our_warnings_name_the_caller() -> None:
    """Python shows a DeprecationWarning that names a user's script; users cannot mend those of other packages."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = {kind: kind for kind in ("ours", "other")}
        Work(names, n_workers=2).run(task, {kind: (kind,) for kind in names}, names)
    places = {w.category: w.filename for w in caught}
    assert places == {DataWarning: __file__, DeprecationWarning: work.__file__}
