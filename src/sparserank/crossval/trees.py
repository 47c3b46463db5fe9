"""LambdaMART ensembles of LightGBM."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import columns_dense
from sparserank.errors import DataError
from sparserank.files import StrPath

MISSING = "trees need LightGBM; install it with: pip install 'sparserank[trees]'"
PLAIN_NAME = re.compile(r"[\w.-]+")  # LightGBM refuses commas, colons, quotes and brackets
SOURCE_LINE = re.compile(r",? at \S+, line \d+")  # the place in LightGBM's source that its messages contain
MAX_GRADE = 30  # LightGBM's table of gains ends there
MAX_DOCUMENTS = 10_000  # of a query; LightGBM's limit
BY_FEATURE = {  # parameters with one value for each feature
    *("cegb_penalty_feature_coupled", "cegb_penalty_feature_lazy", "feature_contri", "max_bin_by_feature"),
    "monotone_constraints",
}
# Values of the training data from which on all threads grow one ensemble; with fewer, each thread grows its own.
MIN_SHARED_VALUES = 5_000_000
OF_RANKING = re.compile("rank|ndcg")  # objectives that compare the documents of a query
LEAVES = 31  # of a tree, where nothing is set
INTERACTIONS = "interaction_constraints"  # its value is groups of features, by number


@dataclass(frozen=True)
class TreeSettings:
    """Settings to train an ensemble of LightGBM.

    others        LightGBM parameters and their values, except the number of trees
    categorical   names of the features whose values are categories
    """

    n_trees: int
    others: tuple[tuple[str, Any], ...] = ()
    categorical: tuple[str, ...] = ()

    def on(self, columns: Sequence[int]) -> TreeSettings:
        """The settings for some of the features, by number. Parameters with a value for each feature, or with groups of
        features, are reduced to these features."""
        place, others = {str(j): str(i) for i, j in enumerate(columns)}, dict(self.others)
        for name in others.keys() & BY_FEATURE:
            values = others[name].split(",")
            others[name] = ",".join(values[j] for j in columns)
        groups = [group.split(",") for group in re.findall(r"[\d,]+(?=])", others.get(INTERACTIONS, ""))]
        groups_left = [",".join(place[j] for j in group if j in place) for group in groups]
        others |= {INTERACTIONS: ",".join(f"[{group}]" for group in groups_left if group)} if groups else {}
        return replace(self, others=tuple(others.items()))

    def seconds(self, n_docs: int) -> float:
        """Expected seconds of one training on one core, as measured with the settings below."""
        n_leaves = int(self.parameters.get("num_leaves", LEAVES))
        return (0.2 + 7e-5 * n_docs) * (self.n_trees / 400) * (n_leaves / 7)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by LightGBM's names, except the number of trees."""
        return {"objective": "lambdarank", **dict(self.others)}


# The settings of "LightGBM" without a file: small steps and diverse trees.
SMALL_STEPS = {
    "num_leaves": 7,
    "learning_rate": 0.02,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.3,
}
LIGHTGBM_SETTINGS = TreeSettings(400, tuple(SMALL_STEPS.items()))


class TooSlow(Exception):
    """Trees that did not finish within their time."""


def identity_of_trees() -> dict[str, str]:
    """Additional inputs that pieces of work with trees depend on."""
    return {"lightgbm": version("lightgbm")}


@dataclass(frozen=True)
class Trees:
    """A fitted ensemble on some columns; n_threads: of scoring."""

    booster: Any
    columns: np.ndarray
    n_threads: int = 1

    def scores(self, X: Any) -> np.ndarray:
        """(n_docs,) scores.

        Raises
            DataError   some are infinite or NaN
        """
        # LightGBM keeps the number of threads for the whole process. Scoring with another number ended the process by a
        # segmentation fault when another thread began to train at that moment.
        scores = np.asarray(self.booster.predict(columns_dense(X, self.columns), num_threads=self.n_threads))
        if not np.isfinite(scores).all():
            raise DataError("scores of LightGBM are infinite or NaN; its settings let them grow without bound.")
        return scores

    def by_gain(self, *, used: bool = False) -> np.ndarray:
        """The columns by total gain, largest first; used: only those that some split uses."""
        gain = self.booster.feature_importance(importance_type="gain")
        order = np.argsort(-gain, kind="stable")
        return self.columns[order[gain[order] > 0] if used else order]


def lightgbm_here() -> Any:
    """The package; raise DataError if it cannot be loaded."""
    try:
        return importlib.import_module("lightgbm")
    except (ImportError, OSError) as error:  # OSError: its library does not load, e.g. without OpenMP
        if isinstance(error, ModuleNotFoundError) and error.name == "lightgbm":
            raise DataError(MISSING) from error
        raise DataError(
            f"LightGBM is installed, but cannot be loaded ({error}); install its missing dependencies."
        ) from error


def saved_booster(path: StrPath) -> Any:
    """Read trees that LightGBM saved, without printing its remarks about parameters of other versions.

    Raises
        DataError                 LightGBM is missing
        LightGBMError, ValueError   LightGBM cannot read the file
    """
    lightgbm = lightgbm_here()
    text = Path(path).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        # From a copy, because LightGBM ends the process over the line ends of Windows; in a file, because LightGBM 4.3
        # takes no parameters from a text.
        copy = Path(folder, "model.txt")
        copy.write_text(text, encoding="utf-8", newline="\n")
        return lightgbm.Booster(model_file=copy)


def check_trees(data: RankingDataset, settings: TreeSettings = LIGHTGBM_SETTINGS) -> None:
    """Raise DataError if LightGBM is missing, or if the objective does not accept the relevance."""
    lightgbm_here()
    if data.n_queries < 2:
        raise DataError(
            "a single query cannot be split into folds; a comparison needs at least two queries, and at least ten to "
            "be informative."
        )
    y, sizes = data.relevance, data.sizes
    if not OF_RANKING.search(settings.parameters["objective"]):
        return
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


@dataclass
class TreeData:
    """Some columns of the training data as a LightGBM data set. Values are binned once, over all documents and without
    labels; trees on subsets of the queries use the same bins.

    seed           of the sample of documents from which bins are computed, and of `fit` by default
    names          of all features, used if LightGBM accepts such names
    query_weight   (n_queries,) weights of the queries in the loss, or None
    n_threads      of each ensemble; trees do not depend on it

    Trees on the same queries with the same seed are trained once.
    """

    data: RankingDataset
    columns: np.ndarray
    settings: TreeSettings
    seed: int = 0
    names: Sequence[str] | None = None
    query_weight: np.ndarray | None = None
    n_threads: int = 1
    _dataset: Any = field(init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _fitted: dict[tuple[bytes, int], Trees] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        import lightgbm

        data, columns, weight = self.data, self.columns, self.query_weight
        self.settings = self.settings.on(columns.tolist())
        feature_names = [re.sub(r"\s", "_", self.names[j]) for j in columns] if self.names else []
        plain = feature_names and all(PLAIN_NAME.fullmatch(name) for name in feature_names)
        known, sizes = data.names, data.sizes
        self._dataset = lightgbm.Dataset(
            columns_dense(data.X, columns),
            data.relevance,
            group=sizes,
            weight=None if weight is None else np.repeat(weight, sizes),
            feature_name=feature_names if plain and len({*feature_names}) == len(feature_names) else "auto",
            categorical_feature=[i for i, j in enumerate(columns) if known[j] in self.settings.categorical],
            params=self._parameters(self.seed),
        )

    def fit(
        self,
        seen: np.ndarray | None = None,
        seed: int | None = None,
        in_time: Callable[[], bool] = lambda: True,
    ) -> Trees:
        """Trees on all queries, or on those of a mask (n_queries,).

        Raises
            TooSlow     in_time, which is called after every tree, returned False
            DataError   LightGBM refuses the data or the settings
        """
        import lightgbm

        def after_a_tree(env: Any) -> None:
            if not in_time():
                raise TooSlow

        seed = self.seed if seed is None else seed
        seen = None if seen is None or seen.all() else seen
        key = b"" if seen is None else seen.tobytes(), seed
        if key in self._fitted:
            return self._fitted[key]
        parameters = self._parameters(seed)
        try:
            with self._lock:  # two threads must not use one LightGBM data set at once
                dataset = self._dataset.construct()
                if seen is not None:
                    rows = np.flatnonzero(np.repeat(seen, self.data.sizes))
                    dataset = dataset.subset(rows.tolist(), params=parameters).construct()
                # Categories were decided with the bins; before version 4.6, LightGBM would decide again, and refuse.
                dataset.categorical_feature = "auto"
            booster = lightgbm.train(parameters, dataset, self.settings.n_trees, callbacks=[after_a_tree])
        except lightgbm.basic.LightGBMError as error:
            why = SOURCE_LINE.sub("", " ".join(str(error).split())).rstrip(" .")
            raise DataError(f"LightGBM cannot be trained with these settings on these data: {why}.") from error
        self._fitted[key] = Trees(booster, self.columns, self.n_threads)
        return self._fitted[key]

    def _parameters(self, seed: int) -> dict[str, Any]:
        always = {"seed": seed, "num_threads": self.n_threads, "deterministic": True, "force_row_wise": True}
        return {"data_random_seed": self.seed, **self.settings.parameters, **always, "verbosity": -1}


def threads_of_trees(data: RankingDataset, n_threads: int) -> tuple[int, int]:
    """(ensembles that are trained at a time, threads of each)."""
    return (1, n_threads) if data.n_docs * data.n_features >= MIN_SHARED_VALUES else (n_threads, 1)


def fit_trees(
    data: RankingDataset,
    columns: np.ndarray,
    settings: TreeSettings,
    seed: int,
    names: Sequence[str] | None = None,
    *,
    n_threads: int = 1,
) -> Trees:
    """Trees on some columns of the data, as `TreeData.fit`."""
    return TreeData(data, columns, settings, seed, names, n_threads=n_threads).fit()


def usable_by_trees(data: RankingDataset) -> np.ndarray:
    """The features with at least two values, counting missing as a value. Unlike linear models, trees can use a feature
    that is constant within every query."""
    return np.flatnonzero(~data.single_valued_features())
