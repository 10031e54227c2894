"""Messages that once spoke of the inside, or of the lesser of two mistakes."""

from __future__ import annotations

import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax


def test_a_traced_value_in_a_format():
    with pytest.raises(TypeError, match=r"(?s)format '\.2f'.*debug\.print"):
        jax.jit(lambda x: f"{x:.2f}")(1.0)
    texts = []
    jax.jit(lambda x: (texts.append(f"{x}"), x)[1])(1.0)
    assert "float32" in texts.pop()
    jax.grad(lambda x: (texts.append(f"{x:.2f}"), x)[1])(1.0)
    assert texts == ["1.00"]


@pytest.mark.parametrize("result", [lambda x: None, lambda x: (x,)])
def test_grad_of_what_is_no_scalar(result):
    with pytest.raises(TypeError, match="must return one scalar") as caught:
        jax.grad(result)(1.0)
    assert "PyTreeDef" not in str(caught.value)


@pytest.mark.parametrize("groups", [[[0, 1], [1, 2, 3]], [[0, 1], [2]]])
def test_groups_that_miss_or_repeat_a_position(groups):
    f = jax.vmap(lambda x: lax.psum(x, "i", axis_index_groups=groups), axis_name="i")
    with pytest.raises(ValueError, match="in one group, once"):
        f(jnp.arange(4.0))
