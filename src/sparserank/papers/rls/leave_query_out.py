"""RankRLS and its exact leave-query-out residuals for a whole grid of lambda, from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense
from sparserank.errors import DataError, ParameterError
from sparserank.options.arguments import check_arguments
from sparserank.papers.rls.centring import (
    DETERMINED,
    centre_rows,
    centred_relevance,
    determined,
    held_out_blocks,
    lam_too_small,
    refuse_without_preference,
    row_scale,
    varying_features,
)
from sparserank.text import brief

MAX_SIDE = 20_000  # side of the matrix that is decomposed: the smaller of n_docs and n_features


@dataclass(frozen=True)
class LeaveQueryOut:
    """RankRLS models and their leave-query-out residuals.

    lams (n_lams,), coefs (n_lams, n_features). residuals (n_lams, n_docs): centred relevance minus the centred score of
    the model fitted without the document's query. errors (n_lams,): sums of squared residuals, which are the pairwise
    squared losses of equation (3) on held-out queries.
    held_out_scores (n_lams, n_docs) rank each query by that model, so that any metric can be estimated from them.
    """

    lams: np.ndarray
    coefs: np.ndarray
    residuals: np.ndarray
    errors: np.ndarray
    held_out_scores: np.ndarray


def leave_query_out(
    data: RankingDataset, lams: Sequence[float] | np.ndarray, *, query_weight: np.ndarray | None = None
) -> LeaveQueryOut:
    """Fit RankRLS for each lambda and predict each query by the model fitted without it.

    w = argmin sum over queries of 1 / (2 l) sum_ij (y_i - y_j - w.(x_i - x_j))^2 + lam ||w||^2

    Parameters
    ----------
    data : RankingDataset
        At most 20,000 documents or at most 20,000 features; a sparse X stays sparse if there are more features than
        documents.
    lams : sequence of float
        Strengths > 0 on the papers' scale (a sum over queries).
    query_weight : ndarray of shape (n_queries,), optional
        Weights >= 0 of the queries.

    Returns
    -------
    LeaveQueryOut
        Coefficients, errors and held-out scores of each lambda.

    Raises
    ------
    DataError
        No preferred pair, no feature that varies within the queries, lam <= 0, lam so small that a model without one
        query is not determined in floating point, values outside 1e-100 to 1e100, or both sides of X above 20,000.

    Notes
    -----
    With a single query, documents are left out instead of queries. Cost: one decomposition of the smaller side of X;
    then O(n_docs min(list length, side)) per lambda and document.

    References
    ----------
    Pahikkala et al. (2010), equations (3)-(6) and Theorem 3.1; the form with one decomposition for all lambda is
    residual = (I - H_q)^-1 e_q with H_q = Z_q (Lambda + lam)^-1 Z_q^T.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> type(sr.papers.leave_query_out(data, [1.0])).__name__
    'LeaveQueryOut'
    """
    check_arguments(leave_query_out, locals())
    lams = strengths("leave_query_out", lams)
    scale = row_scale(data, query_weight)
    y = centred_relevance(data, scale)
    refuse_without_preference(data, query_weight)
    varying = varying_features(data, query_weight)
    by_documents = data.n_features > data.n_docs
    if min(data.n_docs, data.n_features) > MAX_SIDE:
        raise DataError(
            f"RankRLS decomposes the smaller side of X, at most {MAX_SIDE}; got {data.n_docs} documents and "
            f"{data.n_features} features. Use GreedyRankRLS(search='backfitting') or SparseRanker."
        )
    decompose = _by_documents if by_documents else _by_features
    Z, eigenvalues, to_coef = decompose(data, scale, varying)
    moment = Z.T @ y
    coefs = np.empty((len(lams), data.n_features))
    residuals = np.empty((len(lams), data.n_docs))
    for k, lam in enumerate(lams):
        v = moment / (eigenvalues + lam)
        coefs[k] = np.where(varying, to_coef(v), 0.0)
        e = y - Z @ v
        with determined(lam):
            for lo, hi in pairwise(held_out_blocks(data)):
                residuals[k, lo:hi] = without_query(Z[lo:hi], eigenvalues + lam, e[lo:hi])
        if not (np.isfinite(residuals[k]).all() and np.isfinite(coefs[k]).all()):
            raise lam_too_small(lam)
    errors = np.einsum("km,km->k", residuals, residuals)
    with np.errstate(divide="ignore", invalid="ignore"):
        held_out = np.where(scale > 0, (y - residuals) / scale, 0.0)
        residuals = np.where(scale > 0, residuals / scale, 0.0)
    return LeaveQueryOut(lams, coefs, residuals, errors, held_out)


def strengths(owner: str, lam: Any) -> np.ndarray:
    """`lam`, a number or a sequence of numbers, as (n_lams,) float64; DataError unless all are finite and > 0."""
    try:
        values = np.asarray(lam)
    except ValueError:  # raised for rows of unequal length
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "iuf" or values.size == 0 or not np.isfinite(values).all() or (values <= 0).any():
        raise ParameterError("lam", f"must be finite and > 0, one number or several; got {brief(lam)}.", owner=owner)
    return values.astype(np.float64).ravel()


def without_query(Z: np.ndarray, diagonal: np.ndarray, e: np.ndarray) -> np.ndarray:
    """(I - Z diagonal^-1 Z^T)^-1 e, by the smaller of the two systems.

    Raises
        LinAlgError   rounding leaves no digits: the other queries and lam determine some direction less than DETERMINED
                      times as well as the query itself
    """
    U = Z / np.sqrt(diagonal)
    by_rows = len(U) <= U.shape[1]
    system = np.eye(min(U.shape)) - (U @ U.T if by_rows else U.T @ U)
    factor = np.linalg.cholesky(system)
    if not float(np.min(np.diagonal(factor), initial=1.0)) ** 2 >= DETERMINED:
        raise np.linalg.LinAlgError("ill-conditioned")
    if by_rows:
        return np.asarray(cho_solve((factor, True), e, check_finite=False))
    return np.asarray(e + U @ cho_solve((factor, True), U.T @ e, check_finite=False))


def _by_features(data: RankingDataset, scale: np.ndarray, varying: np.ndarray):  # type: ignore[no-untyped-def]
    """Z = X V with X^T X = V Lambda V^T, X centred and without constant features; coefficients are V v."""
    columns = np.flatnonzero(varying)
    X = as_dense(data.X[:, columns])
    centred = centre_rows(X.astype(np.float64), data.query_ptr) * scale[:, None]
    eigenvalues, V = np.linalg.eigh(centred.T @ centred)

    def to_coef(v: np.ndarray) -> np.ndarray:
        w = np.zeros(data.n_features)
        w[columns] = V @ v
        return w

    return centred @ V, np.maximum(eigenvalues, 0.0), to_coef


def _by_documents(data: RankingDataset, scale: np.ndarray, varying: np.ndarray):  # type: ignore[no-untyped-def]
    """The same Z from X X^T = U Lambda U^T, Z = U Lambda^(1/2); CSR is never centred explicitly, so it stays sparse."""
    columns = np.flatnonzero(varying)
    X = data.X[:, columns].astype(np.float64)
    if data.is_sparse:
        gram = centre_rows(centre_rows((X @ X.T).toarray(), data.query_ptr).T, data.query_ptr)
    else:  # centred first, because a large offset would swamp the differences in the products
        X = centre_rows(X, data.query_ptr)
        gram = X @ X.T
    eigenvalues, U = np.linalg.eigh(gram * scale[:, None] * scale)
    useful = eigenvalues > eigenvalues[-1] * len(eigenvalues) * np.finfo(np.float64).eps
    eigenvalues = eigenvalues[useful]
    U = U[:, useful]
    root = np.sqrt(eigenvalues)

    def to_coef(v: np.ndarray) -> np.ndarray:
        dual = centre_rows((U @ (v / root)) * scale, data.query_ptr)
        w = np.zeros(data.n_features)
        w[columns] = np.asarray(X.T @ dual).ravel()
        return w

    return U * root, eigenvalues, to_coef
