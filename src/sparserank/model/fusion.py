"""A model of `fuse` as a formula: weights of the lists of retrievers, and the depth at which the lists are cut."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.fusion.lists import named_runs, read_lists
from sparserank.data.fusion.norms import Norm, parse_norm, rules_of
from sparserank.data.run_reader import Ids
from sparserank.data.runs import Run, ranked
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.options.arguments import check_arguments
from sparserank.text import brief

KEY = "fusion"  # key in the parameters of a model that `fuse` made
# keys of optional entries about the scores of retrievers
NEGATIVE = "negative"
MERGED = "merged"
MIN_MERGED = 0.01  # smallest share of merged scores that a model records


@dataclass(frozen=True)
class FusionTerm:
    """A retriever in a formula. weight: factor of its normalised values; the absolute weights of a formula sum to 1.

    Observed in its scores on the training queries:
    negative   whether any score is below 0
    merged     share of adjacent documents in its lists whose scores differ, but are equal in single precision
    """

    retriever: str
    weight: float
    negative: bool = False
    merged: float = 0.0


@dataclass(frozen=True)
class FusionFormula:
    """Weighted sum of the normalised lists of several retrievers.

    The score of a document is the sum over terms of weight * norm of what the retriever returned, with 0 where it did
    not return the document.

    Attributes
    ----------
    terms : tuple of FusionTerm
        Largest weight first.
    norm : Norm
        How lists are normalised.
    depth : int
        Rank at which every list is cut before it is normalised.
    engine : str or None
        The engine whose rules for edge cases the norms follow.

    Examples
    --------
    >>> import sparserank as sr
    >>> good = {f"q{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(20)}
    >>> bad = {f"q{i}": {"c": 3.0, "b": 2.0, "d": 1.0} for i in range(20)}
    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> formula = sr.fuse({"good": good, "bad": bad}, qrels, penalties="l1", half_samples=0).formula
    >>> formula.retrievers, formula.depth
    (('good',), 10)
    >>> sorted(formula.apply({"good": {"new": {"x": 2.0, "y": 1.0}}}))
    [('new', 'x'), ('new', 'y')]
    """

    terms: tuple[FusionTerm, ...]
    norm: Norm
    depth: int
    engine: str | None = None

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers in use, in the order of the terms."""
        return tuple(t.retriever for t in self.terms)

    @property
    def weights(self) -> list[float]:
        """The weights of the terms."""
        return [t.weight for t in self.terms]

    @property
    def longest(self) -> int | None:
        """Largest number of documents in a fused list; None: all that the retrievers return up to the depth."""
        return self.depth if rules_of(self.engine).trims else None

    @classmethod
    def load(cls, path: str | os.PathLike, k: int | None = None) -> FusionFormula:
        """Read the formula of a run directory or model file of `fuse`.

        Parameters
        ----------
        path : path
            The directory or file.
        k : int, optional
            For a directory: the formula of k retrievers instead of the chosen one.

        Returns
        -------
        FusionFormula
            The formula.
        """
        check_arguments(cls.load, locals())
        return formula_of(load_model(path, k=k))

    def apply(self, runs: Any) -> Run:
        """Fuse runs of other queries.

        Parameters
        ----------
        runs : mapping or sequence of paths
            Runs of the retrievers in use, as in `fuse`; others are ignored.

        Returns
        -------
        Run
            {(query id, document id): score} of every document that a retriever in use returned, for `evaluate`.

        Raises
        ------
        DataError
            A retriever is missing, or a run cannot be read.
        """
        totals: dict[tuple[str, str], float] = {}
        for added in self.added(runs):
            for key, value in zip(added.keys, added.values, strict=True):
                totals[key] = totals.get(key, 0.0) + value
        fused = Run(totals)
        if self.longest is None:
            return fused
        return Run({(q, d): score for q, entries in ranked(fused).items() for d, score in entries[: self.longest]})

    def added(self, runs: Any) -> list[TermContribution]:
        """The contribution of each term to the scores of documents, in the order of the terms; runs as in `apply`."""
        named = named_runs(runs, least=1)
        for name in self.retrievers:
            if name not in named:
                raise DataError(
                    f"the formula needs a run called {brief(name)}; got {brief(', '.join(named))}. "
                    f"Rename the file, or pass {name}=FILE."
                )
        queries = Ids()
        documents = Ids()
        lists = {
            name: read_lists(source, name, queries, documents, least=0).cut(self.depth)
            for name, source in named.items()
            if name in self.retrievers
        }
        query_ids = list(queries)
        names = list(documents)
        out = []
        rules = rules_of(self.engine)
        for term in self.terms:
            run = lists[term.retriever] if rules.zeros else lists[term.retriever].without_zeros()
            values = term.weight * self.norm(run, self.depth, rules)
            of_query = run.of_entry.tolist()
            keys = [(query_ids[q], names[d]) for q, d in zip(of_query, run.document.tolist(), strict=True)]
            out.append(TermContribution(keys, run.rank.tolist(), values.tolist()))
        return out


@dataclass(frozen=True)
class TermContribution:
    """The contribution of one term to the scores of the documents that its retriever returned up to the depth.

    keys     (query id, document id) of each; ranks: from 1 in the list of the retriever
    values   weight * normalised value
    """

    keys: list[tuple[str, str]]
    ranks: list[int]
    values: list[float]


def formula_of(model: RankingModel) -> FusionFormula:
    """The fusion formula that a model stores.

    Raises
        DataError   `fuse` did not make the model, or its file was changed
    """
    stored = model.parameters.get(KEY)
    if not isinstance(stored, Mapping):
        raise DataError("this model was not made by 'sparserank fuse'; it has no retrievers.")
    try:
        names = [f.name.rpartition(":") for f in model.features]
        (norm,) = {parse_norm(norm) for _, _, norm in names}
        depth = stored["depth"]
        engine = stored["engine"]
        negative = stored.get(NEGATIVE, ())
        merged = stored.get(MERGED, {})
        if not (isinstance(depth, int) and depth >= 1 and (engine is None or isinstance(engine, str))):
            raise ValueError(f"depth {depth!r}, engine {engine!r}")
        with np.errstate(all="ignore"):
            raw = np.array([f.slope for f in model.features])
            weights = raw / np.abs(raw).sum()
        if not (np.abs(weights) > 0).all():
            raise ValueError("its weights are too small or too large for a sum")
        terms = [
            FusionTerm(name, weight, name in negative, float(merged.get(name, 0.0)))
            for (name, _, _), weight in zip(names, weights.tolist(), strict=True)
        ]
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise DataError(f"the facts about retrievers in this model cannot be read ({brief(str(error))}).") from error
    return FusionFormula(tuple(sorted(terms, key=lambda t: -abs(t.weight))), norm, depth, engine)


def is_fusion(model: RankingModel) -> bool:
    """Whether `fuse` made the model."""
    return isinstance(model.parameters.get(KEY), Mapping)


def refuse_fusion(models: Iterable[Any]) -> None:
    """Raise DataError if `fuse` made one of these models, where documents with features are ranked."""
    if any(isinstance(model, RankingModel) and is_fusion(model) for model in models):
        raise DataError(
            "this model was made by 'sparserank fuse' and ranks runs, not documents with features. Evaluate it on runs "
            "(--qrels, --runs), or use the run that it makes: sparserank predict MODEL RUNS... --run fused.run"
        )


def fusion_parameters(
    depth: int, engine: str | None, negative: Sequence[str], merged: Mapping[str, float]
) -> dict[str, Any]:
    """The entry of `fuse` in the parameters of a model. negative, merged: as in `FusionTerm`, by retriever."""
    parameters: dict[str, Any] = {"depth": depth, "engine": engine}
    if negative:
        parameters[NEGATIVE] = list(negative)
    if shown := {name: share for name, share in merged.items() if share >= MIN_MERGED}:
        parameters[MERGED] = shown
    return {KEY: parameters}
