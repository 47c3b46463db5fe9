"""Guess the roles of the columns of a table and the options that would read it, by three rules: usual names, types,
numbers of distinct values. A proposal for people to check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparserank.arrow import pa
from sparserank.data.reading import UNJUDGED, Reading
from sparserank.data.tables.batches import InputTable
from sparserank.data.tables.frames import QID
from sparserank.data.tables.roles import DOCUMENT, LABEL, PACKED, is_list, of_spark
from sparserank.data.tables.survey import Column, Survey
from sparserank.data.usual_names import DOCUMENTS, GRADES, JUDGED, OF_RUNS, QUERIES, called, plain
from sparserank.number_checks import is_written_number
from sparserank.options import option
from sparserank.text import brief

OF_NO_USE = {"iteration", "q0"}  # columns of judgments and runs that are no features
# {role: its usual names, and what it is called}
ROLES = {"label": (GRADES, "label"), "qid": (QUERIES, "query"), "docid": (DOCUMENTS, "document")}


@dataclass
class Proposal:
    """Roles, each with a short reason, and problems.

    column_of  {role: its column}; why: {role: the reason}
    packed     the column that contains the features of a row as a list
    left_out   {column: why it is not a feature}
    blocked    why no options make the table usable
    """

    survey: Survey
    reading: Reading
    column_of: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    packed: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)

    def roles(self) -> Iterator[tuple[str, str, str]]:
        """(role, column, why)"""
        for role, name in self.column_of.items():
            yield role, name, self.why[role]

    @property
    def holes(self) -> tuple[str, ...]:
        """Features that are numbers, with missing values."""
        columns = self.survey.columns
        return tuple(name for name in self.features if columns[name].missing and columns[name].is_number)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `Reading` that differ from the defaults. Rows beyond the survey may lack judgments, too."""
        columns = self.survey.columns
        reading = self.reading
        label = self.column_of.get("label")
        others = (label, self.column_of.get("qid"))
        usual = (d for d in DOCUMENT if d in columns and d not in others and not columns[d].is_number)
        defaults = {"label": LABEL, "qid": QID, "docid": next(usual, None)}
        options: dict[str, Any] = {}
        for role, name in self.column_of.items():
            if name != defaults[role] or getattr(reading, role) not in (None, name):
                options[role] = name
        if reading.feature_columns is not None or (self.packed is None and len(self.left_out) > len(self.features)):
            options["feature_columns"] = list(self.features)
        elif self.left_out:
            options["ignore_columns"] = list(self.left_out)
        may_lack_judgments = label is not None and (columns[label].low == UNJUDGED or not self.survey.whole)
        if reading.unjudged == "error" and may_lack_judgments:
            options["unjudged"] = "drop"
        return options

    def leave_out(self, names: Collection[str]) -> None:
        """Leave out the features that a warning names, unless the user named the features, or no other is left."""
        remaining = tuple(name for name in self.features if name not in names)
        if self.reading.feature_columns is None and 0 < len(remaining) < len(self.features):
            self.left_out |= {name: "as the warning says" for name in self.features if name not in remaining}
            self.features = remaining


def propose(tables: Sequence[InputTable], survey: Survey, reading: Reading) -> Proposal:
    """Propose roles and options for tables that are read as one. Options of the reading are kept; the rest is guessed
    from names and values."""
    out = Proposal(survey, reading)
    columns = survey.columns
    chosen = reading.feature_columns
    fixed = {reading.label, reading.qid, reading.docid, reading.doc_weight, *reading.ignore_columns, *(chosen or ())}
    free = {name: c for name, c in columns.items() if name not in fixed}
    sized = all(t.queries is not None for t in tables)  # query sizes are in a side file of each table
    for role in ROLES:
        if role != "qid" or not sized or reading.qid is not None or QID in columns:
            _find(out, role, free)
    schema = tables[0].schema
    if chosen is None:
        # Lists of features: by the usual name, or the only column of lists if no column of numbers is left.
        lists = [name for name in free if name in schema.names and is_list(schema.field(name).type)]
        numbers = [name for name, c in free.items() if c.is_number and name not in out.column_of.values()]
        out.packed = next((n for n in lists if n == PACKED or (len(lists) == 1 and not numbers)), None)
    _find_features(out)
    _find_problems(out, schema)
    return out


def _find(out: Proposal, role: str, free: dict[str, Column]) -> None:
    """Find the column of a role: the one that the reading names, or else one with a usual name."""
    columns = out.survey.columns
    named_column = getattr(out.reading, role)
    names, word = ROLES[role]
    if named_column in columns:
        out.column_of[role] = named_column
        out.why[role] = "as you requested"
        return
    fits = {name: fit for name, c in free.items() if (fit := _fit(role, c, out.survey.whole)) is not None}
    fits = {name: fit for name, fit in fits.items() if name not in out.column_of.values()}
    if names[0] in free and role != "docid":  # docid needs no option
        fits.setdefault(names[0], "")
        name: str | None = names[0]
    else:
        name = called(fits, names)
    words = [n for n, c in free.items() if c.is_text and n != LABEL and plain(n) in JUDGED] if role == "label" else []
    if words and called([*words, *fits], names) in words:
        out.blocked.append(
            f"the label is {brief(called(words, names))}, which is not numeric: a label must be a number"
        )
    elif name is not None:
        reasons = [f"there is no {brief(named_column)}" if named_column is not None else "", "by its name", fits[name]]
        out.column_of[role] = name
        out.why[role] = "; ".join(filter(None, reasons))
    elif role != "docid":
        out.blocked.append(f"it is not clear which column is the {word}: name the column with {option(role)}")


def _fit(role: str, c: Column, whole: bool) -> str | None:
    """Why a column suits a role; None if its type or values do not. whole: every row was surveyed."""
    if (whole and c.is_constant) or c.breaks or c.n_distinct is None:
        return None
    if role == "label":
        return f"{'whole ' * c.whole}numbers {c.low:g} to {c.high:g}" if c.is_number else None
    if not (c.is_text or c.whole) or (role == "qid" and c.all_differ):
        return None
    return f"{c.n_distinct} values in {c.n_rows} rows"


def _find_features(out: Proposal) -> None:
    """Determine the features, and the columns that are left out and why."""
    columns = out.survey.columns
    reading = out.reading
    chosen = reading.feature_columns
    taken = {*out.column_of.values(), out.packed, reading.doc_weight}
    features = []
    for name in columns if chosen is None else chosen:
        if name not in columns:
            out.blocked.append(f"there is no column {brief(name)}, although you named it as a feature")
            continue
        if name in taken:
            continue
        c = columns[name]
        if chosen is None and name in reading.ignore_columns:
            out.left_out[name] = "as you requested"
        elif out.packed is not None:
            out.left_out[name] = f"the features are in {out.packed!r}"
        elif why := _unfit(c, chosen is None, out.survey.whole, name in reading.categories):
            out.left_out[name] = why
        else:
            features.append(name)
    out.features = tuple(features)


def _unfit(
    c: Column,
    is_guess: bool,
    whole: bool,
    is_asked: bool,
) -> str:
    """Why a column should not be a feature; "" if it may be one.

    is_guess: the user has not named it; whole: every row was surveyed; is_asked: the user calls it a category."""
    if c.is_category and (is_asked or not c.is_written):
        return ""
    if c.breaks:
        return f"{c.breaks[1]} in row {c.breaks[0]} is not a number"
    if c.is_written:
        remedy = option("categories", [c.name])
        return f"text, but half or more of its values are numbers: convert it to numbers, or add {remedy}"
    if c.is_text:
        return "text, and " + ("the same in every row" if c.is_constant else "more than half of its values differ")
    if not c.is_number:
        return f"{c.kind}, not numeric{of_spark(c.kind)}"
    if c.missing == 1 and whole:
        return "no values"
    if is_guess and whole and c.is_constant and not c.missing:
        return f"{c.low:g} in every row"
    if is_guess and c.name in DOCUMENT:
        return "another column of document ids"
    if is_guess and c.whole and c.all_differ and c.kind not in ("float", "double", "halffloat"):
        return "a different whole number in every row, like an id"
    return ""


def percent(share: float) -> str:
    """'8.1%', '100%', 'less than 0.1%'."""
    return "less than 0.1%" if 0 < share < 5e-4 else f"{100 * share:.3g}%"


def _find_problems(out: Proposal, schema: pa.Schema) -> None:
    """Record problems that no option can fix."""
    columns = out.survey.columns
    label = out.column_of.get("label")
    names = {plain(name) for name in columns}
    useful = {plain(name) for name in out.features}
    if len(columns) >= 3 and names <= OF_RUNS and not (label and useful - OF_NO_USE):
        out.blocked.insert(
            0,
            "this looks like a run or judgments, which have no features: only evaluate and fuse read such files",
        )
    for role in ("label", "qid"):
        c = columns.get(out.column_of.get(role, ""))
        n = 0 if c is None else c.n_missing + c.n_infinite - (c.n_spelled if role == "qid" else 0)
        if c is not None and n:
            out.blocked.append(f"rows without a {ROLES[role][1]} in {c.name!r}: {n}; correct or drop them")
    if label is not None and not columns[label].is_number:
        out.blocked.append(f"the label {label!r} is not numeric ({schema.field(label).type}): a label must be a number")
    elif label is not None and columns[label].is_constant and out.survey.whole:
        out.blocked.append(f"the label {label!r} is {columns[label].low:g} in every row: there is no preferred pair")
    if not out.features and out.packed is None:
        out.blocked.append("no feature is left: features must be numeric columns")
    if columns and all(is_written_number(name) for name in columns):
        out.blocked.append("the first line contains numbers: add a first line with the names of the columns")
