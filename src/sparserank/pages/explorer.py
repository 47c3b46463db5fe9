"""The top of a selection's page: one size after the other, with what enters, what leaves and what it is worth. Without
JavaScript, and on paper, it shows the chosen size."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.pages import differences
from sparserank.pages.size_picture import reference
from sparserank.reporting.document import figure
from sparserank.reporting.percents import percent, relative
from sparserank.selection.queries import Reference
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import counted
from sparserank.text import visible

MAX_SIZES, MAX_FEATURES = 40, 60  # on the slider; rows of the matrix
MAX_NARROW = 12  # sizes of a matrix in half of the page
MAX_CHIPS = 30  # of features of one size
MAX_NAME = 14  # characters of a name before it wraps

STYLE = (
    differences.STYLE
    + """
.explorer { margin: 0 0 1.4rem; }
.explorer .at { font-size: 1.05rem; margin: 0 0 .6rem; max-width: none; }
.explorer .slide { display: flex; flex-wrap: wrap; gap: .2rem 1rem; align-items: center; margin: 0 0 .8rem; }
.explorer .slide[hidden] { display: none; }
.explorer input { flex: 1 1 16rem; min-width: 0; max-width: 44rem; accent-color: var(--link); height: 1.8rem; }
.explorer input:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.explorer .grid { margin: 0; min-width: 0; } .explorer .grid > :not(summary) { margin-left: 0; }
.explorer .side > :last-child { margin-bottom: 0; } .explorer .chips { margin-bottom: .4rem; }
.explorer code { display: block; margin: .8rem 0; }
.explorer .grid .scroll { max-height: 26rem; overflow-y: auto; }
.explorer code { overflow-wrap: anywhere; }
.chips .enter { border-color: var(--s1); color: var(--s1); }
.chips .enter::before { content: "+ "; }
.chips .leave { color: var(--soft); font-weight: 400; text-decoration: line-through; }
.matrix td { padding: .1rem .35rem; text-align: center; min-width: 1.7rem; }
.matrix thead th { text-align: center; padding-left: .35rem; padding-right: .35rem; }
.matrix thead th:first-child { text-align: left; }
.matrix .in { color: var(--s0); }
.matrix .now { background: var(--tint); }
@media print { .explorer .slide { display: none; } .explorer .grid .scroll { max-height: none; } }
"""
)

# The data are read from the page, and names are set as text: nothing in them is ever markup or code.
SCRIPT = """
(() => {
  const root = document.querySelector(".explorer"), data = JSON.parse(root.querySelector("script").textContent);
  const $ = name => root.querySelector(name), slider = $("input"), chosen = data.sizes[data.chosen];
  const show = i => {
    const size = data.sizes[i], own = new Set(size.features), kept = new Set(chosen.features);
    $(".at strong").textContent = size.title;
    $(".at span").textContent = size.worth;
    $(".side code").textContent = size.command;
    slider.setAttribute("aria-valuetext", size.title + size.worth);
    const all = [...size.features, ...chosen.features.filter(f => !own.has(f))];
    const more = all.length - MAX_CHIPS, chips = all.slice(0, MAX_CHIPS).map(f => {
      const chip = document.createElement("li");
      const at = size.features.indexOf(f);
      chip.textContent = data.names[f] + (at < 0 || !size.lost.length ? "" : " " + size.lost[at]);
      chip.className = !own.has(f) ? "leave" : kept.has(f) ? "" : "enter";
      return chip;
    });
    if (more > 0) {
      const rest = document.createElement("li");
      rest.textContent = more + " more";
      chips.push(rest);
    }
    $(".chips").replaceChildren(...chips);
    root.querySelectorAll(".beside figure").forEach((figure, k) => {
      const found = size.beside[k];
      figure.querySelector(".lost").setAttribute("d", found.lost);
      figure.querySelector(".won").setAttribute("d", found.won);
      figure.querySelector(".said").textContent = found.said;
    });
    root.querySelectorAll(".matrix tr").forEach(row => [...row.cells].forEach((cell, k) =>
      cell.classList.toggle("now", k === i + 1)));
  };
  slider.addEventListener("input", () => show(+slider.value));
  addEventListener("beforeprint", () => { slider.value = data.chosen; show(data.chosen); });
  $(".slide").hidden = false;
  slider.value = data.chosen;
  show(data.chosen);
})();
""".replace("MAX_CHIPS", str(MAX_CHIPS))


def explorer(result: SelectionResult, picture: str, commands: Sequence[str]) -> str:
    """HTML.

    Parameters
        picture    of quality against size
        commands   what gives or exports the model of each size; '' where nothing does
    """
    facts = _facts(result, commands)
    at, chosen = facts["chosen"], facts["sizes"][facts["chosen"]]
    lost = chosen["lost"] or [""] * len(chosen["features"])
    said = [f"{facts['names'][f]} {change}".strip() for f, change in zip(chosen["features"], lost, strict=True)]
    said = [*said[:MAX_CHIPS], *([f"{len(said) - MAX_CHIPS} more"] if len(said) > MAX_CHIPS else [])]
    chips = "".join(f"<li>{escape(text)}</li>" for text in said)
    content = json.dumps(facts, allow_nan=False).replace("<", "\\u003c")
    last, label = len(facts["sizes"]) - 1, "Cost" if result.choice.by_cost else f"Number of {result.noun}s"
    changes = f"Change of {result.metric} without each {result.noun}, the others refitted"
    caption = f"<figcaption>{escape(changes)}</figcaption>" if any(s["lost"] for s in facts["sizes"]) else ""
    wide = len(facts["sizes"]) > MAX_NARROW
    pictures = [
        differences.picture(result.metric, own["name"], found, result.n_queries, own["most"])
        for own, found in zip(facts["beside"], chosen["beside"], strict=True)
    ]
    return "\n".join(
        [
            '<div class="explorer">',
            f'<p class="at" aria-live="polite"><strong>{escape(chosen["title"])}</strong>'
            f"<span>{escape(chosen['worth'])}</span></p>",
            f'<div class="slide" hidden><label for="size">{label}</label><input id="size" type="range" '
            f'min="0" max="{last}" step="1" value="{at}"></div>',
            '<div class="pictures">',
            picture,
            '<div class="side">',
            f'<figure><ul class="chips">{chips}</ul>{caption}</figure>',
            f'<p class="soft"><code>{escape(chosen["command"])}</code></p>',
            *([] if wide else [_matrix(facts, result.noun)]),
            "</div>",
            "</div>",
            *([_matrix(facts, result.noun)] if wide else []),
            '<div class="beside">',
            *pictures,
            "</div>",
            f'<script type="application/json">{content}</script>',
            "</div>",
            f"<script>{SCRIPT}</script>",
        ]
    )


def _facts(result: SelectionResult, commands: Sequence[str]) -> dict[str, Any]:
    """What the page knows of each size; features by their place among `names`: those of the chosen model in order of
    worth, then the others in the order in which they enter."""
    shown, taken = _shown(result), result.by_size.index(result.chosen)
    by_worth = {i: _by_worth(result, i, i == taken) for i in shown}
    names: dict[str, int] = {}
    for i in (taken, *shown):
        for name, _ in by_worth[i]:
            names.setdefault(name, len(names))
    models = [result.by_size[i] for i in shown]
    scales = [_scale(models, of) for of in result.references]
    sizes: list[dict[str, Any]] = []
    for i, c in zip(shown, models, strict=True):
        cost = f", cost {c.cost:g}" if result.choice.by_cost else ""
        changes = [change for _, change in by_worth[i]]
        sizes.append(
            {
                "size": f"{c.cost:g}" if result.choice.by_cost else str(c.n_features),
                "title": f"{counted(c.n_features, result.noun)}{cost}",
                "worth": f": {_worth(result, c, None if i == taken else i)}{' (chosen)' if i == taken else ''}",
                "features": [names[name] for name, _ in by_worth[i]],
                "lost": changes if all(changes) else [],
                "beside": [
                    differences.drawn(c.values, of.values, most)
                    for of, most in zip(result.references, scales, strict=True)
                ],
                "command": commands[i],
            }
        )
    return {
        "names": [visible(name) for name in names],
        "beside": [
            {"name": visible(of.name), "most": most} for of, most in zip(result.references, scales, strict=True)
        ],
        "sizes": sizes,
        "chosen": shown.index(taken),
    }


def _by_worth(result: SelectionResult, i: int, chosen: bool) -> list[tuple[str, str]]:
    """(feature, change of the metric without it: '-2.1%'; '' where that is not known) of size i or of the chosen model;
    the largest loss first, or else the largest weight."""
    model, c = (result.model, result.chosen) if chosen else (result.models[i], result.by_size[i])
    own = sorted(model.support.tolist(), key=lambda j: -abs(model.coef[j]))
    names = [model.feature_names[j] for j in own]
    costs = {d["feature"]: d["cost"] for d in result.worth.features} if chosen else result.size_costs[i] or {}
    lost = {name: costs[name][result.metric]["cost"] for name in names if costs.get(name) is not None}
    if len(names) == 1 or len(lost) < len(names):  # without its only feature, a model is nothing
        return [(name, "") for name in names]
    unit = abs(c.mean) or 1.0
    return [(name, percent(-lost[name] / unit)) for name in sorted(names, key=lambda name: -lost[name])]


def _worth(result: SelectionResult, c: Candidate, i: int | None) -> str:
    """A model compared with the reference and with the strongest rival; i: its size, or None for the chosen one."""
    name, mean = reference(result)
    text = f"{result.metric} {figure(c.mean)}"
    if result.change is None:
        full = result.all_features
        low, high = _ends(full.chosen if i is None else full.sizes[i])
    else:
        low, high = _ends(result.change) if i is None else (-math.inf, math.inf)
    text += f", {relative(c.mean - mean, low, high, mean)} against {name}"
    rival = result.rivals.strongest
    if rival is not None:
        low, high = _ends(rival if i is None else rival.sizes[i])
        text += f"; {relative(c.mean - rival.mean, low, high, rival.mean)} against {visible(rival.name)}"
    return text


def _ends(found: Any) -> tuple[float, float]:
    """Of an interval of differences."""
    return found.low, found.high


def _scale(models: Sequence[Candidate], of: Reference) -> float:
    """The largest difference of any of the models to a reference, on any query."""
    return float(np.nanmax(np.abs(np.array([c.values for c in models]) - of.values), initial=0.0)) or 1.0


def _shown(result: SelectionResult) -> list[int]:
    """At most MAX_SIZES of by_size, evenly, with that of the chosen model."""
    n = len(result.by_size)
    if n <= MAX_SIZES:
        return list(range(n))
    return sorted(
        {round(k * (n - 1) / (MAX_SIZES - 2)) for k in range(MAX_SIZES - 1)} | {result.by_size.index(result.chosen)}
    )


def _matrix(facts: dict[str, Any], noun: str) -> str:
    """Features by sizes, in the order of their names."""
    sizes, at = facts["sizes"], facts["chosen"]
    title = f"{noun.capitalize()}s used at each size"

    def now(k: int, kind: str = "") -> str:
        classes = " ".join(filter(None, [kind, "now" if k == at else ""]))
        return f' class="{classes}"' if classes else ""

    head = "".join(f'<th scope="col"{now(k)}>{escape(s["size"])}</th>' for k, s in enumerate(sizes))
    rows = []
    for j, name in enumerate(facts["names"][:MAX_FEATURES]):
        own = [j in s["features"] for s in sizes]
        cells = "".join(f"<td{now(k, 'in' if used else '')}>{'●' if used else ''}</td>" for k, used in enumerate(own))
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    more = len(facts["names"]) - len(rows)
    note = f'<p class="soft">{more} more {noun}s are used at other sizes.</p>' if more > 0 else ""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">'
    width = f' style="min-width: {min(max([len(noun), *map(len, facts["names"])]), MAX_NAME) + 2}ch"'
    table = f'{box}<table class="matrix"><thead><tr><th scope="col"{width}>{noun}</th>{head}</tr></thead>'
    inside = f"{table}<tbody>{''.join(rows)}</tbody></table></div>{note}"
    return f'<details open class="grid"><summary>{title}</summary>{inside}</details>'
