"""A penalty's parameters, with scikit-learn's names of nested ones: penalty__gamma. Penalties stay immutable."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from sparserank.errors import DataError
from sparserank.paths import parse_maker

PREFIX = "penalty__"


class PenaltyParameters(BaseEstimator):
    """Support of get_params and set_params for the parameters of a ranker's `penalty`,
    except alpha, which belongs to the ranker."""

    penalty: Any

    @property
    def _penalty(self) -> Any:
        """The penalty in use."""
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
            unknown = next((name for name in nested if name not in known), None)
            if unknown == f"{PREFIX}alpha":
                raise ValueError(
                    f"Invalid parameter {unknown!r} for {type(self).__name__}: the strength is the parameter "
                    "alpha of the ranker."
                )
            if unknown is not None:
                has = (
                    f"the parameters of its penalty are {', '.join(sorted(known))}"
                    if known
                    else "it has no penalty with parameters"
                )
                raise ValueError(f"Invalid parameter {unknown!r} for {type(self).__name__}: {has}.")
            changed = {n.removeprefix(PREFIX): v for n, v in nested.items() if v is not known[n] and v != known[n]}
            if changed:  # what get_params gave changes nothing
                self.penalty = replace(parse_maker(self._penalty), **changed)
        return self

    def _of_penalty(self) -> dict[str, Any]:
        """{penalty__NAME: value}; empty without a penalty, or if the value does not name one."""
        if "penalty" not in super().get_params(deep=False):
            return {}
        try:
            parsed = parse_maker(self._penalty)
        except DataError:
            return {}
        return {f"{PREFIX}{f.name}": getattr(parsed, f.name) for f in fields(parsed) if f.name != "alpha"}
