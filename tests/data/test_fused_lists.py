"""Runs of retrievers: the same lists from every source, their order, depth and norms; the table of all documents."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.data.fusion.fusion_table import fusion_table
from sparserank.data.fusion.lists import RetrieverLists, names_of_runs, read_lists
from sparserank.data.fusion.norms import LEAST, Norm, parse_norm, rules_of
from sparserank.data.run_reader import Ids
from sparserank.errors import DataError, DataFormatError
from tests.oracles import fusion as oracle
from tests.support.made_runs import entries, lists, write

DEPTH = 20


def values_of(run: RetrieverLists, norm: Norm, documents: Ids, depth: int = DEPTH) -> list[dict[str, float]]:
    """Per query {document: value}."""
    cut, names = run.cut(depth), list(documents)
    values = norm(cut, depth)
    return [
        {names[d]: float(v) for d, v in zip(cut.document[lo:hi], values[lo:hi], strict=True)}
        for lo, hi in zip(cut.list_ptr[:-1], cut.list_ptr[1:], strict=True)
    ]


def test_lists_are_ordered_by_score_then_rank_then_document(tmp_path: Path) -> None:
    of = entries(0)
    of["q1"] = [("b", 2.0, 1.0), ("a", 2.0, 1.0), ("c", 1.0, 1.0), ("z", 9.0, 4.0)]
    run, documents = lists(of, tmp_path)
    names = list(documents)
    for i, (q, own) in enumerate(of.items()):
        lo, hi = run.list_ptr[i], run.list_ptr[i + 1]
        expected = oracle.ordered(own)
        assert run.query[i] == list(of).index(q)
        assert [names[d] for d in run.document[lo:hi]] == [d for d, _ in expected]
        assert run.score[lo:hi].tolist() == [s for _, s in expected]
        assert run.rank[lo:hi].tolist() == list(range(1, hi - lo + 1))
    assert [d for d, _ in oracle.ordered(of["q1"])] == ["z", "c", "a", "b"]
    assert run.n_contrary == 1  # z, ranked last, has the highest score


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("minmax", oracle.min_max),
        ("l2", oracle.l2),
        ("rrf", lambda s: oracle.reciprocal_rank(s, 60)),
        ("rrf(k=10)", lambda s: oracle.reciprocal_rank(s, 10)),
        ("logrank", lambda s: oracle.log_rank(s, DEPTH)),
        ("returned", lambda s: [1.0] * len(s)),
    ],
)
def test_norms_are_those_of_the_oracle(name: str, slow: Callable[[list[float]], list[float]], tmp_path: Path) -> None:
    of, norm = entries(1), parse_norm(name)
    run, documents = lists(of, tmp_path)
    differs = False
    for own, found in zip(of.values(), values_of(run, norm, documents), strict=True):
        first = oracle.ordered(own)[:DEPTH]
        expected = [max(v, LEAST) for v in slow([s for _, s in first])]
        # each value is a quotient or a sum of at most 40 terms: 40 roundings of 2^-53, relative to values up to log 21
        assert found == pytest.approx(dict(zip([d for d, _ in first], expected, strict=True)), rel=1e-13, abs=1e-13)
        whole = slow([s for _, s in oracle.ordered(own)])[:DEPTH]  # the wrong variant: normalised, then cut
        differs |= bool(np.max(np.abs(np.array(whole) - expected)) > 1e-3)
    assert differs == (name in ("minmax", "l2"))
    assert all(v > 0 for q in values_of(run, norm, documents) for v in q.values())


def test_edges_are_those_of_each_engine(tmp_path: Path) -> None:
    """One document, equal scores, the last document of a list, scores of 0."""
    documents = Ids()
    given = {"one": {"a": 2.0}, "equal": {"a": 3.0, "b": 3.0}, "two": {"a": 3.0, "b": 1.0}, "zero": {"a": 0.0}}
    given["near"] = {"a": 0.5000004, "b": 0.5}
    run = read_lists(given, "r", {q: i for i, q in enumerate(given)}, documents)
    expected = {
        None: ([1.0, 1.0, 1.0, 1.0, LEAST, 1.0, 1.0, LEAST], LEAST),
        "elasticsearch": ([1.0, 1.0, 1.0, 1.0, LEAST, 1.0, 1.0, 1.0], LEAST),
        "opensearch": ([1.0, 1.0, 1.0, 1.0, 0.001, 0.001, 1.0, 0.001], LEAST),
        "ranx": ([LEAST, LEAST, LEAST, 1.0, LEAST, LEAST, 1.0, LEAST], LEAST),
    }
    for engine, (minmax, l2_of_zero) in expected.items():
        rules = rules_of(engine)
        assert Norm("minmax")(run, 5, rules).tolist() == minmax
        assert Norm("l2")(run, 5, rules)[5] == l2_of_zero
    small = read_lists({"q": {"a": 3e-7, "b": 4e-7}}, "r", {"q": 0}, Ids())  # of norm 5e-7
    assert Norm("l2")(small, 5, rules_of(None)) == pytest.approx([0.8, 0.6], rel=1e-15)
    assert Norm("l2")(small, 5, rules_of("elasticsearch")).tolist() == [4e-7, 3e-7]


def test_z_scores_rank_as_those_with_the_least_score_for_what_is_missing(tmp_path: Path) -> None:
    """Minus the least value of each list, and 0 for what was not returned: every fused list is the same."""
    ofs = [entries(s, negative=True) for s in (2, 3, 4)]
    documents, queries = Ids(), {q: i for i, q in enumerate(ofs[0])}
    runs = [
        read_lists(write(of, tmp_path / f"{i}.run"), str(i), queries, documents).cut(DEPTH) for i, of in enumerate(ofs)
    ]
    ours = [values_of(run, Norm("zscore"), documents) for run in runs]
    weights, changed = [0.2, 0.5, 0.3], False
    for q, name in enumerate(queries):
        expected, wrong = [], []
        if name in ("q3", "q5"):
            continue  # of equal scores the form is 1, and the z-score 0
        every = sorted({d for of in ofs for d, _ in oracle.ordered(of[name])[:DEPTH]})
        for of in ofs:
            first = oracle.ordered(of[name])[:DEPTH]
            z = dict(zip([d for d, _ in first], oracle.z_score([s for _, s in first]), strict=True))
            least = min(z.values()) - LEAST  # a hair below, so that what is returned differs from what is not
            expected.append({d: z.get(d, least) for d in every})
            wrong.append(z)
        assert oracle.fused([own[q] for own in ours], weights) == oracle.fused(expected, weights)
        changed |= oracle.fused(wrong, weights) != oracle.fused(expected, weights)
    assert changed


@pytest.mark.parametrize("sparse", [False, True])
def test_the_table_has_a_row_for_each_document_that_a_run_returned(
    sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sparse:
        monkeypatch.setattr("sparserank.data.fusion.fusion_table.MAX_DENSE", 0)
    ofs = [entries(5), entries(6)]
    documents, query_ids = Ids(), [*ofs[0], "q never returned", "q without anything"]
    queries = {q: i for i, q in enumerate(query_ids)}
    runs = [
        read_lists(write(of, tmp_path / f"{i}.run"), f"r{i}", queries, documents).cut(10) for i, of in enumerate(ofs)
    ]
    qrels = {("q0", "d1"): 2.0, ("q0", "never"): 1.0, ("q0", "not relevant"): 0.0, ("q never returned", "d0"): 3.0}
    qrels |= {("q without anything", "d7"): 0.0, ("q1", "spam"): -2.0}
    qrels |= {(q, ofs[0][q][0][0]): 1.0 for q in ofs[0]}
    table = fusion_table(runs, [Norm("minmax"), Norm("rrf")], 10, qrels, query_ids, documents)
    data = table.judged
    assert data.is_sparse == sparse
    assert list(data.feature_names or ()) == ["r0:minmax", "r0:rrf", "r1:minmax", "r1:rrf"]
    X = data.X.toarray() if sparse else data.X
    found = {(str(q), str(d)): x for q, d, x in zip(data.qid, data.docid, X, strict=True)}  # type: ignore[arg-type]
    expected: dict[tuple[str, str], np.ndarray] = {}
    for r, of in enumerate(ofs):
        for q, own in of.items():
            first = oracle.ordered(own)[:10]
            scores = [s for _, s in first]
            minmax = [max(v, LEAST) for v in oracle.min_max(scores)]
            for (d, _), pair in zip(first, zip(minmax, oracle.reciprocal_rank(scores, 60), strict=True), strict=True):
                expected.setdefault((q, d), np.zeros(4))[2 * r : 2 * r + 2] = pair
    lost = {key for key, grade in qrels.items() if grade > 0 and key not in expected} | {("q without anything", "d7")}
    assert ("q never returned", "d0") in lost
    assert ("q0", "never") in lost
    assert found.keys() == expected.keys() | lost
    for key, x in found.items():
        np.testing.assert_allclose(x, expected.get(key, np.zeros(4)), rtol=1e-13, atol=1e-13)
    for q, d, grade in zip(data.qid, data.docid, data.relevance, strict=True):  # type: ignore[arg-type]
        assert grade == max(qrels.get((str(q), str(d)), 0.0), 0.0)
    own = table.learned
    assert own.query_ids.tolist() == data.query_ids.tolist()
    learned = {(str(q), str(d)) for q, d in zip(own.qid, own.docid, strict=True)}  # type: ignore[arg-type]
    nothing = {("q never returned", "d0"), ("q without anything", "d7")}
    assert learned == expected.keys() | nothing  # a query needs a row; it has no pair
    for lo, hi in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        assert sorted(data.docid[lo:hi].tolist()) == data.docid[lo:hi].tolist()  # type: ignore[index]
    judged_only = fusion_table(runs, [Norm("rrf")], 10, qrels, query_ids, documents, judged_only=True).judged
    kept = zip(judged_only.qid, judged_only.docid, strict=True)  # type: ignore[arg-type]
    assert {(str(q), str(d)) for q, d in kept} == found.keys() & qrels.keys()


def test_of_very_many_documents_those_that_rank_first_are_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparserank.data.fusion.fusion_table.MAX_LEARNED", 60)
    ofs, documents = [entries(5), entries(6)], Ids()
    queries = {q: i for i, q in enumerate(ofs[0])}
    runs = [read_lists(write(of, tmp_path / f"{i}.run"), f"r{i}", queries, documents) for i, of in enumerate(ofs)]
    relevant = {(q, own[-1][0]): 1.0 for q, own in ofs[0].items()}
    table = fusion_table(runs, [Norm("rrf")], 40, relevant, list(queries), documents)
    best: dict[tuple[str, str], int] = {}
    for of in ofs:
        for q, own in of.items():
            for rank, (d, _) in enumerate(oracle.ordered(own), 1):
                best[q, d] = min(rank, best.get((q, d), rank))
    first = table.learned_to
    assert first is not None
    learned = {(str(q), str(d)) for q, d in zip(table.learned.qid, table.learned.docid, strict=True)}  # type: ignore[arg-type]
    assert learned == {key for key, rank in best.items() if rank <= first or key in relevant}
    assert sum(rank < first and key not in relevant for key, rank in best.items()) < 60
    assert table.judged.n_docs == len(best) > table.learned.n_docs


@pytest.mark.parametrize("name", ["max", "rrf(k=x)", "minmax(k=3)", "rrf(k=-1)", "", "minmax+rrf", 3, None])
def test_names_of_norms_are_checked_and_parse_back(name: Any) -> None:
    with pytest.raises(DataError, match=r"norms are minmax, l2, zscore, rrf, logrank, returned and rrf\(k=10\); got"):
        parse_norm(name)
    for good in ("minmax", "rrf", "rrf(k=10)", "logrank", "returned"):
        assert str(parse_norm(good)) == good
    assert parse_norm("rrf(k=60)") == parse_norm("rrf")


# -- sources -----------------------------------------------------------------------------------------------------------


def test_ids_are_those_of_the_reader_of_runs(tmp_path: Path) -> None:
    """Blanks other than space and tab are part of an id."""
    path = tmp_path / "a.run"
    path.write_text("q Q0 d\u00a01 1 2.0 x\nq\tQ0  d\u20032 2 1.0 x\n", encoding="utf-8")
    documents = Ids()
    read_lists(path, "a", {"q": 0}, documents)
    assert [("q", d) for d in documents] == list(sr.read_run(path)) == [("q", "d\u00a01"), ("q", "d\u20032")]


@pytest.mark.parametrize("kind", ["json", "json.gz", "parquet", "csv", "frame", "nested", "flat", "ranx"])
def test_every_kind_of_run_gives_the_same_lists(kind: str, tmp_path: Path) -> None:
    of = entries(8)
    expected, documents = lists(of, tmp_path)
    nested = {q: {d: s for d, _, s in own} for q, own in of.items()}
    rows = [(q, d, s, r) for q, own in of.items() for d, r, s in own]
    source: Any = nested
    columns = dict(zip(("qid", "docno", "score", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    if kind.startswith("json"):
        source = tmp_path / f"bm25.{kind}"
        text = json.dumps(nested).encode()
        source.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    elif kind == "parquet":
        source = tmp_path / "bm25.parquet"
        pq.write_table(pa.table(columns), source)
    elif kind == "csv":
        source = tmp_path / "bm25.csv"
        source.write_text("qid,docno,score,rank\n" + "".join(f"{q},{d},{s!r},{r}\n" for q, d, s, r in rows))
    elif kind == "frame":
        source = pa.table(columns)
    elif kind == "flat":
        source = {(q, d): s for q, d, s, _ in rows} | {("another query", "d1"): 1.0}
    elif kind == "ranx":
        source = SimpleNamespace(to_dict=lambda: nested)
    again = Ids()
    found = read_lists(source, "bm25", {q: i for i, q in enumerate(of)}, again)
    assert found.list_ptr.tolist() == expected.list_ptr.tolist()
    assert found.score.tolist() == expected.score.tolist()
    if kind in ("parquet", "csv", "frame"):  # which know the ranks of equal scores
        names = list(again), list(documents)
        assert [names[0][d] for d in found.document] == [names[1][d] for d in expected.document]


def test_retrievers_are_named_after_their_files() -> None:
    assert names_of_runs(["a/bm25.run.gz", "b/dense.v2.txt"]) == ["bm25", "dense.v2"]
    assert names_of_runs(["a/x.run", "b/x.run", "y.json"]) == ["a/x", "b/x", "y"]
    with pytest.raises(DataError, match=r"both runs are called 'a/x'\. Name each"):
        names_of_runs(["a/x.run", "a/x.json"])
    with pytest.raises(DataError, match="are the same run; leave one out"):
        names_of_runs(["a/x.run", "a/../a/x.run"])


@pytest.mark.parametrize("text", ['{"q0": {"d1": 1.0}}', "q0 Q0 d1 1 0.5 x"])
def test_damaged_gzip_is_refused(text: str, tmp_path: Path) -> None:
    """Cut short, or with bytes that are not deflate."""
    path, whole = tmp_path / "a.run.gz", gzip.compress(text.encode() * 50)
    for damaged in (whole[: len(whole) // 2], whole[:10] + b"\xff" * 20 + whole[30:]):
        path.write_bytes(damaged)
        with pytest.raises(DataFormatError, match=r"a\.run\.gz: "):
            read_lists(path, "a", {"q0": 0}, Ids())


def test_what_cannot_be_fused_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q9 Q0 d1 1 -3 x\n")
    table = pa.table({"qid": ["q0", "q0"], "docno": ["d", "e"], "score": [1.0, float("nan")]})
    lacking = pa.table({"qid": ["q"], "docno": ["d"]})
    for source, message in (
        (path, r"a\.run: contains none of the judged queries"),
        ({("q9", "d1"): 1.0}, "a: contains none of the judged queries"),
        ({("q0", "d1"): np.inf}, "a: scores must be finite numbers; document 'd1' of query 'q0' has inf"),
        ({"q0": 3}, r"a: a run must be .*; query 'q0' has 3"),
        (3, "a: a run must be a file, a frame"),
        (tmp_path / "none.run", "no such file"),
        (lacking, "a: a run needs the columns qid, docno and score; score is not among"),
        (table, "a:2: expected a finite number as score; got nan"),
    ):
        with pytest.raises((DataError, DataFormatError), match=message):
            read_lists(source, "a", {"q0": 0}, Ids())
    with pytest.raises(DataError, match="a: l2 needs scores >= 0"):
        Norm("l2")(read_lists(path, "a", {"q9": 0}, Ids()), 5)
