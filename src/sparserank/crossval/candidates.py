"""The candidates of a selection: what every path maker gives at each size, matched by size in every fold,
and their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.choice import Candidate
from sparserank.crossval.fitting import Paths, refit_label
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.groups import Groups
from sparserank.crossval.path_arrays import coefs_of, in_units, width_of
from sparserank.paths.certificate import Certificate, certificate_of
from sparserank.paths.refits import RELAX, refit_of
from sparserank.paths.result import n_used
from sparserank.paths.sizes import SizeOf, point_within, points_by_size
from sparserank.penalties import Penalty
from sparserank.shards.scaling import FeatureScaling


class Pool:
    """Candidates made from fitted paths.

    Parameters
        units    finished paths as arrays, by label and fold
        fold     (n_queries,) the fold of each query; None: quality is that of the final path on queries of its own
                 (`valid`)
        groups   of the features, each paid for once; columns beyond are the same features in other forms
        by_cost  models are matched by what they cost, not by their number of features
    """

    def __init__(self, units: Paths, fold: np.ndarray | None, groups: Groups, by_cost: bool = False) -> None:
        self.units, self._groups, self._n_features = units, groups, len(groups.of_feature)
        self._size_of: SizeOf = groups.costs_of if by_cost else n_used
        self._fold = fold
        self._folds = [] if fold is None else sorted(set(fold[fold >= 0].tolist()))
        self._where: dict[Candidate, dict[int, tuple[str, int]]] = {}

    def of_sizes(self, label: str) -> list[Candidate]:
        """The candidates of a sparse maker: one for each size that its final path and the path of every fold have, and
        its refits where they were made."""
        final, out = self.units[label, FINAL], []
        for k, index in points_by_size(self._sizes(final), final["losses"]).items():
            points = {FINAL: index}
            for f in self._folds:
                arrays = self.units[label, f]
                at = point_within(self._sizes(arrays), arrays["losses"], k)
                if at is not None:
                    points[f] = at
            if len(points) <= len(self._folds):
                continue  # a fold has no model that small: there is nothing to judge this size by
            out.append(self._candidate(label, k, 0.0, {f: (label, i) for f, i in points.items()}))
            for relax in RELAX if (refit_label(label), FINAL) in self.units else ():
                refits = {f: self._refit(label, f, i, relax) for f, i in points.items()}
                if refits[FINAL][0] != label:
                    out.append(self._candidate(label, k, relax, refits))
        return out

    def of_points(self, label: str) -> list[Candidate]:
        """The candidates of a maker that selects nothing, point by point."""
        everywhere = [FINAL, *self._folds]
        nnz = n_used(coefs_of(self.units[label, FINAL]), width_of(self.units[label, FINAL]))
        return [
            self._candidate(label, int(nnz[i]), 0.0, dict.fromkeys(everywhere, (label, i)))
            for i in np.flatnonzero(nnz).tolist()
        ]

    def values(self, c: Candidate, metric: int) -> np.ndarray:
        """(n_queries,) of one of the metrics."""
        return self._values(self._where[c], metric)

    def model(self, c: Candidate, fold: int = FINAL) -> sp.csr_array:
        """(1, n_features) the model of a fold, of the scaled features."""
        label, index = self._where[c][fold]
        return coefs_of(self.units[label, fold])[[index]]

    def model_in_units(self, c: Candidate, fold: int) -> sp.csr_array:
        """(1, n_features) the model of a fold, in units of the features."""
        label, _ = self._where[c][fold]
        return in_units(self.model(c, fold), self.units[label, fold])

    def features(self, c: Candidate, fold: int) -> np.ndarray:
        """The features that the model of a fold uses, in whatever form."""
        label, _ = self._where[c][fold]
        return np.unique(self.model(c, fold).indices // width_of(self.units[label, fold]) % self._n_features)

    def blocks(self, c: Candidate, fold: int = FINAL) -> np.ndarray | None:
        """What the coefficients of the model of a fold mean, if it has curves."""
        label, _ = self._where[c][fold]
        return self.units[label, fold].get("blocks")

    def scaling(self, c: Candidate, fold: int, method: str) -> FeatureScaling:
        """How the features of the model of a fold are scaled."""
        label, _ = self._where[c][fold]
        return FeatureScaling(method, self.units[label, fold]["center"], self.units[label, fold]["scale"])

    def forms(self, c: Candidate) -> dict[int, int]:
        """{feature: the form in which the final model takes it}"""
        label, _ = self._where[c][FINAL]
        columns = np.unique(self.model(c).indices // width_of(self.units[label, FINAL]))
        return {int(j) % self._n_features: int(j) // self._n_features for j in columns}

    def alpha(self, c: Candidate) -> float:
        """Strength of the final path's point that the candidate is, or comes from."""
        label, index = self._where[c][FINAL]
        return float(self.units[label, FINAL]["alphas"][index])

    def certificate(self, c: Candidate, penalty: Penalty) -> Certificate:
        """Of the final model, made by the path of a penalty:
        of its problem, or of the ridge problem on its features that it solves instead."""
        label, index = self._where[c][FINAL]
        arrays = self.units[label, FINAL]
        kkt_violation, gap = (float(arrays[name][index]) for name in ("kkt_violations", "gaps"))
        ridge = arrays["ridge"][index] if "ridge" in arrays else None
        return certificate_of(
            penalty.with_alpha(self.alpha(c)),
            self._n_features,
            str(arrays["statuses"][index]),
            kkt_violation,
            gap,
            ridge,
            curves="blocks" in arrays,
        )

    def _refit(self, label: str, fold: int, index: int, relax: float) -> tuple[str, int]:
        refits = self.units[refit_label(label), fold]
        at = refit_of(refits["alphas"], float(self.units[label, fold]["alphas"][index]), relax)
        return (label, index) if at is None else (refit_label(label), at)

    def _sizes(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        return self._size_of(coefs_of(arrays), width_of(arrays))

    def _candidate(self, label: str, k: float, relax: float, where: dict[int, tuple[str, int]]) -> Candidate:
        arrays, index = self.units[where[FINAL][0], FINAL], where[FINAL][1]
        coefs = coefs_of(arrays)
        used = np.unique(coefs.indices[coefs.indptr[index] : coefs.indptr[index + 1]] // width_of(arrays))
        c = Candidate(
            label, k, relax, index, len(used), self._groups.cost(used % self._n_features), self._values(where, 0)
        )
        self._where[c] = where
        return c

    def _values(self, where: Mapping[int, tuple[str, int]], metric: int) -> np.ndarray:
        if self._fold is None:
            label, index = where[FINAL]
            return self.units[label, FINAL]["values"][metric, index]
        values = np.full(len(self._fold), np.nan)
        for f in self._folds:
            label, index = where[f]
            values[self._fold == f] = self.units[label, f]["values"][metric, index]
        return values


def best_of_sizes(candidates: Sequence[Candidate], by_cost: bool = False) -> list[Candidate]:
    """The best candidate of each number of features, or of each cost, smallest first."""
    best: dict[float, Candidate] = {}
    for c in candidates:
        size = c.cost if by_cost else c.n_features
        if size not in best or c.mean > best[size].mean:
            best[size] = c
    return [best[k] for k in sorted(best)]
