"""Compiled functions that other tests reach only through what is built on them, each beside the obvious formula."""

import math
from itertools import pairwise

import numpy as np
import pytest

from sparserank.data import _matrix_kernels
from sparserank.data.letor import _kernels as letor
from sparserank.losses import _grade_sweeps as grades
from sparserank.losses import _sorting_kernels as sorting
from sparserank.losses._sizes import AT_ONCE
from sparserank.metrics._ranking_kernels import order_lists
from sparserank.papers.rls import _kernels as rls
from sparserank.penalties import _scalar_prox as prox
from sparserank.shards import _pass_kernels as passes
from sparserank.shards import _statistics_kernels as statistics
from sparserank.shards import _step_kernels as steps
from tests.oracles import scalars

RNG = np.random.default_rng(5)
SCORES = RNG.integers(-4, 5, 37) / 2.0  # with ties
BY_ROW = np.lexsort((np.arange(37), -SCORES))  # descending, ties by row
KINDS = [
    (prox.prox_elastic, prox.ELASTIC, scalars.elastic(0.4), (0.4, 0.0)),
    (prox.prox_mcp, prox.MCP, scalars.mcp(2.0), (2.0, 0.0)),
    (prox.prox_scad, prox.SCAD, scalars.scad(3.7, 1.0), (3.7, 1.0)),
    (prox.prox_log, prox.LOG, scalars.log(0.1), (0.1, 0.0)),
    (prox.prox_lp, prox.LP, scalars.lp(0.5), (0.5, 0.0)),
    (prox.prox_lp, prox.LP, scalars.lp(0.3), (0.3, 0.0)),
    (prox.prox_smoothed_lp, prox.SMOOTHED_LP, scalars.smoothed_lp(0.5, 0.1), (0.5, 0.1)),
]


@pytest.mark.parametrize(("kernel", "kind", "scalar", "shape"), KINDS)
def test_a_scalar_prox_is_the_minimiser(kernel, kind, scalar, shape) -> None:
    for h in (0.2, 0.9, 4.0):
        for z in (0.05, 0.6, 1.3, 2.2, 7.0):
            expected = scalars.minimiser(scalar, z, h, 0.7)
            if expected.safe > 0:
                tolerance = 4 * expected.added + 1e-15
                assert kernel(z, h, 0.7, *shape) == pytest.approx(expected.x, abs=tolerance), (z, h)
                assert prox.prox_one(kind, -z, h, 0.7, 0.0, *shape) == pytest.approx(-expected.x, abs=tolerance)
            assert prox.prox_one(kind, -z, h, 0.7, 1.0, *shape) == 0.0  # x >= 0
            assert prox.prox_one(kind, z, h, np.inf, 0.0, *shape) == 0.0
    out = np.empty(2)
    prox.prox_all(kind, np.array([7.0, -7.0]), np.ones(2), np.full(2, 0.7), np.array([0.0, 1.0]), *shape, out)
    assert out.tolist() == [prox.prox_one(kind, 7.0, 1.0, 0.7, 0.0, *shape), 0.0]


def test_the_value_of_scad_is_the_integral_of_its_slope() -> None:
    for x in (0.2, 0.7, 1.5, 9.0):
        assert prox._scad_value(x, 0.7, 3.7, 1.0) == pytest.approx(scalars.scad(3.7, 1.0).value(x, 0.7), rel=1e-14)


def test_the_root_of_a_power_is_the_largest() -> None:
    x = prox._power_root(3.0, 0.5, 0.5, 0.1, 0.0)
    assert x - 3.0 + 0.5 * 0.5 * (x + 0.1) ** -0.5 == pytest.approx(0.0, abs=1e-14)


def test_sorts_are_by_descending_score_and_row() -> None:
    for start in (np.arange(37), BY_ROW, RNG.permutation(37)):
        order, ranked = start.astype(np.int32), np.empty(37)
        sorting.sort_descending(SCORES, order, ranked)
        assert order.tolist() == BY_ROW.tolist()
        assert ranked.tolist() == SCORES[BY_ROW].tolist()
        order = start.astype(np.int32)
        sorting._merge_sort(SCORES, order)
        assert order.tolist() == BY_ROW.tolist()
    assert sorting._precedes(np.array([1.0, 1.0, 2.0]), 0, 1)
    assert not sorting._precedes(np.array([1.0, 1.0, 2.0]), 0, 2)
    runs = np.array([2, 0, 1, 3], dtype=np.int32)  # two sorted runs of two
    merged = np.empty(4, dtype=np.int32)
    sorting._merge_runs(np.array([1.0, 3.0, 4.0, 2.0]), runs, merged, 2)
    assert merged.tolist() == [2, 1, 3, 0]
    # Equal scores keep the order of the rows, whatever the sort begins with.
    for start in (np.arange(40), np.arange(40)[::-1]):
        order, ranked = start.astype(np.int32), np.empty(40)
        sorting.sort_descending(np.repeat([1.0, 2.0], 20), order, ranked)
        assert order.tolist() == [*range(20, 40), *range(20)]


def test_lists_are_ordered_by_score_then_second_then_row() -> None:
    second, ptr = RNG.integers(0, 2, 37).astype(float), np.array([0, 0, 1, 20, 37])
    expected = [
        i for lo, hi in pairwise(ptr.tolist()) for i in sorted(range(lo, hi), key=lambda i: (-SCORES[i], second[i], i))
    ]
    assert order_lists(SCORES, second, ptr).tolist() == expected


def test_sums_of_a_tree_are_those_of_a_list() -> None:
    tree, values = np.zeros(10), RNG.normal(size=9)
    count, sums, rows = np.zeros(10), np.zeros((10, 2)), RNG.normal(size=(9, 2))
    for at in range(9):
        sorting.add(tree, 10, at, values[at])
        sorting.add_row(count, sums, at, values[at], rows[at])
    for at in range(10):
        assert sorting.sum_below(tree, at) == pytest.approx(values[:at].sum(), abs=1e-14)
        out, weighted = np.zeros(2), (values[:at, None] * rows[:at]).sum(axis=0)
        sorting.add_partners(count, sums, at, 3.0, rows[0], out)
        assert out == pytest.approx(3.0 * (values[:at].sum() * rows[0] - weighted), abs=1e-13)


def test_partners_of_a_document_are_those_within_a_margin() -> None:
    ranked, raised = np.sort(SCORES)[::-1].copy(), np.sort(SCORES[::3])[::-1].copy()
    begins, ends = np.zeros(37, dtype=np.uint32), np.zeros(len(raised), dtype=np.uint32)
    grades._partners(ranked, 37, raised, len(raised), begins, ends)
    assert ends.tolist() == [(s - ranked < 1.0).sum() for s in raised]
    assert begins.tolist() == [(raised - s >= 1.0).sum() for s in ranked]


def test_sums_by_level_are_those_of_all_documents() -> None:
    levels, table = RNG.integers(0, 3, 37).astype(np.uint32), np.zeros((AT_ONCE + 2, AT_ONCE + 2))
    table[:3, :3] = np.tril(RNG.random((3, 3)), -1)
    sums = np.empty((38, grades.SUMS))
    grades._lower_sums(SCORES, levels, 37, table, 0, sums)
    for c in range(AT_ONCE):
        weights = table[1 + c, levels]
        assert sums[1:, c] == pytest.approx(np.cumsum(weights), abs=1e-13)
        assert sums[1:, AT_ONCE + c] == pytest.approx(np.cumsum(weights * SCORES), abs=1e-13)
    order = np.arange(37, dtype=np.int32)
    doc_weight = RNG.random(37)
    grades._upper_sums(SCORES, order.astype(np.uint32), levels, 37, table, 0, doc_weight, order, sums)
    for c in range(AT_ONCE):
        weights = table[levels, c] * doc_weight
        assert sums[:37, c] == pytest.approx(np.cumsum(weights[::-1])[::-1], abs=1e-13)
        assert sums[:37, AT_ONCE + c] == pytest.approx(np.cumsum((weights * SCORES)[::-1])[::-1], abs=1e-13)
    assert grades._dot(SCORES, doc_weight, 37) == pytest.approx(SCORES @ doc_weight, abs=1e-12)


def test_copies_are_what_was_copied() -> None:
    out = np.empty((2, 3))
    passes._copy(np.arange(6.0).reshape(2, 3), out)
    assert out.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    passes._copy(None, out)
    assert not out.any()
    assert passes._scratch(7, np.zeros((3, 3))).shape[1] == 8
    assert passes._scratch(1, np.zeros((3, 3))).shape[1] == 4
    dense = np.zeros((3, 2))
    _matrix_kernels.scatter_rows(np.array([0, 1, 1, 3]), np.array([1, 0, 1]), np.array([5.0, 6.0, 7.0]), dense)
    assert dense.tolist() == [[0.0, 5.0], [0.0, 0.0], [6.0, 7.0]]


def test_sums_before_a_row_begin_anew_in_each_segment() -> None:
    values, out = np.array([[1.0], [2.0], [4.0], [8.0]]), np.empty((4, 1))
    statistics.sums_before(values, np.array([True, False, True, False]), out)
    assert out.ravel().tolist() == [0.0, 1.0, 0.0, 4.0]


def test_words_for_missing_and_infinite_numbers_are_known() -> None:
    for text, kind in {"nan": 3, "NaN": 3, "NULL": 3, "inf": 1, "Infinity": 1, "nano": 2, "nul": 2}.items():
        letters = np.frombuffer(text.encode(), dtype=np.uint8)
        assert letor._word(letters, 0, len(letters), 0) == kind, text
        assert letor._spells(letters, 0, len(letters), np.frombuffer(b"nan", dtype=np.uint8)) == (text.lower() == "nan")
    signed = np.frombuffer(b"-NULL", dtype=np.uint8)
    assert letor._word(signed, 1, 5, 0) == 2  # no number has this name with a sign


def test_scores_of_steps_are_sums_of_heights() -> None:
    bins = np.array([[0, 2], [1, 0], [3, 3]], dtype=np.uint8)
    W, out = np.array([[1.0, 2.0, 4.0, 0.0, 8.0, 16.0]]), np.zeros((1, 2))
    steps.scores((bins,), 1, 3, W, np.array([0]), out)
    assert out.tolist() == [[1.0, 7.0 + 24.0]]


def test_gains_are_relative_to_the_largest_of_the_query() -> None:
    gains, ideal = np.empty(4), np.empty(2)
    steps.write_gains(np.array([2.0, 0.0, 1.0, 3.0]), np.array([0, 3, 4]), 2, gains, ideal)
    assert gains.tolist() == [0.75, 0.0, 0.25, 0.875]
    assert ideal == pytest.approx([0.75 + 0.25 / math.log2(3.0), 0.875])


def test_random_numbers_are_those_of_splitmix() -> None:
    state, number = steps._next(np.uint64(0))
    assert int(number) == 0xE220A8397B1DCDAF  # the first of seed 0, as published
    assert int(steps._next(state)[1]) == 0x6E789E6AA1B965F4


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_pairs_are_those_of_the_pairs(weighted: bool) -> None:
    n, cutoff = 9, 3
    s, gains = RNG.normal(size=n), np.array([0.0, 1.0, 3.0, 0.0, 1.0, 7.0, 0.0, 3.0, 0.0])
    order, discount, ideal = np.argsort(-s), 1.0 / np.log2(2.0 + np.arange(n)), 11.0
    weight = RNG.random(n) if weighted else np.ones(n)
    g, h, expected, curvature, total = np.empty(n), np.empty(n), np.zeros(n), np.zeros(n), 0.0
    for a, i in enumerate(order):  # with fewer than BELOW documents every pair counts
        for b, j in enumerate(order):
            if gains[i] > gains[j]:
                wrong = 1.0 / (1.0 + math.exp(s[i] - s[j]))
                size = (gains[i] - gains[j]) * abs(discount[a] - discount[b]) / (steps.NEAR + abs(s[i] - s[j]))
                size *= weight[i] / (weight.mean() if weighted else 1.0) / ideal
                total += 2.0 * size * wrong
                expected[[i, j]] += [-size * wrong, size * wrong]
                curvature[[i, j]] += size * wrong * (1.0 - wrong)
    factor = math.log2(1.0 + total) / total
    steps.pair_gradients(s, gains, order, discount, ideal, cutoff, weight if weighted else None, g, h, np.empty((8, n)))
    assert g == pytest.approx(factor * expected, abs=1e-14)
    assert h == pytest.approx(factor * curvature, abs=1e-14)


def test_sums_of_candidates_are_those_of_each_query() -> None:
    X, C, U = RNG.normal(size=(3, 6, 2))
    a, p, y, ptr = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=6), np.array([0, 2, 6])
    XC, Cy, of_query = np.zeros(2), np.zeros(2), np.full((4, 2, 2), np.nan)
    rls.candidate_sums(X, C, U, a, p, y, ptr, 0, 2, XC, Cy, *of_query)
    assert [*XC, *Cy] == pytest.approx([*(X * C).sum(axis=0), *(y @ C)])
    for q, (lo, hi) in enumerate([(0, 2), (2, 6)]):
        u = U[lo:hi]
        expected = [(C[lo:hi] * u).sum(axis=0), a[lo:hi] @ u, p[lo:hi] @ u, (u * u).sum(axis=0)]
        assert of_query[:, q] == pytest.approx(np.array(expected))
    out = np.zeros(2)
    rls.column_product(X, C, 1, ptr, 1, 2, out)
    assert out == pytest.approx(X[2:, 1] @ C[2:])


def test_a_feature_is_added_as_in_lines_23_to_28() -> None:
    C, U = RNG.normal(size=(2, 6, 2))
    a, p, t, ptr = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=2), np.array([0, 2, 6])
    c, d = 0.4, 1.5
    expected = [part.copy() for part in (C, U, a, p)]
    for lo, hi in pairwise(ptr.tolist()):
        C_q, u, a_q = C[lo:hi].copy(), U[lo:hi, 1].copy(), a[lo:hi].copy()
        CU = C_q[:, 1] @ u
        gamma = 1.0 / (CU - 1.0 / c)
        expected[0][lo:hi] -= np.outer(C_q[:, 1], t)
        expected[1][lo:hi] -= np.outer(u, t + gamma * (u @ C_q - CU * t))
        expected[2][lo:hi] -= d * C_q[:, 1]
        expected[3][lo:hi] -= (d + gamma * (u @ a_q - d * CU)) * u
    rls.add_feature(C, U, a, p, 1, c, d, t, ptr, 0, 2, np.empty(2))
    for now, then in zip((C, U, a, p), expected, strict=True):
        assert now == pytest.approx(then, abs=1e-13)


def test_lines_are_parsed_up_to_the_first_bad_one() -> None:
    text = np.frombuffer(b"2 qid:a 1:0.5 3:4 # x\n\n0 qid:b 2:1\nbad qid:b\n", dtype=np.uint8)
    labels, row_ptr, indices, values = (
        np.empty(9),
        np.zeros(9, dtype=np.int64),
        np.empty(9, dtype=np.int32),
        np.empty(9),
    )
    lines, runs = np.empty(9, dtype=np.int64), np.zeros((9, 3), dtype=np.int64)
    comments, slow, info = (
        np.zeros((9, 2), dtype=np.int64),
        np.zeros((9, 3), dtype=np.int64),
        np.zeros(20, dtype=np.int64),
    )
    letor.parse_lines(text, 1, -1, labels, row_ptr, indices, values, lines, runs, comments, slow, info)
    assert labels[:2].tolist() == [2.0, 0.0]
    assert row_ptr[:3].tolist() == [0, 2, 3]
    assert indices[:3].tolist() == [0, 2, 1]
    assert values[:3].tolist() == [0.5, 4.0, 1.0]
    assert lines[:2].tolist() == [0, 2]
    assert info[letor.STATUS] == letor.BAD_LABEL
    assert bytes(text[info[letor.SPAN_START] : info[letor.SPAN_STOP]]) == b"bad"
