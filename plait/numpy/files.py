"""Arrays in NumPy's files, and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.plain import by_numpy
from plait.numpy.creation import asarray


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to an .npy file.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([0, 1, 2], dtype=int32)
    """
    by_numpy(np.save, file, np.asarray(asarray(arr)), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write several arrays to an .npz file, by name or as arr_0, arr_1, ...

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.savez(file, jnp.arange(3), name=jnp.ones(2))
    >>> _ = file.seek(0)
    >>> sorted(jnp.load(file))
    ['arr_0', 'name']
    """
    named: dict[str, Any] = {k: np.asarray(asarray(a)) for k, a in kwds.items()}
    by_numpy(np.savez, file, *(np.asarray(asarray(a)) for a in args), **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read an .npy file as an array, or open an .npz file.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.float32([1.5, 2.5]))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([1.5, 2.5], dtype=float32)
    """
    found = by_numpy(np.load, file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype.kind == "V" and found.dtype.itemsize == 2 and found.dtype.names is None:
        # NumPy forgets the names of ml_dtypes' dtypes; of two bytes there is only bfloat16.
        import ml_dtypes

        found = found.view(ml_dtypes.bfloat16)
    return asarray(found)


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text NumPy shows for the array.

    >>> jnp.array_repr(jnp.array([1.25, 2.0]))
    'array([1.25, 2.  ], dtype=float32)'
    """
    return by_numpy(np.array_repr, np.asarray(arr), max_line_width, precision, suppress_small)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements of the array as text.

    >>> jnp.array_str(jnp.array([1.25, 2.0]))
    '[1.25 2.  ]'
    """
    return by_numpy(np.array_str, np.asarray(a), max_line_width, precision, suppress_small)
