"""Every row of the input table through the command line: one sentence and exit 1, a warning, or a finished run."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparserank import load_model, write_letor
from sparserank.crossval import fitting
from sparserank.datasets import make_ranking
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


def assert_failed(outcome: Outcome, tmp_path: Path, *says: str) -> None:
    """Exit 1, one sentence, no traceback, no result and no temporary file."""
    assert outcome.code == 1, outcome
    assert "Traceback" not in outcome.err
    assert len(outcome.sentences) == 1, outcome.err
    (sentence,) = outcome.sentences
    assert sentence.startswith("error: ")
    assert sentence.endswith(".")
    for part in says:
        assert part in sentence
    assert [p for p in tmp_path.rglob("*") if p.name in RESULTS or p.suffix == ".part"] == []


def assert_misuse(outcome: Outcome, tmp_path: Path, *says: str) -> None:
    assert outcome.code == 2, outcome
    assert "Traceback" not in outcome.err
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", re.sub(r"\x1b\[[0-9;]*m", "", outcome.err)).split())
    for part in says:
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
def test_a_bad_line_is_one_sentence_with_file_and_line(
    row: str, command: str, cli: Cli, lines: list[str], tmp_path: Path
) -> None:
    bad, says = SPOILED[row]
    train = save(tmp_path / "train.txt", [*lines[:10], "# comment", "", bad, *lines[10:]])
    outcome = cli(command, train, "--out", tmp_path / "run")
    assert_failed(outcome, tmp_path, f"error: {train}:13: ", says)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("part", ["--valid", "--test"])
def test_a_bad_line_in_another_part_is_named(part: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train, other = save(tmp_path / "train.txt", lines), save(tmp_path / "other.txt", ["1 qid:x 1:1", "1 qid:x 1:?"])
    assert_failed(cli("select", train, part, other, "--out", tmp_path / "run"), tmp_path, f"{other}:2: ")


@pytest.mark.parametrize("part", ["--valid", "--test"])
def test_more_features_than_train_names_both(part: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train, other = save(tmp_path / "train.txt", lines), save(tmp_path / "other.txt", ["0 qid:x 1:1", "1 qid:x 9:1"])
    args = ("select", train, part, other, "--out", tmp_path / "run", *QUICK)
    assert_failed(cli(*args), tmp_path, f"{other}:2: has feature 9, but {N_FEATURES} features", "--n-features")
    assert assert_finished(cli(*args, "--n-features", 9), tmp_path / "run")["n_features_in"] == 9


def test_more_features_than_the_model_names_both(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train, other = save(tmp_path / "train.txt", lines), save(tmp_path / "other.txt", ["0 qid:x 1:1", "1 qid:x 9:1"])
    model = tmp_path / "fitted.json"
    assert cli("fit", train, "--out", model).code == 0
    for args in (("predict", model, other), ("evaluate", other, "--system", model)):
        outcome = cli(*args)
        assert_failed(outcome, tmp_path, f"{other}:2: has feature 9, but {N_FEATURES} features")
        assert "--n-features" not in outcome.err  # the model's width is what it is; no option can change it


UNREADABLE: dict[str, bytes | None] = {
    "empty": b"",
    "truncated gzip": gzip.compress(b"1 qid:1 1:1\n" * 500)[:-12],
    "binary": bytes(range(256)) * 20,
    "absent": None,
    "directory": None,
}


@pytest.mark.parametrize("row", UNREADABLE)
@pytest.mark.parametrize("command", ["select", "fit", "inspect"])
def test_an_unusable_file_is_one_sentence(row: str, command: str, cli: Cli, tmp_path: Path) -> None:
    content, path = UNREADABLE[row], tmp_path / "train.txt"
    if content is not None:
        path.write_bytes(content)
    elif row == "directory":
        path.mkdir()
    outcome = cli(command, path, *([] if command == "inspect" else ["--out", tmp_path / "run"]))
    assert_failed(outcome, tmp_path, f"error: {path}")
    assert not (tmp_path / "run").exists()


# -- refused because of what the data are ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["select", "fit"])
def test_no_pair_at_all_is_refused(command: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", ["1 " + line.partition(" ")[2] for line in lines])
    assert_failed(cli(command, train, "--out", tmp_path / "run", *QUICK[-2:]), tmp_path, "no preferred pair")
    assert "0" in re.search(r"preferred pairs\s+(\d+)", cli("inspect", train).out)[1]  # type: ignore[index]


@pytest.mark.parametrize("command", ["select", "fit"])
def test_a_file_without_any_feature_is_refused(command: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", [line.partition(" 1:")[0] for line in lines])
    assert_failed(cli(command, train, "--out", tmp_path / "run", *QUICK[-2:]), tmp_path, "feature")


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
    args = (
        "select",
        files["train"],
        "--valid",
        files["validation"],
        "--test",
        files["test"],
        "--out",
        tmp_path / "run",
        *QUICK,
    )
    both = f"{first} and {second} have 1 query ids in common (first: {max(parts[first])})"
    assert_failed(cli(*args), tmp_path, both, "--allow-overlap")
    assert_finished(cli(*args, "--allow-overlap"), tmp_path / "run")


# -- accepted ----------------------------------------------------------------------------------------------------------


def test_every_legal_spelling_gives_the_same_model(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    """Unsorted indices, CRLF, tabs, blank and comment lines, gzip; string ids in the place of numbers."""
    untidy = ["# head", ""]
    for line in lines:
        label, qid, *features, comment = line.split(" ", N_FEATURES + 2)
        untidy += ["\t".join([label, qid.replace("qid:", "qid:q-"), *reversed(features), comment]), "  "]
    tidy = save(tmp_path / "tidy.txt", lines)
    other = tmp_path / "untidy.txt"
    other.write_bytes(gzip.compress(("\r\n".join(untidy)).encode()))
    models = [
        assert_finished(cli("select", p, "--out", tmp_path / p.stem, *QUICK), tmp_path / p.stem) for p in (tidy, other)
    ]
    assert models[0] == models[1]
    assert len(models[0]["features"]) > 0


@pytest.mark.parametrize("token", ["NULL", "nan", "inf", "1.79769313486232e+308"])
@pytest.mark.parametrize(("policy", "value"), [("zero", "0"), ("2.5", "2.5"), ("2=zero;*=query-min", "0")])
def test_missing_values_are_accepted_with_a_policy(
    token: str, policy: str, value: str, cli: Cli, lines: list[str], tmp_path: Path
) -> None:
    models = []
    for name, text in (("spoiled", token), ("mapped", value)):
        data = save(
            tmp_path / f"{name}.txt",
            [re.sub(r" 2:\S+", f" 2:{text}", s) if k % 5 == 0 else s for k, s in enumerate(lines)],
        )
        out = tmp_path / f"{name}.json"
        assert cli("fit", data, "--missing", policy, "--out", out).code == 0
        models.append(json.loads(out.read_text()))
    assert models[0] == models[1]


def test_select_accepts_missing_values_with_a_policy(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", ["1 qid:1 1:NULL 2:inf", *lines])
    outcome = cli("select", train, "--missing", "query-min", "--out", tmp_path / "run", *QUICK)
    assert_finished(outcome, tmp_path / "run")


@pytest.mark.parametrize("policy", ["drop", "zero"])
def test_unjudged_documents_are_accepted_with_a_policy(policy: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", ["-1 qid:1 1:9 2:9", *lines])
    args = ("select", train, "--unjudged", policy, "--out", tmp_path / "run", *QUICK)
    assert_finished(cli(*args), tmp_path / "run")


def test_a_split_query_is_gathered_with_a_warning(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    tidy, split = save(tmp_path / "tidy.txt", lines), save(tmp_path / "split.txt", [*lines[1:], lines[0]])
    outcome = cli("select", split, "--out", tmp_path / "run", *QUICK)
    assert_finished(outcome, tmp_path / "run")
    assert outcome.sentences == [s for s in outcome.sentences if s.startswith("warning: ")]
    assert f"{split}:{len(lines)}: query 1 continues here" in outcome.sentences[0]
    assert len(outcome.sentences) == 1
    assert cli("select", tidy, "--out", tmp_path / "tidy", *QUICK).sentences == []


def test_scores_come_in_file_order_whatever_the_order_of_queries(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    model, tidy = tmp_path / "fitted.json", save(tmp_path / "tidy.txt", lines)
    assert cli("fit", tidy, "--out", model).code == 0

    def predicted(text: list[str], *options: str) -> list[float]:
        return [float(s) for s in cli("predict", model, save(tmp_path / "mixed.txt", text), *options).out.split()]

    score = dict(zip(lines, predicted(lines), strict=True))
    mixed = lines[::2] + lines[1::2]
    expected = pytest.approx([score[line] for line in mixed], rel=1e-12)
    assert predicted(mixed) == expected
    assert predicted(mixed, "--missing", "zero") == expected
    with_null = predicted([*mixed[:5], "0 qid:1 1:NULL", *mixed[5:]], "--missing", "zero")
    assert with_null[:5] + with_null[6:] == expected


def test_constant_features_are_listed_and_get_no_weight(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    constant = [re.sub(r" 4:\S+", " 4:3.5", re.sub(r" 5:\S+", "", line)) for line in lines]
    outcome = cli("select", save(tmp_path / "train.txt", constant), "--out", tmp_path / "run", *QUICK)
    assert_finished(outcome, tmp_path / "run")
    assert "2 are constant within queries" in outcome.out
    assert json.loads((tmp_path / "run/result.json").read_text())["constant_features"] == ["f4", "f5"]
    assert not {3, 4} & set(load_model(tmp_path / "run" / "model.json").support.tolist())


# -- misuse: exit 2 ----------------------------------------------------------------------------------------------------

# Values that one option alone never has: `tests/cli/test_options.py`.
MISUSE: dict[str, tuple[str, ...]] = {
    "unknown penalty": ("--penalty", "l7"),
    "unreadable penalty": ("--penalty", "mcp(gamma="),
    "penalty parameter out of range": ("--penalty", "mcp(gamma=-1)"),
    "penalty parameter that is no number": ("--penalty", "mcp(gamma='x')"),
    "penalty strength that is no number": ("--penalty", "l1(alpha='x')"),
    "ridge selects nothing": ("--penalty", "ridge"),
    "the same penalty twice": ("--penalty", "l1", "--penalty", "l1"),
    "the same penalty at two strengths": ("--penalty", "l1", "--penalty", "l1(alpha=2.0)"),
    "unknown metric": ("--metric", "ndgc@10"),
    "metric without a meaning": ("--metric", "ndcg@0"),
    "metric where lower is better": ("--metric", "pairwise_error"),
    "k with budget": ("--k", "2", "--budget", "3"),
    "budget without costs": ("--budget", "3"),
    "holdout without validation": ("--protocol", "holdout"),
    "unknown option": ("--frobnicate",),
    "not a number": ("--folds", "two"),
    "unknown baseline": ("--current", "bm25"),
}


@pytest.mark.parametrize("row", MISUSE)
def test_misuse_exits_with_2_and_writes_nothing(row: str, cli: Cli, lines: list[str], tmp_path: Path) -> None:
    train = save(tmp_path / "train.txt", lines)
    option = MISUSE[row][-2] if MISUSE[row][-1][:2] != "--" else MISUSE[row][-1]
    assert_misuse(cli("select", train, "--out", tmp_path / "run", *MISUSE[row]), tmp_path, option)


@pytest.mark.parametrize(
    "args",
    [
        ("fit", "--alpha", "1", "--k", "2"),
        ("fit", "--penalty", "x"),
        ("evaluate", "--system", "s.txt", "--metric", "x"),
        ("evaluate", "--system", "s.txt", "--format", "xml"),
        ("evaluate",),
        ("conquer",),
        ("select",),
    ],
    ids=" ".join,
)
def test_misuse_of_other_commands_exits_with_2(
    args: tuple[str, ...], cli: Cli, lines: list[str], tmp_path: Path
) -> None:
    train = save(tmp_path / "train.txt", lines)
    out = ("--out", tmp_path / "fitted.json") if args[0] == "fit" else ()
    assert_misuse(cli(args[0], train, *out, *args[1:]), tmp_path)
    assert not (tmp_path / "fitted.json").exists()


@pytest.mark.parametrize(("costs", "says"), [(None, "cannot be read"), (["1", "-1"], ":2: "), (["1"], "1 costs for 6")])
def test_bad_costs_are_one_sentence(
    costs: list[str] | None, says: str, cli: Cli, lines: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "costs.txt"
    if costs is not None:
        save(file, costs)
    train = save(tmp_path / "train.txt", lines)
    assert_failed(cli("select", train, "--costs", file, "--out", tmp_path / "run"), tmp_path, f"error: {file}", says)


# -- output that cannot be written -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["a file", "below a file", "/dev/full"])
@pytest.mark.parametrize("command", ["select", "fit"])
def test_an_impossible_place_for_output_is_one_sentence(
    place: str, command: str, cli: Cli, lines: list[str], tmp_path: Path
) -> None:
    train = save(tmp_path / "train.txt", lines)
    out = {"a file": train, "below a file": train / "run", "/dev/full": Path("/dev/full/run")}[place]
    if command == "fit":
        out = tmp_path if place == "a file" else out / "model"
    assert_failed(cli(command, train, "--out", out), tmp_path, f"error: {out}", "choose another")
    assert train.read_text().splitlines() == lines


@pytest.mark.parametrize(
    "words",
    [
        ("select", "bad.txt", "--out", "{place}/run"),
        ("select", "bad.txt", "--for-model", "lightgbm", "--out", "{place}/run"),
        ("fuse", "bad.txt", "other.txt", "--qrels", "bad.txt", "--out", "{place}/run"),
        ("fit", "bad.txt", "--out", "{place}/m.json"),
        ("fit", "bad.txt", "--out", "absent/m.json"),
        ("predict", "bad.txt", "bad.txt", "--out", "{place}/scores.txt"),
        ("predict", "bad.txt", "bad.txt", "--run", "{place}/new.run"),
        ("predict", "bad.txt", "bad.txt", "--qrels", "{place}/new.qrels"),
        ("export", "bad.txt", "--to", "vespa", "--out", "{place}/engine"),
        ("convert", "bad.txt", "{place}/new.parquet"),
        ("convert", "bad.txt", "{place}/store"),
    ],
    ids=lambda words: f"{words[0]} {words[-2]} {words[-1]}",
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(
    words: tuple[str, ...], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The input is malformed, which would be said first if it were read."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad.txt", "other.txt", "file"):
        save(tmp_path / name, ["no such format"])
    call = [word.format(place="file") for word in words]
    assert_failed(cli(*call), tmp_path, f"error: {call[-1]}: cannot be", "choose another")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.txt", "file", "other.txt"]


@pytest.mark.slow_but("8-fsync", "8-replace")
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("after", [0, 2, 8, 26])
def test_a_full_disk_keeps_finished_work(
    call: str, after: int, cli: Cli, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes fail from the n-th on: at the plan, at a piece of work, at results. Later the same command goes on."""
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
        patch.setattr(fitting, "CHECKPOINT_S", 1e9)  # slow machines write more of them
        outcome = cli(*args)
    assert calls > after
    partial = [p for p in run.rglob("*") if p.name in RESULTS]
    if after == 26:  # plan, twelve pieces (two files each) and the model were written before the disk was full
        assert [p.name for p in partial] == ["model.json"]
        json.loads(partial.pop().read_text())
        (run / "model.json").unlink()
    assert_failed(outcome, tmp_path, f"error: {run}", "No space left on device")
    kept = len(list((run / "pieces").glob("*.json")))
    assert kept == min(max(after - 1, 0) // 2, 12)
    again = cli(*args)
    assert_finished(again, run)
    assert (f"paths: {min(kept, 9)} of 10 pieces reused from an earlier run" in again.err) == (kept > 0)


def test_a_file_size_limit_is_one_sentence(cli: Cli, lines: list[str], tmp_path: Path) -> None:
    """A true failing write(2) in the middle of a piece, not a simulated one."""
    resource = pytest.importorskip("resource")
    train = save(tmp_path / "train.txt", lines)
    assert_finished(cli("select", train, "--out", tmp_path / "first", *QUICK), tmp_path / "first")
    for file in (tmp_path / "first").rglob("*"):
        file.rename(tmp_path / f"{file.name}.kept") if file.is_file() else None
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        outcome = cli("select", train, "--out", tmp_path / "run", *QUICK)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert_failed(outcome, tmp_path, f"error: {tmp_path / 'run'}", "File too large")


@pytest.mark.parametrize(
    "reason", [MemoryError(), OverflowError("n_frames"), RuntimeError("no scheduler's greeting"), OSError("refused")]
)
def test_whatever_answers_and_is_no_scheduler_is_one_sentence(
    reason: Exception, cli: Cli, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A web server's greeting is taken for a number of frames, for which there is no memory."""

    def client(*_: Any, **__: Any) -> None:
        raise reason

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))
    train = save(tmp_path / "train.txt", lines)
    outcome = cli("fit", train, "--scheduler", "tcp://127.0.0.1:80", "--out", tmp_path / "model.json")
    assert_failed(outcome, tmp_path, "no scheduler answers at tcp://127.0.0.1:80; start one with 'dask scheduler'")


# -- the installed command, in a process of its own --------------------------------------------------------------------


@pytest.mark.slow_but("bad value")
@pytest.mark.parametrize(
    ("content", "options", "code"),
    [(b"1 qid:1 1:1\n0 qid:1 1:x\n", (), 1), (b"1 qid:1 1:1\n", ("--penalty", "l7"), 2)],
    ids=["bad value", "unknown penalty"],
)
def test_the_process_exits_as_promised(content: bytes, options: tuple[str, ...], code: int, tmp_path: Path) -> None:
    train = tmp_path / "train.txt"
    train.write_bytes(content)
    args = [sys.executable, "-m", "sparserank", "select", str(train), "--out", str(tmp_path / "run"), *options]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    if code == 1:
        assert_failed(outcome, tmp_path, f"error: {train}")
    else:
        assert_misuse(outcome, tmp_path, "l7")
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()
