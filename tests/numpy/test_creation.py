"""Arrays from values, shapes and ranges against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.errors import (
    ArgumentTypeError,
    ConcretizationTypeError,
    ShapeError,
    TracerIntegerConversionError,
)
from tests.numpy.common import (
    assert_same,
    by_meaning,  # noqa: F401
    check_expression,
    floats,
    ints,
    lines,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

V, W, F, K = floats(5), floats(5, seed=9), floats(3, 4), ints(6, low=0, high=4)
NAMES = {"V": V, "W": W, "F": F, "K": K, "H": floats(2, 3, 4)}

TABLE = """
xp.arange(5); xp.arange(1, 5); xp.arange(1, 8, 2); xp.arange(5, 1, -1); xp.arange(0, 1, 0.25)
xp.arange(3.0); xp.arange(0); xp.arange(5, 1); xp.arange(-3, 4, 2, dtype=np.float32)
xp.arange(2000, 100, -3); xp.arange(5, 5000, 2); xp.arange(10, dtype='uint8')
xp.linspace(0, 1, 5); xp.linspace(0, 1, 5, endpoint=False); xp.linspace(F[0], F[1], 4)
xp.linspace(F[0], F[1], 4, axis=-1); xp.linspace(0, 10, 4, dtype=int); xp.linspace(0, 1, 1)
xp.linspace(0, 1, 0); xp.linspace(0, 1, 5, retstep=True); xp.linspace(3, 1, 7)
xp.logspace(0, 2, 3); xp.logspace(0, 2, 3, base=2); xp.geomspace(1, 100, 3)
xp.geomspace(V[:, None] ** 2 + 1, W ** 2 + 1, 3, axis=-2); xp.geomspace(V * 1j, V + 2j, 3)
xp.geomspace(-1, -100, 4); xp.geomspace(1, 1000, 4, endpoint=False)
xp.eye(3); xp.eye(3, 4, 1); xp.eye(3, k=-1, dtype=int); xp.identity(2); xp.tri(3); xp.tri(3, 4, 1)
xp.tril(F); xp.triu(F, 1); xp.tril(H, -1); xp.triu(H); xp.tril(F, 99); xp.triu(F, -99)
xp.tril_indices(3); xp.triu_indices(3, 1); xp.tril_indices(3, 1, 4); xp.triu_indices_from(F)
xp.tril_indices_from(F, -1); xp.vander(V); xp.vander(V, 3, increasing=True); xp.diag_indices(3)
xp.diag_indices_from(F[:, :3]); xp.mask_indices(3, xp.triu); xp.diag(V); xp.diag(V, 1); xp.diag(F)
xp.diag(F, -1); xp.diag(V, -2); xp.diagflat(F, 1); xp.meshgrid(V, W)
xp.meshgrid(V, W, indexing='ij'); xp.meshgrid(V, W, sparse=True); xp.meshgrid(V); xp.indices((2, 3))
xp.indices((2, 3), sparse=True)
xp.ix_(K, K); xp.ix_(np.array([True, False, True]), K); xp.mgrid[0:2, 0:3]; xp.mgrid[0:1:3j]
xp.ogrid[0:2, 0:3]; xp.r_[1:4, 0, V]; xp.c_[V, W]; xp.r_['0,2', V, W]; xp.r_['1,2,0', V, W]
xp.r_[0:1:3j]; xp.r_['-1', F, F]; xp.zeros((2, 3)); xp.ones(3, int); xp.full((2,), 7)
xp.full((2, 2), V[:2]); xp.full((2,), 1.5, int); xp.zeros_like(F); xp.ones_like(K)
xp.full_like(F, 2); xp.full_like(K, 2.5); xp.zeros_like(F, int); xp.zeros_like(F, shape=(2,))
xp.empty((0, 3)); xp.array([1, 2]); xp.array([[1, 2.0], [3, 4]]); xp.array(1, ndmin=2)
xp.array([True, 2]); xp.array([1j, 2]); xp.array([]); xp.array([[]]); xp.array(F, dtype=int)
xp.array([1.5, 2.5], dtype=int); xp.array([F, F]); xp.array((1, 2)); xp.array(range(3))
xp.array([np.int8(1), np.int16(2)]); xp.asarray(F); xp.frombuffer(b'abcd', dtype='uint8')
xp.fromfunction(lambda i, j: i + j, (2, 3)); xp.fromfunction(lambda i, j: i * j, (2, 3), dtype=int)
xp.fromiter(iter([1, 2]), int); xp.fromstring('1 2', sep=' '); xp.s_[1:2]; xp.index_exp[1:2, 3]
xp.array([[1, 2], [3, 4]])[0]; xp.bool_(1); xp.array([np.float32(2), 3])
"""


@pytest.mark.parametrize("text", lines(TABLE))
def test_against_numpy(text):
    if text.startswith(("xp.s_", "xp.index_exp")):
        assert eval(text, {"xp": jnp}) == eval(text, {"xp": np})
    else:
        check_expression(text, NAMES)


def test_lists_with_arrays_and_tracers():
    x = jnp.asarray(F)
    assert_same(jnp.array([x, F]), np.stack([F, F]))
    assert_same(jnp.array([[x[0, 0], 1], [2, x[1, 1]]]), np.float32([[F[0, 0], 1], [2, F[1, 1]]]))
    assert jnp.array([1, jnp.array(2.0)]).dtype == np.float32
    assert jnp.array([jnp.int8(1), jnp.int16(2)]).dtype == np.int16

    def f(a, b):
        return jnp.array([[a, 1.0], [b, a]])

    program = plait.make_jaxpr(f)(1.0, np.float32(2))
    assert "concatenate" in str(program)


def test_numbers_become_literals_in_a_trace():
    program = str(plait.make_jaxpr(lambda x: x + jnp.array(2.0) + jnp.asarray(3))(np.float32(1)))
    assert "2.0" in program
    assert "3" in program


def test_like_takes_anything_with_shape_and_dtype():
    template = plait.ShapeDtypeStruct((2, 3), np.int16)
    assert jnp.zeros_like(template).dtype == np.int16
    assert jnp.ones_like(template).shape == (2, 3)
    assert jnp.full_like(template, 7).dtype == np.int16


def test_float_to_integer_saturates():
    assert_same(jnp.array([1.7, -1.7, 300.0]).astype("uint8"), np.uint8([1, 0, 255]))
    assert_same(jnp.array(np.float32([1e20, np.nan])).astype(int), np.int32([2**31 - 1, 0]))


def test_copy_makes_a_new_array():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x
    assert jnp.copy(x) is not x


def test_linspace_meets_both_ends():
    for n in range(2, 40):
        y = np.asarray(jnp.linspace(jnp.float32(-7.3), jnp.float32(0.1), n))
        assert y[0] == np.float32(-7.3)
        assert y[-1] == np.float32(0.1)


def test_errors():
    with raises(ShapeError, "different shapes"):
        jnp.array([[1], [1, 2]])
    with raises(ArgumentTypeError, "text"):
        jnp.array("a")
    with raises(ValueError, "None is not an array"):
        jnp.array(None)
    with raises(ValueError, "not a number"):
        jnp.array([1, None])
    with raises(ArgumentTypeError, "dict"):
        jnp.asarray({})
    with raises(ShapeError, "at least 0"):
        jnp.zeros(-1)
    with raises(TypeError, "zeros", "ints"):
        jnp.zeros(2.5)
    with raises(TypeError, "foo"):
        jnp.zeros(2, "foo")
    with raises(ValueError, "step"):
        jnp.arange(0, 1, 0)
    with raises(ValueError, "num"):
        jnp.linspace(0, 1, -1)
    with raises(TypeError, "dtype"):
        jnp.zeros(2, dtype=object)


def test_traced_sizes_are_named():
    with raises(TracerIntegerConversionError, "zeros", "shape", "static"):
        plait.make_jaxpr(lambda n: jnp.zeros(n))(3)
    with raises(TracerIntegerConversionError, "ones", "static"):
        plait.make_jaxpr(lambda n: jnp.ones((2, n)))(3)
    with raises(ConcretizationTypeError, "arange", "stop", "static"):
        plait.make_jaxpr(lambda n: jnp.arange(0, n))(3)


def test_mask_indices_of_a_size():
    for size in (2, 3, 5):
        got = jnp.mask_indices(3, jnp.triu, 1, size=size)
        want = [(np.r_[p, np.zeros(5, int)][:size]).tolist() for p in np.triu_indices(3, 1)]
        assert [p.tolist() for p in got] == want


def test_geomspace_between_two_signs_or_from_zero_is_nan():
    for ends in [(0, 1), (1, 0), (-1, 1), (2.0, -8.0)]:
        assert np.isnan(jnp.geomspace(*ends, 3)).all(), ends
        assert np.isnan(plait.jit(lambda a, b: jnp.geomspace(a, b, 3))(*ends)).all(), ends
    np.testing.assert_allclose(jnp.geomspace(-1, -8, 4), [-1, -2, -4, -8], rtol=1e-6)
