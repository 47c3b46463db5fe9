"""The best model of each size by splicing (theory.md section 2, The best set of k features): exchanges of features that
a quadratic model of the loss suggests are accepted as long as they lower the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sparserank.errors import ParameterError
from sparserank.lazy import cached_property
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import SizedMaker
from sparserank.paths.result import PathResult, Point
from sparserank.penalties import Ridge
from sparserank.penalties.rules import RULES
from sparserank.solvers import ProxNewton, Solution, Status, Stop
from sparserank.solvers.lockstep import Hessian, Seconds, Steps
from sparserank.solvers.loop import solving

MORE = 5  # elements beyond k_max of the set from which the search goes down
MAX_ALONE = 12  # elements that are tried alone at k = 1, the most promising
MAX_TRIED = 3  # exchanges tried from one set; if none lowers the objective, the search there ends
MAX_PAIRED = 8  # pairs are exchanged among this many elements whose removal costs least
MAX_COLUMNS = 150  # columns in the quadratic model
MIN_OTHERS = 5  # smallest number of unused elements in the model, even if their columns exceed MAX_COLUMNS
ENOUGH = 1e-7  # relative decrease of the objective that counts as an improvement


@dataclass(frozen=True, repr=False)
class BestK(SizedMaker):
    """A path maker: for k = 1 .. k_max it minimises the mean loss plus a small ridge over sets of at most k features or
    groups (all coefficients of a feature, and all features of a group, enter together). Every set is a local optimum
    under those exchanges of one or two features that a quadratic model of the loss, on the set and the most promising
    others, suggests. The search begins with a larger set, which is grown one feature at a time. On the way down it
    drops one feature at each size, on the way up it adds one to the best set of the size below, and it exchanges
    features at each size. At k = 1 it also tries each of the 12 most promising features.

    Signs, drop, keep and groups are respected; costs are ignored. ridge, a fraction of the mean curvature of the
    features that vary and may be used, keeps the problem well-posed. Points are stored when all are done, because each
    depends on its neighbours.

    Source
        Splicing: Zhu, Wen, Zhu, Zhang and Wang (2020). Their exchanges rank each feature alone, which fails for
        correlated features. Here exchanges are ranked by the decrease of the model with all other coefficients fitted
        again.
    """

    k_max: int = 20
    ridge: float = 1e-3

    name = "best_k"
    respects = RULES

    def _check(self) -> None:
        if isinstance(self.k_max, bool) or not isinstance(self.k_max, int | np.integer) or self.k_max < 1:
            raise ParameterError("k_max", f"must be an integer >= 1; got {self.k_max!r}.", owner="BestK")
        object.__setattr__(self, "k_max", int(self.k_max))
        if not 0 < self.ridge < 1:
            raise ParameterError("ridge", f"must be between 0 and 1; got {self.ridge}.", owner="BestK")

    def up_to(self, k: int) -> BestK:
        return replace(self, k_max=k)

    def n_points(self, plan: PathPlan) -> int:
        return self.k_max

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        search = _Search(objective, self, plan)
        most = min(self.k_max, len(search.members))
        most = most if plan.k is None else min(most, plan.k)
        points: list[Point] = []
        if most:
            began = yield Seconds()
            best = yield from search.all_sizes(most)
            now = yield Seconds()
            points = [Point.of(solution, (now - began) / most) for solution in best]
        if plan.tell is not None:
            for _ in points:
                plan.tell(most)
        return PathResult.of(
            points,
            self,
            np.full(len(points), np.nan),
            1.0,
            search.scale,
            objective,
            ridge=np.full(len(points), search.ridge),
        )


class _Search:
    """The search on one objective. An element is a feature or a group, with all its columns; a set is a sorted tuple of
    elements. Always-keep elements are in every set that is large enough."""

    def __init__(self, objective: PairwiseObjective, penalty: BestK, plan: PathPlan) -> None:
        self._objective = objective
        n = objective.n_features
        beta = penalty.feature_weights(n)
        # Elements: the usable columns of each feature or group. Constant and excluded columns belong to none.
        usable = objective.varying & np.isfinite(beta)
        groups, of_usable = np.unique(penalty.group_of(n)[usable], return_inverse=True)
        self._element = np.full(n, -1)
        self._element[usable] = of_usable
        self.members = [np.flatnonzero(self._element == u) for u in range(len(groups))]  # columns of each element
        self._always = tuple(np.unique(self._element[usable & (beta == 0)]).tolist())
        # lambda is a fraction of the mean curvature of the usable columns (theory.md section 2).
        self.ridge = penalty.ridge * float(objective.curvature[usable].mean()) if usable.any() else penalty.ridge
        self._signs = penalty.feature_signs(n)
        self._monotone = penalty.monotone
        self.scale = float(np.abs(objective.gradient_at_zero[usable]).max(initial=0.0))
        self._stop = Stop(plan.tol, plan.max_iter, max(self.scale, 1e-300))
        self._solved: dict[tuple[int, ...], Solution] = {}

    def all_sizes(self, most: int) -> Steps[list[Solution]]:
        """The best solution found of each size from 1 to `most`."""
        # Add the element that lowers the model most, until the set has a few more elements than the largest size.
        zero = np.zeros(self._objective.n_features)
        model = yield from self._near(self._always, zero)
        while len(model.chosen) < min(most + MORE, len(self.members)):
            model = yield from self._near(model.grown(), model.solution.w)
        # Downwards: leave out the element whose removal raises the model least, then exchange.
        best: dict[int, _Model] = {}
        for k in range(len(model.chosen), 0, -1):
            if len(model.chosen) > k:
                model = yield from self._near(model.shrunk(), model.solution.w)
            if k <= most:
                model = best[k] = yield from self._exchanged(model)
        # The best single element: try the most promising.
        if not self._always:
            promise = self._promise(self._objective.gradient_at_zero)
            for u in np.argsort(-promise, kind="stable")[:MAX_ALONE].tolist():
                yield from self._solve((u,), zero)
            alone = min((c for c in self._solved if len(c) == 1), key=lambda c: self._solved[c].value)
            best[1] = yield from self._exchanged((yield from self._near(alone, zero)))
        # Upwards from there: add the element that lowers the model most, then exchange. A set that was solved before
        # and is no better than the best of its size is left.
        for k in range(max(len(self._always), 1) + 1, most + 1):
            chosen = best[k - 1].grown()
            known = self._solved.get(chosen)
            if known is None or known.value < best[k].solution.value:
                other = yield from self._exchanged((yield from self._near(chosen, best[k - 1].solution.w)))
                best[k] = min(best[k], other, key=lambda model: model.solution.value)
        return [self._as_stationary(best[k].solution) for k in range(1, most + 1)]

    def _as_stationary(self, best: Solution) -> Solution:
        """The solution labelled stationary: its coefficients are optimal on its set and no tried exchange is better,
        but nothing else is proved (theory.md section 2)."""
        return replace(best, status=Status.STATIONARY if best.status.converged else best.status, gap=None)

    def _exchanged(self, model: _Model) -> Steps[_Model]:
        """Take the first suggested exchange that lowers the exact objective, until there is none."""
        while True:
            before = model.solution
            for chosen in model.exchanges():
                tried = yield from self._solve(chosen, before.w)
                if tried.value < before.value - ENOUGH * abs(before.value):
                    model = yield from self._near(chosen, before.w)
                    break
            else:
                return model

    def _near(self, chosen: tuple[int, ...], start: np.ndarray) -> Steps[_Model]:
        """The solution on a set, with the quadratic model of the loss plus the ridge near it, on the elements of the
        set and the most promising others."""
        here = yield from self._solve(chosen, start)
        # Moves that a sign rule blocks promise nothing.
        g = np.where((here.w == 0) & (self._signs * here.gradient > 0), 0.0, here.gradient)
        # Only some others enter the model, so that its matrix stays small. Elements that do not fit are skipped, but at
        # least MIN_OTHERS enter; one without promise enters only if there is no other.
        elements = list(chosen)
        room = MAX_COLUMNS - sum(len(self.members[u]) for u in chosen)
        promise = self._promise(g)
        for u in np.argsort(-promise, kind="stable").tolist():
            size = len(self.members[u])
            n_others = len(elements) - len(chosen)
            fits = size <= room or n_others < MIN_OTHERS
            if u not in chosen and fits and (promise[u] > 0 or n_others == 0):
                elements.append(u)
                room -= size
        # Model u^T A u / 2 - b^T u with A = H + lambda I. Its gradient at w is that of the objective, A w - b =
        # g + lambda w, with 0 for moves that a sign rule blocks.
        columns = np.concatenate([self.members[u] for u in elements])
        H = yield Hessian(self._objective, here.w, columns, None)
        A = H + self.ridge * np.eye(len(columns))
        w = here.w[columns]
        b = A @ w - (g[columns] + self.ridge * w)
        places = {u: np.flatnonzero(self._element[columns] == u) for u in elements}
        return _Model(here, chosen, self._always, places, A, b)

    def _promise(self, gradient: np.ndarray) -> np.ndarray:
        """(n_elements,) sum of g_j^2 / h_j over the columns of each element, h_j the largest curvature along column j.
        A step along column j alone lowers the loss by at least half of its term."""
        used = self._element >= 0
        worth = gradient[used] ** 2 / self._objective.curvature[used]
        return np.bincount(self._element[used], worth, len(self.members))

    def _solve(self, chosen: tuple[int, ...], start: np.ndarray) -> Steps[Solution]:
        """The minimum of loss plus ridge over the coefficients of some elements; cached by set."""
        if chosen not in self._solved:
            columns = np.isin(self._element, chosen)
            weights = tuple(np.where(columns, 1.0, np.inf).tolist())
            ridge = Ridge(self.ridge, weights=weights, monotone=self._monotone)
            w = np.where(columns, start, 0.0)
            self._solved[chosen] = yield from solving(ProxNewton(), self._objective, ridge, w, self._stop)
        return self._solved[chosen]


@dataclass(frozen=True)
class _Model:
    """The solution on a set of elements, and the quadratic u^T A u / 2 - b^T u near it, on the columns of these and of
    other elements.

    always   elements that no exchange leaves out
    places   the columns of A of each element
    """

    solution: Solution
    chosen: tuple[int, ...]
    always: tuple[int, ...]
    places: dict[int, np.ndarray]
    A: np.ndarray
    b: np.ndarray

    def grown(self) -> tuple[int, ...]:
        """The set plus the element that lowers the model most."""
        return self._with_best(self.chosen)[0]

    def shrunk(self) -> tuple[int, ...]:
        """The set minus the element whose removal raises the model least. Always-keep elements stay unless no other is
        left."""
        free = [u for u in self.chosen if u not in self.always] or self.chosen
        return max((self._without(u) for u in free), key=self._explained)

    def exchanges(self) -> list[tuple[int, ...]]:
        """At most MAX_TRIED sets with a lower minimum of the model, lowest first: one element exchanged, or two of the
        MAX_PAIRED cheapest, which can pay where no single exchange does (correlated features)."""
        free = [u for u in self.chosen if u not in self.always]
        cheapest = sorted(free, key=lambda u: -self._explained(self._without(u)))[:MAX_PAIRED]
        tried: list[tuple[float, tuple[int, ...]]] = []
        for removed in [*((u,) for u in free), *combinations(cheapest, 2)]:
            chosen, explained = self._without(*removed), 0.0
            for _ in removed:
                chosen, explained = self._with_best(chosen)
            tried.append((explained, chosen))
        now = self._explained(self.chosen)
        better = sorted((t for t in tried if t[0] > now + ENOUGH * abs(now)), key=lambda t: -t[0])
        return [chosen for _, chosen in better[:MAX_TRIED]]

    def _without(self, *removed: int) -> tuple[int, ...]:
        return tuple(u for u in self.chosen if u not in removed)

    def _columns(self, elements: Sequence[int]) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=np.int64), *(self.places[u] for u in elements)])

    def _explained(self, chosen: Sequence[int]) -> float:
        """Decrease of the model from u = 0 to its minimum over these elements, b_S^T A_SS^-1 b_S / 2."""
        S = self._columns(chosen)
        return 0.5 * float(self.b[S] @ np.linalg.solve(self.A[np.ix_(S, S)], self.b[S]))

    def _with_best(self, chosen: tuple[int, ...]) -> tuple[tuple[int, ...], float]:
        """(a set plus the element besides it and the present set that lowers the model most, the decrease with it)"""
        S = self._columns(chosen)
        inverse = np.linalg.inv(self.A[np.ix_(S, S)])
        solved = inverse @ self.b[S]
        # Eliminate the columns S. What is left on a block R of other columns is a quadratic with the Schur complement
        # A_RR - A_RS A_SS^-1 A_SR and the moments r = b_R - A_RS A_SS^-1 b_S; adding it gains r^T schur^-1 r / 2.
        candidates: list[tuple[float, int]] = []
        for elements, columns in self._others:
            is_new = ~np.isin(elements, chosen)
            R = columns[is_new]
            across = self.A[R[:, :, None], S]
            r = self.b[R] - across @ solved
            schur = self.A[R[:, :, None], R[:, None, :]] - across @ inverse @ across.transpose(0, 2, 1)
            gains = 0.5 * (r * np.linalg.solve(schur, r[:, :, None])[:, :, 0]).sum(axis=1)
            candidates += zip(gains.tolist(), elements[is_new].tolist(), strict=True)
        if not candidates:
            return chosen, -np.inf
        gain, best = max(candidates, key=lambda candidate: candidate[0])
        return tuple(sorted((*chosen, best))), 0.5 * float(self.b[S] @ solved) + gain

    @cached_property
    def _others(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The elements besides the set, those of equal size together: (elements (n,), their columns of A (n, size))."""
        of_size: dict[int, list[int]] = {}
        for u, columns in self.places.items():
            if u not in self.chosen:
                of_size.setdefault(len(columns), []).append(u)
        return [(np.array(us), np.array([self.places[u] for u in us])) for us in of_size.values()]
