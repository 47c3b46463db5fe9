"""The difference between a model and a reference on each query as a small picture: sorted bars, losses below the line
and wins above it, or, of many queries, a histogram."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from sparserank.crossval.current_model import SAME

WIDTH, HEIGHT = 300, 84  # of a picture, in its own units
MAX_BARS = 200  # queries with a bar each; more are counted in a histogram
BINS = 25  # of a histogram, on either side of 0

STYLE = f"""
.beside {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); \
gap: 1rem 2rem; margin: .4rem 0 1rem; }}
.beside svg {{ display: block; width: 100%; height: auto; aspect-ratio: {WIDTH} / {HEIGHT}; overflow: visible; }}
.beside figcaption {{ color: var(--ink); }}
.beside .won {{ stroke: var(--s0); }} .beside .lost {{ stroke: var(--accent); }}
.beside .won, .beside .lost {{ fill: none; }}
.beside line {{ stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; }}
.beside .scale {{ display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); font-size: .8rem; \
margin: .1rem 0 .3rem; }}
"""


def drawn(values: np.ndarray, reference: np.ndarray, most: float) -> dict[str, Any]:
    """What the page knows of the differences values - reference (n_queries,): the two paths of the picture, to which
    `most` is the largest difference, and what they say."""
    difference = values - reference
    known = np.sort(difference[np.isfinite(difference)])
    won, lost = int((known > SAME).sum()), int((known < -SAME).sum())
    said = f"better on {won:,}, worse on {lost:,}, equal on {len(known) - won - lost:,} queries"
    if len(known):
        most_lost, most_won = (f"{d:+.2f}" if abs(d) >= 0.005 else "0" for d in (min(known[0], 0), max(known[-1], 0)))
        said += f"; largest loss {most_lost}, largest gain {most_won}"
    if len(values) <= MAX_BARS:
        return {**_bars(known, most), "said": said}
    paths, tallest = _histogram(known, most)
    return {**paths, "said": f"{said}; tallest bar: {tallest:,} {'query' if tallest == 1 else 'queries'}"}


def _bars(known: np.ndarray, most: float) -> dict[str, str]:
    """A bar for each query."""
    step = WIDTH / max(len(known), 1)
    middle = HEIGHT / 2
    bars = [f"M{(k + 0.5) * step:.1f} {middle:g}V{middle * (1 - d / most):.1f}" for k, d in enumerate(known.tolist())]
    return {"won": "".join(np.array(bars)[known > SAME]), "lost": "".join(np.array(bars)[known < -SAME])}


def _histogram(known: np.ndarray, most: float) -> tuple[dict[str, str], int]:
    """(a bar for each range of differences, losses on the left; queries in the tallest one). Equal queries have no
    bar."""
    edges = np.linspace(-most, most, 2 * BINS + 1)
    counts = {
        "won": np.histogram(known[known > SAME], edges)[0],
        "lost": np.histogram(known[known < -SAME], edges)[0],
    }
    tallest = max(int(own.max()) for own in counts.values()) or 1
    step = WIDTH / (2 * BINS)
    paths = {
        name: "".join(
            f"M{(k + 0.5) * step:.1f} {HEIGHT}V{HEIGHT * (1 - n / tallest):.1f}" for k, n in enumerate(own) if n
        )
        for name, own in counts.items()
    }
    return paths, tallest


def picture(metric: str, name: str, found: dict[str, Any], n_queries: int, most: float) -> str:
    """One of them; name: of the reference."""
    counted = n_queries > MAX_BARS
    title = escape(f"Difference of {metric} from {name} on each query, {'counted' if counted else 'sorted'}")
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    # Bars touch if they are narrow, and never become a block each if they are few.
    width = 0.85 * min(WIDTH / (2 * BINS) if counted else WIDTH / max(n_queries, 1), 8.0)
    across = HEIGHT if counted else HEIGHT // 2
    middle = f'<line x1="{WIDTH // 2}" x2="{WIDTH // 2}" y1="0" y2="{HEIGHT}"/>' if counted else ""
    bars = ["each bar is a query, losses in orange", f"full height: {most:.2f}"]
    scale = [f"-{most:.2f}", f"difference of {escape(metric)}", f"+{most:.2f}"] if counted else bars
    return (
        f'<figure><svg {box} role="img" aria-label="{title}" preserveAspectRatio="none" stroke-width="{width:.2f}">'
        f'<path class="lost" d="{found["lost"]}"/><path class="won" d="{found["won"]}"/>'
        f'<line x1="0" x2="{WIDTH}" y1="{across}" y2="{across}"/>{middle}</svg>'
        f'<div class="scale">{"".join(f"<span>{text}</span>" for text in scale)}</div>'
        f"<figcaption><strong>{escape(metric)} against {escape(name)}</strong>: "
        f'<span class="said">{found["said"]}</span></figcaption>'
        "</figure>"
    )
