"""plait.random: the published test vectors, JAX's values, distributions, keys, messages."""

from __future__ import annotations

import os
import pathlib
import subprocess

import numpy as np
import pytest
import scipy.special
import scipy.stats

import plait
import plait.numpy as jnp
from plait import lax, random
from plait.core.dtypes import KEY_DTYPE
from plait.core.stage import stage
from plait.core.types import ArrayType
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.hlo.builder import Builder
from plait.hlo.module import module_text
from plait.ops import bits
from plait.runtime.xla import VERSION
from tests.peer import random_cases

PEER = pathlib.Path(__file__).parent / "peer"
KEY = random.key(42)


def words(key):
    return np.asarray(random.key_data(key))


# --- the hash


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    # Source: the file kat_vectors of Random123, the lines of threefry2x32 with 20 rounds.
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_hash_of_the_published_vectors(key, counter, expected):
    arrays = [np.array([v], np.uint32) for v in (*key, *counter)]
    found = bits.hash_arrays(arrays[:2], *arrays[2:])
    assert tuple(int(v[0]) for v in found) == expected


def test_compiled_hash_is_the_hash():
    keys = np.array([0, 42 << 32, (1 << 63) + 12345, 2**64 - 1], np.uint64)
    typed = random.wrap_key_data(np.stack(bits.words_of(keys), -1))
    data = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    folded = plait.vmap(random.fold_in)(typed, data)
    assert np.array_equal(
        words(folded), np.stack(bits.words_of(bits.random_fold_in_p.numpy(keys, data)), -1)
    )
    split = plait.vmap(lambda k: random.split(k, (2, 3)))(typed)
    expected = bits.random_split_p.numpy(keys, shape=(2, 3))
    assert np.array_equal(words(split), np.stack(bits.words_of(expected), -1))
    for width in (8, 16, 32):
        drawn = plait.vmap(lambda k: random.bits(k, (5, 2), f"uint{width}"))(typed)  # noqa: B023
        expected = bits.random_bits_p.numpy(keys, shape=(5, 2), bit_width=width)
        assert np.array_equal(np.asarray(drawn), expected)


def test_positions_beyond_32_bits_use_both_words_of_the_counter():
    def draw(key):
        return [bits.random_bits_p.bind(key, shape=(2**33,), bit_width=8)]

    program, _ = stage(draw, [ArrayType((), KEY_DTYPE)])
    assert "tensor<8589934592xui64>" in module_text(Builder(), program)


# --- JAX's values


def run(group, x64):
    with plait.enable_x64(x64):
        made = getattr(random_cases, group)(random, jnp, plait.vmap, plait.jit)
        while True:
            # A generator would run outside of the block: it is resumed here.
            try:
                name, value = next(made)
            except StopIteration:
                return
            value = np.asarray(value)
            yield name, value.view(np.uint16) if value.dtype.name == "bfloat16" else value


def in_steps(x):
    """Floats as integers that count the floats."""
    steps = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    return np.where(steps < 0, np.iinfo(x.dtype.str.replace("f", "i")).min - steps, steps)


def compare(stored, exactly):
    """Every case against stored values; exactly, or as close as other versions of XLA or other
    processors come: nearly all numbers the same to the last bits."""
    for group, x64 in (("cases", False), ("gamma_cases", False), ("x64_cases", True)):
        for name, have in run(group, x64):
            want = stored[f"{group}/{name}"]
            assert (have.dtype, have.shape) == (want.dtype, want.shape), (group, name)
            if group == "gamma_cases":
                # XLA fuses these loops as it sees fit; a number that is just rejected is another
                # one altogether.
                assert np.mean(np.isclose(have, want, rtol=1e-4)) > 0.9, (group, name)
                continue
            if exactly or have.dtype.kind not in "fc" or not have.size:
                assert have.tobytes() == want.tobytes(), (group, name)
                continue
            if have.dtype.kind == "c":
                part = f"f{have.dtype.itemsize // 2}"
                have, want = have.view(part), want.view(part)
            apart = np.abs(in_steps(have) - in_steps(want))
            assert np.mean(apart <= 64) >= 0.9, (group, name, apart.max())


def test_values_are_those_that_jax_gave():
    compare(np.load(PEER / "random_values.npz"), exactly=False)


@pytest.mark.skipif("PLAIT_PEER_PYTHON" not in os.environ, reason="PLAIT_PEER_PYTHON is not set")
def test_values_are_those_of_jax_to_the_last_bit(tmp_path):
    """By a Python that has JAX; the values stored above are of one version of it."""
    file = tmp_path / "values.npz"
    python = os.environ["PLAIT_PEER_PYTHON"]
    subprocess.run([python, PEER / "store_random.py", file], check=True, timeout=600)
    stored = np.load(file)
    compare(stored, exactly=str(stored["jaxlib"]) == VERSION)


# --- keys


@pytest.mark.parametrize("seed", [0, 7, -1, 2**31, 2**32 + 5, -(2**63), 2**63, True, np.int8(-3)])
def test_a_key_is_its_seed(seed):
    bits64 = int(seed) % 2**64
    assert words(random.key(seed)).tolist() == [0, bits64 % 2**32]
    assert random.PRNGKey(seed).tolist() == [0, bits64 % 2**32]
    with plait.enable_x64():
        upper = 0 if isinstance(seed, np.int8) else bits64 >> 32
        assert words(random.key(seed)).tolist() == [upper, bits64 % 2**32]


def test_keys_in_a_trace_are_the_same():
    for make in (random.key, random.PRNGKey):
        assert np.array_equal(plait.jit(lambda: random.key_data(make(5)))(), [0, 5])  # noqa: B023
        traced = plait.jit(lambda s: random.key_data(make(s)))(-7)  # noqa: B023
        assert np.array_equal(traced, [0, 2**32 - 7])
        many = plait.vmap(lambda s: random.key_data(make(s)))(np.arange(3))  # noqa: B023
        assert np.array_equal(many, [[0, 0], [0, 1], [0, 2]])
    with plait.enable_x64():
        wide = plait.jit(lambda: random.key_data(random.key(2**40 + 3)))()
        assert np.array_equal(wide, [256, 3])


def test_a_typed_key_is_a_scalar_of_a_key_dtype():
    keys = random.split(KEY, 3)
    assert (KEY.shape, KEY.ndim, keys.shape, len(keys)) == ((), 0, (3,), 3)
    assert jnp.issubdtype(keys.dtype, plait.dtypes.prng_key)
    assert not jnp.issubdtype(random.PRNGKey(0).dtype, plait.dtypes.prng_key)
    assert KEY.dtype == random.key_dtype() == random.key_dtype("threefry2x32")
    assert random.key_impl(KEY) == random.key_impl(random.PRNGKey(0)) == "threefry2x32"
    assert repr(KEY) == "Array((), dtype=key<fry>)"


def test_key_arrays_move_like_arrays():
    keys = random.split(KEY, (4, 3))
    data = words(keys)
    assert np.array_equal(words(keys[1]), data[1])
    assert np.array_equal(words(keys[::2, -1]), data[::2, -1])
    assert np.array_equal(words(keys.reshape(2, 6)), data.reshape(2, 6, 2))
    assert np.array_equal(words(jnp.stack([keys[0], keys[2]])), data[[0, 2]])
    assert np.array_equal(words(jnp.concatenate([keys, keys])), np.concatenate([data, data]))
    assert np.array_equal(words(keys.T), data.transpose(1, 0, 2))
    assert np.array_equal(words(jnp.where(jnp.array(True), keys[0], keys[1])), data[0])
    assert [words(k).tolist() for k in keys[0]] == data[0].tolist()
    first, *_ = keys
    assert np.array_equal(words(first), data[0])


def test_words_wrap_and_unwrap():
    data = np.array([[1, 2], [3, 2**32 - 1]], np.uint32)
    keys = random.wrap_key_data(data)
    assert np.array_equal(words(keys), data)
    assert np.array_equal(random.wrap_key_data(jnp.asarray(data)).shape, (2,))
    assert np.array_equal(plait.jit(lambda d: random.key_data(random.wrap_key_data(d)))(data), data)
    assert np.array_equal(random.key_data(random.PRNGKey(3)), [0, 3])
    assert bool(random.clone(KEY) == KEY)
    assert not bool(random.key(1) == KEY)


def test_both_kinds_of_keys_give_the_same_numbers():
    old = random.PRNGKey(42)
    for draw in (
        lambda k: random.normal(k, (5,)),
        lambda k: random.key_data(random.split(k)),
        lambda k: random.key_data(random.fold_in(k, 3)),
        lambda k: random.permutation(k, 9),
        lambda k: random.gamma(k, 2.0, (3,)),
    ):
        assert np.array_equal(draw(old), draw(KEY))
        assert np.array_equal(draw(np.asarray(old)), draw(KEY))
        assert np.array_equal(plait.jit(draw)(old), plait.jit(draw)(KEY))
    assert random.split(old).dtype == np.uint32
    assert random.fold_in(old, 1).shape == (2,)


def test_keys_under_transformations():
    keys = random.split(KEY, 4)
    each = np.stack([np.asarray(random.normal(k, (3,))) for k in keys])
    assert np.array_equal(plait.vmap(lambda k: random.normal(k, (3,)))(keys), each)
    assert np.array_equal(plait.pmap(lambda k: random.normal(k, (3,)))(keys), each)
    in_middle = plait.pmap(lambda k, s: s * random.normal(k, (3,)), in_axes=(0, None))
    assert np.array_equal(in_middle(keys, 1.0), each)
    pairs = keys.reshape(2, 2)
    nested = plait.pmap(plait.vmap(lambda k: random.normal(k, (3,))))
    assert np.array_equal(nested(pairs), each.reshape(2, 2, 3))

    def step(key, _):
        key, use = random.split(key)
        return key, random.uniform(use)

    last, drawn = lax.scan(step, KEY, None, length=3)
    key, expected = KEY, []
    for _ in range(3):
        key, use = random.split(key)
        expected.append(float(random.uniform(use)))
    assert np.array_equal(words(last), words(key))
    assert np.array_equal(drawn, np.float32(expected))
    looped = lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), KEY)
    key = KEY
    for i in range(3):
        key = random.fold_in(key, i)
    assert np.array_equal(words(looped), words(key))
    chosen = lax.cond(True, lambda k: k, lambda k: random.fold_in(k, 1), KEY)
    assert np.array_equal(words(chosen), words(KEY))


def test_one_key_and_the_place_in_a_map_give_each_device_its_own_numbers():
    def draw(key, x):
        return x + random.normal(random.fold_in(key, lax.axis_index("i")))

    mapped = plait.pmap(draw, axis_name="i", in_axes=(None, 0))(KEY, np.zeros(2, np.float32))
    expected = [random.normal(random.fold_in(KEY, i)) for i in range(2)]
    assert np.array_equal(mapped, np.stack(expected))


def test_numbers_do_not_depend_on_what_is_compiled_around_them():
    for draw in (
        lambda k: random.normal(k, (1001,)),
        lambda k: random.randint(k, (50,), 0, 1000),
        lambda k: random.permutation(k, 100),
    ):
        assert np.array_equal(plait.jit(draw)(KEY), draw(KEY))
        with plait.disable_jit():
            assert np.allclose(draw(KEY), plait.jit(draw)(KEY), rtol=1e-5)


# --- distributions

N = 20_000
CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, (N,)), scipy.stats.uniform()),
    "uniform -3 5": (
        lambda k: random.uniform(k, (N,), minval=-3, maxval=5),
        scipy.stats.uniform(-3, 8),
    ),
    "normal": (lambda k: random.normal(k, (N,)), scipy.stats.norm()),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 1.5, (N,)),
        scipy.stats.truncnorm(-0.5, 1.5),
    ),
    "exponential": (lambda k: random.exponential(k, (N,)), scipy.stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), scipy.stats.gumbel_r()),
    "gumbel high": (lambda k: random.gumbel(k, (N,), mode="high"), scipy.stats.gumbel_r()),
    "gumbel highest": (lambda k: random.gumbel(k, (N,), mode="highest"), scipy.stats.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, (N,)), scipy.stats.laplace()),
    "logistic": (lambda k: random.logistic(k, (N,)), scipy.stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, (N,)), scipy.stats.cauchy()),
    "maxwell": (lambda k: random.maxwell(k, (N,)), scipy.stats.maxwell()),
    "double_sided_maxwell": (
        lambda k: jnp.abs(random.double_sided_maxwell(k, 1.0, 2.0, (N,)) - 1.0),
        scipy.stats.maxwell(scale=2.0),
    ),
    "weibull_min": (
        lambda k: random.weibull_min(k, 2.0, 1.5, (N,)),
        scipy.stats.weibull_min(1.5, scale=2.0),
    ),
    "pareto": (lambda k: random.pareto(k, 3.0, (N,)), scipy.stats.pareto(3.0)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (N,)), scipy.stats.rayleigh(scale=2.0)),
    "wald": (lambda k: random.wald(k, 2.0, (N,)), scipy.stats.invgauss(2.0)),
    "triangular": (
        lambda k: random.triangular(k, -1.0, 0.0, 3.0, (N,)),
        scipy.stats.triang(0.25, -1, 4),
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.5, (N,)), scipy.stats.lognorm(0.5)),
    "gamma 0.3": (lambda k: random.gamma(k, 0.3, (N,)), scipy.stats.gamma(0.3)),
    "gamma 4": (lambda k: random.gamma(k, 4.0, (N,)), scipy.stats.gamma(4.0)),
    "loggamma": (lambda k: random.loggamma(k, 0.1, (N,)), scipy.stats.loggamma(0.1)),
    "beta": (lambda k: random.beta(k, 0.5, 2.0, (N,)), scipy.stats.beta(0.5, 2.0)),
    "dirichlet": (
        lambda k: random.dirichlet(k, np.float32([1.0, 2.0, 3.0]), (N,))[:, 1],
        scipy.stats.beta(2.0, 4.0),
    ),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), scipy.stats.chi2(3.0)),
    "f": (lambda k: random.f(k, 4.0, 7.0, (N,)), scipy.stats.f(4.0, 7.0)),
    "t": (lambda k: random.t(k, 4.0, (N,)), scipy.stats.t(4.0)),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 1.5, (N,)),
        scipy.stats.gennorm(1.5),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_kolmogorov_smirnov(name):
    draw, distribution = CONTINUOUS[name]
    numbers = np.asarray(draw(random.key(17)), np.float64)
    assert numbers.shape == (N,)
    assert scipy.stats.kstest(numbers, distribution.cdf).pvalue > 1e-3


DISCRETE = {
    "randint": (lambda k: random.randint(k, (N,), -2, 9), scipy.stats.randint(-2, 9)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (N,)), scipy.stats.bernoulli(0.3)),
    "bernoulli high": (
        lambda k: random.bernoulli(k, 0.3, (N,), mode="high"),
        scipy.stats.bernoulli(0.3),
    ),
    "categorical": (
        lambda k: random.categorical(k, np.log(np.float32([0.2, 0.5, 0.3])), shape=(N,)),
        scipy.stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "choice": (
        lambda k: random.choice(k, 3, (N,), p=np.float32([0.2, 0.5, 0.3])),
        scipy.stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "geometric": (lambda k: random.geometric(k, 0.4, (N,)), scipy.stats.geom(0.4)),
    "poisson 3": (lambda k: random.poisson(k, 3.0, (N,)), scipy.stats.poisson(3.0)),
    "poisson 20": (lambda k: random.poisson(k, 20.0, (N,)), scipy.stats.poisson(20.0)),
    "binomial few": (lambda k: random.binomial(k, 12, 0.3, (N,)), scipy.stats.binom(12, 0.3)),
    "binomial many": (lambda k: random.binomial(k, 90, 0.6, (N,)), scipy.stats.binom(90, 0.6)),
    "multinomial": (
        lambda k: random.multinomial(k, 30.0, np.float32([[0.5, 0.3, 0.2]] * N))[:, 1],
        scipy.stats.binom(30, 0.3),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(name):
    draw, distribution = DISCRETE[name]
    numbers = np.asarray(draw(random.key(23))).astype(int)
    low, high = int(distribution.ppf(1e-3)), int(distribution.ppf(1 - 1e-3))
    counts = [np.sum(numbers == k) for k in range(low, high + 1)]
    chances = [float(distribution.pmf(k)) for k in range(low, high + 1)]
    counts.append(N - sum(counts))
    chances.append(1.0 - sum(chances))
    kept = np.asarray(chances) * N > 5
    counts = np.append(np.asarray(counts)[kept], np.asarray(counts)[~kept].sum())
    chances = np.append(np.asarray(chances)[kept], np.asarray(chances)[~kept].sum())
    if chances[-1] * N < 1e-3:
        assert counts[-1] == 0
        counts, chances = counts[:-1], chances[:-1] / chances[:-1].sum()
    assert scipy.stats.chisquare(counts, chances * counts.sum()).pvalue > 1e-3


def test_points_of_a_ball_are_spread_evenly():
    points = np.asarray(random.ball(KEY, 3, shape=(N,)))
    radius = np.linalg.norm(points, axis=-1)
    assert radius.max() <= 1.0 + 1e-6
    assert scipy.stats.kstest(radius**3, "uniform").pvalue > 1e-3
    cross = np.asarray(random.ball(KEY, 2, p=1, shape=(N,)))
    assert np.abs(cross).sum(-1).max() <= 1.0 + 1e-6


def test_dirichlet_and_multinomial_add_up():
    mixed = random.dirichlet(KEY, np.float32([0.01, 0.5, 3.0]), (4, 5))
    assert mixed.shape == (4, 5, 3)
    assert np.allclose(mixed.sum(-1), 1.0, atol=1e-6)
    counts = random.multinomial(KEY, 50, np.float32([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]))
    assert counts.sum(-1).tolist() == [50, 50]
    assert counts[1].tolist() == [0, 0, 50]


def test_complex_normal_numbers_have_half_the_variance_in_each_part():
    z = np.asarray(random.normal(KEY, (N,), "complex64"))
    assert z.dtype == np.complex64
    assert abs(np.var(z.real) - 0.5) < 0.02 and abs(np.var(z.imag) - 0.5) < 0.02
    assert abs(np.mean(z.real * z.imag)) < 0.02


def test_permutations_hold_every_element_once():
    assert sorted(np.asarray(random.permutation(KEY, 1000)).tolist()) == list(range(1000))
    matrix = np.arange(60).reshape(12, 5)
    rows = np.asarray(random.permutation(KEY, matrix))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, matrix))
    each = np.asarray(random.permutation(KEY, matrix, axis=1, independent=True))
    assert np.array_equal(np.sort(each, 1), matrix)
    assert not np.array_equal(each - each[:, :1], np.broadcast_to(each[0] - each[0, 0], (12, 5)))
    assert np.array_equal(random.shuffle(KEY, np.arange(9)), random.permutation(KEY, 9))
    assert random.permutation(KEY, 0).shape == (0,)


def test_choices_without_replacement_differ():
    for kwargs in ({}, {"p": np.full(20, 0.05, np.float32)}):
        drawn = np.asarray(random.choice(KEY, 20, (20,), replace=False, **kwargs))
        assert sorted(drawn.tolist()) == list(range(20))
    never = np.asarray(random.choice(KEY, 3, (500,), p=np.float32([0.5, 0.0, 0.5])))
    assert set(never.tolist()) == {0, 2}
    found = random.categorical(KEY, np.zeros((2, 6), np.float32), shape=(6, 2), replace=False)
    assert np.array_equal(np.sort(found, 0), np.broadcast_to(np.arange(6)[:, None], (6, 2)))
    picked = random.choice(KEY, jnp.arange(24.0).reshape(2, 3, 4), (5, 1), axis=1)
    assert picked.shape == (2, 5, 1, 4)
    assert random.choice(KEY, 5, (0,)).shape == (0,)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_ranges_are_kept(dtype):
    numbers = np.asarray(random.uniform(KEY, (5000,), dtype, -1.0, 2.0), np.float32)
    assert numbers.min() >= -1.0 and numbers.max() <= 2.0
    inside = np.asarray(random.truncated_normal(KEY, -0.1, 0.1, (5000,), dtype), np.float32)
    assert inside.min() > np.asarray(-0.1, dtype) and inside.max() < np.asarray(0.1, dtype)
    assert np.isfinite(np.asarray(random.normal(KEY, (5000,), dtype), np.float32)).all()


def test_integers_reach_both_ends_of_their_dtype():
    assert set(np.asarray(random.randint(KEY, (4000,), 0, 256, "uint8")).tolist()) == set(
        range(256)
    )
    top = np.asarray(random.randint(KEY, (4000,), 2**31 - 4, 2**31, "int32"))
    assert set(top.tolist()) == {2**31 - k for k in (1, 2, 3, 4)}
    whole = np.asarray(random.randint(KEY, (4000,), 0, 2**32, "uint32"))
    assert whole.max() > 2**32 - 2**23 and whole.dtype == np.uint32


def test_edge_parameters():
    assert np.isnan(random.binomial(KEY, np.float32([-1, np.nan]), 0.5)).all()
    assert np.isnan(random.binomial(KEY, 5, np.float32([-0.1, np.nan]))).all()
    assert random.binomial(KEY, 7, np.float32([0.0, 1.0])).tolist() == [0.0, 7.0]
    assert random.poisson(KEY, np.float32([0.0, 0.0])).tolist() == [0, 0]
    assert random.bernoulli(KEY, np.float32([0.0, 1.0])).tolist() == [False, True]
    assert np.isfinite(random.loggamma(KEY, 1e-6, (100,))).all()
    assert random.randint(KEY, (3,), 5, 2).tolist() == [5, 5, 5]


# --- derivatives


def test_bounds_have_derivatives():
    def total(low, high):
        return random.uniform(KEY, (10,), minval=low, maxval=high).sum()

    unit = np.asarray(random.uniform(KEY, (10,)))
    slopes = plait.grad(total, (0, 1))(0.5, 2.0)
    assert np.allclose(slopes, [np.sum(1 - unit), np.sum(unit)], rtol=1e-5)


def test_gamma_numbers_have_implicit_derivatives(x64):
    a = np.array([0.3, 1.0, 4.5])
    numbers = np.asarray(random.gamma(KEY, a))
    slopes = np.asarray(plait.grad(lambda a: random.gamma(KEY, a).sum())(a))
    step = 1e-6
    share = scipy.special.gammainc(a, numbers)
    expected = (
        scipy.special.gammaincinv(a + step, share) - scipy.special.gammaincinv(a - step, share)
    ) / (2 * step)
    assert np.allclose(slopes, expected, rtol=1e-4)
    in_logs = np.asarray(plait.grad(lambda a: random.loggamma(KEY, a).sum())(a))
    assert np.allclose(in_logs, expected / numbers, rtol=1e-4)
    mapped = plait.vmap(plait.grad(lambda a: random.gamma(KEY, a)))(a[:1])
    assert np.allclose(mapped, plait.grad(lambda a: random.gamma(KEY, a))(a[0]))


def test_samplers_of_gamma_numbers_have_derivatives():
    def loss(a, b):
        return random.beta(KEY, a, b, (20,)).mean() + random.dirichlet(KEY, a * jnp.ones(3))[0]

    assert np.isfinite(plait.grad(loss, (0, 1))(1.5, 2.0)).all()
    assert np.isfinite(plait.jit(plait.grad(lambda df: random.t(KEY, df, (9,)).sum()))(3.0))


# --- messages


def message(call):
    with pytest.raises(plait.errors.PlaitError) as caught:
        call()
    return str(caught.value)


def test_messages():
    assert message(lambda: random.normal(42)) == (
        "normal: a seed is not yet a key\n  key  42\n  fix  make a key with random.key(seed)"
    )
    assert message(lambda: random.uniform(jnp.zeros(2))) == (
        "uniform: the first argument must be a random key\n"
        "  key  float32[2]\n"
        "  fix  make a key with random.key(seed)"
    )
    assert message(lambda: random.normal(random.split(KEY), (3,))) == (
        "normal: takes one key, not an array of keys\n"
        "  key  key<fry>[2]\n"
        "  fix  index it (keys[0]), or use vmap to do this for each of the keys"
    )
    assert message(lambda: random.key(1.5)) == (
        "key: a seed is an integer, not float32\n  seed  1.5\n  fix   int(seed)"
    )
    assert message(lambda: random.uniform(KEY, (2, 3), minval=jnp.zeros(4))) == (
        "uniform: the parameters do not broadcast to the shape\n"
        "  shape   (2, 3)\n"
        "  minval  (4,)\n"
        "  maxval  ()\n"
        "  fix     give a shape that ends with the parameters' shapes, or none"
    )
    assert message(lambda: random.uniform(KEY, (3,), int)) == (
        "uniform: dtype must be a float dtype, not int32\n  fix  dtype=float32"
    )
    assert message(lambda: random.choice(KEY, 3, (4,), replace=False)) == (
        "choice: 4 different draws need as many slices, there are 3\n"
        "  a      3\n"
        "  shape  (4,)\n"
        "  fix    draw fewer, or replace=True"
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: random.normal("key"), ArgumentTypeError),
        (lambda: random.normal(None), TypeError),
        (lambda: random.normal(np.zeros(3, np.uint32)), TypeError),
        (lambda: random.normal(random.split(random.PRNGKey(0))), ValueError),
        (lambda: random.split(random.split(KEY)), ShapeError),
        (lambda: random.split(KEY, -1), ShapeError),
        (lambda: random.split(KEY, 2.5), TypeError),
        (lambda: random.key(KEY), TypeError),
        (lambda: random.key("a"), TypeError),
        (lambda: random.key([1, 2]), TypeError),
        (lambda: random.key(np.arange(3)), ValueError),
        (lambda: random.key(2**70), OverflowError),
        (lambda: random.key(0, impl="philox"), ArgumentError),
        (lambda: random.key(0, impl="threefry2x32", dtype="fry"), ValueError),
        (lambda: random.wrap_key_data(np.zeros(2)), TypeError),
        (lambda: random.wrap_key_data(KEY), TypeError),
        (lambda: random.fold_in(KEY, 1j), TypeError),
        (lambda: random.fold_in(KEY, -1), OverflowError),
        (lambda: random.fold_in(KEY, np.arange(2)), ValueError),
        (lambda: random.bits(KEY, (2,), int), ValueError),
        (lambda: random.normal(KEY, (2,), int), ValueError),
        (lambda: random.normal(KEY, (-1,)), ValueError),
        (lambda: random.randint(KEY, (2,), 0, 5, float), TypeError),
        (lambda: random.randint(KEY, (2,), 0, 2**40), OverflowError),
        (lambda: random.bernoulli(KEY, 1), TypeError),
        (lambda: random.bernoulli(KEY, 0.5, mode="best"), ValueError),
        (lambda: random.gumbel(KEY, mode="best"), ValueError),
        (lambda: random.beta(KEY, "a", 1.0), TypeError),
        (lambda: random.beta(KEY, 1j, 1.0), TypeError),
        (lambda: random.gamma(KEY, jnp.ones(3), (2,)), ValueError),
        (lambda: random.dirichlet(KEY, 1.0), ValueError),
        (lambda: random.permutation(KEY, 2.5), TypeError),
        (lambda: random.permutation(KEY, jnp.ones((2, 2)), axis=2), IndexError),
        (lambda: random.choice(KEY, 0), ValueError),
        (lambda: random.choice(KEY, 5, 3), TypeError),
        (lambda: random.choice(KEY, 5, (2,), p=jnp.ones(3)), ValueError),
        (lambda: random.categorical(KEY, jnp.ones((3, 4)), shape=(5,)), ValueError),
        (lambda: random.categorical(KEY, jnp.ones(3, int)), ValueError),
        (lambda: random.categorical(KEY, jnp.ones(3), shape=(4,), replace=False), ValueError),
        (lambda: random.poisson(KEY, 1.0, dtype=float), TypeError),
        (lambda: random.multinomial(KEY, 5, 0.5), ValueError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, plait.errors.PlaitError)
    assert np.isfinite(random.normal(KEY)), "later calls are not affected"


def test_traced_sizes_are_refused():
    with pytest.raises(plait.errors.ConcretizationTypeError):
        plait.jit(lambda n: random.normal(KEY, (n,)))(3)
    with pytest.raises(plait.errors.ConcretizationTypeError):
        plait.jit(lambda n: random.permutation(KEY, n))(3)


def test_many_hashes_in_a_row_compile_in_reasonable_time():
    # XLA would merge them all into one loop, at whose vectorisation LLVM despairs.
    def draw(key):
        for i in range(4):
            key, use = random.split(random.fold_in(key, i))
        x = random.normal(use)
        return x, x * 0.3 + 1

    first, second = plait.jit(plait.vmap(draw))(random.split(KEY, 64))
    assert np.allclose(second, np.asarray(first) * 0.3 + 1, rtol=1e-6)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal(method):
    cov = np.array([[2, 1, 0], [1, 2, 0.5], [0, 0.5, 1]], np.float32)
    mean = np.array([1, 2, 3], np.float32)
    x = random.multivariate_normal(random.key(3), mean, cov, (20_000,), method=method)
    np.testing.assert_allclose(np.mean(x, 0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(np.asarray(x).T), cov, atol=0.08)
    if method == "cholesky":
        first = random.multivariate_normal(random.key(3), mean, cov, (2,))[0]
        np.testing.assert_allclose(first, [-1.0453162, 2.862691, 3.9776285], rtol=1e-6)
    batch = random.multivariate_normal(random.key(0), mean, np.stack([cov] * 4), method=method)
    assert batch.shape == (4, 3) and batch.dtype == np.float32


def test_multivariate_normal_of_wrong_shapes():
    key = random.key(0)
    with pytest.raises(ValueError, match="mean is"):
        random.multivariate_normal(key, np.zeros(2), np.eye(3))
    with pytest.raises(ValueError, match="do not broadcast to the shape"):
        random.multivariate_normal(key, np.zeros((4, 2)), np.eye(2), (3,))
    with pytest.raises(ValueError, match="batch_of_mean"):
        random.multivariate_normal(key, np.zeros((4, 2)), np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="the method is"):
        random.multivariate_normal(key, np.zeros(2), np.eye(2), method="lu")


def test_fold_in_takes_floats_as_integers():
    for data in (3.0, 3.7, np.float32(3.7), jnp.float32(3.7)):
        np.testing.assert_array_equal(
            words(random.fold_in(KEY, data)), words(random.fold_in(KEY, 3))
        )


def test_arrays_of_keys_are_filled_like_their_words():
    for impl in ("threefry2x32", "unsafe_rbg"):
        keys = random.split(random.key(5, impl=impl), 3)
        words = random.key_data(keys)
        one = random.key(9, impl=impl)
        for compiled in (lambda f: f, plait.jit):
            for f in (
                jnp.zeros_like,
                jnp.ones_like,
                lambda x: jnp.full_like(x, 7),
                lambda x: jnp.zeros(x.shape, x.dtype),
                lambda x: jnp.ones(x.shape, x.dtype),
                lambda x: jnp.full(x.shape, 2**32 - 1, x.dtype),
            ):
                filled = compiled(f)(keys)
                assert filled.dtype == keys.dtype and filled.shape == (3,)
                assert np.array_equal(random.key_data(filled), f(words))
            filled = compiled(lambda x, k: jnp.full_like(x, k, shape=(2, 2)))(keys, one)
            want = np.broadcast_to(random.key_data(one), (2, 2, words.shape[-1]))
            assert np.array_equal(random.key_data(filled), want)


def test_keys_stay_keys_on_the_host():
    keys = random.split(random.key(5))
    held = plait.device_get({"keys": keys, "x": jnp.ones(2)})
    assert type(held["x"]) is np.ndarray and held["keys"].dtype == keys.dtype
    assert np.array_equal(random.key_data(held["keys"]), random.key_data(keys))
