"""How the functions of shapes, joins, pieces, indices and editing are called."""

from __future__ import annotations

import math

import numpy as np

from tests.numpy.drawing import ANY, call, in_place, recipe

# --- shapes and order


def factors(d, n):
    """A shape of n elements."""
    shape = []
    while n > 1 and d.chance(0.7):
        k = d.one(*[k for k in range(1, n + 1) if n % k == 0])
        shape.append(k)
        n //= k
    shape.append(n)
    return shape


@recipe("reshape")
def reshaped(d):
    x = d.array()
    shape = factors(d, x.size)
    if d.spoil():
        shape = d.one([*shape, 2, 3], [-1, -1], [-1, 7])
    elif d.chance(0.4) and 0 not in shape:
        shape[d.integer(0, len(shape) - 1)] = -1
    shape = shape[0] if len(shape) == 1 and d.chance(0.5) else tuple(shape)
    return call(x, shape, **d.options(order=lambda: d.one("C", "F")))


@recipe("ravel")
def flat(d):
    return call(d.array(), **d.options(order=lambda: "X" if d.spoil() else d.one("C", "F")))


@recipe("transpose permute_dims")
def transposed(d):
    x = d.array()
    axes = [int(a) - x.ndim * d.chance(0.3) for a in d.rng.permutation(x.ndim)]
    if d.spoil():
        axes = d.one([*axes, 0], [*axes[:-1], x.ndim], axes[1:] + axes[:1] * 2)
    return call(x, d.one(None, tuple(axes), tuple(axes)))


@recipe("matrix_transpose linalg.matrix_transpose")
def transposed_matrices(d):
    return call(d.array(shape=d.shape(1 if d.spoil() else 2)))


@recipe("swapaxes")
def swapped(d):
    x = d.array(shape=d.shape(1))
    return call(x, d.axis(x.ndim), d.axis(x.ndim))


@recipe("moveaxis")
def moved(d):
    x = d.array(shape=d.shape(1))
    source, destination = d.several(x.ndim), d.several(x.ndim)
    n = min(len(source), len(destination))
    if n and d.chance(0.4):
        return call(x, source[0], destination[0])
    return call(x, source, destination) if d.spoil() else call(x, source[:n], destination[:n])


@recipe("rollaxis")
def rolled_axis(d):
    x = d.array(shape=d.shape(1))
    return call(x, d.axis(x.ndim), *d.one((), (d.integer(-x.ndim, x.ndim),)))


@recipe("squeeze")
def squeezed(d):
    x = d.array()
    ones = [k - x.ndim * d.chance(0.4) for k, n in enumerate(x.shape) if n == 1]
    if d.spoil():
        return call(x, d.one(d.axis(x.ndim), d.several(x.ndim), (0, 0)))
    return call(x, d.one(None, tuple(ones), *ones))


@recipe("expand_dims")
def expanded(d):
    x = d.array(shape=d.shape(0, 3))
    n = d.integer(1, 2)
    return call(x, d.one(d.axis(x.ndim + 1), d.several(x.ndim + n)[:n]))


@recipe("atleast_1d atleast_2d atleast_3d")
def at_least(d):
    return call(*(d.array() for _ in range(d.integer(1, 2))))


@recipe("flip")
def flipped(d):
    x = d.array()
    return call(x, axis=d.axes(x.ndim))


@recipe("flipud fliplr")
def flipped_one(d):
    return call(d.array(shape=d.shape(0 if d.spoil() else 2)))


@recipe("rot90")
def turned(d):
    x = d.array(shape=d.shape(2))
    axes = d.several(x.ndim)
    return call(x, d.integer(-5, 5), *([axes] if len(axes) == 2 or d.spoilt else []))


@recipe("roll")
def rolled(d):
    x = d.array()
    if d.chance(0.2):
        return call(d.array(shape=(200,)), d.array("iu", (), low=-9, high=127))
    axis = d.axes(x.ndim)
    if d.spoil() and x.ndim > 1:
        return call(x, (1, 2, 3), (0, 1))
    if isinstance(axis, int) and d.chance(0.3):
        return call(x, (d.integer(-7, 7), d.integer(-7, 7)), axis)
    if isinstance(axis, tuple) and d.chance(0.6):
        return call(x, tuple(d.integer(-7, 7) for _ in axis), axis)
    return call(x, d.integer(-7, 7), axis)


@recipe("broadcast_to")
def broadcast(d):
    shape, whole = d.shape(0, 2), d.shape(0, 2)
    if d.spoil():
        return call(d.array(shape=(*shape, 3)), d.one((*whole, 2), shape))
    x = d.array(shape=tuple(1 if d.chance(0.3) else n for n in shape))
    return call(x, (*whole, *shape))


@recipe("broadcast_arrays")
def broadcast_all(d):
    return call(*(d.array(shape=s) for s in d.broadcasting(d.integer(1, 3))))


@recipe("broadcast_shapes")
def common_shape(d):
    return call(*d.broadcasting(d.integer(2, 3)))


@recipe("resize")
def resized(d):
    return call(d.array(shape=d.shape(0, 3)), d.one(d.shape(0, 3), d.integer(0, 9)))


@recipe("ndim shape")
def questions(d):
    return call(d.array())


@recipe("size")
def sizes(d):
    x = d.array()
    return call(x, *([] if x.ndim == 0 or d.chance(0.5) else [d.axis(x.ndim)]))


@recipe("copy")
def copied(d):
    return call(d.array())


@recipe("tile")
def tiled(d):
    repeats = tuple(d.integer(0, 3) for _ in range(d.integer(0, 4)))
    return call(d.array(shape=d.shape(0, 3)), d.one(repeats, -1 if d.spoil() else d.integer(0, 3)))


@recipe("repeat")
def repeated(d):
    if d.chance(0.2):
        return call(d.array(shape=(3,)), d.array("iu", (3,), low=60, high=120))
    x = d.array(shape=d.shape(1))
    axis = d.axis(x.ndim, none=True)
    valid = axis is None or -x.ndim <= axis < x.ndim
    n = (x.size if axis is None else x.shape[axis]) if valid else 2
    if d.spoil(0.4):
        return call(x, -1, axis=axis)
    counts = [d.integer(0, 3) for _ in range(n + 2 * d.spoil())]
    return call(x, d.one(d.integer(0, 3), counts, np.array(counts, d.dtype("iu"))), axis=axis)


@recipe("diagonal")
def diagonals(d):
    x = d.array(shape=d.shape(2))
    axes = d.several(x.ndim)
    return call(x, d.integer(-4, 4), *(axes if len(axes) == 2 else ()))


@recipe("linalg.diagonal")
def diagonals_of_matrices(d):
    return call(d.array(shape=d.shape(1 if d.spoil() else 2)), offset=d.integer(-4, 4))


def traced(args, kwargs, promote):
    dtype = np.dtype(kwargs.get("dtype") or args[0].dtype)
    return np.int64 if dtype.kind in "bi" else np.uint64 if dtype.kind == "u" else dtype


@recipe("trace", cast="wide", dtype=traced)
def traces(d):
    x = d.array(shape=d.shape(2))
    axes = d.several(x.ndim)
    return call(x, d.integer(-4, 4), *(axes if len(axes) == 2 else ()))


@recipe("linalg.trace", cast="wide", dtype=traced)
def traces_of_matrices(d):
    return call(d.array(shape=d.shape(1 if d.spoil() else 2)), offset=d.integer(-4, 4))


@recipe("diag")
def diag(d):
    return call(d.array(shape=d.shape(0 if d.spoil() else 1, 2)), d.integer(-3, 3))


@recipe("diagflat")
def diagflat(d):
    return call(d.array(shape=d.shape(0, 3)), d.integer(-3, 3))


@recipe("tril triu")
def triangles(d):
    # Vectors are NumPy's only: plait refuses them, as JAX does.
    return call(d.array(shape=() if d.spoil() else d.shape(2)), d.integer(-5, 5))


# --- joins and pieces


def alike(d, shape, axis, kinds=ANY):
    """Arrays that differ in their size along an axis."""
    arrays = []
    for _ in range(d.integer(1, 3)):
        sizes = list(shape)
        if sizes:
            sizes[axis] = d.integer(0, 3)
        arrays.append(d.array(kinds, tuple(sizes)))
    if len(arrays) > 1 and d.spoil():
        arrays[-1] = arrays[-1][..., None]
    return arrays


def joined(args, kwargs, promote):
    return kwargs.get("dtype") or promote(*args[0])


@recipe("concatenate", dtype=joined)
def concatenated(d):
    shape = d.shape(1)
    axis = d.axis(len(shape), none=True)
    place = axis if axis is not None and -len(shape) <= axis < len(shape) else 0
    kwargs = {"axis": axis, **d.options(dtype=lambda: np.complex64)}
    return call(alike(d, shape, place), **kwargs)


@recipe("concat", dtype=joined)
def concat(d):
    args, kwargs = concatenated(d)
    return call(*args, axis=kwargs["axis"])


@recipe("stack", dtype=joined)
def stacked(d):
    shape = d.shape(0, 3)
    arrays = [d.array(shape=shape) for _ in range(d.integer(1, 3))]
    if d.spoil():
        arrays.append(d.array(shape=(*shape, 2)))
    return call(d.one(arrays, tuple(arrays)), axis=d.axis(len(shape) + 1))


@recipe("hstack", dtype=joined)
def side_by_side(d):
    shape = d.shape(0, 4)
    return call(alike(d, shape, 0 if len(shape) < 2 else 1))


@recipe("vstack row_stack", dtype=joined, oracle=np.vstack)
def one_above_the_other(d):
    shape = d.shape(0, 4)
    return call(alike(d, shape, 0) if len(shape) > 1 else [d.array(shape=shape) for _ in "ab"])


@recipe("dstack", dtype=joined)
def in_depth(d):
    shape = d.shape(0, 4)
    return call(alike(d, shape, 2) if len(shape) > 2 else [d.array(shape=shape) for _ in "ab"])


@recipe("column_stack", dtype=joined)
def columns(d):
    n = d.integer(0, 4)
    return call([d.array(shape=d.one((n,), (n, 2))) for _ in range(d.integer(1, 3))])


@recipe("block", dtype=lambda args, kwargs, promote: promote(*[x for row in args[0] for x in row]))
def blocks(d):
    rows, widths = [d.integer(1, 3) for _ in "ab"], [d.integer(1, 3) for _ in "abc"]
    front = d.shape(0, 1)
    table = [[d.array(shape=(*front, h, w)) for w in widths] for h in rows]
    if d.spoil():
        table[1] = table[1][:2]
    return call(table)


@recipe("append", dtype=lambda args, kwargs, promote: promote(*args))
def appended(d):
    shape = d.shape(1)
    axis = d.axis(len(shape), none=True)
    place = axis if axis is not None and -len(shape) <= axis < len(shape) else 0
    arrays = alike(d, shape, place)
    return call(arrays[0], arrays[-1], axis=axis)


def cuts(d, n):
    if d.spoil():
        return n + 1 if n else 0
    if d.chance(0.5):
        return d.one(*[k for k in range(1, n + 1) if n % k == 0] or [1])
    return sorted(d.integer(-n, n + 2) for _ in range(d.integer(0, 3)))


@recipe("split array_split")
def pieces(d):
    x = d.array(shape=d.shape(1))
    axis = d.axis(x.ndim)
    return call(x, cuts(d, x.shape[axis] if -x.ndim <= axis < x.ndim else 1), axis=axis)


@recipe("vsplit hsplit dsplit")
def pieces_of_one_axis(d):
    x = d.array(shape=() if d.spoil() else d.shape(3))
    return call(x, d.one([1], [0, 2], 1, 2))


@recipe("unstack")
def unstacked(d):
    x = d.array(shape=d.shape(1))
    return call(x, axis=d.axis(x.ndim))


# --- indices and editing


def positions(d, n, shape, kinds="iu"):
    return d.array(kinds, shape, low=-n, high=max(n - 1, 0))


@recipe("take")
def taken(d):
    x = d.array(shape=(d.integer(250, 300),) if d.chance(0.2) else d.shape(1, empty=False))
    axis = d.axis(x.ndim, none=True)
    valid = axis is None or -x.ndim <= axis < x.ndim
    n = (x.size if axis is None else x.shape[axis]) if valid else 1
    if d.chance(0.4):
        index = d.array("iu", d.shape(0, 2), low=-9, high=9)
        return call(x, index, axis=axis, mode=d.one("clip", "wrap"))
    return call(x, positions(d, n, d.shape(0, 2)), axis=axis)


@recipe("take_along_axis")
def taken_along(d):
    x = d.array(shape=d.shape(1, empty=False))
    axis = d.axis(x.ndim)
    place = axis if -x.ndim <= axis < x.ndim else 0
    shape = [1 if d.chance(0.2) else n for n in x.shape]
    shape[place] = d.integer(0, 4)
    if d.spoil():
        shape.append(1)
    return call(x, positions(d, x.shape[place], tuple(shape)), axis=axis)


@recipe("put_along_axis", oracle=in_place(np.put_along_axis))
def put_along(d):
    x = d.array(shape=d.shape(1, empty=False))
    axis = d.axis(x.ndim)
    place = axis if -x.ndim <= axis < x.ndim else 0
    # Each place once: which of several values wins is open.
    index = np.argsort(d.rng.random(x.shape), place).astype(d.dtype("iu"))
    index = np.take(index, range(d.integer(1, x.shape[place])), place)
    return call(x, index, d.array(shape=index.shape, dtype=x.dtype), axis, inplace=False)


@recipe("put", oracle=in_place(np.put))
def put(d):
    x = d.array(shape=d.shape(1, empty=False))
    index = d.rng.permutation(x.size)[: d.integer(1, x.size)]
    index = np.where(d.rng.random(index.shape) < 0.3, index - x.size, index)
    index = index.astype(d.one(np.int16, np.int32))
    values = d.array(shape=(d.integer(1, 4),), dtype=x.dtype)
    return call(x, index, values, mode=d.one("clip", "wrap", None) or "wrap", inplace=False)


@recipe("place", oracle=in_place(np.place))
def placed(d):
    x = d.array(shape=d.shape(1, empty=False))
    return call(
        x, d.array("b", x.shape), d.array(shape=(d.integer(1, 4),), dtype=x.dtype), inplace=False
    )


@recipe("fill_diagonal", oracle=in_place(np.fill_diagonal))
def filled_diagonal(d):
    n = d.integer(1, 4)
    shape = d.one((n, n), (n, d.integer(1, 4)), (n,) * 3)
    x = d.array(shape=shape[:1] if d.spoil() else shape)
    values = d.one(2, d.array(shape=(d.integer(1, 4),), dtype=x.dtype))
    return call(x, values, inplace=False)


def inserted_at(x, index, values, axis=None):
    """NumPy's insert fails where the size of the array has no place in the dtype of the index."""
    index = index.astype(np.int64) if isinstance(index, np.ndarray) else index
    return np.insert(x, index, values, axis)


@recipe("insert", oracle=inserted_at)
def inserted(d):
    if d.chance(0.2):
        place = d.array("iu", d.one((), (1,), (3,)), low=0, high=127)
        return call(d.array(shape=(d.integer(130, 300),)), place, 1)
    x = d.array(shape=d.shape(1, 3))
    axis = d.axis(x.ndim, none=True)
    valid = axis is None or -x.ndim <= axis < x.ndim
    n = (x.size if axis is None else x.shape[axis]) if valid else 1
    index = d.one(d.integer(-n, n), [d.integer(-n, n) for _ in range(d.integer(1, 3))])
    if d.spoil():
        index = n + 1
    if isinstance(index, list) and d.chance(0.5) and valid:
        shape = (
            (len(index),)
            if axis is None
            else (*x.shape[: axis % x.ndim], len(index), *x.shape[axis % x.ndim + 1 :])
        )
        return call(x, index, d.array(shape=shape, dtype=x.dtype), axis=axis)
    if d.chance(0.3) and x.dtype.kind != "b":
        index = slice(d.integer(0, n), d.integer(0, n), d.one(None, 2))
    return call(x, index, 1, axis=axis)


@recipe("delete")
def deleted(d):
    x = d.array(shape=d.shape(1, 3, empty=False))
    axis = d.axis(x.ndim, none=True)
    valid = axis is None or -x.ndim <= axis < x.ndim
    n = (x.size if axis is None else x.shape[axis]) if valid else 1
    some = [d.integer(-n, n - 1) for _ in range(d.integer(0, 3))]
    index = d.one(
        d.integer(-n, n - 1),
        np.array(some, d.dtype("i")),
        slice(d.integer(-n, n), d.integer(-n, n), d.one(1, 2, -1, None)),
        d.array("b", (n,)),
    )
    return call(x, d.one(n, -n - 1) if d.spoil() else index, axis=axis)


@recipe("trim_zeros")
def trimmed(d):
    x = d.array("iuf", d.shape(1, 3), low=0, high=1)
    trim = d.options(trim=lambda: d.one("f", "b", "fb"))
    return call(x, **trim, **d.options(axis=lambda: d.axis(x.ndim)))


@recipe("pad")
def padded(d):
    x = d.array("iuf", d.shape(1, 3, empty=False))
    widths = tuple((d.integer(0, 4), d.integer(0, 4)) for _ in x.shape)
    width = d.one(widths, d.integer(0, 5), (1, 2))
    if d.spoil():
        return call(x, d.one(-1, (*widths, (1, 1), (1, 1)), ((1, 2, 3),)))
    if d.spoil():
        return call(x, 1, mode="nowhere")
    modes = "constant edge reflect symmetric wrap maximum minimum mean median linear_ramp"
    mode = d.one(*modes.split())
    kwargs = {}
    if mode == "constant":
        kwargs = d.options(constant_values=lambda: d.one(3, (1, 2)))
    elif mode in ("reflect", "symmetric"):
        kwargs = d.options(
            reflect_type=lambda: d.one("even", "odd") if x.dtype.kind == "f" else "even"
        )
    elif mode == "linear_ramp":
        kwargs = d.options(end_values=lambda: d.one(2, (1, 3)))
    elif mode in ("maximum", "minimum", "mean", "median"):
        kwargs = d.options(stat_length=lambda: d.integer(1, 3))
    return call(x, width, mode=mode, **kwargs)


@recipe("diff")
def differences(d):
    x = d.array("biufc", d.shape(1))
    kwargs = d.options(n=lambda: d.integer(0, 3), axis=lambda: d.axis(x.ndim))
    if d.spoil():
        return call(x, -1)
    if not -x.ndim <= kwargs.get("axis", -1) < x.ndim:
        kwargs["n"] = 1  # NumPy does not look at the axis of no difference
    if d.chance(0.3) and -x.ndim <= kwargs.get("axis", -1) < x.ndim and x.dtype.kind != "b":
        shape = list(x.shape)
        shape[kwargs.get("axis", -1)] = d.integer(1, 2)
        kwargs[d.one("prepend", "append")] = d.array(shape=tuple(shape), dtype=x.dtype)
    return call(x, **kwargs)


@recipe("ediff1d")
def differences_of_flat(d):
    x = d.array("b" if d.spoil() else "iuf", d.shape(0, 3))
    ends = {name: d.array("i", d.shape(0, 1), dtype=x.dtype) for name in ("to_end", "to_begin")}
    return call(x, **{name: end for name, end in ends.items() if d.chance(0.4)})


@recipe("gradient", cast="inexact", dtype=lambda args, kwargs, promote: inexact(args[0].dtype))
def slopes(d):
    x = d.array("iuf", tuple(d.integer(2, 5) for _ in range(d.integer(1, 3))))
    if d.spoil():
        return call(x[:1] if d.chance(0.5) else x, *d.one((), (1.0,) * (x.ndim + 2)))
    if d.chance(0.5):
        axis = d.axis(x.ndim)
        step = d.one((), (2.0,))
        if d.chance(0.5) and -x.ndim <= axis < x.ndim:
            at = np.cumsum(d.rng.integers(1, 4, x.shape[axis]))
            step = (at.astype(d.one(np.float32, np.int32, np.uint8)),)
        return call(x, *step, axis=axis)
    return call(x, *d.one((), (2.0,), tuple(0.5 + k for k in range(x.ndim))))


def inexact(dtype):
    return dtype if dtype.kind in "fcV" else np.float64 if dtype.itemsize == 8 else np.float32


@recipe("packbits")
def packed(d):
    x = d.array("biu", d.shape(1))
    kwargs = d.options(bitorder=lambda: d.one("big", "little"))
    return call(x, axis=d.axis(x.ndim, none=True), **kwargs)


@recipe("unpackbits")
def unpacked(d):
    x = d.array("u", d.shape(1), low=0, high=255, dtype=np.int16 if d.spoil() else np.uint8)
    kwargs = d.options(bitorder=lambda: d.one("big", "little"), count=lambda: d.integer(-3, 20))
    if x.size == 0:
        kwargs.pop("count", None)  # NumPy's answer is memory that nobody wrote
    return call(x, axis=d.axis(x.ndim, none=True), **kwargs)


def sizes_of_axes(d):
    return (*d.shape(0, 2, empty=False), d.one(1, 3, 200))


def places(args, kwargs, promote):
    """The dtype of the indices, unless it cannot hold those of some axis."""
    index, dims = args
    return index.dtype if max(dims) - 1 <= np.iinfo(index.dtype).max else np.int32


@recipe("unravel_index", dtype=places)
def unravelled(d):
    dims = sizes_of_axes(d)
    return call(d.array("iu", d.shape(0, 2), low=0, high=math.prod(dims) - 1), dims)


def flat_place(args, kwargs, promote):
    return promote(*(np.zeros(0, x.dtype if x.itemsize >= 4 else np.int32) for x in args[0]))


@recipe("ravel_multi_index", dtype=flat_place)
def ravelled(d):
    dims = sizes_of_axes(d)
    shape = d.shape(0, 2)
    mode = d.one("clip", "wrap", "raise")
    low, high = (0, 0) if mode == "raise" else (-4, 4)
    index = tuple(d.array("iu", shape, low=low, high=high or n - 1) for n in dims)
    return call(index, dims, mode=mode, **d.options(order=lambda: d.one("C", "F")))


@recipe("apply_along_axis", oracle=lambda f, axis, x: np.apply_along_axis(f, axis, x))
def along(d):
    x = d.array(shape=d.shape(1, empty=False))
    return call(d.one(double, first, square), d.axis(x.ndim), x)


def double(v):
    return v + v


def first(v):
    return v[0]


def square(v):
    return v[:, None] * v[:2]


@recipe("apply_over_axes")
def over(d):
    x = d.array("iuf", d.shape(1, empty=False))
    axes = [a for a in d.several(x.ndim) if a < x.ndim]  # NumPy does not look whether there is one
    return call(largest, x, d.one(*axes, 0) if d.chance(0.3) else tuple(axes))


def largest(x, axis):
    return x.max(axis)
