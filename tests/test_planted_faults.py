"""Faults that were planted in the source, or found by a reader, and that no other test found; each is named by what a
user would get."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import scipy.stats as st

import sparserank as sr
from sparserank.data.fusion.lists import read_lists
from sparserank.data.run_reader import Ids
from sparserank.errors import DataError, DataFormatError
from sparserank.evaluation.loss_bounds import loss_bounds
from sparserank.export.sql import _Spark
from sparserank.requests.responses import Scored, hits_of
from sparserank.shards import _csr_kernels
from tests.support.command_line import Cli
from tests.support.made_runs import QUICK, flat, made


def test_a_score_of_null_is_refused() -> None:
    for run in ({"q": {"a": None, "b": 1.0}}, {"q": {"a": 2.0, "b": None}}):
        with pytest.raises(DataError, match=r"expected a finite number|number"):
            sr.evaluate(run, {"q": {"a": 1, "b": 0}})


def test_a_bad_number_deep_in_a_table_is_named_by_its_row(tmp_path: Path) -> None:
    n = 70_000
    scores = [str(k) for k in range(n)]
    scores[69_999] = "x"
    table = {"qid": [f"q{k // 10}" for k in range(n)], "docno": [f"d{k}" for k in range(n)], "score": scores}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(DataFormatError, match=r"a\.parquet:70000: .*got 'x'"):
        sr.read_run(tmp_path / "a.parquet")


def test_the_name_of_a_run_is_escaped_on_the_page(tmp_path: Path) -> None:
    runs, qrels = made(n_queries=20, qualities={"<b>first</b>": 1.2, "second": 0.2})
    result = sr.fuse({name: flat(own) for name, own in runs.items()}, flat(qrels), **QUICK)
    page = result.report(tmp_path / "report.html")
    text = Path(page or tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;first" in text
    assert "<b>first" not in text


def test_a_second_fit_forgets_the_values_that_replaced_missing_ones() -> None:
    data = sr.datasets.make_ranking(20, 8, 4, n_informative=2, n_redundant=1, random_state=3).data
    X, holes = np.array(data.X), np.array(data.X)
    holes[::5, 1] = np.nan
    ranker = sr.SparseRanker(missing="median").fit(holes, data.relevance, qid=data.qid)
    ranker.set_params(missing="error").fit(X, data.relevance, qid=data.qid)
    assert not hasattr(ranker, "fill_values_")
    with pytest.raises(DataError):
        ranker.predict(holes)


def test_a_row_without_entries_has_the_score_0() -> None:
    X, w = sp.csr_array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[3.0, 5.0]])
    out = np.full((1, 3), np.nan)
    _csr_kernels.scores((X.data, X.indices, X.indptr), 0, 3, w, np.array([0]), out)
    assert out.tolist() == [[10.0, 0.0, 3.0]]


def test_weights_of_documents_are_those_of_their_rows_in_every_shard(tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(30, 8, 4, n_informative=2, n_redundant=1, noise=0.5, random_state=3).data
    sr.write_letor(data, tmp_path / "train.txt")
    weights = np.random.default_rng(0).uniform(0.1, 3.0, data.n_docs)
    (tmp_path / "train.txt.weight").write_text("\n".join(f"{w:.6f}" for w in weights) + "\n")
    stored = sr.convert([tmp_path / "train.txt"], tmp_path / "store", shard_bytes=1_000)
    assert len(stored["shards"]) > 2
    from_store = sr.SparseRanker(tol=1e-9).fit_dataset(sr.read(tmp_path / "store"))
    in_memory = sr.SparseRanker(tol=1e-9).fit_dataset(sr.read(tmp_path / "train.txt"))
    assert from_store.coef_ == pytest.approx(in_memory.coef_, abs=1e-6)


def test_the_bound_of_two_models_is_that_of_students_t() -> None:
    """Of two, Dunnett's critical value is the one-sided quantile."""
    values = np.random.default_rng(0).random((2, 12))
    d = values[0] - values[1]
    error = d.std(ddof=1) / np.sqrt(12)
    bounds = loss_bounds(values, 0.95)
    assert bounds.quantile == pytest.approx(np.full(2, st.t.ppf(0.95, 11)), rel=0.02)  # the normal's is 9% below
    assert bounds.error[0, 1] == pytest.approx(error)


def test_a_quote_and_a_backslash_stay_themselves_in_spark() -> None:
    assert _Spark().text("a'b\\c${d}") == "'a\\'b\\\\c\\u0024{d}'"


def test_equal_scores_are_ordered_by_id_whatever_the_order_of_lines() -> None:
    for order in (("b", "a", "c"), ("c", "b", "a")):
        documents = Ids()
        lists = read_lists({"q": dict.fromkeys(order, 1.0)}, "r", {"q": 0}, documents)
        names = list(documents)
        assert [names[d] for d in lists.document[np.argsort(lists.rank)]] == ["a", "b", "c"]


def test_what_is_unknown_of_one_query_is_no_nan_in_json(tmp_path: Path, cli_here: Cli) -> None:
    (tmp_path / "one.txt").write_text("".join(f"{k % 2} qid:1 1:{k}\n" for k in range(6)))
    (tmp_path / "scores.txt").write_text("".join(f"{k}\n" for k in range(6)))
    told = cli_here("evaluate", "one.txt", "--system", "scores.txt", "--format", "json")
    assert told.code == 0

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    assert json.loads(told.out, parse_constant=refused)


# -- faults that readers found ----------------------------------------------------------------------------------------


def test_renamed_features_keep_what_they_are_made_from() -> None:
    frame = pd.DataFrame({"label": [1, 0] * 10, "qid": np.repeat(range(5), 4), "brand": ["a", "b", "b", "a"] * 5})
    data = sr.read(frame)
    renamed = data.rename_features([f"new{j}" for j in range(data.n_features)])
    assert data.derived
    assert [renamed.derived[n].level for n in renamed.names] == [data.derived[n].level for n in data.names]


def test_reading_a_response_does_not_change_it() -> None:
    line = {"qid": "q", "response": {"response": {"docs": [{"id": "d", "score": 2.0, "title": 2.0}]}}}
    first, second = (list(hits_of(line, "a:1", Scored())) for _ in range(2))
    assert first == second
    assert first


def test_lists_for_trees_say_that_weights_of_documents_are_not_used() -> None:
    data = sr.datasets.make_ranking(24, 8, 4, n_informative=2, n_redundant=0, random_state=1).data
    weighted = replace(data, doc_weight=np.linspace(0.5, 2.0, data.n_docs))
    notes = [sr.select(d, for_model="lightgbm", sizes=[2], cv=2, n_threads=1).notes for d in (data, weighted)]
    assert [any("document weights" in note for note in own) for own in notes] == [False, True]
