"""Freed memory goes back to the system."""

import ctypes
import platform
import subprocess
import sys

import pytest

from sparserank.selection.fuse import return_freed_memory

# Blocks of 50 kB between small objects that stay: 200 MB that free() alone does not return.
HELD = """
import numpy as np
from sparserank.selection.fuse import return_freed_memory
def resident():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * 4096 / 1e6
small, blocks = [], []
for i in range(4000):
    blocks.append(np.ones(6250)); small.append(np.ones(50))
blocks.clear()
before = resident()
return_freed_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_places_between_small_objects_are_returned() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) > 100


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def unknown(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", unknown)
    return_freed_memory()
