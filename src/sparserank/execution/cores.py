"""The number of cores that this process may use."""

from __future__ import annotations

from functools import cache


@cache
def available_cores() -> int:
    """Cores allowed by affinity and container limits, at least 1."""
    from joblib import cpu_count

    return max(int(cpu_count()), 1)
