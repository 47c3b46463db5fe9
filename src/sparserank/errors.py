"""Errors and warnings for users; every message states the place, what was expected, what was read and the remedy."""

from __future__ import annotations

import sys
import warnings
from typing import Any

# This package, and those whose functions call it on behalf of somebody else: decorators, lazy imports, estimators.
BETWEEN = {__name__.partition(".")[0], "contextlib", "functools", "importlib", "sklearn"}


class SparserankError(Exception):
    """Base class of errors that the command line reports in one sentence."""


class DataFormatError(SparserankError, ValueError):
    """A file that cannot be read; the message names the file and line."""


class TooManyFeaturesError(DataFormatError):
    """A file with more features than expected; `width` is the number of features with which it can be read."""

    def __init__(self, message: str, width: int) -> None:
        super().__init__(message)
        self.width = width


class DataError(SparserankError, ValueError):
    """Data that were read but cannot be used for the requested task."""


class TableError(DataFormatError, DataError):
    """Columns of a table that cannot be used as they are; the message names the command that shows the columns."""


class ParameterError(DataError):
    """A parameter of a call, or an option of a command, that is outside its range.

    parameter   its name in Python; message: what is wrong with it; owner: the ranker it belongs to, or ""
    """

    def __init__(self, parameter: str, message: str, *, owner: str = "") -> None:
        goes_on = message[:1].islower() or message.startswith("'")
        before = "" if message.startswith("unknown ") else parameter + (" " if goes_on else ": ")
        super().__init__(f"{owner}: {before}{message}" if owner else before + message)
        self.parameter = parameter
        self.message = message
        self.owner = owner

    def __reduce__(self) -> tuple[Any, ...]:  # for pickling in worker processes
        return _parameter_error, (self.parameter, self.message, self.owner)


def _parameter_error(parameter: str, message: str, owner: str) -> ParameterError:
    return ParameterError(parameter, message, owner=owner)


class ModelFormatError(SparserankError, ValueError):
    """A model file that cannot be loaded."""


class RunDirectoryError(SparserankError, ValueError):
    """A run directory that cannot be written or resumed."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance; the message gives the numbers."""


class DataWarning(UserWarning):
    """Data that were accepted but should be checked."""


def warn_caller(sentence: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the innermost line that is in none of the packages BETWEEN."""
    frame = sys._getframe()
    while (module := str(frame.f_globals.get("__name__"))).partition(".")[0] in BETWEEN and frame.f_back is not None:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(sentence, category, frame.f_code.co_filename, frame.f_lineno, module, registry)
