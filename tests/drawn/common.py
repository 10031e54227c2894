"""Drawn tests: recipes that draw the arguments of a function, and the comparison of its results.

A recipe is a function of a Draw, a seeded source of shapes, dtypes, axes and numbers, that returns
a Case: arguments, and what computes the same in float64. `check(name, seed)` runs both. How much
the results may differ is not guessed: the reference is computed once more from arguments moved by a
rounding error, and what that changes, plus a few roundings of the result, is allowed.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait.core import dtypes
from plait.core.context import running
from tests.numpy.common import Reference

bfloat16 = np.dtype(dtypes.bfloat16)
SHAPES = ((), (), (0,), (1,), (3,), (4,), (2, 3), (3, 1), (2, 0), (1, 1), (2, 1, 3), (3, 2, 2))
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, np.inf, -np.inf, np.nan])


class Draw:
    """Everything a recipe draws; the same for the same seed."""

    def __init__(self, name: str, seed: int):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        self.seed = seed
        self.x64 = not seed or self.chance(0.25)

    def chance(self, p: float = 0.5) -> bool:
        return bool(self.rng.random() < p)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, least: int = 0, most: int = 3, smallest: int = 0) -> tuple[int, ...]:
        """A shape with least to most axes, of sizes from smallest on."""
        fits = [s for s in SHAPES if least <= len(s) <= most and min(s, default=9) >= smallest]
        return self.one_of(*fits)

    def axis(self, ndim: int) -> int:
        """One of ndim axes, often counted from the last."""
        return self.number(-ndim, ndim - 1)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Some of ndim axes, in any order."""
        some = self.rng.permutation(ndim)[: self.number(0, ndim)]
        return tuple(int(k) - ndim * self.chance(0.4) for k in some)

    def float(self, half: bool = True) -> np.dtype:
        wide = [np.float32, *([np.float64] * 2 if self.x64 else [np.float32])]
        return np.dtype(self.one_of(*wide, *([np.float16, bfloat16] if half else [])))

    def complex(self) -> np.dtype:
        return np.dtype(self.one_of(np.complex64, np.complex128 if self.x64 else np.complex64))

    def integer(self) -> np.dtype:
        wide = [np.int64] if self.x64 else [np.int32]
        return np.dtype(self.one_of(np.int32, np.int8, np.uint8, np.int16, *wide))

    def inexact(self, half: bool = False) -> np.dtype:
        return self.complex() if self.chance(0.3) else self.float(half)

    def any(self, half: bool = False) -> np.dtype:
        """A dtype of numbers."""
        return self.integer() if self.chance(0.2) else self.inexact(half)

    def array(self, shape: Sequence[int], dtype: Any, scale: float = 1.0) -> np.ndarray:
        """Normal numbers in a dtype; whole ones around 0 in a dtype of integers."""
        dtype = np.dtype(dtype)
        x = self.rng.normal(size=tuple(shape)) * scale
        if dtype.kind == "c":
            return np.asarray(x + 1j * self.rng.normal(size=tuple(shape)) * scale).astype(dtype)
        if dtype.kind in "iu":
            x = np.clip(np.round(4 * x), 0 if dtype.kind == "u" else -100, 100)
        return np.asarray(np.round(x) > 0 if dtype.kind == "b" else x).astype(dtype)

    def whole(self, shape: Sequence[int], low: int, high: int, dtype: Any = np.int32) -> np.ndarray:
        """Whole numbers from low to high."""
        return np.asarray(self.rng.integers(low, high + 1, tuple(shape))).astype(dtype)

    def broadcasting(self, count: int) -> list[tuple[int, ...]]:
        """Shapes that broadcast together."""
        shape = self.shape()
        found = []
        for _ in range(count):
            own = shape[self.number(0, len(shape)) if self.chance(0.4) else 0 :]
            found.append(tuple(1 if self.chance(0.2) else n for n in own))
        return found


@dataclasses.dataclass
class Case:
    """What a recipe draws.

    Attributes:
        args, kwargs: what plait's function is called with.
        of: what computes the same from widened arguments; SciPy's namesake by default.
        dtype: of the result, or of each; by default what the arguments promote to, made inexact.
            Any value that is no dtype, like `...`, says that it is not looked at.
        see: makes of a result what is compared, where results have freedom: signs, order, phases.
        loose: how many roundings are allowed.
        floor: numbers count as exact up to rounding errors of this size; "largest" for that of the
            largest element of the result.
        fixed: positions of the arguments that are not moved by a rounding error.
        function: what is called, if it is not the function of the recipe's name.
    """

    args: Sequence[Any]
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    of: Callable[..., Any] | None = None
    dtype: Any = None
    see: Callable[[Any], Any] | None = None
    loose: float = 8.0
    floor: Any = "largest"
    fixed: Sequence[int] = ()
    function: Callable[..., Any] | None = None


RECIPES: dict[str, Callable[[Draw], Case]] = {}


def recipe(*names: str) -> Callable[[Any], Any]:
    """Registers a recipe of a function by its path below plait; for several the recipe receives the
    last part of the name too.
    """

    def register(f: Any) -> Any:
        for name in names:
            assert name not in RECIPES
            last = name.rpartition(".")[2]
            RECIPES[name] = f if len(names) == 1 else functools.partial(f, last)
        return f

    return register


def found(root: str, path: str) -> Any:
    """The object of a dotted path below a package."""
    value = importlib.import_module(root)
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(f"{value.__name__}.{part}")
    return value


def widened(x: Any) -> Any:
    """Arguments as the references take them: numbers in 64 bits."""
    if isinstance(x, list | tuple) and not hasattr(x, "_fields"):
        return type(x)(widened(v) for v in x)
    if not isinstance(x, np.ndarray | np.generic):
        return x
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    if x.dtype.kind in "fV" or x.dtype == bfloat16:
        return x.astype(np.float64)
    return x if x.dtype.kind == "b" else x.astype(np.int64)


def moved(x: Any, rng: np.random.Generator, eps: float) -> Any:
    """Arguments that differ by a rounding error."""
    if isinstance(x, list | tuple) and not hasattr(x, "_fields"):
        return type(x)(moved(v, rng, eps) for v in x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        return x * (1 + eps * rng.choice([-1.0, 1.0], x.shape))
    return x


def leaves(y: Any) -> list[Any]:
    return [x for part in y for x in leaves(part)] if isinstance(y, tuple | list) else [y]


def inexact_of(args: Sequence[Any]) -> np.dtype:
    """The dtype to which arguments promote, as a float at least."""
    arrays = [a for a in leaves(list(args)) if isinstance(a, np.ndarray | np.generic | float | int)]
    dtype = jnp.result_type(*arrays)
    if dtype.kind in "fcV" or dtype == bfloat16:
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"np.array({x.tolist()}, {x.dtype.name!r})" + (f" {x.shape}" if not x.size else "")
    if isinstance(x, list | tuple) and not hasattr(x, "_fields"):
        return "[" + ", ".join(map(shown, x)) + "]"
    return repr(x)


def check(name: str, seed: int) -> None:
    """One drawn call of a function against its reference."""
    draw = Draw(name, seed)
    with running(Reference()), jax.enable_x64(draw.x64), np.errstate(all="ignore"):
        case = RECIPES[name](draw)
        words = f"{name}(" + ", ".join(
            [*map(shown, case.args), *(f"{k}={shown(v)}" for k, v in case.kwargs.items())]
        )
        words += f")\nseed {seed}, x64 {draw.x64}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _compare(name, case, words, draw.rng)
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(f"{words}\n{type(error).__name__}: {error}") from error


def _compare(name: str, case: Case, words: str, rng: np.random.Generator) -> None:
    function = case.function or found("plait", name)
    reference = case.of or found("scipy", name.removeprefix("scipy."))
    args = widened(list(case.args))
    want = reference(*args, **case.kwargs)
    got = function(*case.args, **case.kwargs)
    ours, theirs = leaves(got), leaves(want)
    assert len(ours) == len(theirs), f"{words}\n{len(ours)} results, not {len(theirs)}"
    wanted = case.dtype if isinstance(case.dtype, list) else [case.dtype] * len(ours)
    for y, w, dtype in zip(ours, theirs, wanted, strict=True):
        assert np.shape(y) == np.shape(w), f"{words}\nshape {np.shape(y)}, not {np.shape(w)}"
        dtype = inexact_of(case.args) if dtype is None else dtype
        if dtype is not ...:
            assert y.dtype == dtype, f"{words}\ndtype {y.dtype}, not {dtype}"
    eps = max((float(jnp.finfo(y.dtype).eps) for y in ours if _has_eps(y)), default=0.0)
    movable = [k not in case.fixed for k in range(len(args))]
    others = []
    for _ in range(2 if eps else 0):
        near = [moved(a, rng, eps) if m else a for a, m in zip(args, movable, strict=True)]
        others.append(reference(*near, **case.kwargs))
    if case.see is not None:
        got, want = case.see(_host(got)), case.see(want)
        others = [case.see(other) for other in others]
    spread = [leaves(other) for other in others]
    for k, (y, w) in enumerate(zip(leaves(got), leaves(want), strict=True)):
        _assert_near(_wide(y), _wide(w), [_wide(s[k]) for s in spread], eps, case, words)


def _has_eps(y: Any) -> bool:
    return np.dtype(y.dtype).kind in "fcV" or y.dtype == bfloat16


def _host(y: Any) -> Any:
    if isinstance(y, tuple | list):
        return tuple(_host(v) for v in y)
    return _wide(y) if hasattr(y, "dtype") else y


def _wide(y: Any) -> Any:
    y = np.asarray(y)
    return y.astype(np.float64) if y.dtype.kind == "V" or y.dtype.kind in "fiub" else y


def _assert_near(y: Any, w: Any, near: list[Any], eps: float, case: Case, words: str) -> None:
    assert y.shape == w.shape, f"{words}\nshape {y.shape}, not {w.shape}"
    finite = np.isfinite(w)
    size = np.where(finite, np.abs(w), 0)
    floor = size.max(initial=0) if case.floor == "largest" else case.floor
    spread = np.zeros(w.shape)
    for other in near:
        # Where a rounding error decides whether there is a value, any value will do.
        with np.errstate(all="ignore"):
            change = np.abs(other - w)
        lost = finite != np.isfinite(other)
        spread = np.maximum(spread, np.where(lost, np.inf, np.where(finite, change, 0)))
    type_ = {2.0**-52: np.float64, 2.0**-23: np.float32, 2.0**-10: np.float16}.get(eps, bfloat16)
    info = jnp.finfo(type_)
    allowed = case.loose * (eps * (size + floor) + spread) + float(info.tiny)
    huge = size > 0.99 * float(info.max)
    with np.errstate(all="ignore"):
        same = np.where(finite, np.abs(y - w) <= allowed, (y == w) | (np.isnan(y) & np.isnan(w)))
        same |= huge & (np.abs(y) > 0.98 * float(info.max)) if eps else same
        same |= np.isinf(spread)
        if w.dtype.kind == "c":  # an infinity has no direction
            same |= np.isinf(np.abs(w)) & ~np.isfinite(y)
            same |= np.isnan(w) & ~np.isfinite(y)
    if not np.all(same):
        at = tuple(int(k) for k in np.argwhere(~same)[0])
        raise AssertionError(
            f"{words}\nat {at}: {y[at]}, not {w[at]}, allowed {np.asarray(allowed)[at]}"
            f"\ngot  {y.tolist()}\nwant {w.tolist()}"
        )
