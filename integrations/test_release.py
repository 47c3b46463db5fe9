"""The wheel and the source distribution: what is in them, and what they do in a clean environment of every Python that
is here."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from integrations.release import LARGEST, PYTHONS, ROOT, build, check, faults, interpreter, told

import sparserank as sr

IMPORT_SECONDS = 1.0
ALONE = "import sys, sparserank; assert not {'numpy', 'numba', 'sklearn', 'pyarrow', 'click'} & sys.modules.keys()"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel made of it; from-tree/ holds the wheel made of the tree."""
    out = tmp_path_factory.mktemp("dist")
    build(out)
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
    assert "sparserank" in check([p for p in built.iterdir() if p.is_file()])


def test_what_forbids_an_upload_is_told() -> None:
    names = [f"sparserank-{sr.__version__}-py3-none-any.whl", f"sparserank-{sr.__version__}.tar.gz"]
    info = f"sparserank-{sr.__version__}.dist-info"
    files = ["sparserank/py.typed", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"]
    sources = ["src/sparserank/py.typed", "README.md"]
    assert faults(names, [10, 10], files, sources) == []
    for wrong in (
        faults(names[:1], [10], files, sources),
        faults(names, [10, LARGEST + 1], files, sources),
        faults(names, [10, 10], files[1:], sources),
        faults(names, [10, 10], [*files, "tests/test_x.py"], sources),
        faults(names, [10, 10], [*files, "sparserank/train.txt"], sources),
        faults(names, [10, 10], files, [*sources, "tests/conftest.py"]),
    ):
        assert len(wrong) == 1


def test_the_source_makes_the_wheel_that_the_tree_makes(built: Path) -> None:
    ours, theirs = contents(wheel_in(built)), contents(wheel_in(built / "from-tree"))
    assert ours == theirs
    assert "sparserank/py.typed" in ours
    files = {p for p in (ROOT / "src/sparserank").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {name for name in ours if ".dist-info/" not in name} == {str(p.relative_to(ROOT / "src")) for p in files}


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
