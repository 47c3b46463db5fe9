"""A metric: one declaration (name, cutoff, convention) and one pure function of ranked lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparserank.errors import ParameterError
from sparserank.metrics.conventions import CONVENTIONS, Convention
from sparserank.metrics.ordering import RankedLists, rank_lists
from sparserank.text import brief


@dataclass(frozen=True)
class Metric:
    """A ranking metric; a call returns one value per query.

    `metric(scores, relevance, query_ptr)` -> (n_queries,), NaN for a query that is excluded from means.
    `repr` is the canonical name ('letor4:ndcg@10') and `parse_metric(repr(m), m.convention) == m`; for the
    conventions of tools, the name alone is enough.
    """

    cutoff: int | None = None
    convention: Convention = CONVENTIONS["default"]

    name: ClassVar[str]
    description: ClassVar[str]
    source: ClassVar[str]
    limits: ClassVar[tuple[float, float]] = (-math.inf, math.inf)  # range of the values
    higher_is_better: ClassVar[bool] = True
    takes_cutoff: ClassVar[bool] = True
    needs_cutoff: ClassVar[int | None] = None  # a usual cutoff, if one is required
    uses_gain: ClassVar[bool] = False  # depends on the gain of a grade, as defined by the convention
    is_binary: ClassVar[bool] = False  # treats documents as relevant or not, as defined by the convention

    def __post_init__(self) -> None:
        if self.cutoff is not None and (type(self.cutoff) is not int or not 1 <= self.cutoff < 2**63):
            must = f"must be a 64-bit integer >= 1, or None for no cutoff; got {brief(self.cutoff)}."
            raise ParameterError("cutoff", must, owner=self.name)
        if self.cutoff is not None and not self.takes_cutoff:
            raise ParameterError("metric", f"{self.name} takes no cutoff; got @{self.cutoff}.")
        if self.cutoff is None and self.needs_cutoff is not None:
            raise ParameterError("metric", f"{self.name} needs a cutoff, such as {self.name}@{self.needs_cutoff}.")

    def __call__(
        self, scores: np.ndarray, relevance: np.ndarray, query_ptr: np.ndarray, docid: np.ndarray | None = None
    ) -> np.ndarray:
        return self.compute(rank_lists(scores, relevance, query_ptr, self.convention, docid))

    def compute(self, lists: RankedLists) -> np.ndarray:
        """(n_queries,) values of lists that are already ranked by this metric's convention."""
        raise NotImplementedError

    def counted(self, lists: RankedLists) -> Any:
        """Documents that a user sees: those that are ranked and within the cutoff."""
        within = True if self.cutoff is None else lists.rank <= self.cutoff
        return within if lists.retrieved is None else lists.retrieved & within

    def __repr__(self) -> str:
        before, behind = self.convention.affixes
        level = self.convention.relevant_from
        relevant = f"(rel={level:g})" if self.is_binary and level != 1 else ""
        return f"{before}{self.name}{relevant}" + (f"@{self.cutoff}" if self.cutoff is not None else "") + behind

    @property
    def title(self) -> str:
        """The name, with the gain if the metric uses one: 'ndcg@10 (gain 2^grade - 1)'."""
        return f"{self!r} (gain {self.convention.shown_gain})" if self.uses_gain else repr(self)

    __str__ = __repr__
