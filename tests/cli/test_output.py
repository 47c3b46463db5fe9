"""Answers for programs: one JSON document or CSV table on standard output, and nothing else there."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.datasets import make_ranking
from tests.support.command_line import Cli, assert_refused

QUICK = "--n-alphas 6 --folds 2 --penalty l1 --half-samples 0 --transform none --rival none"
TREES = "--for-model lightgbm --folds 2 --k 2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """train.txt, test.txt, model.json, test.run and test.qrels in the working directory."""
    data = make_ranking(30, (5, 8), 6, n_informative=3, n_redundant=1, query_spread=0.0, random_state=2).data
    named = sr.RankingDataset(data.X, data.relevance, data.qid, [f"d{i}" for i in range(data.n_docs)])
    sr.write_letor(named.take_queries(np.arange(20)), tmp_path / "train.txt")
    sr.write_letor(named.take_queries(np.arange(20, 30)), tmp_path / "test.txt")
    sr.SparseRanker().fit_dataset(named).save(tmp_path / "model.json")
    sr.write_run(named, data.X[:, 0], tmp_path / "test.run")
    sr.write_qrels(named, tmp_path / "test.qrels")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS: dict[str, tuple[object, ...]] = {
    "select": ("select", "train.txt", "--test", "test.txt", "--out", "run", *QUICK.split()),
    "fit": ("fit", "train.txt", "--out", "fitted.json"),
    "predict": ("predict", "model.json", "test.txt"),
    "predict to files": ("predict", "model.json", "test.txt", "--run", "t.run", "--qrels", "t.qrels"),
    "evaluate": ("evaluate", "test.txt", "--system", "model.json"),
    "evaluate a run": ("evaluate", "--qrels", "test.qrels", "--system", "test.run"),
    "diff": ("diff", "model.json", "model.json", "test.txt"),
    "inspect data": ("inspect", "train.txt"),
    "inspect model": ("inspect", "model.json"),
    "explain": ("explain", "model.json", "test.txt", "--query", "25"),
    "explain a pair": ("explain", "model.json", "test.txt", "--query", "21", "--pair", "{0}", "--pair", "{1}"),
    "export": ("export", "model.json", "--to", "sql"),
    "export to a folder": ("export", "model.json", "--to", "solr", "--out", "solr"),
    "convert": ("convert", "train.txt", "store"),
    "convert to a file": ("convert", "train.txt", "train.parquet"),
    "systems": ("reproduction", "systems"),
    "judge": ("select", "train.txt", *TREES.split(), "--out", "run"),
}


def arguments(name: str, folder: Path) -> list[object]:
    docs = [line.rsplit(" ", 1)[-1] for line in (folder / "test.txt").read_text().splitlines() if " qid:21 " in line]
    return [str(a).format(*docs) for a in COMMANDS[name]]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("select", "judge")])
def test_markdown_is_the_content_and_nothing_else(name: str, folder: Path, cli: Cli) -> None:
    outcome = cli(*arguments(name, folder), "--format", "markdown", "--quiet").done
    assert outcome.err == ""
    assert outcome.out.strip()
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in outcome.out.splitlines() if line.startswith("|")]
    tables = re.split(r"\n\n", outcome.out)
    assert all(len({len(re.findall(r"(?<!\\)\|", row)) for row in t.splitlines()}) == 1 for t in tables if t[:1] == "|")
    assert columns or name == "inspect model" or not re.search("[|]", outcome.out)


@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_one_document_and_csv_one_table(name: str, folder: Path, cli: Cli) -> None:
    for form in ("json", "csv"):
        for made in ("run", "solr", "store"):
            if (folder / made).exists():
                (folder / made).rename(folder / f"{made}-before")
        (folder / "train.parquet").unlink(missing_ok=True)
        outcome = cli(*arguments(name, folder), "--format", form, "--quiet").done
        assert outcome.err == ""
        if form == "json":
            assert json.loads(outcome.out)
        else:
            header, *rows = csv.reader(io.StringIO(outcome.out))
            assert rows
            assert {len(r) for r in rows} == {len(header)}
            assert len(set(header)) == len(header)


def test_what_programs_get_is_what_people_see(folder: Path, cli: Cli) -> None:
    selected = json.loads(cli(*COMMANDS["select"], "--format", "json").out)
    assert selected == json.loads((folder / "run/result.json").read_text())
    scores = [float(line) for line in cli(*COMMANDS["predict"]).out.split()]
    rows = json.loads(cli(*COMMANDS["predict"], "--format", "json").out)
    assert [r["score"] for r in rows] == scores
    lines = (folder / "test.txt").read_text().splitlines()
    assert [f"qid:{r['qid']}" for r in rows] == [line.split()[1] for line in lines]
    assert [r["docno"] for r in rows] == [line.split()[-1] for line in lines]
    counted = json.loads(cli(*COMMANDS["inspect data"], "--format", "json").out)
    assert [counted[n] for n in ("n_docs", "n_queries", "n_features")] == [
        len(Path("train.txt").read_text().splitlines()),
        20,
        6,
    ]
    assert json.loads(cli(*COMMANDS["inspect model"], "--format", "json").out) == json.loads(
        (folder / "model.json").read_text()
    )
    exported = json.loads(cli(*COMMANDS["export"], "--format", "json").out)
    assert exported == {"files": sr.load_model("model.json").export("sql")}
    (row,) = csv.DictReader(io.StringIO(cli(*COMMANDS["export"], "--format", "csv").out, newline=""))
    assert {row["file"]: row["content"]} == exported["files"]
    explained = json.loads(cli(*COMMANDS["explain"], "--format", "json").out)["documents"]
    rows = list(csv.DictReader(io.StringIO(cli(*COMMANDS["explain"], "--format", "csv").out)))
    flat = [(d["document"], d["score"], f, v) for d in explained for f, v in d["contributions"].items()]
    assert [(r["document"], float(r["score"]), r["feature"], float(r["contribution"])) for r in rows] == flat
    evaluated = json.loads(cli(*COMMANDS["evaluate"], "--format", "json").out)
    ours = sr.evaluate(sr.load_model("model.json"), sr.read("test.txt"))
    assert {r["metric"]: r["mean"] for r in evaluated} == ours


def test_quiet_verbose_and_misuse(folder: Path, cli: Cli) -> None:
    outcome = cli(*COMMANDS["select"], "--verbose")
    assert "numba" in outcome.err.splitlines()[0]
    pieces = [line for line in outcome.err.splitlines() if line.startswith("paths: ")]
    assert len(pieces) >= 6
    assert "Keep " in outcome.out.splitlines()[0]
    assert cli(*COMMANDS["select"], "--quiet").err == ""
    failed = cli("evaluate", "none.txt", "--system", "model.json", "--quiet", "--format", "json")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith("error: none.txt")
    assert "Traceback" not in failed.err
    assert "Traceback" in cli("evaluate", "none.txt", "--system", "model.json", "--verbose").err
    for bad in (("--format", "xml"), ("--quiet", "--verbose")):
        assert cli("inspect", "train.txt", *bad).code == 2


@pytest.mark.slow_but("True")
@pytest.mark.parametrize("together", [False, True])
def test_verbose_has_a_line_for_each_path(together, folder, cli, monkeypatch):
    """Whether paths go to processes, one after the other, or advance together, point by point."""
    monkeypatch.setattr("sparserank.crossval.fitting.FittedPaths._use_processes", lambda self, n: not together)
    monkeypatch.setattr("sparserank.cli.screen.QUIET_INTERVAL_S", 1e9)
    command = [*COMMANDS["select"], "--restart", "--verbose"]
    ended = [line for line in cli(*command).err.splitlines() if line.startswith("paths: ")]
    counts = [int(line.split()[1]) for line in ended]
    assert counts == sorted(set(counts)), ended  # one more path each
    assert counts[-1] == int(ended[-1].split()[3].rstrip(",")) == len(ended)
    labels = [line.rpartition("(")[2] for line in ended]
    assert len(set(labels)) == len(labels)


def test_commands_read_the_columns_that_the_run_of_a_model_read(cli_here: Cli) -> None:
    data = make_ranking(30, 6, 4, n_informative=2, n_redundant=1, random_state=1).data
    frame = pd.DataFrame(np.asarray(data.X), columns=list("abcd")).assign(
        grade=data.relevance, query=[f"q{q}" for q in data.qid], page=[f"p{i}" for i in range(data.n_docs)]
    )
    frame.to_parquet("t.parquet")
    named = ("--label-column", "grade", "--qid-column", "query", "--docid-column", "page")
    quick = ("--penalty", "l1", "--transform", "none", "--half-samples", "0", "--rival", "none", "--n-alphas", "8")
    assert cli_here("select", "t.parquet", *named, *quick, "--folds", "2", "--out", "run").code == 0
    for call in (
        ("predict", "run", "t.parquet", "--run", "OUT"),
        ("evaluate", "t.parquet", "--system", "run/model.json"),
        ("explain", "run", "t.parquet", "--query", "q3"),
        ("diff", "run", "run/model.json", "t.parquet"),
    ):
        alone, by_name = ([a.replace("OUT", f"{n}.run") for a in call] for n in (1, 2))
        assert cli_here(*alone).done.out.replace("1.run", "2.run") == cli_here(*by_name, *named).done.out
    assert Path("1.run").read_text() == Path("2.run").read_text()
    assert " p7 " in Path("1.run").read_text()
    # What the user names, and what the table lacks, is not taken from the run.
    frame.rename(columns={"grade": "click"}).to_parquet("u.parquet")
    assert_refused(cli_here("evaluate", "u.parquet", "--system", "run"), 1, "has no column 'label'")
    assert cli_here("evaluate", "u.parquet", "--system", "run", "--label-column", "click").code == 0


def test_help_of_select_is_a_page_and_help_all_has_everything(cli: Cli) -> None:
    short, whole = cli("select", "--help"), cli("select", "--help-all")
    assert short.code == whole.code == 0
    assert len(short.out.splitlines()) <= 85
    shown, every = (set(re.findall(r"(?<!\w)--[a-z][a-z-]*", text)) for text in (short.out, whole.out))
    assert {"--out", "--k", "--margin", "--metric", "--engine", "--current", "--help-all"} <= shown
    assert {"--missing", "--drop", "--ignore-columns", "--rival", "--for-model"} <= shown
    for flag in ("--penalty", "--n-alphas", "--monotone", "--rival-time", "--half-samples", "--scaling"):
        assert flag in every
        assert flag not in shown
    assert cli("select", "--help-all").out == whole.out  # nothing stays hidden
    assert {"--install-completion", "--show-completion"} <= set(re.findall(r"--[a-z-]+", cli("--help").out))
