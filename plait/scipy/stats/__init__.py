"""`plait.scipy.stats`: probability distributions, and statistics of samples, under SciPy's names.

Names and signatures are those of JAX's `jax.scipy.stats`: a module for each distribution. Arguments
broadcast, integers become floats. Outside of its support a density is 0 and its logarithm -inf.
"""

from plait.scipy.stats import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    dirichlet,
    expon,
    gamma,
    gennorm,
    geom,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    multinomial,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from plait.scipy.stats.kde import gaussian_kde
from plait.scipy.stats.samples import mode, rankdata, sem
