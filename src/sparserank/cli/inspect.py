"""`sparserank inspect`: what a data file or a model file holds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.output import give
from sparserank.cli.screen import announce_compiling, say, table

if TYPE_CHECKING:
    import numpy as np

    from sparserank.data.dataset import RankingDataset
    from sparserank.model import RankingModel

HELP = """Show what data files, a store or a model file hold.

[bold]Examples[/bold]

  sparserank inspect train.txt

  sparserank inspect run/model.json

  sparserank inspect store/ --verify
"""


def inspect(
    files: Annotated[
        list[Path], typer.Argument(help="Data files (read as one set), a store, or one model file.", show_default=False)
    ],
    n_features: opt.NFeatures = None,
    missing: opt.Missing = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    feature_names: opt.FeatureNames = None,
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read a store whole and compare every checksum.")] = False,
) -> None:
    reading = opt.reading_of(
        n_features=n_features, missing=missing, index_base=index_base, unjudged=unjudged, feature_names=feature_names,
        label_column=label_column, qid_column=qid_column, docid_column=docid_column, feature_columns=feature_columns, ignore_columns=ignore_columns,
    )  # fmt: skip
    if len(files) == 1 and files[0].suffix == ".json":
        _model(files[0])
        return
    import numpy as np

    from sparserank.data._letor_kernels import parse_lines
    from sparserank.data.kinds import kind_of
    from sparserank.data.matrices import with_zeros
    from sparserank.data.missing import KEEP
    from sparserank.data.read import read_files
    from sparserank.data.store import open_store
    from sparserank.losses import SquaredHinge

    for file in files if verify else []:
        opt.require(kind_of(file) == "store", "--verify", f"is for stores; {file} is none.")
        open_store(file, verify=True)
        say(f"{file}: every file is as it was written")
    announce_compiling(parse_lines)
    data = read_files(files, replace(reading, missing=KEEP) if reading.missing is None else reading)
    share = _missing(data)
    holes = {data.feature_names[j]: float(share[j]) for j in np.argsort(-share, kind="stable") if share[j] > 0}  # type: ignore[index]
    if holes:
        data = replace(data, X=with_zeros(data.X), keep_missing=False)
    sizes = np.diff(data.query_ptr)
    pairs = SquaredHinge().n_pairs(data.relevance, data.query_ptr)
    labels, counts = np.unique(data.relevance, return_counts=True)
    shown = ", ".join(f"{v:g}: {c}" for v, c in zip(labels[:10], counts[:10], strict=True)) + (
        " ..." if len(labels) > 10 else ""
    )
    constant = np.array(data.feature_names)[data.constant_features()]
    facts = {
        "files": [str(f) for f in files], "n_docs": data.n_docs, "n_queries": data.n_queries, "smallest_query": int(sizes.min()),
        "largest_query": int(sizes.max()), "queries_without_pair": int((pairs == 0).sum()), "n_pairs": float(pairs.sum()),
        "labels": {f"{v:g}": int(c) for v, c in zip(labels, counts, strict=True)}, "n_features": data.n_features, "sparse": data.is_sparse,
        "dtype": str(data.X.dtype), "stored": data.is_stored, "constant_features": constant.tolist(), "document_ids": data.docid is not None, "missing": holes,
        "feature_names": list(data.feature_names or ()),
    }  # fmt: skip
    give(facts, [{"fact": name, "value": _shown(value)} for name, value in facts.items()])
    table(
        f"{' '.join(str(f) for f in files)}",
        ["", ""],
        [
            ["documents", str(data.n_docs)],
            ["queries", f"{data.n_queries} ({sizes.min()} to {sizes.max()} documents, median {np.median(sizes):g})"],
            ["queries without a preferred pair", str(int((pairs == 0).sum()))],
            ["preferred pairs", f"{pairs.sum():.0f}"],
            ["labels", shown],
            ["features", f"{data.n_features} ({'sparse' if data.is_sparse else 'dense'})"],
            *(
                [["on disk", f"{data.X.nbytes / 1e6:.1f} MB of {data.X.dtype} in {len(data.X.parts)} shards"]]
                if data.is_stored
                else []
            ),
            [
                "constant within every query",
                f"{len(constant)}" + (f": {', '.join(constant[:20])}" if len(constant) else ""),
            ],
            [
                "missing values",
                ", ".join(f"{name} {100 * part:.3g}%" for name, part in list(holes.items())[:20]) or "none",
            ],
            ["document ids", "yes" if data.docid is not None else "no"],
        ],
    )


def _model(path: Path) -> None:
    from sparserank.model_file import load_model

    model = load_model(path)
    facts = " ".join(f"{key}={value}" for key, value in {**model.parameters, **model.metadata}.items())
    content = model.to_json()
    give(content, [{name: f[name] for name in f if name != "curve"} for f in content["features"]])
    knows = model.fill_values is not None
    table(
        f"{path}: {len(model.support)} of {model.n_features} features, scaling {model.scaling.method}",
        ["feature", "weight", "enters as", "center", "scale", "weight on raw values", *(["a missing value is"] if knows else [])],
        [
            [model.feature_names[j], f"{model.coef[j]:.6g}", _shape(model, j), f"{model.scaling.center[j]:.6g}", f"{model.scaling.scale[j]:.6g}",
             "-" if model.scaling.logarithmic or model.scaling.per_query or _shape(model, j) != "it is" else f"{model.coef[j] / model.scaling.scale[j]:.6g}", *([_fill(model, j)] if knows else [])]
            for j in sorted(model.support, key=lambda j: -abs(model.coef[j]))
        ],
    )  # fmt: skip
    if model.curves:
        table(
            "curves: what each adds to the score at its knots (of the transformed feature); straight between, flat outside",
            ["feature", "lowest", "highest", "knot: adds"],
            [
                [model.feature_names[j], f"{min(v):.4g}", f"{max(v):.4g}", ", ".join(f"{x:.4g}: {y:.4g}" for x, y in zip(k, v, strict=True))]
                for j, k, v in (
                    (j, model.curves[j].knots.tolist(), (model.coef[j] * model.curves[j].values).tolist())
                    for j in sorted(model.support.tolist(), key=lambda j: -abs(model.coef[j]))
                    if j in model.curves
                )
            ],
        )  # fmt: skip
    say(facts)


def _missing(data: RankingDataset) -> np.ndarray:
    """(n_features,) share of the documents in which a value is missing."""
    import numpy as np
    import scipy.sparse as sp

    if data.is_stored:  # nothing is missing there
        return np.zeros(data.n_features)
    if sp.issparse(data.X):
        return np.bincount(data.X.indices[np.isnan(data.X.data)], minlength=data.n_features) / data.n_docs
    return np.asarray(np.isnan(data.X).mean(axis=0))


def _fill(model: RankingModel, j: int) -> str:
    """What a missing value of feature j becomes."""
    value = math.nan if model.fill_values is None else float(model.fill_values[j])
    return "refused" if math.isnan(value) else f"{value:.6g}"


def _shown(value: Any) -> str:
    """A fact in one cell of a table."""
    if isinstance(value, dict):
        return " ".join(f"{k}:{v}" for k, v in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shape(model: RankingModel, j: int) -> str:
    """What becomes of a feature before it is weighed."""
    transform, shape = model.transform_of(j), model.shape_of(j)
    if shape == "linear":
        return "it is" if transform == "none" else transform
    return shape if transform == "none" else f"{shape} of its {transform}"
