"""Products with dense rows, whatever the number of rows and columns: two rows go together in X w, eight in X^T g."""

import numpy as np
import pytest

from sparserank.shards import _dense_kernels as kernels

ALL = np.arange(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 3, 4, 17, 136])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 8, 9, 31, 33, 70])
def test_products_are_those_of_numpy(n_rows: int, n_columns: int, dtype: type) -> None:
    rng = np.random.default_rng(n_rows + n_columns)
    X = rng.standard_normal((n_rows + 5, n_columns)).astype(dtype)
    lo, hi = 3, 3 + n_rows
    W, G = rng.standard_normal((3, n_columns)), rng.standard_normal((3, n_rows))
    G[1, ::2] = 0.0
    scores, gradients = np.full((3, n_rows), np.nan), np.zeros((3, n_columns))
    kernels.scores((X,), lo, hi, W, ALL, scores)
    kernels.transposed((X,), lo, hi, G, ALL, gradients)
    exact = X[lo:hi].astype(np.float64)
    np.testing.assert_allclose(scores, W @ exact.T, rtol=1e-12, atol=1e-13 * n_columns)
    np.testing.assert_allclose(gradients, G @ exact, rtol=1e-12, atol=1e-13 * n_rows)
    for k in range(3):  # alone, to the same bits
        alone, of_one = np.empty((3, n_rows)), np.zeros((3, n_columns))
        kernels.scores((X,), lo, hi, W, ALL[k : k + 1], alone)
        kernels.transposed((X,), lo, hi, G, ALL[k : k + 1], of_one)
        np.testing.assert_array_equal(alone[k], scores[k])
        np.testing.assert_array_equal(of_one[k], gradients[k])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 5, 136, 137])
@pytest.mark.parametrize("n_rows", [2, 5, 8, 11])
def test_a_document_has_one_score_in_every_row(n_rows: int, n_columns: int, dtype: type) -> None:
    rng = np.random.default_rng(n_rows)
    X = np.tile(rng.standard_normal(n_columns).astype(dtype), (n_rows, 1))
    scores, w = np.empty((1, n_rows)), rng.standard_normal((1, n_columns))
    kernels.scores((X,), 0, n_rows, w, ALL[:1], scores)
    assert len(set(scores[0].tolist())) == 1
    X = rng.standard_normal((n_rows, n_columns)).astype(dtype)
    kernels.scores((X,), 0, n_rows, w, ALL[:1], scores)
    for cut in range(1, n_rows):
        part = np.empty((1, n_rows - cut))
        kernels.scores((X,), cut, n_rows, w, ALL[:1], part)
        np.testing.assert_array_equal(part[0], scores[0, cut:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_no_number_stays_visible(dtype: type) -> None:
    X = np.ones((6, 136), dtype=dtype)
    X[1, 7], X[2, 70], X[4, :2] = np.nan, np.inf, (np.inf, -np.inf)
    scores = np.empty((1, 6))
    kernels.scores((X,), 0, 6, np.ones((1, 136)), ALL[:1], scores)
    np.testing.assert_array_equal(scores[0], [136.0, np.nan, np.inf, 136.0, np.nan, 136.0])
