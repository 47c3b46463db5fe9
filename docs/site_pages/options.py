"""docs/options.md: every option of `select`, in both spellings; `python -m site_pages.options` in docs/ writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from sparserank.cli.commands import FIT as FIT_COMMAND
from sparserank.cli.commands import FUSE_COMMAND
from sparserank.cli.commands import SELECT as SELECT_COMMAND
from sparserank.options import Option
from sparserank.options.fusion import FUSE
from sparserank.options.paths import FIT_PATH
from sparserank.options.selection import FIT, FOR_MODEL, SELECT
from sparserank.options.spelling import rendered
from sparserank.rankers import SparseRanker, SparseRankerCV

PAGE = Path(__file__).parents[1] / "options.md"
SPOKEN = {o.name for command in (SELECT_COMMAND, FIT_COMMAND, FUSE_COMMAND) for o in command.options}


def page() -> str:
    """docs/options.md: every option of `select`, in both spellings."""
    out = [
        "# Options\n",
        "Options of `sr.select(train, **options)` and of `sparserank select`, and the other calls that accept them. "
        "A test compares this page with the declarations: `python -m site_pages.options` in docs/ writes it again.\n",
    ]
    takers = {
        "`select(for_model=)`": FOR_MODEL,
        "`fit_path`": FIT_PATH,
        "`SparseRanker`": _of_ranker(SparseRanker),
        "`SparseRankerCV`": _of_ranker(SparseRankerCV),
        "`fuse`": FUSE,
    }
    panels = dict.fromkeys(o.panel for o in SELECT.values())
    for panel in (p for p in panels if p):
        out += _table(panel, [o for o in SELECT.values() if o.panel == panel], takers)
    out += _table("The run", [o for o in SELECT.values() if not o.panel], takers)
    known = set(SELECT.values())
    for title, options in takers.items():
        only = [o for o in options.values() if not _is_known(o, known, title)]
        out += _table(f"Options of {title} only", only, {})
        known |= set(only)
    return "\n".join(out).rstrip() + "\n"


def _of_ranker(ranker: type) -> dict[str, Option]:
    """The parameters of a ranker that have the meaning of an option, with its defaults."""
    meanings = {**SELECT, **FIT}
    return {f.name: replace(meanings[f.name], default=f.default) for f in fields(ranker) if f.name in meanings}


def _is_known(option: Option, known: set[Option], title: str) -> bool:
    """Whether a table above has the option; those of `fuse` may have other meanings under the same names."""
    alike = [o for o in known if o.name == option.name]
    return any(o.help == option.help for o in alike) if "fuse" in title else bool(alike)


def _table(title: str, options: Sequence[Option], takers: Mapping[str, Mapping[str, Option]]) -> Iterator[str]:
    if not options:
        return
    yield f"\n## {title}\n"
    yield "| Python | command line | default | |"
    yield "|---|---|---|---|"
    for option in options:
        default = rendered(option.shown, None) if option.shown else f"`{option.default!r}`"
        also = [
            name + _own_default(option, those[option.name])
            for name, those in takers.items()
            if option.name in those and _is_known(those[option.name], {option}, name)
        ]
        said = rendered(option.help, None) + (f" Also accepted by {', '.join(also)}." if also else "")
        flag = f"`{option.spelled}`" if option.spelled and option.name in SPOKEN else ""
        yield f"| `{option.name}` | {flag} | {default} | {said} |".replace("'|'", "'\\|'")


def _own_default(option: Option, own: Option) -> str:
    """(default: ...) where an option has another one there."""
    return "" if own.default == option.default else f" (default: {rendered(own.shown, None) or repr(own.default)})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
