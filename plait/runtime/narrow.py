"""Dtypes narrower than a byte: NumPy pads their elements to bytes, XLA may pack them.

No buffer protocol and no DLPack tensor shows such a buffer, and older jaxlibs have no way to read
one. A program that widens the elements does, on one device or on the mesh of a split array.
"""

from __future__ import annotations

import re

import numpy as np

from plait.runtime.tiling import Shape, Tiling

_MLIR_FLOATS = {
    "float4_e2m1fn": "f4E2M1FN",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
}
_INTEGER = re.compile(r"(u?)int([124])")
_FLOAT = re.compile(r"float([46])_")


def is_narrow(dtype: np.dtype) -> bool:
    """Whether one element of the dtype has fewer than 8 bits."""
    name = dtype.name
    return bool(_INTEGER.fullmatch(name) or _FLOAT.match(name))


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """A dtype of NumPy's own that holds all values of a narrow one."""
    integer = _INTEGER.fullmatch(dtype.name)
    if integer is None:
        return np.dtype(np.float32)
    return np.dtype(np.uint8 if integer[1] else np.int8)


def widening_program(tiling: Tiling, shape: Shape, dtype: np.dtype) -> str:
    """StableHLO that converts a narrow array to its wide dtype where it lies."""
    dims = "".join(f"{n}x" for n in shape)
    integer = _INTEGER.fullmatch(dtype.name)
    if integer is None:
        narrow, wide = _MLIR_FLOATS[dtype.name], "f32"
    else:
        sign = "ui" if integer[1] else "i"
        narrow, wide = f"{sign}{integer[2]}", f"{sign}8"
    old, new = f"tensor<{dims}{narrow}>", f"tensor<{dims}{wide}>"
    axes = ", ".join(f'"m{a}"={n}' for a, n in enumerate(tiling.mesh_shape))
    split = [", ".join(f'"m{a}"' for a in group) for group in tiling.dim_axes or [()] * len(shape)]
    spec = ", ".join("{" + group + "}" for group in split)
    note = f"{{sdy.sharding = #sdy.sharding<@mesh, [{spec}]>}}"
    count = int(np.prod(tiling.mesh_shape))
    return f"""module @widen attributes {{mhlo.num_partitions = {count} : i32}} {{
sdy.mesh @mesh = <[{axes}]>
func.func public @main(%x: {old} {note}) -> ({new} {note}) {{
  %r = stablehlo.convert %x : ({old}) -> {new}
  return %r : {new}
}} }}"""
