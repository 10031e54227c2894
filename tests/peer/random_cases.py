"""Calls of the random functions whose values plait and JAX must agree on, bit for bit.

`cases(random, jnp, vmap, jit)` runs them in either library: the functions are passed in, nothing is
imported. tests/peer/store_random.py writes what JAX gives to tests/peer/random_values.npz.
"""

from __future__ import annotations

import numpy as np

SEEDS = (0, 1, 42, -1, 2**31 - 1, 123456789)


def cases(random, jnp, vmap, jit):
    """(name, array) pairs; the names are unique."""
    for make in ("key", "PRNGKey"):
        for seed in SEEDS:
            yield f"{make} {seed}", random.key_data(getattr(random, make)(seed))
    yield "key of uint32", random.key_data(random.key(np.uint32(2**32 - 1)))
    yield "key of a vector", random.key_data(vmap(random.key)(np.arange(4)))
    key = random.key(42)
    old = random.PRNGKey(42)
    yield "split", random.key_data(random.split(key))
    yield "split old", random.split(old, 3)
    yield "split shape", random.key_data(random.split(key, (2, 3)))
    yield "split vmap", random.key_data(vmap(random.split)(random.split(key, 5)))
    for data in (0, 1, 12345, 2**32 - 1):
        yield f"fold_in {data}", random.key_data(random.fold_in(key, data))
    yield "fold_in old", random.fold_in(old, 7)
    folded = vmap(random.fold_in, in_axes=(None, 0))(key, np.arange(5, dtype=np.uint32))
    yield "fold_in vmap", random.key_data(folded)
    for dtype in ("uint8", "uint16", "uint32"):
        yield f"bits {dtype}", random.bits(key, (2, 5), dtype)
    yield "bits scalar", random.bits(old)

    for dtype in ("float16", "bfloat16", "float32"):
        yield f"uniform {dtype}", random.uniform(key, (41,), dtype)
        yield f"uniform bounds {dtype}", random.uniform(key, (3, 7), dtype, -1.5, 2.75)
        yield f"normal {dtype}", random.normal(key, (41,), dtype)
        yield f"exponential {dtype}", random.exponential(key, (17,), dtype)
        yield f"gumbel {dtype}", random.gumbel(key, (17,), dtype)
        yield f"laplace {dtype}", random.laplace(key, (17,), dtype)
        yield f"logistic {dtype}", random.logistic(key, (17,), dtype)
        yield f"cauchy {dtype}", random.cauchy(key, (17,), dtype)
        yield f"truncated_normal {dtype}", random.truncated_normal(key, -2.0, 2.0, (17,), dtype)
    yield "uniform scalar", random.uniform(old)
    yield "uniform empty", random.uniform(key, (0, 3))
    low, high = np.float32([0.0, -3.0, 5.0]), np.float32([[1.0], [7.0]])
    yield "uniform arrays", random.uniform(key, (2, 3), minval=low, maxval=high)
    yield "uniform vmap", vmap(lambda k: random.uniform(k, (4,)))(random.split(key, 3))
    yield "uniform jit", jit(lambda k: random.uniform(k, (4, 2), minval=0.1, maxval=0.7))(key)
    yield "normal shape", random.normal(old, (3, 1, 5))
    yield "normal complex", random.normal(key, (9,), "complex64")
    yield "normal vmap", vmap(lambda k: random.normal(k, (4,)))(random.split(old, 3))
    for shape in ((3, 4, 5), (100, 3), (33, 33), (3, 3, 4, 10), (1, 1)):
        yield f"normal {shape}", random.normal(key, shape)
        yield f"exponential {shape}", random.exponential(key, shape)
    yield "normal 10007", random.normal(key, (10007,))[-64:]
    yield "truncated arrays", random.truncated_normal(key, low, low + 1.0)
    yield "gumbel high", random.gumbel(key, (33,), mode="high")
    yield "gumbel highest", random.gumbel(key, (33,), mode="highest")
    yield "maxwell", random.maxwell(key, (3, 4))
    yield "double_sided_maxwell", random.double_sided_maxwell(key, 0.5, 2.0, (9,))
    yield "weibull_min", random.weibull_min(key, 1.5, 0.7, (17,))
    yield "pareto", random.pareto(key, low + 4.0, (4, 3))
    yield "rayleigh", random.rayleigh(key, low + 4.0, (4, 3))
    yield "wald", random.wald(key, low + 4.0, (4, 3))
    yield "triangular", random.triangular(key, -1.0, 0.25, 2.0, (17,))
    yield "lognormal", random.lognormal(key, 0.75, (17,))

    for dtype in ("int8", "uint8", "int16", "int32", "uint32"):
        yield f"randint {dtype}", random.randint(key, (23,), 3, 100, dtype)
    yield "randint uint8 all", random.randint(key, (23,), 0, 256, "uint8")
    yield "randint negative", random.randint(key, (23,), -1000, -7)
    yield "randint int32 all", random.randint(key, (23,), -(2**31), 2**31 - 1)
    yield "randint empty range", random.randint(key, (3,), 5, 5)
    yield "randint arrays", random.randint(key, (3,), np.arange(3), np.array([10, 20, 70000]))
    yield "bernoulli", random.bernoulli(key, 0.3, (41,))
    yield "bernoulli p", random.bernoulli(key, np.float32([0.1, 0.5, 0.9]))
    yield "bernoulli high", random.bernoulli(key, 0.3, (41,), mode="high")
    yield "rademacher", random.rademacher(key, (23,))
    yield "permutation 10", random.permutation(key, 10)
    yield "permutation 1000", random.permutation(old, 1000)[:50]
    matrix = np.arange(24.0, dtype=np.float32).reshape(6, 4)
    yield "permutation rows", random.permutation(key, matrix)
    yield "permutation columns", random.permutation(key, matrix, axis=1)
    yield "permutation independent", random.permutation(key, matrix, independent=True)
    yield "choice", random.choice(key, 100, (11,))
    yield "choice array", random.choice(key, matrix, (5,))
    yield "choice axis", random.choice(key, matrix, (2, 2), axis=1)
    yield "choice distinct", random.choice(key, 20, (11,), replace=False)
    p = np.float32([0.1, 0.0, 0.3, 0.2, 0.15, 0.25])
    yield "choice p", random.choice(key, 6, (31,), p=p)
    yield "choice p array", random.choice(key, matrix, (3,), p=p)
    many = np.random.default_rng(0).random(1000).astype(np.float32)
    yield "choice p 1000", random.choice(key, 1000, (200,), p=many / many.sum())
    yield "choice p distinct", random.choice(key, 6, (4,), replace=False, p=p)
    logits = np.float32([[0.1, 2.0, -1.0], [3.0, 0.0, 0.5]])
    yield "categorical", random.categorical(key, logits)
    yield "categorical axis", random.categorical(key, logits, axis=0)
    yield "categorical shape", random.categorical(key, logits, shape=(7, 2))
    yield "categorical high", random.categorical(key, logits, shape=(7, 2), mode="high")
    yield "categorical distinct", random.categorical(key, logits, shape=(2, 2), replace=False)
    yield "geometric", random.geometric(key, 0.3, (23,))
    yield "poisson small", random.poisson(key, 3.0, (41,))
    yield "poisson large", random.poisson(key, 50.0, (41,))
    yield "poisson mixed", random.poisson(key, np.float32([0.0, 0.5, 9.5, 10.0, 1000.0]))
    yield "binomial few", random.binomial(key, 10, 0.4, (31,))
    yield "binomial many", random.binomial(key, 1000.0, 0.3, (31,))
    yield "binomial edges", random.binomial(key, np.float32([0, 5, 40, -1]), 0.9)
    yield "multinomial", random.multinomial(key, 100.0, np.stack([p, p[::-1]]))


def gamma_cases(random, jnp, vmap, jit):
    """Numbers by rejection in floats, whose last bit depends on how XLA fuses the loops."""
    key = random.key(42)
    low = np.float32([0.05, 0.7, 5.0])
    yield "gamma", random.gamma(key, 2.5, (33,))
    yield "gamma array", random.gamma(key, low, (5, 3))
    yield "gamma vmap", vmap(lambda k: random.gamma(k, low))(random.split(key, 4))
    yield "loggamma", random.loggamma(key, low, (5, 3))
    yield "beta", random.beta(key, 0.5, 1.5, (17,))
    yield "dirichlet", random.dirichlet(key, low, (6,))
    yield "chisquare", random.chisquare(key, 3.0, (17,))
    yield "f", random.f(key, 3.0, 5.0, (17,))
    yield "t", random.t(key, 3.0, (17,))
    yield "generalized_normal", random.generalized_normal(key, 1.5, (17,))
    yield "ball", random.ball(key, 3, shape=(7,))


def x64_cases(random, jnp, vmap, jit):
    """The same with 64-bit dtypes on."""
    for seed in (*SEEDS, 2**32 + 5, -(2**40), 2**63 - 1):
        yield f"key {seed}", random.key_data(random.key(seed))
    yield "key of int32", random.key_data(random.key(np.int32(-1)))
    yield "key of uint64", random.key_data(random.key(np.uint64(2**64 - 5)))
    key = random.key(2**40 + 3)
    yield "fold_in", random.key_data(random.fold_in(key, 7))
    yield "bits", random.bits(key, (9,))
    yield "bits uint32", random.bits(key, (9,), "uint32")
    yield "uniform", random.uniform(key, (17,))
    yield "uniform bounds", random.uniform(key, (17,), minval=-3.0, maxval=0.1)
    yield "uniform float32", random.uniform(key, (17,), "float32")
    yield "normal", random.normal(key, (33,))
    yield "normal complex", random.normal(key, (9,), "complex128")
    yield "exponential", random.exponential(key, (17,))
    yield "gumbel", random.gumbel(key, (17,))
    yield "gumbel high", random.gumbel(key, (17,), mode="high")
    yield "laplace", random.laplace(key, (17,))
    yield "logistic", random.logistic(key, (17,))
    yield "cauchy", random.cauchy(key, (17,))
    yield "truncated_normal", random.truncated_normal(key, -1.0, 3.0, (17,))
    yield "randint", random.randint(key, (23,), -(2**40), 2**50)
    yield "randint int32", random.randint(key, (23,), 0, 2**31, "int32")
    yield "randint uint32", random.randint(key, (23,), 0, 2**32, "uint32")
    yield "permutation", random.permutation(key, 50)
    yield "choice", random.choice(key, 50, (9,))
    yield "categorical", random.categorical(key, np.linspace(0, 1, 5), shape=(9,))
    yield "bernoulli", random.bernoulli(key, 0.3, (31,))
    yield "rademacher", random.rademacher(key, (9,))
    yield "geometric", random.geometric(key, 0.1, (9,))
    yield "poisson", random.poisson(key, 20.0, (9,))
    yield "binomial", random.binomial(key, 100, 0.3, (9,))
