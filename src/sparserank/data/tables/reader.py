"""Read vertically stacked tables as a stream of rows or as a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sparserank.arrow import pa
from sparserank.data.categories import MAX_DISTINCT, Derived, already_called, frequent_levels, mostly_numbers, texts_of
from sparserank.data.dataset import RankingDataset, checked_names
from sparserank.data.letor.side_files import continue_numbers, warn_of_unused
from sparserank.data.matrices import float_type
from sparserank.data.missing import MEDIAN, ZERO, MissingPolicy, any_missing, is_missing
from sparserank.data.query_ids import concatenated_ids, query_codes
from sparserank.data.reading import UNJUDGED, Reading, missing_value, no_rows, policy_of, unjudged_label
from sparserank.data.streams import BEGIN, RowBlock, Stream, StreamPosition, positions
from sparserank.data.tables.batches import BATCH_ROWS, InputTable
from sparserank.data.tables.roles import Roles, is_number, may_be_category, may_be_kept, roles_of
from sparserank.data.tables.survey import ROWS
from sparserank.errors import DataError, warn_caller
from sparserank.options import option
from sparserank.text import brief, listed, no_such


class TableRows(Stream):
    """The rows of vertically stacked tables; float32 if every feature is, unless the reading names a dtype. All must
    have the features of `like`, or else of the first table, matched by name.

    Parameters
        like   the data set whose features these must have
    """

    sparse = False

    def __init__(self, tables: Sequence[InputTable], reading: Reading, *, like: RankingDataset | None = None) -> None:
        if like is not None and reading.derived is None:
            reading = replace(reading, derived=like.derived or {})
        self._tables = list(tables)
        self._reading = reading
        self.flags = reading.flags and reading.missing is None and like is None
        self.policy, self.known = policy_of(reading, like)
        if self.flags:
            self.policy = MissingPolicy(ZERO if reading.takes_zero else MEDIAN, {})
        self.index_base = reading.index_base
        self.unjudged = reading.unjudged
        self.places = [t.place for t in tables]
        self.error = tables[0].error
        counts = [t.n_rows for t in tables]
        self.n_rows = None if None in counts else sum(n for n in counts if n is not None)
        self._roles = self._roles_of_all(None if like is None else like.names, others=like is not None)
        for table, roles in zip(tables, self._roles, strict=True):
            if table.queries is not None and roles.qid is not None:
                warn_of_unused(table.queries, table.place)
        self._queries = [t.queries if r.qid is None else None for t, r in zip(tables, self._roles, strict=True)]
        continue_numbers(self._queries)
        kinds = {
            pa.types.is_integer(t.schema.field(r.qid).type) for t, r in zip(tables, self._roles, strict=True) if r.qid
        }
        self._as_text = len(kinds) > 1  # query ids: an id may be a number in one table and text in another
        if self._roles[0].categories:
            levels = self._levels(self._roles[0].categories)
            self._roles = [roles.with_levels(levels) for roles in self._roles]
            if not self._roles[0].features:
                raise self.error(f"{self.places[0]} has no feature column.")
        first = self._roles[0]
        self.derived = first.derived
        self.booleans = booleans_of(tables, first)
        self._keep(like)
        also = reading.also if like is None else ()
        self.also = [d for d in also if d.level is None and d.source in first.features]
        self.dtype = natural_float(tables, self._roles) if reading.dtype is None else float_type(reading.dtype)
        self.feature_names = reading.names
        self._known = False
        if first.packed is None:
            self.feature_names = first.features if self.feature_names is None else self.feature_names
            self._has_width(len(first.features))

    def _roles_of_all(self, wanted: Sequence[str] | None, *, others: bool) -> list[Roles]:
        if wanted is None and self._reading.derived is None:
            self._check_ignored()
        all_roles: list[Roles] = []
        for table in self._tables:
            roles = roles_of(table, self._reading, wanted=wanted, others=others)
            all_roles.append(roles)
            first = all_roles[0]
            if (roles.packed is None) != (first.packed is None):
                raise DataError(
                    f"{table.place} contains its features as {'columns' if first.packed else 'a list'}, but "
                    f"{self.places[0]} as {'a list' if first.packed else 'columns'}."
                )
            odd = set(roles.categories).symmetric_difference(first.categories)
            if odd:
                raise DataError(
                    f"{table.place}: column {brief(min(odd))} is text here or in {self.places[0]}, and numbers in the "
                    "other; convert one of them."
                )
            wanted = None if first.packed else first.features  # lists have no feature names to match
        return all_roles

    def _check_ignored(self) -> None:
        """Refuse a column that is to be left out and that no table has: a misspelt name would leave the column in."""
        names = list(dict.fromkeys(name for table in self._tables for name in table.schema.names))
        unknown = next((name for name in self._reading.ignore_columns if name not in names), None)
        if unknown is not None:
            raise DataError(
                f"{self.places[0]} has no column {brief(unknown)}, which {option('ignore_columns')} names; "
                f"{no_such(unknown, names, 'column')}"
            )

    def _keep(self, like: RankingDataset | None) -> None:
        """Determine the columns that are kept as they are: those of `like`, or else the categories, and columns that
        the reading names and that are no features. A column that some table lacks is not kept."""
        first = self._roles[0]
        schema = self._tables[0].schema
        if like is None:
            names = first.levelled if self._reading.derived is None else set()
            free = {*schema.names}.difference(first.features, {first.label, first.qid, first.weight})
            names |= {name for name in free if may_be_kept(schema, name, self._reading.kept)}
            if self._reading.judge_column is not None:
                names |= {str(first.label), self._reading.judge_column}
            kept_columns: Mapping[str, bool] = {name: is_number(schema.field(name).type) for name in sorted(names)}
        else:
            of_judge = (self._reading.judge_column, first.label)
            kept_columns = {name: number for name, number in like.kept_columns.items() if name not in of_judge}
        self.kept_columns = {
            n: number for n, number in kept_columns.items() if all(n in t.schema.names for t in self._tables)
        }
        texts = {name for name, numeric in self.kept_columns.items() if not numeric}
        self._roles = [r._replace(kept_columns=self.kept_columns, texts=r.texts | texts) for r in self._roles]

    def _levels(self, categories: Sequence[str]) -> dict[str, list[Derived]]:
        """The features of each category, learned from all rows; none for an id or a title, about which this warns.

        Raises
            TableError   text that consists of numbers for the most part
        """
        coded: dict[str, list[pa.Array]] = {name: [] for name in categories}
        queries = []
        titles = []
        n = 0
        for table, roles, side in zip(self._tables, self._roles, self._queries, strict=True):
            columns = [*categories, *([roles.qid] if roles.qid else [])]
            at = 0
            for records in table.record_batches(columns, BATCH_ROWS, roles.texts):
                for name in coded:
                    coded[name].append(self._texts(table, records, name))
                end = at + records.num_rows
                if roles.qid is not None:
                    queries.append(table.ids(records.column(roles.qid), roles.qid, at))
                else:
                    queries.append(np.zeros(end - at) if side is None else side.ids(at, end, table.place))
                at = end
                before = n
                n += records.num_rows
                if before <= ROWS < n:  # do not collect the text of long columns
                    titles += self._titles(coded)
        if n == 0:
            raise self.error(no_rows(self.places[0]))
        titles += self._titles(coded) if n <= ROWS else []
        ids = [part.astype("U") for part in queries] if self._as_text else queries
        query = query_codes(concatenated_ids(ids))
        levels_of = {
            name: frequent_levels(name, pa.chunked_array(chunks), query, is_number=self._is_number(name))
            for name, chunks in coded.items()
        }
        for d in self._reading.also:
            if d.source in levels_of and d.level is not None and d not in levels_of[d.source]:
                levels_of[d.source].append(d)
        feature_names = set(self._roles[0].features)
        twice = next((d for features in levels_of.values() for d in features if d.name in feature_names), None)
        if twice is not None:
            raise DataError(already_called(self.places[0], twice))
        rare = [name for name, levels in levels_of.items() if not levels]
        reasons = {"more than half of its values differ": titles, "no frequent value differs within a query": rare}
        for why, names in reasons.items():
            if names:
                warn_caller(f"{self.places[0]}: left out, because {why}: {listed(names)}.")
        return {name: [] for name in titles} | levels_of

    def _is_number(self, name: str) -> bool:
        kind = self._tables[0].schema.field(name).type
        return is_number(kind.value_type if pa.types.is_dictionary(kind) else kind)

    def _texts(self, table: InputTable, records: pa.RecordBatch, name: str) -> pa.Array:
        try:
            return texts_of(records.column(name))
        except pa.ArrowException as error:
            raise DataError(
                f"{table.place}: column {brief(name)} cannot be a category, because not all of its values are whole "
                f"numbers or text; remove it from {option('categories')}."
            ) from error

    def _titles(self, coded: dict[str, list[pa.Array]]) -> list[str]:
        """Remove ids and titles from the columns; return their names."""
        schema = self._tables[0].schema
        titles = []
        asked = self._reading.categories
        for name in [n for n in coded if n not in asked and may_be_category(schema.field(n).type)]:
            column = pa.chunked_array(coded[name]).unify_dictionaries()
            texts = [text for text in column.chunk(0).dictionary.to_pylist() if text]
            if pa.types.is_dictionary(schema.field(name).type) or not texts:
                continue
            if mostly_numbers(texts):
                raise self._tables[0].unusable(
                    f"column {brief(name)} is not numeric, but half or more of its values are numbers; correct it, "
                    f"leave it out with {option('ignore_columns', [name])}, or declare it with "
                    f"{option('categories', [name])}"
                )
            if len(texts) > MAX_DISTINCT * sum(map(len, column.chunks)):
                titles.append(name)
                del coded[name]
        return titles

    def _has_width(self, n_features: int) -> None:
        if self.feature_names is not None:
            self.feature_names = checked_names(self.feature_names, n_features)
        self.n_features = n_features
        self._known = True

    def look(self) -> None:
        if not self._known:
            next(self.pieces())

    def pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        for f in range(start.file, len(self._tables)):
            yield from self._of_table(f, start.block if f == start.file else 0)

    def _of_table(self, f: int, skip: int) -> Iterator[RowBlock]:
        table = self._tables[f]
        roles = self._roles[f]
        queries = self._queries[f]
        at = 0
        for b, batch in enumerate(table.batches(roles, self.dtype)):
            n, width = batch.X.shape
            if width == 0 and roles.packed is not None:
                raise table.error(f"{table.place} has lists of 0 features.")
            if not self._known:
                self._has_width(width)
            if width != self.n_features:
                raise table.error(
                    f"{table.place} has lists of {width} features, but {self.places[0]} has lists of {self.n_features} "
                    "features."
                )
            if b >= skip and (table.n_rows is None or at + n <= table.n_rows):  # surplus rows are refused below
                yield self._piece(batch, f, b, at)
            at += n
        if queries is not None:
            queries.check(at, table.place)
        if table.n_rows not in (None, at):
            raise table.error(
                f"{table.place}: contains {at} rows, but its metadata state {table.n_rows}; write it again."
            )
        if at == 0:
            raise table.error(no_rows(table.place))

    def _piece(
        self,
        batch: RowBlock,
        f: int,
        b: int,
        at: int,
    ) -> RowBlock:
        table = self._tables[f]
        n = len(batch.X)
        bad = is_missing(batch.X) if any_missing(batch.X) else None
        if bad is not None and self.policy is None:
            row, j = (int(i) for i in np.argwhere(bad)[0])
            roles = self._roles[f]
            column = roles.features[j] if roles.features else f"{roles.packed}[{j}]"
            shown_value = "null or NaN" if np.isnan(batch.X[row, j]) else str(batch.X[row, j])
            raise table.error(missing_value(f"{table.place}: row {at + row}, column {brief(column)}", shown_value))
        if bad is not None:
            batch.X[bad] = np.nan
        without = batch.label == UNJUDGED
        if self.unjudged == "error" and without.any():
            raise table.error(unjudged_label(f"{table.place}: row {at + int(np.argmax(without))}"))
        queries = self._queries[f]
        qid = batch.qid if queries is None else queries.ids(at, at + n, table.place)
        return batch._replace(qid=qid.astype("U") if self._as_text else qid, where=positions(f, b, n))


def natural_float(tables: Sequence[InputTable], roles: Sequence[Roles]) -> np.dtype:
    """The dtype of the features: float32 if every column is, otherwise float64."""
    kinds = {
        t.schema.field(c).type for t, r in zip(tables, roles, strict=True) for c in r.features if c not in r.derived
    }
    kinds |= {t.schema.field(r.packed).type.value_type for t, r in zip(tables, roles, strict=True) if r.packed}
    return np.dtype(np.float32 if kinds <= {pa.float32(), pa.float16()} else np.float64)


def booleans_of(tables: Sequence[InputTable], roles: Roles) -> list[str]:
    """The features that are boolean columns of every table."""
    names = [name for name in roles.features if name not in roles.derived]
    return [name for name in names if all(pa.types.is_boolean(t.schema.field(name).type) for t in tables)]
