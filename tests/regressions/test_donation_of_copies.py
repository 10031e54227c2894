"""Donating what device_put made leaves the array it was made from."""

from __future__ import annotations

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.config import override

D = jax.device_count()


def rows():
    return jnp.arange(3.0 * D).reshape(D, 3)


@pytest.mark.parametrize("form", ["fused", "gang"])
@pytest.mark.parametrize("put", [jax.device_put, jax.device_put_replicated])
def test_the_source_of_spread_arrays_survives_their_donation(form, put):
    with override(pmap_form=form):
        x = rows()
        y = put(x, jax.devices())
        z = jax.pmap(lambda row: row + 1, donate_argnums=0)(y)
        assert y.is_deleted()
        np.testing.assert_array_equal(x, np.arange(3.0 * D).reshape(D, 3))
        np.testing.assert_array_equal(np.asarray(z), np.broadcast_to(x, z.shape) + 1)


def test_a_source_may_enter_the_call_that_donates_its_copies():
    x = rows()
    step = jax.pmap(lambda p, whole: p + whole.sum(), in_axes=(0, None), donate_argnums=0)
    got = step(jax.device_put(x, jax.devices()), x)
    np.testing.assert_allclose(got, np.asarray(x) + np.asarray(x).sum())


def test_device_put_shares_memory_unless_told_not_to():
    x = rows()
    y = jax.device_put(x, may_alias=False)
    jax.jit(lambda v: v + 1, donate_argnums=0)(y)
    assert y.is_deleted() and not x.is_deleted()
