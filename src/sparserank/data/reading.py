"""Options for reading, common to every reader, and messages about data that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.data.categories import Derived
from sparserank.data.missing import LEARNED, MEDIAN, MissingPolicy
from sparserank.data.text_lines import read_names
from sparserank.errors import DataError, ParameterError
from sparserank.files import StrPath
from sparserank.options import check_options, option
from sparserank.options.arguments import check_arguments
from sparserank.options.reading import READING
from sparserank.text import brief

if TYPE_CHECKING:
    from sparserank.data.dataset import RankingDataset

UNJUDGED = -1.0  # the label of a row that nobody judged


@dataclass(frozen=True)
class Reading:
    """Options for reading files and frames; fields that do not apply to a kind of file are ignored.

    Parameters
    ----------
    n_features : int, optional
        Ranking text only: number of features, as in `read`.
    missing : str, float or mapping, optional
        Replacement for missing values, as in `read`.
    index_base : {1, 0}, default 1
        Ranking text only: index of the first feature.
    unjudged : {'error', 'drop', 'zero'}, default 'error'
        Treatment of a label of -1, as in `read`.
    feature_names : path or sequence of str, optional
        Names, or a file with one name per line.
    sparse : bool, optional
        Ranking text only: CSR or dense. Default: whichever is smaller.
    dtype : dtype, optional
        float64 or float32.
    n_threads : int, optional
        Number of parsing threads. Default: the number of cores, at most 8.
    label, qid : str, optional
        Tables only: the columns of labels and query ids, by default 'label' and 'qid'.
    feature_columns : sequence of str, optional
        Tables only: the features, in this order. Default: every other column.
    ignore_columns : sequence of str, optional
        Tables only: columns that are left out.
    doc_weight : str, optional
        Tables only: the column of document weights.
    labelled : bool, default True
        False: the labels of tables are not read, tables without labels are accepted, and every label is 0.
    grouped : bool, default True
        False: tables without query ids are accepted, and all rows are one query.
    featureless : bool, default False
        True: the features of tables are not read, because only labels are needed.
    takes_zero : bool, default False
        True: a missing value is 0 where the model will run, so messages propose this replacement.
    docid : str, optional
        Tables only: the column of document ids, of any type. Default: a text column 'docno', 'docid' or 'doc_id'.
    categories : sequence of str, optional
        Tables only: columns of whole numbers that are categories, in addition to text.
    derived : mapping, optional
        The features that are made from other columns, by name. None: learn them from categories.
    flags : bool, default False
        True: in tables, and without `missing`, missing values become medians (zero if `takes_zero`), and features from
        1% missing values have a flag.
    qrels : mapping, optional
        Search responses only: judgments {(query, document): grade}.
    clauses : mapping, optional
        Search responses only: the scored clauses, as in `responses.Scored`.
    kept : sequence of str, optional
        Tables only: columns that a ranker reads by these names (blanks may be underscores). They are kept as they are,
        in addition to the features, if the table has them. Categories are always kept.
    judge_column : str, optional
        Tables only: the column of a judge's grades. It is kept as it is, as are the labels, which may be missing.
    also : sequence of Derived, optional
        Features that are always made if the table has their columns: those of the model in use.
    """

    n_features: int | None = None
    missing: str | float | Mapping | MissingPolicy | None = None
    index_base: int = 1
    unjudged: str = "error"
    feature_names: str | os.PathLike | Sequence[str] | None = None
    sparse: bool | None = None
    dtype: Any = None
    n_threads: int | None = None
    label: str | None = None
    qid: str | None = None
    feature_columns: Sequence[str] | None = None
    ignore_columns: Sequence[str] = ()
    doc_weight: str | None = None
    labelled: bool = True
    grouped: bool = True
    featureless: bool = False
    takes_zero: bool = field(default=False, repr=False)
    docid: str | None = field(default=None, repr=False)  # added later, and conversions are identified by their repr
    categories: Sequence[str] = field(default=(), repr=False)
    derived: Mapping[str, Derived] | None = field(default=None, repr=False)
    flags: bool = field(default=False, repr=False)
    qrels: Any = field(default=None, repr=False)
    clauses: Mapping | None = field(default=None, repr=False)
    also: Sequence[Derived] = field(default=(), repr=False)
    kept: Sequence[str] = field(default=(), repr=False)
    judge_column: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_options(READING, vars(self))
        lists = ("feature_columns", "ignore_columns", "categories")  # may also be sets
        check_arguments(Reading, {name: value for name, value in vars(self).items() if name not in lists})
        for name in lists:
            names = getattr(self, name)
            named = names is None or (isinstance(names, Iterable) and getattr(names, "ndim", 1) == 1)
            if isinstance(names, str) or not named:
                raise ParameterError(name, f"must be a list of names; got {brief(getattr(self, name))}.")
            if name != lists[0]:  # conversions are identified by the repr
                object.__setattr__(self, name, () if names is None else tuple(names))

    @property
    def policy(self) -> MissingPolicy | None:
        """The replacement for missing values; None: a missing value is refused."""
        return MissingPolicy.parse(self.missing)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The user's feature names, read from a file if necessary."""
        names_or_file = self.feature_names
        names = read_names(names_or_file) if isinstance(names_or_file, StrPath) else names_or_file
        return None if names is None else tuple(names)


def with_options(reading: Reading, options: Mapping[str, Any]) -> Reading:
    """`reading` with some fields replaced; unknown fields are refused by name."""
    try:
        return replace(reading, **options)
    except TypeError as error:
        unknown = sorted(set(options) - set(Reading.__dataclass_fields__))
        raise DataError(
            f"reading has no option {brief(unknown[0]) if unknown else ''}; the options are "
            f"{', '.join(Reading.__dataclass_fields__)}."
        ) from error


def policy_of(reading: Reading, like: RankingDataset | None) -> tuple[MissingPolicy | None, np.ndarray | None]:
    """(the policy for missing values; (n_features,) the replacements that were learned from the training data `like`,
    NaN for a feature without one, or None). Nothing is learned from later data.

    Raises
        DataError   the training data were read without learning what is needed
    """
    policy = reading.policy
    if like is None:
        return policy, None
    known = like.fill_values
    if policy is None:
        return None if known is None else MissingPolicy(MEDIAN, {}), known
    if policy.learns:
        rules = policy.rules(like.n_features, like.names, reading.index_base)
        values = np.full(like.n_features, np.nan) if known is None else known
        lacking = next(
            (rule for rule, value in zip(rules, values, strict=True) if rule in LEARNED and value != value), None
        )
        if lacking is not None:
            raise DataError(
                f"missing={lacking!r} is learned from the training rows, but these data were read without this rule; "
                "read them with the same policy, or give numbers."
            )
    return policy, known


def choices() -> str:
    """The possible replacements for a missing value."""
    return f"choose a replacement: zero, min, median, query-min or a number ({option('missing', 'zero')})"


def no_rows(place: str, expected: str = "") -> str:
    return f"{place}: no data rows{f'; expected {expected}' if expected else ''}."


def nothing_left(place: str) -> str:
    return f"{place}: every label is -1 (unjudged); no row is left after dropping them."


def unjudged_label(place: str) -> str:
    return f"{place}: label -1 means unjudged; choose {option('unjudged', 'drop')} or {option('unjudged', 'zero')}."


def missing_value(place: str, value: Any) -> str:
    return f"{place}: missing or infinite feature value ({value}); {choices()}."


def too_large(place: str, value: Any, dtype: Any) -> str:
    return f"{place}: feature value {value} is too large for {dtype}; read it as float64."
