"""Runs from every source: the same lists, names after the files, and what is refused."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.data.fusion.lists import names_of_runs, read_lists
from sparserank.data.fusion.norms import Norm
from sparserank.data.run_reader import Ids
from sparserank.errors import DataError, DataFormatError
from tests.support.written_runs import entries, lists


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


BAD = {
    "q0 Q0 d1 1": "run:1: expected 'qid Q0 docno rank score tag'",
    "q0 Q0 d1 1 nan x": "run:1: expected a finite number as score; got 'nan'",
    "q0 Q0 d1 first 2 x": "run:1: expected a finite number as rank; got 'first'",
    "q0 Q0 d1 1 3 x\n\nq1 Q0 d1 1 3 x\nq0 Q0 d1 2 2 x": "run:4: document 'd1' of query 'q0' is already on line 1",
    '{"q0": {"d1": 1, "d1": 2}}': "run: cannot be read",
    '{"q0": {"d1": NaN}}': "run: cannot be read",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_lines_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataFormatError) as caught:
        read_lists(path, "run", {"q0": 0, "q1": 1}, Ids())
    assert BAD[text] in str(caught.value)


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
