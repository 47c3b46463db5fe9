"""What columns and documents may hold: types of databases, and values that are missing, in every export."""

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from integrations.matrix import ran

from sparserank.bins import StepFunction
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.export.test_export import RUNTIMES
from tests.oracles import exported as oracle
from tests.support.exported_scores import expression_of, python_score, session_of, sqlite
from tests.support.models import rebuilt

KINDS = ("none", "log", "asinh", "steps")
NOT_THERE = (None, math.nan, math.inf, -math.inf, 1.79e308, 1.797e308, -1.797e308, 1.7976931348623157e308)
THERE = (0.0, 3.25, -2.0, -1.0, 4.0, 1e300, 1.78e308)
FILL = 0.75


MODES = ("no fill value", "fill value", "median, not asked for", "median, asked for")


def model_of(kind: str, mode: str) -> tuple[RankingModel, dict[str, Any], float | None]:
    """(2 * t(a) + b, the options of its exports, what replaces a missing a)."""
    transform = Transform((kind, "none"), np.array([3.0, 1.0])) if kind in ("log", "asinh") else None
    steps = {0: StepFunction(np.array([-1.0, 0.5, 4.0]), np.array([-0.5, 0.25, 1.5, 0.0]))} if kind == "steps" else {}
    scaling = FeatureScaling("none", np.zeros(2), np.ones(2))
    model = RankingModel.from_arrays(np.array([2.0, 1.0]), ("a", "b"), scaling, transform=transform, steps=steps)
    if mode == "fill value":
        return rebuilt(model, fill_values=np.array([FILL, np.nan])), {}, FILL
    if mode == "no fill value":
        return model, {}, None
    model = rebuilt(model, medians=np.array([FILL, 1.0]))
    return (model, {"missing": "model"}, FILL) if mode == "median, asked for" else (model, {}, None)


def expected(kind: str, fill: float | None, a: float | None) -> float | None:
    """2 * t(a) + b by hand, of documents whose b is 5; None: there is no score."""
    if a is None or not abs(a) < 1.79e308:
        a = fill
    if a is None:
        return None
    if kind == "log":
        return 2.0 * math.copysign(math.log1p(abs(a)), a) + 5.0
    if kind == "asinh":
        return 2.0 * math.asinh(a / 3.0) + 5.0
    if kind == "steps":
        return 2.0 * (-0.5 if a <= -1.0 else 0.25 if a <= 0.5 else 1.5 if a <= 4.0 else 0.0) + 5.0
    return 2.0 * a + 5.0


def bases(folder: Path, values: tuple[float | None, ...]) -> dict[str, tuple[object, str]]:
    """{name: (connection, what to select from)}: the documents id, a, b = 5."""
    rows = [(i, v, 5.0) for i, v in enumerate(values)]
    lite, duck = sqlite(), duckdb.connect()
    table = pa.table(
        {"id": range(len(rows)), "a": pa.array([v for _, v, _ in rows], pa.float64()), "b": [5.0] * len(rows)}
    )
    pq.write_table(table, folder / "docs.parquet")
    for base in (lite, duck):
        base.execute("create table docs (id integer, a double, b double)")
        base.executemany("insert into docs values (?, ?, ?)", rows)
    return {"SQLite": (lite, "docs"), "DuckDB": (duck, "docs"), "Parquet": (duck, f"'{folder}/docs.parquet'")}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [(*THERE, *NOT_THERE), (3.25, math.nan, None, -2.0), (3.25, math.nan, 3.25)],
    ids=["all", "NaN", "one value"],
)
def test_sql_knows_what_is_missing(tmp_path: Path, values: tuple[float | None, ...], kind: str, mode: str):
    """NaN among small numbers apart: Parquet's statistics leave it out, and DuckDB believes them."""
    values = tuple(v for v in values if kind != "none" or v is None or not 1e300 < abs(v) < 1.79e308)  # 2 x overflows
    model, options, fill = model_of(kind, mode)
    (text,) = model.export("sql", **options).values()
    want = [expected(kind, fill, v) for v in values]
    for name, (base, source) in bases(tmp_path, values).items():
        found = [s for (s,) in base.execute(f"select {text} from {source} order by id").fetchall()]  # type: ignore[attr-defined]
        assert [s is None for s in found] == [w is None for w in want], name
        known = [i for i, w in enumerate(want) if w is not None]
        np.testing.assert_allclose([found[i] for i in known], [want[i] for i in known], rtol=1e-12, err_msg=name)
        order = [
            i
            for (i,) in base.execute(f"select id from {source} order by {text} desc nulls last, id").fetchall()  # type: ignore[attr-defined]
        ]
        assert order == sorted(range(len(values)), key=lambda i: (want[i] is None, -(want[i] or 0.0), i)), name


def test_the_comparison_would_see_nan_that_passes(tmp_path: Path):
    """The wrong variant: COALESCE knows NULL alone, and NaN ranks first."""
    for name, (base, source) in bases(tmp_path, (3.25, math.nan, -2.0)).items():
        if name != "SQLite":  # whose NaN is NULL
            rows = base.execute(f"select id from {source} order by 2e0 * COALESCE(a, 0.75e0) desc").fetchall()  # type: ignore[attr-defined]
            assert rows == [(1,), (0,), (2,)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_export_knows_what_is_missing(kind: str, mode: str):
    """One document at a time: its score, the one of the fill value, or none:
    Python raises, ONNX, Vespa and Lucene give NaN."""
    model, options, fill = model_of(kind, mode)
    score = python_score(model, **options)
    session = session_of(model.export("onnx", **options)["model.onnx"])
    texts = {
        "vespa": expression_of(model, "vespa", **options),
        "lucene": expression_of(model, "lucene", filled=True, **options),
    }
    for a in (3.25, -2.0, *NOT_THERE):
        want = expected(kind, fill, a)
        if want is None:
            with pytest.raises(ValueError, match=r"'a' is .*: a missing value, and the model has no fill value for it"):
                score({"a": a, "b": 5.0})
        else:
            assert score({"a": a, "b": 5.0}) == pytest.approx(want, rel=1e-12)
        if a is None:
            continue
        found = {to: oracle.evaluated(text, [{"a": a, "b": 5.0}])[0] for to, text in texts.items()}
        found["onnx"] = float(session.run(None, {"a": np.array([[a]]), "b": np.array([[5.0]])})[0][0, 0])
        for to, of_engine in found.items():
            assert of_engine == pytest.approx(math.nan if want is None else want, rel=1e-12, nan_ok=True), (to, a)
    if fill is None:
        with pytest.raises(KeyError, match="'a'"):
            score({"b": 5.0})
    else:
        assert score({"b": 5.0}) == pytest.approx(expected(kind, fill, None), rel=1e-12)
    for to, runtime in RUNTIMES.items():
        ran(to, runtime, "missing")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_was_boolean_is_cast_to_whole_numbers(kind: str, mode: str):
    """PostgreSQL casts a boolean to nothing else. Its steps and its transform have two values."""
    model, options, fill = model_of(kind, mode)
    model = rebuilt(model, metadata={"booleans": ["a", "unused"]})
    (text,) = model.export("sql", **options).values()
    assert 'CAST("a" AS DOUBLE' not in text
    for base in (sqlite(), duckdb.connect()):
        base.execute("create table docs (a boolean, b double)")
        base.execute("insert into docs values (false, 5), (true, 5), (NULL, 5)")
        found = [s for (s,) in base.execute(f"select {text} from docs").fetchall()]
        for score, a in zip(found, (0.0, 1.0, None), strict=True):
            want = expected(kind, fill, a)
            assert score == (None if want is None else pytest.approx(want, rel=1e-12))
    for known in (3, {"a": 1}, None):  # of a file that somebody else wrote
        (other,) = rebuilt(model, metadata={"booleans": known}).export("sql", **options).values()
        assert 'CAST("a" AS DOUBLE' in other
    (own,) = model.export("sql", features={"a": "a + 0"}, **options).values()
    assert "CAST((a + 0) AS DOUBLE" in own


TYPES = ("BOOLEAN", "DECIMAL(18,3)", "DECIMAL(38,3)", "DECIMAL(38,20)", "TINYINT", "UBIGINT", "HUGEINT", "FLOAT")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_any_numeric_type(kind: str, mode: str):
    model, options, fill = model_of(kind, mode)
    (text,) = model.export("sql", **options).values()
    duck = duckdb.connect()
    for of in TYPES:
        duck.execute(f"create or replace table docs (a {of}, b {of})")
        duck.execute("insert into docs values (0, 1), (1, 1), (NULL, 1)")
        found = [s for (s,) in duck.execute(f"select {text} from docs").fetchall()]
        for score, a in zip(found, (0.0, 1.0, None), strict=True):
            want = expected(kind, fill, a)
            assert score == (None if want is None else pytest.approx(want - 4.0, rel=1e-12)), of
