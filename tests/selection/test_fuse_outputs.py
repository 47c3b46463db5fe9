"""What `fuse` takes and gives: bad input in one sentence; the command line, score tables, files, notebooks, exports."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.runs import Run, run_lines
from sparserank.errors import DataError, DataFormatError, ParameterError, RunDirectoryError
from sparserank.metrics import CONVENTIONS, parse_metric
from sparserank.report.fusion import fusion_lines
from tests.support.command_line import Cli
from tests.support.made_runs import QUALITY, QUICK, flat, made, qrels_of

WORDS = ["--half-samples", "0", "--penalty", "l1", "--penalty", "best_k", "--folds", "3", "--threads", "1"]
WORDS += ["--norm", "rrf"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of run files and judgments."""
    folder = tmp_path_factory.mktemp("runs")
    runs, qrels = made(n_queries=30)
    for name, run in runs.items():
        (folder / f"{name}.run").write_text("".join(run_lines(Run(flat(run)))))
    (folder / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in flat(qrels).items()))
    return folder


def test_no_figure_of_a_fusion_is_cut_on_a_narrow_screen() -> None:
    """Not even with long names, costs and half-samples, for which a screen of 80 columns is too narrow."""
    runs, qrels = made(n_queries=30)
    long = {f"{name} of a retriever with a long name": run for name, run in runs.items()}
    costs = {name: 1000.0 + i for i, name in enumerate(long)}
    result = sr.fuse(long, qrels, costs=costs, penalties="l1", half_samples=4, cv=2, n_threads=1)
    shown = {width: fusion_lines(result, "run", width=width) for width in (80, 200)}
    figures = [
        [
            re.findall(r"[+-][\d.]+% \([+-]?[\d.]+ to [+-]?[\d.]+%\)|[+-][\d.]+ to [+-][\d.]+", line)
            for line in lines
            if line.startswith(("strong", "other", "weak", "noise", "best of", "chosen", "RRF", "CombSUM"))
        ]
        for lines in shown.values()
    ]
    assert figures[0] == figures[1]
    assert sum(map(len, figures[0])) >= 4
    assert max(map(len, shown[80])) <= 80
    assert not any(line.count("(") > line.count(")") for line in shown[80] if line.startswith(("strong", "other")))


def test_a_reference_with_a_long_name_fits_the_screen() -> None:
    """Of more retrievers than the engine runs, the best one alone is the reference of the other sizes."""
    runs, qrels = made(n_queries=30)
    long = {f"{name} {i} {'of a retriever with a long name ' * 3}": runs[name] for i in (1, 2) for name in runs}
    result = sr.fuse(long, qrels, engine="opensearch", penalties="l1", half_samples=0, cv=2, n_threads=1)
    (line,) = (line for line in fusion_lines(result, "run", width=80) if line.startswith("against "))
    assert re.match(r"against (strong|other) 1 of a retriever with a l?\.\.\. ", line)
    assert len(line) <= 80


def test_the_command_line_is_python(folder: Path, tmp_path: Path, cli: Cli) -> None:
    """With its tables under --verbose, on the screen; as JSON, the result."""
    runs = [folder / f"{name}.run" for name in ("strong", "other", "weak", "noise")]
    given = ("fuse", *runs, "--qrels", folder / "qrels", *WORDS, "--out")
    result = sr.fuse(runs, folder / "qrels", **QUICK, norm="rrf")
    shown = cli(*given, tmp_path / "a")
    assert (shown.code, shown.sentences) == (0, [])
    assert shown.out.splitlines()[0] == str(result).splitlines()[0]
    more = cli(*given, tmp_path / "b", "--verbose").done
    assert len(more.out) > len(shown.out)
    assert "RRF" in more.out
    assert "note: " in more.out
    assert f"wrote {tmp_path / 'b'}" in more.out
    found = json.loads(cli(*given, tmp_path / "c", "--format", "json").out)
    assert found["fusion"] == json.loads(json.dumps(result.to_json()["fusion"]))


def test_a_result_is_saved_shown_and_exported(folder: Path, tmp_path: Path) -> None:
    result = sr.fuse([folder / "strong.run", folder / "weak.run"], folder / "qrels", **QUICK, norm="rrf")
    written = result.save(tmp_path / "run")
    assert {path.name for path in written} == {path.name for path in (tmp_path / "run").iterdir()} - {".sparserank-run"}
    assert sr.FusionFormula.load(tmp_path / "run") == result.formula
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("of the user")
    with pytest.raises(RunDirectoryError):
        result.save(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    table = result.table()
    assert list(table["retriever"]) == [*result.retrievers, *result.dropped]
    assert list(table["weight"]) == [row["weight"] for row in result.rows()]
    shown = result._repr_html_()
    assert "if switched off" in shown
    assert all(f">{name}<" in shown for name in ("strong", "weak"))
    files = result.export("elasticsearch")
    assert any("strong" in str(text) for text in files.values())


@pytest.mark.parametrize("columns", ["rank_columns", "score_columns"])
def test_a_table_of_ranks_or_scores_is_the_same_job(columns: str, tmp_path: Path, cli: Cli) -> None:
    """Ranks of the columns are those of the file, not places among its documents; of scores, larger is better. The
    wrong variant takes the one for the other."""
    rng = np.random.default_rng(3)
    lines = []
    for q in range(40):
        for i in range(12):
            grade = int(rng.random() < 0.3)
            scores = [good * grade + rng.random() + 1.0 for good in (1.0, 0.3)]
            ranks = [int(rng.integers(1, 20) + 30 * (1 - grade) * good) for good in (1.0, 0.6)]
            values = ranks if columns == "rank_columns" else [round(s, 6) for s in scores]
            cells = [f"{j + 1}:{'NULL' if rng.random() < 0.3 else v}" for j, v in enumerate(values)]
            lines.append(f"{grade} qid:{q} {' '.join(cells)} #docid = d{q}-{i}\n")
    path = tmp_path / "table.txt"
    path.write_text("".join(lines))
    norm = "rrf" if columns == "rank_columns" else "minmax"
    result = sr.fuse(path, **{columns: True}, **QUICK, norm=norm)
    assert result.retrievers[0] == "f1"
    data = sr.read(path, missing={"*": 0})
    column = np.asarray(data.X)[:, 0]
    convention = replace(CONVENTIONS["default"], zero_scores="left_out")
    as_ranks, as_scores = (
        parse_metric("ndcg@10", convention)(scores, data.relevance, data.query_ptr).mean()
        for scores in (np.where(column > 0, 1.0 / (60.0 + column), 0.0), column)
    )
    expected, wrong = (as_ranks, as_scores) if columns == "rank_columns" else (as_scores, as_ranks)
    alone = {r.name: r.mean for r in result.selection.rivals.compared}
    assert alone["f1 alone"] == pytest.approx(expected, abs=1e-12)
    assert abs(expected - wrong) > 0.01
    assert "CombSUM" not in alone
    assert result.facts.judged_share == {}
    words = [w if w != "rrf" else norm for w in WORDS]
    shown = cli("fuse", path, f"--{columns.replace('_', '-')}", *words, "--out", tmp_path / "run")
    assert (shown.code, shown.sentences) == (0, [])
    assert shown.out.splitlines()[0] == str(result).splitlines()[0]


# -- bad input ---------------------------------------------------------------------------------------------------------

FIRST = qrels_of(made(n_queries=9)[1], range(6))
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one run": ({"runs": {"a": {"q": {"d": 1.0}}}}, "runs must be at least 2, one of each retriever; got 1"),
    "no judgments": ({"qrels": None}, "qrels is required"),
    "empty judgments": ({"qrels": {}}, "qrels: contains no judgments"),
    "odd judgments": ({"qrels": {"q0": 3}}, "qrels: judgments must be"),
    "costs of another kind": ({"costs": 5}, "costs must be {retriever: cost} or a file"),
    "odd grade": (
        {"qrels": {"q0": {"d": "x"}}},
        "qrels: grades must be finite numbers; document 'd' of query 'q0' has 'x'",
    ),
    "nothing relevant": ({"qrels": {f"q{i}": {"d1": 0.0} for i in range(9)}}, "no judged document is relevant"),
    "other ids": ({"qrels": {f"q{i}": {"zz": 1.0} for i in range(9)}}, "no retriever returned a relevant document"),
    "other queries": ({"qrels": {f"topic{i}": {"d1": 1.0} for i in range(9)}}, "contains none of the judged queries"),
    "odd norm": ({"norm": "max"}, "norm cannot be parsed: norms are minmax"),
    "auto and more": ({"norm": ["auto", "rrf"]}, "norm must be auto, or one or several others"),
    "depth": ({"depth": 0}, "depth must be"),
    "budget": ({"budget": 3.0}, "budget needs costs"),
    "unknown cost": ({"costs": {"nobody": 1.0}}, "costs cannot be used: 'nobody' is not a retriever"),
    "missing cost": ({"costs": {"strong": 1.0}}, "there is no cost of 'other'"),
    "odd cost": ({"costs": dict.fromkeys(QUALITY, -1)}, "expected a cost > 0 of 'strong'; got -1"),
    "engine": ({"engine": "solr"}, "engine must be"),
    "unjudged": ({"unjudged": "drop"}, "unjudged must be"),
    "metric": ({"metric": "ndgc"}, "metric cannot be parsed: unknown metric"),
    "overlap": ({"test_qrels": {"q0": {"d1": 1.0}}}, "qrels and test_qrels have 1 query ids in common"),
    "columns and qrels": ({"rank_columns": True}, "qrels cannot be combined with rank_columns=True"),
    "worst first": (
        {"runs": {name: {f"q{i}": {"d1": 1.0, "d2": 2.0, "d3": 3.0} for i in range(9)} for name in "ab"}}
        | {"qrels": {f"q{i}": {"d1": 1.0} for i in range(9)}, "norm": "minmax"},
        "no retriever ranks the relevant documents above the others",
    ),
    "no such grade in the metric": (
        {"metric": "map(rel=99)"},
        "no judged document is relevant (grade >= 99): map(rel=99) is the same for every ranking",
    ),
    "no such grade in a report": ({"report_metrics": ["p(rel=9)@5"]}, "(grade >= 9): p(rel=9)@5 is the same"),
    "test judgments of other documents": (
        {"test_qrels": {f"q{i}": {"zz": 1.0} for i in range(6, 9)}, "qrels": FIRST},
        "test_qrels: no retriever returned a relevant document within rank",
    ),
    "test judgments of other queries": (
        {"test_qrels": {f"topic {i}": {"d1": 1.0} for i in range(4)}, "qrels": FIRST},
        "test_qrels: the runs contain none of its 4 queries; do the query ids agree?",
    ),
    "test judgments of nothing relevant": (
        {"test_qrels": {f"q{i}": {"d1": 0.0} for i in range(6, 9)}, "qrels": FIRST},
        "test_qrels: no judged document is relevant (grade > 0); nothing can be compared",
    ),
    "one query": ({"qrels": {"q0": {"d1": 1.0}}}, "one judged query cannot be split"),
    "a huge grade": ({"qrels": {f"q{i}": {"d1": 2000.0} for i in range(9)}}, "relevance 2000 is too large"),
    "a huge score": (
        {"runs": {name: {f"q{i}": {"d1": 1e200, "d2": 1.0} for i in range(9)} for name in "ab"}},
        "the score 1e+200 is too large",
    ),
    "a budget below all": ({"costs": dict.fromkeys(QUALITY, 3.0), "budget": 1.0}, "is below the cost of the cheapest"),
    "runs in memory without names": ({"runs": [{"q0": {"d1": 1.0}}] * 2}, "runs must be files, or {name: run}"),
    "unprintable": ({"runs": {"a\n": {}, "b": {}}}, "a retriever needs a printable name"),
}


@pytest.mark.filterwarnings("ignore:.*grades are 2000")
@pytest.mark.parametrize("case", BAD)
def test_bad_runs_judgments_and_options_of_fuse_are_refused(case: str) -> None:
    runs, qrels = made(n_queries=9)
    change, expected = BAD[case]
    given: dict[str, Any] = {"runs": runs, "qrels": qrels, **QUICK, **change}
    with pytest.raises((DataError, DataFormatError, ParameterError)) as caught:
        sr.fuse(given.pop("runs"), given.pop("qrels"), **given)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_of_costs_are_checked(tmp_path: Path) -> None:
    runs, qrels = made(n_queries=20)
    path = tmp_path / "ms.txt"
    path.write_text("strong 3\nother, 2\nweak\t1\nnoise 1\n")
    costs = sr.fuse(runs, qrels, **QUICK, norm="rrf", costs=path).facts.costs
    assert costs == {"strong": 3.0, "other": 2.0, "weak": 1.0, "noise": 1.0}
    for text, expected in (
        ("strong 3\nstrong 4\n", r"ms\.txt:2: 'strong' already has a cost"),
        ("strong 1e-320\n", r"ms\.txt:1: .*; got '1e-320' \(costs may be from 1e-100 to 1e\+100\)"),
        ("strong dear\n", r"ms\.txt:1: expected a cost > 0 of 'strong'; got 'dear'"),
        ("bm25 3\n", r"ms\.txt:1: 'bm25' is not a retriever"),
    ):
        path.write_text(text)
        with pytest.raises((ParameterError, DataFormatError), match=expected):
            sr.fuse(runs, qrels, **QUICK, costs=path)


def test_messages_of_runs_have_the_right_cause(folder: Path, tmp_path: Path, cli: Cli) -> None:
    """Responses given as runs, with a remedy that works; a run given twice, or alone; a run that orders nothing."""
    (tmp_path / "strong.jsonl").write_text(
        "".join(
            json.dumps({"qid": q, "response": {"hits": {"hits": [{"_id": d, "_score": s} for d, s in own.items()]}}})
            + "\n"
            for q, own in made(n_queries=30)[0]["strong"].items()
        )
    )
    qrels, strong, weak = folder / "qrels", folder / "strong.run", folder / "weak.run"
    responses = tmp_path / "strong.jsonl"
    for words in (("fuse", responses, weak, "--out", tmp_path / "a"), ("evaluate", "--system", responses)):
        refused = cli(*words, "--qrels", qrels)
        assert refused.code == 1
        assert "strong.jsonl: contains responses of a search engine, not {query id:" in refused.err
        assert "write a line 'qid Q0 docno rank score tag' for each hit, for example: jq -r " in refused.err
        if shutil.which("jq"):
            command = refused.err[refused.err.index("jq -r ") :]
            run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
            (tmp_path / "made.run").write_text(run)
            assert sr.read_run(tmp_path / "made.run") == sr.read_run(strong)
    with pytest.raises(DataFormatError, match="contains responses of a search engine"):
        sr.fuse([responses, weak], qrels, **QUICK)
    alone = cli("fuse", strong, "--qrels", qrels, "--out", tmp_path / "b")
    assert "Invalid value for RUNS: must be at least 2, one of each retriever; got 1." in alone.err
    twice = cli("fuse", strong, strong, "--qrels", qrels, "--out", tmp_path / "c")
    assert f"{strong}: is given twice; leave one out." in twice.err
    named = cli("fuse", strong, f"other={strong}", "--qrels", qrels, "--out", tmp_path / "c")
    assert f"{strong}: is given twice; leave one out." in named.err
    flat_run = tmp_path / "flat.run"
    flat_run.write_text("".join(f"{q} Q0 {d} 0 0 x\n" for q, d in sr.read_run(weak)))
    notes = sr.fuse([strong, flat_run], qrels, **QUICK).selection.notes
    assert any("'flat': no scores or ranks that differ" in note for note in notes)
    assert not any("no scores or ranks" in note for note in sr.fuse([strong, weak], qrels, **QUICK).selection.notes)


def test_an_export_says_what_to_replace(folder: Path, tmp_path: Path, cli: Cli) -> None:
    runs = [folder / f"{name}.run" for name in ("strong", "other")]
    sr.fuse(runs, folder / "qrels", **QUICK, norm="rrf", out=tmp_path / "run")
    done = cli("export", tmp_path / "run", "--to", "elasticsearch").done
    assert 'replace every "REPLACE" by what it says, and "standard" by "knn"' in done.err
