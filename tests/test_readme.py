"""README.md: short, with links and commands that exist, Python that runs, figures of the recorded tables."""

import gzip
import os
import re
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.errors import ConvergenceWarning

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
README_TEXT = " ".join(README.split())  # without the ends of lines
CODE = re.compile(r"`[^`]+`|```\n.*?```", re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small problem under the README's file names, by short paths; 46 features as MQ2008 has."""
    monkeypatch.setattr(sr, "select", partial(sr.select, n_alphas=8, cv=2, half_samples=2))
    data = sr.datasets.make_ranking(50, (8, 14), 46, n_informative=5, n_redundant=5, noise=0.4, random_state=2).data
    monkeypatch.chdir(tmp_path)
    for name, (lo, hi) in {"train": (0, 20), "vali": (20, 32), "test": (32, 50)}.items():
        sr.write_letor(data.take_queries(np.arange(lo, hi)), f"{name}.txt")
    for k in range(3):
        sr.write_letor(data.take_queries(np.arange(10 * k, 10 * k + 10)), f"S{k + 1}.txt")
        Path(f"S{k + 1}.txt.gz").write_bytes(gzip.compress(Path(f"S{k + 1}.txt").read_bytes()))
    X, y, qid = np.array(data.X), data.relevance.astype(int), np.array(data.qid)
    frame = pd.DataFrame(X, columns=list(data.feature_names or ())).assign(grade=y, query=qid)
    frame.to_parquet("train.parquet", index=False)
    assert len(BLOCKS) == 1
    space: dict[str, object] = {"X": X, "y": y, "qid": qid, "frame": frame}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in BLOCKS:
            exec(compile(block, "README.md", "exec"), space)
    assert isinstance(space["result"], sr.SelectionResult)
    assert (tmp_path / "model.json").exists()


def test_the_readme_is_short_and_leads_to_what_is_there() -> None:
    assert len(README.encode()) <= 8000
    assert len(README.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target


def test_no_link_is_broken_in_a_checkout() -> None:
    """Pages of the site that `make docs` writes are named, not linked."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    files = set(listed.stdout.splitlines())
    there = files | {str(folder) for file in files for folder in Path(file).parents}
    broken = []
    for page in (file for file in files if file.endswith(".md")):
        prose = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target and os.path.normpath(Path(page).parent / target) not in there:
                broken.append(f"{page}: {target}")
    assert broken == []


def test_the_readme_says_what_is_installed_and_where_the_tests_run() -> None:
    assert "pip install '.[tables,report,trees]'   # from a checkout" in README
    systems = re.findall(r"system: \[(.+)\]", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert set(systems) == {"ubuntu-latest, macos-latest, windows-latest"}
    assert "Its tests run on Linux, macOS and Windows." in README
    assert {"docs/tutorials/parquet-log.md", "examples/from_lightgbm.ipynb"} <= set(
        re.findall(r"\]\(([^)]+)\)", README)
    )


def test_commands_of_the_readme_have_these_options() -> None:
    from sparserank.cli.app import app

    known = {name: {o for p in c.params for o in p.opts} for name, c in app.commands.items()}
    found = re.findall(
        r"sparserank ([a-z]+)((?: [^`|\n]+)?)", "\n".join(re.findall(r"`[^`]+`|```\n.*?```", README, flags=re.DOTALL))
    )
    assert len(found) >= 8
    for name, rest in (f for f in found if f[0] != "as"):
        assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)) <= known[name], (name, rest)


def test_figures_of_the_papers_are_those_of_the_published_tables() -> None:
    tables = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
    picture = (ROOT / "docs/reproduction-figures/published-and-ours.svg").read_text(encoding="utf-8")
    drawn = sum(int(n) for n in re.findall(r", (\d+) values<", picture))
    assert drawn > 200
    assert f"all {drawn} printed values" in README
    ((equal, entries),) = re.findall(r"Pahikkala 2010, Table 2: .*\((\d+) of (\d+) equal as printed", tables)
    assert equal == entries
    assert f"All {entries} entries of Pahikkala's Table 2\nare reproduced exactly" in README


def test_figures_of_nested_evaluation_are_those_that_were_recorded() -> None:
    recorded = (ROOT / "docs/frontier.md").read_text(encoding="utf-8")

    def of(dataset: str, system: str) -> list[str]:
        table = recorded.partition(f"### {dataset}: ")[2].partition("###")[0]
        assert ", 5 x 5 outer folds" in table
        return [cell.strip() for cell in re.findall(rf"(?m)^\| {re.escape(system)} \|(.+)$", table)[0].split("|")]

    for dataset in ("MQ2008", "OHSUMED"):
        size, _, mean = of(dataset, "default")[:3]
        assert f"{mean} with {size} features" in README_TEXT
        assert f"(LightGBM {of(dataset, 'LightGBM')[2]})" in README_TEXT
    size, to_trees = (of("LambdaRank", "default")[i] for i in (0, 6))
    assert f"it is {to_trees[:5]} of the NDCG@10 of LightGBM, with {float(size):.0f} features" in README_TEXT


def test_figures_of_coverage_are_those_that_were_recorded() -> None:
    recorded = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    row = r"(?m)^\| coverage +\| .+, {}, (\d+) worlds: losses above their bounds +\| ([\d.]+)"
    resampled = re.findall(row.format("resampled"), recorded)
    rates = [100 * float(rate) for _, rate in resampled]
    assert (
        f"In {sum(int(n) for n, _ in resampled):,} simulations with known true losses, on three data sets"
        in README_TEXT
    )
    assert f"its 95% bound in {min(rates):.1f} to {max(rates):.1f}% of the simulations" in README_TEXT
    ((n, rate),) = re.findall(row.format("refitted on 100 queries"), recorded)
    assert f"trained anew on 100 queries, this happened in {float(rate) * int(n):.0f} of {n} repetitions" in README_TEXT


def test_a_path_was_recorded_as_faster_than_trees() -> None:
    recorded = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").partition("\n### path\n")[2]
    ((ratio, setting),) = re.findall(r"\n\| lambdarank, one fit \|[^|]+\| ([\d.]+)x .*\| ([^|]+?) +\|\n", recorded)
    assert float(ratio) > 1
    assert setting.startswith("100 trees")
    assert "A path of 100 models on 720,000 documents takes less time than 100 trees of LightGBM" in README_TEXT


@pytest.mark.slow
def test_the_screen_is_that_of_the_command(data_folder: Path, tmp_path: Path) -> None:
    """MQ2008, fold 1, with everything that the command does by default."""
    for i in range(1, 6):
        (tmp_path / f"S{i}.txt").write_bytes(gzip.decompress((data_folder / f"mq2008/S{i}.txt.gz").read_bytes()))
    ((command, screen),) = re.findall(
        r"```\nsparserank (select S1.*)\n```.*?```\n(Keep .*?)```", README, flags=re.DOTALL
    )
    done = subprocess.run(
        [sys.executable, "-m", "sparserank", *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    tutorial = (ROOT / "docs/tutorials/read-the-screen.md").read_text(encoding="utf-8")
    whole = re.findall(r"```text\n(Keep .*?)```", tutorial, flags=re.DOTALL)[0]
    assert_alike(screen, done.stdout[: len(screen)])
    assert_alike(whole, done.stdout)


def assert_alike(shown: str, printed: str) -> None:
    """The same words, sizes and counts; means to 0.001, percentages to 0.5, numbers of half-samples and of models tried
    to 1: trees and draws differ a little from one processor to another."""
    number = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?")
    assert number.sub("0", shown).split() == number.sub("0", printed).split()
    for expected, found in zip(number.finditer(shown), number.finditer(printed), strict=True):
        decimals = len(expected[0].partition(".")[2])
        may_differ = shown[expected.end() :].startswith((" of 20\n", " models "))
        tolerance = {0: float(may_differ), 1: 0.5}.get(decimals, 1e-3)
        assert abs(float(found[0]) - float(expected[0])) <= tolerance + 1e-9, (expected[0], found[0])
