"""Options are declared once: signatures, the page of options, both front ends and the refusal of values agree."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
import sparserank.paths
from sparserank.cli.app import app
from sparserank.cli.commands import COMMANDS
from sparserank.errors import DataError, ParameterError
from sparserank.export import ENGINES
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.options import CheckedLater, Choice, Count, Flag, Number, Option, Or, Parsed, fusion, selection
from sparserank.options.fusion import FUSE, FuseOptions
from sparserank.options.kinds import Kind
from sparserank.options.paths import FIT_PATH, PathOptions
from sparserank.options.reading import READING, ReadOptions
from sparserank.options.selection import FIT, FOR_MODEL, SELECT, FitOptions, SelectOptions
from sparserank.options.spelling import command_line, option, rendered
from sparserank.selection.fit import fit_model
from tests.support.command_line import Cli, assert_refused
from tests.support.refused import refused

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from site_pages import options as options_page

SOURCE = Path(sr.__file__).parent
PROBLEM = sr.datasets.make_ranking(12, (4, 6), 5, n_informative=2, n_redundant=0)
DATA = PROBLEM.data
ROWS = (DATA.X, DATA.relevance, DATA.qid)
Entry = tuple[Callable[..., Any], Mapping[str, Kind]]


def kinds(options: Mapping[str, Option]) -> dict[str, Kind]:
    return {name: option.kind for name, option in options.items()}


def of_ranker(ranker: Any) -> Entry:
    """Its parameters that it checks by kinds."""
    own = {name: ranker._kinds[name] for name in inspect.signature(ranker).parameters}
    return (lambda **options: ranker(**options).fit(*ROWS[:2], qid=ROWS[2])), own


ENTRIES: dict[str, Entry] = {
    "select": (lambda **options: sr.select(DATA, **options), kinds(SELECT)),
    "for_model": (lambda **options: sr.select(DATA, **{"for_model": "lightgbm", **options}), kinds(FOR_MODEL)),
    "fuse": (lambda **options: sr.fuse({"a": {}, "b": {}}, {"q": {"d": 1.0}}, **options), kinds(FUSE)),
    "fit_path": (lambda **options: sr.fit_path(DATA, **options), kinds(FIT_PATH)),
    "read": (lambda **options: sr.read("absent.txt", **options), kinds(READING)),
    "SparseRanker": of_ranker(sr.SparseRanker),
    "SparseRankerCV": of_ranker(sr.SparseRankerCV),
    "RankSVM": of_ranker(sr.papers.RankSVM),
}


@pytest.mark.parametrize(("entry", "name"), [(e, name) for e, (_, options) in ENTRIES.items() for name in options])
def test_a_value_that_an_option_cannot_have_is_refused_by_its_name(entry: str, name: str) -> None:
    call, options = ENTRIES[entry]
    for value in refused(options[name]):
        with pytest.raises(ParameterError) as caught:
            call(**{name: value})
        assert caught.value.parameter == name
        assert name in str(caught.value)
        assert str(caught.value).endswith(".")


def test_the_attack_finds_an_option_that_is_not_checked() -> None:
    """An entry point that checks nothing lets every attack through."""
    declared = Option(Count(1), None, "", name="n")
    assert refused(declared.kind)
    with pytest.raises(ParameterError):
        declared.check(refused(declared.kind)[0])
    Option(CheckedLater(), None, "", name="n").check(refused(declared.kind)[0])


WORDS = {"select": ["{train}", "--out", "{out}"], "fit": ["{train}", "--out", "{out}"]}
WORDS |= {"convert": ["{train}", "{out}"], "inspect": ["{train}"]}
WORDS |= {"predict": ["{model}", "{train}"], "explain": ["{model}", "{train}", "--query", "1"]}
WORDS |= {"diff": ["{model}", "{model}", "{train}"]}
WORDS |= {"fuse": ["a={run}", "b={run}", "--qrels", "{qrels}", "--out", "{out}"]}
WORDS |= {"evaluate": ["{train}", "--system", "{model}"], "export": ["{model}", "--to", "sql"]}
WORDS |= {"demo": ["--out", "{out}"]}


def spoken(kind: Any) -> Iterator[str]:
    """The refused values that a command line can spell."""
    inner = kind.kind if isinstance(kind, Or) else kind
    for value in refused(kind):
        if isinstance(inner, Count):
            fits = isinstance(value, int) and not isinstance(value, bool)
        elif isinstance(inner, Number):
            fits = isinstance(value, float) and not isinstance(value, bool)
        else:
            fits = isinstance(value, str) and isinstance(inner, Choice | Parsed)
        if fits and value != "":
            yield str(value)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("options")
    sr.write_letor(DATA, folder / "train.txt")
    sr.SparseRanker().fit(*ROWS[:2], qid=ROWS[2]).save(folder / "model.json")
    sr.write_run(DATA, np.asarray(DATA.relevance), folder / "a.run")
    sr.write_qrels(DATA, folder / "train.qrels")
    names = {"train": "train.txt", "model": "model.json", "run": "a.run", "qrels": "train.qrels"}
    return {name: str(folder / file) for name, file in names.items()}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_command_line_refuses_it_by_its_flag(command, files, tmp_path, cli):
    words = [word.format(**files, out=tmp_path / "out") for word in WORDS[command.name]]
    for declared in (o for o in command.options if o.spelled):
        of_trees = command.name == "select" and declared.panel == "Trees" and declared.name != "for_model"
        more = ["--for-model", "lightgbm"] if of_trees else []
        flag = declared.spelled.partition("/")[0]
        for text in spoken(declared.kind):
            assert_refused(cli(command.name, *words, *more, f"{flag}={text}"), 2, flag)
            assert list(tmp_path.iterdir()) == []


OPTIONS = [(name, p) for name, c in app.commands.items() for p in c.params if p.param_type_name == "option"]


def test_an_option_without_its_value_is_misuse(cli: Cli) -> None:
    for command, declared in OPTIONS:
        if not declared.is_flag:  # type: ignore[attr-defined]
            flag = declared.opts[-1]
            outcome = cli(command, flag)
            assert (outcome.code, outcome.out) == (2, "")
            assert f"Option '{flag}' requires an argument." in outcome.err


def test_a_value_may_begin_with_a_dash(files: dict[str, str], tmp_path: Path, cli: Cli) -> None:
    out = str(tmp_path / "m.json")
    assert cli("fit", files["train"], "--missing", "-1", "--out", out).code == 0
    assert cli("export", out, "--to", "sql", "--offset", "-5").code == 0
    assert "must be an integer >= 0" in cli("demo", "--seed", "-1").err


# -- what agrees with the declarations --------------------------------------------------------------------------------

# One declaration serves type checkers, signatures and checks; the functions must take exactly what it declares.
CALLS = {
    "select": (sr.select, SelectOptions, SELECT),
    "fit": (fit_model, FitOptions, FIT),
    "fuse": (sr.fuse, FuseOptions, FUSE),
    "fit_path": (sr.fit_path, PathOptions, FIT_PATH),
    "read": (sr.read, ReadOptions, READING),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_option_is_written_out_or_in_the_class_of_the_others(call: str) -> None:
    function, by_name, options = CALLS[call]
    written = inspect.signature(function).parameters
    assert {name for name in options if name not in written} == by_name.__annotations__.keys() - written.keys()
    assert by_name.__annotations__.keys().isdisjoint(written)


@pytest.mark.parametrize("ranker", [sr.SparseRanker, sr.SparseRankerCV, sr.papers.RankSVM], ids=lambda v: v.__name__)
def test_constructors_keep_their_parameters_and_have_valid_defaults(ranker: Any) -> None:
    written = inspect.signature(ranker).parameters
    values = {name: object() for name in written}
    assert ranker(**values).get_params(deep=False) == values
    assert all(not ranker._kinds[name].problem(p.default) for name, p in written.items())


def test_type_checkers_know_the_public_names() -> None:
    stub = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    homes = {f"from {home} import {name} as {name}" for name, home in sr._HOME.items()}
    homes |= {f"from sparserank import {n} as {n}" for n in sr._MODULES}
    assert set(re.findall(r"(?m)^from .+$", stub)) == homes


def test_the_page_of_options_is_that_of_the_declarations() -> None:
    assert options_page.PAGE.read_text(encoding="utf-8") == options_page.page(), "see the head of the page"


def test_words_of_options_are_those_of_the_code() -> None:
    assert tuple(ENGINES) == selection.ENGINES + selection.TREES
    assert tuple(FUSION_ENGINES) == fusion.ENGINES


def test_written_defaults_are_the_declared_ones() -> None:
    default = {name: o.default for name, o in SELECT.items()}
    written = [p for p in inspect.signature(sr.select).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert len(written) <= 15
    assert [(p.name, p.default) for p in written] == [(p.name, default[p.name]) for p in written]


def test_rankers_have_the_declared_defaults_except_where_they_differ_on_purpose() -> None:
    declared = {**SELECT, **FIT_PATH, **FIT}
    differing = {sr.SparseRanker: {"max_iter", "missing"}, sr.SparseRankerCV: {"missing", "penalty", "rule"}}
    for ranker, own in differing.items():
        written = inspect.signature(ranker).parameters.values()
        assert {p.name for p in written if p.name not in declared or p.default != declared[p.name].default} == own


def test_no_written_function_has_more_than_fifteen_parameters() -> None:
    import ast

    long = []
    for path in sorted(SOURCE.rglob("*.py")):
        kernels = path.name.startswith("_")  # which take arrays one by one
        for node in [] if kernels else ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and len(node.args.args) + len(node.args.kwonlyargs) > 16:  # with self
                long.append((path.name, node.name))
    assert long == []


def test_python_and_the_command_line_take_the_same_options() -> None:
    for command, options in (("select", SELECT), ("fit", FIT)):
        (declared,) = (c for c in COMMANDS if c.name == command)
        own = {o.name for o in declared.options}
        left_to_python = options.keys() - own
        assert left_to_python <= {"progress", "sparse", "dtype"}


def test_an_option_that_there_is_not_is_named_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(ParameterError, match=r"relax is not an option of select; did you mean relaxed\?"):
        sr.select(DATA, relax=3)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match=r"is not an option of fit_path; it takes n_alphas, "):
        sr.fit_path(DATA, wholly_unknown=3)  # type: ignore[call-arg]


SCRIPT = """
import sparserank as sr

data = sr.datasets.make_ranking(20, (5, 8), 6).data
found = sr.select(data, cv=3, feature_transform="none", keep=["f1"], margin=0.02, n_alphas=10)
print(found.sentence, sr.fit_path(data, "mcp", n_alphas=10).nnz)
ranker = sr.SparseRanker(penalty="scad", alpha_ratio=0.1)
print(sr.select(data, for_model="lightgbm", cv=3).features)
"""
WRONG = {  # of `select`, which has two signatures, mypy names the types alone
    'sr.select(data, folds="three")': '"select" matches argument types "RankingDataset", "str"',
    "sr.select(data, fold=3)": '"select" matches argument types "RankingDataset", "int"',
    'sr.select(data, for_model="lightgbm").model': "model",
    "sr.select(data).features": "features",
    "sr.fit_path(data, tol=None)": "tol",
    'sr.SparseRanker(tol="small")': "tol",
}


@pytest.mark.slow
def test_a_users_script_is_checked_by_its_types(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "".join(f"{line}\n" for line in WRONG))
    mypy = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    checked = subprocess.run([*mypy, script], capture_output=True, text=True, cwd=tmp_path)
    errors = [line for line in checked.stdout.splitlines() if "error:" in line]
    n = len(SCRIPT.splitlines())
    wrong = sorted({int(line.split(":")[1]) for line in errors})
    assert wrong == list(range(n + 1, n + 1 + len(WRONG))), checked.stdout
    for i, word in enumerate(WRONG.values()):
        assert any(f":{n + 1 + i}:" in line and word in line for line in errors), checked.stdout


# -- how options are spelled -------------------------------------------------------------------------------------------


def test_an_option_is_spelled_as_its_front_end_has_it() -> None:
    assert option("drop", ["a"]) == "drop=['a']"
    assert option("restart", True) == "restart=True"
    assert option("n_features") == "n_features"
    with command_line({"n_threads": "--threads"}):
        assert option("drop", ["a b"]) == "--drop 'a b'"
        assert option("restart", True) == "--restart"
        assert option("n_threads", 1) == "--threads 1"
    assert option("n_threads", 1) == "n_threads=1"
    assert rendered("with {keep} or {missing='zero'}, {a: b}", None) == "with keep or missing='zero', {a: b}"
    assert rendered("with {keep} or {missing='zero'}", {}) == "with --keep or --missing zero"


@pytest.mark.parametrize("kind", [Count(1), Number(above=0), Choice(("a", "b")), Flag(), Or("auto", Number(least=0))])
def test_a_kind_says_nothing_of_what_it_takes(kind: Any) -> None:
    good = {Count: 3, Number: np.float32(0.5), Choice: "b", Flag: np.bool_(True), Or: "auto"}[type(kind)]
    assert kind.problem(good) == ""
    assert all(kind.problem(value) for value in refused(kind))


def test_a_wrong_value_of_an_array_does_not_escape_as_something_else() -> None:
    with pytest.raises(DataError):
        sr.SparseRanker(tol=np.array([1.0, 2.0])).fit(*ROWS[:2], qid=ROWS[2])  # type: ignore[arg-type]


def test_what_was_renamed_or_has_moved_leads_to_its_name() -> None:
    for former, now in (("folds", "cv"), ("also", "report_metrics"), ("shapes", "feature_transform")):
        with pytest.raises(ParameterError, match=f"{former} is now called {now}"):
            sr.select(DATA, **{former: 3})
    with pytest.raises(AttributeError, match=r"no attribute 'MCP'; it is sparserank\.penalties\.MCP"):
        sr.MCP  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        sr.nothing  # noqa: B018


def test_transforms_that_were_removed_lead_to_what_replaces_them(cli: Cli) -> None:
    for name, now in (("curves", "the penalty steps"), ("curves(log)", "the penalty steps"), ("mixed", "log")):
        gone = f"{name} was removed; sparserank 0.3.0 is the last version that has it; use {now}."
        for given in (name, ["none", name]):
            with pytest.raises(ParameterError, match=re.escape(gone)) as refused:
                sr.select(DATA, feature_transform=given)
            assert refused.value.parameter == "feature_transform"
        for command in ("select", "fit"):
            done = cli(command, "absent.txt", "--out", "run", "--transform", name)
            assert done.code == 2
            assert f"Invalid value for --transform: {gone}" in " ".join(done.err.split())


def test_options_that_were_removed_are_named_with_the_last_version_that_has_them(cli: Cli) -> None:
    with pytest.raises(ParameterError, match=r"metric_refits was removed; sparserank 0\.3\.0 is the last version"):
        sr.select(DATA, metric_refits=True)
    lines = {
        "select absent.txt --metric-refits": "--metric-refits",
        "select absent.txt --n-knots 5": "--n-knots",
        "fit absent.txt --loss modified_huber": "--loss",
        "compare absent.txt": "compare",
    }
    for line, removed in lines.items():
        done = cli(*line.split())
        assert done.code == 2
        assert done.err == f"error: {removed} was removed; sparserank 0.3.0 is the last version that has it.\n"
    moved = cli("letor", "folds")
    assert moved.code == 2
    gone = "was removed; sparserank 0.3.0 is the last version that has it"
    assert moved.err == f"error: letor {gone}; in a checkout, use python -m reproduction letor.\n"
    for module, name, then in (
        (sr, "trees", "; use sparserank.select(..., for_model='lightgbm')."),
        (sparserank.paths, "best_k_bounds", "."),
        (sr.losses, "ModifiedHuber", "."),
    ):
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=re.escape(f"{name} {gone}{then}")):
            getattr(module, name)


def test_the_loss_that_was_removed_is_named_with_the_last_version_that_has_it() -> None:
    gone = r"was removed; sparserank 0\.3\.0 is the last version that has it\.$"
    X, y, qid = ROWS
    for name in ("modified_huber", "ModifiedHuber(grade_pair_weights=[[0.0, 0.0], [1.0, 0.0]])"):
        with pytest.raises(ParameterError, match=f"^loss modified_huber {gone}"):
            sr.select(DATA, loss=name)
        with pytest.raises(ParameterError, match=f"loss modified_huber {gone}"):
            sr.SparseRanker(loss=name).fit(X, y, qid=qid)
