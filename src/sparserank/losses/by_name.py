"""Losses by name: what users may write for a loss, and what files call it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sparserank.errors import ParameterError
from sparserank.losses.modified_huber import ModifiedHuber
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.losses.squared_hinge import SquaredHinge
from sparserank.quoting import brief

LOSSES: dict[str, type[PairwiseLoss]] = {"squared_hinge": SquaredHinge, "modified_huber": ModifiedHuber}


def parse_loss(given: str | PairwiseLoss) -> PairwiseLoss:
    """The loss of a name ('squared_hinge', 'modified_huber'), or the loss itself, somebody else's included.

    Raises
        ParameterError   it is neither
    """
    if isinstance(given, PairwiseLoss):
        return given
    if isinstance(given, str) and given in LOSSES:
        return LOSSES[given]()
    raise ParameterError("loss", f"must be one of {', '.join(LOSSES)}, or a PairwiseLoss; got {brief(given)}.")


def loss_name(loss: PairwiseLoss) -> str:
    """What a loss is called, the same in every process: 'squared_hinge', 'SquaredHinge(grade_pair_weights=[[0.0, ...], ...])'."""
    known = {cls: name for name, cls in LOSSES.items()}
    parameters = {f.name: getattr(loss, f.name) for f in fields(loss)} if is_dataclass(loss) else vars(loss)
    shown = [f"{name}={_plain(value)!r}" for name, value in parameters.items() if value is not None]
    if not shown and type(loss) in known:
        return known[type(loss)]
    return f"{type(loss).__name__}({', '.join(shown)})"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
