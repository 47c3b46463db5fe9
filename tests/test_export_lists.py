"""Models that normalise features within a query, in what sees the whole query: windows of SQL in two databases, Vespa's
global phase by its contract, plain Python; what scores one document at a time refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import sparserank as sr
from sparserank.curves import Curve
from sparserank.errors import DataError, ParameterError
from sparserank.export import ENGINES
from sparserank.model import RankingModel
from sparserank.model.list_lengths import ListLengths
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.command_line import Cli
from tests.databases import sqlite
from tests.oracles import exported as oracle
from tests.test_names_are_data import HOSTILE
from tests.test_query_logs import hostile

ONE_DOCUMENT = ("solr", "elasticsearch", "opensearch", "lucene", "ranklib", "onnx")
LISTS = ("sql", "vespa", "python")
NAMES = ("title", 'a"b', "it's; --", "x[0]", "naïve 文", "last")
HALF = {name: f"attribute(x{j})" for j, name in enumerate(NAMES)}


def made(kind: str, fill: bool = False, names: tuple[str, ...] = NAMES) -> RankingModel:
    """Features 0, 2 and 4 within the query; in 'mixed' others beside them."""
    d = len(names)
    kinds = ["query-log"] * d
    coef = np.array([1.5, 0.0, -0.75, 0.0, 2.0, 0.0])[:d]
    curves = {}
    if kind == "mixed":
        kinds[1], kinds[5], coef[1], coef[5] = "none", "log", 0.25, -0.5
    if kind == "curves":
        curves = {0: Curve(np.array([0.1, 0.4, 0.9]), np.array([-1.0, 2.0, 0.5]))}
    scaling = FeatureScaling("standard", np.full(d, 0.25), np.full(d, 0.5))
    if kind == "curves":
        scaling = FeatureScaling("none", np.zeros(d), np.ones(d))
    fills = np.array([0.0, 1.0, -1e9, 1.0, 1e6 + 0.5, 0.5])[:d] if fill else None
    lengths = ListLengths(12.0, 1, 40)
    return RankingModel(
        coef, names, scaling, {}, {}, Transform(tuple(kinds), np.ones(d)), curves, fills, list_lengths=lengths
    )


def documents(seed: int = 0, *, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    X, _, qid = hostile(seed, missing=missing)
    return X.clip(-1e100, 1e100), qid


def in_sqlite(text: str, names: tuple[str, ...], X: np.ndarray, qid: np.ndarray, query: str = "qid") -> np.ndarray:
    columns = [*(_quoted(n) for n in names), _quoted(query)]
    with sqlite() as base:
        base.execute(f"CREATE TABLE t (i INTEGER, {', '.join(f'{c} REAL' for c in columns[:-1])}, {columns[-1]} TEXT)")
        rows = [
            (i, *(None if np.isnan(x) else x for x in row), str(q))
            for i, (row, q) in enumerate(zip(X.tolist(), qid, strict=True))
        ]
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(columns) + 1))})", rows)
        found = base.execute(f"SELECT i, {text} FROM t").fetchall()
    return np.array([np.nan if v is None else v for _, v in sorted(found)])


def in_duckdb(text: str, names: tuple[str, ...], X: np.ndarray, qid: np.ndarray, query: str = "qid") -> np.ndarray:
    columns = [*(_quoted(n) for n in names), _quoted(query)]
    with duckdb.connect() as base:
        base.execute(
            f"CREATE TABLE t (i INTEGER, {', '.join(f'{c} DOUBLE' for c in columns[:-1])}, {columns[-1]} TEXT)"
        )
        rows = [
            [i, *row, str(q)] for i, (row, q) in enumerate(zip(X.tolist(), qid, strict=True))
        ]  # NaN as NaN, not NULL
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(columns) + 1))})", rows)
        found = base.execute(f"SELECT i, {text} FROM t").fetchall()
    return np.array([np.nan if v is None else v for _, v in sorted(found)])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_python(text: str, names: tuple[str, ...], X: np.ndarray, qid: np.ndarray) -> np.ndarray:
    space: dict[str, Any] = {}
    exec(compile(text, "model.py", "exec"), space)
    assert "score" not in space
    out = np.empty(len(X))
    for q in set(qid.tolist()):
        at = np.flatnonzero(qid == q)
        out[at] = space["scores"](dict(zip(names, row, strict=True)) for row in X[at].tolist())
    return out


def in_vespa(text: str, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
    out = np.empty(len(X))
    for q in set(qid.tolist()):
        at = np.flatnonzero(qid == q)
        out[at] = oracle.vespa_scores(text, [{f"x{j}": x for j, x in enumerate(row)} for row in X[at].tolist()])
    return out


def close(found: np.ndarray, expected: np.ndarray) -> None:
    # logs of numbers near 1e6 that differ in their seventh digit: LN(1 + x) and log1p differ by 1e-15
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("fill", [False, True], ids=["no fill", "filled"])
@pytest.mark.parametrize("kind", ["plain", "mixed", "curves"])
def test_exports_score_as_predict_does(kind: str, fill: bool) -> None:
    model = made(kind, fill)
    X, qid = documents(missing=fill)
    expected = model.predict(X, qid)
    assert len(set(np.round(expected, 6).tolist())) > 80
    text = str(model.export("sql")["score.sql"])
    for run in (in_sqlite, in_duckdb):
        close(run(text, NAMES, X, qid), expected)
    close(in_python(str(model.export("python")["model.py"]), NAMES, X, qid), expected)
    if not fill:
        found = in_vespa(str(model.export("vespa", features=HALF)["sparserank.profile"]), X, qid)
        for q in set(qid.tolist()):  # up to a shift where a feature has one value in the list
            gap = (found - expected)[qid == q]
            close(gap, np.full(len(gap), gap[0]))
        assert np.isclose(found, expected, atol=1e-7).mean() > 0.9


@pytest.mark.parametrize("wrong", ["one list", "raw values"])
def test_the_comparison_rejects_wrong_windows(wrong: str) -> None:
    model = made("plain")
    X, qid = documents(missing=False)
    text = str(model.export("sql")["score.sql"])
    text = text.replace('PARTITION BY "qid"', "") if wrong == "one list" else text.replace("LN(", "(")
    for run in (in_sqlite, in_duckdb):
        with pytest.raises(AssertionError):
            close(run(text, NAMES, X, qid), model.predict(X, qid))


def test_missing_values_without_another_have_no_score_and_move_nothing() -> None:
    model = made("plain")
    X, qid = documents(missing=False)
    X[::6, 0] = np.nan
    known = ~np.isnan(X[:, 0])
    expected = np.full(len(X), np.nan)
    expected[known] = model.predict(X[known], qid[known])
    text = str(model.export("sql")["score.sql"])
    for run in (in_sqlite, in_duckdb):
        # other features of documents without a score do count there, as they do for a model that fills
        found = run(text, NAMES, X, qid)
        assert np.array_equal(np.isnan(found), ~known)
    single = replace(model, coef=np.array([1.5, 0, 0, 0, 0, 0]))
    expected[known] = single.predict(X[known], qid[known])
    for run in (in_sqlite, in_duckdb):
        close(run(str(single.export("sql")["score.sql"]), NAMES, X, qid), expected)
    found = in_vespa(str(single.export("vespa", features=HALF)["sparserank.profile"]), X, qid)
    assert np.array_equal(np.isnan(found), ~known)
    several = np.array([known[qid == q].sum() > 1 for q in qid])
    close(found[several], expected[several])
    with pytest.raises(ValueError, match="a missing value, and the model has no fill value for it"):
        in_python(str(single.export("python")["model.py"]), NAMES, X, qid)


def test_a_message_names_the_flag_that_the_command_has(cli_here: Cli) -> None:
    made("plain").save("m.json")
    found = cli_here("export", "m.json", "--to", "python", "--qid", "session")
    assert found.code == 1
    assert "error: --qid applies only to sql; leave it out for python." in found.err


def test_the_column_of_queries_is_a_name_like_others() -> None:
    model = made("plain")
    X, qid = documents(missing=False)
    for query in ("session", 'a "quoted" one', "it's; --"):
        names = tuple(f"f{j}" for j in range(6))
        named = replace(model, feature_names=names)
        text = str(named.export("sql", qid=query)["score.sql"])
        for run in (in_sqlite, in_duckdb):
            close(run(text, names, X, qid, query), named.predict(X, qid))
    with pytest.raises(DataError, match="qid applies only to sql; leave it out for python"):
        model.export("python", qid="session")
    with pytest.raises(DataError, match="depend on the candidate list, so there is no lowest score"):
        model.export("sql", offset="auto")
    with pytest.raises(DataError, match="qid must be a non-empty string"):
        model.export("sql", qid="")


@pytest.mark.parametrize("names", [tuple(HOSTILE)], ids=["text"])
def test_names_are_data(names: tuple[str, ...]) -> None:
    names = tuple(dict.fromkeys(n for n in names if n and "\0" not in n))[:6]
    assert len(names) == 6
    model = made("plain", names=names)
    X, qid = documents(missing=False)
    expected = model.predict(X, qid)
    close(in_python(str(model.export("python")["model.py"]), names, X, qid), expected)
    if len({n.lower() for n in names}) == 6:
        close(in_duckdb(str(model.export("sql")["score.sql"]), names, X, qid), expected)
    given = {name: f"attribute(x{j})" for j, name in enumerate(names)}
    text = str(model.export("vespa", features=given)["sparserank.profile"])
    assert not any(name in text for name in names if len(name) > 3)


def test_vespa_reranks_as_many_hits_as_training_had() -> None:
    model = made("plain")
    text = str(model.export("vespa", features=HALF, name="shop")["shop.profile"])
    assert "global-phase {" in text
    assert "second-phase" not in text
    assert "rerank-count: 40\n" in text
    assert text.count("normalize_linear(shop_log_") == 3
    assert "rerank-count: 100\n" in str(
        replace(model, list_lengths=None).export("vespa", features=HALF)["sparserank.profile"]
    )
    with pytest.raises(DataError, match="excludes it from the minimum and maximum of its query"):
        made("plain", fill=True).export("vespa", features=HALF)


@pytest.mark.parametrize("to", ONE_DOCUMENT)
def test_what_scores_one_document_at_a_time_refuses(to: str) -> None:
    with pytest.raises(DataError, match=r"one document at a time, and cannot express query-log\(title\)") as refused:
        made("plain").export(to)
    assert "Export to sql, vespa or python, or train with transform='log'" in str(refused.value)
    assert f"engine='{to}'" in str(refused.value)


def test_engines_declare_whether_they_see_lists() -> None:
    assert {name for name, engine in ENGINES.items() if engine.sees_lists} == set(LISTS)
    for name, engine in ENGINES.items():
        assert bool(engine.lacks(["query-log"])) == (name not in LISTS)
        assert engine.lacks(lists=True)  # a scaling within queries goes nowhere


def test_select_for_an_engine_goes_by_that() -> None:
    data = sr.datasets.make_ranking(40, (6, 10), 6, n_informative=3, n_redundant=0, noise=0.5, random_state=4).data
    data = data.replace_features(np.exp(2.0 * np.asarray(data.X)))
    quick: dict[str, Any] = {"penalties": "l1", "n_alphas": 8, "cv": 3, "half_samples": 0, "relaxed": False}
    for to in ONE_DOCUMENT:
        with pytest.raises(ParameterError, match="cannot be query-log with engine="):
            sr.select(data, feature_transform="query-log", engine=to, **quick)
    found = sr.select(data, feature_transform="query-log", engine="sql", **quick)
    assert found.model.export("sql")


def test_the_command_names_the_column(cli_here: Cli, tmp_path: Path) -> None:
    made("plain").save(tmp_path / "model.json")
    out = cli_here("export", "model.json", "--to", "sql", "--qid", "session").out
    assert 'PARTITION BY "session"' in out
    refused = cli_here("export", "model.json", "--to", "solr")
    assert refused.code != 0
    assert "--transform log" in refused.err
