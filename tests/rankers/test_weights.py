"""Weights that cannot be used are one sentence, wherever they enter."""

from __future__ import annotations

import numpy as np
import pytest

from sparserank.errors import DataError
from sparserank.given_weights import usable_weights
from sparserank.objective import PairwiseObjective

UNUSABLE = [[1.0, np.nan], [1.0, np.inf], [1.0, -1.0], [1.0], [[1.0, 1.0]], 1.0, ["a", "b"], [[1.0], [1.0, 2.0]]]


@pytest.mark.parametrize("given", UNUSABLE, ids=repr)
def test_what_is_no_weight_is_refused(given: object) -> None:
    assert usable_weights(given, 2) is None
    X, y, query_ptr = np.eye(4), np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 2, 4])
    with pytest.raises(DataError, match="query_weight must contain 2 finite weights >= 0, one per query"):
        PairwiseObjective(X, y, query_ptr, query_weight=given)  # type: ignore[arg-type]


def test_zeros_and_integers_are_weights() -> None:
    weights = usable_weights([0, 3], 2)
    assert weights is not None
    np.testing.assert_array_equal(weights, [0.0, 3.0])
    assert weights.dtype == np.float64
