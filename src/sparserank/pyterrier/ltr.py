"""A ranker as a step of PyTerrier pipelines, with PyTerrier's query ids."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sparserank.data.dataset import checked_names
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.rankers.base import LinearRanker
from sparserank.text import brief

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise ImportError("SparseLTR needs PyTerrier; install it with: pip install 'sparserank[pyterrier]'") from error

RESULTS = ("qid", "docno", "features")
QRELS = ("qid", "docno", "label")


class SparseLTR(pt.Estimator):
    """A ranker as a step of a PyTerrier pipeline: `features >> SparseLTR(SparseRankerCV())`.

    Conventions
        Results are frames with `qid`, `docno` and `features`: one array of numbers per row, all of the same length.
        Qrels are frames with `qid`, `docno` and `label`. Ids may be any text. Unjudged documents have relevance 0.

    Parameters
        ranker          a ranker of this package, which `fit` fits in place; or, to rank only, a RankingModel or the
                        path of its file
        feature_names   names of the values in `features`, in their order; the fitted ranker and its model keep the
                        names, and a model finds its features by name. None: features have only numbers
    Notes
        pt.ltr.apply_learned_model(ranker, form="ltr") also accepts these rankers; it needs validation results and
        passes no names. Its default form, "regression", passes no queries: all rows are ranked as one query.
    Raises
        DataError       ranker is none of these
    """

    def __init__(
        self,
        ranker: LinearRanker | RankingModel | str | os.PathLike,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        if isinstance(ranker, str | os.PathLike):
            ranker = load_model(ranker)
        if not isinstance(ranker, LinearRanker | RankingModel):
            raise DataError(
                "SparseLTR: ranker must be a ranker of sparserank, a RankingModel or the path of a model file; got "
                f"{brief(ranker)}. pt.ltr.apply_learned_model accepts learners of other packages."
            )
        self.ranker: Any = ranker
        self.feature_names = feature_names

    def fit(self, res_tr: Any, qrels_tr: Any, res_va: Any = None, qrels_va: Any = None) -> Self:
        """Fit the ranker on the results of training topics; validation results, if any, become its eval_set, which
        SparseRankerCV uses to choose.

        Raises
            DataError   frames without the required columns or without rows; features of different lengths; qrels that
                        judge no result, or one result twice; only one of res_va and qrels_va; a RankingModel, which is
                        already fitted; input that the ranker refuses
        """
        if isinstance(self.ranker, RankingModel):
            raise DataError("SparseLTR: a RankingModel only ranks; to fit, wrap a ranker such as SparseRankerCV().")
        if (res_va is None) != (qrels_va is None):
            passed, other = ("res_va", "qrels_va") if qrels_va is None else ("qrels_va", "res_va")
            raise DataError(f"SparseLTR.fit: {passed} needs {other}; pass both, or neither.")
        X, y = self._examples(res_tr, qrels_tr, "res_tr", "qrels_tr")
        validation: dict[str, Any] = {}
        if res_va is not None:
            validation = {
                "eval_set": [self._examples(res_va, qrels_va, "res_va", "qrels_va")],
                "eval_qid": [res_va["qid"].to_numpy()],
            }
        self.ranker.fit(X, y, qid=res_tr["qid"].to_numpy(), **validation)
        return self

    def transform(self, res: Any) -> Any:
        """A copy of the results with `score` (larger is better) and `rank` (from 0 within a query, in row order for
        equal scores).

        Raises
            DataError        the number of features differs from that of the fit; frames as in `fit`
            NotFittedError   the ranker has not been fitted
        """
        X = self._features(res, "the results")
        res = res.copy()
        res["score"] = self._scores(X, res["qid"].to_numpy()) if len(res) else np.zeros(0)
        return pt.model.add_ranks(res)

    def transform_inputs(self) -> list[list[str]]:
        """The columns that `transform` needs; PyTerrier uses them to check and draw pipelines."""
        return [list(RESULTS)]

    def transform_outputs(self, inp_cols: list[str]) -> list[str]:
        """The columns of `transform`'s results."""
        pt.validate.columns(inp_cols, includes=list(RESULTS))
        return [c for c in inp_cols if c not in ("score", "rank")] + ["score", "rank"]

    def __repr__(self) -> str:
        return f"SparseLTR({self.ranker!r})"

    def _scores(self, X: Any, qid: np.ndarray) -> np.ndarray:
        expected = getattr(self.ranker, "n_features_in_", X.shape[1])
        if isinstance(self.ranker, RankingModel) and self.feature_names is None:
            expected = self.ranker.n_features
        if X.shape[1] != expected:
            raise DataError(
                f"SparseLTR: features have {X.shape[1]} values; {type(self.ranker).__name__} was fitted on {expected}. "
                "Rank with the pipeline that was used for fitting."
            )
        return np.asarray(self.ranker.predict(X, qid))

    def _examples(self, res: Any, qrels: Any, results: str, judgments: str) -> tuple[Any, np.ndarray]:
        """Features (n_docs, n_features) and relevance (n_docs,) of the results."""
        X = self._features(res, results)
        if len(res) == 0:
            raise DataError(f"SparseLTR.fit: {results} contains no documents.")
        _require_columns(qrels, QRELS, judgments)
        judged = qrels[list(QRELS)].drop_duplicates()
        twice = judged.duplicated(["qid", "docno"])
        if twice.any():
            raise DataError(f"SparseLTR.fit: {judgments} gives two labels to {_place(judged[twice], 0)}; keep one.")
        relevance = judged.set_index(["qid", "docno"])["label"]
        relevance = relevance.reindex(pd.MultiIndex.from_frame(res[["qid", "docno"]]))
        if relevance.isna().all():
            raise DataError(
                f"SparseLTR.fit: {judgments} judges none of the {len(res)} documents of {results}, e.g. "
                f"{_place(res, 0)}; the ids in both frames must have the same type (PyTerrier uses text)."
            )
        return X, relevance.fillna(0).to_numpy()

    def _features(self, res: Any, results: str) -> Any:
        """The features (n_docs, n_features) as float64, in a frame if they have names."""
        _require_columns(res, RESULTS, results)
        if res["qid"].isna().any():
            raise DataError(f"SparseLTR: {results} must have a query id in every row; one qid is missing.")
        if len(res) == 0:
            return np.zeros((0, 0))
        try:
            X = np.array(res["features"].tolist(), dtype=np.float64)
        except (TypeError, ValueError):
            X = np.empty(0)
        if X.shape == (len(res),):  # each result has a single feature
            X = X[:, None]
        if X.ndim != 2 or len(X) != len(res) or X.shape[1] == 0:
            raise DataError(f"SparseLTR: features must be rows of numbers, all of the same length; {_odd_row(res)}.")
        if self.feature_names is None:
            return X
        names = checked_names(self.feature_names, X.shape[1])
        if "qid" in names:
            raise DataError(
                "SparseLTR: no feature can be called 'qid', the name of the query column; rename it in feature_names."
            )
        return pd.DataFrame(X, columns=list(names))


def _require_columns(frame: Any, columns: Sequence[str], role: str) -> None:
    """Raise DataError for a frame without one of the columns."""
    held = list(getattr(frame, "columns", []))
    missing = next((c for c in columns if c not in held), None)
    if missing is None:
        return
    remedy = " Put a step that computes them before this one, such as (bm25 ** pl2)." if missing == "features" else ""
    raise DataError(
        f"SparseLTR: {role} must be a frame with the columns {', '.join(columns)}; it has no {missing}.{remedy}"
    )


def _odd_row(res: Any) -> str:
    """The first row whose features are not numbers, or whose number of features differs from the first row."""
    first = None
    for row, values in enumerate(res["features"]):
        try:
            shape = np.asarray(values, dtype=np.float64).shape
        except (TypeError, ValueError):
            return f"{_place(res, row)} has {brief(values)}"
        first = shape if first is None else first
        if shape != first or len(shape) > 1 or shape == (0,):
            return f"{_place(res, row)} has shape {shape}, {_place(res, 0)} {first}"
    raise AssertionError("every row has the shape of the first")


def _place(frame: Any, row: int) -> str:
    return f"document {brief(str(frame['docno'].iloc[row]))} of query {brief(str(frame['qid'].iloc[row]))}"
