"""Recipes of plait.scipy.stats: every function of every distribution, and statistics of samples."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.stats as reference

from plait.scipy import stats
from tests.drawn.common import RECIPES, Case, Draw, recipe
from tests.drawn.special import above_one, count, positive, real, small, unit

# The domains of the argument, of the shapes; and how many of loc and scale there are.
TABLE: dict[str, tuple[Any, tuple, int]] = {
    "bernoulli": (count, (unit,), 1), "beta": (unit, (positive, positive), 2),
    "betabinom": (count, (count, positive, positive), 1), "binom": (count, (count, unit), 1),
    "cauchy": (real, (), 2), "chi2": (positive, (positive,), 2), "expon": (positive, (), 2),
    "gamma": (positive, (positive,), 2), "gennorm": (small, (positive,), 0),
    "geom": (count, (unit,), 1), "gumbel_l": (small, (), 2), "gumbel_r": (small, (), 2),
    "laplace": (real, (), 2), "logistic": (real, (), 2), "nbinom": (count, (positive, unit), 1),
    "norm": (real, (), 2), "pareto": (above_one, (positive,), 2),
    "poisson": (count, (positive,), 1), "t": (real, (positive,), 2),
    "truncnorm": (small, (), 2), "uniform": (unit, (), 2),
    "vonmises": (real, (positive,), 0), "wrapcauchy": (positive, (unit,), 0),
}  # fmt: skip
DISCRETE = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"}


def functions(distribution: str) -> list[str]:
    return importlib.import_module(f"plait.scipy.stats.{distribution}").__all__


def distributed(distribution: str, function: str) -> Any:
    domain, shapes, places = TABLE[distribution]
    if (distribution, function) in {("bernoulli", "cdf"), ("bernoulli", "ppf")}:
        places = 0  # as in JAX

    def draw_case(d: Draw) -> Case:
        # Some logarithms are those of chances: where these underflow, they are infinite, as in JAX.
        narrow = not (function in ("logcdf", "logsf") and distribution in ("beta", "chi2", "gamma"))
        dtype = d.float(half=narrow and d.chance(0.3))
        domains = [unit if function in ("ppf", "isf") else domain, *shapes]
        if function == "entropy":
            domains = list(shapes)
        if distribution == "truncnorm":
            domains += [small, small]
        given = d.number(0, places)
        sizes = d.broadcasting(len(domains) + given)
        if function == "entropy":  # SciPy has none of nothing
            sizes = [tuple(max(n, 1) for n in s) for s in sizes]
        args = [np.asarray(f(d.rng, s)) for f, s in zip(domains, sizes, strict=False)]
        if distribution == "truncnorm":
            args[2] = args[1] + np.abs(args[2]) + 0.25
        for k, size in enumerate(sizes[len(domains) :]):
            if distribution in DISCRETE:
                args.append(d.whole(size, -2, 2))
            else:
                args.append(small(d.rng, size) if k == 0 else positive(d.rng, size))
        if given and function not in ("ppf", "isf", "entropy") and distribution not in DISCRETE:
            args[0] = np.asarray(args[0] * (args[-1] if given == 2 else 1) + args[len(domains)])
        integers = d.chance(0.3) and domains[0] is count
        made = [
            np.round(x).astype(d.integer() if k == 0 else np.int32)
            if integers and (k == 0 or domains[min(k, len(domains) - 1)] is count)
            else np.asarray(x).astype(dtype)
            for k, x in enumerate(args)
        ]
        if integers and made[0].dtype.kind == "u" and given:
            made[0] = made[0].astype(np.int32)
        return Case(
            made, floor=1.0, loose=256.0 if d.x64 else 16.0, fixed=fixed(distribution, function)
        )

    return draw_case


def fixed(distribution: str, function: str) -> tuple[int, ...]:
    # Whole numbers are not moved: beside one the chance is 0.
    if distribution in DISCRETE and function not in ("ppf", "entropy"):
        return (0, 1) if distribution in ("binom", "betabinom") else (0,)
    return ()


for _distribution in TABLE:
    for _function in functions(_distribution):
        _name = f"scipy.stats.{_distribution}.{_function}"
        RECIPES[_name] = distributed(_distribution, _function)


# --- vectors


@recipe("scipy.stats.dirichlet.logpdf", "scipy.stats.dirichlet.pdf")
def _dirichlet(name: str, d: Draw) -> Case:
    n, dtype = d.number(2, 4), d.float(half=False)
    alpha = positive(d.rng, (n,)).astype(dtype)
    more = d.one_of((), (3,))
    x = np.moveaxis(d.rng.dirichlet(np.ones(n), more), -1, 0)
    x = (x[:-1] if d.chance() else x).astype(dtype)

    def of(x, alpha):
        # Shares rounded to float32 do not add up to one exactly, which SciPy asks for.
        return getattr(reference.dirichlet, name)(x / x.sum(0) if len(x) == n else x, alpha)

    return Case((x, alpha), of=of, floor=4.0, loose=32.0)


@recipe("scipy.stats.multinomial.logpmf", "scipy.stats.multinomial.pmf")
def _multinomial(name: str, d: Draw) -> Case:
    n, m = d.number(1, 7), d.number(2, 4)
    p = d.rng.dirichlet(np.ones(m)).astype(d.float(half=False))
    x = d.rng.multinomial(n, np.full(m, 1 / m), d.one_of((), (3,), (2, 2))).astype(np.int32)
    if d.chance(0.3):
        x = x + d.whole(x.shape, 0, 1)

    def of(x, n, p):
        return getattr(reference.multinomial, name)(x, n, p / p.sum())

    return Case((x, n, p), of=of, dtype=p.dtype, floor=4.0, loose=32.0)


@recipe("scipy.stats.multivariate_normal.logpdf", "scipy.stats.multivariate_normal.pdf")
def _multivariate_normal(name: str, d: Draw) -> Case:
    n, dtype = d.number(1, 3), d.float(half=False)
    root = d.array((n, n), np.float64)
    cov = (root @ root.T + np.eye(n)).astype(dtype)
    x, mean = d.array((*d.shape(most=2, smallest=1), n), dtype), d.array((n,), dtype)
    if n == 1 and d.chance():
        x, mean, cov = x[..., 0], mean[0], cov[0, 0]

    def of(x, mean, cov):
        if not np.ndim(mean):
            return getattr(reference.norm, name)(x, mean, np.sqrt(cov))
        y = getattr(reference.multivariate_normal, name)(x[None], mean, (cov + cov.T) / 2)
        return np.reshape(y, x.shape[:-1])

    return Case((x, np.asarray(mean), np.asarray(cov)), of=of, floor=4.0, loose=64.0)


# --- samples


@recipe("scipy.stats.mode")
def _mode(d: Draw) -> Case:
    a = d.whole(d.shape(least=1, smallest=1), -1, 2, d.float(False) if d.chance() else np.int32)
    axis = d.one_of(None, d.axis(a.ndim))
    return Case((a,), {"axis": axis, "keepdims": d.chance()}, dtype=[a.dtype, ...])


@recipe("scipy.stats.rankdata")
def _rankdata(d: Draw) -> Case:
    dtype = d.float() if d.chance() else d.integer()
    a = d.whole(d.shape(smallest=1), 0, 4).astype(dtype)
    axis = d.one_of(None, *([d.axis(a.ndim)] if a.ndim else []))
    method = d.one_of("average", "min", "max", "dense", "ordinal")
    return Case((a,), {"method": method, "axis": axis}, dtype=..., fixed=(0,))


@recipe("scipy.stats.sem")
def _sem(d: Draw) -> Case:
    a = d.array(d.shape(least=1, smallest=2), d.integer() if d.chance(0.2) else d.float())
    kwargs = {"axis": d.one_of(None, d.axis(a.ndim)), "ddof": d.number(0, 1)}
    if a.dtype.kind == "f" and d.chance(0.3):
        a.flat[0] = np.nan
        # Of one number SciPy has no error, whatever ddof is.
        kwargs |= {"nan_policy": d.one_of("propagate", "omit"), "ddof": 1}
    return Case((a,), kwargs, loose=16.0)


KDE = ("evaluate", "pdf", "logpdf", "integrate_gaussian", "integrate_box_1d", "integrate_kde")


@recipe(*(f"scipy.stats.gaussian_kde.{name}" for name in KDE))
def _gaussian_kde(name: str, d: Draw) -> Case:
    n, dims, dtype = d.number(3, 6), d.number(1, 2), d.float(half=False)
    dims = 1 if name == "integrate_box_1d" else dims
    data, points = d.array((dims, n + 2 * dims), dtype), d.array((dims, 4), dtype)
    method = d.one_of(None, "scott", "silverman", 0.7)
    weights = positive(d.rng, data.shape[1:]).astype(dtype) if d.chance() else None
    root = d.array((dims, dims), np.float64)
    cov = (root @ root.T + np.eye(dims)).astype(dtype)

    def call(module):
        def run(data, points, weights, cov):
            kde = module.gaussian_kde(data, method, weights)
            if name == "integrate_gaussian":
                return kde.integrate_gaussian(points[:, 0], cov)
            if name == "integrate_box_1d":
                return kde.integrate_box_1d(points[0, 0], points[0, 1])
            if name == "integrate_kde":
                return kde.integrate_kde(module.gaussian_kde(points * 2))
            return getattr(kde, name)(points)

        return run

    args = (data, points, weights, cov)
    return Case(args, function=call(stats), of=call(reference), dtype=dtype, loose=64.0, floor=1.0)
