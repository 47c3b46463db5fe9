"""The lowest versions that pyproject.toml names, in an environment of their own; what they need in turn is the newest
that pip finds. Help, `select`, `fuse`, `predict`, `export` and `import matplotlib` work there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from integrations.release import ROOT, direct, lowest, told

import sparserank as sr

QUICK = ("--penalty", "l1", "--n-alphas", "10", "--folds", "2", "--half-samples", "0")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment env, and data."""
    out = tmp_path_factory.mktemp("lowest")
    told(sys.executable, "-m", "venv", out / "env")
    install = [out / "env/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    told(*install, *map(lowest, direct()))
    told(*install, "--no-deps", ROOT)
    data = sr.datasets.make_ranking(40, (6, 10), 6, n_informative=2, n_redundant=1, noise=0.3, random_state=2).data
    sr.write_letor(data.take_queries(np.arange(30)), out / "train.txt")
    sr.write_letor(data.take_queries(np.arange(30, 40)), out / "test.txt")
    rng, qrels = np.random.default_rng(0), []
    runs: dict[str, list[str]] = {"a": [], "b": []}
    for q in range(12):
        for d in range(8):
            relevant = int(d < 2)
            qrels.append(f"q{q} 0 d{d} {relevant}")
            for name, lines in runs.items():
                lines.append(f"q{q} Q0 d{d} 0 {relevant + rng.normal():.6f} {name}")
    for name, lines in {**{f"{name}.run": lines for name, lines in runs.items()}, "qrels": qrels}.items():
        (out / name).write_text("\n".join(lines) + "\n")
    return out


def test_a_bound_that_is_none_is_told() -> None:
    with pytest.raises(AssertionError, match="a lower bound that is run"):
        lowest("numpy")


def test_the_versions_are_the_lowest(place: Path) -> None:
    frozen = told(place / "env/bin/python", "-m", "pip", "freeze").lower().replace("_", "-")
    for requirement in direct():
        name, _, version = lowest(requirement).partition("==")
        found = re.search(rf"(?m)^{re.escape(name.lower().replace('_', '-'))}==(\S+)$", frozen)
        assert found is not None, name
        assert (found[1] + ".0.0").startswith(version), requirement


def test_the_commands_work(place: Path) -> None:
    command = place / "env/bin/sparserank"
    for words in ((), ("select",), ("fuse",), ("export",), ("predict",)):
        assert "Usage" in told(command, *words, "--help")
    run = ("select", "train.txt", "--test", "test.txt", "--transform", "none", "--out", "run")
    assert "Keep " in told(command, *run, *QUICK, cwd=place)
    assert (place / "run/report.html").stat().st_size > 10_000
    assert len(told(command, "predict", "run", "test.txt", cwd=place).split()) > 10
    for to in ("sql", "python"):
        assert told(command, "export", "run", "--to", to, cwd=place)
    told(command, "export", "run", "--to", "onnx", "--out", "model.onnx", cwd=place)
    lists = ("select", "train.txt", "--for-model", "lightgbm", "--size", "2", "--folds", "2", "--out", "lists")
    assert "Keep " in told(command, *lists, cwd=place)
    assert "Keep " in told(
        command, "fuse", "a.run", "b.run", "--qrels", "qrels", *QUICK[4:], "--out", "fused", cwd=place
    )
    assert told(command, "predict", "fused", "a.run", "b.run", cwd=place)
    told(place / "env/bin/python", "-W", "error", "-c", "import matplotlib.pyplot")
