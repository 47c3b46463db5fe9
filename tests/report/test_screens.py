"""What the commands besides `select` print without --verbose: at most 25 lines of 100 columns, the essentials first."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.reporting.percents import lower, percent, relative, upper
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


def test_evaluate_compares_in_percent_with_intervals_rounded_outwards(
    cli_here: Cli, files: Path, tmp_path: Path
) -> None:
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
    for option, layout in (
        ("--out", "score"),
        ("--run", "qid Q0 docno rank score tag"),
        ("--qrels", "qid 0 docno rel"),
    ):
        place = Path("mine.txt")
        place.write_text("notes of mine\n1.0\n")
        refused = cli_here("predict", "m.json", train, option, "mine.txt")
        assert refused.code == 1
        assert f"mine.txt: already exists and does not contain lines '{layout}'" in refused.err
        assert place.read_text() == "notes of mine\n1.0\n"
        place.write_text("")  # an empty file is nobody's
        for _ in range(2):
            assert cli_here("predict", "m.json", train, option, "mine.txt").code == 0


def test_percents_are_rounded_outwards_and_no_zero_has_a_minus() -> None:
    assert (percent(-0.0004), percent(0.01449), percent(math.nan)) == ("0.0%", "+1.4%", "-")
    assert (lower(-0.0101), upper(-0.0109), lower(0.0), upper(0.0)) == ("-1.1%", "-1.0%", "0.0%", "0.0%")
    assert relative(-0.01, -0.0301, 0.0199, 2.0) == "-0.5% (-1.6 to +1.0%)"
    assert relative(0.01, 0.005, 0.02, -1.0) == "+1.0% (+0.5 to +2.0%) better"
    assert relative(0.01, -np.inf, np.inf, 1.0) == "+1.0%"


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_lists_for_trees_and_systems_of_the_papers_fit_a_screen(cli_here: Cli, files: Path) -> None:
    call = ["select", str(files / "train.txt"), "--for-model", "lightgbm", *TREES, "--transform", "none"]
    done = cli_here(*call, "--out", "run")
    assert done.code == 0, done.err
    lines = short(done.out)
    assert re.match(r"Keep \d+ of 30 features: .*, each scored by trees not trained on it\.", lines[0])
    for start in ("trees, all features", "trees against all features"):
        assert any(line.startswith(start) for line in lines)
    assert any("with 95% confidence at most" in line for line in lines)
    Path("set").mkdir()
    for i in range(5):
        sr.write_letor(MADE.take_queries(np.arange(8 * i, 8 * i + 8)), f"set/S{i + 1}.txt")
    systems = [x for s in ("l1", "greedy_rank_rls", "random") for x in ("--system", s)]
    done = cli_here("reproduction", "letor", "set", *systems, "--out", "results")
    assert done.code == 0, done.err
    lines = short(done.out)
    assert [line.split("  ")[0] for line in lines[3:6]].count("random weights") == 1
    assert sum("*" in line for line in lines[3:6]) >= 1
    assert lines[-1].startswith("15 pieces, ")
