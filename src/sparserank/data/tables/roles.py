"""The roles of the columns of a table: label, query, document, weight, features."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sparserank.data.derived import Derived, sources_of
from sparserank.data.tables.frames import QID
from sparserank.errors import DataError, TableError
from sparserank.options import option
from sparserank.text import brief

if TYPE_CHECKING:
    from sparserank.arrow import pa
    from sparserank.data.reading import Reading
    from sparserank.data.tables.batches import Table


SHOWN_NAMES = 5  # columns named in a remedy
# usual names of columns
LABEL = "label"
PACKED = "features"
DOCUMENT = ("docno", "docid", "doc_id")  # text columns by these names are document ids
SHOWN = 8  # column names in a message


class Roles(NamedTuple):
    """The roles of columns. packed: one column contains the features of a row as a list, and `features` is empty;
    derived: the features that are made from other columns; categories: columns whose levels are not yet known; texts:
    columns that are read as text, which ids are in any case; kept: columns that are kept as they are, and whether they
    are numbers."""

    label: str | None
    qid: str | None
    docid: str | None
    weight: str | None
    features: tuple[str, ...]
    packed: str | None
    derived: Mapping[str, Derived] = {}
    categories: tuple[str, ...] = ()
    texts: frozenset[str | None] = frozenset()
    kept: Mapping[str, bool] = {}

    @property
    def read(self) -> list[str]:
        """The columns that are needed, each once."""
        every = [self.label, self.qid, self.docid, self.weight, *sources_of(self.derived, self.features), self.packed]
        return list(dict.fromkeys(name for name in (*every, *self.kept) if name is not None))

    def with_levels(self, derived: Mapping[str, Sequence[Derived]]) -> Roles:
        """The roles with the features of each category in its place."""
        features = [
            f for name in self.features for f in ([d.name for d in derived[name]] if name in derived else [name])
        ]
        made = {d.name: d for each in derived.values() for d in each}
        return self._replace(features=tuple(features), derived={**self.derived, **made}, categories=())


def roles_of(table: Table, reading: Reading, *, wanted: Sequence[str] | None = None, others: bool = False) -> Roles:
    """Determine the roles of the columns of a table.

    Parameters
        reading    the names of columns; None: the usual names, and all other columns are features
        wanted     names of the features, if another table determines them
        others     columns other than the wanted ones are left out; False: refused, unless the reading names features
    Raises
        DataError   a named column does not exist, a column cannot be a feature, or there is no feature
    """
    schema = table.schema
    place = table.place
    features = None if reading.feature_columns is None else tuple(reading.feature_columns)
    held = set(schema.names)
    learns = reading.derived is None
    made = {n: d for n, d in (reading.derived or {}).items() if d.source in held}
    label = unread = None
    if reading.labelled or reading.label is not None:
        label = _column(table, reading.label, LABEL, "label", required=reading.labelled)
    if not reading.labelled:  # its values may then be anything
        label, unread = None, label or LABEL
    qid = _column(table, reading.qid, QID, "qid", required=reading.grouped and table.queries is None)
    first = wanted is None  # later tables need no weights
    weight = usual = reading.doc_weight
    if usual is not None:
        weight = _column(table, usual if first else None, usual, "doc_weight", required=first)
    parts = {label: "the label", qid: "the query", weight: "the weight"} | dict.fromkeys(features or (), "a feature")
    docid = _document(table, reading.docid, parts, {unread, *reading.ignore_columns})
    if reading.featureless:
        return Roles(label, qid, docid, weight, (), None, texts=frozenset({qid, docid}))
    if features is not None:
        for name in features:
            if name not in schema.names and name not in made:
                raise DataError(
                    f"{place} has no column {brief(name)}, although you named it as a feature; {_holds(table)}."
                )
            role = {weight: "weight", qid: "query id", label: "label"}.get(name)
            if role is not None:
                raise DataError(
                    f"{place}: column {brief(name)} is the {role}, so it cannot also be a feature; remove it from "
                    f"{option('feature_columns')}, or name another column as the {role}."
                )
        chosen = features
    else:
        chosen = tuple(c for c in schema.names if c not in {label, qid, weight, docid, unread, *reading.ignore_columns})
        if len(chosen) == 1 and is_list(schema.field(chosen[0]).type):
            return Roles(label, qid, docid, weight, (), chosen[0], texts=frozenset({qid, docid}))
    if others and wanted is not None:
        chosen = tuple(c for c in dict.fromkeys((*chosen, *made)) if c in set(wanted))
    texts = [name for name in chosen if name not in made and may_be_category(schema.field(name).type)]
    asked = [name for name in reading.categories if name in held and _countable(schema.field(name).type)]
    categories = [name for name in chosen if name in texts or name in asked] if learns else []
    unknown = next((name for name in reading.categories if learns and name not in chosen), None)
    if unknown is not None:
        raise DataError(
            f"{place}: {brief(unknown)} is not one of the columns that are features, although you named it in "
            f"{option('categories')}; {_holds(table)}."
        )
    odd = [name for name in chosen if not (name in made or name in categories or _numeric(schema, name))]
    if odd:
        more = f", nor are {len(odd) - 1} others: {brief(', '.join(odd[1:]))}" if len(odd) > 1 else ""
        kind = schema.field(odd[0]).type
        raise TableError(
            f"{place}: column {brief(odd[0])} is not numeric ({kind}{of_spark(kind)}){more}; leave them out with "
            f"{option('ignore_columns', odd[:SHOWN_NAMES])}, or convert them to numbers."
        )
    if not chosen and wanted is None:
        raise DataError(f"{place} has no feature column (label: {brief(label)}, query id: {brief(qid)}).")
    if wanted is not None:
        of = {name: d.source for name, d in (reading.derived or {}).items()}
        missing = [of.get(w, w) for w in wanted if w not in chosen]
        extra = sorted(set(chosen) - set(wanted))
        if missing or extra:
            remedy = "" if missing else f"; leave it out with {option('ignore_columns', extra[:1])}"
            differs = f"lacks {brief(missing[0])}" if missing else f"also has {brief(extra[0])}"
            raise DataError(
                f"{place} must have the same feature columns as the {'training data' if others else 'previous table'}; "
                f"it {differs}{remedy}."
            )
        chosen = tuple(wanted)
    # CSV: whole numbers and booleans as they are written; floats may be whole numbers beside missing ones.
    sources = {*categories, *(d.source for d in made.values() if d.level is not None)}
    read_as_text = frozenset({qid, docid, *(n for n in sources if str(schema.field(n).type) != "double")})
    return Roles(label, qid, docid, weight, tuple(chosen), None, made, tuple(categories), read_as_text)


def _column(table: Table, given: Any, usual: str, parameter: str, *, required: bool) -> str | None:
    if given is None and usual not in table.schema.names and not required:
        return None
    wanted = usual if given is None else given
    if wanted not in table.schema.names:
        raise (DataError if parameter == "docid" else TableError)(
            f"{table.place} has no column {brief(wanted)}; {_holds(table)}. Name it with {option(parameter)}."
        )
    if parameter == "label" and required and not _numeric(table.schema, wanted):
        raise DataError(
            f"{table.place}: column {brief(wanted)} is not numeric ({table.schema.field(wanted).type}); a label must "
            "be a number."
        )
    return str(wanted)


def _document(
    table: Table, given: str | None, parts: dict[str | None, str], left_out: Collection[str | None]
) -> str | None:
    """The column of document ids: the one that is named, else a text column of a usual name that is not left out;
    None if there is none."""
    schema = table.schema
    if given is None:
        usual = (d for d in DOCUMENT if d in schema.names and d not in parts and d not in left_out)
        return next((d for d in usual if not _numeric(schema, d)), None)
    found = _column(table, given, given, "docid", required=True)
    if found in parts:
        raise DataError(
            f"{table.place}: column {brief(found)} cannot be both {parts[found]} and the document id; name another "
            f"column ({option('docid')})."
        )
    return found


def _holds(table: Table) -> str:
    names = table.schema.names
    return f"it has {brief(', '.join(names[:SHOWN]) + (' ...' if len(names) > SHOWN else ''))}"


def _numeric(schema: pa.Schema, name: str) -> bool:
    return is_number(schema.field(name).type)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type can be a feature."""
    from sparserank.arrow import types as t

    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind) or t.is_null(kind)
    )


def may_be_category(kind: pa.DataType) -> bool:
    """Whether a column of this type is text, or a category."""
    from sparserank.arrow import types as t

    if t.is_dictionary(kind):
        return may_be_category(kind.value_type) or is_number(kind.value_type)
    return bool(t.is_string(kind) or t.is_large_string(kind) or kind == "string_view")


def may_be_kept(schema: pa.Schema, name: str, asked: Collection[str]) -> bool:
    """Whether a column is one of these, whose blanks may be underscores, and numbers or text."""
    is_asked = name in asked or re.sub(r"\s", "_", name) in asked
    return is_asked and (_numeric(schema, name) or may_be_category(schema.field(name).type))


def _countable(kind: pa.DataType) -> bool:
    """Whether a column of this type may be declared as a category."""
    return may_be_category(kind) or (is_number(kind) and str(kind) != "bool")


def of_spark(kind: Any) -> str:
    """The end of a message about vectors of Spark, which are no lists; '' for other types."""
    is_vector = str(kind).replace(" not null", "").startswith("struct<type: int8, size: int32, indices: list<")
    return "; a vector of Spark: convert it with pyspark.ml.functions.vector_to_array" if is_vector else ""


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type can contain all features of a row."""
    from sparserank.arrow import types as t

    listed = t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
    return bool(listed and (t.is_floating(kind.value_type) or t.is_integer(kind.value_type)))
