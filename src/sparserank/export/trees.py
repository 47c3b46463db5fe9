"""Steps as trees of one split, in the model files of LightGBM and XGBoost: what loads trees loads these models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sparserank.curves import StepCurve
from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.terms import Sum, Term
from sparserank.text import brief

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
LIGHTGBM_LEFT, LIGHTGBM_RIGHT = 10, 8  # NaN is missing, and goes to the left or right


def lightgbm(of: Sum, options: Options) -> Files:
    """Write model.txt. LightGBM takes the left leaf for values up to the threshold, as steps do."""
    names = _names(of, options, forbidden=' ,:"[]{}\t\n')
    for term, edge, *_ in _splits(of, options):
        if 0.0 < abs(edge) < LEAST_EDGE:
            raise DataError(f"LightGBM reads numbers below {LEAST_EDGE:g} as 0, such as {edge:g} of {term.shown}.")
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
    return {"model.txt": head + "".join(trees) + END}


def xgboost(of: Sum, options: Options) -> Files:
    """Write model.json, of the schema that XGBoost loads. It compares in single precision, and takes the left leaf for
    values below the threshold: the threshold is the next number of single precision above an edge."""
    names = _names(of, options, forbidden="[]<")
    trees: list[dict[str, Any]] = []
    known: set[tuple[int, np.float32]] = set()
    for i, (term, edge, left, low, high) in enumerate(_splits(of, options)):
        threshold = _above(edge)
        if (term.index, threshold) in known:
            raise DataError(
                f"XGBoost computes in single precision, in which two edges near {edge!r} of {term.shown} are equal. "
                "Subtract a constant from the feature, and train again."
            )
        known.add((term.index, threshold))
        if not np.isfinite(threshold):
            raise DataError(
                f"XGBoost computes in single precision, which has no number above {edge:g} of {term.shown}."
            )
        zero = [0, 0, 0]
        trees.append(
            {
                "id": i,
                "split_indices": [term.index, 0, 0],
                "split_conditions": [float(threshold), low, high],
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
        "feature_names": list(names),
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"name": "gbtree", "model": forest},
        "learner_model_param": _texts(
            base_score="0E0", boost_from_average=1, num_class=0, num_feature=len(names), num_target=1
        ),
        "objective": {"name": "rank:ndcg", "lambdarank_param": _texts(lambdarank_num_pair_per_sample=32)},
    }
    return {"model.json": json.dumps({"learner": learner, "version": [2, 1, 0]}) + "\n"}


def _texts(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _above(edge: float) -> np.float32:
    """The smallest number of single precision above the edge."""
    near = np.float32(edge)
    return near if float(near) > edge else np.nextafter(near, np.float32(np.inf))


def _names(of: Sum, options: Options, forbidden: str) -> list[str]:
    """The names of all features.

    Raises
        DataError   a name, or an option, cannot be written
    """
    options.refuse("trees add up, and contain their features by name", "normalizers", "features", "sigmoid")
    odd = next((name for name in of.names if not name or any(c in forbidden for c in name)), None)
    if odd is not None:
        raise DataError(
            f"{brief(odd)} cannot be the name of a feature in this format. Rename the column and train again."
        )
    return list(of.names)


def _splits(of: Sum, options: Options) -> list[tuple[Term, float, bool, float, float]]:
    """(term, edge, whether a missing value is on the left, left leaf, right leaf) of each step; the first tree contains
    the constants of the model."""
    out, constant = [], of.constant + options.offset
    for term in of.terms:
        assert isinstance(term.curve, StepCurve)
        for edge, jump in zip(term.curve.edges.tolist(), np.diff(term.curve.values).tolist(), strict=True):
            out.append((term, edge, (term.fill or 0.0) <= edge, constant, constant + jump))
            constant = 0.0
    return out


LIGHTGBM = Engine("lightgbm", "LightGBM's text", lightgbm, transforms=(), curves=False, steps=True)
XGBOOST = Engine("xgboost", "XGBoost's JSON", xgboost, transforms=(), curves=False, steps=True)
