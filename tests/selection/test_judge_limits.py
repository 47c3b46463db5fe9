"""Judges in `select` and `fuse` where grades are few or missing, and what is said then."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError, DataWarning, ParameterError
from sparserank.options import asked
from sparserank.options.fusion import FUSE
from sparserank.options.selection import SELECT
from sparserank.selection import fuse as fusing
from sparserank.selection import select as selecting
from tests.crossval.test_judged_queries import queries
from tests.selection.test_judge import FAST, graded, table


def ready(train: Any, **options: Any) -> Any:
    sources = {"train": train, "validation": None, "test": None}
    return selecting.prepare(sources, asked("select", SELECT, {"judge_column": "model", **options})).job


def test_a_judge_column_of_several_tables(tmp_path: Path) -> None:
    frame = table()
    first = frame["qid"].isin([f"q{q}" for q in range(30)])
    files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    frame[first].to_parquet(files[0], index=False)
    frame[~first].to_parquet(files[1], index=False)
    assert np.array_equal(ready(files).data.relevance, ready(frame).data.relevance)
    frame[~first].drop(columns="model").to_parquet(files[1], index=False)
    with pytest.raises(DataError, match="has no column 'model'"):
        ready(files)


def test_unjudged_labels_count_as_the_policy_says() -> None:
    frame = table()
    frame.loc[3:5, "label"] = -1.0
    assert ready(frame, unjudged="zero").data.relevance.min() == 0.0


def test_an_infinite_label_is_refused() -> None:
    frame = table()
    frame.loc[3, "label"] = np.inf
    with pytest.raises(DataError, match="finite number"):
        ready(frame)


def test_a_judge_without_grades_of_people_queries_is_refused_in_the_words_of_a_table() -> None:
    frame = table()
    frame.loc[frame["label"].notna(), "model"] = np.nan
    with pytest.raises(DataError) as error:
        ready(frame)
    assert "query ''" not in str(error.value)
    assert "'model'" in str(error.value)


def test_one_query_of_people_is_refused_with_a_remedy() -> None:
    runs, people, judge = graded()
    with pytest.raises(DataError, match="people graded one query"):
        sr.fuse(runs, {"q0": people["q0"]}, judge=judge, **FAST)
    frame = table()
    frame.loc[frame["qid"] != "q0", "label"] = np.nan
    with pytest.raises(DataError, match="people graded one query"):
        sr.select(frame, judge_column="model", rival="none", **FAST)


def test_too_few_queries_of_people_say_nothing_of_a_judge() -> None:
    """`evaluate --judge` needs LEAST_QUERIES = 8 too."""
    frame = table()
    frame.loc[~frame["qid"].isin([f"q{q}" for q in range(5)]), "label"] = np.nan
    found = sr.select(frame, judge_column="model", rival="none", **FAST).judge
    assert found is not None
    assert found.worth == found.n_human == 5


def test_one_other_query_of_the_judge_has_no_spread() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(5, 41))
    raw = np.concatenate([human[:, :40], human[:, 40:], human[:, :40]], axis=1)
    found = queries(40).with_judge(raw, np.arange(81) % 4, 0)
    assert found.worth.worth == 40


def test_a_judge_of_queries_that_nobody_answered_is_refused() -> None:
    runs, people, judge = graded()
    others = {q: judge[q] for q in people} | {f"z{q}": judge[f"q{q}"] for q in range(30, 60)}
    with pytest.raises(DataError, match="no retriever returned"):
        sr.fuse(runs, people, judge=others, **FAST)


def test_the_judges_grades_of_people_queries_change_no_value_by_people() -> None:
    """People graded few of the returned documents, and the others are to be left out of the lists."""
    runs, people, judge = graded(3)
    people = {q: dict(list(of.items())[:5]) for q, of in people.items()}
    other = {q: (dict.fromkeys(of, 0.0) if q in people else of) for q, of in judge.items()}
    values = []
    for of_judge in (judge, other):
        try:
            options = {**FAST, "judge": of_judge, "unjudged": "skip"}
            candidates = fusing.prepare(runs, people, asked("fuse", FUSE, options)).job.candidates()
        except ParameterError:
            return
        values.append(np.array([c.shown for c in candidates.sparse]))
    assert np.array_equal(*values)


def test_queries_of_the_judge_are_not_new_to_a_later_run(tmp_path: Path) -> None:
    frame = table()
    out = tmp_path / "run"
    sr.select(frame, judge_column="model", rival="none", out=out, **FAST)
    found = sr.diff(out, out, frame.assign(label=frame["model"]).drop(columns="model"))
    assert "trained on 20" not in " ".join(found.sentences)


def test_the_best_model_is_compared_with_single_features_by_the_same_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(selecting, "nearly_best_alone", lambda data, best, *_: seen.append(best) or {})
    result = sr.select(table(), judge_column="model", rival="none", **FAST)
    assert np.array_equal(seen[0], result.best.shown)


def test_differences_are_counted_on_queries_of_people() -> None:
    """With the error of the judge's mean in each value, no two candidates are equal on any query."""
    frame = table()
    job = ready(frame, rival="none", **FAST)
    candidates = job.candidates()
    choice = job.plan.choose(candidates.sparse, candidates.dense, "")
    assert candidates.judge.worth.worth > 20
    shown = np.array([c.shown for c in choice.candidates])
    best = choice.candidates.index(choice.best)
    few = np.count_nonzero(shown - shown[best], axis=1) < 10
    assert few.sum() > 1  # the case is there
    assert choice.bounds.n_rare > 0


def test_the_sentence_on_these_queries_is_their_mean() -> None:
    """What is said to be the metric 'on 20 queries' is either their mean, or is not said to be on these queries."""
    result = sr.select(table(), judge_column="model", rival="none", **FAST)
    (said,) = [s for s in result.sentences if s.startswith("On 20 queries,")] or [""]
    assert not said or f"{result.chosen.shown.mean():.4f}" in said


def test_queries_of_the_judge_that_nobody_answered_are_named() -> None:
    runs, people, judge = graded()
    lacking = {name: {q: of for q, of in run.items() if q != "q59"} for name, run in runs.items()}
    with pytest.warns(DataWarning, match="the judge: left out, because no retriever .* for them: 1 of its queries"):
        found = sr.fuse(lacking, people, judge=judge, **FAST)
    assert found.selection.judge is not None
    assert found.selection.judge.n_all == 59
