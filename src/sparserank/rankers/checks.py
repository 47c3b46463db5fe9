"""Valid parameters of rankers: the error of each check names ranker, parameter,
range and value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.missing import MissingPolicy
from sparserank.data.varying import nothing_varies
from sparserank.errors import DataError, ParameterError
from sparserank.given_weights import usable_weights
from sparserank.losses import PairwiseLoss, parse_loss
from sparserank.metrics import Convention, Metric, parse_convention, parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.options import Choice, Count, Flag, Number, Or
from sparserank.options.kinds import LARGEST_COUNT
from sparserank.paths import BestK, on_coefficients, parse_maker, resolved
from sparserank.penalties import Penalty
from sparserank.quoting import brief


def require_count(
    owner: str, name: str, value: Any, *, least: int = 1, most: int = LARGEST_COUNT, optional: bool = False
) -> None:
    """Raise ParameterError unless `value` is an integer from `least` to `most` (or None, if allowed)."""
    kind = Count(least, most)
    _require(owner, name, (Or(None, kind) if optional else kind).problem(value))


def require_variation(owner: str, objective: PairwiseObjective) -> None:
    """Raise DataError when every feature is constant within every query."""
    if not objective.varying.any():
        raise DataError(f"{owner}: {nothing_varies(objective.n_docs)}")


def require_number(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
) -> None:
    """Raise ParameterError unless `value` is a real number in the range, 0 or within 1e-100 ... 1e100 in size."""
    _require(owner, name, Number(above, least, below).problem(value))


def require_choice(owner: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise ParameterError unless `value` is one of the names."""
    _require(owner, name, Choice(choices).problem(value))


def require_flag(owner: str, name: str, value: Any) -> None:
    """Raise ParameterError unless `value` is True or False."""
    _require(owner, name, Flag().problem(value))


def _require(owner: str, name: str, problem: str) -> None:
    if problem:
        raise ParameterError(name, problem, owner=owner)


def checked_penalty(owner: str, value: Any) -> Penalty | BestK:
    """The penalty that `value` names, or best_k."""
    try:
        found = parse_maker(value)
    except DataError as error:
        raise DataError(f"{owner}: {error}") from error
    if not isinstance(found, Penalty | BestK):
        raise DataError(
            f"{owner}: penalty must be a penalty or best_k; {found.name} works only with `select` and `fit_path`."
        )
    return found


def checked_loss(owner: str, value: Any) -> PairwiseLoss:
    """The loss `value`, or the loss with this name."""
    try:
        return parse_loss(value)
    except DataError as error:
        raise DataError(f"{owner}: {error}") from error


def numbered_penalty(owner: str, value: Any, names: Sequence[str]) -> Penalty | BestK:
    """The penalty that `value` names, with feature names replaced by numbers."""
    penalty = checked_penalty(owner, value)
    try:
        return penalty.for_features(names)
    except DataError as error:
        raise DataError(f"{owner}: {error}") from error


def usable_penalty(owner: str, penalty: Penalty | BestK, objective: PairwiseObjective) -> Penalty:
    """The penalty with every parameter on the mean-loss scale.

    Raises
        DataError   the penalty forbids every feature that varies
    """
    assert isinstance(penalty, Penalty)  # rankers that take best_k know it before
    on_scale = resolved(penalty, objective)
    if not (objective.varying & on_coefficients(on_scale, objective).usable(objective.n_features)).any():
        raise DataError(
            f"{owner}: the penalty excludes every feature that varies (by drop, or by weights of inf); allow at least "
            "one."
        )
    return on_scale


def checked_metric(owner: str, name: str, value: Any) -> Metric:
    """The metric that `value` names; higher must be better."""
    metric = _parsed(owner, name, value, (str, Metric), parse_metric)
    if not metric.higher_is_better:
        raise DataError(f"{owner}: {name} must be a metric where higher is better; got {brief(value)}.")
    return metric


def require_convention(owner: str, name: str, value: Any) -> None:
    """Raise DataError unless `value` is a metric convention."""
    _parsed(owner, name, value, (str, Convention), parse_convention)


def _parsed(owner: str, name: str, value: Any, kinds: tuple[type, ...], parse: Any) -> Any:
    if not isinstance(value, kinds):
        raise DataError(f"{owner}: {name} must be a name; got {brief(value)}.")
    try:
        return parse(value)
    except DataError as error:
        raise DataError(f"{owner}: {name} {brief(value)} is unknown ({error}).".replace(".).", ").")) from error


def random_generator(owner: str, name: str, value: Any) -> np.random.Generator:
    """The generator of a seed; `value` is None, an integer >= 0, or a Generator."""
    if isinstance(value, np.random.Generator):
        return value
    if value is not None:
        require_count(owner, name, value, least=0, most=2**128 - 1, optional=True)
    return np.random.default_rng(value)


def checked_missing(owner: str, value: Any) -> MissingPolicy | None:
    """The policy that `value` names; it must fill in values without query ids."""
    try:
        policy = MissingPolicy.parse(value)
    except DataError as error:
        raise DataError(f"{owner}: {error}") from error
    if policy is not None and policy.by_query:
        raise DataError(
            f"{owner}: missing='query-min' needs the query of every row, also in predict. Fill in values beforehand, "
            "or use 'min'."
        )
    return policy


def checked_query_weight(data: RankingDataset, query_weight: Any) -> np.ndarray | None:
    """query_weight (n_queries,) as float64, or None."""
    if query_weight is None:
        return None
    weight = usable_weights(query_weight, data.n_queries)
    if weight is None:
        raise DataError(
            f"query_weight must contain one finite weight >= 0 per query ({data.n_queries}), in order of first "
            "appearance."
        )
    return weight
