"""NumPy arrays as XLA takes and gives them."""

from __future__ import annotations

import numpy as np

from plait.errors import DtypeError


def native(host: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order, which XLA takes for granted.

    Raises: DtypeError for strings and objects, of which XLA would read the bytes.
    """
    if not isinstance(host, np.ndarray):
        host = np.asarray(host)
    dtype = host.dtype
    if not dtype.isnative:
        host = host.astype(dtype.newbyteorder("="))
    if dtype.kind in "OSUMm" or (dtype.kind == "V" and dtype.names is not None):
        raise DtypeError(f"arrays on a device hold numbers, not NumPy's {dtype}")
    return host


def frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, read-only from now on."""
    array.flags.writeable = False
    return array


def is_numpys(dtype: np.dtype) -> bool:
    """Whether NumPy itself knows the dtype, as opposed to ml_dtypes."""
    return dtype.kind in "biufc" and dtype.type.__module__ == "numpy"
