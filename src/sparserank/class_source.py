"""The source of a class: results depend on it, besides the values of its parameters."""

from __future__ import annotations

import inspect


def source_of(cls: type) -> str:
    """The source, or an empty text if it cannot be found, as for a class defined in a console."""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""
