"""The definitions file: how each feature is defined in an engine."""

from __future__ import annotations

import os
from typing import Any

from sparserank.errors import DataFormatError
from sparserank.strict_json import read_json

EXPECTED = 'a JSON object {"feature name": definition in the engine, ...}'


def read_definitions(path: str | os.PathLike) -> dict[str, Any]:
    """Read {feature name: definition} from a file.

    Raises
        DataFormatError   the file cannot be read, or its content is not a JSON object; the message names the file
    """
    try:
        content = read_json(path)
    except OSError as error:
        raise DataFormatError(f"{path}: cannot be read ({error.strerror or error}); expected {EXPECTED}.") from error
    except ValueError as error:
        raise DataFormatError(f"{path}: is not a JSON file ({error}); expected {EXPECTED}.") from error
    if not isinstance(content, dict):
        raise DataFormatError(f"{path}: is not a JSON object; expected {EXPECTED}.")
    return content
