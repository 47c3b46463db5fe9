"""The inputs that results depend on: the program's sources, the libraries that compute, the data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparserank.calls import source_of

COMPUTING_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
LONGEST_LABEL = 100  # file systems allow 255 bytes
PRESENTING = ("cli", "report")  # rooms that show results and compute none


@cache
def code_hash(left_out: Callable[[tuple[str, ...]], bool]) -> str:
    """Hash of this package's sources and of the versions of the libraries that compute.

    left_out(path inside the package, as its parts) is true for files on which no result depends. Files that only
    present results are left out in any case.
    """
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(repr([version(name) for name in COMPUTING_LIBRARIES]).encode())
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root).parts
        if inside[0] not in PRESENTING and not left_out(inside):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def foreign_code(cls: type) -> str:
    """Empty for a class of this package, else its name and a hash of its source, if the source can be found."""
    if cls.__module__.split(".")[0] == __name__.split(".")[0]:
        return ""
    return f" of {cls.__module__}.{cls.__qualname__} {hashlib.sha256(source_of(cls).encode()).hexdigest()[:12]}"


def name_of(label: str, depends_on: Any) -> str:
    """A file name for a piece of work: readable, and different if any input (plain JSON values) differs."""
    digest = hashlib.sha256(json.dumps([label, depends_on], sort_keys=True).encode()).hexdigest()[:16]
    readable = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in label)
    return f"{readable[:LONGEST_LABEL]}-{digest}"
