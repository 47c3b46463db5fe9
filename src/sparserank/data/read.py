"""Read ranking data from files, stores, frames and arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sparserank.data.collect import collect
from sparserank.data.combine import aligned, refuse_other_filling
from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import fill_matrix, missing_cells
from sparserank.data.letor.side_files import WEIGHTS, side_paths
from sparserank.data.matrices import with_nan
from sparserank.data.query_ids import as_query_ids, query_codes
from sparserank.data.read_files import is_dask, kind_of, open_stream
from sparserank.data.reading import UNJUDGED, Reading, policy_of, with_options
from sparserank.data.run_reader import asked_in, judgments_of
from sparserank.data.store.opening import open_store
from sparserank.data.store.temporary import DatasetRows, in_temporary_store
from sparserank.data.streams import Stream
from sparserank.data.tables.batches import document_texts, is_frame, table_of
from sparserank.data.tables.frames import names_of, without_qid
from sparserank.data.tables.reader import TableRows
from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.files import StrPath
from sparserank.options.arguments import check_arguments
from sparserank.options.kinds import CheckedLater
from sparserank.options.reading import ReadOptions
from sparserank.text import brief

COLUMNS = ("label", "qid", "docid", "doc_weight")  # options that may be columns, or values for the rows of an array
ACCEPTED = (
    "a path, a list of paths, a RankingDataset, a data frame, a triple (X, y, qid), or (only the first data set) X "
    "with arrays as label= and qid="
)


def read(source: Any, *, verify: bool = False, **options: Unpack[ReadOptions]) -> RankingDataset:
    r"""Read one data set.

    Parameters
    ----------
    source : path, list of paths, frame, (X, y, qid), array_like, or RankingDataset
        Files of one kind, recognised by content: ranking text (LETOR, SVMlight), Parquet, CSV, Arrow, a folder of
        Parquet files, a feature log of Solr or Elasticsearch, or a store that `convert` wrote, whose features stay on
        disk; gzip too. A frame: pandas, polars, Arrow or any other object with an Arrow stream. Arrays: a triple, or X
        with `label` and `qid`.
    verify : bool, default False
        Read every file of a store and compare its checksum now.
    **options
        `ReadOptions`:

        label, qid : str or array_like, optional
            Columns of a table, by default 'label' and 'qid'; or the values of the rows of an array X.
        docid : str or array_like, optional
            Column of document ids of any type, by default a text column 'docno', 'docid' or 'doc_id'; or the ids of the
            rows of an array X. Ranking text has them in comments, `# docid = d1`.
        doc_weight : str, path or array_like, optional
            Column of document weights; or the weights of all rows, as an array or a file with one per line. Default:
            the side file of ranking text, `train.txt.weight`, if there is one.
        feature_columns : sequence of str, optional
            Columns of a table that are features, in this order. Default: every other column.
        ignore_columns : sequence of str, optional
            Columns of a table that are left out.
        missing : str, float or mapping, optional
            Replacement for missing values (null; in text also NULL, nan, inf and 1.797e308): None or 'error'
            (rejected), 'zero', 'min' or 'median' (of the known values of the feature in these rows), 'query-min', a
            number, a mapping such as {11: 'zero', 'bm25': 5, '*': 'median'}, or its text form
            '11=zero;bm25=5;*=median'.
        unjudged : {'error', 'drop', 'zero'}, default 'error'
            Treatment of a label of -1 in files and frames: reject it, drop the row, or use 0.
        index_base : {1, 0}, default 1
            Index of the first feature in ranking text.
        n_features : int, optional
            Number of features in ranking text; larger indices are an error. Default: the largest index in the files.
        feature_names : path or sequence of str, optional
            Names of the features in ranking text, or a file with one name per line.
        sparse : bool, optional
            Features of ranking text in CSR (True) or dense (False). Default: whichever is smaller.
        dtype : dtype, optional
            float64 or float32. Default: float64 for text, otherwise as in the source.
        n_threads : int, optional
            Number of threads that parse text. Default: the number of cores, at most 8.

    Returns
    -------
    RankingDataset
        The documents, grouped by query. Features that a row of ranking text does not name are 0. `fill_values` contains
        the replacements for missing values.

    Raises
    ------
    DataFormatError
        A malformed file; the message names the file and line, or the row and column, what was expected and what to do.
    DataError
        The source is of another kind, or an option does not fit it.

    Warns
    -----
    DataWarning
        The rows of a query in ranking text are not contiguous.

    Notes
    -----
    Ranking text is a superset of the SVMlight ranking format: query ids may be strings, indices may be in any order,
    and tabs and CRLF are accepted.

    Files of a store that changed since their checksum was last verified are read completely and compared first. This
    detects damage, but not manipulation: use only your own stores. Nothing outside the folder of a store is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> file = Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = file.write_text("2 qid:10 1:0.5 3:7 # docid = d1\n0 qid:10 2:1 # docid = d2\n")
    >>> data = sr.read(file)
    >>> data.X.tolist(), data.docid.tolist()
    ([[0.5, 0.0, 7.0], [0.0, 1.0, 0.0]], ['d1', 'd2'])

    >>> import pandas as pd
    >>> log = pd.DataFrame({"query": [1, 1, 2, 2], "grade": [1, 0, 0, 1], "bm25": [7.0, 3.0, 2.0, 9.0]})
    >>> sr.read(log, label="grade", qid="query").feature_names
    ('bm25',)
    """
    check_arguments(read, {"verify": verify})
    columns: dict[str, Any] = {name: options.get(name) for name in COLUMNS}
    reading = with_options(Reading(), {name: value for name, value in options.items() if name not in COLUMNS})
    for path in paths_of(source) if verify else []:
        verify_store(path)
    name = "the frame" if is_frame(source) else "source"
    data = as_datasets({name: source}, **columns, reading=reading)[name]
    assert data is not None
    return data


def verify_store(path: Any) -> None:
    """Read every file of a store and compare its checksum.

    Raises
        ParameterError    it is not a store
        DataFormatError   names the file that changed
    """
    if not is_path(path) or kind_of(path) != "store":
        raise ParameterError("verify", f"applies only to stores; {brief(path)} is not a store.")
    open_store(path, verify=True)


def as_datasets(
    sources: Mapping[str, Any],
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    doc_weight: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    to_store: Sequence[str] = (),
    query_weights: dict[str, np.ndarray] | None = None,
) -> dict[str, RankingDataset | None]:
    """Data sets by name; None stays None. The first one determines the features, their order, and the replacements for
    missing values.

    Features of the others are matched by name if both have names, and additional features are left out; without names,
    the number of features must be the same.

    Parameters
        sources   {name: a path or paths (ranking text, Parquet, CSV, Arrow), a RankingDataset, a frame (pandas, polars,
                  Arrow, or any object with an Arrow stream), or (X, y, qid)}; the first may also be an array X, with
                  `label` and `qid` the values of its rows
        label, qid   names of a table's columns (default 'label' and 'qid')
        docid     name of a table's column of document ids (default a text column 'docno', 'docid' or 'doc_id', if there
                  is one), or, with an array X, the ids of its rows
        doc_weight   name of a table's column, if the table has it; otherwise the weights of the first source's rows, as
                  an array or as a file with one per line
        reading   a Reading or some of its fields, for files and frames; its field missing also applies to arrays
        to_store  names of sources that a cluster will read: files go to a temporary store, block by block
        query_weights   receives the query weights in side files, by source name; None: they become document weights
    Raises
        DataError   a source of another kind, an unknown column, features that differ between the sources
    """
    names = {"label": label, "qid": qid, "docid": docid, "doc_weight": doc_weight}
    out: dict[str, RankingDataset | None] = {}
    first: RankingDataset | None = None
    named = {name: value for name, value in names.items() if isinstance(value, str)}
    if os.path.exists(named.get("doc_weight", "")):  # a file of weights
        del named["doc_weight"]
    options = reading if isinstance(reading, Reading) else with_options(Reading(), reading or {})
    options = with_options(options, named)
    if options.qrels is not None:
        options = replace(options, qrels=judgments_of(options.qrels, asked_in(vars(options))))
    for name, source in sources.items():
        if source is None and out:
            out[name] = None
            continue
        if source is None or (isinstance(source, str) and not source):
            raise DataError(f"{name} must be {ACCEPTED}; got {brief(source)}.")
        in_memory = first is None and doc_weight is not None and "doc_weight" not in named
        in_blocks = name in to_store and not in_memory and is_path(source)
        # A store contains no features that are made from categories, and no flags.
        source_options = replace(options, derived={}, flags=False) if in_blocks else options
        stream = _as_stream(name, source, source_options, names, first)
        present = in_temporary_store(stream) if in_blocks else collect(stream)
        if query_weights is not None and not in_blocks and present.doc_weight is not None and stream.weighs_queries:
            query_weights[name] = present.doc_weight[present.query_ptr[:-1]]
            present = replace(present, doc_weight=None)
        if first is None:
            if doc_weight is not None and (in_memory or present.doc_weight is None):
                present = _with_weights(present, doc_weight)
            first = present
        else:
            present = aligned(present, first, name)
            refuse_other_filling([first, present])
        out[name] = present
    return out


def read_weighted_sources(
    sources: Mapping[str, Any], options: Mapping[str, Any], *, to_store: Sequence[str] = (), **fields: Any
) -> tuple[dict[str, RankingDataset | None], dict[str, np.ndarray]]:
    """(the data sets, {source name: (n_queries,) query weights in its side file}); as `read_sources`."""
    query_weights: dict[str, np.ndarray] = {}
    datasets = as_datasets(sources, **_arguments(options, fields), to_store=to_store, query_weights=query_weights)
    return datasets, query_weights


def read_sources(
    sources: Mapping[str, Any], options: Mapping[str, Any], **fields: Any
) -> dict[str, RankingDataset | None]:
    """Call `as_datasets` with the options of a job that does not use side files of weights; warn if there are some.
    fields: of Reading, in place of those among the options."""
    parts = as_datasets(sources, **_arguments(options, fields))
    for name, source in sources.items():
        files = weight_files(source)
        part = parts[name]
        if files and part is not None and options.get("doc_weight") is None:
            warn_caller(f"{', '.join(map(str, files))}: weights are not used here.")
            parts[name] = replace(part, doc_weight=None)
    return parts


def _arguments(options: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a job as arguments of `as_datasets`."""
    names = set(Reading.__dataclass_fields__).difference(COLUMNS)
    asked = {name: value for name, value in options.items() if name in names}
    reading = Reading(**{"flags": True, **asked, **fields})
    return {**{name: options.get(name) for name in COLUMNS}, "reading": reading}


def weight_files(source: Any) -> list[Path]:
    """The side files of weights of a source's data files."""
    return [file for path in paths_of(source) if is_path(path) for file in side_paths(path, WEIGHTS)]


def _of_arrays(
    name: str,
    X: Any,
    y: Any,
    qid: Any,
    options: Reading,
    like: RankingDataset | None,
    docid: Any = None,
) -> DatasetRows:
    """The rows of arrays; X may be a frame, whose column qid is not a feature."""
    policy, known = policy_of(options, like)
    docid = None if docid is None else document_texts(docid)
    fields: dict[str, Any] = {"keep_missing": policy is not None}
    if policy is not None and not policy.keeps:
        X, qid = without_qid(X, qid)
        names = names_of(X)
        numbers = with_nan(X)
        ids = np.zeros(numbers.shape[0], dtype=np.int64) if qid is None else as_query_ids(qid, numbers.shape[0])
        X, filling = fill_matrix(policy, numbers, query_codes(ids), names, index_base=options.index_base, known=known)
        fields = {"feature_names": names, "fill_values": filling.values, "filled": missing_cells(numbers)}
    data = RankingDataset(X, y, qid, docid, **fields)
    unjudged = int((data.relevance == UNJUDGED).sum())
    if unjudged:
        raise DataError(
            f"{name} contains {unjudged} labels of -1, which mean unjudged; drop these rows, or label them 0."
        )
    return DatasetRows(data)


def is_path(source: Any) -> bool:
    """Whether a source is a path or a list of paths."""
    if isinstance(source, StrPath):
        return True
    several = isinstance(source, list | tuple) and len(source) > 0
    return several and all(isinstance(path, StrPath) for path in source)


def paths_of(source: Any) -> list[Any]:
    """The paths of a source; [source] if it is something else."""
    return list(source) if isinstance(source, list | tuple) else [source]


def _with_weights(data: RankingDataset, doc_weight: Any) -> RankingDataset:
    if isinstance(doc_weight, StrPath):
        if problem := CheckedLater(path=True).problem(doc_weight):
            raise ParameterError("doc_weight", problem)
        doc_weight = read_numbers(doc_weight, "weight", "a number >= 0", lambda v: v >= 0)
    if np.shape(doc_weight) != (data.n_docs,):
        raise ParameterError(
            "doc_weight",
            f"must contain one weight per row of the training data ({data.n_docs}); got {np.size(doc_weight)}.",
        )
    return replace(data, doc_weight=data.from_input_order(np.asarray(doc_weight)))


def _as_stream(
    name: str,
    source: Any,
    options: Reading,
    names: Mapping[str, Any],
    first: RankingDataset | None,
) -> Stream:
    """The rows of any source."""
    label = names["label"]
    if is_path(source):
        return open_stream(paths_of(source), options, natural=True, like=first)
    if isinstance(source, RankingDataset):
        return DatasetRows(source)
    if isinstance(source, tuple) and len(source) == 3:
        return _of_arrays(name, *source, options, first)
    if first is None and not isinstance(label, str | None):
        return _of_arrays(
            name,
            source,
            label,
            names["qid"],
            options,
            None,
            names["docid"],
        )
    if not is_frame(source):
        raise DataError(f"{name} must be {ACCEPTED}; got {brief(type(source).__name__)}.")
    if is_dask(source):
        raise DataError(f"{name} is a Dask data frame; write it with to_parquet and give the folder.")
    table = table_of(name, source)
    columns = {parameter: names[parameter] for parameter in ("label", "qid", "docid")}
    odd = next((p for p, value in columns.items() if not isinstance(value, str | None)), None)
    if odd is not None:
        raise ParameterError(odd, "must name a column of the data frame.")
    weight = names["doc_weight"]
    if weight is not None:
        is_column = isinstance(weight, str) and weight in table.schema.names
        if first is None and not is_column:
            raise ParameterError("doc_weight", f"must name a column of the data frame; got {brief(weight)}.")
        options = replace(options, doc_weight=weight if is_column else None)
    return TableRows([table], options, like=first)
