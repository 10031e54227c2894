"""ArrayType, type_of, samples, the registry and missing rules."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.core import dtypes, sample
from plait.core.primitive import Primitive, Sample, every_sample, register, registry
from plait.core.types import ArrayType, is_array, scalar_type, type_of
from plait.errors import ArgumentTypeError, DtypeError, MissingRuleError

F32 = ArrayType((2, 3), dtypes.float32)


def test_equal_types_are_one_object():
    assert ArrayType([2, 3], dtypes.float32) is F32
    assert ArrayType((2, 3), dtypes.float32, True) is not F32
    assert F32.with_shape((6,)).with_shape((2, 3)) is F32
    assert F32.with_dtype(dtypes.int32).with_dtype(dtypes.float32) is F32
    assert ArrayType((2, 3), dtypes.float32, True).strong() is F32
    assert pickle.loads(pickle.dumps(F32)) is F32 and copy.deepcopy(F32) is F32
    assert (F32.ndim, F32.size, F32.nbytes) == (2, 6, 24)
    assert str(F32) == "float32[2,3]" and repr(F32) == "ArrayType(float32[2,3])"
    assert repr(ArrayType((), dtypes.int32, True)) == "ArrayType(int32[], weak_type=True)"


def test_threads_make_the_same_types():
    made = []

    def work():
        made.append([ArrayType((k, 9173), dtypes.uint8) for k in range(200)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(a is b for other in made[1:] for a, b in zip(made[0], other, strict=True))


def test_types_of_values():
    assert type_of(np.zeros((2, 3))) is F32  # 64 bits become 32
    assert type_of(jnp.zeros((2, 3))) is F32
    assert type_of(1) == scalar_type(1) == ArrayType((), dtypes.int32, True)
    assert type_of(True) == ArrayType((), dtypes.bool_)
    assert type_of(1j).dtype == dtypes.complex64
    with jax.enable_x64():
        assert type_of(np.zeros(2)).dtype == type_of(1.0).dtype == dtypes.float64
    for value in ("text", None, [1.0], object()):
        assert not is_array(value)
        with pytest.raises(ArgumentTypeError, match="is not an array"):
            type_of(value)
    with pytest.raises(DtypeError, match="not supported"):
        type_of(np.array(["a"]))


def test_tangents_of_types():
    assert F32.tangent() is F32
    assert ArrayType((2,), dtypes.int32).tangent() == ArrayType((2,), dtypes.float0)


def test_samples_are_the_same_on_every_run():
    x = sample.real(100)
    assert len(set(x)) == 100 and x.min() >= -2 and x.max() < 2
    np.testing.assert_array_equal(x, sample.real(100))
    assert sample.positive(5).min() >= 0.5 and sample.real().shape == ()
    assert sample.complex_(2, 3).shape == (2, 3) and sample.complex_(3).dtype == np.complex128
    assert set(sample.integers(50, low=0, high=4)) == {0, 1, 2, 3}
    assert {True, False} == set(sample.booleans(10).tolist())


def test_all_samples_are_arrays_and_parameters():
    for op, found in every_sample():
        assert isinstance(found, Sample) and isinstance(op, Primitive)
        assert all(isinstance(x, np.ndarray | np.generic) for x in found.operands), op
        hash(tuple(found.params.values()))


def test_an_op_registers_once():
    with pytest.raises(ValueError, match="two ops are named 'sin'"):
        register(registry["sin"])


def test_a_missing_rule_names_op_question_and_file():
    class Bare(Primitive):
        name = "bare"

        def type(self, x):
            return x

    op = Bare()
    x = np.ones(2, np.float32)
    with pytest.raises(MissingRuleError) as caught:
        jax.jit(op.bind)(x)
    assert str(caught.value).splitlines() == [
        "bare: this op has no 'lower' rule",
        "  fix  add the method lower to Bare in test_types.py",
    ]
    for question, call in (
        ("batch", lambda: jax.vmap(op.bind)(x)),
        ("jvp", lambda: jax.jvp(op.bind, (x,), (x,))),
        ("numpy", lambda: op.numpy(x)),
    ):
        with pytest.raises(MissingRuleError, match=f"no '{question}' rule"):
            call()
    assert repr(op) == "bare"
