"""SQL that is exported for databases, in PostgreSQL, ClickHouse, DuckDB and SQLite: scores and order are those of
`predict`, on rows of every size, with NULL, and NaN and infinities where the database has them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import databases
import numpy as np
import pandas as pd
import pytest
from databases import Database
from integrations.matrix import ran
from tests.export import test_fusion_export as fusion
from tests.support.models import rebuilt

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.export.fusion import export_fusion
from sparserank.model.fusion import FusionFormula, FusionTerm
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

LEVELS = ["acme", "", 'o\'neil "q"', "💡 lamp", "back\\slash", "\\", "\\' OR 1 = 1 --", "a\\nb", "7", "%s {x:Int8} :y"]
NUMBERS = ("price", 'it\'s "age" 100%', "Größe.km")
THRESHOLDS = (-2.0, 0.1, 1 / 3, 4.0)
SIZES = (5e-324, 1e-300, 1e-170, 1e-100, 1e-5, 1.0, 12.5, 1e5, 1e17, 1e160, 1e300)
NOT_THERE = (None, math.nan, math.inf, -math.inf, 1.797e308, -1.7976931348623157e308)
KINDS = ("weights", "log", "asinh", "steps")
RECORDED = {"weights": "weights", "steps": "steps"}
N = 2_000


@pytest.fixture(scope="module", params=databases.NAMES)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with databases.database(request.param, tmp_path_factory.mktemp("base")) as running:
        yield running


def rows(seed: int = 4) -> pd.DataFrame:
    """Wild rows; every edge of the steps and its neighbours are among them."""
    rng = np.random.default_rng(seed)
    near = [v for t in THRESHOLDS for v in (t, math.nextafter(t, -math.inf), math.nextafter(t, math.inf))]
    known = [*near, 0.0, -0.0, *SIZES, *(-s for s in SIZES)]
    texts = [*LEVELS, None, "ACME", "acme ", "never seen", "\\\\", "back\\\\slash", "a\nb", "日本"]
    made: dict[str, list[Any]] = {}
    for name in NUMBERS:
        every = [*rng.normal(0, 3, 60).tolist(), *known, *NOT_THERE]
        made[name] = [every[i] for i in rng.integers(len(every), size=N)]
    made["brand"] = [texts[i] for i in rng.integers(len(texts), size=N)]
    made["stock"] = [[0, 1, -7, 2**53, None][i] for i in rng.integers(5, size=N)]
    made["new"] = [[True, False, None][i] for i in rng.integers(3, size=N)]
    return pd.DataFrame(made, dtype=object)


ROWS = rows()
COLUMNS = {**dict.fromkeys(NUMBERS, "number"), "brand": "text", "stock": "whole", "new": "boolean"}
DERIVED = {d.name: d for d in (*(Derived("brand", level) for level in LEVELS), Derived("price", None))}
FEATURES = (*NUMBERS, "stock", "new", *DERIVED)
UNFILLED = NUMBERS[2]  # without it there is no score


def model_of(kind: str, scaled: bool) -> RankingModel:
    """A model of all columns. PostgreSQL raises an error where a product is too small for a number: no weight is
    below 1, and no constant of asinh above."""
    rng, d = np.random.default_rng(7), len(FEATURES)
    numbers = len(NUMBERS) + 1
    transform, steps = None, {}
    if kind in ("log", "asinh"):
        transform = Transform(
            ((kind,) * numbers + ("none",) * (d - numbers)), np.array([1.0, 1e-6, 0.25] + [1.0] * (d - 3))
        )
    if kind == "steps":
        steps = {j: StepFunction(np.array(THRESHOLDS), rng.normal(size=len(THRESHOLDS) + 1)) for j in range(numbers)}
        steps |= {j: StepFunction(np.array([0.5]), rng.normal(size=2)) for j in range(numbers, d)}
    center, scale = (rng.normal(size=d), rng.uniform(0.5, 1.0, d)) if scaled else (np.zeros(d), np.ones(d))
    fill = np.array([1.5, -0.5, math.nan, 3.0, 0.25] + [math.nan] * len(DERIVED))
    return RankingModel.from_arrays(
        rng.choice([-1.0, 1.0], d) * rng.uniform(1.0, 3.0, d),
        FEATURES,
        FeatureScaling("standard" if scaled else "none", center, scale),
        metadata={"booleans": ["new"]},
        transform=transform,
        steps=steps,
        fill_values=fill,
        derived=DERIVED,
    )


def expected(model: RankingModel) -> tuple[np.ndarray, np.ndarray]:
    """The scores of `predict`, NaN where there is none, and how far rounding may take them: the sum of the sizes of the
    terms, each rounded a few times."""
    frame = ROWS.assign(**{name: ROWS[name].astype(float) for name in (*NUMBERS, "stock", "new")})
    there = np.isfinite(frame[UNFILLED]) & (frame[UNFILLED].abs() < 1.79e308)
    scores, sizes = np.full(N, math.nan), np.full(N, 1e3 * len(FEATURES))
    scores[there] = model.predict(frame[there])
    if all(feature.kind == "none" for feature in model.features):
        known = frame[[*NUMBERS, "stock"]].to_numpy()
        sizes += 10.0 * np.where(np.abs(known) < 1.79e308, np.abs(known), 0.0).sum(axis=1)
    return scores, 1e-15 * sizes


@pytest.mark.parametrize(("kind", "scaled"), [(k, s) for k in KINDS for s in (False, True) if not (s and k == "steps")])
def test_scores_and_order_are_those_of_predict(base: Database, kind: str, scaled: bool) -> None:
    model = model_of(kind, scaled)
    want, rounding = expected(model)
    base.table("wild", {"n": "whole", **COLUMNS}, [(i, *row) for i, row in enumerate(ROWS.to_numpy())])
    want += 2.5
    text = model.export("sql", offset=2.5)["score.sql"]
    found = base.run(f"SELECT n, {text} AS score FROM wild ORDER BY score DESC NULLS LAST, n")
    order = [n for n, _ in found]
    scores = np.array([math.nan if score is None else float(score) for _, score in found])
    assert (np.isnan(scores) == np.isnan(want[order])).all()
    assert 0.05 < np.isnan(want).mean() < 0.2
    error = np.abs(scores - want[order])
    known = ~np.isnan(want[order])
    assert (error[known] <= 1e-9 * np.abs(scores[known]) + rounding[order][known]).all()
    assert known[: known.sum()].all()  # NULL comes last
    for a, b in pairwise(order[: known.sum()]):
        assert want[a] >= want[b] - rounding[a] - rounding[b]
    for shown in (RECORDED.get(kind, "logarithms"), "categories", "missing", "offset"):
        ran("sql", f"{base.name} {base.version}", shown)


def test_what_every_row_decides_is_compared(base: Database) -> None:
    """The wrong variants: a comparison that rounds its edge, and a category that counts blanks, differ from predict."""
    model = model_of("steps", False)
    want, _ = expected(model)
    base.table("wild", {"n": "whole", **COLUMNS}, [(i, *row) for i, row in enumerate(ROWS.to_numpy())])
    text = model.export("sql")["score.sql"]
    for there, wrong in ((repr(1 / 3), "0.333333"), ("'acme'", "'acme '"), ("<= 4.0e0", "< 4.0e0")):
        assert there in text
        found = base.run(f"SELECT {text.replace(there, wrong)} AS score FROM wild ORDER BY n")
        scores = np.array([math.nan if score is None else float(score) for (score,) in found])
        assert np.nanmax(np.abs(scores - want)) > 0.1, there


@pytest.mark.parametrize("kind", ["number", "whole", "small", "decimal", "boolean"])
def test_columns_of_any_type(base: Database, kind: str) -> None:
    """PostgreSQL has no cast of a boolean to a number of double precision: it works where training knew of booleans."""
    plain = RankingModel.from_arrays(np.array([2.0, 1.0]), ("a", "b"), FeatureScaling("none", np.zeros(2), np.ones(2)))
    model = rebuilt(plain, metadata={"booleans": ["a"]} if kind == "boolean" else {})
    values = (False, True, None) if kind == "boolean" else (0, 1, None)
    base.table("docs", {"n": "whole", "a": kind, "b": "whole"}, [(i, v, 5) for i, v in enumerate(values)])
    for filled, last in ((model, None), (rebuilt(model, fill_values=np.array([0.25, math.nan])), 5.5)):
        found = base.run(f"SELECT {filled.export('sql')['score.sql']} AS score FROM docs ORDER BY n")
        assert [score if score is None else float(score) for (score,) in found] == [5.0, 7.0, last]
        if kind == "boolean":
            of_number = rebuilt(filled, metadata={}).export(
                "sql", features={"a": "CASE WHEN a THEN 1 WHEN NOT a THEN 0 END"}
            )
            assert base.run(f"SELECT {of_number['score.sql']} AS score FROM docs ORDER BY n") == found


def test_booleans_of_a_table_are_known(base: Database, tmp_path: Path) -> None:
    """From the Parquet file of training to the boolean column of the database."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"qid": np.repeat(np.arange(40), 10), "price": rng.normal(size=400), "new": rng.random(400) < 0.4}
    )
    rows["label"] = ((2.0 * rows["new"] + rows["price"] + rng.normal(size=400)) > 1.0).astype(int)
    rows.to_parquet(tmp_path / "train.parquet")
    plan: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 5, "cv": 2, "half_samples": 0, "relaxed": False}
    model = sr.select(tmp_path / "train.parquet", **plan).model
    assert model.metadata["booleans"] == ["new"]
    model.save(tmp_path / "model.json")
    loaded = sr.load_model(tmp_path / "model.json")
    numbered = list(rows[["price", "new"]].itertuples())
    base.table("docs", {"n": "whole", "price": "number", "new": "boolean"}, [tuple(row) for row in numbered])
    found = base.run(f"SELECT {loaded.export('sql')['score.sql']} AS score FROM docs ORDER BY n")
    assert [float(score) for (score,) in found] == pytest.approx(loaded.predict(rows), rel=1e-12)


def test_scores_through_the_sigmoid_are_numbers_of_any_size(base: Database) -> None:
    """PostgreSQL raises an error where e^x is no number."""
    model = RankingModel.from_arrays(np.ones(1), ("a",), FeatureScaling("none", np.zeros(1), np.ones(1)))
    base.table("docs", {"n": "whole", "a": "number"}, list(enumerate([-1e300, -800.0, -1.0, 0.0, 800.0])))
    found = base.run(f"SELECT {model.export('sql', sigmoid=True)['score.sql']} AS score FROM docs ORDER BY n")
    assert [s for (s,) in found] == pytest.approx([0.0, 0.0, 1 / (1 + math.e), 0.5, 1.0], abs=1e-300, rel=1e-12)


def test_a_product_that_is_no_number(base: Database) -> None:
    """What the page says of PostgreSQL: an error, where the others round to 0 or infinity."""
    model = RankingModel.from_arrays(np.array([0.1]), ("a",), FeatureScaling("none", np.zeros(1), np.ones(1)))
    base.table("docs", {"a": "number"}, [(5e-324,)])
    query = f"SELECT {model.export('sql')['score.sql']} AS score FROM docs"
    if base.name == "PostgreSQL":
        with pytest.raises(Exception, match="value out of range: underflow"):
            base.run(query)
    else:
        assert base.run(query) == [(0.0,)]


RETRIEVED = {"qid": "text", "docno": "text", "retriever": "text", "score": "number", "rank": "whole"}
RETRIEVERS = (*fusion.WEIGHTS, "back\\slash\\")


def fused_by(base: Database, query: str, lists: fusion.Lists, ranks: bool) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of a database."""
    every = [(q, name, entries) for q, own in lists.items() for name, entries in own.items()]
    rows = [(q, d, name, s, i if ranks else None) for q, name, e in every for i, (d, s) in enumerate(e, 1)]
    base.table("retrieved", RETRIEVED, rows)
    found: dict[str, dict[str, float]] = {q: {} for q in lists}
    for q, d, score in base.run(query):
        found[q][d] = float(score)
    return found


@pytest.mark.parametrize("ranks", [True, False])
@pytest.mark.parametrize("norm", ["minmax", "l2", "zscore", "rrf", "rrf(k=10)", "logrank", "returned", "qdrant"])
def test_fused_runs_have_the_scores_of_the_formula(base: Database, norm: str, ranks: bool) -> None:
    """Also of a retriever whose name a database could misread, and of a formula whose lists end at the depth."""
    of = fusion.formula("rrf(k=0)", "qdrant") if norm == "qdrant" else fusion.formula(norm)
    terms = tuple(FusionTerm(name, w) for name, w in zip(RETRIEVERS, (0.4, 0.3, 0.2, 0.1), strict=True))
    of = replace(of, terms=terms)
    lists = {q: own for q, own in fusion.made(3).items() if int(q[1:]) < 120}
    for q, own in lists.items():
        own[RETRIEVERS[-1]] = [("d00", 1.0), ("d01", 2.0 ** -(8 * int(q[1:]))), ("d02", 0.0 if norm == "l2" else -1.0)]
    fused = ours(of, lists)
    found = fused_by(base, str(export_fusion(of, "sql")["fuse.sql"]), lists, ranks)
    for q in lists:
        fusion.assert_same(found[q], fused[q], of)
        assert list(found[q]) == sorted(found[q], key=lambda d, q=q: (-found[q][d], d))
    ran("sql", f"{base.name} {base.version}", "fusion")


def ours(of: FusionFormula, lists: fusion.Lists) -> dict[str, dict[str, float]]:
    runs = {name: {q: dict(own[name]) for q, own in lists.items() if name in own} for name in RETRIEVERS}
    out: dict[str, dict[str, float]] = {q: {} for q in lists}
    for (q, d), score in of.apply(runs).items():
        out[q][d] = score
    return out
