"""`sparserank inspect` of tables: every column, its probable role, and the next command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.commands import FLAGS
from sparserank.cli.output import give
from sparserank.cli.reading import joined_names
from sparserank.cli.screen import gap, say, table
from sparserank.options.spelling import flag_of
from sparserank.text import listed, visible

if TYPE_CHECKING:
    from sparserank.data.reading import Reading
    from sparserank.data.tables.guess import Proposal
    from sparserank.data.tables.survey import Survey
    from sparserank.report.document import Cells

MAX_SHOWN = 100  # columns shown as text; the output for programs has all
IN_MEMORY = 1 << 28  # bytes of features; above this, only queries and labels are read
WORDS = {"label": "label", "qid": "query", "docid": "document"}


def show_tables(files: Sequence[Path], kind: str, reading: Reading) -> None:
    """Show files that are read as one table; no column has to be named."""
    from sparserank.data.missing import MEDIAN
    from sparserank.data.tables.batches import open_table
    from sparserank.data.tables.guess import propose
    from sparserank.data.tables.survey import survey
    from sparserank.errors import DataFormatError

    tables = [open_table(f, kind) for f in files]
    surveyed = survey(tables)
    if surveyed.n_rows == 0:
        raise DataFormatError(f"{files[0]}: no data rows.")
    proposal = propose(tables, surveyed, reading)
    summary, rows = ({}, []) if proposal.blocked else _summary(files, reading, proposal, surveyed)
    next_ = None if proposal.blocked else _next(files, reading, proposal, summary)
    roles = [*proposal.roles()]
    paths = [str(f) for f in files]
    use = (
        {name: WORDS[role] for role, name, _ in roles}
        | dict.fromkeys(proposal.left_out, "left out")
        | dict.fromkeys([*proposal.features, *([proposal.packed] if proposal.packed else [])], "feature")
        | {name: "category" for name in proposal.features if not surveyed.columns[name].is_number}
    )
    reasons = proposal.left_out | {name: why for _, name, why in roles}
    becomes = dict.fromkeys(proposal.holes, MEDIAN if reading.missing is None else reading.missing)
    columns = []
    for c in surveyed.columns.values():
        low, high = (None if v != v else v for v in (c.low, c.high))
        columns.append(
            {
                "column": c.name,
                "type": c.kind,
                "use": use.get(c.name, "-"),
                "missing": None if c.n_distinct is None else c.missing,
                "infinite": c.n_infinite,
                "distinct": None if c.breaks else c.n_distinct,
                "constant": c.is_constant,
                "low": low,
                "high": high,
                "why": reasons.get(c.name),
                "missing_becomes": becomes.get(c.name),
            }
        )
    document = {
        **(summary or {"files": paths, "n_docs": surveyed.n_rows}),
        "columns": columns,
        "roles": {role: name for role, name, _ in roles},
        "options": proposal.options,
        "in_the_way": proposal.blocked,
        "next": next_,
    }
    give(document, columns)
    first = "" if surveyed.whole else "the first "
    _show_columns(f"{' '.join(paths)}: {first}{surveyed.n_rows} rows", surveyed, use)
    for role, name, why in roles:
        say(f"{WORDS[role]}: {name} ({why})")
    for name, why in list(proposal.left_out.items())[:MAX_SHOWN]:
        say(f"left out: {name} ({why})")
    codes = [
        name for name in proposal.features if surveyed.columns[name].may_be_codes and name not in reading.categories
    ]
    if codes:
        say(f"few whole numbers, read as amounts: {listed(codes)}; for those that are codes, add --categories")
    if proposal.holes and reading.missing is None:
        from sparserank.export import ENGINES

        engines = ", ".join(name for name, engine in ENGINES.items() if engine.takes_zero)
        say(f"missing values become the feature's median, or 0 with --engine {engines}; from 1%, a feature says where")
    gap()
    if rows:
        table("Contents as ranking data, with these guesses", ["", ""], rows)
    for reason in proposal.blocked:
        say(f"problem: {reason}.")
    if next_ is not None:
        say("Check the guesses, then run:")
        say(f"  {next_}")


def _summary(
    files: Sequence[Path], reading: Reading, proposal: Proposal, surveyed: Survey
) -> tuple[dict[str, Any], Cells]:
    """Summary of the ranking data, and rows of a table; problems are added to the proposal."""
    from sparserank.cli.data_summary import summary_of, suspicious
    from sparserank.data.missing import KEEP
    from sparserank.data.read_files import read_files
    from sparserank.errors import SparserankError

    small = 8 * surveyed.n_rows * len(proposal.features) <= IN_MEMORY
    read = replace(reading, **{**proposal.options, "missing": KEEP if reading.missing is None else reading.missing})
    if not small:
        read = replace(read, feature_columns=None, ignore_columns=(), missing=KEEP, docid=None, featureless=True)
    try:
        remedy = "ignore_columns" if proposal.packed is None else "drop"
        data = read_files(files, read)
        suspects = suspicious(data, remedy) if small else {}
        columns = data.sources
        absent = {*proposal.features}.difference(columns) if small else set()
        proposal.leave_out({*suspects, *absent})
        positions = [j for j, column in enumerate(columns) if column not in proposal.left_out]
        data = data.take_features(positions) if len(positions) < len(columns) else data
        summary, rows = summary_of(files, data, features=small, suspicions=[*suspects.values()])
    except SparserankError as error:
        proposal.blocked.append(str(error).rstrip("."))
        return {}, []
    if not small:
        why = "too large to read here; 'sparserank convert' writes a store, which is read from disk"
        rows.append(["features", f"{len(proposal.features)} ({why})"])
        summary["n_features"] = len(proposal.features)
    if summary["n_pairs"] == 0:
        proposal.blocked.append("no query has two documents with different labels, so there is nothing to learn")
    return summary, rows


def _next(files: Sequence[Path], reading: Reading, proposal: Proposal, summary: dict[str, Any]) -> str:
    """The next command, ready to paste."""
    options = dict(proposal.options)
    if isinstance(reading.missing, str):
        options["missing"] = reading.missing
    if reading.unjudged != "error":
        options["unjudged"] = reading.unjudged
    if reading.categories:
        options["categories"] = list(reading.categories)
    flags = []
    for name, value in options.items():
        flags += [flag_of(name, FLAGS), value if isinstance(value, str) else joined_names(value)]
    names = [] if reading.feature_names is None else ["--feature-names", str(reading.feature_names)]
    places = [f"./{f}" if str(f).startswith("-") else str(f) for f in files]
    alone = summary["n_queries"] < 2  # a single query cannot be split
    command, out = ("fit", _unused("model", ".json")) if alone else ("select", _unused("run", ""))
    return pasted(["sparserank", command, *places, *flags, *names, "--out", out])


def pasted(words: Sequence[str]) -> str:
    """Join words into a command line, and escape characters that a terminal would interpret."""
    return " ".join(shlex.quote(w) if visible(w) == w else _escaped(w) for w in words)


def _escaped(word: str) -> str:
    """Quote for bash, zsh and ksh: $'...'."""
    escaped = (chr(b) if 32 <= b < 127 and chr(b) not in "'\\" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{''.join(escaped)}'"


def _unused(stem: str, suffix: str) -> str:
    """A file name, made of stem and suffix, that does not exist yet."""
    number = 1
    while Path(name := f"{stem}{'' if number == 1 else number}{suffix}").exists():
        number += 1
    return name


def _show_columns(title: str, surveyed: Survey, use: dict[str, str]) -> None:
    from sparserank.data.tables.guess import percent

    rows = []
    for c in list(surveyed.columns.values())[:MAX_SHOWN]:
        missing = "?" if c.n_distinct is None else percent(c.missing) if c.missing else "-"
        distinct = "?" if c.n_distinct is None or c.breaks else str(c.n_distinct)
        ends = f"{c.low:g} to {c.high:g}" if c.low == c.low else ""
        rows.append([c.name, use.get(c.name, "-"), "text" if c.is_text else c.kind, missing, distinct, ends])
    table(title, ["column", "use", "type", "missing", "distinct", "range"], rows)
    if len(surveyed.columns) > MAX_SHOWN:
        say(f"and {len(surveyed.columns) - MAX_SHOWN} more columns (all of them: --format json)")
