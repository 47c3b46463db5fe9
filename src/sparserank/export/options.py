"""Options of an export."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparserank.errors import DataError, DataFormatError
from sparserank.strict_json import read_json

EXPECTED = 'a JSON object {"feature name": definition in the engine, ...}'
Files = dict[str, str | bytes]  # name: content


@dataclass(frozen=True)
class Options:
    """name: of the model in the engine, and of its feature store; features: {feature name: definition in the engine};
    normalizers: write the scaling as the engine's normalisers instead of folding it in; offset: constant added to every
    score, if requested (shifted); sigmoid: scores go through 1 / (1 + e^-x). Both keep the order. filled: the engine's
    features return the model's fill values for missing ones; wide: one input of all features, instead of one per
    selected feature.
    """

    name: str = "sparserank"
    features: Mapping[str, Any] | None = None
    normalizers: bool = False
    offset: float = 0.0
    sigmoid: bool = False
    filled: bool = False
    wide: bool = False
    shifted: bool = False

    def refuse(self, why: str, *names: str) -> None:
        """Raise DataError if one of these options is set."""
        asked = next((n for n in names if getattr(self, n)), None)
        if asked is not None:
            raise DataError(f"{why}: {asked} cannot be written; leave it out.")


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
