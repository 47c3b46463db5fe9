"""Guess the roles of the columns of a table and the options that would read it, by three rules: usual names, types,
numbers of distinct values. A proposal for people to check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparserank.arrow import pa
from sparserank.data.missing import MEDIAN, ZERO
from sparserank.data.reading import UNJUDGED, Reading
from sparserank.data.tables.batches import Table
from sparserank.data.tables.frames import QID
from sparserank.data.tables.roles import DOCUMENT, LABEL, PACKED, is_list, of_spark
from sparserank.data.tables.survey import Column, Survey
from sparserank.data.usual_names import DOCUMENTS, GRADES, OF_RUNS, QUERIES, called, plain
from sparserank.number_checks import is_written_number
from sparserank.options import option
from sparserank.text import brief

OF_NO_USE = {"iteration", "q0"}  # columns of judgments and runs that are no features
NAMES = {"label": GRADES, "qid": QUERIES, "docid": DOCUMENTS}


@dataclass
class Proposal:
    """Roles, each with a short reason, and problems.

    packed     the column that contains the features of a row as a list
    left_out   {column: why it is not a feature}
    holes      features with missing values
    odd        columns that would be features, but are not numbers
    blocked    why no options make the table usable
    """

    label: str | None = None
    qid: str | None = None
    docid: str | None = None
    why: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    packed: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    holes: tuple[str, ...] = ()
    odd: list[Column] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def roles(self) -> Iterator[tuple[str, str, str]]:
        """(role, column, why)"""
        for role, name in (("label", self.label), ("qid", self.qid), ("docid", self.docid)):
            if name is not None:
                yield role, name, self.why[role]


def propose(tables: Sequence[Table], found: Survey, reading: Reading, wanted: Sequence[str] | None = None) -> Proposal:
    """Propose roles and options for tables that are read as one. Options of the reading are kept; the rest is guessed
    from names and values.

    Parameters
        wanted   the features, if other data determine them
    """
    out = Proposal()
    columns = found.columns
    schema = tables[0].schema
    given = (reading.label, reading.qid, reading.docid, reading.doc_weight, *reading.ignore_columns)
    fixed = {*given, *(reading.feature_columns or ()), *(wanted or ())}
    free = {name: c for name, c in columns.items() if name not in fixed}
    sized = all(t.queries is not None for t in tables)  # query sizes are in a side file of each table
    out.label = _role(out, "label", reading.label, found, free, reading.labelled)
    if not sized or reading.qid is not None or QID in columns:
        out.qid = _role(out, "qid", reading.qid, found, free, reading.grouped)
    out.docid = _role(out, "docid", reading.docid, found, free, False)
    chosen = wanted if wanted is not None else reading.feature_columns
    if not reading.featureless:
        if chosen is None:
            out.packed = _packed(out, schema, free)
        _features(out, found, reading, chosen, fits=wanted is not None)
    _check(out, found, schema, not reading.featureless)
    _options(out, found, reading, wanted)
    return out


def _role(
    out: Proposal, role: str, given: str | None, found: Survey, free: dict[str, Column], needed: bool
) -> str | None:
    """The column of a role: the one that is named, or else one of a usual name."""
    columns = found.columns
    whole = found.whole
    if given is not None and given in columns:
        out.why[role] = "as you requested"
        return given
    absent = "" if given is None else f"there is no {brief(given)}; "
    names = NAMES[role]
    if names[0] in free and role != "docid":  # docid needs no option
        fit = _fit(role, columns[names[0]], whole)
        out.why[role] = f"{absent}by its name{'; ' * bool(fit)}{fit or ''}"
        return names[0]
    fits = {n: fit for n, c in free.items() if n not in (out.label, out.qid) and (fit := _fit(role, c, whole))}
    name = called(fits, names)
    if name is not None:
        out.why[role] = f"{absent}by its name; {fits[name]}"
        return name
    if needed:
        what = "label" if role == "label" else "query"
        out.blocked.append(f"it is not clear which column is the {what}: name the column with {option(role)}")
    return None


def _fit(role: str, c: Column, whole: bool) -> str | None:
    """Why a column suits a role; None if its type or values do not. whole: every row was surveyed."""
    if (whole and c.is_constant) or c.breaks or c.n_distinct is None:
        return None
    if role == "label":
        return f"{'whole ' * c.whole}numbers {c.low:g} to {c.high:g}" if c.is_number else None
    if not (c.is_text or c.whole) or (role == "qid" and c.all_differ):
        return None
    return f"{c.n_distinct} values in {c.n_rows} rows"


def _packed(out: Proposal, schema: pa.Schema, free: dict[str, Column]) -> str | None:
    """The column with lists of features: the one with the usual name, or the only one if no numeric column is left."""
    lists = [n for n in free if n in schema.names and is_list(schema.field(n).type)]
    numbers = [n for n, c in free.items() if c.is_number and n not in (out.label, out.qid, out.docid)]
    return next((n for n in lists if n == PACKED or (len(lists) == 1 and not numbers)), None)


def _features(out: Proposal, found: Survey, reading: Reading, chosen: Sequence[str] | None, *, fits: bool) -> None:
    """Determine the features, and the columns that are left out and why. fits: chosen ones are known to fit."""
    columns = found.columns
    taken = {out.label, out.qid, out.docid, out.packed, reading.doc_weight}
    features = []
    for name in columns if chosen is None else [n for n in chosen if n in columns]:
        if name in taken:
            continue
        ignored = chosen is None and name in reading.ignore_columns
        c = columns[name]
        encoded = reading.derived is None and c.is_category and (not c.is_written or name in reading.categories)
        if not (ignored or c.is_number or encoded or (reading.derived is None and c.is_text)):
            out.odd.append(c)
        why = None if fits or encoded else _unfit(c, chosen is None, found.whole)
        if ignored:
            why = "as you requested"
        elif out.packed is not None:
            why = f"the features are in {out.packed!r}"
        if why is not None:
            out.left_out[name] = why
        else:
            features.append(name)
    out.features = tuple(features)
    out.holes = tuple(n for n in features if columns[n].missing and columns[n].is_number)
    made = reading.derived or {}
    absent = [n for n in reading.feature_columns or () if n not in columns and n not in made]
    if absent:
        out.blocked.append(f"there is no column {brief(absent[0])}, although you named it as a feature")


def leave_out(out: Proposal, names: Collection[str], found: Survey, reading: Reading) -> None:
    """Leave out features of which a warning tells, unless the user named the features, or no other is left."""
    kept = tuple(name for name in out.features if name not in names)
    if reading.feature_columns is not None or len(kept) in (0, len(out.features)):
        return
    out.left_out |= dict.fromkeys((name for name in out.features if name in names), "as the warning says")
    out.features, out.holes = kept, tuple(name for name in out.holes if name in kept)
    out.options.clear()
    _options(out, found, reading, None)


def _unfit(c: Column, is_guess: bool, whole: bool) -> str | None:
    """Why a column should not be a feature. is_guess: nobody has named it; whole: every row was surveyed."""
    if c.breaks:
        return f"{c.breaks[1]} in row {c.breaks[0]} is not a number"
    if not c.is_number:
        if c.is_written:
            remedy = option("categories", [c.name])
            return f"text, but half or more of its values are numbers: convert it to numbers, or add {remedy}"
        if c.is_text and not c.is_category:
            return "text, and " + ("the same in every row" if c.is_constant else "more than half of its values differ")
        return f"{'text' if c.is_text else c.kind}, not a number{of_spark(c.kind)}"
    if c.missing == 1 and whole:
        return "no values"
    if is_guess and whole and c.is_constant and not c.missing:
        return f"{c.low:g} in every row"
    if is_guess and c.whole and c.all_differ and c.kind not in ("float", "double", "halffloat"):
        return "a different whole number in every row, like an id"
    return None


def percent(share: float) -> str:
    """'8.1%', '100%', 'less than 0.1%'."""
    return "less than 0.1%" if 0 < share < 5e-4 else f"{100 * share:.3g}%"


def _check(out: Proposal, found: Survey, schema: pa.Schema, has_features: bool) -> None:
    """Record problems that no option can fix."""
    columns = found.columns
    names, useful = ({plain(name) for name in some} for some in (columns, out.features))
    if len(columns) >= 3 and names <= OF_RUNS and not (out.label and useful - OF_NO_USE):
        out.blocked.insert(
            0,
            "this looks like a run or judgments, which have no features: only evaluate and fuse read such files",
        )
    for role, name in (("label", out.label), ("query", out.qid)):
        c = None if name is None else columns[name]
        n = 0 if c is None else c.n_missing + c.n_infinite - (c.n_spelled if role == "query" else 0)
        if n:
            out.blocked.append(
                f"{n} row{'s have' if n > 1 else ' has'} no {role} in {name!r}: drop or complete these rows"
            )
    if out.label is not None and not columns[out.label].is_number:
        out.blocked.append(f"the label {out.label!r} is {schema.field(out.label).type}: convert it to numbers")
    elif out.label is not None and columns[out.label].is_constant and found.whole:
        out.blocked.append(
            f"the label {out.label!r} is {columns[out.label].low:g} in every row: no document is better than another"
        )
    if not out.features and out.packed is None and has_features:
        out.blocked.append("no feature is left: features must be numeric columns")
    if columns and all(is_written_number(name) for name in columns):
        out.blocked.append("the first line contains numbers: add a first line with the names of the columns")


def _options(out: Proposal, found: Survey, reading: Reading, wanted: Sequence[str] | None) -> None:
    """The options of `Reading` that differ from the defaults. Rows beyond the survey, and lists, may
    have missing values too."""
    columns = found.columns
    options = out.options
    usual = next(
        (d for d in DOCUMENT if d in columns and d not in (out.label, out.qid) and not columns[d].is_number), None
    )
    for role, name, default in (("label", out.label, LABEL), ("qid", out.qid, QID), ("docid", out.docid, usual)):
        if name is not None and (name != default or getattr(reading, role) not in (None, name)):
            options[role] = name
    if wanted is None and (
        reading.feature_columns is not None or (out.packed is None and len(out.left_out) > len(out.features))
    ):
        options["feature_columns"] = list(out.features)
    elif wanted is None and out.left_out:
        options["ignore_columns"] = list(out.left_out)
    if (
        reading.missing is None
        and not (reading.featureless or reading.flags)
        and (out.holes or out.packed or not found.whole)
    ):
        options["missing"] = ZERO if reading.takes_zero else MEDIAN
    may_lack_judgments = out.label is not None and (columns[out.label].low == UNJUDGED or not found.whole)
    if reading.unjudged == "error" and may_lack_judgments:
        options["unjudged"] = "drop"
