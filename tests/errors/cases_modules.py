"""Mistakes with lax.linalg, debug, experimental, the example libraries, profiler, tree_util."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import debug, dtypes, lax, profiler, random, tree_util
from plait.example_libraries import optimizers, stax
from plait.experimental import checkify, mesh_utils, multihost_utils, ode, sparse
from tests.errors.cases_numpy import K, V, X, traced
from tests.errors.cases_tracers import leaked_from

S = sparse.BCOO.fromdense(jnp.asarray(X))
momentum = optimizers.momentum(0.1, 0.9)
grows = optimizers.optimizer(lambda: (lambda x: x, lambda step, g, x: (x, g), lambda x: x))()


def running(what: list[Any], f: Callable[[], Any]) -> Any:
    """A call while a trace is being recorded, or a server runs."""
    what.append(None)
    try:
        return f()
    finally:
        what.clear()


def positive(x: Any) -> None:
    checkify.check(jnp.all(x > 0), "not positive")


def with_outer(z: Any) -> Any:
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda xs, ts: (xs[0], ts[0] * z))
    return jax.grad(lambda x: lax.scan(lambda c, t: (f(c), t), x, V)[0])(1.0)


CASES: dict[str, Callable[[], Any]] = {
    "plait: no such name": lambda: jax.gradient,  # type: ignore[attr-defined]
    "plait.lax: no such name": lambda: lax.sinn,  # type: ignore[attr-defined]
    "plait.profiler: no such name": lambda: profiler.record,  # type: ignore[attr-defined]
    # dtypes, tree_util
    "scalar_type_of: a key": lambda: dtypes.scalar_type_of(random.key(0)),
    "canonicalize_dtype: a key": lambda: dtypes.canonicalize_dtype(random.key(0).dtype),
    "flatten_one_level: a leaf": lambda: tree_util.flatten_one_level(3),
    "flatten_one_level_with_keys: a leaf": lambda: tree_util.flatten_one_level_with_keys(3),
    "tree_reduce_associative: no leaves": lambda: tree_util.tree_reduce_associative(jnp.add, []),
    # lax.linalg
    "cholesky_update: sizes": lambda: lax.linalg.cholesky_update(np.eye(4), V[:3]),
    "symmetric_product: sizes": lambda: lax.linalg.symmetric_product(X, X),
    "qdwh: more columns than rows": lambda: lax.linalg.qdwh(X.T),
    # debug
    "debug.print: no format": lambda: debug.print(V),  # type: ignore[arg-type]
    "debug.print: a missing value": lambda: debug.print("{} {x}", V),
    "debug.print: a value too many": lambda: debug.print("x", V),
    "debug.print: a format": lambda: debug.print("{:d}", 1.5),
    "debug.breakpoint: traced": lambda: traced(lambda x: debug.breakpoint(), V),
    "visualize_sharding: no sharding": lambda: debug.visualize_sharding((4,), "x"),
    "inspect_array_sharding: no function": lambda: debug.inspect_array_sharding(V, callback=3),
    "show_variance: no pmap": lambda: debug.show_variance(jax.jit(jnp.sin), V),
    # experimental
    "check: no message": lambda: checkify.check(True, V),  # type: ignore[arg-type]
    "check: a vector": lambda: checkify.check(V > 0, "negative"),
    "check_error: traced": lambda: traced(
        lambda x: checkify.check_error(checkify.checkify(positive)(x)[0]), V
    ),
    "create_device_mesh: devices": lambda: mesh_utils.create_device_mesh((3,)),
    "create_hybrid_device_mesh: groups": lambda: mesh_utils.create_hybrid_device_mesh(
        (4,), (2,), process_is_granule=True
    ),
    "broadcast_one_to_all: no source": lambda: multihost_utils.broadcast_one_to_all(V, False),
    "reached_preemption_sync_point: -1": lambda: multihost_utils.reached_preemption_sync_point(-1),
    "odeint: integers": lambda: ode.odeint(lambda y, t: y, K, V),
    "odeint: a matrix of times": lambda: ode.odeint(lambda y, t: y, V, X),
    "odeint: another structure": lambda: ode.odeint(lambda y, t: (y, y), V, V),
    "odeint: another shape": lambda: ode.odeint(lambda y, t: y[0], V, V),
    "BCOO: one array": lambda: sparse.BCOO(V, shape=(4,)),
    "BCOO: indices of floats": lambda: sparse.BCOO((V, X), shape=(4, 4)),
    "BCOO: indices of one axis": lambda: sparse.BCOO((V, K), shape=(4,)),
    "BCOO: axes": lambda: S.transpose((0, 0)),
    "BCOO: times a vector": lambda: S * V[:3],
    "BCOO: a product": lambda: S @ V,
    # example_libraries
    "optimizer: a schedule": lambda: optimizers.make_schedule(V),
    "optimizer: boundaries": lambda: optimizers.piecewise_constant([1, 2], [0.1]),
    "optimizer: no JoinPoint": lambda: optimizers.pack_optimizer_state({"w": 1.0}),
    "optimizer: gradients": lambda: momentum[1](0, [V], momentum[0](V)),
    "optimizer: a state that grows": lambda: grows[1](0, V, grows[0](V)),
    "stax: inputs": lambda: stax.parallel(stax.Identity, stax.Exp)[1]([(), ()], [V]),
    "stax: no random numbers": lambda: stax.Dropout(0.5)[1]((), V),
    # profiler
    "start_trace: twice": lambda: running(profiler._session, lambda: profiler.start_trace("x")),
    "stop_trace: none": profiler.stop_trace,
    "start_server: twice": lambda: running(profiler._server, lambda: profiler.start_server(0)),
    "stop_server: none": profiler.stop_server,
    # interpreters
    "custom_jvp: a rule with a traced value": lambda: traced(with_outer, 2.0),
    "leak: from vmap into vmap": lambda: jax.vmap(lambda y: y + leaked_from(jax.vmap))(V),
    "leak: from grad into grad": lambda: jax.grad(lambda y: (y + leaked_from(jax.grad)).sum())(
        V[:2]
    ),
    "leak: out of vmap": lambda: jax.vmap(lambda y: leaked_from(jax.vmap))(V),
    "leak: out of jvp": lambda: jax.jvp(lambda y: leaked_from(jax.grad), (V,), (V,)),
}
