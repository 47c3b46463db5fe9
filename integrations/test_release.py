"""The wheel and the source distribution: what is in them, and what they do in a clean environment of every Python that
is here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sparserank as sr

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
IMPORT_SECONDS = 1.0
ALONE = "import sys, sparserank; assert not {'numpy', 'numba', 'sklearn', 'pyarrow', 'click'} & sys.modules.keys()"


def told(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints; nothing of this environment reaches it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=kept, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel made of it; from-tree/ holds the wheel made of the tree."""
    out = tmp_path_factory.mktemp("dist")
    told(sys.executable, "-m", "build", "--outdir", out, ROOT)
    told(sys.executable, "-m", "build", "--wheel", "--outdir", out / "from-tree", ROOT)
    return out


def wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_version_is_written_once() -> None:
    cited = re.search(r"(?m)^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited is not None
    assert cited[1] == sr.__version__
    assert sr.__version__ not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_wheel_and_source_are_fit_to_be_uploaded(built: Path) -> None:
    files = [p for p in built.iterdir() if p.is_file()]
    assert sorted(p.name for p in files) == [
        f"sparserank-{sr.__version__}-py3-none-any.whl",
        f"sparserank-{sr.__version__}.tar.gz",
    ]
    assert told(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files).count("PASSED") == 2


def test_the_source_makes_the_wheel_that_the_tree_makes(built: Path) -> None:
    ours, theirs = contents(wheel_in(built)), contents(wheel_in(built / "from-tree"))
    assert ours == theirs
    assert "sparserank/py.typed" in ours
    files = {p for p in (ROOT / "src/sparserank").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {name for name in ours if ".dist-info/" not in name} == {str(p.relative_to(ROOT / "src")) for p in files}


def test_the_source_holds_what_its_tests_need(built: Path) -> None:
    with tarfile.open(built / f"sparserank-{sr.__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "Makefile", "docs/conf.py", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith(("docs/_build", "docs/api", ".venv", "evidence"))]


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: of this environment, of the path, of pyenv."""
    places = [sys.executable, shutil.which(f"python{version}") or ""]
    places += [str(p) for p in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(None, places):
        answer = subprocess.run([place, "--version"], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.startswith(f"Python {version}."):
            return place
    return None


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_a_clean_environment(version: str, built: Path, tmp_path: Path) -> None:
    """Without extras: the command, models in and out, an import that takes under a second of the processor, however
    busy the machine is; with this Python the demo too."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not here; the wheel was not run with it")
    told(python, "-m", "venv", tmp_path / "venv")
    clean = tmp_path / "venv/bin/python"
    told(clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel_in(built))
    told(clean, "-m", "pip", "check", "--disable-pip-version-check")
    assert told(tmp_path / "venv/bin/sparserank", "--version") == f"sparserank {sr.__version__}\n"
    taken = []
    for _ in range(3):
        began = os.times()
        told(clean, "-c", ALONE, cwd=tmp_path)
        ended = os.times()
        taken.append(sum(ended[2:4]) - sum(began[2:4]))  # of children, in Python and in the system
    assert min(taken) < IMPORT_SECONDS
    assert "smoke: all of it works" in told(clean, ROOT / "integrations/smoke.py", sr.__version__, cwd=tmp_path)
    if python == sys.executable:
        assert "Keep" in told(tmp_path / "venv/bin/sparserank", "demo", "--out", tmp_path / "demo")
        assert (tmp_path / "demo").is_dir()
