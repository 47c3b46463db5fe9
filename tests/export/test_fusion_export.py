"""Exported formulas, run by re-implementations of the engines' documented formulas, by Python, SQLite and DuckDB."""

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from integrations.matrix import ran

from sparserank.data.fusion.norms import parse_norm
from sparserank.errors import DataError
from sparserank.export.fusion import FUSION_ENGINES, export_fusion
from sparserank.model.fusion import FusionFormula, FusionTerm
from tests.export.test_export import RUNTIMES
from tests.oracles import fusion_engines as engines
from tests.support.exported_scores import sqlite

N_QUERIES, DEPTH = 400, 10
WEIGHTS = {"bm25": 0.5, 'it\'s "dense"': 0.3, "splade": 0.2}
HOSTILE = ("'; DROP TABLE x; --", 'a"b', "a\\nb", "{{x}}", "${x}", "\u202e", "日本", "a:b", "</script>")
RETRIEVED = "retrieved (qid TEXT, docno TEXT, retriever TEXT, score REAL, rank INTEGER)"
Lists = dict[str, dict[str, list[tuple[str, float]]]]


@cache
def made(seed: int = 0) -> Lists:
    """{query: {retriever: list}}: lists of 1 to 15 documents of 30, some missing, some of equal scores."""
    rng = np.random.default_rng(seed)
    out: Lists = {}
    for q in range(N_QUERIES):
        own: dict[str, list[tuple[str, float]]] = {}
        for name in WEIGHTS:
            if rng.random() < 0.1:
                continue
            n = 1 if rng.random() < 0.1 else int(rng.integers(2, 16))
            documents = [f"d{i:02d}" for i in rng.permutation(30)[:n]]
            flat = np.full(n, float(rng.choice([0.0, 3.0])))
            scores = flat if rng.random() < 0.1 else np.round(rng.gamma(2.0, 4.0, n) * (rng.random(n) > 0.1), 2)
            own[name] = sorted(zip(documents, scores.tolist(), strict=True), key=lambda e: (-e[1], e[0]))
        out[f"q{q}"] = own
    return out


def scaled(lists: Lists, by: Callable[[float], float]) -> Lists:
    """The same lists with other scores."""
    return {q: {name: [(d, by(s)) for d, s in own[name]] for name in own} for q, own in lists.items()}


def formula(norm: str, engine: str | None = None) -> FusionFormula:
    return FusionFormula(tuple(FusionTerm(name, w) for name, w in WEIGHTS.items()), parse_norm(norm), DEPTH, engine)


def ours(of: FusionFormula, lists: Lists) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of the package."""
    runs = {name: {q: dict(own[name]) for q, own in lists.items() if name in own} for name in WEIGHTS}
    out: dict[str, dict[str, float]] = {q: {} for q in lists}
    for (q, d), score in of.apply(runs).items():
        out[q][d] = score
    return out


def exported_code(of: FusionFormula) -> Any:
    """The function `fuse` of the exported Python code."""
    module: dict[str, Any] = {}
    exec(str(export_fusion(of, "python")["fuse.py"]), module)
    return module["fuse"]


def same_order(found: dict[str, float], expected: dict[str, float], within: float) -> bool:
    """Whether the documents are the same ones, and those whose expected scores differ by more than `within` come in the
    same order."""
    if found.keys() != expected.keys():
        return False
    order = sorted(expected, key=lambda d: -expected[d])
    return all(found[a] > found[b] or expected[a] - expected[b] <= within for a, b in pairwise(order))


def same_but_for_the_last(found: dict[str, float], expected: dict[str, float], within: float) -> bool:
    """Whether two lists that end at the depth have the same scores, and the same documents but for those that share the
    last score: any of them may be kept."""
    last = min(expected.values())
    kept = {d for d, s in expected.items() if s > last + within}
    return kept <= found.keys() and sorted(found.values()) == pytest.approx(sorted(expected.values()), abs=within)


def near(found: dict[str, float], expected: dict[str, float], rel: float = 1e-12, within: float = 1e-13) -> bool:
    """`pytest.approx` of two dicts, in a twentieth of its time."""
    return found.keys() == expected.keys() and all(
        abs(found[d] - s) <= max(rel * abs(s), within) for d, s in expected.items()
    )


NORMS = {**dict.fromkeys(("elasticsearch", "opensearch"), ("minmax", "l2", "rrf", "rrf(k=10)")), "ranx": ("minmax",)}
NORMS |= {"vespa": ("rrf", "rrf(k=0)", "logrank", "returned"), "qdrant": ("rrf(k=0)",)}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "qdrant"])
def test_a_plain_sum_of_ranks_is_exported_without_weights(engine: str) -> None:
    """Which older versions take too. A formula of other weights keeps them, and so does one of another norm."""
    norm = "rrf(k=0)" if engine == "qdrant" else "rrf"
    for weights, plain in (((0.1 + 0.2, 0.3, 0.3), True), ((0.4, 0.3, 0.3), False)):
        terms = tuple(FusionTerm(name, w) for name, w in zip(WEIGHTS, weights, strict=True))
        of = replace(formula(norm, engine), terms=terms)
        texts = [str(text) for text in export_fusion(of, engine).values()]
        assert any("weight" in text for text in texts) != plain
        content = list(map(json.loads, texts))
        for own in list(made().values())[:50]:
            found, expected = getattr(engines, engine)(*content, own), ours(of, {"q": own})["q"]
            of_engine = {d: s * (0.3 if plain else 1.0) for d, s in found.items()}  # a sum without weights
            of_engine = {d: s * 3 for d, s in of_engine.items()} if plain and engine == "opensearch" else of_engine
            assert {d: of_engine[d] for d in expected} == pytest.approx(expected, rel=1e-5)


def test_elasticsearch_gets_retrievers_of_vectors_and_never_rrf_of_one() -> None:
    names = ("knn", "my-dense.v2", "bge_vectors", "condensed", "bm25", "planned")
    terms = tuple(FusionTerm(name, 1 / 6) for name in names)
    body = json.loads(str(export_fusion(replace(formula("rrf"), terms=terms), "elasticsearch")["retriever.json"]))
    children = body["retriever"]["rrf"]["retrievers"]
    assert [next(iter(child)) for child in children] == ["knn"] * 3 + ["standard"] * 3
    assert children[0]["knn"]["k"] == DEPTH <= children[0]["knn"]["num_candidates"]
    one = replace(formula("rrf"), terms=(FusionTerm("bm25", 1.0),))  # "two or more child retrievers are required"
    body = json.loads(str(export_fusion(one, "elasticsearch")["retriever.json"]))
    assert body == {"retriever": {"standard": {"query": {"REPLACE": "the query of bm25"}}}, "size": DEPTH}


@pytest.mark.parametrize(("engine", "norm"), [(engine, norm) for engine, norms in NORMS.items() for norm in norms])
def test_engines_rank_as_the_formula_does(engine: str, norm: str) -> None:
    lists, of = made(), formula(norm, engine)
    files = export_fusion(of, engine)
    content = {name: json.loads(str(text)) for name, text in files.items() if name.endswith(".json")}

    def of_engine(own: dict[str, list[tuple[str, float]]]) -> dict[str, float]:
        if engine == "elasticsearch":
            return engines.elasticsearch(content["retriever.json"], own)
        if engine == "opensearch":
            return engines.opensearch(content["pipeline.json"], content["query.json"], own)
        if engine == "vespa":
            return engines.vespa(str(files["sparserank.profile"]), own)
        if engine == "qdrant":
            return engines.qdrant(content["query.json"], own)
        return engines.ranx(content["ranx.json"], own)

    # The engine's 0 of a last or equal document is our 1e-9, in at most three lists. Qdrant computes in single
    # precision, off by at most 2 ** -22 in a sum of three values below 1. OpenSearch rounds to ten decimals.
    error = 2.0**-22 if engine == "qdrant" else 4e-9
    fused = ours(of, lists)
    for q, own in lists.items():
        expected = of_engine(own)
        if engine not in ("ranx", "vespa"):  # the others end their lists there
            expected = dict(sorted(expected.items(), key=lambda e: (-e[1], e[0]))[:DEPTH])
            if fused[q].keys() != expected.keys():
                assert same_but_for_the_last(fused[q], expected, error)
                continue
        assert near(fused[q], expected, 1e-6, error), q
        assert same_order(fused[q], expected, 2 * error)
    house = ours(formula(norm), lists)  # the wrong variant, where the engine has a formula of its own
    differs = any(abs(s - house[q][d]) > 1e-6 for q in lists for d, s in fused[q].items())
    assert differs == ((engine == "opensearch" and norm != "l2") or (engine, norm) == ("ranx", "minmax"))


@pytest.mark.parametrize(
    ("norm", "engine"),
    [(norm, None) for norm in ("minmax", "l2", "zscore", "rrf", "rrf(k=10)", "logrank", "returned")]
    + [("minmax", "elasticsearch"), ("rrf", "elasticsearch")],
)
def test_python_and_sql_have_the_same_scores(norm: str, engine: str | None) -> None:
    lists, of = made(1), formula(norm, engine)
    fuse = exported_code(of)
    fused = ours(of, lists)
    for scores in by_databases(of, lists):
        for q in lists:  # means and norms of up to ten scores are summed in another order
            assert_same(scores[q], fused[q], of)
    for q, own in lists.items():
        assert_same(dict(fuse(own)), fused[q], of)
    assert (max(map(len, fused.values())) > DEPTH) == (of.longest is None)
    ran("python", RUNTIMES["python"], "fusion")


def by_databases(of: FusionFormula, lists: Lists) -> list[dict[str, dict[str, float]]]:
    """{query: {document: score}} of SQLite and of DuckDB; ranks are places in the lists."""
    every = [(q, name, entries) for q, own in lists.items() for name, entries in own.items()]
    rows = [(q, d, name, s, place) for q, name, entries in every for place, (d, s) in enumerate(entries, 1)]
    query = str(export_fusion(of, "sql")["fuse.sql"])
    memory, duck, out = sqlite(), duckdb.connect(), []
    memory.execute(f"CREATE TABLE {RETRIEVED}")
    memory.executemany("INSERT INTO retrieved VALUES (?, ?, ?, ?, ?)", rows)
    duck.execute(f"CREATE TABLE {RETRIEVED.replace('REAL', 'DOUBLE')}")
    columns = [list(c) for c in zip(*rows, strict=True)]
    duck.execute("INSERT INTO retrieved SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)", columns)
    for found in (memory.execute(query).fetchall(), duck.execute(query).fetchall()):
        scores: dict[str, dict[str, float]] = {q: {} for q in lists}
        for q, d, score in found:
            scores[q][d] = score
        out.append(scores)
    return out


def assert_same(found: dict[str, float], fused: dict[str, float], of: FusionFormula) -> None:
    if found.keys() != fused.keys() and of.longest:
        assert same_but_for_the_last(found, fused, 1e-12)
    else:
        assert near(found, fused), (found, fused)


@pytest.mark.parametrize("norm", ["rrf", "logrank", "minmax"])
def test_equal_scores_keep_the_order_of_their_ranks(norm: str, tmp_path: Path) -> None:
    """In SQL too, where the table has a column of ranks: also at the depth, where a tie decides what is cut."""
    lists = scaled(made(2), lambda s: round(s / 8.0))
    rng, of = np.random.default_rng(0), formula(norm)
    for own in lists.values():
        for entries in own.values():
            rng.shuffle(entries)  # so that ranks contradict the order of the ids
            entries.sort(key=lambda e: -e[1])
    for name in WEIGHTS:
        places = ((q, place, *e) for q, own in lists.items() for place, e in enumerate(own.get(name, []), 1))
        lines = [f"{q} Q0 {d} {place} {s} x\n" for q, place, d, s in places]
        (tmp_path / f"{name[:2]}.run").write_text("".join(lines))
    fused: dict[str, dict[str, float]] = {q: {} for q in lists}
    for (q, d), score in of.apply({name: tmp_path / f"{name[:2]}.run" for name in WEIGHTS}).items():
        fused[q][d] = score
    for scores in by_databases(of, lists):
        for q in lists:
            assert near(scores[q], fused[q]), q


@pytest.mark.parametrize("norm", ["zscore", "l2", "minmax"])
def test_the_size_of_scores_does_not_matter(norm: str) -> None:
    """Squares of scores below 1e-162 or above 1e154 are no numbers; the units of scores change nothing, bit by bit."""
    of = formula(norm)
    lists = {q: own for q, own in made().items() if int(q[1:]) < 50}
    fuse = exported_code(of)
    expected = ours(of, lists)
    assert len({s for own in expected.values() for s in own.values()}) > 100
    for power in (-700, -1000, 0, 200, 1000):
        moved = scaled(lists, lambda s, power=power: math.ldexp(s, power))
        if power < 300:  # larger scores are refused
            assert ours(of, moved) == expected
            for scores in by_databases(of, moved):
                assert all(near(scores[q], expected[q]) for q in lists)
        for q, own in moved.items():
            assert near(dict(fuse(own)), expected[q]), q


def test_scores_below_zero_are_refused_where_they_mean_another_formula() -> None:
    def of(norm: str, **facts: Any) -> FusionFormula:
        terms = FusionTerm("bm25", 0.6), FusionTerm("distance", 0.4, **facts)
        return FusionFormula(terms, parse_norm(norm), DEPTH)

    for engine, title in (("elasticsearch", "Elasticsearch"), ("opensearch", "OpenSearch")):
        message = rf"{title} does not compute {{}} \('distance' has scores below 0, where it computes rrf"
        for norm in ("minmax", "l2"):
            with pytest.raises(DataError, match=message.format(norm)):
                export_fusion(replace(of(norm, negative=True), engine=engine), engine)
            assert export_fusion(replace(of(norm), engine=engine), engine)
        assert export_fusion(replace(of("rrf", negative=True), engine=engine), engine)
    for engine in ("python", "sql", "ranx", "pyterrier"):
        assert export_fusion(replace(of("minmax", negative=True), engine=engine), engine)


def test_scores_that_are_equal_in_single_precision_are_noted() -> None:
    of = FusionFormula((FusionTerm("bm25", 0.6), FusionTerm("time", 0.4, merged=0.93)), parse_norm("rrf(k=0)"), DEPTH)
    noted = {name for name, engine in FUSION_ENGINES.items() if engine.notes(of)}
    assert noted == {"elasticsearch", "opensearch", "qdrant"}
    (note,) = FUSION_ENGINES["qdrant"].notes(of)
    assert "Qdrant scores in single precision" in note
    assert "93% of 'time'" in note
    assert not FUSION_ENGINES["elasticsearch"].notes(formula("rrf"))
    assert not FUSION_ENGINES["opensearch"].notes(formula("rrf"))
    (note,) = FUSION_ENGINES["opensearch"].notes(formula("rrf(k=10)"))
    assert "OpenSearch 2.19 ignores" in note


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("engine", FUSION_ENGINES)
def test_names_are_data_in_every_export(engine: str, name: str) -> None:
    norm = "minmax" if FUSION_ENGINES[engine].why_not(parse_norm("minmax")) is None else "rrf(k=0)"
    of = FusionFormula((FusionTerm(name, 0.6), FusionTerm("b", 0.4)), parse_norm(norm), 5, engine)
    if not name.isprintable():
        with pytest.raises(DataError, match="give it a printable name"):
            export_fusion(of, engine)
        return
    files = export_fusion(of, engine)
    lists = {name: [("d1", 2.0), ("d2", 1.0)], "b": [("d2", 3.0), ("d3", 1.0)]}
    if engine == "python":
        assert exported_code(of)(lists)[0][0] == "d1"
    elif engine == "sql":
        memory = sqlite()
        memory.execute(f"CREATE TABLE {RETRIEVED}")
        rows = [("q", d, r, s) for r, own in lists.items() for d, s in own]
        memory.executemany("INSERT INTO retrieved VALUES (?, ?, ?, ?, NULL)", rows)
        assert memory.execute(str(files["fuse.sql"])).fetchall()[0][1] == "d1"
    elif engine == "vespa":
        profile = str(files["sparserank.profile"])
        assert engines.vespa(profile, lists) == pytest.approx({"d1": 0.6, "d2": 0.7, "d3": 0.2})
        assert len(re.findall(r"^ *function", profile, flags=re.MULTILINE)) == 2
    elif engine == "pyterrier":
        tree = ast.parse(str(files["pipeline.py"]))
        assert name in {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    else:
        for text in files.values():
            json.loads(str(text))
        assert any(json.dumps(name, ensure_ascii=False)[1:-1] in str(text) for text in files.values())


def test_what_an_engine_cannot_run_is_refused() -> None:
    negative = FusionFormula((FusionTerm("a", -1.0),), parse_norm("rrf"), 5)
    many = FusionFormula(tuple(FusionTerm(f"r{i}", 0.1) for i in range(6)), parse_norm("l2"), 5, "opensearch")
    for engine, of, message in (
        ("opensearch", formula("zscore"), "OpenSearch does not compute zscore"),
        ("opensearch", formula("rrf(k=0)"), r"does not compute rrf\(k=0\) \(it computes .* rrf\(k=1 to 10000\)\)"),
        ("elasticsearch", formula("rrf(k=0)"), r"Elasticsearch does not compute rrf\(k=0\)"),
        ("vespa", formula("minmax"), r"Vespa does not compute minmax \(it computes rrf, logrank, returned\)"),
        ("qdrant", formula("rrf"), r"Qdrant does not compute rrf \(it computes rrf\(k=0\)\)"),
        ("elasticsearch", formula("zscore"), "Elasticsearch does not compute zscore"),
        ("ranx", formula("zscore"), "ranx does not compute zscore"),
        ("opensearch", formula("minmax"), "without an engine, whose rules at the edges differ from OpenSearch's"),
        ("python", formula("minmax", "opensearch"), "for opensearch, whose rules at the edges differ from Python's"),
        ("elasticsearch", negative, "Elasticsearch takes only weights >= 0"),
        ("opensearch", many, "OpenSearch fuses at most 5 retrievers, and the model has 6"),
        ("solr", formula("rrf"), "to must be one of .* for fused retrievers; got 'solr'"),
    ):
        with pytest.raises(DataError, match=message):
            export_fusion(of, engine)
