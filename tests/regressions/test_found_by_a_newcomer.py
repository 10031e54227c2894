"""What somebody who had read only the documents ran into."""

from __future__ import annotations

import math
import operator
import os
import subprocess
import sys

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait import lax
from plait.errors import (
    ArgumentError,
    ConcretizationTypeError,
    NanError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)


@pytest.mark.parametrize("transform", [plait.grad, plait.jacfwd, plait.value_and_grad])
@pytest.mark.parametrize("function", [lambda x: np.sin(x) ** 2, lambda x: np.tanh(x) * x])
def test_numpy_functions_never_give_silent_zeros(transform, function):
    with pytest.raises(TracerArrayConversionError, match=r"use plait\.numpy"):
        transform(function)(2.0)


def test_the_error_says_by_its_class_what_was_asked_of_a_traced_value():
    asked = {
        ConcretizationTypeError: (float, complex, lambda x: x.item(), "{:.2f}".format),
        TracerBoolConversionError: (bool,),
        TracerIntegerConversionError: (operator.index,),
        TracerArrayConversionError: (np.asarray, np.sin),
    }
    for error, functions in asked.items():
        for function in functions:
            with pytest.raises(error) as caught:
                plait.jit(function)(1)
            assert type(caught.value) is error


def test_python_control_flow_on_values_still_works_under_grad():
    def f(x):
        return x * 2.0 if float(x) > 0 and x > 0 and math.floor(x) >= 0 else -x

    assert plait.grad(f)(3.0) == 2.0 and plait.grad(f)(-3.0) == -1.0


def test_debug_nans_names_where_the_nan_was_made_not_where_it_went():
    f = plait.pmap(lambda x: lax.pmean(jnp.log(x), "i"), axis_name="i")
    with plait.debug_nans(True), pytest.raises(NanError) as caught:
        f(jnp.array([3.0, -1.0]))
    text = str(caught.value)
    assert "came out of log" in text and "1 of axis 'i'" in text and "cpu:1" in text


def test_debug_nans_shows_no_device_where_there_is_no_map():
    with plait.debug_nans(True), pytest.raises(NanError) as caught:
        jnp.log(-1.0)
    assert not [line for line in str(caught.value).splitlines() if line.startswith("  device")]


def test_disable_jit_gives_the_function_arrays_of_plait():
    with plait.disable_jit():
        y = plait.jit(lambda x: x.at[0].set(5.0))(np.ones(3))
        assert y.dtype == np.float32 and y.tolist() == [5.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "shape, axis, widths",
    [((9, 1), 0, "((0, 7), (0, 0))"), ((4, 9), 1, "((0, 0), (0, 7))"), ((9,), 0, "((0, 7),)")],
)
def test_the_recipe_for_uneven_rows_pads_the_mapped_axis(shape, axis, widths):
    devices = (plait.devices() * 8)[:8]
    if len(set(devices)) < 8:
        pytest.skip("needs 8 devices")
    with pytest.raises(ShapeError) as caught:
        plait.pmap(lambda x: x, in_axes=axis, devices=devices)(np.ones(shape))
    assert widths in str(caught.value)


@pytest.mark.parametrize("name, value", [("PMAP_FORM", "foo"), ("NUM_CPU_DEVICES", "abc")])
def test_environment_variables_are_checked(name, value):
    env = dict(os.environ, **{f"PLAIT_{name}": value})
    program = "import plait; plait.devices()"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"PLAIT_{name}" in done.stderr and ArgumentError.__name__ in done.stderr
    assert "None" not in done.stderr.splitlines()[-1]
