"""Lucene itself ranks by an exported expression, over an index, as `predict` does:
a JDK and Debian's liblucene8-java."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import data_folder_or_skip
from tests.real_models import REAL, real_model

import sparserank as sr
from sparserank.data.synthetic import make_curved_ranking, make_ranking

JARS = Path("/usr/share/java")
NEEDED = ("lucene-core", "lucene-expressions", "lucene-queries", "antlr4-runtime", "asm", "asm-commons")
SOURCE = Path(__file__).parent / "lucene/RankByExpression.java"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the compiled program."""
    jars = [next(iter(sorted(JARS.glob(f"{name}-[0-9]*.jar"))), None) for name in NEEDED]
    if shutil.which("javac") is None or None in jars:
        if os.environ.get("SPARSERANK_REQUIRE_JAVA"):
            pytest.fail(f"needs javac and {', '.join(NEEDED)} in {JARS}")
        pytest.skip("a JDK and Debian's liblucene8-java, libantlr4-runtime-java and libasm-java are not installed")
    classes = tmp_path_factory.mktemp("classes")
    path = ":".join([str(classes), *map(str, jars)])
    subprocess.run(["javac", "-cp", path, "-d", str(classes), str(SOURCE)], check=True, capture_output=True)
    return ["java", "-cp", path, "RankByExpression"]


def ranked(program: list[str], folder: Path, model: sr.RankingModel, X: np.ndarray, **options: object) -> np.ndarray:
    """(n_docs, 2) rows and scores as Lucene ranks them."""
    (text,) = model.export("lucene", **options).values()
    (folder / "model.expression").write_text(text)
    lines = ["\t".join(model.feature_names), *("\t".join(map(repr, map(float, row))) for row in X)]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    call = [*program, str(folder / "model.expression"), str(folder / "docs.tsv")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=float)


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[sr.RankingModel, np.ndarray]]:
    rng = np.random.default_rng(0)
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, seed=1).data
    curved = make_curved_ranking(60, seed=1).data
    X = np.exp(2.0 * rng.standard_normal((1000, 12))) * rng.choice([-1.0, 1.0], size=(1000, 12))
    wild = 4.0 * rng.standard_normal((1000, curved.n_features))
    makers = {
        "linear": (sr.SparseRanker(penalty="mcp", n_features_to_select=5), plain, X),
        "log": (sr.SparseRanker(n_features_to_select=6, feature_transform="log"), plain, X),
        "asinh": (sr.SparseRanker(n_features_to_select=6, feature_transform="asinh"), plain, X),
        "curves": (sr.SparseRanker(penalty="mcp", n_features_to_select=6, shapes="curves"), curved, wild),
    }
    return {name: (ranker.fit_dataset(data).to_model(), values) for name, (ranker, data, values) in makers.items()}


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "curves", *REAL])
def test_lucene_ranks_as_predict_does(program, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    offset = float(np.ceil(-expected.min())) + 1.0
    found = ranked(program, tmp_path, model, X, offset=offset)
    rows = found[:, 0].astype(int)
    assert sorted(rows) == list(range(1000))
    np.testing.assert_allclose(found[:, 1], expected[rows] + offset, rtol=1e-6)
    falls = np.diff(expected[rows])
    assert falls.max() <= 1e-6 * (np.abs(expected).max() + offset)  # single precision, nothing else


def test_without_an_offset_lucene_clamps_and_the_order_is_lost(program, models, tmp_path: Path) -> None:
    model, X = models["linear"]
    found = ranked(program, tmp_path, model, X)
    expected = model.predict(X)
    assert (found[:, 1] == 0.0).sum() == (expected <= 0).sum() > 10
    mapped = ranked(program, tmp_path, model, X, features={n: f"({n} + 0)" for n in model.feature_names}, offset=1e4)
    assert (mapped[:, 1] > 0).all()
