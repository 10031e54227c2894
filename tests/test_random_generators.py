"""Keys of the kinds rbg and unsafe_rbg: numbers stored from JAX, and keys that are only moved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax, random
from plait.config import override
from plait.errors import ArgumentTypeError, DtypeError

WORDS = np.array([1, 2, 3, 4], np.uint32)
KINDS = ("rbg", "unsafe_rbg")
# As halves of float64: zeros of both signs, the smallest number, NaNs that signal, infinities.
ODD = np.array(
    [
        [0, 0, 0, 2**31],
        [0, 2**31, 0, 0],
        [1, 0, 1, 2**31],
        [1, 0x7FF00000, 5, 0xFFF00000],
        [0, 0x7FF00000, 0, 0xFFF80000],
        [7, 7, 7, 7],
    ],
    np.uint32,
)


def key(impl="rbg", words=WORDS):
    return random.wrap_key_data(words, impl=impl)


def words(keys):
    return np.asarray(random.key_data(keys))


def test_keys_of_each_kind():
    for impl, name in zip(KINDS, ("key<rbg>", "key<urbg>"), strict=True):
        k = random.key(7, impl=impl)
        assert k.dtype == random.key_dtype(impl) == key(impl).dtype and repr(k.dtype) == name
        assert random.key_impl(k) == impl and words(k).tolist() == [0, 7, 0, 7]
        assert random.PRNGKey(7, impl=impl).tolist() == [0, 7, 0, 7]
        assert random.key(7, dtype=k.dtype).dtype is k.dtype
        staged = jax.jit(lambda seed, impl=impl: (random.key(seed, impl=impl), random.key(7)))
        assert words(staged(7)[0]).tolist() == [0, 7, 0, 7] and staged(7)[1] == random.key(7)
        assert pickle.loads(pickle.dumps(k.dtype)) is k.dtype
    with override(enable_x64=True):
        assert words(random.key(2**40 + 3, impl="rbg")).tolist() == [256, 3, 256, 3]
        assert random.bits(key(), (2,)).tolist() == [5574906407289874532, 3272025663544478142]


# From JAX 0.10: split in 2, fold_in of 17, bits of three rows of split(key, 3) under vmap.
STORED = {
    "rbg": (
        [629071667, 2343584484, 1144503774, 142997786],
        [629003988, 1317161160, 1441834994, 695621559],
        [3376082723, 3005826297, 2364900475, 3749864621],
        [[3280628599, 460599477], [1445315269, 2550286549], [2691261481, 4143742886]],
        [[4284104437, 3664408472], [2334755390, 3877424997], [2798447608, 1292819663]],
        [0.71867955, -1.2413316, -0.42199686, 0.23729193, 0.32288328, 1.8092027],
    ),
    "unsafe_rbg": (
        [512747620, 1298009047, 1267190206, 761827841],
        [2117349439, 2738932741, 2107557141, 1903717071],
        [3656539211, 4008821018, 177042053, 590514867],
        [[3026836921, 2895255799], [211222031, 1930738209], [2899975523, 4205765764]],
        [[2288445912, 1736718445], [3737920750, 2592283336], [3048517914, 1547824762]],
        [0.53808355, 0.45127484, -1.6528667, -0.12683615, 0.45432666, 2.0381224],
    ),
}


@pytest.mark.parametrize("impl", KINDS)
def test_numbers_are_those_of_jax(impl):
    first, second, folded, rows, folded_rows, normal = STORED[impl]
    k, keys = key(impl), random.split(key(impl), 3)
    assert words(random.split(k)).tolist() == [first, second]
    assert words(random.fold_in(k, 17)).tolist() == folded
    assert random.split(k, (2, 3)).shape == (2, 3) and random.split(k)[0] == keys[0]
    assert random.bits(k, (3,)).tolist() == [512747620, 1298009047, 1267190206]
    assert random.bits(k, (3,), np.uint8).tolist() == [100, 215, 190]
    got = jax.vmap(lambda k: random.bits(k, (2,)))(keys)
    assert np.array_equal(got, np.array(rows, np.uint32))
    got = words(jax.vmap(random.fold_in)(keys, jnp.arange(3)))[:, :2]
    assert np.array_equal(got, np.array(folded_rows, np.uint32))
    got = jax.jit(jax.vmap(lambda k: random.normal(k, (2,))))(keys)
    np.testing.assert_allclose(np.ravel(got), np.array(normal, np.float32), rtol=3e-7)


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_rows_of_a_pmap_are_those_of_single_keys(form):
    def numbers(k):
        return random.uniform(k, (2,)), random.key_data(random.split(k)), random.fold_in(k, 3)

    with override(pmap_form=form):
        for impl in KINDS:
            keys = random.split(key(impl), 4)
            u, halves, folded = jax.pmap(numbers)(keys)
            for row, k in enumerate(keys):
                u1, halves1, folded1 = numbers(k)
                assert (u[row] == u1).all() and (halves[row] == halves1).all()
                assert folded[row] == folded1


def moves(k):
    """Every way of moving keys that is an op of its own."""
    swapped = lax.cond(jnp.arange(3).sum() > 2, lambda k: k[::-1], lambda k: k, k)
    even = jnp.arange(6) % 2 == 0
    return {
        "reverse": k[::-1],
        "index": k[jnp.array([3, 1, 2])],
        "select": jnp.where(even, k, k[::-1]),
        "axes": k.reshape(2, 3).T,
        "concatenate": jnp.concatenate([k, k[:2]]),
        "scatter": k.at[jnp.array([2, 4])].set(k[:2]),
        "slice": lax.dynamic_slice(k, (jnp.arange(3)[2],), (3,)),
        "update": lax.dynamic_update_slice(k, k[:2], (jnp.arange(3)[2],)),
        "scan": lax.scan(lambda c, x: (x, c), k[0], k)[1],
        "loop": lax.fori_loop(0, 3, lambda i, k: jnp.roll(k, 1), k),
        "branch": swapped,
        "pad": lax.pad(k, k[3], [(1, 2, 1)]),
        "spread": jnp.broadcast_to(k, (2, 6)),
    }


def places():
    """The same moves of the keys' positions, by NumPy."""
    n = np.arange(6)
    scattered, updated = n.copy(), n.copy()
    scattered[[2, 4]] = updated[[2, 3]] = [0, 1]
    padded = np.full(14, 3)
    padded[1:12:2] = n
    return {
        "reverse": n[::-1],
        "index": n[[3, 1, 2]],
        "select": np.where(n % 2 == 0, n, n[::-1]),
        "axes": n.reshape(2, 3).T,
        "concatenate": np.r_[n, n[:2]],
        "scatter": scattered,
        "slice": n[2:5],
        "update": updated,
        "scan": np.r_[0, n[:-1]],
        "loop": np.roll(n, 3),
        "branch": n[::-1],
        "pad": padded,
        "spread": np.broadcast_to(n, (2, 6)),
    }


def test_keys_keep_their_bits_wherever_they_go():
    k = key(words=ODD)
    for ways in (moves(k), jax.jit(moves)(k), jax.jit(lambda: moves(k))()):
        for name, where in places().items():
            assert np.array_equal(words(ways[name]), ODD[where]), name
    assert np.array_equal(words(copy.deepcopy(k)), ODD)
    assert np.array_equal(words(pickle.loads(pickle.dumps(k))), ODD)
    mesh = jax.make_mesh((2,), ("x",))
    spread = jax.device_put(k, jax.sharding.NamedSharding(mesh, jax.P("x")))
    assert np.array_equal(words(jax.jit(lambda k: k[::-1])(spread)), ODD[::-1])


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_collectives_keep_the_bits_of_keys(form):
    def exchanged(k):
        return lax.all_gather(k, "i"), lax.ppermute(k, "i", [(0, 1), (1, 0)])

    for pair in (ODD[:2], ODD[2:4]):
        with override(pmap_form=form):
            both, other = jax.pmap(exchanged, axis_name="i")(key(words=pair))
        assert np.array_equal(words(both), [pair, pair])
        assert np.array_equal(words(other), pair[::-1])


def test_keys_are_equal_if_all_their_bits_are():
    k, n = key(words=ODD), np.arange(6)
    for compare in (jnp.equal, jax.jit(jnp.equal)):
        assert np.array_equal(compare(k[:, None], k[None]), n[:, None] == n)
    assert np.array_equal(jax.jit(lambda k: k[:, None] != k[None])(k), n[:, None] != n)


def test_the_switch_says_what_keys_and_words_mean():
    @jax.jit
    def both():
        rbg = random.key(3).dtype is random.key_dtype("rbg")
        return random.bits(random.key(3)) if rbg else False

    assert not both()
    with jax.default_prng_impl("rbg"):
        assert both() == random.bits(random.key(3, impl="rbg"))
        w = random.PRNGKey(3)
        assert w.tolist() == [0, 3, 0, 3] and random.key_impl(w) == "rbg"
        assert np.array_equal(random.split(w), words(random.split(random.key(3))))
        assert random.uniform(w) == random.uniform(random.key(3))
        with pytest.raises(ArgumentTypeError, match="random key"):
            random.split(w[:2])
        assert random.key(3, impl="threefry2x32") == random.wrap_key_data(w[:2], dtype="fry")
    with pytest.raises(ArgumentTypeError, match="random key"):
        random.split(w)


def test_samplers_take_all_kinds_of_keys():
    def draws(k):
        return random.gamma(k, 2.0, (100,)), random.poisson(k, 2.0, (100,))

    for impl in KINDS:
        k = key(impl)
        assert sorted(random.permutation(k, 5).tolist()) == [0, 1, 2, 3, 4]
        assert random.randint(k, (3,), 0, 10).tolist() == [8, 2, 1]
    # Loops that draw anew what they reject end, though rows share their draws.
    rows = np.stack(jax.jit(jax.vmap(draws))(random.split(key(), 20)), 1)
    assert abs(rows.mean((0, 2)) - 2).max() < 0.1
    assert len(np.unique(rows[:, 0])) > 1990


def test_kinds_do_not_mix():
    with pytest.raises(DtypeError, match="another generator"):
        jnp.where(True, random.key(0), random.key(0, impl="rbg"))
    with pytest.raises(DtypeError, match="numbers"):
        jnp.where(True, key(), 0)
