"""Ask memory for what will be read soon: an instruction that Numba has no name for."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE_BYTES = 64  # of a cache line
_BITS = ir.IntType(32)
_READ, _KEEP, _DATA = ir.Constant(_BITS, 0), ir.Constant(_BITS, 3), ir.Constant(_BITS, 1)


@intrinsic
def prefetch(typing_context, X, i, j):
    """Bring the cache line of X[i, j] (i, j >= 0) into the first-level cache; nothing waits for it, and no page is loaded for it."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        address = cgutils.get_item_pointer(context, builder, kind, array, args[1:], wraparound=False)
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        asked = builder.module.declare_intrinsic(
            "llvm.prefetch", [address.type], ir.FunctionType(ir.VoidType(), [address.type, _BITS, _BITS, _BITS])
        )
        builder.call(asked, [address, _READ, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(X, i, j), codegen
