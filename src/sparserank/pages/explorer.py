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
from sparserank.reporting.document import figure
from sparserank.reporting.percents import percent, relative
from sparserank.selection.queries import Reference
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import counted
from sparserank.text import visible

MAX_SIZES, MAX_FEATURES = 40, 60  # on the slider; rows of the matrix
CHANGES = (
    "The percentage of a feature is the change of the metric, out of fold, if the feature is left out and the others "
    "are refitted."
)
MAX_NAME = 14  # characters of a name before it wraps

QUERIES = {"cv": "out of fold", "holdout": "on the validation queries"}

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
    $("code").textContent = size.command;
    slider.setAttribute("aria-valuetext", size.title + size.worth);
    const all = [...size.features, ...chosen.features.filter(f => !own.has(f))];
    $(".chips").replaceChildren(...all.map(f => {
      const chip = document.createElement("li");
      const at = size.features.indexOf(f);
      chip.textContent = data.names[f] + (at < 0 || !size.lost.length ? "" : " " + size.lost[at]);
      chip.className = !own.has(f) ? "leave" : kept.has(f) ? "" : "enter";
      return chip;
    }));
    root.querySelectorAll(".beside figure").forEach((figure, k) => {
      const found = size.beside[k];
      figure.querySelector(".lost").setAttribute("d", found.lost);
      figure.querySelector(".won").setAttribute("d", found.won);
      figure.querySelector("span").textContent = found.said;
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
"""


def explorer(result: SelectionResult, picture: str) -> str:
    """HTML; picture: of quality against size."""
    facts = _facts(result)
    at, chosen = facts["chosen"], facts["sizes"][facts["chosen"]]
    lost = chosen["lost"] or [""] * len(chosen["features"])
    said = [f"{facts['names'][f]} {change}".strip() for f, change in zip(chosen["features"], lost, strict=True)]
    chips = "".join(f"<li>{escape(text)}</li>" for text in said)
    content = json.dumps(facts, allow_nan=False).replace("<", "\\u003c")
    last, label = len(facts["sizes"]) - 1, "Cost" if result.choice.by_cost else f"Number of {result.noun}s"
    return "\n".join(
        [
            '<div class="explorer">',
            f'<p class="at" aria-live="polite"><strong>{escape(chosen["title"])}</strong>'
            f"<span>{escape(chosen['worth'])}</span></p>",
            f'<div class="slide" hidden><label for="size">{label}</label><input id="size" type="range" '
            f'min="0" max="{last}" step="1" value="{at}"></div>',
            f'<ul class="chips">{chips}</ul>',
            f'<p class="soft"><code>{escape(chosen["command"])}</code></p>',
            *([f'<p class="soft">{CHANGES}</p>'] if any(s["lost"] for s in facts["sizes"]) else []),
            '<div class="pictures">',
            picture,
            *_matrix(facts),
            "</div>",
            f'<p class="soft">Each panel shows the differences of {escape(result.metric)} by query '
            f"{QUERIES[result.plan.protocol]}, in sorted order.</p>",
            '<div class="beside">',
            *(differences.picture(name, found) for name, found in zip(facts["beside"], chosen["beside"], strict=True)),
            "</div>",
            f'<script type="application/json">{content}</script>',
            "</div>",
            f"<script>{SCRIPT}</script>",
        ]
    )


def _facts(result: SelectionResult) -> dict[str, Any]:
    """What the page knows of each size; features by their place among `names`, in the order in which they enter."""
    shown, full = _shown(result), result.all_features
    names: dict[str, int] = {}
    for i in shown:
        for name in result.used[i]:
            names.setdefault(name, len(names))
    for name in _features(result):
        names.setdefault(name, len(names))
    taken = result.by_size.index(result.chosen)
    models = [result.by_size[i] for i in shown]
    beside = [_beside(models, reference) for reference in result.references]
    sizes: list[dict[str, Any]] = []
    for i in shown:
        c, against, used = result.by_size[i], full.sizes[i], result.used[i]
        command = f"sparserank export RUN --k {c.n_features} --to sql"
        if i == taken:
            command = "sparserank export RUN --to sql"
        elif result.model_of(c.n_features) is not result.models[i]:
            command = ""
        mean = full.mean + against.difference
        worth = f": {result.metric} {figure(mean)}" if math.isfinite(mean) else ""
        if math.isfinite(against.difference):
            difference = relative(against.difference, against.low, against.high, full.mean)
            worth += f", {difference} against all {counted(result.n_dense, result.noun)} ({figure(full.mean)})"
            worth += _against_trees(result, i)
        cost = f", cost {c.cost:g}" if result.choice.by_cost else ""
        sizes.append(
            {
                "size": f"{c.cost:g}" if result.choice.by_cost else str(c.n_features),
                "title": f"{counted(c.n_features, result.noun)}{cost}",
                "worth": f"{worth}{' (chosen)' if i == taken else ''}",
                "features": [names[name] for name in used],
                "lost": _changes(result, i, used),
                "beside": [of_sizes[len(sizes)] for of_sizes in beside],
                "command": command,
            }
        )
    return {
        "names": [visible(name) for name in names],
        "beside": [visible(reference.name) for reference in result.references],
        "sizes": sizes,
        "chosen": shown.index(taken),
    }


def _changes(result: SelectionResult, i: int, used: Sequence[str]) -> list[str]:
    """For each feature of size i the change of the metric without it: '-2.1%'; empty where that is not known."""
    costs, unit = result.size_costs[i], abs(result.by_size[i].mean) or 1.0
    return [] if costs is None else [percent(-costs[name][result.metric]["cost"] / unit) for name in used]


def _beside(models: Sequence[Candidate], reference: Reference) -> list[dict[str, Any]]:
    """The differences of each model to a reference, all on one scale."""
    values = np.array([c.values for c in models])
    most = float(np.nanmax(np.abs(values - reference.values), initial=0.0)) or 1.0
    return [differences.drawn(own, reference.values, most) for own in values]


def _against_trees(result: SelectionResult, i: int) -> str:
    """The model of size i against the strongest trees; '' where none were compared."""
    trees = result.rivals.strongest
    if trees is None:
        return ""
    at = trees.sizes[i]
    if not math.isfinite(at.difference):
        return ""
    return f"; {relative(at.difference, at.low, at.high, trees.mean)} against {trees.name}"


def _features(result: SelectionResult) -> tuple[str, ...]:
    """Of the chosen model."""
    return tuple(result.model.feature_names[j] for j in result.model.support)


def _shown(result: SelectionResult) -> list[int]:
    """At most MAX_SIZES of by_size, evenly, with that of the chosen model."""
    n = len(result.by_size)
    if n <= MAX_SIZES:
        return list(range(n))
    chosen = result.by_size.index(result.chosen)
    return sorted({round(k * (n - 1) / (MAX_SIZES - 2)) for k in range(MAX_SIZES - 1)} | {chosen})


def _matrix(facts: dict[str, Any]) -> list[str]:
    """Features by sizes, those that enter first first."""
    sizes, at = facts["sizes"], facts["chosen"]
    title = "Features used at each size"

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
    note = f'<p class="soft">{more} more features are used only in larger models.</p>' if more > 0 else ""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">'
    width = f' style="min-width: {min(max([len("feature"), *map(len, facts["names"])]), MAX_NAME) + 2}ch"'
    table = f'{box}<table class="matrix"><thead><tr><th scope="col"{width}>feature</th>{head}</tr></thead>'
    inside = f"{table}<tbody>{''.join(rows)}</tbody></table></div>{note}"
    return [f'<details open class="grid"><summary>{title}</summary>{inside}</details>']
