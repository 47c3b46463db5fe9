"""Arrays as NumPy writes them, read strictly: a header of another form is refused, and nothing of it is run."""

from __future__ import annotations

import io
import math
import re
import zipfile
from typing import NamedTuple

import numpy as np

MAGIC = b"\x93NUMPY\x01\x00"
MAX_HEADER = 1024  # bytes; NumPy's are 128
_HEADER = re.compile(
    r"\{'descr': '([<>|=][biufSU]\d{1,9})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,19}(?:, \d{1,19})*,?)?)\), \} *\n"
)


class Header(NamedTuple):
    """dtype, as text; shape; by_columns: whether the first index varies fastest; start: the place of the first value"""

    dtype: str
    shape: tuple[int, ...]
    by_columns: bool
    start: int


def header_of(head: bytes) -> Header | None:
    """The header of a .npy file of numbers or texts; None if it is anything else. head: the first MAX_HEADER bytes."""
    start = len(MAGIC) + 2 + int.from_bytes(head[len(MAGIC) : len(MAGIC) + 2], "little")
    found = _HEADER.fullmatch(head[len(MAGIC) + 2 : start].decode("latin-1"))
    if not head.startswith(MAGIC) or start > MAX_HEADER or found is None:
        return None
    return Header(found[1], tuple(int(n) for n in re.findall(r"\d+", found[3])), found[2] == "True", start)


def arrays_of_npz(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of `np.savez`: nothing is decompressed, and no array has more bytes than the file.

    Raises
        ValueError   the content is anything else
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            stored = all(m.compress_type == zipfile.ZIP_STORED for m in members)
            if not stored or sum(m.file_size for m in members) > len(content):
                raise ValueError("its arrays are compressed")
            return {m.filename.removesuffix(".npy"): _array(archive.read(m)) for m in members}
    except (zipfile.BadZipFile, RuntimeError, EOFError, OverflowError, KeyError) as error:
        raise ValueError(f"it is not an archive of arrays: {error}") from error


def _array(content: bytes) -> np.ndarray:
    header = header_of(content[:MAX_HEADER])
    if header is None:
        raise ValueError("a header was not written by NumPy")
    dtype = np.dtype(header.dtype)
    if header.start + math.prod(header.shape) * dtype.itemsize != len(content):
        raise ValueError(f"its size does not match {header.shape} values of type {dtype}")
    values = np.frombuffer(content, dtype=dtype, offset=header.start).copy()
    return values.reshape(header.shape, order="F" if header.by_columns else "C")


def checked(arrays: dict[str, np.ndarray], **expected: tuple[str, tuple[int | None, ...]]) -> dict[str, np.ndarray]:
    """The arrays, which must include these: {name: (kinds of dtype, shape)}; None in a shape: any number.

    Raises
        ValueError   one is missing, or has another type or shape
    """
    for name, (kinds, shape) in expected.items():
        values = arrays.get(name)
        if values is None:
            raise ValueError(f"it has no {name}")
        fits = values.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, values.shape, strict=True))
        if values.dtype.kind not in kinds or not fits:
            raise ValueError(f"{name} has type {values.dtype} and shape {values.shape}; expected shape {shape}")
    return arrays
