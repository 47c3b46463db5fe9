"""A comparison of systems: rows with tests, a gate on a loss, and a file for a comparison with a later system."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.data.runs import Run
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.evaluation.gate import gate, limit_of
from sparserank.evaluation.judge_next import draw
from sparserank.evaluation.judge_rows import JudgedMetric, agreement, judged_metric
from sparserank.evaluation.judges import LEAST_QUERIES
from sparserank.evaluation.moves import moves, rooms
from sparserank.evaluation.statistics import Row, Rows, holm, mean_interval, most_apart, paired_comparison
from sparserank.files import StrPath, atomic_write
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.options import Choice, Count, Number, option
from sparserank.options.arguments import check_arguments
from sparserank.options.selection import DEFAULT_CONFIDENCE, SELECT
from sparserank.strict_json import part, plain, read_json
from sparserank.text import brief, visible

FORMAT = "sparserank-evaluation"
EXPECTED = "values of an earlier system, as 'evaluate --out' writes them"
EVALUATION = f'{{\n "format": "{FORMAT}"'  # how our files begin

MAX_CHANGED = 10  # queries that `most_changed` names
VALUE = ("a number or null", (int, float, type(None)))  # of a metric; null: the query has none
DIGITS_OF_MOVES = 12  # of the change of a mean; later ones are rounding


@dataclass(frozen=True, repr=False)
class Comparison:
    """Values per query for several systems, as returned by `compare_systems`.

    Parameters
    ----------
    values : dict of str to dict of str to ndarray of shape (n_queries,)
        {system: {metric: values}}.
    baseline : str
        The system with which the others are compared.
    metrics : dict of str to Metric
        {metric: its definition}, the deciding one first.
    query_ids : ndarray of shape (n_queries,)
        The queries of the values.
    n_docs : int
        The number of documents.
    judgments : mapping, or (qid, docid, relevance)
        Grades {(query, document): grade}, or columns of the judged documents; `save` writes their hash.
    lacking : dict of str to str
        {system: sentence} for runs that have no documents for some of the queries.
    unjudged : dict of str to str
        {system: sentence} for runs of which no document is judged.
    runs : dict of str to Run
        {system: its run}, for runs on judgments.
    judges : dict of str to Comparison
        {name: the same systems by the grades of this judge}.
    strata : dict of str to str, or None
        {query: stratum}.

    Examples
    --------
    >>> import sparserank as sr
    >>> found = sr.compare_systems({"now": [1, 2], "new": [2, 1]}, [1, 0], "map", qid=["a", "a"])
    >>> [row["system"] for row in found.rows()]
    ['now', 'new']
    """

    values: dict[str, dict[str, np.ndarray]]
    baseline: str
    metrics: Mapping[str, Metric]
    query_ids: np.ndarray
    n_docs: int
    judgments: Any
    lacking: Mapping[str, str]
    unjudged: Mapping[str, str]
    runs: Mapping[str, Run]
    judges: Mapping[str, Comparison] = field(default_factory=dict)
    strata: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        systems = ", ".join(self.values)
        metrics = ", ".join(self.metrics)
        return f"Comparison({systems} by {metrics}; baseline {self.baseline}; see rows())"

    @property
    def others(self) -> list[str]:
        """The systems that are compared with the baseline."""
        return [system for system in self.values if system != self.baseline]

    @property
    def pairs(self) -> list[tuple[str, str | None]]:
        """(system, None) for each mean, then (system, baseline) for each difference."""
        return [*((system, None) for system in self.values), *((system, self.baseline) for system in self.others)]

    def rows(self, confidence: float = DEFAULT_CONFIDENCE) -> Rows:
        """Return one row per metric and system: mean, interval, difference from the baseline with interval, p,
        Holm-corrected p."""
        check_arguments(Comparison.rows, locals(), confidence=Number(above=0, below=1))
        table = []
        for metric in self.metrics:
            base = self.values[self.baseline][metric]
            paired = {s: paired_comparison(self.values[s][metric], base, confidence) for s in self.others}
            corrected = holm([p.p_value for p in paired.values()]).tolist()
            tests = {
                s: {**p._asdict(), "p_holm": p_holm} for (s, p), p_holm in zip(paired.items(), corrected, strict=True)
            }
            for system, values in self.values.items():
                of_mean = zip(("mean", "low", "high"), mean_interval(values[metric], confidence), strict=True)
                table.append({"metric": metric, "system": system, **dict(of_mean), **tests.get(system, {})})
        return table

    def judge_rows(self, confidence: float = DEFAULT_CONFIDENCE) -> Rows:
        """Return one row per judge, metric and system, and per difference from the baseline: what the judge is worth.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence of the intervals, between 0 and 1.

        Returns
        -------
        list of dict
            `judge`, `metric`, `system` and `against` (the baseline, or None for a mean); `n_human` and `n_judge`, the
            queries of people and of the judge; `human`, the estimate of people alone, and `estimate`, that with the
            judge where it is worth something, both with `_low` and `_high`; `lambda`, the weight of the judge; `worth`,
            the number of human queries that would have the same effect; `bias`, how far its grades are from those of
            people, with `_low` and `_high`; `differs`, the queries for which they differ most; `sentence`, which says
            it. With fewer than 8 queries of people, intervals are NaN.

        Examples
        --------
        >>> import sparserank as sr
        >>> people = {f"q{i}": {"a": i % 2, "b": 1} for i in range(10)}
        >>> judge = {f"q{i}": {"a": i % 2, "b": 1 - i % 3 // 2} for i in range(40)}
        >>> runs = {"x": {q: {"a": 2, "b": 1} for q in judge}, "y": {q: {"a": 1, "b": 2} for q in judge}}
        >>> found = sr.compare_systems(runs, people, "ndcg@10", judges={"model": judge})
        >>> [(row["system"], row["n_human"], row["n_judge"]) for row in found.judge_rows()]
        [('x', 10, 40), ('y', 10, 40), ('y', 10, 40)]
        """
        check_arguments(Comparison.judge_rows, locals(), confidence=Number(above=0, below=1))
        return [row for judged in self._judged.values() for row in judged.rows(confidence)]

    def judge_facts(self) -> Rows:
        """Return what is known of the grades of each judge.

        Returns
        -------
        list of dict
            `judge`; `kappa`, Cohen's kappa with people, with quadratic weights, on the documents that both graded;
            `documents`, their number for each grade of people (`by_people`) and each of the judge (`by_judge`);
            `notes`, sentences on its queries.

        Examples
        --------
        >>> import sparserank as sr
        >>> people = {f"q{i}": {"a": i % 2, "b": 1} for i in range(10)}
        >>> judge = {f"q{i}": {"a": i % 2, "b": 1 - i % 3 // 2} for i in range(40)}
        >>> runs = {"x": {q: {"a": 2, "b": 1} for q in judge}, "y": {q: {"a": 1, "b": 2} for q in judge}}
        >>> found = sr.compare_systems(runs, people, "ndcg@10", judges={"model": judge})
        >>> (fact,) = found.judge_facts()
        >>> fact["by_people"], fact["by_judge"], fact["documents"]
        ([0.0, 1.0], [0.0, 1.0], [[5, 0], [3, 12]])
        """
        metric = next(iter(self.metrics))
        rows = []
        for name, judge in self.judges.items():
            notes = [*judge.lacking.values(), *self._judged[name, metric].notes()]
            rows.append({"judge": name, **agreement(self.judgments, judge.judgments), "notes": notes})
        return rows

    @cached_property
    def _judged(self) -> dict[tuple[str, str], JudgedMetric]:
        """{(judge, metric): values and estimates}"""
        return {
            (name, metric): judged_metric(self, name, metric, room)
            for name, judge in self.judges.items()
            for metric, room in rooms(judge.runs, self.baseline, judge.judgments, self.metrics).items()
        }

    def judge_next(self, n: int = 20, *, random_state: int = 0) -> Row:
        """Return what people should judge next: documents and, with a judge, queries.

        Parameters
        ----------
        n : int, default 20
            The number of documents and of queries, at least 1.
        random_state : int, default 0
            Seed of the draw of the queries.

        Returns
        -------
        dict
            `documents` that people did not judge and that a system ranks within the cutoff of the first metric (without
            one, among its first 10), by how far a grade can move a mean difference from the baseline: `query`,
            `document`, `ranks` ({system: rank, or None beyond the cutoff}), `system`, `against` and `move`, the
            largest change of their difference. With a judge, also `queries`, drawn at random within strata: `query`,
            `stratum`, and the `probability` that people judge a query of this stratum; `strata`, {query: stratum} of
            all queries, which `compare_systems` needs once people have judged these; and `widths`: half the interval of
            each difference `now`, and that to be `expected` then (none with fewer than 8 queries of people).

        Raises
        ------
        DataError
            Systems are not runs on judgments, there are several judges, or the judge lacks queries of people.
        ParameterError
            `n` is below 1, above the number of queries that people did not judge, or too small for two of people in
            each stratum.

        Examples
        --------
        >>> import sparserank as sr
        >>> runs = {"now": {"q": {"a": 2, "b": 1}}, "new": {"q": {"b": 2, "a": 1}}}
        >>> found = sr.compare_systems(runs, {"q": {"a": 1}}, "ndcg@10").judge_next(5)
        >>> [(row["document"], row["ranks"], round(row["move"], 3)) for row in found["documents"]]
        [('b', {'now': 2, 'new': 1}, 0.369)]
        """
        check_arguments(Comparison.judge_next, locals(), n=Count(1), random_state=SELECT["random_state"].kind)
        if self.values.keys() != self.runs.keys():
            raise DataError("what to judge next needs judgments, and the runs of all systems.")
        if len(self.judges) > 1:
            raise DataError(f"queries are drawn for one judge; got {', '.join(self.judges)}.")
        found: Row = {"documents": self._next_documents(n)}
        for name in self.judges:
            found |= self._next_queries(name, n, random_state)
        return found

    def _next_documents(self, n: int) -> Rows:
        moved = moves(self.runs, self.baseline, self.judgments, next(iter(self.metrics.values())))
        sizes = (moved.sizes / len(self.query_ids)).round(DIGITS_OF_MOVES)
        sizes[:, [key in self.judgments for key in moved.documents]] = 0.0
        most = sizes.max(axis=0)
        rows = []
        for k in np.argsort(-most, kind="stable")[: min(n, np.count_nonzero(most))]:
            query, document = moved.documents[k]
            system, against = self.pairs[sizes[:, k].argmax() - len(sizes)]
            ranks = {name: int(rank) or None for name, rank in zip(self.runs, moved.ranks[:, k], strict=True)}
            of_document = {"query": query, "document": document, "ranks": ranks}
            rows.append({**of_document, "system": system, "against": against, "move": float(most[k])})
        return rows

    def _next_queries(self, name: str, n: int, seed: int) -> Row:
        judge = self.judges[name]
        judged = self._judged[name, next(iter(self.metrics))]
        ids = judge.query_ids.astype(str).tolist()
        lacking = {*judged.queries}.difference(ids)
        if lacking:
            first = brief(min(lacking))
            raise DataError(f"{name} lacks queries of people, e.g. {first}; a draw needs its grades of these.")
        moved = moves(self.runs, self.baseline, judge.judgments, judged.metric)
        spread = np.sqrt(np.bincount(moved.queries, (moved.sizes**2).sum(axis=0), minlength=len(ids)))
        strata = None if self.strata is None else [self.strata[q] for q in ids]
        drawn = draw(spread, np.isin(ids, judged.queries), n, seed, strata)
        widths: Rows = []
        if judged.means.n_human >= LEAST_QUERIES:
            means = judged.means.decided
            census = judged.human.var(axis=1, ddof=1) / len(ids)
            halves = means.half().tolist(), drawn.expected(means, census).half().tolist()
            widths = [
                {"system": system, "against": against, "now": now, "expected": expected}
                for (system, against), now, expected in zip(self.pairs, *halves, strict=True)
            ]
        strata_of = dict(zip(ids, drawn.strata.tolist(), strict=True))
        queries = [
            {"query": ids[i], "stratum": strata_of[ids[i]], "probability": float(drawn.probability[i])}
            for i in np.flatnonzero(drawn.drawn)
        ]
        # The last rows of an estimate are those of the differences.
        return {"queries": queries, "widths": widths[-len(moved.sizes) :], "strata": strata_of}

    def most_changed(self, system: str) -> Rows:
        """Return the ten queries whose values of the first metric differ most from the baseline.

        Parameters
        ----------
        system : str
            The system that is compared with the baseline.

        Returns
        -------
        list of dict
            `query`, `old` (the value of the baseline), `new` and `difference`. Queries of equal values are left out.

        Raises
        ------
        ParameterError
            The system is not in the comparison.

        Examples
        --------
        >>> import sparserank as sr
        >>> found = sr.compare_systems({"now": [1, 2], "new": [2, 1]}, [1, 0], "map", qid=["a", "a"])
        >>> [(row["query"], float(row["difference"])) for row in found.most_changed("new")]
        [('a', 0.5)]
        """
        check_arguments(Comparison.most_changed, locals(), system=Choice([*self.values]))
        first = next(iter(self.metrics))
        old = self.values[self.baseline][first]
        new = self.values[system][first]
        changed = most_apart(self.query_ids, old, new, ("old", "new"), MAX_CHANGED)
        return [row | {"difference": row["new"] - row["old"]} for row in changed]

    def gate(
        self,
        fail_if_worse: str | float,
        metric: str | None = None,
        *,
        fail_if_shown: bool = False,
        judge_only: bool = False,
    ) -> Rows:
        """Judge what each other system loses against the baseline, as `evaluate --fail-if-worse` does.

        Parameters
        ----------
        fail_if_worse : str or float
            The largest acceptable loss: a share of the baseline's mean such as '1%', or a number in units of the
            metric.
        metric : str, optional
            The metric, as `rows` names it. Default: the first.
        fail_if_shown : bool, default False
            A system fails only if the one-sided 95% bound of its loss is above the limit.
        judge_only : bool, default False
            Decide by the grades of the judge alone. Otherwise, a judge counts as far as people confirm it.

        Returns
        -------
        list of dict
            One row per other system: `system`, `metric`; `loss`, the mean loss (above 0: the system is worse), with
            its one-sided 95% bounds `loss_low` and `loss_high`; `limit`, in units of the metric; `above_limit` and
            `shown`, whether the loss and its lower bound are above it; `fails`, the decision; `judge`, its name or
            None; `sentence`, which also says what these queries can tell.

        Raises
        ------
        ParameterError
            The limit is neither a share nor a number, or no loss can be as large; the metric is unknown; or
            `judge_only` without a judge.
        DataError
            There is no other system, or several judges; the baseline has no documents for some queries (of people
            or of the judge) or the worst possible mean; or fewer than two queries have a value.

        See Also
        --------
        Comparison.against : an earlier evaluation as the baseline.

        Examples
        --------
        >>> import sparserank as sr
        >>> y, qid = [1, 0, 0, 1, 1, 0], ["a", "a", "b", "b", "c", "c"]
        >>> now, new = [2, 1, 1, 2, 1, 2], [2, 1, 2, 1, 1, 2]
        >>> found = sr.compare_systems({"now": now, "new": new}, y, "map", qid=qid)
        >>> [(row["system"], row["fails"]) for row in found.gate("1%")]
        [('new', True)]
        >>> found.gate("1%", fail_if_shown=True)[0]["fails"]
        False
        """
        name = next(iter(self.metrics)) if metric is None else metric
        check_arguments(Comparison.gate, {**locals(), "metric": name}, metric=Choice([*self.metrics]))
        limit = limit_of(fail_if_worse)
        if not self.others:
            raise DataError("a gate needs a second system, or an earlier evaluation: comparison.against(path).")
        lacking = [self.lacking, *(judge.lacking for judge in self.judges.values())]
        absent = " ".join(sentences.get(self.baseline, "") for sentences in lacking).strip()
        if absent:
            remedy = "For a gate, give another baseline, or leave these queries out of the judgments."
            raise DataError(f"{absent} {remedy}")
        if len(self.judges) > 1:
            raise DataError(f"a gate decides by one judge; got {', '.join(self.judges)}.")
        if judge_only and not self.judges:
            raise ParameterError("judge_only", "needs the grades of a judge.")
        judge = next(iter(self.judges), "")
        values = (self.judges[judge] if judge_only else self).values
        judged = None if judge_only else self._judged.get((judge, name))
        whose = f"by the grades of {judge} alone, not by people: " if judge_only else ""
        base = values[self.baseline][name]
        rows = []
        for system in self.others:
            pair = (system, self.baseline)
            outcome = gate(values[system][name], base, limit, self.metrics[name], pair, judged)
            parts = [outcome.sentence(f"{whose}{system}", self.baseline, name, fail_if_shown)]
            parts += [sentences[system] for sentences in (*lacking, self.unjudged) if system in sentences]
            rows.append(
                {
                    "system": system,
                    "metric": name,
                    "loss": outcome.loss,
                    "loss_low": outcome.loss - outcome.half,
                    "loss_high": outcome.loss + outcome.half,
                    "limit": outcome.limit,
                    "above_limit": outcome.fails(),
                    "shown": outcome.fails(shown=True),
                    "fails": outcome.fails(fail_if_shown),
                    "judge": judge or None,
                    "sentence": " ".join(parts),
                }
            )
        return rows

    def save(self, path: StrPath) -> None:
        """Write the values of the baseline on each query, with a hash of the judgments, for `against`.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.

        Examples
        --------
        >>> import sparserank as sr
        >>> sr.compare_systems({"now": [1, 2]}, [1, 0], qid=["a", "a"]).save("now.json")
        """
        check_arguments(Comparison.save, locals())
        content: dict[str, Any] = {
            "format": FORMAT,
            **_hashes_of(self.judgments),
            "system": visible(self.baseline),
            "values": {m: dict(zip(self.query_ids, v, strict=True)) for m, v in self.values[self.baseline].items()},
        }
        lacking = self.lacking.get(self.baseline)
        if lacking:
            content["lacking"] = visible(lacking)
        with atomic_write(path) as out:
            out.write(f"{json.dumps(plain(content), indent=1)}\n")

    def against(self, path: StrPath) -> Comparison:
        """Compare the same systems with an earlier one, whose values `save` or `evaluate --out` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Comparison
            The earlier system is the baseline.

        Raises
        ------
        DataFormatError
            The file is something else, or it was made with other judgments or metrics.

        Examples
        --------
        >>> import sparserank as sr
        >>> y, qid = [1, 0, 0, 1], ["a", "a", "b", "b"]
        >>> sr.compare_systems({"now": [2, 1, 1, 2]}, y, "map", qid=qid).save("now.json")
        >>> found = sr.compare_systems({"new": [2, 1, 2, 1]}, y, "map", qid=qid).against("now.json")
        >>> found.baseline, [row["fails"] for row in found.gate("5%")]
        ('now', [True])
        """
        check_arguments(Comparison.against, locals())
        if self.judges:
            raise DataError("an earlier evaluation has no grades of a judge; compare the runs of both systems.")
        content = read_json(path, EXPECTED)
        system = content.get("system")
        values = content.get("values")
        if content.get("format") != FORMAT or not isinstance(system, str) or not isinstance(values, dict):
            raise DataFormatError(f"{path}: is something else; expected {EXPECTED}.")
        own = _hashes_of(self.judgments)
        judgments = content.get("judgments")
        grades = content.get("grades")
        # If one of the two has no document ids, the grades of each query must be the same.
        without_ids = own["judgments"] == own["grades"] or judgments == grades
        if own["judgments"] != judgments and not (without_ids and own["grades"] == grades):
            raise DataFormatError(f"{path}: was made with other judgments; evaluate the earlier system with these.")
        earlier = {}
        for metric in self.metrics:
            if metric not in values:
                # The name of a metric may begin with its convention, as in trec:map.
                plain_name = metric.rpartition(":")[2]
                alike = next((other for other in values if other.rpartition(":")[2] == plain_name), None)
                if alike is None:
                    has = f"other metrics, {', '.join(values)}"
                    ask = option("metric", next(iter(values), metric))
                else:
                    has = f"another convention, {alike}"
                    ask = option("convention", alike.rpartition(":")[0] or "default")
                remedy = f"evaluate the earlier system by this metric too, or ask for {ask}"
                raise DataFormatError(f"{path}: has no values of {metric}, but {has}; {remedy}.")
            try:
                of_queries = [part(values[metric], str(q), VALUE) for q in self.query_ids]
                earlier[metric] = np.array(of_queries, dtype=np.float64)
            except (ValueError, TypeError) as error:
                why = "is damaged: it needs a number for each query; write it again."
                raise DataFormatError(f"{path}: {why}") from error
        while system in self.values:
            system += " before"
        lacking = {**self.lacking, system: str(content.get("lacking", ""))}
        return replace(self, values={system: earlier, **self.values}, baseline=system, lacking=lacking)


def _hashes_of(judgments: Any) -> dict[str, str]:
    """Hashes of the field of this name of a comparison, in any order: of the queries, the documents (as far as they
    have ids) and their grades; and without the documents."""
    if isinstance(judgments, Mapping):
        graded = [(q, d, grade) for (q, d), grade in judgments.items()]
    else:
        qid, docid, relevance = judgments
        ids = [""] * len(relevance) if docid is None else docid.tolist()
        graded = list(zip(qid.tolist(), ids, relevance.tolist(), strict=True))
    hashed = {
        "judgments": sorted((str(q), str(d), float(grade)) for q, d, grade in graded),
        "grades": sorted((str(q), "", float(grade)) for q, _, grade in graded),
    }
    return {name: hashlib.sha256(repr(texts).encode()).hexdigest() for name, texts in hashed.items()}
