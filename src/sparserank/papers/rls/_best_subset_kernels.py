"""Branch and bound over sets of features on a Gram matrix (theory.md section 5, The best set of k features). The nodes
are a stack of arrays, so that a search can be paused and resumed.

Compared with a slow version in tests/paths/test_best_subset.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel

FREE, IN, OUT = 0, 1, 2
AVERAGES = 3  # rounds in which the second bound is tightened
STEP = 0.15  # first step of w towards a ridge solution; round t moves by STEP / t


@kernel
def explained_by(A, b, members, n):
    """(b_S^T A_SS^-1 b_S, its maximiser w_S) for S the first n members; A (d, d) is G + lam I, b (d,)."""
    M = np.empty((n, n))
    v = np.empty(n)
    for i in range(n):
        v[i] = b[members[i]]
        for j in range(n):
            M[i, j] = A[members[i], members[j]]
    w = np.linalg.solve(M, v)
    return (v * w).sum(), w


@kernel
def _top(values, free, n_free, n, members):
    """Write the n free features of the largest values into members; return the sum of those values."""
    order = np.argsort(-values[:n_free])
    total = 0.0
    for i in range(n):
        members[i] = free[order[i]]
        total += values[order[i]]
    return total


@kernel
def _dual_bound(A, b, lam, w, state, free, n_free, left, values, members):
    """Second bound of theory.md section 5: w^T G w + (sum over IN of r_j^2 + the `left` largest r_j^2 of FREE) / lam,
    with r = b - G w, for any w.

    Parameters
        A, b      (d, d) G + lam I, (d,) moments
        w         (d,) any point
        state     (d,) FREE, IN or OUT
        free      (d,) the first n_free entries are the FREE features
        left      number of features that may still enter
        values    (d,) scratch
        members   (d,) output: the first `left` entries are the features of the largest r_j^2
    """
    d = len(b)
    Gw = A @ w - lam * w
    total = (w * Gw).sum()
    inside = 0.0
    for j in range(d):
        if state[j] == IN:
            inside += (b[j] - Gw[j]) ** 2
    for i in range(n_free):
        values[i] = (b[free[i]] - Gw[free[i]]) ** 2
    return total + (inside + _top(values, free, n_free, left, members)) / lam


@kernel
def search(
    A,
    b,
    lam,
    k,
    tie,
    best,
    best_set,
    stack_state,
    stack_inverse,
    stack_bound,
    stack_phase,
    stack_dual,
    top,
    n_nodes,
    ties,
    tie_values,
    n_ties,
):
    """Visit up to n_nodes nodes; returns (depth of the stack, 0: the search is over; best; ties found; nodes visited).

    A node stands for the sets that contain all IN and no OUT features. Its first child includes a branching feature and
    is searched first; the node itself then becomes the second child, without the feature.

    Parameters
        A, b            (d, d) G + lam I, (d,) moments
        lam             ridge parameter > 0
        k               size of the sets
        tie             >= 0, a node is dropped if its bound does not exceed best - tie
        best            value of the best set so far
        best_set        (d,) the best set so far, padded with -1; updated in place
        stack_state     (depth, d) FREE, IN or OUT
        stack_inverse   (depth, d, d) A^-1 on the features that are not OUT, zero rows and columns elsewhere
        stack_bound     (depth,) upper bound of the sets of a node
        stack_phase     (depth,) -1, or the branching feature whose child has been pushed
        stack_dual      (depth, d) the point w of the second bound
        top             number of nodes on the stack
        n_nodes         number of nodes to visit before the search pauses
        ties            (max, k) sets within `tie` of the best when they were found; appended to
        tie_values      (max,) their values
        n_ties          number of them
    """
    d = len(b)
    free, values, drops = np.empty(d, np.int64), np.empty(d), np.empty(d)
    members, chosen = np.empty(d, np.int64), np.empty(d, np.int64)
    visited = 0
    while top > 0 and visited < n_nodes:
        at = top - 1
        state, inverse = stack_state[at], stack_inverse[at]
        visited += 1
        n_in = n_free = 0
        for j in range(d):
            if state[j] == IN:
                chosen[n_in] = j
                n_in += 1
            elif state[j] == FREE:
                free[n_free] = j
                n_free += 1
        left = k - n_in
        # The child that includes the feature is done. Remove the feature from this node: A^-1 on the remaining features
        # is a rank-one downdate.
        if stack_phase[at] >= 0:
            j = stack_phase[at]
            pivot = inverse[j, j]
            for a in range(d):
                if a != j and state[a] != OUT:
                    f = inverse[a, j] / pivot
                    for c in range(d):
                        inverse[a, c] -= f * inverse[j, c]
            for a in range(d):
                inverse[a, j] = 0.0
                inverse[j, a] = 0.0
            state[j] = OUT
            stack_phase[at] = -1
            n_free = 0
            for a in range(d):
                if state[a] == FREE:
                    free[n_free] = a
                    n_free += 1
        # A leaf: only one set is left. Evaluate it, and record it if it is the best or within the tie.
        if left == 0 or n_free <= left:
            n = n_in
            if left > 0:
                for i in range(n_free):
                    chosen[n] = free[i]
                    n += 1
            value, _ = explained_by(A, b, chosen, n)
            if value > best:
                best = value
                best_set[:] = -1
                best_set[:n] = chosen[:n]
            if tie > 0 and value >= best - tie and n_ties < len(ties) and n == k:
                ties[n_ties, :n] = np.sort(chosen[:n])
                tie_values[n_ties] = value
                n_ties += 1
            top -= 1
            continue
        # First bound (theory.md section 5): the solution on all features that are not OUT, minus the out-th smallest
        # cost w_j^2 / (A^-1)_jj of leaving out one FREE feature, because `out` of them have to go.
        w = inverse @ b
        whole = (w * b).sum()
        for i in range(n_free):
            j = free[i]
            drops[i] = w[j] * w[j] / inverse[j, j]
        order = np.argsort(drops[:n_free])
        out = n_free - left
        bound = whole - drops[order[out - 1]]
        if bound > best - tie:
            # Try the set of the IN features and the FREE ones that cost most to leave out.
            for i in range(left):
                chosen[n_in + i] = free[order[n_free - 1 - i]]
            value, v = explained_by(A, b, chosen, k)
            if value > best:
                best = value
                best_set[:k] = chosen[:k]
            # Second bound (theory.md section 5), tightened: w moves towards the ridge solutions of the sets that attain
            # it. These sets are candidates for the best one too.
            mean = stack_dual[at]  # starts at the parent's point, so few steps are enough
            for turn in range(AVERAGES):
                reach = _dual_bound(A, b, lam, mean, state, free, n_free, left, values, members)
                bound = min(bound, reach)
                if bound <= best - tie:
                    break
                for i in range(left):
                    chosen[n_in + i] = members[i]
                value, v = explained_by(A, b, chosen, k)
                if value > best:
                    best = value
                    best_set[:k] = chosen[:k]
                step = STEP / (turn + 1.0)
                mean *= 1.0 - step
                for i in range(k):
                    mean[chosen[i]] += step * v[i]
            # Points between this w and the solution on all features may give a lower bound.
            share = 0.5
            for _ in range(3):
                bound = min(
                    bound,
                    _dual_bound(
                        A, b, lam, (1.0 - share) * mean + share * w, state, free, n_free, left, values, members
                    ),
                )
                share *= 0.5
        # The parent's bound is valid too. Drop the node if it cannot contain a better set or a tie.
        bound = min(bound, stack_bound[at])
        if bound <= best - tie:
            top -= 1
            continue
        # Branch on the FREE feature that costs most to leave out: push the child that includes it.
        stack_bound[at] = bound
        j = free[order[n_free - 1]]
        stack_phase[at] = j
        stack_state[top] = state
        stack_state[top, j] = IN
        stack_inverse[top] = inverse
        stack_dual[top] = stack_dual[at]
        stack_bound[top] = bound
        stack_phase[top] = -1
        top += 1
    return top, best, n_ties, visited
