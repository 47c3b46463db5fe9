"""Convert files, arrays and data frames to ranking data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.alignment import aligned
from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import fill_matrix, missing_cells
from sparserank.data.grouping import as_query_ids, query_codes
from sparserank.data.joining import refuse_other_filling
from sparserank.data.kinds import is_dask, kind_of
from sparserank.data.letor.side_files import WEIGHTS, beside
from sparserank.data.matrices import with_nan
from sparserank.data.missing import MissingPolicy, taught
from sparserank.data.read import open_stream, read_weighted
from sparserank.data.reading import UNJUDGED, Reading, reading_from, with_options
from sparserank.data.store.temporary import in_temporary_store
from sparserank.data.streams import Stream
from sparserank.data.tables.batches import document_texts, is_frame, table_of
from sparserank.data.tables.dask_sources import ArrayRows, Partitions
from sparserank.data.tables.frames import names_of, without_qid
from sparserank.data.tables.reader import TableRows, read_tables
from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataError, DataWarning, ParameterError
from sparserank.options.kinds import Given
from sparserank.quoting import brief

COLUMNS = ("label", "qid", "docid", "doc_weight")  # that are said beside a Reading
FORMS = (
    "a path, a list of paths, a RankingDataset, a data frame, a triple (X, y, qid), or (only the first data set) X "
    "with label= and qid="
)


def as_datasets(
    sources: Mapping[str, Any],
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    doc_weight: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    to_store: Sequence[str] = (),
) -> dict[str, RankingDataset | None]:
    """Data sets by name; None stays None. The first one determines the features, their order, and the replacements for
    missing values.

    Features of the others are matched by name if both have names, and additional features are left out; without names,
    the number of features must be the same.

    Parameters
        sources   {name: a path or paths (ranking text, Parquet, CSV, Arrow), a RankingDataset, a frame (pandas, polars,
                  Arrow, or any object with an Arrow stream), or (X, y, qid)}; the first may also be an array X, with
                  `label` and `qid` the values of its rows; frames and arrays X may be Dask collections
        label, qid   names of a table's columns (default 'label' and 'qid')
        docid     name of a table's column of document ids (default a text column 'docno', 'docid' or 'doc_id', if there
                  is one), or, with an array X, the ids of its rows
        doc_weight   name of a table's column, if the table has it; otherwise the weights of the first source's rows, as
                  an array or as a file with one per line
        reading   a Reading or some of its fields, for files and frames; its field missing also applies to arrays
        to_store  names of sources that a cluster will read: files and Dask collections go to a temporary store, block
                  by block
    Raises
        DataError   a source of another kind, an unknown column, features that differ between the sources
    """
    columns = {"label": label, "qid": qid, "docid": docid, "doc_weight": doc_weight}
    return _read(sources, columns, reading, to_store, None)


def read_weighted_sources(
    sources: Mapping[str, Any], options: Mapping[str, Any], *, to_store: Sequence[str] = ()
) -> tuple[dict[str, RankingDataset | None], dict[str, np.ndarray]]:
    """(the result of `read_sources`, {name of a source: (n_queries,) the weights of its queries beside its files})."""
    query_weights: dict[str, np.ndarray] = {}
    columns = {name: options.get(name) for name in COLUMNS}
    return _read(sources, columns, reading_from(options), to_store, query_weights), query_weights


def _read(
    sources: Mapping[str, Any],
    names: Mapping[str, Any],
    reading: Reading | Mapping[str, Any] | None,
    to_store: Sequence[str],
    query_weights: dict[str, np.ndarray] | None,
) -> dict[str, RankingDataset | None]:
    """The data sets. Weights of queries beside files go into `query_weights`; None: they become those of documents."""
    label, qid, docid, doc_weight = (names[name] for name in COLUMNS)
    out: dict[str, RankingDataset | None] = {}
    first: RankingDataset | None = None
    named = {name: given for name, given in names.items() if isinstance(given, str)}
    options = reading if isinstance(reading, Reading) else with_options(Reading(), reading or {})
    for name, source in sources.items():
        if source is None and out:
            out[name] = None
            continue
        if source is None or (isinstance(source, str) and not source):
            raise DataError(f"{name} must be {FORMS}; got {brief(source)}.")
        own = options if first is None else _learned_from(options, first)
        in_memory = first is None and doc_weight is not None and "doc_weight" not in _columns(named)
        rows = _as_stream(name, source, own, names, first) if name in to_store and not in_memory else None
        if rows is not None:
            present = in_temporary_store(rows, MissingPolicy.parse(own.missing))
        elif is_path(source):
            present, of_queries = read_weighted(source, _of_files(own, named), like=first)
            if of_queries and query_weights is not None and present.doc_weight is not None:
                query_weights[name] = present.doc_weight[present.query_ptr[:-1]]
                present = replace(present, doc_weight=None)
        elif isinstance(source, RankingDataset):
            present = source
        elif is_frame(source) and not (first is None and _is_values(label)):
            present = _from_frame(name, source, own, names, first)
        elif isinstance(source, tuple) and len(source) == 3:
            present = _from_arrays(*source, own)
        elif first is None and label is not None:
            present = _from_arrays(source, label, qid, own, docid)
        else:
            raise DataError(f"{name} must be {FORMS}; got {brief(type(source).__name__)}.")
        unjudged = int((present.relevance == UNJUDGED).sum())
        if unjudged and not is_path(source) and not isinstance(source, RankingDataset):
            raise DataError(
                f"{name} contains {unjudged} labels of -1, which mean unjudged; drop these rows, or label them 0."
            )
        if first is None:
            if doc_weight is not None and (in_memory or present.doc_weight is None):
                present = _with_weights(present, doc_weight)
            first = present
        else:
            present = aligned(present, first, name)
            refuse_other_filling([first, present])
        out[name] = present
    return out


def read_sources(
    sources: Mapping[str, Any], options: Mapping[str, Any], *, to_store: Sequence[str] = ()
) -> dict[str, RankingDataset | None]:
    """Call `as_datasets` with the options of a job that has no use for weights beside files, and warn of these."""
    columns = {name: options.get(name) for name in COLUMNS}
    parts = as_datasets(sources, **columns, reading=reading_from(options), to_store=to_store)
    for name, source in sources.items():
        files, part = weight_files(source), parts[name]
        if files and part is not None and options.get("doc_weight") is None:
            warnings.warn(f"{', '.join(map(str, files))}: weights are not used here.", DataWarning, stacklevel=4)
            parts[name] = replace(part, doc_weight=None)
    return parts


def weight_files(source: Any) -> list[Path]:
    """The files of weights beside the files of a source."""
    paths = source if isinstance(source, list) else [source]
    return [file for path in paths if is_path(path) for file in beside(path, WEIGHTS)]


def _learned_from(options: Reading, first: RankingDataset) -> Reading:
    """The options for later data sets, from which nothing is learned: replacements are those of the first."""
    policy = MissingPolicy.parse(options.missing)
    return replace(options, missing=taught(policy, first.fill_values, first.feature_names or (), options.index_base))


def _from_arrays(X: Any, y: Any, qid: Any, options: Reading, docid: Any = None) -> RankingDataset:
    """X may be a frame, whose column qid is no feature."""
    policy = MissingPolicy.parse(options.missing)
    docid = None if docid is None else document_texts(docid)
    if policy is None or policy.keeps:
        return RankingDataset(X, y, qid, docid, keep_missing=policy is not None)
    X, qid = without_qid(X, qid)
    names, numbers = names_of(X), with_nan(X)
    ids = np.zeros(numbers.shape[0], dtype=np.int64) if qid is None else as_query_ids(qid, numbers.shape[0])
    filled, filling = fill_matrix(policy, numbers, query_codes(ids), names, index_base=options.index_base)
    cells = missing_cells(numbers)
    return RankingDataset(filled, y, qid, docid, feature_names=names, fill_values=filling.values, filled=cells)


def _is_values(label: Any) -> bool:
    """Whether labels are values and not the name of a column."""
    return label is not None and not isinstance(label, str)


def is_path(source: Any) -> bool:
    """Whether a source is a path or a list of paths."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, list) and len(source) > 0 and all(isinstance(s, str | os.PathLike) for s in source)


def _of_files(options: Reading, named: Mapping[str, str]) -> Reading:
    """The options with the names of columns that were passed separately."""
    return with_options(options, _columns(named))


def _columns(named: Mapping[str, str]) -> dict[str, str]:
    """Those of the names that can be columns: doc_weight may be a file of weights."""
    is_file = "doc_weight" in named and os.path.exists(named["doc_weight"])
    return {name: given for name, given in named.items() if name != "doc_weight" or not is_file}


def _with_weights(data: RankingDataset, doc_weight: Any) -> RankingDataset:
    if isinstance(doc_weight, str | os.PathLike):
        if problem := Given("str | os.PathLike").problem(doc_weight):
            raise ParameterError("doc_weight", problem)
        doc_weight = read_numbers(doc_weight, "weight", "a number >= 0", lambda v: v >= 0)
    if np.shape(doc_weight) != (data.n_docs,):
        raise ParameterError(
            "doc_weight",
            f"must contain one weight per row of the training data ({data.n_docs}); got {np.size(doc_weight)}.",
        )
    return replace(data, doc_weight=data.from_input_order(np.asarray(doc_weight)))


def _as_stream(
    name: str, source: Any, options: Reading, names: Mapping[str, Any], first: RankingDataset | None
) -> Stream | None:
    """The rows of a source that need not be in memory as a whole: files other than stores, Dask collections;
    None for other sources."""
    named = {parameter: given for parameter, given in names.items() if isinstance(given, str)}
    if is_path(source):
        paths = [source] if isinstance(source, str | os.PathLike) else source
        if all(kind_of(p) == "store" for p in paths):
            return None
        return open_stream(paths, _of_files(options, named), natural=True, like=first)
    if isinstance(source, tuple) and len(source) == 3 and is_dask(source[0]):
        return ArrayRows(*source, fills=options.missing is not None)
    if not is_dask(source):
        return None
    if not is_frame(source):
        if names["docid"] is not None:
            raise ParameterError(
                "docid", "cannot be combined with a Dask array; use a Dask data frame and the column's name."
            )
        return ArrayRows(source, names["label"], names["qid"], fills=options.missing is not None)
    rows = TableRows([Partitions(name, source)], with_options(options, named), like=first)
    rows.look()
    return rows


def _from_frame(
    name: str, frame: Any, options: Reading, names: Mapping[str, Any], first: RankingDataset | None
) -> RankingDataset:
    table = Partitions(name, frame) if is_dask(frame) else table_of(name, frame)
    columns: dict[str, str] = {}
    for parameter in ("label", "qid", "docid"):
        given = names[parameter]
        if given is not None and not isinstance(given, str):
            raise ParameterError(parameter, "must name a column of the data frame.")
        if given is not None:
            columns[parameter] = given
    weight = names["doc_weight"]
    if weight is not None:
        if isinstance(weight, str) and weight in table.schema.names:
            columns["doc_weight"] = weight
        elif first is None:
            raise ParameterError("doc_weight", f"must name a column of the data frame; got {brief(weight)}.")
    return read_tables([table], with_options(options, columns), like=first)
