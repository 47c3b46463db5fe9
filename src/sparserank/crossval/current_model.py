"""The model in use as a rival, and the effect of a change to the chosen model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval.choice import Choice
from sparserank.crossval.rivals import Rivals
from sparserank.data.categories import Derived
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column
from sparserank.data.run_reader import EITHER, TABLE, is_mapping, kind_of_content, read_run, run_of
from sparserank.data.runs import Run
from sparserank.data.suspects import names_in
from sparserank.data.tables.batches import is_frame
from sparserank.errors import ModelFormatError, ParameterError
from sparserank.evaluation.compare import values_of
from sparserank.evaluation.statistics import SAME_ABSOLUTE
from sparserank.files import StrPath
from sparserank.metrics import Metric
from sparserank.model.fusion import refuse_fusion
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.penalties import FeatureRules
from sparserank.text import brief

LABEL, TODAY = "model in use", "today"
MAX_WORST = 5  # queries that are named


@dataclass(frozen=True)
class InUse:
    """The ranker in use: a model, a feature that contains its score, or a run of the results that users see.

    features   names of the features that it reads
    """

    name: str
    features: tuple[str, ...]
    model: RankingModel | None = None
    run: Run | None = None

    def values(self, data: RankingDataset, metric: Metric) -> np.ndarray:
        """(n_queries,) values of a metric, as `evaluate` computes them."""
        (values,) = values_of(self.system(data), data, {repr(metric): metric}).values()
        return values

    def system(self, data: RankingDataset) -> Any:
        """The run, or the scores of the data, for `compare_systems`.

        Raises
            ParameterError   the run has none of the documents
        """
        if self.run and data.qid is not None and not self.run.known(data)[1].any():
            raise ParameterError(
                "current",
                f"is a run without any document of query {brief(str(data.qid[0]))} and the others that it is compared "
                "on; it needs the queries of training, validation and test, with the same ids.",
            )
        return self.run or self.scores(data)

    def scores(self, data: RankingDataset) -> np.ndarray:
        """(n_docs,) scores in the order of the rows from which the data set was made.

        Raises
            DataError   the data lack a feature of the model, or contain values that it cannot score
        """
        if self.model is not None:
            return self.model.score_dataset(_refilled(data, self.model))
        if self.run is not None:  # documents that the run does not have come last
            scores, retrieved = self.run.known(data)
            return data.to_input_order(np.where(retrieved, scores, scores.min() - 1.0))
        j = list(data.names).index(self.features[0])
        return data.to_input_order(column(data.X, j).astype(np.float64, copy=False))


def _refilled(data: RankingDataset, model: RankingModel) -> RankingDataset:
    """The data with the model's replacements for missing values, if it has some and the data tell which are missing."""
    at = {name: k for k, name in enumerate(data.names)}
    replacements = {at[f.name]: f.missing for f in model.features if f.name in at and f.missing is not None}
    if data.filled is None or not replacements:
        return data
    X = np.array(data.X)
    for k, value in replacements.items():
        X[data.filled[:, k], k] = value
    return data.replace_features(X)


def made_for(current: Any) -> list[Derived]:
    """The derived features of the model in use; none if the ranker in use is not a model."""
    model = None
    with suppress(ModelFormatError):  # the name of a feature may also be that of a file
        model = _model_in(current)
    return [] if model is None else [f.derived for f in model.features if f.derived is not None]


def _model_in(current: Any) -> RankingModel | None:
    """The model itself, or the model in the file; None if `current` is neither."""
    is_file = isinstance(current, StrPath) and Path(current).exists()
    return load_model(current) if is_file else current if isinstance(current, RankingModel) else None


def run_in(current: Any) -> InUse | None:
    """The ranker in use, if `current` is a run in any form that `read_run` takes; otherwise None."""
    if isinstance(current, StrPath):
        is_run = Path(current).is_file() and kind_of_content(current) in ("run", EITHER, TABLE)
        return InUse(f"{LABEL} ({Path(current).name})", (), run=read_run(current)) if is_run else None
    is_run = is_mapping(current) or is_frame(current)
    return InUse(f"{LABEL} (a run)", (), run=run_of(current, "current")) if is_run else None


def in_use(current: Any, names: Sequence[str]) -> InUse:
    """The ranker in use, from a RankingModel, a model file, a run or the name of a feature.

    Raises
        ParameterError     it is none of these
        ModelFormatError   the file is not a model file
    """
    if isinstance(current, InUse):
        return current
    if isinstance(current, str) and current in names:
        return InUse(f"{LABEL} (score {current})", (current,))
    if (run := run_in(current)) is not None:
        return run
    model = _model_in(current)
    if model is not None:
        refuse_fusion([model])
        name = LABEL if model is current else f"{LABEL} ({Path(current).name})"
        return InUse(name, tuple(model.columns), model)
    raise ParameterError(
        "current",
        f"is neither a model file, a run nor a feature; got {brief(str(current))}; the features are {names[0]} ... "
        f"{names[-1]}.",
    )


def left_out(current: Any, names: Sequence[str], keep: Any, drop: Any, penalties: Sequence[FeatureRules]) -> str | None:
    """The feature that contains the current ranker's score and is to be left out, unless it is kept or dropped by name:
    a model that reads this score cannot replace the current ranker.

    Raises
        ParameterError   there is no other feature
    """
    if not isinstance(current, str) or current not in names:
        return None
    named = names_in(keep, drop)
    j = list(names).index(current)
    if current in named or any(k in (current, j) for p in penalties for k in (*p.keep, *p.drop)):
        return None
    if len(names) == 1:
        raise ParameterError("current", f"is {brief(current)}, the only feature; there is nothing else to choose from.")
    return current


@dataclass(frozen=True)
class Change:
    """Effect of replacing the model in use by the chosen model, on the queries on which candidates are evaluated.

    difference   mean metric of the chosen model minus that of the model in use. The chosen model is evaluated on
                 queries that its models have not seen. The model in use may have been fitted to these queries.
    low, high    interval of the difference, with the confidence of the choice, valid for any choice; infinite: too few
                 queries
    wins, losses, ties   numbers of queries
    worst        (query id, difference), the largest losses first
    enter, leave   names of features; none if those of the model in use are not known
    of_run       whether the model in use is a run
    top          for search responses: 'documents', the length of the first page; 'unjudged' and 'unjudged_new', the
                 shares of unjudged documents on it with the model in use and with the chosen model; 'changed', the
                 share of queries whose first page has other documents
    """

    name: str
    n_features: int
    mean: float
    difference: float
    low: float
    high: float
    wins: int
    losses: int
    ties: int
    worst: tuple[tuple[str, float], ...]
    enter: tuple[str, ...]
    leave: tuple[str, ...]
    of_run: bool = False
    top: Mapping[str, float] | None = None

    @property
    def row(self) -> str:
        """The name of the row of the model in use in a table."""
        return self.name.replace(LABEL, TODAY) if self.of_run else TODAY

    def sentence(self, metric: str, confidence: str) -> str:
        """The comparison as a sentence for the terminal."""
        between = ""
        if np.isfinite(self.low):
            shows = "it better" if self.low > 0 else "it worse" if self.high < 0 else "no difference"
            between = (
                f" ({_outwards(self.low, math.floor)} to {_outwards(self.high, math.ceil)}, "
                f"{confidence} confidence, which shows {shows})"
            )
        moved = [
            f"{', '.join(names[:8])}{' ...' if len(names) > 8 else ''} {verb}{'s' if len(names) == 1 else ''}"
            for names, verb in ((self.enter, "enter"), (self.leave, "leave"))
            if names
        ]
        n = self.n_features
        of = f" ({n} feature{'s' if n != 1 else ''})" if n else ""
        text = (
            f"The {self.name}{of} has {metric} {self.mean:.4f} here; the chosen model differs by "
            f"{self.difference:+.4f}{between}. It is better on {self.wins} queries and worse on {self.losses}"
        )
        if self.worst:
            query, loss = self.worst[0]
            text += f", worst by {-loss:.4f} on query {query}"
        return text + (f"; {'; '.join(moved)}." if moved else ".")


def _outwards(value: float, rounded: Callable[[float], int]) -> str:
    """Rounded outwards to four digits or more, so that a bound that is not 0 is not printed as 0."""
    digits = next((d for d in (4, 6, 8) if rounded(value * 10.0**d)), 10)
    return f"{rounded(value * 10.0**digits) / 10.0**digits:+.{digits}f}"


def in_order(difference: np.ndarray) -> tuple[np.ndarray, int, int]:
    """(queries whose difference (n_queries,) is known, the largest loss first; numbers of losses and of wins)."""
    known = np.flatnonzero(np.isfinite(difference))
    order = known[np.argsort(difference[known], kind="stable")]
    return order, int((difference[order] < -SAME_ABSOLUTE).sum()), int((difference[order] > SAME_ABSOLUTE).sum())


def change(choice: Choice, rivals: Rivals, current: InUse, model: RankingModel, query_ids: Sequence[str]) -> Change:
    """Compare the chosen candidate, whose final model is `model`, with the model in use, the first of the rivals."""
    rival = rivals.rivals[0]
    difference = choice.chosen.shown - rival.shown
    compared = rivals.compare(choice.chosen, rival)
    order, n_lost, n_won = in_order(difference)
    worst = tuple((str(query_ids[q]), float(difference[q])) for q in order[:n_lost][:MAX_WORST].tolist())
    names = tuple(model.columns)
    return Change(
        current.name,
        len(current.features),
        rival.mean,
        compared.difference,
        compared.low,
        compared.high,
        n_won,
        n_lost,
        len(order) - n_won - n_lost,
        worst,
        tuple(n for n in names if current.features and n not in current.features),
        tuple(n for n in current.features if n not in names),
        current.run is not None,
    )
