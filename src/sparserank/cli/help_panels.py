"""The help of a command in panels: arguments, and options under their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

FIRST_SENTENCE = re.compile(r".*?\.(?= [A-Z]|$)")
Row = tuple[str, str, str, str, Text]  # star of what is required, name, short name, kind, text


def help_of_command(command: click.Command, context: click.Context, shown: set[str]) -> str:
    """shown: the names of the options to show, each in its first sentence; empty: all, whole."""
    panels: dict[str, list[Row]] = {"Arguments": [], "Options": []}
    for param in command.get_params(context):
        if isinstance(param, click.Argument):
            name = f"{param.name}{'...' * (param.nargs == -1)}"
            text = _text(getattr(param, "help", ""), "", param.required)
            panels["Arguments"].append(("*" * param.required, name, "", _kind(param), text))
        elif isinstance(param, click.Option) and (not shown or param.is_eager or param.name in shown):
            panels.setdefault(getattr(param, "panel", "Options"), []).append(_row(param, bool(shown)))
    return _printed(command, context, [_panel(title, rows) for title, rows in panels.items() if rows])


def help_of_group(group: click.Group, context: click.Context) -> str:
    rows = [_row(p, False) for p in group.get_params(context) if isinstance(p, click.Option)]
    commands = Table.grid(padding=(0, 2), expand=True)
    commands.add_column(style="bold cyan", no_wrap=True)
    commands.add_column(ratio=1)
    for name in group.commands:
        commands.add_row(name, (group.commands[name].help or "").strip().split("\n\n")[0].replace("\n", " "))
    return _printed(group, context, [_panel("Options", rows), _framed("Commands", commands)])


def _row(option: click.Option, short: bool) -> Row:
    names = [*option.opts, *option.secondary_opts]
    long = [n for n in names if n.startswith("--")]
    said = option.help or ""
    if short and (first := FIRST_SENTENCE.match(said)):
        said = first[0]
    return (
        "*" * option.required,
        ",".join(long),
        ",".join(n for n in names if n not in long),
        _kind(option),
        _text(said, getattr(option, "words", ""), option.required),
    )


def _kind(param: click.Parameter) -> str:
    kind = getattr(param, "kind", "bool")
    return f"<{'path' if kind == 'Path' else kind}>"


def _text(said: str, default: str, required: bool) -> Text:
    text = Text(said)
    if default:
        text.append(f" [default: {default}]", style="dim")
    if required:
        text.append(" [required]", style="dim red")
    return text


def _panel(title: str, rows: Sequence[Row]) -> Panel:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    styles = ("red", "bold cyan", "bold green", "bold yellow")
    used = [k for k in range(4) if any(row[k] for row in rows)]
    for k in used:
        table.add_column(style=styles[k], no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*(Text(str(row[k])) for k in used), row[4])
    return _framed(title, table)


def _framed(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim", box=box.ROUNDED)


def _printed(command: click.Command, context: click.Context, panels: Iterable[Panel]) -> str:
    usage = Text(f"Usage: {' '.join([context.command_path, *command.collect_usage_pieces(context)])}")
    blocks: list[Any] = [Text.from_markup(block) for block in (command.help or "").strip().split("\n\n")]
    spaced = [line for block in (usage, *blocks) for line in (block, Text(""))]
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(Padding(Group(*spaced), (1, 1, 0, 1)), *panels, sep="")
    return captured.get()
