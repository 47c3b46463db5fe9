"""Settings of the user's trees, from a model file of LightGBM or a file of its parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparserank.crossval.trees import BY_FEATURE, INTERACTIONS, TreeSettings
from sparserank.data.read_files import LIGHTGBM_FIRST_LINE
from sparserank.errors import DataFormatError
from sparserank.files import StrPath
from sparserank.text import brief

LARGEST_FILE = 1 << 28  # bytes
LEARNING = {  # {parameter that affects which trees are grown: its aliases in LightGBM}
    "alpha": (),
    "bagging_by_query": (),
    "bagging_fraction": ("sub_row", "subsample", "bagging"),
    "bagging_freq": ("subsample_freq",),
    "bin_construct_sample_cnt": ("subsample_for_bin",),
    "boost_from_average": (),
    "boosting": ("boosting_type", "boost"),
    "cat_l2": (),
    "cat_smooth": (),
    "cegb_penalty_split": (),
    "cegb_tradeoff": (),
    "fair_c": (),
    INTERACTIONS: (),
    "is_unbalance": ("unbalance", "unbalanced_sets"),
    "monotone_constraints_method": ("mc_method", "monotone_constraining_method"),
    "monotone_penalty": ("mc_penalty", "ms_penalty", "monotone_splits_penalty"),
    "neg_bagging_fraction": ("neg_bagging", "neg_sub_row", "neg_subsample"),
    "poisson_max_delta_step": (),
    "pos_bagging_fraction": ("pos_bagging", "pos_sub_row", "pos_subsample"),
    "reg_sqrt": (),
    "scale_pos_weight": (),
    "tweedie_variance_power": (),
    "data_sample_strategy": (),
    "drop_rate": ("rate_drop",),
    "enable_bundle": ("is_enable_bundle", "bundle"),
    "extra_trees": ("extra_tree",),
    "feature_fraction": ("sub_feature", "colsample_bytree"),
    "feature_fraction_bynode": ("sub_feature_bynode", "colsample_bynode"),
    "feature_pre_filter": (),
    "label_gain": (),
    "lambda_l1": ("reg_alpha", "l1_regularization"),
    "lambda_l2": ("reg_lambda", "lambda", "l2_regularization"),
    "lambdarank_norm": (),
    "lambdarank_truncation_level": (),
    "learning_rate": ("shrinkage_rate", "eta"),
    "linear_lambda": (),
    "linear_tree": ("linear_trees",),
    "max_bin": ("max_bins",),
    "max_cat_threshold": (),
    "max_cat_to_onehot": (),
    "max_delta_step": ("max_tree_output", "max_leaf_output"),
    "max_depth": (),
    "max_drop": (),
    "min_data_in_bin": (),
    "min_data_in_leaf": ("min_data_per_leaf", "min_data", "min_child_samples", "min_samples_leaf"),
    "min_data_per_group": (),
    "min_gain_to_split": ("min_split_gain",),
    "min_sum_hessian_in_leaf": ("min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian", "min_child_weight"),
    "num_leaves": ("num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
    "objective": ("objective_type", "app", "application", "loss"),
    "other_rate": (),
    "num_grad_quant_bins": (),
    "path_smooth": (),
    "quant_train_renew_leaf": (),
    "sigmoid": (),
    "skip_drop": (),
    "stochastic_rounding": (),
    "top_rate": (),
    "uniform_drop": (),
    "use_missing": (),
    "use_quantized_grad": (),
    "xgboost_dart_mode": (),
    "zero_as_missing": (),
    **BY_FEATURE,
}
FLAGS = (  # parameters above that a model file writes as 0 and 1
    *("bagging_by_query", "boost_from_average", "enable_bundle", "extra_trees", "feature_pre_filter"),
    *("lambdarank_norm", "linear_tree", "uniform_drop", "use_missing", "xgboost_dart_mode", "zero_as_missing"),
    *("quant_train_renew_leaf", "stochastic_rounding", "use_quantized_grad", "is_unbalance", "reg_sqrt"),
)
LIGHTGBM_ROUNDS = 100  # if a file does not give the number of trees
ROUNDS = (
    *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds", "nrounds"),
    *("num_boost_round", "n_estimators", "max_iter"),
)
CATEGORICAL = ("categorical_feature", "cat_feature", "categorical_column", "cat_column", "categorical_features")
STOPPING = {  # parameters that would require the held-out queries in training
    "early stopping": ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"),
    "metrics": ("metric", "metrics", "metric_types", "eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at"),
    "validation data": ("valid", "test", "valid_data", "valid_data_file", "test_data", "test_data_file"),
}
CHOSEN_HERE = re.compile(  # ignored parameters: files, machines, seeds, columns, output
    r".*seed.*|random_(state|type)|data|train.*|.*thread.*|n_jobs|verbos.*|device.*|gpu_.*|.*machine.*|tree_learner"
    r"|task.*|.*metric.*|output_.*|snapshot_.*|save.*|.*header.*|(label|group|query)(_.*)?|deterministic|force_.*_wise"
    r"|histogram_pool_size|first_metric_only|early_stopping_min_delta|valid_.*|two_round|pre_partition|pred(ict)?_.*"
    r"|convert_.*|config.*|importance_type|.*sparse"
)
OF_FILES = ("forcedsplits_filename", "forcedbins_filename")  # parameters in a model file that refer to other files
CANONICAL = {alias: name for name, aliases in LEARNING.items() for alias in (name, *aliases)}
# Objectives of the user's own code, of XGBoost, and those that give a score for each class.
REFUSED_OBJECTIVES = re.compile("custom|none|null|na|.*:.*|multi.*|softmax|ova|ovr")


@dataclass(frozen=True)
class TreeFile:
    """features: names of the features in a model file, () if the file contains only parameters; constant: those of
    them that had one value in training; categories: the lists of categories that pandas had in training, without the
    names of their columns; said: the parts of the file that are not used."""

    settings: TreeSettings
    features: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    categories: tuple[tuple[Any, ...], ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The features, and the categories that are no features of a model file."""
        return tuple(dict.fromkeys([*self.features, *self.settings.categorical]))


def read_tree_file(path: StrPath) -> TreeFile:
    """Read settings from a model file of LightGBM (as it saves them), or from a file of its parameters:
    lines `name = value`, or a JSON object.

    Raises
        DataFormatError   it is neither, cut off or too large
    """
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise DataFormatError(f"{file}: is larger than {LARGEST_FILE >> 20} MB; give a file of parameters instead.")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "is not text"
        raise DataFormatError(
            f"{file}: cannot be read ({why}); give a model that LightGBM saved, or a file of its parameters."
        ) from error
    return _of_model(file, text) if text.startswith(f"{LIGHTGBM_FIRST_LINE}\n") else _of_parameters(file, text)


def refuse_objective(file: StrPath, settings: TreeSettings) -> None:
    """Raise DataFormatError if trees of this objective cannot be trained."""
    objective = settings.parameters["objective"]
    if REFUSED_OBJECTIVES.fullmatch(objective):
        raise DataFormatError(
            f"{file}: trees of the objective {brief(objective)} cannot be trained here; use one of LightGBM's that "
            "gives one score for each document, such as lambdarank."
        )


def _of_model(file: Path, text: str) -> TreeFile:
    head, _, rest = text.partition("\nTree=0\n")
    lines = dict(line.partition("=")[::2] for line in head.splitlines() if "=" in line)
    listed = re.findall(r"^\[(\w+): ?(.*)\]$", text.partition("\nparameters:\n")[2], re.MULTILINE)
    trees = re.split(r"\nTree=\d+\n", rest.partition("\nend of trees")[0])
    sizes = [str(len(f"Tree={i}\n{tree}\n".encode())) for i, tree in enumerate(trees)]
    whole = "\nend of parameters" in text and lines.get("tree_sizes", "").split() == sizes
    if not lines.get("feature_names", "").split() or not listed or not whole:
        raise DataFormatError(
            f"{file}: is a LightGBM model that is cut off: features, trees or parameters are missing; save it again."
        )
    names = tuple(lines["feature_names"].split())
    n_trees = len(trees) // int(lines.get("num_tree_per_iteration", "1") or 1)
    infos = dict(zip(names, lines.get("feature_infos", "").split(), strict=False))
    categorical = tuple(n for n, info in infos.items() if ":" in info and not info.startswith("["))
    given = {name: value for name, value in listed if value and name not in CATEGORICAL}
    flags = {"0": "false", "1": "true"}
    own = {n: flags.get(value, value) if n in FLAGS else value for n, value in given.items() if n in LEARNING}
    stopped = {name: value for name, value in given.items() if name.startswith("early_stopping_round")}
    said = _left_out(stopped, [name for name in OF_FILES if name in given])
    constant = tuple(n for n, info in infos.items() if info == "none")
    try:
        lists = json.loads(text.partition("\npandas_categorical:")[2] or "null") or ()
        categories = tuple(map(tuple, lists))
    except (ValueError, TypeError, RecursionError) as error:
        raise DataFormatError(f"{file}: its last line, the categories of pandas, is damaged; save it again.") from error
    return TreeFile(_settings(file, own, max(n_trees, 1), categorical), names, said, constant, categories)


def _of_parameters(file: Path, text: str) -> TreeFile:
    given = _listed(file, text)
    rounds = next((given[name] for name in ROUNDS if name in given), str(LIGHTGBM_ROUNDS))
    try:
        n_trees = int(rounds)
    except (ValueError, OverflowError) as error:
        raise DataFormatError(f"{file}: the number of trees must be an integer; got {brief(rounds)}.") from error
    named = next((given[name] for name in CATEGORICAL if given.get(name)), "")
    if named == "auto":
        named = ""
    numbers = [c for c in named.removeprefix("name:").split(",") if re.fullmatch(r"\s*\d+\s*", c)]
    if numbers and not named.startswith("name:"):
        raise DataFormatError(
            f"{file}: categorical features must be given by name (categorical_feature = name:a,b); got {brief(named)}."
        )
    own = {CANONICAL[name]: value for name, value in given.items() if name in CANONICAL}
    for name in own:
        spelled = [other for other in given if CANONICAL.get(other) == name]
        if len(spelled) > 1:
            raise DataFormatError(f"{file}: {' and '.join(spelled)} are aliases of one parameter; give only one.")
    known = {*CANONICAL, *ROUNDS, *CATEGORICAL, *(name for names in STOPPING.values() for name in names)}
    others = [name for name in given if name not in known and not CHOSEN_HERE.fullmatch(name)]
    if not own and len(others) == len(given):
        raise DataFormatError(f"{file}: is neither a model that LightGBM saved nor a file of its parameters.")
    categories = tuple(filter(None, named.removeprefix("name:").split(",")))
    return TreeFile(_settings(file, own, n_trees, categories), said=_left_out(given, others))


def _listed(file: Path, text: str) -> dict[str, str]:
    """{name: value} of a file of parameters."""
    if text.lstrip().startswith("{"):
        try:
            held = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(f"{file}: is not a JSON object of parameters: {brief(str(error))}.") from error
        if "tree_info" in held:
            raise DataFormatError(
                f"{file}: is a model that was dumped as JSON; pass one that LightGBM saved (save_model)."
            )
        odd = next((name for name, value in held.items() if isinstance(value, dict)), None)
        if odd is not None:
            raise DataFormatError(f"{file}: {brief(odd)} must be a number, a string or a list of these.")
        return {str(name): _value(value) for name, value in held.items() if value is not None}
    out = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, equals, value = (part.strip() for part in line.partition("#")[0].partition("="))
        if name and not equals:
            raise DataFormatError(f"{file}:{number}: expected 'name = value'; got {brief(line.strip())}.")
        if name in out:
            raise DataFormatError(f"{file}:{number}: {brief(name)} appears twice.")
        if name:
            out[name] = value
    return out


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(f"[{_value(v)}]" if isinstance(v, list) else _value(v) for v in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _settings(file: Path, own: Mapping[str, str], n_trees: int, categorical: Iterable[str]) -> TreeSettings:
    if n_trees < 1:
        raise DataFormatError(f"{file}: the number of trees must be an integer >= 1; got {n_trees}.")
    return TreeSettings(n_trees, tuple(sorted(own.items())), tuple(categorical))


def _left_out(given: Mapping[str, str], others: Iterable[str]) -> tuple[str, ...]:
    """Sentences on the parts that are not used."""
    stopping = [what for what, names in STOPPING.items() if any(given.get(n) not in (None, "", "0") for n in names)]
    said = [f"{', '.join(stopping)}: the number of trees is fixed"] if stopping else []
    unused = sorted(others)
    if unused:
        said.append(brief(", ".join(unused[:5]) + (" ..." if len(unused) > 5 else "")))
    return tuple(said)
