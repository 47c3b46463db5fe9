"""The fenced blocks of the documentation: what they are in, whether they run, and running them."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import click
import reproduction.app as reproduction

from sparserank.cli.app import app, main
from sparserank.errors import ConvergenceWarning

DOCS = Path(__file__).parents[2] / "docs"
MADE = ("_build", "api", "commands", "gallery")  # by the build, from docstrings and scripts with tests of their own
PAGES = sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] not in MADE)
FENCE = re.compile(
    r"(?:<!-- (?P<kind>not run|needs|printed): (?P<why>[^\n]+?) -->\n+)?"
    r"(?P<margin> *)```(?P<language>[^\n]*)\n(?P<text>.*?)\n(?P=margin)```",
    re.DOTALL,
)
SHOWN = ("text", "json", "csv")  # nothing that a reader runs
NOT_RUN = {"a server", "a cluster", "the data sets, and minutes"}
NEEDS = {"the data sets"}
PRINTED = {"above"}  # a text: lines of what the blocks above it printed, but for their numbers
MAX_NOT_RUN = 8


class Block(NamedTuple):
    """A fenced block: its language, its text, and what it says of why it does not run or what it needs."""

    language: str
    text: str
    kind: str | None
    why: str | None


def blocks(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [Block(m["language"], m["text"], m["kind"], m["why"]) for m in FENCE.finditer(text)]


APPLICATIONS = {"sparserank ": app, "python -m reproduction ": reproduction.app}


def runs(block: Block) -> bool:
    return block.language in ("python", "sh") and block.kind != "not run"


def main_of(application: click.Group, *arguments: str) -> None:
    """The command in this process, where everything is imported and compiled."""
    before, code = sys.argv, None
    sys.argv = ["sparserank", *arguments]
    try:
        main(application)
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    assert not code, f"sparserank {shlex.join(arguments)} ended with {code}"


def run_shell(text: str) -> None:
    """A shell block: `sparserank` and `python -m reproduction` in this process, everything else by bash."""
    other: list[str] = []
    heredoc = None
    for line in [*text.replace("\\\n", " ").splitlines(), ""]:
        if heredoc is None and (line.startswith(tuple(APPLICATIONS)) or not line):
            if other:
                subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(other)], check=True)
                other = []
            if line:
                named = next(name for name in APPLICATIONS if line.startswith(name))
                command, _, file = line.removeprefix(named).partition(" > ")
                with contextlib.ExitStack() as to:
                    if file:
                        to.enter_context(contextlib.redirect_stdout(to.enter_context(open(file, "w"))))
                    main_of(APPLICATIONS[named], *shlex.split(command, comments=True))
        else:
            other.append(line)
            opened = re.search(r"<<'(\w+)'", line)
            heredoc = opened[1] if opened else None if line == heredoc else heredoc


def without_numbers(text: str) -> list[str]:
    """Its lines, with 0 in the place of every number, and one blank in that of several."""
    masked = re.sub(r"[\d,.]*\d", "0", text).replace("-0", "+0")
    return [" ".join(line.split()) for line in masked.splitlines() if line.strip()]


def run_page(page: str, *, needs: tuple[str | None, ...]) -> None:
    """Run the blocks of a page that need no more than this, in one name space, and compare what it shows of what they
    print."""
    space: dict[str, object] = {}
    said = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in blocks(page):
            if block.kind == "printed":
                missing = set(without_numbers(block.text)) - set(without_numbers(said.getvalue()))
                assert not missing, f"{page}: not printed: {sorted(missing)}"
            if not runs(block) or block.why not in needs:
                continue
            with contextlib.redirect_stdout(said):
                if block.language == "sh":
                    run_shell(block.text)
                else:
                    exec(compile(block.text, page, "exec"), space)
