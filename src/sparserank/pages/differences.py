"""The difference between a model and a reference on each query, sorted, as a small picture: losses below the line, wins
above it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from sparserank.crossval.current_model import SAME

WIDTH, HEIGHT = 300, 84  # of a picture, in its own units
MAX_BARS = 100  # of more queries, neighbours of the sorted ones are drawn as their mean

STYLE = f"""
.beside {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); gap: .6rem 1.6rem; \
margin: 1rem 0; }}
.beside svg {{ display: block; width: 100%; height: auto; aspect-ratio: {WIDTH} / {HEIGHT}; overflow: visible; }}
.beside figcaption {{ color: var(--ink); }}
.beside .won {{ stroke: var(--s0); }} .beside .lost {{ stroke: var(--s1); }}
.beside .won, .beside .lost {{ fill: none; stroke-width: 2.2; }}
.beside line {{ stroke: var(--soft); stroke-width: 1; }}
"""


def drawn(values: np.ndarray, reference: np.ndarray, most: float) -> dict[str, Any]:
    """What the page knows of the differences values - reference (n_queries,): the two paths of the picture, `most` of
    which fills half its height, and what they say."""
    difference = values - reference
    known = np.sort(difference[np.isfinite(difference)])
    won, lost = int((known > SAME).sum()), int((known < -SAME).sum())
    bars = [float(part.mean()) for part in np.array_split(known, min(len(known), MAX_BARS)) if len(part)]
    step = WIDTH / max(len(bars), 1)
    paths = {
        name: "".join(
            f"M{(k + 0.5) * step:.1f} {HEIGHT / 2:g}V{HEIGHT / 2 * (1 - bar / most):.1f}"
            for k, bar in enumerate(bars)
            if sign * bar > SAME
        )
        for name, sign in (("won", 1), ("lost", -1))
    }
    said = f"better on {won:,}, worse on {lost:,}, equal on {len(known) - won - lost:,} queries"
    if len(known):
        most_lost, most_won = (f"{d:+.2f}" if abs(d) >= 0.005 else "0" for d in (min(known[0], 0), max(known[-1], 0)))
        said += f"; largest loss {most_lost}, largest gain {most_won}"
    return {**paths, "said": said}


def picture(name: str, found: dict[str, Any]) -> str:
    """One of them; name: of the reference."""
    title, box = escape(f"Difference on each query from {name}, sorted"), f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<figure><svg {box} role="img" aria-label="{title}" preserveAspectRatio="none">'
        f'<path class="lost" d="{found["lost"]}"/><path class="won" d="{found["won"]}"/>'
        f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT / 2:g}" y2="{HEIGHT / 2:g}"/></svg>'
        f"<figcaption><strong>Against {escape(name)}</strong>: <span>{found['said']}</span></figcaption></figure>"
    )
