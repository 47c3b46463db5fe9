"""Stability of a selection: the same maker on half of the queries, repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.folded_paths import FOLD_TOL, steps_of
from sparserank.crossval.tasks import FINAL, with_starts_and_refits
from sparserank.crossval.teachers import labels_of
from sparserank.execution import one_blas_thread
from sparserank.paths import BoostedSteps, PathStarts
from sparserank.paths.sizes import point_within
from sparserank.solvers.lockstep import run_all

OF_HALVES = 30  # features that boosted steps on half-samples begin with, unless the chosen model has more
AT_ONCE = 10  # half-samples in lockstep
AT_ONCE_DISTILLED = 2  # each has labels of its own, which take about 15 bytes a document
# Half-sample paths, and the paths that they start from, may end at these multiples of the size sought.
SIZE_LIMIT, SIZE_LIMIT_OF_STARTS = 1.25, 2.0


@dataclass(frozen=True)
class Stability:
    """The features that were selected on half-samples of the queries.

    kept       (n_samples, n_features) bool: the selected features; rows 2i and 2i + 1 are two halves of the same
               queries
    chosen     the features that were selected on all queries, 0-based
    n_varying  number of features that could have been selected
    """

    kept: np.ndarray
    chosen: np.ndarray
    n_varying: int

    @property
    def n_samples(self) -> int:
        return len(self.kept)

    @property
    def frequency(self) -> np.ndarray:
        """(n_features,) selection frequency: share of half-samples on which each feature was selected."""
        return np.asarray(self.kept.mean(axis=0))

    def often(self) -> list[int]:
        """Features that were selected on at least one half-sample, the most frequent first."""
        share = self.frequency
        return [int(j) for j in np.argsort(-share, kind="stable") if share[j] > 0]

    @property
    def index(self) -> tuple[str, float]:
        """('Kuncheva', mean over the complementary pairs) if all sets have one size, else ('Nogueira', over all
        samples). 1: always the same set; 0: as by chance; NaN if every feature was selected, or none."""
        sizes = set(self.kept.sum(axis=1).tolist())
        if len(sizes) == 1:
            return "Kuncheva", kuncheva(self.kept, self.n_varying)
        return "Nogueira", nogueira(self.kept, self.n_varying)


def kuncheva(sets: np.ndarray, n_features: int) -> float:
    """Kuncheva (2007): (r d - k^2) / (k (d - k)), with r shared features, mean over pairs of consecutive rows."""
    k = int(sets[0].sum())
    if not 0 < k < n_features:
        return float("nan")
    shared = (sets[0::2] & sets[1::2]).sum(axis=1)
    return float(np.mean((shared * n_features - k * k) / (k * (n_features - k))))


def nogueira(sets: np.ndarray, n_features: int) -> float:
    """Nogueira, Sechidis and Brown (2018), JMLR 18(174), equation 4, for sets of different sizes."""
    m, share = len(sets), sets.mean(axis=0)
    size = float(sets.sum(axis=1).mean())
    if not 0 < size < n_features or m < 2:
        return float("nan")
    variance = float((m / (m - 1) * share * (1.0 - share)).sum()) / n_features
    return 1.0 - variance / (size / n_features * (1.0 - size / n_features))


def on_halves(
    cv: CrossValidation, candidate_set: CandidateSet, c: Candidate, usable: np.ndarray, n_pairs: int, seed: int
) -> dict[str, np.ndarray]:
    """Run the maker of a candidate on complementary halves of the usable queries (n_queries,) bool, and take the models
    of the candidate's size. Paths end after SIZE_LIMIT times its number of features, and the l1 paths that they start
    from after SIZE_LIMIT_OF_STARTS times. Boosted steps begin with the features of their model on all queries that has
    at most OF_HALVES features. A teacher of half of the queries has no trees.

    Returns `kept` (2 n_pairs, n_features) bool, the features in each half, and `statuses`, how the solves ended.
    """
    work, teacher = cv.works[candidate_set.transform(c)], candidate_set.transform(c).teacher
    of_label = {t.label: t for t in with_starts_and_refits(list(candidate_set.tasks.values()))}
    task, n_sought = of_label[c.penalty], len(candidate_set.features(c, FINAL))
    if isinstance(task.maker, BoostedSteps):
        path = candidate_set.path(c.penalty)
        enough = path.nnz <= max(OF_HALVES, n_sought)
        largest = path.support(int(np.where(enough, path.nnz, 0).argmax()))
        others = np.setdiff1d(np.arange(cv.data.n_features), largest)
        task = replace(task, maker=replace(task.maker, drop=tuple(others.tolist())))
    plan, of_starts = (
        replace(work.path_plan, tol=FOLD_TOL, k=int(limit * n_sought) + 2)
        for limit in (SIZE_LIMIT, SIZE_LIMIT_OF_STARTS)
    )
    width = work.transform.shape.m
    plan = replace(plan, enough=lambda point: cv.size_of(point.coef, width)[0] <= c.k)
    supports, statuses = [], []
    samples = complementary_halves(usable, n_pairs, seed)
    n = AT_ONCE if teacher is None else AT_ONCE_DISTILLED
    for halves in (samples[i : i + n] for i in range(0, len(samples), n)):
        with one_blas_thread():
            labels = None
            if teacher is not None:
                labels = labels_of(work.graded(replace(teacher, trees=None), halves), halves, work.data)
            objectives, scalings = work.on_queries(halves, range(len(halves)), ["one half"] * len(halves), labels)
            tasks = [task] * len(halves)
            if task.start is not None:
                first = run_all([steps_of(of_label[task.start], o, of_starts) for o in objectives])
                tasks = [replace(task, starts=PathStarts(p.alphas, p.sparse_coefs, p.losses)) for p in first]
                statuses += [status for p in first for status in p.statuses]
            paths = work.run([steps_of(t, o, plan) for t, o in zip(tasks, objectives, strict=True)], scalings)
        for path in paths:
            at = point_within(cv.size_of(path.sparse_coefs, path.width), path.ranks, c.k)
            supports.append(np.zeros(0, dtype=np.int64) if at is None else path.support(at))
            statuses += path.statuses
    return {"kept": sets_of(supports, cv.data.n_features), "statuses": np.array(statuses, dtype="U16")}


def complementary_halves(usable: np.ndarray, n_pairs: int, seed: int) -> np.ndarray:
    """(2 n_pairs, n_queries) bool: each pair of rows splits the usable queries (n_queries,) bool in two.

    Source
        Shah and Samworth (2013), complementary pairs stability selection.
    """
    queries = np.flatnonzero(usable)
    rng = np.random.default_rng([seed, 2])
    out = np.zeros((2 * n_pairs, len(usable)), dtype=bool)
    for i in range(n_pairs):
        order = rng.permutation(queries)
        out[2 * i, order[: len(order) // 2]] = True
        out[2 * i + 1, order[len(order) // 2 :]] = True
    return out


def sets_of(supports: Sequence[np.ndarray], n_features: int) -> np.ndarray:
    """(n_samples, n_features) bool from the features of each model."""
    sets = np.zeros((len(supports), n_features), dtype=bool)
    for row, columns in zip(sets, supports, strict=True):
        row[columns] = True
    return sets
