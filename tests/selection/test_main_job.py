"""The main job through the command line, as a user runs it: what it prints, writes and promises."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.cli.app import main
from sparserank.data.run_reader import read_run
from tests.support.command_line import Cli
from tests.support.shortcuts import no_processes, pictures


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished demo run, with its standard output in printed.txt."""
    folder = tmp_path_factory.mktemp("demo")
    with pictures(), no_processes(), pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr("sys.argv", ["sparserank", "demo", "--out", str(folder), "--seed", "1"])
        with pytest.raises(SystemExit) as stop:
            main()
    assert not stop.value.code
    (folder / "printed.txt").write_text(printed.getvalue())
    return folder


def test_demo_reports_that_it_recovered_the_true_support(finished: Path) -> None:
    out = (finished / "printed.txt").read_text()
    assert "sparserank found exactly the 6 features from which the labels were generated (signal_" in out
    for word in ("all features", "change if left out", "test queries", "Next: "):
        assert word in out
    assert len(out.splitlines()) <= 27  # and one for the data that were made
    assert len(re.findall(r"(?m)^\S*signal_\d+\)?  ", out)) == 6  # features are not what room is made with


def test_model_lists_the_true_features(finished: Path) -> None:
    model = json.loads((finished / "run/model.json").read_text())
    assert len(model["features"]) == 6
    assert all(f["name"].startswith("signal_") for f in model["features"])
    assert model["metadata"]["status"] in ("optimal", "stationary")


def test_tables_hold_every_point_with_its_certificate(finished: Path) -> None:
    path = pq.read_table(finished / "run/path.parquet").to_pandas()
    assert set(path["penalty"]) == {"l1", "mcp", "ridge", "distilled mcp", "steps"}
    steps = path["penalty"] == "steps"  # which solve no problem
    assert set(path["status"][steps]) == {"not certified"}
    assert (path["kkt_violation"][~steps] >= 0).all()
    assert set(path["status"][~steps]) <= {"optimal", "stationary"}
    per_query = pq.read_table(finished / "run/per_query.parquet").to_pandas()
    assert per_query.groupby(["penalty", "relax", "index"], observed=True)["query"].nunique().eq(140).all()
    events = [json.loads(line)["event"] for line in (finished / "run/log.jsonl").read_text().splitlines()]
    assert events[0] == "start"
    assert events[-1] == "done"
    assert not list((finished / "run").rglob("*.part"))


def test_predict_writes_scores_in_file_order_and_runs_by_rank(finished: Path, tmp_path: Path, cli: Cli) -> None:
    data = sr.read(finished / "test.txt")
    order = np.random.default_rng(0).permutation(data.n_docs)  # queries torn apart
    lines = (finished / "test.txt").read_text().splitlines()
    shuffled = tmp_path / "shuffled.txt"
    shuffled.write_text("\n".join(lines[i] for i in order) + "\n")
    model = sr.load_model(finished / "run/model.json")
    for option, file in (("--out", "scores.txt"), ("--run", "test.run")):
        assert cli("predict", finished / "run/model.json", shuffled, option, tmp_path / file).code == 0
    written = np.loadtxt(tmp_path / "scores.txt")
    np.testing.assert_allclose(written, model.predict(data.X)[order], rtol=1e-12)
    run = read_run(tmp_path / "test.run")
    assert len(run) == data.n_docs


QUICK = ("--penalty", "l1", "--n-alphas", 6, "--folds", 2, "--half-samples", 2)


def test_costs_and_budget_limit_the_total_cost(finished: Path, tmp_path: Path, cli: Cli) -> None:
    costs = tmp_path / "costs.txt"
    costs.write_text("".join(f"{1 + j % 3}\n" for j in range(40)))
    args = (finished / "train.txt", "--out", tmp_path / "run", *QUICK, "--costs", costs, "--budget", 5)
    assert cli("select", *args).code == 0
    model = json.loads((tmp_path / "run/model.json").read_text())
    assert 0 < sum(1 + f["index"] % 3 for f in model["features"]) <= 5
