"""The roles of the columns of a table: label, query, document, weight, features."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sparserank.data.categories import Derived, sources_of
from sparserank.data.tables.frames import QID
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.text import brief

if TYPE_CHECKING:
    from sparserank.arrow import pa
    from sparserank.data.reading import Reading
    from sparserank.data.tables.batches import InputTable


SHOWN_NAMES = 5  # columns named in a remedy
# usual names of columns
LABEL = "label"
PACKED = "features"
DOCUMENT = ("docno", "docid", "doc_id")  # columns by these names are document ids
SHOWN = 8  # column names in a message


class Roles(NamedTuple):
    """The roles of columns.

    packed         the column that contains the features of a row as a list; `features` is then empty
    derived        the features that are made from other columns
    categories     columns whose levels are not yet known
    texts          columns that are read as text, as ids always are
    kept_columns   {column that is kept as it is: whether it contains numbers}
    """

    label: str | None
    qid: str | None
    docid: str | None
    weight: str | None
    features: tuple[str, ...]
    packed: str | None
    derived: Mapping[str, Derived] = {}
    categories: tuple[str, ...] = ()
    texts: frozenset[str | None] = frozenset()
    kept_columns: Mapping[str, bool] = {}

    @property
    def read(self) -> list[str]:
        """The columns that are needed, each once."""
        every = [self.label, self.qid, self.docid, self.weight, *sources_of(self.derived, self.features), self.packed]
        return list(dict.fromkeys(name for name in (*every, *self.kept_columns) if name is not None))

    @property
    def levelled(self) -> set[str]:
        """The columns that are categories with known levels, of which features are made."""
        derived = [self.derived[name] for name in self.features if name in self.derived]
        return {d.source for d in derived if d.level is not None}

    def with_levels(self, derived: Mapping[str, Sequence[Derived]]) -> Roles:
        """The roles with the features of each category in its place."""
        features = [
            f for name in self.features for f in ([d.name for d in derived[name]] if name in derived else [name])
        ]
        new = {d.name: d for features in derived.values() for d in features}
        return self._replace(features=tuple(features), derived={**self.derived, **new}, categories=())


def roles_of(
    table: InputTable,
    reading: Reading,
    *,
    wanted: Sequence[str] | None = None,
    others: bool = False,
) -> Roles:
    """Determine the roles of the columns of a table.

    Parameters
        reading    the names of columns; None: the usual names, and all other columns are features
        wanted     names of the features, if another table determines them
        others     columns other than the wanted ones are left out; False: refused, unless the reading names features
    Raises
        DataError   a named column does not exist, a column cannot be a feature, or there is no feature
    """
    schema = table.schema
    # The columns of roles, by the word for the role.
    weight = reading.doc_weight if wanted is None or reading.doc_weight in schema.names else None
    columns = {
        "label": _named(table, "label", reading.label, [LABEL], reading.labelled),
        "query id": _named(table, "qid", reading.qid, [QID], reading.grouped and table.queries is None),
        "weight": _named(table, "doc_weight", weight, (), False),
        "judge": _named(table, "judge_column", None if others else reading.judge_column, (), False),
    }
    left_out = {*columns.values(), *reading.ignore_columns}
    if not reading.labelled:  # the values of labels may then be anything
        columns["label"] = None
    label = columns["label"]
    for name in (label, columns["judge"]):
        if name is not None and not _numeric(schema, name):
            kind = schema.field(name).type
            raise DataError(f"{table.place}: column {brief(name)} is not numeric ({kind}); a label must be a number.")
    features = {*(reading.feature_columns or ()), *(wanted or ())}
    free = [d for d in DOCUMENT if d in schema.names and d not in left_out and d not in features]
    docid = _named(table, "docid", reading.docid, free, False)
    word_of = {name: word for word, name in columns.items() if name is not None}
    if docid in word_of:
        raise DataError(
            f"{table.place}: column {brief(docid)} cannot be both the {word_of[docid]} and the document id; name "
            f"another column ({option('docid')})."
        )
    word_of |= {} if docid is None else {docid: "document id"}
    ids = frozenset({columns["query id"], docid})
    roles = Roles(
        label,
        columns["query id"],
        docid,
        columns["weight"],
        (),
        None,
        texts=ids,
    )
    if reading.featureless:
        return roles
    # The columns that are features, and those of them that are categories.
    derived = {name: d for name, d in (reading.derived or {}).items() if d.source in schema.names}
    if reading.feature_columns is None:
        chosen = [name for name in schema.names if name != docid and name not in left_out]
        if len(chosen) == 1 and is_list(schema.field(chosen[0]).type):
            return roles._replace(packed=chosen[0])
    else:
        chosen = list(reading.feature_columns)
        _check_named_features(table, chosen, word_of, derived)
    if others and wanted is not None:
        chosen = [name for name in dict.fromkeys((*chosen, *derived)) if name in set(wanted)]
    twice = [name for name in free if name in chosen]
    if twice:
        raise table.unusable(
            f"the document ids are in {brief(docid)}; leave out the others with {option('ignore_columns', twice)}"
        )
    categories = [] if reading.derived is not None else _categories(table, reading, chosen)
    odd = [name for name in chosen if not (name in derived or name in categories or _numeric(schema, name))]
    if odd:
        further = f", nor are {len(odd) - 1} others: {brief(', '.join(odd[1:]))}" if len(odd) > 1 else ""
        kind = schema.field(odd[0]).type
        remedy = f"leave out with {option('ignore_columns', odd[:SHOWN_NAMES])}, or convert to numbers"
        if odd[0] in features:  # somebody named it
            remedy = "convert to numbers"
        raise table.unusable(f"column {brief(odd[0])} is not numeric ({kind}{of_spark(kind)}){further}; {remedy}")
    if wanted is not None:
        _check_match(table, reading, chosen, wanted, others=others)
        chosen = list(wanted)
    elif not chosen:
        raise table.unusable(
            f"has no feature column (label: {brief(roles.label)}, query id: {brief(roles.qid)}); add one"
        )
    # Columns of a CSV file that are read as text: ids and categories. Categories of floats are not, because they may be
    # whole numbers in a column with missing ones.
    sources = {*categories, *(d.source for d in derived.values() if d.level is not None)}
    texts = ids.union(name for name in sources if str(schema.field(name).type) != "double")
    return roles._replace(features=tuple(chosen), derived=derived, categories=tuple(categories), texts=texts)


def _named(
    table: InputTable,
    role: str,
    named: str | None,
    usual: Sequence[str],
    needed: bool,
) -> str | None:
    """The column that the user names for a role, or else the first of the usual ones that exists; None if there is none
    and none is needed."""
    names = table.schema.names
    column = next((name for name in usual if name in names), None) if named is None else named
    if column is None and not needed:
        return None
    if column not in names:
        wanted = usual[0] if column is None else column
        raise table.unusable(
            f"has no column {brief(wanted)}; {_shown_columns(table)}; name the column with {option(role)}"
        )
    return column


def _check_named_features(
    table: InputTable,
    named: Sequence[str],
    word_of: Mapping[str, str],
    derived: Mapping[str, Derived],
) -> None:
    """Refuse named features that do not exist, or that have another role."""
    for name in named:
        if name not in table.schema.names and name not in derived:
            raise DataError(
                f"{table.place} has no column {brief(name)}, although you named it as a feature; "
                f"{_shown_columns(table)}."
            )
        if name in word_of:
            raise DataError(
                f"{table.place}: column {brief(name)} is the {word_of[name]}, so it cannot also be a feature; remove "
                f"it from {option('feature_columns')}, or name another column as the {word_of[name]}."
            )


def _categories(table: InputTable, reading: Reading, chosen: Sequence[str]) -> list[str]:
    """The features that are categories: text, and columns of numbers that the user names as such."""
    unknown = next((name for name in reading.categories if name not in chosen), None)
    if unknown is not None:
        raise DataError(
            f"{table.place}: {brief(unknown)} is not one of the columns that are features, although you named it in "
            f"{option('categories')}; {_shown_columns(table)}."
        )
    categories = []
    for name in chosen:
        kind = table.schema.field(name).type
        is_countable = is_number(kind) and str(kind) != "bool"
        if may_be_category(kind) or (is_countable and name in reading.categories):
            categories.append(name)
    return categories


def _check_match(
    table: InputTable,
    reading: Reading,
    chosen: Sequence[str],
    wanted: Sequence[str],
    *,
    others: bool,
) -> None:
    """Refuse features other than those of another table."""
    missing = next((name for name in wanted if name not in chosen), None)
    extra = sorted(set(chosen).difference(wanted))
    if missing is None and not extra:
        return
    if missing is not None:
        derived = reading.derived or {}
        differs = f"lacks {brief(derived[missing].source if missing in derived else missing)}"
    else:
        differs = f"also has {brief(extra[0])}; leave it out with {option('ignore_columns', extra[:1])}"
    raise DataError(
        f"{table.place} must have the same feature columns as the {'training data' if others else 'previous table'}; "
        f"it {differs}."
    )


def _shown_columns(table: InputTable) -> str:
    names = table.schema.names
    shown = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
    return f"it has {brief(shown) if names else 'nothing'}"


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
    """Whether a column is among the names in `asked`, in which its blanks may be underscores, and contains numbers or
    text."""
    is_asked = name in asked or re.sub(r"\s", "_", name) in asked
    return is_asked and (_numeric(schema, name) or may_be_category(schema.field(name).type))


def of_spark(kind: Any) -> str:
    """The end of a message about a column of Spark vectors, which are no lists; '' for other types."""
    is_vector = str(kind).replace(" not null", "").startswith("struct<type: int8, size: int32, indices: list<")
    return "; a vector of Spark: convert it with pyspark.ml.functions.vector_to_array" if is_vector else ""


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type can contain all features of a row."""
    from sparserank.arrow import types as t

    listed = t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
    return bool(listed and (t.is_floating(kind.value_type) or t.is_integer(kind.value_type)))
