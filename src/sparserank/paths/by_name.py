"""Path makers by name: by the strengths of a penalty, or by size."""

from __future__ import annotations

from typing import Any

from sparserank.errors import DataError
from sparserank.paths.best_k import BestK
from sparserank.paths.makers import PenaltyPath, RuledMaker, SizedMaker
from sparserank.penalties import PENALTIES, FeatureRules, Penalty, parse_among

MAKERS: dict[str, type[FeatureRules]] = {**PENALTIES, BestK.name: BestK}


def parse_maker(spec: str | Penalty | SizedMaker, **parameters: Any) -> Penalty | SizedMaker:
    """Parse a penalty as `parse_penalty` does, or 'best_k', 'best_k(k_max=30)', `BestK(...)`, or a custom maker.

    Raises
        DataError   the name or a parameter is unknown, or a value has the wrong type
    """
    found = spec if isinstance(spec, FeatureRules) else parse_among(MAKERS, spec, **parameters)
    if not isinstance(found, Penalty | SizedMaker):
        raise DataError(f"penalty must be a Penalty or a SizedMaker; got {found!r}.")
    return found


def maker_of(given: Penalty | SizedMaker) -> RuledMaker:
    """The path maker of a penalty, or the maker itself."""
    return given if isinstance(given, SizedMaker) else PenaltyPath(given)
