"""The result of `select(for_model=)`: sentences, tables and files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparserank import __version__
from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.trees import Trees, TreeSettings
from sparserank.evaluation import Comparison
from sparserank.lazy import cached_property
from sparserank.selection.claims import FIRST, Claim, claims_of_choice, counted, headline
from sparserank.selection.facts import Row, model_row
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.result_files import write_lists
from sparserank.strict_json import plain
from sparserank.workdir.directory import WorkDirectory

ALL = "trees on all features"
FORMAT, FORMAT_VERSION = "sparserank-trees-selection", 6


@dataclass(frozen=True, repr=False)
class TreesSelection:
    """The result of `select(for_model=)`.

    Attributes
    ----------
    choice : Choice
        The choice among lists and sizes.
    all_features : Candidate
        The trees on all features, which are also a candidate.
    trees : Trees
        The trees on the chosen list, fitted to all queries.
    test : Comparison or None
        `trees` and the trees on all features, compared on the test queries.
    notes : tuple of str
        Settings that are not used.
    facts : dict
        Plain rows about `features`, `lists` and `sizes`, from which screen, report, JSON and frames pick columns.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> found = sr.select(data, for_model="lightgbm", k=2, sizes=[2], cv=2)
    >>> found.all_features.k
    6
    """

    plan: SelectionPlan
    settings: TreeSettings
    choice: Choice
    all_features: Candidate
    trees: Trees
    feature_names: tuple[str, ...]
    n_queries: int
    test: Comparison | None
    fill_values: np.ndarray | None = None  # (n_features,) replace missing values in scoring; NaN: no replacement
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Name of the metric by which the choice is made, with its convention."""
        return repr(self.plan.metric)

    @property
    def chosen(self) -> Candidate:
        return self.choice.chosen

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features to keep, in descending order of their gain in `trees`."""
        return tuple(self.feature_names[j] for j in self.trees.by_gain())

    @property
    def gains(self) -> np.ndarray:
        """(len(features),) share of the total gain of `trees`."""
        gain = np.sort(self.trees.booster.feature_importance(importance_type="gain"))[::-1]
        return gain / max(float(gain.sum()), 1e-300)

    @property
    def by_size(self) -> list[Candidate]:
        """The best list of at most each length (or cost, if groups were given), where it is better than a shorter
        one."""
        return [c for c in self.choice.by_size if c is not self.all_features]

    @cached_property
    def claims(self) -> list[Claim]:
        """What the data support: what to keep, its loss, and the value of all features."""
        choice, everything, noun = self.choice, self.all_features, "feature"
        kept = f"{self.chosen.n_features} of {counted(len(self.feature_names))}"
        text = f"Trees on the chosen list have {self.metric} {self.chosen.mean:.4f} out of fold"
        if self.chosen is not everything:
            text += (
                f"; trees on all {everything.n_features} features that vary and may be used have {everything.mean:.4f}"
            )
        expected = f"Expected on new queries: {choice.corrected_chosen:.4f}." if choice.is_corrected else ""
        found = [
            Claim("keep", kept, rank=FIRST, said=f"Keep {kept}: {self.chosen.label}."),
            *claims_of_choice(choice, self.metric, len(self.feature_names), noun),
            Claim("mean", said=f"{text}."),
            Claim("expected", said=expected),
        ]
        return [claim for claim in found if claim.text]

    @property
    def headline(self) -> str:
        """The features to keep and the bound on the loss, in one line."""
        return headline(self.claims)

    @property
    def sentences(self) -> list[str]:
        """The choice, the bound on its loss, the effects that the queries can show, and the value of all features."""
        return [claim.text for claim in self.claims]

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        return f"TreesSelection({self.headline})"

    @cached_property
    def facts(self) -> dict[str, list[Row]]:
        """Plain rows, from which screen, report, JSON and frames pick columns.

        features   the features to keep, with their share of the `gain`
        lists      every list and length
        sizes      the best list of each length, and all features
        """
        gains = zip(self.features, self.gains.tolist(), strict=True)
        return {
            "features": [{"feature": feature, "gain": gain} for feature, gain in gains],
            "lists": [self._row(c) for c in self.choice.candidates],
            "sizes": [{"label": c.label, **self._row(c)} for c in (*self.by_size, self.all_features)],
        }

    def sizes(self) -> Any:
        """Every list and length: list, k, n_features (of the final list), cost, mean of the metric, mean loss against
        the best, the bound on that loss (simultaneous), and whether it is the chosen one."""
        return frame_of(self.facts["lists"])

    def _row(self, c: Candidate) -> Row:
        row = model_row(self.choice, c, ("k", "n_features", "cost", "mean"))
        return {"list": c.penalty, **row, "chosen": c is self.chosen}

    def to_json(self) -> dict[str, Any]:
        """The content of result.json (docs/result-json.md)."""
        plan, choice = self.plan, self.choice
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "sparserank": __version__,
            "headline": self.headline,
            "sentence": self.sentence,
            "sentences": self.sentences,
            "metric": self.metric,
            "n_queries": self.n_queries,
            "n_features": len(self.feature_names),
            "seed": plan.random_state,
            "confidence": plan.confidence,
            "margin_kind": choice.margin_kind,
            "margin": {"relative": plan.rule.largest_loss, "absolute": choice.margin},
            "trees": {
                "n_trees": self.settings.n_trees,
                "parameters": self.settings.parameters,
                "categorical": list(self.settings.categorical),
                "columns": [self.feature_names[j] for j in self.trees.columns],
                "missing": [
                    None if self.fill_values is None or np.isnan(self.fill_values[j]) else float(self.fill_values[j])
                    for j in self.trees.columns
                ],
            },
            "notes": list(self.notes),
            "features": self.facts["features"],
            "chosen": self._row(self.chosen),
            "corrected": {"chosen": choice.corrected_chosen if choice.is_corrected else None},
            "all_features": self._row(self.all_features),
            "lists": [self._row(c) for c in choice.candidates if c is not self.all_features],
            "test": None if self.test is None else self.test.rows(plan.confidence),
        }
        out: dict[str, Any] = plain(content)
        return out

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write features.txt, trees.txt, result.json and report.html.

        features.txt has one name per line; trees.txt is LightGBM's model file of the trees on these features.

        Parameters
        ----------
        folder : path
            A new or empty folder, or one that this method created.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        RunDirectoryError
            The folder contains other files, or cannot be written.
        """
        with WorkDirectory(folder, "for_model") as directory:
            return write_lists(self, directory.path)
