"""Bad input that `fuse` refuses, in one sentence."""

from pathlib import Path
from typing import Any

import pytest

import sparserank as sr
from sparserank.errors import DataError, DataFormatError, ParameterError
from tests.support.made_runs import QUALITY, QUICK, made, qrels_of

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


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
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
