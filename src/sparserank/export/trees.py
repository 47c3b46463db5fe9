"""Models of steps as trees with one split each, in the file formats of LightGBM, XGBoost and Solr: systems that load
trees can load these models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.linear_weights import Names, json_text
from sparserank.export.solr import definitions_for
from sparserank.export.terms import Sum, shown
from sparserank.model.feature import Feature
from sparserank.strict_json import Json

SLACK = np.float32(1e-6)  # Solr adds this to every threshold
ADD_UP = "trees add up, and contain their features by name"
LEAST_EDGE = 1e-35  # LightGBM reads smaller numbers as 0
LIGHTGBM_TREE = """Tree={i}
num_leaves=2
num_cat=0
split_feature={feature}
split_gain={gain!r}
threshold={edge!r}
decision_type={decision}
left_child=-1
right_child=-2
leaf_value={low!r} {high!r}
leaf_weight=1 1
leaf_count=1 1
internal_value=0
internal_weight=2
internal_count=2
is_linear=0
shrinkage=1

"""
END = "end of trees\n\nparameters:\n[objective: lambdarank]\nend of parameters\n\npandas_categorical:null\n"
# LightGBM's decision types: missing values are NaN and go to the left, or to the right
LIGHTGBM_LEFT = 10
LIGHTGBM_RIGHT = 8


def lightgbm(of: Sum, options: Options) -> Files:
    """Write model.txt. Like our steps, LightGBM's trees take the left leaf for values up to the threshold."""
    names, columns = _names(of, options, LIGHTGBM)
    for term, edge, *_ in _splits(of, options):
        if 0.0 < abs(edge) < LEAST_EDGE:
            raise DataError(f"LightGBM reads numbers below {LEAST_EDGE:g} as 0, such as {edge:g} of {shown(term)}.")
    trees = [
        LIGHTGBM_TREE.format(
            i=i,
            feature=term.index,
            gain=(high - low) ** 2,
            edge=edge,
            decision=LIGHTGBM_LEFT if left else LIGHTGBM_RIGHT,
            low=low,
            high=high,
        )
        for i, (term, edge, left, low, high) in enumerate(_splits(of, options))
    ]
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={of.n_features - 1}\nobjective=lambdarank\nfeature_names={' '.join(names)}\n"
        f"feature_infos={' '.join(['[-1e308:1e308]'] * of.n_features)}\n"
        f"tree_sizes={' '.join(str(len(tree.encode())) for tree in trees)}\n\n"
    )
    return {"model.txt": head + "".join(trees) + END, **columns}


def xgboost(of: Sum, options: Options) -> Files:
    """Write model.json, in the schema that XGBoost loads."""
    names, columns = _names(of, options, XGBOOST)
    trees: list[Json] = []
    for i, (term, threshold, left, low, high) in enumerate(_single_splits(of, options)):
        zero = [0, 0, 0]
        trees.append(
            {
                "id": i,
                "split_indices": [term.index, 0, 0],
                "split_conditions": [threshold, low, high],
                "base_weights": [0.0, low, high],
                "default_left": [int(left), 0, 0],
                "left_children": [1, -1, -1],
                "right_children": [2, -1, -1],
                "parents": [2**31 - 1, 0, 0],
                "loss_changes": [(high - low) ** 2, 0.0, 0.0],
                "sum_hessian": [2.0, 1.0, 1.0],
                "split_type": zero,
                **{key: [] for key in ("categories", "categories_nodes", "categories_segments", "categories_sizes")},
                "tree_param": _texts(num_deleted=0, num_feature=of.n_features, num_nodes=3, size_leaf_vector=1),
            }
        )
    forest = {
        "gbtree_model_param": _texts(num_parallel_tree=1, num_trees=len(trees)),
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": trees,
    }
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"name": "gbtree", "model": forest},
        "learner_model_param": _texts(
            base_score="0E0", boost_from_average=1, num_class=0, num_feature=len(names), num_target=1
        ),
        "objective": {"name": "rank:ndcg", "lambdarank_param": _texts(lambdarank_num_pair_per_sample=32)},
    }
    return {"model.json": json.dumps({"learner": learner, "version": [2, 1, 0]}) + "\n", **columns}


def xgboost_dump(of: Sum, options: Options) -> Files:
    """Write model.json, the list of trees that XGBoost dumps. Plugins of Elasticsearch and OpenSearch read it as a
    model of type model/xgboost+json, and Vespa's xgboost() as a file."""
    options.refuse(ADD_UP, "normalizers", "features", "sigmoid")
    trees = [
        {
            "nodeid": 0,
            "depth": 0,
            "split": term.name,
            "split_condition": threshold,
            "yes": 1,
            "no": 2,
            "missing": 1 if left else 2,
            "children": [{"nodeid": 1, "leaf": low}, {"nodeid": 2, "leaf": high}],
        }
        for term, threshold, left, low, high in _single_splits(of, options)
    ]
    return {"model.json": json.dumps(trees) + "\n"}


def solr_trees(of: Sum, options: Options) -> Files:
    """Write model.json for schema/model-store and, with `features`, features.json for schema/feature-store. In single
    precision, Solr takes the left leaf for values up to threshold + SLACK. The threshold is chosen such that this sum
    is the last float32 at or below an edge."""
    options.refuse(ADD_UP, "normalizers", "sigmoid")
    trees = []
    for term, above, _, low, high in _single_splits(of, options, "Solr"):
        last = np.nextafter(np.float32(above), np.float32(-np.inf))
        near = np.float32(last - SLACK)
        tried = (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf)))
        exact = [t for t in tried if t + SLACK == last]
        if not exact:
            raise DataError(
                f"Solr adds {float(SLACK):g} to every threshold, in single precision, which moves the edge near "
                f"{float(last):g} of {shown(term)}. Multiply the feature by a constant, and train again."
            )
        leaves = {"left": {"value": repr(low)}, "right": {"value": repr(high)}}
        trees.append({"weight": "1", "root": {"feature": term.name, "threshold": str(exact[0]), **leaves}})
    model = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "features": [{"name": t.name} for t in of.terms],
        "params": {"trees": trees},
    }
    definitions = [d for t in of.terms for d in definitions_for(t, options)]
    files: Files = {} if options.features is None else {"features.json": json_text(definitions)}
    return {**files, "model.json": json_text(model)}


def _texts(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _single_splits(
    of: Sum, options: Options, title: str = "XGBoost"
) -> Iterator[tuple[Feature, float, bool, float, float]]:
    """Like `_splits`, for engines that go left if float32(x) < threshold: the threshold is the next float32 above the
    edge.

    Raises
        DataError   edges are equal in single precision, or beyond it
    """
    known: set[tuple[int, float]] = set()
    for term, edge, *rest in _splits(of, options):
        threshold = float(_above(edge))
        if (term.index, threshold) in known:
            raise DataError(
                f"{title} computes in single precision, in which two edges near {edge!r} of {shown(term)} are equal. "
                "Rescale the feature (subtract a constant, or divide by one), and train again."
            )
        if not np.isfinite(threshold):
            raise DataError(
                f"{title} computes in single precision, which has no number above {edge:g} of {shown(term)}."
            )
        known.add((term.index, threshold))
        yield term, threshold, *rest  # type: ignore[misc]


def _above(edge: float) -> np.float32:
    """The smallest float32 above the edge."""
    near = np.float32(edge)
    return near if float(near) > edge else np.nextafter(near, np.float32(np.inf))


def _names(of: Sum, options: Options, engine: Engine) -> tuple[list[str], Files]:
    """(the names of all features, with _ in place of characters that the format does not allow; files). If this changes
    the name of a feature in use, the files contain columns.json: {name in the format: the column of the table, with the
    level of a category, or with a mark if the feature says whether the value is missing}.

    Raises
        DataError   an option cannot be written
    """
    options.refuse(ADD_UP, "normalizers", "features", "sigmoid")
    free = Names(of.names)
    names = [name if engine.takes(name) else free.fresh(engine.allowed(name)) for name in of.names]
    sources = {}
    for t in of.terms:
        source: Json = {"column": t.source}
        if t.derived is not None:
            source |= {"level": t.derived.level} if t.derived.level else {"missing": True}
        sources[names[t.index]] = source
    renamed = any(names[t.index] != t.name for t in of.terms)
    return names, {"columns.json": json_text(sources)} if renamed else {}


def _splits(of: Sum, options: Options) -> list[tuple[Feature, float, bool, float, float]]:
    """For each step: (term, edge, whether a missing value goes to the left, value of the left leaf, value of the right
    leaf). The leaves of the first tree contain the constants of the model."""
    out = []
    constant = of.constant + options.offset
    for term in of.terms:
        steps = term.heights
        assert steps is not None
        for edge, jump in zip(steps.edges.tolist(), np.diff(steps.values).tolist(), strict=True):
            out.append((term, edge, (term.missing or 0.0) <= edge, constant, constant + jump))
            constant = 0.0
    return out


LIGHTGBM = Engine("lightgbm", "LightGBM's text", lightgbm, transforms=(), steps=True, forbidden=' ,:"[]{}\t\n')
XGBOOST = Engine("xgboost", "XGBoost's JSON", xgboost, transforms=(), steps=True, forbidden="[]<")
XGBOOST_DUMP = Engine("xgboost-dump", "XGBoost's dump", xgboost_dump, transforms=(), takes_zero=True, steps=True)
SOLR_TREES = Engine("solr-trees", "Solr's trees", solr_trees, transforms=(), takes_zero=True, steps=True, defined=True)
