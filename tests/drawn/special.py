"""Recipes of plait.scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as reference

from plait.scipy import special
from tests.drawn.common import EDGES, RECIPES, Case, Draw, recipe

Domain = Callable[[np.random.Generator, Any], np.ndarray]


def real(rng, shape):
    return rng.normal(size=shape) * rng.choice([0.5, 3.0, 10.0])


def positive(rng, shape):
    return np.exp(rng.normal(size=shape) * rng.choice([0.5, 1.5]))


def unit(rng, shape):
    return rng.uniform(0, 1, shape)


def symmetric(rng, shape):
    return rng.uniform(-1, 1, shape)


def above_one(rng, shape):
    return 1 + positive(rng, shape)


def count(rng, shape):
    return rng.integers(0, 12, shape).astype(float)


def small(rng, shape):
    return rng.normal(size=shape)


def negative_to_unit(rng, shape):
    return 1 - positive(rng, shape)


def elementwise(
    name: str,
    *domains: Domain,
    integers: bool = True,
    complex: bool = False,
    half: bool = True,
    edges: Any = EDGES,
    **how: Any,
) -> None:
    """A recipe of a function that works element by element; its arguments come from domains."""

    def draw_case(d: Draw) -> Case:
        if not d.seed:  # the first draw is all edges
            args: list[Any] = [np.roll(edges, k) for k in range(len(domains))]
            return Case(args, **{"loose": 128.0, "floor": 0.0, **how})
        shapes = d.broadcasting(len(domains))
        kind = d.complex() if complex and d.chance(0.3) else d.float(half)
        scalars = d.chance(0.1)
        args = []
        for domain, shape in zip(domains, shapes, strict=True):
            x = np.asarray(domain(d.rng, shape), np.float64)
            if d.chance(0.25):
                x = np.where(d.rng.random(shape) < 0.3, d.rng.choice(edges, shape), x)
            if kind.kind == "c":
                args.append((x + 1j * d.rng.normal(size=shape)).astype(kind))
            elif scalars and not shape:
                args.append(float(np.float32(x)) if not integers or d.chance() else _whole(x, int))
            elif integers and d.chance(0.15):
                args.append(_whole(x, d.integer()))
            else:
                args.append(x.astype(kind if d.chance(0.85) else d.float(half)))
        return Case(args, **{"loose": 128.0 if d.x64 else 4.0, "floor": 0.0, **how})

    RECIPES[name] = draw_case


def _expit(x):
    return 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else reference.expit(x)


def _logit(x):
    return np.log(x / (1 - x)) if np.iscomplexobj(x) else reference.logit(x)


def _gammaln(x):
    # At -inf, between poles, SciPy's is -inf.
    return np.where(x == -np.inf, np.inf, reference.gammaln(x))


def _whole(x: Any, dtype: Any) -> Any:
    x = np.nan_to_num(np.round(x), nan=1, posinf=9, neginf=-9)
    if dtype is int:
        return int(x)
    return np.clip(x, 0 if dtype.kind == "u" else -100, 100).astype(dtype)


ONE: dict[str, Domain] = {
    "dawsn": real, "digamma": real, "entr": real, "erf": small, "erfc": real, "erfcx": real,
    "erfinv": symmetric, "exp1": positive, "expi": real, "factorial": count,
    "gammasgn": real, "i0e": real, "i1e": real,
}  # fmt: skip
TWO = {
    "boxcox": (real, small),
    "boxcox1p": (real, small), "gammainc": (positive, positive),
    "gammaincc": (positive, positive), "kl_div": (positive, positive), "owens_t": (real, real),
    "rel_entr": (positive, positive), "xlog1py": (real, positive),
    "xlogy": (real, positive),
}  # fmt: skip
for _name, _domain in ONE.items():
    elementwise(f"scipy.special.{_name}", _domain)
for _name, _domains in TWO.items():
    elementwise(f"scipy.special.{_name}", *_domains)
# SciPy's values at infinity, and the number of ways to choose NaN things, are not the limits.
FINITE = EDGES[np.isfinite(EDGES)]
for _name in ("i0", "i1"):
    elementwise(f"scipy.special.{_name}", real, edges=FINITE)
elementwise("scipy.special.comb", count, count, edges=FINITE)
elementwise("scipy.special.poch", positive, small, edges=FINITE)
elementwise("scipy.special.spence", positive, integers=False, edges=FINITE)
elementwise("scipy.special.gammaln", real, of=lambda x: _gammaln(x))
# At their poles SciPy's are infinite of either sign, these NaN, as gamma is.
for _name in ("beta", "betaln"):
    elementwise(f"scipy.special.{_name}", positive, positive, edges=FINITE[FINITE > 0])
for _name, _domain in {"ndtr": real, "log_ndtr": real, "ndtri": unit}.items():
    elementwise(f"scipy.special.{_name}", _domain, integers=False)
for _name, _domain in {"gamma": real, "loggamma": real}.items():
    elementwise(f"scipy.special.{_name}", _domain, complex=True, loose=64.0)
elementwise("scipy.special.wofz", small, complex=True, loose=64.0, dtype=...)
# SciPy has these of real numbers only.
elementwise("scipy.special.expit", real, complex=True, loose=16.0, of=lambda x: _expit(x))
elementwise("scipy.special.logit", unit, complex=True, loose=16.0, of=lambda x: _logit(x))
elementwise("scipy.special.betainc", positive, positive, unit)
# SciPy's 1F1 does not return at infinity, and at poles it is a matter of order which limit counts.
TAME = {"integers": False, "edges": FINITE[FINITE > 0]}
elementwise("scipy.special.hyp1f1", small, positive, small, loose=1024.0, **TAME)
elementwise("scipy.special.hyp2f1", small, small, positive, negative_to_unit, loose=64.0, **TAME)
for _name in ("sici", "fresnel"):
    elementwise(f"scipy.special.{_name}", real)


@recipe("scipy.special.zeta")
def _zeta(d: Draw) -> Case:
    shapes = d.broadcasting(2)
    x = above_one(d.rng, shapes[0]).astype(d.float())
    q = positive(d.rng, shapes[1]).astype(d.float())
    args = (x,) if d.chance(0.3) else (x, q)
    return Case(args, loose=128.0 if d.x64 else 4.0, floor=0.0)


@recipe("scipy.special.polygamma")
def _polygamma(d: Draw) -> Case:
    shapes = d.broadcasting(2)
    n, x = d.whole(shapes[0], 0, 4), positive(d.rng, shapes[1]).astype(d.float())
    # The order, an array of integers, does not decide the dtype.
    return Case((n, x), loose=128.0 if d.x64 else 4.0, floor=0.0)


@recipe("scipy.special.multigammaln")
def _multigammaln(d: Draw) -> Case:
    size = d.number(1, 4)
    a = (positive(d.rng, d.shape()) + (size - 1) / 2 + 0.1).astype(d.float(half=False))
    return Case((a, size), floor=1.0, loose=16.0)


@recipe("scipy.special.expn")
def _expn(d: Draw) -> Case:
    shapes = d.broadcasting(2)
    x = positive(d.rng, shapes[1]).astype(d.float())
    n = d.whole(shapes[0], 0, 5, d.integer() if d.chance() else x.dtype)
    return Case((n, x), fixed=(0,), loose=128.0 if d.x64 else 4.0, floor=0.0)


@recipe("scipy.special.bernoulli")
def _bernoulli(d: Draw) -> Case:
    n = d.number(2, 40)
    # Here they are exact; SciPy's have 12 digits.
    loose = 2**14 if d.x64 else 4.0
    return Case((n,), dtype=np.float64 if d.x64 else np.float32, loose=loose, floor=0.0)


@recipe("scipy.special.sph_harm_y")
def _sph_harm_y(d: Draw) -> Case:
    shapes = d.broadcasting(4)
    n, m = d.whole(shapes[0], 0, 5), d.whole(shapes[1], -6, 6)
    theta, phi = (real(d.rng, s).astype(d.float(half=False)) for s in shapes[2:])
    dtype = np.complex128 if np.float64 in (theta.dtype, phi.dtype) else np.complex64
    # SciPy has no harmonic of an order above the degree; here it is 0, as in JAX.
    return Case((n, m, theta, phi), of=_harmonics, dtype=dtype, loose=64.0)


def _harmonics(n, m, theta, phi):
    n, m, theta, phi = np.broadcast_arrays(n, m, theta, phi)
    inside = np.abs(m) <= n
    return np.where(inside, reference.sph_harm_y(n, np.where(inside, m, 0), theta, phi), 0)


@recipe("scipy.special.logsumexp")
def _logsumexp(d: Draw) -> Case:
    # SciPy's of a number has an axis, and of nothing it is an error.
    dtype = d.integer() if d.chance(0.3) else d.any(half=True)
    a = d.array(d.shape(least=1, smallest=1), dtype, 3.0)
    axis = d.one_of(None, d.axes(a.ndim), *([d.axis(a.ndim)] if a.ndim else []))
    kwargs = {"axis": axis, "keepdims": d.chance()}
    if d.chance(0.4):
        kwargs["b"] = d.array(a.shape[d.number(0, a.ndim) :], d.float())
        kwargs["return_sign"] = d.chance()
    if a.dtype.kind == "c":
        kwargs.pop("return_sign", None)
    given = {k: v for k, v in kwargs.items() if k != "b"}
    args = (a, kwargs["b"]) if "b" in kwargs else (a,)

    def call(module):
        return lambda a, b=None: module.logsumexp(a, b=b, **given)

    return Case(args, function=call(special), of=call(reference), floor=1.0)


@recipe("scipy.special.softmax", "scipy.special.log_softmax")
def _softmax(name: str, d: Draw) -> Case:
    x = d.array(d.shape(smallest=1), d.integer() if d.chance(0.2) else d.float(), 3.0)
    axis = d.one_of(None, *([d.axis(x.ndim), tuple({d.axis(x.ndim) % x.ndim})] if x.ndim else []))
    return Case((x,), {"axis": axis}, floor=1.0)
