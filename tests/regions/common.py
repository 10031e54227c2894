"""What the tests of regions share: derivatives by differences, and messages as text."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax


def differences(f, x, step=1e-6):
    """The derivative of a function of one array, one column for each element, by differences."""
    x = np.asarray(x, np.float64)
    columns = []
    for k in range(x.size):
        d = np.zeros(x.size)
        d[k] = step
        d = d.reshape(x.shape)
        columns.append((np.asarray(f(x + d)) - np.asarray(f(x - d))) / (2 * step))
    return np.stack(columns, -1).reshape(*np.shape(columns[0]), *x.shape)


def check_derivatives(f, x, second=True):
    """Forward, reverse, jitted, mapped and second derivatives of f at x against differences."""
    x = np.asarray(x, np.float64)
    compiled = jax.jit(f)
    want = differences(compiled, x)
    for g in (jax.jit(jax.jacfwd(f)), jax.jacrev(f), jax.jit(jax.jacrev(compiled))):
        np.testing.assert_allclose(g(x), want, rtol=1e-7, atol=1e-7)
    rows = np.stack([x, x + 0.01])
    for derive in (jax.jacfwd, jax.jacrev):
        mapped = jax.jit(jax.vmap(derive(f)))(rows)
        np.testing.assert_allclose(mapped[0], want, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(mapped[1], differences(compiled, rows[1]), rtol=1e-7, atol=1e-7)
    if second:
        want = differences(jax.jit(jax.jacfwd(f)), x)
        for g in (
            jax.jacfwd(jax.jacrev(f)),
            jax.jacrev(jax.jacfwd(compiled)),
            jax.jacrev(jax.jacrev(f)),
        ):
            np.testing.assert_allclose(jax.jit(g)(x), want, rtol=1e-6, atol=1e-6)


def message(error, call):
    """The text of the error that a call raises."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)
