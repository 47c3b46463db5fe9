"""Read runs and judgments in all common forms.

Both assign a number to query-document pairs. They come as TREC text, as BEIR's TSV, as JSON {query id: {document id:
number}} (ranx, pytrec_eval, ir_measures), judgments also as JSON of the Search Relevance Workbench or of rank_eval, as
Parquet or CSV, as a data frame, as a dictionary, or as an object of ranx.
"""

from __future__ import annotations

import io
import math
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparserank.data import usual_names
from sparserank.data.read_files import NESTED, RATED, RATINGS, existing, first_line, head_of
from sparserank.data.runs import ROUNDING, Qrels, Run
from sparserank.data.tables.batches import InputTable, document_texts, is_frame, open_table, table_of
from sparserank.data.tables.roles import may_be_category
from sparserank.data.text_lines import number_in, unzipped
from sparserank.data.trec import QRELS, RUN, finite_number, judgment_entries, kind_of_line, run_entries
from sparserank.data.usual_names import DOCUMENTS, JUDGED, OF_JUDGMENTS, QUERIES, SCORES, called, plain
from sparserank.errors import DataError, DataFormatError, ParameterError, warn_caller
from sparserank.files import StrPath, read_bounded
from sparserank.number_checks import as_real
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.strict_json import MAX_BYTES, parse_json
from sparserank.text import brief

ROWS_AT_ONCE = 1 << 16
OF_RESPONSES = re.compile(rb'"(?:hits|docs)"\s*:\s*\[')  # of Elasticsearch and OpenSearch, or of Solr
TO_RUN = (
    f"write a line '{RUN}' for each hit, for example: jq -r '.qid as $q | .response.hits.hits | to_entries[] | "
    '"\\($q) Q0 \\(.value._id) \\(.key + 1) \\(.value._score) run"\''
)
# kinds of files, besides "run"
JUDGMENTS = "judgments"
EITHER = "run or judgments"
TABLE = "table"


class Asked(NamedTuple):
    """Columns that users name; None: the column with a usual name. The names are those of judgments, and a run may have
    other columns."""

    label: str | None = None
    qid: str | None = None
    docid: str | None = None


USUAL = Asked()


def asked_in(options: Mapping[str, Any]) -> Asked:
    """The columns that options name. An option may also contain values for the rows; it then names no column."""
    columns = map(options.get, Asked._fields)
    return Asked(*(name if isinstance(name, str) else None for name in columns))


@dataclass(frozen=True)
class Layout:
    """The words for runs, or for judgments, in messages and in files.

    verb      the beginning of a message, such as 'a run must be'; needs: another, such as 'a run needs'
    values    the word for the numbers: scores or grades
    numbers   usual names of the column of numbers in a table, the most telling first
    """

    verb: str
    needs: str
    values: str
    numbers: Sequence[str]
    asked: Asked = USUAL

    @property
    def of_runs(self) -> bool:
        return self.numbers is SCORES

    @property
    def json(self) -> str:
        return f"{{query id: {{document id: {self.values.removesuffix('s')}}}}}"


OF_RUNS = Layout("a run must be", "a run needs", "scores", SCORES)
MAX_USUAL_GRADE = 4  # of judgments: scales from 1 to 5 or 10 are ratings
OF_QRELS = Layout("judgments must be", "judgments need", "grades", OF_JUDGMENTS)


class Ids(dict[str, int]):
    """{id: number}; a new id gets the next number, from 0. Runs share one instance, so that each id is stored once."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


# Place in the source (line, row or entry, from 1), query id, document id, value (NaN: no grade), rank (0: none)
Entry = tuple[int, str, str, float, float]


class Entries:
    """The entries of a run or of judgments in the order of the source, in packed arrays.

    place     name of the source in messages; unit: 'line', 'row' or 'entry'
    queries   {query id: number}; entries of other queries are only counted (n_other), as are those without a grade
    """

    def __init__(
        self, place: str, unit: str, entries: Iterable[Entry], queries: Mapping[str, int], documents: Ids
    ) -> None:
        self.place = place
        self.unit = unit
        self.queries = queries
        self.documents = documents
        self._columns: list[array[Any]] = [array(kind) for kind in "qqqdd"]
        self.n_other = self.n_ungraded = 0
        for at, qid, docno, value, rank in entries:
            if math.isnan(value):
                self.n_ungraded += 1
                continue
            try:
                query = queries[qid]
            except KeyError:
                self.n_other += 1
                continue
            for column, number in zip(self._columns, (query, documents[docno], at, value, rank), strict=True):
                column.append(number)

    def columns(self) -> tuple[np.ndarray, ...]:
        """(n_entries,) each: query numbers, document numbers, places in the source, values, ranks.

        Raises
            DataFormatError   a document occurs twice for a query
        """
        query, document, at, value, rank = map(np.asarray, self._columns)
        order = np.lexsort((at, document, query))
        same = np.flatnonzero((np.diff(query[order]) == 0) & (np.diff(document[order]) == 0))
        if len(same):
            first, second = order[same[np.argmin(at[order[same + 1]])] + np.arange(2)]
            qid = list(self.queries)[query[first]]
            docno = list(self.documents)[document[first]]
            raise DataFormatError(
                f"{self.place}:{at[second]}: document {brief(docno)} of query {brief(qid)} is already on {self.unit} "
                f"{at[first]}; list each document once per query."
            )
        return query, document, at, value, rank

    def values(self) -> dict[tuple[str, str], float]:
        """{(query id, document id): value}; raises as `columns`."""
        query, document, _, value, _ = self.columns()
        qids = list(self.queries)
        docnos = list(self.documents)
        entries = zip(query.tolist(), document.tolist(), value.tolist(), strict=True)
        return {(qids[q], docnos[d]): v for q, d, v in entries}


def read_run(source: Any) -> Run:
    r"""Read a run.

    Parameters
    ----------
    source : path, frame or mapping
        A TREC run file, `qid Q0 docno rank score tag`, where the tag may be absent or followed by other text, and lines
        that begin with '#' are comments; a JSON file {query id: {document id: score}}; a Parquet or CSV file, or a
        frame, with columns qid, docno and score; or a mapping, as in JSON. gzip is recognised by content.

    Returns
    -------
    Run
        Scores by query and document, for `evaluate`.

    Raises
    ------
    DataFormatError
        A malformed line; the message names the file and line, or both lines where a document occurs twice for a query.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> run, qrels = Path(tempfile.mkdtemp(), "a.run"), Path(tempfile.mkdtemp(), "a.qrels")
    >>> _ = run.write_text("q1 Q0 d1 1 0.9 x\nq1 Q0 d2 2 0.4 x\n"), qrels.write_text("q1 0 d1 0\nq1 0 d2 1\n")
    >>> sr.evaluate(sr.read_run(run), sr.read_qrels(qrels), "map")
    {'trec:map': 0.5}
    """
    return run_of(source, "the run")


def run_of(source: Any, name: str, asked: Asked = USUAL) -> Run:
    """Like `read_run`; `name` stands in messages for a source that is not a file."""
    entries = read_entries(source, name, replace(OF_RUNS, asked=asked), Ids(), Ids(), ranks=False)
    run = Run(entries.values())
    query, _, _, score, rank = entries.columns()
    if rank.any():  # keep only the ranks of equal scores: a dictionary of all ranks would be as large as the run
        order = np.lexsort((score, query))
        rises = np.diff(score[order])
        equal = (np.diff(query[order]) == 0) & (rises <= ROUNDING * np.abs(score[order[1:]]))
        keys = list(run)
        first = np.flatnonzero(equal)
        tied = order[np.union1d(first, first + 1)]
        run.ranks = {keys[i]: float(rank[i]) for i in tied.tolist()}
    return run


def read_qrels(
    source: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
    docid: str | None = None,
) -> Qrels:
    r"""Read judgments.

    Parameters
    ----------
    source : path, frame or mapping
        A TREC file, `qid 0 docno rel`, where the second column may be absent, the first line may name the columns (as
        in BEIR's TSV files), and lines that begin with '#' are comments; where tabs separate the columns, a query id
        may contain blanks. A JSON file {query id: {document id: grade}}, of OpenSearch's Search Relevance Workbench or
        of a rank_eval request. A Parquet or CSV file, or a frame, with columns qid, docno and label, or other usual
        names (query, docid and rating of Quepid). Or a mapping, as in JSON. gzip is recognised by content.
    label, qid, docid : str, optional
        Columns of a table. Default: those with usual names.

    Returns
    -------
    Qrels
        Relevance by query and document, for `evaluate`.

    Raises
    ------
    DataFormatError
        A malformed line; the message names the file and line, or both lines where a document occurs twice for a query.
    DataError
        There are no judgments, or they cannot be read.

    Warns
    -----
    DataWarning
        Some entries of a table or of JSON have no grade, and are left out.

    Examples
    --------
    >>> import sparserank as sr
    >>> sr.read_qrels({"q1": {"d1": 0, "d2": 1}})["q1", "d2"]
    1.0
    """
    asked = Asked(label, qid, docid)
    check_arguments(read_qrels, asked._asdict())
    return judgments_of(source, asked)


def judgments_of(source: Any, asked: Asked, name: str = "the judgments") -> Qrels:
    """Like `read_qrels`; `name` stands in messages for a source that is not a file."""
    entries = read_entries(source, name, replace(OF_QRELS, asked=asked), Ids(), Ids())
    judgments = Qrels(entries.values())
    if entries.n_ungraded and judgments:
        message = f"{entries.place}: left out, because they have no grade: {entries.n_ungraded:,} documents."
        warn_caller(message)
    if not judgments:
        if entries.unit == "line":
            raise DataFormatError(f"{entries.place}: contains no judgments; expected lines '{QRELS}'.")
        raise DataError(f"{entries.place}: contains no judgments.")
    low, high = min(judgments.values()), max(judgments.values())
    if high > MAX_USUAL_GRADE:
        worst = "; a document judged worst counts above one without judgment" if low > 0 else ""
        message = (
            f"{entries.place}: grades are {low:g} to {high:g}, with which the gain of conventions with "
            f"2^grade - 1, such as default, is up to {2.0 ** min(high, 1000.0) - 1:.4g}{worst}; map them to 0 to "
            f"{MAX_USUAL_GRADE}, the worst to 0."
        )
        warn_caller(message)
    return judgments


def read_entries(
    source: Any,
    name: str,
    layout: Layout,
    queries: Mapping[str, int],
    documents: Ids,
    *,
    ranks: bool = True,
) -> Entries:
    """The entries of a run or of judgments; with ranks=False, ranks in TREC runs that are no numbers count as 0.

    Raises
        DataFormatError   a malformed line or row; the message names file and line
        DataError         the source is in none of the forms
    """
    source = tabled(source)
    if isinstance(source, StrPath):
        return Entries(str(source), *_of_file(source, layout, ranks), queries, documents)
    if is_mapping(source):
        _refuse_columns(layout)
        content = source if isinstance(source, Mapping) else source.to_dict()
        return Entries(name, "entry", _of_mapping(content, name, layout), queries, documents)
    if is_frame(source):
        return Entries(name, "row", _of_table(table_of(name, source), layout), queries, documents)
    usual = f"a frame with qid, docno and {layout.numbers[0]}"
    raise DataError(f"{name}: {layout.verb} a file, {usual}, or {layout.json}; got {brief(source)}.")


def tabled(source: Any) -> Any:
    """Named tuples, as ir_datasets and ir_measures have them, as a table; anything else unchanged."""
    rows = list(source) if isinstance(source, Iterator) else source
    if not (isinstance(rows, list) and rows and hasattr(rows[0], "_asdict")):
        return rows
    from sparserank.arrow import pa

    return pa.Table.from_pylist([row._asdict() for row in rows])


def _refuse_columns(layout: Layout) -> None:
    """Raise ParameterError for a column that is named of judgments that are no table."""
    for name, column in layout.asked._asdict().items():
        if column is not None and not layout.of_runs:
            raise ParameterError(name, "does not apply to TREC judgments and JSON, which are no tables; leave it out.")


def is_mapping(source: Any) -> bool:
    """Whether a source is a mapping, or a ranx object, which can be converted to one."""
    return isinstance(source, Mapping) or (
        hasattr(source, "to_dict") and not hasattr(source, "__array__") and not is_frame(source)
    )


def kind_of_content(path: StrPath) -> str:
    """'run', JUDGMENTS, EITHER or TABLE (which may be a run), by the content of a file; '' for other text."""
    head = head_of(Path(path)) or b""
    if NESTED.match(head):
        return EITHER
    if RATED.match(head):
        return JUDGMENTS
    first = first_line(head)
    table = _kind_of_table(Path(path), head, OF_RUNS)
    kind = kind_of_line(first)
    if table == "csv" and kind == JUDGMENTS and plain(first.split()[-1].decode("utf-8", "replace")) in SCORES:
        return EITHER  # BEIR calls grades scores
    if table == "parquet" or (table == "csv" and kind == "" and {*b",\t"} & {*first}):
        return kind_of_columns(open_table(Path(path), table).schema.names)
    return kind


def kind_of_columns(names: Sequence[str]) -> str:
    """JUDGMENTS or EITHER for the names of columns of judgments or of a run, and of nothing else; otherwise TABLE."""
    grade = called(names, JUDGED)
    score = called(names, SCORES)
    has_ids = called(names, QUERIES) is not None and called(names, DOCUMENTS) is not None
    if not has_ids or not usual_names.OF_RUNS.issuperset(map(plain, names)) or (grade is None) == (score is None):
        return TABLE
    return EITHER if grade is None else JUDGMENTS


def _of_file(path: StrPath, layout: Layout, ranks: bool) -> tuple[str, Iterable[Entry]]:
    """(the unit of places, the entries) of a file."""
    place = existing(path)
    if place.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a {'run ' if layout.of_runs else ''}file.")
    head = head_of(place) or b""
    table = _kind_of_table(place, head, layout)
    if table is not None:
        return "row", _of_table(open_table(path, table), layout)
    _refuse_columns(layout)
    if OF_RESPONSES.search(head) and not RATED.match(head):
        raise DataFormatError(f"{path}: contains responses of a search engine, not {layout.json}; {TO_RUN} {path}")
    if head.lstrip()[:1] == b"{":
        try:
            content = parse_json(_unzipped(read_bounded(place, MAX_BYTES)))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataFormatError(
                f"{path}: cannot be read ({error}); expected {layout.json}, and not lines of JSON, such as responses: "
                f"write their hits as lines '{RUN}'."
            ) from error
        return "entry", _of_mapping(content, str(path), layout)
    return "line", _of_run(path, ranks) if layout.of_runs else _of_judgments(path)


def _of_judgments(path: StrPath) -> Iterator[Entry]:
    for line, (qid, docno, grade) in judgment_entries(path):
        yield line, qid, docno, finite_number(path, line, grade), 0.0


def _of_run(path: StrPath, ranks: bool) -> Iterator[Entry]:
    for line, (qid, docno, position, value) in run_entries(path):
        rank = finite_number(path, line, position, " as rank") if ranks else np.nan_to_num(number_in(position))
        yield line, qid, docno, finite_number(path, line, value, " as score"), rank


def _kind_of_table(place: Path, head: bytes, layout: Layout) -> str | None:
    """'parquet' or 'csv' for a table, else None. Tab-separated judgments, with or without a header, are not tables,
    nor are lines of a run without a header."""
    if head[:4] == b"PAR1":
        return "parquet"
    suffixes = {".csv", ".tsv"} if layout.of_runs else {".csv"}
    is_table = suffixes.intersection(place.suffixes) and kind_of_line(first_line(head)) != "run"
    return "csv" if is_table else None


def _unzipped(content: bytes) -> bytes:
    """The bytes, decompressed if they are gzip, of at most MAX_BYTES."""
    out = bytes(unzipped(io.BufferedReader(io.BytesIO(content))).read(MAX_BYTES + 1))
    if len(out) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 2**20} MB")
    return out


def _of_mapping(content: Any, place: str, layout: Layout) -> Iterator[Entry]:
    for at, (qid, docno, value) in enumerate(_keyed_values(content, f"{place}: {layout.verb} {layout.json}"), start=1):
        number = number_in(value) if isinstance(value, str) else value
        if number is None and not layout.of_runs:
            number = math.nan
        elif not math.isfinite(as_real(number)):
            raise DataError(
                f"{place}: {layout.values} must be finite numbers; document {brief(docno)} of query {brief(qid)} has "
                f"{brief(value)}."
            )
        yield at, str(qid), str(docno), float(number), 0.0


def _keyed_values(content: Any, must: str) -> Iterator[tuple[Any, Any, Any]]:
    """(query id, document id, value) of {query id: {document id: value}}, of {(query id, document id): value}, or of
    rated documents as in the Search Relevance Workbench and in rank_eval.

    Raises
        DataError   it is neither; the message begins with `must`
    """
    if not isinstance(content, Mapping):
        raise DataError(f"{must}; got {brief(content)}.")
    rated = list(_rated(content))
    for key, value in () if rated else content.items():
        if isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        elif isinstance(value, Mapping):
            for docno, number in value.items():
                yield key, docno, number
        else:
            raise DataError(f"{must}; query {brief(key)} has {brief(value)}.")
    for query in rated:
        qid = called(query, QUERIES) or called(query, ("id",))
        for rating in query[RATINGS]:
            names = rating if isinstance(rating, Mapping) else ()
            docno = called(names, DOCUMENTS)
            grade = called(names, JUDGED)
            if qid is None or docno is None or grade is None:
                raise DataError(f"{must}; a list of ratings lacks a query, a document id or a rating: {brief(query)}.")
            yield query[qid], rating[docno], rating[grade]


def _rated(content: Any) -> Iterator[Mapping]:
    """The mappings, at any depth, that contain a list of ratings."""
    if isinstance(content, Mapping) and isinstance(content.get(RATINGS), list):
        yield content
        return
    for value in content.values() if isinstance(content, Mapping) else content:
        if isinstance(value, Mapping | list):
            yield from _rated(value)


def _of_table(table: InputTable, layout: Layout) -> Iterator[Entry]:
    names = table.schema.names
    asked = layout.asked
    if layout.of_runs:  # the names are those of judgments
        asked = Asked(*(name if name in names else None for name in asked))._replace(label=None)
    qid = _column(table, layout, QUERIES, "qid", asked.qid)
    docno = _column(table, layout, DOCUMENTS, "docid", asked.docid)
    number = _column(table, layout, layout.numbers, "label", asked.label)
    rank = called(names, ("rank",)) if layout.of_runs else None
    row = 0
    for batch in table.record_batches([qid, docno, number, *([] if rank is None else [rank])], ROWS_AT_ONCE):
        ids = [document_texts(batch.column(c)) for c in (qid, docno)]
        values = _numbers(batch, number, table.place, layout, row)
        ranks = np.zeros(len(values)) if rank is None else _numbers(batch, rank, table.place, layout, row)
        for q, d, value, r in zip(*(column.tolist() for column in (*ids, values, ranks)), strict=True):
            row += 1
            if not q or not d:
                raise DataFormatError(f"{table.place}:{row}: the {'document' if q else 'query'} id is missing.")
            yield row, q, d, value, r


def _column(
    table: InputTable,
    layout: Layout,
    usual: Sequence[str],
    parameter: str,
    named: str | None,
) -> str:
    """The column that is named, or else the one with the most telling of the usual names.

    Raises
        DataError   there is none
    """
    names = table.schema.names
    column = called(names, usual) if named is None else named
    if column in names:
        return str(column)
    shown_names = brief(", ".join(map(str, names)))
    if named is not None:
        raise DataError(f"{table.place} has no column {brief(named)}; it has {shown_names}.")

    remedy = f"name the column with {option(parameter)}"
    if layout.of_runs and parameter == "label":
        remedy = "name the column of scores (larger is better) 'score'"
    raise DataError(
        f"{table.place}: {layout.needs} the columns qid, docno and {layout.numbers[0]}; {usual[0]} is not among "
        f"{shown_names}, nor another usual name; {remedy}."
    )


def _numbers(batch: Any, column: str, place: str, layout: Layout, row: int) -> np.ndarray:
    """(n,) the numbers of a column; NaN where a grade is missing. `row` rows are before the batch."""
    from sparserank.arrow import pa

    arrow_column = batch.column(column)
    texts = document_texts(arrow_column)
    is_text = may_be_category(arrow_column.type)
    try:
        values = np.array(list(map(number_in, texts))) if is_text else arrow_column.cast(pa.float64()).to_numpy(False)
    except pa.ArrowException as error:
        raise DataFormatError(f"{place}: column {column} must contain numbers.") from error
    odd = np.flatnonzero(~np.isfinite(values) & (layout.of_runs | (texts != "")))
    if len(odd):
        shown_value = brief(texts[odd[0]]) if is_text else f"{values[odd[0]]:g}"
        raise DataFormatError(f"{place}:{row + odd[0] + 1}: expected a finite number as {column}; got {shown_value}.")
    return np.asarray(values, dtype=np.float64)
