"""Exports score as `predict` does: SQLite, DuckDB, ONNX Runtime, plain Python, and contracts of engines."""

import json
import platform
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pytest
from integrations.matrix import ran

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.errors import DataError, ParameterError
from sparserank.export import ENGINES
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.conftest import data_folder_or_skip
from tests.oracles import exported as oracle
from tests.robustness.test_names_are_data import HOSTILE as EVERYWHERE
from tests.support.command_line import Cli, assert_refused
from tests.support.exported_scores import everywhere, fed, in_expressions, python_score, rows_of, session_of, sqlite
from tests.support.models import array_of, rebuilt

REAL = ("MQ2008, linear", "MSLR, logarithms")


def real_model(kind: str, folder: Path) -> tuple[sr.RankingModel, np.ndarray]:
    """(the model, X of 1,000 documents that it was not trained on)."""
    if kind == "MQ2008, linear":
        train, other = (sr.read(folder / f"mq2008/{part}.txt.gz", n_features=46) for part in ("S1", "S5"))
        ranker = sr.SparseRanker(penalty="mcp", k=10)
    else:
        train, other = (
            sr.read(folder / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz", n_features=136) for part in ("train", "test")
        )
        ranker = sr.SparseRanker(penalty="mcp", k=10, feature_transform="log")
    return ranker.fit_dataset(train).to_model(), np.array(other.X[:1000])


EXPRESSIONS = ("vespa", "lucene", "sql", "python", "onnx")


def renamed(model: RankingModel) -> RankingModel:
    return rebuilt(model, feature_names=tuple(f"f{j}" for j in range(model.n_features)))


def made(coef, names=None, transform=None, steps=None, scaling="none", center=0.0, scale=1.0):
    d = len(coef)
    own = FeatureScaling(scaling, np.full(d, center), np.full(d, scale))
    names = tuple(names or (f"f{j}" for j in range(d)))
    return RankingModel.from_arrays(np.array(coef, dtype=float), names, own, transform=transform, steps=steps or {})


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
    linear = sr.SparseRanker(loss="squared_hinge", penalty="mcp", k=5)
    every = {"linear": linear, "standard": sr.SparseRanker(scaling="standard")}
    out = {name: (renamed(r.fit_dataset(plain).to_model()), X) for name, r in every.items()}
    for kind in ("log", "asinh"):
        ranker = sr.SparseRanker(k=6, feature_transform=kind)
        out[kind] = renamed(ranker.fit_dataset(plain).to_model()), X
    out["steps"] = renamed(sr.SparseRanker(penalty="steps", k=6).fit_dataset(curved).to_model()), wild
    assert all(f.kind == "steps" for f in out["steps"][0].features)
    return Models(out)


def attributes(model: RankingModel) -> dict[str, str]:
    return {name: f"attribute({name})" for name in model.feature_names}


def assert_same(found: object, expected: np.ndarray, name: str = "") -> None:
    """To 1e-12 of the largest score: a term is wrong by a few roundings,
    and a logarithm by one of 1 in units of a scale of 1e-4 at least."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max(), err_msg=name)


KINDS = ["linear", "standard", "log", "asinh", "steps", *REAL]
RUNTIMES = {"python": f"Python {platform.python_version()}", "onnx": f"ONNX Runtime {onnxruntime.__version__}"}
OF_MATRIX = {"log": "logarithms", "asinh": "logarithms", REAL[1]: "logarithms", "steps": "steps"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_export_scores_as_predict_does(models, kind):
    """SQL in two databases, code, a graph, and the expressions of two engines."""
    model, X = models[kind]
    for offset in (0.0, 1.0):
        found = everywhere(model, X, offset=offset) | in_expressions(model, X, offset=offset)
        for name, scores in found.items():
            assert_same(scores, model.predict(X) + offset, name)
    session = session_of(model.export("onnx", wide=True)["model.onnx"])
    assert_same(session.run(["score"], {"X": X})[0][:, 0], model.predict(X))
    for to, runtime in RUNTIMES.items():
        ran(to, runtime, OF_MATRIX.get(kind, "weights"))
        ran(to, runtime, "offset")


def test_sigmoid_is_that_of_the_score(models):
    model, X = models["log"]
    found, expected = everywhere(model, X, sigmoid=True), 1.0 / (1.0 + np.exp(-model.predict(X)))
    np.testing.assert_allclose(found["sqlite"], expected, rtol=1e-12)
    for name, scores in found.items():
        np.testing.assert_allclose(scores, expected, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", ["log", "steps"])
def test_python_code_needs_no_package(models, kind: str, tmp_path: Path):
    model, X = models[kind]
    (text,) = model.export("python", offset=2.5).values()
    (tmp_path / "model.py").write_text(text)
    (tmp_path / "rows.json").write_text(json.dumps(rows_of(model, X)))
    code = "import json, model; print(json.dumps([model.score(r) for r in json.load(open('rows.json'))]))"
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), model.predict(X) + 2.5, rtol=1e-9, atol=1e-9)


def test_logarithms_are_short_where_they_can_be(models):
    model, X = models["log"]
    (short,) = model.export("sql").values()
    assert "CASE WHEN ABS" not in short
    scale = array_of(model, "scale", 1.0) * 1e-9
    tiny = rebuilt(model, scaling=FeatureScaling("within-query-std", array_of(model, "mean", 0.0), scale))
    (series,) = tiny.export("sql").values()
    assert len(short) < 0.6 * len(series)
    small = X * 1e-10
    expected = tiny.predict(small)
    for name, found in everywhere(tiny, small).items():
        assert_same(found, expected, name)
    weights = tiny.coef / array_of(tiny, "scale", 1.0)  # what the short one would give
    rough = np.sign(small) * np.log(1.0 + np.abs(small)) @ weights
    with pytest.raises(AssertionError):
        assert_same(rough, expected)


@pytest.mark.parametrize("wide", [False, True])
def test_inputs_of_a_graph_are_the_selected_features_or_all_in_one_matrix(models, wide):
    model, X = models["linear"]
    feed = {"X": X} if wide else fed(model, X)
    session = session_of(model.export("onnx", wide=wide)["model.onnx"])
    assert [(i.name, i.type) for i in session.get_inputs()] == [(name, "tensor(double)") for name in feed]
    assert_same(session.run(["score"], feed)[0][:, 0], model.predict(X))
    features = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert features == [[j, model.feature_names[j]] for j in model.support.tolist()]


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
        raw[min(raw)] *= 2
        wrong = np.array([sum(w * r[n] for n, w in raw.items()) for r in rows_of(model, X)])
        assert np.abs(wrong - np.median(wrong - expected) - expected).max() > 1e-3  # another weight would be seen


def test_ranklib_counts_features_from_one(models):
    model, X = models["linear"]
    found, first = (oracle.ranklib_scores(*model.export("ranklib").values(), rows) for rows in (X, X[:1]))
    np.testing.assert_allclose(found - first, model.predict(X) - model.predict(X[:1]), rtol=1e-9, atol=1e-9)
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
    evil = {n: {"class": "c", "name": "evil", "store": "zz"} for n in names}
    listed = json.loads(model.export("solr", name="shop", features=evil)["features.json"])
    assert {(f["name"], f["store"]) for f in listed} == {(n, "shop") for n in names}
    (text,) = model.export("vespa", features={n: f"bm25({n})" for n in names}).values()
    assert f"bm25({names[0]})" in text
    assert "attribute" not in text
    for to, text in (
        ("sql", "a + b"),
        ("sql", "x // 2"),
        ("sql", 'coalesce("a, b", 0)'),
        ("sql", "CASE WHEN kind = 'it''s (new' THEN 1 ELSE 0 END"),
        ("sql", "payload ->> 'price'"),
        ("sql", "`my col` + a$b"),
        ("lucene", "doc['popularity'].value"),
        ("vespa", "fieldMatch(title).completeness"),
        ("vespa", "sum(tensor<float>(x{}): attribute(v))"),
    ):
        (content,) = TWO.export(to, features={"f0": text, "f1": "y"}).values()
        assert text in content


CODE = ('a"; drop table docs; --', "'''\nimport os\nos.abort()\n'''", "x) or (1", "{{evil}}", "\x1b[31mred", "<script>")
GRAPH = ("c0", "n1", "/c0", "//n2", "X", "n_docs", "unused")
TEXT = tuple(name + " " if name.endswith("\\") else name for name in EVERYWHERE)  # which SQL refuses, below


@pytest.mark.parametrize("names", [CODE, TEXT, GRAPH], ids=["code", "text", "nodes of a graph"])
def test_names_are_data(names):
    model = made(np.arange(1.0, len(names) + 1), names)
    X = np.random.default_rng(0).random((5, len(names)))
    for name, found in everywhere(model, X).items():
        assert_same(found, model.predict(X), name)
    for to in ("solr", "elasticsearch"):
        scorer = oracle.solr_scores if to == "solr" else oracle.elasticsearch_scores
        found = scorer(model.export(to)["model.json"], rows_of(model, X))
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-5)
    assert "\x1b" not in model.export("solr")["model.json"]
    for to in ("lucene", "vespa"):
        with pytest.raises(DataError, match=r"cannot be a variable of|Vespa needs a definition of"):
            model.export(to)


def test_a_feature_whose_name_a_format_cannot_have_is_exported_by_its_definition():
    for name in ("", "a\0b"):
        (text,) = made([2.0], names=(name,)).export("sql", features={name: "price"}).values()
        assert sqlite().execute(f"select {text} from (select 3 as price)").fetchall() == [(6.0,)]
    (text,) = made([1.0, 2.0], ("price", "Price")).export("sql", features={"Price": "price * 10"}).values()
    assert sqlite().execute(f"select {text} from (select 3 as price)").fetchall() == [(63.0,)]
    assert made([1.0, 0.0], names=("price", "Price")).export("sql")  # of which one is used
    for name in ("score", "", "a\0b"):
        session = session_of(made([1.0, 2.0], names=("a", name)).export("onnx", wide=True)["model.onnx"])
        assert session.run(None, {"X": np.array([[1.0, 2.0]])})[0].tolist() == [[5.0]]


TWO, LOG = made([1.0, 2.0]), made([1.0], transform=Transform(("log",), np.ones(1)))
STEPPED = made([1.0], steps={0: StepFunction(np.array([0.5]), np.array([0.0, 1.0]))})
WITHOUT_STEPS = r"cannot express steps\(f0\)\. Export to elasticsearch.* or train without steps \(penalty='mcp'\)"
FAR, INFINITE = made([1e200], scaling="standard", center=1e200), made([np.inf])
REMEDY = (
    r"cannot express .*\. Export to solr, elasticsearch, vespa, lucene, sql, onnx or python, or train with "
    r"transform='none'.* With engine='ranklib', select trains such models"
)
NO_LINK = "sigmoid cannot be written .*has no link function; offset keeps scores positive"
NO_CONSTANT = "has no constant and no link function, and accepts negative scores"
HOSTILE = ["a) + (b", "x -- y", "a; b", "a\nb", "a /* b", "(a", "x # c", "x}{", "(x]", "[x)", "it's", '"x', "`x", "x'"]
HOSTILE += ["'x\\' + y", "'}'", "x $$ y", "$tag$ x", "x\u2028y", "x\0y", "a, b", "]x[", "'(' + x)"]
UNDEFINED = r"Vespa needs a definition of 'f\d+'\. Define every selected feature"
NO_COLUMN = r"cannot be the name of an SQL column.* expression in features"
NO_INPUT = r"an input of the graph cannot have the name .*wide=True"
TOO_SMALL = "the engine uses single precision, which cannot represent all weights"
DEFINED = ("solr", "elasticsearch", "opensearch", "vespa")
LANGUAGES, LETTERS = ("sql", "vespa", "lucene"), "name must consist of letters"
LOG_TWICE = "applies logarithms in its scaling and also has transforms"
ONE_EXPRESSION = "must be one expression without comments, with all brackets and quotes closed"
REFUSED: list[tuple[RankingModel, str, dict[str, Any], str]] = [
    (LOG, "ranklib", {}, REMEDY),
    *[(STEPPED, to, {}, WITHOUT_STEPS) for to in ("solr", "ranklib")],
    *[(TWO, "solr", option, NO_CONSTANT) for option in ({"offset": 1.0}, {"sigmoid": True})],
    *[(TWO, to, {"sigmoid": True}, NO_LINK) for to in ("elasticsearch", "opensearch")],
    *[(TWO, to, {"normalizers": True}, "normalizers cannot be written") for to in (*EXPRESSIONS, "ranklib")],
    *[(TWO, to, {"wide": True}, "wide applies only to onnx") for to in ENGINES if to != "onnx"],
    (TWO, "lisp", {}, "to must be one of solr, .*; got 'lisp'"),
    *[(TWO, "sql", {"offset": v}, "offset must be a finite number") for v in (np.nan, 1e26, "1", True, 10**400)],
    (TWO, "sql", {"offset": 1.0, "sigmoid": True}, "sigmoid cannot be combined with offset"),
    *[(made([1.0], scaling="query-min-max"), to, {}, "scales features within each query") for to in ENGINES],
    (made([0.0]), "sql", {}, "uses no feature"),
    *[(TWO, to, {"features": {"f1": {}, "f9": {}}}, "has no definition of 1 of 2 .*: f0; define") for to in DEFINED],
    (TWO, "vespa", {}, UNDEFINED),
    (TWO, "sql", {"features": {"f0": 3}}, "must be an expression of SQL"),
    *[(TWO, to, {"features": {}}, "has no definition of 2 of 2 .*: f0, f1; define each of them") for to in DEFINED],
    (TWO, "solr", {"features": {"f0": {}, "f1": {}}}, "'f0' must be an object with 'class'"),
    (TWO, "elasticsearch", {"features": {"f0": {}, "f1": {}}}, "must be an object with 'template'"),
    (TWO, "solr", {"features": {"f0": {"class": 3}, "f1": {"class": "c"}}}, "The class of 'f0' must be a string"),
    *[(TWO, to, {"features": {"f0": text, "f1": "y"}}, ONE_EXPRESSION) for to in LANGUAGES for text in HOSTILE],
    (TWO, "lucene", {"features": {"f0": "x // c", "f1": "y"}}, "without comments"),
    *[
        (TWO, "vespa", {"name": name, "features": attributes(TWO)}, LETTERS)
        for name in ("my-shop", "default", "unranked")
    ],
    *[(made([1.0], names=(name,)), "sql", {}, NO_COLUMN) for name in ("", "a\0b", "\\", '\\", 1 --')],
    (made([1.0, 2.0], names=("price", "Price")), "sql", {}, "'price' and 'Price' differ only in case"),
    *[(made([1.0, 2.0], names=("a", name)), "onnx", {}, NO_INPUT) for name in ("score", "", "a\0b")],
    *[(model, to, {}, "feature 'f0' cannot be exported") for model in (FAR, INFINITE) for to in EXPRESSIONS[2:]],
    *[(made([1e-50, 1.0]), to, {}, TOO_SMALL) for to in ("solr", "elasticsearch")],
    (replace(LOG, scaling="log-standard"), "sql", {}, LOG_TWICE),
]


@pytest.mark.parametrize(("model", "to", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_exported_is_refused_with_the_remedy(model, to, options, message):
    """Formulas and options that a format does not have, definitions that would change the formula around them, names
    that it cannot have, and numbers that leave its range."""
    with pytest.raises(DataError, match=message):
        model.export(to, **options)


@pytest.mark.parametrize(
    ("parameter", "to", "options"),
    [
        ("to", "xx", {}),
        ("to", 3, {}),
        ("offset", "sql", {"offset": "abc"}),
        ("wide", "sql", {"wide": True}),
        ("wide", "onnx", {"wide": "yes"}),
        ("name", "sql", {"name": ""}),
        ("features", "sql", {"features": ["f0"]}),
        ("features", "sql", {"features": {"f0": "a) + (b"}}),
        ("features", "solr", {"features": {}}),
        ("normalizers", "sql", {"normalizers": True}),
        ("sigmoid", "sql", {"sigmoid": True, "offset": 1.0}),
        ("query", "elasticsearch-query", {"query": {"query": {}}}),
        ("missing", "sql", {"missing": "zero"}),
    ],
)
def test_a_wrong_parameter_is_named_as_one(parameter: str, to: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        TWO.export(to, **options)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(("model", "to"), [(LOG, "ranklib"), (STEPPED, "solr"), (made([0.0]), "sql"), (FAR, "sql")])
def test_what_a_model_cannot_do_is_no_fault_of_a_parameter(model: RankingModel, to: str) -> None:
    with pytest.raises(DataError) as refused:
        model.export(to)
    assert not isinstance(refused.value, ParameterError)


@pytest.fixture
def export(cli_here: Cli) -> Cli:
    """`sparserank export` in the folder of temporary files."""
    return partial(cli_here, "export")


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_transforms_keep_their_digits_near_and_far_from_zero(kind):
    sizes = (0.0, 1e-17, 1e-12, 9.9e-5, 1.01e-4, 0.3, 1e3, 9e7, 1.1e8, 1e160, 1e300)
    X = np.array([[s * v] for v in sizes for s in (1, -1)])
    model = made([1.0], transform=Transform((kind,), np.array([1.0])))
    for name, found in (everywhere(model, X) | in_expressions(model, X)).items():
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-11, atol=0, err_msg=name)


@pytest.mark.parametrize("constant", [1e-320, 1e-6, 1.0, 1e305])
def test_asinh_of_what_the_constant_makes_too_large_is_what_predict_gives(constant: float):
    """x / constant is infinite from 1e302 on, for a constant of 1e-6; asinh is a few hundred."""
    numbers = (0.0, 0.5, 1e5, 1e300, 1e303, 1e307, 1.78e308)
    X = np.array([[s * v, 1.0] for v in numbers for s in (1.0, -1.0)])
    transform = Transform(("asinh", "none"), np.array([constant, 1.0]))
    model = made([1.0, 1.0], transform=transform)
    expected = model.predict(X)
    assert np.isfinite(expected).all()
    assert len(np.unique(expected)) > 3
    for name, found in (everywhere(model, X) | in_expressions(model, X)).items():
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_fill_value_that_the_constant_makes_too_large_is_exported():
    model = rebuilt(made([1.0], transform=Transform(("asinh",), np.array([1e-6]))), fill_values=np.array([1e305]))
    for name, found in everywhere(model, np.array([[np.nan]])).items():
        np.testing.assert_allclose(found, model.predict(np.array([[np.nan]])), rtol=1e-12, err_msg=name)


def test_integers_are_no_decimals():
    """DuckDB reads 0.447 as a decimal: times an integer column it overflows,
    and edges were rounded to the column's type."""
    steps = StepFunction(np.array([0.4, 4.6, 7.3]), np.array([0.0, 0.45, 0.5, 0.7]))
    for model in (made([0.4474134]), made([1.0], steps={0: steps})):
        (text,) = model.export("sql").values()
        duck = duckdb.connect()
        for kind in ("integer", "hugeint"):
            duck.execute(f"create or replace table docs (f0 {kind})")
            duck.execute("insert into docs values (0), (2), (5), (90000)")
            found = [s for (s,) in duck.execute(f"select {text} from docs").fetchall()]
            np.testing.assert_allclose(found, model.predict(np.array([[0.0], [2.0], [5.0], [90000.0]])), rtol=1e-12)


def test_many_features_are_no_deep_chain():
    rng = np.random.default_rng(0)
    d = 1800
    wide = made(rng.standard_normal(d))
    X = rng.standard_normal((3, d))
    lite = sqlite()
    (text,) = wide.export("sql", features={f"f{j}": f"{float(X[0, j])!r}" for j in range(d)}).values()
    ((found,),) = lite.execute(f"select {text}").fetchall()
    assert found == pytest.approx(wide.predict(X)[0], rel=1e-9)
    python_score(made(rng.standard_normal(5000)))
    steps = {j: StepFunction(np.sort(rng.standard_normal(9)), rng.standard_normal(10)) for j in range(150)}
    stepped = made(np.ones(150), steps=steps)
    for name, found in everywhere(stepped, rng.standard_normal((5, 150))).items():
        assert found.shape == (5,), name


def test_scores_of_any_size():
    for name, found in everywhere(made([1.0]), np.array([[-800.0], [800.0], [0.0]]), sigmoid=True).items():
        np.testing.assert_allclose(found, [0.0, 1.0, 0.5], atol=1e-300, err_msg=name)
    for offset in (np.float64(2.5), np.float32(2.5), np.int64(2)):
        for found in everywhere(made([1.0]), np.array([[1.0]]), offset=offset).values():
            assert found == [1.0 + float(offset)]
    for to in ("solr", "elasticsearch"):
        scorer = oracle.solr_scores if to == "solr" else oracle.elasticsearch_scores
        text = made([1e-50, -2e-50]).export(to)["model.json"]
        low, high = scorer(text, [{"f0": 0.0, "f1": 1.0}, {"f0": 1.0, "f1": 0.0}])
        assert low < 0 < high
    nothing = made([2.0], center=5.0, scale=2.0)  # of a scaling that reads neither
    for found in everywhere(nothing, np.array([[5.0]])).values():
        assert found == nothing.predict(np.array([[5.0]]))


def test_the_command_prints_or_writes_one_file_under_its_name(models, export: Cli, tmp_path: Path):
    model, _ = models["log"]
    model.save(tmp_path / "m.json")
    assert export("m.json", "--to", "sql").out == model.export("sql")["score.sql"]
    assert "clamps negative scores" in export("m.json", "--to", "lucene").err
    vespa = attributes(model)
    (tmp_path / "f.json").write_text(json.dumps(vespa))
    for to, name in zip(EXPRESSIONS, ("x.profile", "x.expression", "x.sql", "x.py", "x.onnx"), strict=True):
        more = ("--features", "f.json") if to == "vespa" else ()
        done = export("m.json", "--to", to, "--out", name, *more).done
        assert f"wrote {name}" in done.err + done.out
        (content,) = model.export(to, features=vespa if to == "vespa" else None).values()
        written = (tmp_path / name).read_bytes()
        assert written == (content if isinstance(content, bytes) else content.encode())
        again = export("m.json", "--to", to, "--out", name, "--offset", "1", *more)
        assert_refused(again, 1, f"{name}: already exists")
        assert (tmp_path / name).read_bytes() == written
    (tmp_path / "folder.sql").mkdir()
    assert export("m.json", "--to", "sql", "--out", "folder.sql").code == 0
    assert (tmp_path / "folder.sql/score.sql").read_text() == model.export("sql")["score.sql"]
    mapped = export("m.json", "--to", "sql", "--features", "f.json")
    assert mapped.out == model.export("sql", features=vespa)["score.sql"]


FOLDER = "must be a folder for features.json and model.json"


def test_the_command_refuses_in_a_sentence_and_keeps_files(models, export: Cli, tmp_path: Path):
    model, plain = models["log"][0], made([1.0, 2.0])
    model.save(tmp_path / "m.json")
    plain.save(tmp_path / "plain.json")
    (tmp_path / "solr.json").write_text(json.dumps({n: {"class": "c"} for n in plain.feature_names}))
    bad = {"list.json": "[1]", "half.json": "{", "twice.json": '{"a": 1, "a": 2}'}
    for name, text in bad.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    assert export("plain.json", "--to", "solr", "--out", "folder").code == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    for arguments, status, message in (
        (("m.json", "--to", "solr"), 1, "to express log("),
        (("m.json", "--to", "onnx"), 2, "--out"),
        (("m.json", "--to", "prolog"), 2, "must be one of solr"),
        (("m.json", "--to", "sql", "--features", "none.json"), 1, "none.json: cannot be read"),
        (("m.json", "--to", "sql", "--features", "list.json"), 1, "is not a JSON object"),
        (("m.json", "--to", "sql", "--features", "half.json"), 1, "is not a JSON file"),
        (("m.json", "--to", "sql", "--features", "twice.json"), 1, "appears twice"),
        (("m.json", "--to", "sql", "--features", "m.json", "--offset", "nan"), 2, "--offset: must be a finite number"),
        (("m.json", "--to", "python", "--wide"), 2, "--wide: applies only to onnx; leave it out for python."),
        (("m.json", "--to", "sql", "--out", "mine"), 1, "mine"),
        (("m.json", "--to", "sql", "--out", "m.json"), 1, "m.json"),  # another ending is a folder, and this is a file
        (("plain.json", "--to", "elasticsearch", "--out", "folder"), 1, "already exists"),
        (("plain.json", "--to", "solr", "--features", "solr.json", "--out", "two.json"), 2, FOLDER),
    ):
        assert_refused(export(*arguments), status, message)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
