"""Fitted paths as arrays, for the run directory only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from sparserank.calls import parse_call
from sparserank.crossval.fitted_path import FittedPath
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.paths import PathResult
from sparserank.penalties.rules import FeatureRules
from sparserank.shards.scaling import FeatureScaling

CSR = ("data", "indices", "indptr", "shape")


def packed(fitted: FittedPath) -> dict[str, np.ndarray]:
    """A fitted path as arrays; `unpacked` reads them."""
    path = fitted.path
    return {
        **({} if fitted.blocks is None else {"blocks": fitted.blocks}),
        **({} if fitted.values is None else {"values": fitted.values}),
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
        "width": np.array(path.width),
        "penalty": np.array([repr(path.penalty)], dtype="U"),
        "center": fitted.scaling.center,
        "scale": fitted.scaling.scale,
    }


def unpacked(
    arrays: Mapping[str, np.ndarray], scaling: str, names: tuple[str, ...], kind: type[FeatureRules]
) -> FittedPath:
    """The path that `packed` returned, for a penalty of this class on columns of these names.

    Raises
        DataError   it has another number of columns
    """
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    path = PathResult(
        kind(**parse_call(str(arrays["penalty"][0]))[1]),
        arrays["alphas"],
        csr_from("coefs", arrays),
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
        width=int(arrays["width"]),
        ridge=arrays.get("ridge"),
    )
    if path.sparse_coefs.shape[1] != path.width * len(names):
        raise DataError(
            "a stored path and the data have different numbers of features; start again with "
            f"{option('restart', True)}."
        )
    own = FeatureScaling(scaling, arrays["center"], arrays["scale"])
    return FittedPath(path, own, arrays.get("blocks"), arrays.get("values"))


def csr_arrays(name: str, coefs: sp.csr_array) -> dict[str, np.ndarray]:
    """A sparse array as arrays under a name; `csr_from` reads it."""
    return {f"{name} {part}": np.asarray(getattr(coefs, part)) for part in CSR}


def csr_from(name: str, arrays: Mapping[str, np.ndarray]) -> sp.csr_array:
    """The sparse array that `csr_arrays` stored."""
    data, indices, indptr, shape = (arrays[f"{name} {part}"] for part in CSR)
    return sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
