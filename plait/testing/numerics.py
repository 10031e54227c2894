"""Comparison by the precision of dtypes, and derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plait.core import dtypes, tree
from plait.core.types import type_of
from plait.runtime.array import as_array
from plait.testing.reference import to_numpy
from plait.transforms.grad import jvp, vjp

# What a few roundings cost, and the step whose differences are most exact.
_TOLERANCE = {
    dtypes.float64: 1e-12,
    dtypes.float32: 1e-5,
    dtypes.float16: 2e-3,
    dtypes.bfloat16: 2e-2,
}
# One number, or numbers for dtypes.
Tolerance = float | Mapping[Any, float] | None

_STEP = {dtypes.float64: 2e-5, dtypes.float32: 1e-2, dtypes.float16: 1e-1, dtypes.bfloat16: 2e-1}


def tolerance(dtype: Any) -> float:
    """The relative error that is put down to rounding: 0 for integers, 1e-5 for float32, ...

    >>> plait.testing.tolerance(np.float32), plait.testing.tolerance(np.int32)
    (1e-05, 0.0)
    """
    real = dtypes.real_of(dtypes.as_dtype(dtype))
    if real in dtypes.FLOAT:
        # Floats of 8 bits and fewer: half the distance between neighbours.
        return _TOLERANCE.get(real, float(dtypes.finfo(real).eps) / 2)
    return 0.0


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    message: str = "",
) -> None:
    """Raise AssertionError unless two trees of arrays have one structure, equal shapes, and values
    that are equal up to rounding.

    The tolerances are those of the less precise dtype of each pair: by a mapping of dtypes, if one
    is given, else by `tolerance`. NaNs are equal.

    >>> plait.testing.assert_close(jnp.sin(1.0), 0.841471)
    """
    leaves, structure = tree.flatten_with_path(actual)
    wanted, wanted_structure = tree.flatten_with_path(expected)
    if [path for path, _ in leaves] != [path for path, _ in wanted]:
        raise AssertionError(f"{message}\nthe structures differ: {structure}, {wanted_structure}")
    for (path, x), (_, y) in zip(leaves, wanted, strict=True):
        where = f"{message} {tree.keystr(path)}".strip()
        x, y = _number(x), _number(y)
        if x.shape != y.shape:
            raise AssertionError(f"{where}\nthe shapes differ: {x.shape}, {y.shape}")
        kinds = (x.dtype, y.dtype)
        np.testing.assert_allclose(
            _widened(x),
            _widened(y),
            rtol=loosest(rtol, kinds),
            atol=loosest(atol, kinds),
            err_msg=where,
        )


def loosest(
    given: Tolerance, kinds: Iterable[Any], scale: float = 1.0, least: float = 0.0
) -> float:
    """The tolerance for values of some dtypes: a number, or the largest that one of them has in a
    mapping or, scaled, by default.
    """
    if isinstance(given, int | float):
        return given
    own = {dtypes.as_dtype(k): v for k, v in (given or {}).items()}
    return max((own.get(k, max(least, scale * tolerance(k))) for k in kinds), default=least)


def _number(x: Any) -> np.ndarray:
    # Python's numbers and NumPy's arrays as they are: float64 is not narrowed.
    return x if isinstance(x, np.ndarray) else np.asarray(x) if _plain(x) else to_numpy(x)


def _plain(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex | np.generic)


def _widened(x: np.ndarray) -> np.ndarray:
    # NumPy's comparisons do not know bfloat16 and its kin.
    return x.astype(np.float64) if x.dtype in dtypes.FLOAT else x


def differences(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    step: float | None = None,
) -> list[np.ndarray]:
    """The derivative of a flat function in a direction, by central differences of fourth order.

    Tangents that are None are zero. Formula: Fornberg, Generation of finite difference formulas on
    arbitrarily spaced grids, 1988, table 1.
    """
    primals = [to_numpy(x) for x in primals]
    if step is None:
        reals = [dtypes.real_of(x.dtype) for x in primals if x.dtype in dtypes.INEXACT]
        step = max((_STEP.get(r, 0.2) for r in reals), default=0.0)

    def at(k: int) -> list[np.ndarray]:
        moved = [
            x if t is None else (x + k * step * np.asarray(t)).astype(x.dtype)
            for x, t in zip(primals, tangents, strict=True)
        ]
        return [_precise(y) for y in function(*moved)]

    if not step:
        return [np.zeros_like(y) for y in at(0)]
    with np.errstate(all="ignore"):
        return [
            (8.0 * (a - b) - (c - d)) / (12.0 * step)
            for a, b, c, d in zip(at(1), at(-1), at(2), at(-2), strict=True)
        ]


def _precise(y: Any) -> np.ndarray:
    y = y if isinstance(y, np.ndarray) else to_numpy(y)
    return y.astype(np.complex128 if y.dtype in dtypes.COMPLEX else np.float64)


def direction(x: Any, seed: int) -> np.ndarray:
    """A tangent or cotangent for x: numbers in [-1, 1] without pattern, the same on every run."""
    x = to_numpy(x)
    wave = np.cos(1.0 + seed + 2.3 * np.arange(x.size)).reshape(x.shape)
    if x.dtype in dtypes.COMPLEX:
        wave = wave + 1j * np.sin(seed + 1.7 * np.arange(x.size)).reshape(x.shape)
    return np.asarray(wave, x.dtype)


def pairing(cts: Sequence[Any], ts: Sequence[Any]) -> tuple[float, float]:
    """The real part of the sum of products of cotangents and tangents, and its scale for errors."""
    total = scale = 0.0
    for ct, t in zip(cts, ts, strict=True):
        if ct is not None and t is not None:
            product: Any = _precise(ct) * _precise(t)
            total += float(np.sum(product.real))
            scale += float(np.sum(np.abs(product)))
    return total, scale


def agree(x: float, y: float, tolerance: float) -> bool:
    """Whether two numbers differ by no more than a tolerance; NaNs are equal."""
    return abs(x - y) <= tolerance or bool(np.isnan(x) and np.isnan(y))


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function up to an order against finite differences.

    args are positional arguments, trees of arrays; only their float and complex leaves are varied.
    modes are "fwd" (jvp) and "rev" (vjp); at order 2 every pair of them is tried. eps is the step
    of the differences. The tolerances are numbers or mappings of dtypes to them; NaNs are equal.
    Raises: AssertionError.

    >>> plait.testing.check_grads(lambda x: jnp.sum(jnp.sin(x)), (jnp.arange(3.0),), order=2)
    """
    leaves, structure = tree.flatten(tuple(args))
    varied = [k for k, x in enumerate(leaves) if type_of(x).dtype in dtypes.INEXACT]

    def flat(*xs: Any) -> list[Any]:
        full = list(leaves)
        for k, x in zip(varied, xs, strict=True):
            full[k] = x
        return tree.leaves(function(*structure.unflatten(full)))

    primals = [as_array(leaves[k]) for k in varied]
    _check(flat, primals, order, tuple(modes), (rtol, atol, eps), "")


def _check(f, primals, order, modes, precision, done: str) -> None:
    if not order:
        return
    rtol, atol, eps = precision
    level = done.count(" of ") + 1 if done else 0
    ts = [direction(x, 3 * level + k) for k, x in enumerate(primals)]
    slopes = differences(f, primals, ts, eps)
    kinds = [x.dtype for x in primals]
    rtol, atol = (loosest(tol, kinds, scale=200, least=1e-7) for tol in (rtol, atol))
    ys = [to_numpy(y) for y in f(*primals)]
    for mode in modes:
        name = f"{mode} of {done}" if done else mode
        if mode == "fwd":
            derived = _pushed(f, ts)
            wanted = [s for s, y in zip(slopes, ys, strict=True) if y.dtype in dtypes.INEXACT]
            assert_close(derived(*primals), wanted, rtol=rtol, atol=atol, message=name)
        elif mode == "rev":
            cts = [direction(y, 5 * level + k + 1) for k, y in enumerate(ys)]
            derived = _pulled(f, cts)
            pushed, scale = pairing(cts, slopes)
            pulled, _ = pairing(derived(*primals), ts)
            if not agree(pushed, pulled, atol + rtol * scale):
                raise AssertionError(
                    f"{name}: cotangents times differences are {pushed}, vjp gives {pulled}"
                )
        else:
            raise ValueError(f"a mode is 'fwd' or 'rev', not {mode!r}")
        _check(derived, primals, order - 1, modes, precision, name)


def _pushed(f: Callable[..., Any], ts: Sequence[Any]) -> Callable[..., list[Any]]:
    def derived(*xs: Any) -> list[Any]:
        return [t for t in jvp(f, xs, tuple(ts))[1] if t.dtype in dtypes.INEXACT]

    return derived


def _pulled(f: Callable[..., Any], cts: Sequence[Any]) -> Callable[..., list[Any]]:
    return lambda *xs: list(vjp(f, *xs)[1]([_cotangent(c) for c in cts]))


def _cotangent(ct: np.ndarray) -> np.ndarray:
    return ct if ct.dtype in dtypes.INEXACT else np.zeros(ct.shape, dtypes.float0)
