"""Orthogonal matrices drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.plain import static_int
from plait.errors import DtypeError, ShapeError
from plait.numpy.placing import takes_out_sharding
from plait.numpy.promotion import to_dtype
from plait.random.arguments import known_shape
from plait.random.standard import normal


@takes_out_sharding
def orthogonal(
    key: Any, n: int, shape: Sequence[int] = (), dtype: Any = None, m: int | None = None
) -> Any:
    """Matrices [*shape, n, m] with orthonormal rows or columns, whichever are fewer, all such
    matrices being equally likely; unitary ones for a complex dtype. m is n unless given.

    Source: Mezzadri, How to generate random matrices from the classical compact groups, 2007.
    Raises: ShapeError, DtypeError.

    >>> q = plait.random.orthogonal(plait.random.key(0), 3)
    >>> print(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    op = "orthogonal"
    n = static_int(n, op, "n")
    m = n if m is None else static_int(m, op, "m")
    if n < 0 or m < 0:
        raise ShapeError("a matrix has no negative size", op=op, n=n, m=m)
    dtype = dtypes.default_float() if dtype is None else to_dtype(dtype)
    if dtype not in dtypes.INEXACT:
        raise DtypeError("needs a float or complex dtype", op=op, dtype=dtype.name)
    lead = known_shape(op, shape)
    z = normal(key, (*lead, max(n, m), min(n, m)), dtype)
    # The factors of a QR decomposition are fixed up to the phases of R's diagonal; made real and
    # positive, they depend on z alone, and Q has the uniform distribution.
    q, r = jnp.linalg.qr(z)
    q = q * jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return jnp.matrix_transpose(q) if n < m else q


__all__ = ["orthogonal"]
