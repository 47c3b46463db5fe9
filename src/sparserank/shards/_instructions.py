"""Processor instructions that Numba does not expose."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE_BYTES = 64  # size of a cache line
_BITS = ir.IntType(32)
_READ, _KEEP, _DATA = ir.Constant(_BITS, 0), ir.Constant(_BITS, 3), ir.Constant(_BITS, 1)
_PAIR = ir.VectorType(ir.DoubleType(), 2)


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
def add_pair(typing_context, sums, c, first, second):
    """sums[c] += first and sums[c + 1] += second in one addition; sums (n,) float64, contiguous, 0 <= c < n - 1."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1:2])
        address = builder.bitcast(address, _PAIR.as_pointer())
        pair = ir.Constant(_PAIR, ir.Undefined)
        for place, value in enumerate(args[2:]):
            pair = builder.insert_element(pair, value, ir.Constant(_BITS, place))
        builder.store(builder.fadd(builder.load(address, align=8), pair), address, align=8)
        return context.get_dummy_value()

    return types.void(sums, c, types.float64, types.float64), codegen


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # kernels run as plain Python, for debugging

    def prefetch(X, i, j):  # type: ignore[misc]
        pass

    def add_pair(sums, c, first, second):  # type: ignore[misc]
        sums[c] += first
        sums[c + 1] += second
