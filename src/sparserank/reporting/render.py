"""Render sections as text, CSV, Markdown and a self-contained HTML page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from sparserank.files import atomic_write
from sparserank.reporting.colours import variables
from sparserank.reporting.document import Section, Table
from sparserank.reporting.pictures import inline
from sparserank.text import visible

DRAWN_HERE = "<!-- drawn by sparserank -->\n"
LINE, NAME = 28, 14  # characters of words, and of a first column, from which they wrap
STYLE = f"""
:root {{ color-scheme: light; {variables(dark=False)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {variables(dark=True)} }} }}
* {{ box-sizing: border-box; }}
html {{ scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; color: var(--ink); background: var(--paper); \
font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }}
main {{ margin: 0 auto; max-width: 64rem; padding: 2.5rem 1.5rem 3rem; }}
h1 {{ font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2rem); line-height: 1.2; letter-spacing: -.015em; margin: 0 0 1rem; \
text-wrap: balance; }}
h2 {{ font-size: 1.3rem; line-height: 1.3; margin: 0 0 .6rem; }}
h3 {{ font-size: 1rem; line-height: 1.4; margin: 1.6rem 0 .4rem; }}
p {{ margin: 0 0 .8rem; max-width: 44rem; }}
a {{ color: var(--link); }}
section {{ border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 2rem; }}
.lead {{ margin: 0 0 1rem; max-width: none; }}
.chips {{ display: flex; flex-wrap: wrap; gap: .4rem; margin: 0 0 1.4rem; padding: 0; list-style: none; }}
.chips li {{ padding: .12rem .7rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--panel); \
font-weight: 600; max-width: 100%; }}
.soft {{ color: var(--soft); font-size: .9rem; }}
.note {{ border-left: 4px solid var(--accent); padding: .45rem .9rem; background: var(--tint); max-width: 46rem; }}
nav {{ display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: .7rem 0 0; font-size: .95rem; }}
nav a {{ padding: .2rem 0; text-decoration-thickness: 1px; text-underline-offset: .2em; }}
.scroll {{ overflow-x: auto; max-width: 100%; margin: 0 0 .8rem; }}
table {{ border-collapse: collapse; font-size: .88rem; line-height: 1.4; overflow-wrap: normal; }}
th, td {{ padding: .36rem 0 .36rem 1.4rem; text-align: right; vertical-align: top; white-space: nowrap; \
border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }}
thead th {{ color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; max-width: 11rem; }}
th:first-child {{ padding-left: .5rem; padding-right: .2rem; text-align: left; position: sticky; left: 0; \
background: var(--paper); max-width: 16rem; white-space: normal; overflow-wrap: anywhere; }}
tbody th {{ font-weight: 400; }}
td:last-child, th:last-child {{ padding-right: .5rem; }}
.words {{ text-align: left; white-space: normal; max-width: 30rem; overflow-wrap: anywhere; }}
.strong > * {{ background: var(--tint); font-weight: 600; }} \
tbody .strong th {{ background: var(--tint); font-weight: 600; }}
.pictures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1.5rem 2rem; \
margin: 1rem 0; align-items: start; }}
figure {{ margin: 0; max-width: 36rem; }} \
figure svg {{ display: block; width: 100%; height: auto; overflow: visible; }} figure svg text {{ fill: var(--ink); }}
figcaption {{ color: var(--soft); font-size: .9rem; margin-top: .3rem; }}
details {{ margin: .6rem 0; }} details > :not(summary) {{ margin-left: 1.1rem; }}
summary {{ cursor: pointer; color: var(--link); padding: .25rem 0; }}
.scroll:focus-visible, summary:focus-visible, a:focus-visible {{ outline: 2px solid var(--link); outline-offset: 2px; }}
footer {{ border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }}
@media (max-width: 40rem) {{ main {{ padding: 1.5rem 1rem 2rem; }} \
section {{ margin-top: 2rem; padding-top: 1.5rem; }} th, td {{ padding-left: 1rem; }} \
th:first-child {{ max-width: 9.5rem; }} details > :not(summary) {{ margin-left: 0; }} }}
@media print {{
  @page {{ margin: 1.5cm; }}
  body {{ font-size: 10pt; }} main {{ max-width: none; padding: 0; }} nav {{ display: none; }} \
section {{ margin-top: 1.2rem; padding-top: 1rem; }}
  .scroll {{ overflow: visible; }} table {{ font-size: 7.5pt; }} th, td {{ padding-left: .7rem; }} \
th:first-child {{ position: static; }} .words {{ min-width: 0; }}
  figure, tr, .note {{ break-inside: avoid; }} h2, h3, summary {{ break-after: avoid; color: var(--ink); }}
  details::details-content {{ content-visibility: visible; block-size: auto; }}
  .strong > * {{ print-color-adjust: exact; }}
}}
"""


def to_html(
    title: str,
    intro: str | Sequence[str],
    sections: Sequence[Section],
    notes: Sequence[str] = (),
    closing: Sequence[str] = (),
    names: Sequence[str] = (),
    top: str = "",
    style: str = "",
    sure: Table | Sequence[str] = (),
) -> str:
    """Render one document without network access, with inline pictures. Names are escaped, so that their content is
    only shown.

    Parameters
        intro   a text below the title, or sentences, which form one
        names   of the kept features, below it; top: HTML below these, with its style
        sure    a table or sentences about the uncertainty, closed at first
    """
    said = _text(intro if isinstance(intro, str) else " ".join(intro))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>{_text(title)}</title><style>{STYLE}{style}</style></head><body><main><header><h1>{_text(title)}</h1>",
        f'<p class="lead">{said}</p>' if said else "",
        _list("chips", names),
        top,
        _html_table(sure) if isinstance(sure, Table) else _folded("How sure", sure),
        *(f'<p class="note">{_text(n)}</p>' for n in notes),
        '<nav aria-label="Contents">',
        *(f'<a href="#s{i}">{_text(s.title)}</a>' for i, s in enumerate(sections)),
        "</nav></header>",
    ]
    for i, s in enumerate(sections):
        parts.append(f'<section aria-labelledby="s{i}"><h2 id="s{i}">{_text(s.title)}</h2>')
        if s.text:
            parts.append(f"<p>{_text(s.text)}</p>")
        parts += [*_content(s, f"p{i}-"), "</section>"]
    parts += ["<footer>", *(f'<p class="soft">{_text(line)}</p>' for line in closing), "</footer>"] if closing else []
    return "\n".join([*parts, "</main></body></html>", ""])


def to_fragment(headline: str, sentences: Sequence[str], section: Section, key: str) -> str:
    """Render a line, pictures, and behind them sentences and tables, collapsed, for a cell of a notebook;
    `key` makes its identifiers differ from those of other cells."""
    top = Section("", "", [], section.pictures)
    folded = Section("", "", [replace(t, folded=True) for t in section.tables])
    parts = [
        "<div>",
        f"<p><strong>{_text(headline)}</strong></p>",
        *_content(top, f"{key}-"),
        _folded("In words", sentences),
        *_content(folded, f"{key}-"),
    ]
    return "\n".join([*parts, "</div>"])


def _content(section: Section, prefix: str) -> list[str]:
    """Its pictures and tables."""
    figures = [
        f"<figure>{inline(p, f'{prefix}{k}-')}{f'<figcaption>{_text(p.caption)}</figcaption>' if p.caption else ''}</"
        "figure>"
        for k, p in enumerate(section.pictures)
    ]
    pictures = ['<div class="pictures">', *figures, "</div>"] if figures else []
    tables = [_html_table(t, titled=t.title != section.title) for t in section.tables]
    return [*pictures, *tables]


def _text(text: str) -> str:
    return escape(visible(text))


def _list(kind: str, items: Sequence[str]) -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{_text(item)}</li>" for item in items)}</ul>' if items else ""


def _folded(title: str, sentences: Sequence[str]) -> str:
    said = "".join(f"<p>{_text(s)}</p>" for s in sentences)
    return f"<details><summary>{title}</summary>{said}</details>" if said else ""


def _html_table(t: Table, titled: bool = True) -> str:
    """A table in a separate box, in which it scrolls if it is wider than the page; titled:
    with its title above."""
    kinds = [' class="words"' if k in t.words else "" for k in range(len(t.columns))]
    head = "".join(
        f'<th scope="col"{kind}{_width(t, k)}>{_text(c)}</th>'
        for k, (c, kind) in enumerate(zip(t.columns, kinds, strict=True))
    )
    rows = []
    for i, (first, *others) in enumerate(t.rows):
        cells = "".join(f"<td{kind}>{_text(v)}</td>" for v, kind in zip(others, kinds[1:], strict=True))
        opened = '<tr class="strong">' if i in t.strong else "<tr>"
        rows.append(f'{opened}<th scope="row">{_text(first)}</th>{cells}</tr>')
    note = f'<p class="soft">{_text(t.note)}</p>' if t.note else ""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(t.title)}">'
    table = f"{box}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>" if t.rows else ""
    if t.folded:
        return f"<details><summary>{_text(t.title)}</summary>{note}{table}</details>"
    return f"{f'<h3>{_text(t.title)}</h3>' if titled else ''}{note}{table}"


def _width(t: Table, column: int) -> str:
    """The minimum width of the first column or a text column: that of its longest cell,
    up to a limit above which it wraps."""
    if column not in (0, *t.words):
        return ""
    longest = max((len(visible(cell)) for cell in (t.columns[column], *(row[column] for row in t.rows))), default=0)
    return f' style="min-width: {min(longest, LINE if column else NAME) + 1}ch"'


def to_markdown(title: str, intro: str, sections: Sequence[Section], pictures: str, preface: str = "") -> str:
    """Render Markdown; pictures are links to files in the folder `pictures`, and `preface` precedes the tables."""
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


def write_picture(path: Path, svg: str) -> Path:
    """Write a picture as a separate SVG file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, DRAWN_HERE + svg)


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    return write_text(path, csv_text(rows))


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
