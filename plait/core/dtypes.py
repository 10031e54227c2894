"""Dtype names and kinds, the promotion lattice with weak Python scalars, and key dtypes.

Source of the lattice: JAX's documented type promotion semantics. A dtype is a `numpy.dtype`
(bfloat16, float8, int4 from ml_dtypes) or a `KeyDType`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from plait.config import state
from plait.core.plain import by_numpy
from plait.core.source import called
from plait.errors import ArgumentTypeError, DtypeError, IntegerOverflowError, describe


class extended(np.generic):
    """The abstract class of dtypes that are not of numbers.

    >>> plait.dtypes.issubdtype(plait.random.key(0).dtype, plait.dtypes.extended)
    True
    """


class prng_key(extended):
    """The abstract class of key dtypes, for `issubdtype(x.dtype, dtypes.prng_key)`.

    >>> plait.dtypes.issubdtype(plait.random.key(0).dtype, plait.dtypes.prng_key)
    True
    """


class KeyDType:
    """The dtype of the typed random keys of one generator.

    On devices a threefry key, of 64 bits, is one uint64; an rbg key, of 128 bits, is one
    complex128, which is never computed with, only moved. So every op that only moves data works on
    keys as it is.

    >>> isinstance(plait.random.key(0).dtype, plait.dtypes.KeyDType)
    True
    """

    impl: str
    name: str
    words: int
    storage: np.dtype
    kind = "k"
    type = prng_key
    _instances: ClassVar[dict[str, KeyDType]] = {}

    def __new__(cls, impl: str = "threefry2x32"):
        if impl not in cls._instances:
            self = super().__new__(cls)
            self.impl = impl
            self.name = f"key<{_KEY_TAGS[impl]}>"
            self.words = 2 if impl == "threefry2x32" else 4
            self.storage = np.dtype(np.uint64 if self.words == 2 else np.complex128)
            cls._instances[impl] = self
        return cls._instances[impl]

    @property
    def itemsize(self) -> int:
        return 4 * self.words

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return KeyDType, (self.impl,)


_KEY_TAGS = {"threefry2x32": "fry", "rbg": "rbg", "unsafe_rbg": "urbg"}

if TYPE_CHECKING:
    # To a type checker the key dtype is one of NumPy's: it answers the same questions, and where a
    # dtype is handed to NumPy the array is no key (keys have their storage dtype there).
    DType = np.dtype
else:
    DType = np.dtype | KeyDType
KEY_DTYPES: dict[str, Any] = {impl: KeyDType(impl) for impl in _KEY_TAGS}
KEY_DTYPE = KEY_DTYPES["threefry2x32"]

bool_ = np.dtype(np.bool_)
int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
uint8, uint16 = np.dtype(np.uint8), np.dtype(np.uint16)
uint32, uint64 = np.dtype(np.uint32), np.dtype(np.uint64)
float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
bfloat16 = np.dtype(ml_dtypes.bfloat16)
# The dtype of derivatives of integers and booleans: it holds nothing.
float0 = np.dtype([("float0", np.void, 0)])

_FLOAT8 = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
)
_FLOAT4 = (np.dtype(ml_dtypes.float4_e2m1fn),)
_INT4 = tuple(np.dtype(getattr(ml_dtypes, n)) for n in ("int2", "int4"))
_UINT4 = tuple(np.dtype(getattr(ml_dtypes, n)) for n in ("uint2", "uint4"))

BOOL = frozenset({bool_})
INT = frozenset(map(np.dtype, (np.int8, np.int16, np.int32, np.int64))) | frozenset(_INT4)
UINT = frozenset(map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))) | frozenset(_UINT4)
FLOAT = frozenset((float16, bfloat16, float32, float64, *_FLOAT8, *_FLOAT4))
COMPLEX = frozenset((complex64, complex128))
KEY = frozenset(KEY_DTYPES.values())
INEXACT = FLOAT | COMPLEX
INTEGER = INT | UINT
NUMBER = INTEGER | INEXACT
REAL = INTEGER | FLOAT
ANY = NUMBER | BOOL | KEY
_SETS = {
    "bool": BOOL,
    "signed int": INT,
    "unsigned int": UINT,
    "float": FLOAT,
    "complex": COMPLEX,
    "key": KEY,
}


def names_of(accepts: frozenset) -> str:
    """Words for a set of dtypes, for messages."""
    return ", ".join(word for word, members in _SETS.items() if members & accepts)


_BY_NAME: dict[str, Any] = {d.name: d for d in ANY}
_BY_NAME |= {"bool_": bool_, "float0": float0}
_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}
_NARROW = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {float32: complex64, float64: complex128}
_weak_default_32 = {bool: bool_, int: int32, float: float32, complex: complex64}


def as_dtype(spec: Any, op: str | None = None) -> DType:
    """The dtype that a name, a Python or NumPy type, a dtype or an object with `.dtype` means.

    Raises: ArgumentTypeError if it means none that plait has. No 64-bit narrowing happens here.
    """
    if isinstance(spec, KeyDType):
        return KEY_DTYPES[spec.impl]
    if isinstance(spec, type) and spec in _PYTHON:
        return _PYTHON[spec]
    if isinstance(spec, str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if not isinstance(spec, type) and isinstance(dtype := getattr(spec, "dtype", None), DType):
        return as_dtype(dtype, op)
    try:
        if spec is None:
            raise TypeError
        dtype = np.dtype(spec)
    except TypeError:
        size = isinstance(spec, int) and not isinstance(spec, bool)
        raise ArgumentTypeError(
            f"{repr(spec) if isinstance(spec, str) else describe(spec)} is not a dtype",
            op=called(op),
            fix="a shape is one argument: (2, 3)" if size else "name one: jnp.float32, 'int32'",
        ) from None
    return dtype.newbyteorder("=") if not dtype.isnative else dtype


def canonical(dtype: DType) -> DType:
    """The dtype arrays get: 64-bit ones become 32-bit ones unless enable_x64 is on."""
    if state.enable_x64:
        return dtype
    return _NARROW.get(dtype, dtype)


def check_supported(dtype: DType, **given: Any) -> None:
    """Raise DtypeError for dtypes that no array can have (strings, objects, dates, ...)."""
    if dtype not in ANY and dtype != float0:
        summary = f"arrays of dtype {dtype} are not supported"
        raise DtypeError(summary, **{"op": called(), **given})


def name_of(dtype: DType) -> str:
    """The dtype's name in messages and programs: NumPy's own, but for float0."""
    return "float0" if dtype == float0 else dtype.name


def default_int() -> DType:
    """The dtype of Python ints: int32, with enable_x64 int64."""
    return int64 if state.enable_x64 else int32


def default_uint() -> DType:
    """uint32, with enable_x64 uint64."""
    return uint64 if state.enable_x64 else uint32


def default_float() -> DType:
    """The dtype of Python floats: float32, with enable_x64 float64."""
    return float64 if state.enable_x64 else float32


def default_complex() -> DType:
    """The dtype of Python complex numbers: complex64, with enable_x64 complex128."""
    return complex128 if state.enable_x64 else complex64


def scalar_dtype(python_type: type) -> DType:
    """The dtype of a weak Python scalar of the given type."""
    return _PYTHON[python_type] if state.enable_x64 else _weak_default_32[python_type]


def real_of(dtype: DType) -> DType:
    """The dtype of the real part."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts have the given dtype."""
    return _COMPLEX_OF.get(dtype, dtype if dtype in COMPLEX else default_complex())


def storage(dtype: DType) -> np.dtype:
    """The NumPy dtype that holds the elements: for keys another one, for float0, which has nothing
    to hold, that of booleans, else the dtype itself.
    """
    if dtype == float0:
        return bool_
    return dtype.storage if isinstance(dtype, KeyDType) else dtype


@functools.cache
def finfo(dtype: Any) -> Any:
    """Machine limits of a float or complex dtype.

    >>> plait.dtypes.finfo(jnp.bfloat16).bits, float(plait.dtypes.finfo(jnp.bfloat16).max)
    (16, 3.3895313892515355e+38)
    """
    return by_numpy(ml_dtypes.finfo, real_of(as_dtype(dtype, "finfo")))


@functools.cache
def iinfo(dtype: Any) -> Any:
    """Machine limits of an integer dtype.

    >>> plait.dtypes.iinfo(jnp.int4).max
    7
    """
    return by_numpy(ml_dtypes.iinfo, as_dtype(dtype, "iinfo"))


def fits(value: int, dtype: np.dtype) -> bool:
    """Whether an integer dtype can hold the Python int."""
    info = iinfo(dtype)
    return info.min <= value <= info.max


def check_fits(value: int, dtype: np.dtype, **given: Any) -> None:
    """Raise IntegerOverflowError if an integer dtype cannot hold the Python int."""
    if dtype in INTEGER and not fits(value, dtype):
        fix = "enable_x64 gives 64-bit integers" if dtype in (int32, uint32) else None
        summary = f"{value} does not fit in {dtype.name}"
        raise IntegerOverflowError(summary, **{"op": called(), "fix": fix, **given})


# --- promotion: a directed graph whose least upper bounds are the results.
_WEAK_INT, _WEAK_FLOAT, _WEAK_COMPLEX = "int*", "float*", "complex*"
_n = np.dtype
_EDGES: dict[Any, list[Any]] = {
    bool_: [_WEAK_INT],
    _WEAK_INT: [uint8, _n(np.int8), *_INT4, *_UINT4],
    uint8: [_n(np.int16), uint16],
    uint16: [int32, uint32],
    uint32: [int64, uint64],
    uint64: [_WEAK_FLOAT],
    _n(np.int8): [_n(np.int16)],
    _n(np.int16): [int32],
    int32: [int64],
    int64: [_WEAK_FLOAT],
    _WEAK_FLOAT: [bfloat16, float16, _WEAK_COMPLEX, *_FLOAT8, *_FLOAT4],
    bfloat16: [float32],
    float16: [float32],
    float32: [float64, complex64],
    float64: [complex128],
    _WEAK_COMPLEX: [complex64],
    complex64: [complex128],
    complex128: [],
    **{d: [] for d in (*_FLOAT8, *_FLOAT4, *_INT4, *_UINT4)},
}


@functools.cache
def _above(node: Any) -> frozenset:
    return frozenset({node}).union(*(_above(up) for up in _EDGES[node]))


@functools.cache
def _join(nodes: frozenset) -> Any:
    """Least upper bound of lattice nodes, or None."""
    common = frozenset.intersection(*(_above(node) for node in nodes))
    for node in common:
        if common <= _above(node):
            return node
    return None


def _node(dtype: DType, weak: bool) -> Any:
    if not weak or dtype in BOOL:
        return dtype
    if dtype in INTEGER:
        return _WEAK_INT
    return _WEAK_COMPLEX if dtype in COMPLEX else _WEAK_FLOAT


@functools.cache
def _promote(types: tuple[tuple[DType, bool], ...], strict: bool) -> tuple[DType, bool]:
    """Join of (dtype, weak) pairs; the dtype still has its full width."""
    dtypes = {dtype for dtype, _ in types}
    all_weak = all(weak for _, weak in types)
    if len(dtypes) == 1:
        return next(iter(dtypes)), all_weak
    if keys := {d for d in dtypes if isinstance(d, KeyDType)}:
        raise DtypeError(
            "random keys do not mix with "
            + ("numbers" if keys < dtypes else "those of another generator"),
            dtypes=", ".join(sorted(d.name for d in dtypes)),
            fix="random.key_data(key) gives the key's bits as integers",
        )
    for dtype in dtypes:
        if dtype not in _EDGES:
            raise DtypeError(f"arrays of dtype {dtype} are not supported")
    strong = {dtype for dtype, weak in types if not weak}
    if strict and len(strong) > 1:
        raise DtypeError(
            "numpy_dtype_promotion is 'strict', and the dtypes differ",
            dtypes=", ".join(sorted(d.name for d in strong)),
            fix="convert with x.astype(dtype)",
        )
    joined = _join(frozenset(_node(dtype, weak) for dtype, weak in types))
    if joined is None:
        raise DtypeError(
            "these dtypes have no common dtype without losing values",
            dtypes=", ".join(sorted(d.name for d in dtypes)),
            fix="convert one with x.astype(dtype)",
        )
    if isinstance(joined, str):
        weak_default = {_WEAK_INT: int64, _WEAK_FLOAT: float64, _WEAK_COMPLEX: complex128}
        # int32 and a Python float join in a weak float: the array gives no float dtype of its own.
        return weak_default[joined], True
    return joined, False


def promote(*types: tuple[DType, bool], lenient: bool = False) -> tuple[DType, bool]:
    """The common (dtype, weak_type) of several, by JAX's promotion rules, narrowed to 32 bits
    unless enable_x64 is on; lenient whatever the switch numpy_dtype_promotion says. Raises
    DtypeError if there is none.
    """
    strict = state.numpy_dtype_promotion == "strict" and not lenient
    dtype, weak = _promote(types, strict)
    return canonical(dtype), weak


def is_weak_type(spec: Any) -> bool:
    """Whether a dtype is asked for by Python's int, float or complex, which are weak."""
    # Not `in`: NumPy's dtypes int64, float64 and complex128 equal them.
    return spec is int or spec is float or spec is complex


def promote_types(a: Any, b: Any) -> DType:
    """The dtype that values of the two dtypes combine to; Python types count as weak.

    >>> plait.dtypes.promote_types(jnp.int32, jnp.float16)
    dtype('float16')
    """
    pairs = tuple((as_dtype(t, "promote_types"), is_weak_type(t)) for t in (a, b))
    return promote(*pairs)[0]


_ABSTRACT = {
    np.generic: ANY,
    np.number: NUMBER,
    np.integer: INTEGER,
    np.signedinteger: INT,
    np.unsignedinteger: UINT,
    np.inexact: INEXACT,
    np.floating: FLOAT,
    np.complexfloating: COMPLEX,
    extended: KEY,
    prng_key: KEY,
}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype a lies under dtype or abstract class b, bfloat16 and keys included.

    >>> plait.dtypes.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    abstract_a = isinstance(a, type) and a in _ABSTRACT
    if isinstance(b, type) and b in _ABSTRACT:
        return issubclass(a, b) if abstract_a else as_dtype(a, "issubdtype") in _ABSTRACT[b]
    return False if abstract_a else as_dtype(a, "issubdtype") == as_dtype(b, "issubdtype")
