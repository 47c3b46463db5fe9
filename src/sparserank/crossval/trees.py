"""A LambdaMART ensemble of LightGBM, and the features that it would keep."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from sparserank.crossval import options as of_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import columns_dense
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import per_query_values
from sparserank.metrics import Metric
from sparserank.options import check_given
from sparserank.quoting import brief

MISSING = "trees need LightGBM; install it with: pip install 'sparserank[trees]'"
PLAIN_NAME = re.compile(r"[\w.-]+")  # LightGBM refuses commas, colons, quotes and brackets, and changes blanks
SOURCE_LINE = re.compile(r",? at \S+, line \d+")  # of LightGBM's own code, in its messages
MAX_GRADE = 30  # LightGBM's table of gains ends there
MAX_DOCUMENTS = 10_000  # of a query
SHAP_ROWS = 4000  # that contributions are averaged over, about


@dataclass(frozen=True)
class TreeSettings:
    """Settings to train an ensemble of LightGBM.

    row_share, feature_share   shares of the documents and of the features that are drawn for each tree
    others        LightGBM parameters and their values, in place of all of these except n_trees
    categorical   names of the features whose values are categories
    """

    n_trees: int = of_trees.N_TREES.default
    n_leaves: int = of_trees.N_LEAVES.default
    learning_rate: float = of_trees.LEARNING_RATE.default
    row_share: float = 0.8
    feature_share: float = 0.8
    others: tuple[tuple[str, str], ...] | None = None
    categorical: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_given(of_trees.TREES, vars(self))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by LightGBM's names, except the number of trees."""
        if self.others is not None:
            return {"objective": "lambdarank", **dict(self.others)}
        return {
            "objective": "lambdarank",
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            "bagging_fraction": self.row_share,
            "bagging_freq": 1,
            "feature_fraction": self.feature_share,
        }


class TooSlow(Exception):
    """Trees that did not finish within their time."""


def lengths_of(sizes: Any) -> tuple[int, ...]:
    """Different numbers of features, in rising order.

    Raises
        ParameterError   they are not positive whole numbers
    """
    many = isinstance(sizes, Iterable) and not isinstance(sizes, str) and getattr(sizes, "ndim", True)
    listed = list(sizes) if many else []
    if not listed or any(
        isinstance(s, bool | np.bool_) or not isinstance(s, int | np.integer) or s < 1 for s in listed
    ):
        raise ParameterError("sizes", f"must be whole numbers >= 1; got {brief(sizes)}.")
    return tuple(sorted({int(s) for s in listed}))


def identity_of_trees() -> dict[str, str]:
    """Additional inputs that pieces of work with trees depend on."""
    return {"lightgbm": version("lightgbm")}


@dataclass(frozen=True)
class Trees:
    """A fitted ensemble on some columns."""

    booster: Any
    columns: np.ndarray
    seconds: float

    def scores(self, X: Any) -> np.ndarray:
        """(n_docs,) scores.

        Raises
            DataError   some are infinite or NaN
        """
        scores = np.asarray(self.booster.predict(columns_dense(X, self.columns)))
        if not np.isfinite(scores).all():
            raise DataError("scores of LightGBM are infinite or NaN; its settings let them grow without bound.")
        return scores

    def by_gain(self) -> np.ndarray:
        """Its columns, by total gain, largest first."""
        gain = self.booster.feature_importance(importance_type="gain")
        return self.columns[np.argsort(-gain, kind="stable")]

    def by_shap(self, X: Any) -> np.ndarray:
        """Its columns, by mean |SHAP value| over about SHAP_ROWS rows of X, largest first."""
        rows = X[:: max(X.shape[0] // SHAP_ROWS, 1)]
        parts = np.asarray(self.booster.predict(columns_dense(rows, self.columns), pred_contrib=True))[:, :-1]
        return self.columns[np.argsort(-np.abs(parts).mean(axis=0), kind="stable")]

    @property
    def n_bytes(self) -> int:
        """Size of the model file in bytes."""
        return len(self.booster.model_to_string().encode())


def check_trees(data: RankingDataset) -> None:
    """Raise DataError if LightGBM is missing, or if its objective does not accept the relevance."""
    try:
        importlib.import_module("lightgbm")
    except ModuleNotFoundError as error:
        raise DataError(MISSING) from error
    except OSError as error:  # of its library, e.g. without OpenMP
        raise DataError(
            f"LightGBM is installed, but cannot be loaded ({error}); install its missing dependencies."
        ) from error
    if data.n_queries < 2:
        raise DataError(
            "a single query cannot be split into folds; a comparison needs at least two queries, and at least ten to "
            "be informative."
        )
    y, sizes = data.relevance, np.diff(data.query_ptr)
    wrong = (y != np.floor(y)) | (y < 0) | (y > MAX_GRADE)
    if wrong.any():
        raise DataError(
            f"LightGBM's lambdarank accepts only whole grades from 0 to {MAX_GRADE}; row "
            f"{data.row_index[int(np.argmax(wrong))]} has {y[wrong][0]:g}. Round or cap the grades."
        )
    if sizes.max() > MAX_DOCUMENTS:
        raise DataError(
            f"query {data.query_ids[int(np.argmax(sizes))]} has {sizes.max()} documents; LightGBM's lambdarank "
            f"accepts at most {MAX_DOCUMENTS}. Sample the documents of this query."
        )


def fit_trees(
    data: RankingDataset,
    columns: np.ndarray,
    settings: TreeSettings,
    seed: int,
    names: Sequence[str] | None = None,
    *,
    query_weight: np.ndarray | None = None,
    n_threads: int = 1,
    in_time: Callable[[], bool] = lambda: True,
) -> Trees:
    """Fit trees on some columns of the data; names: of all features, used if LightGBM accepts such names. The trees do
    not depend on n_threads.

    query_weight   (n_queries,) weights of the queries in the loss, or None
    Raises
        TooSlow     in_time, which is called after every tree, returned False
        DataError   LightGBM refuses the data or the settings
    """
    import lightgbm

    began = time.perf_counter()

    def after_a_tree(env: Any) -> None:
        if not in_time():
            raise TooSlow

    always = {"seed": seed, "num_threads": n_threads, "deterministic": True, "force_row_wise": True, "verbosity": -1}
    own = [names[j] for j in columns] if names else []
    plain = bool(own) and all(PLAIN_NAME.fullmatch(name) for name in own)
    known = data.feature_names or ()
    held = lightgbm.Dataset(
        columns_dense(data.X, columns),
        data.relevance,
        group=np.diff(data.query_ptr),
        weight=None if query_weight is None else np.repeat(query_weight, np.diff(data.query_ptr)),
        feature_name=own if plain else "auto",
        categorical_feature=[i for i, j in enumerate(columns) if known[j] in settings.categorical],
        params={**settings.parameters, **always},
    )
    try:
        booster = lightgbm.train({**settings.parameters, **always}, held, settings.n_trees, callbacks=[after_a_tree])
    except lightgbm.basic.LightGBMError as error:
        why = SOURCE_LINE.sub("", " ".join(str(error).split())).rstrip(" .")
        raise DataError(f"LightGBM cannot be trained with these settings on these data: {why}.") from error
    return Trees(booster, columns, time.perf_counter() - began)


def usable_by_trees(data: RankingDataset, never: Collection[int] = ()) -> np.ndarray:
    """The features that take two values, counting missing as a value, without those of `never`. Unlike linear models,
    trees can use a feature that is constant within every query."""
    return np.setdiff1d(np.flatnonzero(~data.single_valued_features()), list(never))


class HeldOutTrees:
    """Out-of-fold scores of trees: trees on all queries except those of a fold score the queries of that fold.

    Parameters
        data, fold   training queries and (n_queries,) their folds, as in CrossValidation: queries with a number below 0
                     are used for training in every fold, and judged in none
        f            the fold
        settings     of the trees
        seed         of the trees without fold 0; trees without fold f have seed + f
        more         of `fit_trees`
    Attributes
        where   (n,) the queries of the fold; unseen: they, train: all others
    """

    def __init__(
        self,
        data: RankingDataset,
        fold: np.ndarray,
        f: int,
        settings: TreeSettings,
        seed: int = 0,
        *,
        query_weight: np.ndarray | None = None,
        **more: Any,
    ) -> None:
        seen, self.where = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        self.train, self.unseen = data.take_queries(seen), data.take_queries(self.where)
        self._settings, self.seed = settings, seed + f
        self._more = {"query_weight": None if query_weight is None else query_weight[seen], **more}

    def usable(self, never: Collection[int] = ()) -> np.ndarray:
        """The features that take two values in `train`, without those of `never`."""
        return usable_by_trees(self.train, never)

    def fit(self, columns: np.ndarray, draw: int = 0) -> Trees:
        """Trees on some columns; every draw has a different seed."""
        return fit_trees(self.train, columns, self._settings, self.seed + 100_000 * draw, **self._more)

    def scores(self, trees: Trees) -> np.ndarray:
        """(n_docs of the fold,) scores."""
        return trees.scores(self.unseen.X)

    def values(self, trees: Sequence[Trees], metric: Metric) -> np.ndarray:
        """(len(where),) metric of the scores, averaged over some trees."""
        return np.mean([per_query_values(self.scores(t), self.unseen, [metric])[0] for t in trees], axis=0)
