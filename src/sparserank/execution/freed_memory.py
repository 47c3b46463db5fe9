"""Memory that Python has freed and the C library still holds."""

from __future__ import annotations

import ctypes


def return_freed_memory() -> None:
    """Return freed memory to the system, where the C library offers it (glibc); elsewhere nothing happens.

    Arrays below 32 MB lie between small objects, and glibc keeps their place when they are freed, for arrays like them.
    After many of them this can be as much as what is in use. Takes milliseconds.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; TypeError: Windows
        return
    trim(0)
