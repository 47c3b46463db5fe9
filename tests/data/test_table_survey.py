"""A table is inspected without options, and the printed command works; a refusal of a table names `inspect`."""

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.cli.reading import joined_names, split_names
from sparserank.data.reading import Reading
from sparserank.data.tables import survey as table_survey
from sparserank.data.tables.batches import open_table, table_of
from sparserank.data.tables.guess import Proposal, propose
from sparserank.data.tables.survey import Survey, survey
from sparserank.errors import DataFormatError, SparserankError, TableError
from tests.oracles import columns as oracle
from tests.support.command_line import Cli, Outcome


def people_have() -> pd.DataFrame:
    """A table of a search team: text, dates, a flag, missing values, a copy, a constant, row numbers."""
    rng = np.random.default_rng(0)
    data = sr.datasets.make_ranking(40, (5, 9), 2, n_informative=2, n_redundant=0, noise=0.5, random_state=3).data
    n, X = data.n_docs, np.array(data.X)
    price = rng.gamma(2.0, 30.0, n)
    price[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "query": [f"shoes-{q}" for q in data.qid],
            "doc_id": [f"D{i}" for i in rng.permutation(n)],
            "url": [f"http://x/{i}" for i in range(n)],
            "relevance": data.relevance.astype(int),
            "bm25": X[:, 0],
            "title_bm25": X[:, 1],
            "price": price,
            "in_stock": rng.random(n) < 0.8,
            "created_at": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "category": rng.choice(["a", "b"], n),
            "bm25_again": X[:, 0],
            "version": 3,
        }
    )


FRAME = people_have()
ROLES = ("--label-column", "relevance", "--qid-column", "query")
LEFT_OUT = {"row", "url", "created_at", "version"}
FEATURES = ["bm25", "title_bm25", "price", "in_stock", "category", "bm25_again"]
LEVELS = [f"category={level}" for level in FRAME["category"].value_counts().index]
COLUMNS_OF_FEATURES = [*FEATURES[:4], *LEVELS, "bm25_again"]
FLAGGED = [*COLUMNS_OF_FEATURES, "price is missing"]


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix in (".csv", ".tsv"):
        # Flags as numbers: what a CSV file calls true is the reader's matter.
        numbers = {c: frame[c].astype(int) for c in frame if frame[c].dtype == bool}
        frame.assign(**numbers).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".arrow":
        feather.write_feather(frame, path)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=50)
    else:
        path.mkdir()
        frame.iloc[:100].to_parquet(path / "a.parquet", index=False)
        frame.iloc[100:].to_parquet(path / "b.parquet", index=False)
    return path


def proposed(source: Any, **options: Any) -> tuple[Proposal, Survey]:
    tables = [table_of("the frame", source)]
    found = survey(tables)
    return propose(tables, found, Reading(**options)), found


def pasted(command: str, cli: Cli) -> Outcome:
    """A printed command as a shell takes it apart; what it then starts runs in this process."""
    script = 'sparserank() { printf "%s\\0" "$@"; }\n' + command
    words = subprocess.run(["bash", "-euc", script], capture_output=True, check=True).stdout
    return cli(*os.fsdecode(words).split("\0")[:-1])


def command_in(outcome: Outcome) -> str:
    """The first command that was printed."""
    shown = (outcome.out + outcome.err).splitlines()
    return next(line.strip() for line in shown if line.startswith("  sparserank "))


def as_fit(command: str) -> str:
    return command.replace(" select ", " fit ").replace("--out run", "--out m.json")


# -- the survey ------------------------------------------------------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "whole numbers": [3, 1, 2, 2, 3, 1],
    "growing": [1, 2, 5, 7, 8, 20],
    "holes": [0.5, math.nan, 0.5, math.inf, -math.inf, 2.0],
    "all holes": [math.nan] * 6,
    "zeros of both signs": [0.0, -0.0, 0.0, 1.0, 1.0, -0.0],
    "beyond 2**53": [2**53, 2**53 + 1, 2**53 + 2, 2**53, 2**53, 2**53],
    "text": ["a", "b", "", None, "b", "a"],
    "flags": [True, False, False, True, True, True],
}


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_counts_of_columns_are_those_of_loops(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_survey, "BLOCK_ROWS", 2)  # nothing may be lost where a block ends
    table = pa.table({name: pa.array(values, from_pandas=False) for name, values in COLUMNS.items()})
    if kind == "frame":
        tables = [table_of("the frame", table)]
    elif kind == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        tables = [open_table(tmp_path / "t.parquet", "parquet")]
    else:
        table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
        tables = [open_table(tmp_path / "t.csv", "csv")]
    found = survey(tables)
    assert found.n_rows == 6
    rejected = 0
    for name, values in COLUMNS.items():
        c, expected = found.columns[name], oracle.facts(values)
        shown = {"n_missing": c.n_missing, "n_infinite": c.n_infinite, "n_distinct": c.n_distinct}
        assert shown == {k: expected[k] for k in shown}, name
        if c.is_number and expected["low"] is not None:
            assert (c.low, c.high, c.whole) == tuple(expected[k] for k in ("low", "high", "whole")), name
        rejected += c.n_distinct != oracle.facts(values, missing_is_a_value=True)["n_distinct"]
    assert rejected == 3  # the columns with holes: counting these among the values would be seen


def test_a_large_table_is_surveyed_by_its_first_rows_and_its_command_works_for_all(cli_here, monkeypatch):
    monkeypatch.setattr(table_survey, "ROWS", 100)
    monkeypatch.setattr(table_survey, "BLOCK_ROWS", 50)
    late = FRAME.assign(
        price=FRAME["price"].fillna(1.0),
        bm25=FRAME["bm25"].mask(FRAME.index == 200),
        version=np.where(FRAME.index < 150, 3, 4),
    )
    write(late, Path("t.parquet"))
    found = survey([open_table("t.parquet", "parquet")])
    assert (found.n_rows, found.whole, found.columns["row"].n_distinct) == (100, False, 100)
    command = command_in(cli_here("inspect", "t.parquet"))
    assert "--missing" not in command
    assert "version" not in command  # it is constant as far as it is known, and need not be
    assert cli_here(*shlex.split(as_fit(command))[1:]).code == 0


def test_judgments_beyond_the_survey_have_a_command_that_works(cli_here, monkeypatch):
    monkeypatch.setattr(table_survey, "ROWS", 100)
    columns = ["query", "relevance", "bm25"]
    unjudged = FRAME["relevance"].mask(FRAME.index == 220, -1)
    write(FRAME[columns].assign(bm25=FRAME["bm25"].mask(FRAME.index == 200), relevance=unjudged), Path("t.csv"))
    command = command_in(cli_here("inspect", "t.csv"))
    assert "--unjudged drop" in command
    assert cli_here(*shlex.split(as_fit(command))[1:]).code == 0
    strict = ("fit", "t.csv", *ROLES, "--unjudged", "drop", "--missing", "error", "--out", "m.json")
    (sentence,) = cli_here(*strict).sentences
    assert "row 200, column 'bm25'" in sentence
    with pytest.raises(DataFormatError, match="row 200, column 'bm25'"):
        sr.read("t.csv", label="relevance", qid="query")
    assert sr.read("t.csv", label="relevance", qid="query", missing="median", unjudged="drop").n_docs == len(FRAME) - 1


PEAK = """
import sys
from pathlib import Path
from sparserank.data.tables.batches import open_table
from sparserank.data.tables.survey import survey

def peak():
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

survey([open_table(Path(sys.argv[1]), "parquet")])
before = peak()
found = survey([open_table(Path(sys.argv[2]), "parquet")])
print(found.whole, (peak() - before) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_survey_takes_bounded_memory(tmp_path: Path) -> None:
    """In a process of its own, whose peak is that of the survey."""
    block = pa.table({"qid": np.arange(10_000) // 20, "text": ["http://x/" + "y" * 10_000] * 10_000})
    pq.write_table(block.slice(0, 10), tmp_path / "small.parquet")
    with pq.ParquetWriter(tmp_path / "t.parquet", block.schema) as writer:
        for _ in range(12):
            writer.write_table(block)
    arguments = [sys.executable, "-c", PEAK, str(tmp_path / "small.parquet"), str(tmp_path / "t.parquet")]
    whole, grown = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert whole == "False"
    assert 0 < float(grown) < 1000  # megabytes; the texts alone are 1,200


# -- what is guessed ---------------------------------------------------------------------------------------------------


def test_roles_features_and_what_is_left_out() -> None:
    told, _ = proposed(FRAME)
    assert told.column_of == {"label": "relevance", "qid": "query", "docid": "doc_id"}
    assert told.features == tuple(FEATURES)
    assert set(told.left_out) == LEFT_OUT
    assert told.left_out["version"] == "3 in every row"
    assert "like an id" in told.left_out["row"]
    assert told.holes == ("price",)
    assert told.blocked == []


def test_roles_are_guessed_by_name_alone() -> None:
    plain = FRAME[["query", "relevance", "bm25", "title_bm25"]]
    told, _ = proposed(plain.rename(columns={"query": "k1", "relevance": "k2"}))
    assert told.column_of == {}
    assert "it is not clear which column is the query: name the column with qid" in " ".join(told.blocked)
    told, _ = proposed(plain.assign(clicks=plain["relevance"] * 2))
    assert told.column_of["label"] == "relevance"
    assert "clicks" in told.features
    told, _ = proposed(plain.assign(Query_ID=np.arange(len(plain)) // 7))
    assert told.column_of["qid"] == "Query_ID"
    assert told.left_out == {}
    assert "query" in told.features  # a category, until the rows are read


def test_no_guess_overrules_an_option() -> None:
    told, _ = proposed(FRAME, label="version", qid="category", ignore_columns=("bm25",), docid="url")
    assert told.column_of == {"label": "version", "qid": "category", "docid": "url"}
    assert told.left_out["bm25"] == "as you requested"
    assert any("3 in every row" in reason for reason in told.blocked)  # such a label cannot be learned from
    told, _ = proposed(FRAME, feature_columns=["price", "version"])
    assert told.features == ("price", "version")


BLOCKED: dict[str, tuple[dict[str, Any], str]] = {
    "label with holes": (
        {"relevance": FRAME["relevance"].mask(FRAME.index == 3)},
        "rows without a label in 'relevance': 1; correct",
    ),
    "query with holes": (
        {"query": FRAME["query"].mask(FRAME.index < 3)},
        "rows without a query in 'query': 3; correct",
    ),
    "a label in words": (
        {"label": FRAME["relevance"].astype(str) + " stars"},
        "the label 'label' is ",
    ),
    "a grade in words, beside a number that may be one": (
        {"relevance": FRAME["relevance"].astype(str) + " stars", "rating": FRAME["bm25"]},
        "the label is 'relevance', which is not numeric: a label must be a number",
    ),
    "one label": ({"relevance": 1}, "it is not clear which column is the label"),
}


@pytest.mark.parametrize("case", list(BLOCKED))
def test_problems_that_no_option_solves(case: str, cli: Cli, tmp_path: Path) -> None:
    change, message = BLOCKED[case]
    frame = FRAME.assign(**change)
    assert message in "; ".join(proposed(frame)[0].blocked)
    outcome = cli("inspect", write(frame, tmp_path / "t.parquet")).done
    assert f"problem: {message}" in outcome.out
    assert "sparserank select" not in outcome.out


# -- the command that follows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.tsv", "t.arrow", "folder"])
def test_the_first_attempt_shows_everything_and_its_command_goes_through(name, cli_here):
    write(FRAME, Path(name))
    outcome = cli_here("inspect", name)
    assert (outcome.code, outcome.sentences) == (0, [])
    for column in FRAME:
        assert f"\n{column} " in outcome.out
    command = outcome.out.splitlines()[-1].strip()
    assert command.startswith(f"sparserank select {name} --label-column relevance --qid-column query ")
    told = json.loads(cli_here("inspect", name, "--format", "json").out)
    assert told["next"] == command
    assert told["roles"] == {"label": "relevance", "qid": "query", "docid": "doc_id"}
    assert (told["n_docs"], told["n_queries"], told["n_features"]) == (len(FRAME), 40, len(FEATURES))  # columns
    assert {c["column"]: c["use"] for c in told["columns"] if c["use"] == "left out"}.keys() == LEFT_OUT
    quick = ["--penalty", "l1", "--n-alphas", "3", "--folds", "2", "--half-samples", "0"]
    arguments = [*shlex.split(command)[1:], *quick]
    if name != "t.parquet":  # the other kinds with a quicker command
        arguments = ["fit", *arguments[1 : -len(quick) - 2], "--out", "run/model.json"]
        Path("run").mkdir()
    assert cli_here(*arguments).code == 0
    assert list(sr.load_model("run/model.json").feature_names) == FLAGGED
    assert cli_here("inspect", name).out.splitlines()[-1].endswith("--out run2")  # a name that nothing has


HOSTILE = ["a,b", "c;d=e", "new\nline", "quo'te\"s", '"whole"', "-dash", "--out", "日本", "", "$(touch evil)", "`id`"]
HOSTILE += ["esc\x1b[31m", "*", " blanks ", "7"]


def test_names_of_any_kind_can_be_pasted(cli_here: Cli) -> None:
    rng = np.random.default_rng(0)
    n = len(FRAME)
    texts = {name: np.array(["x"] * n) for name in HOSTILE[::2]}
    holes = {name: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)) for name in HOSTILE[1::2]}
    frame = FRAME[["query", "relevance", "bm25"]].assign(**texts, **holes)
    Path("a dir").mkdir()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), "a dir/-t.parquet")
    refused = cli_here("fit", "a dir/-t.parquet", "--out", "m.json")
    (sentence,) = refused.sentences
    outcome = pasted(sentence.partition(", run: ")[2], cli_here)
    assert "\x1b" not in outcome.out + outcome.err + refused.err
    assert pasted(as_fit(command_in(outcome)), cli_here).code == 0
    model = sr.load_model("m.json")
    assert set(model.feature_names) == {"bm25", *holes, *(f"{name} is missing" for name in holes)}
    assert not Path("evil").exists()


def test_the_mark_is_missing_in_a_survey_as_everywhere(cli_here):
    marked = np.where(np.arange(len(FRAME)) % 9 == 0, 1.797e308, FRAME["title_bm25"])
    frame = FRAME[["query", "relevance", "bm25"]].assign(mark=marked)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), "t.parquet")
    command = command_in(cli_here("inspect", "t.parquet"))
    assert pasted(as_fit(command), cli_here).code == 0
    assert sr.load_model("m.json").feature_names == ("bm25", "mark", "mark is missing")


LISTS = [["a", "b"], ["a,b"], [""], ["", "a"], ['"q"', "b"], ["x\ny", "z"], [" a ", "b"], ['a"b', "c"]]
LISTS += [["new\nline", "b,c", "\r"]]


@pytest.mark.parametrize("names", LISTS)
def test_lists_of_names_come_back(names: list[str]) -> None:
    assert split_names(joined_names(names)) == names
    if not any(set(name) & set(',"\n') for name in names):
        assert split_names(",".join(names)) == ",".join(names).split(",")


def test_unpaired_quotes_are_part_of_a_name() -> None:
    assert split_names('12"') == ['12"']
    assert split_names('a,"b') == ["a", '"b']


# -- the refusal -------------------------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({}, "has no column 'label'; it has 'row, query, doc_id, "),
    "no query": ({"label": "relevance", "qid": "nope"}, "has no column 'nope'"),
    "a date": ({"label": "relevance", "qid": "query"}, "column 'created_at' is not numeric (timestamp["),
    "no feature": ({"label": "relevance", "qid": "query", "ignore_columns": [*FRAME]}, "has no feature column"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_refusal_of_a_file_names_the_command_that_shows_its_columns(case: str, tmp_path: Path) -> None:
    options, message = REFUSED[case]
    path = write(FRAME, tmp_path / "t.parquet")
    with pytest.raises(TableError) as refusal:
        sr.read(path, **options)
    assert str(refusal.value).startswith(f"{path}: {message}")
    assert str(refusal.value).endswith(f"; to see its columns, run: sparserank inspect {path}")
    with pytest.raises(TableError) as refusal:
        sr.read(FRAME, **options)
    assert str(refusal.value).startswith(f"the frame: {message}")
    assert str(refusal.value).endswith(".")
    assert "inspect" not in str(refusal.value)


def test_a_refusal_leads_to_a_command_that_goes_through(cli_here):
    write(FRAME, Path("t.csv"))
    refused = cli_here("fit", "t.csv", "--qid-column=nope", "--out", "m.json")
    (sentence,) = refused.sentences
    assert refused.code == 1
    assert not Path("m.json").exists()
    command = command_in(pasted(sentence.partition(", run: ")[2], cli_here))
    assert pasted(as_fit(command), cli_here).code == 0
    assert list(sr.load_model("m.json").feature_names) == FLAGGED


def test_commands_of_trained_models_are_offered_nothing_that_is_learned(cli: Cli, tmp_path: Path) -> None:
    known = FRAME.assign(price=FRAME["price"].fillna(0.0))
    options = (*ROLES, "--feature-columns", "bm25,price", "--alpha-ratio", "0.001", "--out", tmp_path / "m.json")
    assert cli("fit", write(known, tmp_path / "a.parquet"), *options).code == 0
    outcome = cli("predict", tmp_path / "m.json", write(FRAME, tmp_path / "b.parquet"), *ROLES[2:])
    (sentence,) = outcome.sentences
    assert "feature 'price' is nan" in sentence
    assert "--missing model" in sentence  # the median of training, which the model holds; none of the new data
    assert "run this command" not in outcome.err


def test_every_feature_that_a_policy_forgets_is_named() -> None:
    frame = FRAME[["query", "relevance", "bm25", "price"]].assign(size=FRAME["price"], age=FRAME["price"])
    with pytest.raises(
        SparserankError, match=r"feature 'price' has a missing or infinite value, and so do 1 others: 'size'"
    ):
        sr.read(frame, label="relevance", qid="query", missing={"age": "median"})


def test_a_file_that_cannot_be_read_says_what_is_wrong_first(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("qid,label,x\n1,2,0.5\n1,1\n")
    for command in (("inspect",), ("fit", "--out", tmp_path / "m.json")):
        outcome = cli(command[0], tmp_path / "t.csv", *command[1:])
        (sentence,) = outcome.sentences
        assert "Expected 3 columns, got 2" in sentence


def test_text_deep_in_a_column_of_numbers_is_shown_by_its_row(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("sparserank.data.tables.batches.CSV_BLOCK_BYTES", 256)
    rows = [f"{i // 5},{i % 2},{i * 37 % 101},{i}.5\n" for i in range(300)]
    (tmp_path / "t.csv").write_text("qid,label,x,y\n" + "".join(rows) + "9,1,oops,3\n")
    outcome = cli("inspect", tmp_path / "t.csv").done
    assert "left out: x ('oops' in row 300 is not a number)" in outcome.out
    assert "--ignore-columns x" in outcome.out


def test_words_for_nothing_are_ids_where_ids_are_read(cli_here):
    ids = ["NA"] * 5 + ["null"] * 5 + [str(i // 5) for i in range(10, 100)]
    rows = [f"{ids[i]},{i % 3},{'NA' if i == 7 else i * 37 % 101 / 7},{i * 0.7 % 1.3}\n" for i in range(100)]
    Path("t.csv").write_text("qid,label,x,y\n" + "".join(rows))
    assert sr.read("t.csv", missing="median").n_queries == 20
    told = json.loads(cli_here("inspect", "t.csv", "--format", "json").out)
    assert (told["in_the_way"], told["n_queries"], told["missing"]) == ([], 20, {"x": 0.01})
    assert told["next"] == "sparserank select t.csv --out run"


def test_a_refusal_names_the_one_of_several_files(cli_here):
    own = FRAME[["query", "relevance", "bm25", "price"]].assign(query="one " + FRAME["query"])
    write(own.assign(price=1.0), Path("a.parquet"))
    holes = own["bm25"].mask(own.index == 3, np.inf)
    write(own.assign(query="two " + FRAME["query"], bm25=holes), Path("b.parquet"))
    with pytest.raises(DataFormatError, match=r"^b.parquet: row \d, column '(price|bm25)': missing or infinite"):
        sr.read(["a.parquet", "b.parquet"], label="relevance", qid="query")
    roles = {"label": "relevance", "qid": "query", "missing": "median"}
    assert sr.read(["a.parquet", "b.parquet"], **roles).n_queries == 80


def test_judged_documents_beside_scores_are_asked_for_no_feature(cli_here):
    write(FRAME, Path("t.parquet"))
    Path("s.txt").write_text("".join(f"{s}\n" for s in FRAME["bm25"]))
    (sentence,) = cli_here("evaluate", "t.parquet", "--system", "s.txt").sentences
    assert "has no column 'label'" in sentence
    assert "numeric" not in sentence
    assert "missing" not in sentence


def test_more_than_fits_is_shown_without_reading_the_features(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("sparserank.cli.inspect_tables.IN_MEMORY", 100)
    path = write(FRAME, tmp_path / "t.parquet")
    told = json.loads(cli("inspect", path, "--format", "json").out)
    assert (told["n_docs"], told["n_queries"], told["n_features"]) == (len(FRAME), 40, len(FEATURES))
    assert "constant_features" not in told
    assert "--missing" not in told["next"]


# -- what is suspicious, and what a column is --------------------------------------------------------------------------


def click_log() -> pd.DataFrame:
    """A log with an outcome, a position, codes, numbers as text, and a category that is the same within queries."""
    rng = np.random.default_rng(0)
    n = 600
    query = np.repeat(np.arange(60), 10)
    label = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "query_id": query,
            "label": label,
            "bm25": rng.random(n) + 0.3 * label,
            "position": np.tile(np.arange(1, 11), 60),
            "clicked": (rng.random(n) < 0.3 * label).astype(int),
            "shop_id": rng.integers(0, 9, n),
            "brand": rng.choice(["acme", "zeta"], n),
            "price": [str(v) for v in rng.integers(1, 400, n) % 37],
            "market": np.where(query % 2 == 0, "uk", "us"),
        }
    )


def test_the_command_leaves_out_what_is_warned_of_and_offers_categories(cli_here) -> None:
    """The table, the reasons, the warnings and the facts agree on what a column is, and the command goes through."""
    click_log().to_parquet("log.parquet")
    outcome = cli_here("inspect", "log.parquet")
    told = json.loads(cli_here("inspect", "log.parquet", "--format", "json").out)
    left_out = {c["column"]: c["why"] for c in told["columns"] if c["use"] == "left out"}
    assert left_out.keys() == {"position", "clicked", "price", "market"}
    assert "half or more of its values are numbers" in left_out["price"]
    assert all(f"feature '{name}' is named like" in outcome.err for name in ("position", "clicked"))
    assert "differs within a query: market" in outcome.err
    assert told["n_features"] == 3
    assert told["feature_names"] == ["bm25", "shop_id", "brand"]
    assert "read as amounts: shop_id; for those that are codes, add --categories" in outcome.out
    command = shlex.split(told["next"])
    assert command[-4:-2] == ["--feature-columns", "bm25,shop_id,brand"]  # shorter than what is left out
    assert "--ignore-columns" not in command
    quick = ["--penalty", "l1", "--n-alphas", "5", "--folds", "2", "--half-samples", "0", "--rival", "none"]
    again = cli_here(*command[1:], *quick)
    assert again.code == 0
    assert "warning" not in again.err
    with_codes = json.loads(cli_here("inspect", "log.parquet", "--categories", "shop_id", "--format", "json").out)
    assert "--categories shop_id" in with_codes["next"]
    named = cli_here("inspect", "log.parquet", "--feature-columns", "bm25,position")
    assert "--feature-columns bm25,position" in named.out


def test_vectors_of_spark_name_their_conversion(cli_here) -> None:
    log = click_log()[["query_id", "label"]]
    of = pa.field("type", pa.int8(), nullable=False)  # as Spark writes it
    kind = pa.struct([of, ("size", pa.int32()), ("indices", pa.list_(pa.int32()))])
    kind = pa.struct([*kind, ("values", pa.list_(pa.float64()))])
    vectors = [{"type": 1, "size": None, "indices": None, "values": [0.5, 1.0]}] * len(log)
    pq.write_table(pa.Table.from_pandas(log).append_column("features", pa.array(vectors, kind)), "spark.parquet")
    for command in (("inspect",), ("select", "--out", "run", "--qid-column", "query_id")):
        outcome = cli_here(command[0], "spark.parquet", *command[1:])
        assert "pyspark.ml.functions.vector_to_array" in outcome.out + outcome.err
