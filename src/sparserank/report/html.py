"""Pages and notebook cells, as HTML that loads nothing from a network.

The templates escape every text, and characters that act instead of being shown, so that names are only shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sparserank.report.document import Section, Table
from sparserank.report.svg import PALETTE, inline
from sparserank.text import visible

# characters of words, and of a first column, from which they wrap
LINE = 28
NAME = 14


def to_html(
    title: str,
    intro: str,
    sections: Sequence[Section],
    notes: Sequence[str] = (),
    closing: Sequence[str] = (),
    top: Markup | None = None,
    sure: Table | None = None,
) -> str:
    """One document, with inline pictures.

    Parameters
        intro   below the title
        top     HTML below the intro
        sure    a table about the uncertainty, closed at first
    """
    head = {"title": title, "intro": intro, "top": top or "", "sure": sure, "notes": notes}
    return str(rendered("page.html.j2", **head, sections=sections, closing=closing))


def to_fragment(headline: str, sentences: Sequence[str], section: Section, key: str) -> str:
    """A headline and pictures, followed by collapsed sentences and tables, for a notebook cell; `key` makes its
    identifiers differ from those of other cells."""
    folded = replace(section, tables=[replace(t, folded=True) for t in section.tables])
    cell = {"headline": headline, "section": folded, "sentences": sentences, "prefix": f"{key}-"}
    return str(rendered("fragment.html.j2", **cell))


def rendered(template: str, **content: Any) -> Markup:
    """A file of `templates/` with its content: HTML, which other templates do not escape again."""
    return Markup(_TEMPLATES.get_template(template).render(**content))


def _shown(value: Any) -> Any:
    """The form in which a template shows a value, before escaping."""
    return value if isinstance(value, Markup) else visible(value)


def _file(name: str) -> Markup:
    """A style sheet or a script, unchanged."""
    assert _TEMPLATES.loader is not None
    return Markup(_TEMPLATES.loader.get_source(_TEMPLATES, name)[0])


def _palette(dark: bool) -> Markup:
    """The colours as custom properties of a style sheet."""
    return Markup(" ".join(f"--{name}: {pair[dark]};" for name, pair in PALETTE.items()))


def _width(t: Table, column: int) -> int:
    """The minimum width of the first column or of a text column, in characters: the length of its longest cell, up to a
    limit above which it wraps."""
    longest = max((len(visible(cell)) for cell in (t.columns[column], *(row[column] for row in t.rows))), default=0)
    return min(longest, LINE if column else NAME) + 1


_TEMPLATES = Environment(
    loader=PackageLoader("sparserank.report"),
    autoescape=True,
    finalize=_shown,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.policies["json.dumps_kwargs"] = {"allow_nan": False}
_TEMPLATES.globals |= {
    "file": _file,
    "palette": _palette,
    "svg": lambda picture, prefix: Markup(inline(picture, prefix)),
    "width": _width,
}
