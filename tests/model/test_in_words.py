"""A model in words: what is said of each feature is true of its contribution."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.model.in_words import EDGE, SMALL, in_words, parts_of
from sparserank.model.training_record import with_training_record
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.support.command_line import Cli
from tests.support.models import rebuilt, scaling_of


def most_turns(heights: np.ndarray, least: float) -> int:
    """The oracle: the largest number of alternating swings of more than `least`, over all subsequences."""
    best = {(i, up): 0 for i in range(len(heights)) for up in (True, False)}  # that end at i with this direction
    for j in range(len(heights)):
        for i in range(j):
            for up in (True, False):
                swing = heights[j] - heights[i] if up else heights[i] - heights[j]
                if swing > least:
                    best[j, up] = max(best[j, up], 1 + best[i, not up])
    return max(best.values())


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_the_swings_that_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    heights = np.round(np.cumsum(rng.standard_normal(n)), 1) if seed % 2 else rng.integers(0, 12, n).astype(float)
    at = np.cumsum(rng.uniform(0.1, 2.0, n))
    at[0] = -np.inf
    range_ = float(np.ptp(heights))
    parts = parts_of(at, heights)
    assert len(parts) == (most_turns(heights, SMALL * range_) if range_ else 0)
    steps = StepFunction(at[1:], heights)
    for part, later in zip(parts, [*parts[1:], None], strict=True):
        low, high = steps(np.array([part.low, np.nextafter(part.high, np.inf)]))
        change = (high - low) * (1 if part.rises else -1)
        assert change >= (1 - 2 * EDGE) * SMALL * range_ * (1 - 1e-9)
        assert part.low <= part.high
        if later is not None:
            assert later.rises != part.rises
            assert part.high <= later.low


def model(**more: object) -> sr.RankingModel:
    none = FeatureScaling("none", np.zeros(4), np.ones(4))
    return sr.RankingModel.from_arrays(
        np.array([0.5, -2.0, 0.0, 1.0]), ("price", "clicks", "unused", "age"), none, **more
    )


def test_levels_and_missing_values_are_named() -> None:
    names = ("brand=acme", "brand is missing", "clicks", "clicks is missing", *(f"color={c}" for c in "abcdefg"))
    of = {"brand=acme": ("brand", "acme"), "brand is missing": ("brand", ""), "clicks is missing": ("clicks", None)}
    derived = {n: Derived(*known) for n, known in {**of, **{f"color={c}": ("color", c) for c in "abcdefg"}}.items()}
    d = len(names)
    none = FeatureScaling("none", np.zeros(d), np.ones(d))
    steps = {3: StepFunction(np.array([0.5]), np.array([1.0, -1.0]))}
    coef = np.array([20.0, -10.0, -9.0, -5.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, -0.1])
    found = sr.RankingModel.from_arrays(coef, names, none, steps=steps, derived=derived)
    assert in_words(found) == {
        "brand": "A document is raised if brand is acme, and lowered if brand is missing.",
        "clicks": "A larger clicks lowers a document. A missing value raises it, compared with the median.",
        "color": "A document is raised if color is f, e, d, c or one of 2 others, and lowered if color is g.",
    }


def test_sentences_name_directions_and_values_in_the_units_of_the_feature() -> None:
    assert in_words(model()) == {
        "clicks": "A larger clicks lowers a document.",
        "age": "A larger age raises a document.",
        "price": "A larger price raises a document.",
    }
    log = Transform(("none", "log", "none", "none"), np.ones(4))
    hump = StepFunction(np.array([0.0, 7.0, 150.0, 200.0]), np.array([0.0, 0.5, 1.0, 0.0, -1.0]))
    rising = StepFunction(np.array([2.0, 30.0, 31.0]), np.array([-1.0, 0.0, 0.02, 1.0]))
    found = in_words(model(transform=log, steps={3: hump, 0: rising}))
    assert found["clicks"] == "A larger clicks lowers a document, by less the further it is from 0."
    assert found["age"] == (
        "A larger age raises a document between 0 and 7, then lowers it between 150 and 200; elsewhere little changes."
    )
    assert found["price"] == "A larger price raises a document between 2 and 31; elsewhere little changes."
    years = StepFunction(np.array([1990.0, 2003.5, 2015.0, 2024.0]), np.array([0.0, 0.5, 1.0, 0.5, 0.0]))
    found = in_words(model(steps={0: years, 1: StepFunction(1.7e9 + np.array([0.0, 5e6]), np.array([0.0, -1.0, 1.0]))}))
    assert "between 1990 and 2003.5, then lowers it between 2015 and 2024;" in found["price"]
    assert "when it passes 1700000000, then lowers it when it passes 1705000000;" in found["clicks"]
    flat = StepFunction(np.array([2.0]), np.array([1.0, 1.0]))
    assert in_words(model(steps={0: flat}))["price"] == "price changes nothing."
    once = StepFunction(np.array([6.5]), np.array([1.0, -1.0]))
    assert in_words(model(steps={1: once}))["clicks"] == (
        "A larger clicks raises a document when it passes 6.5; elsewhere little changes."
    )


def test_the_command_says_it_without_data(cli_here: Cli, tmp_path: Path) -> None:
    model().save(tmp_path / "m.json")
    said = list(in_words(model()).values())
    assert cli_here("explain", "m.json", "--plain").done.out.splitlines() == said
    assert json.loads(cli_here("explain", "m.json", "--plain", "--format", "json").done.out) == in_words(model())
    for wrong in (("m.json", "--plain", "--query", "1"), ("m.json",), ("m.json", "data.txt")):
        refused = cli_here("explain", *wrong)
        assert refused.code == 2
        assert "--plain" in refused.err


def test_explain_names_the_step_of_each_value() -> None:
    steps = StepFunction(np.array([1.0, 4.0]), np.array([-1.0, 0.0, 2.0]))
    heights = {(None, 1.0): -1.0, (1.0, 4.0): 0.0, (4.0, None): 2.0}
    for x in (0.5, 1.0, 1.5, 4.0, 9.0):
        assert heights[steps.step_of(x)] == steps(np.array([x]))[0]
    X = np.array([[0.5, 1.0, 0.0, 3.0], [9.0, 1.0, 0.0, 2.0]])
    data = sr.RankingDataset(
        X, [1.0, 0.0], [7, 7], docid=["a", "b"], feature_names=("price", "clicks", "unused", "age")
    )
    found = sr.explain_query(model(steps={0: steps}), data, 7).pair("a", "b")
    ends = {row["feature"]: (row["above_step"], row["below_step"]) for row in found}
    assert ends == {"price": ((None, 1.0), (4.0, None)), "clicks": (None, None), "age": (None, None)}


def recorded(own: list[float], n_missing: int, fill: float, *, known: bool = True) -> sr.RankingModel:
    """A model that reads price first, with the record of its own values and of missing ones; known: the data say which
    were missing."""
    price = np.array([*own, *[fill] * n_missing])
    X = np.column_stack([price, np.zeros((len(price), 3))])
    missing = np.zeros(X.shape, dtype=bool)
    missing[len(own) :, 0] = True
    names = model().feature_names
    fills = np.array([fill, np.nan, np.nan, np.nan])
    told = {"filled": missing if known else None, "fill_values": fills}
    data = sr.RankingDataset(X, np.zeros(len(X)), np.arange(len(X)) // 10, None, names, **told)
    data = data if known else replace(data, filled=None)
    trained = model(fill_values=fills, medians=np.array([0.5, np.nan, np.nan, np.nan]))
    return with_training_record([trained], data)[0]


OWN = np.linspace(0.1, 0.9, 90).tolist()


def test_what_only_missing_values_reach_is_not_told() -> None:
    many = StepFunction(np.array([0.2, 0.8, 1.7]), np.array([0.0, 0.5, 1.0, -1.0]))
    few = StepFunction(np.array([0.3, 1.7]), np.array([0.0, 1.0, -1.0]))
    for steps, where in ((many, "between 0.2 and 0.8"), (few, "when it passes 0.3")):
        for known in (True, False):
            filled = rebuilt(recorded(OWN, 10, 2.55, known=known), steps={0: steps})
            assert in_words(filled)["price"] == (
                f"A larger price raises a document {where}; elsewhere little changes. A missing value lowers it, "
                "compared with the median."
            )
        among_others = recorded([*OWN, 2.55], 10, 2.55)  # one value of 2.55 is its own
        assert "then lowers it" in in_words(rebuilt(among_others, steps={0: steps}))["price"]
        inside = recorded([*OWN, 2.55], 10, 0.5)
        assert "then lowers it" in in_words(rebuilt(inside, steps={0: steps}))["price"]
    low = recorded([*OWN, 2.55], 10, -1.0)
    steps = StepFunction(np.array([-0.5, 0.2]), np.array([1.0, 0.0, 1.0]))
    assert in_words(rebuilt(low, steps={0: steps}))["price"].startswith(
        "A larger price raises a document when it passes 0.2;"
    )


def test_booleans_are_told_in_their_words() -> None:
    names = ("in_stock", "clicks", "unused", "age")
    X = np.column_stack([[0.0, 1.0] * 30, np.arange(60.0), np.zeros(60), np.arange(60.0)])
    data = sr.RankingDataset(X, np.zeros(60), np.arange(60) // 10, None, names)
    plain = sr.RankingModel.from_arrays(model().coef, names, scaling_of(model()))
    metadata = with_training_record([plain], data)[0].metadata
    found = sr.RankingModel.from_arrays(model().coef, names, scaling_of(model()), metadata=metadata)
    assert in_words(found)["in_stock"] == "A document is raised if in stock."
    stumped = rebuilt(found, steps={0: StepFunction(np.array([0.5]), np.array([1.0, -1.0]))})
    assert sr.in_words(stumped)["in_stock"] == "A document is lowered if in stock."


def test_a_selection_orders_by_what_is_lost(tmp_path: Path, cli_here: Cli) -> None:
    problem = sr.datasets.make_ranking(60, 10, 8, n_informative=3, n_redundant=1).data
    result = sr.select(
        problem, penalties="l1", k=3, n_alphas=12, half_samples=0, feature_transform="none", rival="none", cv=3
    )
    lost = {row["feature"]: row["loss"] for row in result.facts.features}
    words = sr.in_words(result.model)
    assert list(words) == sorted(words, key=lambda name: -lost[name])
    for name, sentence in words.items():
        assert sentence.endswith(f" a document. Without it: ndcg@10 {-lost[name]:+.1f}%.")
    result.save(tmp_path / "run")
    assert cli_here("explain", "run", "--plain").done.out.splitlines() == list(words.values())
    other = next(m for m in result.models if len(m.support) == 2)
    assert sr.in_words(sr.load_model(tmp_path / "run", k=2)) == sr.in_words(other)
    assert all("Without it" in sentence for sentence in sr.in_words(other).values())
