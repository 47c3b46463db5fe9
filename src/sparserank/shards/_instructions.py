"""Processor instructions that Numba does not expose."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE_BYTES = 64  # size of a cache line
_BITS = ir.IntType(32)
_READ = ir.Constant(_BITS, 0)
_KEEP = ir.Constant(_BITS, 3)
_DATA = ir.Constant(_BITS, 1)


def _address(context, builder, kind, array, indices):
    view = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, view, indices, wraparound=False)


@intrinsic
def prefetch(typing_context, X, i, j):
    """Bring the cache line of X[i, j] (i, j >= 0) into the first-level cache;
    nothing waits for it, and no page is loaded for it."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1:])
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        asked = builder.module.declare_intrinsic(
            "llvm.prefetch", [address.type], ir.FunctionType(ir.VoidType(), [address.type, _BITS, _BITS, _BITS])
        )
        builder.call(asked, [address, _READ, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(X, i, j), codegen


@intrinsic
def add_at(typing_context, sums, c, values):
    """sums[c + i] += values[i] for all i in one addition; sums (n,) float64, contiguous, 0 <= c; values: a tuple of 2
    or 4 float64."""
    vector = ir.VectorType(ir.DoubleType(), len(values))

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1:2])
        address = builder.bitcast(address, vector.as_pointer())
        added = ir.Constant(vector, ir.Undefined)
        for i in range(vector.count):
            added = builder.insert_element(added, builder.extract_value(args[2], i), ir.Constant(_BITS, i))
        builder.store(builder.fadd(builder.load(address, align=8), added), address, align=8)
        return context.get_dummy_value()

    return types.void(sums, c, types.UniTuple(types.float64, len(values))), codegen


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # kernels run as plain Python, for debugging

    def prefetch(X, i, j):  # type: ignore[misc]
        pass

    def add_at(sums, c, values):  # type: ignore[misc]
        for i, value in enumerate(values):
            sums[int(c) + i] += value
