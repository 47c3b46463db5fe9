"""Help of a command with many options: --help shows the most useful ones in a sentence each, --help-all shows all."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

ALL = "help_all"
ALWAYS = ("help", ALL)
SENTENCE = re.compile(r".*?\.(?= [A-Z]| \\\[|$)")  # the first one of a help text


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options and exit.")
]


def with_help_all(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --help-all to a command."""

    @wraps(command)
    def run(*args: Any, help_all: bool = False, **options: Any) -> Any:
        return command(*args, **options)

    signature = inspect.signature(command)
    added = inspect.Parameter(ALL, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, ALL: HelpAll}
    return run


def short_help(*shown: str) -> type[TyperCommand]:
    """Class of a command whose --help shows the arguments and only these options (by parameter name)."""

    class ShortHelp(TyperCommand):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            with _shortened([] if ctx.meta.get(ALL) else self.params, {*shown, *ALWAYS}):
                super().format_help(ctx, formatter)

    return ShortHelp


@contextmanager
def _shortened(parameters: list[Any], shown: set[str]) -> Iterator[None]:
    """Hide the options that are not shown, and all but the first sentence about the others, temporarily."""
    options = [p for p in parameters if p.param_type_name == "option" and not p.hidden]
    whole = [option.help for option in options]
    try:
        for option in options:
            option.hidden = option.name not in shown
            text, default, value = (option.help or "").partition(" \\[default: ")
            first = SENTENCE.match(text)
            option.help = f"{first[0] if first else text}{default}{value}"
        yield
    finally:
        for option, text in zip(options, whole, strict=True):
            option.hidden, option.help = False, text
