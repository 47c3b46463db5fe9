"""Runs and judgments as trec_eval scores them: pytrec_eval and ir_measures are asked; the command."""

import json
import warnings
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytrec_eval
from ir_measures import AP, RR, P, nDCG

import sparserank as sr
from sparserank.data.runs import Qrels, Run, run_lines
from sparserank.errors import DataError, DataWarning
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.support.command_line import Cli, assert_refused


def judged(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run: ties, also ones of single precision alone, short lists, queries without relevant documents,
    that the run misses or that nobody judged, unjudged and unretrieved documents, negative grades."""
    rng = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in range(30):
        n = int(rng.integers(1, 25))
        docs = [f"d{i:03d}" for i in rng.permutation(200)[:n]]
        grades = rng.integers(-1, 4, n) if q % 5 else rng.integers(-1, 1, n)
        qrels[f"q{q}"] = dict(zip(docs, map(int, grades), strict=True))
        if q % 7 == 3:
            continue
        shown = [d for d in docs if rng.random() < 0.7] + [f"x{i}" for i in range(int(rng.integers(0, 8)))]
        scores = rng.integers(0, 5, len(shown)) + rng.choice([0.0, 1e-12], len(shown))
        if shown:
            run[f"q{q}"] = dict(zip(shown, map(float, scores), strict=True))
    run["nobody judged"] = {"d001": 1.0}
    return qrels, run


def ours(qrels: dict, run: dict) -> tuple[Qrels, Run]:
    return (
        Qrels({(q, d): float(r) for q, of in qrels.items() for d, r in of.items()}),
        Run({(q, d): s for q, of in run.items() for d, s in of.items()}),
    )


NAMES = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "map@5": "map_cut_5",
    "p@5": "P_5",
    "p@10": "P_10",
    "mrr": "recip_rank",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_every_query_has_the_value_of_trec_eval(seed: int, name: str) -> None:
    qrels, run = judged(seed)
    judgments, own = ours(qrels, run)
    values = sr.evaluate(own, judgments, name).per_query[f"trec:{name}"]
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg", "ndcg_cut.5,10", "map", "map_cut.5", "P.5,10", "recip_rank"}
    )
    theirs = evaluator.evaluate(run)
    expected = [theirs[q][NAMES[name]] if q in theirs else 0.0 for q in qrels]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
    assert sum(q not in theirs for q in qrels) >= 3
    rest = judgments.documents([own])
    complete = Run({(str(q), str(d)): own.get((q, d), -1.0) for q, d in zip(rest.qid, rest.docid, strict=True)})  # type: ignore[arg-type]
    if name in ("ndcg", "map", "ndcg@10"):  # the wrong variant: what was not retrieved is ranked last
        wrong = sr.evaluate(complete, judgments, name).per_query[f"trec:{name}"]
        assert np.abs(wrong - expected).max() > 0.05


def test_means_are_those_of_ir_measures() -> None:
    qrels, run = judged(9)
    judgments, own = ours(qrels, run)
    found = sr.evaluate(own, judgments, ["ndcg@10", "ndcg", "map", "p@5", "mrr"])
    measures = {"ndcg@10": nDCG @ 10, "ndcg": nDCG, "map": AP, "p@5": P @ 5, "mrr": RR}
    theirs = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for name, measure in measures.items():
        assert found[f"trec:{name}"] == pytest.approx(theirs[measure], abs=1e-12), name


def test_runs_and_judgments_that_cannot_be_evaluated_are_refused() -> None:
    judgments, own = ours(*judged(0))
    other = Run({("q0", "nothing"): 1.0, ("z", "d"): 1.0})
    for call, message in (
        (lambda: sr.compare_systems({"run": own, "model": sr.SparseRanker()}, judgments), "contain no features"),
        (lambda: sr.compare_systems({"new": own, "now": Run({("z", "d"): 1.0})}, judgments), "now: the run ranks none"),
        (lambda: sr.evaluate(other, Qrels({("q1", "d"): 1.0})), "the run ranks none of the"),
        (lambda: sr.evaluate(own, Qrels()), "there are no judgments"),
        (lambda: sr.evaluate(judgments, own), "judgments must be the second argument"),
        (lambda: sr.evaluate(own, own), "got a run"),
        *(
            (lambda name=name: sr.evaluate(own, judgments, name), "depends on the length of whole lists")
            for name in ("letor4:ndcg@10", "xgboost:p@3", "trec:mean_ndcg")
        ),
    ):
        with pytest.raises(DataError, match=message):
            call()


def test_a_value_of_0_that_has_another_reason_is_warned_of(cli: Cli, tmp_path: Path) -> None:
    """A run of other document ids, and grades that nobody has: 0, with a warning."""
    judgments = Qrels({("1", "A"): 1.0, ("1", "B"): 0.0, ("2", "C"): 1.0})
    own, other = Run({("1", "A"): 2.0, ("2", "C"): 1.0}), Run({("3", "A"): 9.0, ("1", "x7"): 2.0, ("2", "x8"): 1.0})
    with pytest.warns(
        DataWarning, match="^none of its documents is judged, e.g. 'x7' of query '1'; do its document ids"
    ):
        assert sr.evaluate(other, judgments, "ndcg@10") == {"trec:ndcg@10": 0.0}
    with pytest.warns(
        DataWarning, match=r"^no judged document is relevant \(grade >= 99\): trec:map\(rel=99\) is the same"
    ):
        assert sr.evaluate(own, judgments, "map(rel=99)") == {"trec:map(rel=99)": 0.0}
    with pytest.warns(DataWarning, match="^b: none of its documents is judged") as warned:
        sr.compare_systems({"a": own, "b": other}, judgments, ["ndcg@10", "map"])
    assert len(warned) == 1
    (tmp_path / "q").write_text("".join(f"{q} 0 {d} {g:g}\n" for (q, d), g in judgments.items()))
    for name, run in (("a.run", own), ("b.run", other)):
        (tmp_path / name).write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for (q, d), s in run.items()))
    systems = ["--system", tmp_path / "a.run", "--system", tmp_path / "b.run"]
    shown = cli("evaluate", "--qrels", tmp_path / "q", *systems, "--metric", "p(rel=5)@1").done
    assert [s for s in shown.sentences if "none of its documents" in s or "no judged document" in s] == [
        f"warning: {tmp_path / 'b.run'}: none of its documents is judged, e.g. 'x7' of query '1'; do its document ids "
        "agree with those of the judgments?",
        "warning: no judged document is relevant (grade >= 5): trec:p(rel=5)@1 is the same for every ranking.",
    ]


def test_the_command_knows_files_by_what_they_hold(cli_here: Cli, tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(30, (5, 9), 4, n_informative=2, n_redundant=0, random_state=1).data
    sr.write_letor(data, tmp_path / "test.txt")
    ranker = sr.SparseRanker().fit_dataset(data)
    ranker.to_model().save(tmp_path / "a model")
    assert cli_here("predict", "a model", "test.txt", "--run", "the run.txt", "--qrels", "judgments").code == 0
    expected = {(str(q), str(d)): float(r) for q, d, r in zip(data.qid, data.docid, data.relevance, strict=True)}  # type: ignore[arg-type]
    assert sr.read_qrels(tmp_path / "judgments") == expected
    (tmp_path / "scores").write_text("".join(f"{s!r}\n" for s in ranker.to_model().score_dataset(data).tolist()))
    systems = [word for name in ("a model", "the run.txt", "scores") for word in ("--system", name)]
    done = cli_here("evaluate", "test.txt", *systems, "--format", "json").done
    rows = json.loads(done.out)
    assert len({r["mean"] for r in rows if r["metric"] == "ndcg@10"}) == 1
    done = cli_here("evaluate", "--qrels", "judgments", "--system", "the run.txt", "--format", "json").done
    (row,) = (r for r in json.loads(done.out) if r["metric"] == "trec:ndcg@10")
    expected = sr.evaluate(sr.read_run(tmp_path / "the run.txt"), sr.read_qrels(tmp_path / "judgments"), "ndcg@10")
    assert row["mean"] == pytest.approx(expected["trec:ndcg@10"])
    (tmp_path / "odd").write_text("1 2 3\n")
    (tmp_path / "empty").write_text("\n")
    for arguments, status, message in (
        (("evaluate", "--qrels", "judgments", "--system", "a model"), 2, "must be runs or models of fuse with --qrels"),
        (("evaluate", "test.txt", "--qrels", "judgments", "--system", "scores"), 2, "judged documents or --qrels"),
        (("evaluate", "--system", "scores"), 2, "judged documents or --qrels"),
        (("evaluate", "test.txt", "--system", "odd"), 1, "odd: expected a model file"),
        (("evaluate", "test.txt", "--system", "empty"), 1, "empty: is empty"),
        (("evaluate", "test.txt", "--system", "missing"), 1, "missing: cannot be read"),
        (("predict", "a model", "test.txt", "--qrels", "test.txt"), 1, "test.txt"),
    ):
        assert_refused(cli_here(*arguments), status, message)


@pytest.mark.parametrize(
    "kind", ["frame", "polars", "arrays", "relevance", "data set", "renamed", "features", "Parquet", "text"]
)
def test_scores_are_in_the_order_of_the_input_whatever_holds_them(kind: str, tmp_path: Path) -> None:
    """Rows of a query do not stand together. Scores that are the relevance rank perfectly;
    in another order they do not."""
    rng = np.random.default_rng(0)
    qid, X = rng.permutation(np.repeat(np.arange(30), 8)), rng.normal(size=(240, 3))
    y = np.digitize(X[:, 0], [0.0, 1.0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y, qid=qid)
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.txt").write_text(
        "".join(f"{g} qid:{q} 1:{x[0]!r} 2:{x[1]!r} 3:{x[2]!r}\n" for g, q, x in zip(y, qid, X.tolist(), strict=True))
    )
    read = sr.read(frame)
    assert (read.row_index != np.arange(240)).any()
    data = {
        "frame": frame,
        "polars": pl.from_pandas(frame.rename(columns={"label": "grade", "qid": "query"})),
        "arrays": (X, y, qid),
        "data set": read,
        "renamed": read.rename_features(["d", "e", "f"]),
        "features": read.take_features([2, 0]),
        "Parquet": tmp_path / "t.parquet",
        "text": tmp_path / "t.txt",
        "relevance": y,
    }[kind]
    more = {"relevance": {"qid": qid}, "polars": {"label": "grade", "qid": "query"}}.get(kind, {})
    scores = X[:, 0].astype(np.float64)
    column = pd.Series(scores, index=rng.permutation(240))  # rows go by their place
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        lists = scores.tolist()
        for form in (scores, lists, tuple(lists), column, pl.Series(scores), pa.array(scores), np.float32(scores)):
            assert sr.evaluate(form, data, ["ndcg@10"], **more) == {"ndcg@10": 1.0}
        wrong = scores[read.row_index]
        both = sr.compare_systems({"right": scores, "wrong": wrong, "list": lists}, data, ["ndcg@10"], **more)
        means = {r["system"]: r["mean"] for r in both.rows()}
        assert means["right"] == means["list"] == 1.0
        assert means["wrong"] < 0.9
        for bad in (scores[:-1], scores[:, None], 1.0, np.where(np.arange(240) == 3, np.nan, scores)):
            with pytest.raises(DataError, match=r"scores must (be|contain)"):
                sr.evaluate(bad, data, **more)


def test_a_model_and_its_scores_agree_on_scattered_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    qid, X = rng.permutation(np.repeat([f"q{i}" for i in range(30)], 8)), rng.normal(size=(240, 3))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.0, 1.0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y, qid=qid, docno=[f"d{i}" for i in range(240)])
    data = sr.read(frame)
    scaling = FeatureScaling("query-min-max", np.zeros(3), np.ones(3))
    within = RankingModel.from_arrays(np.array([1.0, 0.3, 0.0]), ("a", "b", "c"), scaling)
    for ranker in (sr.SparseRanker(), None):
        model = ranker.fit_dataset(data).to_model() if ranker else within
        scores = model.predict(frame.drop(columns=["label", "docno"]))
        np.testing.assert_allclose(model.score_dataset(data), scores, rtol=1e-12)
        np.testing.assert_allclose(data.to_input_order(model.contributions(data).sum(axis=1)), scores, rtol=1e-12)
        np.testing.assert_array_equal(data.from_input_order(data.to_input_order(data.relevance)), data.relevance)
        expected = sr.evaluate(model, data)
        for form in (scores, model.score_dataset(data), model):
            assert sr.evaluate(form, data) == expected == sr.evaluate(form, frame.drop(columns="docno"))
        if ranker is not None:
            nameless = sr.SparseRanker().fit(data.X, data.relevance, qid=data.qid)
            assert sr.evaluate(nameless, data) == expected
            in_own_order = np.asarray(data.X @ ranker.coef_)
            assert sr.evaluate(data.to_input_order(in_own_order), data) == expected != sr.evaluate(in_own_order, data)
            assert nameless.score(X, y, qid=qid) == expected["ndcg@10"]
        sr.write_run(data, scores, tmp_path / "a.run")
        run = sr.read_run(tmp_path / "a.run")
        assert run == {(q, d): s for q, d, s in zip(qid, frame["docno"], scores, strict=True)}
        assert sr.evaluate(run, data) == expected
        nameless_rows = sr.RankingDataset(data.X, data.relevance, data.qid)
        sr.write_run(nameless_rows, scores, tmp_path / "nameless.run")
        np.testing.assert_array_equal(sr.read_run(tmp_path / "nameless.run").of(nameless_rows)[0], scores)
        sr.write_qrels(data, tmp_path / "qrels")
        part = Run({key: score for i, (key, score) in enumerate(run.items()) if i % 3})
        both = sr.compare_systems({"model": model, "run": run, "part": part}, data, "map", convention="trec").values
        np.testing.assert_array_equal(both["run"]["trec:map"], both["model"]["trec:map"])
        assert both["part"]["trec:map"].mean() < both["model"]["trec:map"].mean()
        judged_only = sr.evaluate(part, sr.read_qrels(tmp_path / "qrels"), "map").per_query["trec:map"]
        np.testing.assert_allclose(sorted(judged_only), sorted(both["part"]["trec:map"]), rtol=0, atol=1e-12)
    for bad in (scores[:-1], np.full(240, np.nan)):
        with pytest.raises(DataError, match="scores must contain one finite number per document"):
            sr.write_run(data, bad, tmp_path / "c.run")
    assert not (tmp_path / "c.run").exists()


def test_ids_that_no_file_can_hold_are_refused_before_writing(tmp_path: Path) -> None:
    X, y = np.zeros((2, 1)), np.array([0.0, 1.0])
    for ids, message in ((["a", "a"], "has document 'a' twice"), (["a b", "c"], "contains blanks")):
        data = sr.RankingDataset(X, y, None, np.array(ids, dtype=object))
        for write in (lambda d: sr.write_run(d, y, tmp_path / "x"), lambda d: sr.write_qrels(d, tmp_path / "x")):
            with pytest.raises(DataError, match=message):
                write(data)
    assert not (tmp_path / "x").exists()


def test_texts_of_queries_are_ids_in_written_files(tmp_path: Path) -> None:
    """Judgments of Quepid have the text of the query as its id: such a run was refused."""
    qid, docid = ["red shoes", "red shoes", "warm", "warm"], ["a", "b", "a", "c"]
    data = sr.RankingDataset(np.zeros((4, 1)), [0, 1, 0, 1], qid, docid=docid)
    sr.write_run(data, [0.5, 0.25, 2.0, 0.0], tmp_path / "a.run")
    sr.write_qrels(data, tmp_path / "a.qrels")
    assert (tmp_path / "a.run").read_text().splitlines()[0] == "red shoes\tQ0\ta\t1\t0.5\tsparserank"
    run = sr.read_run(tmp_path / "a.run")
    assert run == {("red shoes", "a"): 0.5, ("red shoes", "b"): 0.25, ("warm", "a"): 2.0, ("warm", "c"): 0.0}
    assert sr.read_qrels(tmp_path / "a.qrels")["red shoes", "b"] == 1
    assert list(run_lines(run)) == (tmp_path / "a.run").read_text().splitlines(keepends=True)
    for odd in ("red\tshoes", "red  shoes", "a b"):
        qid, docid = ("q", odd) if odd == "a b" else (odd, "b")
        unwritable = sr.RankingDataset(np.zeros((2, 1)), [0, 1], [qid, qid], docid=[docid, "c"])
        with pytest.raises(DataError, match="contains blanks"):
            sr.write_run(unwritable, [0.0, 1.0], tmp_path / "b.run")


def test_ratings_that_are_no_grades_are_named() -> None:
    """From 1 to 10, a document rated worst counted above an unjudged one, and the best had a gain of 1,023."""
    with pytest.warns(DataWarning, match=r"grades are 1 to 10, .*up to 1023; a document judged worst.*the worst to 0"):
        sr.read_qrels({"q": {"a": 1, "b": 10}})
    with pytest.warns(
        DataWarning, match=r"grades are 0 to 5, with which the gain of conventions .* is up to 31; map them to 0"
    ):
        sr.read_qrels({"q": {"a": 0, "b": 5}})
    sr.read_qrels({"q": {"a": 1, "b": 4}})  # only the relevant ones are listed


def test_equal_scores_have_equal_ranks_in_written_runs(tmp_path: Path) -> None:
    """So that the ranks order nothing that the scores do not; sums of the same values may differ in the last bit."""
    data = sr.RankingDataset(np.zeros((4, 1)), [0, 1, 0, 1], ["q"] * 4, docid=["a", "b", "c", "d"])
    sr.write_run(data, [0.1 + 0.2, 0.3, 2.0, 0.0], tmp_path / "a.run")
    rows = [line.split()[2:4] for line in (tmp_path / "a.run").read_text().splitlines()]
    assert rows == [["c", "1"], ["a", "2"], ["b", "2"], ["d", "4"]]
    run = Run({("q", d): s for d, s in zip("abcd", [0.3, 0.1 + 0.2, 2.0, 0.0], strict=True)})
    assert [line.split()[3] for line in run_lines(run)] == ["1", "2", "2", "4"]
