"""The engine of each export, and what it ran: docs/deployment/matrix.md, from the record of the tests.

A test that has compared the scores of an engine with `predict` calls `ran` at its end. `make matrix` runs these tests
and writes the page; `python -m integrations.matrix RECORD --check` fails where page and record differ.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.export import ENGINES
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.options.spelling import command_line
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

PAGE = Path(__file__).parent.parent / "docs" / "deployment" / "matrix.md"
RECORD = "SPARSERANK_MATRIX"  # names the file of the record
KINDS = ("weights", "logarithms", "steps", "categories", "missing", "offset", "fusion", "boosts")
EQUAL, REFUSED, NOT_RUN, NOTHING = "equal", "refused", "not run", "-"
Key = tuple[str, str]  # the format of an export, and what runs it
Cells = dict[Key, dict[str, str]]


def ran(engine: str, version: str, kind: str, outcome: str = EQUAL) -> None:
    """Record what a test has shown.

    engine   the format, as in `export --to`; version: the name and the version of what ran it; kind: one of KINDS
    """
    assert kind in KINDS, kind
    assert engine in {*ENGINES, *FUSION_ENGINES}, engine
    place = os.environ.get(RECORD)
    if place:
        with Path(place).open("a") as record:
            record.write(json.dumps([engine, version, kind, outcome]) + "\n")


def recorded(lines: Iterable[str]) -> Cells:
    """{(format, engine): {kind: equal (versions)}}"""
    versions: dict[Key, dict[str, set[str]]] = {}
    for engine, of, kind, outcome in sorted({tuple(json.loads(line)) for line in lines}):
        assert outcome == EQUAL, outcome
        name, _, version = of.rpartition(" ")
        versions.setdefault((engine, name), {}).setdefault(kind, set()).add(version)
    return {
        key: {kind: f"{EQUAL} ({', '.join(sorted(found, key=_by_number))})" for kind, found in own.items()}
        for key, own in versions.items()
    }


def _by_number(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _model(kind: str, steps: bool) -> sr.RankingModel:
    """A small model of a kind; in an engine of trees alone, its features have steps."""
    names = ("brand=acme", "brand is missing") if kind == "categories" else ("f0", "f1")
    derived = dict(zip(names, (Derived("brand", "acme"), Derived("brand", "")), strict=True))
    step = StepFunction(np.array([0.5]), np.array([0.0, 1.0]))
    return sr.RankingModel.from_arrays(
        np.array([1.0, -2.0 if kind == "weights" else 2.0]),
        names,
        FeatureScaling("none", np.zeros(2), np.ones(2)),
        transform=Transform(("log", "asinh"), np.ones(2)) if kind == "logarithms" else None,
        steps={j: step for j in range(2) if kind == "steps" or (steps and kind not in ("weights", "logarithms"))},
        fill_values=np.array([0.75, np.nan]) if kind == "missing" else None,
        derived=derived if kind == "categories" else {},
    )


def _refusal(engine: str, kind: str) -> str | None:
    """The sentence that refuses to export a model of this kind, "" if it is written, None if nothing asks for it."""
    if kind == "fusion":
        return "" if engine in FUSION_ENGINES else None
    if engine not in ENGINES or (kind == "boosts" and not ENGINES[engine].boosts):
        return None
    columns = ("f0", "f1", "brand")
    field = "org.apache.solr.ltr.feature.FieldValueFeature"
    features: dict[str, object] = {
        "solr": {name: {"class": field, "params": {"field": name}, "field": name} for name in columns},
        "vespa": {name: f"attribute({name})" for name in columns},
    }.get(engine, {})
    model = _model(kind, not ENGINES[engine].transforms)
    offset = 2.0 if kind == "offset" else 0.0
    filled = kind == "missing" and ENGINES[engine].takes_zero
    try:
        with command_line({"penalties": "--penalty"}):
            model.export(engine, features=features or None, offset=offset, filled=filled)
    except sr.errors.DataError as error:
        return str(error)
    return ""


def refusals() -> dict[tuple[str, str], str]:
    """{(format, kind): the sentence that refuses it}"""
    every = {(engine, kind): _refusal(engine, kind) for engine in {**ENGINES, **FUSION_ENGINES} for kind in KINDS}
    return {key: sentence for key, sentence in every.items() if sentence}


def page(found: Cells) -> str:
    """The page with the table and the sentences of a record, below the words that it begins with."""
    words = PAGE.read_text().partition("| `--to`")[0].rstrip()
    sentences = {sentence: i for i, sentence in enumerate(dict.fromkeys(refusals().values()), 1)}
    lines = [f"| `--to` | run in | {' | '.join(KINDS)} |", "|" + "---|" * (2 + len(KINDS))]
    for engine in {**ENGINES, **FUSION_ENGINES}:
        without = {kind: _refusal(engine, kind) for kind in KINDS}
        for name in [name for of, name in found if of == engine] or [NOTHING]:
            own = found.get((engine, name), {})
            cells = [own.get(kind) or _cell(without[kind], sentences) for kind in KINDS]
            lines.append(f"| `{engine}` | {name} | {' | '.join(cells)} |")
    notes = [f"{i}. {sentence}" for sentence, i in sentences.items()]
    return "\n".join([words, "", *lines, "", "## Refused", "", *notes, ""])


def _cell(sentence: str | None, numbers: dict[str, int]) -> str:
    if sentence is None:
        return NOTHING
    return f"{REFUSED} ({numbers[sentence]})" if sentence else NOT_RUN


def read(text: str) -> tuple[Cells, dict[str, str]]:
    """(the cells of a page, {number: sentence})"""
    table, _, notes = text.partition("## Refused")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    cells = {(row[0].strip("`"), row[1]): dict(zip(rows[0][2:], row[2:], strict=True)) for row in rows[2:]}
    return cells, dict(re.findall(r"^(\d+)\. (.*)$", notes, re.MULTILINE))


def _without_versions(cells: Cells) -> Cells:
    return {key: {kind: cell.partition(" (")[0] for kind, cell in own.items()} for key, own in cells.items()}


def main(arguments: list[str]) -> str | None:
    """Write the page from a record, or compare them, but for versions; returns what is wrong."""
    text = page(recorded(Path(arguments[0]).read_text().splitlines()))
    if "--check" not in arguments:
        PAGE.write_text(text)
        return None
    theirs, ours = (_without_versions(read(t)[0]) for t in (PAGE.read_text(), text))
    odd = [key for key in theirs | ours if theirs.get(key) != ours.get(key)]
    return f"{PAGE.name} differs from what the tests showed in {odd}; run `make matrix`." if odd else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
