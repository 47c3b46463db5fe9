"""The reference of every public name, of `sparserank` and of its public modules, from its docstring: one page for each
part of the package."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import sparserank
import sparserank.errors
import sparserank.export
from site_pages.docstrings import inline, markdown, plain
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.metrics import Convention
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import FeatureRules
from sparserank.rankers.base import LinearRanker
from sparserank.selection.diff import ModelDiff
from sparserank.selection.lists import TreesSelection

# page: (title, modules whose names stand there, what stands there besides: bases that its classes share, what users
# meet without importing it)
PAGES: dict[str, tuple[str, tuple[str, ...], tuple[Any, ...]]] = {
    "job": (
        "The main job",
        ("selection.select", "selection.result", "selection.diff", "export.explanation"),
        (TreesSelection, ModelDiff),
    ),
    "models": ("Models", ("model",), (sparserank.export.export,)),
    "data": ("Data", ("data", "datasets"), ()),
    "evaluation": ("Metrics and evaluation", ("evaluation", "metrics"), (Convention,)),
    "rankers": ("Rankers", ("rankers", "papers"), (LinearRanker,)),
    "paths": ("Paths", ("paths",), ()),
    "penalties": ("Penalties", ("penalties",), (Penalty, FeatureRules)),
    "engine": ("Losses, objective, solvers", ("losses", "objective", "solvers"), (PairwiseLoss,)),
    "errors": ("Errors and warnings", (), tuple(v for v in vars(sparserank.errors).values() if inspect.isclass(v))),
    "more": ("More", ("",), ()),
}
BESIDE = [value for _, _, beside in PAGES.values() for value in beside]


def page_of(name: str) -> str:
    """The page on which a public name stands; what fits nowhere stands under More."""
    module = owner_of()[name]
    home = (sparserank._HOME[name] if module == "sparserank" else module).removeprefix("sparserank.")
    for page, (_, modules, _) in PAGES.items():
        if any(home == module or home.startswith(f"{module}.") for module in modules):
            return page
    return "more"


@functools.cache
def owner_of() -> dict[str, str]:
    """{public name: the module from which it is imported}"""
    out = dict.fromkeys(sparserank._HOME, "sparserank")
    beside = {value.__name__ for value in BESIDE}
    for module in sparserank._MODULES:
        part = getattr(sparserank, module)
        names = [name for name in getattr(part, "__all__", ()) if callable(getattr(part, name))]
        out |= {name: part.__name__ for name in names if name not in out and name not in beside}
    return out


def public_names() -> list[str]:
    return list(owner_of())


def value_of(name: str) -> Any:
    return getattr(importlib.import_module(owner_of()[name]), name)


@functools.cache
def _labels() -> dict[str, str]:
    """{name: label to link to}."""
    return {name: f"api-{name}" for name in [*public_names(), *(value.__name__ for value in BESIDE)]}


def _link(name: str) -> str:
    return f"[`{name}`](#{_labels()[name]})" if name in _labels() else plain(name)


def _value(default: Any) -> str:
    """A default as a reader would write it."""
    text = repr(default)
    return "..." if text.startswith("<factory") else re.sub(r"<class '(.+)'>", r"\1", text)


def signature(function: Any, *, bound: bool = False) -> str:
    """`(a: int, b: str = 'x') -> float`, without self where bound."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[1 if bound else 0 :]
    texts: list[str] = []
    starred = False
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            starred = True
        elif p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            texts.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "" if p.annotation is p.empty else f": {_annotation(p.annotation)}"
        value = "" if p.default is p.empty else f" = {_value(p.default)}" if kind else f"={_value(p.default)}"
        texts.append(f"{stars}{p.name}{kind}{value}")
    back = found.return_annotation
    says = back is not found.empty and _annotation(back) != "None"
    return f"({', '.join(texts)})" + (f" -> {_annotation(back)}" if says else "")


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("np.ndarray", "ndarray").replace("os.PathLike", "PathLike")


def _directive(kind: str, head: str, body: str, depth: int, label: str | None = None) -> list[str]:
    fence = ":" * (3 + depth)
    lines = [f"({label})=", ""] if label else []
    return [*lines, f"{fence}{{py:{kind}}} {head}", "", body, fence, ""]


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of the class, and of private bases of ours,
    in the order in which they are written."""
    shared = [other for other in _documented() if other is not cls]
    for owner in cls.__mro__:
        if owner in shared or not owner.__module__.startswith("sparserank"):
            continue
        if any(issubclass(base, owner) for base in shared if issubclass(cls, base)):
            continue
        for name, member in vars(owner).items():
            kinds = (property, functools.cached_property, classmethod, staticmethod)
            mine = inspect.getattr_static(cls, name) is member
            if mine and not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds)):
                yield name, member


@functools.cache
def _documented() -> list[type]:
    named = [value_of(name) for name in public_names()]
    return [c for c in [*named, *BESIDE] if inspect.isclass(c)]


def _member(name: str, member: Any) -> list[str]:
    if isinstance(member, property | functools.cached_property):
        get: Any = member.fget if isinstance(member, property) else member.func
        back = inspect.signature(get).return_annotation
        head = name if back is inspect.Signature.empty else f"{name}\n:type: {_annotation(back)}"
        return _directive("property", head, markdown(inspect.getdoc(get), _link), 1)
    function = getattr(member, "__func__", member)
    options = {classmethod: "\n:classmethod:", staticmethod: "\n:staticmethod:"}.get(type(member), "")
    head = name + signature(function, bound=not isinstance(member, staticmethod)) + options
    return _directive("method", head, markdown(inspect.getdoc(function), _link), 1)


def _entry(name: str, value: Any) -> list[str]:
    """One public name: its signature, its docstring and, of a class, its members."""
    text = markdown(inspect.getdoc(value), _link)
    home = value.__module__ if value in BESIDE else owner_of()[name]
    if not inspect.isclass(value):
        return _directive("function", f"{home}.{name}{signature(value)}", text, 2, _labels()[name])
    lines = [text, ""]
    shared = [base.__name__ for base in value.__mro__[1:] if base in _documented() and any(_members(base))]
    if shared:
        lines += [f"Has also the members of {', '.join(_link(base) for base in shared)}.", ""]
    for member in _members(value):
        lines += _member(*member)
    # what users do not make by hand is shown without what its constructor takes
    head = f"{home}.{name}" + ("" if value in BESIDE else signature(value))
    return _directive(
        "exception" if issubclass(value, Exception) else "class", head, "\n".join(lines), 2, _labels()[name]
    )


def pages() -> dict[str, str]:
    """{file name: Markdown} of the whole reference."""
    out: dict[str, str] = {}
    names = {page: [name for name in public_names() if page_of(name) == page] for page in PAGES}
    listed = [page for page, (_, _, beside) in PAGES.items() if names[page] or beside]
    overview = [
        "# Reference",
        "",
        "Every name of `import sparserank as sr` and of its modules, from its docstring.",
        "",
    ]
    for page in listed:
        title, _, beside = PAGES[page]
        lines = [f"# {title}", ""]
        for name in names[page]:
            lines += _entry(name, value_of(name))
        for value in beside:
            lines += _entry(value.__name__, value)
        out[f"{page}.md"] = "\n".join(lines)
        overview += [f"## [{title}]({page}.md)", ""]
        overview += [f"* {_link(name)}: {_summary(value_of(name))}" for name in names[page]]
        overview += [""]
    overview += ["```{toctree}", ":hidden:", "", *(page for page in listed), "```", ""]
    out["index.md"] = "\n".join(overview)
    return out


def _summary(value: Any) -> str:
    """The first sentence of the docstring."""
    first = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split("\n"))
    return inline(re.split(r"(?<=[.:]) ", first)[0], _link)
