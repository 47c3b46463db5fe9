"""The package's docstrings as Markdown: sections of rows `name   what it is`, prose, formulas.

A line at the left edge above an indented one names a section. Within a section, or by themselves, lines `name   text`
(two blanks or more between) with deeper lines going on are rows; anything else is prose, and deeper lines of prose are
literal.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable

ROW = re.compile(r"(\S.*?)\s{2,}(\S.*)")
CODE = re.compile(r"(`+)(.+?)\1")
SPECIAL = re.compile(r"([\\*_<>|\[\]$#~^])")
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


def _deeper(line: str) -> bool:
    return line.startswith(" ")


def _blocks(lines: list[str]) -> list[list[str]]:
    """Runs of lines between blank ones."""
    text = "\n".join(lines).strip("\n")
    return [block.splitlines() for block in re.split(r"\n[ ]*\n", text)] if text else []


def _rows(lines: list[str]) -> list[tuple[str, str]] | None:
    """The rows (name, text) of a block, or None where it is prose."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        if _deeper(line) and rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        elif (found := ROW.fullmatch(line)) is not None:
            rows.append((found.group(1), found.group(2)))
        else:
            return None
    return rows


def _prose(lines: list[str], link: Link) -> list[str]:
    """Paragraphs, and deeper lines as they stand."""
    out: list[str] = []
    literal: list[str] = []
    for line in [*lines, ""]:
        if _deeper(line):
            literal.append(line)
            continue
        if literal:
            out += ["", "```text", *textwrap.dedent("\n".join(literal)).splitlines(), "```", ""]
            literal = []
        out.append(inline(line, link))
    return out


def _content(lines: list[str], link: Link) -> list[str]:
    out: list[str] = []
    for block in _blocks(lines):
        rows = _rows(block)
        if rows is None:
            out += [*_prose(block, link), ""]
        else:
            for name, text in rows:
                out += [f"`{name}`", f": {inline(text, link)}", ""]
    return out


def _sections(block: list[str]) -> list[tuple[str | None, list[str]]]:
    """A block as (title, lines): lines under a title are those that stand deeper."""
    out: list[tuple[str | None, list[str]]] = []
    for number, line in enumerate(block):
        below = block[number + 1] if number + 1 < len(block) else ""
        inside = bool(out) and out[-1][0] is not None
        if not _deeper(line) and _deeper(below) and not ROW.fullmatch(line) and not line.endswith((":", ".", ",")):
            out.append((line, []))
        elif out and (_deeper(line) or not inside):
            out[-1][1].append(line)
        else:
            out.append((None, [line]))
    return out


def markdown(docstring: str | None, link: Link = plain) -> str:
    """A docstring as Markdown."""
    out: list[str] = []
    for block in _blocks(inspect.cleandoc(docstring or "").splitlines()):
        for title, lines in _sections(block):
            if title is not None:
                out += [
                    f"**{inline(title, link)}**",
                    "",
                    *_content(textwrap.dedent("\n".join(lines)).splitlines(), link),
                ]
            elif lines[0].startswith(("Source  ", "Sources  ")):
                name, text = _rows(lines)[0]  # type: ignore[index]
                out += [f"**{name}**", "", inline(text, link), ""]
            else:
                out += _content(lines, link)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out))
