"""Every script of examples/ runs as a user runs it, and what it prints is true."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import jars, lucene_artifacts

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {path.stem: path for path in sorted(EXAMPLES.glob("*.py"))}
NOTEBOOKS = {path.stem: path for path in sorted(EXAMPLES.glob("*.ipynb"))}
SECONDS = 240.0  # a minute, on a machine that compiles the kernels first and does other work beside
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]\w)")
CHECKS: dict[str, Callable[[list[str]], None]] = {}


def of(script: Callable[[list[str]], None]) -> Callable[[list[str]], None]:
    """What the script of this name must print."""
    CHECKS[script.__name__] = script
    return script


def numbers(line: str) -> list[float]:
    """The numbers of a line, those in names such as ndcg@10 and group_3 left out."""
    return [float(found) for found in NUMBER.findall(re.sub(r"\w+@\d+|\w+_\d+", "", line))]


@of
def grid_search(lines: list[str]) -> None:
    as_they_are, logarithms, chosen, kept, other = lines
    assert numbers(logarithms)[0] > numbers(as_they_are)[0] + 0.1
    assert chosen.startswith("chosen: logarithms")
    n_kept, n_features, found, true = numbers(kept)
    assert (found, true, n_features) == (5, 5, 40)
    assert n_kept < 15
    (held_out,) = numbers(other.removeprefix("NDCG@10 of 60 other queries"))
    assert held_out == pytest.approx(numbers(logarithms)[0], abs=0.03)


@of
def pyterrier_pipeline(lines: list[str]) -> None:
    kept, single, sparse = lines
    names = kept.split(": ")[1].split(", ")
    assert 4 <= len(names) == numbers(kept)[0] < 10
    assert sum(name.startswith("signal_") for name in names) == 4
    for one, ours in zip(numbers(single), numbers(sparse), strict=True):
        assert ours > one + 0.1


@of
def lightgbm_features(lines: list[str]) -> None:
    sentence, found, chosen, everything = lines
    kept = numbers(sentence)[0]
    assert kept <= 10
    assert numbers(found)[0] == found.count(", ") + 1 >= 0.8 * kept
    assert chosen.startswith(f"trees on the {kept:g} chosen")
    assert numbers(chosen)[-1] > 0.8
    assert numbers(chosen)[-1] == pytest.approx(numbers(everything)[-1], abs=0.04)


@of
def onnx_runtime(lines: list[str]) -> None:
    file, difference, order, quality = lines
    size, kept, n_features = numbers(file)
    assert 300 < size < 10_000
    assert (kept, n_features) == (5, 30)
    n_scores, largest = numbers(difference)
    assert n_scores == 1000
    assert largest < 1e-12
    assert numbers(order) == [50, 50]
    assert numbers(quality)[-1] > 0.85


@of
def lucene_index(lines: list[str]) -> None:
    *expression, first, difference = lines
    assert len(re.findall(r"\* \w+_\d+", "\n".join(expression))) == 4
    theirs, ours = re.findall(r"\[([\d, ]+)\]", first)
    assert len(theirs.split(", ")) == 5
    assert theirs == ours
    assert numbers(difference)[-1] <= 1e-6  # single precision


@of
def optuna_pruning(lines: list[str]) -> None:
    counts, best, tuned, untuned = lines
    trials, pruned, fits, all_fits = numbers(counts)
    assert trials == 25
    assert all_fits == 125
    assert pruned >= 1
    assert all_fits - 4 * pruned <= fits < all_fits
    assert re.search("feature_transform (log|asinh)", best)
    assert numbers(tuned)[-1] > numbers(untuned)[-1] + 0.05


@of
def clicks_with_propensities(lines: list[str]) -> None:
    counts, *systems = lines
    clicks, relevant, _, low, high = numbers(counts.replace("%", ""))
    assert 0 < clicks < relevant / 2
    assert (low, high) == (1, 3)
    poor, naive, weighted, truth = (numbers(line)[-1] for line in systems)
    assert poor < naive < weighted - 0.04
    assert weighted == pytest.approx(truth, abs=0.01)


@of
def features_with_costs(lines: list[str]) -> None:
    budgets, qualities = [], []
    for line in lines:
        budget, cost, quality = numbers(line)
        assert 0 < cost == sum(map(int, re.findall(r"group_(\d+)", line))) <= budget
        budgets.append(budget)
        qualities.append(quality)
    assert budgets == [5, 15, 30]
    assert qualities[0] + 0.03 < qualities[1] < qualities[2] - 0.03


@of
def compare_runs(lines: list[str]) -> None:
    assert [line.split()[:2] for line in lines] == [
        ["trec:ndcg@10", "now"],
        ["trec:ndcg@10", "new"],
        ["trec:map", "now"],
        ["trec:map", "new"],
    ]
    for now, new in (lines[:2], lines[2:]):
        mean, difference, low, high, p = numbers(new)
        assert mean - numbers(now)[0] == pytest.approx(difference, abs=2e-4)
        assert 0.1 < low < difference < high
        assert p < 1e-6


def test_every_script_is_checked_and_listed() -> None:
    assert set(CHECKS) == set(SCRIPTS)
    listed = re.findall(r"\]\((\w+)\.(?:py|ipynb)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted([*SCRIPTS, *NOTEBOOKS])


SHOWN = {
    "from_lightgbm": "[list(found.features), len(result.model.support), compared.rows()]",
    "main_job": "[result.headline, list(result.model.weights), list(result.sizes()['n_features'])]",
}
RUN = """
import json, sys
from integrations.notebooks import run
space = {}
shown = run(json.load(open(sys.argv[1]))["cells"], space)
print(json.dumps([shown, eval(sys.argv[2], space)], default=float))
"""


@pytest.fixture(scope="module", params=NOTEBOOKS)
def notebook(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str], Any]:
    """(name, what each cell shows, what SHOWN says of the end) of a notebook in a process of its own."""
    name = request.param
    ran = subprocess.run(
        [sys.executable, "-c", RUN, NOTEBOOKS[name], SHOWN[name]],
        cwd=tmp_path_factory.mktemp(name),
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    return name, *json.loads(ran.stdout.splitlines()[-1])


def test_a_notebook_stores_what_its_cells_show(notebook: tuple[str, list[str], Any]) -> None:
    """The first line of each, in which figures may differ by the machine."""
    name, shown, _ = notebook
    cells = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["cells"]
    stored = ["".join(o["text"]) for c in cells if c["cell_type"] == "code" for o in c["outputs"] or [{"text": ""}]]
    assert any(stored)

    def heads(texts: list[str]) -> list[str]:
        return [re.sub(r"[-+]?\d+(\.\d+)?", "#", text.partition("\n")[0]) for text in texts]

    assert heads(stored) == heads(shown)


def test_the_end_of_a_notebook_is_true(notebook: tuple[str, list[str], Any]) -> None:
    name, _, end = notebook
    if name == "main_job":
        headline, kept, sizes = end
        assert "5 of 30 features" in headline
        assert [feature.partition("_")[0] for feature in kept] == ["signal"] * 5
        assert sizes[:3] == [1, 2, 3]
        return
    features, k, rows = end
    assert len(features) <= 10
    assert sum(not feature.startswith("noise") for feature in features) >= 8
    assert rows[1]["system"] == f"sparserank, {k} features"
    assert rows[1]["difference_low"] > 0  # the truth is no straight line


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_the_script_prints_is_true(name: str, tmp_path: Path) -> None:
    said = ast.get_docstring(ast.parse(SCRIPTS[name].read_text(encoding="utf-8")))
    assert said is not None
    assert said.split("\n")[0].endswith(".")
    needed = {"LUCENE_CLASSPATH": jars(lucene_artifacts("9.12.3"))} if name == "lucene_index" else {}
    call = [sys.executable, SCRIPTS[name]]
    environment = {**os.environ, **needed}
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    CHECKS[name](done.stdout.splitlines())
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
