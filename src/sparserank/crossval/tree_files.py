"""Settings of the user's trees, from a model file of LightGBM or a file of its parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparserank.crossval.trees import TreeSettings, lightgbm_here, saved_booster
from sparserank.data.read_files import LIGHTGBM_FIRST_LINE
from sparserank.errors import DataFormatError
from sparserank.files import StrPath
from sparserank.text import brief

LARGEST_FILE = 1 << 28  # bytes
LIGHTGBM_ROUNDS = 100  # if a file does not give the number of trees
ROUNDS, CATEGORICAL = "num_iterations", "categorical_feature"
STOPPING = {  # parameters that would require the held-out queries in training
    "early stopping": ("early_stopping_round",),
    "metrics": ("metric", "eval_at"),
    "validation data": ("valid",),
}
CHOSEN_HERE = re.compile(  # ignored parameters: files, machines, seeds, columns, prediction, output
    r".*seed|data|config|task|header|deterministic|device_type|gpu_.*|num_gpu|num_threads|verbosity|force_.*_wise"
    r"|.*machines|machine_list_filename|local_listen_port|time_out|tree_learner|top_k|(group|label)_column"
    r"|is_enable_sparse|pre_partition|two_round|histogram_pool_size|parser_config_file|precise_float_parser"
    r"|pred(ict)?_.*|.*_predict|convert_model.*|output_.*|save.*|snapshot_freq|refit_decay_rate|importance_type"
    r"|early_stopping_min_delta|first_metric_only|metric_freq|is_provide_training_metric|multi_error_top_k"
)
OF_FILES = ("forcedsplits_filename", "forcedbins_filename")  # parameters that refer to other files
NOT_USED = (  # ignored parameters that a note names
    *OF_FILES,
    *("auc_mu_weights", "ignore_column", "input_model", "lambdarank_position_bias_regularization", "num_class"),
    "weight_column",
)
# Objectives of the user's own code, of XGBoost, and those that give a score for each class.
REFUSED_OBJECTIVES = re.compile("custom|none|null|na|.*:.*|multi.*|softmax|ova|ovr")


@dataclass(frozen=True)
class TreeFile:
    """The content of a model file of LightGBM, or of a file of its parameters.

    features     names of the features in a model file; () for a file of parameters
    unused       the parts of the file that are not used, in words
    constant     features that had one value in training
    categories   the lists of categories that pandas had in training, without the names of their columns
    """

    settings: TreeSettings
    features: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
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


def names_of_parameters() -> dict[str, str]:
    """{name or alias of a parameter of LightGBM: its name}

    Raises
        DataError   LightGBM is missing
    """
    aliases = lightgbm_here().basic._ConfigAliases._get_all_param_aliases()
    return {alias: name for name, others in aliases.items() for alias in (name, *others)}


def _of_model(file: Path, text: str) -> TreeFile:
    # LightGBM ends the process if a tree is incomplete, so that is found first.
    head, _, rest = text.partition("\nTree=0\n")
    lines = dict(line.partition("=")[::2] for line in head.splitlines() if "=" in line)
    trees = re.split(r"\nTree=\d+\n", rest.partition("\nend of trees")[0])
    sizes = [str(len(f"Tree={i}\n{tree}\n".encode())) for i, tree in enumerate(trees)]
    if "\nend of parameters" not in text or lines.get("tree_sizes", "").split() != sizes:
        raise DataFormatError(
            f"{file}: is a LightGBM model that is cut off: features, trees or parameters are missing; save it again."
        )
    unreadable = lightgbm_here().basic.LightGBMError, ValueError  # the latter: the last line, the categories of pandas
    try:
        booster = saved_booster(file)
        infos = booster.dump_model(num_iteration=1)["feature_infos"]
    except unreadable as error:
        raise DataFormatError(f"{file}: LightGBM cannot read it ({brief(str(error))}); save it again.") from error
    parameters = {name: _value(value) for name, value in booster.params.items() if value not in ("", [])}
    learning = _learning(parameters, names_of_parameters())
    n_trees = booster.num_trees() // booster.num_model_per_iteration()
    names = tuple(booster.feature_name())
    categorical = tuple(n for n in names if n in infos and infos[n]["values"])
    constant = tuple(n for n in names if n not in infos)
    categories = tuple(map(tuple, booster.pandas_categorical or ()))
    stopped = {name: value for name, value in parameters.items() if name in STOPPING["early stopping"]}
    unused = _left_out(stopped, [name for name in OF_FILES if name in parameters])
    return TreeFile(_settings(file, learning, max(n_trees, 1), categorical), names, unused, constant, categories)


def _of_parameters(file: Path, text: str) -> TreeFile:
    names = names_of_parameters()
    parameters: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for alias, value in _listed(file, text).items():
        name = names.get(alias, alias)
        if name in parameters and not CHOSEN_HERE.fullmatch(name):
            raise DataFormatError(f"{file}: {spelled[name]} and {alias} are aliases of one parameter; give only one.")
        parameters[name], spelled[name] = value, alias
    rounds = parameters.get(ROUNDS, str(LIGHTGBM_ROUNDS))
    try:
        n_trees = int(rounds)
    except (ValueError, OverflowError) as error:
        raise DataFormatError(f"{file}: the number of trees must be an integer; got {brief(rounds)}.") from error
    named = parameters.get(CATEGORICAL, "")
    if named == "auto":
        named = ""
    numbers = [c for c in named.removeprefix("name:").split(",") if re.fullmatch(r"\s*\d+\s*", c)]
    if numbers and not named.startswith("name:"):
        raise DataFormatError(
            f"{file}: categorical features must be given by name (categorical_feature = name:a,b); got {brief(named)}."
        )
    learning, known = _learning(parameters, names), set(names.values())
    others = [
        alias
        for name, alias in spelled.items()
        if name in NOT_USED or (name not in known and not CHOSEN_HERE.fullmatch(name))
    ]
    if not learning and len(others) == len(parameters):
        raise DataFormatError(f"{file}: is neither a model that LightGBM saved nor a file of its parameters.")
    categories = tuple(filter(None, named.removeprefix("name:").split(",")))
    return TreeFile(_settings(file, learning, n_trees, categories), unused=_left_out(parameters, others))


def _learning(parameters: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The parameters among these that affect which trees are grown."""
    elsewhere = {ROUNDS, CATEGORICAL, *NOT_USED, *(name for of in STOPPING.values() for name in of)}
    return {
        name: value
        for name, value in parameters.items()
        if name in names and name not in elsewhere and not CHOSEN_HERE.fullmatch(name)
    }


def _listed(file: Path, text: str) -> dict[str, str]:
    """{name: value} of a file of parameters."""
    if text.lstrip().startswith("{"):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(f"{file}: is not a JSON object of parameters: {brief(str(error))}.") from error
        if "tree_info" in content:
            raise DataFormatError(
                f"{file}: is a model that was dumped as JSON; pass one that LightGBM saved (save_model)."
            )
        odd = next((name for name, value in content.items() if isinstance(value, dict)), None)
        if odd is not None:
            raise DataFormatError(f"{file}: {brief(odd)} must be a number, a string or a list of these.")
        return {str(name): _value(value) for name, value in content.items() if value is not None}
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


def _settings(file: Path, parameters: Mapping[str, str], n_trees: int, categorical: Iterable[str]) -> TreeSettings:
    if n_trees < 1:
        raise DataFormatError(f"{file}: the number of trees must be an integer >= 1; got {n_trees}.")
    return TreeSettings(n_trees, tuple(sorted(parameters.items())), tuple(categorical))


def _left_out(parameters: Mapping[str, str], others: Iterable[str]) -> tuple[str, ...]:
    """Sentences about the parts of a file that are not used."""
    stopping = [
        kind for kind, names in STOPPING.items() if any(parameters.get(n) not in (None, "", "0") for n in names)
    ]
    sentences = [f"{', '.join(stopping)}: the number of trees is fixed"] if stopping else []
    unused = sorted(others)
    if unused:
        sentences.append(brief(", ".join(unused[:5]) + (" ..." if len(unused) > 5 else "")))
    return tuple(sentences)
