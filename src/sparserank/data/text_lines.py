"""Text files with one entry per line: line ends and blank lines."""

from __future__ import annotations

import codecs
import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any

from sparserank.errors import DataFormatError
from sparserank.files import StrPath
from sparserank.text import brief

LONE_RETURN = re.compile(rb"\r[^\r\n]")  # carriage returns must be followed by a line feed or the end of the file
LINE_ENDS = "save the file with LF or CRLF line endings"
BLANKS = " \t"
GZIP = b"\x1f\x8b"
BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 256 << 20  # a model file may be one line


def text_lines(path: StrPath, expected: str, *, longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """(line number from 1, text without its line end) for each line of a UTF-8 file, plain or gzip, without a
    byte-order mark.

    Lines end at LF or CRLF only; other line separators of Unicode are part of the line. At most a line and a block of
    the file are in memory.

    Raises
        DataFormatError   the file is unreadable, binary or not UTF-8, has a carriage return inside a line or a line
                          longer than `longest` bytes; the message names file and line
    """
    with readable(path, expected):
        blocks = line_blocks(path, BLOCK_BYTES, expected, longest)
        for number, line in enumerate((line for block in blocks for line in _lines(block)), start=1):
            line = line.rstrip(b"\r")
            if b"\r" in line:
                raise DataFormatError(f"{path}:{number}: carriage return inside a line; {LINE_ENDS}.")
            try:
                yield number, line.decode()
            except UnicodeDecodeError as error:
                raise DataFormatError(f"{path}:{number}: is not UTF-8 text; save the file as UTF-8.") from error


def no_such_file(path: StrPath) -> DataFormatError:
    place = str(path)
    return DataFormatError(f"{brief(place) if chr(0) in place else place}: no such file; check the path.")


@contextmanager
def readable(path: StrPath, expected: str) -> Iterator[None]:
    """Turn errors of a file that is read into a sentence."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFormatError(f"{path}: cannot be read (damaged gzip file: {error}); expected {expected}.") from error
    except OSError as error:
        raise DataFormatError(f"{path}: cannot be read ({error.strerror or error}); expected {expected}.") from error


def _lines(block: bytes) -> list[bytes]:
    lines = block.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def unzipped(raw: BufferedReader) -> Any:
    """A file that is open for reading, decompressed if it is gzip: opened once, because a pipe cannot be read twice."""
    return gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == GZIP else raw


def line_blocks(
    path: StrPath,
    size: int,
    expected: str,
    longest: int = MAX_LINE_BYTES,
) -> Iterator[bytes]:
    """Blocks of whole lines, of about `size` bytes, without a byte-order mark; the last block is what follows the last
    LF.

    Raises
        OSError, EOFError, zlib.error   the file is unreadable
        DataFormatError                 it is binary, or a line is longer than `longest` bytes
    """
    with open(path, "rb") as raw:
        stream = unzipped(raw)
        mark = codecs.BOM_UTF8
        rest: list[bytes] = []
        while block := stream.read(size):
            if b"\0" in block:
                raise DataFormatError(f"{path}: is a binary file; expected {expected}.")
            cut = block.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, memoryview(block)[:cut]]).removeprefix(mark)
                rest = []
                mark = b""
            rest.append(block[cut:])
            if not cut and sum(map(len, rest)) > longest:
                raise DataFormatError(f"{path}: a line is longer than {longest >> 20} MB; expected {expected}.")
        yield b"".join(rest).removeprefix(mark)


def read_entries(path: StrPath, expected: str) -> list[str]:
    """The lines without surrounding blanks; entry k is on line k + 1. Blank lines are allowed only at the end.

    Raises
        DataFormatError   as `text_lines`, or a blank line before the last entry
    """
    entries = [text.strip(BLANKS) for _, text in text_lines(path, expected)]
    while entries and not entries[-1]:
        entries.pop()
    if "" in entries:
        raise DataFormatError(f"{path}:{entries.index('') + 1}: blank line; expected {expected}. Remove it.")
    return entries


def number_in(text: str) -> float:
    """The number that a text is; NaN if it is not one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def read_numbers(
    path: StrPath,
    quantity: str,
    wanted: str,
    accepts: Callable[[float], bool],
) -> list[float]:
    """One finite number per line; `quantity` and `wanted` ('score', 'a finite number') are for messages.

    Raises
        DataFormatError   as `read_entries`, or an entry is not such a number; the message names its line
    """
    numbers = []
    for number, text in enumerate(read_entries(path, f"one {quantity} per line"), start=1):
        value = number_in(text)
        if not (math.isfinite(value) and accepts(value)):
            raise DataFormatError(f"{path}:{number}: a {quantity} must be {wanted}; got {brief(text)}.")
        numbers.append(value)
    return numbers


def read_names(path: StrPath) -> list[str]:
    """Feature names, one per line.

    Raises
        DataFormatError   as `read_entries`, or a name appears twice; the message names both lines
    """
    names = read_entries(path, "one feature name per line")
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if first.setdefault(name, number) != number:
            raise DataFormatError(
                f"{path}:{number}: feature name {brief(name)} is already on line {first[name]}; names must be unique."
            )
    return names
