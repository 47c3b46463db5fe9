"""The capabilities of a system that runs exported models: each export declares them once, next to its writer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sparserank.errors import DataError
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term
from sparserank.options import option
from sparserank.quoting import brief
from sparserank.transforms import KINDS, NONE


@dataclass(frozen=True)
class Engine:
    """An engine, a database or a runtime. `select` tries only models that it can run; its export refuses the others.

    name        as users write it; title: its name in messages
    write       writes the files of a model
    transforms  feature transforms that it can run; curves: whether it can run piecewise linear curves
    takes_zero  whether it takes 0 for a missing value, whatever fill value the model learned
    negative    consequence of negative scores in this engine, as a sentence that ends in ';'; "": none
    """

    name: str
    title: str
    write: Callable[[Sum, Options], Files]
    transforms: tuple[str, ...] = KINDS
    curves: bool = True
    takes_zero: bool = False
    negative: str = ""

    def lacks(self, transforms: Collection[str] = (), *, curves: bool = False, lists: bool = False) -> str:
        """The part of these that it cannot run, as a predicate: 'cannot run curves'; "" if it can run all.

        lists  whether features are scaled within each query
        """
        if lists:
            return "scores one document at a time, and cannot scale features within each query"
        odd = [kind for kind in KINDS if kind in transforms and kind not in self.transforms]
        if odd or (curves and not self.curves):
            what = " and ".join([*odd, *(["curves"] if curves and not self.curves else [])])
            return f"takes weights of raw features only, and cannot run {what}"
        return ""

    def check(self, of: Sum, options: Options) -> None:
        """Raise DataError for a term that it cannot run, or whose fill value is not the 0 that it takes."""
        for term in of.terms:
            if self.lacks([term.kind], curves=term.curve is not None):
                self._refuse(term)
        odd = next((t for t in of.terms if t.fill), None) if self.takes_zero else None
        if odd is not None and not options.filled:
            raise DataError(
                f"the model replaces a missing {brief(odd.name)} with {odd.fill!r}, but {self.title} replaces it with "
                f"0. Let the engine's feature return {odd.fill!r} for a missing value and declare this with "
                f"{option('filled', True)}, or train with {option('missing', 'zero')}."
            )

    def _refuse(self, term: Term) -> None:
        raise DataError(
            f"{self.title} takes weights of raw features only, and cannot express {term.shown}. Export to solr, "
            f"elasticsearch, vespa, lucene, sql, onnx or python, or train with {option('transform', NONE)} (no "
            f"curves) and a linear scaling ({option('scaling', 'within-query-std')}). With "
            f"{option('engine', self.name)}, select trains such models."
        )
