"""docs/options.md: every option of `select`, in both spellings; `python -m site_pages.options` in docs/ writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sparserank.cli.declared import FIT as FIT_COMMAND
from sparserank.cli.declared import SELECT as SELECT_COMMAND
from sparserank.options import Option
from sparserank.options.fusion import FUSE
from sparserank.options.jobs import FOR_MODEL_TAKES, SELECT
from sparserank.options.paths import FIT_PATH
from sparserank.options.rankers import SPARSE_RANKER, SPARSE_RANKER_CV
from sparserank.options.spelling import rendered

PAGE = Path(__file__).parents[1] / "options.md"
SPOKEN = {o.name for command in (SELECT_COMMAND, FIT_COMMAND) for o in command.options}


def page() -> str:
    """docs/options.md: every option of `select`, in both spellings."""
    out = [
        "# Options\n",
        "Options of `sr.select(train, **options)` and of `sparserank select`, and the other calls that accept them. "
        "A test compares this page with the declarations: `python -m site_pages.options` in docs/ writes it again.\n",
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
        flag = f"`{option.spelled}`" if option.name in SPOKEN else ""
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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
