"""A selection for an engine: what was left out because the engine cannot run it, and what that costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.data.dataset import RankingDataset
from sparserank.errors import warn_caller
from sparserank.export import ENGINES, Engine
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.text import Caution, brief, listed


@dataclass(frozen=True)
class BestLeftOut:
    """The best candidate that the engine cannot run, from an earlier run without it.

    penalty, n_features, mean   of that candidate
    loss                        its mean minus the best mean that the engine can run; below 0: nothing is lost
    """

    penalty: str
    n_features: int
    mean: float
    loss: float


@dataclass(frozen=True)
class ForEngine:
    """name: of the engine; left_out: transforms that were not tried; cost: what that costs, None if unknown."""

    name: str
    left_out: tuple[str, ...]
    cost: BestLeftOut | None

    def sentence(self, metric: str) -> str:
        """What was left out, and what that costs."""
        title = ENGINES[self.name].title
        if not self.left_out:
            return f"for {self.name}: {title} can run all models that were tried."
        text = (
            f"for {self.name}: no models with {' and '.join(self.left_out)} were tried, because {title} cannot run them"
        )
        if self.cost is None:
            other = f"without {option('engine')} into another {option('out')}"
            remedy = f" To measure the cost of this restriction, run the same command {other}, and compare means."
            # The data of an engine of boosts may be its own answers, which only that engine explains.
            return f"{text}.{'' if ENGINES[self.name].boosts else remedy}"
        best = (
            f"The best of these models, {self.cost.penalty} with {self.cost.n_features} features, has a mean {metric} "
            "of"
        )
        against = f"{best} {self.cost.mean:.4f} in an earlier run"
        if self.cost.loss <= 0:
            return f"{text}. {against}, which is not above the best model tried for the engine; nothing is lost."
        share = f", {self.cost.loss / self.cost.mean:.1%} of its mean" if self.cost.mean > 0 else ""
        return f"{text}. {against}, {self.cost.loss:.4f} above the best model tried for the engine{share}."


def for_engine(
    name: str, left_out: Sequence[str], tried: Sequence[Candidate], others: Sequence[Candidate]
) -> ForEngine:
    """left_out: names of transforms that were not tried; tried, others: candidates that the engine can run, and those
    that it cannot run, as far as they are known."""
    if not others:
        return ForEngine(name, tuple(left_out), None)
    best, best_tried = (max(of, key=lambda c: c.mean) for of in (others, tried))
    cost = BestLeftOut(best.label, best.n_features, float(best.mean), float(best.mean - best_tried.mean))
    return ForEngine(name, tuple(left_out), cost)


def warn_of_engine(engine: Engine, data: RankingDataset, never: Collection[int]) -> None:
    """Issue a DataWarning, before anything is fitted, if the engine uses 0 for missing values and training uses other
    fill values, or if its format does not allow the name of a column; never: features that no model may use."""
    usable, columns = np.setdiff1d(np.arange(data.n_features), list(never)), data.sources
    fills = {} if data.fill_values is None else {columns[j]: float(data.fill_values[j]) for j in usable}
    if warning := _other_fills(engine, fills):
        warn_caller(warning)
    odd = dict.fromkeys(brief(columns[j]) for j in usable if not engine.takes(columns[j]))
    if odd:
        warn_caller(
            f"for {engine.name}: {engine.title} does not allow the name of {listed([*odd])}. The export writes _ for "
            "what is not allowed, and columns.json with the column of each name."
        )


def other_fills(engine: Engine, model: RankingModel) -> list[str]:
    """A note if the engine uses 0 for missing values and the model learned other fill values."""
    warning = _other_fills(engine, {f.name: f.missing for f in model.features if f.missing is not None})
    return [Caution(warning)] if warning else []


def _other_fills(engine: Engine, fills: Mapping[str, float]) -> str:
    odd = [name for name, fill in fills.items() if np.nan_to_num(fill) != 0]
    if not odd or not engine.takes_zero:
        return ""
    others = f" and {len(odd) - 1} other feature{'s' if len(odd) > 2 else ''}" if len(odd) > 1 else ""
    return (
        f"for {engine.name}: {engine.title} treats a missing value as 0, but the model uses another value for "
        f"{brief(odd[0])}{others}. Train with {option('missing', 'zero')}, or let the engine's feature return that "
        f"value and export with {option('filled', True)}."
    )
