"""The capabilities of a system that fuses retrievers: each export declares them once, next to its writer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparserank.data.fusion.norms import LOGRANK, OF_SCORES, RETURNED, RRF, RRF_K, Norm, rules_of
from sparserank.errors import DataError
from sparserank.export.engine import Files
from sparserank.model.fusion import FusionFormula, FusionTerm
from sparserank.options import option
from sparserank.text import brief

LARGEST_K = 999_999_999


def as_json(content: Mapping[str, Any]) -> str:
    """The text of a JSON file that users read and edit."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def query_placeholder(term: FusionTerm) -> dict[str, str]:
    """The placeholder that users replace with the query of a retriever."""
    return {"REPLACE": f"the query of {term.retriever}"}


def equal_weights(formula: FusionFormula) -> bool:
    """Whether the formula is a plain sum, up to rounding."""
    return math.isclose(min(formula.weights), max(formula.weights), rel_tol=1e-12)


@dataclass(frozen=True)
class FusionEngine:
    """A system that fuses retrievers. `fuse` tries only formulas that it can run; its export refuses the others.

    name       name of the system in calls; title: its name in messages
    write      function that writes the files of a formula
    norms      the norms that it computes
    rrf_k      lowest and highest constant of its rrf
    positive   whether weights must be >= 0
    of_positive  norms whose formula differs for lists with scores below 0
    single     whether it computes scores in single precision
    most       largest number of retrievers, or None
    to_replace what users replace in its files, for a note of the export; '' if they say so themselves
    constant   a note on rrf with another constant than RRF_K
    """

    name: str
    title: str
    write: Callable[[FusionFormula, str], Files]
    norms: Sequence[str] = (*OF_SCORES, RRF, LOGRANK, RETURNED)
    rrf_k: tuple[int, int] = (0, LARGEST_K)
    positive: bool = False
    of_positive: tuple[str, ...] = ()
    single: bool = False
    most: int | None = None
    to_replace: str = ""
    constant: str = ""

    def why_not(self, norm: Norm, negative: Sequence[str] = (), it: str = "") -> str | None:
        """Why the system cannot compute a norm, for messages; None if it can. `it` replaces the title of the system;
        negative: retrievers with scores below 0."""
        lowest, highest = self.rrf_k
        k = f"(k>={lowest})" if lowest > 0 else ""
        if lowest == highest:
            k = f"(k={lowest})"
        elif highest < LARGEST_K:
            k = f"(k={lowest} to {highest})"
        for below in ((), negative):
            names = [name for name in self.norms if not (below and name in self.of_positive)]
            if norm.name not in names or (norm.name == RRF and not lowest <= norm.k <= highest):
                shown = ", ".join(f"{name}{k}" if name == RRF else name for name in names)
                where = f"{brief(below[0])} has scores below 0, where " if below else ""
                return f"{where}{it or self.title} computes {shown}"
        return None

    def runs(self, formula: FusionFormula) -> bool:
        """Whether the system can run the formula."""
        try:
            self.check(formula)
        except DataError:
            return False
        return formula.engine in (None, self.name)

    def notes(self, formula: FusionFormula) -> list[str]:
        """Notes that the files do not contain: the version of the system, and retrievers with scores that it cannot
        distinguish."""
        notes = [self.constant] if self.constant and formula.norm.name == RRF and formula.norm.k != RRF_K else []
        merged = {t.retriever: t.merged for t in formula.terms if t.merged} if self.single else {}
        if not merged:
            return notes
        shares = ", ".join(f"{share:.0%} of {brief(name)}" for name, share in merged.items())
        return [
            *notes,
            f"{self.title} scores in single precision, in which documents next to each other get equal scores "
            f"({shares}, on the training queries): their order is lost. Subtract a constant from such scores before "
            "they get there.",
        ]

    def check(self, formula: FusionFormula) -> None:
        """Raise DataError for a formula that the system cannot run."""
        train = f"Choose the formula for it with {option('engine', self.name)}."
        lacking = self.why_not(formula.norm, [t.retriever for t in formula.terms if t.negative], "it")
        if lacking is not None:
            raise DataError(f"{self.title} does not compute {formula.norm} ({lacking}). {train}")
        if self.positive and min(formula.weights) < 0:
            raise DataError(f"{self.title} takes only weights >= 0; use {option('sign', 'positive')}.")
        if self.most is not None and len(formula.retrievers) > self.most:
            raise DataError(
                f"{self.title} fuses at most {self.most} retrievers, and the model has {len(formula.retrievers)}. "
                f"{train}"
            )
        if rules_of(formula.engine).of(formula.norm) != rules_of(self.name).of(formula.norm):
            origin = "without an engine" if formula.engine is None else f"for {formula.engine}"
            raise DataError(
                f"the formula was chosen {origin}, whose rules at the edges differ from {self.title}'s. {train}"
            )
        for retriever in formula.retrievers:
            if not retriever.isprintable():
                raise DataError(f"a retriever is called {brief(retriever)}; give it a printable name.")
