"""Evaluate one ranking, or compare several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.missing import KEEP
from sparserank.data.query_ids import MANY_ROWS
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.data.run_reader import (
    EITHER,
    JUDGMENTS,
    Asked,
    asked_in,
    is_mapping,
    judgments_of,
    kind_of_columns,
    kind_of_content,
    run_of,
    tabled,
)
from sparserank.data.runs import Qrels, Run
from sparserank.data.tables.batches import document_texts, is_frame
from sparserank.data.tables.frames import collected, column_names, is_lazy
from sparserank.data.trec import read_strata
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.evaluation.comparison import Comparison
from sparserank.evaluation.judge_rows import judgments_on_scale
from sparserank.evaluation.moves import lists_of
from sparserank.evaluation.statistics import mean_interval
from sparserank.files import StrPath
from sparserank.metrics import Convention, Metric, parse_metrics
from sparserank.model.fusion import refuse_fusion
from sparserank.model.ranking_model import RankingModel
from sparserank.model.table_columns import with_columns_of
from sparserank.number_checks import as_floats
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.text import brief

Systems = Mapping[str, Any]
DEFAULT_METRICS = ("ndcg@10", "map")


class Evaluation(dict[str, float]):
    """Means of the metrics, as a dictionary {metric name: mean}, returned by `evaluate`.

    Means exclude queries for which a metric is NaN.

    Parameters
    ----------
    per_query : mapping of str to ndarray of shape (n_queries,)
        {metric name: values}.

    Examples
    --------
    >>> import sparserank as sr
    >>> found = sr.evaluate([0.9, 0.2, 0.1, 0.4], [1, 0, 1, 0], "map", qid=["q", "q", "r", "r"])
    >>> found["map"], found.per_query["map"].tolist()
    (0.75, [1.0, 0.5])
    """

    def __init__(self, per_query: Mapping[str, np.ndarray]) -> None:
        check_arguments(Evaluation.__init__, locals())
        super().__init__({name: mean_of(values) for name, values in per_query.items()})
        self.per_query = dict(per_query)

    def __missing__(self, name: str) -> float:
        raise KeyError(f"{name}; the metrics are {', '.join(self)}")


def evaluate(
    scores: Any,
    data: Any,
    metrics: Sequence[str | Metric] | str | Metric = DEFAULT_METRICS,
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    convention: str | Convention | None = None,
) -> Evaluation:
    """Compute ranking metrics for the scores of one system.

    Parameters
    ----------
    scores : array_like of shape (n_docs,), run, or object with `predict`
        Arrays follow the row order of `data`. For a RankingDataset, they follow the order of the rows from which it was
        made (for scores computed from data.X: data.to_input_order(scores)). A run is a file, a frame with columns qid,
        docno and score, or a mapping {query id: {document id: score}}, as in `read_run`. Documents that it does not
        rank count only in the number of relevant documents.
    data : path, RankingDataset, frame, (X, y, qid), array_like of shape (n_docs,), or judgments
        Judged documents, or only their relevance, with the query of each row in `qid`. Judgments are a file (TREC, BEIR
        or JSON), a mapping {query id: {document id: grade}}, or the result of `read_qrels`. They need runs: all queries
        of the judgments count, and a query that is missing from the run has the value 0.
    metrics : str, Metric or sequence of them, default ('ndcg@10', 'map')
        The metrics.
    label, qid : str or array_like, optional
        Columns of a frame, by default 'label' and 'qid'; or qid of shape (n_docs,) with an array of relevance.
    docid : str or array_like, optional
        Column of document ids of a frame, needed for runs, by default a text column 'docno', 'docid' or 'doc_id'; or
        ids of shape (n_docs,) with an array of relevance.
    convention : {'default', 'letor3', 'letor4', 'trec', 'xgboost', 'lightgbm'}, optional
        Definition of the metrics. Default: 'default', or 'trec' with judgments. A prefix in a name overrides it.

    Returns
    -------
    Evaluation
        A dictionary {metric name: mean} that also contains the values of each query. Names include the convention: with
        convention='letor4', 'ndcg@10' becomes 'letor4:ndcg@10'.

    Raises
    ------
    DataError
        A metric is unknown, scores have the wrong length or are not finite, or there are several systems.

    See Also
    --------
    compare_systems : several systems, with paired tests.

    Examples
    --------
    >>> import sparserank as sr
    >>> sr.evaluate([0.9, 0.2, 0.4], [0, 1, 0], "map", qid=["q", "q", "q"])
    {'map': 0.3333333333333333}
    >>> sr.evaluate({"q": {"a": 0.9, "b": 0.2, "c": 0.4}}, {"q": {"b": 1}}, "map")
    {'trec:map': 0.3333333333333333}
    """
    check_arguments(evaluate, locals())
    if isinstance(scores, Mapping) and not _is_one_run(scores):
        raise DataError("evaluate takes one system; use compare_systems for several.")
    columns = {"label": label, "qid": qid, "docid": docid}
    return Evaluation(_on_judged({"": scores}, data, metrics, convention, columns).values[""])


def compare_systems(
    systems: Mapping[str, Any],
    data: Any,
    metrics: Sequence[str | Metric] | str | Metric = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    convention: str | Convention | None = None,
    judges: Mapping[str, Any] | None = None,
    judge_grades: str | None = None,
    strata: Mapping[Any, Any] | StrPath | None = None,
) -> Comparison:
    """Compare ranking metrics of several systems on the same documents, with paired tests.

    Parameters
    ----------
    systems : mapping of str to scores
        {name: scores}, with scores as in `evaluate`.
    data : path, RankingDataset, frame, (X, y, qid), array_like of shape (n_docs,), or judgments
        Judged documents or judgments, as in `evaluate`.
    metrics : str, Metric or sequence of them, default ('ndcg@10', 'map')
        The metrics.
    baseline : str, optional
        The system with which the others are compared. Default: the first.
    label, qid, docid : str or array_like, optional
        Columns of a frame, as in `evaluate`.
    convention : str, optional
        Definition of the metrics, as in `evaluate`.
    judges : mapping of str to judgments, optional
        {name: judgments} of judges that are no people, such as language models, on the scale of `data`. `data` are
        then judgments of people for a few queries, those of a judge for many. See `Comparison.judge_rows`.
    judge_grades : str, optional
        What the grades of a judge mean on the scale of people, such as '2=1,3=1'; other grades are kept.
    strata : path or mapping, optional
        Strata from which the queries of people were drawn at random, each with its own share: a file with lines 'query
        stratum', or {query: stratum}. By default, they are a random part of the judge's queries.

    Returns
    -------
    Comparison
        Means, intervals and paired tests against the baseline, with Holm's correction for multiple tests.

    Raises
    ------
    DataError
        As `evaluate`; also raised if there is no system, or the baseline is unknown; if a judge has no document that
        people graded, or a grade outside their scale, or `data` are not judgments of runs; and if a query has no
        stratum, or people graded fewer than two queries of one.
    ParameterError
        `strata` or `judge_grades` without `judges`, or wrong pairs of grades.

    Examples
    --------
    >>> import sparserank as sr
    >>> y, qid = [1, 0, 0, 1, 1, 0], ["a", "a", "b", "b", "c", "c"]
    >>> now, new = [1, 2, 1, 2, 1, 2], [2, 1, 1, 2, 2, 1]
    >>> found = sr.compare_systems({"now": now, "new": new}, y, "map", qid=qid)
    >>> found.baseline, found.values["new"]["map"].tolist()
    ('now', [1.0, 1.0, 1.0])
    """
    check_arguments(compare_systems, locals())
    if not isinstance(systems, Mapping) or isinstance(systems, Run) or not systems:
        raise DataError(f"compare_systems needs at least one system, as {{name: scores}}; got {brief(systems)}.")
    systems = {str(name): system for name, system in systems.items()}
    columns = {"label": label, "qid": qid, "docid": docid}
    compared = _on_judged(systems, data, metrics, convention, columns)
    chosen = baseline if baseline is not None else compared.baseline
    if chosen not in systems:
        raise DataError(f"baseline {chosen!r} is not among the systems: {', '.join(systems)}.")
    for option_name, value in (("strata", strata), ("judge_grades", judge_grades)):
        if value is not None and not judges:
            raise ParameterError(option_name, "needs the grades of a judge.")
    known = {str(name): _by_judge(str(name), source, compared, judge_grades) for name, source in (judges or {}).items()}
    for a, b in combinations(known, 2):
        if known[a].judgments == known[b].judgments:
            warn_caller(f"{a} and {b} have the same grades: they are one judge, which is counted once for each.")
    of_queries = None if strata is None else read_strata(strata)
    compared = replace(compared, baseline=chosen, judges=known, strata=of_queries)
    compared.judge_rows()  # raises now, not at the first row
    return compared


def _by_judge(name: str, source: Any, people: Comparison, meant: str | None) -> Comparison:
    """The same systems, compared by the grades of a judge."""
    if not isinstance(people.judgments, Qrels):
        raise DataError(
            f"{name}: a judge needs runs, and judgments of people ({option('qrels')}); got judged documents."
        )
    grades = judgments_on_scale(name, source, people.judgments, meant)
    # A query that no system answered says nothing about them, unless people graded it.
    answered = set().union(*(pairs.queries for pairs in (people.judgments, *people.runs.values())))
    left_out = grades.queries - answered
    if left_out:
        warn_caller(f"{name}: left out, because no system has documents for them: {len(left_out):,} of its queries.")
    graded = grades.only(answered)
    return _compared(people.runs, graded.documents([*people.runs.values()]), people.metrics, graded, name)


def _on_judged(systems: Systems, data: Any, metrics: Any, convention: Any, columns: Mapping[str, Any]) -> Comparison:
    """The systems on judged documents or judgments. On a frame, models are replaced by their scores."""
    if any(isinstance(s, Qrels) for s in systems.values()):
        raise DataError("judgments must be the second argument; the first is the system to evaluate.")
    asked = asked_in(columns)
    systems = {name: _as_run(system, name or "the run", asked) for name, system in systems.items()}
    data = _as_judgments(data, any(isinstance(s, Run) for s in systems.values()), asked)
    of_judgments = isinstance(data, Qrels)
    named = {repr(m): m for m in parse_metrics(metrics, convention or ("trec" if of_judgments else "default"))}
    if is_frame(data):
        systems = {name: _on_frame(system, data, name) for name, system in systems.items()}
    if of_judgments:
        if not all(isinstance(s, Run) for s in systems.values()):
            why = "judgments alone contain no features"
            raise DataError(f"{why}. Use them to evaluate runs, or evaluate models on judged documents.")
        judged = data.documents([*systems.values()])
        unjudged = _only_unjudged(systems, data)
    else:
        judged = _judged(data, columns, [*systems.values()])
        data = judged.qid, judged.docid, judged.relevance
        unjudged = {}
    for sentence in unjudged.values():
        warn_caller(sentence)
    for name, m in named.items():
        if m.uses_gain:  # may refuse a grade
            m.convention.gains(judged.relevance)
        if m.is_binary and not m.convention.relevant(judged.relevance).any():
            warn_caller(
                f"no judged document is relevant (grade >= {m.convention.relevant_from:g}): {name} is the same for "
                "every ranking."
            )
    return replace(_compared(systems, judged, named, data), unjudged=unjudged)


def _compared(
    systems: Systems, data: RankingDataset, metrics: Mapping[str, Metric], judgments: Any, judge: str = ""
) -> Comparison:
    """The systems on the documents of `judgments`; judge: whose they are, if not those of people."""
    runs = systems if isinstance(judgments, Qrels) else {}
    values = {}
    lacking = {}
    for name, system in systems.items():
        with _naming(name):
            values[name] = values_of(system, data, metrics)
        which = f"queries of {judge}" if judge else "judged queries"
        sentence = lacking_queries(name, system, data.query_ids, which)
        if sentence:
            lacking[name] = sentence
    first = next(iter(values))
    return Comparison(values, first, metrics, data.query_ids, data.n_docs, judgments, lacking, {}, runs)


def lacking_queries(name: str, system: Any, query_ids: Iterable[Any], which: str) -> str:
    """A sentence on a run that has no documents for some of these queries; "" for other systems."""
    queries = [*map(str, query_ids)]
    answered = system.queries if isinstance(system, Run) else {*queries}
    absent = [q for q in queries if q not in answered]
    if not absent:
        return ""
    lacks = f"{name} has no documents for {len(absent):,} of the {which}, e.g. {brief(absent[0])}"
    return f"{lacks}; these queries count as 0 (as in trec_eval -c)."


def _only_unjudged(runs: Mapping[str, Run], qrels: Qrels) -> dict[str, str]:
    """{system: sentence} for runs of whose documents in judged queries none is judged."""
    sentences = {}
    queries = qrels.queries
    for name, run in runs.items():
        known = [key for key in run if key[0] in queries]
        if known and qrels.keys().isdisjoint(known):
            qid, docno = map(brief, known[0])
            whose = f"{name}: " if name else ""
            sentences[name] = (
                f"{whose}none of its documents is judged, e.g. {docno} of query {qid}; do its document ids agree with "
                "those of the judgments?"
            )
    return sentences


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Messages begin with the name of the system, if it has one."""
    try:
        yield
    except DataError as error:
        if not name:
            raise
        raise DataError(f"{name}: {error}") from error


def _is_one_run(scores: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one run, and not {name: system}."""
    key, value = next(iter(scores.items()), (("", ""), 0.0))
    of_names = isinstance(value, list) and value != [] and isinstance(value[0], str)  # the reader says what it needs
    if isinstance(key, tuple) or of_names:
        return True
    return isinstance(value, Mapping) and not any(isinstance(d, tuple) or isinstance(value[d], Mapping) for d in value)


def _as_run(system: Any, name: str, asked: Asked) -> Any:
    """A run in any of its forms as Run; other systems unchanged."""
    refuse_fusion([system])
    if isinstance(system, Run) or hasattr(system, "predict"):
        return system
    system = tabled(system)
    is_table = hasattr(system, "columns") and is_frame(system)  # a series is an array
    is_file = isinstance(system, StrPath)
    return run_of(system, name, asked) if is_file or is_mapping(system) or is_table else system


def _as_judgments(data: Any, for_run: bool, asked: Asked) -> Any:
    """A mapping as Qrels, and for a run also a file or frame of judgments; anything else unchanged."""
    if isinstance(data, Run | Qrels):
        return data
    kind = ""
    data = tabled(data)
    if for_run and isinstance(data, StrPath):
        kind = kind_of_content(data)
    elif for_run and is_frame(data):
        kind = kind_of_columns(column_names(collected(data)))
    return judgments_of(data, asked) if kind in (JUDGMENTS, EITHER) or is_mapping(data) else data


def mean_of(values: np.ndarray) -> float:
    """Mean over the queries that have a value."""
    return mean_interval(values)[0]


def per_query_values(system: Run | np.ndarray, data: RankingDataset, metrics: Sequence[Metric]) -> list[np.ndarray]:
    """(n_queries,) values for each metric, of a run or of scores; lists are ranked once per convention."""
    lists = {convention: lists_of(system, data, convention) for convention in {m.convention for m in metrics}}
    return [m.compute(lists[m.convention]) for m in metrics]


def _on_frame(system: Any, frame: Any, name: str) -> Any:
    """The scores of a model on a frame, of which it reads only the columns that it needs; other systems unchanged."""
    if not hasattr(system, "score_dataset") or system.per_query:
        return system
    with _naming(name):
        return system.predict(frame)


def _judged(data: Any, columns: Mapping[str, Any], systems: Sequence[Any]) -> RankingDataset:
    """The judged documents; their features only if a system reads them."""
    if isinstance(data, Run):
        raise DataError("the second argument must be judged documents or judgments (sr.read_qrels); got a run.")
    if isinstance(data, RankingDataset):
        return data
    if isinstance(data, np.ndarray | list) or (
        not (isinstance(data, tuple) or is_lazy(data) or hasattr(data, "columns")) and np.ndim(data) == 1
    ):
        relevance = np.asarray(data)
        if relevance.ndim == 0:
            raise DataError(f"the second argument must be judged documents or judgments; got {brief(data)}.")
        qid = columns["qid"]
        docid = columns["docid"]
        if qid is None and len(relevance) > MANY_ROWS:
            warn_caller(f"evaluate: qid is missing, so all {len(relevance)} rows are one query; pass qid=.")
        ids = None if docid is None else document_texts(docid)
        return RankingDataset(np.zeros((len(relevance), 1)), relevance, qid, ids)
    reads_features = any(hasattr(s, "predict") or hasattr(s, "score_dataset") for s in systems)
    models = [s for s in systems if isinstance(s, RankingModel)]
    reading = with_columns_of(Reading(missing=KEEP, featureless=not reads_features), models, data)
    if data is None:
        raise DataError("the second argument must be judged documents or judgments (sr.read_qrels); got None.")
    judged = as_datasets({"data": data}, **columns, reading=reading)["data"]
    assert judged is not None
    return judged


def values_of(system: Any, data: RankingDataset, metrics: Mapping[str, Metric]) -> dict[str, np.ndarray]:
    """{metric: (n_queries,) values}. system: a run, a model, or scores in the order of the input's rows."""
    if isinstance(system, Run):
        whole = next((m for m in metrics.values() if m.convention.short_lists != "full" or m.name == "mean_ndcg"), None)
        if whole is not None and not system.of(data)[1].all():
            raise DataError(
                f"{whole!r} depends on the length of whole lists, but some documents are not in the run. Use another "
                "metric or convention, such as trec."
            )
    else:
        system = _scores_of(system, data)
        _warn_of_equal_scores(system, data, metrics)
    return dict(zip(metrics, per_query_values(system, data, [*metrics.values()]), strict=True))


def _warn_of_equal_scores(scores: np.ndarray, data: RankingDataset, metrics: Mapping[str, Metric]) -> None:
    """Warn if the order of the rows decides in most queries: a model without features would then have the quality of
    the file."""
    metric = next((name for name, m in metrics.items() if m.convention.ties == "file"), None)
    starts = data.query_ptr[:-1]
    equal = np.minimum.reduceat(scores, starts) == np.maximum.reduceat(scores, starts)
    n_equal = int((equal & (data.sizes > 1)).sum())
    if metric is not None and 2 * n_equal > data.n_queries:
        warn_caller(
            f"all scores are equal in {n_equal} of {data.n_queries} queries, where {metric} is the value of the "
            "order of the rows; by the convention 'default', equal scores gain nothing."
        )


def _scores_of(system: Any, data: RankingDataset) -> np.ndarray:
    """Scores in the order of `data`."""
    try:
        if hasattr(system, "score_dataset"):  # a model, which may scale within queries
            system = system.score_dataset(data)
        elif hasattr(system, "predict"):
            return np.asarray(system.predict(data.X), dtype=np.float64)
        scores = as_floats(system)
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        got = f"{brief(system)} ({brief(str(error))})"
        raise DataError(f"scores must contain one number per document; got {got}.") from error
    if scores.shape != (data.n_docs,):
        raise DataError(f"scores must contain one number per document ({data.n_docs}); got shape {scores.shape}.")
    return data.from_input_order(scores)
