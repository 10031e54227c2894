"""Functions of plait.scipy.special whose values are complex: gamma, wofz, spherical harmonics.

They are computed in the precision of their operands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait.core import dtypes
from plait.core.types import type_of
from plait.errors import ArgumentError, ConcretizationTypeError, DtypeError
from plait.hlo.formula import polynomial
from plait.numpy.promotion import (
    INEXACT_KIND,
    astype,
    broadcast_together,
    known,
    promote,
    static_int,
    value,
)
from plait.ops.functions import complex as complex_of_parts
from plait.ops.normal import dawson
from plait.regions.loops import fori_loop

# Stirling's series of log Γ(z), times z, in 1/z², the highest power first; and how far up the
# recurrence goes for it (Abramowitz and Stegun 6.1.41).
_STIRLING = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_STEPS = 10


def log_gamma(z: Any) -> Any:
    """log Γ(z) for complex z, without a jump outside of the negative axis; NaN at the poles."""
    below = jnp.signbit(z.imag)
    z = jnp.where(below, jnp.conj(z), z)
    # Where Re z < 1/2, Γ(z) Γ(1 - z) = π / sin πz. In the upper half plane the logarithm of
    # sin πz = exp(-πiz) (1 - exp(2πiz)) i/2 does not jump in this form.
    mirror = z.real < 0.5
    w = jnp.where(mirror, 1 - z, z)
    turns = complex_of_parts(-z.imag, z.real - jnp.round(z.real)) * (2 * math.pi)
    turns = jnp.where(mirror, turns, 1j)
    log_sine = complex_of_parts(math.pi * z.imag, math.pi * (0.5 - z.real))
    log_sine = log_sine + jnp.log(-jnp.expm1(turns)) - math.log(2)
    product = sum((jnp.log(w + k) for k in range(1, _STEPS)), jnp.log(w))
    v = w + _STEPS
    series = polynomial(1 / (v * v), _STIRLING) / v
    y = (v - 0.5) * jnp.log(v) - v + 0.5 * math.log(2 * math.pi) + series - product
    y = jnp.where(mirror, math.log(math.pi) - log_sine - y, y)
    y = jnp.where(below, jnp.conj(y), y)
    pole = (z.imag == 0) & (z.real <= 0) & (z.real == jnp.round(z.real))
    return jnp.where(pole, complex(math.nan, math.nan), y)


def gamma(z: Any) -> Any:
    """Γ(z) for complex z."""
    return jnp.exp(log_gamma(z))


# --- the Faddeeva function


def _expansion(n: int) -> tuple[float, np.ndarray]:
    """(L, coefficients): w(z) = 2 p(Z)/(L - iz)² + 1/√π/(L - iz) with Z = (L + iz)/(L - iz).

    Source: Weideman, "Computation of the complex error function" (1994).
    """
    m, scale = 4 * n, math.sqrt(n / math.sqrt(2))
    angle = np.arange(-m + 1, m) * (math.pi / m)
    t = scale * np.tan(angle / 2)
    weights = np.concatenate([[0.0], np.exp(-t * t) * (scale**2 + t * t)])
    transformed = np.real(np.fft.fft(np.fft.fftshift(weights))) / (2 * m)
    return scale, transformed[n:0:-1]


_SCALE, _COEFFICIENTS = _expansion(44)


def wofz(z: Any) -> Any:
    """The Faddeeva function exp(-z²) erfc(-iz), also of real numbers; the result is complex.

    >>> import plait.scipy.special
    >>> plait.scipy.special.wofz(1.0).round(3)
    Array(0.368+0.607j, dtype=complex64, weak_type=True)
    """
    (z,) = promote("wofz", (z,), INEXACT_KIND)
    if type_of(z).dtype not in dtypes.COMPLEX:
        if type_of(z).dtype.itemsize < 4:  # there are no complex numbers of half precision
            z = astype(value("wofz", z), dtypes.float32)
        return complex_of_parts(jnp.exp(-z * z), 2 / math.sqrt(math.pi) * dawson(z))
    # w(z) = 2 exp(-z²) - w(-z).
    below = z.imag < 0
    iz = jnp.where(below, -1j, 1j) * z
    low = _SCALE - iz
    p = polynomial((_SCALE + iz) / low, _COEFFICIENTS.tolist())
    y = 2 * p / (low * low) + 1 / math.sqrt(math.pi) / low
    lifted = jnp.where(below, z, 0)
    return jnp.where(below, 2 * jnp.exp(-lifted * lifted) - y, y)


# --- spherical harmonics


def sph_harm_y(
    n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None
) -> Any:
    """The spherical harmonic of degree n and order m at polar angle theta and azimuth phi.

    n and m hold integers, 0 <= n, |m| <= n (0 elsewhere); all four broadcast. n_max is the largest
    degree, by default that of n, which must then be known: degrees above it count as n_max. The
    result is complex. Derivative: with respect to the angles. diff_n must be None. Raises:
    DtypeError, ArgumentError, ConcretizationTypeError.

    >>> import plait.scipy.special
    >>> plait.scipy.special.sph_harm_y(1, 0, jnp.array([0.0, jnp.pi / 3]), 0.0).round(3)
    Array([0.489+0.j, 0.244+0.j], dtype=complex64)
    """
    op = "sph_harm_y"
    n, m = value(op, jnp.asarray(n)), value(op, jnp.asarray(m), 1)
    for name, x in (("n", n), ("m", m)):
        if x.dtype not in dtypes.INTEGER:
            raise DtypeError(f"{name} holds integers", op=op, **{name: x})
    if diff_n is not None:
        raise ArgumentError("derivatives are grad's", op=op, diff_n=diff_n, fix="diff_n=None")
    if n_max is None:
        host = known(n)
        if host is None:
            raise ConcretizationTypeError(
                "the largest degree decides how many steps are taken, and n is traced",
                op=op,
                n=n,
                fix="pass n_max",
            )
        n_max = int(host.max(initial=0))
    top = static_int(n_max, op, "n_max")
    theta, phi = promote(op, (theta, phi), INEXACT_KIND)
    dtype = type_of(theta).dtype
    if dtype in dtypes.COMPLEX:
        raise DtypeError("angles are real", op=op, theta=theta, phi=phi)
    n, m, theta, phi = broadcast_together(op, n, m, theta, phi)
    degree, order = astype(jnp.minimum(n, top), dtype), astype(jnp.abs(m), dtype)
    # Legendre functions are those of the cosine: outside of 0 to pi the sine counts as positive.
    sine, cosine = jnp.abs(jnp.sin(theta)), jnp.cos(theta)

    # Normalised Legendre functions of the order, in the direction in which they are stable: up to
    # degree = order along the diagonal, from there by the recurrence in the degree.
    def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        before, now = state
        l = jnp.asarray(k, dtype)  # noqa: E741
        rising, diagonal = l > order, l <= order
        a = jnp.sqrt((4 * l * l - 1) / jnp.where(rising, l * l - order * order, 1))
        b = (l - 1) * (l - 1) - order * order
        b = jnp.sqrt(jnp.where(rising, b, 0) / jnp.maximum(4 * (l - 1) * (l - 1) - 1, 1))
        along = -jnp.sqrt((2 * l + 1) / (2 * l)) * sine * now
        following = jnp.where(diagonal, along, a * (cosine * now - b * before))
        active = l <= degree
        passed = jnp.where(diagonal, 0, now)
        return jnp.where(active, passed, before), jnp.where(active, following, now)

    start = jnp.full_like(theta, math.sqrt(0.25 / math.pi))
    _, legendre = fori_loop(1, top + 1, step, (jnp.zeros_like(theta), start))
    legendre = jnp.where(order > degree, 0, legendre)
    # Y of order -m is (-1)^m times the conjugate of that of order m.
    legendre = jnp.where((m < 0) & (m % 2 == 1), -legendre, legendre)
    angle = astype(m, dtype) * phi
    return complex_of_parts(legendre * jnp.cos(angle), legendre * jnp.sin(angle))


__all__ = ["gamma", "log_gamma", "sph_harm_y", "wofz"]
