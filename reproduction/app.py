"""The commands of `python -m reproduction`."""

from __future__ import annotations

from reproduction import commands, letor
from reproduction.execute import OUT, SYSTEM
from sparserank.cli.build import HelpfulCommand, group
from sparserank.cli.commands import Argument, Command, cli_option
from sparserank.options.reading import READING

PUBLISHED = Command(
    "published",
    [Argument("data", "Path", "Folder with the LETOR data sets.")],
    [
        OUT,
        SYSTEM,
        cli_option(
            "markdown", "Path | None", "Also write a Markdown document; figures are written to a folder next to it."
        ),
        cli_option("preface", "Path | None", "Markdown file to insert before the tables of --markdown."),
        READING["n_threads"],
    ],
    required=["out"],
)
RUN = Command("run", [Argument("plan", "Path", "Plan, a TOML file.")], [OUT, READING["n_threads"]], required=["out"])
app = group(
    "python -m reproduction",
    "Run the papers' systems on LETOR data sets and compare with the published tables.",
    [
        HelpfulCommand(PUBLISHED, commands.PUBLISHED_HELP, (), commands.published),
        HelpfulCommand(letor.COMMAND, letor.HELP, (), letor.letor),
        HelpfulCommand(RUN, commands.RUN_HELP, (), commands.run),
        HelpfulCommand(Command("systems", [], []), "List systems, sources and default grids.", (), commands.systems),
    ],
)
