"""Runs of retrievers: the order of their lists, the depth, the forms, the table of all documents."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.fusion.forms import FORMS, parse_form
from sparserank.data.fusion.fusion_table import fusion_table
from sparserank.data.fusion.returned import Ids, Returned, read_returned, returned_of
from sparserank.errors import DataError, DataFormatError
from tests.oracles import fusion as oracle

DEPTH = 20
Entries = dict[str, list[tuple[str, float, float]]]  # {query: (document, rank, score)}


def entries(seed: int, n_queries: int = 12, negative: bool = False) -> Entries:
    """Lists of 1 to 40 documents, some scores equal, one list of a single document, one of equal scores."""
    rng = np.random.default_rng(seed)
    found: Entries = {}
    for q in range(n_queries):
        n = 1 if q == 3 else int(rng.integers(2, 40))
        documents = [f"d{i}" for i in rng.permutation(60)[:n]]
        scores = np.round(rng.gamma(2.0, 4.0, n) - (9.0 if negative else 0.0), 1)
        scores = np.sort(np.full(n, 2.5) if q == 5 else scores)[::-1]
        found[f"q{q}"] = [(d, r + 1.0, float(s)) for r, (d, s) in enumerate(zip(documents, scores, strict=True))]
    return found


def write(of: Entries, path: Path, seed: int = 0) -> Path:
    """A run file with its lines in any order."""
    lines = [f"{q} Q0 {d} {r:g} {s!r} tag\n" for q, own in of.items() for d, r, s in own]
    path.write_text("".join(np.random.default_rng(seed).permutation(np.array(lines, dtype=object))))
    return path


def lists(of: Entries, tmp_path: Path, name: str = "bm25") -> tuple[Returned, Ids]:
    documents = Ids()
    queries = {q: i for i, q in enumerate(of)}
    return read_returned(write(of, tmp_path / f"{name}.run"), name, queries, documents), documents


def values_of(run: Returned, form: str, documents: Ids, depth: int = DEPTH) -> list[dict[str, float]]:
    """Per query {document: value}."""
    cut, names = run.cut(depth), list(documents)
    values = FORMS[form](cut, depth)
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
    ("form", "slow"),
    [
        ("minmax", oracle.min_max),
        ("l2", oracle.l2),
        ("rrf", lambda s: oracle.reciprocal_rank(s, 60)),
        ("rrf10", lambda s: oracle.reciprocal_rank(s, 10)),
        ("logrank", lambda s: oracle.log_rank(s, DEPTH)),
        ("returned", lambda s: [1.0] * len(s)),
    ],
)
def test_forms_are_those_of_the_oracle(form: str, slow: Callable[[list[float]], list[float]], tmp_path: Path) -> None:
    of = entries(1)
    run, documents = lists(of, tmp_path)
    differs = False
    for own, found in zip(of.values(), values_of(run, form, documents), strict=True):
        first = oracle.ordered(own)[:DEPTH]
        expected = slow([s for _, s in first])
        # each value is a quotient or a sum of at most 40 terms: 40 roundings of 2^-53, relative to values up to log 21
        assert found == pytest.approx(dict(zip([d for d, _ in first], expected, strict=True)), rel=1e-13, abs=1e-13)
        whole = slow([s for _, s in oracle.ordered(own)])[:DEPTH]  # the wrong variant: normalised, then cut
        differs |= bool(np.max(np.abs(np.array(whole) - expected)) > 1e-3)
    assert differs == (form in ("minmax", "l2"))
    assert all(v >= 0 for q in values_of(run, form, documents) for v in q.values())


def test_z_scores_rank_as_those_with_the_least_score_for_what_is_missing(tmp_path: Path) -> None:
    """Minus the least value of each list, and 0 for what was not returned: every fused list is the same."""
    ofs = [entries(s, negative=True) for s in (2, 3, 4)]
    documents, queries = Ids(), {q: i for i, q in enumerate(ofs[0])}
    runs = [
        read_returned(write(of, tmp_path / f"{i}.run"), str(i), queries, documents).cut(DEPTH)
        for i, of in enumerate(ofs)
    ]
    ours = [values_of(run, "zscore", documents) for run in runs]
    weights, changed = [0.2, 0.5, 0.3], False
    for q, name in enumerate(queries):
        expected, wrong = [], []
        if name in ("q3", "q5"):
            continue  # of equal scores the form is 1, and the z-score 0
        every = sorted({d for of in ofs for d, _ in oracle.ordered(of[name])[:DEPTH]})
        for of in ofs:
            first = oracle.ordered(of[name])[:DEPTH]
            z = dict(zip([d for d, _ in first], oracle.z_score([s for _, s in first]), strict=True))
            least = min(z.values())
            expected.append({d: z.get(d, least) for d in every})
            wrong.append(z)
        assert oracle.fused([own[q] for own in ours], weights) == oracle.fused(expected, weights)
        changed |= oracle.fused(wrong, weights) != oracle.fused(expected, weights)
    assert changed


def test_the_table_has_a_row_for_each_document_that_a_run_returned(tmp_path: Path) -> None:
    ofs = [entries(5), entries(6)]
    documents, query_ids = Ids(), [*ofs[0], "q never returned"]
    queries = {q: i for i, q in enumerate(query_ids)}
    runs = [read_returned(write(of, tmp_path / f"{i}.run"), f"r{i}", queries, documents) for i, of in enumerate(ofs)]
    qrels = {("q0", "d1"): 2.0, ("q0", "never"): 1.0, ("q0", "not relevant"): 0.0, ("q never returned", "d0"): 3.0}
    qrels |= {(q, ofs[0][q][0][0]): 1.0 for q in ofs[0]}
    table = fusion_table(runs, ["minmax", "rrf"], 10, qrels, query_ids, documents)
    data = table.data
    assert list(data.feature_names or ()) == ["r0:minmax", "r0:rrf", "r1:minmax", "r1:rrf"]
    found = {(str(q), str(d)): x for q, d, x in zip(data.qid, data.docid, data.X.toarray(), strict=True)}  # type: ignore[arg-type]
    expected: dict[tuple[str, str], np.ndarray] = {}
    for r, of in enumerate(ofs):
        for q, own in of.items():
            first = oracle.ordered(own)[:10]
            scores = [s for _, s in first]
            columns = zip(oracle.min_max(scores), oracle.reciprocal_rank(scores, 60), strict=True)
            for (d, _), pair in zip(first, columns, strict=True):
                expected.setdefault((q, d), np.zeros(4))[2 * r : 2 * r + 2] = pair
    assert found.keys() == expected.keys()
    for key, x in expected.items():
        np.testing.assert_allclose(found[key], x, rtol=1e-13, atol=1e-13)
    for q, d, grade, judged in zip(data.qid, data.docid, data.relevance, table.judged, strict=True):  # type: ignore[arg-type]
        assert grade == qrels.get((str(q), str(d)), 0.0)
        assert judged == ((str(q), str(d)) in qrels)
    lost: dict[str, list[float]] = {}
    for (q, d), grade in qrels.items():
        if grade > 0 and (q, d) not in expected:
            lost.setdefault(q, []).append(grade)
    assert table.unreturned == lost
    assert lost["q never returned"] == [3.0]
    assert 1.0 in lost["q0"]


def test_a_run_in_memory_is_that_of_its_file(tmp_path: Path) -> None:
    of = entries(7)
    run, documents = lists(of, tmp_path)
    given = {(q, d): s for q, own in of.items() for d, _, s in own} | {("another query", "d1"): 1.0}
    again, numbers = Ids(), {q: i for i, q in enumerate(of)}
    mine = returned_of("bm25", given, numbers, again)
    assert mine.list_ptr.tolist() == run.list_ptr.tolist()
    assert mine.score.tolist() == run.score.tolist()
    by_id = [list(again)[d] for d in mine.document], [list(documents)[d] for d in run.document]
    tied = np.isin(run.score, [s for s in run.score if (run.score == s).sum() > 1])
    assert [d for d, t in zip(by_id[0], tied, strict=True) if not t] == [
        d for d, t in zip(by_id[1], tied, strict=True) if not t
    ]


def test_ids_are_those_of_the_reader_of_runs(tmp_path: Path) -> None:
    """Blanks other than space and tab are part of an id."""
    path = tmp_path / "a.run"
    path.write_text("q Q0 d\u00a01 1 2.0 x\nq\tQ0  d\u20032 2 1.0 x\n", encoding="utf-8")
    documents = Ids()
    read_returned(path, "a", {"q": 0}, documents)
    assert [("q", d) for d in documents] == list(sr.read_run(path))


BAD = {
    "q0 Q0 d1 1 0.5": "run:1: expected 'qid Q0 docno rank score tag'",
    "q0 Q0 d1 1 nan x": "run:1: expected a finite number as score; got 'nan'",
    "q0 Q0 d1 first 2 x": "run:1: expected a finite number as rank; got 'first'",
    "q0 Q0 d1 1 3 x\n\nq1 Q0 d1 1 3 x\nq0 Q0 d1 2 2 x": "run:4: document 'd1' of this query is already on line 1",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_lines_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataFormatError) as caught:
        read_returned(path, "run", {"q0": 0, "q1": 1}, Ids())
    assert BAD[text] in str(caught.value)


def test_what_cannot_be_fused_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q9 Q0 d1 1 -3 x\n")
    with pytest.raises(DataError, match=r"a\.run: returns no document for any judged query"):
        read_returned(path, "a", {"q0": 0}, Ids())
    with pytest.raises(DataError, match="a: returns no document for any judged query"):
        returned_of("a", {("q9", "d1"): 1.0}, {"q0": 0}, Ids())
    with pytest.raises(DataError, match="a: scores must be finite; document 'd1'"):
        returned_of("a", {("q0", "d1"): np.inf}, {"q0": 0}, Ids())
    with pytest.raises(DataError, match="a: l2 needs scores >= 0"):
        FORMS["l2"](read_returned(path, "a", {"q9": 0}, Ids()), 5)
    with pytest.raises(DataError, match="forms are minmax, l2, zscore, rrf, rrf10, logrank, returned; got 'max'"):
        parse_form("max")
