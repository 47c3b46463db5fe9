"""The screen of `select`: at most 30 lines and 100 columns, and nothing on it that is not in the result."""

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.report.page import how_sure
from sparserank.report.screen import MAX_LINES, MAX_WIDTH, screen_lines
from sparserank.report.tables import feature_table
from tests.support.command_line import Cli

DATA = sr.datasets.make_ranking(80, (8, 14), 30, n_informative=10, n_redundant=4, noise=0.4, random_state=2).data
FEW = sr.datasets.make_ranking(8, (8, 14), 12, n_informative=3, noise=0.4, random_state=2).data
SHORT = sr.datasets.make_ranking(20, (4, 6), 8, n_informative=3, noise=0.4, random_state=2).data
CURVED = sr.datasets.make_curved_ranking(40, random_state=1).data
LONG_NAMES = [f"covered_query_term_ratio_of_the_body_and_the_title_{j}" for j in range(30)]
LONG = sr.RankingDataset(DATA.X, DATA.relevance, DATA.qid, None, LONG_NAMES)
GROUPS = {name: f"group {i // 3}" for i, name in enumerate(DATA.feature_names or ())}
COSTS = np.random.default_rng(0).uniform(1, 1.5, 30).tolist()
QUICK: dict[str, Any] = {"n_alphas": 12, "cv": 3, "half_samples": 4, "penalties": ["l1", "mcp"], "rival": "none"}
CASES: dict[str, dict[str, Any]] = {
    "by default": {},
    "with trees": {"rival": "lightgbm"},
    "four": {"k": 4},
    "feature_groups": {"feature_groups": GROUPS, "feature_transform": "none"},
    "a budget": {"feature_groups": GROUPS, "feature_transform": "none", "budget": 3},
    "today": {"current": (DATA.feature_names or ("",))[0]},
    "a guarantee": {"guarantee": 0.02},
    "no half-samples": {"half_samples": 0},
    "steps": {"train": CURVED, "penalties": ["steps"]},
    "test": {"test": DATA, "allow_overlap": True},
    "validation": {"valid": DATA, "allow_overlap": True, "protocol": "holdout"},
    "few queries": {"train": FEW},
    "costs": {"costs": COSTS, "margin": 0.05, "feature_transform": "none"},
    "nothing small enough": {"guarantee": 0.001},
    "a metric that separates nothing": {"train": SHORT, "metric": "ndcg@10", "convention": "letor4"},
    "long names": {"train": LONG},
    "trees that are too slow": {"rival": "lightgbm", "rival_time": 1e-9},
}
# These differ from the run by default in what is made of its finished work.
RESUMED = {"with trees", "trees that are too slow", "four", "a guarantee", "nothing small enough", "no half-samples"}
RESUMED |= {"test"}


@pytest.fixture(scope="module")
def by_default(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sr.SelectionResult]:
    """A run of the usual settings: its directory and its result."""
    folder = tmp_path_factory.mktemp("default") / "run"
    return folder, sr.select(DATA, out=folder, **QUICK)


@pytest.fixture(scope="module", params=CASES)
def selected(
    request: pytest.FixtureRequest,
    by_default: tuple[Path, sr.SelectionResult],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, sr.SelectionResult]:
    name, given = request.param, dict(CASES[request.param])
    folder, result = by_default
    if not given:
        return name, result
    if name in RESUMED:
        given["out"] = shutil.copytree(folder, tmp_path_factory.mktemp("resumed") / "run")
    with pytest.MonkeyPatch.context() as patch:
        if given.get("rival") == "lightgbm":
            patch.setattr("sparserank.crossval.tree_rivals.is_installed", lambda: True)
        return name, sr.select(given.pop("train", DATA), **{**QUICK, **given})


@pytest.mark.slow_but("by default")
def test_it_fits(selected: tuple[str, sr.SelectionResult]) -> None:
    _name, result = selected
    for width in (200, 80):
        lines = screen_lines(result, "run", width=width)
        assert len(lines) <= MAX_LINES
        assert max(map(len, lines)) <= min(width, MAX_WIDTH)
    text = "\n".join(line for line in screen_lines(result, "run") if not line.startswith("note:"))
    assert re.search(r"\b(refitted|mcp|l1|kkt|KKT|gap|resampl|Holm|index|ridge)", text) is None  # words of the inside


@pytest.mark.slow_but("by default")
def test_its_figures_are_those_of_the_result(selected: tuple[str, sr.SelectionResult]) -> None:
    name, result = selected
    text = "\n".join(screen_lines(result, "run"))
    assert re.match(r"Keep ", text)  # the choice comes first
    found = re.match(r"Keep (?:\d+ or )?(\d+)(?: or \d+)? of (\d+) features?", text)
    assert found is not None
    assert int(found[2]) == result.model.n_features
    answers = {int(n) for n in text.split(" of ")[0].removeprefix("Keep ").split(" or ")}
    assert result.chosen.n_features in answers
    row = {line[:24].strip(): line for line in text.splitlines()}
    chosen = next(line for label, line in row.items() if label.startswith("chosen"))
    full = next(line for label, line in row.items() if label.startswith("all features"))
    assert f"{result.chosen.mean:.4f}" in chosen
    if np.isfinite(result.choice.corrected_chosen):
        assert f"Expected on new queries: {result.choice.corrected_chosen:.4f} (" in text
    assert f"{result.all_features.mean:.4f}" in full
    if name != "today" and result.all_features.mean > 0:
        level, dense = result.chosen.mean, result.all_features.mean
        assert f"{100 * (level - dense) / dense + 0.0:+.1f}%" in chosen
    used = [f["feature"] for f in result.to_json()["features"]]
    if name not in ("feature_groups", "a budget", "long names"):
        shown = [f for f in used if f in text]
        assert shown
    if name == "steps":
        assert re.search(r"^steps\(", text, flags=re.MULTILINE)
    intervals = re.findall(r"([+-][\d.]+)% \(([+-][\d.]+) to ([+-][\d.]+)%\)", text)
    assert intervals or result.n_queries < 10 or result.all_features.mean == 0
    assert all(float(low) <= float(mean) + 0.051 <= float(high) + 0.102 for mean, low, high in intervals)
    if name == "with trees":
        assert re.search(r"^LightGBM +\d+ +0\.\d{4} ", text, flags=re.MULTILINE)
    if name == "few queries":
        assert "too few to bound" in text
        assert "*" not in text
    if name == "long names":
        rows = [line.split()[0] for line in text.splitlines() if line.startswith("cov")]
        assert len(set(rows)) == len(rows) > 2
    if name == "trees that are too slow":
        assert "LightGBM: not compared, " in text
    if name == "a metric that separates nothing":
        assert "cannot tell any models apart" in text
    if name in ("four", "a guarantee", "a budget"):
        assert not re.search(r"^Next: .*(k|budget)=", text, flags=re.MULTILINE)


@pytest.mark.parametrize("convention", ["default", "letor4"])  # the name of a metric is longer with a convention
def test_no_figure_is_cut_on_a_narrow_screen(convention: str, by_default: tuple[Path, sr.SelectionResult]) -> None:
    """Figures so wide that a screen of 80 columns has no room for them beside full names."""
    quick = {**QUICK, "penalties": "l1", "feature_transform": "none", "convention": convention}
    result = by_default[1] if convention == "default" else sr.select(DATA, **quick)
    full = result.all_features
    for mean in (full.mean, full.mean / 30):  # then the changes are of thousands of percent
        wide = replace(full, mean=mean, difference=-1.1 * mean, low=-1.132 * mean, high=1.1 * mean)
        rival = replace(wide, name="a rival of a name that is longer than its column", high=-1.05 * mean)
        crowded = replace(result, all_features=wide, rivals=replace(result.rivals, compared=(rival,)))
        lines = screen_lines(crowded, "run", width=80)
        assert max(map(len, lines)) <= 80
        for shown in (wide.against(), rival.against()):
            assert shown.startswith("-110.0% (-113.2 to ")
            assert sum(line.endswith(shown) for line in lines) == 1
        sizes = next(line for line in lines if line.startswith("features, at most"))
        changes = lines[lines.index(sizes) + 1]
        assert f"[{result.chosen.n_features}]" in sizes
        assert len(sizes.split()[3:]) == changes.count("%") >= 2
        assert "..." not in sizes + changes
        smaller = [int(n) for n in sizes.split()[3:] if n.isdigit() and int(n) < result.chosen.n_features]
        assert f"add k={max(smaller)} for the next smaller size above (" in "\n".join(lines)


NAMES = ["price", "rating", "sales", "title", "body", "brand"]


def with_a_useless_feature() -> sr.RankingDataset:
    """Queries on which the ablation of a chosen feature is a gain."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 6))
    grades = np.digitize(X @ [1.0, 0.8, 0.6, 0.5, 0.2, 0.1] + 1.5 * rng.normal(size=300), [0.5, 2.0, 3.0])
    return sr.RankingDataset(X, grades, np.repeat(np.arange(30), 10), None, NAMES)


def test_a_gain_of_the_ablation_has_a_reason(cli_here: Cli) -> None:
    """The smaller set is within the rule, and the sentence says why it is not chosen, with a command that works."""
    data = with_a_useless_feature()
    quick = {"rival": "none", "penalties": "mcp", "half_samples": 0, "feature_transform": "none", "n_alphas": 15}
    result = sr.select(data, cv=3, **quick)
    gain = min(result.facts.features, key=lambda row: row["loss"])
    name, choice = gain["feature"], result.choice
    assert gain["loss"] < -0.05
    said = f"Without {name} ({-gain['loss']:+.1f}%) the others would do by this rule, but that model was learned"
    assert result.smaller.startswith(said)
    assert result.smaller in " ".join(" ".join(screen_lines(result)).split())
    assert result.smaller in feature_table(result).note
    assert sr.select(data, cv=3, keep=[name], **quick).smaller.find(f"Without {name} ") == -1  # the user keeps it
    groups = dict(zip(NAMES, "aabbcc", strict=True))
    assert sr.select(data, cv=3, feature_groups=groups, **quick).smaller == ""  # of which it would save nothing
    assert replace(result, choice=replace(choice, rule=replace(choice.rule, margin=-1.0))).smaller == ""
    assert replace(result, choice=replace(choice, rule=replace(choice.rule, guarantee=0.5))).smaller == ""
    sr.write_letor(data, "t.txt")
    Path("names.txt").write_text("\n".join(NAMES) + "\n")
    call = [
        "select",
        "t.txt",
        "--feature-names",
        "names.txt",
        "--rival",
        "none",
        "--penalty",
        "mcp",
        "--n-alphas",
        "15",
    ]
    call += ["--half-samples", "0", "--transform", "none", "--folds", "3"]
    printed = " ".join(cli_here(*call, "--out", "run").done.out.split())
    again = re.search(r"To choose without it, add (--drop \w+) and another --out\.", printed)
    assert again is not None
    assert cli_here(*call, *again[1].split(), "--out", "other").done.out.startswith("Keep ")
    assert name not in sr.load_model("other/model.json").columns


def test_the_lead_to_expect_is_over_the_ranker_in_use_and_the_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the corrected mean, by the figures on the screen, in JSON and in the report; the wrong variant is the
    optimistic lead of the row. All features are no reference of a gain."""
    monkeypatch.setattr("sparserank.crossval.tree_rivals.is_installed", lambda: True)
    given = {**QUICK, "half_samples": 0, "penalties": "l1", "feature_transform": "none", "rival": "lightgbm"}
    result = sr.select(DATA, **given, current=(DATA.feature_names or ("",))[0])
    text = " ".join(line.strip() for line in screen_lines(result, "run"))
    found = re.search(
        r"Expected on new queries: ([\d.]+) \(95%: ([\d.]+) to ([\d.]+); ([-+\d.]+)% against today's ranker, "
        r"([-+\d.]+)% against LightGBM; ",
        text,
    )
    assert found is not None
    expected, low, high, *leads = map(float, found.groups())
    corrected = result.to_json()["corrected"]
    assert [low, high] == pytest.approx([corrected["low"], corrected["high"]], abs=5e-5)
    half = (high - low) / 2
    assert half == pytest.approx(1.98 * result.chosen.values.std(ddof=1) / result.n_queries**0.5, rel=0.05)
    assert (low + high) / 2 == pytest.approx(expected, abs=2e-4)
    assert result.change is not None
    means = [result.change.mean, result.rivals.compared[0].mean]
    assert leads == pytest.approx([100 * (expected - mean) / mean for mean in means], abs=0.06)
    assert abs(leads[0] - 100 * (result.chosen.mean - means[0]) / means[0]) > 0.1
    assert list(result.to_json()["corrected"]["leads"].values()) == pytest.approx([v / 100 for v in leads], abs=6e-4)
    assert found[0] in " ".join(result.sentences)
    table = {row[0]: row[2] for row in how_sure(result.claims).rows}
    assert f"{leads[0]:+.1f}% against today's ranker" in table["expected on new queries"]
    plain = sr.select(DATA, **{**given, "rival": "none"})
    assert plain.leads == {}
    assert "Expected on new queries: " in str(plain)


def test_the_dearest_feature_comes_first_and_none_is_forgotten(by_default: tuple[Path, sr.SelectionResult]) -> None:
    _, result = by_default
    lines = screen_lines(result, most=16)
    at = next(i for i, line in enumerate(lines) if line.startswith("feature "))
    losses = []
    for line in lines[at + 1 :]:
        found = re.search(r"([+-]\d+\.\d)%", line)
        if found is None or not line.startswith(("signal", "copy", "noise")):
            break
        losses.append(float(found[1]))
    assert losses == sorted(losses)
    (more,) = [line for line in lines if re.match(r"\d+ more", line)]
    assert int(more.split()[0]) + len(losses) == result.chosen.n_features


def test_intervals_against_all_features_hold_for_every_size(by_default: tuple[Path, sr.SelectionResult]) -> None:
    """Those of `rival_intervals` with every dense model named as a rival, explicitly."""
    from sparserank.evaluation.rival_intervals import rival_intervals

    _, result = by_default
    choice, full = result.choice, result.all_features
    dense = choice.candidates[choice.n_sparse :]
    values = [np.array([c.values for c in own]) for own in (choice.candidates, dense)]
    found = rival_intervals(*values, 0.95, seed=choice.seed, out_of_fold=True)
    column = dense.index(result.dense)
    assert len(full.sizes) == len(result.by_size)
    for c, a in zip(result.by_size, full.sizes, strict=True):
        low, high = found.interval(choice.candidates.index(c), column)
        assert (a.low, a.high) == (low, high)
        raw = c.mean - result.dense.mean
        assert low <= raw <= high
        assert a.difference == raw


def test_a_rival_above_the_chosen_model_comes_first_shown_or_not(by_default: tuple[Path, sr.SelectionResult]) -> None:
    from sparserank.selection.rivals import ComparedRival, RivalReport

    _, result = by_default
    better = ComparedRival("LightGBM", 30, 0.99, -0.04, -0.06, -0.02)

    def above(rival: ComparedRival) -> str:
        lines = screen_lines(replace(result, rivals=RivalReport((rival,))))
        assert len(lines) <= MAX_LINES
        assert lines[0].startswith("Keep ")
        return " ".join(line.strip() for line in lines)

    shown = above(better)
    on = "Chosen against LightGBM on 30 features (0.9900): -4.0%"
    assert f"{on} (-6.1 to -2.0%); the rival is shown to be better; " in shown
    assert "to choose features for it, use for_model='lightgbm'." in shown
    equal = replace(better, low=-0.06, high=0.01)
    assert f"{on} (-6.1 to +1.1%); no difference is shown." in above(equal)
    assert "Chosen against" not in above(replace(better, difference=0.01, low=-0.01, high=0.02))


@pytest.mark.slow_but("by default")
def test_the_row_of_sizes_can_be_computed_from_the_means(selected):
    _name, result = selected
    text = screen_lines(result)
    sizes, losses = next((a, b) for a, b in pairwise(text) if re.match(r"(features|cost), at most ", a))
    by_cost, reference = result.choice.by_cost, result.change or result.all_features
    at = {f"{c.cost:g}" if by_cost else str(c.n_features): c for c in result.by_size}
    shown = list(zip(re.sub("^.*at most", "", sizes).split(), losses.split()[-len(sizes.split()) + 3 :], strict=True))
    for size, loss in shown:
        exact = 100 * (at[size.strip("[]")].mean - reference.mean) / (reference.mean or 1.0)
        assert abs(float(loss.rstrip("%")) - exact) <= 0.0501
    assert [at[size.strip("[]")] for size, _ in shown if size.startswith("[")] == [result.chosen]
    means = [at[size.strip("[]")].mean for size, _ in shown if not size.startswith("[")]
    assert means == sorted(means)  # the best of at most each size: none falls by accident


@pytest.mark.slow
def test_crowded_screens_fit_and_commands_stay_whole(tmp_path: Path) -> None:
    names = [f"name with, comma and a long tail {j}" for j in range(30)]
    data = sr.RankingDataset(DATA.X, DATA.relevance, DATA.qid, None, names)
    given = {"test": data, "allow_overlap": True, "engine": "solr", "keep": names[:6], "penalties": ("l1", "best_k")}
    result = sr.select(data, **{**QUICK, **given, "current": names[0], "half_samples": 4})
    long = f"{tmp_path}/a, b/{'y' * 90}"
    for width in (80, 100):
        for folder in (None, "run", long):
            lines = screen_lines(result, folder, width=width)
            assert len(lines) <= MAX_LINES
            for head, first in pairwise(lines):  # whole names take the room of the last column, where both do not fit
                if head.startswith("feature "):
                    assert "chosen on 4 half-samples" in head or any(name in first for name in names)
    shown = "\n".join(screen_lines(result, long, width=80))
    assert f"'{long}' --to solr" in shown
    assert "export" not in "\n".join(screen_lines(result, "ru\nn"))
