"""The lines of TREC runs and judgments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from sparserank.data.text_lines import number_in, text_lines
from sparserank.data.usual_names import DOCUMENTS, OF_JUDGMENTS, QUERIES, plain
from sparserank.errors import DataFormatError
from sparserank.files import StrPath
from sparserank.text import brief

RUN = "qid Q0 docno rank score tag"
QRELS = "qid 0 docno rel"
STRATA = "query stratum"
STRATA_HEAD = "# strata of sparserank evaluate\n"  # how our files begin
MAX_ENTRY_BYTES = 1 << 20  # longest line of a run or of judgments
_FIELD = re.compile(r"[^ \t]+")


def run_entries(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    """(line number, [qid, docno, rank, score]) of each line of a TREC run. Comment lines are skipped, as is text after
    the tag; either all lines have a tag or none.

    Raises
        DataFormatError   a line has too few fields; the message names file and line
    """
    least = 0
    for line, text, fields in _lines_of_fields(path, RUN):
        least = least or (5 if len(fields) == 5 else 6)
        if len(fields) < least:
            raise DataFormatError(f"{path}:{line}: expected '{RUN}'; got {brief(text)}.")
        yield line, [fields[0], *fields[2:5]]


def judgment_entries(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    """(line number, [qid, docno, grade]) of each line of judgments: TREC's, with or without the column of iterations,
    or with a first line of column names, as in BEIR. Comment lines are skipped.

    Raises
        DataFormatError   a line has another number of fields; the message names file and line
    """
    count = 0
    layout = QRELS
    for line, text, fields in _lines_of_fields(path, QRELS):
        if count == 0:
            count, layout = (3, "qid docno rel") if len(fields) == 3 else (4, QRELS)
            if _is_head(fields):
                continue
        if len(fields) != count:
            raise DataFormatError(f"{path}:{line}: expected '{layout}'; got {brief(text)}.")
        yield line, [fields[0], *fields[-2:]]


def read_strata(source: StrPath | Mapping[str, str]) -> dict[str, str]:
    """{query id: stratum} from a file with lines 'query stratum', or from a mapping.

    Raises
        DataFormatError   a line has another number of fields, or a query has two strata; the message names file and
                          line
    """
    if isinstance(source, Mapping):
        return {str(q): str(stratum) for q, stratum in source.items()}
    strata = dict[str, str]()
    for line, text, fields in _lines_of_fields(source, STRATA):
        if len(fields) != 2:
            raise DataFormatError(f"{source}:{line}: expected '{STRATA}'; got {brief(text)}.")
        if fields[0] in strata:
            raise DataFormatError(f"{source}:{line}: query {brief(fields[0])} has a stratum already; list it once.")
        strata[fields[0]] = fields[1]
    return strata


def finite_number(
    path: StrPath,
    line: int,
    text: str,
    role: str = "",
) -> float:
    """The number in a field; `role`, such as ' as score', completes the message of a DataFormatError."""
    value = number_in(text)
    if not math.isfinite(value):
        raise DataFormatError(f"{path}:{line}: expected a finite number{role}; got {brief(text)}.")
    return value


def kind_of_line(line: bytes) -> str:
    """'run' or 'judgments' if a line seems to belong to one of these, and not to ranking text; otherwise ''."""
    fields = _fields(line.decode("utf-8", "replace"))
    if ":" in "".join(fields[1:4]):
        return ""
    if len(fields) >= 5 and all(math.isfinite(number_in(f)) for f in fields[3:5]):
        return "run"
    if not 3 <= len(fields) <= 4:
        return ""
    names = _is_head(fields) and plain(fields[-2]) in DOCUMENTS
    return "judgments" if names or math.isfinite(number_in(fields[-1])) else ""


def foreign_format_hint(line: bytes) -> str:
    """A sentence about a line of a run or of judgments, for the reader of ranking text; otherwise ''."""
    return {
        "run": f"This looks like a run ('{RUN}'), which has no features; evaluate and fuse read runs.",
        "judgments": f"These look like judgments ('{QRELS}'), which have no features; evaluate and fuse read them as "
        "qrels.",
    }.get(kind_of_line(line), "")


def _lines_of_fields(path: StrPath, layout: str) -> Iterator[tuple[int, str, list[str]]]:
    """(line number, text, its fields) of each line that is neither blank nor a comment, which begins with '#'."""
    for line, text in text_lines(path, f"lines '{layout}'", longest=MAX_ENTRY_BYTES):
        fields = _fields(text)
        if fields and not fields[0].startswith("#"):
            yield line, text, fields


def _fields(text: str) -> list[str]:
    """The first fields of a line: one more than any layout has, however long the line is. Where tabs separate them,
    the first one, the id of a query, may contain blanks."""
    most = len(RUN.split()) + 1
    fields = [field.strip() for field in text.split("\t", most)[:most]]
    if len(fields) >= 3 and all(_FIELD.fullmatch(field) for field in fields[1:5]):
        return fields
    return [match.group() for match in islice(_FIELD.finditer(text), most)]


def _is_head(fields: Sequence[str]) -> bool:
    """Whether the fields are names of columns of judgments."""
    return plain(fields[0]) in QUERIES and plain(fields[-1]) in OF_JUDGMENTS
