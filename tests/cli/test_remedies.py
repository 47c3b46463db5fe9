"""Remedies in messages help: they say what a file is, which option differs, which name was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sparserank as sr
from sparserank.crossval.convergence import unsolved
from sparserank.data.text_lines import text_lines
from sparserank.data.trec import MAX_ENTRY_BYTES
from sparserank.errors import DataFormatError, ParameterError, RunDirectoryError, SparserankError
from sparserank.penalties import L1
from tests.support.command_line import Cli

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
def test_runs_and_judgments_are_called_so_where_features_are_needed(
    kind: str, suffix: str, tmp_path: Path, cli: Cli
) -> None:
    text, words = NOT_RANKING_TEXT[kind]
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    shown = cli("inspect", path)
    assert shown.code == 1
    (sentence,) = shown.sentences
    assert sentence.startswith(f"error: {path}:")
    assert words in sentence
    assert "Add the query id" not in sentence


TOKENS = {
    "bm25:0.3": "Number the features, and give their names in a file: feature_names='names.txt'.",
    "-1:0.3": "Feature indices are whole numbers from 1 on.",
    ":0.3": "Feature indices are whole numbers from 1 on.",
    "3:": "Give a value after the colon, or no token.",
    "word": "Start comments with '#'.",
}


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_that_are_no_features_have_their_own_remedy(token: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"1 qid:7 {token} 4:0.4\n")
    with pytest.raises(DataFormatError) as caught:
        sr.read_letor(tmp_path / "a.txt")
    assert str(caught.value).endswith(f"a.txt:1: expected 'index:value'; got {token!r}. {TOKENS[token]}")


def test_missing_query_ids_have_two_remedies(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 1:0.3 2:1\n0 1:4\n")
    with pytest.raises(DataFormatError, match=r"Add the query id to every line, or the sizes of the queries to a file"):
        sr.read_letor(tmp_path / "a.txt")
    (tmp_path / "a.txt.query").write_text("2\n")
    assert sr.read_letor(tmp_path / "a.txt").n_queries == 1


def test_each_kind_of_unsolved_has_one_remedy() -> None:
    notes = [unsolved(s, "", "1") or "" for s in (["stalled"], ["iteration limit"], ["stalled", "iteration limit"])]
    assert all(text.count("raise tol") == 1 for text in notes)
    assert "max_iter" not in notes[0]
    assert "raise tol, or max_iter where" in notes[1]
    assert "helps only at the iteration limit" in notes[2]


DATA = sr.datasets.make_ranking(12, 5, 4, n_informative=2, n_redundant=1).data
NAMES = tuple(DATA.feature_names or ())
QUICK: dict[str, Any] = {"penalties": "l1", "half_samples": 0, "rival": "none", "feature_transform": "none", "cv": 2}


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_the_option_that_differs_is_named(tmp_path: Path) -> None:
    sr.select(DATA, **QUICK, out=tmp_path)
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
            sr.select(DATA, **{**QUICK, **changed}, out=tmp_path)


def test_the_name_that_was_meant_is_named() -> None:
    data = sr.RankingDataset(DATA.X, DATA.relevance, DATA.qid, None, ["popularity", "price", "bm25_title", "age"])
    for rule in ({"drop": ["populraity"]}, {"keep": ["populraity"]}, {"monotone": {"populraity": "+"}}):
        with pytest.raises(
            ParameterError, match=r"names 'populraity', which is not a feature; did you mean 'popularity'\?"
        ):
            sr.select(data, **QUICK, **rule)
    with pytest.raises(ParameterError, match=r"not a feature; the features are popularity \.\.\. age"):
        sr.select(data, **QUICK, drop=["zzz"])
    with pytest.raises(ParameterError, match=r"did you mean 'bm25_title'\?"):
        sr.select(data, **QUICK, feature_groups={"bm25_titel": "title"})
    with pytest.raises(SparserankError, match=r"did you mean 'price'\?"):
        L1(drop=("prise",)).for_features(tuple(data.feature_names or ()))


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_python_shows_no_options_of_the_command_line() -> None:
    result = sr.select(DATA, **QUICK)
    result.notes.extend(f"made for this test, number {i}." for i in range(9))
    assert "--verbose" not in str(result)
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
    assert "this looks like a run or judgments, which have no features" in cli("inspect", tmp_path / "a.tsv").out
    (tmp_path / "b.tsv").write_text("\n".join([f"{columns}\tlabel\tbm25", *(f"{row}\t1\t2.5" for row in rows)]) + "\n")
    assert "looks like a run" not in cli("inspect", tmp_path / "b.tsv").out
