"""With `--format json` standard output is one strict JSON document or empty: answers, warnings, refusals, misuse.
result.json follows its published schema, which refuses what is not a result.
"""

import copy
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import numpy as np
import pandas as pd
import pytest
import reproduction.app as reproduction

import sparserank as sr
from sparserank.cli.app import app
from tests.support.command_line import Outcome

DONE, FAILED, MISUSED = 0, 1, 2
N_FEATURES = 6
NO_TEXT = os.fsdecode(b"\xff.txt")  # a file name
FEW = "--n-alphas 4 --folds 2 --half-samples 0 --transform none --penalty l1 --rival none"
FUSED = "--half-samples 0 --penalty l1 --norm minmax"
TREES = "--folds 2 --threads 1"

GOOD = ("train.txt", "constant.txt", "twice.txt", "long-ids.txt", "large.txt", "store", "t.parquet", "t.csv")
DOUBTFUL = ("scattered.txt", "one-query.txt", "no-pairs.txt", "missing.txt", "unjudged.txt", "text.csv")
BAD = ("absent.txt", "empty.txt", "label.txt", "binary.txt", "torn.txt.gz", "torn.parquet")
BAD += ("broken-store", "empty", "model.json")


def _problem(n_queries: int = 24, seed: int = 2) -> sr.RankingDataset:
    data = sr.datasets.make_ranking(
        n_queries, (5, 8), N_FEATURES, n_informative=3, n_redundant=1, query_spread=0.0, random_state=seed
    )
    held = data.data
    return sr.RankingDataset(held.X, held.relevance, held.qid, [f"d{i}" for i in range(held.n_docs)])


def _text(path: Path, X: np.ndarray, y: Any, qid: Any, comment: str = "d") -> None:
    lines = []
    for i, row in enumerate(X):
        values = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
        lines.append(f"{int(y[i])} qid:{qid[i]} {values} #docid = {comment}{i}\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of every kind, by the names that the command lines use."""
    folder = tmp_path_factory.mktemp("inputs")
    data = _problem()
    X, y, qid = np.array(data.X), data.relevance, np.asarray(data.qid)
    assert y is not None
    _text(folder / "train.txt", X, y, qid)
    other = _problem(8, seed=5)
    _text(folder / "test.txt", np.array(other.X), other.relevance, 1000 + np.asarray(other.qid))
    _text(folder / "constant.txt", np.where(np.arange(N_FEATURES) < 4, 1.5, X), y, qid)
    _text(folder / "twice.txt", np.tile(X[:, :3], 2), y, qid)
    long = [str(q) if q == 1 else f"{q}{'9' * 30}" for q in qid]
    _text(folder / "long-ids.txt", X, y, long, comment="ü\u202e\x1b[31m")
    _text(folder / "large.txt", X * 1e30, y, qid)
    _text(folder / "scattered.txt", X[np.argsort(qid % 2, kind="stable")], y, np.sort(qid)[::-1] % 5)
    _text(folder / "one-query.txt", X, y, np.ones_like(qid))
    _text(folder / "no-pairs.txt", X, np.ones_like(y), qid)
    _text(folder / "missing.txt", np.where(X > 1.5, np.nan, X), y, qid)
    _text(folder / "unjudged.txt", X, np.where(np.arange(len(y)) % 7 == 0, -1, y), qid)
    shutil.copy(folder / "train.txt", folder / NO_TEXT)
    (folder / "empty.txt").write_text("")
    (folder / "label.txt").write_text("good qid:1 1:2\n")
    (folder / "binary.txt").write_bytes(bytes(range(256)))
    (folder / "torn.txt.gz").write_bytes(gzip.compress((folder / "train.txt").read_bytes())[:-12])
    (folder / "empty").mkdir()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(N_FEATURES)]).assign(qid=qid, label=y)
    frame.to_parquet(folder / "t.parquet")
    frame.to_csv(folder / "t.csv", index=False)
    frame.assign(c0="words").to_csv(folder / "text.csv", index=False)
    (folder / "torn.parquet").write_bytes((folder / "t.parquet").read_bytes()[:500])
    sr.convert([folder / "train.txt"], folder / "store")
    shutil.copytree(folder / "store", folder / "broken-store")
    (folder / "broken-store" / "00000-X.npy").write_bytes(b"")
    model = sr.SparseRanker(alpha_ratio=0.2).fit_dataset(data)
    model.save(folder / "model.json")
    (folder / "broken.json").write_text('{"format": NaN')
    scores = model.to_model().score_dataset(sr.read(folder / "test.txt"))
    (folder / "scores.txt").write_text("".join(f"{s!r}\n" for s in scores.tolist()))
    (folder / "short.txt").write_text("1.0\n")
    (folder / "groups.csv").write_text("f1,a,2\nf2,a\nf3,b,0.5\n")
    (folder / "costs.txt").write_text("1\n" * N_FEATURES)
    for name, column in {"bm25": 0, "dense": 1}.items():
        sr.write_run(data, y + X[:, column], folder / f"{name}.run")
    sr.write_qrels(data, folder / "train.qrels")
    (folder / "broken.run").write_text("1 Q0 d1 1\n")
    (folder / "folds").mkdir()
    for k in range(5):
        rows = np.flatnonzero(qid % 5 == k)
        _text(folder / f"folds/S{k + 1}.txt", X[rows], y[rows], qid[rows])
    (folder / "plan.toml").write_text(
        'systems = ["rank_rls"]\n[[datasets]]\nname = "a"\npath = "folds"\n[[datasets]]\nname = "b"\npath = "none"\n'
    )
    (folder / "bad.toml").write_text("systems = [")
    (folder / "none.toml").write_text('[[datasets]]\nname = "b"\npath = "none"\n')
    return folder


# Of each command: the line for one input, by its name; OUT stands for a new folder.
READERS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "{}"),
    "fit": ("fit", "{}", "--out", "OUT/m.json"),
    "select": ("select", "{}", "--out", "OUT/run", *FEW.split()),
    "convert": ("convert", "{}", "OUT/store"),
    "rewrite": ("convert", "{}", "OUT/a.txt"),
    "predict": ("predict", "model.json", "{}"),
    "evaluate": ("evaluate", "{}", "--system", "model.json"),
    "diff": ("diff", "model.json", "model.json", "{}"),
    "explain": ("explain", "model.json", "{}", "--query", "1"),
}
# What a reader makes of data that it may or may not take, and of a model in the place of data.
TAKES: dict[str, dict[str, int]] = {
    "long-ids.txt": {"rewrite": FAILED},  # its comments hold what ranking text cannot
    "text.csv": dict.fromkeys(("inspect", "fit", "select", "rewrite"), DONE),  # left out: a category of one level
    "scattered.txt": dict.fromkeys(READERS, DONE),
    "one-query.txt": {**dict.fromkeys(READERS, DONE), "select": FAILED},
    "no-pairs.txt": {**dict.fromkeys(READERS, DONE), "select": FAILED, "fit": FAILED},
    "missing.txt": {**dict.fromkeys(READERS, FAILED), "inspect": DONE},
    "unjudged.txt": {**dict.fromkeys(READERS, FAILED), "predict": DONE, "explain": DONE},
}

OPTIONS: dict[str, tuple[int, str]] = {
    # warnings and notes
    "a tolerance that nothing reaches": (DONE, "fit train.txt --out OUT/m.json --tol 1e-99"),
    "a strength without features": (DONE, "fit train.txt --out OUT/m.json --alpha 1e6"),
    "a strength of almost nothing": (DONE, "fit twice.txt --out OUT/m.json --alpha 1e-12 --scaling none"),
    "more features than there are": (DONE, "fit train.txt --out OUT/m.json --k 100"),
    "missing values by the median": (DONE, "fit missing.txt --out OUT/m.json --missing median"),
    "steps": (DONE, "fit train.txt --out OUT/m.json --penalty steps --k 3"),
    "feature_groups": (DONE, "fit train.txt --out OUT/m.json --feature-groups groups.csv"),
    "verbose": (DONE, "fit train.txt --out OUT/m.json --verbose"),
    "select, verbose": (DONE, f"select train.txt --out OUT/run {FEW} --verbose"),
    "select, a tolerance that nothing reaches": (DONE, f"select train.txt --out OUT/run {FEW} --tol 1e-99"),
    "select with test data": (DONE, f"select train.txt --test test.txt --out OUT/run {FEW}"),
    "select, allowed": (DONE, f"select train.txt --test train.txt --allow-overlap --out OUT/run {FEW}"),
    "select against a model": (DONE, f"select train.txt --current model.json --out OUT/run {FEW}"),
    "select against a feature": (DONE, f"select train.txt --current f1 --out OUT/run {FEW}"),
    "select by costs": (DONE, f"select train.txt --costs costs.txt --budget 6 --out OUT/run {FEW}"),
    "select by groups": (DONE, f"select train.txt --feature-groups groups.csv --out OUT/run {FEW} --n-alphas 12"),
    "select a rule": (DONE, f"select train.txt --keep f1 --drop f2 --monotone f3=+ --out OUT/run {FEW}"),
    "select of missing values": (DONE, f"select missing.txt --missing zero --out OUT/run {FEW}"),
    "select without unjudged": (DONE, f"select unjudged.txt --unjudged drop --out OUT/run {FEW}"),
    "trees": (DONE, f"select constant.txt --for-model lightgbm --out OUT/run {TREES}"),
    "trees with an option of ours": (MISUSED, "select train.txt --for-model lightgbm --out OUT/run --tol 1e-3"),
    "fuse": (DONE, f"fuse bm25.run dense.run --qrels train.qrels --out OUT/run {FUSED}"),
    "fuse for an engine": (DONE, f"fuse bm25.run dense.run --qrels train.qrels --engine ranx --out OUT/run {FUSED}"),
    "fuse by a norm": (
        MISUSED,
        f"fuse bm25.run dense.run --qrels train.qrels --engine opensearch --out OUT/run {FUSED}",
    ),
    "fuse one run": (MISUSED, "fuse bm25.run --qrels train.qrels --out OUT/run"),
    "fuse a broken run": (FAILED, "fuse bm25.run broken.run --qrels train.qrels --out OUT/run"),
    "compare, which was removed": (MISUSED, "compare train.txt --out OUT/run"),
    "predict to a file": (DONE, "predict model.json test.txt --out OUT/scores.txt"),
    "predict a run and judgments": (DONE, "predict model.json test.txt --run OUT/t.run --qrels OUT/t.qrels"),
    "predict with a broken model": (FAILED, "predict broken.json test.txt"),
    "predict twice over": (MISUSED, "predict model.json test.txt --out OUT/a --run OUT/b"),
    "evaluate two": (DONE, "evaluate test.txt --system model.json --system scores.txt --metric ndcg@3 --metric mrr"),
    "evaluate by a metric without value": (DONE, "evaluate no-pairs.txt --system model.json --metric pairwise_error"),
    "evaluate too few scores": (FAILED, "evaluate test.txt --system short.txt"),
    "evaluate without data": (MISUSED, "evaluate --system model.json"),
    "diff without data": (DONE, "diff model.json model.json"),
    "diff with a broken model": (FAILED, "diff model.json broken.json"),
    "inspect a model": (DONE, "inspect model.json"),
    "inspect a broken model": (FAILED, "inspect broken.json"),
    "inspect a store whole": (DONE, "inspect store --verify"),
    "inspect text whole": (MISUSED, "inspect train.txt --verify"),
    "inspect two files": (DONE, "inspect train.txt test.txt"),
    "explain a pair": (FAILED, "explain model.json test.txt --query 1001 --pair d0 --pair none"),
    "explain half a pair": (MISUSED, "explain model.json test.txt --query 1001 --pair d0"),
    "convert like another": (DONE, "convert test.txt OUT/store --like store"),
    "convert like nothing": (FAILED, "convert test.txt OUT/store --like absent"),
    "convert to float16": (MISUSED, "convert train.txt OUT/store --dtype float16"),
    "systems": (DONE, "reproduction systems"),
    "letor": (DONE, "reproduction letor folds --system rank_rls --system random --threads 1 --out OUT/run"),
    "letor without folds": (FAILED, "reproduction letor absent --out OUT/run"),
    "letor of an unknown system": (MISUSED, "reproduction letor folds --system best --out OUT/run"),
    "a plan with a data set that is absent": (DONE, "reproduction run plan.toml --threads 1 --out OUT/run"),
    "a plan without data": (FAILED, "reproduction run none.toml --out OUT/run"),
    "a plan that is none": (FAILED, "reproduction run bad.toml --out OUT/run"),
    "published without data": (FAILED, "reproduction published folds --out OUT/run"),
    "published with a preface alone": (MISUSED, "reproduction published folds --preface plan.toml --out OUT/run"),
    "demo": (DONE, "demo --out OUT/run --threads 2"),
    "demo of a seed below 0": (MISUSED, "demo --seed -1 --out OUT/run"),
}
EXPORTS = {"solr": DONE, "elasticsearch": DONE, "opensearch": DONE, "vespa": FAILED, "lucene": DONE, "ranklib": DONE}
EXPORTS |= {"onnx": MISUSED, "python": DONE, "sql": DONE, "mysql": MISUSED}
WRONG = ("--no-such-option", "--n-features 0", "--n-features many", "--index-base 2", "--unjudged 1", "--missing often")
NO_PLACE = {
    "fit": "fit train.txt --out plan.toml/m.json",
    "select": f"select train.txt --out plan.toml {FEW}",
    "select, of others": f"select train.txt --out folds {FEW}",
    "convert": "convert train.txt folds",
    "letor": "reproduction letor folds --system random --out folds",
    "export": "export model.json --to sql --out folds",
}


def _lines() -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(name, exit code, arguments)."""
    for command, line in READERS.items():
        for name in (*GOOD, *DOUBTFUL, *BAD):
            code = TAKES.get(name, {}).get(command, DONE if name in GOOD else FAILED)
            if name == "model.json" and command == "inspect":
                code = DONE
            yield f"{command} {name}", code, tuple(a.format(name) for a in line)
        yield f"{command} nothing", MISUSED, (command.replace("rewrite", "convert"),)
    for name, (code, text) in OPTIONS.items():
        yield name, code, tuple(text.split())
    for to, code in EXPORTS.items():
        yield f"export to {to}", code, ("export", "model.json", "--to", to)
        code = {"mysql": MISUSED, "vespa": FAILED}.get(to, DONE)
        yield f"export {to} to a folder", code, ("export", "model.json", "--to", to, "--out", "OUT/x")
    for command in ("inspect", "fit", "select", "convert", "evaluate", "predict"):
        for wrong in WRONG:
            yield f"{command} {wrong}", MISUSED, (*(a.format("train.txt") for a in READERS[command]), *wrong.split())
    yield "a file whose name is no text", DONE, ("inspect", "train.txt", NO_TEXT)
    for name, text in NO_PLACE.items():
        yield f"{name} where nothing can be written", FAILED, tuple(text.split())


SUBPROCESSES = ("trees", "a tolerance that nothing reaches", "fit --no-such-option")
LINES = {name: (code, line) for name, code, line in _lines()}


def document(text: str) -> Any:
    """The content of a text that is one JSON document as RFC 8259 has it, no key twice,
    and nothing else but white space."""

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({k for k, _ in pairs}) == len(pairs), "a key twice"
        return dict(pairs)

    found = json.loads(text, parse_constant=constant, object_pairs_hook=once)
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # no half of a surrogate pair, which other parsers refuse
    return found


def check(outcome: Outcome, code: int) -> None:
    assert outcome.code == code, outcome.err
    assert "Traceback" not in outcome.err
    if code == DONE:
        document(outcome.out)
        assert outcome.out.endswith("\n")
        assert "error: " not in outcome.err
    else:
        assert outcome.out == ""
        assert outcome.err
    if code == FAILED:
        lines = outcome.err.splitlines()
        errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
        assert errors == [len(lines) - 1]


def test_every_command_has_lines_and_there_are_310() -> None:
    assert len(LINES) >= 310
    commands = {line[0] if line[0] != "reproduction" else " ".join(line[:2]) for _, line in LINES.values() if line}
    named = set(app.commands)
    papers = {f"reproduction {name}" for name in reproduction.app.commands}
    assert commands - {"compare"} == named | papers


@pytest.mark.parametrize(
    "text",
    ["", "{} {}", '{"a": NaN}', "[Infinity]", "warning: x\n{}", '{"a": 1, "a": 2}', "{} note", '{"a": "\\udcff"}'],
)
def test_what_is_no_document_is_not_taken_for_one(text: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        document(text)


@pytest.mark.slow_but("select store", "fuse for an engine", "inspect train.txt")
@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("name", [name for name in LINES if name not in SUBPROCESSES])
def test_one_document_or_nothing(name, inputs, tmp_path, cli, monkeypatch):
    monkeypatch.chdir(inputs)
    if name == "demo":  # of a path that takes a second; what it prints is the same
        quick = {"penalties": "mcp", "n_alphas": 30, "cv": 2, "half_samples": 0, "feature_transform": "none"}
        monkeypatch.setattr(sr, "select", partial(sr.select, **quick, relaxed=False))
    code, line = LINES[name]
    check(cli(*(a.replace("OUT", str(tmp_path)) for a in line), "--format", "json"), code)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBPROCESSES)
def test_what_libraries_write_past_python_is_not_on_standard_output(name: str, inputs: Path, tmp_path: Path) -> None:
    """As a process of its own, with every Python warning asked for."""
    code, line = LINES[name]
    arguments = [a.replace("OUT", str(tmp_path)) for a in line]
    command = [sys.executable, "-W", "always", "-m", "sparserank", *arguments, "--format", "json"]
    warned = {**os.environ, "PYTHONWARNINGS": "always"}
    done = subprocess.run(command, cwd=inputs, capture_output=True, text=True, timeout=120, env=warned)
    check(Outcome(done.returncode, done.stdout, done.stderr), code)


DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
QUICK = {"n_alphas": 6, "cv": 2, "relaxed": False, "feature_transform": "none"}


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    data = sr.datasets.make_ranking(60, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=4).data
    train, test = data.take_queries(np.arange(45)), data.take_queries(np.arange(45, 60))
    now = sr.SparseRanker().fit_dataset(train).to_model()
    of = dict.fromkeys(list(data.feature_names or ())[:2], "a")
    asked: dict[str, dict[str, Any]] = {
        "plain": {"half_samples": 0},
        "all": {"test": test, "half_samples": 4, "current": now, "feature_groups": of, "penalties": ["l1", "mcp"]},
        "steps": {"half_samples": 0, "penalties": "steps"},
        "holdout": {"valid": test, "protocol": "holdout", "half_samples": 2, "k": 4},
    }
    return {
        name: sr.select(train, **{"penalties": "l1", **QUICK, **options}).to_json() for name, options in asked.items()
    }


def test_a_fusion_follows_the_schema() -> None:
    rng = np.random.default_rng(0)
    runs = {}
    for name in "ab":
        runs[name] = {f"q{q}": {f"d{i}": float(rng.random() + i % 2) for i in range(9)} for q in range(20)}
    qrels = {f"q{q}": {"d1": 1.0, "d3": 1.0, "d2": 0.0} for q in range(20)}
    found = sr.fuse(runs, qrels, penalties="l1", half_samples=0, costs={"a": 1.0, "b": 2.0}).to_json()
    jsonschema.validate(found, SCHEMA)
    assert set(found) == set(SCHEMA["properties"])
    assert found["fusion"] is not None


@pytest.mark.parametrize("name", ["plain", "all", "steps", "holdout"])
def test_results_follow_the_schema(results: dict[str, dict[str, Any]], name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(results[name], SCHEMA)
    assert set(results[name]) == set(SCHEMA["properties"])


@pytest.mark.slow
def test_the_schema_refuses_what_is_no_result(results: dict[str, dict[str, Any]]) -> None:
    whole = results["all"]
    for change in (
        *({"version": 2}, {"margin_kind": "auto"}, {"format": "sparserank-model"}, {"sizes": None}, {"headline": 3}),
        {"chosen": {k: v for k, v in whole["chosen"].items() if k != "bound"}},
        {"features": [whole["features"][0] | {"weight": "0.5"}]},
        {"features": [whole["features"][0] | {"transform": "sqrt"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(copy.deepcopy(whole) | change, SCHEMA)
    for missing in whole:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in whole.items() if k != missing}, SCHEMA)


def test_the_page_describes_every_field_of_the_schema() -> None:
    text = (DOCS / "result-json.md").read_text(encoding="utf-8").split("## With --for-model")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(SCHEMA["properties"])
