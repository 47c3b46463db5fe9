"""The file of features: what each of our features is in an engine."""

from __future__ import annotations

import os
from typing import Any

from sparserank.errors import DataFormatError
from sparserank.strict_json import read_json

EXPECTED = 'a JSON object {"our name": what it is in the engine, ...}'


def read_definitions(path: str | os.PathLike) -> dict[str, Any]:
    """{our name: definition}

    Raises
        DataFormatError   names the file: it cannot be read, holds no JSON, or no object
    """
    try:
        content = read_json(path)
    except OSError as error:
        raise DataFormatError(f"{path}: cannot be read ({error.strerror or error}); expected {EXPECTED}.") from error
    except ValueError as error:
        raise DataFormatError(f"{path}: is no JSON file ({error}); expected {EXPECTED}.") from error
    if not isinstance(content, dict):
        raise DataFormatError(f"{path}: holds no object; expected {EXPECTED}.")
    return content
