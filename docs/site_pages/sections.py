"""Texts of the project that pages take over as they stand: sections of CONTRIBUTING.md, whole files, made tables.

A page says `<!-- include: CONTRIBUTING.md # Releases -->`, `<!-- include: tests/extension/boxed_l1.py -->` or
`<!-- made: installed -->`; elsewhere than on the site the comment is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- (include|made): (.+?) -->")
LINK = re.compile(r"\[([^\]]*)\]\(([^)]+)\)")
LANGUAGES = {".py": "python", ".java": "java"}
HEADING = re.compile(r"(?m)^## (.+)$")


def section(text: str, title: str) -> str:
    """What stands below `## title`, up to the next heading of that depth."""
    parts = HEADING.split(text)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    if title not in found:
        raise KeyError(f"no section '## {title}'; there are {', '.join(found)}.")
    return found[title].strip("\n")


def _link(match: re.Match[str]) -> str:
    """A link of a text at the project's root, as a page of the site has it; files that are no pages are named."""
    text, target = match.groups()
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')})"
    if "://" in target:
        return match.group()
    return text if text == target else f"{text} (`{target}`)"


def included(what: str) -> str:
    """`FILE # section` of Markdown with its links turned, or a whole program as a block."""
    name, _, title = (part.strip() for part in what.partition("#"))
    text = (ROOT / name).read_text(encoding="utf-8")
    if (language := LANGUAGES.get(Path(name).suffix)) is not None:
        return f"```{language}\n{text}```"
    return LINK.sub(_link, section(text, title))


def expanded(text: str, made: Mapping[str, Callable[[], str]]) -> str:
    """A page with its marks replaced by what they name."""
    return MARK.sub(lambda m: included(m[2]) if m[1] == "include" else made[m[2]](), text)
