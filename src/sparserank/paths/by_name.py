"""What a path goes through, by name: the strengths of a penalty, or sizes."""

from __future__ import annotations

from typing import Any

from sparserank.errors import DataError
from sparserank.paths.best_k import BestK
from sparserank.paths.makers import PenaltyPath, RuledMaker
from sparserank.penalties import PENALTIES, FeatureRules, Penalty, parse_among

MAKERS: dict[str, type[FeatureRules]] = {**PENALTIES, BestK.name: BestK}


def parse_maker(spec: str | Penalty | BestK, **parameters: Any) -> Penalty | BestK:
    """A penalty as `parse_penalty` reads it, or 'best_k', 'best_k(k_max=30)', `BestK(...)`.

    Raises
        DataError   an unknown name or parameter, or a value of the wrong kind
    """
    found = spec if isinstance(spec, Penalty | BestK) else parse_among(MAKERS, spec, **parameters)
    if not isinstance(found, Penalty | BestK):
        raise DataError(f"penalty must be a Penalty or BestK; got {found!r}.")
    return found


def maker_of(given: Penalty | BestK) -> RuledMaker:
    """The maker of its path."""
    return given if isinstance(given, BestK) else PenaltyPath(given)
