"""The column of document ids, of any kind in any table: it is no feature, and runs,
judgments and explanations contain its values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import sparserank as sr
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.data.runs import Run
from sparserank.data.store.convert import convert
from sparserank.errors import DataError, DataFormatError, RunDirectoryError
from tests.support.command_line import Cli, Outcome, assert_refused

DATA = sr.datasets.make_ranking(12, (4, 8), 3, n_informative=2, n_redundant=0, noise=0.5, random_state=4).data
N = DATA.n_docs
NAMES = ["a", "b", "c"]
IDS = np.random.default_rng(0).permutation(N) + 1000
FRAME = pd.DataFrame(np.array(DATA.X), columns=NAMES).assign(
    grade=DATA.relevance.astype(int), query=[f"q{q}" for q in DATA.qid], item=IDS
)
TEXTS = [str(i) for i in IDS.tolist()]
COLUMNS: dict[str, Any] = {"label": "grade", "qid": "query", "docid": "item"}


def written(path: Path, frame: pd.DataFrame = FRAME) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".arrow":
        feather.write_feather(frame, path)
    else:
        frame.to_parquet(path, index=False)
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": lambda folder: written(folder / "t.parquet"),
    "csv": lambda folder: written(folder / "t.csv"),
    "arrow file": lambda folder: written(folder / "t.arrow"),
    "pandas": lambda _: FRAME,
    "polars": lambda _: pl.from_pandas(FRAME),
    "arrow": lambda _: pa.Table.from_pandas(FRAME, preserve_index=False),
}


@pytest.mark.parametrize("kind", list(SOURCES))
def test_the_named_column_is_the_id_and_no_feature(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    found = as_datasets({"train": source}, **COLUMNS)["train"]
    assert found is not None
    assert (list(found.docid), found.feature_names) == (TEXTS, tuple(NAMES))
    if kind != "partitions":
        assert list(sr.read(source, **COLUMNS).docid) == TEXTS
    without = as_datasets({"train": source}, label="grade", qid="query")["train"]
    assert without is not None  # numbers are no ids by themselves
    assert (without.docid, without.feature_names) == (None, (*NAMES, "item"))


KINDS: dict[str, tuple[Any, list[str]]] = {
    "floats, as pandas has whole numbers beside missing ones": (
        np.where(IDS[2] == IDS, np.nan, IDS),
        [t if k != 2 else "" for k, t in enumerate(TEXTS)],
    ),
    "categories": (pd.Categorical(TEXTS), TEXTS),
    "times": (pd.to_datetime(IDS, unit="D"), [str(t.date()) for t in pd.to_datetime(IDS, unit="D")]),
    "large numbers": (IDS.astype(np.uint64) + np.uint64(2**63), [str(int(i) + 2**63) for i in IDS]),
    "fractions": (IDS + 0.5, [f"{i}.5" for i in IDS]),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_ids_of_any_kind_become_text(kind: str, tmp_path: Path) -> None:
    values, texts = KINDS[kind]
    frame = FRAME.assign(item=values)
    for source in (frame, written(tmp_path / "t.parquet", frame)):
        found = sr.read(source, **COLUMNS)
        assert [d[:10] if kind == "times" else d for d in found.docid] == texts
    zeros = written(tmp_path / "t.csv", FRAME.assign(item=[f"00{i}" for i in IDS]))
    assert sr.read(zeros, **COLUMNS).docid[0] == f"00{IDS[0]}"  # leading zeros of a CSV file stay


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"docid": "nope"}, r"has no column 'nope'; .*name the column with docid"),
        ({"docid": "query"}, "'query' cannot be both the query id and the document id"),
        ({"docid": "grade"}, "cannot be both the label and"),
        ({"docid": "a", "feature_columns": ["a", "b"]}, "'a' is the document id, so it cannot also be a feature"),
        ({"docid": "lists"}, "the column of query ids, document ids or weights has a type that cannot be read"),
    ],
)
def test_a_column_that_cannot_be_the_id_is_refused(options: dict[str, Any], message: str) -> None:
    lists = pa.Table.from_pandas(FRAME).append_column("lists", pa.array([[1]] * N))
    with pytest.raises((DataError, DataFormatError), match=message):
        sr.read(lists, **{**COLUMNS, **options})


def test_python_takes_the_column_wherever_it_takes_queries() -> None:
    own, X = {"label": "grade", "qid": "query"}, FRAME[NAMES].to_numpy()
    quick: dict[str, Any] = {"penalties": "l1", "n_alphas": 6, "cv": 2, "half_samples": 0, "feature_transform": "none"}
    named = sr.select(FRAME, docid="item", **own, **quick)
    beside = sr.select(X, label=FRAME["grade"], qid=FRAME["query"], docid=IDS, **quick)
    assert named.model.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(named.model.coef, beside.model.coef)
    shown = {
        p.document
        for r in (named, beside)
        for q in r.queries.lost + r.queries.won
        if q.pair
        for p in (q.pair.better, q.pair.worse)
    }
    assert shown <= set(TEXTS)
    assert sr.fit_path(FRAME, docid="item", n_alphas=3, **own).coefs.shape[1] == 3
    run = Run({(q, d): float(-k) for k, (q, d) in enumerate(zip(FRAME["query"], TEXTS, strict=True))})
    expected = sr.evaluate(-np.arange(N, dtype=float), FRAME, **own)
    assert sr.evaluate(run, FRAME, docid="item", **own) == expected
    assert sr.evaluate(run, FRAME["grade"].to_numpy(), qid=FRAME["query"], docid=IDS) == expected


def test_a_store_and_the_runs_of_a_model_hold_the_ids(cli_here: Cli, tmp_path: Path) -> None:
    cli = cli_here
    written(tmp_path / "t.parquet")
    columns = ("--label-column", "grade", "--qid-column", "query")
    ids = ("--docid-column", "item")
    assert cli("convert", "t.parquet", "store", *columns, *ids).code == 0
    assert list(sr.read("store").docid) == TEXTS
    assert cli("fit", "t.parquet", *columns, *ids, "--out", "m.json").code == 0
    assert sr.load_model("m.json").feature_names == tuple(NAMES)
    outcome = cli("predict", "m.json", "t.parquet", *columns, *ids, "--run", "with.run", "--qrels", "t.qrels")
    assert (outcome.code, outcome.sentences) == (0, [])
    assert {line.split()[2] for line in Path("with.run").read_text().splitlines()} == set(TEXTS)
    assert cli("predict", "m.json", "store", "--run", "store.run").sentences == []
    by_store, by_table = (
        [line.split()[:3] for line in Path(f"{name}.run").read_text().splitlines()] for name in ("store", "with")
    )
    assert sorted(by_store) == sorted(by_table)
    pair = ("--query", "q1", "--pair", TEXTS[0], "--pair", TEXTS[1])
    assert TEXTS[0] in cli("explain", "m.json", "t.parquet", *columns, *ids, *pair).out
    assert cli("evaluate", "t.parquet", *columns, *ids, "--system", "with.run", "--system", "m.json").code == 0


def test_a_table_of_scores_has_the_queries(cli_here: Cli, tmp_path: Path) -> None:
    """All were query 0, where nobody had named their column."""
    sr.SparseRanker().fit(FRAME[NAMES], FRAME["grade"], qid=FRAME["query"]).to_model().save("m.json")
    FRAME.to_parquet(tmp_path / "t.parquet")
    call = ("predict", "m.json", "t.parquet", "--docid-column", "item", "--out", "scores.csv")
    assert_refused(cli_here(*call), 1, "has no column 'qid'")
    assert not Path("scores.csv").exists()
    named = ("--label-column", "grade", "--qid-column", "query")
    assert cli_here(*call, "--qid-column", "query").code == 0
    assert pd.read_csv("scores.csv")["qid"].tolist() == FRAME["query"].tolist()
    ids = ("--docid-column", "item")
    assert cli_here("evaluate", "t.parquet", *named, *ids, "--system", "scores.csv", "--system", "m.json").code == 0
    assert cli_here(*call[:3], "--out", "lines.txt").code == 0  # scores alone need no queries


def test_a_run_without_ids_is_warned_of(cli_here: Cli) -> None:
    sr.SparseRanker().fit(FRAME[NAMES], FRAME["grade"], qid=FRAME["query"]).to_model().save("m.json")

    def predict(items: Any, *options: str) -> Outcome:
        FRAME.assign(item=items).to_parquet("t.parquet")
        return cli_here("predict", "m.json", "t.parquet", "--qid-column", "query", *options)

    ids = ("--docid-column", "item", "--run", "no.run")
    outcome = predict(IDS, "--run", "no.run")
    (warning,) = outcome.sentences
    assert outcome.code == 0
    assert warning.startswith(f"warning: {N} of {N} documents have no id, so --run names them d1, d2, ... by row; ")
    assert "--docid-column" in warning
    assert Path("no.run").read_text().split()[2].startswith("d")
    assert predict(IDS).sentences == []  # scores need no ids
    (warning,) = predict([None, *TEXTS[1:]], *ids).sentences
    assert warning.startswith(f"warning: 1 of {N} documents have no id, so --run names them d1, d2, ... by row; ")
    assert_refused(predict("same", *ids), 1, "has document 'same' twice")


def test_a_conversion_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """Its plan knew no column of document ids: the text of the options is the same without one,
    and another with one."""
    path = written(tmp_path / "t.parquet")
    first = Reading(label="grade", qid="query", feature_columns=NAMES)
    known = convert([path], tmp_path / "store", first)
    assert "docid" not in known["plan"]["reading"]
    assert convert([path], tmp_path / "store", first) == known
    with pytest.raises(RunDirectoryError, match="contains a store of other files, of other options, or"):
        convert([path], tmp_path / "store", Reading(label="grade", qid="query", feature_columns=NAMES, docid="item"))
