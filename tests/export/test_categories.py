"""Exports of models with categories and flags of missing values: equal scores on wild rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from integrations.matrix import ran

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.errors import DataError
from sparserank.model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.export.test_export import RUNTIMES
from tests.oracles import categories as oracle
from tests.oracles.exported import evaluated
from tests.support.command_line import Cli
from tests.support.exported_scores import sqlite
from tests.support.models import rebuilt, unscaled

LEVELS = ["acme", "", 'o\'neil "q"', "💡 lamp", "x" * 10_000, "7", "back\\slash", "a b"]
NAMES = (
    "bm25",
    *(f"brand={level}" if level else "brand is missing" for level in LEVELS),
    "rating",
    "rating is missing",
)
DERIVED = {name: Derived("brand", level) for name, level in zip(NAMES[1 : 1 + len(LEVELS)], LEVELS, strict=True)} | {
    "rating is missing": Derived("rating", None)
}


def model_of(kind: str) -> RankingModel:
    """Weights, transforms or steps of numbers, levels and flags."""
    rng = np.random.default_rng(5)
    d = len(NAMES)
    fill = np.where([name == "rating" for name in NAMES], 3.5, np.nan)
    fill[0] = 1.0
    steps, transform = {}, None
    if kind == "log":
        transform = Transform(("log",) * d, np.ones(d))
    if kind == "steps":
        steps = {j: StepFunction(np.array([0.5]), rng.normal(size=2)) for j in range(1, d)}
        steps[0] = StepFunction(np.array([0.5, 2.0]), np.array([-1.0, 0.5, 1.0]))
    scaling = FeatureScaling("standard", rng.normal(size=d), rng.uniform(0.5, 2.0, d)) if kind != "steps" else None
    scaling = scaling or FeatureScaling("none", np.zeros(d), np.ones(d))
    return RankingModel.from_arrays(rng.normal(size=d), NAMES, scaling, {}, {}, transform, steps, fill, derived=DERIVED)


def wild_rows(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    texts = [*LEVELS, None, "ACME", "acme ", "never seen", "o'neil", "x" * 9_999, "7.0", "日本", "; DROP TABLE d; --"]
    numbers = np.array([np.nan, np.inf, -np.inf, 1.797e308, 0.0, -2.5, 1e9, 3.0])
    return pd.DataFrame(
        {
            "brand": [texts[i] for i in rng.integers(0, len(texts), n)],
            "bm25": rng.normal(size=n) * 3,
            "rating": np.where(rng.random(n) < 0.5, numbers[rng.integers(0, 8, n)], rng.uniform(1, 5, n)),
        }
    )


ROWS = wild_rows()
KINDS = ["weights", "log", "steps"]


def module_text(value: object) -> str:
    """A category as text, by an exported module."""
    module: dict = {}
    exec(model_of("weights").export("python")["model.py"], module)
    return module["_text"](value)


def expected(kind: str) -> np.ndarray:
    """The scores from columns that the oracle makes, of a model that knows of no categories."""
    columns = [ROWS["bm25"], *oracle.indicators(list(ROWS["brand"]), LEVELS).values(), ROWS["rating"]]
    columns.append([float(oracle.missing(v)) for v in ROWS["rating"]])
    return rebuilt(model_of(kind), derived={}).predict(np.column_stack(columns))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_needs_only_the_columns(kind: str, tmp_path):
    model = model_of(kind)
    assert model.predict(ROWS) == pytest.approx(expected(kind), rel=1e-12)
    model.save(tmp_path / "m.json")
    assert (sr.load_model(tmp_path / "m.json").predict(ROWS) == model.predict(ROWS)).all()
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["version"] == 9
    made = ROWS.assign(**{"brand=acme": 0.0})  # a further column, which is ignored
    assert (model.predict(made) == model.predict(ROWS)).all()
    with pytest.raises(DataError, match="pass a frame"):
        model.predict(np.zeros((3, 2)))
    assert module_text(np.float32(7.0)) == module_text(7) == module_text("7") == "7"


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_sql_read_the_columns(kind: str):
    model, scores = model_of(kind), expected(kind)
    module: dict = {}
    exec(model.export("python")["model.py"], module)
    assert module["FEATURES"] == ("bm25", "brand", "rating")
    rows = ROWS.astype(object).where(ROWS.notna() | ROWS["rating"].isna().to_numpy()[:, None], None).to_dict("records")
    assert [module["score"](row) for row in rows] == pytest.approx(scores, rel=1e-9)
    assert module["score"]({"bm25": 1.0}) == pytest.approx(
        module["score"]({"bm25": 1.0, "brand": None, "rating": None})
    )
    ran("python", RUNTIMES["python"], "categories")
    query = model.export("sql")["score.sql"]
    base = sqlite()
    ROWS.assign(n=range(len(ROWS))).replace({np.inf: None, -np.inf: None}).to_sql("d", base)
    for name, function in {"ln": np.log, "sign": np.sign}.items():
        base.create_function(name, 1, lambda x, f=function: None if x is None else float(f(x)))
    found = [row[0] for row in base.execute(f"SELECT {query} FROM d ORDER BY n")]
    assert found == pytest.approx(scores, rel=1e-9)
    duckdb = pytest.importorskip("duckdb")
    frame = ROWS  # noqa: F841  (DuckDB finds it by name)
    assert duckdb.sql(f"SELECT {query} AS s FROM frame").df()["s"].to_numpy() == pytest.approx(scores, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_takes_texts(kind: str):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model_of(kind).export("onnx")["model.onnx"])
    types = {i.name: i.type for i in session.get_inputs()}
    assert types == {"bm25": "tensor(double)", "brand": "tensor(string)", "rating": "tensor(double)"}
    feed = {name: ROWS[[name]].to_numpy() for name in ("bm25", "rating")}
    feed["brand"] = ROWS[["brand"]].fillna("").to_numpy().astype(object)
    (scores,) = session.run(None, feed)
    assert scores[:, 0] == pytest.approx(expected(kind), rel=1e-9)
    only = unscaled(
        [0.5, -1.0], ("b=x", "b is missing"), derived={"b=x": Derived("b", "x"), "b is missing": Derived("b", "")}
    )
    session = runtime.InferenceSession(only.export("onnx")["model.onnx"])
    assert session.run(None, {"b": np.array([["x"], [""], ["y"]], dtype=object)})[0][:, 0].tolist() == [0.5, -1.0, 0.0]
    ran("onnx", RUNTIMES["onnx"], "categories")


def test_elasticsearch_defines_features_by_queries():
    files = model_of("weights").export("elasticsearch", features={
        "bm25": {"template": {"match": {"title": "{{q}}"}}},
        "rating": {"template": {"match_all": {}}, "field": "rating"},
        "brand": {"field": "brand.keyword"}, "brand=acme": {"template": {"match": {"brand": "acme"}}},
    }, filled=True)  # fmt: skip
    features = {f["name"]: f["template"] for f in json.loads(files["featureset.json"])["featureset"]["features"]}
    assert features["brand=7"] == {"constant_score": {"filter": {"term": {"brand.keyword": "7"}}}}
    assert features["brand=acme"] == {"match": {"brand": "acme"}}  # the user's own
    none = {"bool": {"must_not": {"exists": {"field": "brand.keyword"}}}}
    either = {"bool": {"should": [none, {"term": {"brand.keyword": ""}}]}}
    assert features["brand is missing"] == {"constant_score": {"filter": either}}
    none = {"bool": {"must_not": {"exists": {"field": "rating"}}}}
    assert features["rating is missing"] == {"constant_score": {"filter": none}}


def test_levels_that_templates_would_interpret_are_refused():
    unit = FeatureScaling("none", np.zeros(1), np.ones(1))
    for to, level in (("elasticsearch", "a{{b}}c"), ("solr", "a${b}")):
        name = f"brand={level}"
        model = RankingModel.from_arrays(np.array([1.0]), (name,), unit, derived={name: Derived("brand", level)})
        with pytest.raises(DataError, match="define its feature in features"):
            model.export(to, features={})


def test_a_column_that_is_defined_without_a_field_is_refused():
    features = {name: {"template": {"match_all": {}}} for name in ("bm25", "rating")}
    with pytest.raises(DataError, match="'rating is missing' needs the field of 'rating'"):
        model_of("weights").export("elasticsearch", features=features, filled=True)
    features["rating is missing"] = {"template": {"match_none": {}}}
    text = model_of("weights").export("elasticsearch", features=features, filled=True)["featureset.json"]
    assert '"field": "brand"' in text  # by default, the name of the column


def test_solr_defines_features_by_functions():
    definitions = {
        name: {"class": "org.apache.solr.ltr.feature.FieldValueFeature", "params": {"field": name}}
        for name in ("bm25", "rating")
    }
    files = model_of("weights").export("solr", features=definitions, filled=True)
    queries = {f["name"]: f["params"].get("q") for f in json.loads(files["features.json"])}
    assert queries["brand=7"] == '{!func x="{!field f=\\"brand\\"}7"}if(exists(query($x)),1,0)'
    assert queries["rating is missing"] == '{!func}if(exists(field("rating")),0,1)'
    some = 'and(exists(field("brand")),not(eq(field("brand"),literal(""))))'
    assert queries["brand is missing"] == f"{{!func}}if({some},0,1)"


def test_vespa_compares_texts():
    of = ["brand=acme", "brand=a b", "rating is missing", "brand is missing"]
    unit = FeatureScaling("none", np.zeros(4), np.ones(4))
    model = RankingModel.from_arrays(np.array([0.5, 0.25, -1.0, 2.0]), tuple(of), unit, derived=DERIVED)
    features = {"brand": "attribute(brand)", "rating": "attribute(rating)"}
    text = model.export("vespa", features=features)["sparserank.profile"]
    expression = text[text.index("expression {") + 12 : text.index("}")]
    rows = [{"brand": b, "rating": r} for b in ("acme", "a b", "", "x") for r in (1.0, np.nan)]
    assert evaluated(expression, rows) == pytest.approx([0.5, -0.5, 0.25, -0.75, 2.0, 1.0, 0.0, -1.0])
    whole = unscaled([1.0], ("shop=-3",), derived={"shop=-3": Derived("shop", "-3")})
    text = whole.export("vespa", features={"shop": "attribute(shop)"})["sparserank.profile"]
    expression = text[text.index("expression {") + 12 : text.index("}")]
    assert evaluated(expression, [{"shop": value} for value in ("-3", -3, "3", 3)]) == [1.0, 1.0, 0.0, 0.0]
    quoted = RankingModel.from_arrays(
        np.array([1.0]), (NAMES[3],), FeatureScaling("none", np.zeros(1), np.ones(1)), derived=DERIVED
    )
    with pytest.raises(DataError, match="cannot be written in a Vespa expression"):
        quoted.export("vespa", features=features)
    defined = quoted.export("vespa", features={NAMES[3]: "attribute(is_oneil)"})["sparserank.profile"]
    assert "attribute(is_oneil)" in defined


def test_other_engines_take_the_columns_as_numbers():
    with pytest.raises(DataError, match=r"cannot be a variable of Lucene expressions.*features"):
        model_of("weights").export("lucene", filled=True)
    text = model_of("weights").export("elasticsearch", filled=True)["model.json"]
    assert set(json.loads(json.loads(text)["model"]["model"]["definition"])) == set(NAMES)


def test_inspect_shows_a_category_as_one_feature_and_what_its_levels_add(cli_here: Cli, tmp_path: Path) -> None:
    derived = {"brand=acme": Derived("brand", "acme"), "brand is missing": Derived("brand", "")}
    derived["rating is missing"] = Derived("rating", None)
    weights = [0.5, -0.25, 2.0, 0.125]
    unscaled(weights, ("brand=acme", "brand is missing", "rating", "rating is missing"), derived=derived).save(
        tmp_path / "m.json"
    )
    features, levels = cli_here("inspect", "m.json").out.split("Levels of categories")
    rows = [line.split()[:3] for line in features.splitlines() if line.startswith(("rating", "brand"))]
    assert rows == [["rating", "2", "none"], ["brand", "0.75", "-"]]
    shown = [line.split() for line in levels.splitlines() if line.startswith(("rating", "brand"))]
    assert shown == [
        ["brand", "acme", "+0.5000"],
        ["brand", "missing", "-0.2500"],
        ["rating", "missing", "+0.1250"],
    ]
