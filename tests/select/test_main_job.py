"""The main job through the command line, as a user runs it: what it prints, writes and promises."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.cli.app import main
from sparserank.data.fusion.runs import read_run
from sparserank.data.letor.reader import read_letor
from sparserank.data.letor.writer import write_letor
from tests.support.shortcuts import no_processes, pictures


def _run(monkeypatch: pytest.MonkeyPatch, *args: object) -> int:
    monkeypatch.setattr("sys.argv", ["sparserank", *map(str, args)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished demo run, and what it printed in said.txt."""
    folder = tmp_path_factory.mktemp("demo")
    with pictures(), no_processes(), pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        assert _run(patch, "demo", "--out", folder, "--seed", 1) == 0
    (folder / "said.txt").write_text(said.getvalue())
    return folder


def test_demo_says_that_it_recovered_the_true_support(finished: Path) -> None:
    out = (finished / "said.txt").read_text()
    assert "sparserank found exactly the 6 features from which the labels were generated (signal_" in out
    for word in ("all features", "change if left out", "test queries", "Next: "):
        assert word in out
    assert len(out.splitlines()) <= 27  # and one to say what was made
    assert len(re.findall(r"(?m)^\S*signal_\d+\)?  ", out)) == 6  # features are not what room is made with


def test_model_lists_the_true_features(finished: Path) -> None:
    model = json.loads((finished / "run/model.json").read_text())
    assert len(model["features"]) == 6
    assert all(f["name"].startswith("signal_") for f in model["features"])
    assert model["metadata"]["status"] in ("optimal", "stationary")


def test_tables_hold_every_point_with_its_certificate(finished: Path) -> None:
    path = pq.read_table(finished / "run/path.parquet").to_pandas()
    assert set(path["penalty"]) == {"l1", "mcp", "ridge"}
    assert (path["kkt_violation"] >= 0).all()
    assert set(path["status"]) <= {"optimal", "stationary"}
    per_query = pq.read_table(finished / "run/per_query.parquet").to_pandas()
    assert per_query.groupby(["penalty", "relax", "index"], observed=True)["query"].nunique().eq(140).all()
    events = [json.loads(line)["event"] for line in (finished / "run/log.jsonl").read_text().splitlines()]
    assert events[0] == "start"
    assert events[-1] == "done"
    assert not list((finished / "run").rglob("*.part"))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v and not v.startswith("#")]


def test_report_is_self_contained_and_fits_a_phone(finished: Path) -> None:
    text = (finished / "run/report.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.links == ["data:,"]  # the empty icon: nothing is fetched
    assert page.tags.count("script") == 2  # the data of the sizes, and what moves between them
    assert page.tags.count("svg") == 5
    assert 'name="viewport"' in text
    for words in (
        "<h1>6 of 40 features are enough</h1>",
        "Selected features",
        "signal_",
        "Test queries",
        "95% interval",
    ):
        assert words in text


def test_predict_writes_scores_in_file_order_and_runs_by_rank(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_letor(finished / "test.txt")
    order = np.random.default_rng(0).permutation(data.n_docs)  # queries torn apart
    lines = (finished / "test.txt").read_text().splitlines()
    shuffled = tmp_path / "shuffled.txt"
    shuffled.write_text("\n".join(lines[i] for i in order) + "\n")
    model = sr.load_model(finished / "run/model.json")
    with monkeypatch.context() as patch:
        assert _run(patch, "predict", finished / "run/model.json", shuffled, "--out", tmp_path / "scores.txt") == 0
        assert _run(patch, "predict", finished / "run/model.json", shuffled, "--run", tmp_path / "test.run") == 0
    written = np.loadtxt(tmp_path / "scores.txt")
    np.testing.assert_allclose(written, model.predict(data.X)[order], rtol=1e-12)
    run = read_run(tmp_path / "test.run")
    assert len(run) == data.n_docs


def test_evaluate_compares_a_model_a_run_and_a_score_file(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, test = finished / "run/model.json", finished / "test.txt"
    with monkeypatch.context() as patch:
        assert _run(patch, "predict", model, test, "--out", tmp_path / "same.txt") == 0
        assert _run(patch, "predict", model, test, "--run", tmp_path / "same.run") == 0
        capsys.readouterr()
        systems = [a for s in (model, tmp_path / "same.txt", tmp_path / "same.run") for a in ("--system", s)]
        assert (
            _run(patch, "evaluate", test, *systems, "--metric", "map", "--format", "json", "--convention", "trec") == 0
        )
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert len({r["mean"] for r in rows}) == 1
    assert rows[1]["difference"] == 0.0
    data = read_letor(test, 40)
    expected = sr.evaluate(sr.load_model(model).predict(data.X), data, ["map"], convention="trec")["trec:map"]
    assert rows[0]["mean"] == pytest.approx(expected)


def test_inspect_shows_data_and_model(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        assert _run(patch, "inspect", finished / "train.txt") == 0
        assert _run(patch, "inspect", finished / "run/model.json") == 0
    out = capsys.readouterr().out
    assert "preferred pairs" in out
    assert "raw" in out


QUICK = ("--penalty", "l1", "--n-alphas", 6, "--folds", 2, "--half-samples", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra",
    [
        ("--k", 3, "--n-alphas", 15),
        ("--no-relaxed",),
        ("--protocol", "holdout"),
        ("--scaling", "log-standard"),
        ("--scaling", "query-min-max"),
        ("--pair-weights", "query"),
        ("--convention", "letor4"),
        ("--current", "f3"),
        ("--metric", "map", "--report-metrics", "p@5"),
    ],
    ids=lambda e: " ".join(map(str, e)),
)
def test_select_options_run_end_to_end(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple
) -> None:
    args = (
        finished / "train.txt",
        "--valid",
        finished / "valid.txt",
        "--test",
        finished / "test.txt",
        "--out",
        tmp_path,
    )
    assert _run(monkeypatch, "select", *args, *QUICK, *extra) == 0
    model = json.loads((tmp_path / "model.json").read_text())
    assert 1 <= len(model["features"]) <= (3 if extra[0] == "--k" else 40)


def test_costs_and_budget_limit_the_total_cost(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = tmp_path / "costs.txt"
    costs.write_text("".join(f"{1 + j % 3}\n" for j in range(40)))
    args = (finished / "train.txt", "--out", tmp_path / "run", *QUICK, "--costs", costs, "--budget", 5)
    assert _run(monkeypatch, "select", *args) == 0
    model = json.loads((tmp_path / "run/model.json").read_text())
    assert 0 < sum(1 + f["index"] % 3 for f in model["features"]) <= 5


@pytest.mark.slow
def test_processes_and_threads_give_one_result(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sparserank.crossval.fitting as fitting

    args = (
        finished / "train.txt",
        "--valid",
        finished / "valid.txt",
        *QUICK,
        "--penalty",
        "mcp",
        "--transform",
        "none",
    )
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "MIN_PROCESS_WORK", 0)
        assert _run(patch, "select", *args, "--threads", 2, "--out", tmp_path / "processes") == 0
        patch.setattr(fitting, "MIN_PROCESS_WORK", np.inf)
        assert _run(patch, "select", *args, "--threads", 2, "--out", tmp_path / "threads") == 0
        assert _run(patch, "select", *args, "--threads", 1, "--out", tmp_path / "one") == 0
    models = {(tmp_path / name / "model.json").read_bytes() for name in ("processes", "threads", "one")}
    assert len(models) == 1


def test_write_letor_names_survive(finished: Path, tmp_path: Path) -> None:
    data = read_letor(finished / "train.txt", feature_names=finished / "features.txt")
    write_letor(data, tmp_path / "again.txt")
    again = read_letor(tmp_path / "again.txt", feature_names=finished / "features.txt")
    assert np.array_equal(data.X, again.X)
    assert data.docid is not None
    assert again.docid is not None
    assert data.docid.tolist() == again.docid.tolist()
