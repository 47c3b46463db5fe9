"""Values that the kinds of options refuse."""

from typing import Any

from sparserank.options.kinds import Choice, Count, Flag, Kind, Number, Or, Parsed
from sparserank.options.selection import lengths_of

OF_NAMES = ("nothing", "nothing(3)", 3.5, float("nan"), b"l1")
PARSED: dict[Any, tuple[Any, ...]] = {  # by what parses them, where these names are no wrong ones, or not all
    lengths_of: (0, "three", (0,), (2.5,), (True,), ()),
    "data.missing:MissingPolicy.parse": ("nothing", b"zero", (1, 2)),
    "data.matrices:float_type": ("nothing", "FLOAT32x", "int32", 3.5),
}


def refused(kind: Kind) -> tuple[Any, ...]:
    """Examples of values that the kind refuses."""
    match kind:
        case Count(least, most):
            return (least - 1, most + 1, 10**30, 2.5, "three", True, float("nan"), (1,))
        case Number(above, least, below, most):
            edges = [v for v in (above, below) if v is not None]
            beyond = [v for v in (least and least - 1, most and 2 * most) if v]
            return (*edges, *beyond, -1.0, 1e-200, 1e200, float("nan"), float("inf"), 10**400, "many", True, (1.0,))
        case Choice(words):
            return ("", "nothing", words[0].upper() + "x", 3, True, None, (words[0],))
        case Flag():
            return (2, "yes", None, (True,))
        case Or(word, inner):
            return tuple(v for v in refused(inner) if v != word)
        case Parsed(parse):
            return PARSED.get(parse, OF_NAMES)
    return ()
