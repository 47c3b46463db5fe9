"""Tables as one data set: rows collected, what cannot be refused or filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import CHOICES, learn_filling
from sparserank.data.grouping import plain_ids, query_codes
from sparserank.data.letor.reader import UNJUDGED, float_type
from sparserank.data.missing import MissingPolicy, holds_missing, is_missing
from sparserank.data.reading import Reading
from sparserank.data.tables.batches import Batch, Table
from sparserank.data.tables.refusal import telling_all
from sparserank.data.tables.roles import Roles, roles_of
from sparserank.errors import DataError, TableError
from sparserank.quoting import brief


def read_tables(tables: Sequence[Table], reading: Reading, *, like: RankingDataset | None = None) -> RankingDataset:
    """Tables as one data set, below each other; the features of `like`, else of the first, by name,
    decide those of the others."""
    wanted = None if like is None else list(like.feature_names or ())
    with telling_all(tables, reading, wanted):
        return _read_tables(tables, reading, wanted, others=like is not None)


def _read_tables(
    tables: Sequence[Table], reading: Reading, wanted: list[str] | None, *, others: bool
) -> RankingDataset:
    roles: list[Roles] = []
    for table in tables:
        unnamed = wanted if not roles or roles[0].packed is None else None
        roles.append(
            roles_of(
                table,
                reading.columns,
                wanted=unnamed,
                others=others,
                labelled=reading.labelled,
                grouped=reading.grouped,
            )
        )
        if (roles[-1].packed is None) != (roles[0].packed is None):
            raise DataError(
                f"{table.place} holds features as {'columns' if roles[0].packed else 'a list'}; {tables[0].place} does "
                "not."
            )
        wanted = list(roles[0].features) if wanted is None else wanted
    chosen, policy = natural_float(tables, roles, reading.dtype), MissingPolicy.parse(reading.missing)
    X, rest = _collect(tables, roles, chosen, policy, reading.unjudged)
    label = (
        np.zeros(len(X)) if roles[0].label is None else np.concatenate([b.label for b in rest if b.label is not None])
    )
    qid = plain_ids(_joined([b.qid for b in rest if b.qid is not None]))
    docid, weight = (
        None if any(getattr(b, name) is None for b in rest) else np.concatenate([getattr(b, name) for b in rest])
        for name in ("docid", "weight")
    )
    without = label == UNJUDGED
    if without.any() and reading.unjudged == "zero":
        label = np.where(without, 0.0, label)
    elif without.any():
        if without.all():
            raise tables[0].error(
                f"{tables[0].place}: every label is -1 (unjudged); nothing is left after dropping them."
            )
        X, label, qid = X[~without], label[~without], qid[~without]
        docid, weight = (None if v is None else v[~without] for v in (docid, weight))
    names = reading.names
    if names is None and roles[0].packed is None:
        names = roles[0].features
    fill_values = None
    if policy is not None:
        filling = learn_filling(policy, [X], X.shape[1], X.dtype, names, index_base=reading.index_base)
        fill_values = filling.values
        if holds_missing(X) and not policy.keeps:
            filling.fill(X, query_codes(qid))
    if docid is not None and not docid.astype(bool).any():
        docid = None
    keep = policy is not None and policy.keeps
    return RankingDataset(X, label, qid, docid, names, doc_weight=weight, fill_values=fill_values, keep_missing=keep)


def natural_float(tables: Sequence[Table], roles: Sequence[Roles], wanted: Any) -> np.dtype:
    """What features are kept in: float32 where every one is, unless the user says."""
    if wanted is not None:
        return float_type(wanted)
    import pyarrow as pa

    kinds = {t.schema.field(c).type for t, r in zip(tables, roles, strict=True) for c in r.features}
    kinds |= {t.schema.field(r.packed).type.value_type for t, r in zip(tables, roles, strict=True) if r.packed}
    return np.dtype(np.float32 if kinds <= {pa.float32(), pa.float16()} else np.float64)


def _collect(
    tables: Sequence[Table], roles: Sequence[Roles], dtype: np.dtype, policy: MissingPolicy | None, unjudged: str
) -> tuple[np.ndarray, list[Batch]]:
    """(X of all rows, NaN where a value is missing; the batches without their X);
    refuses what the options do not allow."""
    known = sum(t.n_rows for t in tables if t.n_rows is not None) if all(t.n_rows is not None for t in tables) else None
    X: np.ndarray | None = None
    parts, rest, at, first_query = [], [], 0, 0
    for table, role in zip(tables, roles, strict=True):
        began = at
        for batch in table.batches(role, dtype):
            n = len(batch.X)
            set_missing(batch, table, role, policy, at - began)
            if unjudged == "error" and batch.label is not None:
                refuse_unjudged(batch.label, table, at - began)
            qid = batch.qid
            if qid is None and table.queries is None:
                qid = np.zeros(n, dtype=np.int64)
            elif qid is None:
                assert table.queries is not None
                qid = first_query + table.queries.ids(at - began, at - began + n, table.place)
            if known is None:
                parts.append(batch.X)
            else:
                if X is None:
                    X = np.empty((known, batch.X.shape[1]), dtype=dtype)
                _refuse_width(batch.X.shape[1], X.shape[1], table, tables[0])
                if at - began + n <= (table.n_rows or 0):  # else refused below
                    X[at : at + n] = batch.X
            rest.append(batch._replace(X=batch.X[:0], qid=qid))
            at += n
        if table.queries is not None and role.qid is None:
            table.queries.check(at - began, table.place)
            first_query += len(table.queries.ends)
        if table.n_rows not in (None, at - began):
            raise table.error(
                f"{table.place}: holds {at - began} rows, and says of itself that it holds {table.n_rows}; write it "
                "again."
            )
        if at == began:
            raise table.error(f"{table.place}: no data rows.")
    return (np.concatenate(parts) if X is None else X), rest


def _refuse_width(found: int, expected: int, table: Table, first: Table) -> None:
    if found != expected:
        raise table.error(f"{table.place} has lists of {found} features; {first.place} of {expected}.")


def _joined(ids: list[np.ndarray]) -> np.ndarray:
    """Query ids of all batches, as text where some are."""
    if len({a.dtype.kind in "iu" for a in ids}) > 1:
        ids = [a.astype(str) for a in ids]
    return np.concatenate(ids)


def set_missing(batch: Batch, table: Table, roles: Roles, policy: MissingPolicy | None, at: int) -> None:
    """What is missing becomes NaN, or is refused without a policy; the batch begins with row `at`."""
    if holds_missing(batch.X):
        bad = is_missing(batch.X)
        refuse_missing(batch.X, bad, table, roles, policy, at)
        batch.X[bad] = np.nan


def refuse_unjudged(label: np.ndarray, table: Table, at: int) -> None:
    """Refuse a label of -1; the labels begin with that of row `at`."""
    without = label == UNJUDGED
    if without.any():
        raise table.error(
            f"{table.place}: row {at + int(np.argmax(without))}: label -1 means unjudged; choose unjudged='drop' or "
            "'zero' (--unjudged drop)."
        )


def refuse_missing(
    X: np.ndarray, bad: np.ndarray, table: Table, roles: Roles, policy: MissingPolicy | None, at: int
) -> None:
    """Refuse the first of the values that are `bad`, unless a policy says what becomes of them;
    X begins with row `at`."""
    if policy is None:
        row, j = (int(i) for i in np.argwhere(bad)[0])
        column = roles.features[j] if roles.features else f"{roles.packed}[{j}]"
        what = "null or NaN" if np.isnan(X[row, j]) else str(X[row, j])
        first = f"row {at + row}, column {brief(column)}: missing or infinite feature value ({what})"
        raise TableError(f"{table.place}: {first}; {CHOICES}.", first=first)
