"""Locks of files by each way that a system has, and without any."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparserank.runs import locks

HELD = "import os, sys, time; from sparserank.runs.locks import is_locked_elsewhere as f; "
OTHER = HELD + "print(f(os.open(sys.argv[1], os.O_RDWR)))"


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[int]:
    handle = os.open(tmp_path / "mark", os.O_RDWR | os.O_CREAT)
    os.write(handle, b"select\n")
    yield handle
    os.close(handle)


def seen_by_another(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.skipif(locks.fcntl is None, reason="this system has no fcntl")
def test_another_process_sees_the_lock_until_the_file_is_closed(handle: int, tmp_path: Path) -> None:
    assert not locks.is_locked_elsewhere(handle)
    assert seen_by_another(tmp_path / "mark") == "True"
    duplicate = os.dup(handle)
    os.close(duplicate)
    assert seen_by_another(tmp_path / "mark") == "True"


class Msvcrt:
    """msvcrt.locking as it is documented: bytes from the current position on, which may lie beyond the end."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, handle: int, mode: int, n: int) -> None:
        assert mode == self.LK_NBLCK
        place = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
        if place in self.held:
            raise PermissionError(13, "Permission denied")
        self.held.add(place)


def test_without_fcntl_a_byte_is_locked(handle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", Msvcrt())
    os.lseek(handle, 3, os.SEEK_SET)
    assert not locks.is_locked_elsewhere(handle)
    assert os.lseek(handle, 0, os.SEEK_CUR) == 3
    other = os.open(tmp_path / "mark", os.O_RDWR)
    assert locks.is_locked_elsewhere(other)
    assert os.read(other, 100) == b"select\n"  # whose content stays readable
    os.close(other)
    assert (tmp_path / "mark").read_bytes() == b"select\n"


def test_without_any_locks_nothing_is_locked(handle: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", None)
    assert not locks.is_locked_elsewhere(handle)
