"""Estimates of the loss's Hessian for solvers: exact, or from a sample of whole queries, corrected by observed
steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.solvers.lockstep import Hessian, Steps
from sparserank.solvers.solution import Iterate

# The first Hessian may cost documents * columns^2 operations: up to MIN_WORK or, if that is more, up to
# WORK_PER_DOCUMENT per document, which is less work than a pass over all columns. If all documents would cost more, a
# sample of them is used.
MIN_WORK = 1e7
WORK_PER_DOCUMENT = 60.0
DOCUMENTS_PER_COLUMN = 40  # smallest sample, whatever its cost: fewer documents cannot determine the Hessian
SAMPLED_SHARE = 0.5  # if a sample would contain a larger share of the documents, all are used
SAMPLE_GROWTH = 3.0  # factor by which a sample grows if it hardly helped
MOST = 9.0  # largest sample, in multiples of the first
MAX_COLUMN_GROWTH = 1.5  # columns needed later are included if they increase the number by at most this factor
POINTS = 8  # last points whose samples are averaged
SAMPLED_VALUES = 1.0  # feature values that each sample reads, per document of the data: about a tenth of a pass
AVERAGED_DOCUMENTS_PER_COLUMN = 20  # smallest number of documents per column in an average
BYTES = 8 << 20  # memory of the averaged Hessians, unless the last one alone is larger
MAX_GROWTH = 1.5  # largest credible growth of a path's steps from one to the next
MEMORY = 5  # number of steps that correct a fresh sample
MIN_CURVED = 1e-3  # a step is ignored if the loss curves along it by less than this share of the model's prediction


class Samples:
    """Hessians of one objective at the last points of a path from which steps were taken, each from a different sample
    of queries.

    From one strength to the next the Hessian changes by one or two percent, less than the error of a sample of some
    hundred queries, so the mean of several samples is more accurate than the last one.
    """

    def __init__(self, objective: PairwiseObjective) -> None:
        self._objective = objective
        self._known: list[tuple[np.ndarray, np.ndarray, int]] = []  # columns, Hessian, documents

    def add(self, iterate: Iterate, columns: np.ndarray, turn: int) -> Steps[None]:
        """Add the next point of the path, number `turn`, on columns in rising order; does nothing if a sample would
        contain most documents."""
        n = max(len(columns), 1)
        of_all = self._objective.n_useful_docs
        n_docs = int(max(SAMPLED_VALUES * of_all / n, MIN_WORK / n**2, AVERAGED_DOCUMENTS_PER_COLUMN * n))
        if n_docs >= SAMPLED_SHARE * of_all:
            self._known.clear()
            return
        H = yield Hessian(self._objective, iterate.w, columns, n_docs, turn)
        self._known = [*self._known, (columns, H, n_docs)][-POINTS:]
        while len(self._known) > 1 and sum(H.nbytes for _, H, _ in self._known) > BYTES:
            del self._known[0]

    def mean(self, columns: np.ndarray) -> np.ndarray | None:
        """(c, c) mean on columns (c,) in rising order over the last points that have all of them;
        None if the last does not."""
        total = np.zeros((len(columns), len(columns)))
        documents = 0
        for known, H, n_docs in reversed(self._known):
            if not np.isin(columns, known).all():
                break
            at = np.searchsorted(known, columns)
            total += n_docs * H[np.ix_(at, at)]
            documents += n_docs
        return total / documents if documents else None


class Curvature:
    """The generalised Hessian of one objective on some columns, reused from iterate to iterate until it is renewed.

    A sample has an error of some percent in every direction. The difference of the gradients at two iterates gives the
    curvature between them without reading the data again, so the sample is corrected to agree with it (BFGS formula).
    Certificates never come from here.
    """

    def __init__(
        self,
        objective: PairwiseObjective,
        seen: Sequence[Iterate] = (),
        later: np.ndarray | None = None,
        samples: Samples | None = None,
        strides: int = 0,
    ) -> None:
        """seen: known iterates of the objective, in the order of the path that led here; a solver begins at the last.
        later: further columns, in rising order, that will be needed. samples: those of the points of that path.
        strides: number of steps of that path between the start of a solver and its solution, 1 or 0.
        """
        self.objective = objective
        self.is_sampled = self._is_fresh = False
        self._is_stale = True
        self._columns = np.empty(0, dtype=np.int64)
        self._later = self._columns if later is None else later
        self._H = np.zeros((0, 0))
        self._work = max(MIN_WORK, WORK_PER_DOCUMENT * objective.n_useful_docs)
        self._factor = 1.0
        self._secants = [secant(a, b) for a, b in pairwise(seen)][-MEMORY:]
        self._samples = samples
        self._strides = strides

    def near(self, iterate: Iterate, columns: np.ndarray) -> Steps[np.ndarray]:
        """The Hessian (c, c) on columns (c,) in rising order, at this iterate or at an earlier one that is near
        enough."""
        self._is_fresh = self._is_stale or not np.isin(columns, self._columns).all()
        if self._is_fresh:
            yield from self._ask(iterate, columns)
        return self.known(columns)[1]

    def known(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(those of the columns on which the Hessian is known, in rising order; the Hessian on them)."""
        common = np.intersect1d(columns, self._columns)
        at = np.searchsorted(self._columns, common)
        return common, self._H[np.ix_(at, at)]

    def _ask(self, iterate: Iterate, columns: np.ndarray) -> Steps[None]:
        both = np.union1d(columns, self._later)
        self._columns = both if len(both) <= MAX_COLUMN_GROWTH * len(columns) else columns
        self._is_stale = False
        samples = self._samples
        self._samples = None
        mean = None if samples is None else samples.mean(self._columns)
        if mean is None:
            n = len(self._columns)
            n_docs = self._factor * max(self._work / max(n, 1) ** 2, DOCUMENTS_PER_COLUMN * n)
            self.is_sampled = n_docs < SAMPLED_SHARE * self.objective.n_useful_docs
            self._H = yield Hessian(self.objective, iterate.w, self._columns, int(n_docs) if self.is_sampled else None)
        else:
            self.is_sampled = True
            self._H = mean
        if self.is_sampled:
            for moved, turned in self._secants:
                self._H = corrected(self._H, moved, turned, self._columns)

    def drift(self, columns: np.ndarray, beyond: int = 0) -> np.ndarray | None:
        """(c,) predicted error of H times the step: the change of the gradient on the way to the solution, or to the
        point of the path that follows it by `beyond`, minus what H predicts; on known columns. None if nothing is
        known, or nothing is left to go.

        H agrees with the last step. Its error on the step before is the change of the Hessian in between, which is
        assumed to continue at the same rate. The last two steps were a and r a, and the way is l r a long, with l = r +
        r^2 + ... + r^n. The Hessians of the two steps are (1 + r) a / 2 apart; that of the way is (1 + l) r a / 2
        beyond the last. So the way changes the gradient by r^2 l (1 + l) / (1 + r) of that error, or by r^3 of it if it
        is one step.
        """
        n = self._strides + beyond
        if len(self._secants) < 2 or n == 0 or not self.is_sampled:
            return None
        (before, turned), (last, last_turned) = self._secants[-2:]
        a = before[self._columns]
        b = last[self._columns]
        if np.count_nonzero(a) < np.count_nonzero(before) or np.count_nonzero(b) < np.count_nonzero(last):
            return None
        along = self._H @ a
        square = float(b @ self._H @ b)
        agrees = abs(square - float(b @ last_turned[self._columns])) <= 1e-6 * square
        if not agrees or not float(a @ along) > 0.0:
            return None
        r = min(np.sqrt(square / float(a @ along)), MAX_GROWTH)
        length = sum(r**k for k in range(1, n + 1))
        share = r**2 * length * (1.0 + length) / (1.0 + r)
        return np.asarray(share * (along - turned[self._columns])[np.searchsorted(self._columns, columns)])

    def learn(self, before: Iterate, after: Iterate) -> None:
        """Record a step."""
        self._strides = 0
        self._secants = [*self._secants, secant(before, after)][-MEMORY:]
        if not self._is_stale:
            self._H = corrected(self._H, *self._secants[-1], self._columns)

    def renew(self) -> None:
        """Discard the Hessian; the next request computes a new one."""
        self._is_stale = True

    def doubt(self) -> None:
        """Renew after a step with little progress, from more documents if the sample was fresh."""
        self.renew()
        if self._is_fresh and self.is_sampled and self._factor < MOST:
            self._factor *= SAMPLE_GROWTH

    def make_exact(self) -> None:
        """Use no samples from now on."""
        self.renew()
        self._factor = np.inf


def secant(before: Iterate, after: Iterate) -> tuple[np.ndarray, np.ndarray]:
    """(change of w, change of the gradient) between two iterates, each (n_features,)."""
    return after.w - before.w, after.gradient - before.gradient


def corrected(H: np.ndarray, moved: np.ndarray, turned: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """H, changed so that it maps `moved` to `turned`, a change of w to the change of the gradient, if that is possible
    on its columns."""
    s = moved[columns]
    y = turned[columns]
    expected = H @ s
    seen = float(y @ s)
    known = float(expected @ s)
    if np.count_nonzero(s) < np.count_nonzero(moved) or not seen > MIN_CURVED * known > 0:
        return H
    return H + np.outer(y, y / seen) - np.outer(expected, expected / known)
