"""Checks of numbers that users pass: weights, values, and magnitudes that floating point can handle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.text import brief

# sums and products of their squares stay well within the range of float64
SMALLEST = 1e-100
LARGEST = 1e100
LARGEST_OFFSET = 1e9  # an offset this many times a feature's deviations leaves them seven digits in a score


def rounded(values: np.ndarray, digits: int | None) -> np.ndarray:
    """The numbers (n,) with so many significant digits; None: unchanged."""
    return values if digits is None else np.array([float(f"{v:.{digits - 1}e}") for v in values.tolist()])


def clause_sums(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) sums of values (n, k) times weights (k,), as search engines add the scores of clauses (Lucene, BooleanScorer
    and DisjunctionSumScorer): each product in single precision, their sum in double, the score in single."""
    with np.errstate(over="ignore"):
        products = (values * weights.astype(np.float32)).astype(np.float32)
        return products.sum(axis=1, dtype=np.float64).astype(np.float32).astype(np.float64)


def as_floats(given: Any) -> np.ndarray:
    """`given` as float64; TypeError, ValueError or OverflowError if it contains anything but real numbers."""
    read = np.asarray(given)
    if read.dtype.kind in "mMc" or any(isinstance(one, complex) for one in (read.flat if read.dtype == object else ())):
        raise TypeError("dates, durations and complex numbers are not real numbers")
    return read.astype(np.float64, copy=False)


def as_real(given: Any) -> float:
    """A real number as a float; NaN for anything else: text, a bool, an integer beyond the range of floats."""
    if isinstance(given, bool) or not isinstance(given, Real):
        return math.nan
    try:
        return float(given)
    except OverflowError:
        return math.nan


def finite_numbers(given: Any, n: int) -> np.ndarray | None:
    """`given` as finite (n,) float64, or None if that is not possible; the caller raises and names the parameter."""
    try:
        numbers = as_floats(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if numbers.shape == (n,) and np.isfinite(numbers).all() else None


def is_written_number(text: str) -> bool:
    """Whether a text is a number, which may be nan or inf."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def usable_weights(given: Any, n: int) -> np.ndarray | None:
    """`given` as (n,) float64, finite and >= 0, or None if it is anything else."""
    weights = finite_numbers(given, n)
    return weights if weights is not None and (weights >= 0).all() else None


def checked_weights(name: str, given: Any, n: int, expected: str = "") -> np.ndarray:
    """As `usable_weights`, with an error that says what the parameter must contain: `expected`, by default weights of
    queries.

    Raises
        ParameterError   `given` is anything else
    """
    weights = usable_weights(given, n)
    if weights is None:
        raise ParameterError(name, f"must contain {expected or f'{n} finite weights >= 0, one per query'}.")
    return weights


def kept_in_vain(kept: Iterable[Any], columns: Sequence[str], varying: np.ndarray) -> str:
    """The message about columns that are to be kept although none of their features varies in a preferred pair; "" if
    there is none.

    Parameters
        kept      numbers of features; columns (n_features,) the column that each is made from
        varying   (n_features,) bool
    """
    numbers = [int(j) for j in kept]
    of_use = {columns[j] for j in numbers if varying[j]}
    in_vain = [column for column in dict.fromkeys(columns[j] for j in numbers) if column not in of_use]
    if not in_vain:
        return ""
    one = len(in_vain) == 1
    return (
        f"{', '.join(map(brief, in_vain))} {'is' if one else 'are'} to be kept, but {'has' if one else 'have'} the "
        "same value in both documents of every preferred pair. The loss therefore determines no weight for "
        f"{'it' if one else 'them'}, and no model uses {'it' if one else 'them'}."
    )


def refuse_extreme(
    deviations: np.ndarray, offsets: np.ndarray, names: Sequence[str], scale: np.ndarray | None = None
) -> None:
    """Refuse features whose scores or squares floating point cannot represent.

    Parameters
        deviations, offsets   (n_features,) largest |deviation| within a query (0: constant), and largest |value| around
                              which a feature varies, both divided by scale
        scale                 (n_features,) divisors, so that messages can quote unscaled values; None: 1
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
    name = names[j]
    unit = 1.0 if scale is None else float(scale[j])
    varies_by = deviations[j] * unit
    offset = offsets[j] * unit
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
