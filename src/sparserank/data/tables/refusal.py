"""The message about a table that cannot be read as it is: all problems in one sentence,
and the call that would succeed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sparserank.data.reading import Reading
from sparserank.data.tables.batches import Table
from sparserank.data.tables.frames import QID
from sparserank.data.tables.guess import Proposal, percent, propose
from sparserank.data.tables.roles import LABEL, of_spark
from sparserank.data.tables.survey import Column, Survey, survey
from sparserank.errors import SparserankError, TableError
from sparserank.text import brief

LONGEST_CALL = 800  # characters; for a longer call, the options are only in the exception
SHOWN = 5  # names in a list
FRAMES = ("the frame", "train", "data")  # what messages call a frame


@contextmanager
def telling_all(tables: Sequence[Table], reading: Reading, wanted: Sequence[str] | None = None) -> Iterator[None]:
    """Report a problem of a column together with all others, for all tables that are read as one.

    Parameters
        wanted   the features, if other data determine them
    """
    try:
        yield
    except TableError as error:
        try:
            found = survey(tables)
        except SparserankError:
            raise error from None  # a table that cannot be surveyed: the first error is enough
        told = propose(tables, found, reading, wanted)
        places = [t.place for t in tables]
        sized = all(t.queries is not None for t in tables)
        problems = [*_absent(told, found, reading, sized), *_no_numbers(told.odd)]
        if reading.missing is None and not reading.flags and (error.first or told.holes):
            each = [f"{name!r} {percent(found.columns[name].missing)}" for name in told.holes]
            where = "" if found.whole else f" (of the first {found.n_rows} rows)"
            first = error.first if len(places) == 1 else error.problems.split(";")[0] if error.first else ""
            missing = f"missing values in {listed(each)}{where}" if each else ""
            problems.append("; ".join(filter(None, [first, missing])))
        if not problems:
            raise
        problems += told.blocked
        usable = not told.blocked and bool(told.options)
        head = f"{listed(places)}: {'; '.join(problems)}"
        call = _call(places, told, wanted) if usable else ""
        raise TableError(head, told.options if usable else None, call=call) from error


def _absent(told: Proposal, found: Survey, reading: Reading, sized: bool) -> Iterator[str]:
    has = f"; it has {listed([repr(n) for n in found.columns])}"
    for role, given, usual, name, needed in (
        ("label", reading.label, LABEL, told.label, reading.labelled),
        ("qid", reading.qid, QID, told.qid, reading.grouped),
    ):
        wanted = usual if given is None else given
        if wanted in found.columns or not needed or (role == "qid" and sized):
            continue
        if name is not None:
            yield (
                f"has no column {brief(wanted)} ({name!r} could be it: "
                f"{told.why[role].removeprefix(f'there is no {brief(wanted)}; ')})"
            )
        else:
            yield f"has no column {brief(wanted)}{has}"
            has = ""


def _no_numbers(odd: Sequence[Column]) -> Iterator[str]:
    found = [f"{c.kind}{of_spark(c.kind)}" if c.breaks is None else f"{c.breaks[1]} in row {c.breaks[0]}" for c in odd]
    if len(odd) == 1:
        yield f"column {odd[0].name!r} is not numeric ({found[0]})"
    elif odd:
        each = [f"{c.name!r} ({what})" for c, what in zip(odd, found, strict=True)]
        yield f"{len(odd)} columns are not numeric: {listed(each)}"


def _call(places: Sequence[str], told: Proposal, wanted: Sequence[str] | None) -> str:
    """The call that would succeed."""
    source = "frame" if places[0] in FRAMES else repr(places[0] if len(places) == 1 else list(places))
    given = ", ".join(f"{name}={value!r}" for name, value in told.options.items())
    if wanted is not None:
        return f"read all of the data with {given}"
    call = f"sr.read({source}, {given})"
    return f"read it with {call if len(call) <= LONGEST_CALL else f'sr.read({source}, **error.options)'}"


def listed(each: Sequence[Any]) -> str:
    """'a, b and c'; a long list is shortened."""
    names = [str(e) for e in each] or ["nothing"]
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
