"""An array that was given away is refused wherever it comes in, naming the call that took it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait import lax
from plait.config import override
from plait.errors import DonatedError
from plait.sharding import NamedSharding, make_mesh
from plait.sharding import PartitionSpec as P


def fresh() -> Any:
    return jnp.arange(8.0).reshape(4, 2) + 0


def taker(x):
    return x + 1


def spread() -> Any:
    return NamedSharding(make_mesh((2,), ("a",)), P("a"))


def same(x):
    return x


# How an array of each kind comes to be; it is donated by `taker`.
KINDS: dict[str, Callable[[], Any]] = {
    "plain": fresh,
    "of a map": lambda: jax.pmap(same)(fresh()),
    "on a device": lambda: jax.device_put(fresh(), jax.devices()[1]),
    "in rows": lambda: jax.device_put(fresh(), jax.devices()[:2]),
}
USES: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x[0],
    "element": lambda x: x[0, 1],
    "slice": lambda x: x[1:],
    "positions": lambda x: x[np.array([0])],
    "asarray": np.asarray,
    "array": np.array,
    "sum": lambda x: x + 1,
    "right operand": lambda x: 1 + x,
    "compare": lambda x: x == x,
    "product": lambda x: x @ x.T,
    "with NumPy": lambda x: np.ones(2, np.float32) + x,
    "method": lambda x: x.sum(),
    "tolist": lambda x: x.tolist(),
    "iteration": list,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "jnp.copy": jnp.copy,
    "dlpack": lambda x: x.__dlpack__(),
    "from_dlpack": np.from_dlpack,
    "jit, unchanged": jax.jit(same),
    "jit": jax.jit(lambda x: x * 2),
    "jit of a tree": lambda x: jax.jit(same)({"k": [x]}),
    "jit, closed over": lambda x: jax.jit(lambda y: y + x)(1.0),
    "pmap, unchanged": lambda x: jax.pmap(same)(x),
    "pmap": lambda x: jax.pmap(lambda x: x * 2)(x),
    "pmap, whole": lambda x: jax.pmap(lambda a, b: a, in_axes=(0, None))(fresh(), x),
    "pmap, closed over": lambda x: jax.pmap(lambda y: y + x)(fresh()),
    "collective": lambda x: jax.pmap(lambda x: lax.psum(x, "i"), "i")(x),
    "vmap, unchanged": jax.vmap(same),
    "vmap": jax.vmap(lambda x: x * 2),
    "vmap, collective": jax.vmap(lambda x: lax.pmean(x, "i"), axis_name="i"),
    "grad": jax.grad(lambda x: x.sum()),
    "vjp, unchanged": lambda x: jax.vjp(same, x),
    "jvp, unchanged": lambda x: jax.jvp(same, (x,), (fresh(),)),
    "linearize, unchanged": lambda x: jax.linearize(same, x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: x * 2)(x),
    "scan": lambda x: lax.scan(lambda c, r: (c, r), 0.0, x),
    "cond": lambda x: lax.cond(True, same, same, x),
    "device_put": jax.device_put,
    "device_put to a device": lambda x: jax.device_put(x, jax.devices()[1]),
    "device_put to devices": lambda x: jax.device_put(x, jax.devices()[:2]),
    "device_put to a sharding": lambda x: jax.device_put(x, spread()),
    "device_put_replicated": lambda x: jax.device_put_replicated(x, jax.devices()[:2]),
    "device_put_sharded": lambda x: jax.device_put_sharded([x, x], jax.devices()[:2]),
    "device_get": jax.device_get,
    "block_until_ready": jax.block_until_ready,
    "its block_until_ready": lambda x: x.block_until_ready(),
    "at": lambda x: x.at[0].set(1),
    "at, read": lambda x: x.at[0].get(),
    "put into another": lambda x: fresh().at[:].set(x),
    "donated again": lambda x: jax.jit(taker, donate_argnums=0)(x),
    "shards": lambda x: [s.data for s in x.addressable_shards],
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_everywhere(kind, form):
    take = (jax.pmap if kind == "of a map" else jax.jit)(taker, donate_argnums=0)
    silent = []
    for name, use in USES.items():
        x = KINDS[kind]()
        take(x)
        try:
            use(x)
        except DonatedError as error:
            assert "taker" in str(error), f"{name}: {error}"
        else:
            silent.append(name)
    assert silent == []


def test_what_can_still_be_asked():
    x = fresh()
    jax.jit(taker, donate_argnums=0)(x)
    assert x.is_deleted() and x.shape == (4, 2) and x.dtype == np.float32 and len(x) == 4
    assert "deleted" in repr(x) and "deleted" in str(x) and "deleted" in f"{x}"


@pytest.fixture(params=["fused", "gang"])
def form(request):
    with override(pmap_form=request.param):
        yield request.param
