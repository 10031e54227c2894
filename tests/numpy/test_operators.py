"""The operators and methods of Array and of traced values."""

from __future__ import annotations

import ast
import inspect
import operator

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.core import array_methods
from plait.errors import ArgumentTypeError, ShapeError
from plait.numpy import operators
from tests.numpy.common import (
    assert_same,
    bools,
    by_meaning,  # noqa: F401
    complexes,
    floats,
    ints,
    quiet,
    raises,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

F, K, B, C = floats(3, 4), ints(3, 4), bools(3, 4), complexes(3, 4)
J = ints(3, 4, low=1, high=5, seed=4)
ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    divmod,
]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda op: op.__name__)
def test_arithmetic_and_comparisons(op):
    for x, y in ((F, np.abs(F) + 1), (K, J), (F, J), (F[:, :1], np.abs(F[:1]) + 1)):
        with quiet():
            want = op(x.astype(np.float64), y) if x.dtype != np.int32 else op(x, y)
        assert_same(op(jnp.asarray(x), jnp.asarray(y)), want)
        assert_same(op(jnp.asarray(x), y), want)
        assert_same(op(x, jnp.asarray(y)), want)
    for number in (3, 2.5):
        assert_same(op(jnp.asarray(F), number), op(F, np.float32(number)))
        assert_same(op(number, jnp.asarray(np.abs(F) + 1)), op(np.float32(number), np.abs(F) + 1))
        assert_same(op(np.float32(number), jnp.asarray(J)), op(np.float64(number), J))


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_bits(op):
    assert_same(op(jnp.asarray(K), J), op(K, J))
    assert_same(op(K, jnp.asarray(J)), op(K, J))
    assert_same(op(jnp.asarray(K), 2), op(K, 2))
    assert_same(op(2, jnp.asarray(J)), op(2, J))
    if op in BITS[:3]:
        assert_same(op(jnp.asarray(B), True), op(B, True))


def test_powers_products_and_signs():
    x, k = jnp.asarray(F), jnp.asarray(J)
    assert_same(x**2, F**2)
    assert_same(abs(x) ** 0.5, np.abs(F) ** 0.5)
    assert_same(2**k, 2**J)
    assert_same(k**k, J**J)
    assert_same(x @ F.T, F @ F.T)
    assert_same(F @ x.T, F @ F.T)
    assert_same([-x, +x, abs(x)], [-F, F, np.abs(F)])
    assert_same(~jnp.asarray(K), ~K)
    assert_same(round(x, 1), np.round(F, 1))
    # Without digits, integers: as of Python's floats.
    assert_same(round(x), np.round(F).astype(np.int32))
    assert round(x.astype(np.int8)).dtype == np.int32
    assert round(x * 1j).dtype == np.complex64
    y = x
    y += 1
    y *= 2
    assert_same(y, (F + 1) * 2)
    assert_same(x, F)
    with raises(TypeError):
        pow(x, 2, 3)


class Foreign:
    """A class with operators of its own, that arrays know nothing of."""

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rpow__(self, other):
        return "rpow"

    def __eq__(self, other):
        return "eq"

    def __lt__(self, other):
        return "lt"

    __hash__ = None


def test_operators_leave_other_classes_their_turn():
    x = jnp.asarray(F)
    assert x + Foreign() == "radd"
    assert x @ Foreign() == "rmatmul"
    assert x ** Foreign() == "rpow"
    assert (x == Foreign()) == "eq"
    assert (x > Foreign()) == "lt"
    assert (x == None) is False  # noqa: E711
    assert (x == "a") is False
    assert (x != "a") is True
    for bad in ("a", None, {}, object()):
        with raises(TypeError, "unsupported operand"):
            x + bad
        with raises(TypeError, "unsupported operand"):
            bad - x
    for bad in ([1, 2], (1, 2)):
        assert (x == bad) is False
        with raises(TypeError, "is not an operand"):
            x + bad
        with raises(TypeError, "is not an operand"):
            bad**x
        assert bad * jnp.int32(2) == bad * 2
    with raises(TypeError, "not supported between"):
        x < "a"  # noqa: B015


METHODS = {
    "T": F.T, "mT": F.T, "real": F, "imag": 0 * F, "sum()": F.sum(), "mean(0)": F.mean(0),
    "max(1)": F.max(1), "min()": F.min(), "argmax()": F.argmax(), "argmin(0)": F.argmin(0),
    "prod()": F.prod(), "std()": F.std(), "var(0)": F.var(0), "any()": True,
    "all(0)": (F != 0).all(0),
    "ptp()": np.ptp(F), "cumsum(1)": F.cumsum(1), "cumprod(0)": F.cumprod(0), "ravel()": F.ravel(),
    "flatten()": F.ravel(), "reshape(-1)": F.ravel(), "reshape(2, 6)": F.reshape(2, 6),
    "reshape((4, 3))": F.reshape(4, 3), "transpose()": F.T, "transpose(1, 0)": F.T,
    "transpose((1, 0))": F.T, "swapaxes(0, 1)": F.T, "squeeze()": F, "clip(-1, 1)": F.clip(-1, 1),
    "clip(min=0)": F.clip(0), "round(1)": F.round(1), "repeat(2)": F.repeat(2), "dot(F.T)": F @ F.T,
    "take(np.array([0, 5]))": F.take([0, 5]), "sort()": np.sort(F), "argsort(0)": F.argsort(0),
    "diagonal()": F.diagonal(), "trace()": F.trace(), "astype(int)": F.astype(int), "copy()": F,
    "astype('float16')": F.astype("float16"), "conj()": F, "conjugate()": F, "flat": F.ravel(),
    "sum(axis=0, keepdims=True)": F.sum(0, keepdims=True), "sum(where=B, axis=0)": (F * B).sum(0),
    "at[0].set(1)": np.concatenate([np.ones((1, 4)), F[1:]]), "view(np.int32)": F.view(np.int32),
    "compress(np.array([True, False, True]), 0)": F[::2], "nonzero()": np.nonzero(F),
}  # fmt: skip


@pytest.mark.parametrize("text", METHODS)
def test_methods(text):
    names = {"F": F, "B": B, "np": np}
    assert_same(eval(f"x.{text}", {**names, "x": jnp.asarray(F)}), METHODS[text])
    if text != "nonzero()":
        traced = plait.make_jaxpr(lambda x: eval(f"x.{text}", {**names, "x": x}))(F)
        assert str(traced)


def test_more_methods():
    k = jnp.asarray(K[0] % 2)
    assert_same(k.choose([F[0], F[1]]), np.choose(K[0] % 2, [F[0], F[1]]))
    assert int(jnp.asarray(np.sort(F[0])).searchsorted(0.0)) == np.searchsorted(np.sort(F[0]), 0)
    assert jnp.asarray(F).__array_namespace__() is jnp
    assert 1.0 in jnp.arange(3.0)
    assert 5.0 not in jnp.arange(3.0)
    assert jnp.asarray(C).real.dtype == np.float32
    assert_same(jnp.asarray(C).imag, C.imag)


@pytest.mark.parametrize("new", "int16 int32 uint8 float16 complex64".split())
def test_view(new):
    assert_same(jnp.asarray(F).view(new), F.view(new))


def test_views_of_other_dtypes():
    u = np.arange(8, dtype=np.uint8)
    for new in ("int8", "uint16", "float32", "bool"):
        if new != "bool":
            assert_same(jnp.asarray(u).view(new), u.view(new))
    assert_same(jnp.asarray(B).view("uint8"), B.view("uint8"))
    assert_same(jnp.asarray(C).view("float32"), C.view("float32"))
    with raises(ShapeError, "view"):
        jnp.asarray(u[:3]).view("uint16")


def test_traced_values_have_the_same_members():
    from plait.core.interpreter import Tracer
    from plait.runtime.array import Array

    public = {n for n in dir(Array) if n[0] != "_"}
    only_arrays = {n for n in public if not hasattr(Tracer, n)}
    about_devices = {
        "addressable_data", "addressable_shards", "buf", "check_live", "committed",
        "copy_to_host_async", "delete", "device", "devices", "global_shards", "host", "is_deleted",
        "is_fully_addressable", "is_fully_replicated", "is_readable", "is_ready", "is_taken",
        "numbers", "on_device_size_in_bytes", "placement", "sharding", "sig", "static_item",
        "tobytes", "unsafe_buffer_pointer",
    }  # fmt: skip
    assert only_arrays <= about_devices


def test_no_change_in_place():
    x = jnp.asarray(F)
    with raises(ArgumentTypeError, "x.at[index].set(y)"):
        x[0] = 1


@pytest.mark.parametrize("name", ["mT"])
def test_matrix_transpose_needs_two_axes(name):
    with raises(ShapeError, "two axes"):
        getattr(jnp.arange(3), name)


def test_one_op_a_sum():
    """The path from an operator to its op adds nothing."""
    program = str(plait.make_jaxpr(lambda x, y: (x + y) * 2.0 - 1 / x)(F, F))
    assert program.count("=") - program.count("=>") == 4
    assert "broadcast" not in program
    assert "convert" not in program


def test_type_checkers_are_told_the_methods_that_arrays_have():
    told = {}
    for node in ast.walk(ast.parse(inspect.getsource(array_methods))):
        if isinstance(node, ast.FunctionDef):
            a = node.args
            told[node.name] = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)][1:]
    attached = {**operators._OPERATORS, **operators._METHODS, **operators._PROPERTIES}
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    have = {}
    for name, function in attached.items():
        _, *parameters = inspect.signature(function).parameters.values()
        have[name] = [p.name for p in parameters if p.kind not in several]
    assert told == have
