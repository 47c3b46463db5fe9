"""The options of an export, and the capabilities of each engine, which are declared next to its writer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.export.terms import Sum, shown
from sparserank.model.feature import Feature
from sparserank.options import option
from sparserank.options.selection import TREES
from sparserank.requests.search_query import SearchQuery
from sparserank.text import brief, listed
from sparserank.transforms import KINDS, LOG, NONE

EXPECTED = 'a JSON object {"feature name": definition in the engine, ...}'
Files = dict[str, str | bytes]  # name: content


# Matches the value that replaces a missing field, in a template of Elasticsearch or a feature of Solr.
MISSING = re.compile(r'(?:missing|defaultValue)\\*": *\\*"?(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)')


class NeedsDefinitions(DataError):
    """A model that the engine can run, but only with the definitions of its features."""


@dataclass(frozen=True)
class Options:
    """Options of an export, checked.

    name         name of the model in the engine, and of its feature store
    features     {feature name: definition in the engine}, or None
    normalizers  whether the scaling is written as the engine's normalisers instead of folded into the weights
    offset       constant added to every score; shifted: whether the user set one
    sigmoid      whether scores go through 1 / (1 + e^-x), which keeps their order
    filled       whether the engine's features return the model's replacements for missing values
    wide         whether one input contains all features, instead of one input per selected feature
    query        the search request that gets the boosts
    """

    name: str = "sparserank"
    features: Mapping[str, Any] | None = None
    normalizers: bool = False
    offset: float = 0.0
    sigmoid: bool = False
    filled: bool = False
    wide: bool = False
    shifted: bool = False
    query: SearchQuery | None = None

    def refuse(self, why: str, *names: str) -> None:
        """Raise ParameterError if one of these options is set."""
        for name in names:
            if getattr(self, name):
                raise ParameterError(name, f"cannot be written ({why}); leave it out.")


@dataclass(frozen=True)
class Engine:
    """An engine, a database or a runtime. `select` tries only models that it can run; its export refuses the others.

    name        name of the engine in calls; title: its name in messages
    write       function that writes the files of a model
    transforms  feature transforms that it can run; steps: whether it can run step functions
    takes_zero  whether it takes 0 for a missing value, whatever fill value the model learned
    trees       format of steps as trees that it loads, "": none
    boosts      whether a model is a search request: weights >= 0 of unchanged features, with two significant digits
    defined     whether `features`, if it is given, must define every selected feature that is a column
    negative    consequence of negative scores in this engine, as a sentence that ends in ';'; "": none
    forbidden   characters that its format does not allow in the name of a feature
    """

    name: str
    title: str
    write: Callable[[Sum, Options], Files]
    transforms: tuple[str, ...] = KINDS
    steps: bool = False
    takes_zero: bool = False
    trees: str = ""
    boosts: bool = False
    defined: bool = False
    negative: str = ""
    forbidden: str = ""

    def takes(self, name: str) -> bool:
        """Whether a feature may have this name in the format."""
        return name == self.allowed(name)

    def allowed(self, name: str) -> str:
        """The name with _ in place of characters that the format does not allow."""
        return "".join("_" if c in self.forbidden else c for c in name) or "_"

    def lacks(self, transforms: Collection[str] = (), *, steps: bool = False, lists: bool = False) -> str:
        """Which of these capabilities the engine lacks, as a predicate: 'cannot run steps'; "" if it has all.

        lists  whether features are scaled within each query
        """
        if lists:
            return "scores one document at a time, and cannot scale features within each query"
        odd = [kind for kind in KINDS if kind in transforms and kind not in self.transforms]
        odd += ["steps"] if steps and not self.steps else []
        if not odd:
            return ""
        as_trees = f" (only as trees: {option('to', self.trees)})" if steps and self.trees else ""
        return f"{self._takes}cannot run {' and '.join(odd)}{as_trees}"

    @property
    def _takes(self) -> str:
        """The beginning of a refusal: what the engine can run."""
        if LOG in self.transforms:
            return ""
        return f"takes {'weights of raw features' if self.transforms else 'steps'} only, and "

    def check(self, of: Sum, options: Options) -> None:
        """Raise DataError for a term that the engine cannot run, or whose fill value is not 0 although it takes 0;
        ParameterError for features without a definition."""
        for term in of.terms:
            stepped = term.steps is not None
            if self.lacks([] if stepped else [term.kind], steps=stepped):
                takes = "" if stepped else self._takes
                raise DataError(f"{self.title} {takes}cannot express {shown(term)}. {self._instead_of(term)}")
        for term in of.terms:
            if term.missing and self.takes_zero and not options.filled:
                raise DataError(
                    f"the model replaces a missing {brief(term.name)} with {term.missing!r}, but {self.title} replaces "
                    f"it with 0. Let the engine's feature return {term.missing!r} for a missing value and declare this "
                    f"with {option('filled', True)}, or train with {option('missing', 'zero')}."
                )
        known = options.features
        if self.defined and known is not None:
            lacking = [term.name for term in of.terms if term.derived is None and term.name not in known]
            if lacking:
                raise ParameterError(
                    "features",
                    f"has no definition of {len(lacking)} of {len(of.terms)} selected features: {listed(lacking)}; "
                    "define each of them.",
                )
        for term in of.terms if self.takes_zero else ():
            text = json.dumps((options.features or {}).get(term.name), default=str)
            fills = [] if term.missing is None or '"modifier' in text or '"factor' in text else MISSING.findall(text)
            for value in fills:
                if np.float32(value) != np.float32(term.missing):
                    raise ParameterError(
                        "features",
                        f"The definition of {brief(term.name)} gives {value} for a missing value, but the model takes "
                        f"{term.missing!r}; write {term.missing!r} there.",
                    )

    def _instead_of(self, term: Feature) -> str:
        """Advice on a term that the engine cannot run."""
        if term.steps is not None:
            return (
                "Export to elasticsearch, opensearch, vespa, lucene, sql, onnx, python, "
                f"{', '.join(TREES)}, or train without steps ({option('penalty', 'mcp')})."
            )
        if not self.transforms:
            return f"Train with {option('penalties', 'steps')}."
        return (
            f"Export to solr, elasticsearch, vespa, lucene, sql, onnx or python, or train with "
            f"{option('transform', NONE)} and a linear scaling ({option('scaling', 'within-query-std')}). With "
            f"{option('engine', self.name)}, select trains such models."
        )
