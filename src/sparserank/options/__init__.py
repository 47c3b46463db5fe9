"""Options, each declared once: name, values, default, help. Each package declares its options; front ends, documents
and checks use these declarations."""

from sparserank.options.declared import Option, asked, check_given, parse_option, values_of
from sparserank.options.kinds import Choice, Count, Flag, Given, Number, Or, Parsed
from sparserank.options.spelling import option

__all__ = [
    "Choice",
    "Count",
    "Flag",
    "Given",
    "Number",
    "Option",
    "Or",
    "Parsed",
    "asked",
    "check_given",
    "option",
    "parse_option",
    "values_of",
]
