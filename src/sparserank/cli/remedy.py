"""The corrected command, ready to paste."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sparserank.cli.declared import FLAGS as SPELLED
from sparserank.cli.reading import joined_names
from sparserank.errors import TableError
from sparserank.options.spelling import flag_of
from sparserank.text import visible

NAMES = ("label", "qid", "docid", "feature_columns", "ignore_columns", "categories", "missing", "unjudged")
FLAGS = {name: flag_of(name, SPELLED) for name in NAMES}
COLUMNS = ("feature_columns", "ignore_columns")  # either one replaces both
TAUGHT = ("predict", "evaluate", "diff", "explain")  # commands that use trained models and cannot learn replacements


def remedied(error: TableError, arguments: Sequence[str]) -> tuple[str, str]:
    """(sentence, corrected command or "") for the error of a command line."""
    learns = error.options is not None and "missing" in error.options and arguments[:1] and arguments[0] in TAUGHT
    if error.options is None or learns or not arguments:
        from sparserank.data.reading import choices

        return f"{error.problems.rstrip('.')}; {choices()}." if learns else str(error), ""
    return f"{error.problems}; run this command:", command(arguments, error.options)


def command(arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """The command line with its reading options replaced."""
    replaced = [FLAGS[name] for name in options] + [FLAGS[name] for name in COLUMNS if set(COLUMNS) & set(options)]
    kept: list[str] = []
    value_follows = False
    for argument in arguments:
        if not value_follows and argument.partition("=")[0] not in replaced:
            kept.append(argument)
        value_follows = not value_follows and argument in replaced
    return pasted(["sparserank", *kept, *flags(options)])


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
