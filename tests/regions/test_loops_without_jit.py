"""Loops while jit is switched off: Python's own, on the values that they have."""

from __future__ import annotations

import numpy as np

import plait as jax
from plait import lax

XS = np.array([[0.5, -1.0], [1.5, 0.3], [-0.2, 0.8], [0.9, 0.1], [0.4, -0.6]])
F32 = XS.astype(np.float32)


def test_loops_are_python():
    seen = []

    def body(c, x):
        seen.append(float(x))
        return c + x, {"y": c * x}

    want = lax.scan(lambda c, x: (c + x, {"y": c * x}), 0.0, F32[:, 0], reverse=True)
    with jax.disable_jit():
        got = lax.scan(body, 0.0, F32[:, 0], reverse=True)
        assert lax.fori_loop(1, 4, lambda i, x: x * i, 1) == 6
        assert lax.while_loop(lambda x: x < 5, lambda x: x * 2, 1) == 8
        np.testing.assert_array_equal(lax.map(lambda x: x * 2, F32), F32 * 2)
        _, none = lax.scan(lambda c, x: (c + x, {"y": c * x}), 0.0, F32[:0, 0])
        assert none["y"].shape == (0,)
    assert seen == [float(x) for x in F32[::-1, 0]]
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    np.testing.assert_allclose(got[1]["y"], want[1]["y"], rtol=1e-6)


def test_they_leave_numpy_arrays_alone():
    x = np.zeros(2, np.float32)

    def add(v):
        v += 1
        return v

    with jax.disable_jit():
        results = (
            lax.while_loop(lambda v: v[0] < 3, add, x),
            lax.fori_loop(0, 3, lambda i, v: add(v), x),
            lax.scan(lambda v, _: (add(v), None), x, None, 3)[0],
        )
    assert np.array_equal(x, [0, 0])
    for result in results:
        assert np.array_equal(result, [3, 3])
