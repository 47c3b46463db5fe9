"""Options, each declared once: a field whose annotation contains its type, values, default and help. The classes of
these fields say what a call takes; front ends, documents and checks use them."""

from sparserank.options.kinds import CheckedLater, Choice, Count, Flag, Number, Or, Parsed
from sparserank.options.option import Option, asked, check_options, options_of, parse_option, values_of
from sparserank.options.spelling import option

__all__ = [
    "CheckedLater",
    "Choice",
    "Count",
    "Flag",
    "Number",
    "Option",
    "Or",
    "Parsed",
    "asked",
    "check_options",
    "option",
    "options_of",
    "parse_option",
    "values_of",
]
