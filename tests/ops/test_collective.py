"""Every collective against a loop over positions in NumPy, in every form that a map can take."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import plait as jax
from plait.config import override
from plait.core import dtypes, tree
from plait.core.dtypes import KEY_DTYPE
from plait.core.sample import booleans, complex_, integers, real
from plait.core.types import ArrayType
from plait.errors import ArgumentError, AxisNameError, DtypeError, ShapeError
from plait.interpreters.batch import Frame, add_axis, batch
from plait.ops import collective as lax
from plait.ops.arithmetic import add, mul
from plait.ops.axes import reduce_sum
from plait.ops.bits import random_unwrap_p, random_wrap_p

N = 4
GROUPS = [[0, 2], [3, 1]]
FORMS = ("lanes", "split 2x2", "split 4x1", "split 1x4", "gang", "gang with lanes")


# --- the forms: each runs f at N positions of the axis "i" and gives the results as rows


def spread(form: str, f: Any, *xs: Any, mapped: Any = True) -> Any:
    """The results of f at all positions, stacked. Operands hold one row for each position, or, not
    mapped, one value for all; `mapped` is one flag or one for each operand."""
    mapped = [mapped] * len(xs) if isinstance(mapped, bool) else list(mapped)
    if form == "lanes":
        return _host(jax.jit(lambda *xs: _frame(f, xs, mapped, Frame("i", N)))(*xs))
    if form.startswith("split"):
        devices, lanes = map(int, form.split()[1].split("x"))
        xs = [
            np.reshape(x, (devices, lanes, *np.shape(x)[1:])) if m else x
            for x, m in zip(xs, mapped, strict=True)
        ]

        def device(*xs: Any) -> Any:
            return _frame(f, xs, mapped, Frame("i", lanes, ("i.devices", devices)))

        run = jax.jit(lambda *xs: _frame(device, xs, mapped, Frame("i.devices", devices)))
        return tree.map(lambda y: y.reshape(N, *y.shape[2:]), _host(run(*xs)))
    count = min(N, jax.device_count()) if form == "gang" else 2
    axes = tuple(0 if m else None for m in mapped)
    with override(pmap_form="gang"):
        devices = jax.devices()[:count]
        return _host(jax.pmap(f, "i", in_axes=axes, devices=devices, axis_size=N)(*xs))


def _host(results: Any) -> Any:
    return tree.map(np.asarray, results)


def _frame(f: Any, xs: Any, mapped: Any, frame: Frame) -> Any:
    shape: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        leaves, structure = tree.flatten(f(*xs))
        shape.append(structure)
        return leaves

    ys, marks = batch(flat, xs, mapped, frame)
    rows = [y if m else add_axis(y, frame.size) for y, m in zip(ys, marks, strict=True)]
    return tree.unflatten(shape[0], rows)


# --- the meaning, position by position


def _teams(groups: Any) -> list[tuple[list[int], int]]:
    """For each position, those it communicates with and its place among them."""
    groups = groups or [list(range(N))]
    where = {p: (g, k) for g in groups for k, p in enumerate(g) for g in [g]}
    return [where[p] for p in range(N)]


def _reduced(fold: Any) -> Any:
    def meaning(rows: Any, groups: Any = None) -> Any:
        return [fold(np.stack([rows[q] for q in team])) for team, _ in _teams(groups)]

    return meaning


def _gathered(rows: Any, groups: Any = None, axis: int = 0, tiled: bool = False) -> Any:
    join = np.concatenate if tiled else np.stack
    return [join([rows[q] for q in team], axis=axis) for team, _ in _teams(groups)]


def _scattered(rows: Any, groups: Any = None, axis: int = 0, tiled: bool = False) -> Any:
    out = []
    for team, place in _teams(groups):
        total = np.sum([rows[q] for q in team], axis=0)
        parts = np.split(total, len(team), axis)
        out.append(parts[place] if tiled else parts[place].squeeze(axis))
    return out


def _exchanged(rows: Any, split: int, concat: int, groups: Any = None, tiled: bool = False) -> Any:
    out = []
    for team, place in _teams(groups):
        parts = [np.split(rows[q], len(team), split)[place] for q in team]
        if tiled:
            out.append(np.concatenate(parts, concat))
        else:
            out.append(np.stack([p.squeeze(split) for p in parts], concat))
    return out


def _permuted(rows: Any, perm: Any) -> Any:
    out = [np.zeros_like(rows[0]) for _ in range(N)]
    for source, destination in perm:
        out[destination] = rows[source]
    return out


RING = [(k, (k + 1) % N) for k in range(N)]
PERMS = {
    "ring": RING,
    "back": [(d, s) for s, d in RING],
    "swap": [(k, k ^ 1) for k in range(N)],
    "cross": [(0, 3), (1, 0), (2, 2), (3, 1)],
    "shift": RING[:-1],
    "one": [(0, 1)],
    "partial": [(3, 0), (1, 3)],
    "same": [(k, k) for k in range(N)],
    "none": [],
}

# name: (function, meaning, the shape of one row)
CASES: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "psum": (lambda x: lax.psum(x, "i"), _reduced(lambda a: a.sum(0)), (3,)),
    "psum in groups": (
        lambda x: lax.psum(x, "i", axis_index_groups=GROUPS),
        lambda rows: _reduced(lambda a: a.sum(0))(rows, GROUPS),
        (2, 3),
    ),
    "pmean": (lambda x: lax.pmean(x, "i"), _reduced(lambda a: a.mean(0)), (3,)),
    "pmean in groups": (
        lambda x: lax.pmean(x, ("i",), axis_index_groups=GROUPS),
        lambda rows: _reduced(lambda a: a.mean(0))(rows, GROUPS),
        (3,),
    ),
    "all_gather": (lambda x: lax.all_gather(x, "i"), _gathered, (2, 3)),
    "all_gather of a scalar": (lambda x: lax.all_gather(x, "i"), _gathered, ()),
    "all_gather at the end": (
        lambda x: lax.all_gather(x, "i", axis=-1),
        lambda rows: _gathered(rows, axis=2),
        (2, 3),
    ),
    "all_gather tiled": (
        lambda x: lax.all_gather(x, "i", axis=-1, tiled=True),
        lambda rows: _gathered(rows, axis=1, tiled=True),
        (2, 3),
    ),
    "all_gather in groups": (
        lambda x: lax.all_gather(x, "i", axis=1, axis_index_groups=GROUPS),
        lambda rows: _gathered(rows, GROUPS, axis=1),
        (2, 3),
    ),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "i"), _scattered, (N, 3)),
    "psum_scatter at the end": (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=-1),
        lambda rows: _scattered(rows, axis=1),
        (2, N),
    ),
    "psum_scatter tiled": (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
        lambda rows: _scattered(rows, axis=1, tiled=True),
        (2, 3 * N),
    ),
    "psum_scatter in groups": (
        lambda x: lax.psum_scatter(x, "i", axis_index_groups=GROUPS),
        lambda rows: _scattered(rows, GROUPS),
        (2, 3),
    ),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "i", 0, 0),
        lambda rows: _exchanged(rows, 0, 0),
        (N, 3),
    ),
    "all_to_all to another axis": (
        lambda x: lax.all_to_all(x, "i", 0, -1),
        lambda rows: _exchanged(rows, 0, 2),
        (N, 2, 3),
    ),
    "all_to_all tiled": (
        lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
        lambda rows: _exchanged(rows, 1, 0, tiled=True),
        (3, 2 * N),
    ),
    "all_to_all tiled in place": (
        lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
        lambda rows: _exchanged(rows, 0, 0, tiled=True),
        (2 * N,),
    ),
    "all_to_all in groups": (
        lambda x: lax.all_to_all(x, "i", 0, 1, axis_index_groups=GROUPS),
        lambda rows: _exchanged(rows, 0, 1, GROUPS),
        (2, 3),
    ),
    "pswapaxes": (
        lambda x: lax.pswapaxes(x, "i", 1),
        lambda rows: _exchanged(rows, 1, 1),
        (3, N),
    ),
    "pshuffle": (
        lambda x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
        lambda rows: _permuted(rows, [(2, 0), (0, 1), (3, 2), (1, 3)]),
        (3,),
    ),
    "pbroadcast": (
        lambda x: lax.pbroadcast(x, "i", 2),
        lambda rows: [rows[2]] * N,
        (3,),
    ),
    **{
        f"ppermute {name}": (
            lambda x, perm=perm: lax.ppermute(x, "i", perm),
            lambda rows, perm=perm: _permuted(rows, perm),
            (3,),
        )
        for name, perm in PERMS.items()
    },
}
EXTREMES = {
    "pmax": (lambda x: lax.pmax(x, "i"), _reduced(lambda a: a.max(0)), (3,)),
    "pmin": (lambda x: lax.pmin(x, "i"), _reduced(lambda a: a.min(0)), (3,)),
    "pmax in groups": (
        lambda x: lax.pmax(x, "i", axis_index_groups=GROUPS),
        lambda rows: _reduced(lambda a: a.max(0))(rows, GROUPS),
        (3,),
    ),
}
ALL = CASES | EXTREMES
# Devices are slow to compile for: a few of the permutations are enough there.
FEW = {f"ppermute {p}" for p in ("back", "swap", "one", "same", "none")}


def every_form(cases: Any) -> Any:
    """Pairs (case, form)."""
    return [(c, f) for c in cases for f in FORMS if c not in FEW or not f.startswith("gang")]


@pytest.mark.parametrize("case, form", every_form(ALL))
def test_equals_a_loop_over_positions(case, form):
    f, meaning, shape = ALL[case]
    x = real(N, *shape, dtype=np.float32)
    np.testing.assert_allclose(spread(form, f, x), np.stack(meaning(list(x))), rtol=1e-6)


@pytest.mark.parametrize("form", [f for f in FORMS if not f.startswith("gang")])
@pytest.mark.parametrize("case", ALL)
def test_one_value_for_all_positions(case, form):
    f, meaning, shape = ALL[case]
    x = real(*shape, dtype=np.float32)
    y = spread(form, f, x, mapped=False)
    np.testing.assert_allclose(y, np.stack(meaning([x] * N)), rtol=1e-6)


@pytest.mark.parametrize("case", ALL)
def test_equal_in_all_lanes_but_not_on_all_devices(case):
    f, meaning, shape = ALL[case]
    x = real(2, *shape, dtype=np.float32)

    def device(x):
        return _frame(f, [x], [False], Frame("i", 2, ("i.devices", 2)))

    y = _frame(device, [x], [True], Frame("i.devices", 2))
    rows = [x[p // 2] for p in range(N)]
    y = np.reshape(_host(y), (N, *y.shape[2:]))
    np.testing.assert_allclose(y, np.stack(meaning(rows)), rtol=1e-6)


@pytest.mark.parametrize("case, form", every_form(CASES))
def test_transpose_is_the_adjoint(case, form):
    f, meaning, shape = CASES[case]
    x = real(N, *shape, dtype=np.float32)
    # The Jacobian of all positions' results, column by column.
    columns = []
    for k in range(x.size):
        basis = np.zeros_like(x)
        basis.flat[k] = 1.0
        columns.append(np.stack(meaning(list(basis))))
    ct = real(*columns[0].shape, low=-1.0, high=1.0, dtype=np.float32)
    wanted = np.reshape([np.vdot(column, ct) for column in columns], x.shape)

    def pulled(x, ct):
        return jax.vjp(f, x)[1](ct)[0]

    np.testing.assert_allclose(spread(form, pulled, x, ct), wanted, rtol=2e-5, atol=1e-6)
    t = real(N, *shape, low=0.0, high=1.0, dtype=np.float32)
    pushed = spread(form, lambda x, t: jax.jvp(f, (x,), (t,))[1], x, t)
    np.testing.assert_allclose(pushed, np.stack(meaning(list(t))), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f, fold", [(lax.pmax, np.max), (lax.pmin, np.min)])
def test_derivative_of_the_extremes_is_shared_by_ties(f, fold, form):
    x = np.float32([[1.0, 5.0, 2.0], [3.0, 5.0, 2.0], [3.0, -1.0, 2.0], [0.0, 1.0, 2.0]])
    hits = x == fold(x, axis=0)
    share = hits / hits.sum(0)

    def pulled(x):
        return jax.grad(lambda x: reduce_sum(f(x, "i"), (0,)))(x)

    # All N results depend on the extreme, and grad is the derivative of their sum.
    np.testing.assert_allclose(spread(form, pulled, x), N * share, rtol=1e-6)
    t = real(N, 3, dtype=np.float32)
    pushed = spread(form, lambda x, t: jax.jvp(lambda x: f(x, "i"), (x,), (t,))[1], x, t)
    np.testing.assert_allclose(pushed, np.tile((share * t).sum(0), (N, 1)), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives(form):
    def f(x):
        return lax.pmax(mul(x, x), "i")

    def slope(x):
        return jax.grad(f)(x)

    x = np.float32([1.0, -4.0, 3.0, 2.0])
    y = spread(form, lambda x: (slope(x), jax.jvp(slope, (x,), (np.float32(1.0),))[1]), x)
    np.testing.assert_allclose(y[0], [0.0, -32.0, 0.0, 0.0])
    np.testing.assert_allclose(y[1], [0.0, 8.0, 0.0, 0.0])


@pytest.mark.parametrize("form", FORMS)
def test_axis_index_and_size(form):
    x = np.zeros(N, np.float32)

    def f(x):
        return lax.axis_index("i"), add(lax.axis_index("i"), np.int32(lax.axis_size("i")))

    here, beyond = spread(form, f, x)
    assert here.dtype == np.int32
    np.testing.assert_array_equal(here, np.arange(N))
    np.testing.assert_array_equal(beyond, np.arange(N) + N)


# --- dtypes

NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e5m2)]
INTEGERS = [np.dtype(d) for d in (np.int8, np.int16, np.int32, np.uint8, np.uint32, ml_dtypes.int4)]
REAL = [np.dtype(np.float32), *NARROW, *INTEGERS]


@pytest.mark.parametrize("form", ["lanes", "split 2x2", "gang", "gang with lanes"])
@pytest.mark.parametrize("dtype", [*REAL, np.dtype(np.complex64)], ids=str)
def test_dtypes_of_sums(dtype, form):
    kind = complex_ if dtype.kind == "c" else real if dtype in dtypes.INEXACT else integers
    x = kind(N, N, 2)
    x = (x * 30 if dtype in INTEGERS else x).astype(dtype)
    narrow = np.int32 if dtype in INTEGERS else np.float32  # NumPy's kind of int4 is "V"
    rows = x if dtype.kind in "iuc" else x.astype(narrow)
    y, parts, mean = spread(
        form, lambda x: (lax.psum(x, "i"), lax.psum_scatter(x, "i"), lax.pmean(x, "i")), x
    )
    assert y.dtype == parts.dtype == dtype
    total = rows.sum(0, dtype=rows.dtype).astype(dtype).astype(rows.dtype)
    np.testing.assert_allclose(y.astype(rows.dtype), np.tile(total, (N, 1, 1)), rtol=1e-6)
    np.testing.assert_allclose(parts.astype(rows.dtype), total, rtol=1e-6)
    if dtype in INTEGERS:  # where the sum wraps, the mean does not
        assert mean.dtype == np.float32
        np.testing.assert_allclose(mean[0], rows.astype(np.float64).mean(0), rtol=1e-6)


@pytest.mark.parametrize("form", ["lanes", "split 2x2", "gang", "gang with lanes"])
@pytest.mark.parametrize("dtype", [*REAL, np.dtype(bool), np.dtype(np.complex64)], ids=str)
def test_dtypes_of_extremes_and_moves(dtype, form):
    if dtype.kind == "b":
        x = booleans(N, N)
    else:
        kind = complex_ if dtype.kind == "c" else real if dtype in dtypes.INEXACT else integers
        x = kind(N, N).astype(dtype)

    def f(x):
        return (
            lax.pmax(x, "i"),
            lax.pmin(x, "i"),
            lax.all_gather(x, "i"),
            lax.all_to_all(x, "i", 0, 0),
            lax.ppermute(x, "i", RING[:-1]),
        )

    results = list(spread(form, f, x))
    assert all(y.dtype == dtype for y in results)
    largest, smallest, everything, exchanged, passed = (
        y.astype(np.float32) if dtype in NARROW else y for y in results
    )
    rows = x.astype(np.float32) if dtype in NARROW else x
    np.testing.assert_array_equal(largest, np.tile(rows.max(0), (N, 1)))
    np.testing.assert_array_equal(smallest, np.tile(rows.min(0), (N, 1)))
    np.testing.assert_array_equal(everything, np.tile(rows, (N, 1, 1)))
    np.testing.assert_array_equal(exchanged, rows.T)
    np.testing.assert_array_equal(passed, np.concatenate([np.zeros_like(rows[:1]), rows[:-1]]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), *NARROW[:2]], ids=str)
def test_nan_and_infinities_survive_the_extremes(dtype, form):
    nan, inf = np.nan, np.inf
    x = np.array(
        [
            [nan, -inf, 1.0, -nan, -3.0, inf, -0.0],
            [2.0, -inf, nan, 2.0, -1.0, 1.0, 0.0],
            [3.0, -inf, inf, 3.0, -2.0, inf, -0.0],
            [4.0, -inf, -inf, 4.0, -5.0, -inf, -0.0],
        ]
    ).astype(dtype)
    largest, smallest = spread(form, lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i")), x)
    largest, smallest = (y[1].astype(np.float32) for y in (largest, smallest))
    np.testing.assert_array_equal(largest, [nan, -inf, nan, nan, -1.0, inf, 0.0])
    np.testing.assert_array_equal(smallest, [nan, -inf, nan, nan, -5.0, -inf, 0.0])


@pytest.mark.parametrize("form", FORMS)
def test_half_precision_is_summed_in_float32(form):
    # In float16 the sum would stop growing, or overflow on the way to a mean that fits.
    x = np.array([2048.0, 1.0, 1.0, 1.0], np.float16)
    y = spread(form, lambda x: (lax.psum(x, "i"), lax.pmean(mul(x, np.float16(30)), "i")), x)
    assert y[0].dtype == np.float16
    np.testing.assert_array_equal(y[0], np.float16([2051.0] * N))
    np.testing.assert_array_equal(y[1], np.float16([(2051.0 * 30) / 4] * N))


@pytest.mark.parametrize("form", ["lanes", "split 2x2", "gang"])
def test_random_keys_move(form):
    words = np.arange(2 * N, dtype=np.uint32).reshape(N, 2)

    def f(words):
        key = random_wrap_p.bind(words, dtype=KEY_DTYPE)
        moved = (
            lax.all_gather(key, "i"),
            lax.ppermute(key, "i", PERMS["cross"]),
            lax.ppermute(key, "i", PERMS["partial"]),
            lax.pbroadcast(key, "i", 1),
        )
        return tuple(random_unwrap_p.bind(k) for k in moved)

    everything, crossed, partial, same = spread(form, f, words)
    np.testing.assert_array_equal(everything, np.tile(words, (N, 1, 1)))
    np.testing.assert_array_equal(crossed, np.stack(_permuted(words, PERMS["cross"])))
    np.testing.assert_array_equal(partial, np.stack(_permuted(words, PERMS["partial"])))
    np.testing.assert_array_equal(same, np.tile(words[1], (N, 1)))
    for g in (lax.psum, lax.pmean, lax.pmax):
        with pytest.raises(DtypeError, match=f"{g.__name__}: random keys are no numbers"):
            spread(form, lambda w, g=g: g(random_wrap_p.bind(w, dtype=KEY_DTYPE), "i"), words)


def test_wide_dtypes():
    with override(enable_x64=True):
        x = real(N, 2) * 1e10
        for form in ("lanes", "split 2x2", "gang"):
            y = spread(form, lambda x: (lax.psum(x, "i"), lax.pmax(x, "i"), lax.pmean(x, "i")), x)
            np.testing.assert_allclose(y[0][0], x.sum(0), rtol=1e-14)
            np.testing.assert_array_equal(y[1][0], x.max(0))
            np.testing.assert_allclose(y[2][0], x.mean(0), rtol=1e-14)
            k = np.arange(N) + 2**40
            y = spread(form, lambda k: (lax.psum(k, "i"), lax.pmin(k, "i"), lax.pmean(k, "i")), k)
            assert [a.dtype for a in y] == [np.int64, np.int64, np.float64]
            assert [int(a[0]) for a in y] == [k.sum(), k.min(), int(k.mean())]


@pytest.mark.parametrize("form", FORMS)
def test_booleans_are_counted_and_integers_averaged(form):
    x = np.array([True, False, True, True])

    def f(x):
        return lax.psum(x, "i"), lax.pmean(x, "i"), lax.psum_scatter(lax.all_gather(x, "i"), "i")

    total, mean, scattered = spread(form, f, x)
    assert (total.dtype, mean.dtype, scattered.dtype) == (np.int32, np.float32, np.int32)
    np.testing.assert_array_equal(total, [3] * N)
    np.testing.assert_array_equal(mean, np.float32([0.75] * N))
    np.testing.assert_array_equal(scattered, N * x)


def test_empty_arrays():
    x = np.zeros((N, 0, N), np.float32)

    def f(x):
        return (
            lax.psum(x, "i"),
            lax.pmax(x, "i"),
            lax.all_gather(x, "i", tiled=True),
            lax.psum_scatter(x, "i", scatter_dimension=1),
            lax.all_to_all(x, "i", 1, 0),
            lax.ppermute(x, "i", RING),
        )

    for form in ("lanes", "split 2x2", "gang"):
        shapes = [y.shape[1:] for y in spread(form, f, x)]
        assert shapes == [(0, N), (0, N), (0, N), (0,), (N, 0), (0, N)]


# --- several names, several frames


def grid(f: Any, x: Any, inner_form: str = "lanes") -> Any:
    """f at all positions of two axes, "i" of size 2 and "j" of size 4, inside each other."""
    if inner_form == "pmap":
        return jax.pmap(jax.pmap(f, "j"), "i")(x)
    if inner_form == "pmap of vmap":
        return jax.pmap(jax.vmap(f, axis_name="j"), "i")(x)
    if inner_form == "gang":
        with override(pmap_form="gang"):
            return jax.pmap(jax.pmap(f, "j"), "i")(x)
    return jax.jit(jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i"))(x)


GRIDS = ["lanes", "pmap", "pmap of vmap", "gang"]


@pytest.mark.parametrize("form", GRIDS)
def test_several_names(form):
    x = real(2, 4, 8, dtype=np.float32)
    flat_ij, flat_ji = x.reshape(8, 8), x.transpose(1, 0, 2).reshape(8, 8)

    def f(x):
        return {
            "index": (lax.axis_index(("i", "j")), lax.axis_index(["j", "i"])),
            "size": np.int32(lax.axis_size(("i", "j"))),
            "psum": (lax.psum(x, ("i", "j")), lax.psum(x, "i"), lax.psum(x, "j")),
            "pmax": lax.pmax(x, ("j", "i")),
            "pmean": lax.pmean(x, ("i", "j")),
            "gather": (lax.all_gather(x, ("i", "j")), lax.all_gather(x, ("j", "i"), tiled=True)),
            "scatter": (
                lax.psum_scatter(x, ("i", "j")),
                lax.psum_scatter(x, ("j", "i"), tiled=True),
            ),
            "exchange": (
                lax.all_to_all(x, ("i", "j"), 0, 0),
                lax.all_to_all(x, ("j", "i"), 0, 0, tiled=True),
            ),
            "permute": (
                lax.ppermute(x, ("i", "j"), [(0, 5), (5, 1), (3, 2), (1, 3)]),
                lax.ppermute(x, ("j", "i"), [(k, (k + 1) % 8) for k in range(8)]),
            ),
        }

    y = tree.map(np.asarray, grid(f, x, form))
    place = np.arange(8)
    np.testing.assert_array_equal(y["index"][0].reshape(8), place)
    np.testing.assert_array_equal(y["index"][1].T.reshape(8), place)
    assert (y["size"] == 8).all()
    everywhere = np.broadcast_to
    np.testing.assert_allclose(y["psum"][0], everywhere(x.sum((0, 1)), x.shape), rtol=1e-5)
    np.testing.assert_allclose(y["psum"][1], everywhere(x.sum(0)[None], x.shape), rtol=1e-5)
    np.testing.assert_allclose(y["psum"][2], everywhere(x.sum(1)[:, None], x.shape), rtol=1e-5)
    np.testing.assert_array_equal(y["pmax"], everywhere(x.max((0, 1)), x.shape))
    np.testing.assert_allclose(y["pmean"], everywhere(x.mean((0, 1)), x.shape), rtol=1e-5)
    np.testing.assert_array_equal(y["gather"][0], everywhere(flat_ij, (2, 4, 8, 8)))
    np.testing.assert_array_equal(y["gather"][1], everywhere(flat_ji.reshape(64), (2, 4, 64)))
    total = x.sum((0, 1))
    np.testing.assert_allclose(y["scatter"][0].reshape(8), total, rtol=1e-5)
    np.testing.assert_allclose(y["scatter"][1].transpose(1, 0, 2).reshape(8), total, rtol=1e-5)
    np.testing.assert_array_equal(y["exchange"][0].reshape(8, 8), flat_ij.T)
    np.testing.assert_array_equal(y["exchange"][1].transpose(1, 0, 2).reshape(8, 8), flat_ji.T)
    moved = np.zeros((8, 8), np.float32)
    for source, destination in [(0, 5), (5, 1), (3, 2), (1, 3)]:
        moved[destination] = flat_ij[source]
    np.testing.assert_array_equal(y["permute"][0].reshape(8, 8), moved)
    ring = np.roll(flat_ji, 1, 0)
    np.testing.assert_array_equal(y["permute"][1].transpose(1, 0, 2).reshape(8, 8), ring)


@pytest.mark.parametrize("form", GRIDS)
def test_one_name_of_two(form):
    x = real(2, 4, 2, 4, dtype=np.float32)

    def f(x):
        return (
            lax.all_gather(x, "i", axis=1),
            lax.psum_scatter(x, "j", scatter_dimension=1),
            lax.all_to_all(x, "i", 0, 1),
            lax.ppermute(x, "j", [(0, 1), (1, 2), (2, 3)]),
            lax.psum(x, "j", axis_index_groups=[[2], [0], [1], [3]]),
        )

    gathered, scattered, exchanged, moved, alone = map(np.asarray, grid(f, x, form))
    np.testing.assert_array_equal(
        gathered, np.broadcast_to(x.transpose(1, 2, 0, 3), (2, 4, 2, 2, 4))
    )
    np.testing.assert_allclose(scattered, x.sum(1).transpose(0, 2, 1), rtol=1e-5)
    np.testing.assert_array_equal(exchanged, x.transpose(2, 1, 3, 0))
    wanted = np.zeros_like(x)
    wanted[:, 1:] = x[:, :-1]
    np.testing.assert_array_equal(moved, wanted)
    np.testing.assert_array_equal(alone, x)


def test_the_inner_one_of_two_axes_of_one_name_wins():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    wanted = [[6.0] * 4, [22.0] * 4]
    for outer, inner in itertools.product(("pmap", "vmap"), repeat=2):
        f = jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")
        if inner == "pmap":
            f = jax.pmap(lambda x: lax.psum(x, "i"), "i")
        g = jax.pmap(f, "i") if outer == "pmap" else jax.vmap(f, axis_name="i")
        np.testing.assert_array_equal(g(x), wanted)


def test_a_result_that_all_lanes_share_is_not_repeated():
    def shared(x):
        return [
            lax.psum(x, "i"),
            lax.pmean(x, "i"),
            lax.pmax(x, "i"),
            lax.all_gather(x, "i"),
            lax.pbroadcast(x, "i", 1),
        ]

    x = real(N, 3, dtype=np.float32)
    for frame in (Frame("i", N), Frame("i", 2, ("d", 2))):
        for mapped in (True, False):
            rows = x[: frame.size] if mapped else x[0]

            def device(rows=rows, mapped=mapped, frame=frame):
                _, marks = batch(shared, [rows], [mapped], frame)
                assert marks == [False] * 5
                return []

            batch(device, [], [], Frame("d", 2))
    _, marks = batch(lambda x: [lax.ppermute(x, "i", RING)], [x[0]], [False], Frame("i", N))
    assert marks == [False]


def test_long_axes():
    # Beyond a few runs of rows a permutation is a gather.
    n = 300
    order = (np.arange(n) * 7 + 5) % n
    x = real(n, 2, dtype=np.float32)
    perm = [(k, int(order[k])) for k in range(n)]
    f = jax.vmap(lambda x: lax.ppermute(x, "i", perm), axis_name="i")
    wanted = np.zeros_like(x)
    wanted[order] = x
    np.testing.assert_array_equal(f(x), wanted)
    half = jax.vmap(lambda x: lax.ppermute(x, "i", perm[::3]), axis_name="i")
    wanted[np.setdiff1d(order, order[::3])] = 0
    np.testing.assert_array_equal(half(x), wanted)
    groups = order.reshape(-1, 3)
    f = jax.vmap(lambda x: lax.psum(x, "i", axis_index_groups=groups.tolist()), axis_name="i")
    for row in groups:
        np.testing.assert_allclose(np.asarray(f(x))[row], np.tile(x[row].sum(0), (3, 1)), rtol=1e-5)
    g = jax.vmap(
        jax.grad(lambda x: reduce_sum(mul(lax.ppermute(x, "i", perm), x), (0,))), axis_name="i"
    )
    inverse = np.empty(n, int)
    inverse[order] = np.arange(n)
    np.testing.assert_allclose(g(x), x[inverse] + x[order], rtol=1e-6)


# --- arguments


def test_python_numbers_are_known_while_tracing():
    seen = []

    def f(x):
        seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.psum(True, "i"), lax.pmean(3, "i")))
        seen.append((lax.pmax(7, "i"), lax.psum(1, "i", axis_index_groups=GROUPS)))
        return x

    jax.pmap(f, "i")(np.zeros(N, np.float32))
    assert seen[0] == (N, 2.5 * N, N, 3.0) and type(seen[0][0]) is int
    assert type(seen[0][3]) is float
    assert seen[1] == (7, 2)


def test_trees():
    x = {"a": real(N, N, dtype=np.float32), "b": (np.arange(N, dtype=np.int32), None)}
    f = jax.pmap(lambda x: (lax.psum(x, "i"), lax.pmax(x, "i"), lax.all_gather(x, "i")), "i")
    y = _host(f(x))
    np.testing.assert_allclose(y[0]["a"][0], x["a"].sum(0), rtol=1e-6)
    assert int(y[0]["b"][0][1]) == 6 and int(y[1]["b"][0][1]) == 3
    np.testing.assert_array_equal(y[2]["b"][0][2], np.arange(N))
    rows = {"a": x["a"]}
    y = jax.pmap(lambda x: (lax.ppermute(x, "i", RING), lax.all_to_all(x, "i", 0, 0)), "i")(rows)
    np.testing.assert_array_equal(y[0]["a"], np.roll(x["a"], 1, 0))
    np.testing.assert_array_equal(y[1]["a"], x["a"].T)
    y = jax.pmap(lambda x: lax.psum_scatter(x, "i"), "i")(rows)
    np.testing.assert_allclose(y["a"], x["a"].sum(0), rtol=1e-6)


def test_no_names_at_all():
    # Library code may reduce over whatever is bound, also where nothing is.
    names = lax.bound_axis_names()
    assert names == ()
    x = real(2, 3, dtype=np.float32)
    for f in (lax.psum, lax.pmean, lax.pmax, lax.pmin):
        np.testing.assert_array_equal(f(x, names), x)
    assert lax.psum(np.array(True), ()).dtype == np.int32
    np.testing.assert_array_equal(lax.all_gather(x, (), axis=1), x[:, None])
    np.testing.assert_array_equal(lax.all_gather(x, (), axis=1, tiled=True), x)
    np.testing.assert_array_equal(lax.all_to_all(x, (), 0, 1, tiled=True), x)
    np.testing.assert_array_equal(lax.psum_scatter(x, (), tiled=True), x)
    np.testing.assert_array_equal(lax.ppermute(x, (), [(0, 0)]), x)
    assert int(lax.axis_index(())) == 0 and lax.axis_size(()) == 1
    seen = []

    def f(x):
        seen.append(lax.bound_axis_names())
        return x

    jax.pmap(jax.vmap(f, axis_name="b"), axis_name="d")(x)
    assert seen == [("d", "b")]


def test_casts_change_nothing():
    def f(x):
        return add(lax.pvary(x, "i"), lax.pcast(x, "i", to="varying"))

    x = real(N, dtype=np.float32)
    np.testing.assert_array_equal(jax.pmap(f, "i")(x), 2 * x)


X = np.zeros((N, N, 3), np.float32)


@pytest.mark.parametrize(
    "f, error, words",
    [
        (lambda x: lax.psum(x, "k"), AxisNameError, ["psum", "'k'", "'i'"]),
        (lambda x: lax.all_gather(x, ("i", "k")), AxisNameError, ["all_gather", "'k'"]),
        (lambda x: lax.axis_index("k"), NameError, ["axis_index", "'k'"]),
        (lambda x: lax.pvary(x, "k"), NameError, ["'k'"]),
        (lambda x: lax.psum(x, ("i", "i")), ArgumentError, ["twice"]),
        (lambda x: lax.ppermute(x, "i", [(0, 4)]), ArgumentError, ["destination 4", "0 to 3"]),
        (lambda x: lax.ppermute(x, "i", [(-1, 0)]), ArgumentError, ["source -1"]),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ArgumentError, ["0 is the source"]),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), ArgumentError, ["destination of two"]),
        (lambda x: lax.pshuffle(x, "i", [0, 1, 2]), ArgumentError, ["pshuffle", "0 to 3"]),
        (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1), ShapeError, ["size 3", "'i'"]),
        (
            lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
            ShapeError,
            ["multiple of 4", "padding it to 4"],
        ),
        (lambda x: lax.all_to_all(x, "i", 1, 0), ShapeError, ["all_to_all", "size 3"]),
        (lambda x: lax.all_to_all(x, "i", 2, 0), IndexError, ["out of range"]),
        (lambda x: lax.all_gather(x, "i", axis=3), IndexError, ["out of range"]),
        (lambda x: lax.pbroadcast(x, "i", 4), IndexError, ["pbroadcast", "source 4", "0 to 3"]),
        (
            lambda x: lax.all_gather(x, "i", axis_index_groups=[[0], [1, 2, 3]]),
            ArgumentError,
            ["all_gather", "different sizes", "psum"],
        ),
        (
            lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2]]),
            ArgumentError,
            ["in one group, once", "0 to 3"],
        ),
    ],
)
def test_errors(f, error, words):
    for transformed in (jax.pmap(f, "i"), jax.vmap(f, axis_name="i")):
        with pytest.raises(error) as caught:
            transformed(X)
        message = str(caught.value)
        assert all(word in message for word in words), message


def test_errors_outside_of_maps():
    with pytest.raises(AxisNameError, match="'i' is not bound"):
        lax.psum(X, "i")
    with pytest.raises(AxisNameError, match="bound_here  none"):
        jax.jit(lambda x: lax.pmax(x, "i"))(X)
    with pytest.raises(ArgumentError, match="single axis name"):
        grid(lambda x: lax.psum(x, ("i", "j"), axis_index_groups=[[0]]), np.zeros((2, 3)))


def test_the_ops_themselves_need_their_axis():
    params = {"axis_name": ("i",), "axis_size": 2, "groups": None}
    with pytest.raises(AxisNameError):
        lax.psum_p.numpy(X, **params)
    with pytest.raises(AxisNameError):
        lax.psum_p.bind(X, **params)
    with pytest.raises(DtypeError):
        lax.psum_p.type(ArrayType((), dtypes.bool_), **params)
