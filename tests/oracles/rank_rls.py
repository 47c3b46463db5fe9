"""RankRLS and its wrappers (Pahikkala 2010) by refitting everything from scratch: nothing from the package.

Scale of lam: the papers'. The objective is the sum over queries of the centred squared error plus lam |w|^2.
Residuals and errors are those of centred labels and centred scores, so a query of one document adds nothing, but a
query whose documents all have one label does (its scores should be equal).

An error counts as smaller than another only if it is smaller by more than TIE, relatively: two columns that are equal
up to the order of their sums are a tie, and ties go to the smaller index.
"""

import numpy as np

TIE = 1e-12


def centred(values, query_ptr):
    """Values, or rows of a matrix, less their mean within each query."""
    out = np.array(values, dtype=np.float64)
    for q in range(len(query_ptr) - 1):
        rows = slice(query_ptr[q], query_ptr[q + 1])
        out[rows] = out[rows] - out[rows].mean(axis=0)
    return out


def ridge(Xc, yc, lam):
    return np.linalg.solve(Xc.T @ Xc + lam * np.eye(Xc.shape[1]), Xc.T @ yc)


def rank_rls(X, y, query_ptr, lam):
    """w of equation (5): centre every query, then ridge regression."""
    return ridge(centred(X, query_ptr), centred(y, query_ptr), lam)


def rank_rls_pairs(X, y, query_ptr, lam):
    """w of equation (3): every ordered pair of documents of a query, i = j and equal labels too, weighs 1/(2 |Q|)."""
    d = X.shape[1]
    gram, moment = lam * np.eye(d), np.zeros(d)
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        for i in rows:
            for j in rows:
                difference = X[i] - X[j]
                gram += np.outer(difference, difference) / (2 * len(rows))
                moment += difference * (y[i] - y[j]) / (2 * len(rows))
    return np.linalg.solve(gram, moment)


def leave_query_out_residuals(X, y, query_ptr, lam):
    """Centred label minus centred score of every document, by the model fitted without the document's query."""
    Xc, yc = centred(X, query_ptr), centred(y, query_ptr)
    residuals = np.zeros(len(yc))
    for q in range(len(query_ptr) - 1):
        held_out = np.zeros(len(yc), dtype=bool)
        held_out[query_ptr[q] : query_ptr[q + 1]] = True
        w = ridge(Xc[~held_out], yc[~held_out], lam)
        residuals[held_out] = yc[held_out] - Xc[held_out] @ w
    return residuals


def leave_query_out_error(X, y, query_ptr, lam):
    return float(np.sum(leave_query_out_residuals(X, y, query_ptr, lam) ** 2))


def subset_error(X, y, query_ptr, lam, features):
    """Leave-query-out error of a set of features; the columns are taken in ascending order,
    so the order is no matter."""
    return leave_query_out_error(X[:, sorted(features)], y, query_ptr, lam)


def varying_features(X, query_ptr):
    """Features with two different values within some query; the others change no ranking and are never candidates."""
    found = []
    for j in range(X.shape[1]):
        for q in range(len(query_ptr) - 1):
            values = X[query_ptr[q] : query_ptr[q + 1], j]
            if len(values) > 0 and min(values) < max(values):
                found.append(j)
                break
    return found


def smaller(error, other):
    return error < other * (1 - TIE)


def smallest(errors):
    """The index with the smallest error in {index: error}; among equals the smallest index."""
    least = min(errors.values())
    return min(j for j, error in errors.items() if not smaller(least, error))


def candidate_list(X, query_ptr, candidates):
    varying = varying_features(X, query_ptr)
    return varying if candidates is None else [j for j in varying if j in set(candidates)]


def greedy(X, y, query_ptr, lam, k, candidates=None):
    """(selected, errors): k times add the feature with which the leave-query-out error is smallest.

    errors[i] is the error of the first i + 1 selected. Fewer than k when the candidates run out.
    """
    allowed = candidate_list(X, query_ptr, candidates)
    selected, errors = [], []
    while len(selected) < min(k, len(allowed)):
        trial = {j: subset_error(X, y, query_ptr, lam, [*selected, j]) for j in allowed if j not in selected}
        best = smallest(trial)
        selected.append(best)
        errors.append(trial[best])
    return selected, errors


def floating(X, y, query_ptr, lam, k, candidates=None):
    """(best, moves): greedy forward selection that drops features again. best[size] = (sorted subset, error).

    The rule. S is the current set, best[m] the best set of size m that has been the current set.
    1. Add to S the feature outside S with which the leave-query-out error is smallest (ties: smaller index).
       If best[|S|] is not there yet, or S has a smaller error, S becomes best[|S|].
    2. Among the features of S other than the one just added in 1., take the one whose removal leaves the smallest
       error (ties: smaller index). If that error is smaller than that of best[|S| - 1], remove it, record
       best[|S|] = S, and repeat 2. (with the same feature protected). Otherwise go on.
    3. Stop when S has k features (or all candidates), otherwise go to 1.

    S is never replaced by an earlier, better set of its size: it goes on from where it is. Sizes are at most k. It
    ends, because every removal improves best[m] for some m. moves is the list of ("add" | "drop", feature).
    Up to the size of the first set that a feature is dropped from, best is never worse than `greedy`; beyond, the
    search goes on from other sets, and nothing is guaranteed.
    """
    allowed = candidate_list(X, query_ptr, candidates)
    current, best, moves = [], {}, []
    while len(current) < min(k, len(allowed)):
        trial = {j: subset_error(X, y, query_ptr, lam, [*current, j]) for j in allowed if j not in current}
        added = smallest(trial)
        current = [*current, added]
        moves.append(("add", added))
        if len(current) not in best or smaller(trial[added], best[len(current)][1]):
            best[len(current)] = (sorted(current), trial[added])
        while len(current) > 1:
            trial = {
                j: subset_error(X, y, query_ptr, lam, [i for i in current if i != j]) for j in current if j != added
            }
            dropped = smallest(trial)
            if not smaller(trial[dropped], best[len(current) - 1][1]):
                break
            current = [i for i in current if i != dropped]
            moves.append(("drop", dropped))
            best[len(current)] = (sorted(current), trial[dropped])
    return best, moves


def backfitting_score(feature, residual, query_ptr, lam):
    """Leave-query-out error of fitting one coefficient to the residual: the coefficient is fitted to the other queries.

    `feature` is centred. The residual is that of the model of all queries: it is not refitted for the left-out query.
    """
    total = 0.0
    for q in range(len(query_ptr) - 1):
        above, below = 0.0, lam
        for other in range(len(query_ptr) - 1):
            if other != q:
                for i in range(query_ptr[other], query_ptr[other + 1]):
                    above += feature[i] * residual[i]
                    below += feature[i] * feature[i]
        for i in range(query_ptr[q], query_ptr[q + 1]):
            total += (residual[i] - feature[i] * above / below) ** 2
    return total


def backfitting(X, y, query_ptr, lam, k, kappa=None, rng=None, candidates=None):
    """(selected, scores, errors): greedy selection that fits only the candidate's coefficient before it chooses.

    At each of k steps the residual is r = y - X w, centred, w the RankRLS fit on the selected features (0 at first).
    scores: `backfitting_score` of the chosen candidate. errors: the leave-query-out error of the selected features
    after all their coefficients are refitted. With kappa, the candidates of a step are those of
    rng.choice(remaining, size=min(kappa, len(remaining)), replace=False), remaining ascending, one call per step (also
    when all remain); with kappa=None all, and rng is not used. Ties go to the smaller index, not to the one drawn
    first.
    """
    allowed = candidate_list(X, query_ptr, candidates)
    Xc, yc = centred(X, query_ptr), centred(y, query_ptr)
    selected, scores, errors = [], [], []
    while len(selected) < min(k, len(allowed)):
        residual = yc
        if selected:
            residual = yc - Xc[:, selected] @ ridge(Xc[:, selected], yc, lam)
        remaining = [j for j in allowed if j not in selected]
        if kappa is not None:
            drawn = rng.choice(remaining, size=min(kappa, len(remaining)), replace=False)
            remaining = [int(j) for j in drawn]
        trial = {j: backfitting_score(Xc[:, j], residual, query_ptr, lam) for j in remaining}
        best = smallest(trial)
        selected.append(best)
        scores.append(trial[best])
        errors.append(subset_error(X, y, query_ptr, lam, selected))
    return selected, scores, errors
