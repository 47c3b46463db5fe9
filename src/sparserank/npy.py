"""Arrays in archives as NumPy writes them, whose types and shapes are checked."""

from __future__ import annotations

import io
import zipfile

import numpy as np


def arrays_of_npz(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of `np.savez`; nothing is decompressed or unpickled.

    Raises
        ValueError   the content is anything else
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            if any(member.compress_type != zipfile.ZIP_STORED for member in arrays.zip.infolist()):
                raise ValueError("its arrays are compressed")
            return {name: np.asarray(arrays[name]) for name in arrays.files}
    except Exception as error:  # of whatever kind: the content may be anything
        raise ValueError(f"it is not an archive of arrays: {error}") from error


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
