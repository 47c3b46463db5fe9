"""Frames: names decide what is what, a column qid is the query, and nothing is taken for a feature in silence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_validate

import sparserank as sr
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, ParameterError

NAMES = [f"c{j}" for j in range(6)]
QUICK = {"penalties": "l1", "n_alphas": 8, "half_samples": 0, "relaxed": False, "feature_transform": "none", "cv": 3}


@pytest.fixture(scope="module")
def data() -> sr.RankingDataset:
    return make_ranking(40, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data


@pytest.fixture(scope="module")
def frame(data: sr.RankingDataset) -> pd.DataFrame:
    """Features alone, in rows that are not grouped."""
    return pd.DataFrame(np.array(data.X), columns=NAMES)


def with_qid(frame: pd.DataFrame, data: sr.RankingDataset, at: int = 2) -> pd.DataFrame:
    out = frame.copy()
    out.insert(at, "qid", np.asarray(data.qid))
    return out


@pytest.mark.parametrize(
    "container", [lambda f: f, pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False)]
)
@pytest.mark.parametrize("ranker", [sr.SparseRanker(), sr.SparseRankerCV(n_alphas=8, cv=3), sr.papers.RankSVM()])
def test_a_column_qid_is_the_query_and_no_feature(ranker, container, frame, data) -> None:
    y = data.relevance
    expected = clone(ranker).fit(frame, y, qid=data.qid)
    found = clone(ranker).fit(container(with_qid(frame, data)), y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.n_features_in_ == 6
    assert found.n_queries_in_ == 40
    assert len(found.get_support()) == 6
    assert found.to_model().n_features == 6
    for X in (frame, with_qid(frame, data), with_qid(frame, data, 0)):
        np.testing.assert_allclose(found.predict(container(X)), expected.predict(frame), rtol=1e-12)
    assert found.score(container(with_qid(frame, data)), y) == expected.score(frame, y, qid=data.qid)
    together = clone(ranker).fit(container(with_qid(frame, data)), y, qid=data.qid)
    np.testing.assert_array_equal(together.coef_, expected.coef_)
    X = container(with_qid(frame, data))
    np.testing.assert_array_equal(np.asarray(found.transform(X)), frame.to_numpy()[:, found.support_])
    np.testing.assert_array_equal(np.asarray(clone(ranker).fit_transform(X, y)), frame.to_numpy()[:, found.support_])
    with pytest.raises(DataError, match="column 'qid' and qid= differ"):
        clone(ranker).fit(container(with_qid(frame, data)), y, qid=np.asarray(data.qid)[::-1])
    # what a ranker would do that did not look
    as_a_feature = clone(ranker).fit(np.asarray(with_qid(frame, data)), y, qid=data.qid)
    assert as_a_feature.n_features_in_ == 7


def test_reordered_columns_are_refused_by_estimators_and_aligned_by_models(frame, data) -> None:
    ranker = sr.SparseRanker().fit(frame, data.relevance, qid=data.qid)
    turned = frame[NAMES[::-1]].assign(more=1.0)
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame[NAMES[::-1]])
    model = ranker.to_model()
    expected = ranker.predict(frame)
    for form in (turned, pl.from_pandas(turned), pa.Table.from_pandas(turned)):
        np.testing.assert_allclose(model.predict(form), expected, rtol=1e-12)
    by_order = turned[NAMES[::-1]].to_numpy() @ ranker.coef_  # what the order alone would give
    assert np.abs(by_order - expected).max() > 0.1
    used = NAMES[int(ranker.support_[0])]
    with pytest.raises(DataError, match=f"no column '{used}', which the model uses"):
        model.predict(frame.drop(columns=used))
    with pytest.raises(DataError, match="no column 'c"):
        model.predict(frame.rename(columns=str.upper))
    with pytest.raises(DataError, match="trained on 6 features; the data have 5"):
        model.predict(frame.to_numpy()[:, :5])
    np.testing.assert_allclose(model.predict(frame.to_numpy()), expected, rtol=1e-12)
    unnamed = sr.SparseRanker().fit(frame.to_numpy(), data.relevance, qid=data.qid).to_model()
    np.testing.assert_allclose(unnamed.predict(frame), expected, rtol=1e-12)
    with pytest.raises(DataError, match="trained on 6 features; the data have 7"):
        unnamed.predict(turned)


def test_select_aligns_validation_and_test_by_name(frame, data) -> None:
    y, q = data.relevance, np.asarray(data.qid)
    train = frame.assign(label=y, qid=q)
    other = frame.iloc[::-1].reset_index(drop=True).assign(label=y[::-1], qid=q[::-1] + 1000)
    turned = other.assign(more=np.pi)[["more", "label", *NAMES[::-1], "qid"]]
    expected = sr.select(train, valid=None, test=other, **QUICK)
    arrays = (turned[NAMES[::-1]], turned.label.to_numpy(), turned.qid.to_numpy())
    for test in (turned, pl.from_pandas(turned), arrays, sr.RankingDataset(*arrays)):
        found = sr.select(train, test=test, **QUICK)
        assert found.test.rows() == expected.test.rows()
    for test in (turned.drop(columns="c3"), (turned[NAMES[:3]], *arrays[1:])):
        with pytest.raises(DataError, match="'c3'"):
            sr.select(train, test=test, **QUICK)
    with pytest.raises(DataError, match="test has 5 features; the training data have 6"):
        sr.select(train, test=(turned[NAMES].to_numpy()[:, :5], *arrays[1:]), **QUICK)


def test_evaluation_sets_of_another_shape_or_order_are_refused(frame, data) -> None:
    y, q = data.relevance, data.qid
    for ranker in (sr.SparseRanker(), sr.SparseRankerCV(n_alphas=8), sr.papers.RankRLS()):
        name = type(ranker).__name__
        fit = clone(ranker).fit
        fit(frame, y, qid=q, eval_set=[(frame, y)], eval_qid=[q])
        fit(frame, y, qid=q, eval_set=(frame, y), eval_qid=q)
        fit(frame, y, qid=q, eval_set=[(with_qid(frame, data), y)])
        fit(frame, y, qid=q, eval_set=[(frame.to_numpy(), y)], eval_group=[np.diff(data.query_ptr)])
        with pytest.raises(DataError, match=rf"{name}: the columns of eval_set differ .*another order"):
            fit(frame, y, qid=q, eval_set=[(frame[NAMES[::-1]], y)], eval_qid=[q])
        with pytest.raises(DataError, match=rf"{name}: the columns of eval_set differ .*no 'c0'"):
            fit(frame, y, qid=q, eval_set=[(frame.drop(columns="c0"), y)], eval_qid=[q])
        with pytest.raises(DataError, match=rf"{name}: eval_set must have the 6 features"):
            fit(frame, y, qid=q, eval_set=[(frame.to_numpy()[:, :5], y)], eval_qid=[q])
        with pytest.raises(DataError, match="eval_qid or eval_group must be a list with one array per set"):
            fit(frame, y, qid=q, eval_set=[(frame, y), (frame, y)], eval_qid=[q])
        with pytest.raises(DataError, match=rf"{name}: eval_set must be a pair"):
            fit(frame, y, qid=q, eval_set=[frame])
        with pytest.raises(DataError, match="relevance must have one value per row"):
            fit(frame, y, qid=q, eval_set=[(frame, y[:-1])], eval_qid=[q[:-1]])


def test_keywords_of_other_rankers_name_ours(frame, data) -> None:
    fit = sr.SparseRankerCV(n_alphas=8).fit
    for keyword, ours in (
        ("sample_weight", "query_weight="),
        ("eval_at", "metric='ndcg@10'"),
        ("eval_metric", "metric='ndcg@10'"),
        ("callbacks", "sr.fit_path"),
        ("group_id", "qid="),
        ("early_stopping_rounds", "SparseRankerCV"),
    ):
        with pytest.raises(DataError, match=rf"SparseRankerCV.fit takes no {keyword}: .*{ours}"):
            fit(frame, data.relevance, qid=data.qid, **{keyword: [1, 2]})
    fit(frame, data.relevance, qid=data.qid, verbose=True, sample_weight=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'wieght'"):
        fit(frame, data.relevance, qid=data.qid, wieght=1)


def test_splitters_split_queries(frame, data) -> None:
    y, q = data.relevance, data.qid
    codes = np.unique(q, return_inverse=True)[1]

    def values(cv: object) -> np.ndarray:
        return sr.SparseRankerCV(n_alphas=8, cv=cv).fit(frame, y, qid=q).values_

    splitter = KFold(4, shuffle=True, random_state=1)
    parts = splitter.split(np.zeros((40, 1)))
    over_queries = [tuple(np.flatnonzero(np.isin(codes, own)) for own in part) for part in parts]
    np.testing.assert_array_equal(values(splitter), values(over_queries))
    assert np.isfinite(values(GroupKFold(4))).all()
    assert not np.array_equal(values(splitter), values(4))
    rows = list(KFold(4, shuffle=True, random_state=0).split(frame))
    for cv, message in (
        (rows, "cv splits the rows of a query"),
        (ShuffleSplit(3, random_state=0), "hold out every query once"),
        (StratifiedKFold(3), "cv cannot split 40 queries"),
        *[(cv, "cv must be a number of folds") for cv in ([], "five", True, iter(over_queries))],
        (1, "cv must be an integer >= 2"),
        ([([0.5], [1])], "must contain indices of the"),
        ([over_queries[0]], r"30 of 40 are never held out"),
    ):
        with pytest.raises(DataError, match=message):
            values(cv)


def test_parameters_of_penalties_are_searched_like_others(frame, data) -> None:
    ranker = sr.SparseRanker(penalty="mcp(gamma=2.0)")
    penalty = ranker.get_params()["penalty__gamma"], ranker.set_params(penalty__gamma=5.0).penalty
    assert penalty == (2.0, sr.penalties.MCP(gamma=5.0))
    assert sr.SparseRanker().set_params(penalty__drop=(1,)).penalty == sr.penalties.L1(drop=(1,))
    assert clone(ranker).penalty == sr.penalties.MCP(gamma=5.0)
    for same in (sr.SparseRanker(), sr.SparseRanker(penalty="mcp")):
        before = same.penalty
        assert same.set_params(**same.get_params()).penalty is before
    both = sr.SparseRanker().set_params(penalty__gamma=2.0, penalty="mcp")
    assert both.penalty == sr.penalties.MCP(gamma=2.0)
    frozen = sr.penalties.MCP(gamma=3.0)
    clone(sr.SparseRanker(penalty=frozen)).set_params(penalty__gamma=9.0)
    assert frozen.gamma == 3.0
    of_l1 = r"Invalid parameter 'penalty__gamma' for SparseRanker: the parameters of its penalty are .*weights"
    with pytest.raises(ValueError, match=of_l1):
        sr.SparseRanker().set_params(penalty__gamma=2.0)
    with pytest.raises(ValueError, match="it has no penalty with parameters"):
        sr.papers.RankSVM().set_params(penalty__gamma=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'penalty__alpha'"):
        sr.SparseRanker().set_params(penalty__alpha=2.0)
    search = GridSearchCV(ranker, {"penalty__gamma": [1.5, 6.0]}, cv=GroupKFold(3))
    search.fit(with_qid(frame, data), data.relevance, groups=data.qid)
    assert {p["penalty__gamma"] for p in search.cv_results_["params"]} == {1.5, 6.0}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    values = cross_validate(ranker, with_qid(frame, data), data.relevance, groups=data.qid, cv=GroupKFold(3))
    assert (values["test_score"] > 0.5).all()


def test_rules_of_penalties_by_name(frame, data) -> None:
    names = {"monotone": {"c0": "+", "c2": -1}, "keep": ("c5",), "drop": ("c3",)}
    by_name = sr.penalties.L1(weights={"c1": 2.0, "c4": 0.5}, **names)
    by_number = sr.penalties.L1(weights=(1, 2, 1, 1, 0.5, 1), monotone=(1, 0, -1, 0, 0, 0), keep=(5,), drop=(3,))
    assert by_name.for_features(NAMES) == by_number
    assert sr.penalties.parse_penalty(repr(by_name)) == by_name
    for ranker in (sr.SparseRanker(alpha_ratio=0.2), sr.SparseRankerCV(n_alphas=8)):
        both = [clone(ranker).set_params(penalty=p) for p in (by_name, by_number)]
        named, numbered = (own.fit(frame, data.relevance, qid=data.qid) for own in both)
        np.testing.assert_array_equal(named.coef_, numbered.coef_)
        free = clone(ranker).set_params(penalty="l1").fit(frame, data.relevance, qid=data.qid)
        assert np.abs(named.coef_ - free.coef_).max() > 1e-3
        known = "L1: drop contains 'c9', which is not a feature; the features are c0 ... c5"
        with pytest.raises(DataError, match=f"{type(ranker).__name__}: {known}"):
            clone(ranker).set_params(penalty=sr.penalties.L1(drop=("c9",))).fit(frame, data.relevance, qid=data.qid)
    assert sr.penalties.L1(weights=pd.Series({"c4": 0.5, "c1": 2.0})) == sr.penalties.L1(weights={"c4": 0.5, "c1": 2.0})
    assert sr.penalties.L1(weights={}) == sr.penalties.L1()
    grouped = sr.penalties.MCP(feature_groups={"c0": "a", "c1": "a", "c4": "b"}).for_features(NAMES)
    assert np.array_equal(grouped.group_of(6), [0, 0, 1, 2, 3, 4])
    whole = frame.assign(label=data.relevance, qid=data.qid)
    paths = [sr.fit_path(whole, penalty=p, n_alphas=6).coefs for p in (by_name, by_number)]
    np.testing.assert_array_equal(*paths)
    chosen = [sr.select(whole, **{**QUICK, "penalties": [p]}).model.coef for p in (by_name, by_number)]
    np.testing.assert_array_equal(*chosen)
    for rules, message in (
        ({"weights": {"c1": -1.0}}, "weights must be >= 0"),
        ({"monotone": {"c1": "up"}}, "monotone must map 'c1' to '\\+', '-'"),
        ({"monotone": {"c1": 2}}, "monotone must be -1, 0 or 1"),
        ({"weights": {1: 2.0}}, "must map each feature name"),
        ({"keep": ("c1", 1.5)}, "feature names, or integers"),
        ({"feature_groups": {"c1": 0.5}}, "must map 'c1' to a name or a number"),
        ({"drop": "c1"}, "must be a tuple"),
    ):
        with pytest.raises(DataError, match=message):
            sr.penalties.L1(**rules)
    with pytest.raises(DataError, match="its rules use feature names"):
        by_name.value(np.ones(6))


def test_whatever_takes_a_frame_knows_its_column_qid(frame, data) -> None:
    y = np.array(data.relevance)
    with_ids, plain = sr.RankingDataset(with_qid(frame, data), y), sr.RankingDataset(frame, y, data.qid)
    assert (with_ids.n_queries, with_ids.n_features, with_ids.feature_names) == (40, 6, plain.feature_names)
    np.testing.assert_array_equal(with_ids.X, plain.X)
    assert sr.alpha_max(with_qid(frame, data), y) == sr.alpha_max(frame, y, qid=data.qid)
    both = ((frame, data.qid), (with_qid(frame, data), None))
    np.testing.assert_array_equal(*(sr.fit_path(X, label=y, qid=q, n_alphas=4).coefs for X, q in both))
    np.testing.assert_array_equal(*(sr.select(X, label=y, qid=q, **QUICK).model.coef for X, q in both))
    with pytest.raises(DataError, match=r"eval_set needs eval_qid \(or eval_group, or a frame with a column qid\)"):
        sr.SparseRankerCV(n_alphas=8).fit(frame, y, qid=data.qid, eval_set=(frame, y))
    with pytest.raises(DataError, match="eval_qid and eval_group need eval_set"):
        sr.SparseRankerCV(n_alphas=8).fit(frame, y, qid=data.qid, eval_qid=data.qid)


def test_estimators_refuse_what_is_no_feature(frame, data) -> None:
    y, q = np.array(data.relevance), np.asarray(data.qid)
    with pytest.raises(DataError, match="no feature column; its only column is 'qid'"):
        sr.SparseRanker().fit(with_qid(frame, data)[["qid"]], y)
    batch = pa.RecordBatch.from_pandas(frame)
    ranker = sr.SparseRanker().fit(batch, y, qid=q)
    assert list(ranker.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(pa.RecordBatch.from_pandas(frame[NAMES[::-1]]))
    holes = frame.assign(c0=np.nan)
    with pytest.raises(DataError, match=r"SparseRanker: Input X contains NaN; set a fill value with missing='median'"):
        sr.SparseRanker().fit(holes, y, qid=q)
    with pytest.raises(DataError, match="RankRLS: Input X contains NaN; fill them in beforehand"):
        sr.papers.RankRLS().fit(holes, y, qid=q)
    with pytest.raises(DataError, match="scores must contain one number per document"):
        sr.evaluate(["a"] * len(y), y, qid=q)
    with pytest.raises(DataError, match="eval_set must have the 6 features"):
        sr.SparseRanker().fit(frame, y, qid=q, eval_set=([[1, 2], [1]], [0, 1]))


def test_rules_that_contradict_each_other_are_refused(frame, data) -> None:
    L1 = sr.penalties.L1
    whole = frame.assign(label=data.relevance, qid=data.qid)
    for penalty, options, message in (
        (L1(monotone={"c0": "-"}), {"monotone": {"c0": "+"}}, "contradicts monotone of a penalty for 'c0'"),
        (L1(drop=("c3",)), {"keep": ["c3"]}, "names 'c3', but drop of a penalty names it too"),
        (L1(keep=("c3",)), {"drop": ["c3"]}, "names 'c3', but keep of a penalty names it too"),
        (L1(weights={"c0": 3.0}), {"costs": [1.0] * 6}, "cannot be combined with the weights of penalty l1"),
    ):
        with pytest.raises(ParameterError, match=message):
            sr.select(whole, **{**QUICK, "penalties": [penalty], **options})
    both = sr.select(whole, **{**QUICK, "penalties": [L1(monotone={"c0": "-"})], "monotone": {"c1": "+"}})
    assert both.model.coef[0] <= 0 <= both.model.coef[1]
    assert L1(keep={"c5"}) == L1(keep=("c5",)) == L1(keep=np.array(["c5"]))
    assert sr.penalties.parse_penalty("l1(weights={'c0': inf})") == L1(weights={"c0": np.inf})


N = 40
IDS = {"qid": np.repeat(np.arange(8), 5), "label": np.arange(N) % 2}
LOG = pd.DataFrame({**IDS, "a": np.sin(np.arange(N)), "b": np.cos(np.arange(N))})
DATES = LOG.assign(a=pd.Timestamp("2026-01-01"))
NO_NUMBERS = "column 'a' contains dates, durations or complex numbers, not real numbers"
NO_FRAMES = {
    "dates": (lambda: DATES, "column 'a' is not numeric"),
    "dates, polars": (lambda: pl.from_pandas(DATES), "column 'a' is not numeric"),
    "dates, Arrow": (lambda: pa.Table.from_pandas(DATES), "column 'a' is not numeric"),
    "complex": (lambda: LOG.assign(a=1j), "column 'a' contains neither numbers nor text; convert it"),
    "lazy": (lambda: pl.from_pandas(LOG).lazy(), r"is a lazy frame; collect it first, with \.collect\(\)"),
    "series": (lambda: LOG["a"], "a Series cannot be read"),
    "Arrow column": (lambda: pa.chunked_array([[1.0]]), "a ChunkedArray cannot be read"),
    "column twice": (lambda: pd.concat([LOG, LOG[["a"]]], axis=1), "column 'a' appears twice; rename or drop one"),
    "no column": (lambda: pd.DataFrame(index=range(4)), "has no column 'label'; it has nothing"),
    "huge ids": (lambda: LOG.assign(qid=[2**70] * N), r"column 'qid' contains whole numbers from 2\*\*64 on; convert"),
    "mixed": (lambda: LOG.assign(b=[1, "x"] * (N // 2)), "column 'b' contains neither numbers nor text; convert it"),
}


@pytest.mark.parametrize("kind", NO_FRAMES)
def test_every_reader_refuses_what_is_no_frame_in_one_sentence(kind: str) -> None:
    make, sentence = NO_FRAMES[kind]
    lists = {"q": {"d": 1.0}}
    readers = [
        lambda frame: sr.select(frame, **QUICK),
        lambda frame: sr.select(LOG, frame, **QUICK),
        lambda frame: sr.fit_path(frame, "l1"),
        lambda frame: sr.fuse({"a": frame, "b": lists}, lists),
        lambda frame: sr.fuse({"a": lists, "b": lists}, frame),
    ]
    without_numbers = kind == "complex" or kind.startswith("dates")
    if not without_numbers and kind != "series":  # scores need no features, and a series may be labels
        readers.append(lambda frame: sr.evaluate(np.zeros(N), frame))
    if without_numbers or kind in ("lazy", "column twice"):
        for read in (sr.SparseRanker().fit, sr.RankingDataset):
            with pytest.raises(DataError, match=NO_NUMBERS if without_numbers else "two columns 'a'|collect it first"):
                read(make(), LOG["label"], qid=LOG["qid"])
    for read in readers:
        with pytest.raises(DataError):
            read(make())
    with pytest.raises(DataError, match=sentence):
        sr.read(make())


def test_sparse_columns_of_pandas_are_read() -> None:
    sparse = LOG.assign(b=np.arange(N) % 3 // 2).astype({"b": pd.SparseDtype(float, 0.0)})
    np.testing.assert_array_equal(sr.read(sparse).X[:, 1], np.arange(N) % 3 // 2)


def test_frames_of_other_libraries_are_read_by_their_stream() -> None:
    class Other:
        columns = tuple(LOG.columns)

        def __getitem__(self, name: str) -> None:
            raise TypeError("by name only")

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.Table.from_pandas(LOG).__arrow_c_stream__(requested_schema)

    np.testing.assert_array_equal(sr.RankingDataset(Other(), LOG["label"]).X, LOG[["label", "a", "b"]])
    np.testing.assert_array_equal(sr.read(Other()).X, LOG[["a", "b"]])
    with pytest.raises(DataError, match="X: a Styler cannot be read; pass a pandas or polars frame"):
        sr.RankingDataset(LOG.style, LOG["label"])


@pytest.mark.parametrize("group", [["x"] * N, [{"a": 1}], "abc", None], ids=str)
def test_what_is_no_list_of_sizes_is_refused(group: object) -> None:
    with pytest.raises(DataError, match="group must contain query sizes >= 1 whose sum is the number of rows, 40"):
        sr.SparseRanker().fit(LOG[["a", "b"]], LOG["label"], group=pl.Series([group]) if group is None else group)
    with pytest.raises(DataError, match="pass qid or group, not both"):
        sr.SparseRanker().fit(LOG[["a", "b"]], LOG["label"], qid=LOG["qid"], group=[N])


def test_labels_that_are_missing_have_their_own_remedy() -> None:
    with pytest.raises(DataError, match="Input y contains NaN; drop the rows without a label"):
        sr.SparseRanker().fit(LOG[["a", "b"]], LOG["label"].where(LOG.index > 2), qid=LOG["qid"])
