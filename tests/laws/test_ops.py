"""Every op against every law (plait/testing/laws.py), on every sample it brings."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import plait.ops
import plait.regions
from plait.config import override
from plait.core import dtypes
from plait.core.primitive import Linear, Primitive, every_sample, registry
from plait.testing.laws import DOUBLE, LAWS, SINGLE, Case, single

for package in (plait.ops, plait.regions):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")

# Ops without samples, and who tests them.
COLLECTIVE = "needs a named axis: test_collective.py"
KEYS = "its operands are random keys, which no NumPy array holds: test_random.py"
CALLBACKS = "calls Python, or asks where it runs: test_callback.py"
FUNCTIONS = "holds Python functions, which a trace gives it: tests/regions"
WITHOUT_SAMPLES = {
    "all_gather": COLLECTIVE,
    "all_to_all": COLLECTIVE,
    "axis_index": COLLECTIVE,
    "rng_uniform": "other numbers at each use: test_generator.py",
    "pmax": COLLECTIVE,
    "pmin": COLLECTIVE,
    "ppermute": COLLECTIVE,
    "psum": COLLECTIVE,
    "psum_scatter": COLLECTIVE,
    "pmap": COLLECTIVE,
    "sharding_constraint": "its parameter holds devices",
    "random_bits": KEYS,
    "random_fold_in": KEYS,
    "random_split": KEYS,
    "random_unwrap": KEYS,
    "custom_jvp": FUNCTIONS,
    "custom_vjp": FUNCTIONS,
    "custom_vjp_call": FUNCTIONS,
    "custom_vjp_tangent": FUNCTIONS,
    "debug_callback": CALLBACKS,
    "device_id": CALLBACKS,
    "inspect_sharding": CALLBACKS,
    "io_callback": CALLBACKS,
    "pure_callback": CALLBACKS,
    "jit": FUNCTIONS,
    "scatter_apply": FUNCTIONS,
    "check": "raises where its operand is false: tests/test_checkify.py",
    "join_rows": "needs several processes: tests/distributed",
    "own_rows": "needs several processes: tests/distributed",
}
# Laws that do not hold, and why: for an op, or for one of its samples.
DERIVATIVES = ("jvp", "transpose", "second")
EXCEPTIONS: dict[tuple[str, int | None], tuple[tuple[str, ...], str]] = {
    ("rng_bit_generator", None): (
        ("batch",),
        "rows of a vmap share a key, as in JAX",
    ),
    ("stop_gradient", None): (("jvp",), "its derivative is zero because it says so"),
    ("reduce_precision", None): (DERIVATIVES, "cotangents are rounded like tangents"),
    ("while", None): (("transpose", "second"), "reverse mode needs a known number of rounds"),
    ("bessel_i1e", 1): (DERIVATIVES, "exp(-|x|) bends at 0"),
    ("igamma", None): (("second",), "igamma_grad_a has no derivative"),
    ("igammac", None): (("second",), "igamma_grad_a has no derivative"),
    ("igamma_grad_a", None): (DERIVATIVES, "has no derivative"),
    ("random_gamma_grad", None): (DERIVATIVES, "has no derivative"),
    ("regularized_incomplete_beta", None): (("second",), "betainc_grad_a has no derivative"),
    ("betainc_grad_a", None): (DERIVATIVES, "has no derivative"),
    ("betainc_grad_b", None): (DERIVATIVES, "has no derivative"),
    ("zeta", None): (("second",), "zeta_grad_x has no derivative"),
    ("zeta_grad_x", None): (DERIVATIVES, "has no derivative"),
    ("hyp1f1", None): (("second",), "hyp1f1_grad_a has no derivative"),
    ("hyp1f1_grad_a", None): (DERIVATIVES, "has no derivative"),
    ("hyp1f1_grad_b", None): (DERIVATIVES, "has no derivative"),
    ("hyp2f1", None): (("second",), "hyp2f1_grad_a has no derivative"),
    ("hyp2f1_grad_a", None): (DERIVATIVES, "has no derivative"),
    ("hyp2f1_grad_b", None): (DERIVATIVES, "has no derivative"),
    ("hyp2f1_grad_c", None): (DERIVATIVES, "has no derivative"),
    ("schur", None): (DERIVATIVES, "has no derivative"),
    ("hessenberg", None): (DERIVATIVES, "has no derivative"),
    ("tridiagonal", None): (DERIVATIVES, "has no derivative"),
    ("eigh", 1): (("jvp", "second"), "the phases of complex eigenvectors are LAPACK's choice"),
    ("svd", 2): (("jvp", "second"), "the phases of complex singular vectors are LAPACK's choice"),
}
# Operands that have no derivative: everything is checked with them held constant.
CONSTANT = {
    "linear_solve": (0, 1, 2),  # its rule knows that they are one matrix, the law does not
    "linear_call": (0, 1),  # residuals
    "polygamma": (0,),
    "expn": (0,),
}


def _samples() -> list:
    count: Counter[str] = Counter()
    found = []
    for op, sample in every_sample():
        name = f"{op.name}-{count[op.name]}"
        found.append(pytest.param((op, count[op.name], sample), id=name))
        count[op.name] += 1
    return found


@pytest.fixture(scope="module", params=_samples())
def sample(request):
    """One sample in double and in single precision. What rules make is made once, for all laws."""
    op, number, (operands, params) = request.param
    with override(enable_x64=True):
        case = Case(op, operands, params, constant=CONSTANT.get(op.name, ()))
    with override(enable_x64=False):
        return number, case, single(case)


def _hold(laws: Sequence[str], case: Case, number: int) -> None:
    """All laws but the exceptions; those that are broken are told together."""
    name = case.op.name
    excepted = {law for key in (None, number) for law in EXCEPTIONS.get((name, key), ((), ""))[0]}
    broken = []
    for law in laws:
        if law in excepted:
            continue
        try:
            LAWS[law](case)
        except Exception as error:
            error.add_note(f"law: {law}")
            broken.append(error)
    if broken:
        raise ExceptionGroup(f"laws broken by {case}", broken)


def test_laws_in_double_precision(sample):
    number, case, _ = sample
    with override(enable_x64=True):
        _hold(DOUBLE, case, number)


def test_laws_in_single_precision(sample):
    number, double, case = sample
    if case is None:
        pytest.skip("makes sense only with 64-bit dtypes")
    # Without 64-bit dtypes all but the op alone was the same in double precision.
    laws = SINGLE if case.types != double.types else ("eager",)
    with override(enable_x64=False):
        _hold(laws, case, number)


# --- is every op tested, and does it answer what it is asked?


def _ours() -> list[Primitive]:
    return [op for op in registry.values() if type(op).__module__.startswith("plait.")]


def test_every_op_has_samples_or_a_reason():
    sampled = {op.name for op, _ in every_sample()}
    ops = {op.name for op in _ours()}
    assert ops - sampled - set(WITHOUT_SAMPLES) == set(), "ops without samples"
    assert set(WITHOUT_SAMPLES) & sampled == set(), "ops with samples, listed as without"
    assert set(WITHOUT_SAMPLES) <= ops, "names of no op"


def test_the_exceptions_name_samples_that_exist():
    count = Counter(op.name for op, _ in every_sample())
    for name, number in EXCEPTIONS:
        assert count[name] > (number or 0), (name, number)
    assert set(CONSTANT) <= set(count)


# Ops that need not answer all questions.
NO_OPERANDS = ("axis_index", "constant", "device_id", "iota")
UNFOLDED = ("custom_jvp", "custom_vjp")  # a trace writes custom_jvp_call, custom_vjp_call


@pytest.mark.parametrize("op", [op for op in _ours() if op.name not in UNFOLDED], ids=str)
def test_an_op_answers_every_question(op):
    def answers(question: str) -> bool:
        return getattr(type(op), question) is not getattr(Primitive, question)

    assert answers("type") and answers("numpy") and answers("lower") and op.__doc__
    assert answers("batch") or op.name in NO_OPERANDS
    operands = [x for sample in op.samples() for x in sample[0]]
    takes_floats = any(np.asarray(x).dtype in dtypes.INEXACT for x in operands)
    if (takes_floats or op.name in WITHOUT_SAMPLES) and op.name not in NO_OPERANDS:
        assert answers("jvp") or not op.differentiable
    if isinstance(op, Linear):
        assert answers("transpose")
