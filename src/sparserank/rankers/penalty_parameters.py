"""Rankers with a penalty: parameters of the penalty, rules that name features, and the transform of the features."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from sparserank.crossval.feature_rules import complete_penalties
from sparserank.crossval.feature_transforms import FeatureTransform, feature_transforms
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.losses import PairwiseLoss
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.options import option, parse_option
from sparserank.options.kinds import Kind
from sparserank.options.paths import FIT_PATH, LINEAR_SCALINGS
from sparserank.options.selection import FIT, SELECT
from sparserank.paths import BestK, BoostedSteps, SizedMaker, on_groups, parse_maker, resolved
from sparserank.penalties import Penalty
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.transforms import NONE, STEPS

PREFIX = "penalty__"
# kinds and defaults of the parameters, by name
DECLARED = {**SELECT, **FIT_PATH, **FIT}
KINDS = {name: option.kind for name, option in DECLARED.items()}
DEFAULTS: dict[str, Any] = {name: option.default for name, option in DECLARED.items()}


@dataclass(kw_only=True, eq=False, repr=False)
class PenalizedRanker(ThreadedRanker):
    """A ranker with a penalty, and the parameters that all of these have.

    get_params and set_params also know the parameters of `penalty`, as penalty__gamma, except alpha, which belongs to
    the ranker. Penalties stay immutable.
    """

    penalty: Any
    loss: str | PairwiseLoss = DEFAULTS["loss"]
    k: int | None = None
    scaling: str = DEFAULTS["scaling"]
    feature_transform: str = DEFAULTS["feature_transform"]
    monotone: Mapping[str, str | int] | None = None
    keep: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    feature_groups: str | os.PathLike | Mapping[str, str] | None = None
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None = None
    missing: str | float | Mapping[Any, str | float] | None = "error"
    pair_weights: str = DEFAULTS["pair_weights"]
    tol: float = DEFAULTS["tol"]
    n_alphas: int = DEFAULTS["n_alphas"]
    metric: str | Metric = DEFAULTS["metric"]
    n_threads: int | None = None

    _kinds: ClassVar[Mapping[str, Kind]] = KINDS

    @property
    def _named_penalty(self) -> Any:
        """The penalty that the ranker uses, as a name or as an object."""
        return self.penalty

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with deep also those of the penalty, as penalty__NAME."""
        params: dict[str, Any] = super().get_params(deep)
        return {**params, **self._of_penalty()} if deep and "penalty" in params else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; penalty__NAME replaces the penalty by one with that parameter value.

        Parameters
        ----------
        **params
            Names and values of parameters.

        Raises
        ------
        ValueError
            The ranker, or its penalty, has no such parameter.
        DataError
            A value is invalid for the penalty.
        """
        nested = {name: value for name, value in params.items() if name.startswith(PREFIX)}
        super().set_params(**{name: value for name, value in params.items() if name not in nested})
        if nested:
            known = self._of_penalty()
            has = "it has no penalty with parameters"
            if known:
                has = f"the parameters of its penalty are {', '.join(sorted(known))}"
            for name in nested:
                if name not in known:
                    strength = "the strength is the parameter alpha of the ranker"
                    why = strength if name == f"{PREFIX}alpha" else has
                    raise ValueError(f"Invalid parameter {name!r} for {self._name}: {why}.")
            changed = {n.removeprefix(PREFIX): v for n, v in nested.items() if v is not known[n] and v != known[n]}
            if changed:  # unchanged values from get_params have no effect
                self.penalty = replace(parse_maker(self._named_penalty), **changed)
        return self

    def _of_penalty(self) -> dict[str, Any]:
        """The parameters of the penalty as {penalty__NAME: value}; empty if the ranker has no penalty parameter, or if
        the penalty cannot be parsed."""
        if "penalty" not in super().get_params(deep=False):
            return {}
        try:
            parsed = parse_maker(self._named_penalty)
        except DataError:
            return {}
        return {f"{PREFIX}{f.name}": getattr(parsed, f.name) for f in fields(parsed) if f.name != "alpha"}

    def _checked_penalty(self) -> Penalty | SizedMaker:
        """The penalty that the parameter `penalty` names, checked.

        Raises
            ParameterError   it is not known, or does not support the transform; the scaling excludes transforms
        """
        transform = self.feature_transform
        penalty = checked_penalty(self._name, self._named_penalty)
        if transform != NONE and penalty.on_steps:
            raise ParameterError("feature_transform", f"must be {NONE} with {penalty.name}.", owner=self._name)
        if transform != NONE and self.scaling not in LINEAR_SCALINGS:
            known = f"must be {NONE} with {option('scaling', self.scaling)}."
            raise ParameterError("feature_transform", known, owner=self._name)
        return penalty

    def _completed_penalty(self, data: RankingDataset) -> Penalty | SizedMaker:
        """The penalty with the ranker's rules added, and feature names replaced by their numbers in the data."""
        rules = {rule: getattr(self, rule) for rule in ("monotone", "keep", "drop", "feature_groups", "costs")}
        penalty = checked_penalty(self._name, self._named_penalty)
        try:
            (completed,) = complete_penalties([penalty], data.names, data.derived, **rules).penalties
        except ParameterError as error:
            owner = f"{self._name}: {error.owner}" if error.owner else self._name
            raise ParameterError(error.parameter, error.message, owner=owner) from error
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from error
        assert isinstance(completed, Penalty | SizedMaker)
        return completed

    def _learned_transform(self, training: TrainingSet, penalty: Penalty | SizedMaker) -> FeatureTransform:
        """The transform of the features, learned without labels on the queries with a positive weight; sets transform_.
        Warns if columns are equal.
        """
        kind = STEPS if penalty.on_steps else self.feature_transform
        (learned,) = feature_transforms(training.used, [kind], penalty)
        if learned.transform is not None:
            self.transform_ = learned.transform
        if learned.note:
            warn_caller(f"{self._name}: {learned.note}")
        return learned


def checked_penalty(owner: str, value: Any) -> Penalty | SizedMaker:
    """The penalty, best_k or steps that `value` names."""
    parsed = parse_option("penalty", parse_maker, value, owner)
    if not isinstance(parsed, Penalty | BestK | BoostedSteps):
        works = f"must be a penalty, best_k or steps; {parsed.name} works only with `select` and `fit_path`."
        raise ParameterError("penalty", works, owner=owner)
    return parsed


def usable_penalty(owner: str, penalty: Penalty | SizedMaker, objective: PairwiseObjective) -> Penalty:
    """The penalty with every parameter on the mean-loss scale.

    Raises
        DataError   the penalty forbids every feature that varies
    """
    assert isinstance(penalty, Penalty)  # rankers that support models by size handle them before
    on_scale = resolved(penalty, objective)
    if not (objective.varying & on_groups(on_scale, objective).usable(objective.n_features)).any():
        raise DataError(
            f"{owner}: the penalty excludes every feature that varies (by drop, or by weights of inf); allow at least "
            "one."
        )
    return on_scale
