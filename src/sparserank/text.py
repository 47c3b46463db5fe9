"""Show names of features, documents and files, which are untrusted text."""

from __future__ import annotations

import unicodedata

_HIDDEN = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # controls (terminal escapes among them), lone surrogates, line and paragraph separators
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # these reorder what stands around them


def visible(text: object) -> str:
    """The text on one line; characters that act instead of being shown become escapes (\\x1b, \\n, \\u202e)."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(_escaped(c) if c in _BIDI or unicodedata.category(c) in _HIDDEN else c for c in shown)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
