"""The commands of `python -m reproduction`."""

from __future__ import annotations

import typer

from reproduction import commands, letor
from sparserank.cli.output import answering

app = typer.Typer(
    name="python -m reproduction",
    help="Run the papers' systems on LETOR data sets and compare with the published tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("published", help=commands.PUBLISHED_HELP)(answering(commands.published))
app.command("letor", help=letor.HELP)(answering(letor.letor))
app.command("run", help=commands.RUN_HELP)(answering(commands.run))
app.command("systems")(answering(commands.systems))
