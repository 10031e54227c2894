"""How arrays are created, and how questions about dtypes are asked."""

from __future__ import annotations

import numpy as np

from tests.numpy.drawing import ANY, call, recipe


def shape_argument(d):
    return d.one(d.shape(), d.integer(0, 4), list(d.shape()))


@recipe("zeros ones", dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.float64))
def constants(d):
    if d.spoil():
        return call(d.one(-1, (2, -3)))
    return call(shape_argument(d), **d.options(dtype=lambda: d.dtype()))


@recipe("full")
def full(d):
    shape = d.shape()
    value = d.array(shape=shape[d.integer(0, len(shape)) :])
    return call(
        shape, value, **d.options(dtype=lambda: d.dtype("f" if value.dtype.kind in "fV" else "fc"))
    )


@recipe("zeros_like ones_like")
def like(d):
    return call(d.array(), **d.options(dtype=lambda: d.dtype(), shape=lambda: d.shape()))


@recipe("full_like")
def full_like(d):
    return call(
        d.array(), d.integer(0, 3), **d.options(dtype=lambda: d.dtype(), shape=lambda: d.shape())
    )


@recipe(
    "empty",
    dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.float64),
    compare=lambda got, args, kwargs: np.zeros(got.shape, got.dtype),
)
def empty(d):
    return call(shape_argument(d), **d.options(dtype=lambda: d.dtype()))


@recipe("empty_like", compare=lambda got, args, kwargs: np.zeros(got.shape, got.dtype))
def empty_like(d):
    return call(d.array(), **d.options(dtype=lambda: d.dtype(), shape=lambda: d.shape()))


@recipe("arange")
def ranges(d):
    if d.chance(0.3):
        return call(d.integer(-2, 20))
    start, stop, step = d.integer(-9, 9), d.integer(-9, 9), d.one(1, 2, -1, -3)
    scale = d.one(1, 1, 0.5)
    dtypes = d.options(dtype=lambda: d.one(np.int16, np.float32))
    return call(start * scale, stop * scale, step * scale, **dtypes if scale == 1 else {})


@recipe("linspace", cast="inexact", dtype="inexact")
def evenly(d):
    start, stop = d.operands(2, "iufc", wild=False)
    ndim = max(np.ndim(start), np.ndim(stop)) + 1
    kwargs = d.options(endpoint=lambda: False, axis=lambda: d.axis(ndim))
    if d.chance(0.2):
        kwargs["retstep"] = True
    return call(start, stop, -1 if d.spoil() else d.integer(0, 6), **kwargs)


@recipe("logspace", cast="inexact", dtype="inexact", near=False, slack=5)
def by_powers(d):
    (start, stop), kwargs = evenly_real(d, -1, 2)
    return call(start, stop, d.integer(0, 6), **kwargs, **d.options(base=lambda: d.one(2.0, 3.0)))


@recipe("geomspace", cast="inexact", dtype="inexact", near=False, slack=5)
def by_factors(d):
    (start, stop), kwargs = evenly_real(d, 1, 5)
    return call(start, stop, d.integer(0, 6), **kwargs)


def evenly_real(d, low, high):
    first, second = d.broadcasting(2)
    start, stop = (d.array("iuf", s, low=low, high=high) for s in (first, second))
    axis = {"axis": lambda: d.axis(max(start.ndim, stop.ndim) + 1)}
    return (start, stop), d.options(endpoint=lambda: False, **axis)


@recipe("eye", dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.float64))
def eyes(d):
    return call(
        d.integer(0, 4),
        **d.options(
            M=lambda: d.integer(0, 4), k=lambda: d.integer(-4, 4), dtype=lambda: d.dtype("iufc")
        ),
    )


@recipe("tri", dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.float64))
def tri(d):
    return eyes(d)


@recipe("identity", dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.float64))
def identities(d):
    return call(d.integer(0, 4), **d.options(dtype=lambda: d.dtype("iufc")))


@recipe("tril_indices triu_indices", dtype="int")
def triangle_indices(d):
    return call(d.integer(0, 4), d.integer(-4, 4), **d.options(m=lambda: d.integer(0, 4)))


@recipe("tril_indices_from triu_indices_from", dtype="int")
def triangle_indices_from(d):
    return call(d.array(shape=d.shape(1 if d.spoil() else 2, 2)), d.integer(-4, 4))


@recipe("diag_indices", dtype="int")
def diag_indices(d):
    return call(d.integer(0, 4), d.integer(1, 3))


@recipe("diag_indices_from", dtype="int")
def diag_indices_from(d):
    n = d.integer(1, 3)
    return call(d.array(shape=(n, n + 1) if d.spoil() else (n,) * d.integer(2, 3)))


@recipe("mask_indices", dtype="int", oracle=lambda n, f, k: np.mask_indices(n, np.triu, k))
def mask_indices(d):
    return call(d.integer(0, 4), upper, d.integer(-2, 2))


def upper(m, k):
    i, j = np.indices(m.shape)
    return m * (j - i >= k)


@recipe("indices", dtype=lambda args, kwargs, promote: kwargs.get("dtype", np.int64))
def grids(d):
    return call(d.shape(), **d.options(dtype=lambda: d.dtype("if"), sparse=lambda: True))


@recipe("meshgrid")
def meshes(d):
    xs = [d.array(shape=d.one((), (d.integer(0, 4),))) for _ in range(d.integer(1, 3))]
    if d.spoil():
        return call(*xs, indexing="yx")
    return call(*xs, **d.options(indexing=lambda: d.one("xy", "ij"), sparse=lambda: True))


@recipe("ix_")
def open_meshes(d):
    xs = [d.array("bi", (d.integer(1, 4),)) for _ in range(d.integer(1, 3))]
    return call(*xs, *([d.array("i", (2, 2))] if d.spoil() else []))


@recipe("vander", dtype=1)
def powers(d):
    x = d.array("ifc", d.shape(0 if d.spoil() else 1, 1))
    return call(x, **d.options(N=lambda: d.integer(0, 4), increasing=lambda: True))


@recipe("hanning hamming blackman bartlett", dtype=np.float64)
def windows(d):
    return call(d.integer(0, 12))


@recipe("kaiser", dtype=np.float64)
def kaiser(d):
    return call(d.integer(0, 12), d.one(0.0, 5.0, 8.6))


@recipe(
    "fromfunction",
    oracle=lambda f, shape, dtype: np.fromfunction(f, shape, dtype=dtype),
    dtype=lambda args, kwargs, promote: kwargs["dtype"],
)
def from_function(d):
    shape = d.shape(1, 3, empty=False)
    return call(total, shape, dtype=d.one(np.int32, np.float32))


def total(*grids):
    return sum(grids)


@recipe("array asarray")
def arrays(d):
    x = d.array()
    options = d.options(dtype=lambda: d.dtype("c" if x.dtype.kind == "c" else "hfc"))
    return call(x, **options)


@recipe("astype", dtype=lambda args, kwargs, promote: args[1])
def converted(d):
    x = d.array("biufh", low=0)
    return call(x, d.dtype("iufh"))


@recipe("frombuffer")
def from_buffer(d):
    return call(
        d.array("iu", (d.integer(1, 6),), dtype=np.uint8, low=0).tobytes(),
        np.uint8,
        **d.options(offset=lambda: 1),
    )


# --- dtypes


def scalar_type(name):
    """x in a dtype, as jnp.float32(x) gives it: an array of the shape of x."""
    oracle = {"bool_": np.bool_, "int_": np.int64, "uint": np.uint64}.get(name, getattr(np, name))
    dtype = np.dtype(oracle)

    def draw(d):
        kinds = {"u": "biu", "i": "bi", "f": "biuf", "b": ANY}.get(dtype.kind, ANY)
        return call(d.array(kinds, low=0 if dtype.kind == "u" else -5))

    recipe(name, oracle=lambda x: np.asarray(x, dtype), dtype=dtype)(draw)


for name in """bool bool_ int8 int16 int32 int64 int_ uint8 uint16 uint32 uint64 uint float16
    float32 float64 single double complex64 complex128 csingle cdouble""".split():
    scalar_type(name)


@recipe("promote_types")
def promoted(d):
    dtype = d.narrow(d.dtype())
    return call(dtype, dtype)


@recipe("can_cast")
def castable(d):
    return call(
        d.narrow(d.dtype("biufc")),
        d.narrow(d.dtype("biufc")),
        **d.options(casting=lambda: d.one("no", "equiv", "safe", "same_kind", "unsafe")),
    )


@recipe("isdtype")
def of_kind(d):
    return call(
        d.dtype("biufc"),
        d.one(
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "complex floating",
            "numeric",
        ),
    )


@recipe("issubdtype")
def sub_dtypes(d):
    return call(
        d.dtype("biufc"),
        d.one(
            np.integer,
            np.floating,
            np.number,
            np.inexact,
            np.complexfloating,
            np.generic,
            d.dtype("biufc"),
        ),
    )


@recipe("isscalar")
def scalars(d):
    return call(d.one(1, 2.5, 1j, True, None, "text"))


@recipe("iterable")
def iterables(d):
    return call(d.array(shape=d.shape(0, 2)))
