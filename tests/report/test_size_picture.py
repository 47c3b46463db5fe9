"""The main picture of a page, the heading and the lead; frames and pictures that results give."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparserank as sr
from sparserank.crossval.choice import Candidate, Rule, choose
from sparserank.errors import DataError
from sparserank.report import size_picture
from sparserank.report.page import how_sure, lead
from sparserank.report.size_picture import lines_of, quality_against_size, spread
from sparserank.selection.claims import MAX_HEADING, heading
from sparserank.selection.rivals import ComparedRival, RivalReport

mpl.use("Agg")


@pytest.fixture(autouse=True, scope="module")
def reports_without_pictures() -> None:
    """These tests read pictures."""


MADE = sr.datasets.make_ranking(60, (6, 12), 12, n_informative=5, n_redundant=3, noise=0.5, random_state=1).data
QUICK: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 10, "cv": 2, "half_samples": 2, "rival": "none"}
Panels = Callable[[sr.SelectionResult], Any]


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    return sr.select(MADE, **QUICK)


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> Panels:
    """The axes of a result's picture: one, or one for what is close to the best and one for what is not."""
    found: list[Any] = []
    monkeypatch.setattr(size_picture, "to_svg", lambda figure, title: found.append(figure) or "")

    def drawn(result: sr.SelectionResult) -> Any:
        quality_against_size(result)
        return found[-1].axes

    return drawn


def rival(name: str, percent: float, of: sr.SelectionResult, n_features: int = 59) -> ComparedRival:
    """So much above all features."""
    return ComparedRival(name, n_features, of.dense.mean * (1 + percent / 100), 0.0, -0.02, 0.02)


def labels(axes: Any) -> set[str]:
    return {t.get_text() for t in axes.texts}


def curve(axes: Any) -> tuple[list[float], np.ndarray]:
    """(sizes, heights) of the steps, without the end of the last one."""
    (line,) = [own for own in axes.lines if own.get_drawstyle() == "steps-post"]
    return list(line.get_xdata()[:-1]), line.get_ydata()[:-1]


def heights(result: sr.SelectionResult, reference: float) -> np.ndarray:
    """The best of at most each size, in percent."""
    return 100 * (np.maximum.accumulate([c.mean for c in result.by_size]) / reference - 1)


def test_what_is_close_to_the_best_is_shown_in_full_and_the_rest_below(result, panels, monkeypatch):
    """Every ranker is a line with its name and figure, in the panel of its height."""
    above, poor, single = (rival(*given, result) for given in (("LightGBM", 0.7), ("poor", -30.0), ("tf alone", -9.0)))
    others = (above, poor, rival("bm25 alone", -0.2, result, 1), replace(single, n_features=1))
    compared = replace(result, rivals=RivalReport(others))
    assert [r.name for r in lines_of(compared)] == ["bm25 alone", "LightGBM", "poor"]
    assert len(panels(replace(result, rivals=RivalReport(others[:1])))) == 1  # enough where all sizes are close
    monkeypatch.setattr(size_picture, "MAIN", 1.0)
    main, below = panels(compared)
    assert labels(main) == {"LightGBM +0.7%", "bm25 alone -0.2%", "all 12 features"}
    assert labels(below) == {"poor -30.0%"}
    across = {round(float(own.get_ydata()[0]), 6) for own in main.lines if list(own.get_xdata()) == [0, 1]}
    assert across >= {0.7, -0.2, 0.0}
    expected = heights(result, result.dense.mean)
    assert expected[0] < below.get_ylim()[1] < main.get_ylim()[0] + 1.0 < 0.7 < main.get_ylim()[1] < 2.0
    assert below.get_ylim()[0] < -30.0
    for axes in (main, below):
        assert curve(axes)[0] == [c.n_features for c in result.by_size]
        np.testing.assert_allclose(curve(axes)[1], expected, atol=1e-9)


def test_the_ranker_in_use_is_the_reference_where_there_is_one(result, panels):
    mean = 0.95 * result.dense.mean
    (axes,) = panels(
        replace(result, change=SimpleNamespace(n_features=5, mean=mean, difference=0.02, low=-0.01, high=0.05))
    )
    np.testing.assert_allclose(curve(axes)[1], heights(result, mean))
    assert labels(axes) == {"today's ranker", "all 12 features +5.3%"}
    assert axes.get_ylabel() == "ndcg@10 against today's ranker, %"


def test_the_chosen_size_has_its_interval_and_may_lie_below_a_smaller_one(result, panels, monkeypatch):
    chosen = replace(result.chosen, values=0.99 * result.dense.values)
    first = replace(result.by_size[0], values=result.dense.values)
    monkeypatch.setattr(sr.SelectionResult, "by_size", [first, chosen])
    monkeypatch.setattr(sr.SelectionResult, "chosen", chosen)
    beside = SimpleNamespace(low=-0.0295 * result.dense.mean, high=0.0098 * result.dense.mean)
    full = replace(result.all_features, difference=chosen.mean - result.dense.mean, low=beside.low, high=beside.high)
    (axes,) = panels(replace(result, all_features=replace(full, sizes=(beside, beside))))
    (ring,) = [own for own in axes.lines if str(own.get_label()).startswith("chosen: ")]
    assert ring.get_label() == f"chosen: {chosen.n_features} features, -1.0% (-3.0 to +1.0%)"
    assert ring.get_ydata()[0] == pytest.approx(-1.0)
    np.testing.assert_allclose(curve(axes)[1], [0.0, 0.0], atol=1e-9)  # the steps never fall
    (interval,) = [own for own in axes.lines if list(own.get_xdata()) == [chosen.n_features] * 2]
    np.testing.assert_allclose(interval.get_ydata(), [-2.95, 0.98], atol=1e-9)


def test_many_sizes_have_a_logarithmic_axis(result, panels, monkeypatch):
    assert panels(result)[0].get_xscale() == "linear"
    monkeypatch.setattr(size_picture, "MAX_LINEAR", result.by_size[-1].n_features - 1)
    (axes,) = panels(result)
    assert axes.get_xscale() == "log"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["5"]


def test_names_at_the_side_are_apart_and_in_order() -> None:
    for seed in range(20):
        places = np.sort(np.random.default_rng(seed).random(6)) ** 2
        assert (np.diff(spread(places.tolist(), 0.09)) >= 0.09 - 1e-9).all()
    assert spread([0.1, 0.5, 0.9], 0.09) == [0.1, 0.5, 0.9]


# -- the heading ------------------------------------------------------------------------------------------------------


def chosen_by(rule: Rule, n_queries: int = 400, noise: float = 0.01) -> Any:
    rng = np.random.default_rng(0)
    base = rng.random(n_queries)
    models = [
        Candidate("l1", n, 0.0, n, n, float(n), base + mean + noise * rng.standard_normal(n_queries))
        for n, mean in ((1, -0.2), (12, -0.001), (40, 0.0), (123456, 0.001))
    ]
    return choose(models, rule=rule)


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (chosen_by(Rule()), "12 of 123456 features are enough"),
        (chosen_by(Rule(k=1)), "1 of 123456 features, the best within the limit"),
        (chosen_by(Rule(margin=0.9)), "1 of 123456 features is enough"),
        (chosen_by(Rule(), 40, 0.5), None),
        (chosen_by(Rule(), 4, 1e-6), "12 of 123456 features: a best guess"),
    ],
)
def test_a_heading_is_one_line(choice: Any, text: str | None) -> None:
    assert text is None or heading(choice, 123456) == text
    for better in ("", "LightGBM", "a_file_with_a_long_name_in_a_folder/of_somebody_else/model.txt"):
        for noun in ("feature", "retriever"):
            shortest = heading(replace(choice, rule=replace(choice.rule, noun=noun)), 123456, better)
            assert len(shortest) <= MAX_HEADING
            assert "%" not in shortest
            assert "\n" not in shortest
    of_retrievers = chosen_by(Rule(noun="retriever"))
    assert heading(of_retrievers, 12) == "All 12 retrievers are kept"
    assert heading(of_retrievers, 13, "LightGBM") == "12 of 13 retrievers; LightGBM is better"


def test_the_lead_is_short_and_its_figures_are_those_of_the_result(result: sr.SelectionResult) -> None:
    quality, expected, *warnings = lead(result.claims)
    first = f"{quality} {expected}"
    change = 100 * (result.chosen.mean / result.dense.mean - 1)
    numbers = re.findall(r"[-+]?\d+\.\d+", first)
    assert numbers[:2] == [f"{result.chosen.mean:.4f}", f"{result.dense.mean:.4f}"]
    assert float(numbers[2]) == pytest.approx(change, abs=0.0501)
    assert float(numbers[3]) == pytest.approx(result.choice.corrected_chosen, abs=0.00051)
    assert len(first) < 200
    assert sum(map(len, warnings)) < 250
    better = ComparedRival("LightGBM", 12, 0.99, -0.1, -0.2, 0.1)
    above = replace(result, rivals=RivalReport((better, rival("poor", -50.0, result))))
    (rivals,) = [text for text in lead(above.claims) if text.startswith("Chosen against LightGBM")]
    assert "0.9900" in rivals
    assert "no difference is shown" in rivals
    table = how_sure(above.claims)
    assert table.folded
    assert all(len(row) == 3 for row in table.rows)
    figures = {row[0]: row[1] for row in table.rows}
    assert figures["mean of the chosen model"] == f"{result.chosen.mean:.4f}"
    assert figures["expected on new queries"] == f"{result.choice.corrected_chosen:.4f}"
    assert any("LightGBM" in claim for claim in figures)


# -- what users hold of results: frames, and pictures on their own axes ----------------------------------------


def test_tables_are_frames_of_pandas_and_without_it_of_arrow(result, monkeypatch):
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
    best = np.maximum.accumulate([c.mean for c in result.by_size])
    for axes in (mine, new):
        (line,) = [own for own in axes.lines if own.get_label() == "best model of at most this size"]
        sizes, heights = line.get_data()
        assert list(sizes[:-1]) == [c.n_features for c in result.by_size]
        np.testing.assert_allclose(heights[:-1], 100 * (best / result.dense.mean - 1), atol=1e-9)
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


def test_without_matplotlib_the_message_names_the_remedy(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(DataError, match=r"install it with: pip install 'sparserank\[report\]'"):
        result.plot()
