"""Click commands, built from the declarations when the program starts, and their help in panels."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sparserank.cli.commands import FLAGS, OUTPUT, Argument, Command
from sparserank.cli.output import FORMATS, TEXT, Answer, answering, versions_in_use
from sparserank.cli.reading import READ, check, typed
from sparserank.cli.screen import announce_compiling
from sparserank.errors import DataError, ParameterError, SparserankError
from sparserank.options import Option
from sparserank.options.spelling import command_line, flag_of, rendered

FIRST_SENTENCE = re.compile(r".*?\.(?= [A-Z]|$)")
Row = tuple[str, str, str, str, Text]  # star if required, name, short name, kind, text
HELP_NAMES = {"help_option_names": ["--help", "-h"]}
TYPES = {
    "str": click.STRING,
    "int": click.INT,
    "float": click.FLOAT,
    "bool": click.BOOL,
    "Path": click.Path(path_type=Path),
}
SEVERAL = "list["  # begins the declared type of several values
OPTIONAL = " | None"  # ends a declared type if no value is required
TYPES |= {f"{SEVERAL}{name}]": kind for name, kind in TYPES.items()}
ALL = "help_all"


def _row(param: click.Parameter, *, short: bool = False) -> Row:
    """One row of the help: an argument or option. short: show only the first sentence of its help."""
    names = [*param.opts, *param.secondary_opts]
    help_text = getattr(param, "help", None) or ""
    if short and (first := FIRST_SENTENCE.match(help_text)):
        help_text = first[0]
    text = Text(help_text)
    if default := getattr(param, "words", ""):
        text.append(f" [default: {default}]", style="dim")
    if param.required:
        text.append(" [required]", style="dim red")
    kind = getattr(param, "kind", "bool")
    return (
        "*" * param.required,
        ",".join(n for n in names if n.startswith("--")) or str(param.metavar),
        ",".join(n for n in names if n[0] == "-" != n[1]),
        f"<{'path' if kind == 'Path' else kind}>",
        text,
    )


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


class DeclaredArgument(click.Argument):
    """A positional argument, as declared."""

    def __init__(self, declared: Argument) -> None:
        self.kind = declared.command.removesuffix(OPTIONAL)
        several = self.kind.startswith(SEVERAL)
        required = self.kind == declared.command
        super().__init__([declared.name], type=TYPES[self.kind], nargs=-1 if several else 1, required=required)
        self.help = declared.help
        self.metavar = f"{declared.name}{'...' * several}"


class DeclaredOption(click.Option):
    """An option, as declared.

    panel     heading in the help; kind: type in the help, which also decides how numbers are checked
    words     default as the help shows it, "" if there is none
    """

    def __init__(self, declared: Option, *, required: bool = False) -> None:
        self.kind = (declared.command or declared.kind.command).removesuffix(OPTIONAL)
        several = self.kind.startswith(SEVERAL)
        self.panel = declared.panel or "Options"
        self.declared = declared
        default = declared.default
        if declared.shown:
            self.words = rendered(declared.shown, FLAGS)
        elif isinstance(default, tuple):
            self.words = ", ".join(map(str, default))
        elif required or default is None or default is False:
            self.words = ""
        else:
            self.words = declared.name if default is True else str(default)
        text = rendered(declared.says or declared.help, FLAGS)
        if several and "may be repeated" not in text:
            text = f"{text.rstrip('.')}; may be repeated."
        names = [declared.name, *declared.spelled.split(",")]
        super().__init__(
            names,
            type=TYPES[self.kind],
            multiple=several,
            required=required,
            help=text,
            is_flag=True if self.kind == "bool" else None,
        )


class HelpfulCommand(click.Command):
    """A command. If `shown` names options, --help shows only the arguments and these options, each in one sentence,
    and --help-all shows everything."""

    def __init__(self, declared: Command, help: str, shown: Sequence[str], run: Callable[..., None]) -> None:
        self.shown = set(shown)
        params: list[click.Parameter] = [DeclaredArgument(a) for a in declared.arguments]
        options = sorted(declared.options, key=lambda o: o.name not in declared.required)
        params += [DeclaredOption(o, required=o.name in declared.required) for o in options if o.spelled]
        params += [DeclaredOption(o) for o in OUTPUT]
        if shown:
            params.append(_eager("--help-all", "Show all options and exit.", self._show_all))
        super().__init__(
            declared.name,
            params=params,
            help=help,
            context_settings=HELP_NAMES,
            callback=lambda **values: _answer(run, click.get_current_context(), values),
        )

    def _show_all(self, context: click.Context) -> None:
        context.meta[ALL] = True
        click.echo(context.get_help())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = set() if ctx.meta.get(ALL) else self.shown  # if empty, all options are listed in full
        panels: dict[str, list[Row]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            is_argument = isinstance(param, click.Argument)
            rows = panels.setdefault("Arguments" if is_argument else getattr(param, "panel", "Options"), [])
            # rows keep the order in which the command declares its options
            if not shown or is_argument or param.is_eager or param.name in shown:
                rows.append(_row(param, short=bool(shown) and not is_argument))
        formatter.write(_printed(self, ctx, [_panel(title, rows) for title, rows in panels.items() if rows]))


class HelpfulGroup(click.Group):
    """The program; its --help lists the commands."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [_row(p) for p in self.get_params(ctx)]
        commands = Table.grid(padding=(0, 2), expand=True)
        commands.add_column(style="bold cyan", no_wrap=True)
        commands.add_column(ratio=1)
        for name, command in self.commands.items():
            commands.add_row(name, (command.help or "").strip().split("\n\n")[0].replace("\n", " "))
        formatter.write(_printed(self, ctx, [_panel("Options", rows), _framed("Commands", commands)]))


def group(name: str, help: str, commands: Sequence[click.Command], *, version: str = "") -> HelpfulGroup:
    """The program of these commands."""
    options = []
    if version:
        options = [
            _eager("--version", "Show the version and exit.", lambda _: click.echo(version)),
            _eager("--install-completion", "Install completion for the current shell.", _install_completion),
            _eager(
                "--show-completion",
                "Show completion for the current shell, to copy it or customize the installation.",
                lambda _: click.echo(_completion()[1]),
            ),
        ]
    return HelpfulGroup(
        name, commands=list(commands), help=help, params=options, no_args_is_help=True, context_settings=HELP_NAMES
    )


def _eager(flag: str, help: str, show: Callable[[click.Context], None]) -> click.Option:
    """An option such as --version, which prints something and ends the program."""

    def callback(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            show(context)
            context.exit()

    return click.Option([flag], is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


def _completion() -> tuple[Path, str]:
    """(path where the user's shell looks for completions, text to write there)"""
    import os

    shell = Path(os.environ.get("SHELL", "bash")).name
    if shell == "fish":
        return Path("~/.config/fish/completions/sparserank.fish").expanduser(), (
            "_SPARSERANK_COMPLETE=fish_source sparserank | source"
        )
    if shell not in ("bash", "zsh"):
        raise click.UsageError(f"completion is for bash, zsh and fish; the shell is {shell}.")
    return Path(f"~/.{shell}rc").expanduser(), f'eval "$(_SPARSERANK_COMPLETE={shell}_source sparserank)"'


def _install_completion(_: click.Context) -> None:
    path, line = _completion()
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or line.encode() not in path.read_bytes():
        with open(path, "a", encoding="utf-8") as out:
            out.write(f"\n{line}\n")
    click.echo(f"completion is in {path}; it works in new shells.")


def _answer(run: Callable[..., None], context: click.Context, values: dict[str, Any]) -> None:
    """Run a command with the arguments and options that the user set, and print its answer."""
    format, quiet, verbose = (values.pop(option.name) for option in OUTPUT)
    if format not in (None, *FORMATS):
        raise click.BadParameter(f"must be one of {', '.join(FORMATS)}; got {format!r}.", param_hint="--format")
    if quiet and verbose:
        raise click.BadParameter("cannot be combined with --verbose.", param_hint="--quiet")
    if verbose:
        click.echo(versions_in_use(), err=True)
    options = [p for p in context.command.params if isinstance(p, DeclaredOption)]
    arguments = {str(p.name): p.opts[0].upper() for p in context.command.params if isinstance(p, click.Argument)}
    flags = FLAGS | arguments | {str(o.name): o.opts[0] for o in options}
    set_by_user = {}
    for name, value in values.items():
        if context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT):
            plain = list(value) if isinstance(value, tuple) else value
            set_by_user[name] = READ[name](plain) if name in READ else plain
    for option in options:
        if option.kind in ("int", "float") and option.name in set_by_user:
            check(option.opts[0], option.declared.kind, set_by_user[option.name])
    with command_line(flags), answering(Answer(format or TEXT, bool(quiet), bool(verbose))) as command_answer:
        announce_compiling()
        try:
            run(**set_by_user)
        except ParameterError as error:
            if error.owner:  # the parameter belongs to a penalty or metric that an option names
                raise DataError(str(error)) from error
            raise click.BadParameter(typed(error.message), param_hint=flag_of(error.parameter, flags)) from error
        except (SparserankError, OSError, MemoryError):
            if verbose:
                traceback.print_exc()
            raise
    command_answer.print()
    context.exit(command_answer.code)
