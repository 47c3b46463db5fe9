"""What missing values become, value by value; nothing from the package."""

import math
import statistics


def is_number(value):
    """Whether it is no missing value: NaN, infinity, or what Istella writes for "no value",
    from 1.79e308 on and with either sign."""
    return not math.isnan(value) and -1.79e308 < value < 1.79e308


def learned(rows, rule):
    """The fill value of each feature from training rows, lists of floats."""
    out = []
    for column in zip(*rows, strict=True):
        known = [v for v in column if is_number(v)]
        if rule == "min":
            out.append(min(known) if known else 0.0)
        elif rule == "median":
            out.append(statistics.median(known) if known else 0.0)
        else:
            out.append(0.0 if rule == "zero" else float(rule))
    return out


def filled(rows, values):
    """The rows with those values in the place of what is missing."""
    return [[v if is_number(v) else values[j] for j, v in enumerate(row)] for row in rows]


def query_minimum(rows, query, counted=None, counts=is_number, otherwise=None):
    """The rows with the smallest known value of the feature among the rows of the same query in the place of what is
    missing, 0 where there is none.

    Wrong variants look at other rows (`counted`), count what is no number (`counts`) or take something else than 0
    (`otherwise`).
    """
    out = []
    for row, q in zip(rows, query, strict=True):
        new = []
        for j, v in enumerate(row):
            of_query = [r[j] for r, p in zip(counted or rows, query, strict=True) if p == q]
            known = [u for u in of_query if counts(u)]
            smallest = min(known) if known else 0.0 if otherwise is None else otherwise[j]
            new.append(v if is_number(v) else smallest)
        out.append(new)
    return out


# -- wrong variants ---------------------------------------------------------------------------------------------------


def minimum_of_all_rows(rows, query):
    """The smallest value of all rows in the place of the query's."""
    return filled(rows, learned(rows, "min"))


def query_minimum_or_the_minimum(rows, query):
    """Where a query has none, the smallest value of all rows."""
    return query_minimum(rows, query, otherwise=learned(rows, "min"))


def query_minimum_with_missing_as_zero(rows, query):
    """What is missing counts as 0."""
    return query_minimum(rows, query, counted=filled(rows, [0.0] * len(rows[0])))


def query_minimum_with_infinity(rows, query):
    """Minus infinity is the smallest value of its query."""
    return query_minimum(rows, query, counts=lambda v: not math.isnan(v))


def learned_with_missing_as_zero(rows, rule):
    return learned([[v if is_number(v) else 0.0 for v in row] for row in rows], rule)


def learned_with_infinity(rows, rule):
    """Only NaN is missing."""
    known = [[v for v in column if not math.isnan(v)] for column in zip(*rows, strict=True)]
    return [min(c) if rule == "min" else statistics.median(c) for c in known]


def learned_lower_middle(rows, rule):
    """Of an even number of values the smaller of the two in the middle."""
    known = [[v for v in column if is_number(v)] for column in zip(*rows, strict=True)]
    return [min(c) if rule == "min" else statistics.median_low(c) for c in known]


def learned_mean(rows, rule):
    known = [[v for v in column if is_number(v)] for column in zip(*rows, strict=True)]
    return [min(c) if rule == "min" else statistics.fmean(c) for c in known]


WRONG_QUERY_MINIMUM = (
    minimum_of_all_rows,
    query_minimum_or_the_minimum,
    query_minimum_with_missing_as_zero,
    query_minimum_with_infinity,
)
WRONG_LEARNED = (learned_with_missing_as_zero, learned_with_infinity, learned_lower_middle, learned_mean)
