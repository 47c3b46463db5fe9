"""Runs of retrievers: the same lists from every source, their order, depth and norms; the table of all documents.
The forms of runs and judgments that trec_eval, BEIR and ranx users have, in every reader.
"""

import gzip
import json
import re
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval

import sparserank as sr
from sparserank.data.fusion.fusion_table import fusion_table
from sparserank.data.fusion.judged_runs import read_judged_runs
from sparserank.data.fusion.lists import RetrieverLists, names_of_runs, read_lists
from sparserank.data.fusion.norms import LEAST, Norm, parse_norm, rules_of
from sparserank.data.run_reader import Ids
from sparserank.data.runs import Qrels, Run
from sparserank.errors import DataError, DataFormatError, DataWarning, ParameterError
from tests.oracles import fusion as oracle
from tests.support.command_line import Cli, assert_refused
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


def test_edges_are_those_of_each_engine() -> None:
    """One document, equal scores, the last document of a list, scores of 0, which OpenSearch does not return."""
    documents = Ids()
    given = {"one": {"a": 2.0}, "equal": {"a": 3.0, "b": 3.0}, "two": {"a": 3.0, "b": 1.0}, "zero": {"a": 0.0}}
    given["near"] = {"a": 0.5000004, "b": 0.5}
    run = read_lists(given, "r", {q: i for i, q in enumerate(given)}, documents)
    expected = {
        None: ([1.0, 1.0, 1.0, 1.0, LEAST, 1.0, 1.0, LEAST], LEAST),
        "elasticsearch": ([1.0, 1.0, 1.0, 1.0, LEAST, 1.0, 1.0, 1.0], LEAST),
        "opensearch": ([1.0, 1.0, 1.0, 1.0, 0.001, 1.0, 0.001], 0.5000004 / np.hypot(0.5000004, 0.5)),
        "ranx": ([LEAST, LEAST, LEAST, 1.0, LEAST, LEAST, 1.0, LEAST], LEAST),
    }
    for engine, (minmax, l2_of_zero) in expected.items():
        rules = rules_of(engine)
        own = run if rules.zeros else run.without_zeros()
        assert Norm("minmax")(own, 5, rules).tolist() == minmax
        assert Norm("l2")(own, 5, rules)[5] == l2_of_zero
    below = read_lists({"q": {"a": 0.0, "b": -1.0}}, "r", {"q": 0}, Ids())
    assert below.without_zeros() is below  # its scores are no scores of OpenSearch
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


ENTRIES = {("1", "a"): 2.0, ("1", "b"): 1.0, ("2", "a"): 0.5}
RUNS: dict[str, str] = {
    "plain.run": "1 Q0 a 1 2.0 t\n1 Q0 b 2 1 t\n2 Q0 a 1 0.5 t\n",
    "comments.run": "# made on Monday\n1 Q0 a 1 2.0 t\n#1 Q0 b 2 9 t\n\n1 Q0 b 2 1 t\n  # end\n2 Q0 a 1 0.5 t\n",
    "more.run": "1 Q0 a 1 2.0 t and more\n1\tQ0\tb\t2\t1\tt\tx\n2 Q0 a 1 0.5 t # end\n",
    "no-tag.run": "1 Q0 a 1 2.0\n1 Q0 b 2 1\n2 Q0 a 1 0.5\n",
    "byte-order-mark.run": "\ufeff1\tQ0  a 1 2.0 t\r\n1 Q0 b 2 1 t\r\n2 Q0 a 1 0.5 t",
    "a.json": '{"1": {"a": 2, "b": 1.0}, "2": {"a": 0.5}}',
    "a.csv": "qid,docno,score\n1,a,2\n1,b,1\n2,a,0.5\n",
    "a.tsv": "query_id\tdocid\tscore\n1\ta\t2\n1\tb\t1\n2\ta\t0.5\n",
    "query.csv": "query,document_id,score\n1,a,2\n1,b,1\n2,a,0.5\n",
    "words.csv": "Query ID,docId,Score,Rank\n1,a,2,1\n1,b,1,2\n2,a,0.5,1\n",
}
JUDGED = {("1", "a"): 0.0, ("1", "b"): 1.0, ("2", "a"): 2.0}
JUDGMENTS: dict[str, str] = {
    "plain": "1 0 a 0\n1 0 b 1\n2 0 a 2\n",
    "comments": "# judged by experts\n1 0 a 0\n1 0 b 1\n#2 0 b 2\n2 0 a 2\n",
    "no-iteration": "1 a 0\n1\tb\t1\n2 a 2\n",
    "beir.tsv": "query-id\tcorpus-id\tscore\n1\ta\t0\n1\tb\t1\n2\ta\t2\n",
    "names": "qid iteration docno rel\n1 0 a 0\n1 0 b 1\n2 0 a 2\n",
    "a.json": '{"1": {"a": 0, "b": 1}, "2": {"a": 2}}',
    "a.csv": "qid,docno,label\n1,a,0\n1,b,1\n2,a,2\n",
    "quepid.csv": "query,docid,rating\n1,a,0\n1,b,1\n2,a,2\n",
    "pandas.csv": ",QueryId,DocId,Relevance,iteration\n0,1,a,0,0\n1,1,b,1,0\n2,2,a,2,0\n",
    "text.json": '{"1": {"a": "0.000", "b": "1"}, "2": {"a": "2.0"}}',
    "workbench.json": """{"took": 3, "hits": {"total": {"value": 1}, "hits": [{"_source": {"judgmentRatings": [
        {"query": "1", "ratings": [{"docId": "a", "rating": "0.0"}, {"docId": "b", "rating": "1.0"}]},
        {"query": "2", "ratings": [{"docId": "a", "rating": "2.000"}]}]}}]}}""",
    "rank_eval.json": """{"requests": [
        {"id": "1", "request": {"query": {"match": {"t": "x"}}}, "ratings": [
            {"_index": "i", "_id": "a", "rating": 0}, {"_index": "i", "_id": "b", "rating": 1}]},
        {"id": "2", "request": {}, "ratings": [{"_index": "i", "_id": "a", "rating": 2}]}], "metric": {"dcg": {}}}""",
}


def written(folder: Path, files: dict[str, str], name: str, packed: bool = False) -> Path:
    path = folder / (f"{name}.gz" if packed and not name.endswith((".csv", ".tsv")) else name)
    path.write_bytes(gzip.compress(files[name].encode()) if path.suffix == ".gz" else files[name].encode())
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_every_form_of_a_run_is_the_same_to_every_reader(name: str, packed: bool, tmp_path: Path, cli: Cli) -> None:
    run, qrels = written(tmp_path, RUNS, name, packed), written(tmp_path, JUDGMENTS, "plain")
    assert sr.read_run(run) == ENTRIES
    queries = {"1": 0, "2": 1}
    assert read_lists(run, "a", queries, Ids()).score.tolist() == [2.0, 1.0, 0.5]
    expected = sr.evaluate(Run(ENTRIES), sr.read_qrels(qrels), "ndcg@10")["trec:ndcg@10"]
    done = cli("evaluate", "--qrels", qrels, "--system", run, "--metric", "ndcg@10", "--format", "json")
    assert [row["mean"] for row in json.loads(done.out)] == [expected]
    assert sr.evaluate(run, qrels, "ndcg@10")["trec:ndcg@10"] == expected
    shown = cli("inspect", run, "--format", "json")
    if name.endswith(("run", "json")):
        assert {("queries", 2), ("documents", 2)} <= json.loads(shown.out).items()
    data = tmp_path / "data.txt"
    data.write_text("0 qid:1 1:1 # docid = a\n1 qid:1 1:2 # docid = b\n2 qid:2 1:3 # docid = a\n")
    assert cli("evaluate", data, "--system", run).code == 0


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", JUDGMENTS)
def test_every_form_of_judgments_is_the_same_to_every_reader(name: str, packed: bool, tmp_path: Path, cli: Cli) -> None:
    run, qrels = written(tmp_path, RUNS, "plain.run"), written(tmp_path, JUDGMENTS, name, packed)
    assert sr.read_qrels(qrels) == JUDGED
    assert cli("evaluate", "--qrels", qrels, "--system", run).code == 0
    found = sr.compare_systems({"a": run, "b": ENTRIES}, str(qrels), "ndcg@10")
    assert {row["mean"] for row in found.rows()} == {sr.evaluate(Run(ENTRIES), JUDGED, "ndcg@10")["trec:ndcg@10"]}
    if name not in ("beir.tsv", "a.json", "text.json"):  # which may be runs
        assert json.loads(cli("inspect", qrels, "--format", "json").out)["grades"] == {"0": 1, "1": 1, "2": 1}
    if qrels.suffix == ".gz":
        qrels.write_bytes(qrels.read_bytes()[:-12])
        with pytest.raises(DataFormatError, match="damaged gzip file"):
            sr.read_qrels(qrels)


QUERY_TEXTS = {("red shoes", "d1"): 3.0, ("red shoes", "d2"): 0.0, ("tv", "d8"): 1.0}


def test_tabs_separate_a_query_of_several_words(tmp_path: Path) -> None:
    """In runs and in judgments, with or without the column of iterations; blanks around ids do not count."""
    rows = [(q, d, f"{v:g}") for (q, d), v in QUERY_TEXTS.items()]
    for columns in ("{0}\t0\t{1}\t{2}", "{0}\t{1}\t{2}", "{0} \t 0 \t{1}\t{2} "):
        path = tmp_path / "a.qrels"
        path.write_text("".join(f"{columns.format(*row)}\n" for row in rows))
        assert sr.read_qrels(path) == QUERY_TEXTS
    for name in ("a.run", "a.tsv"):  # without a header, it is no table
        run = tmp_path / name
        run.write_text("".join(f"{q}\tQ0\t{d}\t{i}\t{v}\tmine\n" for i, (q, d, v) in enumerate(rows)))
        assert sr.read_run(run) == QUERY_TEXTS
    path.write_text("1\t0\td1 3\n")  # a tab among blanks
    assert sr.read_qrels(path) == {("1", "d1"): 3.0}


def test_a_run_of_ranks_alone_is_not_told_to_turn_them_round(tmp_path: Path) -> None:
    """Ranks under the name of scores would put the last document first."""
    (tmp_path / "a.csv").write_text("query_id,doc_id,rank\n1,a,1\n1,b,2\n")
    with pytest.raises(DataError, match=r"not among .*; name the column of scores \(larger is better\) 'score'"):
        sr.read_run(tmp_path / "a.csv")


@pytest.mark.parametrize(("name", "by"), [("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", ",")])
def test_a_table_of_other_separators_is_refused_as_that(name: str, by: str, tmp_path: Path, cli_here: Cli) -> None:
    """Its only column would otherwise lack every name."""
    path = tmp_path / name
    path.write_text("query;docid;rating\n1;a;1\n1;b;0\n".replace(";", by))
    expected = "columns must be separated by commas (in .tsv by tabs), and decimals by points; got 'query"
    assert_refused(cli_here("inspect", path), 1, expected)
    with pytest.raises(DataFormatError, match=re.escape(expected)):
        sr.read_run(path)


def test_columns_of_judgments_and_of_runs_may_be_named(tmp_path: Path, cli: Cli) -> None:
    """A run has usual names where it lacks those of the judgments; other names are refused with the option."""
    book = "case,page,ann,bob\n" + "".join(f"{q},{d},{int(g)},9\n" for (q, d), g in JUDGED.items())
    (tmp_path / "book.csv").write_text(book)
    (tmp_path / "run.csv").write_text("case,docid,score\n" + "".join(f"{q},{d},{s}\n" for (q, d), s in ENTRIES.items()))
    names = {"label": "ann", "qid": "case", "docid": "page"}
    assert sr.read_qrels(tmp_path / "book.csv", **names) == JUDGED
    assert sr.read_qrels(pd.read_csv(tmp_path / "book.csv"), **names) == JUDGED
    flags = ("--label-column", "ann", "--qid-column", "case", "--docid-column", "page")
    given = ("evaluate", "--qrels", tmp_path / "book.csv", "--system", tmp_path / "run.csv", "--metric", "ndcg@10")
    expected = sr.evaluate(Run(ENTRIES), JUDGED, "ndcg@10")["trec:ndcg@10"]
    assert [row["mean"] for row in json.loads(cli(*given, *flags, "--format", "json").out)] == [expected]
    assert_refused(
        cli(*given, *flags[2:]), 1, "label is not among 'case, page, ann, bob', nor another usual name; name"
    )
    assert_refused(cli(*given, *flags[2:]), 1, "--label-column")
    assert_refused(
        cli(*given, "--label-column", "eve", *flags[2:]), 1, "has no column 'eve'; it has 'case, page, ann, bob'"
    )
    (tmp_path / "plain.qrels").write_text(JUDGMENTS["plain"])
    with pytest.raises(ParameterError, match="qid does not apply to TREC judgments"):
        sr.read_qrels(tmp_path / "plain.qrels", qid="case")
    both = [f"{name}={tmp_path / 'run.csv'}" for name in "ab"]
    short = ("--half-samples", "0", "--out", tmp_path / "fused")
    assert_refused(cli("fuse", *both, "--qrels", tmp_path / "book.csv", *short), 1, "qid is not among")
    read = read_judged_runs(dict.fromkeys("ab", ENTRIES), sr.read_qrels(tmp_path / "book.csv", **names), None, 10)
    assert len(read.qrels) == 3


@pytest.mark.parametrize("form", ["csv", "json", "frame"])
def test_documents_without_a_grade_are_left_out_and_counted(form: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,docid,rating\n1,a,0\n1,b,1\n1,c,\n2,a,2\n2,b,\n")
    (tmp_path / "a.json").write_text('{"1": {"a": 0, "b": 1, "c": null}, "2": {"a": 2, "b": null}}')
    source = {"csv": tmp_path / "a.csv", "json": tmp_path / "a.json", "frame": pd.read_csv(tmp_path / "a.csv")}[form]
    with pytest.warns(DataWarning, match="left out, because they have no grade: 2 documents"):
        assert sr.read_qrels(source) == JUDGED
    (tmp_path / "a.csv").write_text("query,docid,rating\n1,a,0\n1,b,good\n")
    with pytest.raises(DataFormatError, match=r"a\.csv:2: expected a finite number as rating; got 'good'"):
        sr.read_qrels(tmp_path / "a.csv")


def test_two_frames_are_a_run_and_judgments() -> None:
    """With the names of ir_datasets and of PyTerrier; a frame with features is judged documents, as ever."""
    expected = sr.evaluate(Run(ENTRIES), JUDGED)
    for qid, docid, label in (("query_id", "doc_id", "relevance"), ("qid", "docno", "label")):
        run = pd.DataFrame([(q, d, s) for (q, d), s in ENTRIES.items()], columns=[qid, docid, "score"])
        judged = pd.DataFrame(
            [(q, d, g, "0") for (q, d), g in JUDGED.items()], columns=[qid, docid, label, "iteration"]
        )
        for form in (judged, pl.from_pandas(judged), pa.Table.from_pandas(judged)):
            assert sr.evaluate(run, form) == expected
    scored, judgment = (
        namedtuple("Scored", "query_id doc_id score"),
        namedtuple("Judgment", "query_id doc_id relevance"),
    )
    rows = [scored(q, d, s) for (q, d), s in ENTRIES.items()]
    of = [judgment(q, d, g) for (q, d), g in JUDGED.items()]
    assert (
        sr.evaluate(rows, of) == sr.evaluate(iter(rows), iter(of)) == sr.evaluate(rows, sr.read_qrels(of)) == expected
    )
    with_features = judged.drop(columns="iteration").assign(bm25=1.0)
    assert list(sr.evaluate(run, with_features, "map")) == ["map"]


def test_runs_in_memory_are_read() -> None:
    nested = {"1": {"a": 2, "b": 1.0}, "2": {"a": 0.5}}
    frame = pd.DataFrame([(q, d, s) for (q, d), s in ENTRIES.items()], columns=["qid", "docno", "score"])
    for form in (nested, ENTRIES, frame, pl.from_pandas(frame)):
        assert sr.read_run(form) == ENTRIES
    with pytest.raises(DataError, match="the run: a run must be a file, a frame with qid, docno and score"):
        sr.read_run(3)
    judged = {"1": {"a": 0, "b": 1}, "2": {"a": 2}}
    expected = sr.evaluate(Run(ENTRIES), Qrels(JUDGED))
    judgments = pd.DataFrame([(q, d, g) for (q, d), g in JUDGED.items()], columns=["qid", "docno", "label"])
    for form in (nested, ENTRIES, frame, pl.from_pandas(frame), SimpleNamespace(to_dict=lambda: nested)):
        for of in (judged, JUDGED, sr.read_qrels(judgments), SimpleNamespace(to_dict=lambda: judged)):
            assert sr.evaluate(form, of) == expected
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(nested)
    assert expected["trec:ndcg@10"] == pytest.approx(np.mean([q["ndcg_cut_10"] for q in theirs.values()]), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "judged", "message"),
    [
        ({"a": [1.0, 2.0]}, [1, 0], "evaluate takes one system; use compare_systems"),
        ({"1": ["a", "b"]}, JUDGED, r"the run: a run must be \{query id: \{document id: score\}\}; query '1' has"),
        ({"bm25": {"1": {"a": 1.0}}}, JUDGED, "evaluate takes one system; use compare_systems"),
        ({"bm25": Run(ENTRIES)}, JUDGED, "evaluate takes one system; use compare_systems"),
        ({"1": {"a": "x"}}, JUDGED, "the run: scores must be finite numbers; document 'a' of query '1' has 'x'"),
        (ENTRIES, {"1": 3}, r"the judgments: judgments must be \{query id: \{document id: grade\}\}; query '1' has 3"),
        (ENTRIES, {}, "the judgments: contains no judgments"),
        ([0.5, 0.2], JUDGED, "judgments alone contain no features. Use them to evaluate runs"),
        ({}, JUDGED, "the run ranks none of the 3 documents"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(scores: Any, judged: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        sr.evaluate(scores, judged)


def read_both(path: Path) -> None:
    """A run by `read_run` and as the list of a retriever, which refuse it in the same words."""
    with pytest.raises(DataFormatError) as caught:
        read_lists(path, "x", {"1": 0}, Ids())
    with pytest.raises(DataFormatError, match=re.escape(str(caught.value))):
        sr.read_run(path)
    raise caught.value


def read_ranks(path: Path) -> None:
    read_lists(path, "x", {"1": 0}, Ids())


BAD_LINES: list[tuple[Any, str, str]] = [
    (read_ranks, "1 Q0 d1 first 2 x\n", ":1: expected a finite number as rank; got 'first'"),
    *[(read_both, text, ": cannot be read") for text in ('{"1": {"d1": 1, "d1": 2}}', '{"1": {"d1": NaN}}')],
    (read_both, "1 Q0 a 1 2.0 t\n1 Q0 b 2 1\n", ":2: expected 'qid Q0 docno rank score tag'; got '1 Q0 b 2 1'"),
    (read_both, "1 a 1 2.0\n", ":1: expected 'qid Q0 docno rank score tag'"),
    (read_both, "1 a 1 2.0 t\n", ":1: expected a finite number as score; got 't'"),
    (read_both, "# 1\n1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", ":3: document 'a' of query '1' is already on line 2"),
    (read_both, f"1 Q0 a 1 x{'9' * 200_000} t\n", ":1: expected a finite number"),
    (read_both, "1 Q0 a 1 0.5 t\n\n1 Q0 b 2 nan t\n", ":3: expected a finite number as score; got 'nan'"),
    (sr.read_qrels, "1 0 a 2\r\n2 0 a 2\r\n\r\n1 0 a 0\n", ":4: document 'a' of query '1' is already on line 1"),
    (sr.read_qrels, "1 0 a 0\n1 b 1\n", ":2: expected 'qid 0 docno rel'; got '1 b 1'"),
    (sr.read_qrels, "1 a 0\n1 0 b 1\n", ":2: expected 'qid docno rel'; got '1 0 b 1'"),
    (sr.read_qrels, "1 0 a\n", ":1: expected a finite number; got 'a'"),
    (sr.read_qrels, "1 0 a 2 x\n", ":1: expected 'qid 0 docno rel'"),
    (sr.read_qrels, "1 a 0\nqid docno rel\n", ":2: expected a finite number; got 'rel'"),
    (sr.read_qrels, "# nothing\nquery-id corpus-id score\n", ": contains no judgments"),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("read", "text", "message"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_lines_that_fit_no_form_are_refused(read: Any, text: str, message: str, packed: bool, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(DataFormatError, match=re.escape(f"x{message}")) as caught:
        read(tmp_path / "x")
    assert len(str(caught.value)) < 500


def test_a_query_id_that_would_be_a_comment_is_not_written(tmp_path: Path) -> None:
    data = sr.RankingDataset([[1.0]], [1.0], ["#1"], docid=["#d"])
    for written_by in (lambda: sr.write_run(data, [1.0], tmp_path / "x"), lambda: sr.write_qrels(data, tmp_path / "x")):
        with pytest.raises(DataError, match="the query id '#1' begins with '#', which marks comments"):
            written_by()
    sr.write_run(sr.RankingDataset([[1.0]], [1.0], ["1"], docid=["#d"]), [1.0], tmp_path / "x")
    assert sr.read_run(tmp_path / "x") == {("1", "#d"): 1.0}


@pytest.mark.parametrize("value", [2**64, 10**400], ids=["64 bits", "beyond floats"])
def test_huge_whole_numbers_are_numbers_or_refused(value: int) -> None:
    lists, judged = {"q1": {"d1": value, "d2": 1}}, {"q1": {"d1": 1, "d2": 0}}
    if value < 10**300:
        assert sr.read_run(lists)["q1", "d1"] == float(value)
        with pytest.warns(DataWarning, match="grades are 1 to 1.84467e"):
            assert sr.read_qrels(lists)["q1", "d1"] == float(value)
        return
    with pytest.raises(DataError, match=r"scores must be finite numbers; document 'd1' of query 'q1' has <an integer"):
        sr.read_run(lists)
    with pytest.raises(DataError, match="grades must be finite numbers; document 'd1' of query 'q1' has <an integer"):
        sr.fuse({"a": judged, "b": judged}, lists)
