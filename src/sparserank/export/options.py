"""Options of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparserank.errors import DataError

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
