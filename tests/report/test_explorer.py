"""The top of a selection's page: what it knows of each size, and what it shows without JavaScript."""

import json
import re
from html import unescape
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.report.explorer import BINS, HEIGHT, MAX_CHIPS, WIDTH, _in_words, differences, drawn, explorer
from sparserank.report.page import commands_of_sizes

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
    return explorer(result, commands_of_sizes(result, "'my run'"))


def test_each_size_has_its_features_its_worth_and_its_command(result: sr.SelectionResult, block: str) -> None:
    facts = facts_of(block)
    assert len(facts["sizes"]) == len(result.by_size)
    full = result.dense.mean
    for size, c, used in zip(facts["sizes"], result.by_size, result.used, strict=True):
        assert {facts["names"][f] for f in size["features"]} == set(used)
        assert size["title"].startswith(f"{c.n_features} feature")
        of_size = "" if c is result.chosen else f" --k {c.n_features}"
        assert size["command"] == f"sparserank export 'my run'{of_size} --to sql"
        assert result.model_of(c.n_features).n_features == 12
        assert len(result.model_of(c.n_features).support) == c.n_features
        # Every figure is the mean of the size, or computed from it and that of all features.
        change = f"{100 * (c.mean - full) / full:+.1f}%".replace("-0.0%", "0.0%").replace("+0.0%", "0.0%")
        assert size["worth"].startswith(f": ndcg@10 {c.mean:.4f}; against all 12 features {change}")
    assert result.by_size[facts["chosen"]] is result.chosen
    assert facts["sizes"][facts["chosen"]]["worth"].endswith("(chosen)")
    assert [s["worth"].endswith("(chosen)") for s in facts["sizes"]].count(True) == 1


def test_without_a_folder_the_commands_are_those_of_python(result: sr.SelectionResult) -> None:
    facts = facts_of(explorer(result, commands_of_sizes(result, None)))
    for size, c in zip(facts["sizes"], result.by_size, strict=True):
        found = eval(size["command"], {"result": result})
        assert len(found.support) == c.n_features


def test_chips_and_matrix_are_in_order_of_worth(result: sr.SelectionResult, block: str) -> None:
    facts = facts_of(block)
    chosen = facts["sizes"][facts["chosen"]]
    cost = {d["feature"]: d["cost"]["ndcg@10"]["cost"] for d in result.worth.features}
    by_worth = sorted(cost, key=lambda name: -cost[name])
    assert len(by_worth) > 2
    assert [facts["names"][f] for f in chosen["features"]] == by_worth
    assert facts["names"][: len(by_worth)] == by_worth  # the rows of the matrix
    for size, costs, c in zip(facts["sizes"], result.size_costs, result.by_size, strict=True):
        if c.n_features == 1:
            assert size["lost"] == []  # without its only feature there is no model
        elif costs is not None:
            lost = [costs[facts["names"][f]]["ndcg@10"]["cost"] for f in size["features"]]
            assert lost == sorted(lost, reverse=True)
            assert [float(text.rstrip("%")) for text in size["lost"]] == pytest.approx(
                [-100 * own / c.mean for own in lost], abs=0.05001
            )


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
    assert [own["name"] for own in facts["beside"]] == ["all features"]
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
    assert f'<span class="said">{at["said"]}</span>' in block


def test_a_picture_of_differences_is_as_high_as_they_are_large() -> None:
    values, reference = np.array([0.5, 0.2, 0.9, np.nan, 0.4]), np.array([0.4, 0.6, 0.5, 0.1, 0.4])
    found = drawn(values, reference, 0.5)
    assert found["lost"] == f"M37.5 42V{42 * (1 + 0.4 / 0.5):.1f}"
    assert found["won"] == f"M187.5 42V{42 * (1 - 0.1 / 0.5):.1f}M262.5 42V{42 * (1 - 0.4 / 0.5):.1f}"
    assert found["said"] == "better on 2, worse on 1, equal on 1 queries; largest loss -0.40, largest gain +0.40"
    assert drawn(reference, values, 0.5) != found  # the other way round is another picture
    same = drawn(values, values, 0.5)
    assert same["said"] == "better on 0, worse on 0, equal on 4 queries; largest loss 0, largest gain 0"
    assert same["won"] == same["lost"] == ""


def test_many_queries_are_counted_in_a_histogram() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1500) < 0.6, 0.0, rng.normal(0.02, 0.1, 1500).clip(-0.5, 0.5))
    found = drawn(values, np.zeros(1500), 0.5)
    edges = np.linspace(-0.5, 0.5, 2 * BINS + 1)
    counts = [((values >= lo) & (values < hi) & (values != 0)).sum() for lo, hi in pairwise(edges)]
    counts[-1] += (values == 0.5).sum()
    assert f"equal on {(values == 0).sum():,} queries" in found["said"]
    assert found["said"].endswith(f"tallest bar: {max(counts)} queries")
    drawn_at = {
        float(x): float(top) for x, top in re.findall(rf"M([\d.]+) {HEIGHT}V([\d.]+)", found["lost"] + found["won"])
    }
    step = WIDTH / (2 * BINS)
    expected = {(k + 0.5) * step: HEIGHT * (1 - n / max(counts)) for k, n in enumerate(counts) if n}
    assert sorted(drawn_at) == pytest.approx(sorted(expected))
    assert [drawn_at[x] for x in sorted(drawn_at)] == pytest.approx([expected[x] for x in sorted(expected)], abs=0.051)
    assert all(x < WIDTH / 2 for x in map(float, re.findall(r"M([\d.]+)", found["lost"])))
    shown = differences("ndcg@10", "all", found, 1500, 0.5)
    assert "<span>-0.50</span><span>difference of ndcg@10</span><span>+0.50</span>" in shown


@pytest.mark.slow
def test_wide_selections_are_thinned_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.report.explorer.MAX_SIZES", 10)
    monkeypatch.setattr("sparserank.report.explorer.MAX_FEATURES", 30)
    made = sr.datasets.make_ranking(60, (8, 14), 90, n_informative=40, n_redundant=20, noise=0.3, random_state=2).data
    found = sr.select(made, **{**QUICK, "penalties": "l1", "n_alphas": 80, "alpha_min_ratio": 0.005})
    block = explorer(found, commands_of_sizes(found, None))
    facts = facts_of(block)
    assert len(found.by_size) > 10 >= len(facts["sizes"]) > 7
    assert found.by_size[-1].n_features == int(facts["sizes"][-1]["size"])
    assert facts["sizes"][facts["chosen"]]["worth"].endswith("(chosen)")
    assert len(re.findall('<th scope="row">', block)) == 30 < len(facts["names"])
    assert block[block.index('class="chips"') :].split("</ul>")[0].count("<li>") <= MAX_CHIPS + 1
    assert f"{len(facts['names']) - 30} more features are used at other sizes." in block


def test_costs_of_features_leave_no_size_without_a_quality() -> None:
    costs = np.random.default_rng(0).uniform(0.2, 5.0, 12).tolist()
    found = sr.select(MADE, **QUICK, costs=costs, margin=0.1)
    facts = facts_of(explorer(found, commands_of_sizes(found, None)))
    assert facts["sizes"][facts["chosen"]]["title"].startswith(f"{found.chosen.n_features} feature")
    assert all(np.isfinite(m.metadata["quality"]) for m in found.models)


def test_the_boosts_on_the_first_sheet_have_the_names_of_their_clauses() -> None:
    """Capital letters of a clause became small ones."""
    result: Any = SimpleNamespace(notes=["boosts: bodyText 1 -> 1.5; without: SKU (2).", "another note"])
    assert _in_words(result) == ["Boosts: bodyText 1 -> 1.5; without: SKU (2)."]
