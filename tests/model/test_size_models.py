"""The best model of every size of a selection: kept in the run, loaded and exported without the data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import ModelFormatError, ParameterError
from tests.support.command_line import Cli, assert_refused
from tests.support.models import array_of

MADE = sr.datasets.make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
OPTIONS: dict[str, Any] = {"penalties": ["l1", "mcp"], "n_alphas": 12, "cv": 3, "half_samples": 0, "rival": "none"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sizes") / "run"


@pytest.fixture(scope="module")
def result(run: Path) -> sr.SelectionResult:
    return sr.select(MADE, out=run, **OPTIONS)


@pytest.mark.slow_but("[4]")
@pytest.mark.parametrize("k", [3, 4, 7, 12])
def test_the_model_of_k_features_is_the_one_that_a_selection_of_k_takes(
    result: sr.SelectionResult, run: Path, k: int
) -> None:
    taken = sr.select(MADE, k=k, out=run.with_name(f"run-{k}"), **OPTIONS).model
    exact = [c for c in result.by_size if c.n_features == k]
    best = max((c for c in result.by_size if c.n_features <= k), key=lambda c: c.mean)
    assert not exact or exact[0] is best, "of this problem more features are better: that of k is the best of at most k"
    for model in (result.model_of(k), sr.load_model(run, k=k)):
        np.testing.assert_array_equal(model.coef, taken.coef)
        np.testing.assert_array_equal(model.predict(MADE.X), taken.predict(MADE.X))
        assert model.metadata["lowest_score"] == taken.metadata["lowest_score"]
        np.testing.assert_array_equal(array_of(model, "median"), array_of(taken, "median"))
        assert model.parameters == taken.parameters
    assert len(taken.support) <= k


def test_a_run_is_its_chosen_model_and_a_file_of_models_needs_a_size(result, run, cli_here):
    np.testing.assert_array_equal(sr.load_model(run).coef, result.model.coef)
    own = [m for m, c in zip(result.models, result.by_size, strict=True) if c is result.chosen]
    assert own == [result.model]
    file = run / "models.json"
    for found in (cli_here("inspect", file), cli_here("export", file, "--to", "sql")):
        assert found.code == 1
        assert found.sentences == [
            f"error: {file}: contains models of every size of a selection; give the size (--k), or the directory of "
            "the run for the chosen model."
        ]
    assert cli_here("export", file, "--to", "sql", "--k", "3").code == 0
    assert cli_here("inspect", run).code == 0


def test_predict_takes_any_size_and_replaces_no_choice(result, run, cli_here, tmp_path):
    sr.write_letor(MADE, tmp_path / "made.txt")
    scored = cli_here("predict", str(run), str(tmp_path / "made.txt"), "--k", "3")
    expected = result.model_of(3).predict(MADE.X)
    assert [float(line) for line in scored.out.splitlines()] == expected.tolist()
    np.testing.assert_array_equal(sr.load_model(run).coef, result.model.coef)
    assert np.any(expected != result.model.predict(MADE.X))
    assert cli_here("predict", str(run), str(tmp_path / "made.txt"), "--k", "0").code == 2
    most = max(c.n_features for c in result.by_size)
    fewer = cli_here("predict", str(run), str(tmp_path / "made.txt"), "--k", str(most + 1))
    n = len(result.model_of(most + 1).support)
    assert f"no model has {most + 1} features; the best smaller one, with {n}, is used." in fewer.err
    assert "is used" not in scored.err


def test_select_warns_when_it_replaces_the_choice(cli_here: Cli, tmp_path: Path) -> None:
    sr.write_letor(MADE, tmp_path / "made.txt")
    few = ["--penalty", "l1", "--n-alphas", "20", "--folds", "2", "--half-samples", "0", "--rival", "none"]
    call = ["select", str(tmp_path / "made.txt"), "--out", str(tmp_path / "run"), *few, "--transform", "none"]
    first, again, other = (cli_here(*call, "--k", k) for k in ("12", "12", "4"))
    assert {first.code, again.code, other.code} == {0}, first.err + again.err + other.err
    assert "contained the choice of" not in first.err + again.err
    assert "it now contains the one of 4 features" in " ".join(other.err.split())


def test_a_lightgbm_model_is_named_where_one_of_ours_or_scores_are_expected(cli_here: Cli, tmp_path: Path) -> None:
    sr.write_letor(MADE, tmp_path / "made.txt")
    lightgbm = pytest.importorskip("lightgbm")
    held = lightgbm.Dataset(MADE.X, MADE.relevance, group=np.diff(MADE.query_ptr))
    booster = lightgbm.train({"objective": "lambdarank", "verbosity": -1, "num_threads": 1}, held, 3)
    booster.save_model(tmp_path / "whole.txt")
    assert_refused(cli_here("predict", "whole.txt", "made.txt"), 1, "is a LightGBM model")
    done = cli_here("evaluate", "made.txt", "--system", "whole.txt", "--metric", "map", "--format", "json").done
    expected = sr.evaluate(booster.predict(MADE.X), MADE.relevance, "map", qid=MADE.qid)["map"]
    assert json.loads(done.out)[0]["mean"] == pytest.approx(expected, abs=1e-9)
    for end in ("\n", "\r\n"):
        (tmp_path / "mine.txt").write_bytes(f"tree{end}version=v4{end}{end}Tree=0{end}".encode())
        with pytest.raises(ModelFormatError, match=r"mine\.txt: is a LightGBM model, .*rival="):
            sr.load_model(tmp_path / "mine.txt")
        assert_refused(cli_here("predict", "mine.txt", "made.txt"), 1, "is a LightGBM model")
        assert_refused(
            cli_here("evaluate", "made.txt", "--system", "mine.txt"), 1, "is a LightGBM model that is cut off"
        )


def test_what_is_no_file_of_models_is_refused(result: sr.SelectionResult, run: Path, tmp_path: Path) -> None:
    least = min(c.n_features for c in result.by_size)
    with pytest.raises(ParameterError, match=f"k must be at least {least}; got 1"):
        result.model_of(1)
    text = (run / "models.json").read_text()
    for damage, sentence in {
        "{": "not a readable model file",
        text.replace("sparserank-models", "sparserank-model", 1): "not a sparserank-models file",
        text.replace('"version": 1', '"version": 9', 1): "version must be an integer from 1 to 1; got 9",
        json.dumps({**json.loads(text), "models": 3}): "models must be a list; got 3",
        json.dumps({**json.loads(text), "models": [{}]}): "each model must be an object with a mean",
        json.dumps({**json.loads(text), "models": []}): "it contains no model",
        text.replace('"version": ', '"version": 99, "v": ').replace(
            "99", "1", 1
        ): "version of a model must be an integer",
        text.replace('"coef": ', '"coef": "x", "c": '): "coef must be a number",
    }.items():
        (tmp_path / "models.json").write_text(damage)
        with pytest.raises(ModelFormatError, match=sentence):
            sr.load_model(tmp_path, k=4)
    (tmp_path / "models.json").write_text(text)
    assert least > 1
    with pytest.raises(ModelFormatError, match=f"no model has at most 1 feature.*; the smallest has {least}"):
        sr.load_model(tmp_path, k=1)
    for odd in (0, True, 3.7, "3", None, float("nan")):
        with pytest.raises(ParameterError, match="k must be an integer >= 1"):
            result.model_of(odd)
    (tmp_path / "old").mkdir()
    with pytest.raises(ModelFormatError, match=r"models\.json: not found; run the selection again"):
        sr.load_model(tmp_path / "old", k=4)


def test_every_size_has_the_ablation_of_its_own_model(result: sr.SelectionResult) -> None:
    """That of the chosen size is that of the chosen model; of another size the same call with k gives it."""
    found = dict(zip((len(m.support) for m in result.models), result.size_costs, strict=True))
    chosen = {row["feature"]: row["cost"] for row in result.worth.features}
    n = len(result.model.support)
    if n > 1 and result.chosen in result.by_size:
        assert found[n] is not None
        for feature, cost in found[n].items():  # refits of the same sets, with others in lockstep
            for metric, own in cost.items():
                assert own["cost"] == pytest.approx(chosen[feature][metric]["cost"], abs=1e-9)
    for size, costs in found.items():
        assert (costs is None) == (size == 1 or size > 12)
        used = {m.feature_names[j] for m in result.models if len(m.support) == size for j in m.support}
        assert costs is None or costs.keys() == used
