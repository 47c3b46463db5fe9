"""The main picture of a page: what lies close to the best is shown in full, what does not in a second panel, and
every ranker that is compared has a line with its name; the heading of the page."""

import re
import sys
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
from sparserank.metrics import parse_metric
from sparserank.pages import size_picture
from sparserank.pages.claims import MAX_HEADING, heading, how_sure, lead
from sparserank.pages.size_picture import MAIN, lines_of, quality_against_size, spread
from sparserank.selection.rivals import ComparedRival, RivalReport

mpl.use("Agg")
FULL = 0.5  # mean of all features


@pytest.fixture(autouse=True, scope="module")
def reports_without_pictures() -> None:
    """These tests read pictures."""


def candidate(n: int, mean: float) -> Candidate:
    return Candidate("l1", n, 0.0, n, n, float(n), np.full(30, mean))


def rival(name: str, percent: float, n_features: int = 59) -> ComparedRival:
    mean = FULL * (1 + percent / 100)
    return ComparedRival(name, n_features, mean, 0.0, -0.02, 0.02)


def shown(percents: dict[int, float], chosen: int, *rivals: ComparedRival, change: Any = None) -> Any:
    """What the picture needs of a result whose sizes are this much above all features, in percent."""
    by_size = [candidate(n, FULL * (1 + p / 100)) for n, p in percents.items()]
    beside = [
        SimpleNamespace(difference=c.mean - FULL, low=c.mean - FULL - 0.01, high=c.mean - FULL + 0.01) for c in by_size
    ]
    at = list(percents).index(chosen)
    return SimpleNamespace(
        choice=SimpleNamespace(by_cost=False, rule=Rule()),
        change=change,
        by_size=by_size,
        chosen=by_size[at],
        dense=candidate(59, FULL),
        n_dense=59,
        noun="feature",
        metric="ndcg@10",
        plan=SimpleNamespace(confidence=0.95, metric=parse_metric("ndcg@10")),
        rivals=RivalReport(rivals),
        all_features=SimpleNamespace(chosen=beside[at], sizes=tuple(beside)),
    )


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn."""
    found: list[Any] = []
    monkeypatch.setattr(size_picture, "to_svg", lambda figure, title: found.append(figure) or "")
    return found


def curve(axes: Any) -> Any:
    (line,) = [own for own in axes.lines if own.get_drawstyle() == "steps-post"]
    return line


def labels(axes: Any) -> dict[str, float]:
    """{name of a line: its height on the axis}"""
    return {t.get_text(): t.get_position()[1] for t in axes.texts}


POOR_WHEN_SMALL = {1: -62.0, 2: -35.0, 3: -14.0, 5: -4.0, 8: -1.0, 12: 0.4, 20: 1.0}


def test_what_is_close_to_the_best_is_shown_in_full_and_small_sizes_below(figures: list[Any]) -> None:
    quality_against_size(shown(POOR_WHEN_SMALL, 8, rival("LightGBM", -1.4)))
    main, below = figures[0].axes
    low, high = main.get_ylim()
    assert 1.0 - MAIN - 1.5 < low < -4.0
    assert 1.0 < high < 3.0
    assert below.get_ylim()[0] < -62.0 < below.get_ylim()[1] < -8.0
    for height in POOR_WHEN_SMALL.values():
        assert any(axes.get_ylim()[0] <= height <= axes.get_ylim()[1] for axes in (main, below))
    # The steps never fall, and are the same in both panels.
    for axes in (main, below):
        sizes, heights = curve(axes).get_data()
        assert list(sizes[:-1]) == list(POOR_WHEN_SMALL)
        np.testing.assert_allclose(heights[:-1], list(POOR_WHEN_SMALL.values()), atol=1e-9)


def test_each_ranker_is_a_line_with_its_name_and_figure(figures: list[Any]) -> None:
    rivals = (rival("LightGBM", 6.7), rival("poor", -30.0), rival("bm25 alone", -2.0, 1), rival("tf alone", -9.0, 1))
    quality_against_size(shown({1: -3.0, 2: -0.5}, 2, *rivals))
    main, below = figures[0].axes
    assert set(labels(main)) == {"LightGBM +6.7%", "bm25 alone -2.0%", "all 59 features"}
    assert set(labels(below)) == {"poor -30.0%"}
    assert main.get_ylim()[1] > 6.7
    across = {round(float(own.get_ydata()[0]), 6) for own in main.lines if list(own.get_xdata()) == [0, 1]}
    assert across >= {6.7, -2.0, 0.0}
    assert [r.name for r in lines_of(shown({1: 0.0}, 1, *rivals))] == ["bm25 alone", "LightGBM", "poor"]


def test_the_ranker_in_use_is_the_reference_where_there_is_one(figures: list[Any]) -> None:
    change = SimpleNamespace(mean=0.48, difference=0.02, low=-0.01, high=0.05)
    quality_against_size(shown({1: -3.0, 2: 0.0}, 2, change=change))
    (axes,) = figures[0].axes
    np.testing.assert_allclose(curve(axes).get_ydata()[:2], [100 * (0.485 / 0.48 - 1), 100 * (0.5 / 0.48 - 1)])
    assert set(labels(axes)) == {"today's ranker", "all 59 features +4.2%"}
    assert axes.get_ylabel() == "ndcg@10 against today's ranker, %"


def test_the_chosen_size_has_its_interval_and_may_lie_below_a_smaller_one(figures: list[Any]) -> None:
    quality_against_size(shown({1: -3.0, 2: 0.5, 3: 0.12}, 3))
    (axes,) = figures[0].axes  # one panel is enough where all sizes are close
    low, high = axes.get_ylim()
    assert -6.0 < low < -3.0
    assert 0.5 < high < 3.0
    (ring,) = [own for own in axes.lines if str(own.get_label()).startswith("chosen: ")]
    assert ring.get_label() == "chosen: 3 features, +0.1% (-1.9 to +2.2%)"
    assert ring.get_ydata()[0] == pytest.approx(0.12)
    np.testing.assert_allclose(curve(axes).get_ydata()[:3], [-3.0, 0.5, 0.5], atol=1e-9)
    (interval,) = [own for own in axes.lines if list(own.get_xdata()) == [3, 3]]
    np.testing.assert_allclose(interval.get_ydata(), [-1.88, 2.12], atol=1e-9)


def test_many_sizes_have_a_logarithmic_axis(figures: list[Any]) -> None:
    quality_against_size(shown({1: -3.0, 10: -0.5, 90: 0.2}, 10))
    (axes,) = figures[0].axes
    assert axes.get_xscale() == "log"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "2", "5", "10", "20", "50"]


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
        replace(candidate(n, 0.0), values=base + mean + noise * rng.standard_normal(n_queries))
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
            shortest = heading(choice, 123456, noun, better)
            assert len(shortest) <= MAX_HEADING
            assert "%" not in shortest
            assert "\n" not in shortest
    assert heading(chosen_by(Rule()), 12, "retriever") == "All 12 retrievers are needed"
    assert heading(chosen_by(Rule()), 13, "retriever", "LightGBM") == "12 of 13 retrievers; LightGBM is better"


def test_the_lead_is_short_and_its_figures_are_those_of_the_result(result: sr.SelectionResult) -> None:
    first, *warnings = lead(result)
    change = 100 * (result.chosen.mean / result.dense.mean - 1)
    numbers = re.findall(r"[-+]?\d+\.\d+", first)
    assert numbers[:2] == [f"{result.chosen.mean:.4f}", f"{result.dense.mean:.4f}"]
    assert float(numbers[2]) == pytest.approx(change, abs=0.0501)
    assert float(numbers[3]) == pytest.approx(result.choice.corrected_chosen, abs=0.00051)
    assert len(first) < 200
    assert sum(map(len, warnings)) < 250
    better = ComparedRival("LightGBM", 12, 0.99, -0.1, -0.2, 0.1)
    above = replace(result, rivals=RivalReport((better, rival("poor", -50.0))))
    (rivals,) = [text for text in lead(above) if "LightGBM" in text]
    assert "0.9900" in rivals
    assert "no difference shown" in rivals
    table = how_sure(above)
    assert table.folded
    assert all(len(row) == 3 for row in table.rows)
    figures = {row[0]: row[1] for row in table.rows}
    assert figures["ndcg@10 of the chosen model"] == f"{result.chosen.mean:.4f}"
    assert figures["expected on new queries"] == f"{result.choice.corrected_chosen:.4f}"
    assert any("LightGBM" in claim for claim in figures)


# -- what users hold of results: frames, and pictures on their own axes ----------------------------------------

MADE = sr.datasets.make_ranking(60, (6, 12), 12, n_informative=5, n_redundant=3, noise=0.5, random_state=1).data
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


def test_without_matplotlib_the_message_names_the_remedy(
    result: sr.SelectionResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(DataError, match=r"install it with: pip install 'sparserank\[report\]'"):
        result.plot()
