"""`sr.select`: the main job from Python, from whatever people hold, and the same as on the command line."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sparserank as sr
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataFormatError, ParameterError, RunDirectoryError
from sparserank.evaluation import per_query_values
from sparserank.paths import PathPlan
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.plan import make_plan
from sparserank.strict_json import plain
from tests.extension.modified_huber import ModifiedHuber

ALL = sr.datasets.make_ranking(60, (8, 20), 10, n_informative=3, n_redundant=2, noise=0.4, random_state=9).data
TRAIN, VALID, TEST = (ALL.take_queries(np.arange(a, b)) for a, b in ((0, 25), (25, 40), (40, 60)))
QUICK: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 8, "cv": 2, "half_samples": 2, "n_threads": 1}
ONE: dict[str, Any] = {**QUICK, "penalties": ["l1"], "n_alphas": 6, "half_samples": 0, "feature_transform": "none"}
ONE_ARGS = [
    "--penalty",
    "l1",
    "--n-alphas",
    6,
    "--folds",
    2,
    "--half-samples",
    0,
    "--transform",
    "none",
    "--threads",
    1,
]

DATA_OF_NOTEBOOK = sr.datasets.make_ranking(40, (5, 9), 8, n_informative=3, n_redundant=0, random_state=1).data


def frame(data: sr.RankingDataset, label: str = "label", qid: str = "qid") -> pd.DataFrame:
    out = pd.DataFrame(np.array(data.X), columns=list(data.feature_names or ()))
    out.insert(3, label, data.relevance.astype(int))
    out.insert(0, qid, data.qid)
    return out


def model_of(result: sr.SelectionResult) -> str:
    return json.dumps(result.model.to_json())


@pytest.fixture(scope="module")
def expected() -> sr.SelectionResult:
    return sr.select(TRAIN, VALID, TEST, **QUICK)


@pytest.fixture(scope="module")
def of_l1() -> sr.SelectionResult:
    return sr.select(TRAIN, VALID, TEST, **ONE)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [str(tmp_path / f"{name}.txt") for name in ("train", "valid", "test")]
    for data, path in zip((TRAIN, VALID, TEST), paths, strict=True):
        sr.write_letor(data, path)
    (tmp_path / "names").write_text("".join(f"{n}\n" for n in TRAIN.feature_names or ()))
    return paths


def test_files_data_sets_arrays_and_frames_give_one_model(of_l1, files, tmp_path, cli):
    triples = [(np.array(d.X), d.relevance, d.qid) for d in (TRAIN, VALID, TEST)]
    X, y, qid = triples[0]
    named = frame(VALID)[[*reversed(frame(VALID).columns)]]  # columns in another order
    results = {
        "files": sr.select(*files, feature_names=tmp_path / "names", **ONE),
        "pandas": sr.select(frame(TRAIN), named, frame(TEST), **ONE),
        "polars": sr.select(*(pl.from_pandas(frame(d)) for d in (TRAIN, VALID, TEST)), **ONE),
        "named columns": sr.select(
            *(frame(d, "grade", "query") for d in (TRAIN, VALID, TEST)), label="grade", qid="query", **ONE
        ),
    }
    for name, result in results.items():
        assert model_of(result) == model_of(of_l1), name
        assert result.sentence == of_l1.sentence
    unnamed = sr.select(X, triples[1], triples[2], label=y, qid=qid, **ONE)
    np.testing.assert_array_equal(unnamed.model.coef, of_l1.model.coef)
    np.testing.assert_array_equal(sr.select(*triples, **ONE).model.coef, of_l1.model.coef)
    args = [*ONE_ARGS, "--valid", files[1], "--test", files[2], "--feature-names", tmp_path / "names"]
    assert cli("select", files[0], *args, "--out", tmp_path / "run").code == 0
    of_l1.model.save(tmp_path / "expected.json")
    assert (tmp_path / "run/model.json").read_bytes() == (tmp_path / "expected.json").read_bytes()


@pytest.mark.usefixtures("pictures")
def test_a_notebook_shows_the_choice() -> None:
    few = {"n_alphas": 6, "cv": 2, "half_samples": 0, "feature_transform": "none"}
    shown = sr.select(DATA_OF_NOTEBOOK, penalties="l1", **few)._repr_html_()
    assert shown.startswith("<div>")
    assert "<strong>Keep" in shown
    assert "<svg" in shown
    assert "<script" not in shown
    top, *folded = shown.split("<details>")
    assert "<svg" in top
    assert "<table" not in top
    assert [part[9 : part.index("</summary>")].split(" ")[0] for part in folded] == ["In", "Selected", "Best"]


@pytest.mark.usefixtures("pictures")
def test_a_result_shows_saves_and_documents_itself(expected: sr.SelectionResult, tmp_path: Path) -> None:
    assert expected.headline in repr(expected)
    table, sizes = expected.table().to_dict("list"), expected.sizes().to_dict("records")
    assert sorted(table["feature"]) == sorted(np.array(expected.model.feature_names)[expected.model.support])
    assert list(table)[:3] == ["feature", "weight", "transform"]
    assert [s["n_features"] for s in sizes] == sorted({s["n_features"] for s in sizes})
    assert sum(s["chosen"] for s in sizes) == 1
    assert expected.report(tmp_path / "page.html").read_text().count("<svg") == 3
    written = expected.save(tmp_path / "saved")
    names = {"model.json", "models.json", "result.json", "path.parquet", "per_query.parquet", "report.html"}
    assert {p.name for p in written} == names
    content = json.loads((tmp_path / "saved/result.json").read_text())
    assert content == expected.to_json()
    assert (content["format"], content["version"]) == ("sparserank-result", 4)
    pages = [Path(__file__).parents[2] / "docs" / page for page in ("result-json.md", "options.md")]
    documented = {name for page in pages for name in re.findall(r"`(\w+)`", page.read_text())}

    known = {*expected.to_json()["metrics"], *expected.model.feature_names}

    def undocumented(value: object) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(undocumented, value))
        if isinstance(value, dict):
            own = {k for k in value if re.fullmatch(r"\w+", k) and k not in known}
            return (own - documented).union(*map(undocumented, value.values()))
        return set()

    assert undocumented(content) == set()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("mine")
    with pytest.raises(RunDirectoryError, match="no sparserank run has written"):
        expected.save(tmp_path / "mine")
    expected.save(tmp_path / "saved")  # its own folder is written again


def test_a_pickled_result_is_the_same_and_contains_no_data() -> None:
    result = sr.select(TRAIN, VALID, TEST, **ONE, rival="lightgbm")
    assert "LightGBM" in [r.name for r in result.references]  # trees, whose scores refer to the data
    pickled = pickle.dumps(result)
    assert TRAIN.X.tobytes()[:256] not in pickled
    again = pickle.loads(pickled)
    assert str(again) == str(result)
    assert json.dumps(plain(again.to_json())) == json.dumps(plain(result.to_json()))
    assert again.model.predict(TEST.X).tolist() == result.model.predict(TEST.X).tolist()


def test_a_run_in_a_directory_goes_on_and_other_data_are_refused(expected: sr.SelectionResult, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int, what: str, left: float | None) -> None:
        seen.append((done, total))

    first = sr.select(TRAIN, VALID, TEST, out=tmp_path / "run", progress=progress, **QUICK)
    assert model_of(first) == model_of(expected)
    assert seen[0] == (0, 13)
    assert seen[-1] == (13, 13)
    seen.clear()
    again = sr.select(TRAIN, VALID, TEST, out=tmp_path / "run", progress=progress, k=2, **QUICK)
    assert seen == [(12, 13), (12, 13), (13, 13)]  # half-samples of that size are new
    assert len(again.model.support) <= 2
    with pytest.raises(RunDirectoryError, match=r"different: train"):
        sr.select(VALID, TRAIN, TEST, out=tmp_path / "run", **QUICK)
    before = (tmp_path / "run/model.json").read_bytes()
    with pytest.raises(RunDirectoryError, match="contains a 'select' run"):
        expected.save(tmp_path / "run")
    assert (tmp_path / "run/model.json").read_bytes() == before


def test_the_first_look_is_said_once_and_is_what_fast_stops_at(tmp_path: Path) -> None:
    """The first look is l1, MCP and all features, without refits; a later run without `fast` goes on from there."""
    few = {**QUICK, "rival": "none"}
    alone = sr.select(TRAIN, VALID, TEST, **{**few, "penalties": ["l1", "mcp"], "relaxed": False})
    seen: list[tuple[int, str]] = []
    fast = sr.select(TRAIN, VALID, TEST, fast=True, out=tmp_path / "run", **{**QUICK, "half_samples": 0})
    measured = {name: value for name, value in alone.model.metadata.items() if name != "lost_without"}
    assert fast.model.to_json() == replace(alone.model, metadata=measured).to_json()
    assert fast.to_json()["sizes"] == [{**row, "ablation": None} for row in alone.to_json()["sizes"]]
    assert [row["cost"] for row in fast.facts.features] == [None] * len(fast.model.support)
    assert "change if left out" in str(alone)
    assert "change if left out" not in str(fast)
    assert fast.stability is None
    assert sum(note.startswith("a first look: only l1, mcp were tried, without rivals") for note in fast.notes) == 1
    assert fast.test is not None
    for place, first in ((tmp_path / "run", "resumed"), (tmp_path / "other", "start")):
        seen.clear()
        full = sr.select(
            TRAIN, VALID, TEST, out=place, progress=lambda done, n, what, left: seen.append((done, what)), **few
        )
        assert seen[0][1] == first
        looks = [(done, what) for done, what in seen if what.startswith("first look: ")]
        n_paths = 3 * 3  # l1, mcp and ridge, on 2 folds and all
        assert [done for done, _ in looks] == ([] if first == "resumed" else [n_paths])
    against = 100 * (alone.chosen.mean / alone.dense.mean - 1)
    assert looks[0][1] == (
        f"first look: {alone.chosen.n_features} of {TRAIN.n_features} features, ndcg@10 {against:+.1f}% against all of "
        "them; trying half-samples"
    )
    assert len(full.choice.candidates) > len(fast.choice.candidates)
    for options in ({"half_samples": 4}, {"rival": "lightgbm"}, {"for_model": "lightgbm"}):
        with pytest.raises(ParameterError, match=f"{next(iter(options))}|fast"):
            sr.select(TRAIN, fast=True, **options)


def test_query_weights_of_zero_leave_out_and_constant_ones_change_nothing(of_l1, tmp_path):
    same = sr.select(TRAIN, VALID, TEST, query_weight=np.full(40, 3.0), **ONE)
    np.testing.assert_allclose(same.model.coef, of_l1.model.coef, atol=1e-7)
    weight = {q: float(q % 3 > 0) for q in [*TRAIN.query_ids.tolist(), *VALID.query_ids.tolist()]}
    left_out = sr.select(TRAIN, VALID, TEST, query_weight=weight, **ONE)
    kept = [d.take_queries(np.flatnonzero(d.query_ids % 3 > 0)) for d in (TRAIN, VALID)]
    assert model_of(left_out) == model_of(sr.select(*kept, TEST, **ONE))
    assert left_out.n_queries == sum(d.n_queries for d in kept)
    file = tmp_path / "weights.txt"
    file.write_text("".join(f"{q} {w}\n" for q, w in weight.items()))
    assert model_of(sr.select(TRAIN, VALID, TEST, query_weight=file, **ONE)) == model_of(left_out)
    heavy = sr.select(TRAIN, VALID, TEST, query_weight=np.linspace(0.1, 5.0, 40), loss=ModifiedHuber(), **ONE)
    assert model_of(heavy) != model_of(of_l1)
    assert not any("the loss is" in note for note in of_l1.notes)
    assert "the loss is modified_huber, with its pairs weighted by queries." in heavy.notes
    assert heavy.to_json()["loss"] == "modified_huber"


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"penalties": ["ridge"]}, "penalties"),
        ({"metric": "pairwise_error"}, "metric"),
        *[(given, "budget") for given in ({"k": 2, "budget": 3.0}, {"budget": 3.0})],
        *[({"costs": v}, "costs") for v in ([1.0, 2.0], [0.0] * 10, [1e-320] + [1.0] * 9, [1e200] + [1.0] * 9)],
        *[({"query_weight": v}, "query_weight") for v in ([1.0], {1: 1.0}, [-1.0] * 25)],
        ({"current": "nope"}, "current"),
        ({"protocol": "holdout"}, "protocol"),
    ],
)
def test_a_parameter_that_does_not_fit_the_others_or_the_data_is_named(options: dict[str, Any], parameter: str) -> None:
    """Values that an option never has: `tests/cli/test_options.py`."""
    with pytest.raises(ParameterError) as error:
        sr.select(TRAIN, **options)
    assert error.value.parameter == parameter
    assert str(error.value).startswith(parameter)


@pytest.mark.parametrize(
    ("train", "options", "sentence"),
    [
        (frame(TRAIN, "grade"), {}, "train: has no column 'label'; it has "),
        (frame(TRAIN, qid="query"), {}, "train: has no column 'qid'; it has "),
        (frame(TRAIN).assign(url=pd.Timestamp("2026-01-02")), {}, "column 'url' is not numeric"),
        (frame(TRAIN)[["label", "qid"]], {}, "has no feature column"),
        (np.array(TRAIN.X), {}, "train must be a path"),
        (3, {}, "train must be a path"),
        (frame(TRAIN), {"valid": frame(VALID).iloc[:, :-1]}, "must have the same feature columns"),
        (TRAIN, {"test": (np.ones((4, 3)), np.arange(4), np.ones(4))}, "test has 3 features"),
        (TRAIN, {"valid": TRAIN}, "query ids in common"),
        (frame(TRAIN).assign(label=-1), {}, "train: row 0: label -1 means unjudged"),
        (TRAIN, {"metric": "map(rel=99)"}, "no judged document is relevant (grade >= 99)"),
        ("no-such-file.txt", {}, "no such file"),
    ],
)
def test_data_of_the_wrong_kind_are_refused(train: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((DataError, DataFormatError), match=re.escape(sentence).replace("\\ ", " ")):
        sr.select(train, **options)


def test_document_weights_reach_the_paths_from_a_column_a_file_and_an_array(of_l1, tmp_path):
    weight = np.random.default_rng(3).uniform(0.2, 5.0, TRAIN.n_docs)
    given = sr.RankingDataset(TRAIN.X, TRAIN.relevance, TRAIN.qid, None, TRAIN.feature_names, doc_weight=weight)
    weighted = sr.select(given, VALID, TEST, **ONE)
    assert model_of(weighted) != model_of(of_l1)
    assert model_of(sr.select(TRAIN, VALID, TEST, doc_weight=weight, **ONE)) == model_of(weighted)
    column = frame(TRAIN).assign(propensity=weight)
    assert model_of(sr.select(column, frame(VALID), frame(TEST), doc_weight="propensity", **ONE)) == model_of(weighted)
    (tmp_path / "weights").write_text("".join(f"{w!r}\n" for w in weight.tolist()))
    assert model_of(sr.select(TRAIN, VALID, TEST, doc_weight=tmp_path / "weights", **ONE)) == model_of(weighted)
    for wrong in (weight[1:], -weight, "no-such-column"):
        with pytest.raises((DataError, DataFormatError)):
            sr.select(frame(TRAIN) if isinstance(wrong, str) else TRAIN, doc_weight=wrong, **ONE)


def test_document_weights_of_estimators_follow_the_rows_and_papers_rankers_refuse_them() -> None:
    rng = np.random.default_rng(4)
    X, y, qid = np.array(TRAIN.X), TRAIN.relevance, np.array(TRAIN.qid)
    weight, order = rng.uniform(0.2, 5.0, len(y)), rng.permutation(len(y))
    for ranker in (sr.SparseRanker(tol=1e-9), sr.SparseRankerCV(n_alphas=8, cv=2)):
        plain = ranker.fit(X, y, qid=qid).coef_.copy()
        weighted = ranker.fit(X, y, qid=qid, doc_weight=weight).coef_.copy()
        assert np.abs(weighted - plain).max() > 1e-4
        np.testing.assert_allclose(ranker.fit(X, y, qid=qid, doc_weight=np.full(len(y), 7.0)).coef_, plain, atol=1e-6)
        if isinstance(ranker, sr.SparseRanker):
            torn = ranker.fit(X[order], y[order], qid=qid[order], doc_weight=weight[order]).coef_
            np.testing.assert_allclose(torn, weighted, atol=1e-6)
    for other in (sr.papers.FenchelRank(), sr.papers.RankRLS(), sr.papers.GreedyRankRLS(k=2), sr.papers.RandomRanker()):
        with pytest.raises(DataError, match="takes no doc_weight"):
            other.fit(X, y, qid=qid, doc_weight=weight)


SMALL = sr.datasets.make_ranking(40, (5, 15), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=2).data


def test_a_fold_that_leaves_nothing_to_learn_from_is_named() -> None:
    y = np.where(SMALL.qid == SMALL.query_ids[0], SMALL.relevance, 0.0)
    with pytest.raises(DataError, match=r"without the queries of fold \d, no preferred pair is left to learn from"):
        sr.select(sr.RankingDataset(SMALL.X, y, SMALL.qid), cv=3, n_alphas=4)
    with pytest.raises(DataError, match="SparseRankerCV: every query has weight 0"):
        sr.SparseRankerCV().fit(SMALL.X, SMALL.relevance, qid=SMALL.qid, query_weight=np.zeros(40))


def test_weights_are_rounded_in_every_fold_before_they_are_judged():
    data = make_ranking(60, 8, 6, n_informative=3, n_redundant=0, noise=0.5, random_state=1).data
    options: dict[str, Any] = {
        "penalties": "mcp",
        "n_alphas": 15,
        "half_samples": 0,
        "rival": "none",
        "feature_transform": "none",
        "k": 3,
    }
    result = sr.select(data, round=1, relaxed=False, **options)
    model = result.model
    assert model.scaling == "none"
    assert [float(f"{w:.0e}") for w in model.coef] == model.coef.tolist()
    assert "all figures use weights of 1 significant digits" in result.notes[0]
    plan = make_plan(
        metric="ndcg@10", report_metrics=(), convention="default", path_plan=PathPlan(n_alphas=15, round=1), k=3,
        penalties="mcp", feature_transform=("none",), relaxed=False,
    )  # fmt: skip
    job = SelectionJob(plan, SelectionProblem(data))
    found = job.candidates()
    c = next(c for c in found.sparse if c.k == result.chosen.k)
    values, plain = np.full(data.n_queries, np.nan), np.full(data.n_queries, np.nan)
    for f in range(5):
        w, test = found.in_units(c, f).toarray()[0], data.take_queries(job.cv.fold == f)
        by_hand = np.array([float(f"{x:.0e}") for x in w])
        for out, weights in ((values, by_hand), (plain, w)):
            out[job.cv.fold == f] = per_query_values(np.asarray(test.X) @ weights, test, plan.metrics)[0]
    assert result.chosen.values.tolist() == c.values.tolist()
    assert c.values == pytest.approx(values, abs=1e-9)
    assert c.values != pytest.approx(plain, abs=1e-9)  # a wrong variant: judged before rounding
    for odd in ({"penalties": "steps"}, {"scaling": "query-min-max"}):
        with pytest.raises(ParameterError, match="round cannot be combined with"):
            sr.select(data, round=2, **odd)


def test_an_earlier_run_gives_its_options(tmp_path):
    data = make_ranking(40, 8, 6, n_informative=3, n_redundant=0, noise=0.5, random_state=1).data
    options: dict[str, Any] = {"k": 2, "metric": "map", "drop": ["signal_1"], "penalties": sr.penalties.L1()}
    options |= {"half_samples": 0, "rival": "none", "n_alphas": 8, "cv": 3}
    first = sr.select(data, **options, fast=True, out=tmp_path / "a")
    again = sr.select(data, start=tmp_path / "a", fast=True, out=tmp_path / "b")
    assert again.model.predict(data.X).tolist() == first.model.predict(data.X).tolist()
    assert again.origin.start.startswith("Options of '")
    assert again.origin.start.endswith("'.")
    other = sr.select(data, start=tmp_path / "b", k=3, metric="ndcg@5", fast=True)
    assert other.origin.start.endswith("', but metric='ndcg@5', k=3.")
    assert str(other).startswith("Options of '")
    assert (other.plan.k, repr(other.plan.metric), len(other.plan.penalties[0].drop)) == (3, "ndcg@5", 1)
    whole = sr.select(data, start=tmp_path / "a", feature_transform="none")  # goes on from a first look
    assert (first.plan.fast, again.plan.fast, whole.plan.fast) == (True, True, False)
    assert whole.origin.start.endswith("', but feature_transform='none'.")
    # Its data are not taken over, and the first line says so.
    learn, held = data.take_queries(np.arange(10, 40)), data.take_queries(np.arange(10))
    tested = sr.select(learn, None, held, start=tmp_path / "a", fast=True, out=tmp_path / "c")
    assert tested.origin.start.endswith("'.")
    untested = sr.select(learn, start=tmp_path / "c", fast=True)
    assert untested.origin.start.endswith("'. Its test data are not taken over: name them again, or new ones.")
    for wrong in (tmp_path, "nothing", str(tmp_path / "a" / "model.json")):
        with pytest.raises(ParameterError, match="start must be the directory of a selection"):
            sr.select(data, start=wrong)


def test_a_first_look_takes_over_only_what_it_can_do(tmp_path: Path) -> None:
    data = make_ranking(40, 8, 6, n_informative=3, n_redundant=0, noise=0.5, random_state=1).data
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 8, "cv": 3, "feature_transform": "none", "k": 2}
    sr.select(data, **options, half_samples=2, rival="none", out=tmp_path / "a")
    look = sr.select(data, start=tmp_path / "a", fast=True)
    assert (look.plan.fast, look.plan.half_samples, look.plan.k, look.plan.cv) == (True, 0, 2, 3)
    assert look.origin.start.endswith("', but fast=True, not half_samples=2, not rival='none'.")
    with pytest.raises(ParameterError, match="half_samples cannot be combined with fast"):  # if somebody asks for both
        sr.select(data, start=tmp_path / "a", fast=True, half_samples=2)


def test_options_of_another_job_are_not_taken_over(tmp_path: Path) -> None:
    data = make_ranking(20, 6, 4, n_informative=2, n_redundant=0, random_state=1).data
    sr.select(data, for_model="lightgbm", k=2, sizes=[2], cv=2, out=tmp_path / "lists")
    run = {f"q{q}": {f"d{d}": float(-d) for d in range(5)} for q in range(8)}
    qrels = {q: {"d0": 1} for q in run}
    back = {q: {d: -s for d, s in of.items()} for q, of in run.items()}
    sr.fuse({"a": run, "b": back}, qrels, penalties="l1", half_samples=0, out=tmp_path / "fused")
    for kind in ("lists", "fused"):
        with pytest.raises(ParameterError, match=r"start must be .*it is of another command, or of for_model"):
            sr.select(data, start=tmp_path / kind)


def test_more_folds_than_queries_are_said() -> None:
    data = make_ranking(20, 6, 4, n_informative=2, n_redundant=0, random_state=1).data
    note = "the queries make 20 folds, because there are fewer queries than 30."
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 5, "feature_transform": "none", "fast": True}
    assert note in sr.select(data, cv=30, **options).notes
    assert not any("folds, because" in line for line in sr.select(data, cv=20, **options).notes)


def test_model_files_hold_the_penalty_as_it_was_named(tmp_path: Path, cli_here) -> None:
    table = frame(TRAIN).assign(shop=np.where(np.arange(TRAIN.n_docs) % 3, "acme", "zeta"))
    quick = {"half_samples": 0, "cv": 2, "n_alphas": 10, "rival": "none", "feature_transform": "none"}
    for name, along in (("l1", "alpha"), ("mcp(gamma=4.0)", "alpha"), ("best_k(k_max=3)", "size"), ("steps", "size")):
        found = sr.select(table, penalties=name, keep=["noise_1"], **quick)
        parameters = found.model.parameters
        assert parameters["penalty"] == name  # without what options and categories add
        path = found.paths[found.chosen.penalty]
        assert path.penalty.along == along
        if along == "alpha":
            assert parameters["alpha_fraction"] == parameters["alpha"] / path.alpha_max > 0
        else:
            assert not {"alpha", "alpha_fraction"} & set(parameters)
            assert np.isnan(path.to_arrow()["alpha_fraction"].to_numpy()).all()
            assert "alpha" not in repr(path.penalty)
        axes = path.plot()
        assert axes.get_xlabel().startswith("strength of the penalty" if along == "alpha" else "number of features")
        lines = [line.get_xdata() for line in axes.get_lines() if len(line.get_xdata()) == len(path.alphas)]
        assert all(np.isfinite(x).all() for x in lines)
        if along == "size":
            assert all(np.array_equal(x, path.nnz) for x in lines)
    table.to_csv(tmp_path / "table.csv", index=False)
    fitted = cli_here("fit", "table.csv", "--penalty", "mcp", "--keep", "noise_1", "--out", "model.json")
    assert fitted.code == 0
    assert sr.load_model(tmp_path / "model.json").parameters["penalty"] == "mcp"
