"""Exports score as `predict` does: in SQLite, DuckDB, ONNX Runtime and plain Python,
and by the contracts of engines that no registry has."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import onnxruntime
import pytest

import sparserank as sr
from sparserank.curves import Curve
from sparserank.data.synthetic import make_curved_ranking, make_ranking
from sparserank.errors import DataError
from sparserank.export import ENGINES
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.conftest import data_folder_or_skip
from tests.oracles import exported as oracle
from tests.robustness.test_names_are_data import HOSTILE as EVERYWHERE
from tests.support.command_line import Cli
from tests.support.databases import sqlite
from tests.support.real_models import REAL, real_model

EXPRESSIONS = ("vespa", "lucene", "sql", "python", "onnx")


def renamed(model: RankingModel) -> RankingModel:
    names = tuple(f"f{j}" for j in range(model.n_features))
    return RankingModel(
        model.coef,
        names,
        model.scaling,
        model.parameters,
        model.metadata,
        model.transform,
        model.curves,
        model.fill_values,
    )


class Models(dict[str, tuple[RankingModel, np.ndarray]]):
    """{kind: (model, X of 1,000 documents)}; those of real data are made when they are asked for."""

    def __missing__(self, kind: str) -> tuple[RankingModel, np.ndarray]:
        model, X = real_model(kind, data_folder_or_skip())
        self[kind] = renamed(model), X
        return self[kind]


@pytest.fixture(scope="module")
def models() -> Models:
    """Documents wilder than what the models were trained on."""
    rng = np.random.default_rng(0)
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(60, random_state=1).data
    X = np.exp(3.0 * rng.standard_normal((1000, 12))) * rng.choice([-1.0, 1.0], size=(1000, 12))
    X[:20] = 0.0
    wild = 4.0 * rng.standard_normal((1000, curved.n_features)) * np.exp(rng.standard_normal((1000, 1)))
    every = {
        "linear": sr.SparseRanker(loss="squared_hinge", penalty="mcp", k=5),
        "standard": sr.SparseRanker(scaling="standard"),
    }
    out = {name: (renamed(r.fit_dataset(plain).to_model()), X) for name, r in every.items()}
    for kind in ("log", "asinh"):
        ranker = sr.SparseRanker(k=6, feature_transform=kind)
        out[kind] = renamed(ranker.fit_dataset(plain).to_model()), X
    bent = sr.SparseRanker(penalty="mcp", k=6, feature_transform="curves")
    out["curves"] = renamed(bent.fit_dataset(curved).to_model()), wild
    both = sr.SparseRanker(penalty="mcp", k=6, feature_transform="curves(log)")
    out["curves of logs"] = renamed(both.fit_dataset(curved).to_model()), wild
    assert any(model.transform_of(j).startswith("curve") for model, _ in out.values() for j in model.support)
    return Models(out)


def rows_of(model: RankingModel, X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(model.feature_names, map(float, row), strict=True)) for row in X]


def fed(model: RankingModel, X: np.ndarray) -> dict[str, np.ndarray]:
    """What ONNX Runtime is fed: a column for each selected feature."""
    return {model.feature_names[j]: X[:, [j]] for j in model.support}


def in_vespa(model: RankingModel) -> dict[str, str]:
    return {name: f"attribute({name})" for name in model.feature_names}


def assert_same(found: object, expected: np.ndarray) -> None:
    """To 1e-12 of the largest score: a term is wrong by a few roundings,
    and a logarithm by one of 1 in units of a scale of 1e-4 at least."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


KINDS = ["linear", "standard", "log", "asinh", "curves", "curves of logs", *REAL]


@pytest.mark.parametrize("kind", KINDS)
def test_python_code_needs_nothing_and_scores_alike(models, kind, tmp_path: Path):
    model, X = models[kind]
    (text,) = model.export("python", offset=2.5).values()
    (tmp_path / "model.py").write_text(text)
    (tmp_path / "rows.json").write_text(json.dumps(rows_of(model, X)))
    code = "import json, model; print(json.dumps([model.score(r) for r in json.load(open('rows.json'))]))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), model.predict(X) + 2.5, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sql_scores_alike_in_two_databases(models, kind):
    model, X = models[kind]
    (text,) = model.export("sql").values()
    lite = sqlite()
    names = ", ".join(f'"{n}"' for n in model.feature_names)
    lite.execute(f"create table docs (id integer, {names})")
    marks = ", ".join("?" * (1 + model.n_features))
    lite.executemany(f"insert into docs values ({marks})", [(i, *map(float, row)) for i, row in enumerate(X)])
    found = [score for (score,) in lite.execute(f"select {text} from docs order by id")]
    expected = model.predict(X)
    assert_same(found, expected)
    duck = duckdb.connect()
    columns = {"id": np.arange(len(X)), **{n: X[:, j].copy() for j, n in enumerate(model.feature_names)}}
    import pandas as pd

    docs = pd.DataFrame(columns)
    duck.register("docs", docs)
    found = [score for (score,) in duck.execute(f"select {text} from docs order by id").fetchall()]
    assert_same(found, expected)


def test_logarithms_are_short_where_they_can_be(models):
    model, X = models["log"]
    (short,) = model.export("sql").values()
    assert "CASE WHEN ABS" not in short
    tiny = RankingModel(
        model.coef,
        model.feature_names,
        FeatureScaling("within-query-std", model.scaling.center, model.scaling.scale * 1e-9),
        transform=model.transform,
    )
    (series,) = tiny.export("sql").values()
    assert len(short) < 0.6 * len(series)
    small = X * 1e-10
    lite = sqlite()
    lite.execute("create table docs (" + ", ".join(f'"{n}"' for n in model.feature_names) + ")")
    lite.executemany(f"insert into docs values ({', '.join('?' * 12)})", small.tolist())
    expected = tiny.predict(small)
    assert_same([s for (s,) in lite.execute(f"select {series} from docs")], expected)
    weights = tiny.coef / tiny.scaling.scale  # what the short one would give
    rough = np.sign(small) * np.log(1.0 + np.abs(small)) @ weights
    with pytest.raises(AssertionError):
        assert_same(rough, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_scores_alike(models, kind):
    model, X = models[kind]
    for wide, feed in ((False, fed(model, X)), (True, {"X": X})):
        (content,) = model.export("onnx", wide=wide).values()
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        assert [(i.name, i.type) for i in session.get_inputs()] == [(name, "tensor(double)") for name in feed]
        (found,) = session.run(["score"], feed)
        np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-9, atol=1e-9)
        features = json.loads(session.get_modelmeta().custom_metadata_map["features"])
        assert features == [[j, model.feature_names[j]] for j in model.support.tolist()]


def test_onnx_inputs_have_the_names_of_features():
    names = ("c0", "n1", "/c0", "//n2", "X", "n_docs", "unused")
    model = made([1.0, -2.0, 3.0, 0.5, -0.25, 4.0, 0.0], names=names)
    X = np.random.default_rng(0).standard_normal((7, 7))
    (content,) = model.export("onnx").values()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, fed(model, X))
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-12)
    (swapped,) = session.run(None, fed(model, X) | {"c0": X[:, [1]], "n1": X[:, [0]]})
    assert np.abs(swapped - found).max() > 1e-3
    for name in ("score", "", "a\0b"):
        odd = made([1.0, 2.0], names=("a", name))
        with pytest.raises(DataError, match=r"an input of the graph cannot have the name .*wide=True"):
            odd.export("onnx")
        (content,) = odd.export("onnx", wide=True).values()
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        assert session.run(None, {"X": np.array([[1.0, 2.0]])})[0].tolist() == [[5.0]]
    for to in ENGINES:
        if to != "onnx":
            with pytest.raises(DataError, match="wide applies only to onnx"):
                made([1.0]).export(to, wide=True)


@pytest.mark.parametrize("to", ["lucene", "vespa"])
@pytest.mark.parametrize("kind", KINDS)
def test_expressions_score_alike(models, kind, to):
    model, X = models[kind]
    (text,) = model.export(to, offset=1.0, features=in_vespa(model) if to == "vespa" else None).values()
    if to == "vespa":
        text = text[text.index("expression {") + len("expression {") : text.rindex("}\n    }\n}")]
    assert_same(oracle.evaluated(text, rows_of(model, X)), model.predict(X) + 1.0)


def test_vespa_is_told_what_every_feature_is(models):
    """A default of attribute(bm25_title) would be a wrong feature that deploys."""
    model, _ = models["linear"]
    names = [model.feature_names[j] for j in model.support]
    for given in (None, {}, {n: f"bm25({n})" for n in names[:-1]}):
        with pytest.raises(DataError, match=r"Vespa needs a definition of 'f\d+'\. Define every selected feature"):
            model.export("vespa", features=given)


@pytest.mark.parametrize("normalizers", [False, True])
@pytest.mark.parametrize("to", ["solr", "elasticsearch", "opensearch"])
@pytest.mark.parametrize("kind", ["linear", "standard", "MQ2008, linear"])
def test_engines_with_weights_rank_alike(models, kind, to, normalizers):
    model, X = models[kind]
    X = np.clip(X, -50.0, 50.0)
    files = model.export(to, normalizers=normalizers, name="shop")
    assert list(files) == ["model.json"]
    scorer = oracle.solr_scores if to == "solr" else oracle.elasticsearch_scores
    found = np.array(scorer(files["model.json"], rows_of(model, X)))
    expected = model.predict(X)
    shift = np.median(found - expected)
    np.testing.assert_allclose(found - shift, expected, atol=2e-5 * np.abs(expected).max())
    apart = np.abs(expected[:, None] - expected[None]) > 1e-4 * np.abs(expected).max()
    assert (np.sign(found[:, None] - found[None]) == np.sign(expected[:, None] - expected[None]))[apart].all()
    unfolded = json.loads(files["model.json"])
    if to == "solr":
        assert unfolded["store"] == unfolded["name"] == "shop"
        raw = unfolded["params"]["weights"]
        wrong = np.array(
            [sum(w * r[n] * (2 if n == min(raw) else 1) for n, w in raw.items()) for r in rows_of(model, X)]
        )
        assert np.abs(wrong - np.median(wrong - expected) - expected).max() > 1e-3  # another weight would be seen


def test_ranklib_counts_features_from_one(models):
    model, X = models["linear"]
    (text,) = model.export("ranklib").values()
    np.testing.assert_allclose(
        oracle.ranklib_scores(text, X) - oracle.ranklib_scores(text, X[:1]),
        model.predict(X) - model.predict(X[:1]),
        rtol=1e-9,
        atol=1e-9,
    )
    (text,) = model.export("ranklib", offset=3.0).values()
    assert oracle.ranklib_scores(text, np.zeros((1, 12))).tolist() == [3.0]


def test_definitions_of_features_go_along(models):
    model, _ = models["linear"]
    names = [model.feature_names[j] for j in model.support]
    for to, key, file in (("solr", "class", "features.json"), ("elasticsearch", "template", "featureset.json")):
        given = {n: {key: f"of {n}", "params": {"q": n}} for n in names} | {"more": {key: "unused"}}
        files = model.export(to, features=given, name="shop")
        assert list(files) == [file, "model.json"]
        content = json.loads(files[file])
        listed = content if to == "solr" else content["featureset"]["features"]
        assert [f["name"] for f in listed] == names
        assert [f[key] for f in listed] == [f"of {n}" for n in names]
        with pytest.raises(DataError, match=f"the definition of '{names[0]}' is missing"):
            model.export(to, features={})
        with pytest.raises(DataError, match=f"has no '{key}'"):
            model.export(to, features={n: {} for n in names})
    (text,) = model.export("vespa", features={n: f"bm25({n})" for n in names}).values()
    assert f"bm25({names[0]})" in text
    assert "attribute" not in text
    (text,) = model.export("sql", features={names[0]: "a + b"}).values()
    assert "(a + b)" in text
    with pytest.raises(DataError, match="must be an expression of SQL"):
        model.export("sql", features={names[0]: 3})


@pytest.mark.parametrize("kind", ["log", "asinh", "curves", "MSLR, logarithms"])
def test_what_a_format_cannot_say_is_refused_with_the_remedy(models, kind):
    with pytest.raises(
        DataError,
        match=r"cannot express .*\. Export to solr, elasticsearch, vespa, lucene, sql, onnx or python, or train with "
        r"transform='none'.* With engine='ranklib', select trains such models",
    ):
        models[kind][0].export("ranklib")


def test_options_that_mean_nothing_are_refused(models):
    model, _ = models["linear"]
    for option in ({"offset": 1.0}, {"sigmoid": True}):
        with pytest.raises(DataError, match="has no constant and no link function, and accepts negative scores"):
            model.export("solr", **option)
    for to in ("elasticsearch", "opensearch"):
        with pytest.raises(
            DataError, match="has no link function; offset keeps scores positive: sigmoid cannot be written"
        ):
            model.export(to, sigmoid=True)
    for to in (*EXPRESSIONS, "ranklib"):
        with pytest.raises(DataError, match="normalizers cannot be written"):
            model.export(to, normalizers=True)
    with pytest.raises(DataError, match="no export to 'lisp'; known formats: solr"):
        model.export("lisp")
    for offset in (float("nan"), float("inf"), "1", True):
        with pytest.raises(DataError, match="offset must be a finite number"):
            model.export("sql", offset=offset)
    with pytest.raises(DataError, match="exclude each other"):
        model.export("sql", offset=1.0, sigmoid=True)
    within = RankingModel(model.coef, model.feature_names, FeatureScaling("query-min-max", np.zeros(12), np.ones(12)))
    for to in ENGINES:
        with pytest.raises(DataError, match="scales features within each query"):
            within.export(to)
    nothing = RankingModel(np.zeros(12), model.feature_names, model.scaling)
    with pytest.raises(DataError, match="uses no feature"):
        nothing.export("sql")


def test_sigmoid_keeps_the_order(models):
    model, X = models["log"]
    (text,) = model.export("sql", sigmoid=True).values()
    lite = sqlite()
    lite.execute("create table docs (id, " + ", ".join(f'"{n}"' for n in model.feature_names) + ")")
    lite.executemany(f"insert into docs values ({', '.join('?' * 13)})", [(i, *map(float, r)) for i, r in enumerate(X)])
    found = np.array([s for (s,) in lite.execute(f"select {text} from docs order by id")])
    np.testing.assert_allclose(found, 1.0 / (1.0 + np.exp(-model.predict(X))), rtol=1e-12)
    (content,) = model.export("onnx", sigmoid=True).values()
    (graph,) = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, fed(model, X))
    np.testing.assert_allclose(graph[:, 0], found, rtol=1e-9)


HOSTILE = (
    'a"; drop table docs; --',
    "'''\nimport os\nos.abort()\n'''",
    "x) or (1",
    "{{evil}}",
    "\x1b[31mred",
    "<script>",
)


@pytest.mark.parametrize("names", [HOSTILE, tuple(EVERYWHERE)], ids=["code", "text"])
def test_names_are_data(names):
    d = len(names)
    model = RankingModel(np.arange(1.0, d + 1), names, FeatureScaling("none", np.zeros(d), np.ones(d)))
    X = np.random.default_rng(0).random((5, d))
    (text,) = model.export("python").values()
    space: dict = {}
    exec(text, space)
    np.testing.assert_allclose([space["score"](r) for r in rows_of(model, X)], model.predict(X))
    (text,) = model.export("sql").values()
    columns = ", ".join('"' + n.replace('"', '""') + '" double' for n in names)
    for base in (sqlite(), duckdb.connect()):
        base.execute(f"create table docs ({columns})")
        base.executemany(f"insert into docs values ({', '.join('?' * d)})", X.tolist())
        found = [s for (s,) in base.execute(f"select {text} from docs").fetchall()]
        np.testing.assert_allclose(found, model.predict(X))
    for to in ("solr", "elasticsearch"):
        scorer = oracle.solr_scores if to == "solr" else oracle.elasticsearch_scores
        np.testing.assert_allclose(
            scorer(model.export(to)["model.json"], rows_of(model, X)), model.predict(X), rtol=1e-5
        )
    assert "\x1b" not in model.export("solr")["model.json"]
    for to in ("lucene", "vespa"):
        with pytest.raises(DataError, match=r"cannot be a variable of|Vespa needs a definition of"):
            model.export(to)
    (content,) = model.export("onnx").values()
    (found,) = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, fed(model, X))
    np.testing.assert_allclose(found[:, 0], model.predict(X))


def test_names_that_no_column_can_have_are_refused():
    for name in ("", "a\0b"):
        with pytest.raises(DataError, match=r"cannot be the name of an SQL column.* expression in features"):
            made([1.0], names=(name,)).export("sql")
        (text,) = made([2.0], names=(name,)).export("sql", features={name: "price"}).values()
        assert sqlite().execute(f"select {text} from (select 3 as price)").fetchall() == [(6.0,)]
    capitals = made([1.0, 2.0], names=("price", "Price"))
    with pytest.raises(DataError, match="'price' and 'Price' differ only in case"):
        capitals.export("sql")
    (text,) = capitals.export("sql", features={"Price": "price * 10"}).values()
    assert sqlite().execute(f"select {text} from (select 3 as price)").fetchall() == [(63.0,)]
    assert made([1.0, 0.0], names=("price", "Price")).export("sql")  # of which one is used


@pytest.fixture
def export(cli_here: Cli) -> Cli:
    """`sparserank export` in the folder of temporary files."""
    return partial(cli_here, "export")


def test_the_command(models, export: Cli, tmp_path: Path):
    model, _ = models["log"]
    model.save(tmp_path / "m.json")
    printed = export("m.json", "--to", "sql")
    assert printed.out == model.export("sql")["score.sql"]
    done = export("m.json", "--to", "onnx", "--out", "graph")
    assert done.code == 0, done.err
    assert (tmp_path / "graph/model.onnx").read_bytes() == model.export("onnx")["model.onnx"]
    assert "clamps negative scores" in export("m.json", "--to", "lucene").err
    (tmp_path / "f.json").write_text(json.dumps({"f0": "price"}))
    mapped = export("m.json", "--to", "sql", "--features", "f.json")
    assert mapped.out == model.export("sql", features={"f0": "price"})["score.sql"]
    for arguments, status, message in (
        (("--to", "solr"), 1, "to express log("),
        (("--to", "onnx"), 2, "--out"),
        (("--to", "prolog"), 2, "must be one of solr"),
        (("--to", "sql", "--features", "none.json"), 1, "none.json: cannot be read"),
        (("--to", "sql", "--features", "m.json", "--offset", "nan"), 1, "offset must be a finite number"),
    ):
        refused = export("m.json", *arguments)
        assert refused.code == status, refused.err
        assert message in " ".join(refused.err.split())
        assert "Traceback" not in refused.err
    for text, message in (
        ("[1]", "is not a JSON object"),
        ("{", "is not a JSON file"),
        ('{"a": 1, "a": 2}', "appears twice"),
    ):
        (tmp_path / "bad.json").write_text(text)
        refused = export("m.json", "--to", "sql", "--features", "bad.json")
        assert refused.code == 1
        assert message in refused.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    refused = export("m.json", "--to", "sql", "--out", "mine")
    assert refused.code == 1
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == ["notes.txt"]


def made(coef, names=None, transform=None, curves=None, scaling="none", center=0.0, scale=1.0):
    d = len(coef)
    own = FeatureScaling(scaling, np.full(d, center), np.full(d, scale))
    return RankingModel(
        np.array(coef, dtype=float),
        tuple(names or (f"f{j}" for j in range(d))),
        own,
        transform=transform,
        curves=curves or {},
    )


def everywhere(model: RankingModel, X: np.ndarray, **options: object) -> dict[str, np.ndarray]:
    """Scores in Python, SQLite, DuckDB and ONNX Runtime."""
    space: dict = {}
    exec(model.export("python", **options)["model.py"], space)
    (text,) = model.export("sql", **options).values()
    out = {"python": np.array([space["score"](r) for r in rows_of(model, X)])}
    names = ", ".join(f'"{n}" double' for n in model.feature_names)
    for name, base in (("sqlite", sqlite()), ("duckdb", duckdb.connect())):
        base.execute(f"create table docs ({names})")
        base.executemany(f"insert into docs values ({', '.join('?' * X.shape[1])})", X.tolist())
        out[name] = np.array([s for (s,) in base.execute(f"select {text} from docs").fetchall()])
    session = onnxruntime.InferenceSession(
        model.export("onnx", **options)["model.onnx"], providers=["CPUExecutionProvider"]
    )
    out["onnx"] = session.run(None, fed(model, X))[0][:, 0]
    return out


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_transforms_keep_their_digits_near_and_far_from_zero(kind):
    X = np.array(
        [[s * v] for v in (0.0, 1e-17, 1e-12, 9.9e-5, 1.01e-4, 0.3, 1e3, 9e7, 1.1e8, 1e160, 1e300) for s in (1, -1)]
    )
    model = made([1.0], transform=Transform((kind,), np.array([1.0])))
    for name, found in everywhere(model, X).items():
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-11, atol=0, err_msg=name)
    for to in ("lucene", "vespa"):
        (text,) = model.export(to, features=in_vespa(model) if to == "vespa" else None).values()
        text = text if to == "lucene" else text[text.index("expression {") + 12 : text.rindex("}\n    }\n}")]
        np.testing.assert_allclose(oracle.evaluated(text, rows_of(model, X)), model.predict(X), rtol=1e-11, atol=0)


@pytest.mark.parametrize("constant", [1e-320, 1e-6, 1.0, 1e305])
@pytest.mark.parametrize("shape", ["weights", "curves"])
def test_asinh_of_what_the_constant_makes_too_large_is_what_predict_says(shape: str, constant: float):
    """x / constant is infinite from 1e302 on, for a constant of 1e-6; asinh is a few hundred."""
    numbers = (0.0, 0.5, 1e5, 1e300, 1e303, 1e307, 1.78e308)
    X = np.array([[s * v, 1.0] for v in numbers for s in (1.0, -1.0)])
    transform = Transform(("asinh", "none"), np.array([constant, 1.0]))
    ends = np.sort(transform(np.array([[-1e306, 0.0], [1e303, 0.0], [1e307, 0.0]]))[:, 0])
    curves = {0: Curve(ends, np.array([-0.5, 0.25, 1.5]))} if shape == "curves" else {}
    model = made([1.0, 1.0], transform=transform, curves=curves)
    expected = model.predict(X)
    assert np.isfinite(expected).all()
    assert len(np.unique(expected)) > 3
    for name, found in everywhere(model, X).items():
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)
    for to in ("lucene", "vespa"):
        (text,) = model.export(to, features=in_vespa(model) if to == "vespa" else None).values()
        text = text if to == "lucene" else text[text.index("expression {") + 12 : text.rindex("}\n    }\n}")]
        np.testing.assert_allclose(oracle.evaluated(text, rows_of(model, X)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("to", ["python", "sql"])
def test_a_fill_value_that_the_constant_makes_too_large_is_exported(to: str):
    model = replace(made([1.0], transform=Transform(("asinh",), np.array([1e-6]))), fill_values=np.array([1e305]))
    (text,) = model.export(to).values()
    expected = float(model.predict(np.array([[np.nan]]))[0])
    if to == "sql":
        assert repr(expected)[:12] in text
        return
    space: dict = {}
    exec(text, space)
    assert space["score"]({"f0": None}) == pytest.approx(expected, rel=1e-12)


def test_integers_are_no_decimals():
    """DuckDB reads 0.447 as a decimal: times an integer column it overflows,
    and knots were rounded to the column's type."""
    curve = Curve(np.array([0.4, 2.6, 7.3]), np.array([0.0, 0.45, 0.5]))
    for model in (made([0.4474134]), made([1.0], curves={0: curve})):
        (text,) = model.export("sql").values()
        duck = duckdb.connect()
        for kind in ("integer", "hugeint"):
            duck.execute(f"create or replace table docs (f0 {kind})")
            duck.execute("insert into docs values (0), (2), (5), (90000)")
            found = [s for (s,) in duck.execute(f"select {text} from docs").fetchall()]
            np.testing.assert_allclose(found, model.predict(np.array([[0.0], [2.0], [5.0], [90000.0]])), rtol=1e-12)


def test_many_features_are_no_deep_chain(tmp_path: Path):
    rng = np.random.default_rng(0)
    d = 1800
    wide = made(rng.standard_normal(d))
    X = rng.standard_normal((3, d))
    lite = sqlite()
    (text,) = wide.export("sql", features={f"f{j}": f"{float(X[0, j])!r}" for j in range(d)}).values()
    ((found,),) = lite.execute(f"select {text}").fetchall()
    assert found == pytest.approx(wide.predict(X)[0], rel=1e-9)
    space: dict = {}
    exec(made(rng.standard_normal(5000)).export("python")["model.py"], space)
    curves = {j: Curve(np.sort(rng.standard_normal(9)), rng.standard_normal(9)) for j in range(150)}
    bent = made(np.ones(150), curves=curves)
    for name, found in everywhere(bent, rng.standard_normal((5, 150))).items():
        assert found.shape == (5,), name


def test_what_leaves_the_range_of_numbers_is_refused_by_name():
    steep = made([1.0], curves={0: Curve(np.array([0.0, 1e-310]), np.array([0.0, 1.0]))})
    for model in (steep, made([1e200], scaling="standard", center=1e200), made([np.inf])):
        for to in ("sql", "python", "onnx"):
            with pytest.raises(DataError, match="feature 'f0' cannot be exported"):
                model.export(to)
    small = made([1e-50, -2e-50])
    for to in ("solr", "elasticsearch"):
        scorer = oracle.solr_scores if to == "solr" else oracle.elasticsearch_scores
        low, high = scorer(small.export(to)["model.json"], [{"f0": 0.0, "f1": 1.0}, {"f0": 1.0, "f1": 0.0}])
        assert low < 0 < high
        with pytest.raises(DataError, match="the engine uses single precision, which cannot represent all weights"):
            made([1e-50, 1.0]).export(to)
    with pytest.raises(DataError, match="applies logarithms in its scaling and also has transforms"):
        made([1.0], scaling="log-standard", transform=Transform(("log",), np.ones(1))).export("sql")
    nothing = made([2.0], center=5.0, scale=2.0)  # of a scaling that reads neither
    for found in everywhere(nothing, np.array([[5.0]])).values():
        assert found == nothing.predict(np.array([[5.0]]))


def test_sigmoids_and_offsets_of_any_size():
    for name, found in everywhere(made([1.0]), np.array([[-800.0], [800.0], [0.0]]), sigmoid=True).items():
        np.testing.assert_allclose(found, [0.0, 1.0, 0.5], atol=1e-300, err_msg=name)
    for offset in (np.float64(2.5), np.float32(2.5), np.int64(2)):
        for found in everywhere(made([1.0]), np.array([[1.0]]), offset=offset).values():
            assert found == [1.0 + float(offset)]
    with pytest.raises(DataError, match="offset must be a finite number"):
        made([1.0]).export("sql", offset=10**400)


HARMLESS = {
    "x // 2": "sql",
    'coalesce("a, b", 0)': "sql",
    "CASE WHEN kind = 'it''s (new' THEN 1 ELSE 0 END": "sql",
    "payload ->> 'price'": "sql",
    "`my col` + a$b": "sql",
    "doc['popularity'].value": "lucene",
    "fieldMatch(title).completeness": "vespa",
    "sum(tensor<float>(x{}): attribute(v))": "vespa",
}


def test_definitions_cannot_change_what_is_written():
    model = made([1.0, 2.0])
    given = {n: {"class": "c", "name": "evil", "store": "zz"} for n in ("f0", "f1")}
    (features, _) = model.export("solr", name="shop", features=given).values()
    assert {(f["name"], f["store"]) for f in json.loads(features)} == {("f0", "shop"), ("f1", "shop")}
    hostile = (
        "a) + (b",
        "x -- y",
        "a; b",
        "a\nb",
        "a /* b",
        "(a",
        "x # c",
        "x}{",
        "(x]",
        "[x)",
        "it's",
        '"x',
        "`x",
        "x'",
        "'x\\' + y",
        "'}'",
        "x $$ y",
        "$tag$ x",
        "x\u2028y",
        "x\0y",
        "a, b",
        "]x[",
        "'(' + x)",
    )
    for text in hostile:
        for engine in ("sql", "vespa", "lucene"):
            with pytest.raises(
                DataError, match="must be one expression without comments, with all brackets and quotes closed"
            ):
                model.export(engine, features={"f0": text, "f1": "y"})
    with pytest.raises(DataError, match="without comments"):
        model.export("lucene", features={"f0": "x // c", "f1": "y"})
    for text, engine in HARMLESS.items():
        (content,) = model.export(engine, features={"f0": text, "f1": "y"}).values()
        assert text in content
    with pytest.raises(DataError, match="the class of 'f0' must be a string"):
        model.export("solr", features={"f0": {"class": 3}, "f1": {"class": "c"}})
    for name in ("my-shop", "default", "unranked"):
        with pytest.raises(DataError, match="name must consist of letters"):
            model.export("vespa", name=name, features=in_vespa(model))


def test_one_file_is_written_under_its_name(export: Cli, tmp_path: Path):
    model = made([1.0, 2.0])
    model.save(tmp_path / "m.json")
    vespa = json.dumps(in_vespa(model))
    (tmp_path / "f.json").write_text(vespa)
    for to, name, more in (
        ("onnx", "x.onnx", ()),
        ("sql", "x.sql", ()),
        ("python", "x.py", ()),
        ("lucene", "x.expression", ()),
        ("vespa", "x.profile", ("--features", "f.json")),
        ("solr", "x.json", ()),
    ):
        done = export("m.json", "--to", to, "--out", name, *more)
        assert done.code == 0, done.err
        assert f"wrote {name}" in done.err + done.out
        (content,) = model.export(to, features=in_vespa(model) if to == "vespa" else None).values()
        written = (tmp_path / name).read_bytes()
        assert written == (content if isinstance(content, bytes) else content.encode())
        again = export("m.json", "--to", to, "--out", name, "--offset" if to not in ("solr",) else "--name", "1", *more)
        assert again.code == 1
        assert f"{name}: already exists" in again.err
        assert (tmp_path / name).read_bytes() == written
    refused = export("m.json", "--to", "sql", "--out", "m.json")  # another ending is a folder, and this is a file
    assert refused.code == 1
    assert "Traceback" not in refused.err
    (tmp_path / "solr.json").write_text(json.dumps({n: {"class": "c"} for n in model.feature_names}))
    refused = export("m.json", "--to", "solr", "--features", "solr.json", "--out", "two.json")
    assert refused.code == 2
    assert "must be a folder for features.json and model.json" in " ".join(refused.err.split())
    (tmp_path / "folder.sql").mkdir()
    assert export("m.json", "--to", "sql", "--out", "folder.sql").code == 0
    assert (tmp_path / "folder.sql/score.sql").read_text() == model.export("sql")["score.sql"]


def test_files_that_are_there_stay(export: Cli, tmp_path: Path):
    made([1.0]).save(tmp_path / "m.json")
    assert export("m.json", "--to", "solr", "--out", "o").code == 0
    before = (tmp_path / "o/model.json").read_bytes()
    refused = export("m.json", "--to", "elasticsearch", "--out", "o")
    assert refused.code == 1
    assert "already exists" in refused.err
    assert (tmp_path / "o/model.json").read_bytes() == before
