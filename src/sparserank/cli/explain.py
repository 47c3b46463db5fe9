"""`sparserank explain`: why the documents of a query rank where they do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from sparserank.cli.output import give
from sparserank.cli.reading import columns_of_run, documents_for, model_of, require, require_no_reading
from sparserank.cli.screen import say, table
from sparserank.text import figure, signed

SIDES = ("above", "below")
HELP = """Explain the ranking of a query: the contribution of each feature, and why one document is above another. Or \
explain the model in words.

A score is a sum over features, so the explanation is exact. The contribution of a feature is \
the amount that it adds to the score, minus the mean of this amount over the query.

[bold]Examples[/bold]

  sparserank explain run/model.json test.txt --query 18219

  sparserank explain run/model.json test.txt --query 18219 --pair GX020-25-8391882 --pair GX037-06-11625428

  sparserank explain run/model.json --plain

With a model of sparserank fuse, the files are runs of its retrievers:

  sparserank explain fused bm25.run dense.run --query 1037798
"""


def run(
    *,
    model: Path,
    data: list[Path] | None = None,
    query: str | None = None,
    plain: bool = False,
    pair: list[str] | None = None,
    most: int = 10,
    missing: str | None = None,
    **options: Any,
) -> None:
    """Options are those of `Reading`."""
    from sparserank.data.read_files import TABLES, kind_of
    from sparserank.data.tables.batches import open_table
    from sparserank.data.tables.roles import LABEL
    from sparserank.export.explanation import explain_query
    from sparserank.export.fusion import explain_fused
    from sparserank.model.fusion import formula_of, is_fusion
    from sparserank.model.in_words import in_words
    from sparserank.model.table_columns import REQUEST

    if plain:
        require(
            not data and query is None and pair is None, "--plain", "explains the model, and takes no data or query."
        )
        words = in_words(model_of(model, missing))
        give(words, [{"feature": feature, "sentence": sentence} for feature, sentence in words.items()])
        for sentence in words.values() if words else ["the model uses no feature."]:
            say(sentence)
        return
    if not data or query is None:
        raise click.BadParameter("is needed, and the files that contain the query; or --plain.", param_hint="--query")
    require(pair is None or len(pair) == 2, "--pair", "must be used twice, once for each document.")
    loaded = model_of(model, missing)
    fused = is_fusion(loaded)
    if fused:
        require_no_reading(**options, missing=missing)
        explanation = explain_fused(formula_of(loaded), list(map(str, data)), query)
        labelled = False
    else:
        options |= columns_of_run([model], data, options)
        column = options.get("label") or LABEL
        kind = kind_of(data[0])
        has_labels = kind not in TABLES or column in open_table(data[0], kind).schema.names
        labelled = has_labels and REQUEST not in loaded.parameters  # search responses have no labels
        options = {"unjudged": "zero", **options}
        documents_of = documents_for([loaded], [model], data, options, missing=missing, labelled=labelled)
        explanation = explain_query(loaded, documents_of, query)
    compared = None if pair is None else explanation.pair(*pair)
    documents = []
    by_feature = []
    rows = []
    for i, name in enumerate(explanation.documents[:most]):
        label = float(explanation.relevance[i]) if labelled else None
        score = float(explanation.scores[i])
        shown = {"document": name, "label": label, "score": score}
        parts = dict(zip(explanation.features, explanation.contributions[i].tolist(), strict=True))
        documents.append({**shown, "contributions": parts})
        by_feature += [{**shown, "feature": feature, "contribution": value} for feature, value in parts.items()]
        drivers = ", ".join(f"{feature} {signed(value)}" for feature, value in explanation.drivers(i))
        rows.append([name, "-" if label is None else f"{label:g}", figure(score), drivers])
    give({"query": explanation.query, "documents": documents, "pair": compared}, compared or by_feature)
    if pair is None or compared is None:
        table(
            f"Query {explanation.query}: {len(explanation.documents)} documents; "
            "largest contributions, relative to their mean",
            ["document", "label", "score", "retrievers" if fused else "features"],
            rows,
        )
        return

    table(
        f"Query {explanation.query}: {'ranks of ' if fused else ''}{pair[0]} compared with {pair[1]}",
        ["retriever" if fused else "feature", pair[0], pair[1], "adds"],
        [[r["feature"], *(_value(r[of], r[f"{of}_step"]) for of in SIDES), signed(r["difference"])] for r in compared],
    )
    total = sum(r["difference"] for r in compared)
    higher = f"total {signed(total)}: {pair[total < 0]} is ranked higher."
    say(higher if total else "total 0: a tie.")


def _value(value: float | str, step: tuple[float | None, float | None] | None) -> str:
    """A value as text, followed by the step on which it lies if the feature has steps."""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "-"
    if step is None:
        return f"{value:.6g}"
    low, high = step
    where = f"up to {high:.4g}" if low is None else f"above {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"
    return f"{value:.6g} (step {where})"
