"""The features of an earlier run are chosen again if they cost at most the margin."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.crossval.choice import MIN_NEW, Candidate, Choice, Rule, choose
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ParameterError, RunDirectoryError
from sparserank.selection.claims import claims_of_choice
from tests.support.command_line import Cli, assert_refused

QUICK = {"penalties": "mcp", "n_alphas": 25, "cv": 3, "half_samples": 0, "feature_transform": "none", "rival": "none"}


def candidates(seed: int, n: int = 160) -> list[Candidate]:
    """Models of 1 to 4 features by the path makers 'all' and 'old'; some queries have no value."""
    rng = np.random.default_rng(seed)
    ease = rng.random(n)
    ease[rng.random(n) < 0.1] = np.nan
    return [
        Candidate(label, k, 0.0, k, k, float(k), ease * (0.9 + 0.02 * k + 0.03 * rng.normal()) + rng.normal(0, 0.05, n))
        for label in ("all", "old")
        for k in (1, 2, 3, 4)
    ]


def slow_preference(tried: list[Candidate], chosen: Candidate, rule: Rule, new: np.ndarray | None):
    """The oracle: (what is chosen; the loss of the old features; whether new queries decided)."""
    queries = [q for q in range(len(tried[0].values)) if all(np.isfinite(c.values[q]) for c in tried)]
    fresh = [] if new is None else [q for q in queries if new[q]]
    decide = fresh if len(fresh) >= 50 else queries

    def mean(c: Candidate, of: list[int]) -> float:
        return sum(float(c.values[q]) for q in of) / len(of)

    best = max(mean(c, queries) for c in tried)
    old = [c for c in tried if c.penalty == "old" and (rule.k is None or c.n_features <= rule.k)]
    within = [c for c in old if rule.k is None and best - mean(c, queries) <= rule.margin * abs(best)]
    least = min((c.n_features for c in within), default=None)
    own = max([c for c in within if c.n_features == least] or old, key=lambda c: mean(c, queries))
    rival = max(tried, key=lambda c: mean(c, queries)) if rule.k is None else chosen
    loss = mean(rival, decide) - mean(own, decide)
    return own if loss <= rule.margin * abs(mean(rival, decide)) else chosen, loss, decide is fresh


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("share", [None, 0.0, 0.2, 0.6, 1.0])
def test_the_old_features_win_within_the_margin_on_the_queries_that_decide(k: int | None, share: float | None) -> None:
    kept = set()
    for seed in range(12):
        tried, rule = candidates(seed), Rule(margin=0.01, k=k)
        new = None if share is None else np.random.default_rng(seed).random(160) < share
        plain = choose(tried, rule=rule)
        found = plain.preferring("last-week", {"old"}, new)
        expected, loss, on_new = slow_preference(tried, plain.chosen, rule, new)
        p = found.preference
        assert p is not None
        assert found.chosen is expected
        assert p.loss is not None
        assert p.loss[0] == pytest.approx(loss, abs=1e-12)
        assert p.new is (None if new is None else on_new)
        assert p.kept == (loss <= 0.01 * p.unit)
        kept.add(p.kept)
        if p.kept:  # what is said of the choice is said of the same model
            assert found.resamples is not plain.resamples
            assert not np.isnan(found.corrected_chosen)
            assert set(found.resampled_sizes) <= {c.n_features for c in tried if c.penalty == "old"}
        said = preference(found)
        assert ("may have been chosen with these labels" in said) == (p.new is not True)
        assert said.startswith(
            "Only features of last-week are used"
            if p.kept
            else "The choice is not restricted to the features of last-week:"
        )
    assert kept == {True, False}


def preference(choice: Choice) -> str:
    """What is said about the features of an earlier run."""
    return next(claims_of_choice(choice, "map", 9)).text


def test_features_without_a_model_within_the_limits_are_not_kept() -> None:
    tried = [c for c in candidates(0) if c.penalty == "all" or c.k > 2]
    found = choose(tried, rule=Rule(k=2)).preferring("last-week", {"old"}, None)
    assert found.chosen.penalty == "all"
    assert preference(found).endswith(
        "last-week: none of their models is within the limits, or there are fewer than two queries."
    )
    assert preference(choose(tried)) == ""


def flipping(seed: int, n: int = 120) -> RankingDataset:
    """Grades follow x; a and b are nearly x, and which of them is closer depends on the seed; c is noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=8 * n)
    near = x[:, None] + rng.normal(size=(8 * n, 2)) * ([0.15, 0.45] if seed % 2 else [0.45, 0.15])
    X = np.column_stack([near, rng.normal(size=8 * n)])
    grade = np.digitize(x + rng.normal(0, 0.2, 8 * n), [0.5, 1.5])
    return RankingDataset(X, grade, [f"{seed}-{q}" for q in range(n) for _ in range(8)], feature_names=["a", "b", "c"])


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "old"
    sr.select(flipping(1), k=1, out=folder, **QUICK)
    assert list(sr.load_model(folder).columns) == ["a"]
    return folder


@pytest.mark.usefixtures("no_processes")
def test_a_choice_that_flips_stays_if_the_margin_allows_it(old: Path, tmp_path: Path) -> None:
    week = flipping(2)
    plain = sr.select(week, k=1, **QUICK)
    assert list(plain.model.columns) == ["b"]
    assert plain.to_json()["preference"] is None
    for margin, feature in ((0.01, "b"), (0.2, "a")):
        found = sr.select(week, k=1, margin=margin, prefer=old, out=tmp_path / f"{margin}", **QUICK)
        assert list(found.model.columns) == [feature]
        p = found.to_json()["preference"]
        assert (p["new"], p["n_queries"], p["kept"]) == (True, 120, feature == "a")
        assert "that it has not learned from" in found.sentence
        assert "eatures of" in str(found).splitlines()[1]
    # A model file knows no queries; the labels that chose the features are part of the data of a run trained again.
    assert (
        "which queries it has learned from is not known" in sr.select(week, k=1, prefer=plain.model, **QUICK).sentence
    )
    both = RankingDataset(
        np.vstack([flipping(1).X, week.take_queries(np.arange(MIN_NEW - 1)).X]),
        np.concatenate([flipping(1).relevance, week.take_queries(np.arange(MIN_NEW - 1)).relevance]),
        np.concatenate([flipping(1).qid, week.take_queries(np.arange(MIN_NEW - 1)).qid]),
        feature_names=["a", "b", "c"],
    )
    assert f"fewer than {MIN_NEW} queries are new" in sr.select(both, k=1, prefer=old, **QUICK).sentence


@pytest.mark.usefixtures("no_processes")
def test_prefer_is_an_option_of_one_run_and_part_of_its_identity(old: Path, tmp_path: Path) -> None:
    week, out = flipping(2), tmp_path / "run"
    found = sr.select(week, k=1, margin=0.2, prefer=old, out=out, **QUICK)
    assert "prefer" not in json.loads((out / "result.json").read_text())["origin"]["options"]
    again = sr.select(week, k=1, margin=0.2, prefer=old, out=out, **QUICK)
    np.testing.assert_array_equal(again.model.coef, found.model.coef)
    with pytest.raises(RunDirectoryError, match="prefer"):
        sr.select(week, k=1, margin=0.2, out=out, **QUICK)
    taken = sr.select(week, start=out)
    assert taken.choice.preference is None


def test_what_cannot_be_preferred_is_refused(old: Path, tmp_path: Path, cli_here: Cli) -> None:
    week = flipping(2)
    for more, why in (
        ({"fast": True}, "prefer cannot be combined with fast=True"),
        ({"guarantee": 0.1}, "prefer cannot be combined with guarantee=0.1"),
    ):
        with pytest.raises(ParameterError, match=why):
            sr.select(week, prefer=old, **{**QUICK, **more})
    with pytest.raises(ParameterError, match="prefer cannot be combined with for_model"):
        sr.select(week, prefer=old, for_model="lightgbm")
    with pytest.raises(ParameterError, match=r"prefer names .*old', but the data have none of its features"):
        sr.select(week.rename_features(["u", "v", "w"]), prefer=old, **QUICK)
    pq.write_table(pa.table({"label": [1, 0], "qid": [1, 1], "a": [1.0, 0.0]}), "t.parquet")
    (tmp_path / "none").mkdir()
    assert_refused(cli_here("select", "t.parquet", "--prefer", str(tmp_path / "none"), "--out", "o"), 1, "model.json")
    wide = sr.select(week, **{**QUICK, "keep": ["a", "b"], "k": 2})
    note = sr.select(week.take_features([0, 2]), prefer=wide.model, **QUICK).notes
    assert any(n.endswith("that the data do not have: b.") for n in note)
