"""README.md is short, its commands and links are there, and its Python runs."""

from __future__ import annotations

import gzip
import re
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


def test_commands_of_the_readme_have_these_options() -> None:
    from typer.main import get_command

    from sparserank.cli.app import app

    known = {name: {o for p in c.params for o in p.opts} for name, c in get_command(app).commands.items()}
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
