"""What users hold of results: frames, and pictures on their own axes."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparserank as sr
from sparserank.errors import DataError

mpl.use("Agg")
MADE = sr.datasets.make_ranking(40, (6, 12), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
QUICK: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 10, "cv": 2, "half_samples": 2, "rival": "none"}


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    return sr.select(MADE, **QUICK)


def test_tables_are_frames_of_pandas_and_without_it_of_arrow(
    result: sr.SelectionResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sr.fit_path(MADE, "l1", n_alphas=5)
    with_pandas = [result.table(), result.sizes(), path.to_table()]
    assert all(isinstance(t, pd.DataFrame) for t in with_pandas)
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    without = [result.table(), result.sizes(), path.to_table()]
    assert all(isinstance(t, pa.Table) for t in without)
    for a, b in zip(with_pandas, without, strict=True):
        assert list(a.columns) == b.column_names
        assert len(a) == b.num_rows
    assert with_pandas[0]["feature"].tolist() == without[0]["feature"].to_pylist()


def test_sizes_are_drawn_on_axes_that_are_given_and_on_new_ones(result: sr.SelectionResult) -> None:
    import matplotlib.pyplot as plt

    _, mine = plt.subplots()
    assert result.plot(mine) is mine
    new = result.plot()
    assert new is not mine
    for axes in (mine, new):
        (line,) = [own for own in axes.lines if own.get_label() == "best model of at most this size"]
        sizes, heights = line.get_data()
        assert list(sizes[:-1]) == [c.n_features for c in result.by_size]
        best = np.maximum.accumulate([c.mean for c in result.by_size])
        np.testing.assert_allclose(heights[:-1], 100 * (best / result.dense.mean - 1), atol=1e-9)
        assert heights[-1] == heights[-2]  # more features are no better
        assert axes.get_ylabel() == f"{result.metric} against all {result.dense.n_features} features, %"
        assert axes.get_xlabel() == "number of features"
        assert axes.get_legend() is not None
    plt.close("all")


def test_a_path_is_drawn_feature_by_feature() -> None:
    import matplotlib.pyplot as plt

    path = sr.fit_path(MADE, "l1", n_alphas=8)
    axes = path.plot()
    last = path.support(len(path.alphas) - 1)
    named = [own for own in axes.lines if own.get_label() in path.feature_names]
    assert {own.get_label() for own in named} <= {path.feature_names[j] for j in last}
    assert len(named) == min(len(last), 11)
    for own in named:
        j = path.feature_names.index(own.get_label())
        np.testing.assert_allclose(own.get_ydata(), path.weights()[1][:, list(path.weights()[0]).index(j)])
    plt.close("all")


def test_without_matplotlib_the_remedy_is_said(result: sr.SelectionResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(DataError, match=r"install it with: pip install 'sparserank\[report\]'"):
        result.plot()
