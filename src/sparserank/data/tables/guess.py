"""Guess the roles of the columns of a table and the options that would read it: a proposal for people to check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparserank.arrow import pa
from sparserank.data.missing import MEDIAN, ZERO
from sparserank.data.reading import UNJUDGED, Reading
from sparserank.data.tables.batches import Table
from sparserank.data.tables.frames import QID
from sparserank.data.tables.roles import DOCUMENT, LABEL, PACKED, is_list
from sparserank.data.tables.survey import Column, Survey
from sparserank.quoting import brief

# Usual names, the most telling first; case, blanks, points and hyphens do not count.
LABELS = (
    LABEL,
    "relevance",
    "relevance_label",
    "rel",
    "grade",
    "relevance_grade",
    "judgment",
    "judgement",
    "rating",
    "target",
    "gain",
    "y",
    "clicked",
    "is_clicked",
    "click",
    "clicks",
)
QUERIES = (
    QID,
    "query_id",
    "queryid",
    "query",
    "query_text",
    "search_id",
    "srch_id",
    "session_id",
    "topic_id",
    "topic",
    "request_id",
    "group_id",
    "group",
)
DOCUMENTS = (
    *DOCUMENT,
    "document_id",
    "document",
    "doc",
    "product_id",
    "item_id",
    "listing_id",
    "passage_id",
    "asin",
    "sku",
    "url",
    "uri",
    "id",
)
OF_NO_USE = frozenset(("iteration", "q0"))  # columns of judgments and runs
OF_RUNS = OF_NO_USE.union(
    ("query_id", "qid", "topic", "corpus_id", *DOCUMENT, "score", "rank", "tag", "rel", "relevance", "label", "grade")
)
MAX_GRADES = 11  # 0 to 10
HALF = 0.5  # of the values missing: said, since what is filled in then outweighs what is known


@dataclass
class Proposal:
    """Roles, each with a short reason, and problems.

    packed     the column that contains the features of a row as a list
    left_out   {column: why it is not a feature}
    missing    {feature: (policy, why)}
    blocked    why no options make the table usable
    """

    label: str | None = None
    qid: str | None = None
    docid: str | None = None
    why: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    packed: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    drops_unjudged: bool = False
    blocked: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def propose(
    tables: Sequence[Table],
    found: Survey,
    reading: Reading,
    wanted: Sequence[str] | None = None,
    *,
    sparing: bool = False,
) -> Proposal:
    """Propose roles and options for tables that are read as one. Options of the reading are kept; the rest is guessed
    from names and values.

    Parameters
        wanted   the features, if other data determine them
        sparing  leave out only columns that cannot be features, and not those that are probably none: constants,
                 copies, ids
    """
    out, columns = Proposal(), found.columns
    given = [
        n
        for n in (reading.label, reading.qid, reading.docid, reading.doc_weight, *reading.ignore_columns)
        if n is not None
    ]
    free = {
        name: c
        for name, c in columns.items()
        if name not in {*given, *(reading.feature_columns or ()), *(wanted or ())}
    }
    sized = all(t.queries is not None for t in tables)  # by a file beside each
    out.label = _role(out, "label", reading.label, columns, free, LABELS, _is_label, reading.labelled)
    if not sized or reading.qid is not None or QID in columns:
        out.qid = _role(out, "qid", reading.qid, columns, free, QUERIES, _is_query, reading.grouped)
    out.docid = _role(
        out, "docid", reading.docid, columns, free, DOCUMENTS, _is_document(columns.get(out.qid or ""), sparing), False
    )
    chosen = wanted is not None or reading.feature_columns is not None or reading.featureless
    packed = out.packed = None if chosen else _packed(out, tables[0].schema, free)
    if not reading.featureless:
        _features(out, columns, reading, wanted, packed, sparing)
    _check(out, columns, tables[0].schema, not reading.featureless)
    out.options = _options(out, columns, reading, wanted, packed)
    return out


def _role(
    out: Proposal,
    role: str,
    given: str | None,
    columns: dict[str, Column],
    free: dict[str, Column],
    names: Sequence[str],
    fits: Callable[[Column], str | None],
    needed: bool,
) -> str | None:
    """The column of a role: the one that is named, else one of a usual name,
    else the only one whose values look like it."""
    if given is not None and given in columns:
        out.why[role] = "as you requested"
        return given
    absent = "" if given is None else f"there is no {brief(given)}; "
    if names[0] in free and role != "docid":  # what is taken without being told
        out.why[role] = f"{absent}by its name{'; ' * bool(fits(columns[names[0]]))}{fits(columns[names[0]]) or ''}"
        return names[0]
    known = {_plain(name): name for name in reversed(list(free)) if name not in (out.label, out.qid)}
    for usual in names:
        name = known.get(_plain(usual))
        reason = None if name is None else fits(columns[name])
        if name is not None and reason is not None:
            out.why[role] = f"{absent}by its name; {reason}"
            return name
    alike = [
        n for n in known.values() if (columns[n].is_text or role != "docid") and _by_values(role, columns[n], fits)
    ]
    if len(alike) == 1 and (needed or role == "docid"):
        out.why[role] = f"{absent}the only column with suitable values; {fits(columns[alike[0]])}"
        return alike[0]
    if needed:
        some = f"; {', '.join(map(repr, alike[:5]))} could be" if alike else ""
        out.blocked.append(
            f"it is not clear which column is the {'label' if role == 'label' else 'query'}{some}: name the column "
            f"with {role}= (--{role}-column)"
        )
    return None


def _packed(out: Proposal, schema: pa.Schema, free: dict[str, Column]) -> str | None:
    """A list of features: of the usual name, or the only list if no column of numbers is left."""
    lists = [n for n in free if n in schema.names and is_list(schema.field(n).type)]
    numbers = [n for n, c in free.items() if c.is_number and n not in (out.label, out.qid, out.docid)]
    return next((n for n in lists if n == PACKED or (len(lists) == 1 and not numbers)), None)


def _plain(name: str) -> str:
    return "".join("_" if c in " .-" else c for c in name.lower()).strip("_")


def _is_label(c: Column) -> str | None:
    if not c.is_number or c.is_constant or c.breaks:
        return None
    return f"whole numbers {c.low:g} to {c.high:g}" if c.whole else f"numbers {c.low:g} to {c.high:g}"


def _is_query(c: Column) -> str | None:
    if not (c.is_text or c.whole) or c.breaks or c.is_constant or c.all_differ:
        return None
    return f"{counted(c)} values in {c.n_rows} rows"


def _is_document(query: Column | None, sparing: bool) -> Callable[[Column], str | None]:
    def fits(c: Column) -> str | None:
        if not (c.is_text or (c.whole and not sparing)) or c.breaks or c.is_constant or c.n_distinct is None:
            return None
        fewer = not c.more and query is not None and not query.more and c.n_distinct < (query.n_distinct or 0)
        return None if fewer and not c.is_text else f"{counted(c)} values in {c.n_rows} rows"

    return fits


def _by_values(role: str, c: Column, fits: Callable[[Column], str | None]) -> bool:
    """Whether the values alone, whatever the name, look like a role."""
    if fits(c) is None or c.missing or c.n_distinct is None:
        return False
    if role == "label":
        return c.whole and c.low >= UNJUDGED and c.high < MAX_GRADES and not c.more and c.kind != "bool"
    if role == "qid":  # its rows stand together
        return not c.more and c.n_runs == c.n_distinct and 2 * c.n_distinct <= c.n_rows
    return c.all_differ


def counted(c: Column) -> str:
    """The number of distinct values: '80', 'more than 10000'."""
    if c.n_distinct is None or c.breaks:
        return "?"
    if c.grows:  # each is larger than the one before
        return str(c.n_rows - c.n_missing - c.n_infinite)
    return f"more than {c.n_distinct}" if c.more else str(c.n_distinct)


def _features(
    out: Proposal,
    columns: dict[str, Column],
    reading: Reading,
    wanted: Sequence[str] | None,
    packed: str | None,
    sparing: bool,
) -> None:
    """Determine the features, the columns that are left out and why, and the replacements for missing values."""
    chosen = wanted if wanted is not None else reading.feature_columns
    taken = {out.label, out.qid, out.docid, reading.doc_weight}
    features = []
    for name in columns if chosen is None else [n for n in chosen if n in columns]:
        c = columns[name]
        if name in taken:
            continue
        why = None if wanted is not None else _unfit(c, out, columns, sparing or chosen is not None)
        if name in reading.ignore_columns and chosen is None:
            out.left_out[name] = "as you requested"
        elif packed is not None and name != packed and chosen is None:
            out.left_out[name] = f"the features are in {packed!r}"
        elif name == packed:
            continue
        elif why is not None:
            out.left_out[name] = why
        else:
            features.append(name)
    out.features = tuple(features)
    absent = [n for n in reading.feature_columns or () if n not in columns]
    if absent:
        out.blocked.append(f"there is no column {brief(absent[0])}, although you named it as a feature")
    for name in features:
        c = columns[name]
        if c.missing and c.is_number and reading.missing is None:
            out.missing[name] = _policy(c, reading.takes_zero)


def _unfit(c: Column, out: Proposal, columns: dict[str, Column], sparing: bool) -> str | None:
    """Why a column should not be a feature."""
    if c.breaks:
        return f"{c.breaks[1]} in row {c.breaks[0]} is not a number"
    if not c.is_number:
        return f"{'text' if c.is_text else c.kind}, not a number"
    if c.missing == 1:
        return "no values"
    if sparing:
        return None
    if c.is_constant and not c.missing:
        return f"{c.low:g} in every row"
    same = c.same_as or next((n for n, other in columns.items() if other.same_as == c.name and n == out.label), None)
    if same is not None and same not in (out.qid, out.docid):
        return f"equal to {same!r}" + (", the label" if same == out.label else "")
    if same is not None:
        return f"equal to the {'query' if same == out.qid else 'document'} id"
    if c.whole and c.all_differ and c.kind not in ("float", "double", "halffloat"):
        return f"{'a larger' if c.grows else 'a different'} whole number in every row, like an id"
    return None


def _policy(c: Column, takes_zero: bool) -> tuple[str, str]:
    share = f"{percent(c.missing)} missing" + (f" ({c.n_infinite} infinite)" if c.n_infinite else "")
    if c.whole and {c.low, c.high} <= {0.0, 1.0}:
        return ZERO, f"{share}; 0/1 flag: a missing value is taken to mean that the flag is not set"
    if takes_zero:
        return ZERO, f"{share}; the engine takes 0 for a missing value"
    more = "; more than half: consider leaving it out" if c.missing > HALF else ""
    return MEDIAN, f"{share}; a typical value, robust to scale and outliers{more}"


def percent(share: float) -> str:
    """'8.1%', '100%', 'less than 0.1%'."""
    return "less than 0.1%" if 0 < share < 5e-4 else f"{100 * share:.3g}%"


def _check(out: Proposal, columns: dict[str, Column], schema: pa.Schema, looked_at: bool) -> None:
    """Record problems that no option can fix."""
    names, useful = ({_plain(name) for name in some} for some in (columns, out.features))
    if len(columns) >= 3 and names <= OF_RUNS and not (out.label and useful - OF_NO_USE):
        out.blocked.insert(
            0, "this looks like a run or judgments, which have no features: only evaluate and fuse read such files"
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
    elif out.label is not None and columns[out.label].is_constant:
        out.blocked.append(
            f"the label {out.label!r} is {columns[out.label].low:g} in every row: no document is better than another"
        )
    if not out.features and out.packed is None and looked_at:
        out.blocked.append("no feature is left: features must be numeric columns")
    if columns and all(_is_written_number(name) for name in columns):
        out.blocked.append("the first line contains numbers: add a first line with the names of the columns")
    out.drops_unjudged = out.label is not None and columns[out.label].low == UNJUDGED


def _can_be_named(name: str) -> bool:
    """Whether a policy for missing values can name a feature on the command line; others go by their number."""
    return name == name.strip() and name not in ("", "*") and not set(name) & set(",;=")


def _is_written_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _options(
    out: Proposal, columns: dict[str, Column], reading: Reading, wanted: Sequence[str] | None, packed: str | None
) -> dict[str, Any]:
    """The options of `Reading` that differ from the defaults."""
    options: dict[str, Any] = {}
    usual = next(
        (d for d in DOCUMENT if d in columns and d not in (out.label, out.qid) and not columns[d].is_number), None
    )
    for role, name, default in (("label", out.label, LABEL), ("qid", out.qid, QID), ("docid", out.docid, usual)):
        if name is not None and (name != default or getattr(reading, role) not in (None, name)):
            options[role] = name
    if (wanted is None and reading.feature_columns is not None) or (
        wanted is None and packed is None and len(out.left_out) > len(out.features)
    ):
        options["feature_columns"] = list(out.features)
    elif wanted is None and out.left_out:
        options["ignore_columns"] = list(out.left_out)
    numbers = {name: j for j, name in enumerate(out.features, start=reading.index_base)}
    policies: dict[Any, Any] = {
        name if _can_be_named(name) else numbers[name]: policy for name, (policy, _) in out.missing.items()
    }
    taken = [name for name in out.missing if not _can_be_named(name) and str(numbers[name]) in columns]
    if taken:  # the number is another column's name: what is not named has its policy
        rest = out.missing[taken[0]][0]
        named = {name: policy for name, (policy, _) in out.missing.items() if _can_be_named(name) and policy != rest}
        policies = {**named, "*": rest}
    if policies and reading.missing is None:
        options["missing"] = policies
    if out.drops_unjudged and reading.unjudged == "error":
        options["unjudged"] = "drop"
    return options


def roles(out: Proposal) -> Iterator[tuple[str, str, str]]:
    """(role, column, why)"""
    for role, name in (("label", out.label), ("qid", out.qid), ("docid", out.docid)):
        if name is not None:
            yield role, name, out.why[role]
