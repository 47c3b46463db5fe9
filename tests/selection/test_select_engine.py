"""`select` for an engine tries only what that engine can run, and reports the cost where an earlier run knows it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.errors import DataWarning, ParameterError
from sparserank.export import ENGINES, export_command
from sparserank.options.selection import REQUESTS, TREES
from sparserank.selection.for_engine import BestLeftOut, ForEngine
from tests.support.command_line import Cli
from tests.support.models import array_of

QUICK: dict[str, Any] = {"penalties": "l1", "n_alphas": 8, "cv": 3, "half_samples": 0, "relaxed": False}
LEFT_OUT = ("log",)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    """Their logarithms are better features."""
    plain = make_ranking(60, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=4).data
    return plain.replace_features(np.sign(plain.X) * np.expm1(2.0 * np.abs(plain.X)))


def test_only_what_the_engine_can_run_is_tried(data, tmp_path: Path):
    every = sr.select(data, **QUICK)
    assert every.to_json()["engine"] is None
    assert any(f.transform != "none" for f in every.model.features)
    assert {label.partition(" on ")[2] for label in every.paths} == {"", *LEFT_OUT}
    linear = sr.select(data, engine="ranklib", out=tmp_path / "run", **QUICK)
    assert set(linear.paths) == {"l1", "ridge"}
    assert linear.engine is not None
    assert linear.engine.left_out == LEFT_OUT
    assert linear.engine.cost is None
    assert linear.to_json()["engine"] == {"name": "ranklib", "left_out": list(LEFT_OUT), "cost": None}
    (text,) = (note for note in linear.notes if note.startswith("for ranklib"))
    assert "no models with log were tried, because RankLib's text cannot run them" in text
    assert text.endswith("run the same command without engine into another out, and compare means.")
    assert "To measure" not in ForEngine("elasticsearch-query", LEFT_OUT, None).sentence("ndcg@10")
    assert linear.model.export("ranklib")
    alone = sr.select(data, feature_transform="none", **QUICK)
    assert linear.model.to_json()["features"] == alone.model.to_json()["features"]
    for name in ("solr", "elasticsearch", "opensearch", "vespa", "lucene", "sql", "onnx", "python"):
        assert ENGINES[name].lacks(["log", "asinh"]) == ""
        assert (ENGINES[name].lacks(steps=True) == "") == (name != "solr")
    same = sr.select(data, engine="elasticsearch", **QUICK)
    assert same.model.to_json()["features"] == every.model.to_json()["features"]
    assert "for elasticsearch: the plugin can run all models that were tried." in same.notes
    assert same.model.export("elasticsearch")


@pytest.mark.slow
def test_what_it_costs_is_known_from_an_earlier_run_in_the_same_place(data, tmp_path: Path):
    every = sr.select(data, out=tmp_path, **QUICK)
    before = {p.name for p in (tmp_path / "arrays").iterdir()}
    for _ in range(2):  # a repeated call gives the same
        linear = sr.select(data, engine="ranklib", out=tmp_path, **QUICK)
        assert linear.engine is not None
        cost = linear.engine.cost
        assert cost is not None
        best = max((c for c in every.choice.candidates if " on " in c.penalty), key=lambda c: c.mean)
        assert (cost.penalty, cost.n_features) == (best.label, best.n_features)
        assert cost.mean == pytest.approx(best.mean, abs=1e-15)
        assert cost.loss == pytest.approx(best.mean - linear.best.mean, abs=1e-15)
        assert cost.loss > 0
        assert f"has a mean {linear.metric} of {cost.mean:.4f} in an earlier run, {cost.loss:.4f} above" in " ".join(
            linear.notes
        )
        assert json.loads((tmp_path / "result.json").read_text())["engine"]["cost"]["mean"] == cost.mean
    after = {p.name for p in (tmp_path / "arrays").iterdir()}
    assert {n for n in after - before if not n.startswith("ablation")} == set()  # no path was computed
    longer = sr.select(data, engine="ranklib", out=tmp_path, **{**QUICK, "relaxed": True})
    assert longer.engine is not None
    assert longer.engine.cost is None  # the earlier run has no refits


def test_a_loss_below_0_is_no_loss():
    cost = BestLeftOut("l1 on log", 3, 0.4, -0.01)
    below, above = (ForEngine("ranklib", ("log",), replace(cost, loss=loss)) for loss in (-0.01, 0.01))
    assert "which is not above the best model tried for the engine; nothing is lost" in below.sentence("ndcg@10")
    assert "2.5% of its mean" in above.sentence("ndcg@10")


def test_what_the_engine_cannot_run_is_refused_where_it_is_asked_for(data):
    for options, parameter, message in (
        (
            {"engine": "lucine"},
            "engine",
            "must be one of solr, elasticsearch, opensearch, elasticsearch-query, opensearch-query, solr-query, vespa",
        ),
        ({"feature_transform": "log"}, "feature_transform", "cannot be log with engine='ranklib': RankLib's text"),
        ({"penalties": "steps"}, "penalties", "of raw features only, and cannot run steps"),
        ({"scaling": "log-standard"}, "scaling", "cannot run log"),
        ({"engine": "vespa", "scaling": "query-min-max"}, "scaling", "cannot scale features within each query"),
    ):
        with pytest.raises(ParameterError, match=message) as refused:
            sr.select(data, **{**QUICK, "engine": "ranklib", **options})
        assert refused.value.parameter == parameter
    logs = sr.select(data, engine="solr", feature_transform="log", **QUICK)
    assert all(label.endswith(" on log") for label in logs.paths)


def with_gaps(data: RankingDataset) -> pd.DataFrame:
    """A table with a column `rating` that every model uses and that is missing in every ninth row."""
    frame = pd.DataFrame(np.array(data.X), columns=list(data.feature_names or ()))
    frame["rating"] = 3.0 + data.relevance + np.random.default_rng(0).normal(0, 0.5, data.n_docs)
    frame.loc[::9, "rating"] = np.nan
    return frame.assign(label=data.relevance.astype(int), qid=[f"q{q}" for q in data.qid])


@pytest.mark.parametrize("engine", [name for name, e in ENGINES.items() if e.takes_zero and name not in TREES])
def test_an_engine_that_takes_zero_is_known_before_missing_values_are_replaced(data, engine: str):
    """The replacement is one whose model the engine accepts; others get the median."""
    frame = with_gaps(data)
    with pytest.warns(DataWarning, match="missing values of rating become 0, as the engine does"):
        result = sr.select(frame, engine=engine, **QUICK)
    rating = result.model.feature_names.index("rating")
    assert array_of(result.model, "missing")[rating] == 0.0
    for other in (None, "sql", "vespa"):
        with pytest.warns(DataWarning, match="missing values of rating become medians"):
            model = sr.select(frame, engine=other, **QUICK).model
        assert array_of(model, "missing")[rating] == pytest.approx(frame["rating"].median())
        assert np.isnan(np.delete(array_of(model, "missing"), rating)).all()


def test_every_command_that_is_printed_next_works(data, cli_here: Cli, tmp_path: Path):
    """From `inspect` to the export, with the engine and without; the wrong replacement is named before any fit."""
    with_gaps(data).to_parquet(tmp_path / "log.parquet")
    quick = ("--penalty", "l1", "--n-alphas", "6", "--half-samples", "0", "--no-relaxed", "--folds", "2")
    plain = ("--rival", "none", "--transform", "none")
    seen = cli_here("inspect", "log.parquet")
    assert "or 0 with --engine solr, elasticsearch," in " ".join(seen.out.split())
    engine = ("--engine", "elasticsearch")
    for n, (options, wanted) in enumerate(
        (
            ((), "--to sql"),
            (engine, "--to elasticsearch"),
            (("--missing", "rating=median"), "--to sql"),
            ((*engine, "--missing", "rating=zero"), "--to elasticsearch"),
            ((*engine, "--missing", "rating=median"), ""),
        )
    ):
        done = cli_here("select", "log.parquet", *options, *quick, *plain, "--out", f"run{n}").done
        next_ = done.out[done.out.rindex("Next: ") :]
        exports = [part.strip() for part in re.split(r"\||\n", next_.removeprefix("Next: "))]
        exports = [part for part in exports if part.startswith("sparserank export")]
        if not wanted:
            assert exports == []
            assert "the same command with --missing zero, for elasticsearch" in " ".join(next_.split())
            assert "warning: for elasticsearch: the plugin treats a missing value as 0, but the model uses" in done.err
            continue
        assert [wanted in part for part in exports] == [True]
        assert cli_here(*exports[0].split()[1:]).code == 0, exports


@pytest.mark.parametrize("to", sorted(ENGINES))
def test_the_printed_export_names_a_folder_where_one_is_needed(data, cli_here: Cli, tmp_path: Path, to: str):
    model = sr.SparseRanker(alpha_ratio=0.2).fit_dataset(data).to_model()
    model.save(tmp_path / "model.json")
    command = export_command(model, "model.json", to)
    assert min(model.weights.values()) < 0  # which the clauses of a request cannot have
    assert bool(command) == (to not in (*TREES, *REQUESTS))
    assert (" --features FILE" in command) == (to == "vespa")  # which knows no feature by its name
    if not command:
        return
    (tmp_path / "FILE").write_text(json.dumps({name: f"attribute({name})" for name in model.columns}))
    logged = replace(model, features=tuple(f._replace(transform="log") for f in model.features))
    assert (" --features FILE" in export_command(logged, "model.json", to)) == (to in ("solr", "vespa"))
    assert cli_here(*command.split()[1:]).code == 0, command
    scaled = replace(model, scaling="query-min-max")
    assert export_command(scaled, "run", "sql") == ""  # no format can write it
