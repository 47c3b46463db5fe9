"""An option, and the check of options that are passed by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeVar, cast

from sparserank.errors import DataError, ParameterError
from sparserank.options.kinds import Kind

Value = TypeVar("Value")
Options = TypeVar("Options", bound=Mapping[str, Any])


@dataclass(frozen=True)
class Option:
    """One option of a job, as the annotation of a field: `name: Annotated[type, Option(...)]`.

    kind      the kind of its values
    default   its value if it is not passed
    help      description for Python and the command line; {name} and {name=value} refer to other options, in the
              spelling of either
    panel     heading above the option in documents
    says      help for the command line, if it takes other values than Python
    flag      its name on the command line; None: its name with dashes; "": not available there
    command   type of its value on the command line, if it differs from that of the kind
    shown     text of the default in documents, if it differs from the value
    name      the name of the field
    """

    kind: Kind
    default: Any
    help: str
    panel: str = ""
    _: KW_ONLY
    says: str = ""
    flag: str | None = None
    command: str = ""
    shown: str = ""
    name: str = ""

    @property
    def spelled(self) -> str:
        """The flag of the option on a command line, e.g. --n-alphas; "" if it has none."""
        return f"--{self.name.replace('_', '-')}" if self.flag is None else self.flag

    def check(self, value: Any) -> None:
        """Raise ParameterError for an invalid value."""
        problem = self.kind.problem(value)
        if problem:
            raise ParameterError(self.name, problem)


def options_of(declared: type) -> dict[str, Option]:
    """{name: option} for the fields of a TypedDict and of its bases."""
    return {name: replace(typed.__metadata__[0], name=name) for name, typed in declared.__annotations__.items()}


def check_options(options: Mapping[str, Option], values: Mapping[str, Any]) -> None:
    """Raise ParameterError for the first option with an invalid value."""
    for name, option in options.items():
        if name in values:
            option.check(values[name])


FORMER = {  # names of options in version 0.2
    "also": "report_metrics",
    "folds": "cv",
    "groups": "feature_groups",
    "max_features": "k",
    "n_features_to_select": "k",
    "refits": "relaxed",
    "seed": "random_state",
    "shapes": "feature_transform",
    "transform": "feature_transform",
}

REMOVED = "was removed; sparserank 0.3.0 is the last version that has it"  # in messages about an option or a name
NO_BOUNDS = (
    "is no option: a weight or boost can have a sign, but no bound; a clause of a request that has no _name keeps its "
    "boost."
)
AS_BOUNDS = "bound bounds max_boost max_boosts min_boost max_weight max_weights min_weight upper lower"
ABSENT = {  # messages about options that do not exist although users look for them
    **dict.fromkeys(("metric_refits", "n_knots", "n_trees", "n_leaves", "learning_rate", "n_seeds"), f"{REMOVED}."),
    **dict.fromkeys(AS_BOUNDS.split(), NO_BOUNDS),
}


def refuse_unknown(owner: str, known: Collection[str], names: Iterable[str], *, of: str = "") -> None:
    """Raise ParameterError for the first name that is not known. of: the ranker that the error belongs to."""
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            problem = f"is not an option of {owner}; it takes {', '.join(known)}."
            if name in ABSENT:
                problem = ABSENT[name]
            elif FORMER.get(name) in known:
                problem = f"is now called {FORMER[name]}."
            elif close:
                problem = f"is not an option of {owner}; did you mean {close[0]}?"
            raise ParameterError(name, problem, owner=of)


def asked(owner: str, options: Mapping[str, Option], passed: Options) -> Options:
    """The values of all options of a call, converted to plain types; options that were not passed have their defaults.

    Raises
        ParameterError   for an unknown option, or for the first with an invalid value
    """
    refuse_unknown(owner, options, passed)
    check_options(options, passed)
    values = {name: o.kind.plain(passed[name]) if name in passed else o.default for name, o in options.items()}
    return cast(Options, values)


def values_of(names: Iterable[str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these options, by name."""
    return {name: chosen[name] for name in names}


def parse_option(name: str, parse: Callable[[Any], Value], value: Any, owner: str = "") -> Value:
    """The object that the value of a parameter names.

    Raises
        ParameterError   `parse` refuses the value
    """
    try:
        return parse(value)
    except DataError as error:
        if isinstance(error, ParameterError) and str(error).startswith(f"{name} ") and not owner:
            raise
        message = str(error)
        whole = name in message or message.startswith("unknown ")
        raise ParameterError(name, f"cannot be parsed: {message}" if whole else message, owner=owner) from error
