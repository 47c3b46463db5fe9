"""RankLib itself, in the fork that is in Maven Central, loads exported weights and scores as `predict` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations.matrix import ran
from scipy.sparse import csr_array
from servers import RANKLIB, ranklib
from tests.export.test_export import models  # noqa: F401

import sparserank as sr


@pytest.mark.parametrize("offset", [0.0, 2.5])
@pytest.mark.parametrize("kind", ["linear", "standard"])
def test_ranklib_scores_as_predict_does(models: Any, tmp_path: Path, kind: str, offset: float) -> None:  # noqa: F811
    """With an offset as a linear regression, which has a constant; values of 0 are not in the file (-sparse)."""
    model, X = models[kind]
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, 0.0, X)
    (tmp_path / "model.txt").write_text(str(model.export("ranklib", offset=offset)["model.txt"]))
    data = sr.RankingDataset(csr_array(X), np.zeros(len(X)), np.repeat(np.arange(len(X) // 50), 50))
    sr.write_letor(data, tmp_path / "documents.txt")
    assert (tmp_path / "documents.txt").read_text().count(":") == len(X) + np.count_nonzero(X)  # and qid
    ranklib(tmp_path / "model.txt", tmp_path / "documents.txt", tmp_path / "scores.txt")
    found = np.array([line.split()[-1] for line in (tmp_path / "scores.txt").read_text().splitlines()], dtype=float)
    expected = model.predict(X) + offset
    shift = 0.0 if offset else float(np.median(found - expected))  # a sum of weights has no constant
    np.testing.assert_allclose(found - shift, expected, atol=1e-6 * np.abs(expected).max())  # single precision
    for what in ("weights", "missing", "offset") if offset else ("weights",):
        ran("ranklib", f"RankyMcRankFace {RANKLIB}", what)
