"""Imports follow the floor plan of `floor_plan.py`: downward, without cycles, except for the exact lists there.

What counts as an import:
- Every import statement counts, including those inside functions.
- `from package import name` imports the module that defines the name if the package's `__init__` only re-exports it.
- Importing a submodule does not import the other members of its package's `__init__`.
- An import under `if TYPE_CHECKING:` is not an import at run time. It is listed separately if it goes upward.
- A THIN import may go upward permanently and therefore closes no cycle.
- The names that `sparserank/__init__` imports on first use are strings, not import statements.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.floor_plan import CYCLES, FOR_TYPES, ROOMS, THIN, TWO_WAY, VIOLATIONS

SOURCE = Path(__file__).parents[1] / "src/sparserank"


class Import(NamedTuple):
    importer: str  # module
    place: str  # module, class and function of the statement
    imported: str  # module
    for_types: bool  # under `if TYPE_CHECKING:`


class Package:
    """The modules of a package by name. Names leave out the prefix `package.`; `package` is its `__init__`."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.trees: dict[str, ast.Module] = {}
        self.packages: set[str] = set()
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            module = self.short(".".join(parts).removesuffix(".__init__"))
            self.trees[module] = ast.parse(file.read_text(encoding="utf-8"))
            if file.name == "__init__.py":
                self.packages.add(module)

    def short(self, module: str) -> str:
        return module.removeprefix(f"{self.name}.")

    def holds(self, module: str) -> bool:
        return module == self.name or module.startswith(f"{self.name}.")

    def home(self, module: str, name: str) -> str:
        """The module that `from module import name` imports.

        Raises
            LookupError   `module` is a package whose `__init__` neither defines nor re-exports the name
        """
        submodule = name if module == self.name else f"{module}.{name}"
        if submodule in self.trees:
            return submodule
        if module not in self.packages:
            return module
        for statement in self.trees[module].body:
            match statement:
                case ast.ImportFrom(module=str(source), names=names) if self.holds(source):
                    for alias in names:
                        if name == (alias.asname or alias.name):
                            return self.home(self.short(source), alias.name)
                case (
                    ast.Assign(targets=[ast.Name(id=defined)])
                    | ast.AnnAssign(target=ast.Name(id=defined))
                    | ast.FunctionDef(name=defined)
                    | ast.ClassDef(name=defined)
                ) if name == defined:
                    return module
        raise LookupError(f"{module} does not define {name}: import it from the module that does.")

    def imports(self) -> list[Import]:
        walks = [_Walk(self, module) for module in self.trees]
        return [found for walk in walks for found in walk.found]


class _Walk(ast.NodeVisitor):
    """The imports of one module from its own package, in source order."""

    def __init__(self, package: Package, module: str) -> None:
        self.package, self.module = package, module
        self.scope, self.for_types = [module], False
        self.found: list[Import] = []
        self.visit(package.trees[module])

    def visit_Import(self, statement: ast.Import) -> None:
        for alias in statement.names:
            if self.package.holds(alias.name):
                self._add(self.package.short(alias.name))

    def visit_ImportFrom(self, statement: ast.ImportFrom) -> None:
        assert statement.level == 0, (
            f"{self.module}: relative imports are not resolved; import from the package by name."
        )
        if self.package.holds(statement.module or ""):
            for alias in statement.names:
                self._add(self.package.home(self.package.short(statement.module or ""), alias.name))

    def _add(self, imported: str) -> None:
        self.found.append(Import(self.module, ".".join(self.scope), imported, self.for_types))

    def visit_If(self, statement: ast.If) -> None:
        outside = self.for_types
        self.for_types = outside or ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for inner in statement.body:
            self.visit(inner)
        self.for_types = outside
        for inner in statement.orelse:
            self.visit(inner)

    def _visit_block(self, block: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.scope.append(block.name)
        self.generic_visit(block)
        self.scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_block


def room_of(module: str, rooms: Mapping[str, str]) -> str:
    """The room of the module itself or, if the plan does not name it, of the innermost package that the plan names."""
    homes = {name: room for room, names in rooms.items() for name in names.split()}
    parts = module.split(".")
    for n in range(len(parts), 0, -1):
        if ".".join(parts[:n]) in homes:
            return homes[".".join(parts[:n])]
    raise LookupError(f"{module} is in no room; add it to one in tests/floor_plan.py.")


def upward(imports: Iterable[Import], rooms: Mapping[str, str]) -> list[Import]:
    floor = {room: n for n, room in enumerate(rooms)}
    return [i for i in imports if floor[room_of(i.imported, rooms)] < floor[room_of(i.importer, rooms)]]


def two_way(imports: Iterable[Import], rooms: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pairs of rooms that import each other, each pair in alphabetical order."""
    pairs = {(room_of(i.importer, rooms), room_of(i.imported, rooms)) for i in imports}
    return {(a, b) for a, b in pairs if a < b and (b, a) in pairs}


def cycles(imports: Iterable[Import]) -> set[str]:
    """Strongly connected components of two modules or more, each as its sorted names in one string."""
    imported: dict[str, set[str]] = {}
    for i in imports:
        imported.setdefault(i.importer, set()).add(i.imported)
    reached: dict[str, set[str]] = {}
    for module in imported:
        ahead, reached[module] = [module], set()
        while ahead:
            new = imported.get(ahead.pop(), set()) - reached[module]
            reached[module] |= new
            ahead += new
    circles = [{b for b in reached[a] if a in reached.get(b, ())} for a in reached]
    return {" ".join(sorted(circle)) for circle in circles if circle}


def assert_exact(found: Collection, listed: Collection, what: str) -> None:
    new, gone = sorted(set(found) - set(listed)), sorted(set(listed) - set(found))
    assert not new, f"new {what}, which the floor plan does not allow: {new}"
    assert not gone, f"{what} that no longer occur; delete them from tests/floor_plan.py: {gone}"


@pytest.fixture(scope="module")
def package() -> Package:
    return Package(SOURCE)


@pytest.fixture(scope="module")
def at_run_time(package: Package) -> list[Import]:
    """Imports at run time, except those of thin methods."""
    return [i for i in package.imports() if not i.for_types and (i.place, i.imported) not in THIN]


def test_every_module_is_in_one_room_and_every_name_of_the_plan_exists(package: Package) -> None:
    names = " ".join(ROOMS.values()).split()
    assert len(names) == len(set(names))
    assert set(names) <= set(package.trees)
    assert {room_of(module, ROOMS) for module in package.trees} == set(ROOMS)


def test_only_the_listed_imports_go_upward(at_run_time: list[Import]) -> None:
    assert_exact({(i.importer, i.imported) for i in upward(at_run_time, ROOMS)}, VIOLATIONS, "upward imports")


def test_only_the_listed_rooms_import_each_other(at_run_time: list[Import]) -> None:
    assert_exact(two_way(at_run_time, ROOMS), TWO_WAY, "pairs of rooms that import each other")


def test_only_the_listed_cycles_exist(at_run_time: list[Import]) -> None:
    assert_exact(cycles(at_run_time), CYCLES, "cycles")


def test_the_permanent_upward_imports_are_those_listed(package: Package) -> None:
    climbing = upward(package.imports(), ROOMS)
    thin = {(i.place, i.imported) for i in climbing if (i.place, i.imported) in THIN and i.place != i.importer}
    assert_exact(thin, THIN, "upward imports of thin methods")
    assert_exact({(i.importer, i.imported) for i in climbing if i.for_types}, FOR_TYPES, "upward imports for types")


# The checker itself, on a made-up package with known violations.

MADE = {
    "__init__": "__version__ = '1'",
    "roof": "from made import __version__\nfrom made.rooms.d import D\nclass R: pass",
    "rooms/__init__": "from made.rooms.b import B",
    "rooms/a": "from made.rooms import B\nclass A:\n    def draw(self):\n        from made.roof import R",
    "rooms/b": "import made.rooms.c\nclass B: pass",
    "rooms/c": "def later():\n    from made.rooms import a",
    "rooms/d": "class D: pass",
    "cellar": "import typing\nfrom made.rooms import B\nif typing.TYPE_CHECKING:\n    from made.roof import R",
}
MADE_ROOMS = {"roof": "roof", "rooms": "rooms", "cellar": "made cellar"}


@pytest.fixture
def made(tmp_path: Path) -> Package:
    for module, text in MADE.items():
        file = tmp_path / "made" / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Package(tmp_path / "made")


def test_upward_imports_are_found_in_modules_functions_and_type_checks(made: Package) -> None:
    assert upward(made.imports(), MADE_ROOMS) == [
        Import("cellar", "cellar", "rooms.b", False),
        Import("cellar", "cellar", "roof", True),
        Import("rooms.a", "rooms.a.A.draw", "roof", False),
    ]
    assert two_way(made.imports(), MADE_ROOMS) == {("roof", "rooms"), ("cellar", "roof")}


def test_a_cycle_of_three_is_found_through_a_function_and_a_re_export(made: Package) -> None:
    assert cycles(made.imports()) == {"rooms.a rooms.b rooms.c"}
    assert cycles(i for i in made.imports() if i.place != "rooms.c.later") == set()


def test_a_module_without_a_room_and_a_name_without_a_home_are_refused(made: Package) -> None:
    with pytest.raises(LookupError, match="attic is in no room"):
        room_of("attic", MADE_ROOMS)
    made.trees["roof"] = ast.parse("from made import A")
    with pytest.raises(LookupError, match="made does not define A"):
        made.imports()


def test_a_list_with_one_entry_too_few_or_too_many_is_refused() -> None:
    assert_exact([("a", "b")], {("a", "b")}, "faults")
    with pytest.raises(AssertionError, match="new faults"):
        assert_exact([("a", "b")], set(), "faults")
    with pytest.raises(AssertionError, match="faults that no longer occur"):
        assert_exact([], {("a", "b")}, "faults")


def test_every_file_of_kernels_names_the_test_that_compares_them_with_a_slow_version() -> None:
    for path in SOURCE.rglob("_[!_]*.py"):
        if "\n@kernel" in (text := path.read_text(encoding="utf-8")):
            named = re.findall(r"tests/\w+/\w+\.py", text.partition("Compared with a slow version in ")[2])
            assert named, path
            assert all((SOURCE.parents[1] / name).is_file() for name in named), path
