"""ArrayType and constants as MLIR text."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from plait.core import dtypes
from plait.core.types import ArrayType

_NAMES: dict[Any, str] = {
    dtypes.bool_: "i1",
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    dtypes.int32: "i32",
    dtypes.int64: "i64",
    dtypes.uint8: "ui8",
    dtypes.uint16: "ui16",
    dtypes.uint32: "ui32",
    dtypes.uint64: "ui64",
    dtypes.float16: "f16",
    dtypes.bfloat16: "bf16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
    dtypes.complex64: "complex<f32>",
    dtypes.complex128: "complex<f64>",
    **{d: "ui64" if d.words == 2 else "complex<f64>" for d in dtypes.KEY},
    # float0 arrays hold nothing; where a program must carry one it is made of booleans.
    dtypes.float0: "i1",
}
for _ml, _mlir in {
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
    "int2": "i2",
    "int4": "i4",
    "uint2": "ui2",
    "uint4": "ui4",
}.items():
    _NAMES[np.dtype(getattr(ml_dtypes, _ml))] = _mlir


def element(dtype: Any) -> str:
    """The MLIR name of a dtype: f32, ui8, complex<f64>."""
    return _NAMES[dtype]


@functools.lru_cache(maxsize=4096)
def tensor(type: ArrayType) -> str:
    """tensor<2x3xf32>."""
    return "tensor<" + "".join(f"{n}x" for n in type.shape) + _NAMES[type.dtype] + ">"


def _float(value: Any, dtype: Any) -> str:
    number = float(value)
    if dtype in (dtypes.float32, dtypes.float64) and np.isfinite(number):
        text = repr(float(value)) if dtype == dtypes.float64 else str(np.float32(value))
        mantissa, _, exponent = text.partition("e")
        if "." not in mantissa:
            mantissa += ".0"
        return f"{mantissa}e{exponent}" if exponent else mantissa
    bits = np.asarray(value, dtype).view(f"u{dtype.itemsize}")
    return f"0x{int(bits):0{2 * dtype.itemsize}X}"


def scalar(value: Any, dtype: Any) -> str:
    """One element as it stands in a dense attribute."""
    if dtype in dtypes.BOOL or dtype == dtypes.float0:
        return "true" if value else "false"
    if dtype in dtypes.COMPLEX:
        part = dtypes.real_of(dtype)
        return f"({_float(value.real, part)}, {_float(value.imag, part)})"
    if dtype in dtypes.FLOAT:
        return _float(value, dtype)
    if dtype in dtypes.KEY and dtype.words == 4:
        return "(" + ", ".join(f"0x{int(w):016X}" for w in value.reshape(1).view(np.uint64)) + ")"
    return str(int(value))


def dense(value: np.ndarray, dtype: Any) -> str:
    """dense<...> for an array, as a splat, a list, or raw bytes when it is long."""
    if value.size == 0:
        return "dense<>"
    flat = value.reshape(-1)
    if (
        value.size == 1
        or (flat.view(np.uint8).reshape(value.size, -1) == flat[:1].view(np.uint8)).all()
    ):
        return f"dense<{scalar(flat[0], dtype)}>"
    if value.size > 32 and dtype not in dtypes.BOOL and not _packed(dtype):
        raw = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False)
        return f'dense<"0x{raw.tobytes().hex().upper()}">'
    return f"dense<{_nested(value, dtype)}>"


def _packed(dtype: Any) -> bool:
    return _NAMES[dtype] in ("i2", "i4", "ui2", "ui4", "f4E2M1FN")


def _nested(value: np.ndarray, dtype: Any) -> str:
    if value.ndim == 0:
        return scalar(value[()], dtype)
    return "[" + ", ".join(_nested(v, dtype) for v in value) + "]"


def array_i64(numbers: Any) -> str:
    """array<i64: 1, 2>."""
    text = ", ".join(map(str, numbers))
    return f"array<i64: {text}>" if text else "array<i64>"


def dense_i64(rows: Any) -> str:
    """dense<[[0, 1]]> : tensor<1x2xi64>, for replica groups, paddings and pairs."""
    value = np.asarray(rows, dtype=np.int64)
    shape = "".join(f"{n}x" for n in value.shape)
    body = "" if value.size == 0 else str(value.tolist())
    return f"dense<{body}> : tensor<{shape}xi64>".replace("xxi64", "xi64")


def quoted(text: str) -> str:
    """A string as MLIR reads it."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            out.extend(f"\\{byte:02X}" for byte in char.encode())
    return '"' + "".join(out) + '"'
