"""The looks of the data that a selection tries: all features as they are, all transformed, each in the form that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.scaling import LINEAR_SCALINGS, FeatureScaling
from sparserank.data.transforms import LOG, NONE, Transform, changes_features, fit_transform
from sparserank.model import RankingModel
from sparserank.selection.choice import AUTO

LOGS, EACH = "log1p", "raw or log1p"


@dataclass(frozen=True)
class Look:
    """One of them. forms: the form of each feature, column block by column block; empty: as they are."""

    name: str
    forms: tuple[Transform, ...] = ()

    def label(self, penalty: str) -> str:
        """What a penalty is called on it."""
        return penalty if not self.forms else f"{penalty} on {self.name}"

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What the columns are called."""
        if not self.forms:
            return names
        return tuple(
            n if k == NONE else f"{k}({n})" for form in self.forms for n, k in zip(names, form.kinds, strict=True)
        )

    def model(self, coef: np.ndarray, names: tuple[str, ...], scaling: FeatureScaling, **more: Any) -> RankingModel:
        """The model of coefficients (n_columns,) of the scaled columns."""
        if not self.forms:
            return RankingModel(coef, names, scaling, **more)
        d = len(names)
        form = np.argmax(coef.reshape(-1, d) != 0, axis=0)  # at most one has a weight
        at = form * d + np.arange(d)
        kinds = tuple(self.forms[k].kinds[j] for j, k in enumerate(form.tolist()))
        constants = np.array([self.forms[k].constants[j] for j, k in enumerate(form.tolist())])
        own = FeatureScaling(scaling.method, scaling.center[at], scaling.scale[at])
        return RankingModel(coef[at], names, own, transform=Transform(kinds, constants), **more)


def looks(data: RankingDataset, transform: str, scaling: str) -> list[Look]:
    """What to try on these training data. `auto` leaves logarithms out where they change no feature's shape, labels unseen, and where the
    scaling has a shape of its own."""
    raw = Look(NONE)
    if scaling not in LINEAR_SCALINGS or transform == NONE:
        return [raw]
    if transform != AUTO:
        return [Look(LOGS if transform == LOG else transform, (fit_transform(data, transform),))]
    log = fit_transform(data, LOG)
    if not changes_features(data, log):
        return [raw]
    return [raw, Look(LOGS, (log,)), Look(EACH, (fit_transform(data, NONE), log))]
