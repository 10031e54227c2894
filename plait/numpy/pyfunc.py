"""ufunc and frompyfunc: a function of scalars as a function of arrays, with NumPy's methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plait.core.types import type_of
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError, several
from plait.numpy.creation import full
from plait.numpy.functional import vectorize
from plait.numpy.manipulation import broadcast_to, moveaxis
from plait.numpy.promotion import axes_in, axis_in, not_in_place, to_dtype, value
from plait.numpy.ufunc_methods import accumulated, reduced_at
from plait.numpy.updating import At
from plait.ops.arithmetic import convert_element_type
from plait.ops.axes import expand_dims, reshape
from plait.ops.compare import select
from plait.regions.loops import scan
from plait.transforms.jit import eval_shape


class ufunc:
    """A function of nin scalars and nout results as one of arrays, which broadcast; by frompyfunc.

    The methods, of functions with two operands and one result, work from left to right in sequence:
    nothing is assumed of the function but what it computes.

    >>> longest = jnp.frompyfunc(lambda x, y: jnp.maximum(x, y) + 1, 2, 1)
    >>> longest(jnp.array([1, 5]), 2), longest.reduce(jnp.array([1, 2, 3]))
    (Array([3, 6], dtype=int32), Array(4, dtype=int32))
    """

    def __init__(self, func: Callable[..., Any], nin: int, nout: int, identity: Any = None):
        if not callable(func):
            raise ArgumentTypeError("needs a function", op="frompyfunc", func=func)
        for name, n in (("nin", nin), ("nout", nout)):
            if not isinstance(n, int) or n < 1:
                raise ArgumentError(f"{name} is an int, at least 1", op="frompyfunc", given=n)
        self.func, self.nin, self.nout, self.identity = func, nin, nout, identity
        self.__name__ = getattr(func, "__name__", "function")
        self.__doc__ = func.__doc__
        self._mapped = vectorize(func)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    @property
    def nargs(self) -> int:
        """The number of operands and results."""
        return self.nin + self.nout

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise ArgumentTypeError(
                f"takes {several(self.nin, 'array')}, not {len(args)}", op=self.__name__
            )
        y = self._mapped(*args)
        found = len(y) if isinstance(y, tuple | list) else 1
        if found != self.nout:
            raise ArgumentError(
                f"the function returned {found} values, and nout is {self.nout}", op=self.__name__
            )
        return y

    def _prepared(self, name: str, a: Any, dtype: Any) -> Any:
        op = f"{self.__name__}.{name}"
        if (self.nin, self.nout) != (2, 1):
            raise ArgumentError(
                "is a method of functions with two operands and one result", op=op, function=self
            )
        a = value(op, a)
        return a if dtype is None else convert_element_type(a, to_dtype(dtype))

    def _carried(self, x: Any) -> Any:
        """x in the dtype of the function's results, and the function, which keeps to it."""
        scalar = np.zeros((), type_of(x).dtype)
        first = eval_shape(self.func, scalar, scalar).dtype
        dtype = eval_shape(self.func, np.zeros((), first), scalar).dtype
        step = lambda c, v: convert_element_type(self._mapped(c, v), dtype)  # noqa: E731
        return convert_element_type(x, dtype), step

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The function applied between all elements along axes, the first by default; None: all.

        >>> jnp.frompyfunc(lambda x, y: 10 * x + y, 2, 1).reduce(jnp.array([1, 2, 3]))
        Array(123, dtype=int32)
        """
        op = f"{self.__name__}.reduce"
        a = self._prepared("reduce", a, dtype)
        axes = axes_in(axis, a.ndim, op)
        kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
        rows = _rows(a, axes)
        start = self.identity if initial is None else initial
        if where is not None and start is None:
            raise ArgumentError("where needs initial, or a function with an identity", op=op)
        if start is None and not rows.shape[0]:
            raise ShapeError("no element, and no identity", op=op, a=a, fix="give initial")
        whole, step = self._carried(rows)
        if start is None:
            start, rows = whole[0], rows[1:]
        else:
            start = full(rows.shape[1:], start, whole.dtype)
        if where is None:
            y = scan(lambda c, v: (step(c, v), None), start, rows)[0]
        else:
            marks = _rows(broadcast_to(where, a.shape), axes)
            taken = lambda c, v: (select(v[1], step(c, v[0]), c), None)  # noqa: E731
            y = scan(taken, start, (rows, marks))[0]
        return reshape(y, kept) if keepdims else y

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The function applied between the elements up to each one along an axis.

        >>> jnp.frompyfunc(lambda x, y: 10 * x + y, 2, 1).accumulate(jnp.array([1, 2, 3]))
        Array([  1,  12, 123], dtype=int32)
        """
        a = self._prepared("accumulate", a, dtype)
        axis = axis_in(axis, a.ndim, f"{self.__name__}.accumulate")
        return accumulated(self._mapped, a, axis)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """reduce from each index up to the next one (the last: to the end); one element where the
        next index is not larger.

        >>> jnp.frompyfunc(lambda x, y: x + y, 2, 1).reduceat(jnp.arange(6), jnp.array([0, 2, 1]))
        Array([ 1,  2, 15], dtype=int32)
        """
        op = f"{self.__name__}.reduceat"
        a = self._prepared("reduceat", a, dtype)
        axis = axis_in(axis, a.ndim, op)
        return reduced_at(self._mapped, a, indices, axis)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of each pair of an element of A and one of B.

        >>> jnp.frompyfunc(lambda x, y: x - y, 2, 1).outer(jnp.array([1, 2]), jnp.array([1, 2, 3]))
        Array([[ 0, -1, -2],
               [ 1,  0, -1]], dtype=int32)
        """
        a, b = self._prepared("outer", A, None), value(f"{self.__name__}.outer", B, 1)
        return self(expand_dims(a, tuple(range(a.ndim, a.ndim + b.ndim))), b)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with the function applied at indices, again for an index that comes again; needs
        inplace=False.

        >>> decay = jnp.frompyfunc(lambda x, y: x / y, 2, 1)
        >>> decay.at(jnp.array([8.0, 8.0]), jnp.array([0, 0, 1]), 2, inplace=False)
        Array([2., 4.], dtype=float32)
        """
        op = f"{self.__name__}.at"
        not_in_place(op, inplace)
        a = value(op, a)
        if self.nin == 1:
            return At(a)[indices].apply(self)
        if b is None:
            raise ArgumentTypeError("needs a second operand", op=op)
        # The elements that the indices name, one after the other.
        places = np.arange(a.size, dtype=np.int32).reshape(a.shape)
        places = value(op, places)[indices]
        values = reshape(broadcast_to(b, places.shape), (places.size,))
        dtype = type_of(a).dtype

        def put(flat: Any, item: Any) -> Any:
            place, v = item
            new = convert_element_type(self.func(flat[place], v), dtype)
            return At(flat)[place].set(new), None

        flat = reshape(a, (a.size,))
        done, _ = scan(put, flat, (reshape(places, (places.size,)), values))
        return reshape(done, a.shape)


def _rows(a: Any, axes: tuple[int, ...]) -> Any:
    """a with axes as one leading axis."""
    moved = moveaxis(a, axes, tuple(range(len(axes))))
    return reshape(moved, (math.prod(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A function of nin scalars and nout results as a ufunc of arrays.

    identity: what reduce starts from. Raises: ArgumentError, ArgumentTypeError.

    >>> clipped = jnp.frompyfunc(lambda x, y: jnp.minimum(x + y, 5), nin=2, nout=1, identity=0)
    >>> clipped(jnp.array([1, 3]), jnp.array([1, 4])), clipped.reduce(jnp.array([1, 2, 1]))
    (Array([2, 5], dtype=int32), Array(4, dtype=int32))
    """
    return ufunc(func, nin, nout, identity)


__all__ = ["frompyfunc", "ufunc"]
