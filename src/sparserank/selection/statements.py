"""What a choice says, in sentences that can be read aloud; each is true of the data as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sparserank.crossval.choice import LEAST_MARGIN, Choice
from sparserank.crossval.redundant_features import Left
from sparserank.crossval.stability import Stability
from sparserank.evaluation.loss_bounds import LEAST_QUERIES
from sparserank.evaluation.statistics import as_percent

FIRM = 0.8  # share of half-samples from which a feature is called firm
MOST_STAND_INS = 5


def headline(choice: Choice, metric: str, n_features: int) -> str:
    """What is kept and what it loses at most, for a reader in a hurry: 'Keep 13 of 46 features;
    at most 0.005 ndcg@10 lost'."""
    c, bound = choice.chosen, choice.bound(choice.chosen)
    kept = f"Keep {c.n_features} of {counted(n_features)}" + (f" at a cost of {c.cost:g}" if choice.by_cost else "")
    if not math.isfinite(bound):
        return f"{kept}; too few queries to bound what is lost"
    if choice.bounds.resolution == 0.0:
        return f"{kept}; these queries tell no models apart"
    return f"{kept}; at most {rounded_up(bound)} {metric} lost"


def rounded_up(loss: float) -> str:
    """A bound to two digits, at least a thousandth's; never rounded down."""
    digits = 3 if loss >= 0.01 or loss <= 0 else min(1 - math.floor(math.log10(loss)), 9)
    unit = 10.0**digits
    return f"{max(math.ceil(loss * unit - 1e-9), 0) / unit:.{digits}f}"


def choice_sentences(choice: Choice, metric: str, n_features: int) -> list[str]:
    """What is kept and what that costs at most; what these queries can show; how firm the choice is."""
    c, bounds = choice.chosen, choice.bounds
    kept = f"Keep {c.n_features} of {n_features} features ({c.label})" + (
        f" at a total cost of {c.cost:g}" if choice.by_cost else ""
    )
    margin = f"{100 * choice.relative_margin:.3g}%"
    if choice.limit is not None:
        kept += f", the best model with {choice.limit}."
    elif choice.within_margin(c):
        kept += (
            f", the {'cheapest' if choice.by_cost else 'smallest'} model shown to lose no more than the margin of "
            f"{margin}."
        )
    else:
        kept += f", the sparse model of the highest mean: none is shown to lose no more than the margin of {margin}."
    if not math.isfinite(choice.bound(c)):
        few = f"{bounds.n_queries} {'query is' if bounds.n_queries == 1 else 'queries are'}"
        return [kept, f"{few} too few to bound what a model loses; {LEAST_QUERIES} are needed at least."]
    if bounds.resolution == 0.0:
        return [
            kept,
            (
                f"All {len(choice.candidates)} candidates do equally well on each of these {bounds.n_queries} queries, "
                "which cannot tell them apart."
            ),
        ]
    loss = (
        f"With {as_percent(bounds.confidence)} confidence such models lose at most {share(choice.bound(c), choice)} "
        f"{metric} against the best of all {len(choice.candidates)} tried."
    )
    return [kept, loss, _resolution(choice), *_resampled(choice)]


def _resolution(choice: Choice) -> str:
    bounds = choice.bounds
    zero = f", {bounds.n_zero} of them zero for every model," if bounds.n_zero else ""
    text = f"These {bounds.n_queries} queries{zero} can show differences of {share(bounds.resolution, choice)}"
    finer = min(choice.margin, LEAST_MARGIN * _unit(choice)) if choice.margin > 0 else 0.0
    if 0 < finer < bounds.resolution:
        text += f"; for {share(finer, choice)} you would need roughly {_rounded(bounds.queries_needed(finer))}"
    return f"{text}."


def _resampled(choice: Choice) -> list[str]:
    r = choice.resampled
    if len(r.n_features) == 0:
        return []
    low, high = r.range()
    kept = counted(low) if low == high else f"between {low} and {high} features"
    always = r.n_features.min() == r.n_features.max()
    text = (
        f"On resampled queries the same rule keeps {kept} "
        f"({'every time' if always else f'90% of {len(r.n_features)} times'})"
    )
    if r.loss is not None:
        against = "against the model that was best on the resample, judged on the queries left out"
        text += f"; it {'loses' if r.loss >= 0 else 'gains'} {100 * abs(r.loss) / _unit(choice):.1f}% {against}"
    return [f"{text}."]


def stability_sentence(stability: Stability, names: Sequence[str], stand_ins: Mapping[str, Left]) -> str:
    """How firm the list of features is, and what stands in for some of them."""
    name, value = stability.index
    often = [(stability.frequency[j], j) for j in stability.chosen]
    firm = sum(f >= FIRM for f, _ in often)
    text = (
        f"On {stability.n_samples} halves of the queries {firm} of the {len(often)} features "
        f"{'is' if firm == 1 else 'are'} kept at least {FIRM:.0%} of the time"
    )
    if math.isfinite(value):
        text += f" ({name} index {value:.2f}; 1: always the same features, 0: as by chance)"
    found = [stand_ins[names[j]] for _, j in often if names[j] in stand_ins]
    if found:
        shown = [f"{row.feature} for {row.kept} ({row.correlation:+.2f})" for row in found[:MOST_STAND_INS]]
        text += f"; stand-ins (correlation within queries): {', '.join(shown)}"
    return f"{text}."


def counted(features: int | str) -> str:
    """'1 feature', '2 features', '2 to 5 features'."""
    return f"{features} feature{'' if str(features) == '1' else 's'}"


def share(loss: float, choice: Choice) -> str:
    """A loss relative to the best mean: '1.6%'; never rounded down."""
    percent = 100.0 * loss / _unit(choice)
    return f"{math.ceil(percent * 10 - 1e-9) / 10:.1f}%"


def _unit(choice: Choice) -> float:
    return abs(choice.best.mean) or 1.0


def _rounded(n: float) -> str:
    """Two digits are all that is known."""
    digits = max(len(str(int(n))) - 2, 0)
    return f"{math.ceil(n / 10**digits) * 10**digits:,}"
