"""`plait.scipy.cluster.vq`: observations by the nearest entry of a code book."""

from __future__ import annotations

from typing import Any

import plait.numpy as jnp
from plait.errors import ShapeError
from plait.numpy.promotion import promote_dtypes, to_inexact, value


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """(number of the nearest entry, distance to it) for each observation.

    Shapes: obs [n, features], code_book [m, features] -> int32[n], [n]; features may be missing in
    both. check_finite has no effect. Raises: ShapeError.

    >>> plait.scipy.cluster.vq.vq(np.float32([1, 2.5, 7]), np.float32([0, 3, 9]))
    (Array([0, 1, 2], dtype=int32), Array([1. , 0.5, 2. ], dtype=float32))
    """
    op = "vq"
    obs, book = promote_dtypes(op, (value(op, obs), value(op, code_book, 1)))
    if obs.ndim != book.ndim or obs.ndim not in (1, 2) or obs.shape[1:] != book.shape[1:]:
        raise ShapeError(
            "needs observations and entries of the same features, in rows",
            op=op,
            obs=obs,
            code_book=book,
        )
    if not book.size:
        raise ShapeError("the code book must not be empty", op=op, code_book=book)
    obs, book = to_inexact(op, obs), to_inexact(op, book)
    if obs.ndim == 1:
        obs, book = obs[:, None], book[:, None]
    squares = jnp.sum(jnp.square(jnp.abs(obs[:, None] - book[None])), -1)
    nearest = jnp.argmin(squares, -1)
    return nearest, jnp.sqrt(jnp.min(squares, -1))


__all__ = ["vq"]
