"""Sections as text, CSV, Markdown and a self-contained HTML page."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from sparserank.errors import RunDirectoryError
from sparserank.files import atomic_write
from sparserank.reports.document import Section, Table
from sparserank.text import visible

DRAWN_HERE = "<!-- drawn by sparserank -->\n"
STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; color: #1c2330; background: #fff; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
.soft { color: #5b6474; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid #e5e8ee; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
th { font-weight: 600; color: #5b6474; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; max-width: 48rem; } figcaption { color: #5b6474; font-size: .9rem; }
.note { border-left: 4px solid #c2410c; padding: .25rem .75rem; background: #fff7ed; }
summary { cursor: pointer; color: #1d4ed8; padding: .4rem 0; }
tr.strong td { background: #fff7ed; font-weight: 600; }
nav a { margin-right: 1rem; color: #1d4ed8; }
"""


def to_html(
    title: str, intro: str, sections: Sequence[Section], notes: Sequence[str] = (), closing: Sequence[str] = ()
) -> str:
    """One document: no script, no network, pictures inline; what names hold is shown, never obeyed."""
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body><h1>{_text(title)}</h1>",
        f"<p>{_text(intro)}</p>", *(f'<p class="note">{_text(n)}</p>' for n in notes), "<nav>",
        *(f'<a href="#s{i}">{_text(s.title)}</a>' for i, s in enumerate(sections)), "</nav>",
    ]  # fmt: skip
    for i, s in enumerate(sections):
        parts.append(f'<h2 id="s{i}">{_text(s.title)}</h2>')
        if s.text:
            parts.append(f"<p>{_text(s.text)}</p>")
        parts += _content(s, f"p{i}-")
    parts += [f'<p class="soft">{_text(line)}</p>' for line in closing]
    return "\n".join([*parts, "</body></html>", ""])


def to_fragment(sentences: Sequence[str], section: Section, key: str) -> str:
    """A few sentences, tables and pictures for a cell of a notebook; `key` tells its identifiers from those of other cells."""
    first, *more = sentences
    parts = ["<div>", f"<p><strong>{_text(first)}</strong></p>", *(f"<p>{_text(s)}</p>" for s in more)]
    return "\n".join([*parts, *_content(section, f"{key}-"), "</div>"])


def _content(section: Section, prefix: str) -> list[str]:
    """Its tables and pictures. Identifiers inside an SVG are global to a page: each picture gets its own."""
    parts = [_html_table(t) for t in section.tables]
    if section.pictures:
        parts.append('<div class="pictures">')
        for k, p in enumerate(section.pictures):
            svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}{k}-", p.svg)
            caption = f"<figcaption>{_text(p.caption)}</figcaption>" if p.caption else ""
            parts.append(f"<figure>{svg}{caption}</figure>")
        parts.append("</div>")
    return parts


def _text(text: str) -> str:
    return escape(visible(text))


def _html_table(t: Table) -> str:
    head = "".join(f"<th>{_text(c)}</th>" for c in t.columns)
    opened = ['<tr class="strong">' if i in t.strong else "<tr>" for i in range(len(t.rows))]
    cells = ["".join(f"<td>{_text(v)}</td>" for v in row) for row in t.rows]
    body = "".join(f"{tag}{row}</tr>" for tag, row in zip(opened, cells, strict=True))
    note = f'<p class="soft">{_text(t.note)}</p>' if t.note else ""
    table = f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>' if t.rows else ""
    if t.folded:
        return f"<details><summary>{_text(t.title)}</summary>{note}{table}</details>"
    return f"<h3>{_text(t.title)}</h3>{note}{table}"


def to_markdown(title: str, intro: str, sections: Sequence[Section], pictures: str, preface: str = "") -> str:
    """Markdown with pictures referred to as files in the folder `pictures`; `preface` stands before the tables."""
    parts = [f"# {title}", "", intro, "", *([preface.strip(), ""] if preface else [])]
    for s in sections:
        parts += [f"## {s.title}", ""]
        if s.text:
            parts += [s.text, ""]
        for t in s.tables:
            parts += [f"### {t.title}", ""]
            if t.note:
                parts += [t.note, ""]
            if t.rows:
                parts.append("| " + " | ".join(_cell(c) for c in t.columns) + " |")
                parts.append("|---" + "|---:" * (len(t.columns) - 1) + "|")
                parts += ["| " + " | ".join(_cell(v) for v in row) + " |" for row in t.rows]
                parts.append("")
        for p in s.pictures:
            parts += [f"![{p.caption}]({pictures}/{p.name}.svg)", "", f"*{p.caption}*", ""]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace(" | ", " / ").replace("|", "\\|").replace("~", "\\~").replace("*", "\\*")


def write_text(path: Path, text: str) -> Path:
    with atomic_write(path) as out:
        out.write(text)
    return path


def refuse_foreign_pictures(folder: Path) -> None:
    """Refuse a folder with pictures that `write_picture` did not write.

    Raises
        RunDirectoryError   names the first
    """
    for picture in sorted(folder.glob("*.svg")):
        if not picture.read_bytes().startswith(DRAWN_HERE.encode()):
            raise RunDirectoryError(f"{picture}: was not drawn by sparserank; choose another name for --markdown.")


def write_picture(path: Path, svg: str) -> Path:
    """An SVG file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, DRAWN_HERE + svg)


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with atomic_write(path) as out:
        writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
