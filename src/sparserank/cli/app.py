"""Entry point: commands, errors as one sentence, exit codes 0 / 1 / 2 for done / failed / misuse."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import typer

from sparserank import __version__
from sparserank.cli import (
    compare,
    convert,
    demo,
    evaluate,
    experiment,
    explain,
    export,
    fit,
    inspect,
    letor,
    predict,
    select,
)
from sparserank.cli.screen import note, prepare_streams
from sparserank.errors import ConvergenceWarning, DataWarning, SparserankError

app = typer.Typer(
    name="sparserank",
    help="Sparse learning-to-rank: the smallest ranking model that ranks as well as the full one.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sparserank {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Sparse learning-to-rank."""


app.command("select", help=select.HELP)(select.select)
app.command("compare", help=compare.HELP)(compare.compare)
app.command("fit", help=fit.HELP)(fit.fit)
app.command("predict", help=predict.HELP)(predict.predict)
app.command("evaluate", help=evaluate.HELP)(evaluate.evaluate)
app.command("inspect", help=inspect.HELP)(inspect.inspect)
app.command("explain", help=explain.HELP)(explain.explain)
app.command("export", help=export.HELP)(export.export)
app.command("convert", help=convert.HELP)(convert.convert)
app.command("demo", help=demo.HELP)(demo.demo)
app.command("letor", help=letor.HELP)(letor.letor)
app.add_typer(experiment.app, name="experiment", context_settings={"help_option_names": ["-h", "--help"]})


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
    if issubclass(category, ConvergenceWarning | DataWarning):
        note(f"warning: {message}")


def main() -> None:
    prepare_streams()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", ConvergenceWarning)
    warnings.simplefilter("always", DataWarning)
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, and not at the interpreter's end, where nobody could say what went wrong
    except SparserankError as error:
        _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads any more: what is left to say goes nowhere
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename or 'input/output'}: {error.strerror or error}.")
    except MemoryError:
        _fail("out of memory; use fewer threads (--threads 1) or a machine with more memory.")


def _fail(sentence: str) -> NoReturn:
    note(f"error: {sentence}")
    sys.exit(1)
