"""Derivatives and mapping of functions of plait.numpy: against differences, and against loops."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from tests.numpy.common import assert_same, by_meaning, ints, lines  # noqa: F401

pytestmark = pytest.mark.usefixtures("by_meaning")

X = np.random.default_rng(0).normal(size=(3, 4))
P = np.abs(X) + 0.5
SQUARE = np.random.default_rng(1).normal(size=(4, 4))

FUNCTIONS = """
jnp.sin(x); jnp.tanh(x) * jnp.exp(-x); jnp.log(p) + jnp.sqrt(p); jnp.log2(p) * jnp.log10(p)
jnp.arctan2(x, p); jnp.hypot(x, p); jnp.logaddexp(x, p); jnp.logaddexp2(x, p); jnp.sinc(x)
jnp.sinc(x * 1e-5); jnp.power(p, x); p**3; p**-2; p**0.5; 2.0**x; x / p; 1 / p
jnp.maximum(x, 0.1)
jnp.minimum(x, p); jnp.clip(x, -0.5, 0.5); abs(x); jnp.where(x > 0, x * x, -x); x % 0.7
jnp.fmod(x, 0.7); jnp.frexp(x)[0]; jnp.insert(x, 1, p[0], axis=0); jnp.trapezoid(x, p, axis=0)
jnp.sum(x, 0); jnp.mean(x, 1, keepdims=True) * x; jnp.var(x, 0); jnp.std(x); jnp.prod(p, 1)
jnp.max(x, 0); jnp.min(x); jnp.ptp(x, 1); jnp.sum(x, where=x > 0)
jnp.mean(x, where=x > 0, axis=1)
jnp.nanmean(x); jnp.cumsum(x, 0); jnp.cumprod(p, 1); jnp.average(x, weights=p); jnp.median(x, 0)
jnp.quantile(x, 0.3, axis=1); jnp.cov(x); jnp.corrcoef(x); jnp.sort(x, 0); jnp.linalg.norm(x)
jnp.linalg.norm(x, axis=0); jnp.linalg.norm(x, 3, 1); jnp.linalg.norm(x, jnp.inf, 1)
jnp.matmul(x, p.T); jnp.dot(x, p[0]); x @ SQUARE; jnp.einsum('ij,kj,jl->il', x, x, SQUARE)
jnp.einsum('ij,ij->j', x, p); jnp.tensordot(x, p, 2); jnp.outer(x[0], p); jnp.kron(x, p[:, :2])
jnp.cross(x[:, :3], p[:, 1:]); jnp.trace(x[:, :3]); jnp.vdot(x, p); jnp.inner(x, p)
jnp.convolve(x[0], p[1]); jnp.correlate(x[0], p[1], 'full'); jnp.linalg.matrix_power(x[:, :3], 3)
x[1]; x[:, ::-2]; x[1, 2]; x[np.array([0, 0, 2])]; x[:, np.array([1, 3])] ** 2; x[x > 0]
x[..., None]
x.at[1].set(p[0]); x.at[np.array([0, 0])].add(p[:2] * x[0]); x.at[:, 1].multiply(p[:, 0])
x.at[0].max(p[0] - 1); x.at[1:].apply(jnp.sin); x.at[0].divide(p[0])
jnp.take(x, np.array([5, 0]))
jnp.take_along_axis(x, np.argsort(X, 1), 1); jnp.concatenate([x, p]) ** 2; jnp.stack([x, p], 1)
jnp.pad(x, 1, mode='reflect'); jnp.pad(x, 2, mode='edge'); jnp.pad(x, 1); jnp.roll(x, 1, 1) * x
jnp.repeat(x, 2, 0); jnp.tile(x, (2, 1)); jnp.flip(x, 0) * x; jnp.rot90(x); jnp.tril(x)
jnp.diag(x)
jnp.reshape(x, (2, 6), order='F'); jnp.moveaxis(x[None], 0, -1) * 2; jnp.split(x, 2, 1)[1]
jnp.diff(x, axis=0); jnp.gradient(x)[1]; jnp.trapezoid(x)
jnp.interp(x, np.arange(-4.0, 4), p[0].repeat(2))
jnp.interp(x, np.arange(-4.0, 4), np.arange(8.0) ** 2); jnp.polyval(x[0], p); jnp.unwrap(x * 3)
jnp.nan_to_num(x) * p; jnp.round(x) + x; jnp.heaviside(x, 0.5) * x; jnp.logaddexp(x, x)
jnp.linspace(x[0], p[0], 5); jnp.apply_along_axis(lambda v: v / v.sum(), 0, p); jnp.i0(x)
jnp.vectorize(lambda a: a * jnp.sin(a))(x); jnp.real(x + 1j * p) * 2; jnp.abs(x + 1j * p)
jnp.broadcast_to(x[0], (3, 4)) * x; jnp.meshgrid(x[0], p[0])[1]; jnp.select([x > 0], [x * x], p)
jnp.add(x, p) - jnp.subtract(x, p) * jnp.negative(p); jnp.histogram(p, 3, weights=x)[0]
"""


def function_of(text):
    def f(x, p):
        names = {"jnp": jnp, "np": np, "SQUARE": SQUARE, "X": X}
        return eval(text, {**names, "x": jnp.asarray(x), "p": jnp.asarray(p)})

    return f


@pytest.mark.parametrize("text", lines(FUNCTIONS))
def test_derivatives(text, x64):
    f = function_of(text)
    t, s = np.cos(np.arange(12.0)).reshape(3, 4), np.sin(1 + np.arange(12.0)).reshape(3, 4)
    y, pushed = plait.jvp(f, (X, P), (t, s))
    step = 1e-6
    high, low = f(X + step * t, P + step * s), f(X - step * t, P - step * s)
    differences = (np.asarray(high) - np.asarray(low)) / (2 * step)
    np.testing.assert_allclose(pushed, differences, rtol=1e-6, atol=1e-7)
    y, pull = plait.vjp(f, X, P)
    ct = np.sin(2 + np.arange(y.size)).reshape(y.shape).astype(y.dtype)
    back = pull(ct)
    np.testing.assert_allclose(
        np.vdot(ct, pushed), np.vdot(t, back[0]) + np.vdot(s, back[1]), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("text", lines(FUNCTIONS))
def test_mapped_is_a_loop(text, x64):
    if "x[x > 0]" in text or "X" in text.replace("SQUARE", ""):
        return  # the shape of the result depends on values
    f = function_of(text)
    xs, ps = np.stack([X, X[::-1], X + 0.1]), np.stack([P, P + 0.2, P[:, ::-1]])
    for in_axes in ((0, 0), (0, None), (None, 0)):
        rows = range(3)
        want = [f(xs[i] if in_axes[0] == 0 else X, ps[i] if in_axes[1] == 0 else P) for i in rows]
        got = plait.vmap(f, in_axes)(xs if in_axes[0] == 0 else X, ps if in_axes[1] == 0 else P)
        assert_same(got, np.stack([np.asarray(w) for w in want]))


def test_gradients_at_kinks_and_infinities():
    assert_same(plait.grad(jnp.linalg.norm)(jnp.ones(4)), np.full(4, 0.5, np.float32))
    grad = plait.grad(lambda x: jnp.sum(jnp.logaddexp(x, x[::-1])))
    assert np.isfinite(np.asarray(grad(np.float32([-np.inf, 0, 3])))).all()
    assert float(plait.grad(jnp.sinc)(0.0)) == 0
    assert float(plait.grad(lambda x: jnp.hypot(x, 0.0))(3.0)) == 1
    safe = plait.grad(lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0))
    assert float(safe(0.0)) == 0
    assert float(plait.grad(lambda x: x**2)(3.0)) == 6
    assert float(plait.grad(lambda x: x**0)(0.0)) == 0
    assert float(plait.grad(lambda x: jnp.power(x, 2.0))(0.0)) == 0


def test_integers_have_no_derivative():
    f = plait.grad(lambda x: jnp.sum(x[ints(3, low=0, high=2)] * jnp.argsort(x)[0]))
    assert f(np.float32([3, 1, 2])).dtype == np.float32


def test_variance_of_what_is_not_nan():
    x = np.array([1, np.nan, 3, 6], np.float32)
    kept = np.array([1, 3, 6], np.float32)
    for name in ("nanvar", "nanstd", "nanmean"):
        got = np.asarray(plait.grad(getattr(jnp, name))(x))
        want = plait.grad(getattr(jnp, name.removeprefix("nan")))(kept)
        np.testing.assert_allclose(got[[0, 2, 3]], want, rtol=1e-6)
        assert got[1] == 0
    mask = np.array([True, False, True, True])
    got = plait.grad(lambda x: jnp.var(x, where=mask))(x)
    np.testing.assert_allclose(got[np.array([0, 2, 3])], plait.grad(jnp.var)(kept), rtol=1e-6)


def test_quantiles_between_equal_elements_share_the_derivative():
    for x, want in (([2, 2], [0.5, 0.5]), ([1, 2, 2, 3], [0, 0.5, 0.5, 0])):
        np.testing.assert_array_equal(plait.grad(jnp.median)(np.float32(x)), want)
        got = plait.grad(lambda x: jnp.quantile(x, 0.5))(np.float32(x))
        np.testing.assert_array_equal(got, want)
    same = np.full(3, 2.1, np.float32)
    assert jnp.quantile(same, 0.37) == same[0]
    assert jnp.quantile(np.float32([np.inf, np.inf, 1]), 0.9) == np.inf
