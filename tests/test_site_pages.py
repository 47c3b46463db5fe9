"""What the documentation site is made of: docstrings, sections of other texts, scripts, tables, without building it.
Public names have numpydoc docstrings: every parameter described with a type, and an example that runs.
"""

import doctest
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

from sparserank.metrics import CONVENTIONS

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from site_pages import api, commands, conventions, docstrings, gallery, installed, report, sections

DOCSTRING = """Weigh a_b * c_d by `weight`.

The size |x| < 1.

    w = a
      + b

Parameters
----------
a, b : array_like of shape (n,)
    Numbers >= 0,
    of every row.
c
    None: `L1`.

Returns
-------
float
    a * b

See Also
--------
other : the same, faster.

References
----------
Somebody (2001), [1].

Examples
--------
>>> 1 + 1
2
"""


def test_a_docstring_becomes_sections_rows_prose_and_examples() -> None:
    assert docstrings.markdown(DOCSTRING, lambda name: f"<{name}>").split("\n\n") == [
        r"Weigh a\_b \* c\_d by <weight>.",
        r"The size \|x\| \< 1.",
        "```text\nw = a\n  + b\n```",
        "**Parameters**",
        "`a, b` (array\\_like of shape (n,))\n: Numbers \\>= 0, of every row.",
        "`c`\n: None: <L1>.",
        "**Returns**",
        "`float`\n: a \\* b",
        "**See Also**",
        "<other>: the same, faster.",
        "**References**",
        "Somebody (2001), \\[1\\].",
        "**Examples**",
        "```pycon\n>>> 1 + 1\n2\n```\n",
    ]


def test_the_reference_has_every_public_name_once_with_its_parameters() -> None:
    pages = api.pages()
    text = "\n".join(page for name, page in pages.items() if name != "index.md")
    for name in api.public_names():
        assert len(re.findall(rf"(?m)^::+\{{py:\w+\}} {re.escape(api.owner_of()[name])}\.{name}\b", text)) == 1, name
        assert f"(#api-{name})" in pages["index.md"]
    assert "`margin` (float, default 0.01)\n: Largest acceptable estimated loss" in pages["job.md"]
    assert "{py:method} predict(X: Any" in pages["models.md"]
    assert "[`LinearRanker`](#api-LinearRanker)" in pages["rankers.md"]


def test_the_page_of_commands_has_every_option() -> None:
    page = commands.page()
    assert "## sparserank select" in page
    assert "## python -m reproduction published" in page
    for option in ("--margin", "--relaxed`, `--no-relaxed", "--seed", "--penalty"):
        assert f"`{option}`\n: " in page
    assert "[bold]" not in page


def test_sections_of_a_text_lead_to_pages_of_the_site() -> None:
    text = "# A\n\n## One\n\n[docs/scale.md](docs/scale.md), [y](benchmarks/README.md)\n\n## Two\n\nlast\n"
    assert sections.section(text, "Two") == "last"
    with pytest.raises(KeyError, match="One, Two"):
        sections.section(text, "Three")
    turned = sections.LINK.sub(sections._link, sections.section(text, "One"))
    assert turned == "[docs/scale.md](scale.md), y (`benchmarks/README.md`)"
    expanded = sections.expanded(
        "<!-- made: table -->\n<!-- include: tests/extension/boxed_l1.py -->", {"table": lambda: "T"}
    )
    assert expanded.startswith("T\n```python\n")


def test_the_tables_of_metrics_and_conventions_are_those_of_the_package() -> None:
    """They stand in the page, so that it can be read in a checkout: `python -m site_pages.conventions` writes them."""
    text = conventions.PAGE.read_text(encoding="utf-8")
    assert conventions.page(text) == text
    assert conventions.table() in text
    assert conventions.metrics() in text


def test_the_table_of_conventions_is_of_all_and_its_values_are_the_scripts() -> None:
    text = conventions.table()
    for name in CONVENTIONS:
        assert len(re.findall(rf"(?m)^\| `{name}` \|", text)) == 1 + len(conventions.EXAMPLE)
    first = text.split("**Five documents**")[1].split("**")[0]
    assert "| `letor4` | 0.6247 | 0.0000 | 0.7556 |" in first  # NDCG@3 0.624667 and AP 0.755556 of the LETOR scripts


def test_the_gallery_takes_any_number_of_scripts(tmp_path: Path) -> None:
    assert list(gallery.pages(tmp_path)) == ["index.md"]
    (tmp_path / "a.py").write_text('"""One idea: told at length.\n\nMore.\n"""\nprint(1)\n', encoding="utf-8")
    (tmp_path / "_helper.py").write_text("x = 1\n", encoding="utf-8")
    pages = gallery.pages(tmp_path)
    assert list(pages) == ["index.md", "a.md"]
    assert "[One idea](a.md)" in pages["index.md"]
    assert pages["a.md"].startswith("# One idea\n\nOne idea: told at length.\n\nMore.")
    (tmp_path / "b.py").write_text("print(2)\n", encoding="utf-8")
    with pytest.raises(ValueError, match="begins with a docstring"):
        gallery.pages(tmp_path)
    (tmp_path / "b.py").unlink()
    cells = [{"cell_type": "markdown", "source": ["# Told\n", "\n", "why"]}, {"cell_type": "code", "source": ["x = 1"]}]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert gallery.pages(tmp_path)["n.md"].startswith("# Told\n\nwhy\n\n```python\nx = 1\n```\n")
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells[1:]}), encoding="utf-8")
    with pytest.raises(ValueError, match="begins with its title"):
        gallery.pages(tmp_path)


def test_sizes_add_up(tmp_path: Path) -> None:
    transcript = tmp_path / "t.md"
    transcript.write_text(
        "| package | version | MB |\n|---|---|---:|\n| big | 1.0 | 199.0 |\n| tiny | 2 | 1.0 |\n| tinier | 2 | 0.5 |\n"
    )
    rows = installed.table(transcript).splitlines()[2:]
    assert rows == ["| big | 199 | 99% |", "| tinier, tiny | 2 | 1% |", "| all | 200 | 100% |"]


def test_the_report_of_the_site_is_made_once_for_each_state_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [0, 1]

    def demo(command: list[str], cwd: str, **_: object) -> subprocess.CompletedProcess[str]:
        assert command[1:] == ["-m", "sparserank", "demo", "--out", "demo-run"]
        run = Path(cwd, "demo-run/run")
        run.mkdir(parents=True)
        (run / "report.html").write_text("a page", encoding="utf-8")
        return subprocess.CompletedProcess(command, codes.pop(0), "", "what failed")

    monkeypatch.setattr(report.subprocess, "run", demo)
    page = report.write(tmp_path / "demo")
    assert page.name == report.NAME
    assert page.read_text(encoding="utf-8") == "a page"
    assert report.write(tmp_path / "demo") == page
    assert codes == [1]  # not run again
    os.utime(page, (0, 0))
    with pytest.raises(RuntimeError, match="what failed"):
        report.write(tmp_path / "demo")


# Not checked: that there is an extended summary and a "See Also", and that every description begins with a capital
# letter (some begin with the name of a parameter).
NOT_CHECKED = {"ES01", "SA01", "SA03", "PR08", "PR09", "RT04", "RT05", "SS05"}


def faults(path: str) -> list[str]:
    """What numpydoc's own check says of the docstring of a name."""
    found = validate(path)
    unchecked = set(NOT_CHECKED)
    if _is_only_returned(found["docstring"]):
        unchecked.add("PR01")
    return [f"{code} {text}" for code, text in found["errors"] if code not in unchecked]


def _is_only_returned(docstring: str) -> bool:
    """Whether it is of a class that users do not make by hand: it describes attributes, and no parameter."""
    described = NumpyDocString(docstring)
    return bool(described["Attributes"]) and not described["Parameters"]


def not_numpydoc(first: int, second: int = 0) -> int:
    """Add two numbers.

    Parameters
    ----------
    first
        One of them.
    """
    return first + second


def test_a_docstring_that_leaves_things_out_is_found() -> None:
    codes = {fault.split(" ")[0] for fault in faults("tests.test_site_pages.not_numpydoc")}
    assert codes >= {"PR01", "PR04", "RT01", "EX01"}


@pytest.mark.parametrize("name", api.public_names())
def test_every_public_name_has_a_numpydoc_docstring(name: str) -> None:
    assert faults(f"{api.owner_of()[name]}.{name}") == []


@pytest.mark.slow_but("RankingModel", "SparseRanker", "fit_path", "read_", "evaluate")
@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("name", api.public_names())
def test_the_example_of_every_public_name_runs(name: str) -> None:
    text = inspect.getdoc(api.value_of(name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert example.examples
    said: list[str] = []
    result = doctest.DocTestRunner().run(example, out=said.append)
    assert result.failed == 0, "".join(said)
