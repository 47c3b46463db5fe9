"""Entry point: commands, errors as one sentence, exit codes 0 / 1 / 2 / 3 for done / failed / misuse / worse
(evaluate --fail-if-worse)."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import click

from sparserank import __version__
from sparserank.cli import (
    convert,
    demo,
    diff,
    evaluate,
    explain,
    export,
    fit,
    fuse,
    inspect,
    predict,
    select,
)
from sparserank.cli.build import HelpfulCommand, group
from sparserank.cli.commands import COMMANDS, FLAGS
from sparserank.cli.screen import error_line, prepare_streams, warn
from sparserank.errors import ConvergenceWarning, DataWarning, SparserankError
from sparserank.options.option import ABSENT, REMOVED
from sparserank.options.spelling import command_line

GONE = dict.fromkeys(("--loss", "--no-metric-refits", "--seeds", "compare"), f"{REMOVED}.")
GONE |= {f"--{name.replace('_', '-')}": why for name, why in ABSENT.items()}
GONE["--qid"] = f"{REMOVED} (of export); a column of query ids is named with --qid-column."
MOVED = {"letor": "letor", "experiment": "run, published or systems"}
GONE |= {name: f"{REMOVED}; in a checkout, use python -m reproduction {now}." for name, now in MOVED.items()}

MODULES = (select, fuse, fit, predict, evaluate, diff, inspect, explain, export, convert, demo)
app = group(
    "sparserank",
    "Sparse learning-to-rank: the smallest ranking model that ranks as well as the full one.",
    [
        HelpfulCommand(declared, module.HELP, getattr(module, "SHOWN", ()), module.run)
        for declared, module in zip(COMMANDS, MODULES, strict=True)
    ],
    version=f"sparserank {__version__}",
)


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
    if issubclass(category, ConvergenceWarning | DataWarning):
        warn(str(message))


def main(application: click.Group = app) -> None:
    prepare_streams()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", ConvergenceWarning)
    warnings.simplefilter("always", DataWarning)
    warnings.showwarning = _show_warning
    with command_line(FLAGS):
        _run(application)


def _run(application: click.Group) -> None:
    flags = (argument.partition("=")[0] for argument in sys.argv[1:] if argument.startswith("--"))
    for name in (*sys.argv[1:2], *flags):
        if name in GONE and application is app:
            error_line(f"{name} {GONE[name]}")
            sys.exit(2)
    try:
        try:
            application()
        finally:
            _flush()  # here, and not at interpreter exit, where an error could not be reported
    except SparserankError as error:
        _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has gone: discard the remaining output
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename or 'input/output'}: {error.strerror or error}.")
    except MemoryError:
        _fail("out of memory; use fewer threads (--threads 1) or a machine with more memory.")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # report the loss only once
        raise OSError(error.errno, f"{error.strerror}; the output is lost", "standard output") from error


def _fail(sentence: str) -> NoReturn:
    error_line(sentence)
    sys.exit(1)
