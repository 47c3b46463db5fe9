"""The top of a selection's page: what it knows of each size, and what it shows without JavaScript."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.pages.differences import HEIGHT, MAX_BARS, drawn
from sparserank.pages.explorer import MAX_FEATURES, MAX_SIZES, SCRIPT, explorer

EVIL = "</script><img src=x onerror=alert(1)>"
MADE = sr.datasets.make_ranking(40, (6, 12), 12, n_informative=5, n_redundant=3, noise=0.5, random_state=1).data
QUICK: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 12, "cv": 2, "half_samples": 0, "rival": "none"}


def facts_of(block: str) -> dict[str, Any]:
    (content,) = re.findall(r'<script type="application/json">(.*?)</script>', block)
    return dict(json.loads(content))


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    names = [EVIL, *(f"f{j}" for j in range(1, 12))]
    signal = [name.startswith("signal") for name in MADE.feature_names or ()]
    order = sorted(range(12), key=lambda j: not signal[j])
    return sr.select(sr.RankingDataset(MADE.X[:, order], MADE.relevance, MADE.qid, None, names), **QUICK)


@pytest.fixture(scope="module")
def block(result: sr.SelectionResult) -> str:
    return explorer(result, "<figure></figure>")


def test_each_size_has_its_features_its_worth_and_its_command(result: sr.SelectionResult, block: str) -> None:
    facts = facts_of(block)
    assert len(facts["sizes"]) == len(result.by_size)
    for size, c, used, against in zip(
        facts["sizes"], result.by_size, result.used, result.all_features.sizes, strict=True
    ):
        assert {facts["names"][f] for f in size["features"]} == set(used)
        assert size["title"].startswith(f"{c.n_features} feature")
        of_size = "" if c is result.chosen else f" --k {c.n_features}"
        assert size["command"] == f"sparserank export RUN{of_size} --to sql"
        assert result.model_of(c.n_features).n_features == 12
        assert len(result.model_of(c.n_features).support) == c.n_features
        assert f" {result.all_features.mean + against.difference:.4f}," in size["worth"]
    assert result.by_size[facts["chosen"]] is result.chosen
    assert facts["sizes"][facts["chosen"]]["worth"].endswith("(chosen)")
    assert [s["worth"].endswith("(chosen)") for s in facts["sizes"]].count(True) == 1


def test_without_a_script_the_chosen_size_is_shown(result: sr.SelectionResult, block: str) -> None:
    chips = re.search(r'<ul class="chips">(.*?)</ul>', block)
    assert chips is not None
    shown = [re.sub(r" [-+]?[\d.]+%$", "", unescape(name)) for name in re.findall("<li>(.*?)</li>", chips[1])]
    assert set(shown) == {result.model.feature_names[j] for j in result.model.support}
    assert '<div class="slide" hidden>' in block
    at = facts_of(block)["chosen"]
    rows = re.findall(r"<tr>(.*?)</tr>", block)
    for row in rows:
        cells = re.findall(r"<t[hd][^>]*>", row)
        assert [k for k, cell in enumerate(cells) if "now" in cell] == [at + 1]


def test_the_matrix_has_a_mark_where_a_size_uses_a_feature(result: sr.SelectionResult, block: str) -> None:
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', block)
    assert {unescape(name) for name, _ in rows} == {name for used in result.used for name in used}
    for name, cells in rows:
        marks = [bool(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells)]
        assert marks == [unescape(name) in used for used in result.used]


def test_each_size_is_compared_with_each_reference_query_by_query(result: sr.SelectionResult, block: str) -> None:
    facts = facts_of(block)
    assert facts["beside"] == ["all features"]
    for size, c in zip(facts["sizes"], result.by_size, strict=True):
        won = sum(a > b for a, b in zip(c.values, result.dense.values, strict=True))
        lost = sum(a < b for a, b in zip(c.values, result.dense.values, strict=True))
        (found,) = size["beside"]
        assert found["said"].startswith(f"better on {won}, worse on {lost}, equal on {40 - won - lost} queries")
        assert found["won"].count("M") == won  # no more queries than bars: one for each
        assert found["lost"].count("M") == lost
        heights = [float(y) for y in re.findall(r"V([\d.]+)", found["lost"] + found["won"])]
        assert heights == sorted(heights, reverse=True)
        assert all(0 <= y <= HEIGHT for y in heights)
    at = facts["sizes"][facts["chosen"]]["beside"][0]
    assert f'd="{at["lost"]}"' in block
    assert f"<span>{at['said']}</span>" in block


def test_a_picture_of_differences_is_as_high_as_they_are_large() -> None:
    values, reference = np.array([0.5, 0.2, 0.9, np.nan, 0.4]), np.array([0.4, 0.6, 0.5, 0.1, 0.4])
    found = drawn(values, reference, 0.5)
    assert found["lost"] == f"M37.5 42V{42 * (1 + 0.4 / 0.5):.1f}"
    assert found["won"] == f"M187.5 42V{42 * (1 - 0.1 / 0.5):.1f}M262.5 42V{42 * (1 - 0.4 / 0.5):.1f}"
    assert found["said"] == "better on 2, worse on 1, equal on 1 queries; largest loss -0.40, largest gain +0.40"
    assert drawn(reference, values, 0.5) != found  # the other way round is another picture
    same = drawn(values, values, 0.5)
    assert same["said"] == "better on 0, worse on 0, equal on 4 queries; largest loss 0, largest gain 0"
    many = drawn(np.linspace(-1, 1, 1001), np.zeros(1001), 1.0)
    assert many["won"].count("M") + many["lost"].count("M") <= MAX_BARS


def test_names_are_neither_markup_nor_code(result: sr.SelectionResult, block: str) -> None:
    assert EVIL in facts_of(block)["names"]
    assert "<img" not in block
    assert block.count("<script") == block.count("</script>") == 2
    assert "innerHTML" not in SCRIPT
    assert "eval" not in SCRIPT


@pytest.mark.slow
def test_wide_selections_are_thinned_and_say_so() -> None:
    made = sr.datasets.make_ranking(60, (8, 14), 90, n_informative=40, n_redundant=20, noise=0.3, random_state=2).data
    found = sr.select(made, **{**QUICK, "penalties": "l1", "n_alphas": 80, "alpha_min_ratio": 0.005})
    block = explorer(found, "")
    facts = facts_of(block)
    assert len(found.by_size) > MAX_SIZES >= len(facts["sizes"]) > 30
    assert found.by_size[-1].n_features == int(facts["sizes"][-1]["size"])
    assert facts["sizes"][facts["chosen"]]["worth"].endswith("(chosen)")
    assert len(re.findall('<th scope="row">', block)) == MAX_FEATURES < len(facts["names"])
    assert f"{len(facts['names']) - MAX_FEATURES} more features are used only in larger models." in block


def test_a_chosen_model_that_is_not_the_best_of_its_size_has_its_place(result: sr.SelectionResult) -> None:
    """With costs the cheapest of the smallest is taken, and the best of that size may be another; so may one of two
    that are equal but for rounding."""
    at = result.by_size.index(result.chosen)
    size = result.chosen.n_features
    other = next(c for c in result.choice.sparse if c.n_features == size and c is not result.chosen)
    by_size = [other if i == at else c for i, c in enumerate(result.by_size)]
    facts = facts_of(explorer(replace(result, by_size=by_size), ""))
    shown = facts["sizes"][facts["chosen"]]
    assert facts["chosen"] == at
    assert {facts["names"][f] for f in shown["features"]} == {
        result.model.feature_names[j] for j in result.model.support
    }
    assert shown["command"] == "sparserank export RUN --to sql"
    assert shown["worth"].endswith("(chosen)")


def test_costs_of_features_leave_no_size_without_a_quality() -> None:
    costs = np.random.default_rng(0).uniform(0.2, 5.0, 12).tolist()
    found = sr.select(MADE, **QUICK, costs=costs, margin=0.1)
    facts = facts_of(explorer(found, ""))
    assert facts["sizes"][facts["chosen"]]["title"].startswith(f"{found.chosen.n_features} feature")
    assert all(np.isfinite(m.metadata["quality"]) for m in found.models)
