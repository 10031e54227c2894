"""Elementwise: the base of ops that work element by element, and the records `unary`, `binary`.

Operands have one shape, or are scalars (rank 0), which count for every element. An instance is
called like a function; then Python scalars among the operands take the dtype of the others, and
axes of length 1 are repeated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.accuracy import TAKE_ACCURACY, check_accuracy
from plait.core.primitive import LinearOperand, Primitive, register
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentTypeError, DtypeError, ShapeError, several
from plait.ops.axes import broadcast_in_dim, broadcast_to, reduce_sum
from plait.ops.complex_edges import with_edges
from plait.ops.complex_formulas import by_parts

_PYTHON_SCALARS = (bool, int, float, complex)


class Elementwise(Primitive):
    """An op that computes each element of its result from the same element of its operands.

    Args:
        name: the op's name; operands: their names, for messages.
        doc: what it computes; example: an expression and what Python prints for it.
        accepts: the dtypes taken, one set for all operands or one for each; operands that share a
            set must have equal dtypes.
        numpy: the meaning.
        hlo: a StableHLO op's name, or a function of (builder, *values).
        cpu: another lowering where XLA:CPU's own is slow or inexact.
        edges: exceptions from both lowerings for complex operands (complex_edges.py).
        parts: instead of both for complex operands, a formula of their parts
            (complex_formulas.py).
        result: the result's dtype from the operands' dtypes; None keeps the first operand's.
        derivatives: one rule (y, *xs, t) -> tangent per operand, or None where the derivative is
            zero everywhere.
        transpose: (ct, *xs) -> one cotangent or None per operand, for ops that can be linear.
    """

    def __init__(
        self,
        name: str,
        *,
        doc: str,
        operands: Sequence[str],
        accepts: Any,
        numpy: Callable[..., Any],
        hlo: str | Callable[..., Any],
        cpu: Callable[..., Any] | None = None,
        edges: Callable[..., Any] | None = None,
        parts: Callable[..., Any] | None = None,
        result: Callable[..., Any] | None = None,
        derivatives: Sequence[Callable[..., Any] | None] = (),
        transpose: Callable[..., Sequence[Any]] | None = None,
        samples: Iterable[Any] = (),
        example: tuple[str, str] | None = None,
    ):
        self.name = self.__name__ = name
        self.__doc__ = " ".join(doc.split())
        if example is not None:
            self.__doc__ += "\n\n>>> {}\n{}".format(*example)
        self.operands = tuple(operands)
        only = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(n, only) for n in operands]
        if name in TAKE_ACCURACY:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter("accuracy", keyword, default=None))
        self.__signature__ = inspect.Signature(parameters)
        one_set = isinstance(accepts, frozenset)
        self.accepts = (accepts,) * len(self.operands) if one_set else tuple(accepts)
        self.one_dtype = one_set
        self._numpy, self.hlo, self.cpu, self.result = numpy, hlo, cpu, result
        self.edges, self.parts = edges, parts
        self.derivatives = tuple(derivatives) or (None,) * len(self.operands)
        self._transpose = transpose
        self._samples = tuple(samples)

    def variant(self, name: str, **changes: Any) -> Elementwise:
        """An op like this one under another name, with some attributes changed; not registered."""
        other = object.__new__(type(self))  # a copy of an op is the op itself
        other.__dict__.update(self.__dict__, name=name, __name__=name, **changes)
        return other

    def __call__(self, *xs: Any, accuracy: Any = None) -> Any:
        if len(xs) != len(self.operands):
            takes = f"{several(len(self.operands), 'operand')} ({', '.join(self.operands)})"
            were = "1 was given" if len(xs) == 1 else f"{len(xs)} were given"
            raise ArgumentTypeError(f"takes {takes}, {were}", op=self.name)
        if accuracy is not None:
            check_accuracy(self.name, accuracy, xs[0])
        if len(xs) > 1:
            xs = _stretched(xs)
        if self.one_dtype and any(type(x) in _PYTHON_SCALARS for x in xs):
            return self.bind(*self._typed_scalars(xs))
        return self.bind(*xs)

    def _typed_scalars(self, xs: Sequence[Any]) -> Sequence[Any]:
        others = [type_of(x) for x in xs if type(x) not in _PYTHON_SCALARS]
        if not others:
            types = [type_of(x) for x in xs]
            dtype, _ = dtypes.promote(*((t.dtype, t.weak_type) for t in types))
            return [
                x if t.dtype == dtype else np.asarray(x, dtype)
                for x, t in zip(xs, types, strict=True)
            ]
        dtype = others[0].dtype
        typed = [typed_scalar(x, dtype, self.name) if type(x) in _PYTHON_SCALARS else x for x in xs]
        if all(t.weak_type for t in others):
            # Numbers among weak operands stay weak, which they are as Python's own.
            numbers = [y.item() if y is not x else x for x, y in zip(xs, typed, strict=True)]
            if all(type_of(x).dtype == dtype for x in numbers):
                return numbers
        return typed

    def type(self, *types: ArrayType) -> ArrayType:
        first = types[0]
        shape, weak = first.shape, first.weak_type
        for t in types[1:]:
            if t.shape != shape and t.shape:
                if shape:
                    raise ShapeError("the operands' shapes differ", **self._given(types))
                shape = t.shape
            weak = weak and t.weak_type
        for t, accepted in zip(types, self.accepts, strict=True):
            if t.dtype not in accepted:
                raise DtypeError(
                    f"takes {dtypes.names_of(accepted)} operands, not {t.dtype.name}",
                    **self._given(types),
                )
        if self.one_dtype and any(t.dtype != first.dtype for t in types):
            raise DtypeError(
                "the operands' dtypes differ",
                fix="convert one with lax.convert_element_type, or use plait.numpy",
                **self._given(types),
            )
        dtype = first.dtype if self.result is None else self.result(*(t.dtype for t in types))
        return ArrayType(shape, dtype, weak and dtype not in dtypes.BOOL)

    def _given(self, types: Sequence[ArrayType]) -> dict[str, Any]:
        return dict(zip(self.operands, types, strict=True))

    def numpy(self, *xs: Any) -> Any:
        out = self.type(*(type_of(x) for x in xs))
        with np.errstate(all="ignore"):
            y = np.asarray(self._numpy(*xs))
        return y.astype(dtypes.storage(out.dtype), copy=False)

    def jvp(self, xs: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
        y = self.bind(*xs)
        total = None
        for rule, t in zip(self.derivatives, ts, strict=True):
            if t is None or rule is None:
                continue
            part = rule(y, *xs, t)
            if part is None:
                continue
            total = part if total is None else _sum(total, part)
        if total is not None and total.shape != (shape := type_of(y).shape):
            total = broadcast_to(total, shape)
        return y, total

    def transpose(self, ct: Any, *xs: Any) -> Sequence[Any]:
        if self._transpose is None:
            raise self.missing("transpose")
        cts = self._transpose(ct, *xs)
        return [
            reduce_sum(c, range(type_of(c).ndim))
            if c is not None and isinstance(x, LinearOperand) and x.ndim < type_of(c).ndim
            else c
            for c, x in zip(cts, xs, strict=True)
        ]

    def batch(self, frame, xs, mapped):
        ranks = [type_of(x).ndim - m for x, m in zip(xs, mapped, strict=True)]
        rank = max(ranks)
        whole = next(
            type_of(x).shape for x, m, r in zip(xs, mapped, ranks, strict=True) if r == rank
        )
        whole = whole[len(whole) - rank :]
        full_shape = (frame.size, *whole)
        out = []
        for x, m, r in zip(xs, mapped, ranks, strict=True):
            if m and r < rank:  # a scalar for each row
                x = broadcast_in_dim(x, full_shape, (0,))
            elif not m and r:
                x = broadcast_in_dim(x, full_shape, tuple(range(1, rank + 1)))
            out.append(x)
        return self.bind(*out), True

    def lower(self, b, *xs):
        (out,) = b.result_types
        xs = [b.broadcast_scalar(x, out.shape) if x.shape != out.shape else x for x in xs]
        return self.value(b, *xs)

    def value(self, b, *xs):
        """The lowering, for operands of one shape."""
        dtype = xs[0].dtype
        if self.parts is not None and dtype in dtypes.COMPLEX:
            return by_parts(b, xs[0], self.parts)
        how = self.cpu if self.cpu is not None and b.platform == "cpu" else self.hlo
        if not isinstance(how, str):
            y = how(b, *xs)
        else:
            result = dtype if self.result is None else self.result(*(x.dtype for x in xs))
            y = b.op(how, xs, ArrayType(xs[0].shape, result))
        if self.edges is not None and dtype in dtypes.COMPLEX:
            return with_edges(b, xs[0], y, self.edges)
        return y

    def samples(self):
        return self._samples


def _stretched(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands whose axes of length 1 are repeated to the length they have in others.

    Scalars stay, and so do shapes that do not fit: `type` refuses those.
    """
    shapes = [s for x in xs if (s := getattr(x, "shape", ()))]
    if len(shapes) < 2 or all(s == shapes[0] for s in shapes):
        return xs
    if any(len(s) != len(shapes[0]) for s in shapes):
        return xs
    whole = [next((n for n in axis if n != 1), 1) for axis in zip(*shapes, strict=True)]
    if any(n not in (1, w) for s in shapes for n, w in zip(s, whole, strict=True)):
        return xs
    return tuple(broadcast_to(x, whole) if getattr(x, "shape", ()) else x for x in xs)


def _sum(a: Any, b: Any) -> Any:
    from plait.ops.arithmetic import add

    if a.shape != b.shape:
        shape = max(a.shape, b.shape, key=len)
        a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    return add(a, b)


def typed_scalar(x: Any, dtype: Any, op: str) -> np.ndarray:
    """A Python scalar in the dtype of the operand it meets; never one that cannot hold it."""
    if isinstance(x, int) and not isinstance(x, bool):
        dtypes.check_fits(x, dtype, op=op)
    kind_fits = (
        dtype in dtypes.COMPLEX
        or (dtype in dtypes.FLOAT and not isinstance(x, complex))
        or (dtype in dtypes.INTEGER and isinstance(x, int))
        or isinstance(x, bool)
    )
    if not kind_fits:
        raise DtypeError(
            f"the Python number {x!r} does not fit operands of dtype {dtype.name}",
            op=op,
            fix="convert the other operands with lax.convert_element_type, or use plait.numpy",
        )
    return np.asarray(x).astype(dtype)


def unary(
    name: str,
    *,
    doc: str,
    accepts: frozenset,
    numpy: Callable[..., Any],
    hlo: str | Callable[..., Any],
    jvp: Callable[..., Any] | None = None,
    cpu: Callable[..., Any] | None = None,
    edges: Callable[..., Any] | None = None,
    parts: Callable[..., Any] | None = None,
    result: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | None = None,
    samples: Iterable[Any] = (),
    example: tuple[str, str] | None = None,
) -> Elementwise:
    """Register an op of one operand. jvp(y, x, t) -> tangent; transpose(ct) -> cotangent; samples
    are arrays.
    """
    return register(
        Elementwise(
            name,
            doc=doc,
            operands=("x",),
            accepts=accepts,
            numpy=numpy,
            hlo=hlo,
            cpu=cpu,
            edges=edges,
            parts=parts,
            result=result,
            derivatives=(jvp,),
            transpose=None if transpose is None else lambda ct, x: (transpose(ct),),
            samples=[((x,), {}) for x in samples],
            example=example,
        )
    )


def binary(
    name: str,
    *,
    doc: str,
    accepts: frozenset,
    numpy: Callable[..., Any],
    hlo: str | Callable[..., Any],
    jvp: Sequence[Callable[..., Any] | None] = (),
    cpu: Callable[..., Any] | None = None,
    result: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | None = None,
    samples: Iterable[Any] = (),
    example: tuple[str, str] | None = None,
) -> Elementwise:
    """Register an op of two operands. jvp holds two rules (y, a, b, t) -> tangent; transpose
    (ct, a, b) -> (cotangent or None, cotangent or None); samples are pairs of arrays.
    """
    return register(
        Elementwise(
            name,
            doc=doc,
            operands=("x", "y"),
            accepts=accepts,
            numpy=numpy,
            hlo=hlo,
            cpu=cpu,
            result=result,
            derivatives=jvp,
            transpose=transpose,
            samples=[(tuple(pair), {}) for pair in samples],
            example=example,
        )
    )
