"""plait.scipy.stats against SciPy: values, supports, derivatives, and statistics of samples."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.stats as reference

import plait as jax
import plait.numpy as jnp
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.scipy import stats

INF, NAN = np.inf, np.nan
f32, f64 = np.float32, np.float64


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def quiet(function):
    """SciPy's function, without the warnings of its own sums of infinities."""

    def call(*xs):
        with np.errstate(all="ignore"):
            return function(*xs)

    return call


def module(name):
    return importlib.import_module(f"plait.scipy.stats.{name}")


REAL = np.array([-60.0, -9.0, -2.5, -0.3, 0.0, 0.4, 0.9, 1.0, 3.0, 12.0, 80.0, -INF, INF, NAN])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 9.0, 10.0, 11.0, 40.0])
# Shapes of each distribution, and whether it has loc and scale.
CONTINUOUS = {
    "beta": ((2.5, 0.7), 2), "cauchy": ((), 2), "chi2": ((3.5,), 2), "expon": ((), 2),
    "gamma": ((0.6,), 2), "gennorm": ((1.4,), 0), "gumbel_l": ((), 2), "gumbel_r": ((), 2),
    "laplace": ((), 2), "logistic": ((), 2), "norm": ((), 2), "pareto": ((1.7,), 2),
    "t": ((4.5,), 2), "truncnorm": ((-1.5, 2.0), 2), "uniform": ((), 2), "vonmises": ((1.3,), 0),
    "wrapcauchy": ((0.3,), 0),
}  # fmt: skip
DISCRETE = {
    "bernoulli": ((0.3,), 1), "betabinom": ((10, 1.2, 0.6), 1), "binom": ((10, 0.35), 1),
    "geom": ((0.2,), 1), "nbinom": ((3.5, 0.4), 1), "poisson": ((4.5,), 1),
}  # fmt: skip
BY_X = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf")


def functions(table, names):
    for distribution in table:
        for name in names:
            if hasattr(module(distribution), name):
                yield distribution, name


@pytest.mark.parametrize(("distribution", "name"), list(functions(CONTINUOUS, BY_X)))
def test_continuous_distributions(distribution, name, x64):
    shapes, placed = CONTINUOUS[distribution]
    f = getattr(module(distribution), name)
    wanted = quiet(getattr(getattr(reference, distribution), name))
    x = REAL if distribution != "vonmises" else REAL[:11]
    for place in [(), (0.5, 2.5)][: 1 + (placed == 2)]:
        want, got = wanted(x, *shapes, *place), np.asarray(f(x, *shapes, *place))
        if distribution.startswith("gumbel"):  # SciPy's is NaN where exp overflows at infinity
            got = np.where(np.isinf(x), want, got)
        # SciPy's logarithms of chances near 1 are those of rounded chances' complements.
        atol = 1e-15 if name == "logcdf" else 1e-300
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=atol)
    with jax.enable_x64(False):
        y = f(x.astype(f32), *shapes)
        assert y.dtype == f32
        want = wanted(x, *shapes)
        # Where the logarithm of a chance cancels, it is exact beside 1.
        near = np.abs(want) > 1e-30
        np.testing.assert_allclose(np.asarray(y)[near], want[near], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("distribution", "name"), list(functions(CONTINUOUS, ("ppf", "isf"))))
def test_quantiles(distribution, name, x64):
    shapes, _ = CONTINUOUS[distribution]
    q = np.array([1e-12, 0.01, 0.3, 0.5, 0.77, 0.999, -0.1, 1.1, NAN])
    want = getattr(getattr(reference, distribution), name)(q, *shapes, 0.5, 2.5)
    got = getattr(module(distribution), name)(q, *shapes, 0.5, 2.5)
    np.testing.assert_allclose(got, want, rtol=1e-10)
    if not distribution.startswith("gumbel"):  # NaN there, as in JAX
        want = getattr(getattr(reference, distribution), name)([0.0, 1.0], *shapes)
        np.testing.assert_array_equal(
            getattr(module(distribution), name)(np.array([0.0, 1.0]), *shapes), want
        )


@pytest.mark.parametrize(("distribution", "name"), list(functions(DISCRETE, ("logpmf", "pmf"))))
def test_discrete_distributions(distribution, name, x64):
    shapes, _ = DISCRETE[distribution]
    f = getattr(module(distribution), name)
    wanted = getattr(getattr(reference, distribution), name)
    for loc in ((), (2,)):
        want = wanted(COUNTS, *shapes, *loc)
        np.testing.assert_allclose(f(COUNTS, *shapes, *loc), want, rtol=1e-11, atol=1e-300)
    assert np.isnan(f(NAN, *shapes))
    assert f(3, *shapes).dtype == f64 and f(f32(3), *map(f32, shapes)).dtype == f32


def test_other_functions_of_discrete_distributions(x64):
    k = np.array([-1, 0, 0.5, 1, 3, NAN])
    np.testing.assert_allclose(stats.bernoulli.cdf(k, 0.3), reference.bernoulli.cdf(k, 0.3))
    q = np.array([0.0, 0.2, 0.7, 0.8, 1.0, 1.5, NAN])
    got = stats.bernoulli.ppf(q[1:], 0.3)
    np.testing.assert_array_equal(got, reference.bernoulli.ppf(q[1:], 0.3))
    k = np.array([-1.0, 0.0, 2.5, 9.0])
    np.testing.assert_allclose(stats.poisson.cdf(k, 4.5, 1), reference.poisson.cdf(k, 4.5, 1))
    mu = np.array([0.0, 1e-3, 0.7, 12.0, 39.0, 41.0, 150.0, 2e3, -1.0])
    want = [0.0, *reference.poisson.entropy(mu[1:-1]), NAN]
    np.testing.assert_allclose(stats.poisson.entropy(mu), want, rtol=1e-9)


def test_vectors(x64):
    alpha = np.array([0.7, 2.0, 3.1])
    x = np.array([[0.2, 0.5], [0.3, 0.4], [0.5, 0.1]])
    got = stats.dirichlet.logpdf(x, alpha)
    want = [reference.dirichlet.logpdf(x[:, k], alpha) for k in range(2)]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:2, 0], alpha), np.exp(want[0]), rtol=1e-12)
    assert stats.dirichlet.logpdf(np.array([0.2, 0.2, 0.2]), alpha) == -INF
    with pytest.raises(ShapeError):
        stats.dirichlet.pdf(x[:1], alpha)
    n, p = 7, np.array([0.2, 0.3, 0.5])
    x = np.array([[2, 2, 3], [0, 0, 7], [1, 1, 1]])
    want = reference.multinomial.logpmf(x, n, p)
    np.testing.assert_allclose(stats.multinomial.logpmf(x, n, p), want, rtol=1e-12)
    np.testing.assert_allclose(stats.multinomial.pmf(x[0], n, p), np.exp(want[0]), rtol=1e-12)
    with pytest.raises(ArgumentError):
        stats.multinomial.pmf(x * 1.0, n, p)


def test_multivariate_normal(x64):
    random = np.random.default_rng(0)
    mean, root = random.normal(size=3), random.normal(size=(3, 3))
    cov, x = root @ root.T + np.eye(3), random.normal(size=(4, 3))
    want = reference.multivariate_normal.logpdf(x, mean, cov)
    f = stats.multivariate_normal.logpdf
    np.testing.assert_allclose(f(x, mean, cov), want, rtol=1e-12)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), np.exp(want))
    np.testing.assert_allclose(f(x, mean, 2.0), f(x, mean, 2.0 * np.eye(3)), rtol=1e-12)
    np.testing.assert_allclose(f(x[:, 0], 1.0, 4.0), reference.norm.logpdf(x[:, 0], 1, 2))
    covs = np.stack([cov, 2 * cov])
    both = f(x[:, None], mean, covs)
    np.testing.assert_allclose(both[:, 0], want, rtol=1e-12)
    slope = jax.grad(lambda m: f(x[0], m, cov))(mean)
    np.testing.assert_allclose(slope, np.linalg.solve(cov, x[0] - mean), rtol=1e-10)
    with pytest.raises(ShapeError):
        f(x, mean, np.eye(2))
    with pytest.raises(ArgumentError):
        f(x, mean, cov, allow_singular=True)


@pytest.mark.parametrize("distribution", [*CONTINUOUS, *DISCRETE])
def test_derivatives(distribution, x64):
    shapes, _ = (CONTINUOUS | DISCRETE)[distribution]
    f = module(distribution).logpdf if distribution in CONTINUOUS else module(distribution).logpmf
    xs = [f64(v) for v in (1.0 if distribution in DISCRETE else 0.75, *shapes)]
    if distribution == "pareto":
        xs[0] = f64(2.5)
    slopes = jax.grad(f, tuple(range(len(xs))))(*xs)
    start, h = int(distribution in DISCRETE), 1e-4
    for k in range(start, len(xs)):
        if (distribution, k) in {("binom", 1), ("betabinom", 1)}:
            continue
        high, low = (float(f(*xs[:k], xs[k] + s, *xs[k + 1 :])) for s in (h, -h))
        np.testing.assert_allclose(slopes[k], (high - low) / (2 * h), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("distribution", "x"),
    [("beta", -1.0), ("gamma", -1.0), ("chi2", -1.0), ("expon", -1.0), ("pareto", 0.5),
     ("uniform", 2.0), ("truncnorm", 5.0), ("wrapcauchy", -1.0), ("binom", -1.0), ("geom", 0.0)],
)  # fmt: skip
def test_outside_the_support_derivatives_are_zero(distribution, x):
    shapes, _ = (CONTINUOUS | DISCRETE)[distribution]
    name = "logpdf" if distribution in CONTINUOUS else "logpmf"
    f = getattr(module(distribution), name)
    assert f(x, *shapes) == -INF
    slopes = jax.grad(f, tuple(range(1 + len(shapes))))(f32(x), *map(f32, shapes))
    assert all(s == 0 for s in slopes)


def test_shapes_and_compilation():
    x, loc = np.linspace(-1, 1, 3, dtype=f32), np.zeros((2, 1), f32)
    assert stats.norm.logpdf(x, loc).shape == (2, 3)
    assert stats.norm.pdf(1).dtype == f32 and stats.norm.cdf(jnp.zeros((0, 2))).shape == (0, 2)
    got = jax.jit(jax.vmap(stats.norm.logpdf, (0, None, None)))(x, f32(0), f32(2))
    np.testing.assert_allclose(got, reference.norm.logpdf(x, 0, 2), rtol=1e-6)
    # The tails do not underflow.
    np.testing.assert_allclose(stats.norm.logsf(f32(30)), reference.norm.logsf(30), rtol=1e-6)
    got = stats.truncnorm.logcdf(f32(41), 40.0, 42.0)
    np.testing.assert_allclose(got, reference.truncnorm.logcdf(41, 40, 42), atol=1e-6)


DATA = np.array([[3, 1, 2], [1, 1, 7], [3, 5, 2], [2, 5, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_mode_and_sem(axis, keepdims, x64):
    got, want = (s.mode(DATA, axis=axis, keepdims=keepdims) for s in (stats, reference))
    np.testing.assert_array_equal(got.mode, want.mode)
    np.testing.assert_array_equal(got.count, want.count)
    got = stats.sem(DATA, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(got, reference.sem(DATA, axis=axis, keepdims=keepdims))
    assert stats.mode(np.zeros((0, 2))).count.shape == (2,)
    with pytest.raises(ArgumentError):
        stats.mode(DATA, nan_policy="omit")
    with pytest.raises(ArgumentTypeError):
        stats.mode([1, 2])
    holes = np.array([1.0, NAN, 3.0, 4.0])
    got = stats.sem(holes, nan_policy="omit")
    np.testing.assert_allclose(got, reference.sem([1.0, 3.0, 4.0]))
    assert np.isnan(stats.sem(holes))


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_rankdata(method, axis):
    got = stats.rankdata(DATA, method, axis=axis)
    want = reference.rankdata(DATA, method, axis=axis)
    np.testing.assert_array_equal(got, want)
    assert np.isnan(stats.rankdata(np.array([1.0, NAN]))).all()
    with pytest.raises(ArgumentError):
        stats.rankdata(DATA, "middle")


@pytest.mark.parametrize("bw_method", [None, "silverman", 0.7])
def test_gaussian_kde(bw_method, x64):
    random = np.random.default_rng(1)
    data, weights = random.normal(size=(2, 20)), random.uniform(1, 2, 20)
    points = random.normal(size=(2, 5))
    ours, theirs = (s.gaussian_kde(data, bw_method, weights) for s in (stats, reference))
    np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-10)
    np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-10)
    np.testing.assert_allclose(ours.covariance, theirs.covariance)
    np.testing.assert_allclose(ours.inv_cov @ ours.covariance, np.eye(2), atol=1e-12)
    got = ours.integrate_gaussian(points[:, 0], np.eye(2))
    np.testing.assert_allclose(got, theirs.integrate_gaussian(points[:, 0], np.eye(2)))
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs))
    leaves, tree = jax.tree_util.tree_flatten(ours)
    again = jax.tree_util.tree_unflatten(tree, leaves)
    np.testing.assert_array_equal(jax.jit(lambda k: k.pdf(points))(again), ours.pdf(points))
    assert ours.resample(jax.random.key(0), (3, 4)).shape == (2, 3, 4)
    # The numbers that JAX draws from this key.
    known = [[-0.212, -0.145, 0.513], [1.273, -1.7027, 1.0343]]
    normals = np.random.default_rng(0).normal(size=(2, 5)).astype(f32)
    drawn = stats.gaussian_kde(normals).resample(jax.random.key(1), (3,))
    np.testing.assert_allclose(drawn, known, atol=1e-4)


def test_gaussian_kde_of_numbers():
    data = np.array([0.0, 1.0, 3.0, 3.5])
    ours, theirs = stats.gaussian_kde(data), reference.gaussian_kde(data)
    got = ours.integrate_box_1d(-0.5, 2.0)
    np.testing.assert_allclose(got, theirs.integrate_box_1d(-0.5, 2.0), rtol=1e-5)
    drawn = np.asarray(ours.resample(jax.random.key(1), (4000,)))
    spread = data.var() + theirs.covariance[0, 0]
    np.testing.assert_allclose([drawn.mean(), drawn.var()], [data.mean(), spread], rtol=0.08)
    for bad in (lambda: stats.gaussian_kde(np.ones(1)), lambda: stats.gaussian_kde(data, "wide")):
        with pytest.raises(ArgumentError):
            bad()
    for bad in (lambda: stats.gaussian_kde(data, weights=data[:2]), lambda: ours(np.ones((2, 3)))):
        with pytest.raises(ShapeError):
            bad()
