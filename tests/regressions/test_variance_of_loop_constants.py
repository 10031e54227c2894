"""A value that a loop only hands on does not vary because the number of rounds does."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override

D = jax.device_count()


def loop(result):
    def body(x):
        total = lax.psum(x, "i")
        carry = (0.0, total, 1.0)
        return lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, c[1], c[2] * 2), carry)[
            result
        ]

    return jax.pmap(body, axis_name="i", out_axes=None)


@pytest.mark.parametrize("form", ["fused", "gang"])
def test_the_constant_part_of_a_carry_leaves_unmapped(form):
    x = np.arange(float(D), dtype=np.float32)
    with override(pmap_form=form):
        np.testing.assert_allclose(loop(1)(x), x.sum())


@pytest.mark.parametrize("result", [0, 2])
def test_what_changes_in_rounds_whose_number_varies_is_refused(result):
    with pytest.raises(ValueError, match="out_axes=None"):
        loop(result)(jnp.arange(float(D)))
