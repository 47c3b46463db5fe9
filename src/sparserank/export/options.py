"""What users may ask of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparserank.data.tables.frames import QID
from sparserank.errors import DataError

Files = dict[str, str | bytes]  # name: content


@dataclass(frozen=True)
class Options:
    """name: of the model in the engine (its feature store has the same); features: {our name: the engine's definition};
    normalizers: write the scaling as the engine's own instead of folding it in; offset: added to every score, where one
    is asked for (shifted); sigmoid: scores go through 1 / (1 + e^-x). Both keep the order. filled: the engine's
    features give the model's values where a document has none; wide: one input of all features, where each selected one
    has its own; qid: the column of SQL that holds the query.
    """

    name: str = "sparserank"
    features: Mapping[str, Any] | None = None
    normalizers: bool = False
    offset: float = 0.0
    sigmoid: bool = False
    filled: bool = False
    wide: bool = False
    shifted: bool = False
    qid: str = QID

    def refuse(self, why: str, *names: str) -> None:
        """Raises DataError where one of these options is asked for."""
        asked = next((n for n in names if getattr(self, n)), None)
        if asked is not None:
            raise DataError(f"{why}: {asked} cannot be written; leave it out.")
