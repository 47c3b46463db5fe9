"""Stores of somebody else: the checks of `open_store` against a slow oracle, on mutations of manifests,
arrays and files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.stores import valid_store
from tests.support.made_stores import dense, made, sparse
from tests.support.store_fuzzer import check


@pytest.mark.slow
def test_mutated_stores_are_used_or_refused(fuzz_seconds: float, fuzz_seed: int, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    command = [sys.executable, "-m", "tests.support.store_fuzzer", str(fuzz_seed), str(fuzz_seconds), str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"},
    )
    shown = "\n".join(done.stdout.splitlines()[-3:] + done.stderr.splitlines()[-25:])
    assert done.returncode == 0, shown
    n_stores, n_read = (int(word) for word in done.stdout.splitlines()[-1].split() if word.isdigit())
    assert 0 < n_read < n_stores


@pytest.mark.parametrize("arrays", [dense(), sparse()])
def test_the_comparison_accepts_what_is_right(arrays: dict[str, Any], tmp_path: Path) -> None:
    assert check(made(tmp_path / "s", arrays))


WRONG = {
    "sparserank.data.store.features.fault_of": (lambda X: None, sparse(data=np.full(10, np.nan))),
    "sparserank.data.store.arrays._check_lists": (lambda *_: None, dense(label=np.full(8, np.inf))),
    "sparserank.data.store.manifest._check_names": (lambda *_: None, dense()),
}


@pytest.mark.parametrize("check_name", list(WRONG))
def test_the_comparison_rejects_an_opener_without_one_check(
    check_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without, arrays = WRONG[check_name]
    changed = {"feature_names": ["a", 2, "b"]} if check_name.endswith("names") else {}
    folder = made(tmp_path / "s", arrays, **changed)
    assert valid_store(folder) is None
    assert not check(folder)
    monkeypatch.setattr(check_name, without)
    with pytest.raises(AssertionError, match="was read"):
        check(folder)
