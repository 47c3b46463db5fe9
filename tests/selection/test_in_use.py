"""The model in use as a rival: its quality here, what a change brings, bounds that hold whatever is chosen."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.current_model import Change
from sparserank.crossval.rivals import Rival, Rivals
from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataWarning, ParameterError
from sparserank.report.screen import screen_lines

OPTIONS = {"penalties": "l1", "half_samples": 0, "feature_transform": "none", "n_alphas": 10, "cv": 3}


@pytest.fixture(scope="module")
def data() -> tuple[RankingDataset, RankingDataset]:
    made = make_ranking(140, (8, 14), 12, n_informative=3, n_redundant=3, noise=0.6, random_state=8).data
    return made.take_queries(np.arange(80)), made.take_queries(np.arange(80, 140))


@pytest.fixture(scope="module")
def model(data):
    """Of three features, one of which is noise."""
    train, _ = data
    ranker = sr.SparseRanker(penalty="ridge", alpha=0.01)
    kept = [j for j, n in enumerate(train.feature_names) if n.startswith("signal")][:2]
    kept.append(next(j for j, n in enumerate(train.feature_names) if n.startswith("noise")))
    X = np.zeros_like(train.X)
    X[:, kept] = train.X[:, kept]
    return ranker.fit_dataset(train.replace_features(X)).to_model()


@pytest.mark.parametrize("protocol", ["cv", "holdout"])
def test_a_change_has_the_figures_of_the_values_per_query(data, model, protocol):
    train, test = data
    valid, held_out = (None, test) if protocol == "cv" else (test, None)
    result = sr.select(train, valid, held_out, current=model, protocol=protocol, **OPTIONS)
    change, judged = result.change, train if protocol == "cv" else test
    own = sr.evaluate(model.score_dataset(judged), judged, ["ndcg@10"]).per_query["ndcg@10"]
    difference = result.chosen.values - own
    assert change.mean == pytest.approx(own.mean())
    assert change.difference == pytest.approx(difference.mean())
    assert change.low < difference.mean() < change.high
    assert (change.wins, change.losses) == ((difference > 0).sum(), (difference < 0).sum())
    assert change.ties == (difference == 0).sum()
    assert change.worst[0][1] == pytest.approx(difference.min())
    assert change.worst[0][0] == str(judged.query_ids[int(np.argmin(difference))])
    now, then = (set(np.array(own.feature_names)[own.support]) for own in (result.model, model))
    assert set(change.enter) == now - then
    assert set(change.leave) == then - now
    without = sr.select(train, valid, held_out, protocol=protocol, **OPTIONS)
    assert len(result.choice.candidates) == len(without.choice.candidates)  # what ranks today moves nothing
    np.testing.assert_array_equal(result.choice.bounds.upper, without.choice.bounds.upper)
    # Nor does it change a claim about the choice; what to expect also names the lead over it.
    figures = {claim.key: claim.figure for claim in result.claims}
    about = ("estimated loss", "mean of the chosen model", "expected on new queries", "size on resampled queries")
    assert all(figures[claim.key] == claim.figure for claim in without.claims if claim.key in about)
    (over_today,) = result.leads.values()
    lead = f"; {over_today:+.1%} against today's ranker; these "
    assert sum(lead in sentence for sentence in result.sentences) == 1
    assert "model in use" in result.sentence
    assert protocol == "holdout" or "model in use" in {r["system"] for r in result.test.rows()}
    assert result.to_json()["change"]["wins"] == change.wins
    assert without.change is None


def with_column(train, values, name):
    names = [*train.feature_names, name]
    return RankingDataset(np.column_stack([train.X, values]), train.relevance, train.qid, None, names)


def test_a_model_that_nothing_beats_is_shown_better_and_moves_no_bound(data):
    """The truth itself, which no candidate reaches."""
    train, _ = data
    truth = train.relevance.astype(float) + 1e-3 * np.random.default_rng(0).random(train.n_docs)
    whole = with_column(train, truth, "truth")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)  # the score of today's ranker is known to be none of the features
        result = sr.select(whole, current="truth", monotone={"truth": "-"}, **OPTIONS)  # so that it cannot be used
    assert result.best.penalty != "model in use"
    assert result.choice.loss(result.chosen) <= result.choice.margin
    assert result.change.difference < -0.05
    assert result.change.high < 0
    assert result.change.losses > result.change.wins
    assert "which shows it worse" in result.sentence


def test_a_difference_is_shown_or_it_is_not():
    clear = Change("model in use", 3, 0.5, 0.14, 0.12004, 0.15, 50, 1, 0, (), (), ())
    assert "+0.1400 (+0.1200 to +0.1500, 95% confidence, which shows it better)" in clear.sentence("ndcg@10", "95%")
    assert "which shows no difference" in replace(clear, low=-0.01).sentence("ndcg@10", "95%")
    just = replace(clear, low=-0.1, high=-0.00002)
    assert "to -0.000020, 95% confidence, which shows it worse" in just.sentence("ndcg@10", "95%")
    assert "between" not in replace(clear, low=-np.inf, high=np.inf).sentence("ndcg@10", "95%")


def test_todays_score_is_no_feature_unless_it_is_kept_by_name(data):
    train, _ = data
    today = train.relevance + np.random.default_rng(1).standard_normal(train.n_docs)
    whole = with_column(train, today, "today")
    left = sr.select(whole, current="today", **OPTIONS)
    assert "today" not in left.table()["feature"].tolist()
    assert any("today's score, is left out of the features" in note for note in left.notes)
    assert "today" in sr.select(whole, **OPTIONS).table()["feature"].tolist()
    kept = sr.select(whole, current="today", keep=["today"], **OPTIONS)
    assert "today" in kept.table()["feature"].tolist()
    assert not any("left out" in note for note in kept.notes)


def test_the_first_lines_say_if_todays_ranker_is_better(data):
    """Shown, or perhaps by chance; nothing if it is worse."""
    train, _ = data
    noise = np.random.default_rng(1).standard_normal(train.n_docs)
    for share, said in ((0.0, "Today's ranker is shown to be better: do not switch."), (1e3, None)):
        whole = with_column(train, train.relevance + share * noise, "today")
        result = sr.select(whole, current="today", **OPTIONS)
        lines = [line for line in screen_lines(result) if line.startswith("Today's ranker")]
        assert lines == ([] if said is None else [said])
    near = replace(result, change=replace(result.change, difference=-0.01, high=0.01))
    assert "Today's ranker has the higher mean, perhaps by chance." in screen_lines(near)


def test_the_score_that_is_the_only_feature_or_is_named_elsewhere(data):
    train, _ = data
    names = list(train.feature_names)
    alone = RankingDataset(train.X[:, :1], train.relevance, train.qid, None, names[:1])
    with pytest.raises(ParameterError, match="the only feature"):
        sr.select(alone, current=names[0], **OPTIONS)
    for options in ({"drop": names[:1]}, {"penalties": [sr.penalties.L1(1.0, keep=(names[0],))]}):
        found = sr.select(train, current=names[0], **{**OPTIONS, **options})
        assert not any("left out of the features" in note for note in found.notes)


def test_a_kept_feature_that_is_the_same_in_every_pair_is_noted(data):
    train, _ = data
    flat = with_column(train, train.qid, "flat")
    with pytest.warns(DataWarning, match="'flat' is to be kept, but has the same value in both documents"):
        found = sr.select(flat, keep=["flat"], **OPTIONS)
    assert any("'flat' is to be kept" in note for note in found.notes)
    with pytest.warns(DataWarning, match="'flat' is to be kept"):
        sr.SparseRanker(penalty=sr.penalties.L1(1.0, keep=(12,))).fit_dataset(flat)


def test_what_is_no_model_is_refused(data, model, tmp_path: Path):
    train, _ = data
    with pytest.raises(ParameterError, match="neither a model file, a run nor a feature"):
        sr.select(train, current="nothing.json", **OPTIONS)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ValueError, match="not a sparserank-model file"):
        sr.select(train, current=tmp_path / "x.json", **OPTIONS)
    content = model.to_json()
    names = [f"other {j}" for j in range(12)]
    for feature in content["features"]:
        feature["name"] = names[feature["index"]]
    (tmp_path / "other.json").write_text(json.dumps(content | {"feature_names_in": names}))
    with pytest.raises(DataError, match="have no feature 'other"):
        sr.select(train, current=tmp_path / "other.json", **OPTIONS)


def test_a_run_that_lacks_queries_is_said_and_a_model_of_fuse_is_refused(data) -> None:
    train, _ = data
    docs = [[f"d{i}" for i in range(size)] for size in train.sizes]
    named = replace(train, docid=np.concatenate(docs))
    queries = [str(q) for q in train.query_ids]
    run = {q: {d: float(i) for i, d in enumerate(of)} for q, of in zip(queries, docs, strict=True)}
    some = {q: run[q] for q in queries[:60]}
    learned, held = named.take_queries(np.arange(30, 80)), named.take_queries(np.arange(30))
    for part, n, first, test in ((named, 20, "61", None), (learned, 20, "61", held)):
        sentence = f"model in use (a run) has no documents for {n} of the judged queries, e.g. '{first}'; these queries"
        with pytest.warns(DataWarning, match="has no documents"):
            result = sr.select(part, None, test, current=some, fast=True, **OPTIONS)
        assert [note.startswith(sentence) for note in result.notes if "no documents" in note] == [True]
    with pytest.warns(DataWarning, match="of the test queries"):
        result = sr.select(held, None, learned, current=some, fast=True, **OPTIONS)
    assert sum("has no documents for 20 of the test queries, e.g. '61'" in note for note in result.notes) == 1
    assert not any("no documents" in note for note in sr.select(named, current=run, fast=True, **OPTIONS).notes)
    qrels = {q: {"d0": 1} for q in queries}
    back = {q: {d: -s for d, s in of.items()} for q, of in run.items()}
    fused = sr.fuse({"a": run, "b": back}, qrels, penalties="l1", half_samples=0, norm="minmax").selection.model
    same_width = train.take_features(list(range(fused.n_features)))
    for call in (
        lambda: sr.select(same_width, current=fused, fast=True, **OPTIONS),
        lambda: sr.evaluate(fused, same_width, "map"),
        lambda: sr.compare_systems({"now": fused}, same_width, "map"),
    ):
        with pytest.raises(DataError, match="made by 'sparserank fuse' and ranks runs"):
            call()


def test_equal_rankers_on_too_few_queries_have_no_interval(data) -> None:
    """Equal values on many queries are a difference of exactly 0; on two, they show nothing."""
    train, _ = data
    for n, low in ((2, -np.inf), (80, 0.0)):
        part = train.take_queries(np.arange(n))
        result = sr.select(part, penalties="l1", k=12, half_samples=0, rival="none", feature_transform="none", cv=2)
        dense = result.choice.candidates.index(result.dense)
        compared = Rivals(result.choice, [Rival("same", 1, result.dense.values.copy())])
        found = compared.compare(result.choice.candidates[dense], compared.rivals[0])
        assert (found.difference, found.low) == (0.0, low)
        itself = Rivals(result.choice, [Rival("itself", 1, result.choice.candidates[dense].values)])
        assert itself.compare(result.choice.candidates[dense], itself.rivals[0]).low == 0.0


def test_named_features_are_kept_and_dropped(data):
    train, _ = data
    names = list(train.feature_names)
    noise = [n for n in names if n.startswith("noise")]
    signal = [n for n in names if n.startswith("signal")]
    for penalties in ("l1", "mcp", "best_k(k_max=5)"):
        result = sr.select(train, **{**OPTIONS, "penalties": penalties}, keep=noise[:1], drop=signal[:1])
        for path in (p for label, p in result.paths.items() if label != "ridge"):
            used = path.sparse_coefs.toarray() != 0
            assert used[:, names.index(noise[0])].all()
            assert not used[:, names.index(signal[0])].any()
        assert noise[0] in np.array(names)[result.model.support]
    for options, message in (
        ({"keep": ["no"]}, "is not a feature"),
        ({"drop": "f1"}, "must be a list"),
        ({"keep": names[:1], "drop": names[:1]}, "which is to be kept"),
    ):
        with pytest.raises(ParameterError, match=message):
            sr.select(train, **OPTIONS, **options)


def test_the_dense_reference_is_held_to_what_all_are_held_to(data):
    train, _ = data
    names = list(train.feature_names)
    strong = [n for n in names if n.startswith("signal")]
    result = sr.select(train, **OPTIONS, monotone={strong[0]: "+", strong[1]: "+"}, drop=[strong[2]])
    w = result.paths["ridge"].scaled_coefs
    assert (w[:, [names.index(n) for n in strong[:2]]] >= 0).all()
    assert not w[:, names.index(strong[2])].any()
    with pytest.raises(ParameterError, match="must give"):
        sr.select(train, **OPTIONS, monotone={strong[0]: True})
