"""Magnitudes that floating point can handle: beyond them, squares and products are not finite or vanish,
and no certificate would be true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparserank.errors import DataError
from sparserank.grid import LARGEST, SMALLEST
from sparserank.quoting import brief

LARGEST_OFFSET = 1e9  # a value this many times a feature's deviations leaves seven digits of them in a score


def kept_in_vain(features: Sequence[str]) -> str:
    """The message about features that are to be kept although they vary in no preferred pair."""
    one = len(features) == 1
    return (
        f"{', '.join(map(brief, features))} {'is' if one else 'are'} to be kept, but {'has' if one else 'have'} the "
        "same value in both documents of every preferred pair. The loss therefore determines no weight for "
        f"{'it' if one else 'them'}, and no model uses {'it' if one else 'them'}."
    )


def refuse_extreme(
    deviations: np.ndarray, offsets: np.ndarray, names: Sequence[str] | None, scale: np.ndarray | None = None
) -> None:
    """Refuse features whose scores or squares floating point cannot represent.

    Parameters
        deviations, offsets   (n_features,) largest |deviation| within a query (0: constant), and largest |value| from
                              which features deviate, both divided by scale
        scale                 (n_features,) of the features, so that messages quote the user's numbers; None: 1
    Raises
        DataError             the message names the first such feature
    """
    varies = deviations > 0
    extreme = varies & ~((deviations >= SMALLEST) & (deviations <= LARGEST))
    drowned = varies & (offsets / LARGEST_OFFSET > deviations)
    bad = np.flatnonzero(extreme | drowned)
    if len(bad) == 0:
        return
    j = int(bad[0])
    name = names[j] if names is not None else f"f{j + 1}"
    unit = 1.0 if scale is None else float(scale[j])
    varies_by, offset = deviations[j] * unit, offsets[j] * unit
    if extreme[j]:
        divided = "" if scale is None else f", {deviations[j]:.3g} after its scaling"
        raise DataError(
            f"feature {name} varies within queries by {varies_by:.3g}{divided}; the variation must be between "
            f"{SMALLEST:g} and {LARGEST:g}. Multiply it by a constant, or use a scaling such as within-query-std."
        )
    raise DataError(
        f"feature {name} varies within queries by {varies_by:.3g} around {offset:.3g}, so floating point keeps too "
        "few digits of the variation. Subtract a constant from it, or leave it out."
    )
