"""Decimal numbers in bytes, correctly rounded or left to Python's float()."""

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel

_POWERS = 10.0 ** np.arange(23)  # exact in float64 up to 1e22


@kernel
def number(buf: np.ndarray, start: int, stop: int) -> tuple[float, int]:
    """Value of buf[start:stop] and 0 exact, 1 needs correct rounding elsewhere, 2 not a number, 3 NaN / NULL.

    Exact means: at most 2**53 as integer mantissa and a power of ten of at most 22 (Clinger's fast path).
    """
    i = start
    negative = False
    if i < stop and (buf[i] == 45 or buf[i] == 43):
        negative = buf[i] == 45
        i += 1
    word = i
    mantissa = np.uint64(0)
    digits = 0
    significant = 0
    exponent = 0
    while i < stop and 48 <= buf[i] <= 57:
        if significant < 19:
            mantissa = mantissa * np.uint64(10) + np.uint64(buf[i] - 48)
            significant += 1 if mantissa > 0 else 0
        else:
            exponent += 1
            significant += 1
        digits += 1
        i += 1
    if i < stop and buf[i] == 46:
        i += 1
        while i < stop and 48 <= buf[i] <= 57:
            if significant < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(buf[i] - 48)
                significant += 1 if mantissa > 0 else 0
                exponent -= 1
            else:
                significant += 1
            digits += 1
            i += 1
    if digits == 0:
        return 0.0, _word(buf, word, stop, start)
    if i < stop and (buf[i] == 101 or buf[i] == 69):
        i += 1
        sign = 1
        if i < stop and (buf[i] == 45 or buf[i] == 43):
            sign = -1 if buf[i] == 45 else 1
            i += 1
        if i == stop:
            return 0.0, 2
        power = 0
        while i < stop and 48 <= buf[i] <= 57:
            power = min(power * 10 + (buf[i] - 48), 100000)
            i += 1
        exponent += sign * power
    if i != stop:
        return 0.0, 2
    if mantissa == 0 and significant == 0:
        return (-0.0 if negative else 0.0), 0
    if significant > 19 or mantissa > np.uint64(9007199254740992) or exponent > 22 or exponent < -22:
        return 0.0, 1
    value = float(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return (-value if negative else value), 0


@kernel
def _word(buf: np.ndarray, i: int, stop: int, start: int) -> int:
    """3 for nan and NULL (any case), 1 for inf and infinity (resolved with the slow numbers), else 2."""
    length = stop - i
    if length == 3 or length == 4 or length == 8:
        a = buf[i] | 32
        b = buf[i + 1] | 32
        c = buf[i + 2] | 32
        if a == 110 and b == 97 and c == 110 and length == 3:
            return 3
        if a == 110 and b == 117 and c == 108 and length == 4 and (buf[i + 3] | 32) == 108 and i == start:
            return 3
        if a == 105 and b == 110 and c == 102:
            if length == 3:
                return 1
            if length == 8:
                return 1 if _ends_inity(buf, i + 3) else 2
    return 2


@kernel
def _ends_inity(buf: np.ndarray, i: int) -> bool:
    """True when buf[i:i + 5] reads 'inity', in any case."""
    first = (buf[i] | 32) == 105 and (buf[i + 1] | 32) == 110 and (buf[i + 2] | 32) == 105
    return first and (buf[i + 3] | 32) == 116 and (buf[i + 4] | 32) == 121
