"""Vespa's own reader of schemas and evaluator of rank expressions score exported profiles as `predict` does, its
importers read exported trees, and its normaliser of ranks fuses. The content node, in C++, is not run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from integrations.matrix import ran
from servers import VESPA, vespa
from tests.export import test_categories as categories
from tests.export import test_export_values as values
from tests.export.test_export import (
    OF_MATRIX,
    models,  # noqa: F401
)
from tests.export.test_fusion_export import DEPTH, WEIGHTS, formula, made, ours
from tests.support.exported_scores import rows_of

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.export.fusion import export_fusion
from sparserank.shards.scaling import FeatureScaling

PAGE = Path(__file__).parent.parent / "docs" / "deployment" / "vespa.md"
RUNTIME = f"Vespa's evaluator {VESPA}"
SCHEMA = "schema docs {{\n    document docs {{\n{fields}\n    }}\n{profile}\n}}\n"
FIELD = "        field {} type {} {{ indexing: attribute }}"


def scored(folder: Path, profile: str, fields: dict[str, str], rows: list[Any], name: str = "sparserank") -> np.ndarray:
    """Scores by a profile in a schema of fields, {name: type}; rows: {feature: value}."""
    lines = "\n".join(FIELD.format(*of) for of in fields.items())
    (folder / "docs.sd").write_text(SCHEMA.format(fields=lines, profile=profile))
    (folder / "rows.json").write_text(json.dumps(rows))
    return np.array(vespa(folder / "docs.sd", name, folder / "rows.json"))


def attributes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{f"attribute({name})": value for name, value in row.items()} for row in rows]


def exported(model: sr.RankingModel, **options: Any) -> str:
    features = {name: f"attribute({name})" for name in model.feature_names}
    return str(model.export("vespa", features=features, **options)["sparserank.profile"])


@pytest.mark.parametrize("kind", ["linear", "standard", "log", "asinh", "steps"])
def test_vespa_scores_as_predict_does(models: Any, tmp_path: Path, kind: str) -> None:  # noqa: F811
    model, X = models[kind]
    fields = dict.fromkeys(model.feature_names, "double")
    found = scored(tmp_path, exported(model, offset=2.5), fields, attributes(rows_of(model, X)))
    expected = model.predict(X) + 2.5
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    for what in (OF_MATRIX.get(kind, "weights"), "offset"):
        ran("vespa", RUNTIME, what)


@pytest.mark.parametrize("mode", values.MODES)
@pytest.mark.parametrize("kind", values.KINDS)
def test_vespa_knows_what_is_missing(tmp_path: Path, kind: str, mode: str) -> None:
    """NaN, which an attribute without a value is, infinities and numbers that mark missing values."""
    model, options, fill = values.model_of(kind, mode)
    given = [3.25, -2.0, *values.NOT_THERE[1:]]
    rows = attributes([{"a": a, "b": 5.0} for a in given])
    found = scored(tmp_path, exported(model, **options), {"a": "double", "b": "double"}, rows)
    wanted = [values.expected(kind, fill, a) for a in given]
    np.testing.assert_allclose(found, [np.nan if w is None else w for w in wanted], rtol=1e-12)
    ran("vespa", RUNTIME, "missing")


@pytest.mark.parametrize("kind", categories.KINDS)
def test_vespa_compares_texts(tmp_path: Path, kind: str) -> None:
    """Levels that its expressions cannot hold have features of their own; an attribute without a text is empty."""
    model = categories.model_of(kind)
    features = {name: f"attribute({name})" for name in ("brand", "bm25", "rating")}
    held = {
        name: of.level for name, of in categories.DERIVED.items() if of.level and not {'"', "\\"}.isdisjoint(of.level)
    }
    assert len(held) == 2
    flags = {f"flag_{i}": level for i, level in enumerate(held.values())}
    features |= {name: f"attribute({flag})" for name, flag in zip(held, flags, strict=True)}
    rows = []
    for row in categories.ROWS.to_dict("records"):
        text = row["brand"] if isinstance(row["brand"], str) else ""
        rows.append({**row, "brand": text, **{flag: float(text == level) for flag, level in flags.items()}})
    profile = str(model.export("vespa", features=features)["sparserank.profile"])
    fields = {"brand": "string", **dict.fromkeys(["bm25", "rating", *flags], "double")}
    expected = categories.expected(kind)
    found = scored(tmp_path, profile, fields, attributes(rows))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    ran("vespa", RUNTIME, "categories")


def test_levels_that_are_whole_numbers_are_found_in_attributes_of_texts_and_of_numbers(tmp_path: Path) -> None:
    levels = ["7", "-3", "0", "007", "1000000"]
    names = tuple(f"shop={level}" for level in levels)
    derived = {name: Derived("shop", level) for name, level in zip(names, levels, strict=True)}
    unit = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    model = sr.RankingModel.from_arrays(np.arange(1.0, 6.0), names, unit, derived=derived)
    profile = str(model.export("vespa", features={"shop": "attribute(shop)"})["sparserank.profile"])
    texts = scored(tmp_path, profile, {"shop": "string"}, attributes([{"shop": level} for level in [*levels, "8"]]))
    assert texts.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 0.0]
    numbers = [7, -3, 0, 1000000, 8]
    found = scored(tmp_path, profile, {"shop": "int"}, attributes([{"shop": level} for level in numbers]))
    assert found.tolist() == [1.0, 2.0, 3.0, 5.0, 0.0]
    # The flag of a missing number is defined as the page says.
    (features,) = re.findall(r"`(\"brand is missing\": \".*?\")`", PAGE.read_text())
    flag = sr.RankingModel.from_arrays(
        np.ones(1), ("brand is missing",), replace(unit, center=np.zeros(1), scale=np.ones(1))
    )
    profile = str(flag.export("vespa", features=json.loads(f"{{{features}}}"))["sparserank.profile"])
    found = scored(tmp_path, profile, {"brand": "int"}, attributes([{"brand": value} for value in (7, float("nan"))]))
    assert found.tolist() == [0.0, 1.0]


def test_vespa_imports_trees(models: Any, tmp_path: Path) -> None:  # noqa: F811
    """xgboost() of xgboost-dump, and lightgbm() of what LightGBM dumps of its file."""
    model, X = models["steps"]
    (tmp_path / "rows.json").write_text(json.dumps(rows_of(model, X)))
    expected = model.predict(X)
    dumped = lightgbm.Booster(model_str=str(model.export("lightgbm")["model.txt"])).dump_model()
    of_xgboost = str(model.export("xgboost-dump")["model.json"])
    for word, text in (("xgboost", of_xgboost), ("lightgbm", json.dumps(dumped))):
        (tmp_path / f"{word}.json").write_text(text)
        found = np.array(vespa(tmp_path / f"{word}.json", word, tmp_path / "rows.json"))
        shift = float(np.median(found - expected))
        np.testing.assert_allclose(found - shift, expected, atol=1e-6 * np.abs(expected).max(), err_msg=word)
        ran("lightgbm" if word == "lightgbm" else "xgboost-dump", RUNTIME, "steps")


@pytest.mark.parametrize("norm", ["rrf", "rrf(k=0)", "logrank", "returned"])
def test_vespa_fuses_as_the_formula(tmp_path: Path, norm: str) -> None:
    lists = dict(list(made().items())[:200])
    of = formula(norm, "vespa")
    profile = str(export_fusion(of, "vespa")["sparserank.profile"])
    fields = {f"score_{i}": "double" for i in range(1, len(WEIGHTS) + 1)}
    for i in range(1, len(WEIGHTS) + 1):
        assert f"REPLACE_retriever_{i}" in profile
        profile = profile.replace(f"REPLACE_retriever_{i}", f"attribute(score_{i})")
    hits, keys = [], []
    for q, own in lists.items():
        documents = sorted({d for entries in own.values() for d, _ in entries})
        held = {name: dict(entries) for name, entries in own.items()}
        keys += [(q, d) for d in documents]
        # The score of what a retriever returned is above 0, and 0 is what it did not return.
        values = [[1.0 + held[n][d] if d in held.get(n, {}) else 0.0 for n in of.retrievers] for d in documents]
        hits.append(attributes([dict(zip(fields, row, strict=True)) for row in values]))
    scores = scored(tmp_path, profile, fields, hits)
    found: dict[str, dict[str, float]] = {q: {} for q in lists}
    for (q, d), score in zip(keys, scores.tolist(), strict=True):
        if score > 0:
            found[q][d] = score
    expected = ours(of, lists)
    assert max(map(len, expected.values())) > DEPTH
    for q in lists:
        assert found[q] == pytest.approx(expected[q], rel=1e-12, abs=4e-9)
    ran("vespa", RUNTIME, "fusion")
