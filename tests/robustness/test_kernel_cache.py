"""The disk cache of compiled kernels: never older than the sources, and untouched by `import sparserank`."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.caching import CacheImpl

import sparserank._kernel_cache
from sparserank._kernel_cache import _warn_of_no_cache, is_compiled, kernel
from sparserank.cli import screen

ROOM = Path(sparserank._kernel_cache.__file__).parent
INNER = "from sparserank._kernel_cache import kernel\n\n@kernel\ndef step(x):\n    return x + 1.0\n"
OUTER = "from sparserank._inner import step\n{imported}\n\n{decorator}\ndef walk(x):\n    return step(x)\n"


def python(code: str, folder: Path, **environment: str) -> str:
    """What a fresh process prints that finds modules in `folder` first."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    ours |= {"PYTHONPATH": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=ours, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A package with a kernel that calls a kernel of another file; in `plain` the same function without `kernel`."""
    package = tmp_path / "sparserank"
    (package / "plain").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_kernel_cache.py").write_text((ROOM / "_kernel_cache.py").read_text())
    (package / "_inner.py").write_text(INNER)
    ours = {"imported": "from sparserank._kernel_cache import kernel", "decorator": "@kernel"}
    (package / "_outer.py").write_text(OUTER.format(**ours))
    plain = {"imported": "from numba import njit", "decorator": "@njit(cache=True)"}
    (package / "plain/_outer.py").write_text(OUTER.format(**plain))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_kernel_never_runs_with_an_old_copy_of_what_it_inlines(made: Path, elsewhere: bool) -> None:
    """With Numba's cache alone it does: the test can fail."""
    environment = {"NUMBA_CACHE_DIR": str(made / "caches")} if elsewhere else {}
    code = (
        "from sparserank import _outer\nfrom sparserank.plain import _outer as plain\n"
        "print(_outer.walk(1.0), plain.walk(1.0), len(_outer.walk.stats.cache_hits))"
    )

    def run() -> tuple[str, set[str]]:
        printed = python(code, made, **environment)
        return printed, {file.name for file in made.rglob(f"*_{12 * '?'}-*.nbi")}  # with a hash in their names

    (printed, compiled), (again, kept) = run(), run()
    assert printed == "2.0 2.0 0"
    assert again == "2.0 2.0 1"  # from the cache
    assert len(compiled) == 2
    assert kept == compiled
    (made / "sparserank/_inner.py").write_text(INNER.replace("1.0", "5.0"))
    printed, renewed = run()
    assert printed == "6.0 2.0 0"
    assert len(renewed) == 2
    assert renewed.isdisjoint(compiled)  # files of other sources are removed


def test_import_sparserank_removes_no_cache_and_imports_no_numba(tmp_path: Path) -> None:
    def run(code: str) -> str:
        return python(code, ROOM.parent, NUMBA_CACHE_DIR=str(tmp_path))

    folder = run("from sparserank.losses import _sorting_kernels as k; print(k.sort_descending.stats.cache_path)")
    outdated = Path(folder) / "_sorting_kernels.sort_descending_0123-10.py311.nbi"
    outdated.write_bytes(b"of other sources")
    assert run("import sparserank, sys; print('numba' in sys.modules)") == "False"
    assert outdated.exists()
    run("from sparserank.losses import _sorting_kernels")
    assert not outdated.exists()


def test_kernels_are_in_hashed_files_and_take_nothing_from_other_files() -> None:
    """A constant of another file would be compiled in, and its change would go unnoticed."""
    with_kernels = [file for file in ROOM.rglob("*.py") if "_kernel_cache import kernel" in file.read_text()]
    assert len(with_kernels) > 15
    for file in with_kernels:
        assert file.name.startswith("_"), file
        for statement in ast.walk(ast.parse(file.read_text())):
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("sparserank"):
                assert (statement.module or "").rpartition(".")[2].startswith("_"), (file, statement.module)
    compiling = {file.name for file in ROOM.rglob("*.py") if "import njit" in file.read_text()}
    assert compiling == {"_kernel_cache.py", "_pass_kernels.py"}  # the latter for losses of other packages


def test_where_no_folder_is_writable_kernels_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    _warn_of_no_cache.cache_clear()
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR") as warned:
        added, doubled = kernel(lambda x: x + 1.0), kernel(fastmath=True)(lambda x: 2.0 * x)
    assert (added(1.0), doubled(1.0)) == (2.0, 2.0)
    assert len(warned) == 1
    assert not is_compiled(added)


TWICE = """
import gc
import numpy as np
import sparserank as sr
from numba.core.dispatcher import Dispatcher
from sparserank.execution import BlockExecutor
from sparserank.metrics import parse_metric
from sparserank.metrics.ordering import rank_lists
from sparserank.shards.moments import moment_sums
from sparserank.shards.rows import read_only

data = sr.datasets.make_ranking(20, 6, 4, n_informative=2, n_redundant=0, random_state=0).data
objective = sr.solvers.PairwiseObjective(data, n_threads=1)
(shard,) = objective.shards.shards
ndcg = parse_metric("ndcg@10")
w, key, around = np.zeros(4), objective.weighting.key, np.zeros((2, 4))
score, columns, used = np.array(data.X[:, 0]), np.arange(4), np.ones((2, 20), dtype=bool)

def use(step, columns, query_ptr, used):
    shard.hessians(key, [(w, columns, 0, 1, step)])
    moment_sums(shard.rows, query_ptr, used, np.ones(4), around, BlockExecutor(1))
    ndcg.compute(rank_lists(score, data.relevance, query_ptr, ndcg.convention))

def compiled():
    return sum(len(x.signatures) for x in gc.get_objects() if issubclass(type(x), Dispatcher))

use(1, columns, data.query_ptr.copy(), used)
before = compiled()
use(2, read_only(columns), read_only(data.query_ptr), np.ones((2, 40), dtype=bool)[:, ::2])
use(2, read_only(columns), read_only(data.query_ptr), read_only(used))
print(before, compiled())
"""


def test_arrays_that_are_read_only_or_cut_compile_nothing_anew() -> None:
    """To Numba they are of other types, for each of which it would compile again. In a process of its own: in this one
    other tests may have compiled for both."""
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after == before > 0


def test_what_the_disk_cache_holds_is_compiled_already(tmp_path: Path) -> None:
    stats = SimpleNamespace(cache_path=str(tmp_path))
    one = SimpleNamespace(py_func=SimpleNamespace(__qualname__="descend_0123"), stats=stats)
    (tmp_path / "_kernels.descend_4567-12.py311.nbi").write_bytes(b"of other sources")
    assert not is_compiled(one)
    (tmp_path / "_kernels.descend_0123-12.py311.nbi").write_bytes(b"")
    assert is_compiled(one)


ANNOUNCED = """
from sparserank import _outer
from sparserank._kernel_cache import tell_once

tell = lambda is_cached: print("compiling", is_cached)
for _ in range(2):
    tell_once[:] = [tell]
    _outer.walk(1.0), _outer.walk(2.0)
tell_once[:] = [tell]
_outer.walk(1)
"""


def test_only_what_is_compiled_is_announced(made: Path) -> None:
    """Once for each command, when a kernel is compiled for a new kind of argument; not when it is loaded or called
    again."""
    assert python(ANNOUNCED, made) == "compiling True\ncompiling True"
    assert python(ANNOUNCED, made) == ""
    assert python(ANNOUNCED, made, NUMBA_DISABLE_JIT="1") == ""


def test_without_a_disk_cache_no_command_calls_it_the_first_use(capsys: pytest.CaptureFixture[str]) -> None:
    for is_cached, line in ((True, "kernels (first use after installation only) ..."), (False, "kernels ...")):
        screen.announce_compiling()
        sparserank._kernel_cache.tell_once.pop()(is_cached)
        assert capsys.readouterr().err == f"compiling numerical {line}\n"
