"""The best model of each size by splicing (theory.md section 2, The best set of k features): exchanges of features that
a quadratic model of the loss suggests are accepted as long as they lower the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sparserank.errors import ParameterError
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import SizedMaker
from sparserank.paths.result import PathResult, Point
from sparserank.paths.single_columns import best_column
from sparserank.paths.sizes import point_within
from sparserank.paths.starts import PathStarts
from sparserank.penalties import Ridge
from sparserank.penalties.rules import RULES
from sparserank.solvers import ProxNewton, Solution, Status, Stop
from sparserank.solvers.lockstep import Hessian, Seconds, Steps
from sparserank.solvers.loop import solving

MAX_SPLICES = 25  # exchanges accepted in a row, from one starting set
MAX_BLOCKS = 50  # elements of several columns that are tried at k = 1
MAX_TRIED = 3  # exchanges tried from one set; if none lowers the objective, the search there ends
MAX_SWEEPS = 3  # passes up and down through the sizes
MIN_USED = 4  # pairs are exchanged among this many elements whose removal costs least
MAX_COLUMNS = 150  # columns in the quadratic model
MIN_OTHERS = 5  # smallest number of unused elements in the model, even if their columns exceed MAX_COLUMNS
ENOUGH = 1e-7  # relative decrease of the objective that counts as an improvement

BestBySize = dict[int, Solution]  # lowest solution found so far, by size


@dataclass(frozen=True, repr=False)
class BestK(SizedMaker):
    """A path maker: for k = 1 .. k_max it minimises the mean loss plus a small ridge over sets of at most k features or
    groups (all coefficients of a feature, and all features of a group, enter together). Every set is a local optimum
    under those exchanges of one or two features that a quadratic model of the loss, on the set and the most promising
    others, suggests. At k = 1 every feature is tried, or the 1,000 most promising; of groups, the 50 most
    promising (`single_columns`). The search adds a feature at each size on the way up and drops one on the way down,
    until no size improves. It also tries the supports on a penalty's path (`plan.starts`).

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

    def strength(self, curvature: np.ndarray) -> float:
        """lambda, the factor of |w|^2 / 2 on the scale of the mean loss, from the curvatures of features that vary and
        may be used."""
        return self.ridge * float(curvature.mean()) if len(curvature) else self.ridge

    def up_to(self, k: int) -> BestK:
        return replace(self, k_max=k)

    def n_points(self, plan: PathPlan) -> int:
        return self.k_max

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        splicing = _Splicing(objective, self, plan)
        most = min(self.k_max, len(splicing.members))
        most = most if plan.k is None else min(most, plan.k)
        points: list[Point] = []
        if most:
            began = yield Seconds()
            best = yield from splicing.all_sizes(most)
            now = yield Seconds()
            points = [Point.of(best[k], (now - began) / most) for k in range(1, most + 1)]
            for _ in points if plan.tell is not None else []:
                plan.tell(most)  # type: ignore[misc]
        return PathResult.of(
            points,
            self,
            np.full(len(points), np.nan),
            1.0,
            splicing.scale,
            objective,
            ridge=np.full(len(points), splicing.ridge),
        )


class _Splicing:
    """The search on one objective. An element is a feature or a group, with all its columns; a set is a sorted tuple of
    elements. Always-keep elements are in every set that is large enough."""

    def __init__(self, objective: PairwiseObjective, penalty: BestK, plan: PathPlan) -> None:
        self._objective, self._plan = objective, plan
        n = objective.n_features
        beta = penalty.feature_weights(n)
        # Elements: the usable columns of each feature or group. Constant and excluded columns belong to none.
        usable = objective.varying & np.isfinite(beta)
        of_column = penalty.group_of(n)
        live = np.unique(of_column[usable])
        self.members = [np.flatnonzero(usable & (of_column == g)) for g in live.tolist()]  # columns of each element
        self._element = np.full(objective.n_features, -1)
        for u, columns in enumerate(self.members):
            self._element[columns] = u
        self._always = self._used((beta == 0) & usable)
        # lambda is a fraction of the mean curvature of the usable columns (theory.md section 2).
        self.ridge = penalty.strength(objective.curvature[usable])
        monotone = penalty.feature_signs(n)
        self._signs = monotone if monotone.any() else None
        self.scale = float(np.abs(objective.gradient_at_zero[usable]).max(initial=0.0))
        self._stop = Stop(plan.tol, plan.max_iter, max(self.scale, 1e-300))
        self._solved: dict[tuple[int, ...], Solution] = {}
        self._n_of_starts: np.ndarray | None = None  # number of elements in use at each point of plan.starts

    def all_sizes(self, most: int) -> Steps[BestBySize]:
        """The best solution of each size from 1 to `most`."""
        best: BestBySize = {}
        nothing = yield from self._solve((), None)
        for _ in range(MAX_SWEEPS):
            before = {k: s.value for k, s in best.items()}
            for k in range(1, most + 1):
                # Upwards: add the element that lowers the model of the next smaller set most, then exchange.
                below = nothing if k == 1 else best[k - 1]
                yield from self._improve(best, k, (yield from self._grown(below, k)), below)
                # In the first sweep, also start from the support of this size on a penalty's path.
                support = None if before else self._of_starts(k)
                if support is not None:
                    yield from self._improve(best, k, support, best[k])
                # The best single element is found by trying all of them, or the most promising of very many.
                if k == 1 and not before and not self._always:
                    yield from self._improve(best, k, (yield from self._best_alone()), nothing)
            # Downwards: leave out the element whose removal raises the model least, then exchange.
            for k in range(most - 1, 0, -1):
                yield from self._improve(best, k, (yield from self._shrunk(best[k + 1])), best[k + 1])
            # Stop when a whole sweep has improved no size by more than ENOUGH.
            if before and all(best[k].value >= v - ENOUGH * abs(v) for k, v in before.items()):
                break
        return {k: self._as_stationary(s) for k, s in best.items()}

    def _best_alone(self) -> Steps[tuple[int, ...]]:
        """The best single element. All elements of one column are tried (of very many, the most promising), and the
        MAX_BLOCKS most promising of several columns."""
        singles = [columns[0] for columns in self.members if len(columns) == 1]
        best = yield from best_column(self._objective, np.array(singles, dtype=np.int64), self.ridge, self._signs)
        promise = self._promise(self._objective.gradient_at_zero)
        blocks = [u for u in np.argsort(-promise, kind="stable").tolist() if len(self.members[u]) > 1]
        alone = [] if best is None else [(int(self._element[best]),)]
        lowest: Solution | None = None
        for chosen in [*alone, *((u,) for u in blocks[:MAX_BLOCKS])]:
            tried = yield from self._solve(chosen, None)
            if lowest is None or tried.value < lowest.value:
                lowest = tried
        return () if lowest is None else self._used(lowest.w)

    def _as_stationary(self, best: Solution) -> Solution:
        """The solution labelled stationary: its coefficients are optimal on its set and no tried exchange is better,
        but nothing else is proved (theory.md section 2)."""
        return replace(best, status=Status.STATIONARY if best.status.converged else best.status, gap=None)

    def _improve(self, best: BestBySize, k: int, chosen: tuple[int, ...], near: Solution) -> Steps[None]:
        """Splice from a set of at most k features, and keep the result if it is the best of its size."""
        spliced = yield from self._solve(chosen, near.w)
        if k in best and spliced.value >= best[k].value and self._used(spliced.w) == self._used(best[k].w):
            return
        # Exchange until no suggestion lowers the objective.
        for _ in range(MAX_SPLICES):
            following = yield from self._exchanged(spliced)
            if following is None:
                break
            spliced = following
        if k not in best or spliced.value < best[k].value:
            best[k] = spliced

    def _exchanged(self, best: Solution) -> Steps[Solution | None]:
        """The first of the suggested exchanges that lowers the exact objective; None if none does."""
        model = yield from self._model(best)
        for chosen in model.exchanges(MAX_TRIED):
            tried = yield from self._solve(chosen, best.w)
            if tried.value < best.value - ENOUGH * abs(best.value):
                return tried
        return None

    def _grown(self, below: Solution, k: int) -> Steps[tuple[int, ...]]:
        """The set of a solution plus one element: a missing always-keep element, or else the one that lowers the model
        most."""
        chosen = self._used(below.w)
        missing = [j for j in self._always if j not in chosen]
        if missing:
            return tuple(sorted({*chosen, missing[0]}))
        model = yield from self._model(below)
        return model.grown() if len(chosen) < k else chosen

    def _shrunk(self, above: Solution) -> Steps[tuple[int, ...]]:
        """The set of a solution minus the element whose removal raises the model least."""
        model = yield from self._model(above)
        return model.shrunk()

    def _model(self, here: Solution) -> Steps[_Model]:
        """Quadratic model of the loss plus the ridge near a solution, on its elements and the most promising others."""
        chosen = self._used(here.w)
        g = here.gradient
        if self._signs is not None:  # moves that a sign rule blocks promise nothing
            g = np.where((here.w == 0) & (self._signs * g > 0), 0.0, g)
        # Only the chosen elements and the most promising others enter the model, so that its matrix stays small.
        promise = self._promise(g)
        promise[list(chosen)] = -1.0
        elements = sorted({*chosen, *self._promising(promise, chosen)})
        columns = np.concatenate([self.members[u] for u in elements] or [np.zeros(0, dtype=np.int64)])
        # Model u^T A u / 2 - b^T u with A = H + lambda I. Its gradient at w is that of the objective, A w - b =
        # g + lambda w, with 0 for moves that a sign rule blocks.
        A, b = np.zeros((len(columns), len(columns))), np.zeros(len(columns))
        if len(columns):
            H = yield Hessian(self._objective, here.w, columns, None)
            A = H + self.ridge * np.eye(len(columns))
            b = A @ here.w[columns] - (g[columns] + self.ridge * here.w[columns])
        place = {u: i for i, u in enumerate(elements)}
        sizes = [len(self.members[u]) for u in elements]
        return _Model(A, b, sizes, elements, [place[u] for u in chosen], {place[u] for u in self._always if u in place})

    def _promise(self, gradient: np.ndarray) -> np.ndarray:
        """(n_elements,) sum of g_j^2 / h_j over the columns of each element, h_j the largest curvature along column j.
        A step along column j alone lowers the loss by at least half of its term."""
        curvature = np.where(self._objective.varying, self._objective.curvature, np.inf)
        worth = np.where(self._element >= 0, gradient * gradient / curvature, 0.0)
        return np.bincount(np.maximum(self._element, 0), worth, len(self.members))

    def _promising(self, promise: np.ndarray, chosen: tuple[int, ...]) -> list[int]:
        """The most promising elements besides the chosen ones, at least MIN_OTHERS and as many as fit into MAX_COLUMNS;
        elements that are too large are skipped in favour of smaller ones."""
        others: list[int] = []
        room = MAX_COLUMNS - sum(len(self.members[u]) for u in chosen)
        for u in np.argsort(-promise, kind="stable").tolist():
            if promise[u] <= 0:
                break
            if len(others) < MIN_OTHERS or len(self.members[u]) <= room:
                others.append(u)
                room -= len(self.members[u])
        return others

    def _solve(self, chosen: tuple[int, ...], start: np.ndarray | None) -> Steps[Solution]:
        """The minimum of loss plus ridge over the coefficients of some elements; cached by set."""
        if chosen not in self._solved:
            columns = np.isin(self._element, chosen)
            monotone = None if self._signs is None else tuple(self._signs.tolist())
            ridge = Ridge(self.ridge, weights=tuple(np.where(columns, 1.0, np.inf).tolist()), monotone=monotone)
            w = np.zeros(self._objective.n_features) if start is None else np.where(columns, start, 0.0)
            self._solved[chosen] = yield from solving(ProxNewton(), self._objective, ridge, w, self._stop)
        return self._solved[chosen]

    def _used(self, w: np.ndarray) -> tuple[int, ...]:
        """The elements with a non-zero coefficient, sorted."""
        elements = np.unique(self._element[np.flatnonzero(w)])
        return tuple(elements[elements >= 0].tolist())

    def _of_starts(self, k: int) -> tuple[int, ...] | None:
        """The always-keep elements and those in use at the point of size k on a penalty's path, k in all at most; None
        if there is no such path or point."""
        starts = self._plan.starts
        if not isinstance(starts, PathStarts) or starts.losses is None:
            return None
        if self._n_of_starts is None:
            self._n_of_starts = np.array([len(self._used(starts.coef(i))) for i in range(len(starts.losses))])
        at = point_within(self._n_of_starts, starts.losses, k)
        if at is None:
            return None
        used = [u for u in self._used(starts.coef(at)) if u not in self._always]
        return tuple(sorted({*self._always[:k], *used[: k - len(self._always[:k])]}))


class _Model:
    """The quadratic u^T A u / 2 - b^T u over the columns of some elements, concatenated.

    sizes: number of columns of each element; chosen, kept: positions of elements in `elements`.
    """

    def __init__(
        self,
        A: np.ndarray,
        b: np.ndarray,
        sizes: Sequence[int],
        elements: Sequence[int],
        chosen: list[int],
        always: set[int],
    ) -> None:
        self._A, self._b, self._sizes, self._elements = A, b, np.array(sizes, dtype=np.int64), elements
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self._chosen, self._always = chosen, always

    def grown(self) -> tuple[int, ...]:
        """The chosen elements plus the one that lowers the model most."""
        best, _ = self._best_added(self._chosen, self._others())
        return self._named(self._chosen if best is None else [*self._chosen, best])

    def shrunk(self) -> tuple[int, ...]:
        """The chosen elements minus the one whose removal raises the model least. Always-keep elements stay unless no
        other is left."""
        free = [i for i in self._chosen if i not in self._always] or self._chosen
        least = max(free, key=lambda i: self._explained([c for c in self._chosen if c != i]))
        return self._named([c for c in self._chosen if c != least])

    def exchanges(self, most: int) -> list[tuple[int, ...]]:
        """At most `most` sets with a lower minimum of the model, lowest first: one element exchanged, or two of those
        with the cheapest removal."""
        now = self._explained(self._chosen)
        free = [i for i in self._chosen if i not in self._always]
        without = {i: self._explained([c for c in self._chosen if c != i]) for i in free}
        tried: list[tuple[float, list[int]]] = []
        # Exchange one element: remove each in turn, and add the best other one with all coefficients fitted again.
        for i in free:
            rest = [c for c in self._chosen if c != i]
            j, value = self._best_added(rest, self._others())
            if j is not None:
                tried.append((value, [*rest, j]))
        # Exchange two elements, which can pay where no single exchange does (correlated features): remove each pair of
        # the cheapest, then add the best two greedily.
        least = sorted(free, key=lambda i: -without[i])[:MIN_USED]
        for pair in combinations(least, 2):
            rest = [c for c in self._chosen if c not in pair]
            first, _ = self._best_added(rest, self._others())
            if first is None:
                continue
            second, value = self._best_added([*rest, first], [o for o in self._others() if o != first])
            if second is not None:
                tried.append((value, [*rest, first, second]))
        # Suggest the sets whose model explains more than the present one.
        better = sorted((t for t in tried if t[0] > now + ENOUGH * abs(now)), key=lambda t: -t[0])
        return [self._named(chosen) for _, chosen in better[:most]]

    def _others(self) -> list[int]:
        return [i for i in range(len(self._elements)) if i not in self._chosen]

    def _named(self, places: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(self._elements[i] for i in places))

    def _columns(self, places: Sequence[int]) -> np.ndarray:
        columns = [np.arange(self._starts[i], self._starts[i + 1]) for i in places]
        return np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)

    def _explained(self, places: Sequence[int]) -> float:
        """Decrease of the model from u = 0 to its minimum over these elements, b_S^T A_SS^-1 b_S / 2."""
        if not places:
            return 0.0
        S = self._columns(places)
        return 0.5 * float(self._b[S] @ np.linalg.solve(self._A[np.ix_(S, S)], self._b[S]))

    def _best_added(self, places: Sequence[int], others: Sequence[int]) -> tuple[int | None, float]:
        """(the element of `others` that lowers the model most when added to `places`, the decrease with it)"""
        if not others:
            return None, 0.0
        # Eliminate the chosen columns S: their minimum explains `base`, and what is left on the others is a quadratic
        # with the Schur complement A_RR - A_RS A_SS^-1 A_SR and the moments b_R - A_RS A_SS^-1 b_S.
        S, R = self._columns(places), self._columns(others)
        base, residual, schur = 0.0, self._b[R].copy(), self._A[np.ix_(R, R)]
        if len(S):
            across = np.linalg.solve(self._A[np.ix_(S, S)], np.column_stack([self._b[S], self._A[np.ix_(S, R)]]))
            base = 0.5 * float(self._b[S] @ across[:, 0])
            residual -= self._A[np.ix_(R, S)] @ across[:, 0]
            schur = schur - self._A[np.ix_(R, S)] @ across[:, 1:]
        # Adding one block with all other coefficients fitted again gains r^T schur^-1 r / 2 on that block.
        gains = np.empty(len(others))
        sizes = self._sizes[list(others)]
        ends = np.cumsum(sizes)
        for m in np.unique(sizes).tolist():  # blocks of equal size are solved in one batch
            of = np.flatnonzero(sizes == m)
            at = (ends[of] - m)[:, None] + np.arange(m)
            r, block = residual[at], schur[at[:, :, None], at[:, None, :]]
            gains[of] = 0.5 * (r * np.linalg.solve(block, r[:, :, None])[:, :, 0]).sum(axis=1)
        best = int(np.argmax(gains))
        return others[best], base + float(gains[best])
