"""The package's docstrings, which are numpydoc, as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable

from numpydoc.docscrape import NumpyDocString

CODE = re.compile(r"(`+)(.+?)\1")
SPECIAL = re.compile(r"([\\*_<>|\[\]$#~^])")
ITEMS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
PROSE = ("Notes", "References")
Link = Callable[[str], str]


def plain(name: str) -> str:
    """A name in backticks, linked to nothing."""
    return f"`{name}`"


def inline(text: str, link: Link = plain) -> str:
    """One run of text: what stands in backticks is code, nothing else is markup."""
    out, at = [], 0
    for code in CODE.finditer(text):
        out += [SPECIAL.sub(r"\\\1", text[at : code.start()]), link(code.group(2))]
        at = code.end()
    return "".join(out) + SPECIAL.sub(r"\\\1", text[at:])


def markdown(docstring: str | None, link: Link = plain) -> str:
    """A docstring as Markdown."""
    found = NumpyDocString(inspect.cleandoc(docstring or ""))
    out = [*_prose(found["Summary"], link), "", *_prose(found["Extended Summary"], link), ""]
    for title in ITEMS:
        if found[title]:
            out += [f"**{title}**", ""]
            for name, kind, text in found[title]:
                # what is returned or raised has a type, and no name
                head = f"`{name or kind}`" + (f" ({inline(kind, link)})" if name and kind else "")
                out += [head, f": {inline(' '.join(line.strip() for line in text), link)}", ""]
    if found["See Also"]:
        out += ["**See Also**", ""]
        out += [
            f"{link(name)}: {inline(' '.join(text), link)}" for names, text in found["See Also"] for name, _ in names
        ]
        out += [""]
    for title in PROSE:
        if found[title]:
            out += [f"**{title}**", "", *_prose(found[title], link), ""]
    if found["Examples"]:
        out += ["**Examples**", "", "```pycon", *found["Examples"], "```", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"


def _prose(lines: list[str], link: Link) -> list[str]:
    """Paragraphs, and deeper lines as they stand."""
    out: list[str] = []
    literal: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(" "):
            literal.append(line)
            continue
        if literal:
            out += ["", "```text", *textwrap.dedent("\n".join(literal)).splitlines(), "```", ""]
            literal = []
        out.append(inline(line, link))
    return out
