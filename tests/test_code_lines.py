"""The code only shrinks: each room has exactly the lines of `floor_plan.py`, and there are as many files.

A line of code is one that is not blank, and neither a comment, a docstring nor an import.
"""

import ast
from collections import Counter
from pathlib import Path

from tests.floor_plan import FILES, LINES, REPRODUCTION, ROOMS
from tests.test_imports import SOURCE, room_of

COUNTED = (".py", ".css", ".js", ".html", ".j2")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            left_out |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and n not in left_out for n, line in lines)


def lines_of_rooms(folder: Path, rooms: dict[str, str]) -> Counter[str]:
    """Code lines of each room; of files that are not Python, those that are not blank."""
    found: Counter[str] = Counter()
    for file in (f for f in folder.rglob("*") if f.suffix in COUNTED):
        parts = file.relative_to(folder).with_suffix("").parts
        module = ".".join(parts).removesuffix("__init__").rstrip(".") or folder.name
        text = file.read_text(encoding="utf-8")
        n = code_lines(text) if file.suffix == ".py" else sum(bool(line.strip()) for line in text.splitlines())
        found[room_of(module, rooms)] += n
    return found


def test_every_room_has_as_many_lines_as_the_plan_says() -> None:
    """Exactly: a change that removes lines lowers the plan, so that they do not come back."""
    found = lines_of_rooms(SOURCE, ROOMS)
    assert dict(found) == LINES, f"tests/floor_plan.py is to have these numbers: {dict(found)}"
    n_files = len([*SOURCE.rglob("*.py")])
    assert n_files == FILES
    beside = [code_lines(file.read_text(encoding="utf-8")) for file in SOURCE.parents[1].glob("reproduction/**/*.py")]
    assert sum(beside) == REPRODUCTION


def test_what_is_a_line_of_code(tmp_path: Path) -> None:
    text = '"""Docstring\n\nof three lines."""\n\nimport os\nfrom a import (\n    b,\n)\n\n# comment\nX = """a\nb"""\n'
    assert code_lines(text) == 2
    assert code_lines(f"{text}\ndef f():\n    'Docstring.'\n    return 1  # comment\n") == 4
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/a.py").write_text("X = 1\n")
    (tmp_path / "rooms/page.css").write_text("a {\n\n}\n")
    (tmp_path / "__init__.py").write_text(text)
    assert lines_of_rooms(tmp_path, {"top": "rooms", "ground": tmp_path.name}) == {"top": 3, "ground": 2}
