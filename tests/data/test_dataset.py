"""The query container, folds, scaling and synthetic problems."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.data.combine import concatenate
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import FEATURES, ROWS, RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import DataError
from sparserank.losses import SquaredHinge
from sparserank.options.paths import SCALINGS
from sparserank.shards.scaling import fit_scaling
from tests.support.problems import small_problem


def test_rows_in_any_order_are_grouped_stably_and_put_back() -> None:
    X = np.arange(6.0).reshape(6, 1)
    data = RankingDataset(X, [0, 1, 2, 0, 1, 2], np.array(["b", "a", "b", "c", "a", "b"]))
    assert data.query_ids.tolist() == ["b", "a", "c"]
    assert data.query_ptr.tolist() == [0, 3, 5, 6]
    assert data.X[:, 0].tolist() == [0, 2, 5, 1, 4, 3]
    assert data.to_input_order(data.X[:, 0]).tolist() == [0, 1, 2, 3, 4, 5]
    assert data.relevance.tolist() == [0, 2, 2, 1, 1, 0]


def test_grouped_rows_are_not_copied_and_nothing_can_be_written() -> None:
    X = np.random.default_rng(0).standard_normal((5, 2))
    data = RankingDataset(X, [0, 1, 0, 1, 0], [1, 1, 2, 2, 2])
    assert np.shares_memory(data.X, X)
    assert X.flags.writeable
    sparse = RankingDataset(sp.csr_matrix(X), data.relevance, data.qid)
    for array in (data.X, data.relevance, data.query_ptr, sparse.X.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        data.X = X  # type: ignore[misc]


def test_constant_features_are_those_that_no_ranker_can_use() -> None:
    data = small_problem(0)
    per_query = np.asarray(data.qid, dtype=float)[:, None]
    X = np.column_stack([data.X[:, :2], per_query, np.ones(data.n_docs)])
    expected = [False, False, True, True]
    assert RankingDataset(X, data.relevance, data.qid).constant_features().tolist() == expected
    assert RankingDataset(sp.csr_matrix(X), data.relevance, data.qid).constant_features().tolist() == expected


def test_concatenate_joins_queries_with_one_id() -> None:
    a, b = small_problem(1), small_problem(2)
    joined = concatenate([a, b])
    assert joined.n_docs == a.n_docs + b.n_docs
    assert joined.n_queries == len(set(a.query_ids) | set(b.query_ids))
    with pytest.raises(DataError, match="same number of features"):
        concatenate([a, small_problem(1, d=3)])
    apart = concatenate([a, b], join_queries=False)
    assert apart.n_queries == a.n_queries + b.n_queries
    pairs = SquaredHinge().n_pairs
    assert pairs(apart.relevance, apart.query_ptr).sum() == sum(pairs(d.relevance, d.query_ptr).sum() for d in (a, b))


def with_every_field() -> RankingDataset:
    """5 documents of 2 queries, and 3 features."""
    rng = np.random.default_rng(0)
    return RankingDataset(
        rng.standard_normal((5, 3)),
        [2, 0, 1, 0, 1],
        ["a", "a", "b", "b", "b"],
        docid=[*"uvwxy"],
        feature_names=["bm25", "red", "age"],
        comment=[*"12345"],
        doc_weight=[1.0, 2.0, 0.0, 0.5, 3.0],
        fill_values=[0.5, np.nan, 2.0],
        filled=rng.random((5, 3)) < 0.5,
        index_base=1,
        derived={"red": Derived("colour", "red")},
        table=np.array([["red"], ["blue"], [None], ["red"], ["red"]], dtype=object),
        kept_columns={"colour": False},
        booleans=["red"],
        returned=np.array([True, True, False, True, False]),
    )


def same_fields(a: RankingDataset, b: RankingDataset) -> None:
    for name in (field.name for field in fields(RankingDataset)):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_every_field_per_row_and_per_feature_is_named_in_its_table() -> None:
    data = with_every_field()
    held = {field.name: getattr(data, field.name) for field in fields(RankingDataset)}
    assert not [name for name, value in held.items() if value is None]
    arrays = {name: value.shape for name, value in held.items() if isinstance(value, np.ndarray)}
    assert {name for name, shape in arrays.items() if shape[0] == 5} == {"X", "relevance", "qid", "row_index", *ROWS}
    assert {name for name, shape in arrays.items() if shape[-1] == 3 and name != "query_ptr"} == {"X", *FEATURES}


def test_taking_and_joining_rows_or_features_keeps_every_field() -> None:
    data = with_every_field()
    same_fields(concatenate([data.take_queries([0]), data.take_queries([1])]), data)
    same_fields(data.take_features([0, 1, 2]), data)
    turned = data.take_features([2, 0])
    for name in ("X", *FEATURES):
        np.testing.assert_array_equal(getattr(turned, name), getattr(data, name)[..., [2, 0]], err_msg=name)
    assert turned.feature_names == ("age", "bm25")
    assert turned.derived is None


def test_rows_without_a_field_have_its_default_beside_rows_that_have_it() -> None:
    data = with_every_field()
    bare = RankingDataset(data.X, data.relevance, ["c", "c", "d", "d", "d"], fill_values=data.fill_values)
    joined = concatenate([data, bare])
    assert joined.docid is joined.comment is joined.table is None
    assert joined.kept_columns == {}
    assert joined.doc_weight is not None
    assert joined.doc_weight.tolist() == [1.0, 2.0, 0.0, 0.5, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert joined.filled is not None
    assert joined.filled.tolist() == [*np.asarray(data.filled).tolist(), *[[False] * 3] * 5]
    assert joined.returned is not None
    assert joined.returned.tolist() == [True, True, False, True, False, *[True] * 5]


def test_document_ids_are_part_of_a_fingerprint() -> None:
    a = small_problem(1)
    with_ids, other = (
        RankingDataset(a.X, a.relevance, a.qid, np.array([f"{of}{i}" for i in range(a.n_docs)], dtype=object))
        for of in "de"
    )
    assert len({data_hash(d) for d in (a, with_ids, other)}) == 3


def test_folds_are_balanced_disjoint_and_fixed_by_the_seed() -> None:
    fold = query_folds(23, 5, random_state=4)
    assert sorted(np.bincount(fold).tolist()) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, query_folds(23, 5, random_state=4))
    assert not np.array_equal(fold, query_folds(23, 5, random_state=5))
    with pytest.raises(DataError, match="at least 5 queries"):
        query_folds(3, 5)


@pytest.mark.parametrize("method", [m for m in SCALINGS if m != "query-min-max"])
def test_scaling_of_sparse_and_dense_ranks_alike(method: str) -> None:
    data = small_problem(3)
    X = np.abs(data.X) * (np.random.default_rng(0).random(data.X.shape) < 0.6)
    dense, sparse = (RankingDataset(m, data.relevance, data.qid) for m in (X, sp.csr_matrix(X)))
    a, b = (fit_scaling(d, method).apply(d).X for d in (dense, sparse))
    difference = np.asarray(a) - b.toarray()
    np.testing.assert_allclose(difference, np.broadcast_to(difference[0], X.shape), atol=1e-12)  # a shift per feature


def test_within_query_std_ignores_what_queries_share() -> None:
    data = small_problem(4)
    shift = 100.0 * np.asarray(data.qid, dtype=float)[:, None]
    plain, moved = (fit_scaling(RankingDataset(X, data.relevance, data.qid)).scale for X in (data.X, data.X + shift))
    np.testing.assert_allclose(plain, moved, rtol=1e-9)
    by_hand = 0.0
    for q in range(data.n_queries):
        block = data.X[data.query_ptr[q] : data.query_ptr[q + 1], 0]
        by_hand += ((block - block.mean()) ** 2).sum()
    assert plain[0] == pytest.approx(np.sqrt(by_hand / data.n_docs))


def test_a_feature_without_spread_keeps_scale_one_and_one_that_is_too_large_to_scale_is_named() -> None:
    data = RankingDataset(np.array([[1e9, 1.0], [1e9, 2.0]]), [0, 1])
    for method in SCALINGS:
        assert fit_scaling(data, method).scale[0] == 1.0
    a = small_problem(1)
    X = np.array(a.X)
    X[:, 1] *= 1e300
    with pytest.raises(DataError, match="feature f2 cannot be scaled: its spread is"):
        fit_scaling(RankingDataset(X, a.relevance, a.qid))


def test_a_synthetic_problem_has_what_was_asked_for() -> None:
    options = {"n_queries": 30, "docs_per_query": (3, 9), "n_features": 12}
    options |= {"n_informative": 4, "n_redundant": 4, "n_grades": 4}
    problem = sr.datasets.make_ranking(**options)
    sizes = np.diff(problem.data.query_ptr)
    assert sizes.min() >= 3
    assert sizes.max() <= 9
    assert len(set(sizes.tolist())) > 1
    assert set(np.unique(problem.data.relevance)) == {0, 1, 2, 3}
    assert np.array_equal(np.flatnonzero(problem.coef), problem.support)
    assert not set(problem.support) & set(problem.redundant)
    assert np.array_equal(problem.data.X, sr.datasets.make_ranking(**options).data.X)
    clean = sr.datasets.make_ranking(n_queries=20, noise=0.0, query_spread=0.0)
    scores = clean.data.X @ clean.coef
    assert sr.evaluate(scores, clean.data, ["pairwise_error"])["pairwise_error"] == 0.0
    with pytest.raises(DataError, match="n_informative"):
        sr.datasets.make_ranking(n_features=3)


def test_import_is_fast_and_pulls_no_heavy_package() -> None:
    code = (
        "import sys, sparserank; print(sorted({'numba', 'sklearn', 'matplotlib', 'pyarrow', 'scipy'} & "
        "set(sys.modules)))\n"
        "from sparserank import select, fuse, evaluate; print('numba' in sys.modules, 'sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["[]", "True False"]
