"""The code only shrinks: each room has exactly the nodes of `floor_plan.py`.

Nodes of the syntax tree measure how much there is to read, however it is laid out: a comment or a line break costs
nothing, a name for an intermediate value little, and a dense line saves nothing. Files that are not Python are counted
in characters.
"""

import ast
from collections import Counter
from pathlib import Path

from tests.floor_plan import CHARACTERS, NODES, REPRODUCTION, ROOMS
from tests.test_imports import SOURCE, room_of

TEMPLATES = (".css", ".js", ".html", ".j2")


def nodes_of(text: str) -> int:
    return sum(1 for _ in ast.walk(ast.parse(text)))


def sizes_of_rooms(folder: Path, rooms: dict[str, str]) -> tuple[Counter[str], Counter[str]]:
    """Nodes of each room, and the characters of its other files."""
    nodes: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for file in folder.rglob("*"):
        if file.suffix != ".py" and file.suffix not in TEMPLATES:
            continue
        parts = file.relative_to(folder).with_suffix("").parts
        module = ".".join(parts).removesuffix("__init__").rstrip(".") or folder.name
        room = room_of(module, rooms)
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".py":
            nodes[room] += nodes_of(text)
        else:
            characters[room] += len(text)
    return nodes, characters


def test_every_room_has_as_many_nodes_as_the_plan_says() -> None:
    """Exactly: a change that removes nodes lowers the plan, so that they do not come back."""
    nodes, characters = sizes_of_rooms(SOURCE, ROOMS)
    assert dict(nodes) == NODES, f"tests/floor_plan.py is to have these numbers: {dict(nodes)}"
    assert dict(characters) == CHARACTERS, f"tests/floor_plan.py is to have these numbers: {dict(characters)}"


def test_reproduction_has_as_many_nodes_as_the_plan_says() -> None:
    files = SOURCE.parents[1].glob("reproduction/**/*.py")
    assert sum(nodes_of(file.read_text(encoding="utf-8")) for file in files) == REPRODUCTION


def test_layout_and_comments_cost_nothing(tmp_path: Path) -> None:
    dense = "def f(a, b): return [a + b, a]\n"
    laid_out = "def f(a, b):\n    # the sum first\n    return [\n        a + b,\n        a,\n    ]\n"
    assert nodes_of(dense) == nodes_of(laid_out)
    assert nodes_of("y = g(h(x))\n") < nodes_of("y = g(h(x)); z = g(h(x))\n")  # on one line, and yet twice as much
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/a.py").write_text("X = 1\n")
    (tmp_path / "rooms/page.css").write_text("a {\n\n}\n")
    (tmp_path / "rooms/data.json").write_text("{}")
    (tmp_path / "__init__.py").write_text(dense)
    nodes, characters = sizes_of_rooms(tmp_path, {"top": "rooms", "ground": tmp_path.name})
    assert nodes == {"top": nodes_of("X = 1\n"), "ground": nodes_of(dense)}
    assert characters == {"top": 7}
