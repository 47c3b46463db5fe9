"""Checks of the data that a job is given, and the weights of its queries and documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.data.dataset import RankingDataset
from sparserank.data.read import weight_files
from sparserank.data.runs import Qrels, pairs_of
from sparserank.data.text_lines import read_entries
from sparserank.errors import DataError, DataFormatError, ParameterError, warn_caller
from sparserank.evaluation.judge_rows import judgments_on_scale, on_scale
from sparserank.files import StrPath
from sparserank.metrics import Metric
from sparserank.number_checks import checked_weights
from sparserank.options import option
from sparserank.text import brief

Weighted = tuple[RankingDataset, RankingDataset | None, np.ndarray | None]

NO_DOC_WEIGHT = "trees do not support document weights; they were trained without them."


def check_relevant(metrics: Sequence[Metric], relevance: np.ndarray) -> None:
    """Refuse a metric for which no document is relevant: it is the same for every ranking. Metrics that are only
    reported are exempt if they count grades from 1 as relevant.

    Raises
        DataError   names the metric and the grade
    """
    for m in metrics:
        level = m.convention.relevant_from
        needed = level != 1 or (m.is_binary and m is metrics[0])
        if needed and not m.convention.relevant(relevance).any():
            raise DataError(
                f"no judged document is relevant (grade >= {level:g}): {m!r} is the same for every ranking. Choose "
                "a grade that the judgments contain."
            )


def check_queries(query_ids: Mapping[str, Iterable[Any]], *, may_be_allowed: bool) -> None:
    """Refuse a query id that occurs in two parts of the data, because the labels of its documents would leak.

    Raises
        DataError   names the parts and the first such query
    """
    present = [(name, {str(q): q for q in ids}) for name, ids in query_ids.items()]
    for (first, a), (second, b) in combinations(present, 2):
        common = a.keys() & b.keys()
        if common:
            allow = f", or give {option('allow_overlap', True)} if equal ids mean different queries"
            raise DataError(
                f"{first} and {second} have {len(common)} query ids in common (first: {brief(a[min(common)])}); this "
                f"leaks labels. Separate them{allow if may_be_allowed else ''}."
            )


def read_query_weights(path: StrPath) -> dict[str, float]:
    """{query id: weight} from lines 'id weight'.

    Raises
        DataFormatError   names file and line
    """
    weights: dict[str, float] = {}
    for number, text in enumerate(read_entries(path, "one query id and its weight per line"), start=1):
        fields = text.split(maxsplit=2)
        try:
            value = float(fields[1]) if len(fields) == 2 else np.nan
        except ValueError:
            value = np.nan
        if not (np.isfinite(value) and value >= 0):
            raise DataFormatError(f"{path}:{number}: expected a query id and a weight >= 0; got {brief(text)}.")
        if fields[0] in weights:
            raise DataFormatError(
                f"{path}:{number}: query {brief(fields[0])} already has a weight; give one line per query."
            )
        weights[fields[0]] = value
    return weights


def weighted(
    train: RankingDataset,
    valid: RankingDataset | None,
    query_weight: Any,
    side_weights: Mapping[str, np.ndarray],
    protocol: str = "cv",
) -> Weighted:
    """(train and valid without queries of weight 0, weights of the remaining training queries or None).

    Parameters
        query_weight  of the user: a file, a mapping, or weights; None: none
        side_weights  query weights from side files, by name of the source; used if `query_weight` is None
        protocol      'holdout': `valid` is not used for learning
    Raises
        ParameterError   the weights of the user do not fit the queries
        DataError        every query has weight 0
    """
    learned = {"train": train} if valid is None or protocol == "holdout" else {"train": train, "validation": valid}
    if query_weight is None and not side_weights.keys() & learned.keys():
        return train, valid, None
    ids = [str(q) for data in learned.values() for q in data.query_ids.tolist()]
    if query_weight is None:
        query_weight = np.concatenate(
            [side_weights.get(name, np.ones(data.n_queries)) for name, data in learned.items()]
        )
    if isinstance(query_weight, StrPath):
        query_weight = read_query_weights(query_weight)
    if isinstance(query_weight, Mapping):
        known = {str(q): w for q, w in query_weight.items()}
        missing = next((q for q in ids if q not in known), None)
        if missing is not None:
            raise ParameterError("query_weight", f"contains no weight for query {brief(missing)}.")
        query_weight = [known[q] for q in ids]
    expected = f"one finite weight >= 0 for each of {len(ids)} queries"
    weight = checked_weights("query_weight", query_weight, len(ids), expected)
    if not weight.any():
        raise DataError("every query has weight 0; nothing is left to learn from.")
    parts, at = [], 0
    for data in learned.values():
        parts.append(data.take_queries(np.flatnonzero(weight[at : at + data.n_queries])))
        at += data.n_queries
    return parts[0], parts[1] if len(parts) > 1 else valid, weight[weight > 0]


def notes_of_side_weights(
    sources: Mapping[str, Any], side_weights: Mapping[str, np.ndarray], chosen: Mapping[str, Any]
) -> list[str]:
    """A note on the side files of weights of each source of training data, also issued as a warning."""
    notes = []
    for name in ("train", "validation") if chosen.get("protocol") != "holdout" else ("train",):
        files = ", ".join(map(str, weight_files(sources.get(name))))
        parameter = "query_weight" if name in side_weights else "doc_weight"
        if files and chosen.get(parameter) is not None:
            notes.append(f"{files}: not used, because {option(parameter)} replaces these weights.")
        elif files:
            notes.append(
                f"{files}: these {'query' if name in side_weights else 'document'} weights are used in the loss."
            )
    for sentence in notes:
        warn_caller(sentence)
    return notes


def check_judge(sources: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Refuse options and data that cannot be combined with a judge, and grades without one.

    Raises
        ParameterError
    """
    name = "judge" if chosen["judge"] is not None else "judge_column"
    if chosen[name] is None:
        if chosen["judge_grades"] is not None:
            raise ParameterError("judge_grades", f"needs {option('judge')} or {option('judge_column')}.")
        return
    if name == "judge" and (chosen["qrels"] is None or sources["test"] is not None):
        raise ParameterError("judge", f"needs responses with {option('qrels')}, the grades of people, and no test.")
    others = (sources["validation"], chosen["client"], chosen["query_weight"], chosen["for_model"])
    if any(other is not None for other in others) or chosen["protocol"] != "cv":
        options = f"validation data, query weights, a cluster or {option('for_model')}"
        raise ParameterError(name, f"cannot be combined with {options}.")


class GradesOfJudge(NamedTuple):
    """The grades of a judge on the scale of people, by (query, document): of other queries than theirs, of theirs. Both
    are empty if there is no judge."""

    name: str = ""
    others: Qrels = Qrels()
    of_people: Qrels = Qrels()

    @property
    def relevant(self) -> list[tuple[str, str]]:
        """The documents of people's queries that the judge finds relevant."""
        return [key for key, grade in self.of_people.items() if grade > 0]

    def queries(self, judged: RankingDataset) -> JudgedQueries | None:
        """The queries of people among those on which candidates are evaluated, if there is a judge."""
        others = self.others.queries
        if not others:
            return None
        by_people = np.array([str(q) not in others for q in judged.query_ids.tolist()])
        grades = np.array([self.of_people.get(pair, np.nan) for pair in pairs_of(judged)])
        return JudgedQueries.of(self.name, judged, by_people, grades)


def grades_of_judge(people: Qrels, judge: Any, meant: str | None, without: Collection[str]) -> GradesOfJudge:
    """The grades of a judge.

    Parameters
        judge    judgments in any form
        meant    what its grades mean, as in `meant_grades`
        without  queries whose grades are left out
    Raises
        ParameterError, DataError   the grades cannot be used
    """
    name = str(judge) if isinstance(judge, StrPath) else "the judge"
    scaled = judgments_on_scale(name, judge, people, meant)
    others = scaled.only(scaled.queries - people.queries - {*without})
    if not others:
        raise DataError(f"{name}: people graded all of its queries, so that it adds nothing; leave it out.")
    return GradesOfJudge(name, others, scaled.only(people.queries))


def with_judge_column(
    data: RankingDataset, label: str, column: str, meant: str | None
) -> tuple[RankingDataset, JudgedQueries]:
    """A table whose relevance is that of people where they graded a query, and elsewhere that of a judge; and the
    queries of people. Documents of these without a label count as 0.

    Parameters
        label, column   of the labels of people and of the grades of the judge, which the data have kept
        meant           what its grades mean, as in `meant_grades`
    Raises
        ParameterError, DataError   the data are no table in memory, or the grades cannot be used
    """
    kept = list(data.kept_columns)
    table = data.table
    if table is None or column not in kept:
        raise ParameterError("judge_column", "needs a table in memory (Parquet, CSV or a data frame).")
    of_grades = [kept.index(label), kept.index(column)]
    read, grades = table[:, of_grades].T.astype(np.float64)
    # The labels that people gave, as the reader counts them (an unjudged -1 may count as 0).
    labels = np.where(np.isfinite(read), data.relevance, np.nan)
    by_people = np.logical_or.reduceat(np.isfinite(labels), data.query_ptr[:-1])
    of_people = np.repeat(by_people, data.sizes)
    if by_people.all() or not by_people.any():
        some = "labels of all queries" if by_people.all() else "no label"
        raise DataError(f"column {brief(label)} has {some}, so that {brief(column)} and people cannot be compared.")
    lacking = np.logical_or.reduceat(np.isnan(grades) & ~of_people, data.query_ptr[:-1])
    if lacking.any():
        query = brief(str(data.query_ids[int(np.argmax(lacking))]))
        raise DataError(f"query {query} has a document with neither a label nor a grade in {brief(column)}; add one.")
    if not np.isfinite(labels + grades).any():
        raise DataError(
            f"column {brief(column)} has no grade for a document that people graded, so that nothing shows how wrong "
            "it is; add its grades of these documents."
        )
    of_judge, of_labels = (np.unique(given[np.isfinite(given)]).tolist() for given in (grades, labels))
    scale = on_scale(column, of_judge, of_labels, meant)
    grades = np.array([scale.get(grade, np.nan) for grade in grades.tolist()])
    # Trees read the columns that are kept, which must not contain grades.
    data = replace(
        data,
        relevance=np.where(of_people, data.relevance, grades),
        table=np.delete(table, of_grades, axis=1),
        kept_columns={name: number for name, number in data.kept_columns.items() if name not in (label, column)},
    )
    return data, JudgedQueries.of(column, data, by_people, grades)
