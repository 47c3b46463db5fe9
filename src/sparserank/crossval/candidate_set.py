"""Candidates made from fitted paths: the models of every maker at each size, matched by size in every fold, and the
underlying models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.choice import Candidate
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.crossval.fitting import Paths
from sparserank.crossval.judged_queries import WithJudge
from sparserank.crossval.rivals import Rival
from sparserank.crossval.tasks import FINAL, PathTask, refit_label
from sparserank.lazy import cached_property
from sparserank.model import RankingModel
from sparserank.paths import PathResult
from sparserank.paths.certificate import Certificate
from sparserank.paths.refits import RELAX, NamedFormulas, refit_of
from sparserank.paths.sizes import point_within, points_by_size

if TYPE_CHECKING:
    from sparserank.crossval.cross_validation import CrossValidation

Points = dict[int, tuple[PathResult, int]]  # {fold: (a path, index of its point)}


@dataclass(eq=False, repr=False)
class CandidateSet:
    """The candidates of a cross-validation.

    tasks   of the selection, by label
    paths   finished paths, by label and fold
    cv      the cross-validation; without folds, quality is that of the final path on separate queries
    """

    tasks: Mapping[str, PathTask]
    paths: Paths
    cv: CrossValidation
    _where: dict[Candidate, Points] = field(default_factory=dict, init=False)

    @cached_property
    def sparse(self) -> list[Candidate]:
        """Candidates that may be chosen, task by task: of makers that select, and named formulas. Formulas of a single
        feature represent their features, so if there are any, no other candidate has only one. Otherwise the formulas
        come first, and win ties."""
        learned = [c for label, t in self.tasks.items() if t.maker.selects for c in self.of_maker(label)]
        named = [c for label in self._named for c in self.of_maker(label)]
        if all(c.n_features > 1 for c in named):
            return [*named, *learned]
        return [*(c for c in learned if c.n_features > 1), *named]

    @cached_property
    def dense(self) -> list[Candidate]:
        """One candidate for each point of the makers that select no features, without named formulas."""
        others = [label for label, t in self.tasks.items() if not t.maker.selects and label not in self._named]
        return [c for label in others for c in self.of_maker(label)]

    def formula(self, name: str) -> Candidate | None:
        """The named formula of this name, if there is one."""
        return next((c for c in self.sparse if c.formula == name), None) if self._named else None

    @property
    def _named(self) -> list[str]:
        return [label for label, t in self.tasks.items() if isinstance(t.maker, NamedFormulas)]

    def of_maker(self, label: str) -> list[Candidate]:
        """The candidates of a maker: if it selects features, one for each size that its final path and the path of
        every fold contain, and its refits if they were made; otherwise one for each point."""
        task = self.tasks[label]
        groups, judge = self.cv.groups, self.cv.judge
        out = []
        for k, relax, where in self._made(label):
            path, index = where[FINAL]
            used = path.support(index)
            raw = self._values(where, 0)
            c = Candidate(
                label,
                k,
                relax,
                index,
                groups.count(used),
                groups.cost(used),
                self.with_judge(raw),
                formula=task.maker.names[index] if isinstance(task.maker, NamedFormulas) else "",
                on_steps=self.path(label).penalty.on_steps,
                per_query=None if judge is None else raw[judge.people],
            )
            self._where[c] = where
            out.append(c)
        return out

    def _made(self, label: str) -> Iterator[tuple[float, float, Points]]:
        """(size, relax, points) of the candidates of a maker."""
        if self.tasks[label].maker.selects:
            yield from self._matched(label)
            return
        nnz = self.path(label).nnz
        for i in np.flatnonzero(nnz).tolist():
            yield int(nnz[i]), 0.0, {f: (self.paths[label, f], i) for f in (FINAL, *self.cv.folds)}

    def _matched(self, label: str) -> Iterator[tuple[float, float, Points]]:
        """(size, relax, points) of the candidates of a sparse maker."""
        final = self.paths[label, FINAL]
        for k, index in points_by_size(self._sizes(final), final.ranks).items():
            points: Points = {FINAL: (final, index)}
            for f in self.cv.folds:
                path = self.paths[label, f]
                at = point_within(self._sizes(path), path.ranks, k)
                if at is not None:
                    points[f] = path, at
            if len(points) <= len(self.cv.folds):
                continue  # a fold has no model that small, so this size cannot be evaluated
            yield k, 0.0, points
            for relax in RELAX if (refit_label(label), FINAL) in self.paths else ():
                relaxed = dict(points)  # without a refit, the point itself
                for f, (path, i) in points.items():
                    refits = self.paths[refit_label(label), f]
                    at = refit_of(refits.alphas, float(path.alphas[i]), relax)
                    if at is not None:
                        relaxed[f] = refits, at
                if relaxed[FINAL][0] is not final:
                    yield k, relax, relaxed

    # -- the models of a candidate -----------------------------------------------------------------------------------

    def values(self, c: Candidate, metric: int) -> np.ndarray:
        """(n_queries,) values of one of the metrics, without what a judge says."""
        return self._values(self._where[c], metric)

    def with_judge(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n_queries) with what the judge says, if there is one."""
        return values if self.judge is None else self.judge.of(values)

    def compared(self, rival: Rival) -> Rival:
        """A rival, whose values are changed like those of candidates."""
        if self.cv.judge is None:
            return rival
        return replace(rival, values=self.with_judge(rival.values), per_query=rival.values[self.cv.judge.people])

    @cached_property
    def judge(self) -> WithJudge | None:
        """What the judge says of all candidates."""
        if self.cv.judge is None:
            return None
        made = [where for label in self.tasks for *_, where in self._made(label)]
        values = np.array([self._values(where, 0) for where in made])
        return self.cv.judge.with_judge(values, self.cv.fold, self.cv.seed)

    def transform(self, c: Candidate) -> FeatureTransform:
        """The transform under which the features of a candidate enter."""
        return self.tasks[c.penalty].transform

    def path(self, label: str) -> PathResult:
        """The path of a task on all queries."""
        return self.paths[label, FINAL]

    def coefficients(self, c: Candidate, fold: int = FINAL) -> sp.csr_array:
        """(1, n_coefficients) coefficients of the model of a fold, for the scaled columns."""
        path, index = self._where[c][fold]
        return path.sparse_coefs[[index]]

    def in_units(self, c: Candidate, fold: int) -> sp.csr_array:
        """(1, n_columns) coefficients of the model of a fold, in units of the columns."""
        return self._where[c][fold][0].in_units(self.coefficients(c, fold))

    def model(self, c: Candidate, names: tuple[str, ...], fold: int = FINAL, **fields: Any) -> RankingModel:
        """The model of a fold, or the final one, on features with these names; `fields`: others of the model."""
        path, index = self._where[c][fold]
        assert path.scaling is not None
        return self.transform(c).model(path.scaled_coef(index), names, path.scaling, **fields)

    def features(self, c: Candidate, fold: int) -> np.ndarray:
        """The features that the model of a fold uses."""
        path, index = self._where[c][fold]
        return path.support(index)

    def width(self, c: Candidate) -> int:
        """Number of coefficients of each column."""
        return self.path(c.penalty).width

    def alpha(self, c: Candidate) -> float:
        """Strength of the candidate's point on the final path, or of the point that it refits."""
        path, index = self._where[c][FINAL]
        return float(path.alphas[index])

    def certificate(self, c: Candidate) -> Certificate:
        """Certificate of the final model, which solves the problem of its penalty, or is a ridge refit."""
        path, index = self._where[c][FINAL]
        return path.certificate_at(index, self.path(c.penalty).penalty)

    # -- construction ------------------------------------------------------------------------------------------------

    def _sizes(self, path: PathResult) -> np.ndarray:
        return self.cv.size_of(path.sparse_coefs, path.width)

    def _values(self, where: Points, metric: int) -> np.ndarray:
        points = {f: where[f] for f in self.cv.folds or [FINAL]}
        return self.cv.together({f: np.asarray(path.values)[metric, index] for f, (path, index) in points.items()})
