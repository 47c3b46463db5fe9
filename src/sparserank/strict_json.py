"""Strict reading of JSON that others may have edited, and conversion of values to JSON that can be read again."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparserank.errors import DataFormatError
from sparserank.files import StrPath, read_bounded, read_regular
from sparserank.text import brief

MAX_BYTES = 256 * 2**20
MAX_DEPTH = 20  # levels of nested objects and lists
MAX_DIGITS = 300  # of an integer; the largest float has more

Json = dict[str, Any]  # an object of a file

# Types of values in a file, with the words for them in messages.
Kind = tuple[str, tuple[type, ...]]
INTEGER = ("an integer", (int,))
NUMBER = ("a number", (int, float))
TEXT = ("a string", (str,))
LIST = ("a list", (list,))
OBJECT = ("an object", (dict,))

_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_own_json(path: StrPath, *, links: bool = False) -> Any:
    """The content of a JSON file that this package writes: a regular file, and a link to one only if `links` is true.

    Raises
        OSError, ValueError   as `read_regular` and `parse_json`
    """
    return parse_json(read_regular(path, MAX_BYTES, links=links))


def read_json(path: StrPath, expected: str) -> Json:
    """The JSON object of a file that users write; see `parse_json`.

    Raises
        DataFormatError   the file cannot be read, or its content is no JSON object; the message names the file, and
                          what is expected
    """
    try:
        content = parse_json(read_bounded(path, MAX_BYTES))
    except OSError as error:
        raise DataFormatError(f"{path}: cannot be read ({error.strerror or error}); expected {expected}.") from error
    except ValueError as error:
        raise DataFormatError(f"{path}: is not a JSON file ({error}); expected {expected}.") from error
    if not isinstance(content, dict):
        raise DataFormatError(f"{path}: is not a JSON object; expected {expected}.")
    return content


def parse_json(content: bytes) -> Any:
    """The value of JSON text: finite numbers, no repeated key in an object, at most MAX_DEPTH levels, UTF-8.

    Raises
        ValueError   it is anything else; the message describes it
    """
    text = content.decode("utf-8")
    try:
        value = json.loads(
            text, parse_constant=_constant, parse_float=_float, parse_int=_integer, object_pairs_hook=of_pairs
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value, MAX_DEPTH)
    if _SURROGATE.search(text):
        check_text(json.dumps(value, ensure_ascii=False))
    return value


def part(content: Json, key: str, kind: Kind) -> Any:
    """content[key], which must exist and have exactly this type: true and false are not numbers."""
    what, types = kind
    if key not in content:
        raise ValueError(f"{key} is missing")
    if type(content[key]) not in types:
        raise ValueError(f"{key} must be {what}; got {brief(content[key])}")
    return content[key]


def check_text(text: str) -> None:
    """Raise ValueError when `text` cannot be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"a string contains the lone surrogate {text[error.start]!a}, which is not a valid character"
        ) from None


def plain(value: Any, levels: int = MAX_DEPTH) -> Any:
    """`value` as JSON that `read_json` accepts: numbers that are not finite become null, NumPy's numbers and arrays
    become plain ones, and everything else becomes text, as does anything more than `levels` deep."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, numbers.Integral):
        return int(value) if abs(int(value)) < 10**MAX_DIGITS else brief(int(value))
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping | list | tuple) and levels == 0:
        return brief(value)
    if isinstance(value, Mapping):
        return {_text(k): plain(v, levels - 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, levels - 1) for v in value]
    return _text(value)


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _check_depth(value: Any, levels: int) -> None:
    if isinstance(value, dict | list):
        if levels == 0:
            raise ValueError(_TOO_DEEP)
        for v in value.values() if isinstance(value, dict) else value:
            _check_depth(v, levels - 1)


def of_pairs(pairs: list[tuple[str, Any]]) -> Json:
    """The object of these pairs; raise ValueError for a key that appears twice."""
    out: Json = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {brief(key)} appears twice in an object")
        out[key] = value
    return out


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"the integer {text[:20]}... has {MAX_DIGITS + 1} digits or more")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text if len(text) <= 30 else text[:27] + '...'} is too large")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")
