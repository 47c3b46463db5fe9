"""One page for each script of examples/, from the docstring at its head: its first words are the title."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def _page(script: Path) -> tuple[str, str]:
    """(title, Markdown) of one script."""
    source = script.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    if not docstring:
        raise ValueError(f"{script}: a script of the gallery begins with a docstring that says what it shows.")
    title = re.split(r"[.:]|(?<=\?)", docstring)[0]
    told = (
        docstring.strip()
        if len(title) < len(docstring.partition("\n")[0].rstrip("."))
        else docstring.partition("\n")[2].strip()
    )
    return title, f"# {title}\n\n{told}\n\n`examples/{script.name}`:\n\n```python\n{source.strip()}\n```\n"


def pages(folder: Path) -> dict[str, str]:
    """{file name: Markdown}; index.md lists the scripts, however many there are."""
    scripts = sorted(p for p in folder.glob("*.py") if not p.name.startswith(("_", "conftest", "test_")))
    made = {script.stem: _page(script) for script in scripts}
    index = [
        "# Gallery",
        "",
        "Scripts that run as they stand, with the packages that they name; the tests run them.",
        "",
    ]
    index += [f"* [{title}]({stem}.md)" for stem, (title, _) in made.items()]
    if made:
        index += ["", "```{toctree}", ":hidden:", "", *made, "```", ""]
    return {"index.md": "\n".join(index) + "\n", **{f"{stem}.md": text for stem, (_, text) in made.items()}}
