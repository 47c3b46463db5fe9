"""No option that changes results takes pieces of a run that was made without it: refused in its sentence, or the bits
of a fresh run.

The options are those that the commands declare, so that a new one is a case or a failure here.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reproduction.app as reproduction

import sparserank as sr
from sparserank.cli.app import app
from sparserank.selection.plan import SelectionPlan
from tests.support.command_line import Cli
from tests.support.finished_runs import results_of
from tests.support.made_responses import collection, response, write

pytestmark = pytest.mark.usefixtures("no_processes")

# where and how, never what
SHOWS = {"start", "out", "restart", "n_threads", "threads", "client", "format", "quiet", "verbose", "help_all"}
FILES = "train.txt --valid valid.txt --test test.txt "
FEW = " --n-alphas 5 --folds 2 --half-samples 4 --transform none --penalty mcp"
L1 = " --n-alphas 4 --folds 2 --half-samples 0 --transform none --penalty l1"
TABLE = "t.parquet --label-column grade --qid-column query --ignore-columns words,other" + FEW
RESPONSES = "r.jsonl --qrels judged.json --engine elasticsearch-query --query search.json" + FEW
JUDGED = RESPONSES.replace("judged.json", "few-judged.json --judge judged.json")
GRADED = TABLE.replace("t.parquet", "judged.parquet") + " --judge-column other"
FUSED = "a.run b.run --qrels judged.qrels --folds 2 --half-samples 0 --penalty l1"
FOR_MODEL = FILES + " --for-model lightgbm --folds 2 --threads 1"

SHORT = (
    "scaling=standard n_alphas=6 alpha_min_ratio=0.2 tol=1e-2 pair_weights=query monotone=f1=- keep=f6 drop=f1 "
    "feature_groups=groups.csv half_samples=6 report_metrics=p@3 convention=letor4 protocol=holdout margin=0.3 "
    "guarantee=0.3 k=5 confidence=0.6 query_weight=query-weight.txt doc_weight=doc-weight.txt "
    "current=f2 rival=lightgbm n_features=7 index_base=0 feature_names=names.txt metric=ndcg@3"
)  # the metric has pieces of the same shapes
# option: what is added to the line of the first run, or (that line, the other one)
SELECT: dict[str, str | tuple[str, str]] = {
    **{o: f"--{o.replace('_', '-')} {value}" for o, _, value in (word.partition("=") for word in SHORT.split())},
    "train": (FILES + FEW, FILES.replace("train", "other") + FEW),
    "valid": (FILES + FEW, FILES.replace("valid.txt", "other-valid.txt") + FEW),
    "test": (FILES + FEW, FILES.replace("test.txt", "other-test.txt") + FEW),
    "penalties": "--penalty scad",
    "feature_transform": (FILES + L1, FILES + L1 + " --transform asinh"),
    "engine": "--engine ranklib",  # what it costs is said of what is there, see test_select_engine.py
    "relaxed": "--no-relaxed",
    "fast": (FILES + L1, FILES + L1 + " --fast"),
    "cv": "--folds 3",
    "random_state": "--seed 1",
    "budget": (FILES + FEW + " --costs costs.txt --budget 30", FILES + FEW + " --costs costs.txt --budget 20"),
    "costs": (FILES + FEW + " --costs costs.txt", FILES + FEW + " --costs other-costs.txt"),
    "rival_time": "--rival lightgbm --rival-time 100",
    "for_model": (FILES + FEW, FOR_MODEL),
    "sizes": (FOR_MODEL, FOR_MODEL + " --size 3"),
    "missing": ("missing.txt --missing zero" + FEW, "missing.txt --missing median" + FEW),
    "unjudged": ("unjudged.txt --unjudged zero" + FEW, "unjudged.txt --unjudged drop" + FEW),
    "label": (TABLE, TABLE + " --label-column other"),
    "docid": (TABLE, TABLE + " --docid-column c0"),
    "qid": (TABLE, TABLE + " --qid-column pairs"),
    "feature_columns": (TABLE, TABLE + " --feature-columns c0,c1,c2"),
    "ignore_columns": (TABLE, TABLE + " --ignore-columns c0"),
    "round": (FILES + FEW, FILES + FEW + " --round 2"),
    "categories": (TABLE, TABLE + " --categories pairs"),
    "prefer": (FILES + FEW, FILES + FEW + " --prefer earlier.json"),
    "qrels": (RESPONSES, RESPONSES.replace("judged", "other-judged")),
    "judge": (JUDGED, JUDGED.replace("--judge judged", "--judge other-judged")),
    "judge_column": (GRADED, GRADED.replace("--judge-column other", "--judge-column words")),
    "judge_grades": (GRADED, GRADED + " --judge-grades 1=2"),
    "query": (RESPONSES, RESPONSES.replace(" search.json", " other-search.json")),
    "allow_overlap": ("train.txt --valid valid.txt" + FEW, "train.txt --valid train.txt --allow-overlap" + FEW),
}
SHARED = "metric report_metrics convention cv random_state margin guarantee k sizes costs"
OF_FOR_MODEL = {name: SELECT[name] for name in (*SHARED.split(), "feature_groups", "keep", "drop", "confidence")} | {
    "costs": "--costs other-costs.txt",
    "k": "--k 3",
}
STEPS = FILES + "--folds 2 --half-samples 0 --penalty steps --drop f3 --drop f5 --drop f6"
GROUPED = FILES + FEW + " --feature-groups large-groups.csv --half-samples 0"
# pairs of lines whose pieces could be mistaken for each other
ALIKE = {
    "select the draws of the chosen size": (f"select {STEPS} --k 2", f"select {STEPS} --k 3"),
    "select groups beyond the budget": tuple(f"select {GROUPED} --budget 1000001.{i}" for i in (2, 8)),
    "fuse the named formula": tuple(f"fuse {FUSED} --norm minmax{more}" for more in ("", " --norm rrf")),
}
TWO = "folds --system rank_rls --system random --threads 1"
LETOR: dict[str, str | tuple[str, str]] = {
    "folders": (TWO, TWO.replace("folds", "other-folds")),
    "system": "--system rank_svm",
    "choose_by": "--choose-by ndcg@2",
    "convention": "--convention letor3",
    "scaling": "--scaling min-max",
    "missing": tuple(TWO.replace("folds", "missing-folds") + f" --missing {by}" for by in ("zero", "1.0")),
}
PLAN = """systems = ["rank_rls", "random"]
seed = 0
folds = [1, 2]
max_size = 3
watch = ["ndcg@3"]
metrics = ["map", "ndcg@5"]
[[datasets]]
name = "a"
path = "missing-folds"
missing = "zero"
"""
# what is no option of letor
OF_PLAN = ["seed = 1", "folds = [1, 3]", "max_size = 2", 'watch = ["ndcg@1"]', 'metrics = ["p@2"]']


def _write(path: Path, X: np.ndarray, y: Any, qid: Any) -> None:
    rows = zip(X.tolist(), np.asarray(y, dtype=int).tolist(), np.asarray(qid).tolist(), strict=True)
    path.write_text("".join(f"{g} qid:{q} {' '.join(f'{j + 1}:{v!r}' for j, v in enumerate(x))}\n" for x, g, q in rows))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for at, name in enumerate(("train", "valid", "test", "other", "other-valid", "other-test")):
        data = sr.datasets.make_ranking(20, (5, 8), 6, n_informative=3, n_redundant=1, noise=0.4, random_state=at).data
        X, y, qid = np.exp(np.array(data.X)), data.relevance, 100 * at + np.asarray(data.qid)
        _write(folder / f"{name}.txt", X, y, qid)
        if at in (0, 3):
            for part, own in ((("folds", "other-folds")[at // 3], X), ("missing-folds", np.where(X > 4, np.nan, X))):
                (folder / part).mkdir(exist_ok=True)
                for k in range(5):
                    _write(folder / f"{part}/S{k + 1}.txt", *(v[qid % 5 == k] for v in (own, y, qid)))
        if at == 0:
            _write(folder / "missing.txt", np.where(X > 4, np.nan, X), y, qid)
            _write(folder / "unjudged.txt", X, np.where(np.arange(len(y)) % 5 == 0, -1, y), qid)
            named = pd.DataFrame(X, columns=[f"c{j}" for j in range(6)])
            named.assign(grade=y, query=qid, pairs=qid // 2, other=np.minimum(y, 1), words="a").to_parquet(
                folder / "t.parquet"
            )
            people = named.assign(grade=np.where(qid < 12, y, np.nan), query=qid, pairs=qid // 2)
            people.assign(other=np.minimum(y, 1), words=y[::-1]).to_parquet(folder / "judged.parquet")
            ids = dict.fromkeys(qid.tolist())
            weighted = [*ids, *(100 + i for i in ids)]
            (folder / "query-weight.txt").write_text("".join(f"{q} {1 + q % 3}\n" for q in weighted))
            (folder / "doc-weight.txt").write_text("".join(f"{1 + i % 3}\n" for i in range(len(y))))
    (folder / "groups.csv").write_text("f1,a,2\nf2,a\nf3,b,0.5\n")
    (folder / "costs.txt").write_text("1\n2\n3\n4\n5\n6\n")
    (folder / "other-costs.txt").write_text("1\n2\n3\n4\n5\n7\n")
    documents, judged = collection(20, 6)
    for at, name in enumerate(("", "other-")):
        clauses = [{"leaf": {"id": of, "_name": of, "boost": 2 + at}} for of in ("title", "body")]
        request = {"query": {"bool": {"should": clauses}}}
        (folder / f"{name}search.json").write_text(json.dumps(request))
        grades = {q: {d: min(g, 2 - at) for d, g in of.items()} for q, of in judged.items()}
        (folder / f"{name}judged.json").write_text(json.dumps(grades))
        if at == 0:
            (folder / "few-judged.json").write_text(json.dumps({q: grades[q] for q in list(grades)[:12]}))
            write(folder / "r.jsonl", [response(q, of, request) for q, of in documents.items()])
    earlier = sr.SparseRanker(penalty="mcp", k=2).fit_dataset(sr.read(folder / "train.txt"))
    earlier.to_model().save(folder / "earlier.json")
    (folder / "large-groups.csv").write_text("f1,a,1000001.5\nf2,a\nf3,b,2\nf4,c,2000000\nf5,c\nf6,c\n")
    draw = np.random.default_rng(0)
    lines: dict[str, list[str]] = {name: [] for name in ("a.run", "b.run", "judged.qrels")}
    for q in range(20):
        for d, worth in enumerate(draw.random(12)):
            lines["judged.qrels"].append(f"q{q} 0 d{d} {int(worth > 0.7)}")
            for name, noise in (("a.run", 0.3), ("b.run", 0.6)):
                lines[name].append(f"q{q} Q0 d{d} {d + 1} {worth + noise * draw.normal():.6f} run")
    for name, own in lines.items():
        (folder / name).write_text("\n".join(own) + "\n")
    (folder / "names.txt").write_text("".join(f"g{j}\n" for j in range(6)))
    return folder


Run = Callable[[str, Path], "str | None"]


@pytest.fixture
def run(cli: Cli, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command line with --out: None when it ends well, or the sentence of its refusal."""
    monkeypatch.chdir(inputs)

    def one(line: str, out: Path) -> str | None:
        outcome = cli(*line.split(), "--out", out)
        assert outcome.code in (0, 1), outcome.err
        return None if outcome.code == 0 else outcome.sentences[-1]

    return one


Bases = dict[str, Path]


@pytest.fixture(scope="module")
def bases() -> Bases:
    """Finished runs by their lines."""
    return {}


def check(
    first: str, other: str, run: Run, bases: Bases, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> bool:
    """Whether the other run, in a copy of the first one's directory, is taken;
    then its results are those of a fresh run."""
    if first not in bases:
        bases[first] = tmp_path_factory.mktemp("base") / "run"
        assert run(first, bases[first]) is None
    again, fresh = tmp_path / "again", tmp_path / "fresh"
    shutil.copytree(bases[first], again)
    before = {p: p.read_bytes() for p in again.rglob("*") if p.is_file()}
    refused = run(other, again)
    if refused is not None:
        assert refused.startswith(f"error: {again}: contains a"), refused
        assert "choose another --out" in refused
        assert {p: p.read_bytes() for p in again.rglob("*") if p.is_file()} == before
        return False
    assert run(other, fresh) is None
    assert results_of(again, "*") == results_of(fresh, "*") != {}
    return True


CASES = {
    **{f"select {name}": (f"select {FILES}{FEW}", given) for name, given in SELECT.items()},
    **{f"for_model {name}": (f"select {FOR_MODEL}", given) for name, given in OF_FOR_MODEL.items()},
    **{f"letor {name}": (f"reproduction letor {TWO}", given) for name, given in LETOR.items()},
}
# Choices among finished pieces and additions to them; all others are refused by select.
CHOICES = (
    "test feature_transform engine rival rival_time half_samples relaxed fast margin guarantee k budget confidence"
)
TAKEN = {
    *(f"select {n}" for n in (*CHOICES.split(), "sizes")),
    *(f"for_model {n}" for n in ("margin", "guarantee", "confidence", "k", "sizes")),
    *(f"letor {n}" for n in LETOR),
}


@pytest.mark.parametrize(("command", "cases"), [("select", SELECT), ("letor", LETOR)])
def test_every_option_that_a_command_declares_is_a_case(command: str, cases: dict[str, Any]) -> None:
    application = reproduction.app if command == "letor" else app
    declared = {p.name for p in application.commands[command].params}
    assert set(cases) == declared - SHOWS


@pytest.mark.slow_but("select guarantee", "for_model feature_groups")
@pytest.mark.parametrize("case", CASES)
def test_a_changed_option_takes_no_stale_piece(case, run, bases, tmp_path, tmp_path_factory):
    usual, given = CASES[case]
    command = usual.partition(" ")[0] if not usual.startswith("reproduction ") else "reproduction letor"
    first, other = (usual, f"{usual} {given}") if isinstance(given, str) else (f"{command} {line}" for line in given)
    assert check(first, other, run, bases, tmp_path, tmp_path_factory) == (case in TAKEN)


@pytest.mark.parametrize("case", ALIKE)
def test_pieces_of_lines_that_are_alike_are_not_mistaken(case, run, bases, tmp_path, tmp_path_factory):
    assert check(*ALIKE[case], run, bases, tmp_path, tmp_path_factory)


@pytest.mark.parametrize("line", OF_PLAN)
def test_a_changed_plan_takes_no_stale_piece(line, run, bases, inputs, tmp_path, tmp_path_factory):
    other = re.sub(rf"(?m)^{line.split()[0]} = .*$", line, PLAN)
    for name, text in (("first", PLAN), ("other", other)):
        (inputs / f"{name}.toml").write_text(text)
    lines = (f"reproduction run {name}.toml --threads 1" for name in ("first", "other"))
    assert check(*lines, run, bases, tmp_path, tmp_path_factory)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["tol", "metric", "train"])
def test_the_comparison_sees_what_a_forgotten_dependence_does(option, run, tmp_path, tmp_path_factory, monkeypatch):
    """The wrong variant: an identity that leaves something out."""
    left_out = {"tol": "settings", "metric": "metrics", "train": "train"}[option]
    whole = SelectionPlan.identity
    monkeypatch.setattr(SelectionPlan, "identity", lambda *a: {k: v for k, v in whole(*a).items() if k != left_out})
    given = SELECT[option]
    first, other = (f"{FILES}{FEW}", f"{FILES}{FEW} {given}") if isinstance(given, str) else given
    with pytest.raises(AssertionError):
        check(f"select {first}", f"select {other}", run, {}, tmp_path, tmp_path_factory)
