"""Random numbers from explicit keys: the same key gives the same numbers, everywhere.

A key comes from a seed (`key`) or from another key (`split`, `fold_in`); a sampler uses it up. For
equal seeds all values are those of JAX. Keys are typed scalars (`key`) or, as in older programs,
uint32[2] arrays (`PRNGKey`); every function takes both.

>>> import plait.random as random
>>> first, second = random.split(random.key(0))
>>> random.normal(first).shape, random.bernoulli(second, 0.9, (2, 3)).shape
((), (2, 3))
"""

from plait.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from plait.random.counts import binomial, multinomial, poisson
from plait.random.discrete import categorical, choice, geometric, permutation, shuffle
from plait.random.gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from plait.random.keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from plait.random.rotations import orthogonal
from plait.random.standard import bernoulli, normal, rademacher, randint, uniform
from plait.random.vectors import multivariate_normal

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "shuffle",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
