"""plait.nn against NumPy's formulas, at the ends of the range, and its derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import plait
import plait.numpy as jnp
from plait import nn, random
from plait.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from plait.nn import initializers

X = np.array([-9.0, -3.5, -3.0, -1.7, -1.0, -0.3, 0.0, 0.2, 1.0, 1.4, 3.0, 5.9, 6.0, 8.0])


def sigmoid(x):
    return scipy.special.expit(x)


def relu6(x):
    return np.clip(x, 0, 6)


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": relu6,
    "identity": lambda x: x,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "celu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: relu6(x + 3) / 6,
    "hard_silu": lambda x: x * relu6(x + 3) / 6,
    "sigmoid": sigmoid,
    "softplus": lambda x: np.logaddexp(x, 0),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "tanh": np.tanh,
}


def slopes(f, x):
    return np.asarray(plait.vmap(plait.grad(f))(x))


@pytest.mark.parametrize("name", FORMULAS)
def test_activation_is_its_formula(name, x64):
    f = getattr(nn, name)
    found = f(X)
    assert found.dtype == np.float64
    assert np.allclose(found, FORMULAS[name](X), rtol=1e-12, atol=1e-14)
    smooth = X + 0.05  # none of the kinks
    step = 1e-6
    expected = (FORMULAS[name](smooth + step) - FORMULAS[name](smooth - step)) / (2 * step)
    assert np.allclose(slopes(f, smooth), expected, rtol=1e-6, atol=1e-8)
    assert np.allclose(plait.jit(f)(X), found, rtol=1e-13)
    assert np.allclose(plait.vmap(f)(X), found, rtol=1e-13)
    second = plait.vmap(plait.grad(plait.grad(f)))(smooth)
    assert np.isfinite(np.asarray(second)).all()


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_activation_keeps_dtype_and_survives_extremes(name, dtype):
    f = getattr(nn, name)
    ends = jnp.asarray(np.array([-6e4, -100.0, 100.0, 6e4])).astype(dtype)
    found = f(ends)
    assert found.dtype == ends.dtype and found.shape == (4,)
    assert not np.isnan(np.asarray(found, np.float32)).any()
    wide = np.asarray(slopes(lambda x: f(x).astype(np.float32), ends), np.float32)
    assert np.isfinite(wide).all()
    assert np.isnan(float(f(jnp.asarray(np.nan, dtype))))
    infinite = np.asarray(f(jnp.asarray([np.inf]).astype(dtype)), np.float32)
    with np.errstate(all="ignore"):
        assert np.array_equal(infinite, FORMULAS[name](np.float32([np.inf])), equal_nan=True)


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _softplus(z):
    return np.log(1 + np.exp(z))


def _relu(z, top=np.inf):
    return np.where(z.real > 0, np.where(z.real < top, z, top), 0)


COMPLEX_FORMULAS = {
    **{name: FORMULAS[name] for name in ("identity", "squareplus", "soft_sign", "gelu", "tanh")},
    "relu": _relu,
    "relu6": lambda z: _relu(z, 6.0),
    "leaky_relu": lambda z: np.where(z.real > 0, z, 0.01 * z),
    "elu": lambda z: np.where(z.real > 0, z, np.exp(z) - 1),
    "hard_sigmoid": lambda z: _relu(z + 3, 6.0) / 6,
    "hard_silu": lambda z: z * _relu(z + 3, 6.0) / 6,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log_sigmoid": lambda z: -_softplus(-z),
    "silu": lambda z: z * _sigmoid(z),
    "mish": lambda z: z * np.tanh(_softplus(z)),
    "sparse_plus": lambda z: np.where(z.real <= -1, 0, np.where(z.real >= 1, z, (z + 1) ** 2 / 4)),
    "log1mexp": lambda z: np.log(1 - np.exp(-z)),
    "softmax": lambda z: np.exp(z) / np.exp(z).sum(),
    "log_softmax": lambda z: np.log(np.exp(z) / np.exp(z).sum()),
}


@pytest.mark.parametrize("name", COMPLEX_FORMULAS)
def test_complex_numbers(name, x64):
    f, formula = getattr(nn, name), COMPLEX_FORMULAS[name]
    z = np.array([0.5 + 1j, -0.3 - 2j, 1e-2 + 0j, 4 - 0.5j, -5 + 0.25j, 7 + 1j])
    found = np.asarray(f(z))
    # A logarithm's branch may be another than that of log: what counts is exp of it.
    turn = np.exp if name in ("softplus", "log_sigmoid", "log1mexp", "log_softmax") else np.asarray
    assert found.dtype == np.complex128
    assert np.allclose(turn(found), turn(formula(z)), rtol=1e-12)
    if name != "soft_sign":  # which has no complex derivative
        step = 1e-6
        expected = (turn(formula(z + step)) - turn(formula(z - step))) / (2 * step)
        found = plait.jvp(lambda z: turn_in_plait(turn, f(z)), (z,), (np.ones_like(z),))[1]
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-8)


def turn_in_plait(turn, z):
    return jnp.exp(z) if turn is np.exp else z


def test_softmax_of_complex_numbers_does_not_overflow():
    z = np.array([1000 + 1j, 1000 - 1j, -1000 + 0j], np.complex64)
    shares = np.exp([1j, -1j]) / np.exp([1j, -1j]).sum()
    assert np.allclose(nn.softmax(z), [*shares, 0], atol=1e-6)
    assert np.allclose(nn.softmax(z, where=np.array([True, False, False])), [1, 0, 0], atol=1e-6)
    assert np.allclose(nn.log_softmax(z)[:2], np.log(shares), atol=1e-4)


def test_integers_become_floats():
    whole = jnp.arange(-2, 3)
    for name in FORMULAS:
        found = getattr(nn, name)(whole)
        assert found.dtype == (
            np.int32 if name in ("relu", "hard_tanh", "identity") else np.float32
        )
    assert nn.relu(whole).tolist() == [0, 0, 0, 1, 2]
    assert nn.relu(np.array([True, False])).tolist() == [1, 0]
    assert nn.sigmoid(0).shape == ()
    assert float(nn.gelu(1)) == pytest.approx(0.841192, abs=1e-6)


def test_derivatives_at_kinks():
    def at(f, x):
        return float(plait.grad(f)(float(x)))

    assert [at(nn.relu, x) for x in (-0.0, 0.0)] == [0.0, 0.0]
    assert [at(nn.relu6, x) for x in (0.0, 6.0)] == [0.0, 0.0]
    assert at(nn.leaky_relu, 0.0) == 1.0
    assert at(nn.elu, 0.0) == at(nn.celu, 0.0) == 1.0
    assert at(nn.hard_tanh, 1.0) == 1.0
    assert math.isnan(at(lambda x: nn.softplus(x), math.nan))
    # The branch not taken overflows; its derivative must not come in.
    assert at(nn.elu, 1e4) == at(nn.celu, 1e4) == 1.0
    assert at(nn.softplus, 1e4) == 1.0 and at(nn.softplus, -1e4) == 0.0
    assert at(nn.log1mexp, 1e-3) == pytest.approx(1 / math.expm1(1e-3))
    assert at(nn.log1mexp, 50.0) == pytest.approx(math.exp(-50.0))


def test_parameters_of_activations(x64):
    x = jnp.asarray(X)
    assert np.allclose(nn.leaky_relu(x, 0.2), np.where(X > 0, X, 0.2 * X))
    assert np.allclose(nn.elu(x, 0.5), np.where(X > 0, X, 0.5 * np.expm1(X)))
    assert np.allclose(nn.celu(x, 2.0), np.where(X > 0, X, 2 * np.expm1(X / 2)))
    assert np.allclose(nn.squareplus(x, 1), (X + np.sqrt(X * X + 1)) / 2)
    exact = X * scipy.special.ndtr(X)
    assert np.allclose(nn.gelu(x, approximate=False), exact, rtol=1e-12)
    assert np.allclose(plait.grad(lambda a: nn.elu(x, a).sum())(1.0), np.expm1(X[X < 0]).sum())
    small = np.array([1e-10, 0.5, 0.7, 40.0])
    expected = np.where(small < 0.6, np.log(-np.expm1(-small)), np.log1p(-np.exp(-small)))
    assert np.allclose(nn.log1mexp(small), expected, rtol=1e-12)
    pair = np.arange(12.0).reshape(2, 6) - 5
    assert np.allclose(nn.glu(pair), pair[:, :3] * sigmoid(pair[:, 3:]))
    assert np.allclose(nn.glu(pair, axis=0), pair[:1] * sigmoid(pair[1:]))


# --- softmax and its kin

M = np.array([[1.0, -2.0, 0.5, 3.0], [0.1, 0.2, -7.0, 0.4], [5.0, 5.0, 5.0, -5.0]])
MASK = np.array(
    [[True, False, True, True], [False, False, False, False], [True, True, False, True]]
)


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_is_its_formula(axis, x64):
    axes = (0, 1) if axis is None else axis
    expected = scipy.special.softmax(M, axes)
    assert np.allclose(nn.softmax(M, axis), expected, rtol=1e-13)
    assert np.allclose(nn.log_softmax(M, axis), np.log(expected), rtol=1e-12)
    assert np.allclose(nn.logsumexp(M, axis), scipy.special.logsumexp(M, axes), rtol=1e-13)
    kept = nn.logsumexp(M, axis, keepdims=True)
    assert kept.shape == np.sum(M, axes, keepdims=True).shape
    mean = np.log(np.mean(np.exp(M), axes))
    assert np.allclose(nn.logmeanexp(M, axis), mean, rtol=1e-12)
    for f in (nn.softmax, nn.log_softmax, nn.logsumexp):
        weight = np.cos(np.arange(np.asarray(f(M, axis)).size)).reshape(np.shape(f(M, axis)))

        def total(m):
            return jnp.sum(f(m, axis) * weight)  # noqa: B023

        slope = np.asarray(plait.grad(total)(M))
        for place in ((0, 0), (1, 2), (2, 3)):
            up, down = M.copy(), M.copy()
            up[place] += 1e-6
            down[place] -= 1e-6
            assert slope[place] == pytest.approx(
                (float(total(up)) - float(total(down))) / 2e-6, rel=1e-6, abs=1e-8
            )
        mapped = plait.vmap(lambda m: f(m, axis))(np.stack([M, M + 1]))  # noqa: B023
        assert np.allclose(mapped[0], f(M, axis), rtol=1e-13)


def test_softmax_at_the_ends_of_the_range():
    huge = np.float32([1e4, 1e4, -1e4, 0.0])
    assert nn.softmax(huge).tolist() == [0.5, 0.5, 0.0, 0.0]
    assert np.allclose(nn.log_softmax(huge), np.array([0, 0, -2e4, -1e4]) - math.log(2), rtol=1e-6)
    assert float(nn.logsumexp(huge)) == pytest.approx(1e4 + math.log(2))
    for f in (nn.softmax, nn.log_softmax, nn.logsumexp):
        assert np.isfinite(plait.grad(lambda x: jnp.sum(f(x) * jnp.arange(1.0, 5.0)))(huge)).all()  # noqa: B023
    ended = np.float32([-np.inf, 0.0, 1.0])
    assert float(nn.softmax(ended)[0]) == 0.0
    assert np.isfinite(plait.grad(lambda x: nn.softmax(x)[1])(ended)).all()
    nothing = np.float32([-np.inf, -np.inf])
    assert float(nn.logsumexp(nothing)) == -np.inf
    assert plait.grad(nn.logsumexp)(nothing).tolist() == [0.0, 0.0]
    assert float(nn.logsumexp(np.float32([np.inf, 0.0]))) == np.inf
    assert float(nn.logsumexp(np.zeros((0,), np.float32))) == -np.inf
    assert nn.softmax(np.zeros((2, 0), np.float32)).shape == (2, 0)
    assert nn.softmax(jnp.zeros(4, "bfloat16")).tolist() == [0.25] * 4
    assert nn.softmax(np.array([1, 2])).dtype == np.float32


def test_masks_take_positions_out():
    found = np.asarray(nn.softmax(M, where=MASK))
    expected = np.where(MASK, np.exp(M), 0.0)
    expected /= np.maximum(expected.sum(-1, keepdims=True), 1e-30)
    assert np.allclose(found, expected, rtol=1e-5)
    logs = np.asarray(nn.log_softmax(M, where=MASK))
    with np.errstate(divide="ignore"):
        assert np.allclose(logs, np.log(expected), rtol=1e-4, atol=1e-6)
    assert np.allclose(nn.logsumexp(M[0], where=MASK[0]), np.log(np.exp(M[0])[MASK[0]].sum()))
    assert np.allclose(nn.logmeanexp(M[0], where=MASK[0]), np.log(np.exp(M[0])[MASK[0]].mean()))
    slope = plait.grad(lambda m: (nn.softmax(m, where=MASK) * M).sum())(np.float32(M))
    assert np.isfinite(slope).all() and not np.asarray(slope)[~MASK].any()
    wild = np.where(MASK, M, np.inf)
    assert np.allclose(nn.softmax(wild, where=MASK), found, rtol=1e-6)


def test_logsumexp_with_weights_and_signs(x64):
    weights = np.array([[1.0, -2.0, 0.0, 0.5]] * 3)
    sums = np.sum(weights * np.exp(M), -1)
    logs, signs = nn.logsumexp(M, -1, b=weights, return_sign=True)
    assert np.allclose(logs, np.log(np.abs(sums))) and np.array_equal(signs, np.sign(sums))
    assert np.allclose(
        nn.logsumexp(M, -1, b=np.abs(weights)), np.log(np.exp(M) @ np.abs(weights[0]))
    )
    assert np.isnan(nn.logsumexp(M[0], b=-1.0))
    assert float(nn.logsumexp(np.array([1000.0, 0.0]), b=np.array([0.0, 2.0]))) == math.log(2.0)
    z = np.array([1 + 2j, -0.5 + 1j])
    assert np.allclose(nn.logsumexp(z), np.log(np.exp(z).sum()))


def test_standardize(x64):
    def check(found, mean, variance, epsilon=1e-5):
        assert np.allclose(found, (M - mean) / np.sqrt(variance + epsilon), rtol=1e-10)

    check(nn.standardize(M), M.mean(-1, keepdims=True), M.var(-1, keepdims=True))
    check(nn.standardize(M, axis=0, epsilon=0.1), M.mean(0), M.var(0), 0.1)
    check(nn.standardize(M, axis=None, algorithm="fast"), M.mean(), M.var())
    check(nn.standardize(M, mean=1.0, variance=4.0), 1.0, 4.0)
    check(nn.normalize(M, mean=1.0), 1.0, np.mean((M - 1) ** 2, -1, keepdims=True))
    rows = np.array([[True, True, False, True]] * 3)
    kept = M[:, [0, 1, 3]]
    check(nn.standardize(M, where=rows), kept.mean(-1)[:, None], kept.var(-1)[:, None])
    with plait.enable_x64(False):
        offset = np.float32(1e4) + np.float32([0.0, 1.0, 2.0])
        assert np.allclose(nn.standardize(offset), [-1.2247, 0.0, 1.2247], atol=1e-3)


def test_one_hot():
    assert nn.one_hot(np.array([0, 2, 3, -1]), 3).tolist() == [
        [1, 0, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert nn.one_hot(np.array([[0, 1]]), 3, axis=0).shape == (3, 1, 2)
    assert nn.one_hot(np.array([[0, 1]]), 3, axis=1, dtype=bool).dtype == bool
    assert nn.one_hot(1, 2).tolist() == [0.0, 1.0]
    with pytest.raises(ArgumentError, match="at least 0"):
        nn.one_hot(1, -1)
    assert plait.jit(lambda i: nn.one_hot(i, 4))(2).tolist() == [0, 0, 1, 0]
    labels = np.array([0, 2])
    for mapped in (plait.vmap, plait.pmap):
        parts = mapped(lambda _: nn.one_hot(labels, 3, axis="i"), axis_name="i")(np.arange(3))
        assert np.array_equal(parts, np.eye(3)[labels].T)
    with pytest.raises(ShapeError):
        plait.vmap(lambda _: nn.one_hot(labels, 4, axis="i"), axis_name="i")(np.arange(3))
    with pytest.raises(ArgumentTypeError):
        nn.one_hot(labels, 2.5)
    with pytest.raises(IndexError):
        nn.one_hot(labels, 3, axis=2)


# --- attention

B, T, S, N, K, H = 2, 4, 5, 6, 3, 8


def attention_inputs():
    rng = np.random.default_rng(0)
    shapes = ((B, T, N, H), (B, S, K, H), (B, S, K, H), (1, N, T, S))
    q, k, v, bias = (rng.normal(size=s).astype(np.float32) for s in shapes)
    return q, k, v, bias, rng.random((B, 1, T, S)) > 0.3


def attention_by_loops(q, k, v, bias=None, mask=None, scale=None):
    out = np.zeros(q.shape)
    for b in range(B):
        for n in range(N):
            group = n // (N // K)
            logits = q[b, :, n] @ k[b, :, group].T * (scale or 1 / math.sqrt(H))
            if bias is not None:
                logits = logits + np.broadcast_to(bias, (B, N, T, S))[b, n]
            if mask is not None:
                logits = np.where(np.broadcast_to(mask, (B, N, T, S))[b, n], logits, -1e30)
            out[b, :, n] = scipy.special.softmax(logits, -1) @ v[b, :, group]
    return out


def test_attention_is_its_formula():
    q, k, v, bias, mask = attention_inputs()
    attend = nn.dot_product_attention
    cases = [
        (attend(q, k, v), {}),
        (attend(q, k, v, bias, scale=0.2), {"bias": bias, "scale": 0.2}),
        (attend(q, k, v, mask=mask), {"mask": mask}),
        (attend(q, k, v, is_causal=True), {"mask": np.tril(np.ones((T, S), bool))}),
        (
            attend(q, k, v, mask=mask, is_causal=True),
            {"mask": mask & np.tril(np.ones((T, S), bool))},
        ),
        (
            attend(q, k, v, local_window_size=(1, 2)),
            {"mask": np.tril(np.ones((T, S), bool), 2) & np.triu(np.ones((T, S), bool), -1)},
        ),
        (
            attend(q, k, v, key_value_seq_lengths=np.int32([5, 2])),
            {"mask": (np.arange(S) < np.array([5, 2])[:, None])[:, None, None]},
        ),
    ]
    for found, given in cases:
        assert np.allclose(found, attention_by_loops(q, k, v, **given), rtol=1e-4, atol=1e-5)
    assert np.allclose(attend(q[0], k[0], v[0]), attend(q, k, v)[0], atol=1e-6)


def test_attention_of_sequences_that_end():
    q, k, v, *_ = attention_inputs()
    found = np.asarray(nn.dot_product_attention(q, k, v, query_seq_lengths=np.int32([4, 1])))
    assert not found[1, 1:].any() and found[1, 0].any() and found[0].any()


def test_attention_residual_and_derivatives():
    q, k, v, _, mask = attention_inputs()
    found, sums = nn.dot_product_attention(q, k, v, return_residual=True)
    logits = np.einsum("btkgh,bskh->btkgs", q.reshape(B, T, K, 2, H), k) / math.sqrt(H)
    assert np.allclose(sums, scipy.special.logsumexp(logits, -1).reshape(B, T, N), rtol=1e-5)
    assert np.allclose(found, nn.dot_product_attention(q, k, v), atol=1e-6)

    def loss(q, k, v):
        return (nn.dot_product_attention(q, k, v, mask=mask, is_causal=True) ** 2).sum()

    for arg in range(3):
        slope = np.asarray(plait.grad(loss, arg)(q, k, v))
        direction = np.cos(np.arange(slope.size)).reshape(slope.shape).astype(np.float32)
        args = [q, k, v]
        args[arg] = args[arg] + 1e-2 * direction
        up = float(loss(*args))
        args[arg] = args[arg] - 2e-2 * direction
        assert np.sum(slope * direction) == pytest.approx(
            (up - float(loss(*args))) / 2e-2, rel=2e-2
        )
    half = nn.dot_product_attention(*(jnp.asarray(x).astype("bfloat16") for x in (q, k, v)))
    assert half.dtype == jnp.bfloat16
    assert np.allclose(np.asarray(half, np.float32), found, atol=0.05)
    mapped = plait.vmap(lambda q: nn.dot_product_attention(q, k, v))(np.stack([q, 2 * q]))
    assert np.allclose(mapped[0], found, atol=1e-6)
    hidden = nn.dot_product_attention(q, k, v, mask=np.zeros((1, 1, T, S), bool))
    assert np.isfinite(hidden).all()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"key": np.zeros((B, S, 4, H), np.float32)}, ShapeError),
        ({"value": np.zeros((B, S, K, H + 1), np.float32)}, ShapeError),
        ({"query": np.zeros((B, T, 5, H), np.float32)}, ShapeError),
        ({"query": np.zeros((H,), np.float32)}, ShapeError),
        ({"query": np.zeros((B, T, N, H), np.float16)}, DtypeError),
        ({"bias": np.zeros((3, N, T, S), np.float32)}, ShapeError),
        ({"mask": np.zeros((B, 1, T, S), np.float32)}, DtypeError),
        ({"query_seq_lengths": np.zeros(3, np.int32)}, ShapeError),
        ({"implementation": "cudnn"}, ArgumentError),
        ({"key": "keys"}, ArgumentTypeError),
    ],
)
def test_wrong_arguments_of_attention(change, error):
    q, k, v, *_ = attention_inputs()
    with pytest.raises(error):
        nn.dot_product_attention(**({"query": q, "key": k, "value": v} | change))


# --- initializers


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("glorot_uniform", 2 / (200 + 300)),
        ("glorot_normal", 2 / (200 + 300)),
        ("lecun_uniform", 1 / 200),
        ("lecun_normal", 1 / 200),
        ("he_uniform", 2 / 200),
        ("he_normal", 2 / 200),
    ],
)
def test_variance_scaling(name, variance):
    init = getattr(initializers, name)
    values = np.asarray(init()(random.key(0), (200, 300)))
    assert values.dtype == np.float32 and values.shape == (200, 300)
    assert abs(values.mean()) < 1e-3
    assert values.var() == pytest.approx(variance, rel=0.02)
    if "uniform" in name:
        assert np.abs(values).max() <= math.sqrt(3 * variance) * (1 + 1e-6)
    else:
        assert np.abs(values).max() <= 2 * math.sqrt(variance) / 0.8796 * (1 + 1e-6)
    swapped = np.asarray(init(in_axis=-1, out_axis=-2)(random.key(0), (300, 200)))
    assert swapped.var() == pytest.approx(variance, rel=0.02)
    window = np.asarray(init()(random.key(1), (2, 100, 300)))
    if "glorot" not in name:
        assert window.var() == pytest.approx(variance, rel=0.03)
    z = np.asarray(init(dtype=jnp.complex64)(random.key(0), (200, 300)))
    assert z.dtype == np.complex64 and np.var(z) == pytest.approx(variance, rel=0.02)


def test_simple_initializers():
    key, shape = random.PRNGKey(3), (40, 50)
    assert not np.asarray(initializers.zeros(key, shape)).any()
    assert initializers.ones(key, shape, jnp.bfloat16).dtype == jnp.bfloat16
    assert initializers.constant(2.5)(key, (2,)).tolist() == [2.5, 2.5]
    assert np.asarray(initializers.normal(0.5)(key, shape)).std() == pytest.approx(0.5, rel=0.05)
    flat = np.asarray(initializers.uniform(0.5)(key, shape))
    assert 0 <= flat.min() and flat.max() < 0.5 and flat.std() > 0.13
    cut = np.asarray(initializers.truncated_normal(0.5, lower=-1.0, upper=1.0)(key, shape))
    assert np.abs(cut).max() <= 0.5
    geo = initializers.variance_scaling(3.0, "fan_geo_avg", "normal")(key, (100, 400))
    assert np.asarray(geo).var() == pytest.approx(3.0 / 200, rel=0.05)
    assert initializers.kaiming_normal is initializers.he_normal
    assert isinstance(initializers.zeros, initializers.Initializer)
    jitted = plait.jit(lambda k: initializers.he_normal()(k, (5, 6)))(key)
    assert np.allclose(jitted, initializers.he_normal()(key, (5, 6)), rtol=1e-6)
    assert initializers.lecun_normal()(key, (0, 4)).shape == (0, 4)
    vector = initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=0, out_axis=0)
    assert vector(key, (7,)).shape == (7,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: initializers.variance_scaling(1.0, "fan", "normal"), ArgumentError),
        (lambda: initializers.variance_scaling(1.0, "fan_in", "cauchy"), ArgumentError),
        (lambda: initializers.he_normal()(random.key(0), (5,)), ValueError),
        (lambda: initializers.he_normal()(0, (5, 5)), TypeError),
        (lambda: initializers.he_normal()(random.key(0), (5, -5)), ValueError),
        (lambda: nn.relu("x"), TypeError),
        (lambda: nn.gelu([1.0, 2.0]), TypeError),
        (lambda: nn.glu(np.zeros(3)), ValueError),
        (lambda: nn.softmax(np.zeros(3), axis=1), IndexError),
        (lambda: nn.standardize(np.zeros(3), algorithm="slow"), ValueError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def test_messages():
    with pytest.raises(ArgumentTypeError) as caught:
        nn.gelu([1.0])
    assert str(caught.value) == (
        "gelu: x must be an array or a number, not a list\n  fix  jnp.asarray(x)"
    )
    with pytest.raises(ShapeError) as caught:
        nn.glu(np.zeros((2, 3), np.float32))
    assert str(caught.value) == (
        "glu: the axis must have an even size\n  x     float32[2,3]\n  axis  1"
    )
