"""Comparing with a Python int that the dtype cannot hold answers by its value, as NumPy 2 does."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp

OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("compare", OPERATORS)
@pytest.mark.parametrize("dtype, number", [("uint8", 300), ("uint8", -1), ("int8", -200)])
def test_numbers_out_of_range(compare, dtype, number):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    np.testing.assert_array_equal(compare(jnp.asarray(x), number), compare(x, number))
    np.testing.assert_array_equal(compare(number, jnp.asarray(x)), compare(number, x))
    got = jax.jit(jax.vmap(lambda row: compare(row, number)))(x)
    np.testing.assert_array_equal(got, compare(x, number))


def test_arithmetic_and_two_numbers_still_refuse():
    with pytest.raises(OverflowError):
        jnp.arange(3, dtype=jnp.uint8) + 300
    with pytest.raises(OverflowError):
        jnp.less(1, 2**40)
