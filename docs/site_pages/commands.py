"""Every command with its options and examples, from what `--help` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import reproduction.app as reproduction

from site_pages.docstrings import inline
from sparserank.cli.app import app


def _commands(group: Any, before: str = "sparserank") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def _text(text: str) -> str:
    """Help as Markdown: what it has in bold stays so, blocks that are set in are commands."""
    out = []
    for block in text.split("\n\n"):
        if block.startswith("  "):
            out.append(f"```sh\n{block.strip()}\n```")
        elif (bold := re.fullmatch(r"\[bold\](.+)\[/bold\]", block.strip())) is not None:
            out.append(f"**{inline(bold[1])}**")
        else:
            out.append(inline(block.replace("\\[", "[")))
    return "\n\n".join(out)


def _default(option: Any) -> str:
    if option.required:
        return " Required."
    words = getattr(option, "words", "")
    return f" Default: {inline(words)}." if words else ""


def _options(command: Any) -> Iterator[str]:
    """The options of a command, those that `--help` sets apart under their title."""
    panel = None
    shown = [option for option in command.params if not getattr(option, "hidden", False)]
    for option in sorted(shown, key=lambda o: _panels(shown).index(_panel(o))):
        if panel != (panel := _panel(option)) and panel is not None:
            yield f"**{panel}**\n"
        names = [*option.opts, *option.secondary_opts] if option.opts[0].startswith("-") else [option.name.upper()]
        text = " ".join((option.help or "").replace("\\[", "[").split())
        yield f"{', '.join(f'`{name}`' for name in names)}\n: {inline(text)}{_default(option)}\n"


def _panel(option: Any) -> str | None:
    panel = getattr(option, "panel", "Options")
    return None if panel == "Options" else panel


def _panels(options: list[Any]) -> list[str | None]:
    """The titles in the order in which they come, options without one first."""
    return list(dict.fromkeys([None, *map(_panel, options)]))


def page() -> str:
    lines = [
        "# Commands",
        "",
        "What `--help` prints.",
        "",
    ]
    ours, of_papers = _commands(app), _commands(reproduction.app, "python -m reproduction")
    for name, command in (*ours, *of_papers):
        lines += [f"## {name}", "", _text(command.help or ""), "", *_options(command), ""]
    return "\n".join(lines)
