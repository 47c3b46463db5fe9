"""Every command with its options and examples, from what `--help` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

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
            out.append(f"```text\n{block.strip()}\n```")
        elif (bold := re.fullmatch(r"\[bold\](.+)\[/bold\]", block.strip())) is not None:
            out.append(f"**{inline(bold[1])}**")
        else:
            out.append(inline(block.replace("\\[", "[")))
    return "\n\n".join(out)


def _default(option: Any) -> str:
    if option.required:
        return " Required."
    value = option.default
    if not option.show_default or value in (None, False, ()) or callable(value):
        return ""
    shown = option.show_default if isinstance(option.show_default, str) else None
    shown = shown or (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return f" Default: {inline(shown)}."


def _options(command: Any) -> Iterator[str]:
    for option in command.params:
        if getattr(option, "hidden", False):
            continue
        names = [*option.opts, *option.secondary_opts] if option.opts[0].startswith("-") else [option.name.upper()]
        text = " ".join((option.help or "").replace("\\[", "[").split())
        yield f"{', '.join(f'`{name}`' for name in names)}\n: {inline(text)}{_default(option)}\n"


def page() -> str:
    lines = ["# Commands", "", "What `sparserank COMMAND --help` prints.", ""]
    for name, command in _commands(get_command(app)):
        lines += [f"## {name}", "", _text(command.help or ""), "", *_options(command), ""]
    return "\n".join(lines)
