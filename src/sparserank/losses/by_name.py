"""Losses by name: names in calls and files, and the identity of a loss."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from contextlib import suppress

from sparserank.errors import ParameterError
from sparserank.losses.pairwise import PairwiseLoss, loss_name, parameters_of
from sparserank.losses.squared_hinge import SquaredHinge
from sparserank.options.arguments import check_arguments
from sparserank.options.option import REMOVED
from sparserank.text import brief, parse_call, source_of

LOSSES: dict[str, type[PairwiseLoss]] = {str(cls.name): cls for cls in (SquaredHinge,)}
FORMER = ("modified_huber", "ModifiedHuber")  # names of the loss that was removed, and of its class


def parse_loss(given: str | PairwiseLoss) -> PairwiseLoss:
    """Create a loss from its name.

    Parameters
    ----------
    given : str or PairwiseLoss
        A name in the form of `loss_name`, or a loss, which is returned unchanged.

    Returns
    -------
    PairwiseLoss
        The loss.

    Raises
    ------
    ParameterError
        The value is neither a name nor a loss.

    Examples
    --------
    >>> from sparserank.losses import parse_loss
    >>> parse_loss("squared_hinge")
    squared_hinge
    """
    if isinstance(given, PairwiseLoss):
        return given
    if isinstance(given, str) and given in LOSSES:
        return LOSSES[given]()
    if isinstance(given, str) and given.partition("(")[0] in FORMER:
        raise ParameterError("loss", f"{FORMER[0]} {REMOVED}.")
    if isinstance(given, str):
        with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError, KeyError):
            name, parameters = parse_call(given)
            loss = {cls.__name__: cls for cls in LOSSES.values()}[name](**parameters)
            if loss_name(loss) not in LOSSES:  # otherwise only the name in LOSSES is valid
                return loss
    raise ParameterError("loss", f"must be {', '.join(LOSSES)}, or a PairwiseLoss; got {brief(given)}.")


def loss_identity(loss: PairwiseLoss) -> str:
    """Return a string that identifies a loss in every process.

    Parameters
    ----------
    loss : PairwiseLoss
        The loss.

    Returns
    -------
    str
        Equal for equal losses; different if the class, its code or the parameters differ. A loss that cannot be pickled
        equals no other.

    Examples
    --------
    >>> from sparserank.losses import SquaredHinge, loss_identity
    >>> loss_identity(SquaredHinge()) == loss_identity(SquaredHinge())
    True
    """
    check_arguments(loss_identity, locals())
    name = loss_name(loss)
    cls = type(loss)
    if name in LOSSES:
        return name
    try:
        state = pickle.dumps(parameters_of(loss), protocol=4)
    except Exception:  # pickling runs arbitrary code
        return f"{name} {uuid.uuid4().hex}"
    digest = hashlib.sha256(state + source_of(cls).encode()).hexdigest()
    return f"{cls.__module__}.{cls.__qualname__} {digest}"
