"""One page for each script of examples/, from the docstring at its head, whose first words are the title, and for each
notebook, from its cells."""

from __future__ import annotations

import ast
import json
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


def _notebook(file: Path) -> tuple[str, str]:
    """(title, Markdown) of one notebook, which begins with its title; what cells show is text."""
    parts = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"]).strip()
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        parts += [f"```text\n{''.join(shown['text']).rstrip()}\n```" for shown in cell.get("outputs", [])]
    title = parts[0].partition("\n")[0]
    if not title.startswith("# "):
        raise ValueError(f"{file}: a notebook of the gallery begins with its title.")
    return title.removeprefix("# "), "\n\n".join([*parts, f"The notebook is `examples/{file.name}`."]) + "\n"


def pages(folder: Path) -> dict[str, str]:
    """{file name: Markdown}; index.md lists the scripts, however many there are. Notebooks are tutorials, listed by the
    page of these."""
    scripts = sorted(p for p in folder.glob("*.py") if not p.name.startswith(("_", "conftest", "test_")))
    made = {script.stem: _page(script) for script in scripts}
    notebooks = {file.stem: _notebook(file)[1] for file in sorted(folder.glob("*.ipynb"))}
    index = [
        "# Gallery",
        "",
        "Scripts that run as they stand, with the packages that they name; the tests run them.",
        "",
    ]
    index += [f"* [{title}]({stem}.md)" for stem, (title, _) in made.items()]
    if made:
        index += ["", "```{toctree}", ":hidden:", "", *made, "```", ""]
    return {
        "index.md": "\n".join(index) + "\n",
        **{f"{stem}.md": text for stem, (_, text) in made.items()},
        **{f"{stem}.md": text for stem, text in notebooks.items()},
    }
