"""Sizes that floating point can work with: beyond, squares and products are no numbers, and no certificate would be true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparserank.errors import DataError

SMALLEST, LARGEST = (
    1e-100,
    1e100,
)  # squares of these, summed and multiplied by each other, stay far from the ends of float64
LARGEST_OFFSET = 1e9  # a value this many times a feature's deviations leaves seven digits of them in a score


def refuse_extreme(deviations: np.ndarray, offsets: np.ndarray, names: Sequence[str] | None) -> None:
    """Refuse features whose scores, or squares, floating point cannot hold.

    Parameters
        deviations, offsets   (n_features,) largest |deviation| within a query (0: constant), largest |value| around which
    Raises
        DataError             names the first such feature
    """
    varies = deviations > 0
    extreme = varies & ~((deviations >= SMALLEST) & (deviations <= LARGEST))
    drowned = varies & (offsets / LARGEST_OFFSET > deviations)
    bad = np.flatnonzero(extreme | drowned)
    if len(bad) == 0:
        return
    j = int(bad[0])
    name = names[j] if names is not None else f"f{j + 1}"
    if extreme[j]:
        raise DataError(
            f"feature {name} varies within queries by {deviations[j]:.3g}; between {SMALLEST:g} and {LARGEST:g} is usable. "
            "Multiply it by a constant, or use a scaling such as within-query-std."
        )
    raise DataError(
        f"feature {name} varies within queries by {deviations[j]:.3g} around {offsets[j]:.3g}: too little of it is left in "
        "floating point. Subtract a constant from it, or leave it out."
    )
