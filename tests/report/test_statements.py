"""What is printed is true: labels, confidence, statuses, conventions, notes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from reproduction.protocol.experiment import Experiment
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan

import sparserank as sr
from sparserank.cli.output import answer
from sparserank.cli.selection_tables import show_selection
from sparserank.crossval.settings import PathSettings
from sparserank.errors import ConvergenceWarning
from sparserank.jobs import test_comparison as rivals
from sparserank.jobs.selection_job import SelectionJob, SelectionPlan, SelectionResult
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.pages.selection_page import render_page
from sparserank.penalties import L1, MCP, Penalty
from sparserank.solvers import Stop, solve
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.solution import Iterate, Status
from tests.support.command_line import Cli

DATA = sr.datasets.make_ranking(40, 15, 8, n_informative=3, n_redundant=2, noise=0.4, random_state=6).data


def select(*penalties: Penalty, **options: object) -> SelectionResult:
    few = {"cv": 2, "half_samples": 4, "settings": PathSettings(n_alphas=30)}
    plan = SelectionPlan(penalties, parse_metric("ndcg@10"), **few | options)  # type: ignore[arg-type]
    return SelectionJob(plan, DATA, None, DATA, n_threads=1).execute()


def test_penalties_that_differ_in_signs_or_weights_alone_are_kept_apart() -> None:
    free, positive, heavy = L1(), L1(monotone=(1,) * 8), L1(weights=(1.0,) * 7 + (9.0,))
    short = {"half_samples": 0, "settings": PathSettings(n_alphas=15)}
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
def test_every_interval_names_the_confidence_that_was_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = select(L1(), confidence=0.9, margin=0.2)
    for verbose in (False, True):
        monkeypatch.setattr(answer, "verbose", verbose)
        show_selection(result, "run")
    shown = capsys.readouterr().out + render_page(result)
    assert "95%" not in shown
    for place in (
        "* 90%, for all sizes at once",
        "with 90% confidence such models lose",
        "simultaneous bounds, 90%",
        "90% interval (ndcg@10)",
        "with 90% intervals, paired",
        ">90% interval</th>",
        "90% interval of the difference, all sizes at once",
    ):
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
    settings = PathSettings(n_alphas=15)
    plan = SelectionPlan((L1(),), parse_metric("ndcg@10"), cv=2, half_samples=0, settings=settings)
    result = SelectionJob(plan, wide, None, wide, n_threads=1).execute()
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
