"""The forms of runs and judgments that trec_eval, BEIR and ranx users have, in every reader."""

import gzip
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import pytrec_eval

import sparserank as sr
from sparserank.data.fusion.lists import read_lists
from sparserank.data.run_reader import Ids
from sparserank.data.runs import Qrels, Run
from sparserank.errors import DataError, DataFormatError
from tests.support.command_line import Cli

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
    if not name.endswith("csv"):  # a table is judged documents
        found = sr.compare_systems({"a": run, "b": ENTRIES}, str(qrels), "ndcg@10")
        assert {row["mean"] for row in found.rows()} == {sr.evaluate(Run(ENTRIES), JUDGED, "ndcg@10")["trec:ndcg@10"]}
    if name in ("plain", "comments", "no-iteration", "names"):
        assert json.loads(cli("inspect", qrels, "--format", "json").out)["grades"] == {"0": 1, "1": 1, "2": 1}
    if qrels.suffix == ".gz":
        qrels.write_bytes(qrels.read_bytes()[:-12])
        with pytest.raises(DataFormatError, match="damaged gzip file"):
            sr.read_qrels(qrels)


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
    for write in (lambda: sr.write_run(data, [1.0], tmp_path / "x"), lambda: sr.write_qrels(data, tmp_path / "x")):
        with pytest.raises(DataError, match="the query id '#1' begins with '#', which marks comments"):
            write()
    sr.write_run(sr.RankingDataset([[1.0]], [1.0], ["1"], docid=["#d"]), [1.0], tmp_path / "x")
    assert sr.read_run(tmp_path / "x") == {("1", "#d"): 1.0}


@pytest.mark.parametrize("value", [2**64, 10**400], ids=["64 bits", "beyond floats"])
def test_huge_whole_numbers_are_numbers_or_refused(value: int) -> None:
    lists, judged = {"q1": {"d1": value, "d2": 1}}, {"q1": {"d1": 1, "d2": 0}}
    if value < 10**300:
        assert sr.read_run(lists)["q1", "d1"] == float(value)
        assert sr.read_qrels(lists)["q1", "d1"] == float(value)
        return
    with pytest.raises(DataError, match=r"scores must be finite numbers; document 'd1' of query 'q1' has <an integer"):
        sr.read_run(lists)
    with pytest.raises(DataError, match="grades must be finite numbers; document 'd1' of query 'q1' has <an integer"):
        sr.fuse({"a": judged, "b": judged}, lists)
