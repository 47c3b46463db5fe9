"""Every Python line of the README runs, in the order in which it stands there."""

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

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small problem under the README's file names, by short paths; 46 features as MQ2008 has."""
    monkeypatch.setattr(sr, "select", partial(sr.select, n_alphas=8, folds=2, half_samples=2))
    data = sr.make_ranking(50, (8, 14), 46, n_informative=5, n_redundant=5, noise=0.4, seed=2).data
    monkeypatch.chdir(tmp_path)
    for name, (lo, hi) in {"train": (0, 20), "vali": (20, 32), "test": (32, 50)}.items():
        sr.write_letor(data.take_queries(np.arange(lo, hi)), f"{name}.txt")
    for k in range(3):
        sr.write_letor(data.take_queries(np.arange(10 * k, 10 * k + 10)), f"S{k + 1}.txt")
        Path(f"S{k + 1}.txt.gz").write_bytes(gzip.compress(Path(f"S{k + 1}.txt").read_bytes()))
    X, y, qid = np.array(data.X), data.relevance.astype(int), np.array(data.qid)
    frame = pd.DataFrame(X, columns=list(data.feature_names or ())).assign(grade=y, query=qid)
    frame.to_parquet("train.parquet", index=False)
    assert len(BLOCKS) == 6
    space: dict[str, object] = {"X": X, "y": y, "qid": qid, "frame": frame}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in BLOCKS:
            exec(compile(block, "README.md", "exec"), space)
    assert isinstance(space["result"], sr.SelectionResult)
    assert {p.name for p in (tmp_path / "run").iterdir()} >= {"model.json", "result.json", "report.html"}
