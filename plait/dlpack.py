"""plait.dlpack: arrays shared with other libraries by the DLPack protocol.

>>> plait.dlpack.from_dlpack(np.arange(3.0, dtype=np.float32))
Array([0., 1., 2.], dtype=float32)
"""

from typing import Any

import numpy as np

from plait.core import dtypes as _dtypes
from plait.numpy import from_dlpack


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be shared.

    >>> plait.dlpack.is_supported_dtype(jnp.bfloat16), plait.dlpack.is_supported_dtype(jnp.int4)
    (True, False)
    """
    found = _dtypes.as_dtype(dtype)
    return found in _dtypes.ANY and not isinstance(found, _dtypes.KeyDType) and not _narrow(found)


def _narrow(dtype: np.dtype) -> bool:
    return any(word in dtype.name for word in ("int2", "int4", "float4", "float6", "float8"))


__all__ = ["from_dlpack", "is_supported_dtype"]
