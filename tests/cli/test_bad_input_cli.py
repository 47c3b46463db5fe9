"""Every row of the input table through the command line: one sentence and exit 1, a warning, or a finished run."""

import errno
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sparserank as sr
from sparserank import load_model, write_letor
from sparserank.crossval.convergence import unsolved
from sparserank.data.reading import Reading
from sparserank.data.text_lines import text_lines
from sparserank.data.trec import MAX_ENTRY_BYTES
from sparserank.datasets import make_ranking
from sparserank.errors import DataFormatError, ParameterError, RunDirectoryError, SparserankError
from sparserank.penalties import L1
from tests.support.command_line import Cli, Outcome

QUICK = ("--n-alphas", "6", "--folds", "2", "--half-samples", "4", "--rival", "none", "--penalty", "l1")
RESULTS = ("model.json", "models.json", "path.parquet", "per_query.parquet", "report.html")
N_FEATURES = 6


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """A clean data set of 20 queries as lines of text; tests spoil it."""
    problem = make_ranking(20, (5, 8), N_FEATURES, n_informative=2, n_redundant=1, query_spread=0.0)
    write_letor(problem.data, tmp_path / "clean.txt")
    return (tmp_path / "clean.txt").read_text().splitlines()


def save(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes((end.join(lines) + end).encode())
    return path


def assert_failed(outcome: Outcome, tmp_path: Path, *words: str) -> None:
    """Exit 1, one sentence, no traceback, no result and no temporary file."""
    assert outcome.code == 1, outcome
    assert "Traceback" not in outcome.err
    assert len(outcome.sentences) == 1, outcome.err
    (sentence,) = outcome.sentences
    assert sentence.startswith("error: ")
    assert sentence.endswith(".")
    for part in words:
        assert part in sentence
    assert [p for p in tmp_path.rglob("*") if p.name in RESULTS or p.suffix == ".part"] == []


def assert_misuse(outcome: Outcome, tmp_path: Path, *words: str) -> None:
    assert outcome.code == 2, outcome
    assert "Traceback" not in outcome.err
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", re.sub(r"\x1b\[[0-9;]*m", "", outcome.err)).split())
    for part in words:
        assert part in shown
    assert not (tmp_path / "run").exists()


def assert_finished(outcome: Outcome, run: Path) -> dict[str, Any]:
    assert outcome.code == 0, outcome
    assert "Traceback" not in outcome.err
    for name in RESULTS:
        assert (run / name).stat().st_size > 0
    assert list(run.rglob("*.part")) == []
    return json.loads((run / "model.json").read_text())


# -- refused with file and line, by every command that reads -----------------------------------------------------------

SPOILED = {
    "malformed token": ("1 qid:3 1:0.5 x", "expected 'index:value'"),
    "label not a number": ("good qid:3 1:0.5", "label must be a number"),
    "label a word that starts like infinity": ("infinite qid:3 1:0.5", "label must be a number"),
    "missing qid": ("1 1:0.5", "expected 'qid:ID'"),
    "index 0": ("1 qid:3 0:0.5", "--index-base 0"),
    "repeated index": ("1 qid:3 2:0.5 2:0.5", "feature index 2 appears twice"),
    "NULL": ("1 qid:3 1:NULL", "--missing zero"),
    "nan": ("1 qid:3 1:nan", "--missing zero"),
    "infinity": ("1 qid:3 1:-inf", "--missing zero"),
    "Istella's value": ("1 qid:3 1:1.79769313486232e+308", "--missing zero"),
    "unjudged": ("-1 qid:3 1:0.5", "--unjudged drop"),
    "infinite label": ("inf qid:3 1:0.5", "label must be finite"),
}


@pytest.mark.parametrize("row", SPOILED)
@pytest.mark.parametrize("command", ["select", "fit"])
def test_a_bad_line_is_one_sentence_with_file_and_line(row, command, cli, lines, tmp_path):
    bad, words = SPOILED[row]
    train = save(tmp_path / "train.txt", [*lines[:10], "# comment", "", bad, *lines[10:]])
    outcome = cli(command, train, "--out", tmp_path / "run")
    assert_failed(outcome, tmp_path, f"error: {train}:13: ", words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("part", ["--valid", "--test"])
def test_a_bad_line_or_more_features_in_another_part_are_named(part, cli, lines, tmp_path):
    train, other = save(tmp_path / "train.txt", lines), save(tmp_path / "other.txt", ["1 qid:x 1:1", "1 qid:x 1:?"])
    args = ("select", train, part, other, "--out", tmp_path / "run", *QUICK)
    assert_failed(cli(*args), tmp_path, f"{other}:2: ")
    save(other, ["0 qid:x 1:1", "1 qid:x 9:1"])
    assert_failed(cli(*args), tmp_path, f"{other}:2: has feature 9, but {N_FEATURES} features", "--n-features")
    assert assert_finished(cli(*args, "--n-features", 9), tmp_path / "run")["n_features_in"] == 9


WHOLE = gzip.compress(b"1 qid:1 1:1\n" * 999)
UNUSABLE: dict[str, tuple[bytes | None, str]] = {
    "empty": (b"", "no data rows"),
    "comments only": (b"\n# 1 qid:1 1:1\n \n", "no data rows"),
    "empty gzip": (gzip.compress(b""), "no data rows"),
    "truncated gzip": (WHOLE[:-20], "damaged gzip file"),
    "damaged gzip": (b"\x1f\x8b damaged", "gzip"),
    "garbled gzip": (WHOLE[:20] + b"xx" * 20, "damaged gzip file"),
    "damaged checksum": (WHOLE[:-8] + b"\0" * 8, "gzip"),
    "image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
    "binary": (bytes(range(256)) * 20, "binary"),
    "all unjudged": (b"-1 qid:1 1:1\n", "no row is left"),
    "absent": (None, "no such file"),
    "directory": (None, "is a directory"),
    "loop of links": (None, "train.txt"),
}


@pytest.mark.parametrize("row", UNUSABLE)
def test_an_unusable_file_is_one_sentence(row: str, cli: Cli, tmp_path: Path) -> None:
    content, message = UNUSABLE[row]
    path, store = tmp_path / "train.txt", tmp_path / "store"
    if content is not None:
        path.write_bytes(content)
    elif row == "directory":
        path.mkdir()
    elif row == "loop of links":
        path.symlink_to(path)
    for read in (sr.read, lambda file, **options: sr.convert([file], store, Reading(**options))):
        with pytest.raises(DataFormatError, match=message) as caught:
            read(path, unjudged="drop")
        assert str(caught.value).startswith(f"{path}: ")
    assert not (store / "manifest.json").exists()
    for command in ("select", "fit", "inspect"):
        outcome = cli(command, path, *([] if command == "inspect" else ["--out", tmp_path / "run"]))
        assert_failed(outcome, tmp_path, f"error: {path}")
        assert not (tmp_path / "run").exists()


# -- refused because of what the data are ------------------------------------------------------------------------------


TEACHES_NOTHING: dict[str, tuple[Callable[[str], str], str, str]] = {
    "no pair": (lambda line: "1 " + line.partition(" ")[2], "l1", "no preferred pair"),
    "no feature": (lambda line: line.partition(" 1:")[0], "l1", "feature"),
    "constant features": (
        lambda line: re.sub(r" (\d):\S+", r" \1:5", line),
        "l1",
        "no feature varies within the queries",
    ),
    "no feature left": (str, f"l1(drop={tuple(range(N_FEATURES))})", "excludes every feature that varies"),
}


@pytest.mark.parametrize("row", TEACHES_NOTHING)
@pytest.mark.parametrize("command", ["select", "fit"])
def test_data_that_teach_nothing_are_refused(row, command, cli, lines, tmp_path):
    spoil, penalty, words = TEACHES_NOTHING[row]
    if command == "select" and row in ("constant features", "no feature left"):
        words = "Every feature is constant within queries, unpenalised, excluded, or kept at 0"
    train = save(tmp_path / "train.txt", [spoil(line) for line in lines])
    assert_failed(cli(command, train, "--out", tmp_path / "run", "--penalty", penalty), tmp_path, words)
    if row == "no pair":
        assert "0" in re.search(r"preferred pairs\s+(\d+)", cli("inspect", train).out)[1]  # type: ignore[index]


def test_one_query_cannot_be_validated_and_fit_is_offered(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", [re.sub(r"qid:\d+", "qid:7", line) for line in lines])
    assert_failed(cli("select", train, "--out", tmp_path / "run", *QUICK), tmp_path, "one query", "sparserank fit")
    assert cli("fit", train, "--out", tmp_path / "fitted.json").code == 0


@pytest.mark.parametrize(("first", "second"), [("train", "validation"), ("train", "test"), ("validation", "test")])
def test_the_same_query_in_two_parts_leaks(first: str, second: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    by_id = {i: [line for line in lines if f" qid:{i} " in line] for i in range(1, 21)}
    parts = {"train": range(1, 13), "validation": range(13, 17), "test": range(17, 21)}
    files = {}
    for name, ids in parts.items():
        extra = by_id[max(parts[first])] if name == second else []
        files[name] = save(tmp_path / f"{name}.txt", [line for i in ids for line in by_id[i]] + extra)
    others = ("--valid", files["validation"], "--test", files["test"])
    args = ("select", files["train"], *others, "--out", tmp_path / "run", *QUICK)
    both = f"{first} and {second} have 1 query ids in common (first: {max(parts[first])})"
    assert_failed(cli(*args), tmp_path, both, "--allow-overlap")
    assert_finished(cli(*args, "--allow-overlap"), tmp_path / "run")


# -- accepted ----------------------------------------------------------------------------------------------------------


def test_a_split_query_is_gathered_with_a_warning(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    tidy, split = save(tmp_path / "tidy.txt", lines), save(tmp_path / "split.txt", [*lines[1:], lines[0]])
    outcome = cli("select", split, "--out", tmp_path / "run", *QUICK)
    assert_finished(outcome, tmp_path / "run")
    assert outcome.sentences == [s for s in outcome.sentences if s.startswith("warning: ")]
    assert f"{split}:{len(lines)}: query 1 continues here" in outcome.sentences[0]
    assert len(outcome.sentences) == 1
    assert cli("select", tidy, "--out", tmp_path / "tidy", *QUICK).sentences == []


def test_constant_features_are_listed_and_get_no_weight(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    constant = [re.sub(r" 4:\S+", " 4:3.5", re.sub(r" 5:\S+", "", line)) for line in lines]
    outcome = cli("select", save(tmp_path / "train.txt", constant), "--out", tmp_path / "run", *QUICK)
    assert_finished(outcome, tmp_path / "run")
    assert "2 are constant within every query" in outcome.out
    assert json.loads((tmp_path / "run/result.json").read_text())["constant_features"] == ["f4", "f5"]
    assert not {3, 4} & set(load_model(tmp_path / "run" / "model.json").support.tolist())


# -- misuse: exit 2 ----------------------------------------------------------------------------------------------------

# Values that one option alone never has: `tests/cli/test_options.py`.
MISUSE = ["--penalty l7", "--penalty mcp(gamma=", "--penalty mcp(gamma=-1)", "--penalty mcp(gamma='x')", "--frobnicate"]
MISUSE += ["--penalty l1(alpha='x')", "--penalty ridge", "--penalty l1 --penalty l1"]
MISUSE += ["--penalty l1 --penalty l1(alpha=2)", "--metric ndgc@10", "--metric ndcg@0", "--metric pairwise_error"]
MISUSE += ["--k 2 --budget 3", "--budget 3", "--protocol holdout", "--folds two", "--current bm25"]
MISUSE += ["fit --alpha 1 --k 2", "fit --penalty x", "evaluate --system s.txt --metric x"]
MISUSE += ["evaluate --system s.txt --format xml", "evaluate", "conquer"]


@pytest.mark.parametrize("row", MISUSE)
def test_misuse_exits_with_2_and_writes_nothing(row: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train, out = save(tmp_path / "train.txt", lines), ("--out", tmp_path / "run")
    command, *words = row.split() if row[:2] != "--" else ("select", *row.split())
    option = [word for word in words if word[:2] == "--"][-1:]
    assert_misuse(cli(command, train, *(out if command in ("select", "fit") else ()), *words), tmp_path, *option)


@pytest.mark.parametrize(
    ("costs", "words"), [(None, "cannot be read"), (["1", "-1"], ":2: "), (["1"], "1 costs for 6")]
)
def test_bad_costs_are_one_sentence(costs, words, cli, lines, tmp_path):
    file = tmp_path / "costs.txt"
    if costs is not None:
        save(file, costs)
    train = save(tmp_path / "train.txt", lines)
    assert_failed(cli("select", train, "--costs", file, "--out", tmp_path / "run"), tmp_path, f"error: {file}", words)


# -- output that cannot be written -------------------------------------------------------------------------------------


OUTPUTS = ["select bad.txt --out file", "select bad.txt --out file/run", "select bad.txt --out /dev/full/run"]
OUTPUTS += ["select bad.txt --for-model lightgbm --out file/run", "fit bad.txt --out ."]
OUTPUTS += ["fit bad.txt --out file/m.json", "fuse bad.txt other.txt --qrels bad.txt --out file/run"]
OUTPUTS += ["fit bad.txt --out /dev/full/m.json", "fit bad.txt --out absent/m.json"]
OUTPUTS += ["predict bad.txt bad.txt --out file/scores.txt", "predict bad.txt bad.txt --run file/new.run"]
OUTPUTS += ["predict bad.txt bad.txt --qrels file/new.qrels", "export bad.txt --to vespa --out file/engine"]
OUTPUTS += ["convert bad.txt file/new.parquet", "convert bad.txt file/store"]


@pytest.mark.parametrize("line", OUTPUTS)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(line, cli, tmp_path, monkeypatch):
    """The input is malformed, which would be the message if it were read first."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad.txt", "other.txt", "file"):
        save(tmp_path / name, ["no such format"])
    assert_failed(cli(*line.split()), tmp_path, f"error: {line.split()[-1]}: ", "choose another")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.txt", "file", "other.txt"]


@pytest.mark.slow_but("8-fsync", "8-replace")
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("after", [0, 2, 8])
def test_a_full_disk_keeps_finished_work(call, after, cli, lines, tmp_path, monkeypatch):
    """Writes fail from the n-th on: at the plan, or at a piece of work. Later the same command goes on."""
    train, run = save(tmp_path / "train.txt", lines), tmp_path / "run"
    args = ("select", train, "--out", run, *QUICK)
    genuine, calls = getattr(os, call), 0

    def failing(*rest: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return genuine(*rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        outcome = cli(*args)
    assert calls > after
    assert_failed(outcome, tmp_path, f"error: {run}", "No space left on device")
    kept = len(list((run / "pieces").glob("*.json")))
    assert kept == max(after - 1, 0) // 2
    again = cli(*args)
    assert_finished(again, run)
    assert (f"paths: {min(kept, 9)} of 10 pieces reused from an earlier run" in again.err) == (kept > 0)


@pytest.mark.parametrize(
    "reason", [MemoryError(), OverflowError("n_frames"), RuntimeError("no scheduler's greeting"), OSError("refused")]
)
def test_whatever_answers_and_is_no_scheduler_is_one_sentence(reason, cli, lines, tmp_path, monkeypatch):
    """A web server's greeting is taken for a number of frames, for which there is no memory."""

    def client(*_: Any, **__: Any) -> None:
        raise reason

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))
    train = save(tmp_path / "train.txt", lines)
    outcome = cli("fit", train, "--scheduler", "tcp://127.0.0.1:80", "--out", tmp_path / "model.json")
    assert_failed(outcome, tmp_path, "no scheduler answers at tcp://127.0.0.1:80; start one with 'dask scheduler'")


# -- the installed command, in a process of its own --------------------------------------------------------------------


def test_the_process_exits_as_promised(tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", ["1 qid:1 1:1", "0 qid:1 1:x"])
    args = [sys.executable, "-m", "sparserank", "select", str(train), "--out", str(tmp_path / "run")]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    assert_failed(Outcome(done.returncode, done.stdout, done.stderr), tmp_path, f"error: {train}")
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()


# -- remedies: what a file is, which option differs, which name was meant ----------------------------------------------

NOT_RANKING_TEXT = {
    "run": ("1 Q0 B 1 9.0 a\n", "This looks like a run"),
    "run of named queries": ("q1 Q0 B 1 9.0 a\n", "This looks like a run"),
    "run without tag": ("1 Q0 B 1 9.0\n", "This looks like a run"),
    "judgments": ("1 0 B 2\n", "These look like judgments"),
    "judgments without iterations": ("q1 B 2\n", "These look like judgments"),
    "judgments with names": ("query-id\tcorpus-id\tscore\n1\tB\t2\n", "These look like judgments"),
    "JSON run": ('{"1": {"B": 9.0}}', "looks like a run or judgments in JSON"),
}


@pytest.mark.parametrize(("kind", "suffix"), [*((kind, ".txt") for kind in NOT_RANKING_TEXT), ("JSON run", ".json")])
def test_runs_and_judgments_are_called_so_where_features_are_needed(kind, suffix, tmp_path, cli):
    text, words = NOT_RANKING_TEXT[kind]
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    outcome = cli("fit", path, "--out", tmp_path / "m.json")
    assert_failed(outcome, tmp_path, f"error: {path}:", words)
    assert "Add the query id" not in outcome.err


def test_missing_query_ids_have_two_remedies(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 1:0.3 2:1\n0 1:4\n")
    with pytest.raises(DataFormatError, match=r"Add the query id to every line, or the sizes of the queries to a file"):
        sr.read(tmp_path / "a.txt")
    (tmp_path / "a.txt.query").write_text("2\n")
    assert sr.read(tmp_path / "a.txt").n_queries == 1


def test_each_kind_of_unsolved_has_one_remedy() -> None:
    notes = [unsolved(s, "", "1") or "" for s in (["stalled"], ["iteration limit"], ["stalled", "iteration limit"])]
    assert all(text.count("raise tol") == 1 for text in notes)
    assert "max_iter" not in notes[0]
    assert "raise tol, or max_iter where" in notes[1]
    assert "helps only at the iteration limit" in notes[2]


DATA = sr.datasets.make_ranking(12, 5, 4, n_informative=2, n_redundant=1).data
NAMES = tuple(DATA.feature_names or ())
FEW: dict[str, Any] = {
    "penalties": "l1",
    "n_alphas": 5,
    "half_samples": 0,
    "rival": "none",
    "feature_transform": "none",
    "cv": 2,
}


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_the_option_that_differs_is_named(tmp_path: Path) -> None:
    sr.select(DATA, **FEW, out=tmp_path)
    for changed, named in (
        ({"drop": [NAMES[0]]}, "drop"),
        ({"keep": [NAMES[1]]}, "keep"),
        ({"costs": [1.0, 2, 3, 4]}, "costs"),
        ({"penalties": "mcp"}, "penalties"),
        ({"cv": 3}, "folds"),
        ({"tol": 1e-5}, "tol"),
        ({"drop": [NAMES[0]], "keep": [NAMES[1]]}, "drop, keep"),
    ):
        with pytest.raises(RunDirectoryError, match=rf"\(different: {named}\)"):
            sr.select(DATA, **{**FEW, **changed}, out=tmp_path)


def test_the_name_that_was_meant_is_named() -> None:
    data = sr.RankingDataset(DATA.X, DATA.relevance, DATA.qid, None, ["popularity", "price", "bm25_title", "age"])
    for rule in ({"drop": ["populraity"]}, {"keep": ["populraity"]}, {"monotone": {"populraity": "+"}}):
        with pytest.raises(
            ParameterError, match=r"names 'populraity', which is not a feature; did you mean 'popularity'\?"
        ):
            sr.select(data, **FEW, **rule)
    with pytest.raises(ParameterError, match=r"not a feature; the features are popularity \.\.\. age"):
        sr.select(data, **FEW, drop=["zzz"])
    with pytest.raises(ParameterError, match=r"did you mean 'bm25_title'\?"):
        sr.select(data, **FEW, feature_groups={"bm25_titel": "title"})
    with pytest.raises(SparserankError, match=r"did you mean 'price'\?"):
        L1(drop=("prise",)).for_features(tuple(data.feature_names or ()))


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_python_shows_no_options_of_the_command_line() -> None:
    result = sr.select(DATA, **FEW)
    result.notes.extend(f"made for this test, number {i}." for i in range(9))
    assert not any(text in str(result) for text in ("--verbose", "the same command"))
    assert "result.notes contains" in str(result)


@pytest.mark.parametrize("read", [sr.read_run, sr.read_qrels])
def test_a_line_without_end_is_refused_before_its_fields_are_made(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1 " * (MAX_ENTRY_BYTES + 1))
    with pytest.raises(DataFormatError, match=r"a: a line is longer than 1 MB; expected lines"):
        read(path)
    path.write_bytes(b"x " * (MAX_ENTRY_BYTES // 4))
    with pytest.raises(DataFormatError, match=r"a:1: expected"):
        read(path)
    path.write_bytes(b"1 " * MAX_ENTRY_BYTES)
    assert len(list(text_lines(path, "one line"))) == 1  # others may be longer


@pytest.mark.parametrize(
    "columns", ["query-id\tcorpus-id\tscore", "qid\tdocno\tscore\trank", "qid\titeration\tdocno\trel"]
)
def test_tables_of_runs_and_judgments_are_called_so(columns: str, tmp_path: Path, cli: Cli) -> None:
    n = columns.count("\t")
    rows = ["\t".join([f"q{i // 3}", *(str((i * 7 + j) % 3) for j in range(n))]) for i in range(9)]
    (tmp_path / "a.tsv").write_text("\n".join([columns, *rows]) + "\n")
    refused = cli("select", tmp_path / "a.tsv", "--out", tmp_path / "run").err
    assert refused.endswith(f"run: sparserank inspect {tmp_path / 'a.tsv'}\n")
    shown = cli("inspect", tmp_path / "a.tsv").out
    assert "queries                             3" in shown
    assert "a.tsv: run or judgments" in shown or "a.tsv: judgments" in shown
    (tmp_path / "b.tsv").write_text("\n".join([f"{columns}\tlabel\tbm25", *(f"{row}\t1\t2.5" for row in rows)]) + "\n")
    assert "looks like a run" not in cli("inspect", tmp_path / "b.tsv").out
