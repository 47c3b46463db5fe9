"""What a path goes through, by name: the strengths of a penalty, or sizes."""

from __future__ import annotations

from typing import Any

from sparserank.errors import DataError
from sparserank.paths.best_k import BestK
from sparserank.paths.makers import PenaltyPath, RuledMaker, SizedMaker
from sparserank.penalties import PENALTIES, FeatureRules, Penalty, parse_among

MAKERS: dict[str, type[FeatureRules]] = {**PENALTIES, BestK.name: BestK}


def parse_maker(spec: str | Penalty | SizedMaker, **parameters: Any) -> Penalty | SizedMaker:
    """A penalty as `parse_penalty` reads it, or 'best_k', 'best_k(k_max=30)', `BestK(...)`, somebody else's maker.

    Raises
        DataError   an unknown name or parameter, or a value of the wrong kind
    """
    found = spec if isinstance(spec, FeatureRules) else parse_among(MAKERS, spec, **parameters)
    if not isinstance(found, Penalty | SizedMaker):
        raise DataError(f"penalty must be a Penalty or a SizedMaker; got {found!r}.")
    return found


def maker_of(given: Penalty | SizedMaker) -> RuledMaker:
    """The maker of its path."""
    return given if isinstance(given, SizedMaker) else PenaltyPath(given)
