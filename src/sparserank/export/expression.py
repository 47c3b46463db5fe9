"""A model as an arithmetic expression, in any language with variables, logarithms and conditions."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sparserank.bins import StepFunction
from sparserank.errors import ParameterError
from sparserank.export.engine import Options
from sparserank.export.terms import MISSING_FROM, Sum, contribution, is_fine, rise, where_missing
from sparserank.model.feature import Feature
from sparserank.text import brief
from sparserank.transforms import ASINH, LOG

SIMPLE = re.compile(r"[\w.$]+|[\w.$]+\([^()]*\)")  # an expression that needs no brackets
TOGETHER = 8  # summands per pair of brackets: parsers fail on long chains of +
BRACKETS = {")": "(", "]": "[", "}": "{"}
QUOTES = "'\"`"
# Tokens that end an expression or hide the rest of it in one of the languages. They are refused in quotes too, because
# languages differ in where quotes end. `$$` and `$name$` are quotes in PostgreSQL.
FORBIDDEN = re.compile(r"--|/\*|;|(?<![\w$])\$\w*\$|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
SMALL = 1e-4  # below it, log(1 + x) loses digits
LARGE = 1e8  # above it, x * x + 1 == x * x
TINY = 1e-100  # its square is not 0, and x * x + 1 is the same with x + TINY


class Dialect:
    """The syntax of a language: methods take and return text. Each language declares what differs.

    engine         name of the language in messages
    if_else        text of a case distinction: {0} condition, {1} where it holds, {2} elsewhere
    as_double      text of the feature {0} as a number in double precision
    ln, size, one  the functions log x and |x|, and the constant 1; exponent: the end of a number without an exponent
    comments       tokens that begin a comment outside quotes
    has_texts, has_booleans   whether columns may contain texts, and booleans that are not numbers
    """

    engine: str
    if_else: str
    as_double = "{0}"
    ln = "log"
    size = "abs"
    one = "1"
    exponent = ""
    comments: tuple[str, ...] = ("#",)
    has_texts = False
    has_booleans = False

    def variable(self, name: str) -> str:
        """The variable of a feature; raises DataError if the language has no such variable."""
        raise NotImplementedError

    def case(self, condition: str, yes: str, no: str) -> str:
        """The text `yes` where the condition holds, else `no`."""
        return self.if_else.format(condition, yes, no)

    def equals(self, x: str, text: str) -> str:
        """The condition that a column equals this text; "" means that the column has no value."""
        raise NotImplementedError

    def boolean(self, x: str, yes: str, no: str, other: str | None) -> str:
        """As `where_known`, for a feature that was a boolean column in training."""
        raise NotImplementedError

    def where_known(self, x: str, value: str, other: str | None) -> str:
        """The text `value` if the feature x is not missing, else `other`. If `other` is None, the result is NaN: the
        square root of a negative number."""
        nothing = f"sqrt(-1 - {self.size}({x}))"
        return self.case(f"{self.size}({x}) < {MISSING_FROM}", value, nothing if other is None else other)

    def number(self, value: float) -> str:
        """The shortest text that parses as this number, in brackets if negative."""
        text = repr(float(value))
        text = text if "e" in text else text + self.exponent
        return f"({text})" if value < 0 else text

    def real(self, x: str) -> str:
        """The feature x as a number in double precision."""
        return self.as_double.format(x)

    def exp(self, x: str) -> str:
        return f"exp({x})"

    def signed(self, x: str, of_size: str) -> str:
        """sign(x) f(|x|), from x and f(|x|)."""
        return self.case(f"{x} < 0", f"-({of_size})", of_size)

    def log(self, x: str, fine: bool) -> str:
        """sign(x) log(1 + |x|); fine: whether it must keep its digits near 0."""
        size = f"{self.size}({x})"
        whole = self.signed(x, f"{self.ln}({self.one} + {size})")
        series = f"{x} * (6 - {size} * (3 - 2 * {size})) / 6"
        return self.case(f"{size} < {SMALL}", series, whole) if fine else whole

    def asinh(self, x: str, c: float, fine: bool) -> str:
        """asinh(x / c) with a constant c > 0; fine: whether it must keep its digits near 0."""
        # z = x / c is computed only for small enough |x|; far from 0, asinh(z) is log(2 z), from log x and log c.
        # PostgreSQL raises an error where a square is too small for a number: TINY is added to z before.
        z = f"({x} / {self.number(c)})"
        size = f"{self.size}({x})"
        small, large = (self.number(min(c * bound, sys.float_info.max)) for bound in (SMALL, LARGE))
        square = f"({self.size}{z} + {TINY}) * ({self.size}{z} + {TINY})"
        near = f"{self.ln}({self.size}{z} + sqrt({square} + {self.one}))"
        far = f"({self.ln}({size}) + {self.number(math.log(2.0) - math.log(c))})"
        whole = self.signed(x, self.case(f"{size} < {large}", near, far))
        return self.case(f"{size} < {small}", f"{z} * ({self.one} - {square} / 6)", whole) if fine else whole


def expression(of: Sum, dialect: Dialect, options: Options) -> str:
    """Write constant + offset + one line per term, in brackets; through 1 / (1 + e^-x) with `sigmoid`. Features that
    the options do not define are the variables of their names.

    Raises
        ParameterError   the scaling, which is folded in, is to be written as normalisers
    """
    options.refuse("the scaling is folded into the expression", "normalizers")
    constant = of.constant + options.offset
    lines = [dialect.number(constant)] if constant else []
    lines += [_line(term, dialect, options.features or {}, of.booleans) for term in of.terms]
    inner = summed(lines, "\n    ")
    if options.sigmoid:
        return f"{dialect.number(1.0)} / ({dialect.number(1.0)} + {dialect.exp(f'-({inner})')})\n"
    return f"(\n    {inner}\n)\n"


def summed(lines: Sequence[str], between: str) -> str:
    """The sum of the lines, in nested brackets if there are many."""
    if len(lines) <= TOGETHER:
        return f"{between}+ ".join(lines)
    step = -(-len(lines) // TOGETHER)
    parts = [f"({summed(lines[i : i + step], between)})" for i in range(0, len(lines), step)]
    return f"{between}+ ".join(parts)


def _line(term: Feature, dialect: Dialect, features: Mapping[str, Any], booleans: Collection[str]) -> str:
    """Code for one term; its constant part is added once, in `expression`."""
    level = None if term.derived is None else term.derived.level
    if term.derived is not None and term.name not in features and (level is None or dialect.has_texts):
        x = _value(term.source, dialect, features)
        added = dialect.number(rise(term))
        none = dialect.number(0.0)
        if level is None:
            return dialect.where_known(x, none, added)
        return dialect.case(dialect.equals(x, level), added, none)
    first = 0.0 if term.heights is None else float(term.heights.values[0])  # the constant of the expression contains it
    x = _value(term.name, dialect, features)
    other = where_missing(term)
    filled = None if other is None else dialect.number(other - first)
    if term.name in booleans and dialect.has_booleans and term.name not in features:
        yes, no = (dialect.number(contribution(term, value) - first) for value in (1.0, 0.0))
        return dialect.boolean(x, yes, no, filled)
    real = dialect.real(x)
    if term.heights is not None:
        return dialect.where_known(x, _risen(term.heights, dialect, real), filled)
    return dialect.where_known(x, f"{dialect.number(term.slope)} * {shape(term, dialect, real)}", filled)


def shape(term: Feature, dialect: Dialect, x: str) -> str:
    """The term divided by its slope: t(x), or for steps, the height above the first value."""
    if term.steps is not None:
        return _risen(term.steps, dialect, x)
    if term.kind == LOG:
        return dialect.log(x, is_fine(term))
    return dialect.asinh(x, term.constant, is_fine(term)) if term.kind == ASINH else x


def _risen(steps: StepFunction, dialect: Dialect, x: str) -> str:
    """The height of a step function at x above its first value."""
    return _chosen(dialect, x, steps.edges.tolist(), (steps.values - steps.values[0]).tolist())


def _chosen(dialect: Dialect, x: str, edges: list[float], values: list[float]) -> str:
    """The height of a step function at x, by nested halving."""
    if not edges:
        return dialect.number(values[0])
    m = len(edges) // 2
    low = _chosen(dialect, x, edges[:m], values[: m + 1])
    high = _chosen(dialect, x, edges[m + 1 :], values[m + 1 :])
    return dialect.case(f"{x} <= {dialect.number(edges[m])}", low, high)


def _value(name: str, dialect: Dialect, features: Mapping[str, Any]) -> str:
    if name not in features:
        return dialect.variable(name)
    definition = features[name]
    if not isinstance(definition, str) or not definition.strip():
        raise ParameterError(
            "features",
            f"The definition of {brief(name)} must be an expression of {dialect.engine}, as a string; got "
            f"{brief(str(definition))}.",
        )
    text = definition.strip()
    if not _is_one_expression(text, dialect.comments):
        raise ParameterError(
            "features",
            f"The definition of {brief(name)} must be one expression without comments, with all brackets and quotes "
            f"closed; got {brief(text)}.",
        )
    return text if SIMPLE.fullmatch(text) else f"({text})"


def _is_one_expression(text: str, comments: Sequence[str]) -> bool:
    """Whether the text is one expression: it closes every bracket and quote that it opens, and contains no token that
    ends an expression or hides what follows."""
    if FORBIDDEN.search(text):
        return False
    opened: list[str] = []
    quote = ""
    for at, letter in enumerate(text):
        if quote:
            if (
                letter in "\\{}"
            ):  # some languages escape with a backslash, others do not; Vespa counts braces in quotes too
                return False
            quote = "" if letter == quote else quote
        elif letter in QUOTES:
            quote = letter
        elif text.startswith(tuple(comments), at) or (letter == "," and not opened):
            return False
        elif letter in BRACKETS.values():
            opened.append(letter)
        elif letter in BRACKETS and (not opened or opened.pop() != BRACKETS[letter]):
            return False
    return not quote and not opened
