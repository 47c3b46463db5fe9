"""What is printed is true; without --verbose, at most 25 lines of 100 columns, the essentials first."""

import math
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reproduction.protocol.experiment import Experiment
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan

import sparserank as sr
from sparserank.cli.output import Answer, answering
from sparserank.cli.selection_tables import show_selection
from sparserank.errors import ConvergenceWarning
from sparserank.evaluation.gate import Gate
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan
from sparserank.penalties import L1, MCP, Penalty
from sparserank.report import screen
from sparserank.report.page import render_page
from sparserank.selection import comparisons as rivals
from sparserank.selection.claims import needed
from sparserank.selection.job import SelectionJob, SelectionPlan, SelectionProblem, SelectionResult
from sparserank.selection.rivals import ComparedRival
from sparserank.solvers import Stop, solve
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.solution import Iterate, Status
from sparserank.text import interval, many, percent, percents, relative, signed
from tests.support.command_line import Cli

MAX_LINES, MAX_WIDTH = 25, 110
MADE = sr.datasets.make_ranking(40, (6, 12), 30, n_informative=12, n_redundant=4, noise=0.5, random_state=1).data
TREES = ("--folds", "2", "--threads", "1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screens")
    sr.write_letor(MADE, folder / "train.txt")
    for k in (2, 5, 25):
        sr.SparseRanker(k=k).fit_dataset(MADE).save(folder / f"m{k}.json")
    return folder


def short(text: str) -> list[str]:
    lines = text.splitlines()
    assert len(lines) <= MAX_LINES
    assert max(len(line) for line in lines if "wrote " not in line) <= MAX_WIDTH
    assert not re.search(r"kkt|gap |Holm|p \(|iterations|C_sum", text)
    return lines


def test_fit_shows_what_is_in_the_model_and_what_is_next(cli_here: Cli, files: Path, tmp_path: Path) -> None:
    done = cli_here("fit", str(files / "train.txt"), "--k", "25", "--out", "m.json")
    lines = short(done.out)
    used = len(sr.load_model(tmp_path / "m.json").support)
    assert lines[0].startswith(f"{used} of 30 features by mcp.  40 queries, {MADE.n_docs} documents;")
    assert f"{used - 12} more: sparserank inspect m.json" in lines
    assert lines[-1] == "wrote m.json"
    assert "kkt" in cli_here("fit", str(files / "train.txt"), "--k", "25", "--out", "n.json", "--verbose").out


def test_evaluate_compares_in_percent_with_intervals_rounded_outwards(cli_here, files, tmp_path):
    for k in (25, 2, 5):
        shutil.copy(files / f"m{k}.json", tmp_path)
    systems = [x for k in (25, 2, 5) for x in ("--system", f"m{k}.json")]
    done = cli_here("evaluate", str(files / "train.txt"), *systems, "--metric", "ndcg@5", "--metric", "map")
    short(done.out)
    compared = sr.compare_systems(
        {str(k): sr.load_model(files / f"m{k}.json") for k in (25, 2, 5)}, MADE, ["ndcg@5", "map"]
    ).rows()
    shown = re.findall(r"([+-][\d.]+)% \(([+-][\d.]+) to ([+-][\d.]+)%\)( better| worse)?", done.out)
    others = [r for r in compared if "difference" in r]
    assert len(shown) == len(others) == 4
    for (mean, low, high, word), r in zip(shown, others, strict=True):
        base = (r["mean"] - r["difference"]) / 100.0
        assert float(mean) == pytest.approx(r["difference"] / base, abs=0.0501)
        assert r["difference_low"] / base - 0.1 < float(low) <= r["difference_low"] / base + 1e-9
        assert r["difference_high"] / base - 1e-9 <= float(high) < r["difference_high"] / base + 0.1
        assert (word == " worse") == (r["difference_high"] < 0)
    names = ("map", "ndcg@1", "ndcg@2", "ndcg@3", "ndcg@4", "ndcg@5", "p@1", "p@2")
    crowded = cli_here("evaluate", str(files / "train.txt"), *systems, *(x for m in names for x in ("--metric", m))).out
    assert "6 more rows are shown with --verbose." in short(crowded)


def test_lower_is_better_where_the_metric_is_an_error(cli_here: Cli, files: Path, tmp_path: Path) -> None:
    shutil.copy(files / "m25.json", tmp_path)
    (tmp_path / "level.txt").write_text("0\n" * MADE.n_docs)
    call = ["evaluate", str(files / "train.txt"), "--system", "m25.json", "--system", "level.txt"]
    done = cli_here(*call, "--metric", "pairwise_error")
    assert done.out.rstrip().endswith("worse")
    assert "level.txt is worse than m25.json by" in cli_here(*call, "--metric", "pairwise_error", "--verbose").out
    shutil.copy(tmp_path / "m25.json", tmp_path / "copy.json")
    same = cli_here("evaluate", str(files / "train.txt"), "--system", "m25.json", "--system", "copy.json", "--verbose")
    assert "copy.json is equal to m25.json by 0.0000" in same.out
    turned = ["evaluate", str(files / "train.txt"), "--system", "level.txt", "--system", "m25.json", "--verbose"]
    assert "m25.json is better than level.txt by" in cli_here(*turned, "--metric", "ndcg@10").out


def test_a_run_is_taken_as_its_model(cli_here: Cli, files: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    shutil.copy(files / "m5.json", tmp_path / "run/model.json")
    assert cli_here("inspect", "run").out.startswith("run: 5 of 30 features")
    assert "run" in cli_here("evaluate", str(files / "train.txt"), "--system", "run").out
    refused = cli_here("export", "run", "--k", "3", "--to", "sql")
    assert "run the selection again to get models of other sizes, or omit --k" in " ".join(refused.err.split())


def test_fit_replaces_models_alone(cli_here: Cli, files: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    call = ["fit", str(files / "train.txt"), "--k", "3"]
    refused = cli_here(*call, "--out", "notes.txt")
    assert refused.code == 1
    assert "already exists and is not a sparserank model" in refused.err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert cli_here(*call, "--out", "m.json").code == cli_here(*call, "--out", "m.json").code == 0


def test_predict_replaces_only_what_it_could_have_written(cli_here: Cli, files: Path) -> None:
    train = str(files / "train.txt")
    assert cli_here("fit", train, "--out", "m.json").code == 0
    layouts = {"--out": "score", "--run": "qid Q0 docno rank score tag", "--qrels": "qid 0 docno rel"}
    for option, layout in layouts.items():
        place = Path("mine.txt")
        place.write_text("notes of mine\n1.0\n")
        refused = cli_here("predict", "m.json", train, option, "mine.txt")
        assert refused.code == 1
        assert f"mine.txt: already exists and does not contain lines '{layout}'" in refused.err
        assert place.read_text() == "notes of mine\n1.0\n"
        place.write_text("")  # an empty file is nobody's
        for _ in range(2):
            assert cli_here("predict", "m.json", train, option, "mine.txt").code == 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_a_table_with_ids(ending: str, cli_here: Cli, files: Path) -> None:
    table = pd.DataFrame(np.array(MADE.X), columns=[f"c{j}" for j in range(30)])
    table["label"], table["query"] = MADE.relevance, [f"q{q}" for q in MADE.qid]
    table["sku"] = [f"a, {i}" for i in range(len(table))]
    table.sample(frac=1.0, random_state=0).to_parquet("t.parquet")  # queries in several places
    table = pd.read_parquet("t.parquet")
    columns = ("--qid-column", "query", "--docid-column", "sku")
    assert cli_here("fit", "t.parquet", "--k", "3", *columns, "--out", "m.json").code == 0
    lines = cli_here("predict", "m.json", "t.parquet", *columns).out.split()
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    out = f"scores.{ending}"
    for _ in range(2):  # its own table is replaced
        assert cli_here("predict", "m.json", "t.parquet", *columns, "--out", out).code == 0
        found = read(out)
        assert list(found.columns) == ["qid", "docno", "score"]
        assert found["qid"].tolist() == table["query"].tolist()
        assert found["docno"].tolist() == table["sku"].tolist()
        assert found["score"].tolist() == list(map(float, lines))
    assert cli_here("predict", "m.json", "t.parquet", "--qid-column", "query", "--out", out).code == 0
    assert list(read(out).columns) == ["qid", "score"]
    for mine in (table[["sku", "c0"]].to_csv(index=False).encode(), b"1.0\n", b"PAR1 and nothing more"):
        Path(out).write_bytes(mine)
        refused = cli_here("predict", "m.json", "t.parquet", *columns, "--out", out)
        assert refused.code == 1
        assert f"{out}: already exists and does not contain lines 'qid,docno,score'; choose" in refused.err
        assert Path(out).read_bytes() == mine


def test_percents_are_rounded_outwards_and_no_zero_has_a_minus() -> None:
    assert (percent(-0.0004), percent(0.01449), percent(math.nan)) == ("0.0%", "+1.4%", "-")
    assert percents(0.0, -0.0101, -0.0109) == ("0.0%", "-1.1%", "-1.0%")
    assert percents(0.0, 0.0, 0.0) == ("0.0%", "0.0%", "0.0%")
    assert relative(-0.01, -0.0301, 0.0199, 2.0) == "-0.5% (-1.6 to +1.0%)"
    assert relative(0.01, 0.005, 0.02, -1.0) == "+1.0% (+0.5 to +2.0%) better"
    assert relative(0.01, -np.inf, np.inf, 1.0) == "+1.0%"


def test_an_interval_that_excludes_0_does_so_in_print() -> None:
    assert relative(-0.008, -0.0149, -0.0004, 1.0) == "-0.80% (-1.49 to -0.04%) worse"
    assert relative(-0.008, -0.0149, -0.00001, 1.0) == "-0.800% (-1.490 to -0.001%) worse"
    assert relative(-0.008, -0.0149, -0.00001, 1.0, shown=False) == "-0.800% (-1.490 to -0.001%)"
    assert relative(-0.008, -0.0149, 0.0, 1.0) == "-0.8% (-1.5 to 0.0%)"  # it contains 0
    assert relative(0.008, 0.0004, 0.0149, 1.0, sign=-1) == "+0.80% (+0.04 to +1.49%) worse"
    assert interval(0.00002, 0.3) == "[0.00002, 0.30000]"
    assert interval(-0.3, -0.00002, signed) == "[-0.30000, -0.00002]"
    assert interval(-0.3, 0.00002, signed) == "[-0.3000, +0.0000]"
    rival = ComparedRival("a", 1, 1.0, -0.008, -0.0149, -0.0004, for_model="")
    assert rival.percents == ("-0.80%", "-1.49%", "-0.04%")


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_lists_for_trees_and_systems_of_the_papers_fit_a_screen(cli_here: Cli, files: Path) -> None:
    call = ["select", str(files / "train.txt"), "--for-model", "lightgbm", *TREES]
    lines = cli_here(*call, "--out", "run").done.out.splitlines()
    assert len(lines) <= screen.MAX_LINES  # as of every selection
    assert max(map(len, lines)) <= screen.MAX_WIDTH
    assert re.match(r"Keep \d+ of 30 features\.  .* \(.* documents\), each scored by models", lines[0])
    for start in (
        "all features  ",
        "chosen  ",
        "against all features",
        "Rule: ",
        "* 95%, for all sizes at once",
        "Next: ",
    ):
        assert any(line.startswith(start) for line in lines)
    Path("set").mkdir()
    for i in range(5):
        sr.write_letor(MADE.take_queries(np.arange(8 * i, 8 * i + 8)), f"set/S{i + 1}.txt")
    systems = [x for s in ("l1", "greedy_rank_rls", "random") for x in ("--system", s)]
    done = cli_here("reproduction", "letor", "set", *systems, "--out", "results").done
    lines = short(done.out)
    assert [line.split("  ")[0] for line in lines[3:6]].count("random weights") == 1
    assert sum("*" in line for line in lines[3:6]) >= 1
    assert lines[-1].startswith("15 pieces, ")


# -- labels, confidence, statuses, conventions, notes are true ---------------------------------------------------------

DATA = sr.datasets.make_ranking(40, 15, 8, n_informative=3, n_redundant=2, noise=0.4, random_state=6).data


def select(*penalties: Penalty, **options: object) -> SelectionResult:
    few = {"cv": 2, "half_samples": 4, "path_plan": PathPlan(n_alphas=30)}
    plan = SelectionPlan(penalties, parse_metric("ndcg@10"), **few | options)  # type: ignore[arg-type]
    return SelectionJob(plan, SelectionProblem(DATA, test=DATA), n_threads=1).execute()


def test_penalties_that_differ_in_signs_or_weights_alone_are_kept_apart() -> None:
    free, positive, heavy = L1(), L1(monotone=(1,) * 8), L1(weights=(1.0,) * 7 + (9.0,))
    short = {"half_samples": 0, "path_plan": PathPlan(n_alphas=15)}
    result = select(free, positive, heavy, MCP(), **short)
    assert list(result.paths) == ["l1", "l1 #2", "l1 #3", "mcp", "ridge"]
    for label, penalty in (("l1", free), ("l1 #2", positive), ("l1 #3", heavy)):
        (alone,) = (p for name, p in select(penalty, **short).paths.items() if name != "ridge")
        np.testing.assert_array_equal(result.paths[label].coefs, alone.coefs)
    assert (result.paths["l1"].coefs < 0).any()
    assert (result.paths["l1 #2"].coefs >= 0).all()
    candidates = result.choice.candidates
    assert len({(c.penalty, c.relax, c.index) for c in candidates}) == len(candidates)


@pytest.mark.usefixtures("pictures")
def test_every_interval_names_the_confidence_that_was_asked_for(capsys):
    result = select(L1(), confidence=0.9, margin=0.2)
    for verbose in (False, True):
        with answering(Answer(verbose=verbose)):
            show_selection(result, "run")
    shown = capsys.readouterr().out + render_page(result)
    assert "95%" not in shown
    places = ["* 90%, for all sizes at once", "90% interval, valid for all sizes at once", "simultaneous bounds, 90%"]
    places += ["90% interval (ndcg@10)", "with 90% intervals, paired", ">90% interval</th>"]
    for place in (*places, "90% interval of the difference, all sizes at once"):
        assert place in shown


class Stuck:
    """A solver that finds no step from the start."""

    n_iter = 23
    gives_up = Status.STALLED

    def begin(self, *problem: object) -> None:
        pass

    def step(self, iterate: Iterate, violation: float) -> Steps[None]:
        yield from ()


def test_a_stall_is_reported_as_one_and_does_not_blame_the_iterations() -> None:
    objective = PairwiseObjective(DATA.X, DATA.relevance, DATA.query_ptr)
    with pytest.warns(ConvergenceWarning, match="no step lowers the objective any further in floating point") as found:
        solution = solve(Stuck(), objective, L1(1e-3), stop=Stop(1e-9, 500, 1.0))
    assert solution.status is Status.STALLED
    assert "max_iter" not in str(found[0].message)


@pytest.mark.parametrize("convention", ["default", "letor4", "trec"])
def test_evaluate_names_the_convention_of_every_figure(convention: str) -> None:
    prefix = "" if convention == "default" else f"{convention}:"
    asked = ["ndcg@10", "map", "letor3:p@5"]
    names = [f"{prefix}ndcg@10", f"{prefix}map", "letor3:p@5"]
    assert list(sr.evaluate(DATA.X[:, 0], DATA, asked, convention=convention)) == names
    comparison = sr.compare_systems({"a": DATA.X[:, 0]}, DATA, asked, convention=convention)
    assert [r["metric"] for r in comparison.rows()] == names


def test_the_best_single_feature_is_found_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    noise = sp.random(DATA.n_docs, 60, 0.2, random_state=1, format="csr", data_rvs=rng.standard_normal)
    noise = sp.csr_matrix(noise @ sp.diags(np.where(np.arange(60) == 3, 1e150, 1.0)))  # sizes play no part
    X = sp.csr_matrix(sp.hstack([noise, sp.csr_matrix(DATA.relevance[:, None])]))
    wide = sr.RankingDataset(X, DATA.relevance, DATA.qid)
    monkeypatch.setattr(rivals, "MAX_SINGLE_FEATURES", 10)
    settings = PathPlan(n_alphas=15)
    plan = SelectionPlan((L1(),), parse_metric("ndcg@10"), cv=2, half_samples=0, path_plan=settings)
    result = SelectionJob(plan, SelectionProblem(wide, test=wide), n_threads=1).execute()
    assert result.test is not None
    assert any("f61" in system for system in result.test.values)
    assert any("among the 10 of 61" in text for text in result.notes)


def test_score_files_may_have_a_byte_order_mark_and_bad_ones_are_quoted_briefly(cli_here: Cli) -> None:
    Path("a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    Path("s.txt").write_bytes(b"\xef\xbb\xbf1\n0\n")
    assert cli_here("evaluate", "a.txt", "--system", "s.txt").code == 0
    Path("s.txt").write_bytes(b"1\n" + b"9" * 1_000_000 + b"x\n")
    refused = cli_here("evaluate", "a.txt", "--system", "s.txt")
    assert refused.code == 1
    assert "s.txt:2: a score must be a finite number" in refused.err
    assert len(refused.err) < 400


def test_a_rewritten_file_is_other_data_in_the_same_process_too(tmp_path: Path) -> None:
    folder = tmp_path / "letor"
    folder.mkdir()
    parts = [DATA.take_queries(np.arange(8 * k, 8 * k + 8)) for k in range(5)]
    for k, part in enumerate(parts, start=1):
        sr.write_letor(part, folder / f"S{k}.txt")
    plan = ExperimentPlan((DatasetPlan("x", str(folder)),), ("rank_rls",), folds=(1,), max_size=1)

    def means() -> list[float]:
        experiment = Experiment(plan, tmp_path / "out", n_workers=1)
        experiment.run()
        table = experiment.store.table(experiment.tasks, "per_query")
        return [float(np.mean(table["map"].to_numpy()))]

    before, old = means(), os.stat(folder / "S5.txt")
    text = (folder / "S5.txt").read_text().splitlines(keepends=True)
    flipped = [("0" if line[0] != "0" else "1") + line[1:] for line in text]  # same length
    (folder / "S5.txt").write_text("".join(flipped))
    os.utime(folder / "S5.txt", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert means() != before


@pytest.mark.parametrize("command", ["demo", "letor", "experiment", "select"])
def test_no_command_touches_a_folder_that_is_not_its_own(command: str, tmp_path: Path, cli: Cli) -> None:
    data, out = tmp_path / "data", tmp_path / "mine"
    for folder in (data, out, out / "run", out / "candidates"):
        folder.mkdir()
    for k in range(5):
        sr.write_letor(DATA.take_queries(np.arange(8 * k, 8 * k + 8)), data / f"S{k + 1}.txt")
    for name in ("train.txt", "summary.csv", "plan.json", "run/model.json", "candidates/a.parquet", ".x.part"):
        (out / name).write_text("mine")
    (tmp_path / "plan.toml").write_text(f"systems=['rank_rls']\n[[datasets]]\nname='x'\npath='{data}'\n")
    args = {
        "demo": ("demo",),
        "letor": ("reproduction", "letor", data, "--system", "rank_rls"),
        "experiment": ("reproduction", "run", tmp_path / "plan.toml"),
        "select": ("select", data / "S1.txt", "--restart"),
    }[command]
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    refused = cli(*args, "--out", out)
    assert refused.code == 1
    assert "files that no sparserank run has written" in refused.err
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_counts_of_queries_that_nobody_has_are_said_in_words() -> None:
    choice: Any = SimpleNamespace(unit=1.0, bounds=SimpleNamespace(queries_needed=lambda margin: 1234.5 / margin))
    assert needed(choice, 1.0) == "roughly 1,300"
    assert needed(choice, 0.1) == "roughly 13,000"
    assert needed(choice, 1e-9) == "more than a million"
    choice.bounds.queries_needed = lambda margin: math.inf
    assert needed(choice, 0.0) == "more than a million"
    assert many(999_999) == "999,999"
    gate = Gate(loss=0.0, error=0.01, limit=1e-6, unit=1.0, n_queries=50, freedom=49)
    assert "It would have 5 false alarms with more than a million queries." in gate.sentence("new", "now", "ndcg@10")
