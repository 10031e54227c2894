"""DLPack tensors as NumPy arrays, also those of dtypes that NumPy's own reader refuses.

np.from_dlpack knows neither bfloat16 nor the 8-bit floats. Their bytes are in the tensor all the
same, and ml_dtypes has the dtypes, so the C structure is read by hand.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np

from plait.errors import ArgumentTypeError, BackendError, DtypeError, an

CPU, CUDA, CUDA_HOST = 1, 2, 3  # DLDeviceType
_DEVICES = {CUDA: "a CUDA GPU", 8: "a Metal GPU", 10: "a ROCm GPU", 13: "managed CUDA memory"}
_DEVICES[14] = "a oneAPI device"
_BFLOAT = 4  # DLDataTypeCode


class _Tensor(ctypes.Structure):
    """The head of DLManagedTensor: struct DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Capsule:
    """A capsule of CPU memory in the form np.from_dlpack takes."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        """Give the capsule itself: whatever was asked for, there is no other."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """Every CPU device is (1, 0) to DLPack."""
        return (CPU, 0)


def device_name(platform: str, number: int) -> tuple[int, int]:
    """DLPack's device type and number for a device of XLA's."""
    if platform == "cpu":
        return (CPU, 0)
    if platform in ("gpu", "cuda"):
        return (CUDA, number)
    raise BackendError(f"DLPack has no name for {platform} devices")


def _tensor(capsule: Any) -> _Tensor:
    return _Tensor.from_address(_get_pointer(capsule, b"dltensor"))


def _view(capsule: Any, address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * size).from_address(address)
    memory.owner = capsule  # pyright: ignore[reportAttributeAccessIssue] (so it lives as the array)
    return np.frombuffer(memoryview(memory), dtype).reshape(shape)


def read(capsule: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A dense tensor in CPU memory, known to have this shape and dtype, as a read-only view."""
    tensor = _tensor(capsule)
    array = _view(capsule, (tensor.data or 0) + tensor.byte_offset, shape, dtype)
    array.flags.writeable = False
    return array


def from_object(source: Any) -> np.ndarray:
    """A view of an object with `__dlpack__` whose data lies in memory the CPU can read.

    Raises: BackendError if it lies elsewhere; DtypeError for dtypes without a NumPy equivalent.
    """
    if not (hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__")):
        raise ArgumentTypeError(
            f"{an(type(source).__name__)} does not know the DLPack protocol",
            op="from_dlpack",
            fix="jnp.asarray(x) takes numbers and lists",
        )
    kind, number = (int(n) for n in source.__dlpack_device__())
    if kind not in (CPU, CUDA_HOST):
        name = _DEVICES.get(kind, f"a device that DLPack counts as type {kind}")
        raise BackendError(
            "the tensor does not lie in the memory of the CPU",
            op="from_dlpack",
            device=f"{name}, number {number}",
            fix="bring it to the CPU first, as x.cpu() does in torch",
        )
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError) as error:
        refused = error
    capsule = source.__dlpack__()
    tensor = _tensor(capsule)
    shape = tuple(tensor.shape[: tensor.ndim])
    dense = not tensor.strides or _is_dense(shape, tuple(tensor.strides[: tensor.ndim]))
    if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1) or not dense:
        raise DtypeError(
            f"this tensor cannot be read: {refused}",
            op="from_dlpack",
            fix="convert it to a dtype that NumPy or ml_dtypes has, and make it contiguous",
        ) from refused
    address = (tensor.data or 0) + tensor.byte_offset
    return _view(capsule, address, shape, np.dtype(ml_dtypes.bfloat16))


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
