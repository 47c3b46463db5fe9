"""Matplotlib pictures as SVG text, and as parts of a page, where their colours follow the page, their identifiers
are unique, and screen readers get a description. Only the extra `report` installs matplotlib."""

from __future__ import annotations

import io
import math
import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from sparserank.errors import DataError
from sparserank.report.document import Picture
from sparserank.text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#1c2330"
SOFT = "#5b6474"
ACCENT = "#c2410c"
BAND = "#dbe4f3"
PAPER = "#ffffff"
GRID = "#e2e6ee"
FAINT = "#b4bccb"
SERIES = ["#1d4ed8", "#0f766e", "#9333ea", "#b45309", "#be185d", "#4d7c0f"]
IN_THE_DARK = ["#82a8ff", "#4fd1c5", "#c79bff", "#f0b429", "#f687b3", "#a3d977"]

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
    **{f"s{i}": pair for i, pair in enumerate(zip(SERIES, IN_THE_DARK, strict=True))},
}
# colour of a figure: the variable that it is on a page
COLOURS = {light: name for name, (light, _) in PALETTE.items()} | {"#000000": "ink"}

PAGE_SIZE = (5.4, 3.1)  # inches, without its legend: legible on a phone, where a picture is as wide as the page
MAX_LABEL = 36  # characters of a feature's name under its steps
LEGEND_LINE = 66  # characters per line of the legend, six for each curve that it explains
LEGEND_HEIGHT = 0.2  # inches of a line
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
# matplotlib writes this into a style sheet, which would apply to the whole page
LINES = "stroke-linejoin: round; stroke-linecap: butt"


# -- drawing ----------------------------------------------------------------------------------------------------------


def picture_text(name: object) -> str:
    """A name in the form that matplotlib needs: without mathematics between dollar signs,
    and with a leading underscore that legends keep."""
    text = visible(name).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def cut(name: str, most: int = MAX_LABEL) -> str:
    """A name as a label, cut to at most `most` characters."""
    shown = visible(name)
    return picture_text(shown if len(shown) <= most else shown[: most - 1] + "\u2026")


def new_figure(size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def new_axes(x_label: str, y_label: str, size: tuple[float, float] = (6.0, 4.0)) -> tuple[Figure, Any]:
    figure = new_figure(size)
    axes = figure.add_subplot()
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    dress(axes)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    return figure, axes


def axes_of_user(axes: Any) -> Any:
    """The given matplotlib axes, or new ones from pyplot.

    Raises
        DataError   matplotlib is needed and not installed
    """
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise DataError("figures need matplotlib; install it with: pip install 'sparserank[report]'") from error
    return plt.subplots(layout="constrained")[1]


def labelled(axes: Any, across: str, up: str) -> Any:
    """Add labels and a legend to the axes of a user."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend(fontsize="small", frameon=False)
    return axes


def ring(axes: Any, size: float, height: float, label: str) -> None:
    """Draw a ring around the chosen candidate."""
    style = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgewidth": 2.2, "linestyle": "none"}
    axes.plot([size], [height], color=ACCENT, label=label, clip_on=False, **style)


def dress(axes: Any) -> None:
    """Keep two spines, and draw the axes below the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=10)
    axes.set_axisbelow(True)


def legend_below(figure: Figure, columns: int = 2) -> None:
    """Put the legend below the axes, where it hides nothing, in fewer columns if its labels are long.
    The figure grows by the height of the legend."""
    labels = [label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]]
    longest = max(map(len, labels), default=0)
    fitting = min(max(LEGEND_LINE // (longest + 6), 1), columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_HEIGHT * math.ceil(len(labels) / fitting))
    style = {"frameon": False, "fontsize": 9.5, "labelcolor": INK, "handlelength": 1.8, "columnspacing": 1.4}
    figure.legend(loc="outside lower left", ncols=fitting, **style)


def to_svg(figure: Figure, title: str) -> str:
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sparserank"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text, not matplotlib's
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": visible(title), "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


# -- on a page --------------------------------------------------------------------------------------------------------


def inline(picture: Picture, prefix: str) -> str:
    """The <svg> element of a picture; `prefix` makes its identifiers unique on the page."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(picture.svg)
    for element in list(root.iter()):
        for child in list(element):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                element.remove(child)
        _adapt(element, prefix)
    drawn = root.find(f"{{{SVG}}}title")
    title = picture.caption or picture.name
    if drawn is not None:
        root.remove(drawn)
        title = picture.caption or drawn.text or picture.name
    for place, (part, text) in enumerate((("title", title), ("desc", picture.description))):
        element = ET.Element(f"{{{SVG}}}{part}", {"id": f"{prefix}{part}"})
        element.text = visible(text)
        root.insert(place, element)
    root.attrib |= {"role": "img", "style": LINES}
    root.attrib |= {"aria-labelledby": f"{prefix}title", "aria-describedby": f"{prefix}desc"}
    return ET.tostring(root, encoding="unicode")


def _adapt(element: ET.Element, prefix: str) -> None:
    """Adapt identifiers, references and colours of an element, but never its text, which is untrusted."""
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, prefix + value)
        elif name == HREF and value.startswith("#"):
            element.set(name, f"#{prefix}{value[1:]}")
        elif "url(#" in value:
            element.set(name, value.replace("url(#", f"url(#{prefix}"))
    if "style" in element.attrib:
        element.set("style", re.sub("#[0-9a-fA-F]{6}", _variable, element.attrib["style"]))


def _variable(colour: re.Match[str]) -> str:
    """A colour of the palette as a variable of the page, whose value differs in dark mode."""
    known = COLOURS.get(colour[0].lower())
    return colour[0] if known is None else f"var(--{known}, {colour[0]})"
