"""What a system that runs exported models can run: each export declares it once, beside what it writes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sparserank.errors import DataError
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term
from sparserank.options import option
from sparserank.quoting import brief
from sparserank.transforms import KINDS, LOG, NONE, OF_LISTS


@dataclass(frozen=True)
class Engine:
    """An engine, a database or a runtime. `select` tries only what it can run, its export refuses the rest.

    name        as users write it; title: what messages call it
    write       the files of a model
    transforms  of features; curves: whether it can run piecewise linear curves
    takes_zero  for a missing value, whatever the model knows
    negative    what negative scores lead to there, as a sentence that ends in ';'; "": nothing
    sees_lists  whether it sees all documents of a query when it scores one
    """

    name: str
    title: str
    write: Callable[[Sum, Options], Files]
    transforms: tuple[str, ...] = KINDS
    curves: bool = True
    takes_zero: bool = False
    negative: str = ""
    sees_lists: bool = False

    def lacks(self, transforms: Collection[str] = (), *, curves: bool = False, lists: bool = False) -> str:
        """What it cannot run of these, as a predicate: 'cannot run curves'; "" where it can run all.

        lists  whether features are scaled within each query
        """
        if not self.sees_lists and (lists or not OF_LISTS.isdisjoint(transforms)):
            return "scores one document at a time, and cannot run what depends on the others of its query"
        if lists:
            return "cannot run a scaling within each query"
        odd = [kind for kind in KINDS if kind in transforms and kind not in self.transforms]
        if odd or (curves and not self.curves):
            what = " and ".join([*odd, *(["curves"] if curves and not self.curves else [])])
            return f"takes weights of features as they are, and cannot run {what}"
        return ""

    def check(self, of: Sum, options: Options) -> None:
        """Raises DataError for a term that it cannot run, or whose missing values are not the 0 that it takes."""
        for term in of.terms:
            if self.lacks([term.kind], curves=term.curve is not None):
                self._refuse(term)
        odd = next((t for t in of.terms if t.fill), None) if self.takes_zero else None
        if odd is not None and not options.filled:
            raise DataError(
                f"the model takes {odd.fill!r} for a missing {brief(odd.name)}, and {self.title} takes 0; let the "
                f"engine's feature give {odd.fill!r} there and say so with {option('filled', True)}, or train with "
                f"{option('missing', 'zero')}."
            )

    def _refuse(self, term: Term) -> None:
        if term.of_list and not self.sees_lists:
            raise DataError(
                f"{self.title} scores one document at a time, and cannot say {term.shown}, which depends on the others "
                f"of its query; export to sql, vespa or python, or train with {option('transform', LOG)}; select does "
                f"with {option('engine', self.name)}."
            )
        raise DataError(
            f"{self.title} takes weights of features as they are, and cannot say {term.shown}; export to solr, "
            f"elasticsearch, vespa, lucene, sql, onnx or python, or train with {option('transform', NONE)}, without "
            f"curves, and a linear scaling ({option('scaling', 'within-query-std')}); select does with "
            f"{option('engine', self.name)}."
        )
