"""The colours of pages and figures, for light and for dark screens."""

from __future__ import annotations

INK, SOFT, ACCENT, BAND = "#1c2330", "#5b6474", "#c2410c", "#dbe4f3"
PAPER, GRID, FAINT = "#ffffff", "#e2e6ee", "#b4bccb"
SERIES = ["#1d4ed8", "#0f766e", "#9333ea", "#b45309", "#be185d", "#4d7c0f"]

# name of the page's variable: (light, dark)
PALETTE = {
    "ink": (INK, "#e8ebf1"),
    "soft": (SOFT, "#a7b1c2"),
    "line": (GRID, "#2d3542"),
    "paper": (PAPER, "#12161d"),
    "panel": ("#f5f7fb", "#1a202b"),
    "accent": (ACCENT, "#fb923c"),
    "tint": ("#fff4ea", "#33241a"),
    "link": ("#1b49c9", "#8fb2ff"),
    "band": (BAND, "#24344f"),
    "faint": (FAINT, "#4b5567"),
    **{
        f"s{i}": pair
        for i, pair in enumerate(
            zip(SERIES, ("#82a8ff", "#4fd1c5", "#c79bff", "#f0b429", "#f687b3", "#a3d977"), strict=True)
        )
    },
}
# colour of a figure: the variable that it is on a page
COLOURS = {light: name for name, (light, _) in PALETTE.items()} | {"#000000": "ink"}


def variables(dark: bool) -> str:
    """The palette as custom properties of a style sheet."""
    return " ".join(f"--{name}: {pair[dark]};" for name, pair in PALETTE.items())
