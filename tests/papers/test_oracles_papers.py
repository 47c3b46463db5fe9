"""The slow references of the papers' algorithms against what the papers prove, against each other,
and against mistakes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.oracles import baselines, fenchel_rank, fsm_rank, pairs, rank_rls

SEEDS = [0, 1, 2]


def _problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features in [0, 1] with ties; 4 vary, 1 varies only between queries, 1 is constant.
    No pairs in the last two lists."""
    rng = np.random.default_rng(seed)
    query_ptr = np.cumsum([0, 8, 5, 7, 6, 1])
    X = rng.random((27, 6)).round(1)
    X[:, 3] = np.repeat(rng.random(5), np.diff(query_ptr))
    X[:, 5] = 0.1
    y = np.clip(np.round(2.5 * X[:, 0] - 1.5 * X[:, 2] + 0.8 * rng.standard_normal(27)), 0, 2)
    y[query_ptr[3] : query_ptr[4]] = 1.0
    return X, y, query_ptr


def _correlated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seven features of three sources: the set of greedy selection is often not the best one."""
    rng = np.random.default_rng(seed)
    query_ptr = np.cumsum([0, 4, 5, 3, 4])
    X = (rng.random((16, 3)) @ rng.random((3, 7)) + 0.1 * rng.random((16, 7))).round(2)
    y = np.clip((X @ rng.standard_normal(7) * 2 + rng.standard_normal(16) * 0.2).round(), 0, 2)
    return X, y, query_ptr


def _positive_similarity(X: np.ndarray) -> np.ndarray:
    """Entries in [0, 1], diagonal 1, positive semidefinite: cosines of nonnegative columns."""
    Z = X + 0.01
    Z = Z / np.sqrt(np.sum(Z**2, axis=0))
    return np.minimum(Z.T @ Z, 1.0)


# RankRLS


@pytest.mark.parametrize("seed", SEEDS)
def test_centred_ridge_is_the_pairwise_problem_over_twice_the_list_length(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    w = rank_rls.rank_rls(X, y, query_ptr, 0.7)
    np.testing.assert_allclose(w, rank_rls.rank_rls_pairs(X, y, query_ptr, 0.7), rtol=1e-10, atol=1e-12)
    assert abs(w[3]) < 1e-12
    assert abs(w[5]) < 1e-12
    # Every ordered pair at 1/|Q| instead of 1/(2 |Q|) is the problem of half the lambda.
    assert np.max(np.abs(w - rank_rls.rank_rls_pairs(X, y, query_ptr, 0.35))) > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_hold_out_residuals_are_those_of_theorem_3_1_and_of_the_gram_form(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    lam = 0.3
    residuals = rank_rls.leave_query_out_residuals(X, y, query_ptr, lam)
    Xc, yc = rank_rls.centred(X, query_ptr), rank_rls.centred(y, query_ptr)
    G = np.linalg.inv(Xc @ Xc.T + lam * np.eye(len(y)))
    a = G @ yc
    inverse = np.linalg.inv(Xc.T @ Xc + lam * np.eye(6))
    e = yc - Xc @ (inverse @ Xc.T @ yc)
    for start, stop in itertools.pairwise(query_ptr):
        q = slice(start, stop)
        np.testing.assert_allclose(residuals[q], np.linalg.solve(G[q, q], a[q]), atol=1e-11)
        hat = Xc[q] @ inverse @ Xc[q].T
        np.testing.assert_allclose(residuals[q], np.linalg.solve(np.eye(stop - start) - hat, e[q]), atol=1e-11)
        assert abs(sum(residuals[q])) < 1e-11
    assert np.max(np.abs(residuals - e)) > 1e-3  # the training residuals are another thing
    assert np.max(np.abs(residuals[query_ptr[3] : query_ptr[4]])) > 1e-3  # a list without pairs counts


def _greedy_rankrls_algorithm_1(X, y, query_ptr, lam, k, allowed, whole_columns=False):
    """Algorithm 1 with its misprints repaired. `whole_columns`: line 14 as printed, without the query's rows."""
    Xc, yc = rank_rls.centred(X, query_ptr), rank_rls.centred(y, query_ptr)
    queries = [slice(a, b) for a, b in itertools.pairwise(query_ptr)]
    a, C, U, p = yc / lam, Xc / lam, Xc.copy(), yc.copy()
    selected, errors = [], []

    def factors(i):
        c = 1 / (1 + Xc[:, i] @ C[:, i])
        if whole_columns:
            return c, [1 / (-1 / c + C[:, i] @ U[:, i]) for _ in queries]
        return c, [1 / (-1 / c + C[q, i] @ U[q, i]) for q in queries]

    def held_out(i):
        c, gammas = factors(i)
        d = c * C[:, i] @ yc
        out = p - d * U[:, i]
        for q, gamma in zip(queries, gammas, strict=True):
            out[q] -= gamma * U[q, i] * (U[q, i] @ (a[q] - d * C[q, i]))
        return d, out

    while len(selected) < k:
        errors_of = {i: np.sum(held_out(i)[1] ** 2) for i in allowed if i not in selected}
        b = min(errors_of, key=lambda i: (errors_of[i], i))
        selected.append(b)
        errors.append(errors_of[b])
        c, gammas = factors(b)
        d, p = held_out(b)
        t = c * Xc[:, b] @ C
        for q, gamma in zip(queries, gammas, strict=True):
            correction = gamma * np.outer(U[q, b], U[q, b] @ (C[q] - np.outer(C[q, b], t)))
            U[q] -= np.outer(U[q, b], t) + correction
        a = a - d * C[:, b]
        C = C - np.outer(C[:, b], t)
    return selected, errors


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lam", [0.1, 4.0])
def test_greedy_by_refitting_is_algorithm_1_repaired(seed: int, lam: float) -> None:
    X, y, query_ptr = _problem(seed)
    selected, errors = rank_rls.greedy(X, y, query_ptr, lam, 6)
    assert sorted(selected) == [0, 1, 2, 4]
    expected, expected_errors = _greedy_rankrls_algorithm_1(X, y, query_ptr, lam, 4, [0, 1, 2, 4])
    assert selected == expected
    np.testing.assert_allclose(errors, expected_errors, rtol=1e-10)
    _, wrong = _greedy_rankrls_algorithm_1(X, y, query_ptr, lam, 4, [0, 1, 2, 4], whole_columns=True)
    assert np.max(np.abs(np.array(errors) - wrong)) > 1e-3
    assert rank_rls.greedy(X, y, query_ptr, lam, 2, candidates=[1, 3, 4])[0] in ([1, 4], [4, 1])


def test_ties_go_to_the_smaller_index_even_if_sums_round_differently() -> None:
    X, y, query_ptr = _problem(0)
    best = rank_rls.greedy(X, y, query_ptr, 1.0, 1)[0][0]
    # The copy lies lower by a constant, which centring removes up to rounding, and comes first.
    doubled = np.column_stack([X[:, best] - 0.7, X])
    assert not np.array_equal(rank_rls.centred(doubled, query_ptr)[:, 0], rank_rls.centred(X, query_ptr)[:, best])
    for select in (rank_rls.greedy, rank_rls.backfitting):
        assert select(doubled, y, query_ptr, 1.0, 1)[0] == [0]
        assert select(doubled[:, ::-1], y, query_ptr, 1.0, 1)[0] == [5 - best]


def test_floating_reports_true_errors_and_equals_greedy_until_something_is_dropped() -> None:
    dropped = improved = 0
    for seed in range(1000, 1030):
        X, y, query_ptr = _correlated(seed)
        selected, errors = rank_rls.greedy(X, y, query_ptr, 0.001, 5)
        best, moves = rank_rls.floating(X, y, query_ptr, 0.001, 5)
        assert sorted(best) == [1, 2, 3, 4, 5]
        for size, (subset, error) in best.items():
            assert len(set(subset)) == size
            assert error == rank_rls.leave_query_out_error(X[:, subset], y, query_ptr, 0.001)
        drops = [n for n, move in enumerate(moves) if move[0] == "drop"]
        same_until = drops[0] if drops else 5  # so many features were there at the first drop
        assert [j for _, j in moves[:same_until]] == selected[:same_until]
        for size in range(1, same_until + 1):
            assert best[size][1] <= errors[size - 1] * (1 + 1e-12)
        assert (sum(1 if move == "add" else -1 for move, _ in moves)) == 5
        dropped += bool(drops)
        improved += any(best[size][1] < errors[size - 1] * 0.99 for size in best)
        assert improved <= dropped
    assert improved > 3


def test_floating_may_end_worse_than_greedy_beyond_its_first_drop() -> None:
    """No theorem says otherwise: after a drop the search adds to another set. Pinned, so that nobody asserts it."""
    X, y, query_ptr = _correlated(1018)
    _, errors = rank_rls.greedy(X, y, query_ptr, 0.001, 6)
    best, moves = rank_rls.floating(X, y, query_ptr, 0.001, 6)
    assert moves[:5] == [("add", 0), ("add", 5), ("add", 2), ("add", 1), ("drop", 5)]
    assert best[3][1] < 0.99 * errors[2]
    assert best[6][1] > 1.1 * errors[5]


def test_floating_never_drops_the_feature_of_its_last_addition() -> None:
    """It matters only from the second removal in a row on: here dropping 6 as well would improve on the best set."""
    X, y, query_ptr = _correlated(2068)
    best, moves = rank_rls.floating(X, y, query_ptr, 0.001, 5)
    assert moves[:6] == [("add", 5), ("add", 3), ("add", 2), ("add", 1), ("drop", 5), ("add", 0)]
    assert moves[6:10] == [("add", 6), ("drop", 3), ("drop", 1), ("add", 1)]  # at 0, 2, 6 it stops dropping
    assert rank_rls.leave_query_out_error(X[:, [0, 2]], y, query_ptr, 0.001) < best[2][1]


@pytest.mark.parametrize("seed", SEEDS)
def test_backfitting_starts_like_greedy_and_refits_all_coefficients(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    selected, scores, errors = rank_rls.backfitting(X, y, query_ptr, 0.5, 6)
    first, first_errors = rank_rls.greedy(X, y, query_ptr, 0.5, 1)
    assert selected[:1] == first
    assert scores[0] == pytest.approx(
        first_errors[0], rel=1e-12
    )  # nothing is selected yet: one coefficient is the model
    assert sorted(selected) == [0, 1, 2, 4]
    for size in range(1, 5):
        expected = rank_rls.leave_query_out_error(X[:, selected[:size]], y, query_ptr, 0.5)
        assert errors[size - 1] == pytest.approx(expected, rel=1e-12)
    # The second step's candidate errors from first principles: the residual of all queries, one coefficient per fold.
    Xc, yc = rank_rls.centred(X, query_ptr), rank_rls.centred(y, query_ptr)
    r = yc - Xc[:, first] @ rank_rls.rank_rls(X[:, first], y, query_ptr, 0.5)
    by_hand = {}
    for j in {0, 1, 2, 4} - set(first):
        held_out = rank_rls.leave_query_out_residuals(Xc[:, [j]], r, query_ptr, 0.5)
        by_hand[j] = np.sum(held_out**2)
    assert selected[1] == min(by_hand, key=lambda j: by_hand[j])
    assert scores[1] == pytest.approx(min(by_hand.values()), rel=1e-12)
    # Refitting the selected coefficients without the query too is pre-fitting: another, dearer criterion.
    assert abs(scores[1] - rank_rls.greedy(X, y, query_ptr, 0.5, 2, candidates=selected[:2])[1][1]) > 1e-3


def test_backfitting_draws_its_candidates_from_the_remaining_ones() -> None:
    X, y, query_ptr = _problem(1)
    everything = rank_rls.backfitting(X, y, query_ptr, 0.5, 4)
    assert rank_rls.backfitting(X, y, query_ptr, 0.5, 4, kappa=99, rng=np.random.default_rng(0)) == everything
    rng = np.random.default_rng(5)
    remaining, expected = [0, 1, 2, 4], []
    for _ in range(4):  # kappa = 1: the draw is the choice
        expected.append(int(rng.choice(remaining, size=1, replace=False)[0]))
        remaining.remove(expected[-1])
    assert rank_rls.backfitting(X, y, query_ptr, 0.5, 4, kappa=1, rng=np.random.default_rng(5))[0] == expected


# FenchelRank


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("radius", [0.5, 2.0, 16.0])
@pytest.mark.parametrize("step", ["exact", "closed_form"])
def test_fenchel_rank_keeps_what_the_paper_proves(seed: int, radius: float, step: str) -> None:
    X, y, query_ptr = _problem(seed)
    found = fenchel_rank.fenchel_rank(X, y, query_ptr, radius, 1e-3, 60, step)
    gap, D, steps = np.array(found["gap"]), np.array(found["D"]), len(found["mu"])
    assert steps > 1
    assert len(gap) == len(D) == steps + 1
    assert len(found["feature"]) == len(found["sign"]) == steps
    assert D[0] == pytest.approx(-1.0)
    assert np.all(np.diff(D) >= -1e-15)
    assert np.all(gap[:-1] > 1e-3)
    assert gap[-1] <= 1e-3 or steps == 60
    assert np.sum(np.abs(found["w"])) <= radius * (1 + 1e-12)
    assert set(found["feature"]) <= {0, 1, 2, 4}
    t = np.arange(1, steps + 2)
    best_possible = np.min(D + gap)  # at least D*
    long_run = np.array(fenchel_rank.fenchel_rank(X, y, query_ptr, radius, 1e-12, 250)["D"])
    assert best_possible >= long_run[-1] - 1e-12
    assert np.all(long_run[-1] - D <= gap + 1e-12)  # theorem 2
    assert np.all(best_possible - D <= 16 * radius**2 / (t + 1))  # theorem 1
    assert np.all(gap <= 16 * radius**2 / (t + 1))  # not a theorem for the gap, but far from violated


def test_theorem_1_needs_a_radius_of_at_least_an_eighth_squared() -> None:
    X, y, query_ptr = np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2])
    found = fenchel_rank.fenchel_rank(X, y, query_ptr, 0.2, 1e-9, 10)
    assert found["gap"][0] == pytest.approx(0.4)
    assert found["D"] == pytest.approx([-1.0, -0.64])
    assert found["D"][-1] - found["D"][0] > 16 * 0.2**2 / 2
    assert found["w"] == pytest.approx([0.2])


@pytest.mark.parametrize("seed", SEEDS)
def test_gap_and_objective_in_original_units(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    listed = pairs.pairs_of(y, query_ptr)
    for steps in (0, 1, 4, 9):
        found = fenchel_rank.fenchel_rank(X, y, query_ptr, 4.0, 0.0, steps)
        scores = X @ found["w"]
        g = X.T @ pairs.score_gradient(scores, listed)
        assert found["D"][-1] == pytest.approx(-pairs.loss(scores, listed), rel=1e-12)
        assert found["gap"][-1] == pytest.approx(4.0 * max(abs(g)) + found["w"] @ g, rel=1e-10)
        K = fenchel_rank.pair_rows(X, y, query_ptr)
        d = fenchel_rank.dual_point(K, found["w"] / 4.0, 4.0)
        assert found["gap"][-1] == pytest.approx(fenchel_rank.primal_objective(K, d, 4.0) - found["D"][-1], rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_step_minimises_over_a_fine_grid_and_the_other_is_shorter_in_gain(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    K = fenchel_rank.pair_rows(X, y, query_ptr)
    rng = np.random.default_rng(seed)
    for r in (0.5, 4.0, 64.0):
        w = rng.standard_normal(6)
        w /= 2 * np.sum(np.abs(w))
        d = fenchel_rank.dual_point(K, w, r)
        g = fenchel_rank.edges(K, d)
        j = int(np.argmax(abs(g)))
        b = np.sign(g[j]) * np.eye(6)[j] - w

        def D(mu, w=w, b=b, r=r):
            return fenchel_rank.dual_objective(K, w + mu * b, r)

        mu = fenchel_rank.exact_step(1 / r - K @ w, K @ b)
        assert 0 < mu <= 1
        assert max(D(m) for m in np.linspace(0, 1, 301)) <= D(mu) + 1e-15
        closed = fenchel_rank.closed_form_step(d, K @ b, r)
        assert D(0) < D(closed) <= D(mu) + 1e-15
        # A step away from the edge of the wrong sign cannot gain anything.
        away = -np.sign(g[j]) * np.eye(6)[j] - w
        assert D(fenchel_rank.exact_step(1 / r - K @ w, K @ away), b=away) < D(mu)
        # As printed: max(min(0, .), 1) is always 1; without p / (2 r^2) the step is of another size.
        assert D(1.0) < D(closed) or closed == 1.0
    assert fenchel_rank.exact_step(np.array([-1.0, -2.0]), np.array([1.0, 1.0])) == 0.0
    assert fenchel_rank.exact_step(np.array([1.0]), np.array([4.0])) == 0.25  # the smallest of all that reach 0
    assert fenchel_rank.exact_step(np.array([1.0]), np.array([0.5])) == 1.0


def test_the_printed_closed_forms_lose_what_the_repaired_one_keeps() -> None:
    X, y, query_ptr = _problem(0)
    K = fenchel_rank.pair_rows(X, y, query_ptr)
    r = 64.0

    def run(rule):
        w, D = np.zeros(6), []
        for _ in range(10):
            D.append(fenchel_rank.dual_objective(K, w, r))
            d = fenchel_rank.dual_point(K, w, r)
            g = fenchel_rank.edges(K, d)
            j = int(np.argmax(abs(g)))
            b = np.sign(g[j]) * np.eye(6)[j] - w
            w = w + rule(d, K @ b) * b
        return np.array(D)

    assert np.all(np.diff(run(lambda d, kb: fenchel_rank.closed_form_step(d, kb, r))) >= 0)
    assert np.any(np.diff(run(lambda d, kb: max(min(0.0, d @ kb / (kb @ kb)), 1.0))) < 0)
    assert np.any(np.diff(run(lambda d, kb: min(max(d @ kb / (kb @ kb), 0.0), 1.0))) < 0)


def test_equal_columns_are_taken_in_order_and_a_zero_edge_is_positive() -> None:
    X, y, query_ptr = _problem(2)
    best = fenchel_rank.fenchel_rank(X, y, query_ptr, 2.0, 0.0, 1)["feature"][0]
    doubled = np.column_stack([X, X[:, best], X[:, best]])
    assert fenchel_rank.fenchel_rank(doubled, y, query_ptr, 2.0, 0.0, 1)["feature"] == [best]
    assert fenchel_rank.fenchel_rank(doubled[:, ::-1], y, query_ptr, 2.0, 0.0, 1)["feature"] == [0]
    nothing = fenchel_rank.fenchel_rank(np.ones((2, 3)), np.array([1.0, 0.0]), np.array([0, 2]), 2.0, -1.0, 2)
    assert (nothing["feature"], nothing["sign"], nothing["gap"]) == ([0, 0], [1, 1], [0.0, 0.0, 0.0])


# FSMRank


@pytest.mark.parametrize("seed", SEEDS)
def test_importance_and_similarity_are_absolute_correlations(seed: int) -> None:
    X, y, _ = _problem(seed)
    s, A = fsm_rank.pearson_importance(X, y), fsm_rank.pearson_similarity(X)
    expected = np.abs(np.corrcoef(np.column_stack([X[:, :5], y]), rowvar=False))
    np.testing.assert_allclose(s[:5], expected[5, :5], atol=1e-14)
    np.testing.assert_allclose(A[:5, :5], expected[:5, :5], atol=1e-14)
    assert s[5] == 0
    assert not A[5].any()
    assert not A[:, 5].any()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.1, 0.01), (2.0, 0.001), (0.0, 0.02)])
def test_fsm_rank_keeps_what_the_paper_proves(seed: int, split: bool, lambda1: float, lambda2: float) -> None:
    X, y, query_ptr = _problem(seed)
    s, A = fsm_rank.pearson_importance(X, y), _positive_similarity(X)
    found = fsm_rank.fsm_rank(X, y, query_ptr, lambda1, lambda2, s, A, max_iter=60, tol=0.0, split=split)
    L0 = (4 + 2 * lambda1) * 6
    L, F = np.array(found["L"]), np.array(found["objective"])
    assert F[0] == 1.0
    assert len(F) == len(L) + 1
    assert np.all(L <= L0)
    assert np.all(np.diff(L) >= 0)
    assert set(L) <= {L0 / 2**n for n in range(11)}
    assert found["w"][5] == 0
    # The first step: every smaller constant of the sequence lies above the parabola, by plain differences.
    problem = fsm_rank.Problem(X, y, query_ptr, lambda1, lambda2, s, A, split)
    zero = np.zeros(len(problem.s))
    for smaller in [L0 / 2**n for n in range(11)]:
        new = problem.projection(zero, problem.gradient(zero), smaller)
        above = problem.smooth(new) - problem.smooth(zero) - problem.gradient(zero) @ new
        assert (above <= smaller / 2 * (new @ new) * (1 + 1e-9)) == (smaller >= L[0])
    w, least = fsm_rank.optimum(X, y, query_ptr, lambda1, lambda2, s, A, split=split)
    t = np.arange(1, len(F))
    assert np.all(F[1:] - least <= 2 * L0 * (w @ w) / (t + 1) ** 2 + 1e-12)  # theorem 2
    assert np.all(F[1:] - least <= 2 * L * (w @ w) / (t + 1) ** 2 + 1e-12)  # and its sharper form
    assert np.all(F - least >= -1e-12)
    assert F[-1] - least < 1e-3
    early = fsm_rank.fsm_rank(X, y, query_ptr, lambda1, lambda2, s, A, split=split)
    assert early["objective"] == found["objective"][: len(early["objective"])] or len(early["L"]) > 60
    changes = np.abs(np.diff(early["objective"])) / early["objective"][:-1]
    assert np.all(changes[:-1] > 1e-4)
    assert changes[-1] <= 1e-4


def test_the_first_lipschitz_constant_is_tried_as_it_is() -> None:
    X, y, query_ptr = _problem(0)
    found = fsm_rank.fsm_rank(X / 100, y, query_ptr, 0.0, 1e-4, np.ones(6), np.eye(6), max_iter=3)
    assert found["L"] == [24.0 / 1024] * 3


@pytest.mark.parametrize("split", [True, False])
def test_the_pieces_of_fsm_rank(split: bool) -> None:
    X, y, query_ptr = _problem(1)
    s, A = fsm_rank.pearson_importance(X, y), fsm_rank.pearson_similarity(X)
    problem = fsm_rank.Problem(X, y, query_ptr, 0.7, 0.3, s, A, split)
    rng = np.random.default_rng(3)
    for scale in (0.1, 1.0, 10.0):
        w, z = scale * rng.standard_normal((2, len(problem.s)))
        g = problem.gradient(z)
        differences = [(problem.smooth(z + h) - problem.smooth(z - h)) / 2e-6 for h in 1e-6 * np.eye(len(z))]
        np.testing.assert_allclose(g, differences, atol=1e-5 * scale)
        tangent = problem.smooth(z) + g @ (w - z)
        assert problem.beyond_the_tangent(w, z) == pytest.approx(problem.smooth(w) - tangent, rel=1e-8)
        new = problem.projection(z, g, 5.0)

        def model(v, z=z, g=g):
            usable = problem.s > 0
            return g @ (v - z) + 2.5 * np.sum((v - z) ** 2) + 0.3 * np.sum(np.abs(v[usable]) / problem.s[usable])

        usable = np.flatnonzero(problem.s > 0)
        for i, change in itertools.product(usable, (-1e-4, 1e-4)):
            other = new + change * np.eye(len(z))[i]
            if not (split and other[i] < 0):
                assert model(other) >= model(new)
        assert not new[problem.s == 0].any()
        assert not split or np.all(new >= 0)
        assert model(problem.projection(z, -g, 5.0)) > model(new)  # the wrong sign of the gradient


@pytest.mark.parametrize("seed", SEEDS)
def test_optimum_has_no_better_neighbour_and_the_two_forms_are_two_problems(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    X = X.copy()
    X[:, 4] = np.clip(X[:, 0] + 0.3 * X[:, 4] - 0.1, 0, 1)  # similar to a good feature: weights of both signs
    s, A = np.ones(6), _positive_similarity(X)
    results = {split: fsm_rank.optimum(X, y, query_ptr, 0.05, 1e-3, s, A, split=split) for split in (True, False)}
    signed = fsm_rank.Problem(X, y, query_ptr, 0.05, 1e-3, s, A, split=False)
    absolute = fsm_rank.Problem(X, y, query_ptr, 0.0, 1e-3, s, A, split=False)

    def of_absolute(w):
        return absolute.objective(w) + 0.05 / 2 * (np.abs(w) @ A @ np.abs(w))

    for split, objective in ((True, of_absolute), (False, signed.objective)):
        w, least = results[split]
        assert objective(w) == pytest.approx(least, abs=1e-12)
        rng = np.random.default_rng(seed)
        for change in rng.standard_normal((100, 6)):
            assert objective(w + 1e-3 * change) >= least
    assert min(results[True][0]) < 0 < max(results[True][0])
    assert results[True][1] > results[False][1] + 1e-4  # |w|^T A |w| is larger where signs differ
    same = [fsm_rank.optimum(X, y, query_ptr, 0.05, 1e-3, s, np.eye(6), split=split) for split in (True, False)]
    np.testing.assert_allclose(same[0][0], same[1][0], atol=1e-9)


def test_a_smooth_part_without_its_half_breaks_the_tangent_test() -> None:
    """lambda1 w^T A w in place of lambda1/2: another curvature, another L, another model."""
    X, y, query_ptr = _problem(0)
    s, A = fsm_rank.pearson_importance(X, y), _positive_similarity(X)
    right = fsm_rank.optimum(X, y, query_ptr, 0.5, 0.01, s, A)
    wrong = fsm_rank.optimum(X, y, query_ptr, 1.0, 0.01, s, A)
    found = fsm_rank.fsm_rank(X, y, query_ptr, 0.5, 0.01, s, A, tol=1e-10)
    np.testing.assert_allclose(found["w"], right[0], atol=1e-3)
    assert np.max(np.abs(found["w"] - wrong[0])) > 1e-2


# The others


def test_gas_e_by_hand() -> None:
    similarity = np.array([[1.0, 0.9, 0.1, 0.5], [0.9, 1.0, 0.2, 0.5], [0.1, 0.2, 1.0, 0.5], [0.5, 0.5, 0.5, 1.0]])
    importance = [0.8, 0.75, 0.5, 0.5]
    assert baselines.gas_e(importance, similarity, 4, 0.0) == [0, 1, 2, 3]
    # c = 0.25: after 0 the others have 0.30, 0.45, 0.25; after 2: 0.20 and 0.00.
    assert baselines.gas_e(importance, similarity, 4, 0.25) == [0, 2, 1, 3]
    # Subtracting c e instead of 2 c e is the search of half the c: 0.525 against 0.475.
    assert baselines.gas_e(importance, similarity, 4, 0.125) == [0, 1, 2, 3]
    assert baselines.gas_e(importance, similarity, 2, 0.25) == [0, 2]


def test_concordance_by_hand() -> None:
    X = np.array([[1, 1, 3], [2, 2, 2], [3, 3, 1], [0, 1, 1], [0, 1, 2], [9, 9, 9.0]])
    query_ptr = np.array([0, 3, 5, 6])
    e = baselines.kendall_concordance(X, query_ptr)
    assert np.array_equal(np.diag(e), np.ones(3))
    assert np.array_equal(e, e.T)
    assert e[0, 1] == 1.0  # all alike, the tied pair of the second list too
    assert e[0, 2] == 0.0  # all reversed; the pair that only one ties is not alike. A tau would be negative.
    X[2, 1] = 0
    assert baselines.kendall_concordance(X, query_ptr)[0, 1] == (1 / 3 + 1) / 2
    random = np.random.default_rng(0).random((8, 2))
    concordant = baselines.kendall_concordance(random, [0, 8])[0, 1]
    reversed_ = baselines.kendall_concordance(random * [1, -1], [0, 8])[0, 1]
    assert concordant + reversed_ == 1.0


def test_modified_huber_joins_smoothly_and_bounds_nothing_more_than_linearly() -> None:
    assert [baselines.modified_huber(t) for t in (-3.0, -1.0, 0.0, 1.0, 2.0)] == [12.0, 4.0, 1.0, 0.0, 0.0]
    for t in np.linspace(-4, 3, 71) + 1e-3:
        slope = (baselines.modified_huber(t + 1e-6) - baselines.modified_huber(t - 1e-6)) / 2e-6
        assert baselines.modified_huber_derivative(t) == pytest.approx(slope, abs=1e-5)
        assert baselines.modified_huber(t) <= max(0.0, 1 - t) ** 2
    for t in (-1.0, 1.0):
        assert baselines.modified_huber(t - 1e-12) == pytest.approx(baselines.modified_huber(t), abs=1e-10)
        assert baselines.modified_huber_derivative(t - 1e-12) == pytest.approx(
            baselines.modified_huber_derivative(t), abs=1e-10
        )


def test_rsrank_objective_by_hand() -> None:
    X, y = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [5.0, 5.0]]), np.array([1.0, 0.0, 0.0, 2.0])
    W = np.zeros((4, 4))
    W[0, 1], W[0, 2], W[3, 0] = 3.0, 0.5, 100.0  # 3 is of another query
    w = np.array([-1.0, 1.0])
    # Differences (2, -1) and (1, -1): margins -3 and -2.
    assert baselines.rsrank_objective(X, y, [0, 3, 4], w, 0.1, W) == pytest.approx(2 + 0.1 * (3 * 12 + 0.5 * 8))
    assert baselines.rsrank_objective(X, y, [0, 3, 4], -w, 0.1, W) == pytest.approx(2.0)  # margins 3 and 2


@pytest.mark.parametrize("seed", SEEDS)
def test_truncated_gradient_of_window_one_ends_at_the_l1_minimum(seed: int) -> None:
    X, y, query_ptr = _problem(seed)
    alpha, step = 0.03, 0.4
    w, least = fsm_rank.optimum(X, y, query_ptr, 0.0, alpha, np.ones(6), np.eye(6), split=False)
    values = []
    for iterations in (0, 1, 5, 25, 500):
        found = baselines.truncated_gradient(X, y, query_ptr, alpha, step, 1, iterations)
        values.append(baselines.l1_squared_hinge(X, y, query_ptr, found, alpha))
    assert values[0] == pytest.approx(1.0)
    assert np.all(np.diff(values) < 1e-15)
    assert values[-1] == pytest.approx(least, abs=1e-4)
    # FenchelRank with the radius of that minimum has the same loss (section 0 of the design: r = |w_alpha|_1).
    radius = np.sum(np.abs(w))
    fenchel = fenchel_rank.fenchel_rank(X, y, query_ptr, radius, 1e-4, 200)
    loss = least - alpha * radius
    assert -fenchel["D"][-1] - fenchel["gap"][-1] - 1e-12 <= loss <= -fenchel["D"][-1] + 1e-12
    assert fenchel["gap"][-1] < 2e-2


def test_truncated_gradient_shrinks_by_the_gravity_of_the_whole_window() -> None:
    X, y, query_ptr = np.array([[1.0, 0.0], [0.0, 0.25]]), np.array([1.0, 0.0]), np.array([0, 2])
    # One pair, difference (1, -1/4), step 1/4: h = 1, then 1 - (1/2 + 1/32) = 15/32.
    before = np.array([1.0, -0.25]) * (0.5 + 0.5 * 15 / 32)
    run = baselines.truncated_gradient
    np.testing.assert_allclose(run(X, y, query_ptr, 0.1, 0.25, 3, 2), before)  # not yet
    np.testing.assert_allclose(run(X, y, query_ptr, 0.1, 0.25, 2, 2), before - [0.05, -0.05])
    # Gravity 0.2 stops the second weight, 0.18, at 0; a gravity of one step, 0.1, would not.
    np.testing.assert_allclose(run(X, y, query_ptr, 0.4, 0.25, 2, 2), [before[0] - 0.2, 0.0])
    assert not run(X, y, query_ptr, 9.0, 0.25, 2, 2).any()
