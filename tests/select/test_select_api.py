"""`sr.select`: the main job from Python, from whatever people hold, and the same as on the command line."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sparserank as sr
from sparserank.cli.app import main
from sparserank.errors import DataError, DataFormatError, ParameterError, RunDirectoryError, SparserankError

ALL = sr.datasets.make_ranking(60, (8, 20), 10, n_informative=3, n_redundant=2, noise=0.4, random_state=9).data
TRAIN, VALID, TEST = (ALL.take_queries(np.arange(a, b)) for a, b in ((0, 25), (25, 40), (40, 60)))
QUICK: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 8, "cv": 2, "half_samples": 2, "n_threads": 1}
ONE: dict[str, Any] = {**QUICK, "penalties": ["l1"], "n_alphas": 6}
ONE_ARGS = ["--penalty", "l1", "--n-alphas", 6, "--folds", 2, "--half-samples", 2, "--threads", 1]

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


def run_cli(monkeypatch: pytest.MonkeyPatch, *args: object) -> int:
    monkeypatch.setattr(sys, "argv", ["sparserank", *map(str, args)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_files_data_sets_arrays_and_frames_give_one_model(
    of_l1: sr.SelectionResult, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    args = [
        *ONE_ARGS,
        "--valid",
        files[1],
        "--test",
        files[2],
        "--feature-names",
        tmp_path / "names",
        "--out",
        tmp_path / "run",
    ]
    assert run_cli(monkeypatch, "select", files[0], *args) == 0
    of_l1.model.save(tmp_path / "expected.json")
    assert (tmp_path / "run/model.json").read_bytes() == (tmp_path / "expected.json").read_bytes()


@pytest.mark.slow
def test_a_raw_frame_and_the_same_rows_on_the_command_line_give_the_same_model_file(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = data_folder / "mslr-web10k-sample/fold1.train.5k.txt.gz"
    data = sr.read_letor(source)
    raw = pd.DataFrame(np.array(data.X), columns=list(data.feature_names or ()))
    raw["label"], raw["qid"] = data.relevance, data.qid
    result = sr.select(raw, penalties=["l1"], n_alphas=6, cv=2, half_samples=0, out=tmp_path / "frame")
    args = ["--penalty", "l1", "--n-alphas", 6, "--folds", 2, "--half-samples", 0, "--out", tmp_path / "command"]
    assert run_cli(monkeypatch, "select", source, *args) == 0
    assert (tmp_path / "frame/model.json").read_bytes() == (tmp_path / "command/model.json").read_bytes()
    assert len(result.model.support) >= 5
    raw = raw[raw["qid"].isin(raw["qid"].unique()[:15])]
    features = raw.drop(columns="label")  # its column qid is the query; scaling is learned inside, no scaler before
    plan = {"n_alphas": 15, "alpha_min_ratio": 1e-2}
    cv = sr.SparseRankerCV(penalty="l1", cv=3, k=10, **plan).fit(features, raw["label"])
    same = sr.select(raw, penalties=["l1"], cv=3, k=10, relaxed=False, feature_transform="none", half_samples=0, **plan)
    np.testing.assert_array_equal(cv.scaled_coef_, same.model.coef)
    assert max(point["mean"] for point in cv.curve_ if point["n_features"] <= 10) == same.choice.chosen.mean


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
    assert expected.report(tmp_path / "page.html").read_text().count("<svg") == 5
    written = expected.save(tmp_path / "saved")
    assert {p.name for p in written} == {
        "model.json",
        "models.json",
        "result.json",
        "path.parquet",
        "per_query.parquet",
        "report.html",
    }
    content = json.loads((tmp_path / "saved/result.json").read_text())
    assert content == expected.to_json()
    assert (content["format"], content["version"]) == ("sparserank-result", 4)
    documented = set(re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs/result-json.md").read_text()))

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


def test_a_run_in_a_directory_goes_on_and_other_data_are_refused(expected: sr.SelectionResult, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int, what: str, left: float | None) -> None:
        seen.append((done, total))

    first = sr.select(TRAIN, VALID, TEST, out=tmp_path / "run", progress=progress, **QUICK)
    assert model_of(first) == model_of(expected)
    assert seen[0] == (0, 16)
    assert seen[-1] == (16, 16)
    seen.clear()
    again = sr.select(TRAIN, VALID, TEST, out=tmp_path / "run", progress=progress, k=2, **QUICK)
    assert seen == [(15, 16), (15, 16), (16, 16)]  # half-samples of that size are new
    assert len(again.model.support) <= 2
    with pytest.raises(RunDirectoryError, match=r"different: train"):
        sr.select(VALID, TRAIN, TEST, out=tmp_path / "run", **QUICK)


def test_query_weights_of_zero_leave_out_and_constant_ones_change_nothing(
    of_l1: sr.SelectionResult, tmp_path: Path
) -> None:
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
    heavy = sr.select(TRAIN, VALID, TEST, query_weight=np.linspace(0.1, 5.0, 40), **ONE)
    assert model_of(heavy) != model_of(of_l1)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"penalties": ["ridge"]}, "penalties"),
        ({"metric": "pairwise_error"}, "metric"),
        ({"k": 2, "budget": 3.0}, "budget"),
        ({"budget": 3.0}, "budget"),
        ({"costs": [1.0, 2.0]}, "costs"),
        ({"costs": [0.0] * 10}, "costs"),
        ({"query_weight": [1.0]}, "query_weight"),
        ({"query_weight": {1: 1.0}}, "query_weight"),
        ({"query_weight": [-1.0] * 25}, "query_weight"),
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
        (frame(TRAIN, "grade"), {}, "train: has no column 'label' ('grade' could be it"),
        (frame(TRAIN, qid="query"), {}, "train: has no column 'qid' ('query' could be it"),
        (frame(TRAIN).assign(url="http://x"), {}, "column 'url' is not numeric"),
        (frame(TRAIN)[["label", "qid"]], {}, "has no feature column"),
        (np.array(TRAIN.X), {}, "train must be a path"),
        (3, {}, "train must be a path"),
        (
            frame(TRAIN),
            {"valid": frame(VALID).drop(columns=TRAIN.feature_names[0])},
            "must have the same feature columns",
        ),  # type: ignore[index]
        (TRAIN, {"test": (np.ones((4, 3)), np.arange(4), np.ones(4))}, "test has 3 features"),
        (TRAIN, {"valid": TRAIN}, "query ids in common"),
        (TRAIN, {"metric": "map(rel=99)"}, "no judged document is relevant (grade >= 99)"),
        ("no-such-file.txt", {}, "no such file"),
    ],
)
def test_data_of_the_wrong_kind_get_a_sentence(train: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((DataError, DataFormatError), match=re.escape(sentence).replace("\\ ", " ")):
        sr.select(train, **options)


def test_document_weights_reach_the_paths_from_a_column_a_file_and_an_array(
    of_l1: sr.SelectionResult, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = np.random.default_rng(3).uniform(0.2, 5.0, TRAIN.n_docs)
    given = sr.RankingDataset(TRAIN.X, TRAIN.relevance, TRAIN.qid, None, TRAIN.feature_names, doc_weight=weight)
    weighted = sr.select(given, VALID, TEST, **ONE)
    assert model_of(weighted) != model_of(of_l1)
    assert model_of(sr.select(TRAIN, VALID, TEST, doc_weight=weight, **ONE)) == model_of(weighted)
    column = frame(TRAIN).assign(propensity=weight)
    assert model_of(sr.select(column, frame(VALID), frame(TEST), doc_weight="propensity", **ONE)) == model_of(weighted)
    (tmp_path / "weights").write_text("".join(f"{w!r}\n" for w in weight.tolist()))
    args = [*ONE_ARGS, "--valid", files[1]]
    args += ["--feature-names", tmp_path / "names", "--doc-weight", tmp_path / "weights", "--out", tmp_path / "run"]
    assert run_cli(monkeypatch, "select", files[0], *args) == 0
    assert sr.load_model(tmp_path / "run/model.json").to_json() == weighted.model.to_json()
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


def test_the_second_loss_reaches_the_main_job(
    of_l1: sr.SelectionResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    result = sr.select(TRAIN, VALID, TEST, loss="modified_huber", **ONE)
    assert set(result.paths["l1"].statuses) == {"optimal"}
    assert model_of(result) != model_of(of_l1)
    args = ["--loss", "modified_huber", "--n-alphas", 8, "--folds", 2, "--half-samples", 0, "--penalty", "l1"]
    assert run_cli(monkeypatch, "select", files[0], *args, "--out", tmp_path / "run") == 0
    assert run_cli(monkeypatch, "select", files[0], *args, "--loss", "nope", "--out", tmp_path / "o") == 2


def test_a_model_reads_a_frame_by_the_names_of_its_columns(expected: sr.SelectionResult) -> None:
    model, whole = expected.model, frame(TEST)
    scores = model.predict(np.array(TEST.X))
    for given in (whole, whole[[*reversed(whole.columns)]], pl.from_pandas(whole)):
        np.testing.assert_array_equal(model.predict(given), scores)
    used = whole[[model.feature_names[j] for j in model.support]]
    np.testing.assert_array_equal(model.predict(used), scores)
    with pytest.raises(DataError, match=r"has no column .*, which the model uses"):
        model.predict(used.iloc[:, 1:])
    unnamed = pd.DataFrame(np.array(TEST.X))
    np.testing.assert_array_equal(model.predict(unnamed), scores)
    assert len(repr(model)) < 100


def test_unjudged_rows_of_a_frame_are_refused() -> None:
    labels = frame(TRAIN)
    labels.loc[3, "label"] = -1
    with pytest.raises(DataError, match="train: row 3: label -1 means unjudged"):
        sr.select(labels, **QUICK)


def test_a_run_in_use_by_select_is_not_saved_over(expected: sr.SelectionResult, tmp_path: Path) -> None:
    sr.select(TRAIN, out=tmp_path / "run", **QUICK)
    before = (tmp_path / "run/model.json").read_bytes()
    with pytest.raises(RunDirectoryError, match="contains a 'select' run"):
        expected.save(tmp_path / "run")
    assert (tmp_path / "run/model.json").read_bytes() == before
    expected.save(tmp_path / "saved")
    expected.save(tmp_path / "saved")


def test_loss_and_weights_leave_a_note(expected: sr.SelectionResult) -> None:
    assert not any("the loss is" in note for note in expected.notes)
    result = sr.select(TRAIN, loss="modified_huber", query_weight=np.linspace(1, 2, 25), **QUICK)
    assert "the loss is modified_huber, with its pairs weighted by queries." in result.notes
    assert result.to_json()["loss"] == "modified_huber"


# -- what a hostile tester found --------------------------------------------------------------------------------------

SMALL = sr.datasets.make_ranking(40, (5, 15), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=2).data


@dataclass(frozen=True)
class MyL1(sr.penalties.L1):
    """A penalty class that the package does not know by name."""


def test_a_penalty_of_ones_own_class_is_selected_with_the_paths_of_l1() -> None:
    few: dict[str, Any] = {"n_alphas": 6, "cv": 3, "half_samples": 2}
    mine = sr.select(SMALL, penalties=[MyL1()], **few)
    known = sr.select(SMALL, penalties=["l1"], **few)
    np.testing.assert_array_equal(mine.model.coef, known.model.coef)
    qid = SMALL.qid
    cv = [sr.SparseRankerCV(penalty=p, n_alphas=6).fit(SMALL.X, SMALL.relevance, qid=qid) for p in (MyL1(), "l1")]
    np.testing.assert_array_equal(cv[0].coef_, cv[1].coef_)


@pytest.mark.slow_but("False")
@pytest.mark.parametrize("processes", [False, True])
def test_progress_of_a_fresh_run_never_speaks_of_an_earlier_one(
    processes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sparserank.crossval.fitting as fitting

    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", 0 if processes else np.inf)
    seen: list[tuple[int, int, str, float | None]] = []
    sr.select(
        SMALL,
        penalties=["l1", "mcp"],
        n_alphas=6,
        cv=3,
        half_samples=2,
        n_threads=2,
        out=tmp_path / "run",
        progress=lambda *what: seen.append(what),
    )
    assert seen[0] == (0, 21, "start", None)
    assert seen[-1][:2] == (21, 21)
    assert [s[0] for s in seen] == sorted(s[0] for s in seen)
    assert {s[1] for s in seen} == {21}
    assert "resumed" not in {s[2] for s in seen}
    assert all(s[3] is None or s[3] > 0 for s in seen[1:-1] if s[0] < 12)


RESUMED: dict[str, Any] = {**QUICK, "n_threads": 2}


@pytest.fixture(scope="module")
def undisturbed() -> sr.SelectionResult:
    return sr.select(SMALL, **RESUMED)


# with processes once: what is read back does not depend on where the interrupt was
@pytest.mark.slow_but("[20-False]")
@pytest.mark.parametrize(("after", "ends_in_processes"), [(1, False), (20, False), (35, False), (20, True)])
def test_an_interrupted_path_goes_on_and_leaves_no_checkpoint_behind(
    after: int,
    ends_in_processes: bool,
    undisturbed: sr.SelectionResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sparserank.crossval.fitting as fitting

    monkeypatch.setattr(fitting, "CHECKPOINT_S", 0.0)
    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", np.inf)
    calls = 0

    def stop(done: int, total: int, what: str, left: float | None) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sr.select(SMALL, out=tmp_path / "run", progress=stop, **RESUMED)
    kept = list((tmp_path / "run/arrays").glob("*.npz"))
    assert kept
    if ends_in_processes:
        monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", 0)
    again = sr.select(SMALL, out=tmp_path / "run", **RESUMED)
    assert again.model.to_json() == undisturbed.model.to_json()
    assert not list((tmp_path / "run").rglob("unfinished-*"))


def test_a_fold_that_leaves_nothing_to_learn_from_is_named() -> None:
    y = np.where(SMALL.qid == SMALL.query_ids[0], SMALL.relevance, 0.0)
    with pytest.raises(DataError, match=r"without the queries of fold \d, no preferred pair is left to learn from"):
        sr.select(sr.RankingDataset(SMALL.X, y, SMALL.qid), cv=3, n_alphas=4)


def test_cv_without_any_weight_says_so() -> None:
    with pytest.raises(DataError, match="SparseRankerCV: every query has weight 0"):
        sr.SparseRankerCV().fit(SMALL.X, SMALL.relevance, qid=SMALL.qid, query_weight=np.zeros(40))
    with pytest.raises(DataError, match="SparseRankerCV: n_alphas must be"):
        sr.SparseRankerCV(n_alphas=1).fit(SMALL.X, SMALL.relevance, qid=SMALL.qid)


@pytest.mark.parametrize("cost", [1e-320, 1e-200, 1e200, "1e-320"])
def test_costs_are_of_a_size_that_sums_and_products_allow(cost: Any, tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(20, 5, 3, n_informative=2, n_redundant=0).data
    given: Any = [cost, 1.0, 1.0]
    if isinstance(cost, str):
        given = tmp_path / "costs.txt"
        given.write_text(f"{cost}\n1\n1\n")
    with pytest.raises(SparserankError, match=r"> 0, (one per feature, )?from 1e-100 to 1e\+100"):
        sr.select(data, costs=given, rival="none")
