"""How reductions, running sums, statistics, sorting and searching are called."""

from __future__ import annotations

import numpy as np

from tests.numpy.drawing import ANY, REAL, call, in_place, recipe


def summed(args, kwargs, promote):
    """The dtype of a sum: narrow integers are counted in 32 bits (64 under enable_x64)."""
    if kwargs.get("dtype") is not None:
        return kwargs["dtype"]
    dtype = args[0].dtype
    if dtype.kind in "biu":
        return np.uint64 if dtype.kind == "u" else np.int64
    return dtype


def mean_like(args, kwargs, promote):
    dtype = np.dtype(kwargs.get("dtype") or args[0].dtype)
    return dtype if dtype.kind in "fcV" else np.float64 if dtype.itemsize == 8 else np.float32


def spread_like(args, kwargs, promote):
    dtype = np.dtype(mean_like(args, kwargs, promote))
    return {"F": np.float32, "D": np.float64}.get(dtype.char, dtype)


def over(d, x, **more):
    """Axis, keepdims and what else is drawn of a reduction's keyword arguments."""
    return {"axis": d.axes(x.ndim), **d.options(keepdims=lambda: d.chance(0.7), **more)}


def mask(d, x):
    shape = tuple(1 if d.chance(0.2) else n for n in x.shape)
    if x.ndim and x.shape[-1] > 1 and d.spoil():
        shape = (*shape[:-1], 7)
    return d.array("b", shape[d.integer(0, len(shape)) :] if d.chance(0.3) else shape)


def another(x):
    return lambda: {"b": np.int32, "i": np.float32, "u": np.int32, "f": np.float32}.get(
        x.dtype.kind, x.dtype.type
    )


@recipe("sum prod", cast="wide", dtype=summed, slack=3)
def sums(d):
    x = d.array(ANY, low=-2, high=2)
    options = over(d, x, where=lambda: mask(d, x), initial=lambda: d.one(2, 1))
    return call(x, **options, **d.options(dtype=another(x)))


@recipe("nansum nanprod", cast="wide", dtype=summed, slack=3)
def sums_without_nan(d):
    (x,), options = sums(d)
    return call(d.with_nan(x), **options)


@recipe("mean", cast="wide", dtype=mean_like, slack=3)
def means(d):
    x = d.array(ANY)
    return call(x, **over(d, x, where=lambda: mask(d, x), dtype=floating(x)))


def floating(x):
    return lambda: {"c": x.dtype.type, "f": np.float64, "V": np.float32}.get(
        x.dtype.kind, np.float32
    )


@recipe("nanmean", cast="wide", dtype=mean_like, slack=3)
def means_without_nan(d):
    (x,), options = means(d)
    return call(d.with_nan(x), **options)


@recipe("var std", cast="wide", dtype=spread_like, slack=10)
def spreads(d):
    x = d.array(ANY)
    options = over(d, x, where=lambda: mask(d, x), dtype=floating(x))
    if x.dtype.kind == "c":
        options.pop("dtype", None)
    return call(x, **options, **d.one({}, {"ddof": 1}, {"ddof": 0.5}, {"correction": 1}))


@recipe("nanvar nanstd", cast="wide", dtype=spread_like, slack=10)
def spreads_without_nan(d):
    x = d.with_nan(d.array(ANY))
    options = over(d, x, where=lambda: mask(d, x))
    return call(x, **options, **d.options(ddof=lambda: 1))


@recipe("max amax min amin")
def extremes(d):
    x = d.array(ANY)
    options = over(d, x)
    if d.chance(0.4):
        options["initial"] = d.one(1, 0)
        options |= d.options(where=lambda: mask(d, x))
    return call(d.with_nan(x) if d.chance(0.2) else x, **options)


@recipe("nanmax nanmin")
def extremes_without_nan(d):
    (x,), options = extremes(d)
    return call(d.with_nan(x), **options)


@recipe("add.reduce multiply.reduce", cast="wide", dtype=summed, slack=3)
def reduced(d):
    return reduced_along(d, d.array("biufc", d.shape(1), low=-2, high=2))


@recipe("maximum.reduce minimum.reduce")
def extreme(d):
    return reduced_along(d, d.array("iuf", d.shape(1, empty=False)))


def reduced_along(d, x):
    if d.chance(0.3):
        return call(x, d.axis(x.ndim), None, None, True)
    return call(x, **d.options(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5)))


@recipe("bitwise_and.reduce bitwise_or.reduce bitwise_xor.reduce", dtype=1)
def reduced_bits(d):
    x = d.array("f" if d.spoil() else "biu", d.shape(1))
    first = d.array(shape=(), dtype=x.dtype, low=0)[()]
    options = d.options(where=lambda: mask(d, x), initial=lambda: first)
    return call(x, axis=d.axes(x.ndim), **options)


@recipe("logical_and.reduce logical_or.reduce logical_xor.reduce", dtype=np.bool_)
def reduced_logic(d):
    return reduced_along(d, d.array("bif", d.shape(1)))


@recipe("logical_and.accumulate logical_or.accumulate logical_xor.accumulate", dtype=np.bool_)
def accumulated_logic(d):
    return accumulated(d, "bif")


@recipe("subtract.reduce", dtype=1, slack=3)
@recipe("logaddexp.reduce logaddexp2.reduce", cast="inexact", dtype="inexact", slack=3)
def reduced_one_by_one(d):
    x = d.array("if", d.shape(1, empty=False))
    return call(x, axis=d.axis(x.ndim, none=x.ndim == 1), **d.options(keepdims=lambda: True))


@recipe("bitwise_and.accumulate bitwise_or.accumulate bitwise_xor.accumulate", dtype=1)
def accumulated_bits(d):
    return accumulated(d, "biu")


@recipe("logaddexp.accumulate logaddexp2.accumulate", cast="inexact", dtype="inexact", slack=3)
@recipe("maximum.accumulate minimum.accumulate add.accumulate multiply.accumulate", dtype=1)
@recipe("subtract.accumulate", dtype=1, slack=3)
def accumulated(d, kinds="f"):
    x = d.array(kinds, d.shape(1, empty=False))
    return call(x, **d.options(axis=lambda: d.axis(x.ndim)))


@recipe("add.outer subtract.outer maximum.outer power.outer", dtype=2)
def outer(d):
    return call(d.array("f", d.shape(0, 2)), d.array("f", d.shape(0, 2)))


def changed(d):
    x = d.array("if", d.shape(1, empty=False), low=-2, high=2)
    n = x.shape[0]
    index = d.array("i", d.shape(1, 1), low=-n, high=n - 1)
    return call(
        x, index, d.array("f", index.shape[:1] + x.shape[1:], dtype=x.dtype, low=1), inplace=False
    )


for name in ("add", "subtract", "multiply", "maximum", "minimum"):
    recipe(name + ".at", oracle=in_place(getattr(np, name).at), dtype=1, slack=3)(changed)


@recipe("any all", dtype=np.bool_)
def logic(d):
    x = d.array(ANY)
    return call(x, **over(d, x, where=lambda: mask(d, x)))


@recipe("count_nonzero", dtype="int")
def counts(d):
    x = d.array(ANY)
    return call(x, **over(d, x))


@recipe("ptp")
def ranges(d):
    x = d.array("iuhfc")
    return call(x, **over(d, x))


@recipe("argmax argmin", dtype="int")
def positions(d):
    x = d.array(REAL)
    options = d.options(axis=lambda: d.axis(x.ndim, none=True), keepdims=lambda: d.chance(0.7))
    return call(d.with_nan(x) if d.chance(0.3) else x, **options)


def position_or_none(function):
    """Where there is no number, JAX's functions of positions give -1, NumPy's refuse."""

    def positions(x, axis=None, keepdims=False):
        lost = np.isnan(x).all(axis, keepdims=keepdims)
        whole = np.isnan(x).all(axis, keepdims=True) if axis is not None else np.isnan(x).all()
        found = function(np.where(whole, 0, x), axis, keepdims=keepdims)
        return np.where(lost, -1, found)

    return positions


@recipe("nanargmax", oracle=position_or_none(np.nanargmax), cast="wide", dtype="int")
@recipe("nanargmin", oracle=position_or_none(np.nanargmin), cast="wide", dtype="int")
def positions_without_nan(d):
    return positions(d)


def kept(args, kwargs, promote):
    """The dtype of a running sum: that of what is summed, except of truth values."""
    dtype = np.dtype(kwargs.get("dtype") or args[0].dtype)
    return np.int64 if dtype.kind == "b" else dtype


@recipe("cumsum cumprod", cast="wide", dtype=kept, slack=3)
def running(d):
    x = d.array(ANY, low=-2, high=2)
    options = d.options(axis=lambda: d.axis(x.ndim, none=True), dtype=another(x))
    return call(x, **options)


@recipe("nancumsum nancumprod", cast="wide", dtype=kept, slack=3)
def running_without_nan(d):
    (x,), options = running(d)
    return call(d.with_nan(x), **options)


@recipe("cumulative_sum cumulative_prod", cast="wide", dtype=summed, slack=3)
def running_with_start(d):
    x = d.array(ANY, d.shape(1))
    axis = d.axis(x.ndim)
    axis = {} if x.ndim == 1 and axis in (0, -1) and d.chance(0.5) else {"axis": axis}
    return call(x, **axis, **d.options(include_initial=lambda: d.chance(0.7)))


@recipe("median", cast="inexact", dtype="inexact")
def medians(d):
    x = d.array("iuhf", d.shape(empty=False))
    return call(d.with_nan(x) if d.chance(0.2) else x, **over(d, x))


@recipe("nanmedian", cast="inexact", dtype="inexact")
def medians_without_nan(d):
    x = d.with_nan(d.array("iuhf", d.shape(empty=False)))
    return call(x, **over(d, x))


METHODS = "linear lower higher midpoint nearest inverted_cdf".split()


def quantiles_of(d, x, top):
    q = d.array("f", d.one((), (), (3,)), low=0, high=1, dtype=np.float32) * top
    if d.spoil():
        # NumPy does not look at the method where a NaN is the answer anyway.
        unknown = {"axis": x.ndim} if np.isnan(x).any() else {"method": "middle"}
        return call(x, q, **d.one({"axis": x.ndim}, unknown))
    options = over(d, x, method=lambda: d.one(*METHODS))
    if options.get("method") == "inverted_cdf" and d.chance(0.6):
        axis = options["axis"]
        alone = axis is not None and d.chance(0.5)
        axes = (axis,) if isinstance(axis, int) else axis
        valid = axes is not None and all(-x.ndim <= a < x.ndim for a in axes)
        shape = tuple(x.shape[a] for a in axes) if alone and valid else x.shape
        if np.isnan(x).any():
            shape = x.shape  # NumPy takes those of the axis from rows without their NaN
        options["weights"] = d.array("f", shape, dtype=np.float32, low=1)
    if options.get("method") in ("nearest", "inverted_cdf"):
        q = np.float32(0.37 * top)  # in the middle of two, JAX takes the lower, NumPy the even one
    return call(x, q.astype(np.float32), **options)


@recipe("quantile", cast="wide", dtype=mean_like, slack=5)
def quantiles(d):
    x = d.array("iuf", d.shape(empty=False))
    return quantiles_of(d, d.with_nan(x) if d.chance(0.2) else x, 1)


@recipe("percentile", cast="wide", dtype=mean_like, slack=5)
def percentiles(d):
    x = d.array("iuf", d.shape(empty=False))
    return quantiles_of(d, d.with_nan(x) if d.chance(0.2) else x, 100)


@recipe("nanquantile", cast="wide", dtype=mean_like, slack=5)
def quantiles_without_nan(d):
    return quantiles_of(d, d.with_nan(d.array("f", d.shape(empty=False))), 1)


@recipe("nanpercentile", cast="wide", dtype=mean_like, slack=5)
def percentiles_without_nan(d):
    return quantiles_of(d, d.with_nan(d.array("f", d.shape(empty=False))), 100)


@recipe("average", cast="inexact", dtype="inexact", slack=3)
def averages(d):
    x = d.array("iufc", d.shape(empty=False))
    if d.chance(0.2):
        return call(x, axis=d.several(x.ndim))
    axis = d.axis(x.ndim, none=True) if x.ndim else None
    kwargs = d.options(keepdims=lambda: d.chance(0.7))
    if d.chance(0.6):
        one = axis is not None and -x.ndim <= axis < x.ndim and d.chance(0.6)
        shape = (x.shape[axis],) if one else x.shape
        weights = d.array("iuhf", (*shape, 2) if d.spoil() else shape, low=1, high=5)
        return call(x, axis, weights, **kwargs, **d.options(returned=lambda: d.chance(0.7)))
    return call(x, axis, **kwargs)


@recipe("trapezoid", cast="inexact", dtype="inexact", slack=3)
def integrals(d):
    y = d.array("iufc", d.shape(1, empty=False))
    axis = d.axis(y.ndim)
    if d.chance(0.6) and -y.ndim <= axis < y.ndim:
        x = d.array("f", (y.shape[axis],) if d.chance(0.5) else y.shape)
        return call(y, x, axis=axis)
    return call(y, axis=axis, **d.options(dx=lambda: d.one(2.0, 0.5)))


@recipe("corrcoef", cast="inexact", dtype="inexact", slack=20)
def covariances(d):
    x = d.array("ifc", d.one((5,), (3, 5), (2, 4), (1, 6)))
    if x.shape[0] == 1 or d.chance(0.6):
        return call(x, **d.options(rowvar=lambda: d.chance(0.5)))
    y = d.array("f", (2, 3) if d.spoil() else x.shape)
    return call(x, y, **d.options(rowvar=lambda: d.chance(0.5)))


@recipe("cov", cast="inexact", dtype="inexact", slack=20)
def weighted_covariances(d):
    args, kwargs = covariances(d)
    n = args[0].shape[-1 if kwargs.get("rowvar", True) or args[0].ndim == 1 else 0]
    weights = d.options(
        fweights=lambda: d.array("iu", (n,), low=1),
        aweights=lambda: d.array("iuf", (n,), low=1),
    )
    return call(*args, **kwargs, **weights, **d.one({}, {"bias": True}, {"ddof": 0}))


# --- sorting and searching


@recipe("sort")
def sorting(d):
    x = d.array(ANY, d.shape(1))
    kwargs = d.options(axis=lambda: d.axis(x.ndim, none=True))
    if d.chance(0.3):
        kwargs["stable"] = True
    return call(d.with_nan(x) if x.dtype.kind == "f" and d.chance(0.3) else x, **kwargs)


@recipe("argsort", dtype="int")
def order(d):
    # JAX's is stable unless told otherwise.
    args, kwargs = sorting(d)
    return call(*args, **{**kwargs, "stable": True})


def sort_columns(got, args, kwargs):
    """Partitions leave the order of each side open: sides are compared sorted."""
    kth = args[1]
    axis = kwargs.get("axis", -1)
    got = np.moveaxis(np.asarray(got), axis, -1)
    k = kth if kth >= 0 else kth + got.shape[-1]
    parts = [np.sort(got[..., :k]), got[..., k : k + 1], np.sort(got[..., k + 1 :])]
    return np.concatenate(parts, -1)


def partitioned(d):
    x = d.array(shape=d.shape(1, empty=False), dtype=d.one(np.int8, np.float32))
    axis = d.axis(x.ndim)
    n = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return call(x, d.one(n, -n - 1) if d.spoil() else d.integer(-n, n - 1), axis=axis)


recipe("partition", compare=sort_columns)(partitioned)


recipe(
    "argpartition",
    compare=lambda got, args, kwargs: sort_columns(
        np.take_along_axis(args[0], np.asarray(got), kwargs["axis"]), args, kwargs
    ),
    dtype=lambda args, kwargs, promote: args[0].dtype,
)(partitioned)


@recipe("lexsort", dtype="int")
def keyed(d):
    keys = d.array("iuf", (d.integer(1, 3), *d.shape(1, 2)))
    return call(
        tuple(keys) if d.chance(0.5) else keys, **d.options(axis=lambda: d.axis(keys.ndim - 1))
    )


def as_complex(args, kwargs, promote):
    wide = args[0].dtype.name in ("int64", "float64", "complex128")
    return np.complex128 if wide else np.complex64


@recipe("sort_complex", dtype=as_complex)
def sorted_complex(d):
    return call(d.array("iufc", d.shape(1)))


# Positions are int32, also where enable_x64 is on, unless the array is longer.
@recipe("searchsorted", dtype=np.int32)
def searched(d):
    if d.spoil():
        return call(d.array("f", d.one((2, 2), ())), 1.0)
    a = d.array("iuf", d.shape(1, 1))
    a = d.with_nan(a) if d.chance(0.2) else a
    v = d.array("iuf", d.shape(0, 2), dtype=a.dtype if d.chance(0.6) else None)
    kwargs = d.options(side=lambda: d.one("left", "right"))
    if d.chance(0.3):
        return call(a, v, sorter=np.argsort(a, kind="stable"), **kwargs)
    return call(np.sort(a), v, **kwargs)


@recipe("digitize", dtype=np.int32)
def digits(d):
    bins = np.sort(d.array("iuf", d.shape(1, 1, empty=False)))
    x = d.array("iuf", dtype=bins.dtype if d.chance(0.6) else None)
    return call(x, bins[::-1].copy() if d.chance(0.3) else bins, **d.options(right=lambda: True))


@recipe("interp", cast="inexact", dtype="inexact")
def interpolated(d):
    n = d.integer(2, 5)
    dtype = d.one(np.float32, np.int32, np.uint8)
    xp = np.cumsum(d.array("f", (n,), low=1, high=3, dtype=dtype), dtype=dtype)
    options = d.one({}, {"left": 7.0}, {"left": 3.0, "right": 9.0}, {"period": 7.3})
    x = d.array("if", dtype=d.one(np.int32, np.int8, np.uint8, np.float32), low=-2, high=9)
    fp = d.array("f", (n,), dtype=d.one(np.float32, np.float32, np.int16))
    return call(x, xp - 3 if dtype != np.uint8 else xp, fp, **options)


@recipe("nonzero argwhere flatnonzero", dtype="int")
def found(d):
    return call(d.array(ANY, d.shape(1 if d.chance(0.9) else 0)))


@recipe("extract")
def extracted(d):
    x = d.array(ANY, d.shape(1))
    return call(d.array("bi", x.shape), x)


@recipe("compress")
def compressed(d):
    x = d.array(ANY, d.shape(1, empty=False))
    axis = d.axis(x.ndim, none=True)
    valid = axis is None or -x.ndim <= axis < x.ndim
    n = (x.size if axis is None else x.shape[axis]) if valid else 1
    return call(d.array("b", (d.integer(0, n),)), x, axis=axis)


@recipe("select", dtype=lambda args, kwargs, promote: promote(*args[1], kwargs.get("default", 0)))
def selected(d):
    n = d.integer(1, 3)
    shapes = d.broadcasting(2 * n)
    conditions = [d.array("b", s) for s in shapes[:n]]
    choices = [d.array(ANY, s) for s in shapes[n:]]
    return call(conditions, choices, **d.options(default=lambda: d.one(2, 7)))


@recipe("choose")
def picked(d):
    n = d.integer(1, 3)
    shapes = d.broadcasting(n + 1)
    dtype = d.dtype()
    mode = d.one("clip", "wrap", "raise")
    low, high = (0, n - 1) if mode == "raise" else (-3, 5)
    index = d.array("iu", shapes[0], low=low, high=high)
    return call(index, [d.array(ANY, s, dtype=dtype) for s in shapes[1:]], mode=mode)


@recipe("piecewise")
def in_pieces(d):
    x = d.array("iuf", d.shape(1))
    conditions = [d.array("b", x.shape) for _ in range(d.integer(1, 3))]
    values = [d.integer(-3, 3) for _ in range(len(conditions) + d.one(0, 1))]
    return call(x, conditions, [abs(v) for v in values] if x.dtype.kind == "u" else values)


# --- sets and counts


@recipe("unique_values", oracle=np.unique)
def different(d):
    return call(d.array("biuf"))


@recipe("unique")
def unique_parts(d):
    x = d.array("biuf", d.shape(1, 3))
    names = ("return_index", "return_inverse", "return_counts")
    kwargs = {name: True for name in names if d.chance(0.5)}
    if d.chance(0.4) and all(x.shape):
        kwargs["axis"] = d.axis(x.ndim)
    elif x.dtype.kind == "f" and d.chance(0.5):
        return call(d.with_nan(x), **kwargs, **d.options(equal_nan=lambda: d.chance(0.5)))
    return call(x, **kwargs)


@recipe("unique_all unique_counts unique_inverse")
def different_with_places(d):
    return call(d.array("biuf"))


@recipe("union1d", cast="common", dtype="common")
def sets(d):
    same = d.dtype("biuf") if d.chance(0.6) else None
    return call(*(d.array("biuf", d.shape(0, 2), dtype=same) for _ in range(2)))


@recipe("setxor1d", cast="common", dtype="common")
@recipe("setdiff1d", dtype=1)
def different_sets(d):
    if d.chance(0.3):
        return call(*(np.unique(x) for x in sets(d)[0]), assume_unique=True)
    return sets(d)


@recipe(
    "intersect1d",
    cast="common",
    dtype=lambda args, kwargs, promote: [promote(*args), np.int64, np.int64],
)
def common_parts(d):
    return call(*different_sets(d)[0], **d.options(return_indices=lambda: True))


@recipe("isin", dtype=np.bool_)
def members(d):
    x = d.array("biuf")
    return call(x, d.array("biuf", d.shape(0, 2)), **d.options(invert=lambda: True))


@recipe("bincount", dtype=lambda args, kwargs, promote: counted(kwargs))
def counted_values(d):
    x = d.array("f" if d.spoil() else "biu", d.shape(1, 1), low=0, high=6)
    options = d.options(weights=lambda: d.array("if", x.shape), minlength=lambda: d.integer(0, 9))
    return call(x, **options)


def counted(kwargs):
    return kwargs["weights"].dtype if "weights" in kwargs else np.int64


def scattered(d, shape):
    """Numbers that, if there are two, do not lie on edges of bins: these are rounded."""
    return d.rng.normal(size=shape).astype(np.float32) * 2


def edges(d):
    if d.spoil():
        return 0
    if d.chance(0.4):
        return np.float32(np.cumsum(d.rng.integers(1, 4, d.integer(2, 5)) / 2) - 2.5)
    return d.integer(1, 6)


@recipe(
    "histogram histogram_bin_edges",
    cast="wide",
    dtype=np.float32,
    slack=3,
)
def histograms(d):
    x = scattered(d, (d.one(0, 2, 3, 5), *d.shape(0, 2)))
    bins = edges(d)
    if isinstance(bins, np.ndarray):
        x = d.array(shape=x.shape, dtype=d.one(np.bool_, np.int8, np.uint8, np.float32))
    kwargs = {"range": (-3.25, 2.9)} if isinstance(bins, int) and d.chance(0.5) else {}
    kwargs |= d.options(weights=lambda: d.array("if", x.shape, dtype=np.float32, low=1))
    return call(x, bins, **kwargs)


def counted_in_bins(args, kwargs, promote):
    """Counts are whole numbers, unless they are weighted or divided."""
    return ["int" if not kwargs else np.float32, *[np.float32] * 3]


@recipe("histogram2d", cast="wide", dtype=counted_in_bins, slack=3)
def histograms_of_pairs(d):
    n = d.integer(2, 12)
    x, y = (scattered(d, (n,)) for _ in range(2))
    return call(x, y, d.one(d.integer(1, 6), [edges(d), edges(d)]), **weighted(d, n))


@recipe("histogramdd", cast="wide", dtype=counted_in_bins, slack=3)
def histograms_of_many(d):
    n, k = d.integer(2, 12), d.integer(1, 3)
    return call(scattered(d, (n, k)), [edges(d) for _ in range(k)], **weighted(d, n))


def weighted(d, n):
    return d.one({}, {"weights": d.array("f", (n,), dtype=np.float32)}, {"density": True})
