"""PyTerrier itself fits and ranks by our rankers: through its own learned models, unchanged, and through SparseLTR."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from sklearn.exceptions import NotFittedError

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataWarning
from sparserank.pyterrier import SparseLTR

RANKERS = {
    "SparseRanker": lambda: sr.SparseRanker(k=4),
    "SparseRankerCV": lambda: sr.SparseRankerCV(n_alphas=20),
    "GreedyRankRLS": lambda: sr.papers.GreedyRankRLS(k=4),
}
Parts = dict[str, pd.DataFrame]


def results_of(data: RankingDataset) -> pd.DataFrame:
    """As PyTerrier has them: text ids, one array of features per row."""
    qid = [f"topic-{q}" for q in data.qid]
    return pd.DataFrame({"qid": qid, "docno": list(data.docid), "features": list(np.array(data.X))})


def arrays_of(res: pd.DataFrame, qrels: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, qid by plain look-up, without a join."""
    label = {(q, d): r for q, d, r in zip(qrels["qid"], qrels["docno"], qrels["label"], strict=True)}
    y = np.array([label.get(key, 0) for key in zip(res["qid"], res["docno"], strict=True)])
    return np.stack(list(res["features"])), y, res["qid"].to_numpy()


@pytest.fixture(scope="module")
def problem() -> Parts:
    """Queries that are in the frames by turns, as no block: topic-1, topic-2, ..., topic-1, ...;
    judgments of relevant documents and a few others."""
    data = sr.datasets.make_ranking(90, (18, 26), 12, n_informative=4, n_redundant=3, noise=0.6, random_state=3).data
    res = results_of(data)
    qrels = res[["qid", "docno"]].assign(label=data.relevance.astype(int))
    qrels = qrels[(qrels["label"] > 0) | (np.arange(len(qrels)) % 7 == 0)].sample(frac=1.0, random_state=0)
    part = data.qid % 3
    mixed = res.iloc[np.random.default_rng(0).permutation(len(res))]
    parts = {name: mixed[part[mixed.index] == k] for k, name in enumerate(("train", "valid", "test"))}
    return {**parts, "qrels": qrels, "names": pd.DataFrame({"name": list(data.feature_names)})}


def fitted(ranker: object, p: Parts, **options: object) -> SparseLTR:
    return SparseLTR(ranker, **options).fit(p["train"], p["qrels"], p["valid"], p["qrels"])


@pytest.mark.parametrize("name", RANKERS)
def test_pyterriers_own_learned_model_takes_our_rankers_unchanged(problem: Parts, name: str) -> None:
    learned = pt.ltr.apply_learned_model(RANKERS[name](), form="ltr")
    learned.fit(problem["train"], problem["qrels"], problem["valid"], problem["qrels"])
    X, y, qid = arrays_of(problem["train"], problem["qrels"])
    Xv, yv, qv = arrays_of(problem["valid"], problem["qrels"])
    direct = RANKERS[name]().fit(X, y, qid=qid, eval_set=[(Xv, yv)], eval_qid=[qv])
    np.testing.assert_array_equal(learned.learner.support_, direct.support_)
    # It sorts rows by qid and so sums in another order; the solver's tolerance is 1e-6.
    np.testing.assert_allclose(learned.learner.coef_, direct.coef_, rtol=1e-4, atol=1e-7)
    ranked = learned(problem["test"])
    np.testing.assert_array_equal(
        ranked["score"], learned.learner.predict(arrays_of(problem["test"], problem["qrels"])[0])
    )


def test_as_a_regression_it_tells_the_ranker_no_query_and_is_warned(problem: Parts) -> None:
    learned = pt.ltr.apply_learned_model(sr.SparseRanker(), form="regression")
    with pytest.warns(DataWarning, match="qid is missing, so all .* rows are ranked as one query"):
        learned.fit(pd.concat([problem["train"], problem["valid"]]), problem["qrels"])
    assert learned.learner.n_queries_in_ == 1
    ours = SparseLTR(sr.SparseRanker()).fit(pd.concat([problem["train"], problem["valid"]]), problem["qrels"])
    assert ours.ranker.n_queries_in_ == 60
    assert np.abs(learned.learner.coef_ - ours.ranker.coef_).max() > 0.1 * np.abs(ours.ranker.coef_).max()


@pytest.mark.parametrize("name", RANKERS)
def test_sparse_ltr_scores_as_the_ranker_called_directly(problem: Parts, name: str) -> None:
    ours = fitted(RANKERS[name](), problem)
    X, y, qid = arrays_of(problem["train"], problem["qrels"])
    Xv, yv, qv = arrays_of(problem["valid"], problem["qrels"])
    direct = RANKERS[name]().fit(X, y, qid=qid, eval_set=[(Xv, yv)], eval_qid=[qv])
    expected = direct.predict(arrays_of(problem["test"], problem["qrels"])[0])
    np.testing.assert_array_equal(ours(problem["test"])["score"], expected)
    assert ours.ranker.n_queries_in_ == 30
    assert np.std(expected) > 0


def test_validation_results_choose_and_are_optional(problem: Parts) -> None:
    validated = fitted(sr.SparseRankerCV(rule="best", n_alphas=20), problem).ranker
    folded = SparseLTR(sr.SparseRankerCV(rule="best", n_alphas=20)).fit(problem["train"], problem["qrels"]).ranker
    assert validated.values_.shape[1] == folded.values_.shape[1] == 30
    assert not np.array_equal(validated.values_, folded.values_)  # other queries, other models
    X, y, qid = arrays_of(problem["train"], problem["qrels"])
    direct = sr.SparseRankerCV(rule="best", n_alphas=20).fit(X, y, qid=qid)
    np.testing.assert_array_equal(folded.coef_, direct.coef_)


def test_what_was_not_judged_has_relevance_0(problem: Parts) -> None:
    everything = arrays_of(problem["train"], problem["qrels"])[1]
    judged = problem["train"].merge(problem["qrels"], on=["qid", "docno"])
    assert (everything == 0).sum() > (judged["label"] == 0).sum() > 0
    filled = problem["train"][["qid", "docno"]].assign(label=everything)
    partly = SparseLTR(sr.SparseRanker()).fit(problem["train"], problem["qrels"]).ranker
    wholly = SparseLTR(sr.SparseRanker()).fit(problem["train"], filled).ranker
    np.testing.assert_array_equal(partly.coef_, wholly.coef_)
    dropped = SparseLTR(sr.SparseRanker()).fit(judged[["qid", "docno", "features"]], problem["qrels"]).ranker
    assert not np.array_equal(partly.coef_, dropped.coef_)


def test_ranks_start_at_0_and_ties_keep_the_order_of_the_rows() -> None:
    model = sr.SparseRanker(alpha=1e-3, scaling="none").fit([[0.0], [1.0]], [0, 1]).to_model()
    res = pd.DataFrame(
        {
            "qid": ["b", "a", "b", "a", "b", "b"],
            "docno": ["d1", "d2", "d3", "d4", "d5", "d6"],
            "features": [np.array([v]) for v in (1.0, 1.0, 3.0, 2.0, 1.0, 3.0)],
            "score": 0.0,
            "rank": 7,
        },
        index=[10, 9, 8, 7, 6, 5],
    )
    ranked = SparseLTR(model)(res)
    assert list(ranked["rank"]) == [2, 1, 0, 0, 3, 1]
    assert list(ranked["docno"]) == list(res["docno"])
    np.testing.assert_allclose(ranked["score"], model.coef[0] * np.array([1.0, 1.0, 3.0, 2.0, 1.0, 3.0]))
    assert list(res["rank"]) == [7] * 6  # the frame that came in is as it was


def test_a_pipeline_of_features_and_a_ranker(problem: Parts) -> None:
    retrieved = pd.concat([problem["train"], problem["valid"], problem["test"]])
    retriever = pt.Transformer.from_df(retrieved[["qid", "docno"]].assign(query="any", score=0.0, rank=0))
    values = {(q, d): f for q, d, f in zip(retrieved["qid"], retrieved["docno"], retrieved["features"], strict=True)}
    features = retriever >> pt.apply.doc_features(lambda row: values[row["qid"], row["docno"]])
    ltr = SparseLTR(sr.SparseRankerCV(n_alphas=20), feature_names=problem["names"]["name"])
    pipeline = features >> ltr
    topics = {name: problem[name][["qid"]].drop_duplicates().assign(query="any") for name in ("train", "valid", "test")}
    pipeline.fit(topics["train"], problem["qrels"], topics["valid"], problem["qrels"])
    assert set(ltr.ranker.get_feature_names_out()) <= set(problem["names"]["name"])
    table = pt.Experiment(
        [features >> pt.ltr.feature_to_score(0), pipeline],
        topics["test"],
        problem["qrels"],
        ["ndcg_cut_10"],
        names=["feature 1", "sparse"],
    )
    found = dict(zip(table["name"], table["ndcg_cut_10"], strict=True))
    ranked = pipeline(topics["test"])
    (ours,) = sr.evaluate(
        ranked["score"].to_numpy(),
        arrays_of(ranked, problem["qrels"])[1],
        "ndcg@10",
        qid=ranked["qid"].to_numpy(),
        convention="trec",
    ).values()
    assert found["sparse"] == pytest.approx(float(ours), abs=1e-12)
    assert found["sparse"] > found["feature 1"] + 0.1


def test_pyterrier_knows_its_columns(problem: Parts) -> None:
    ltr = SparseLTR(sr.SparseRanker())
    assert pt.inspect.transformer_inputs(ltr) == [["qid", "docno", "features"]]
    given = ["qid", "docno", "features", "score"]
    ranked = SparseLTR(sr.SparseRanker()).fit(problem["train"], problem["qrels"])(problem["test"].assign(score=0.0))
    assert pt.inspect.transformer_outputs(ltr, given) == list(ranked.columns)
    with pytest.raises(pt.validate.InputValidationError, match="features"):
        pt.inspect.transformer_outputs(ltr, ["qid", "docno"])
    assert {a.name for a in pt.inspect.transformer_attributes(ltr)} == {"ranker", "feature_names"}


def test_a_saved_model_ranks_only(problem: Parts, tmp_path: Path) -> None:
    names = list(problem["names"]["name"])
    ours = fitted(sr.SparseRankerCV(n_alphas=20), problem, feature_names=names)
    ours.ranker.save(tmp_path / "model.json")
    expected = ours(problem["test"])["score"]
    saved = SparseLTR(tmp_path / "model.json")
    np.testing.assert_allclose(saved(problem["test"])["score"], expected, rtol=1e-12)
    order = np.argsort(names)
    turned = problem["test"].assign(features=[np.append(f[order], 9.0) for f in problem["test"]["features"]])
    by_name = SparseLTR(sr.load_model(tmp_path / "model.json"), feature_names=[*np.array(names)[order], "another"])
    np.testing.assert_allclose(by_name(turned)["score"], expected, rtol=1e-12)
    with pytest.raises(DataError, match="features have 13 values; RankingModel was fitted on 12"):
        saved(turned)
    with pytest.raises(DataError, match="a RankingModel only ranks; to fit, wrap a ranker such as SparseRankerCV"):
        saved.fit(problem["train"], problem["qrels"])


def test_a_model_that_scales_within_queries_is_told_the_queries(problem: Parts) -> None:
    linear = SparseLTR(sr.SparseRanker()).fit(problem["train"], problem["qrels"]).ranker.to_model()
    none = np.zeros(12)
    scaling = sr.FeatureScaling("query-min-max", none, none + 1.0)
    model = sr.RankingModel.from_arrays(linear.coef, linear.feature_names, scaling)
    X, _, qid = arrays_of(problem["test"], problem["qrels"])
    found = SparseLTR(model)(problem["test"])["score"]
    np.testing.assert_array_equal(found, model.predict(X, qid))
    assert not np.allclose(found, model.predict(X, np.zeros(len(X))))


def test_no_results_are_ranked_as_no_results(problem: Parts) -> None:
    empty = SparseLTR(sr.SparseRanker()).fit(problem["train"], problem["qrels"])(problem["test"].iloc[:0])
    assert list(empty.columns) == ["qid", "docno", "features", "score", "rank"]
    assert len(empty) == 0


def test_one_feature_may_be_a_number(problem: Parts) -> None:
    single = problem["train"].assign(features=[f[0] for f in problem["train"]["features"]])
    array = problem["train"].assign(features=[f[:1] for f in problem["train"]["features"]])
    weights = [SparseLTR(sr.SparseRanker()).fit(res, problem["qrels"]).ranker.coef_ for res in (single, array)]
    np.testing.assert_array_equal(*weights)


def test_missing_values_are_the_rankers_business(problem: Parts, tmp_path: Path) -> None:
    holed = problem["train"].assign(features=[np.where(f > 1.5, np.nan, f) for f in problem["train"]["features"]])
    X, y, qid = arrays_of(holed, problem["qrels"])
    assert np.isnan(X).any()
    direct = sr.SparseRanker(missing="median").fit(X, y, qid=qid)
    ours = SparseLTR(sr.SparseRanker(missing="median")).fit(holed, problem["qrels"])
    ours.ranker.save(tmp_path / "model.json")
    for ltr in (ours, SparseLTR(tmp_path / "model.json")):
        np.testing.assert_allclose(ltr(holed)["score"], direct.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="NaN"):
        SparseLTR(sr.SparseRanker()).fit(holed, problem["qrels"])


def changed(res: pd.DataFrame, row: int, features: object) -> pd.DataFrame:
    values = list(res["features"])
    values[row] = features
    return res.assign(features=pd.Series(values, index=res.index, dtype=object))


BAD_TRAINING = {
    "no features": (
        lambda p: (p["train"].drop(columns="features"), p["qrels"]),
        "res_tr must be a frame with the columns qid, docno, features; it has no features",
    ),
    "no frame": (lambda p: (None, p["qrels"]), "res_tr must be a frame with the columns"),
    "ragged": (
        lambda p: (changed(p["train"], 3, np.zeros(11)), p["qrels"]),
        (
            r"rows of numbers, all of the same length; document 'd\d+' of query 'topic-\d+' has shape \(11,\), "
            r"document .* \(12,\)"
        ),
    ),
    "text": (
        lambda p: (changed(p["train"], 2, ["a"] * 12), p["qrels"]),
        r"rows of numbers, all of the same length; document 'd\d+' of query 'topic-\d+' has \['a',",
    ),
    "matrices": (
        lambda p: (p["train"].assign(features=[np.ones((2, 2))] * len(p["train"])), p["qrels"]),
        r"has shape \(2, 2\)",
    ),
    "no values": (lambda p: (p["train"].assign(features=[[]] * len(p["train"])), p["qrels"]), r"has shape \(0,\)"),
    "no rows": (lambda p: (p["train"].iloc[:0], p["qrels"]), "res_tr contains no documents"),
    "a query missing": (
        lambda p: (p["train"].assign(qid=[None, *p["train"]["qid"][1:]]), p["qrels"]),
        "must have a query id in every row",
    ),
    "no labels": (lambda p: (p["train"], p["qrels"][["qid", "docno"]]), "qrels_tr must be a frame .* has no label"),
    "ids of another type": (
        lambda p: (p["train"], p["qrels"].assign(qid=[int(q[6:]) for q in p["qrels"]["qid"]])),
        "qrels_tr judges none of the .* documents of res_tr, e.g. document 'd.*' of query 'topic-.*PyTerrier uses text",
    ),
    "judged twice": (
        lambda p: (p["train"], pd.concat([p["qrels"], p["qrels"].iloc[:1].assign(label=9)])),
        "qrels_tr gives two labels to document",
    ),
    "validation without qrels": (lambda p: (p["train"], p["qrels"], p["valid"]), "res_va needs qrels_va"),
    "qrels without validation": (lambda p: (p["train"], p["qrels"], None, p["qrels"]), "qrels_va needs res_va"),
    "validation without features": (
        lambda p: (p["train"], p["qrels"], p["valid"].drop(columns="features"), p["qrels"]),
        "res_va must be a frame .* has no features",
    ),
}


@pytest.mark.parametrize("case", BAD_TRAINING)
def test_bad_training_results_are_refused_in_a_sentence(problem: Parts, case: str) -> None:
    make, message = BAD_TRAINING[case]
    with pytest.raises(DataError, match=message) as caught:
        SparseLTR(sr.SparseRankerCV(n_alphas=20)).fit(*make(problem))
    assert "\n" not in str(caught.value)


def test_exact_repetitions_of_a_judgment_say_nothing_new(problem: Parts) -> None:
    repeated = pd.concat([problem["qrels"], problem["qrels"]])
    weights = [SparseLTR(sr.SparseRanker()).fit(problem["train"], q).ranker.coef_ for q in (problem["qrels"], repeated)]
    np.testing.assert_array_equal(*weights)


def test_other_features_than_fitted_are_refused(problem: Parts) -> None:
    ours = SparseLTR(sr.SparseRanker()).fit(problem["train"], problem["qrels"])
    fewer = problem["test"].assign(features=[f[:5] for f in problem["test"]["features"]])
    with pytest.raises(DataError, match="features have 5 values; SparseRanker was fitted on 12"):
        ours(fewer)
    with pytest.raises(DataError, match="features; it has no features"):
        ours(problem["test"].drop(columns="features"))
    with pytest.raises(NotFittedError, match="not fitted"):
        SparseLTR(sr.SparseRanker())(problem["test"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "feature_names must contain 12 names; got 2"),
        (["a"] * 12, "feature_names must be unique; 'a' appears twice"),
        ("abcdefghijkl", "feature_names must be a list of 12 names"),
        (["qid", *map(str, range(11))], "no feature can be called 'qid'"),
    ],
)
def test_bad_names_are_refused_in_a_sentence(problem: Parts, names: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SparseLTR(sr.SparseRanker(), feature_names=names).fit(problem["train"], problem["qrels"])


@pytest.mark.parametrize("other", [None, 3, object(), sr.SparseRanker])
def test_what_is_no_ranker_is_refused(other: object) -> None:
    with pytest.raises(DataError, match="ranker must be a ranker of sparserank, a RankingModel or the path"):
        SparseLTR(other)


def test_without_pyterrier_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    for name in [n for n in sys.modules if n.startswith("sparserank.pyterrier")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'sparserank\[pyterrier\]'"):
        importlib.import_module("sparserank.pyterrier")
