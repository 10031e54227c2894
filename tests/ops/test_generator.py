"""XLA's generators of bits: against formulas, stored numbers of JAX, and each other under maps."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.core.primitive import registry
from plait.errors import ArgumentError, DtypeError, ScalarError, ShapeError, UnsupportedError

KEY = np.array([1, 2, 3, 4], np.uint32)
KEYS = np.arange(12, dtype=np.uint32).reshape(3, 4)


def draw(key):
    return lax.rng_bit_generator(key, (2,))


def equal(got, wanted):
    assert all(map(np.array_equal, got, wanted)), (got, wanted)


def test_bits_are_those_of_jax():
    first = [512747620, 1298009047, 1267190206, 761827841, 1383286907]
    equal(lax.rng_bit_generator(KEY, (5,)), ([1, 2, 5, 4], first))
    for dtype in (jnp.uint8, jnp.uint16):
        _, bits = lax.rng_bit_generator(KEY, (5,), dtype)
        assert bits.dtype == dtype and np.array_equal(bits, np.array(first).astype(dtype))
    threefry = lax.rng_bit_generator(KEY, (3, 3), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
    rows = [
        [1576285164, 740599976, 2436392515],
        [2249660814, 2425682526, 1497962777],
        [1335360347, 3981753173, 3812192618],
    ]
    equal(threefry, ([1, 2, 9, 4], rows))
    with override(enable_x64=True):
        after, bits = lax.rng_bit_generator(np.array([5, 7], np.uint64), (2,), np.uint64)
    equal((after, bits), ([5, 8], [14169269631707533809, 12636950168311171751]))


def test_shapes_of_all_kinds_against_the_formulas():
    op = registry["rng_bit_generator"]
    shapes = [(), (1,), (0,), (3, 3), (3, 2), (2, 3), (1, 3), (7, 3, 7), (3, 0)]
    params = [
        {"shape": s, "dtype": np.dtype(np.uint32), "algorithm": a, "lanes": 0}
        for s in shapes
        for a in lax.RandomAlgorithm
    ]
    drawn = jax.jit(lambda key: [op.bind(key, **p) for p in params])(KEY)
    for given, got in zip(params, drawn, strict=True):
        equal(got, op.numpy(KEY, **given))


def test_vmap_draws_all_rows_from_the_first_key():
    after, bits = jax.vmap(draw)(KEYS)
    first, whole = lax.rng_bit_generator(KEYS[0], (3, 2))
    equal((after, bits), ([first, *KEYS[1:]], whole))
    equal(jax.vmap(draw, 1, 1)(KEYS.T), (after.T, bits.T))
    pairs = np.stack([KEYS, KEYS + 1], 1)
    first, whole = lax.rng_bit_generator(KEYS[0], (3, 2, 2))
    equal([jax.vmap(jax.vmap(draw))(pairs)[1]], [whole])


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_each_row_of_a_pmap_draws_from_its_own_key(form):
    keys = np.concatenate([KEYS, KEYS[:1] + 9])
    with override(pmap_form=form):
        equal(jax.pmap(draw)(keys), map(np.stack, zip(*map(draw, keys), strict=True)))
        rows = jax.pmap(jax.vmap(draw))(keys.reshape(2, 2, 4))
        both = jax.vmap(jax.pmap(draw), 1, 1)(keys.reshape(2, 2, 4))
    each = [jax.vmap(draw)(k) for k in keys.reshape(2, 2, 4)]
    equal(rows, map(np.stack, zip(*each, strict=True)))
    equal(both, rows)


def test_a_key_has_no_tangent():
    zero = np.zeros(4, jax.dtypes.float0)
    _, tangents = jax.jvp(draw, (KEY,), (zero,))
    assert [t.dtype for t in tangents] == [jax.dtypes.float0] * 2


def test_mistakes_with_keys():
    for key in (KEY[:2], KEY.astype(np.int32), KEYS, np.zeros(4)):
        with pytest.raises(ShapeError, match="uint32"):
            lax.rng_bit_generator(key, (2,))
    with pytest.raises(DtypeError, match="uint8"):
        lax.rng_bit_generator(KEY, (2,), np.int32)
    with pytest.raises(ArgumentError, match="algorithm"):
        lax.rng_bit_generator(KEY, (2,), algorithm=7)


# --- without keys


def uniform():
    return lax.rng_uniform(np.float32(2), np.float32(3), (4,))


def test_each_use_gives_other_numbers():
    seen = [uniform(), uniform()]
    twice = jax.jit(lambda: (uniform(), uniform()))
    seen += [*twice(), *twice()]
    seen += list(jax.jit(lambda: lax.map(lambda _: uniform(), np.arange(3)))())
    hidden = jax.jit(uniform)
    seen += jax.jit(lambda: (hidden(), hidden()))()
    for k, x in enumerate(seen):
        assert ((np.asarray(x) >= 2) & (np.asarray(x) < 3)).all()
        assert not any(np.array_equal(x, y) for y in seen[:k]), k


def test_a_draw_in_a_loop_under_a_derivative_is_made_anew():
    def f(w):
        return lax.scan(lambda c, x: (c, c * x * lax.rng_uniform(0.0, 1.0, ())), w, np.ones(3))[1]

    parts = jax.jacrev(f)(jnp.float32(1.0))
    assert len(set(parts.tolist())) == 3


def test_dtypes_and_bounds():
    for dtype in (np.int32, np.uint32, np.float16, jnp.bfloat16, np.float32):
        x = lax.rng_uniform(jnp.asarray(2, dtype), jnp.asarray(4, dtype), (3000,))
        y = np.asarray(x).astype(np.float64)
        assert x.dtype == dtype and y.min() < 2.1 and y.max() < 4
        assert len(np.unique(y)) == 2 if y.max() == 3 else abs(y.mean() - 3) < 0.1


def test_rows_of_a_vmap_are_equal_and_rows_of_a_pmap_differ():
    rows = jax.vmap(lambda x: x + uniform())(np.zeros(3, np.float32))
    assert (rows == rows[0]).all()
    lanes = np.asarray(jax.pmap(lambda x: x + uniform())(np.zeros(4, np.float32)))
    assert len(np.unique(lanes)) == lanes.size
    low = np.arange(4, dtype=np.float32)
    between = jax.pmap(lambda a: lax.rng_uniform(a, a + 1, (5,)))(low)
    assert (np.floor(between) == low[:, None]).all()
    with pytest.raises(ValueError, match="rng_uniform"):
        jax.pmap(lambda x: uniform(), out_axes=None)(np.zeros(2))


def test_refusals_without_keys():
    with pytest.raises(UnsupportedError, match="derivative"):
        jax.grad(lambda b: lax.rng_uniform(0.0, b, ()))(1.0)
    with pytest.raises(UnsupportedError, match="rows"):
        jax.vmap(lambda b: lax.rng_uniform(np.float32(0), b, ()))(np.ones(2, np.float32))
    with pytest.raises(DtypeError, match="one dtype"):
        lax.rng_uniform(np.float32(0), 1, ())
    with pytest.raises(DtypeError, match="int32"):
        lax.rng_uniform(np.uint8(0), np.uint8(3), ())
    with pytest.raises(ScalarError):
        lax.rng_uniform(np.zeros(2), np.ones(2), (2,))
