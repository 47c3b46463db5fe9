"""Losses by name: what users may write for a loss, what files call it, and what tells two of them apart."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from contextlib import suppress

from sparserank.calls import parse_call
from sparserank.class_source import source_of
from sparserank.errors import ParameterError
from sparserank.losses.modified_huber import ModifiedHuber
from sparserank.losses.pairwise import PairwiseLoss, loss_name, parameters_of
from sparserank.losses.squared_hinge import SquaredHinge
from sparserank.quoting import brief

LOSSES: dict[str, type[PairwiseLoss]] = {str(cls.name): cls for cls in (SquaredHinge, ModifiedHuber)}


def parse_loss(given: str | PairwiseLoss) -> PairwiseLoss:
    """The loss of a name as `loss_name` writes it ('squared_hinge', 'SquaredHinge(grade_pair_weights=...)'), or the
    loss itself, somebody else's included.

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


def loss_identity(loss: PairwiseLoss) -> str:
    """A text that is the same in every process for equal losses, and differs where class, code of the class or
    parameters differ; one that cannot be pickled is like no other."""
    name, cls = loss_name(loss), type(loss)
    if name in LOSSES:
        return name
    try:
        state = pickle.dumps(parameters_of(loss), protocol=4)
    except Exception:  # pickling runs code of the parameters
        return f"{name} {uuid.uuid4().hex}"
    digest = hashlib.sha256(state + source_of(cls).encode()).hexdigest()
    return f"{cls.__module__}.{cls.__qualname__} {digest}"
