"""Processes that others have started: which there are, and whether they have ended."""

import time
from pathlib import Path


def children_of(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids: list[int], within_s: float) -> bool:
    give_up = time.monotonic() + within_s
    while not all(has_ended(p) for p in pids):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def has_ended(pid: int) -> bool:
    """No such process, or one that its parent can reap: its first thread may be a zombie while others still leave, and
    until they have left `poll` calls the process alive."""
    process = Path(f"/proc/{pid}")
    try:
        return "State:\tZ" in (process / "status").read_text() and len(list((process / "task").iterdir())) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True
