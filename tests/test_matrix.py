"""docs/deployment/matrix.md has a row for every format, and says of each refusal what `export` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from integrations import matrix

from sparserank.export import ENGINES
from sparserank.export.fusion import FUSION_ENGINES


def test_every_format_has_a_row_and_every_refusal_its_sentence() -> None:
    cells, sentences = matrix.read(matrix.PAGE.read_text())
    assert {engine for engine, _ in cells} == {*ENGINES, *FUSION_ENGINES}
    refused = matrix.refusals()
    for (engine, name), own in cells.items():
        assert tuple(own) == matrix.KINDS
        for kind, cell in own.items():
            outcome, _, of = cell.partition(" (")
            assert outcome in (matrix.EQUAL, matrix.REFUSED, matrix.NOT_RUN, matrix.NOTHING), (engine, name, kind)
            assert (outcome == matrix.REFUSED) == ((engine, kind) in refused), (engine, kind)
            if outcome == matrix.REFUSED:
                assert sentences[of.removesuffix(")")] == refused[engine, kind]
            assert (outcome == matrix.EQUAL) <= (name != matrix.NOTHING and of.endswith(")"))


def test_a_record_becomes_a_page_that_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(matrix.RECORD, str(tmp_path / "record"))
    for version in ("9.10.1", "10.2", "9.10.1"):
        matrix.ran("lucene", f"Lucene {version}", "weights")
    matrix.ran("lucene", "OpenSearch 2.19.6", "offset")
    found = matrix.recorded((tmp_path / "record").read_text().splitlines())
    assert found["lucene", "Lucene"] == {"weights": "equal (9.10.1, 10.2)"}
    cells, _ = matrix.read(matrix.page(found))
    assert cells["lucene", "Lucene"]["weights"] == "equal (9.10.1, 10.2)"
    assert cells["lucene", "Lucene"]["offset"] == matrix.NOT_RUN
    assert cells["lucene", "OpenSearch"]["offset"] == "equal (2.19.6)"
    assert cells["lucene", "OpenSearch"]["fusion"] == matrix.NOTHING
    assert cells["ranklib", matrix.NOTHING]["steps"].startswith(matrix.REFUSED)
    with pytest.raises(AssertionError):
        matrix.ran("lucene", "Lucene 9", "weight")


def test_a_page_that_claims_more_than_the_record_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, record = tmp_path / "matrix.md", tmp_path / "record"
    page.write_text(matrix.PAGE.read_text())
    monkeypatch.setattr(matrix, "PAGE", page)
    record.write_text(json.dumps(["sql", "SQLite 3.1", "weights", "equal"]) + "\n")
    assert matrix.main([str(record)]) is None
    assert matrix.main([str(record), "--check"]) is None
    record.write_text(json.dumps(["sql", "SQLite 3.2", "weights", "equal"]) + "\n")
    assert matrix.main([str(record), "--check"]) is None  # another version
    record.write_text(json.dumps(["sql", "SQLite 3.2", "steps", "equal"]) + "\n")
    assert "matrix.md differs from what the tests showed in [('sql', 'SQLite')]" in str(
        matrix.main([str(record), "--check"])
    )
