"""Costs of retrievers, from a mapping or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sparserank.crossval.feature_groups import COSTS, positive_cost
from sparserank.data.text_lines import read_entries
from sparserank.errors import DataFormatError, ParameterError
from sparserank.quoting import brief


def retriever_costs(given: Any, names: Sequence[str]) -> dict[str, float]:
    """{retriever: cost > 0}, from such a mapping or from a file of lines 'retriever cost'; empty for None.

    Raises
        ParameterError, DataFormatError   name what cannot be used
    """
    if given is None:
        return {}
    places: dict[str, str] = {}
    if isinstance(given, Mapping):
        costs = {str(name): cost for name, cost in given.items()}
    elif isinstance(given, str | os.PathLike):
        costs = {}
        for line, text in enumerate(read_entries(given, "'retriever cost' per line"), start=1):
            name, cost = _split(text)
            if name in costs:
                raise DataFormatError(f"{given}:{line}: {brief(name)} already has a cost.")
            costs[name], places[name] = cost, f"{given}:{line}: "
    else:
        raise ParameterError("costs", f"must be {{retriever: cost}} or a file; got {brief(given)}.")
    for name, cost in costs.items():
        _refuse_unless(name in names, places.get(name, ""), f"{brief(name)} is not a retriever; {_known(names)}.")
        value = None if isinstance(cost, bool) else positive_cost(cost)
        said = f"expected a cost > 0 of {brief(name)}; got {brief(cost)} (costs may be {COSTS})."
        _refuse_unless(value is not None, places.get(name, ""), said)
        costs[name] = value
    missing = next((name for name in names if name not in costs), None)
    _refuse_unless(missing is None, "", f"there is no cost of {brief(missing)}; give one for every retriever.")
    return {name: float(costs[name]) for name in names}


def _split(text: str) -> tuple[str, str]:
    """'name cost', 'name, cost' or with a tab; a name may contain blanks and commas."""
    line = text.strip().replace("\t", " ")
    at = max(line.rfind(" "), line.rfind(","))
    return line[:at].rstrip(" ,") if at >= 0 else line, line[at + 1 :].strip() if at >= 0 else ""


def _refuse_unless(condition: bool, place: str, message: str) -> None:
    if not condition:
        if place:
            raise DataFormatError(f"{place}{message}")
        raise ParameterError("costs", f"cannot be used: {message}")


def _known(names: Sequence[str]) -> str:
    return f"the retrievers are {brief(', '.join(names))}"
