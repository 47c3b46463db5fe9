"""`fuse --judge`, `select --judge-column`: learned from a judge where people graded nothing, judged on their grades."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.errors import DataError, ParameterError
from sparserank.options import asked
from sparserank.options.fusion import FUSE
from sparserank.options.selection import SELECT
from sparserank.selection import fuse as fusing
from sparserank.selection import select as selecting
from tests.support.command_line import Cli
from tests.support.made_responses import collection, response, write

N_PEOPLE, N_JUDGED, DOCUMENTS = 20, 60, 12
Graded = dict[str, dict[str, float]]
FAST: dict[str, Any] = {"penalties": "l1", "half_samples": 0}


def graded(seed: int = 0) -> tuple[dict[str, Graded], Graded, Graded]:
    """(runs, grades of people for the first queries, grades of a judge for all)"""
    rng = np.random.default_rng(seed)
    relevance = rng.normal(size=(N_JUDGED, DOCUMENTS))
    runs: dict[str, Graded] = {}
    for name, noise in (("a", 0.7), ("b", 0.9), ("c", 4.0)):
        scores = relevance + noise * rng.normal(size=relevance.shape)
        runs[name] = {f"q{q}": dict(zip(documents(), row.tolist(), strict=True)) for q, row in enumerate(scores)}
    people, judge = (
        {f"q{q}": dict(zip(documents(), grades.tolist(), strict=True)) for q, grades in enumerate(of)}
        for of in (
            np.digitize(relevance, [0.5, 1.2])[:N_PEOPLE].astype(float),
            np.digitize(relevance + 0.4 * rng.normal(size=relevance.shape), [0.5, 1.2]).astype(float),
        )
    )
    return runs, people, judge


def documents() -> list[str]:
    return [f"d{d:02}" for d in range(DOCUMENTS)]


def table(seed: int = 0) -> pd.DataFrame:
    """Features a, b, c; labels of people for the first queries, NaN for the others; `model`: grades of a judge."""
    runs, people, judge = graded(seed)
    rows = [
        {name: run[q][d] for name, run in runs.items()}
        | {"qid": q, "label": people.get(q, {}).get(d, np.nan), "model": grade}
        for q, of_query in judge.items()
        for d, grade in of_query.items()
    ]
    return pd.DataFrame(rows)


def test_fuse_learns_from_all_queries_and_is_judged_on_those_of_people() -> None:
    runs, people, judge = graded()
    found = sr.fuse(runs, people, judge=judge, **FAST)
    alone = sr.fuse(runs, people, **FAST)
    selection = found.selection
    assert selection.n_queries == alone.selection.n_queries == N_PEOPLE
    assert selection.judge is not None
    assert (selection.judge.n_human, selection.judge.n_all) == (N_PEOPLE, N_JUDGED)
    assert selection.judge.worth > N_PEOPLE
    assert found.weights != alone.weights
    assert found.facts.n_lists == alone.facts.n_lists
    assert found.facts.judged_share == alone.facts.judged_share
    said = " ".join(str(found).split())
    worth = selection.judge.worth
    assert "Judge: the judge graded 40 other queries, from which models learned too" in said
    assert f"worth {worth - N_PEOPLE} more human queries (n = 20 -> {worth})" in said
    assert found.to_json()["judge"]["worth"] == worth
    assert alone.to_json()["judge"] is None


def test_the_judges_grades_of_people_queries_train_nothing() -> None:
    """The paths keep their bits when these grades change, the values do not."""
    runs, people, judge = graded()
    other = {q: ({d: 2.0 - g for d, g in of.items()} if q in people else of) for q, of in judge.items()}
    coefs = []
    values = []
    for of_judge in (judge, other):
        job = fusing.prepare(runs, people, asked("fuse", FUSE, {**FAST, "judge": of_judge})).job
        candidate_set = job.candidates()
        coefs.append([path.sparse_coefs.toarray() for path in candidate_set.paths.values()])
        values.append(candidate_set.sparse[0].values)
    assert all(np.array_equal(a, b) for a, b in zip(*coefs, strict=True))
    assert not np.array_equal(*values)


def test_select_reads_the_grades_of_a_judge_from_a_column() -> None:
    job = selecting.prepare(
        {"train": table(), "validation": None, "test": None},
        asked("select", SELECT, {**FAST, "judge_column": "model", "label": None, "qid": None}),
    ).job
    data = job.data
    assert data.feature_names == ("a", "b", "c")
    assert not data.kept_columns
    _, people, judge = graded()
    first = [g for of in people.values() for g in of.values()]
    rest = [g for q, of in judge.items() if q not in people for g in of.values()]
    assert data.relevance.tolist() == [*first, *rest]
    assert job.problem.judge is not None
    assert job.problem.judge.again.relevance.tolist() == [g for q in people for g in judge[q].values()]
    result = sr.select(table(), judge_column="model", rival="none", **FAST)
    assert result.n_queries == N_PEOPLE
    assert "20 queries that people graded" in str(result)
    assert "model graded 40 other queries" in " ".join(str(result).split())


def test_trees_are_compared_on_the_queries_of_people() -> None:
    pytest.importorskip("lightgbm")
    result = sr.select(table(), judge_column="model", rival="lightgbm", **FAST)
    (rival,) = result.rivals.compared
    assert rival.n_features == 3
    assert len(result.chosen.values) == N_PEOPLE


def test_documents_without_a_label_in_a_query_of_people_count_as_0() -> None:
    frame = table()
    frame.loc[0, "label"] = np.nan
    ready = selecting.prepare(
        {"train": frame, "validation": None, "test": None}, asked("select", SELECT, {"judge_column": "model"})
    )
    assert ready.job.data.relevance[0] == 0.0


def test_labels_are_not_missing_without_a_judge_or_in_a_test() -> None:
    with pytest.raises(DataError, match="a finite number as the label"):
        sr.select(table().drop(columns="model"), **FAST)
    with pytest.raises(DataError, match="a finite number as the label"):
        sr.select(table(), test=table(1).assign(qid=lambda t: "t" + t["qid"]), judge_column="model", **FAST)


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"judge_column": "modle"}, "has no column 'modle'"),
        ({"model": 7.0}, {}, "has the grade 7, but those of people are 0 to 2"),
        ({"label": np.nan}, {}, "has no label"),
        ({"label": 1.0}, {}, "has labels of all queries"),
        ({"model": np.nan}, {}, "neither a label nor a grade in 'model'"),
        ({"model": "x"}, {}, "column 'model' is not numeric"),
        ({}, {"judge_column": None, "judge_grades": "2=1"}, "judge_grades needs judge or judge_column"),
        ({}, {"valid": True}, "cannot be combined with validation data"),
    ],
)
def test_bad_columns_are_refused(change: dict[str, Any], options: dict[str, Any], sentence: str) -> None:
    frame = table().assign(**change)
    valid = table(1) if options.pop("valid", False) else None
    with pytest.raises((DataError, ParameterError), match=sentence):
        sr.select(frame, valid, **{"judge_column": "model", **FAST, **options})


def test_grades_of_people_as_those_of_the_judge_show_nothing() -> None:
    frame = table()
    frame["model"] = frame["label"].fillna(frame["model"])
    result = sr.select(frame, judge_column="model", rival="none", **FAST)
    assert result.judge is not None
    assert result.judge.worth == result.judge.n_human
    assert "it differs from people on 0 of their queries, too few" in " ".join(str(result).split())


def test_a_judge_of_the_same_queries_is_refused() -> None:
    runs, people, judge = graded()
    with pytest.raises(DataError, match="people graded all of its queries"):
        sr.fuse(runs, people, judge={q: judge[q] for q in people}, **FAST)
    with pytest.raises(ParameterError, match="judge_grades"):
        sr.fuse(runs, people, judge_grades="2=1", **FAST)


def test_the_judges_grades_of_test_queries_train_nothing() -> None:
    runs, people, judge = graded()
    tested = {f"q{q}": judge[f"q{q}"] for q in range(40, N_JUDGED)}
    found = sr.fuse(runs, people, judge=judge, test_qrels=tested, **FAST)
    assert found.selection.judge is not None
    assert found.selection.judge.n_all == 40


def test_people_who_graded_a_selection_are_noticed() -> None:
    runs, people, judge = graded()
    judge = {q: (dict.fromkeys(of, 0.0) | {"d00": 1.0} if q not in people else of) for q, of in judge.items()}
    found = sr.fuse(runs, people, judge=judge, **FAST)
    assert any("If people graded a selection" in note for note in found.selection.notes)


def test_the_commands_take_a_judge(tmp_path: Path, cli: Cli) -> None:
    runs, people, judge = graded()
    for name, run in runs.items():
        lines = [f"{q} Q0 {d} {i} {s} {name}" for q, of in run.items() for i, (d, s) in enumerate(of.items(), 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(sorted(lines)) + "\n")
    for name, grades in (("people", people), ("model", judge)):
        lines = [f"{q} 0 {d} {g:g}" for q, of in grades.items() for d, g in of.items()]
        (tmp_path / f"{name}.qrels").write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / f"{name}.run") for name in runs]
    options = ["--qrels", str(tmp_path / "people.qrels"), "--judge", str(tmp_path / "model.qrels")]
    done = cli("fuse", *files, *options, "--out", str(tmp_path / "run"), "--penalty", "l1", "--half-samples", "0")
    assert "graded 40 other queries" in " ".join(done.done.out.split())
    table().to_parquet(tmp_path / "log.parquet", index=False)
    options = ["--judge-column", "model", "--rival", "none", "--penalty", "l1", "--half-samples", "0"]
    done = cli("select", str(tmp_path / "log.parquet"), *options, "--out", str(tmp_path / "selected"))
    assert "model graded 40 other queries" in " ".join(done.done.out.split())


@pytest.mark.filterwarnings("ignore:responses with hits")
def test_boosts_are_learned_from_a_judge_too(tmp_path: Path) -> None:
    """A document that no response contains, and that the judge finds relevant, counts in its ideal order."""
    found, grades = collection(40)
    clauses = [{"id": name, "_name": name} for name in ("title", "body", "tags")]
    body = {"query": {"bool": {"should": [{"leaf": clause} for clause in clauses]}}}
    file = write(tmp_path / "r.jsonl", [response(q, of, body) for q, of in found.items()])
    people = {q: grades[q] for q in list(grades)[:15]}
    judge = {q: {d: min(2, g + (i % 7 == 0)) for i, (d, g) in enumerate(of.items())} for q, of in grades.items()}
    judge["q3"]["unseen"] = 2
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 5, "half_samples": 0, "rival": "none", "cv": 3}
    options |= {"qrels": people, "judge": judge, "engine": "elasticsearch-query", "query": body}
    result = sr.select(file, **options)
    assert result.n_queries == 15
    assert result.judge is not None
    assert result.judge.n_all == 40
    ready = selecting.prepare({"train": file, "validation": None, "test": None}, asked("select", SELECT, options))
    again = ready.job.problem.judge.again.take_queries(np.array([3]))
    assert again.docid is not None
    assert dict(zip(again.docid.tolist(), again.relevance.tolist(), strict=True)) == judge["q3"]
    with pytest.raises(ParameterError, match=r"judge.*needs responses"):
        sr.select(table(), judge=judge, **FAST)
