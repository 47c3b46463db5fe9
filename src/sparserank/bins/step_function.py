"""Step functions: the contributions of features to a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BEYOND = 0.25  # what plots show beyond the steps, relative to their range


@dataclass(frozen=True, eq=False)
class StepFunction:
    """Step function with `values` (n + 1,): the first up to the first of the rising `edges` (n,), the last beyond the
    last; a value equal to an edge is below it."""

    edges: np.ndarray
    values: np.ndarray

    @property
    def begins(self) -> np.ndarray:
        """(n + 1,) where each value begins, from -inf on."""
        return np.concatenate([[-np.inf], self.edges])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.values[np.searchsorted(self.edges, x, side="left")]
        return found

    def step_of(self, x: float) -> tuple[float | None, float | None]:
        """(edge above which the step of a value begins, edge up to which it reaches); None where it has no end."""
        i = int(np.searchsorted(self.edges, x, side="left"))
        low = float(self.edges[i - 1]) if i else None
        return low, float(self.edges[i]) if i < len(self.edges) else None

    def times(self, factor: float) -> StepFunction:
        return StepFunction(self.edges, self.values * factor)

    def outline(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The corners, for plots of values from low to high: two at each edge. Long tails are cut off, because they
        would hide the steps."""
        first = float(self.edges[0])
        last = float(self.edges[-1])
        beyond = BEYOND * (last - first) or abs(first) or high - low
        ends = max(min(low, first), first - beyond), min(max(high, last), last + beyond)
        x = np.concatenate([ends[:1], np.repeat(self.edges, 2), ends[1:]])
        return x, np.repeat(self.values, 2)
