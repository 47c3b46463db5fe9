"""Fitted paths as arrays: what travels between processes and lies in the run directory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from sparserank.calls import parse_call
from sparserank.crossval.settings import PathSettings
from sparserank.errors import DataError
from sparserank.paths import PathResult
from sparserank.penalties import Penalty
from sparserank.shards.scaling import FeatureScaling

CSR = ("data", "indices", "indptr", "shape")


def pack(path: PathResult, scaling: FeatureScaling, blocks: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """A fitted path as arrays for the run directory; `coefs_of` reads the coefficients; blocks:
    of a path on curves, what they mean."""
    return {
        **({} if blocks is None else {"blocks": blocks}),
        "alphas": path.alphas,
        **csr_arrays("coefs", path.sparse_coefs),
        "losses": path.losses,
        "objectives": path.objectives,
        "kkt_violations": path.kkt_violations,
        "gaps": path.gaps,
        "n_iters": path.n_iters,
        "times_s": path.times_s,
        "statuses": np.array(path.statuses, dtype="U16"),
        **({} if path.ridge is None else {"ridge": path.ridge}),
        "scalars": np.array([path.alpha_max, path.l1_alpha_max, path.n_pairs, path.total_weight], dtype=np.float64),
        "shape": np.array([repr(path.penalty)], dtype="U"),
        "center": scaling.center,
        "scale": scaling.scale,
    }


def coefs_of(arrays: Mapping[str, np.ndarray]) -> sp.csr_array:
    """(n_alphas, n_features) coefficients of the scaled features of a path as arrays."""
    return csr_from("coefs", arrays)


def csr_arrays(name: str, coefs: sp.csr_array) -> dict[str, np.ndarray]:
    """A sparse array as arrays under a name; `csr_from` reads it."""
    return {f"{name} {part}": np.asarray(getattr(coefs, part)) for part in CSR}


def csr_from(name: str, arrays: Mapping[str, np.ndarray]) -> sp.csr_array:
    """The sparse array that `csr_arrays` gave."""
    data, indices, indptr, shape = (arrays[f"{name} {part}"] for part in CSR)
    return sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def width_of(arrays: Mapping[str, np.ndarray]) -> int:
    """Coefficients of each feature, side by side."""
    return arrays["blocks"].shape[2] if "blocks" in arrays else 1


def in_units(coefs: sp.csr_array, arrays: Mapping[str, np.ndarray]) -> sp.csr_array:
    """Coefficients (n, n_coefficients) of a path as arrays in units of the columns themselves:
    features, or ramps of curves."""
    if "blocks" not in arrays:
        return sp.csr_array(
            (coefs.data / arrays["scale"][coefs.indices], coefs.indices, coefs.indptr), shape=coefs.shape
        )
    blocks = arrays["blocks"]
    d, m, width = blocks.shape
    mixing = sp.bsr_array((blocks.transpose(0, 2, 1), np.arange(d), np.arange(d + 1)), shape=(d * width, d * m))
    product = sp.csr_array(coefs @ mixing)
    product.eliminate_zeros()
    return product


def unpack(
    arrays: dict[str, np.ndarray], settings: PathSettings, names: tuple[str, ...], like: Penalty
) -> tuple[PathResult, FeatureScaling]:
    """The path that `pack` stored, of a penalty of the same class as `like`."""
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    penalty = type(like)(**parse_call(str(arrays["shape"][0]))[1])
    path = PathResult(
        penalty,
        arrays["alphas"],
        coefs_of(arrays),
        arrays["losses"],
        arrays["objectives"],
        arrays["kkt_violations"],
        arrays["gaps"],
        arrays["n_iters"],
        arrays["times_s"],
        tuple(arrays["statuses"].tolist()),
        alpha_max,
        l1_alpha_max,
        int(n_pairs),
        total_weight,
        names,
        width=width_of(arrays),
        ridge=arrays.get("ridge"),
    )
    if path.sparse_coefs.shape[1] != path.width * len(names):
        raise DataError("a stored path has another number of features than the data; use --restart.")
    return path, FeatureScaling(settings.scaling, arrays["center"], arrays["scale"])
