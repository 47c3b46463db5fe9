"""An SVG picture as part of a page: its colours follow the page, its identifiers are unique,
and screen readers get its description."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from sparserank.reporting.colours import COLOURS
from sparserank.reporting.document import Picture
from sparserank.text import visible

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
# what matplotlib says in a style sheet, which would be the whole page's
LINES = "stroke-linejoin: round; stroke-linecap: butt"


def inline(picture: Picture, prefix: str) -> str:
    """Its <svg> element; `prefix` makes its identifiers differ from those of the other pictures on the page."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(picture.svg)
    for element in list(root.iter()):
        for child in list(element):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                element.remove(child)
        _own(element, prefix)
    title = root.find(f"{{{SVG}}}title")
    if title is None:
        title = ET.Element(f"{{{SVG}}}title")
        root.insert(0, title)
    title.text = visible(picture.caption or title.text or picture.name)
    described = ET.Element(f"{{{SVG}}}desc")
    described.text = visible(picture.description)
    root.insert(1, described)
    for part, element in (("title", title), ("desc", described)):
        element.set("id", f"{prefix}{part}")
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{prefix}title",
        "aria-describedby": f"{prefix}desc",
        "style": LINES,
    }
    return ET.tostring(root, encoding="unicode")


def _own(element: ET.Element, prefix: str) -> None:
    """Set identifiers, references and colours of an element, but never its text, which is untrusted."""
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
    """A colour of the palette as the page's variable, which differs in dark mode."""
    known = COLOURS.get(colour[0].lower())
    return colour[0] if known is None else f"var(--{known}, {colour[0]})"
