"""The top of a selection's page: a slider over the sizes, with the features that enter and leave and the quality; and
the difference to a reference on each query, as sorted bars with losses below the line and wins above it, or, for many
queries, as a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sparserank.crossval.choice import FEATURE, Candidate
from sparserank.crossval.current_model import in_order
from sparserank.crossval.rivals import Rival
from sparserank.model.in_words import in_words
from sparserank.report.html import rendered
from sparserank.report.size_picture import size_picture
from sparserank.report.tables import evenly
from sparserank.requests.selection import BOOSTS
from sparserank.selection.claims import counted, queries
from sparserank.text import figure, percent, relative, visible

if TYPE_CHECKING:
    from sparserank.selection.result import SelectionResult

MAX_SIZES = 40  # on the slider; rows of the matrix
MAX_FEATURES = 60
MAX_NARROW = 12  # sizes of a matrix in half of the page
MAX_CHIPS = 30  # features shown for one size
MAX_NAME = 14  # characters of a name before it wraps
WIDTH = 300  # size of a picture of differences, in its own units
HEIGHT = 84
MAX_BARS = 200  # queries with a bar each; more are counted in a histogram
BINS = 25  # bins of a histogram, on either side of 0


def explorer(result: SelectionResult, commands: Sequence[str]) -> Markup:
    """The explorer as HTML.

    Parameters
        commands   the command that returns or exports the model of each size; '' if there is none
    """
    data = _data_of_page(result, commands)
    noun = result.noun
    pairs = zip(data["beside"], data["sizes"][data["chosen"]]["beside"], strict=True)
    return rendered(
        "explorer.html.j2",
        facts=data,
        picture=size_picture(result),
        metric=result.metric,
        noun=noun,
        by_cost=result.choice.by_cost,
        wide=len(data["sizes"]) > MAX_NARROW,
        width_of_names=min(max([len(noun), *map(len, data["names"])]), MAX_NAME) + 2,
        max_rows=MAX_FEATURES,
        words=_in_words(result),
        differences=[
            differences(result.metric, of["name"], picture, result.n_queries, of["most"]) for of, picture in pairs
        ],
    )


def _in_words(result: SelectionResult) -> list[str]:
    """What somebody needs who decides: the boosts to set and the clauses to delete, or what each feature does."""
    boosts = [note[:1].upper() + note[1:] for note in result.notes if note.startswith(BOOSTS)]
    return boosts or (list(in_words(result.model).values()) if result.noun == FEATURE else [])


def _data_of_page(result: SelectionResult, commands: Sequence[str]) -> dict[str, Any]:
    """The data of the page about each size. Features are indices into `names`: first those of the chosen model, most
    valuable first, then the others in the order in which they enter."""
    by_size = result.by_size
    by_cost = result.choice.by_cost
    taken = by_size.index(result.chosen)
    shown = evenly(len(by_size), MAX_SIZES, taken)
    by_worth = {i: _by_worth(result, i) for i in shown}
    ordered = dict.fromkeys(name for i in (taken, *shown) for name, _ in by_worth[i])
    names = {name: k for k, name in enumerate(ordered)}
    models = [by_size[i] for i in shown]
    references = [(of, _scale(models, of)) for of in result.references]

    def of_size(i: int) -> dict[str, Any]:
        c = by_size[i]
        changes = [change for _, change in by_worth[i]]
        cost = f", cost {c.cost:g}" if by_cost else ""
        chosen = " (chosen)" if i == taken else ""
        return {
            "size": f"{c.cost:g}" if by_cost else str(c.n_features),
            "title": f"{counted(c.n_features, result.noun)}{cost}",
            "worth": f": {_worth(result, i)}{chosen}",
            "features": [names[name] for name, _ in by_worth[i]],
            "lost": changes if all(changes) else [],
            "beside": [drawn(c.shown, of.shown, scale) for of, scale in references],
            "command": commands[i],
        }

    return {
        "names": [visible(name) for name in names],
        "beside": [{"name": visible(of.name), "most": scale} for of, scale in references],
        "sizes": [of_size(i) for i in shown],
        "chosen": shown.index(taken),
        "most": MAX_CHIPS,
    }


def _by_worth(result: SelectionResult, i: int) -> list[tuple[str, str]]:
    """(feature, change of the metric without it: '-2.1%', or '' if unknown) of size i, sorted by descending loss, or by
    descending |weight| if losses are unknown."""
    c = result.by_size[i]
    names = list(result.models[i].weights)
    costs = result.facts.sizes[i]["ablation"] or {}
    if c is result.chosen:
        costs = {row["feature"]: row["cost"] for row in result.facts.features}
    lost = {name: costs[name][result.metric]["cost"] for name in names if costs.get(name) is not None}
    if len(names) == 1 or len(lost) < len(names):  # a model without its only feature is empty
        return [(name, "") for name in names]
    unit = abs(c.mean) or 1.0
    falling = sorted(names, key=lambda name: -lost[name])
    return [(name, percent(-lost[name] / unit)) for name in falling]


def _worth(result: SelectionResult, i: int) -> str:
    """The model of size i compared with the reference and with the strongest rival."""
    mean = result.by_size[i].mean
    rival = result.rivals.strongest
    parts = [f"{result.metric} {figure(mean)}"]
    for r in (result.reference, *([] if rival is None else [rival])):
        low = r.sizes[i].low
        high = r.sizes[i].high
        parts.append(f"against {visible(r.name)} {relative(mean - r.mean, low, high, r.mean)}")
    return "; ".join(parts)


def _scale(models: Sequence[Candidate], of: Rival) -> float:
    """The largest absolute difference between any of the models and a reference, on any query."""
    differences = np.array([c.shown for c in models]) - of.shown
    largest = np.nanmax(np.abs(differences), initial=0.0)
    return float(largest) or 1.0


# -- query by query ---------------------------------------------------------------------------------------------------


def drawn(values: np.ndarray, reference: np.ndarray, most: float) -> dict[str, str]:
    """The picture of the differences values - reference (n_queries,): its two SVG paths, and a description. With few
    queries, each has a bar, and a difference of `most` has full height. Many are counted in a histogram, with losses on
    the left and without equal queries."""
    change = values - reference
    order, lost, won = in_order(change)
    known = change[order]
    n_known = len(known)
    sides = {"won": known[n_known - won :], "lost": known[:lost]}
    text = f"better on {won:,}, worse on {lost:,}, equal on {n_known - won - lost:,} queries"
    if n_known:
        ends = (min(known[0], 0), max(known[-1], 0))
        most_lost, most_won = (f"{d:+.2f}" if abs(d) >= 0.005 else "0" for d in ends)
        text += f"; largest loss {most_lost}, largest gain {most_won}"
    if len(values) <= MAX_BARS:
        # A bar for each query, around the middle of the picture.
        level = HEIGHT // 2
        step = WIDTH / max(n_known, 1)
        first = {"won": n_known - won, "lost": 0}
        bars = {name: list(enumerate(side / most, first[name])) for name, side in sides.items()}
    else:
        # A histogram, from the bottom.
        level = HEIGHT
        step = WIDTH / (2 * BINS)
        edges = np.linspace(-most, most, 2 * BINS + 1)
        counts = {name: np.histogram(side, edges)[0] for name, side in sides.items()}
        tallest = max(int(side.max()) for side in counts.values()) or 1
        bars = {name: [(k, n / tallest) for k, n in enumerate(side) if n] for name, side in counts.items()}
        text += f"; tallest bar: {queries(tallest)}"
    out = {}
    for name, side in bars.items():
        out[name] = "".join(f"M{(k + 0.5) * step:.1f} {level}V{level * (1 - height):.1f}" for k, height in side)
    return {**out, "said": text}


def differences(metric: str, name: str, picture: dict[str, Any], n_queries: int, most: float) -> Markup:
    """The picture of the differences per query between the chosen model and a reference.

    name      of the reference
    picture   what `drawn` returns
    most      the largest absolute difference, at which the scale ends
    """
    counted = n_queries > MAX_BARS
    width = WIDTH / (2 * BINS if counted else max(n_queries, 1))
    scale = ["each bar is a query, losses in orange", f"full height: {most:.2f}"]
    if counted:
        scale = [f"-{most:.2f}", f"difference of {metric}", f"+{most:.2f}"]
    return rendered(
        "differences.html.j2",
        metric=metric,
        name=name,
        picture=picture,
        scale=scale,
        width=WIDTH,
        height=HEIGHT,
        # Narrow bars touch; the width is limited, so that a few bars do not become blocks.
        bar=0.85 * min(width, 8.0),
        counted=counted,
    )
