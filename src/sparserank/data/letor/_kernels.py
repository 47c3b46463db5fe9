"""Byte parser for LETOR / SVMlight ranking text, with decimal numbers correctly rounded or left to Python's float().
Inputs are read-only; outputs are the named arrays.

Compared with a slow version in tests/data/test_letor_reader.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel

_NAN, _NULL, _INF, _INFINITY = (np.frombuffer(word, np.uint8) for word in (b"nan", b"null", b"inf", b"infinity"))
_POWERS = 10.0 ** np.arange(23)  # exact in float64 up to 1e22
_ENOUGH = 10**17
OK = 0
BAD_LABEL = 1
MISSING_QID = 2
BAD_TOKEN = 3
BAD_INDEX = 4
INDEX_BELOW_BASE = 5
BAD_VALUE = 6
INDEX_ABOVE_LIMIT = 7  # SPAN_START holds the feature, as numbered in the file
EMPTY_QID = 8
# Slots of the `info` output.
STATUS, SPAN_START, SPAN_STOP, N_ROWS, N_VALUES, N_RUNS, N_SLOW, N_LINES, FIRST_NAN, MAX_INDEX, MAX_LINE = range(11)
UNSORTED = 11  # the first row whose indices do not ascend, or -1
N_INFO = 12


@kernel
def number(buf: np.ndarray, start: int, n: int) -> tuple[float, int, int]:
    """(value of the word that begins at `start`, code, end of the word): code 0 exact, 1 must be rounded elsewhere, 2
    not a number, 3 NaN / NULL. A word ends before a blank, a control character, '#' or position n.

    Exact means: at most 2**53 as integer mantissa and a power of ten of at most 22 (Clinger's fast path).
    """
    i = start
    negative = False
    if i < n and (buf[i] == 45 or buf[i] == 43):
        negative = buf[i] == 45
        i += 1
    word = i
    mantissa = 0  # digits after the 18th do not count: the mantissa is then above 2**53 without them
    while i < n and 48 <= buf[i] <= 57:
        if mantissa < _ENOUGH:
            mantissa = mantissa * 10 + (buf[i] - 48)
        i += 1
    digits = i - word
    exponent = 0
    if i < n and buf[i] == 46:
        i += 1
        point = i
        while i < n and 48 <= buf[i] <= 57:
            if mantissa < _ENOUGH:
                mantissa = mantissa * 10 + (buf[i] - 48)
            i += 1
        exponent = point - i
        digits -= exponent
    if digits > 0 and i < n and (buf[i] == 101 or buf[i] == 69):
        i += 1
        sign = 1
        if i < n and (buf[i] == 45 or buf[i] == 43):
            sign = -1 if buf[i] == 45 else 1
            i += 1
        first = i
        power = 0
        while i < n and 48 <= buf[i] <= 57:
            power = min(power * 10 + (buf[i] - 48), 100000)
            i += 1
        exponent += sign * power
        digits = i - first
    stop = i
    while stop < n and buf[stop] > 32 and buf[stop] != 35:
        stop += 1
    if digits == 0 or stop > i:
        return 0.0, _word(buf, word, stop, start), stop
    if mantissa == 0:
        return (-0.0 if negative else 0.0), 0, stop
    if mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return 0.0, 1, stop
    value = float(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return (-value if negative else value), 0, stop


@kernel
def _word(
    buf: np.ndarray,
    i: int,
    stop: int,
    start: int,
) -> int:
    """3 for nan and NULL (any case; NULL without a sign), 1 for inf and infinity (resolved with the slow numbers),
    else 2."""
    if _spells(buf, i, stop, _NAN) or (i == start and _spells(buf, i, stop, _NULL)):
        return 3
    return 1 if _spells(buf, i, stop, _INF) or _spells(buf, i, stop, _INFINITY) else 2


@kernel
def _spells(
    buf: np.ndarray,
    start: int,
    stop: int,
    word: np.ndarray,
) -> bool:
    """Whether buf[start:stop] is the word, in any case."""
    same = stop - start == len(word)
    for k in range(len(word)):
        same = same and (buf[start + k] | 32) == word[k]
    return same


@kernel
def parse_lines(buf, index_base, index_limit, labels, row_ptr, indices, values, rows_line, runs, comments, slow, info):
    """Parse whole lines of ranking text; stop at the first malformed line.

    Parameters
        buf          (n_bytes,) uint8, ends at a line end or at the end of the file; carriage returns only at line ends
        index_base   number of the first feature, 0 or 1
        index_limit  largest 0-based index allowed, or -1 for no limit
    Outputs
        labels (rows,), row_ptr (rows + 1,), indices (values,), values (values,), rows_line (rows,) line in the block
        from 0, runs (rows, 3): row where a new query id starts and the byte span of the id,
        comments (rows, 2): byte span of the comment, info: see the slots above.
        slow (values + rows, 3): value position and byte span of numbers that need correct rounding; position -1 - row
        means a label. NaN and NULL are stored as NaN, their first line in info. Features stay in the order of the line.
    """
    n = len(buf)
    n_slow = 0
    row = 0
    filled = 0
    n_runs = 0
    line = 0
    info[:] = 0
    info[FIRST_NAN] = info[UNSORTED] = info[MAX_INDEX] = -1
    run_start = 0
    run_stop = 0
    row_ptr[0] = 0
    # Of the first malformed line: what is wrong, and its bytes.
    status = OK
    start = 0
    i = 0
    pos = 0
    while pos < n:
        # One line: [pos, eol), trailing carriage returns and blanks are separators like any other.
        i = pos
        while i < n and (buf[i] == 32 or buf[i] == 9 or buf[i] == 13):
            i += 1
        if i >= n:
            break
        if buf[i] == 10:
            pos = i + 1
            line += 1
            continue
        if buf[i] == 35:
            while i < n and buf[i] != 10:
                i += 1
            pos = i + 1
            line += 1
            continue
        # label
        start = i
        value, kind, i = number(buf, start, n)
        if kind >= 2:
            status = BAD_LABEL
            break
        if kind == 1:
            slow[n_slow, 0] = -1 - row
            slow[n_slow, 1] = start
            slow[n_slow, 2] = i
            n_slow += 1
        labels[row] = value
        rows_line[row] = line
        # qid
        while i < n and (buf[i] == 32 or buf[i] == 9):
            i += 1
        start = i
        while i < n and buf[i] > 32 and buf[i] != 35:
            i += 1
        if not (
            i - start >= 4
            and buf[start] == 113
            and buf[start + 1] == 105
            and buf[start + 2] == 100
            and buf[start + 3] == 58
        ):
            status = MISSING_QID
            break
        start += 4
        if start == i:
            status = EMPTY_QID
            break
        same = n_runs > 0 and i - start == run_stop - run_start
        if same:
            for k in range(i - start):
                if buf[start + k] != buf[run_start + k]:
                    same = False
                    break
        if not same:
            run_start = start
            run_stop = i
            runs[n_runs, 0] = row
            runs[n_runs, 1] = start
            runs[n_runs, 2] = i
            n_runs += 1
        # features
        last = -1
        while i < n:
            while i < n and (buf[i] == 32 or buf[i] == 9 or buf[i] == 13):
                i += 1
            if i >= n or buf[i] == 10 or buf[i] == 35:
                break
            start = i
            index = 0
            while i < n and 48 <= buf[i] <= 57:
                index = min(index * 10 + (buf[i] - 48), 1 << 40)
                i += 1
            colon = i
            value, kind, i = number(buf, min(colon + 1, n), n)
            if colon == start or colon >= n or buf[colon] != 58 or colon + 1 == i:
                status = BAD_TOKEN
                i = colon
                while i < n and buf[i] > 32 and buf[i] != 35:
                    i += 1
                break
            index -= index_base
            if index < 0:
                status = INDEX_BELOW_BASE
                break
            if index > 2147483646:
                status = BAD_INDEX
                break
            if index_limit >= 0 and index > index_limit:
                status = INDEX_ABOVE_LIMIT
                start = index + index_base
                break
            if kind == 2:
                status = BAD_VALUE
                start = colon + 1
                break
            if kind == 3:
                value = np.nan
                if info[FIRST_NAN] < 0:
                    info[FIRST_NAN] = line
            elif kind == 1:
                slow[n_slow, 0] = filled
                slow[n_slow, 1] = colon + 1
                slow[n_slow, 2] = i
                n_slow += 1
            if index <= last and info[UNSORTED] < 0:
                info[UNSORTED] = row
            last = index
            if index > info[MAX_INDEX]:
                info[MAX_INDEX] = index
                info[MAX_LINE] = line
            indices[filled] = index
            values[filled] = value
            filled += 1
        if status != OK:
            break
        # comment
        comments[row, 0] = comments[row, 1] = 0
        if i < n and buf[i] == 35:
            start = i + 1
            while i < n and buf[i] != 10:
                i += 1
            stop = i
            while start < stop and buf[start] <= 32:
                start += 1
            while stop > start and buf[stop - 1] <= 32:
                stop -= 1
            comments[row, 0] = start
            comments[row, 1] = stop
        pos = i + 1
        line += 1
        row += 1
        row_ptr[row] = filled
    info[STATUS] = status
    info[SPAN_START] = start
    info[SPAN_STOP] = i
    info[N_ROWS] = row
    info[N_VALUES] = filled
    info[N_RUNS] = n_runs
    info[N_SLOW] = n_slow
    info[N_LINES] = line
