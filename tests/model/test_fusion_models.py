"""What the commands for models do with one of `fuse`: inspect, evaluate, explain;
explanations add up to the scores, of every kind of model."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.fusion.norms import parse_norm
from sparserank.data.runs import Run, run_lines
from sparserank.errors import DataError
from sparserank.export.fusion import explain_fused
from sparserank.model.fusion import FusionTerm
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.support.command_line import Cli, assert_refused
from tests.support.made_runs import QUICK, Judged, Runs, flat, made

KEPT = ("strong", "other")


@pytest.fixture(scope="module")
def judged() -> tuple[Runs, Judged]:
    return made(n_queries=30)


@pytest.fixture(scope="module")
def folder(judged: tuple[Runs, Judged], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of run files, judgments, and a run directory of two retrievers, `fused`."""
    folder = tmp_path_factory.mktemp("runs")
    runs, qrels = judged
    for name in KEPT:
        (folder / f"{name}.run").write_text("".join(run_lines(Run(flat(runs[name])))))
    (folder / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in flat(qrels).items()))
    result = sr.fuse({name: runs[name] for name in KEPT}, qrels, **QUICK, norm="rrf", k=2, margin=0.0)
    assert set(result.retrievers) == set(KEPT)
    result.save(folder / "fused")
    return folder


def test_an_explanation_is_the_formula_by_hand(folder: Path, judged: tuple[Runs, Judged]) -> None:
    formula = sr.FusionFormula.load(folder / "fused")
    runs = {name: judged[0][name] for name in KEPT}
    found = explain_fused(formula, runs, "q3")
    fused = {d: s for (q, d), s in formula.apply(runs).items() if q == "q3"}
    assert dict(zip(found.documents, found.scores.tolist(), strict=True)) == pytest.approx(fused, rel=1e-14)
    assert list(found.documents) == sorted(fused, key=lambda d: (-fused[d], d))
    mean = sum(fused.values()) / len(fused)
    for i, document in enumerate(found.documents):
        added = []
        for j, term in enumerate(formula.terms):
            order = sorted(runs[term.retriever]["q3"], key=lambda d: -runs[term.retriever]["q3"][d])[: formula.depth]
            rank = order.index(document) + 1 if document in order else math.nan
            assert found.values[i, j] == pytest.approx(rank, nan_ok=True)
            added.append(0.0 if math.isnan(rank) else term.weight / (60 + rank))
        assert sum(added) == pytest.approx(fused[document], rel=1e-14)
        assert found.contributions[i].sum() == pytest.approx(fused[document] - mean, abs=1e-15)
    with pytest.raises(DataError, match=r"no retriever in use returned documents for query 'q99'\. The runs contain"):
        explain_fused(formula, runs, "q99")
    with pytest.raises(DataError, match="needs a run called"):
        explain_fused(formula, {"strong": runs["strong"]}, "q3")


def test_an_explanation_ends_where_the_engine_ends_its_list(judged: tuple[Runs, Judged]) -> None:
    runs = {name: judged[0][name] for name in KEPT}
    terms = tuple(FusionTerm(name, 0.5) for name in KEPT)
    for engine, cut in (("qdrant", True), ("vespa", False)):
        formula = sr.FusionFormula(terms, parse_norm("rrf(k=0)"), 5, engine)
        found = explain_fused(formula, runs, "q3")
        assert set(found.documents) == {d for q, d in formula.apply(runs) if q == "q3"}
        assert (len(found.documents) == 5) == cut


def test_weights_without_a_sum_are_refused(folder: Path, tmp_path: Path, cli: Cli) -> None:
    """Their shares are no numbers; of small ones with a sum, they are."""
    content = json.loads((folder / "fused" / "model.json").read_text())
    path = tmp_path / "model.json"
    for coef, scale in ((1e-300, 1.0), (5e-324, 4.0), (1e308, 1.0)):
        for feature in content["features"]:
            feature |= {"coef": coef, "scale": scale}
        path.write_text(json.dumps(content))
        if coef == 1e-300:
            assert [t.weight for t in sr.FusionFormula.load(path).terms] == [0.5, 0.5]
            continue
        with pytest.raises(DataError, match=r"cannot be read .*weights are too small or too large for a sum"):
            sr.FusionFormula.load(path)
        assert cli("export", path, "--to", "python").code == 1


def test_explain_shows_ranks(folder: Path, cli: Cli) -> None:
    runs = [folder / f"{name}.run" for name in KEPT]
    shown = cli("explain", folder / "fused", *runs, "--query", "q3", "--most", "9", "--format", "json")
    first, *rest = json.loads(shown.out)["documents"]
    second = next(d for d in rest if d["score"] < first["score"] - 1e-9)  # equal weights leave ties
    assert set(first["contributions"]) == set(KEPT)
    assert first["label"] is None
    of_pair = [word for d in (first, second) for word in ("--pair", d["document"])]
    pair = cli("explain", folder / "fused", *runs, "--query", "q3", *of_pair)
    assert (pair.code, pair.sentences) == (0, [])
    assert "retriever" in pair.out
    assert f"{first['document']} is ranked higher" in pair.out


def test_predict_keeps_its_inputs_and_prints_what_it_does_not_write(folder: Path, cli: Cli, tmp_path: Path) -> None:
    runs = [folder / f"{name}.run" for name in KEPT]
    own = tmp_path / "copy.run"
    own.write_bytes(runs[0].read_bytes())
    refused = cli("predict", folder / "fused", f"{KEPT[0]}={own}", *runs[1:], "--run", own)
    assert refused.code != 0
    assert own.read_bytes() == runs[0].read_bytes()
    lines = cli("predict", folder / "fused", *runs).out.splitlines()
    rows = json.loads(cli("predict", folder / "fused", *runs, "--format", "json").out)
    assert [[r["qid"], r["docno"], repr(r["score"])] for r in rows] == [
        [q, d, score] for q, _, d, _, score, _ in map(str.split, lines)
    ]


def test_evaluate_fuses_first(folder: Path, cli: Cli, tmp_path: Path) -> None:
    runs = [folder / f"{name}.run" for name in KEPT]
    assert cli("predict", folder / "fused", *runs, "--run", tmp_path / "fused.run").code == 0
    given = ("evaluate", "--qrels", folder / "qrels", "--metric", "ndcg@10", "--format", "json", "--system")
    expected = json.loads(cli(*given, tmp_path / "fused.run", "--system", runs[0]).out)
    each = [word for run in runs for word in ("--runs", run)]
    found = json.loads(cli(*given, folder / "fused", "--system", runs[0], *each).out)
    assert [{**r, "system": ""} for r in found] == [{**r, "system": ""} for r in expected]
    for words, message in (
        ((folder / "fused",), "--runs: is needed"),
        ((folder / "fused", "--runs", runs[0]), "needs a run called 'other'"),
        ((folder / "qrels",), "first line"),
    ):
        refused = cli(*given, *words)
        assert_refused(refused, refused.code or 1, message)
    (tmp_path / "run.json").write_text('{"q1": {"a": 1.0}}')
    assert "none of its documents is judged" in cli(*given, tmp_path / "run.json").err


def test_options_about_features_are_refused(folder: Path, cli: Cli) -> None:
    fused = (folder / "fused", folder / "strong.run")
    judgments = ("evaluate", "--qrels", folder / "qrels", "--system", folder / "strong.run")
    options = {"--label-column": "y", "--missing": "zero", "--n-features": 3, "--index-base": 1, "--unjudged": "zero"}
    for option, value in options.items():
        assert_refused(cli(*judgments, option, value), 2, f"{option}: does not apply to TREC judgments")
        if option in ("--label-column", "--missing", "--unjudged"):
            for command in (("explain", *fused, "--query", "q3"), ("predict", *fused)):
                assert_refused(cli(*command, option, value), 2, f"{option}: does not apply to a model of fuse")
    for given, lacks in (("strong=", "file"), ("=", "file"), (f"={folder / 'strong.run'}", "retriever")):
        refused = cli("predict", fused[0], given, folder / "other.run")
        assert_refused(refused, 1, f": names no {lacks}; write NAME=FILE.")
        assert len(refused.sentences) == 1


def test_inspect_shows_retrievers(folder: Path, cli: Cli) -> None:
    shown = cli("inspect", folder / "fused")
    assert (shown.code, shown.sentences) == (0, [])
    assert "2 retrievers, norm rrf, lists cut at rank" in shown.out
    assert "Ridge(" not in shown.out
    content = json.loads(cli("inspect", folder / "fused", "--format", "json").out)
    formula = sr.FusionFormula.load(folder / "fused")
    assert {t["retriever"]: t["weight"] for t in content["retrievers"]} == {
        t.retriever: t.weight for t in formula.terms
    }


DATA = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=1).data
RANKERS = {
    "linear": sr.SparseRanker(),
    "standard": sr.SparseRanker(scaling="standard"),
    "log": sr.SparseRanker(feature_transform="log"),
    "steps": sr.SparseRanker(penalty="steps", k=3),
}


def model_of(kind: str) -> RankingModel:
    if kind == "within queries":
        scaling = FeatureScaling("query-min-max", np.zeros(6), np.ones(6))
        return RankingModel.from_arrays(
            np.array([1.0, 0.0, -2.0, 0.5, 0.0, 0.0]), tuple(DATA.feature_names or ()), scaling
        )
    return RANKERS[kind].fit_dataset(DATA).to_model()


@pytest.mark.parametrize("kind", [*RANKERS, "within queries"])
def test_contributions_add_up(kind: str) -> None:
    model = model_of(kind)
    scores = model.score_dataset(DATA)
    added = model.contributions(DATA)
    assert added.shape == (DATA.n_docs, len(model.support))
    np.testing.assert_allclose(added.sum(axis=1), scores, rtol=1e-12, atol=1e-12)
    if kind in ("linear", "log"):
        for k, j in enumerate(model.support):  # what a score loses without the feature
            X = DATA.X.copy()
            X[:, j] = 0.0
            lost = scores - model.score_dataset(DATA.replace_features(X))
            np.testing.assert_allclose(lost - lost.mean(), added[:, k] - added[:, k].mean(), atol=1e-12)
    q = DATA.query_ids[3]
    found = sr.explain_query(model, DATA, q)
    assert list(found.scores) == sorted(found.scores, reverse=True)
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.scores.mean(), atol=1e-12)
    pair = found.pair(found.documents[0], found.documents[-1])
    assert sum(r["difference"] for r in pair) == pytest.approx(found.scores[0] - found.scores[-1])
    assert [abs(r["difference"]) for r in pair] == sorted((abs(r["difference"]) for r in pair), reverse=True)
    name, value = found.drivers(0)[0]
    assert abs(value) == np.abs(found.contributions[0]).max()
    assert name in found.features


def test_what_is_not_there_is_named() -> None:
    model = model_of("linear")
    with pytest.raises(DataError, match=r"there is no query '99'; the data contain '1' \.\.\. '20'"):
        sr.explain_query(model, DATA, 99)
    with pytest.raises(DataError, match="query '1' has no document 'x'"):
        sr.explain_query(model, DATA, 1).pair("x", "y")


def test_explain_of_the_command_line_is_that_of_the_formula(cli_here: Cli, tmp_path: Path) -> None:
    sr.write_letor(DATA, tmp_path / "test.txt")
    model_of("log").save(tmp_path / "m.json")
    run = partial(cli_here, "explain", "m.json", "test.txt")
    shown = run("--query", "2").done
    assert "Query 2" in shown.out
    content = json.loads(run("--query", "2", "--format", "json", "--most", "100").out)
    expected = sr.explain_query(model_of("log"), DATA, 2)
    assert [d["document"] for d in content["documents"]] == list(expected.documents)
    a, b = expected.documents[0], expected.documents[1]
    shown = run("--query", "2", "--pair", b, "--pair", a)
    assert f"{a} is ranked higher" in shown.out
    for arguments, status, message in (
        (("--query", "77"), 1, "there is no query '77'"),
        (("--query", "2", "--pair", a), 2, "must be used twice"),
        (("--query", "2", "--pair", a, "--pair", "x"), 1, "has no document 'x'"),
        (("--query", "2", "--format", "xml"), 2, "must be one of text, markdown, json, csv"),
    ):
        assert_refused(run(*arguments), status, message)
