"""Docstrings of public names: numpydoc, every parameter described with a type, and an example that runs."""

import doctest
import inspect
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from site_pages import api

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
    codes = {fault.split(" ")[0] for fault in faults("tests.test_docstrings.not_numpydoc")}
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
