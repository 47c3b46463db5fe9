"""`make options`: what is written from the declarations of options, as checked-in files.

The types of `**options` in Python, the constructors of rankers, the commands of the command line, and the page of all
options. `python -m tools.write_options --check` says which file differs from what would be written.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sparserank
from sparserank.cli.declared import COMMANDS, Argument
from sparserank.jobs.fit import fit_model
from sparserank.jobs.fuse import fuse
from sparserank.jobs.fusion_options import FUSE
from sparserank.jobs.options import FIT, FOR_MODEL_TAKES, SELECT
from sparserank.jobs.select import select
from sparserank.options import Option
from sparserank.options.spelling import rendered
from sparserank.paths import fit_path
from sparserank.paths.options import FIT_PATH
from sparserank.rankers.options import RANK_SVM, SPARSE_RANKER, SPARSE_RANKER_CV

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/sparserank"
HOMES = {  # of names that annotations have
    "BestK": "sparserank.paths.best_k",
    "Mapping": "collections.abc",
    "Metric": "sparserank.metrics",
    "PairwiseLoss": "sparserank.losses",
    "Penalty": "sparserank.penalties",
    "Progress": "sparserank.runs.progress",
    "RankingModel": "sparserank.model.ranking_model",
    "Sequence": "collections.abc",
    "SizedMaker": "sparserank.paths.makers",
}
MODULES = {"os": "import os", "np": "import numpy as np"}
TITLE = '"""{what}\n\nWritten by `make options` from the declarations in {where}: edit those."""\n\n'
Typed = tuple[str, Callable[..., Any], Sequence[Option]]
SPOKEN = {c.name: {o.name for o in c.options} for c in COMMANDS}
ANY = SPOKEN["select"] | SPOKEN["fit"]
FLAGS = {o.name: o.spelled.partition("/")[0] for c in COMMANDS for o in c.options if o.flag}


def typed_options(path: str, where: str, jobs: Sequence[Typed]) -> str:
    """A TypedDict for the options of each function that its signature does not write out."""
    blocks = []
    for name, function, options in jobs:
        written = inspect.signature(function).parameters
        rest = [o for o in options if o.name not in written]
        lines = [f"class {name}(TypedDict, total=False):", f'    """Options of `{function.__name__}` by name."""', ""]
        for option in rest:
            lines += [f"    {option.name}: {option.kind.python}", _docstring(_said(option))]
        blocks.append("\n".join(lines) + "\n")
    text = "\n\n".join(blocks)
    return _module("The types of options by name.", where, text, ["from typing import TypedDict"])


def _docstring(text: str) -> str:
    """A docstring in a class, in lines of at most 120 characters."""
    return textwrap.fill(f'"""{text}"""', 116, break_on_hyphens=False, initial_indent="    ", subsequent_indent="    ")


def _literal(text: str) -> str:
    """A text as Python has it, in pieces that fit a line."""
    pieces = textwrap.wrap(text, 90, drop_whitespace=False) or [""]
    return " ".join(repr(piece) for piece in pieces)


def _said(option: Option) -> str:
    """What an option does, and its default, for Python."""
    default = rendered(option.shown, None) if option.shown else repr(option.default)
    return f"{rendered(option.help, None)} Default {default}."


def constructors() -> str:
    """Base classes of rankers that store their parameters, unseen, as scikit-learn asks."""
    blocks = []
    for ranker, options in (
        ("SparseRanker", SPARSE_RANKER),
        ("SparseRankerCV", SPARSE_RANKER_CV),
        ("RankSVM", RANK_SVM),
    ):
        arguments = "".join(f"        {o.name}: {o.kind.python} = {o.default!r},\n" for o in options)
        stored = "".join(f"        self.{o.name} = {o.name}\n" for o in options)
        blocks.append(
            f"class {ranker}Parameters(BaseEstimator):\n"
            f'    """The constructor of {ranker}."""\n\n'
            f"    def __init__(\n        self,\n        *,\n{arguments}    ) -> None:\n{stored}\n"
            f'    __init__.__qualname__ = "{ranker}.__init__"  # the name in the error for an unknown argument\n'
        )
    text = "\n\n".join(blocks)
    return _module(
        "The constructors of rankers.", "rankers/options.py", text, ["from sklearn.base import BaseEstimator"]
    )


def _module(what: str, where: str, text: str, imports: Iterable[str] = ()) -> str:
    """A module of some text, which imports what its annotations name, for types alone."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    typing = ["Any"] if "Any" in used else []
    plain = [f"from typing import {name}" for name in typing]
    for_types = [MODULES[name] for name in MODULES if name in used]
    for_types += [f"from {HOMES[name]} import {name}" for name in HOMES if name in used]
    head = TITLE.format(what=what, where=where) + "from __future__ import annotations\n\n"
    head += "\n".join(["from typing import TYPE_CHECKING", *plain, *imports]) + "\n\n"
    if for_types:
        head += "if TYPE_CHECKING:\n" + "".join(f"    {line}\n" for line in for_types) + "\n\n"
    return head + text


def commands() -> str:
    """A function for each command, whose annotations Typer reads."""
    kinds: dict[str, str] = {}  # of annotated types, by their text
    functions = []
    for command in COMMANDS:
        lines = []
        for argument in command.arguments:
            kind = _named(kinds, argument.name, _of_argument(argument))
            lines.append(f"{argument.name}: {kind}" + (" = None" if argument.command.endswith("None") else ""))
        required = [o for o in command.options if o.name in command.required]
        rest = [o for o in command.options if o.name not in command.required and o.spelled]
        ordered = [line for line in lines if "=" not in line]
        ordered += [f"{o.name}: {_named(kinds, o.name, _of_option(o, required=True))}" for o in required]
        ordered += [line for line in lines if "=" in line]
        ordered += [f"{o.name}: {_named(kinds, o.name, _of_option(o))} = {_default(o)!r}" for o in rest]
        body = "".join(f"    {line},\n" for line in ordered)
        functions.append(
            f"def {command.name}(\n    context: typer.Context,\n{body}) -> None:\n"
            f"    call({command.name!r}, context, locals())\n"
        )
    names = "".join(f"{name} = {text}\n" for text, name in kinds.items())
    text = f"FLAGS = {FLAGS!r}\n\n{names}\n\n" + "\n\n".join(functions)
    head = TITLE.format(what="The commands, as Typer reads them.", where="cli/declared.py")
    head += (
        "from pathlib import Path\nfrom typing import Annotated\n\nimport typer\n\n"
        "from sparserank.cli.given import call\n\n"
    )
    return head + text


def _named(kinds: dict[str, str], name: str, text: str) -> str:
    """The name of an annotated type: that of the option, numbered where several share it."""
    if text not in kinds:
        own = "".join(part.capitalize() for part in name.split("_"))
        taken = sum(known.rstrip("0123456789") == own for known in kinds.values())
        kinds[text] = f"{own}{taken + 1}" if taken else own
    return kinds[text]


def _of_argument(argument: Argument) -> str:
    return f"Annotated[{argument.command}, typer.Argument(help={_literal(argument.help)}, show_default=False)]"


def _of_option(option: Option, *, required: bool = False) -> str:
    kind = option.command or option.kind.command
    flag = option.spelled
    help_text = rendered(option.says or option.help, FLAGS).replace("[", "\\[")
    several = kind.startswith("list[") and not re.search("may be repeated|given twice", help_text)
    if several:
        help_text = f"{help_text.rstrip('.')}; may be repeated."
    words = option.shown or (", ".join(map(str, option.default)) if isinstance(option.default, tuple) else "")
    if words:
        help_text += f" \\[default: {rendered(words, FLAGS)}]"
    parts = [repr(flag), f"help={_literal(help_text)}"]
    if option.panel:
        parts.append(f"rich_help_panel={option.panel!r}")
    if required or words or option.default is None:
        parts.append("show_default=False")
    if required:
        kind = kind.removesuffix(" | None")
    elif kind.startswith("list[") and not kind.endswith("None"):
        kind += " | None"
    return f"Annotated[{kind}, typer.Option({', '.join(parts)})]"


def _default(option: Option) -> Any:
    kind = option.command or option.kind.command
    return None if isinstance(option.default, tuple) or kind.endswith("| None") else option.default


def stub() -> str:
    """What type checkers know of the names that `import sparserank` brings on first use."""
    lines = [f"from sparserank import {name} as {name}" for name in sparserank._MODULES]
    lines += [f"from {home} import {name} as {name}" for name, home in sparserank._HOME.items()]
    head = TITLE.format(what="The public names, for type checkers and completion.", where="__init__.py")
    return (
        head
        + "\n".join(lines)
        + "\n\n__version__: str\n__all__: list[str]\n_HOME: dict[str, str]\n_MODULES: tuple[str, ...]\n"
    )


def page() -> str:
    """docs/options.md: every option of `select`, in both spellings."""
    out = [
        "# Options\n",
        "Options of `sr.select(train, **options)` and of `sparserank select`, and the other calls that accept them. "
        "This page is generated by `make options` from the declarations with which both are checked.\n",
    ]
    takers = (
        ("`select(for_model=)`", FOR_MODEL_TAKES),
        ("`fit_path`", FIT_PATH),
        ("`SparseRanker`", SPARSE_RANKER),
        ("`SparseRankerCV`", SPARSE_RANKER_CV),
        ("`fuse`", FUSE),
    )
    panels = list(dict.fromkeys(o.panel for o in SELECT))
    for panel in (p for p in panels if p):
        out += _table(panel, [o for o in SELECT if o.panel == panel], takers)
    out += _table("The run", [o for o in SELECT if not o.panel], takers)
    known = {_meaning(o) for o in SELECT}
    for title, options in takers:
        out += _table(f"Options of {title} only", [o for o in options if _meaning(o) not in known], ())
        known |= {_meaning(o) for o in options}
    return "\n".join(out).rstrip() + "\n"


def _table(
    title: str,
    options: Sequence[Option],
    takers: Sequence[tuple[str, Sequence[Option]]],
) -> Iterator[str]:
    if not options:
        return
    yield f"\n## {title}\n"
    yield "| Python | command line | default | |"
    yield "|---|---|---|---|"
    for option in options:
        default = rendered(option.shown, None) if option.shown else f"`{option.default!r}`"
        also = [
            name + _own_default(option, those)
            for name, those in takers
            if any(_meaning(o) == _meaning(option) for o in those)
        ]
        said = rendered(option.help, None) + (f" Also accepted by {', '.join(also)}." if also else "")
        flag = f"`{option.spelled}`" if option.name in ANY else ""
        yield f"| `{option.name}` | {flag} | {default} | {said} |".replace("'|'", "'\\|'")


def _meaning(option: Option) -> tuple[str, str]:
    """What an option does: `fuse` has some with the names of others."""
    return option.name, option.help if option in FUSE else next(
        (o.help for o in SELECT if o.name == option.name), option.help
    )


def _own_default(option: Option, options: Sequence[Option]) -> str:
    """(default: ...) where an option has another one there."""
    (own,) = (o for o in options if o.name == option.name)
    return "" if own.default == option.default else f" (default: {rendered(own.shown, None) or repr(own.default)})"


def files() -> dict[Path, str]:
    """{file: what it should hold}"""
    jobs: list[Typed] = [
        ("SelectOptions", select, SELECT),
        ("FitOptions", fit_model, FIT),
        ("FuseOptions", fuse, FUSE),
    ]
    return {
        SOURCE / "jobs/typed.py": _formatted(typed_options("jobs/typed.py", "jobs/options.py", jobs)),
        SOURCE / "paths/typed.py": _formatted(
            typed_options("paths/typed.py", "paths/options.py", [("PathOptions", fit_path, FIT_PATH)])
        ),
        SOURCE / "rankers/parameters.py": _formatted(constructors()),
        SOURCE / "cli/commands.py": _formatted(commands()),
        SOURCE / "__init__.pyi": _formatted(stub()),
        ROOT / "docs/options.md": page(),
    }


def _formatted(text: str) -> str:
    """As ruff formats and sorts it; long strings are cut into lines."""
    for arguments in (["check", "--select", "I,F401,RUF100", "--fix", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(SOURCE / "written.py"), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def main() -> None:
    different = {path: text for path, text in files().items() if not path.exists() or path.read_text() != text}
    if "--check" in sys.argv:
        sys.exit("".join(f"{path}: differs; run `make options`.\n" for path in different) or 0)
    for path, text in different.items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
