"""The looks of the data that a selection tries: all features as they are, all transformed,
each in the form that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.curves import DEFAULT_KNOTS, STRAIGHT, Knots, Straight, fit_knots
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import changes_features, fit_transform, transformed
from sparserank.export import Engine
from sparserank.model.ranking_model import RankingModel, curve_model
from sparserank.paths import CurvePath, OneFormEach, PathMaker, RuledMaker
from sparserank.penalties import FeatureRules
from sparserank.shards.scaling import LINEAR_SCALINGS, FeatureScaling
from sparserank.transforms import LOG, NONE, Transform

AUTO = "auto"  # all looks that can be: out of fold the best one wins
LOGS, EACH = "log1p", "raw or log1p"


@dataclass(frozen=True)
class Look:
    """One of them. forms: the form of each feature, column block by column block; empty: as they are; knots: of curves
    of the features in their one form."""

    name: str
    forms: tuple[Transform, ...] = ()
    knots: Knots | Straight = STRAIGHT

    def label(self, penalty: str) -> str:
        """What a penalty is called on it."""
        return penalty if self == RAW else f"{penalty} on {self.name}"

    def on(self, maker: RuledMaker) -> PathMaker:
        """A maker's path on its columns."""
        if self.knots.curved:
            return CurvePath(maker) if maker.shrinks else maker
        return maker if len(self.forms) < 2 else OneFormEach(maker, len(self.forms))

    def monotone(self, rules: FeatureRules) -> tuple[int, ...] | None:
        """The signs of all its coefficients under the rules of a penalty."""
        monotone = self.knots.monotone(rules.monotone)
        if monotone is None:
            return None
        if self.knots.curved:
            return tuple(np.repeat(monotone, self.knots.n_coordinates).tolist())
        return monotone * max(len(self.forms), 1)

    def lacking(self, engine: Engine) -> str:
        """What of it an engine cannot run; "" where it can run all."""
        return engine.lacks({kind for form in self.forms for kind in form.kinds}, curves=self.knots.curved)

    @property
    def columns_of_feature(self) -> int:
        """Columns of a feature side by side: the ramps of its curve, or the one."""
        return self.knots.m

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What the columns are called."""
        if not self.forms:
            return names
        return tuple(
            n if k == NONE else f"{k}({n})" for form in self.forms for n, k in zip(names, form.kinds, strict=True)
        )

    def model(
        self,
        coef: np.ndarray,
        names: tuple[str, ...],
        scaling: FeatureScaling,
        blocks: np.ndarray | None = None,
        **more: Any,
    ) -> RankingModel:
        """The model of coefficients (n_coefficients,) of the scaled columns, or, with blocks, of curves."""
        if isinstance(self.knots, Knots):
            assert blocks is not None
            return curve_model(self.knots, blocks, coef, names, self.forms[0] if self.forms else None, **more)
        if not self.forms:
            return RankingModel(coef, names, scaling, **more)
        d = len(names)
        form = np.argmax(coef.reshape(-1, d) != 0, axis=0)  # at most one has a weight
        at = form * d + np.arange(d)
        kinds = tuple(self.forms[k].kinds[j] for j, k in enumerate(form.tolist()))
        constants = np.array([self.forms[k].constants[j] for j, k in enumerate(form.tolist())])
        own = FeatureScaling(scaling.method, scaling.center[at], scaling.scale[at])
        return RankingModel(coef[at], names, own, transform=Transform(kinds, constants), **more)


RAW = Look(NONE)


def curve_look(data: RankingDataset, linear: Sequence[Look], n_knots: int, directions: np.ndarray) -> Look:
    """Curves of the features, transformed as all are in the last of the looks where all are (logarithms, where they
    change shapes): a bend is then where values are many, whatever their sizes."""
    whole = [look for look in linear if len(look.forms) == 1]
    forms = whole[-1].forms if whole else ()
    knots = fit_knots(transformed(data, forms), n_knots, directions)
    of = f" of {whole[-1].name}" if whole else ""
    with_knots = "" if n_knots == DEFAULT_KNOTS else f" with {n_knots} knots"
    return Look(f"curves{of}{with_knots}", forms, knots)


def looks(data: RankingDataset, transform: str, scaling: str) -> list[Look]:
    """What to try on these training data. `auto` leaves logarithms out where they change no feature's shape, labels
    unseen, and where the scaling has a shape of its own."""
    if scaling not in LINEAR_SCALINGS or transform == NONE:
        return [RAW]
    if transform != AUTO:
        return [Look(LOGS if transform == LOG else transform, (fit_transform(data, transform),))]
    log = fit_transform(data, LOG)
    if not changes_features(data, log):
        return [RAW]
    return [RAW, Look(LOGS, (log,)), Look(EACH, (fit_transform(data, NONE), log))]
