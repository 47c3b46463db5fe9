"""Sums of squared differences over all pairs: of dense and of sparse rows, against every pair written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparserank.losses import SquaredHinge
from sparserank.shards import as_rows, make_shards
from sparserank.shards import pair_norms as norms

SIZES = [0, 1, 7, 30, 12, 0, 25]
PTR = np.concatenate([[0], np.cumsum(SIZES)])


def by_explicit_pairs(
    X: np.ndarray, grade: np.ndarray, scale: np.ndarray, table: np.ndarray | None, doc_weight: np.ndarray | None
) -> np.ndarray:
    out = np.zeros(X.shape[1])
    for q, size in enumerate(SIZES):
        for i in range(PTR[q], PTR[q] + size):
            for j in range(PTR[q], PTR[q] + size):
                if grade[i] > grade[j]:
                    t = 1.0 if table is None else table[int(grade[i]), int(grade[j])]
                    t *= 1.0 if doc_weight is None else doc_weight[i]
                    out += scale[q] * t * (X[i] - X[j]) ** 2
    return out


def features(rng: np.random.Generator) -> np.ndarray:
    n = PTR[-1]
    query = np.repeat(np.arange(len(SIZES)), SIZES)
    sparse = rng.standard_normal((n, 5)) * (rng.random((n, 5)) < 0.3)
    far = 1e6 + rng.standard_normal(n)
    half_far = np.where(query % 2, 1e6 + rng.standard_normal(n), sparse[:, 0])
    return np.column_stack([sparse, far, half_far, np.full(n, 0.1), query + 0.3, np.zeros(n)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grades", ["few", "table", "many"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_norms_are_those_of_every_pair(kind: str, grades: str, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    X, n = features(rng), PTR[-1]
    grade = rng.random(n).round(2) if grades == "many" else rng.integers(0, 4, n).astype(float)
    table = np.tril(rng.random((4, 4)) + 0.1, -1) * (np.arange(4) != 1) if grades == "table" else None
    doc_weight = rng.random(n) * (rng.random(n) < 0.8) if weighted else None
    scale = rng.random((3, len(SIZES))) * (rng.random((3, len(SIZES))) < 0.7)
    inverse = np.exp(rng.standard_normal((3, X.shape[1])))
    shards = make_shards(
        as_rows(sp.csr_matrix(X) if kind == "csr" else X), grade, PTR, SquaredHinge(table), doc_weight, n_threads=1
    )
    shards.call("set_weights", "key", inverse, per_query=scale)
    ((found, largest, offset),) = shards.call("pair_norms", "key")
    for k in range(3):
        expected = by_explicit_pairs(X * inverse[k], grade, scale[k], table, doc_weight)
        np.testing.assert_allclose(found[k], expected, rtol=1e-9, atol=1e-13)
        assert not found[k, -3:].any()  # constant within every query
        assert not largest[k, -3:].any()
        assert offset[k, 5] > 1e5 * inverse[k, 5]
        assert largest[k, 5] < 10 * inverse[k, 5]


def test_around_zero_the_digits_of_a_far_feature_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the comparison above rejects."""
    X, grade = features(np.random.default_rng(5)), np.random.default_rng(6).integers(0, 2, PTR[-1]).astype(float)
    expected = by_explicit_pairs(X, grade, np.ones(len(SIZES)), None, None)[5]

    def norm() -> float:
        shards = make_shards(as_rows(sp.csr_matrix(X)), grade, PTR, SquaredHinge())
        shards.call("set_weights", "key", None, per_query=np.ones((1, len(SIZES))))
        return float(shards.call("pair_norms", "key")[0][0][0, 5])

    assert norm() == pytest.approx(expected, rel=1e-9)
    centred = norms._sparse_deviations
    monkeypatch.setattr(norms, "_sparse_deviations", lambda X, *rest: centred(X, *rest)._replace(values=X))
    assert norm() != pytest.approx(expected, rel=1e-9)


def test_nothing_dense_is_made_of_wide_rows() -> None:
    rng = np.random.default_rng(7)
    X = sp.random(PTR[-1], 1_000_000, density=5e-5, format="csr", random_state=rng)
    made = norms._sparse_deviations(X, PTR, np.ones(X.shape[0], dtype=bool), np.ones(X.shape[1]))
    assert made.values.nnz == X.nnz
    assert made.largest.nnz <= X.nnz
    shards = make_shards(as_rows(X), rng.integers(0, 3, PTR[-1]).astype(float), PTR, SquaredHinge())
    lists = shards.shards[0]._lists
    assert isinstance(norms._by_table(lists, np.ones(X.shape[0])).cross(made.values), sp.csr_matrix)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_neither_other_queries_nor_other_features_take_digits(kind: str) -> None:
    rng = np.random.default_rng(8)
    n = PTR[-1]
    query = np.repeat(np.arange(len(SIZES)), SIZES)
    grade = rng.random(n)  # more grades than a table holds
    X = rng.standard_normal((n, 3)) * np.array([1e9, 1.0, 1e-7])
    X[query == 3] *= 1e12  # left out below
    scale = np.where(np.arange(len(SIZES)) == 3, 0.0, 1.0)[None, :]
    shards = make_shards(as_rows(sp.csr_matrix(X) if kind == "csr" else X), grade, PTR, SquaredHinge())
    shards.call("set_weights", "key", None, per_query=scale)
    expected = by_explicit_pairs(X, grade, scale[0], None, None)
    np.testing.assert_allclose(shards.call("pair_norms", "key")[0][0][0], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_documents_without_pairs_play_no_part(kind: str) -> None:
    rng = np.random.default_rng(9)
    X, grade = rng.random((PTR[-1], 2)) + 0.1, rng.integers(0, 2, PTR[-1]).astype(float)
    first = PTR[:-1][np.diff(PTR) > 0]
    weight = np.ones(PTR[-1])
    X[first, 0], grade[first], weight[first] = 1e9, 2.0, 0.0
    shards = make_shards(as_rows(sp.csr_matrix(X) if kind == "csr" else X), grade, PTR, SquaredHinge(), weight)
    scale = np.ones((1, len(SIZES)))
    shards.call("set_weights", "key", None, per_query=scale)
    found, largest, offset = (part[0] for part in shards.call("pair_norms", "key")[0])
    np.testing.assert_allclose(found, by_explicit_pairs(X, grade, scale[0], None, weight), rtol=1e-9)
    assert largest.max() < 10
    assert offset.max() < 10
