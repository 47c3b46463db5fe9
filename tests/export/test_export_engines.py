"""The default model in Elasticsearch, OpenSearch and Solr: scores by their documented formulas."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.errors import DataError
from sparserank.export import ENGINES, offset_of
from sparserank.model.ranking_model import RankingModel
from sparserank.selection.fit import fit_model
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import KINDS, Transform
from tests.oracles import engines as oracle
from tests.robustness.test_names_are_data import HOSTILE
from tests.support.command_line import Cli, assert_refused
from tests.support.exported_scores import python_score, rows_of
from tests.support.models import array_of, rebuilt

PLUGIN = ("elasticsearch", "opensearch")
SHAPES = ("log", "asinh", "mixed", "standard log")
FIELD, QUERY = "org.apache.solr.ltr.feature.FieldValueFeature", "org.apache.solr.ltr.feature.SolrFeature"


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[RankingModel, np.ndarray]]:
    """{kind: (model, X)}, documents of both signs, and some of nothing but 0."""
    rng = np.random.default_rng(0)
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(60, random_state=1).data
    makers = {
        "log": (sr.SparseRanker(k=6, feature_transform="log"), plain),
        "asinh": (sr.SparseRanker(k=6, feature_transform="asinh"), plain),
        "steps": (sr.SparseRanker(penalty="steps", k=6), curved),
    }
    out = {kind: ranker.fit_dataset(data).to_model() for kind, (ranker, data) in makers.items()}
    log = out["log"]
    kinds = tuple("log" if j % 2 else "none" for j in range(12))
    out["mixed"] = made(log.coef, kinds, scale=array_of(log, "scale", 1.0))
    out["standard log"] = made(log.coef, ("log",) * 12, scale=array_of(log, "scale", 1.0), center=rng.random(12))
    assert all(f.kind == "steps" for f in out["steps"].features)
    X = {}
    for kind, model in out.items():
        X[kind] = np.exp(2.0 * rng.standard_normal((100, model.n_features)))
        X[kind] *= rng.choice([-1.0, 1.0], size=X[kind].shape)
        X[kind][:10] = 0.0
    return {kind: (model, X[kind]) for kind, model in out.items()}


def made(coef, kinds, *, names=None, scale=1.0, center=0.0, steps=None, **more):
    d = len(kinds)
    scaling = FeatureScaling("standard", np.zeros(d) + center, np.ones(d) * scale)
    names = names or tuple(f"f{j}" for j in range(d))
    transform = Transform(kinds, np.full(d, 2.5))
    return RankingModel.from_arrays(
        np.asarray(coef, float), names, scaling, transform=transform, steps=steps or {}, **more
    )


def templates(model: RankingModel) -> dict[str, Any]:
    return {name: {"template": {"of": name}} for name in model.feature_names}


def in_plugin(files: dict[str, Any], rows: list[dict[str, float]]) -> np.ndarray:
    """Scores of featureset.json and model.json, its templates those of `templates`."""
    value = lambda feature, row: row[feature["template"]["of"]]  # noqa: E731
    return np.array(oracle.plugin_scores(files["featureset.json"], files["model.json"], rows, value))


def fields(model: RankingModel) -> dict[str, Any]:
    return {name: {"class": FIELD, "params": {"field": name}} for name in model.feature_names}


def queries(model: RankingModel) -> dict[str, Any]:
    return {name: {"class": QUERY, "params": {"q": f"{{!field f={name}}}${{text}}"}} for name in model.feature_names}


def in_solr(files: dict[str, Any], rows: list[dict[str, float | None]]) -> np.ndarray:
    def query(text: str, row: dict[str, float | None]) -> float | None:
        found = re.fullmatch(r"\{!field f=(.*)\}\$\{text\}", text, re.DOTALL)
        assert found
        return row[found.group(1)]

    return np.array(oracle.solr_scores(files["features.json"], files["model.json"], rows, lambda n, row: row[n], query))


def assert_same(found: np.ndarray, expected: np.ndarray, shift: float | None = None) -> None:
    """Up to a constant, which changes no order, in single precision; with `shift` exactly that constant."""
    if shift is None:
        shift = float(np.median(found - expected))
    size = np.abs(expected).max() + abs(shift)
    np.testing.assert_allclose(found - shift, expected, atol=3e-6 * size)


@pytest.mark.slow_but("log-opensearch")
@pytest.mark.parametrize("normalizers", [False, True])
@pytest.mark.parametrize("to", PLUGIN)
@pytest.mark.parametrize("kind", [*SHAPES, "steps"])
def test_derived_features_score_as_predict_does(models, kind, to, normalizers):
    model, X = models[kind]
    files = model.export(to, features=templates(model), name="shop", normalizers=normalizers)
    assert list(files) == ["featureset.json", "model.json"]
    expected = model.predict(X)
    assert_same(in_plugin(files, rows_of(model, X)), expected)
    shifted = model.export(to, features=templates(model), offset=7.5, normalizers=normalizers)
    assert_same(in_plugin(shifted, rows_of(model, X)), expected, shift=7.5)


def test_the_comparison_sees_another_logarithm(models):
    model, X = models["log"]
    files = model.export("elasticsearch", features=templates(model))
    wrong = {"featureset.json": files["featureset.json"].replace("ln(1 +", "ln(2 +"), "model.json": files["model.json"]}
    with pytest.raises(AssertionError):
        assert_same(in_plugin(wrong, rows_of(model, X)), model.predict(X))
    content = json.loads(files["featureset.json"])
    content["featureset"]["features"].reverse()  # a derived feature before what it derives from sees 0
    wrong["featureset.json"] = json.dumps(content)
    with pytest.raises(AssertionError):
        assert_same(in_plugin(wrong, rows_of(model, X)), model.predict(X))


def test_an_existing_set_gets_the_derived_features(models):
    """Without definitions: derived.json, for _addfeatures, behind features of our names."""
    model, X = models["log"]
    files = model.export("elasticsearch")
    assert list(files) == ["derived.json", "model.json"]
    own = {"params": [], "template_language": "mustache"}
    there = [{"name": n, **own, "template": {"of": n}} for n in model.feature_names]
    both = json.dumps({"features": [*there, *json.loads(files["derived.json"])["features"]]})
    whole = {"featureset.json": both, "model.json": files["model.json"]}
    assert_same(in_plugin(whole, rows_of(model, X)), model.predict(X))
    plain = made([1.0, -2.0], ("none", "none"))
    assert list(plain.export("elasticsearch")) == ["model.json"]
    assert list(plain.export("elasticsearch", offset=3)) == ["derived.json", "model.json"]


@pytest.mark.parametrize("definitions", [fields, queries])
@pytest.mark.parametrize("kind", SHAPES)
def test_functions_of_solr_score_as_predict_does(models, kind, definitions):
    model, X = models[kind]
    X = X if definitions is fields else np.abs(X)  # no query has a negative score
    for normalizers in (False, True):
        files = model.export("solr", features=definitions(model), name="shop", normalizers=normalizers)
        assert list(files) == ["features.json", "model.json"]
        assert_same(in_solr(files, rows_of(model, X)), model.predict(X))


def test_a_document_without_the_field_has_its_default(models):
    for kind in SHAPES:
        model, _ = models[kind]
        d = model.n_features
        for definitions in (fields, queries):
            for default in (0.0, 2.0):
                given = definitions(model)
                for one in given.values():
                    one["params"]["defaultValue"] = default
                files = model.export("solr", features=given)
                full = dict.fromkeys(model.feature_names, 1.5)
                empty = dict.fromkeys(model.feature_names)
                found = in_solr(files, [full, empty])
                expected = model.predict(np.array([[1.5] * d, [default] * d]))
                assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], rel=1e-4, abs=1e-5)


def test_the_comparison_sees_what_solr_does_to_negative_functions(models):
    """The wrong variant: one feature for both sides of 0."""
    model, X = models["log"]
    files = model.export("solr", features=fields(model))
    content = [f for f in json.loads(files["features.json"]) if "negative_" not in f["name"]]
    assert len(content) * 2 == len(json.loads(files["features.json"]))
    for f in content:
        both = r"if(lt(\1,0),sub(0,ln(sub(1,\1))),ln(sum(1,\1)))"
        f["params"]["q"] = re.sub(r"ln\(sum\(1,max\((.*),0\)\)\)", both, f["params"]["q"])
    one_sided = json.loads(files["model.json"])
    one_sided["features"] = [f for f in one_sided["features"] if "negative_" not in f["name"]]
    wrong = {"features.json": json.dumps(content), "model.json": json.dumps(one_sided)}
    with pytest.raises(AssertionError):
        assert_same(in_solr(wrong, rows_of(model, X)), model.predict(X))
    assert_same(in_solr(wrong, rows_of(model, np.abs(X))), model.predict(np.abs(X)))  # where nothing is negative


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_small_values_keep_their_digits(kind):
    model = made([1.0, -0.5], (kind, kind), scale=1e-6)
    X = 1e-6 * np.random.default_rng(0).standard_normal((50, 2))
    expected = model.predict(X)
    assert_same(in_solr(model.export("solr", features=fields(model)), rows_of(model, X)), expected)
    assert_same(in_plugin(model.export("elasticsearch", features=templates(model)), rows_of(model, X)), expected)


NAMES = (*HOSTILE, "", "a.b", "ln", "max", "x'y", 'x"y', "constant", "log1p_ok", "if", "def", "ok_", "1st", "a b")


def test_names_are_data_in_both():
    """Blanks, quotes, unicode, words of the languages, and names that derived features would have."""
    rng = np.random.default_rng(0)
    d = len(NAMES)
    kinds = tuple(("log", "asinh", "none")[j % 3] for j in range(d))
    model = made(rng.standard_normal(d), kinds, names=NAMES)
    steps = {2: StepFunction(np.array([0.1, 1.0, 2.0]), np.array([0.3, -0.2, 0.5, 0.1]))}
    X = np.exp(rng.standard_normal((20, d)))
    expected = model.predict(X)
    for to in PLUGIN:
        stepped = rebuilt(model, steps=steps)
        files = stepped.export(to, features=templates(model), offset=1.0)
        assert_same(in_plugin(files, rows_of(model, X)), stepped.predict(X), shift=1.0)
        assert "\x1b" not in "".join(map(str, files.values()))
    given = {n: {"class": FIELD, "params": {"field": n or "empty"}} for n in NAMES}
    rows = [{**row, "empty": row[""]} for row in rows_of(model, X)]
    assert_same(in_solr(model.export("solr", features=given), rows), expected)
    hostile = next(j for j in range(d) if NAMES[j] == "'q\"")
    odd = made([1.0], ("log",), names=(NAMES[hostile],))
    with pytest.raises(DataError, match="cannot be a variable of the plugin's derived features"):
        odd.export("elasticsearch")


def test_a_query_is_quoted_as_it_is():
    text = """{!edismax qf="title^2 body" mm='50%' v="say \\"x\\""}"""
    given = {"f0": {"class": QUERY, "params": {"q": text}}}
    (features, _) = made([1.0], ("log",)).export("solr", features=given).values()
    seen = []
    (feature,) = json.loads(features)
    oracle._query_score(feature["params"]["q"], {}, None, lambda q, row: seen.append(q))
    assert set(seen) == {text}


def test_what_solr_cannot_express_is_refused():
    model = made([1.0, 2.0], ("log", "none"))
    other, many = {"class": "c", "params": {}}, {"field": "a", "defaultValue": "many"}
    original = "org.apache.solr.ltr.feature.OriginalScoreFeature"
    for f0, message in (
        (None, "has no definition of 1 of 2 selected features: f0; define"),
        ({"class": original}, "'f0' is a 'OriginalScore"),
        ({"class": FIELD}, "The params of 'f0' need 'field' as a string"),
        ({"class": FIELD, "params": {"field": "${x}"}}, r"The field of 'f0' cannot contain '\$\{'"),
        ({"class": QUERY, "params": {"q": 3}}, "The params of 'f0' need 'q' as a string"),
        ({"class": FIELD, "params": many}, "The defaultValue of 'f0' must be a number; got 'many'"),
        ({"class": QUERY, "params": {"q": "x", "fq": ["y"], "defaultValue": 1}}, "'f0' has both fq and a defaultValue"),
    ):
        given = {"f1": other} if f0 is None else {"f0": f0, "f1": other}
        with pytest.raises(DataError, match=message):
            model.export("solr", features=given)
    with pytest.raises(DataError, match="Solr needs the definition of 'f0' to express log"):
        model.export("solr")
    kept = made([1.0], ("log",)).export("solr", features={"f0": {"class": QUERY, "params": {"q": "x", "fq": ["y"]}}})
    assert json.loads(kept["features.json"])[0]["params"]["fq"] == ["y"]


@pytest.mark.parametrize("to", ["solr", "elasticsearch", "opensearch", "ranklib", "lucene"])
def test_engines_that_take_0_for_a_missing_value_are_refused_another_one(to):
    """Refused, as of features that enter as they are, unless the engine's own features give the value."""
    kinds = ("none",) if to == "ranklib" else ("log",)
    model = made([1.0], kinds, fill_values=np.array([0.75]))
    given = {"solr": fields(model)}.get(to)
    with pytest.raises(DataError, match=r"replaces .* with 0.75, but .* replaces it with 0\. .*filled=True"):
        model.export(to, features=given)
    assert model.export(to, features=given, filled=True)
    assert made([1.0], kinds, fill_values=np.array([0.0])).export(to, features=given)
    medians = made([1.0], kinds, medians=np.array([0.5]))
    assert medians.export(to, features=given)
    with pytest.raises(DataError, match=r"replaces a missing 'f0' with 0.5"):
        medians.export(to, features=given, missing="model")


def test_every_engine_refuses_what_it_declares_not_to_run():
    models = {kind: made([1.0], (kind,)) for kind in KINDS}
    stepped = made([1.0], ("none",), steps={0: StepFunction(np.array([0.5]), np.array([0.0, 1.0]))})
    for name, engine in ENGINES.items():
        assert engine.name == name
        given = {"solr": fields(stepped), "vespa": {"f0": "attribute(a)"}}.get(name)
        assert bool(engine.lacks(steps=True)) != engine.steps
        if engine.steps:
            assert stepped.export(name, features=given)
        else:
            with pytest.raises(DataError, match=r"cannot express steps\(f0\)"):
                stepped.export(name, features=given)
        for kind, model in models.items():
            runs = kind in engine.transforms
            assert bool(engine.lacks([kind])) != runs
            if runs:
                assert model.export(name, features=given)
            else:
                takes = "weights of raw features" if engine.transforms else "steps"
                with pytest.raises(DataError, match=f"takes {takes} only, and cannot express"):
                    model.export(name, features=given)
        assert engine.lacks(lists=True)
    assert not ENGINES["ranklib"].steps


def test_the_offset_is_found_from_what_the_model_knows():
    known = made([1.0, 2.0], ("none", "none"), metadata={"lowest_score": -6.4})
    assert offset_of(known, "auto") == 8.0
    assert python_score(known, offset="auto")({"f0": 0.0, "f1": -3.2}) == pytest.approx(1.6)
    above = made([1.0], ("none",), metadata={"lowest_score": 3.0})
    assert offset_of(above, "auto") == 0.0
    for lowest in (None, "x", float("nan"), True and float("inf")):
        unknown = made([1.0], ("none",), metadata={"lowest_score": lowest})
        with pytest.raises(DataError, match="does not contain the lowest score of its training documents"):
            unknown.export("lucene", offset="auto")
    for bad in ("Auto", "", "8", float("nan"), True):
        with pytest.raises(DataError, match="offset must be a finite number or auto; got"):
            known.export("lucene", offset=bad)
    with pytest.raises(DataError, match="sigmoid cannot be combined with offset"):
        known.export("lucene", offset="auto", sigmoid=True)
    with pytest.raises(DataError, match=r"offset cannot be written .*accepts negative scores"):
        known.export("solr", offset="auto")


def test_no_training_document_is_negative_with_the_offset():
    data = make_ranking(60, (8, 14), 12, n_informative=4, noise=0.5, random_state=1).data
    result = sr.select(data, half_samples=0, n_alphas=8, cv=3, relaxed=False)
    fitted = fit_model(data, alpha_ratio=0.1).model
    for model in (result.model, fitted):
        scores = model.score_dataset(data)
        assert model.metadata["lowest_score"] == scores.min() < 0
        files = model.export("elasticsearch", features=templates(model), offset="auto")
        found = in_plugin(files, rows_of(model, data.X))
        assert found.min() >= 1.0
        assert_same(found, data.from_input_order(scores), shift=offset_of(model, "auto"))


@pytest.fixture
def export(cli_here: Cli) -> Cli:
    return partial(cli_here, "export")


RAISED = "every score is raised by 8, which does not change the ranking; the lowest training score becomes 1.6"


def test_the_command_notes_what_the_files_do_not_contain(models, export: Cli, tmp_path: Path):
    model, _ = models["log"]
    model.save(tmp_path / "old.json")
    low = made(model.coef, ("log",) * 12, names=model.feature_names, metadata={"lowest_score": -6.4})
    low.save(tmp_path / "m.json")
    (tmp_path / "t.json").write_text(json.dumps(templates(model)))
    (tmp_path / "q.json").write_text(json.dumps(queries(model)))
    for arguments, message in (
        (("m.json", "--to", "elasticsearch"), "derived.json adds the derived features to a feature set"),
        (("m.json", "--to", "opensearch", "--features", "t.json"), "(the lowest training document scores -6.4)"),
        (("old.json", "--to", "elasticsearch", "--features", "t.json"), "--offset auto keeps scores positive."),
        (("m.json", "--to", "elasticsearch", "--features", "t.json", "--offset", "auto"), RAISED),
        (("m.json", "--to", "solr", "--features", "q.json"), "put a \\ before each"),
    ):
        done = export(*arguments, "--out", f"out{len(list(tmp_path.iterdir()))}").done
        assert message in " ".join(done.err.split())
    for arguments, status, message in (
        (("old.json", "--to", "lucene", "--offset", "auto"), 1, "does not contain the lowest score"),
        (("m.json", "--to", "lucene", "--offset", "many"), 2, "must be a finite number or auto; got 'many'"),
        (("m.json", "--to", "lucene", "--offset", "inf"), 2, "--offset: must be a finite number or auto"),
        (("m.json", "--to", "solr"), 1, "Define every selected feature in --features"),
        (("m.json", "--to", "ranklib"), 1, "cannot express log("),
        (("m.json", "--to", "elasticsearch", "--sigmoid"), 2, "--sigmoid: cannot be written"),
    ):
        assert_refused(export(*arguments), status, message)
