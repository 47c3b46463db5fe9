"""Explanations add up to the scores, of every kind of model; the command."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.support.command_line import Cli, assert_refused

DATA = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=1).data
RANKERS = {
    "linear": sr.SparseRanker(),
    "standard": sr.SparseRanker(scaling="standard"),
    "log": sr.SparseRanker(feature_transform="log"),
    "curves": sr.SparseRanker(penalty="mcp", feature_transform="curves"),
}


def model_of(kind: str) -> RankingModel:
    if kind == "within queries":
        scaling = FeatureScaling("query-min-max", np.zeros(6), np.ones(6))
        return RankingModel(np.array([1.0, 0.0, -2.0, 0.5, 0.0, 0.0]), tuple(DATA.feature_names or ()), scaling)
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


def test_the_command(cli_here: Cli, tmp_path: Path) -> None:
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
        (("--query", "2", "--format", "xml"), 2, "must be one of text, json, csv"),
    ):
        assert_refused(run(*arguments), status, message)
