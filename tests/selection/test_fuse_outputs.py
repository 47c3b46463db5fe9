"""The results and files of `fuse`: the command line, tables of scores, files, notebooks, exports."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.runs import Run, run_lines
from sparserank.errors import RunDirectoryError
from sparserank.metrics import CONVENTIONS, parse_metric
from tests.support.command_line import Cli
from tests.support.made_runs import QUICK, flat, made

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
