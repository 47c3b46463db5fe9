"""Finished paths in the run directory, as arrays."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparserank.paths import PathResult
from sparserank.penalties.rules import FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import parse_call
from sparserank.workdir.pieces import checked

CSR = ("data", "indices", "indptr", "shape")


def packed(path: PathResult) -> dict[str, np.ndarray]:
    """A fitted path with its scaling as arrays; `unpacked` reads them."""
    assert path.scaling is not None
    return {
        **({} if path.values is None else {"values": path.values}),
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
        "center": path.scaling.center,
        "scale": path.scaling.scale,
    }


def unpacked(
    arrays: dict[str, np.ndarray],
    scaling: str,
    names: tuple[str, ...],
    kind: type[FeatureRules],
    width: int,
    values: tuple[int, int] | None,
) -> PathResult:
    """The path that `packed` returned, for a penalty of this class on columns of these names.

    Parameters
        width    number of coefficients of each
        values   (number of metrics, number of queries) of its values; None: it has none
    Raises
        DataError, KeyError, ValueError   it has another number of columns, or is not such a path
    """
    n, d = len(arrays["alphas"]), len(names)
    of_points = ("alphas", "losses", "objectives", "kkt_violations", "gaps", "times_s")
    expected: dict[str, tuple[str, tuple[int | None, ...]]] = dict.fromkeys(of_points, ("f", (n,)))
    expected |= {"n_iters": ("iuf", (n,)), "statuses": ("U", (n,)), "scalars": ("f", (4,)), "width": ("iu", ())}
    expected |= {"penalty": ("U", (1,)), "center": ("f", (d,)), "scale": ("f", (d,))}
    expected |= {"ridge": ("f", (n,))} if "ridge" in arrays else {}
    expected |= {"values": ("f", (values[0], n, values[1]))} if values is not None else {}
    checked(arrays, **expected)
    if int(arrays["width"]) != width or not np.isfinite(arrays["scalars"]).all():
        raise ValueError("it is a path of other columns")
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    return PathResult(
        kind(**parse_call(str(arrays["penalty"][0]))[1]),
        arrays["alphas"],
        csr_from("coefs", arrays, (n, d * width)),
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
        width=width,
        ridge=arrays.get("ridge"),
        scaling=FeatureScaling(scaling, arrays["center"], arrays["scale"]),
        values=arrays.get("values"),
    )


def csr_arrays(name: str, coefs: sp.csr_array) -> dict[str, np.ndarray]:
    """A sparse array as arrays under a name; `csr_from` reads it."""
    return {f"{name} {part}": np.asarray(getattr(coefs, part)) for part in CSR}


def csr_from(name: str, arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> sp.csr_array:
    """The sparse array that `csr_arrays` stored.

    Raises
        ValueError   the arrays are not a sparse array, or have another shape
    """
    kinds = {"data": "f", "indices": "i", "indptr": "i", "shape": "iu"}
    checked(arrays, **{f"{name} {part}": (kind, (None,)) for part, kind in kinds.items()})
    data, indices, indptr, written = (arrays[f"{name} {part}"] for part in CSR)
    if tuple(written.tolist()) != shape:
        raise ValueError(f"{name} has shape {tuple(written.tolist())}; expected {shape}")
    out = sp.csr_array((data, indices, indptr), shape=shape)
    out.check_format()  # all indices are inside
    return out
