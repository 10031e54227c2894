"""Calls of functions drawn from seeds, and what NumPy says of them: the machinery of test_drawn.py.

A recipe draws the arguments of one call. A table says for each function how its arguments are
drawn and what differs from NumPy on purpose: in which dtype NumPy has to compute, what dtype the
result has, and where JAX's documented meaning is another one. Nothing here imports plait, so that
the same draws can be given to other implementations.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES: dict[str, list[Any]] = {
    "b": [np.bool_],
    "i": [np.int8, np.int16, np.int32, np.int32, np.int64],
    "u": [np.uint8, np.uint8, np.uint16, np.uint32],
    "h": [np.float16, BFLOAT16],
    "f": [np.float32, np.float32, np.float64],
    "c": [np.complex64, np.complex64, np.complex128],
}
DTYPES = {kind: [np.dtype(t) for t in some] for kind, some in DTYPES.items()}
NARROW = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-30, 1e30, 2.5, 1e4, -1e4]
REAL = "biuhf"
ANY = "biuhfc"


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype == BFLOAT16


def map_arrays(f: Callable[[np.ndarray], Any], tree: Any) -> Any:
    """The same nest of tuples, lists and dicts with f of each NumPy array in it."""
    if isinstance(tree, tuple | list):
        return type(tree)(map_arrays(f, part) for part in tree)
    if isinstance(tree, dict):
        return {key: map_arrays(f, part) for key, part in tree.items()}
    return f(tree) if isinstance(tree, np.ndarray) else tree


def arrays_in(tree: Any) -> list[Any]:
    """The NumPy arrays and Python numbers of a nest, in order."""
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in arrays_in(part)]
    return [tree] if isinstance(tree, np.ndarray | bool | int | float | complex) else []


def widened(x: Any) -> Any:
    """Floats and complex numbers in 64 bits a part, where the oracle rounds least."""
    if isinstance(x, np.ndarray) and is_float(x.dtype):
        return x.astype(np.float64)
    if isinstance(x, np.ndarray) and x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x


class Draw:
    """What one call's arguments are drawn from: the same for the same name and number.

    Every third draw runs in 64 bits; every fifth is `spoilt`: a recipe that can makes one of the
    arguments one that must be refused.
    """

    def __init__(self, name: str, number: int):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), number])
        self.x64 = number % 3 == 2
        self.spoilt = number % 5 == 4
        self.on_device = self.chance(0.4)

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one(self, *options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def integer(self, low: int, high: int) -> int:
        """An int of low, ..., high."""
        return int(self.rng.integers(low, high + 1))

    def spoil(self, p: float = 0.8) -> bool:
        """Whether to spoil this argument: at most one of a call is."""
        if not (self.spoilt and self.chance(p)):
            return False
        self.spoilt = False
        return True

    # --- arrays

    def dtype(self, kinds: str = ANY) -> np.dtype:
        return self.one(*DTYPES[self.one(*kinds)])

    def narrow(self, dtype: np.dtype) -> np.dtype:
        """The dtype that an array of this one has in this draw."""
        return dtype if self.x64 else NARROW.get(np.dtype(dtype), np.dtype(dtype))

    def shape(self, low: int = 0, high: int = 4, empty: bool = True) -> tuple[int, ...]:
        sizes = (1, 2, 2, 3, 3, 4, 5) + ((0,) if empty and self.chance(0.3) else ())
        return tuple(self.one(*sizes) for _ in range(self.integer(low, high)))

    def array(
        self,
        kinds: str = ANY,
        shape: tuple[int, ...] | None = None,
        *,
        wild: bool = False,
        dtype: Any = None,
        low: int = -5,
        high: int = 5,
    ) -> np.ndarray:
        """Small numbers with many ties; wild: with extreme, infinite and undefined ones as well."""
        shape = self.shape() if shape is None else shape
        dtype = np.dtype(self.dtype(kinds) if dtype is None else dtype)
        if dtype.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        if dtype.kind in "iu":
            info = np.iinfo(self.narrow(dtype))
            low, high = max(low, int(info.min)), min(high, int(info.max))
            if wild and self.chance(0.4):
                low, high = int(info.min), int(info.max)
            return np.asarray(self.rng.integers(low, high, shape, dtype, endpoint=True))
        real = self.real(shape, wild, low, high)
        if dtype.kind == "c":
            real = real + 1j * self.real(shape, False, low, high)
        # Rounded as the 32-bit dtype holds them, so that the oracle is given the same numbers.
        with np.errstate(all="ignore"):
            return np.asarray(real).astype(self.narrow(dtype)).astype(dtype)

    def real(self, shape: tuple[int, ...], wild: bool, low: int, high: int) -> np.ndarray:
        if self.chance(0.5):
            x = self.rng.integers(4 * low, 4 * high, shape, endpoint=True) / 4
        else:
            x = np.clip(self.rng.normal(size=shape) * 2, low, high)
        if wild and self.chance(0.5):
            x = np.where(self.rng.random(shape) < 0.5, self.rng.choice(SPECIAL, shape), x)
        return np.asarray(x)

    def with_nan(self, x: np.ndarray) -> np.ndarray:
        """x with some of its floats not a number."""
        if is_float(x.dtype) or x.dtype.kind == "c":
            return np.where(self.rng.random(x.shape) < 0.3, np.array(np.nan, x.dtype), x)
        return x

    def broadcasting(self, n: int, high: int = 4) -> list[tuple[int, ...]]:
        """n shapes that broadcast; spoilt, that do not."""
        whole = self.shape(0, high)
        shapes = []
        for _ in range(n):
            kept = whole[self.integer(0, len(whole)) :] if self.chance(0.4) else whole
            shapes.append(tuple(1 if self.chance(0.2) else size for size in kept))
        if n > 1 and self.spoil():
            shapes[0], shapes[1] = (*shapes[0], 2), (*shapes[1], 3)
        return shapes

    def operands(self, n: int, kinds: str = ANY, *, wild: bool = True, numbers: bool = True):
        """n operands of an elementwise function: arrays of shapes that broadcast, or numbers."""
        same = self.dtype(kinds) if self.chance(0.5) else None
        xs: list[Any] = [
            self.array(kinds, shape, wild=wild, dtype=same) for shape in self.broadcasting(n)
        ]
        if n > 1 and numbers and self.chance(0.2):
            k = self.integer(0, n - 1)
            if xs[1 - k if n == 2 else k - 1].dtype.kind in "ifc":
                xs[k] = self.one(2, 3) if set("iu") & set(kinds) else 0.5
        return tuple(xs)

    # --- axes

    def axis(self, ndim: int, *, none: bool = False) -> int | None:
        if none and self.chance(0.25):
            return None
        # Arrays without axes: NumPy's reductions take their axis 0, JAX's take none.
        if self.spoil() or ndim == 0:
            return self.one(ndim, -ndim - 1) if ndim else self.one(1, -2)
        return self.integer(-ndim, ndim - 1)

    def several(self, ndim: int, low: int = 0) -> tuple[int, ...]:
        """Different axes, some counted from the last; spoilt, one twice or out of range."""
        if ndim < low:
            return tuple(range(low))
        chosen = self.rng.permutation(ndim)[: self.integer(low, ndim)]
        axes = [int(a) - ndim * self.chance(0.4) for a in chosen]
        if self.spoil():
            axes.append(axes[0] if axes and self.chance(0.6) else ndim or 1)
        return tuple(axes)

    def axes(self, ndim: int, *, empty: bool = True) -> Any:
        """None, one axis or several, as reductions take them."""
        if ndim == 0 or self.chance(0.2):
            return None if not self.spoil() else ndim or 1
        return self.axis(ndim) if self.chance(0.5) else self.several(ndim, 0 if empty else 1)

    def options(self, **some: Callable[[], Any]) -> dict[str, Any]:
        """Keyword arguments: each with an even chance of being given."""
        return {name: draw() for name, draw in some.items() if self.chance(0.5)}


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, as they are written."""
    return args, kwargs


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How calls of one function are drawn, and what NumPy's answer has to be made of.

    Args:
        draw: positional and keyword arguments from a Draw.
        cast: None gives NumPy the operands in their own dtypes; "common" in the dtype they are
            promoted to, "inexact" in the inexact one, "float" in the inexact one with whole numbers
            in the default float; floats in 64 bits, in all of these; "wide" only that.
        dtype: None for the dtype of NumPy's result, narrowed; "common", "inexact", "float", "real"
            (of the inexact), "int"; "common" of the first n arguments, n being a number; a dtype;
            or what a function of the call's arguments and a function that promotes gives. A list
            for several results.
        oracle: what is called instead of the namesake in NumPy.
        near: whether errors are measured by the largest of the results; else by each.
        slack: by how much the tolerance is multiplied.
        compare: what is compared of the results: a function of the results and the arguments.
    """

    draw: Callable[[Draw], tuple[tuple[Any, ...], dict[str, Any]]]
    cast: str | None = None
    dtype: Any = None
    oracle: Callable[..., Any] | None = None
    near: bool = True
    slack: float = 1.0
    compare: Callable[..., Any] | None = None


TABLE: dict[str, Recipe] = {}


def recipe(names: str, **options: Any) -> Callable[[Any], Any]:
    """Put a function that draws arguments into the table, for each of the names."""

    def add(draw: Any) -> Any:
        for name in names.split():
            assert name not in TABLE, name
            TABLE[name] = Recipe(draw, **options)
        return draw

    return add


def namesake(module: Any, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), module)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that changes its first argument, as one that returns it changed."""

    def changed(x: np.ndarray, *args: Any, inplace: bool, **kwargs: Any) -> np.ndarray:
        assert not inplace
        x = x.copy()
        function(x, *args, **kwargs)
        return x

    return changed


def answer(recipe: Recipe, name: str, d: Draw, args: Any, kwargs: Any, promote: Any) -> Any:
    """What NumPy says of a call; promote gives the dtype of operands. Raises what NumPy raises."""
    narrow = functools.partial(map_arrays, lambda x: x.astype(d.narrow(x.dtype), copy=True))
    function = recipe.oracle or namesake(np, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args, kwargs = narrow(args), narrow(kwargs)
        if recipe.cast in ("common", "inexact", "float"):
            dtype = kwargs.pop("dtype", None)
            if dtype is None:
                dtype = d.narrow(promoted(recipe.cast, args, promote))
            args = map_arrays(lambda x: x.astype(dtype), args)
        if recipe.cast is not None:
            args, kwargs = map_arrays(widened, args), map_arrays(widened, kwargs)
        return function(*args, **kwargs)


def promoted(rule: str, args: Any, promote: Any) -> np.dtype:
    """The dtype of operands together by a rule of Recipe."""
    dtype = np.dtype(promote(*arrays_in(args)))
    if rule == "common":
        return dtype
    if dtype.kind not in "fcV" and rule == "float":
        return np.dtype(np.float64)
    if dtype.kind not in "fcV":
        dtype = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    if rule == "real" and dtype.kind == "c":
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    return dtype


def result_dtype(
    recipe: Recipe, d: Draw, args: Any, kwargs: Any, want: Any, promote: Any, position: int
) -> Any:
    """The dtype that the result (of several, the one at a position) has to have."""
    rule = recipe.dtype
    args = map_arrays(lambda x: x.astype(d.narrow(x.dtype)), args)
    if isinstance(rule, int):
        return d.narrow(promoted("common", args[:rule], promote))
    if callable(rule) and not isinstance(rule, type):
        rule = rule(args, kwargs, promote)
    if isinstance(rule, list):
        rule = rule[position]
    if rule is None:
        return d.narrow(np.asarray(want).dtype)
    if isinstance(rule, str) and rule == "int":
        return d.narrow(np.dtype(np.int64))
    if isinstance(rule, str) and rule in ("common", "inexact", "float", "real"):
        return d.narrow(np.dtype(kwargs.get("dtype") or promoted(rule, args, promote)))
    return d.narrow(np.dtype(rule))


def leaves(tree: Any) -> list[Any]:
    return [x for part in tree for x in leaves(part)] if isinstance(tree, tuple | list) else [tree]


TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float64": 1e-11, "complex128": 1e-11}


def assert_close(got: Any, want: Any, dtype: np.dtype, *, near: bool, slack: float) -> None:
    """One result: its dtype and shape exactly, its values up to rounding."""
    want = np.asarray(want)
    assert np.dtype(got.dtype) == dtype, f"dtype {got.dtype}, not {dtype}"
    assert np.shape(got) == want.shape, f"shape {np.shape(got)}, not {want.shape}"
    got = np.asarray(got)
    if dtype.kind in "biu":
        np.testing.assert_array_equal(got, want.astype(dtype))
        return
    tol = slack * TOLERANCE.get(dtype.name, 1e-5)
    with np.errstate(all="ignore"):
        got, want = (widened(np.asarray(x, dtype)) for x in (got, want))
        finite = np.abs(want[np.isfinite(want)])
        size = max(1.0, float(finite.max(initial=0))) if near else 0.1
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol * size)


def written(name: str, args: Any, kwargs: Any) -> str:
    """The call as a line that can be run."""

    def show(x: Any) -> str:
        if isinstance(x, np.ndarray):
            return f"np.array({x.tolist()!r}, {x.dtype.name!r}).reshape({x.shape})"
        if isinstance(x, tuple | list):
            inner = ", ".join(map(show, x))
            return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k!r}: {show(v)}" for k, v in x.items()) + "}"
        return getattr(x, "__name__", None) or repr(x)

    parts = [*map(show, args), *(f"{k}={show(v)}" for k, v in kwargs.items())]
    return f"{name}({', '.join(parts)})"
