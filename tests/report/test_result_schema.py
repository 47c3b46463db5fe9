"""result.json follows its published schema, which refuses what is not a result."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import sparserank as sr
from sparserank.datasets import make_ranking

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
QUICK = {"n_alphas": 6, "cv": 2, "relaxed": False, "feature_transform": "none"}


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    data = make_ranking(60, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=4).data
    train, test = data.take_queries(np.arange(45)), data.take_queries(np.arange(45, 60))
    now = sr.SparseRanker().fit_dataset(train).to_model()
    of = dict.fromkeys(list(data.feature_names or ())[:2], "a")
    asked: dict[str, dict[str, Any]] = {
        "plain": {"half_samples": 0},
        "all": {"test": test, "half_samples": 4, "current": now, "feature_groups": of, "penalties": ["l1", "mcp"]},
        "curves": {"half_samples": 0, "feature_transform": "curves(log)", "penalties": "mcp"},
        "holdout": {"valid": test, "protocol": "holdout", "half_samples": 2, "k": 4},
    }
    return {
        name: sr.select(train, **{"penalties": "l1", **QUICK, **options}).to_json() for name, options in asked.items()
    }


def test_a_fusion_follows_the_schema() -> None:
    rng = np.random.default_rng(0)
    runs = {}
    for name in "ab":
        runs[name] = {f"q{q}": {f"d{i}": float(rng.random() + i % 2) for i in range(9)} for q in range(20)}
    qrels = {f"q{q}": {"d1": 1.0, "d3": 1.0, "d2": 0.0} for q in range(20)}
    found = sr.fuse(runs, qrels, penalties="l1", half_samples=0, costs={"a": 1.0, "b": 2.0}).to_json()
    jsonschema.validate(found, SCHEMA)
    assert set(found) == set(SCHEMA["properties"])
    assert found["fusion"] is not None


@pytest.mark.parametrize("name", ["plain", "all", "curves", "holdout"])
def test_results_follow_the_schema(results: dict[str, dict[str, Any]], name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(results[name], SCHEMA)
    assert set(results[name]) == set(SCHEMA["properties"])


@pytest.mark.slow
def test_the_schema_refuses_what_is_no_result(results: dict[str, dict[str, Any]]) -> None:
    whole = results["all"]
    for change in (
        *({"version": 2}, {"margin_kind": "auto"}, {"format": "sparserank-model"}, {"sizes": None}, {"headline": 3}),
        {"chosen": {k: v for k, v in whole["chosen"].items() if k != "bound"}},
        {"features": [whole["features"][0] | {"weight": "0.5"}]},
        {"features": [whole["features"][0] | {"transform": "sqrt"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(copy.deepcopy(whole) | change, SCHEMA)
    for missing in whole:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in whole.items() if k != missing}, SCHEMA)


def test_the_page_describes_every_field_of_the_schema() -> None:
    text = (DOCS / "result-json.md").read_text(encoding="utf-8").split("## With --for-model")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(SCHEMA["properties"])
