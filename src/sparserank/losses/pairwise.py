"""The interface of pairwise losses and their shared code: pairs, weights and totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from sparserank.losses.dual import Dual, QuadraticDual, SweptDual
from sparserank.losses.levels import RelevanceLevels, Table, checked_table, pair_totals, relevance_levels
from sparserank.options.arguments import check_arguments


@dataclass(frozen=True)
class PairwiseLoss:
    """Weighted sum over all preferred pairs of each query of a convex function phi of the margin; the base of losses.

    sum over queries q of weights[q] * sum over pairs (i, j) of t(y_i, y_j) doc_weight[i] phi(s_i - s_j)

    Parameters
    ----------
    grade_pair_weights : array_like of shape (n_grades, n_grades), optional
        The table t; default 1.

    Attributes
    ----------
    sweeps(levels) : method
        Two compiled functions of one query, sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work)
        -> (sum t phi, sum t phi'^2 / 4) and hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
        out = W Z. doc_weight is None or (m,); order is a guess of the order of the documents by descending score, which
        the sweep corrects in place (it remains a permutation); work is (WORK_ROWS, > m and > n_levels) float64 scratch,
        C-ordered.
    smoothness : float
        Lipschitz constant of phi', for curvatures and the radius of safe screening.
    value_at_zero : float
        phi(0): the weighted mean loss of w = 0.
    largest_scale : float or None
        phi* is u + u^2 / 4 on its domain, which contains s phi' up to this s; None: phi* is another function.
    square_is_value : bool
        Whether the two sums of `sweep` are equal, so that a certificate needs no scores.
    dual_sweep : callable or None
        If largest_scale is None, a compiled function of one query, dual_sweep(scores, levels, n_levels, table,
        doc_weight, order, s) -> sum t phi*(s phi'); order is a guess as in `sweep`.

    Raises
    ------
    DataError
        grade_pair_weights is not a table of weights.

    Notes
    -----
    scores (n_docs,) float64, finite; relevance (n_docs,) float64, any finite reals; query_ptr (n_queries + 1,); weights
    (n_queries,) >= 0; doc_weight (n_docs,) >= 0 weights the preferred document of a pair, for example by its inverse
    propensity; None means 1. Instances are immutable values: a table is stored as tuples of floats, and
    `parse_loss(repr(loss)) == loss` for those in LOSSES. Values are sums; the caller divides once to normalise. A shift
    of the scores of a query changes nothing; documents of equal relevance form no pair; equal scores count with margin
    0.

    References
    ----------
    Propensity weights of documents: Joachims, Swaminathan and Schnabel (2017).
    """

    grade_pair_weights: np.ndarray | Table | None = None

    name: ClassVar[str | None] = None
    smoothness: ClassVar[float]
    value_at_zero: ClassVar[float]
    largest_scale: ClassVar[float | None] = None
    square_is_value: ClassVar[bool] = False
    dual_sweep: ClassVar[Callable | None] = None

    def __post_init__(self) -> None:
        if self.grade_pair_weights is not None:
            table = checked_table(self.grade_pair_weights).tolist()
            object.__setattr__(self, "grade_pair_weights", tuple(map(tuple, table)))

    def __repr__(self) -> str:
        return loss_name(self)

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        """The compiled (sweep, hessian_sweep) for these grades;
        queries with fewer than two grades are not swept."""
        raise NotImplementedError

    def dual(self, value: float, slope: float, square: Callable[[], float], sweep: Callable[[float], float]) -> Dual:
        """The dual at w from f(w), slope = w.g, the sum of v phi'^2 / 4 and the conjugate sum at s;
        the last two are computed only if needed."""
        if self.largest_scale is None:
            return SweptDual(slope - value, sweep)
        squares = value if self.square_is_value else square()
        return QuadraticDual(value + squares - slope, squares, self.largest_scale)

    def levels(self, relevance: np.ndarray, query_ptr: np.ndarray) -> RelevanceLevels:
        """The relevance in the input form of the kernels."""
        return relevance_levels(relevance, query_ptr, self.grade_pair_weights)

    def n_pairs(self, relevance: np.ndarray, query_ptr: np.ndarray, doc_weight: np.ndarray | None = None) -> np.ndarray:
        """(n_queries,) total pair weight of each query; without weights of grades or documents, the number of pairs."""
        return pair_totals(self.levels(relevance, query_ptr), query_ptr, doc_weight)


def loss_name(loss: PairwiseLoss) -> str:
    """Return the name of a loss.

    Parameters
    ----------
    loss : PairwiseLoss
        The loss.

    Returns
    -------
    str
        For example 'squared_hinge' or 'SquaredHinge(grade_pair_weights=[[0.0, ...], ...])'; parameters that are not
        numbers, strings or arrays appear as their type.

    Examples
    --------
    >>> from sparserank.losses import SquaredHinge, loss_name
    >>> loss_name(SquaredHinge())
    'squared_hinge'
    """
    check_arguments(loss_name, locals())
    shown = [f"{name}={_plain(value)!r}" for name, value in parameters_of(loss).items() if value is not None]
    registered_name = vars(type(loss)).get("name")  # not inherited from a base class
    if not shown and registered_name is not None:
        return str(registered_name)
    return f"{type(loss).__name__}({', '.join(shown)})"


def parameters_of(loss: PairwiseLoss) -> dict[str, Any]:
    declared = {f.name: getattr(loss, f.name) for f in fields(loss)} if is_dataclass(loss) else {}
    return {**declared, **getattr(loss, "__dict__", {})}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, int | float | str | bool) else f"<{type(value).__name__}>"
