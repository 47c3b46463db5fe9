"""What features are worth, and exchanges: explicit sets of features, models fitted to copies of folds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.substitutes import substitutes_in, substitutes_of
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.datasets import make_ranking
from sparserank.evaluation import per_query_values
from sparserank.selection.ablation import Ablation
from sparserank.selection.job import SelectionJob, SelectionProblem
from tests.oracles import substitutes as oracle

OPTIONS: dict[str, Any] = {"penalties": "mcp", "n_alphas": 12, "cv": 3, "half_samples": 0, "report_metrics": ["map"]}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return make_ranking(70, (8, 14), 9, n_informative=3, n_redundant=3, noise=0.8, random_state=2).data


@pytest.fixture(scope="module")
def copies() -> RankingDataset:
    """Three signals, each twice with a little noise of its own: one of two copies is as good as the other."""
    rng = np.random.default_rng(5)
    signal = rng.standard_normal((90 * 12, 3))
    X = np.concatenate([signal + 0.3 * rng.standard_normal(signal.shape) for _ in range(2)], axis=1)
    score = signal @ [1.0, 0.8, 0.6] + 0.6 * rng.standard_normal(len(signal))
    return RankingDataset(X, np.digitize(score, [0.3, 1.2]).astype(float), np.repeat(np.arange(90), 12))


def as_sets(used: np.ndarray) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in used]


def test_substitutes_come_from_explicit_models_that_are_nearly_as_good(copies: RankingDataset) -> None:
    options = {**OPTIONS, "penalties": ["l1", "mcp"], "margin": 0.1}
    result = sr.select(copies, feature_transform="none", relaxed=False, rival="none", **options)
    candidate_set = SelectionJob(result.plan, SelectionProblem(copies)).candidates()
    choice = result.plan.choose(candidate_set.sparse, candidate_set.dense)
    first = frozenset(result.model.support.tolist())
    sets = {first}
    for c in choice.sparse:
        own = frozenset(result.paths[c.penalty].support(c.index).tolist())
        good = choice.best.mean - c.mean <= choice.margin or c.mean >= choice.chosen.mean
        if good and len(own) <= np.ceil(1.25 * len(first)):
            sets.add(own)
    found = substitutes_of(choice, candidate_set)
    assert len(sets) > 2
    assert found
    for feature in first:
        expected = oracle.substitutes(sets, first, feature)
        assert found.get(feature) in expected if expected else feature not in found


def test_substitutes_are_those_of_explicit_sets() -> None:
    found = rejected = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        sets = as_sets(rng.random((9, 7)) < rng.choice([0.3, 0.5, 0.8], size=7))
        distinct = list(dict.fromkeys(s for s in sets if s))
        substitutes = substitutes_in([tuple(sorted(s)) for s in distinct])
        for feature in distinct[0]:
            expected = oracle.substitutes(set(distinct), distinct[0], feature)
            other = substitutes.get(feature)
            assert other in expected if expected else other is None
            found += bool(expected)
            wrong = oracle.substitutes_by_how_often(set(distinct), distinct[0], feature)
            rejected += bool(expected) and bool(wrong - expected)
    assert found > 50
    assert rejected > 10


def by_copies(data: RankingDataset, columns: dict[int, np.ndarray], metric: Any) -> np.ndarray:
    """(n_queries,) metric of RankSVM on some features, fitted to copies of the queries that are not in the fold."""
    fold = query_folds(data.n_queries, 3, 0)
    values = np.zeros(data.n_queries)
    for f, own in columns.items():
        seen = data.take_queries(np.flatnonzero(fold != f)).take_features(own)
        unseen = data.take_queries(np.flatnonzero(fold == f)).take_features(own)
        # a refit: ridge of 1e-4 of the mean curvature; so weak that another weak one gives almost the same order
        model = sr.SparseRanker(penalty="ridge", alpha=1e-6, tol=1e-8).fit_dataset(seen).to_model()
        scores = unseen.from_input_order(model.score_dataset(unseen))
        values[fold == f] = per_query_values(scores, unseen, [metric])[0]
    return values


def test_leaving_a_feature_out_is_a_refit_of_the_others_without_the_queries_that_judge_it(data):
    result = sr.select(data, feature_transform="none", relaxed=False, **OPTIONS)
    job = SelectionJob(result.plan, SelectionProblem(data))
    candidate_set = job.candidates()
    chosen = next(c for c in candidate_set.sparse if (c.penalty, c.k) == (result.chosen.penalty, result.chosen.k))
    supports = {f: candidate_set.features(chosen, f) for f in range(3)}
    whole = by_copies(data, supports, result.plan.metric)
    rows = result.worth.features
    assert len(rows) == result.chosen.n_features >= 2
    differs = 0
    for row in rows:
        j = list(data.feature_names).index(row["feature"])
        without = by_copies(data, {f: s[s != j] for f, s in supports.items()}, result.plan.metric)
        assert row["cost"]["ndcg@10"]["cost"] == pytest.approx((whole - without).mean(), abs=1.5e-3)
        assert row["cost"]["ndcg@10"]["low"] <= row["cost"]["ndcg@10"]["cost"] <= row["cost"]["ndcg@10"]["high"]
        differs += abs(row["zeroed"]["ndcg@10"]["cost"] - row["cost"]["ndcg@10"]["cost"]) > 3e-3
    assert differs  # a weight of 0 without a refit is something else


def ablation_of(data: RankingDataset) -> Ablation:
    """Of the best model of three features."""
    result = sr.select(data, **OPTIONS, feature_transform="none", k=3)
    job = SelectionJob(result.plan, SelectionProblem(data))
    candidate_set = job.candidates()
    return Ablation(
        job.cv, candidate_set, result.plan.choose(candidate_set.sparse, candidate_set.dense), result.model, result.plan
    )


@pytest.fixture(scope="module")
def ablation(copies) -> Ablation:
    return ablation_of(copies)


def test_exchanges_are_refits_with_another_feature_in_the_same_place(copies, ablation):
    """The substitute of the first feature is its other copy."""
    support, names = set(ablation.model.support.tolist()), list(copies.feature_names)
    first = min(support)
    other = (first + 3) % 6
    worth = ablation.worth({first: other}, {first: 0.9})
    (found,) = worth.substitutes
    assert (found.feature, found.other, found.correlation) == (names[first], names[other], 0.9)
    chosen, metric = ablation.chosen, ablation.cv.metrics[0]
    supports = {f: ablation.candidate_set.features(chosen, f) for f in range(3)}
    moved = {f: np.union1d(own[own != first], [other]) if first in own else own for f, own in supports.items()}
    assert any(first in own for own in supports.values())
    difference = (by_copies(copies, moved, metric) - by_copies(copies, supports, metric)).mean()
    assert found.difference == pytest.approx(difference, abs=1.5e-3)
    assert found.low < found.difference < found.high
    assert all(
        row["folds"] == sum(names.index(row["feature"]) in s for s in supports.values()) for row in worth.features
    )


def test_a_substitute_is_named_in_a_sentence(copies, ablation):
    first = min(ablation.model.support.tolist())
    worth = ablation.worth({first: (first + 3) % 6}, {first: 0.9})
    result = replace(sr.select(copies, **OPTIONS, feature_transform="none", k=3), worth=worth)
    (found,) = worth.substitutes
    said = f"you can replace {found.feature} with {found.other} ({found.difference:+.4f}, correlation 0.90)."
    assert any(f"of {result.metric}, {said}" in sentence for sentence in result.sentences)


def test_an_exchange_that_loses_more_than_the_margin_is_none(copies):
    """A feature of noise in the place of a signal."""
    noisy = copies.replace_features(np.concatenate([copies.X, np.random.default_rng(0).random((copies.n_docs, 1))], 1))
    own = ablation_of(noisy)
    first = min(own.model.support.tolist())
    worth = own.worth({first: 6}, {})
    assert worth.substitutes == ()


def test_without_its_only_features_a_model_ranks_nothing(copies, ablation):
    chosen = ablation.chosen
    everything = np.unique(np.concatenate([ablation.candidate_set.features(chosen, f) for f in (-1, 0, 1, 2)]))
    (zero,) = per_query_values(np.zeros(copies.n_docs), copies, [ablation.cv.metrics[0]])
    found = ablation.refitted([everything])
    np.testing.assert_allclose(found[0, 1], zero)


def test_substitutes_of_a_holdout_are_groups(data):
    train, valid = data.take_queries(np.arange(45)), data.take_queries(np.arange(45, 70))
    feature_groups = {name: f"g{i // 3}" for i, name in enumerate(data.feature_names)}
    options = {**OPTIONS, "feature_transform": "none", "penalties": "l1"}
    result = sr.select(train, valid, protocol="holdout", feature_groups=feature_groups, **options)
    assert result.worth.feature_groups
    for row in result.worth.feature_groups:
        assert np.isfinite(row["cost"]["ndcg@10"]["cost"])
    assert result.worth.substitutes == ()
