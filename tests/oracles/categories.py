"""Which features a category and a column of numbers become, row by row; nothing from the package."""

import math


def as_text(value):
    """A value of a category, "" where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        assert value == int(value)
        return str(int(value))
    return str(value)


def levels(values, queries, share=0.01, in_queries=20, most=30, counted=as_text):
    """The texts that are features: of at least this share of the rows or so many queries, the most frequent first, the
    first of equal ones by text; none if all rows of each query are equal. Wrong variants count something else
    (`counted`)."""
    rows, of = {}, {}
    for value, query in zip(values, queries, strict=True):
        text = counted(value)
        rows[text] = rows.get(text, 0) + 1
        of.setdefault(text, set()).add(query)
    if sum(map(len, of.values())) == len(set(queries)):
        return []
    frequent = [t for t in rows if rows[t] >= share * len(values) or len(of[t]) >= in_queries]
    return sorted(frequent, key=lambda t: (-rows[t], t))[:most]


def indicators(values, texts):
    """{level: [1.0 or 0.0 per row]}"""
    return {t: [1.0 if as_text(v) == t else 0.0 for v in values] for t in texts}


def is_flagged(values, share=0.01):
    """Whether a column of numbers has a feature that says where it is missing."""
    return sum(missing(v) for v in values) > share * len(values)


def missing(value):
    return value is None or math.isnan(value) or abs(value) >= 1.79e308
