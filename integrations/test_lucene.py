"""Lucene itself ranks by an exported expression, over an index, as `predict` does, and computes the derived
features of Elasticsearch and OpenSearch: a JDK and Debian's liblucene8-java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import data_folder_or_skip
from tests.export.test_export import REAL, real_model

import sparserank as sr
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

JARS = Path("/usr/share/java")
NEEDED = ("lucene-core", "lucene-expressions", "lucene-queries", "antlr4-runtime", "asm", "asm-commons")
SOURCES = Path(__file__).parent / "lucene"


def compiled(name: str, classes: Path) -> list[str]:
    """The command that runs a program."""
    jars = [next(iter(sorted(JARS.glob(f"{name}-[0-9]*.jar"))), None) for name in NEEDED]
    if shutil.which("javac") is None or None in jars:
        if os.environ.get("SPARSERANK_REQUIRE_JAVA"):
            pytest.fail(f"needs javac and {', '.join(NEEDED)} in {JARS}")
        pytest.skip("a JDK and Debian's liblucene8-java, libantlr4-runtime-java and libasm-java are not installed")
    path = ":".join([str(classes), *map(str, jars)])
    subprocess.run(
        ["javac", "-cp", path, "-d", str(classes), str(SOURCES / f"{name}.java")], check=True, capture_output=True
    )
    return ["java", "-cp", path, name]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled("RankByExpression", tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def derived_features(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled("DerivedFeatures", tmp_path_factory.mktemp("classes"))


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
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(60, random_state=1).data
    X = np.exp(2.0 * rng.standard_normal((1000, 12))) * rng.choice([-1.0, 1.0], size=(1000, 12))
    wild = 4.0 * rng.standard_normal((1000, curved.n_features))
    makers = {
        "linear": (sr.SparseRanker(penalty="mcp", k=5), plain, X),
        "log": (sr.SparseRanker(k=6, feature_transform="log"), plain, X),
        "asinh": (sr.SparseRanker(k=6, feature_transform="asinh"), plain, X),
        "steps": (sr.SparseRanker(penalty="steps", k=6), curved, wild),
    }
    return {name: (ranker.fit_dataset(data).to_model(), values) for name, (ranker, data, values) in makers.items()}


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
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


def as_derived(
    program: list[str], folder: Path, model: sr.RankingModel, X: np.ndarray, **options: object
) -> np.ndarray:
    """(n_docs,) scores by the features and weights of an export to Elasticsearch."""
    given = {name: {"template": {"of": name}} for name in model.feature_names}
    files = model.export("elasticsearch", features=given, **options)
    features = json.loads(files["featureset.json"])["featureset"]["features"]
    weights = json.loads(json.loads(files["model.json"])["model"]["model"]["definition"])
    derived = {f["name"]: f["template"] for f in features if f["template_language"] == "derived_expression"}
    assert all("\n" not in text and "\t" not in text for text in derived.values())
    number = {f["name"]: f"n{i}" for i, f in enumerate(features) if not f["name"].isprintable()}  # only in the table
    called = [number.get(f["name"], f["name"]) for f in features]
    table = [
        (n, derived.get(f["name"], ""), repr(weights.get(f["name"], 0.0)))
        for n, f in zip(called, features, strict=True)
    ]
    (folder / "set.tsv").write_text("\n".join("\t".join(line) for line in table) + "\n")
    ours = [(n, f["template"]["of"]) for n, f in zip(called, features, strict=True) if f["name"] not in derived]
    columns = [model.feature_names.index(name) for _, name in ours]
    lines = ["\t".join(n for n, _ in ours), *("\t".join(map(repr, map(float, row))) for row in X[:, columns])]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    call = [*program, str(folder / "set.tsv"), str(folder / "docs.tsv")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), dtype=float)


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
def test_lucene_computes_derived_features_as_predict_does(derived_features, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    found = as_derived(derived_features, tmp_path, model, X, offset=2.0)
    size = np.abs(expected).max() + 2.0
    np.testing.assert_allclose(found, expected + 2.0, atol=3e-6 * size)
    assert np.abs(found - expected[::-1]).max() > 1e-2 * size  # of other documents


def test_names_of_derived_features_are_variables_of_lucene(derived_features, tmp_path: Path) -> None:
    names = ("a b", "a'b", 'a"b', "日本", "ln", "abs", "max", "a.b", "_", "doc", "1st", "x\x1by", "", "true", "null")
    d = len(names)
    transform = Transform(("log", "asinh", "log") * (d // 3), np.full(d, 2.5))
    scaling = FeatureScaling("none", np.zeros(d), np.ones(d))
    model = sr.RankingModel.from_arrays(np.linspace(-1.0, 1.5, d), names, scaling, transform=transform)
    X = np.random.default_rng(0).standard_normal((50, d))
    expected = model.predict(X)
    found = as_derived(derived_features, tmp_path, model, X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert as_derived(derived_features, tmp_path, model, X, offset=2.0) == pytest.approx(expected + 2.0, abs=1e-5)
