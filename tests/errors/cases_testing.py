"""What checks say of ops and derivatives that are wrong; and mistakes with programs for JAX."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait.as_jax import finder, linear_util
from plait.as_jax.jax import ref
from plait.as_jax.jax._src import compiler
from plait.as_jax.jax.experimental import hijax
from plait.as_jax.jax.extend.core import primitives
from plait.as_jax.jax.interpreters import ad, mlir
from plait.as_jax.primitive import Primitive
from plait.core.primitive import registry
from plait.core.types import ArrayType
from plait.ops.arithmetic import convert_element_type
from plait.test_util import check_vjp
from plait.testing import assert_close, check_grads, check_op
from tests.testing import test_laws as laws

V = np.ones(4, np.float32)


class Rounded(laws.Square):
    """x * x as an integer, which then has no tangent."""

    def type(self, x):
        return x.with_dtype(np.dtype(np.int32))

    def numpy(self, x):
        return (x * x).astype(np.int32)

    def jvp(self, xs, ts):
        return self.bind(xs[0]), ts[0]


class WeakIsNarrow(laws.Square):
    def type(self, x):
        return x.with_dtype(np.dtype(np.float32)) if x.weak_type else x


class WeakTruth(laws.Square):
    def type(self, x):
        return x.with_dtype(np.dtype(bool), x.weak_type)

    def numpy(self, x):
        return x > 0


class WeakAlone(laws.Square):
    def evaluate(self, xs, params):
        return convert_element_type(xs[0] * xs[0], xs[0].dtype, True)


@jax.custom_vjp
def doubled(x: Any) -> Any:
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, ct: (ct,))

own = Primitive("own")
abstract = Primitive("abstract")
abstract.def_abstract_eval(lambda x: ArrayType(x.shape, x.dtype))


def transposed() -> Any:
    linear = Primitive("linear")
    linear.def_abstract_eval(lambda x: ArrayType(x.shape, x.dtype))
    linear.def_impl(lambda x: x)
    ad.primitive_jvps[linear] = lambda xs, ts: (linear.bind(*xs), linear.bind(*ts))
    return jax.vjp(linear.bind, V)[1](V)


@contextlib.contextmanager
def modules_of_jax(**modules: types.ModuleType) -> Iterator[None]:
    """Only these modules of JAX's are imported."""
    before = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == "jax"}
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in [n for n in sys.modules if n.partition(".")[0] == "jax"]:
            del sys.modules[name]
        sys.modules.update(before)


def install_after_jax() -> None:
    with modules_of_jax(jax=types.ModuleType("jax")):
        finder.install()


def missing_name() -> Any:
    with modules_of_jax():
        finder.install()
        try:
            return importlib.import_module("jax.numpy").sinn
        finally:
            finder.uninstall()


CASES: dict[str, Callable[[], Any]] = {
    # testing
    "check_op: a tangent of integers": lambda: check_op(Rounded()),
    "check_op: a tangent of another type": lambda: check_op(laws.TangentOfWrongType()),
    "check_op: a result of another type": lambda: check_op(laws.WrongType()),
    "check_op: a weak result": lambda: check_op(laws.WeakResult()),
    "check_op: another type of weak operands": lambda: check_op(WeakIsNarrow()),
    "check_op: a weak boolean": lambda: check_op(WeakTruth(), except_laws=("jvp",)),
    "check_op: no adjoint": lambda: check_op(laws.WrongTranspose()),
    "check_op: another type alone": lambda: check_op(WeakAlone()),
    "assert_close: structures": lambda: assert_close((V,), (V, V), message="two vectors"),
    "assert_close: shapes": lambda: assert_close({"a": V}, {"a": V[:2]}),
    "check_grads: a wrong vjp": lambda: check_grads(doubled, (1.0,), 1, modes=("rev",)),
    "check_grads: a mode": lambda: check_grads(jnp.sin, (1.0,), 1, modes=("reverse",)),
    "check_vjp: a wrong vjp": lambda: check_vjp(doubled, lambda x: jax.vjp(doubled, x), (1.0,)),
    # as_jax
    "as_jax: no such name": missing_name,
    "as_jax: no such module": lambda: finder._finder.find_spec("jax.numpi"),
    "as_jax: after jax": install_after_jax,
    "as_jax: compilation": lambda: compiler.backend_compile,
    "as_jax: another name of the compiler": lambda: compiler.compile_or_get,
    "as_jax: hijax": lambda: hijax.HiPrimitive("mine").bind(V),
    "as_jax: no such primitive": lambda: primitives.sinn_p,
    "as_jax: a lowering of plait's": lambda: mlir.register_lowering(registry["sin"], len),  # type: ignore
    "as_jax: a ref": lambda: ref.new_ref(V),
    "as_jax: a store that is empty": lambda: linear_util.Store().val,
    "as_jax: a rule of plait's": lambda: ad.primitive_jvps.__setitem__(registry["sin"], len),
    "as_jax: a rule that was not given": lambda: ad.primitive_jvps[own],
    "as_jax: a lowering that is called": lambda: mlir.lower_fun(len)(V),
    "as_jax: no abstract evaluation": lambda: jax.jit(own.bind)(V),
    "as_jax: no evaluation": lambda: own.bind(V),
    "as_jax: no derivative": lambda: jax.jvp(abstract.bind, (V,), (V,)),
    "as_jax: no transposition": transposed,
    "as_jax: no batching": lambda: jax.vmap(abstract.bind)(V),
    "as_jax: no lowering": lambda: jax.jit(abstract.bind)(V),
}
