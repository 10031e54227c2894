"""The laws themselves: an op that is right passes, and each way to be wrong is found."""

from __future__ import annotations

import numpy as np
import pytest

from plait.core.primitive import Linear, Primitive
from plait.ops.arithmetic import convert_element_type, mul
from plait.ops.axes import broadcast_in_dim_p, reduce_sum_p
from plait.testing import check_op


class Square(Primitive):
    """x * x."""

    name = "square_of_tests"

    def type(self, x):
        return x

    def numpy(self, x):
        return x * x

    def jvp(self, xs, ts):
        (x,), (t,) = xs, ts
        return self.bind(x), mul(mul(t, x), 2.0)

    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), True

    def lower(self, b, x):
        return b.mul(x, x)

    def samples(self):
        yield (np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25]]),), {}
        yield (np.array([3, -4], np.int32),), {}


class Total(Linear):
    """The sum along axis 0."""

    name = "total_of_tests"

    def type(self, x):
        return x.with_shape(x.shape[1:])

    def numpy(self, x):
        return np.sum(x, 0, dtype=x.dtype)

    def transpose(self, ct, x):
        dims = tuple(range(1, x.ndim))
        return (broadcast_in_dim_p.bind(ct, shape=x.shape, dims=dims),)

    def batch(self, frame, xs, mapped):
        return reduce_sum_p.bind(xs[0], axes=(1,)), True

    def lower(self, b, x):
        zero = b.constant(np.zeros((), x.dtype), x.dtype)
        return b.reduce([x], [zero], (0,), lambda total, y: (b.add(total, y),))[0]

    def samples(self):
        yield (np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25]]),), {}


@pytest.mark.parametrize("op", [Square(), Total()], ids=str)
def test_right_ops_pass(op):
    check_op(op)


class WrongType(Square):
    def numpy(self, x):
        return (x * x).astype(np.float32)


class WeakResult(Square):
    def type(self, x):
        return x.with_dtype(x.dtype, True)


class WrongTangent(Square):
    def jvp(self, xs, ts):
        return self.bind(xs[0]), mul(ts[0], xs[0])


class TangentOfWrongType(Square):
    def jvp(self, xs, ts):
        y, t = super().jvp(xs, ts)
        return y, convert_element_type(t, np.float32)


class WrongTranspose(Total):
    def transpose(self, ct, x):
        return (mul(super().transpose(ct, x)[0], 2.0),)


class ConstantTangent(Square):
    """Right at first, but its tangent does not know that it depends on x."""

    def jvp(self, xs, ts):
        from plait.regions.custom import stop_gradient

        return self.bind(xs[0]), mul(mul(ts[0], stop_gradient(xs[0])), 2.0)


class WrongRows(Total):
    def batch(self, frame, xs, mapped):
        return reduce_sum_p.bind(xs[0], axes=(0,)), True


class RowsForgotten(Square):
    def batch(self, frame, xs, mapped):
        return self.bind(xs[0]), False


class WrongLowering(Square):
    def lower(self, b, x):
        return b.add(x, x)


class NoTranspose(Total):
    transpose = Primitive.transpose


@pytest.mark.parametrize(
    "op, words",
    [
        (WrongType(), "result 0 is"),
        (WeakResult(), "strong operands give the weak result"),
        (WrongTangent(), "jvp"),
        (TangentOfWrongType(), "the tangent of a result has type"),
        (WrongTranspose(), "vjp is no adjoint"),
        (ConstantTangent(), "jvp of jvp"),
        (WrongRows(), "rows, operands mapped"),
        (RowsForgotten(), "rows, operands mapped"),
        (WrongLowering(), "value on XLA"),
        (NoTranspose(), "no 'transpose' rule"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Primitive) else "",
)
def test_wrong_ops_are_found(op, words):
    with pytest.raises((AssertionError, TypeError)) as caught:
        check_op(op)
    assert words in str(caught.value)


def test_laws_can_be_left_out():
    check_op(NoTranspose(), except_laws=["transpose", "second"])
