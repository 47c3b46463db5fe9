"""The corrected command, ready to paste."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sparserank.cli.declared import FLAGS as SPELLED
from sparserank.cli.reading import joined_names
from sparserank.options.spelling import flag_of
from sparserank.text import visible

NAMES = ("label", "qid", "docid", "feature_columns", "ignore_columns", "categories", "missing", "unjudged")
FLAGS = {name: flag_of(name, SPELLED) for name in NAMES}


def pasted(words: Sequence[str]) -> str:
    """Join words into a command line, and escape characters that a terminal would interpret."""
    return " ".join(shlex.quote(w) if visible(w) == w else _escaped(w) for w in words)


def _escaped(word: str) -> str:
    """Quote for bash, zsh and ksh: $'...'."""
    held = (chr(b) if 32 <= b < 127 and chr(b) not in "'\\" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{''.join(held)}'"


def flags(options: Mapping[str, Any]) -> list[str]:
    """Fields of `Reading` as command-line flags."""
    texts = {name: value if isinstance(value, str) else joined_names(value) for name, value in options.items()}
    return [text for name, value in texts.items() for text in (FLAGS[name], value)]
