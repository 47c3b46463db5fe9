"""Losses by name: what users may write for a loss, what files call it, and what tells two of them apart."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import uuid
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sparserank.calls import parse_call
from sparserank.errors import ParameterError
from sparserank.losses.modified_huber import ModifiedHuber
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.losses.squared_hinge import SquaredHinge
from sparserank.quoting import brief

LOSSES: dict[str, type[PairwiseLoss]] = {"squared_hinge": SquaredHinge, "modified_huber": ModifiedHuber}


def parse_loss(given: str | PairwiseLoss) -> PairwiseLoss:
    """The loss of a name as `loss_name` writes it ('squared_hinge', 'modified_huber', 'SquaredHinge(grade_pair_weights=...)'), or the loss itself, somebody
    else's included.

    Raises
        ParameterError   it is neither
    """
    if isinstance(given, PairwiseLoss):
        return given
    if isinstance(given, str) and given in LOSSES:
        return LOSSES[given]()
    if isinstance(given, str):
        with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError, KeyError):
            name, parameters = parse_call(given)
            loss = {cls.__name__: cls for cls in LOSSES.values()}[name](**parameters)
            if loss_name(loss) not in LOSSES:  # otherwise that is how it is spelled
                return loss
    raise ParameterError("loss", f"must be one of {', '.join(LOSSES)}, or a PairwiseLoss; got {brief(given)}.")


def loss_name(loss: PairwiseLoss) -> str:
    """What a loss is called: 'squared_hinge', 'SquaredHinge(grade_pair_weights=[[0.0, ...], ...])'; parameters that are no numbers, texts or arrays by
    their type."""
    shown = [f"{name}={_plain(value)!r}" for name, value in _parameters(loss).items() if value is not None]
    known = {cls: name for name, cls in LOSSES.items()}
    if not shown and type(loss) in known:
        return known[type(loss)]
    return f"{type(loss).__name__}({', '.join(shown)})"


def loss_identity(loss: PairwiseLoss) -> str:
    """A text that is the same in every process for equal losses, and differs where class, code of the class or parameters differ; one that cannot be pickled
    is like no other."""
    name, cls = loss_name(loss), type(loss)
    if name in LOSSES:
        return name
    try:
        state = pickle.dumps(_parameters(loss), protocol=4)
    except Exception:  # pickling runs code of the parameters
        return f"{name} {uuid.uuid4().hex}"
    try:
        code = inspect.getsource(cls)
    except (OSError, TypeError):  # made in a console
        code = ""
    return f"{cls.__module__}.{cls.__qualname__} {hashlib.sha256(state + code.encode()).hexdigest()}"


def _parameters(loss: PairwiseLoss) -> dict[str, Any]:
    own = {f.name: getattr(loss, f.name) for f in fields(loss)} if is_dataclass(loss) else {}
    return {**own, **getattr(loss, "__dict__", {})}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, int | float | str | bool) else f"<{type(value).__name__}>"
