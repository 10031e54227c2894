"""Mistakes with pmap and vmap."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax, random


class Foreign:
    """What pmap sees of a device of another platform."""

    platform = "cuda"

    def __repr__(self) -> str:
        return "CudaDevice(id=0)"


TWO = np.float32([1.0, 4.0])
ROWS = np.ones((2, 3), np.float32)
FOUR = np.ones((4, 3), np.float32)


def identity(x):
    return x


def both(x, y):
    return x


def devices(n: int) -> Any:
    return jax.devices()[:n]


def in_plain_python(call: Any) -> Any:
    with jax.disable_jit():
        return call()


def some_psum(x):
    return lax.cond(lax.axis_index("i") == 0, lambda y: lax.psum(y, "i"), lambda y: y, x)


def until_large(x):
    return lax.while_loop(lambda c: c < 9, lambda c: c + lax.pmean(c, "i"), x)


CASES: dict[str, Any] = {
    "pmap: an axis of the whole": lambda: jax.pmap(lambda x: x.sum(axis=1))(np.ones((2, 3))),
    "vmap: an axis of the whole": lambda: jax.vmap(lambda x: jnp.sort(x, 1))(np.ones((2, 3))),
    # sizes
    "pmap: leaves of different sizes": lambda: jax.pmap(lambda p: p["w"])(
        {"w": np.ones((1, 3)), "b": np.ones(2)}
    ),
    "pmap: arguments of different sizes": lambda: jax.pmap(both, in_axes=(1, 0))(ROWS, TWO),
    "pmap: many sizes": lambda: jax.pmap(lambda *xs: xs)(*(np.ones(k // 3 + 1) for k in range(9))),
    "pmap: a keyword argument of another size": lambda: jax.pmap(both)(TWO, y=np.ones(3)),
    "pmap: rows that do not divide": lambda: jax.pmap(identity, devices=devices(2))(
        np.ones((7, 1))
    ),
    "pmap: rows that do not divide over eight": lambda: jax.pmap(identity)(np.ones(9)),
    "pmap: an empty axis": lambda: jax.pmap(identity)(np.ones((0, 2))),
    "pmap: axis_size and the rows": lambda: jax.pmap(identity, axis_size=3)(TWO),
    "pmap: axis_size is no int": lambda: jax.pmap(identity, axis_size=2.0),
    "pmap: axis_size is negative": lambda: jax.pmap(identity, axis_size=-2),
    "pmap: called with the argument": lambda: jax.pmap(identity, TWO),
    "vmap: called with the argument": lambda: jax.vmap(identity, TWO),
    "pmap: nothing is mapped": lambda: jax.pmap(identity, in_axes=None)(TWO),
    "pmap: no arguments": lambda: jax.pmap(lambda: 1.0)(),
    "vmap: leaves of different sizes": lambda: jax.vmap(lambda p, x: x)(
        {"w": [ROWS, TWO]}, np.ones(3)
    ),
    "vmap: nothing is mapped": lambda: jax.vmap(identity, in_axes=None)(TWO),
    "vmap: axis_size and the rows": lambda: jax.vmap(identity, axis_size=3)(TWO),
    # axes
    "pmap: a number among arrays": lambda: jax.pmap(lambda x, power: x**power)(ROWS, 3),
    "pmap: a number deep in a tree": lambda: jax.pmap(lambda cfg: cfg)({"a": [TWO, 3.0]}),
    "pmap: a keyword argument that is a number": lambda: jax.pmap(both)(TWO, y=3.0),
    "pmap: a list of numbers": lambda: jax.pmap(identity)([1.0, 2.0]),
    "pmap: one random key": lambda: jax.pmap(lambda k: k)(random.key(0)),
    "pmap: one random key in a tree": lambda: jax.pmap(lambda s: s)({"k": random.key(0), "x": TWO}),
    "pmap: an axis that is not there": lambda: jax.pmap(identity, in_axes=2)(ROWS),
    "pmap: a negative axis that is not there": lambda: jax.pmap(identity, in_axes=-3)(ROWS),
    "pmap: an output axis that is not there": lambda: jax.pmap(identity, out_axes=2)(ROWS),
    "pmap: a negative output axis that is not there": lambda: jax.pmap(identity, out_axes=-3)(ROWS),
    "vmap: a number among arrays": lambda: jax.vmap(both)(TWO, 3.0),
    "vmap: an axis that is not there": lambda: jax.vmap(identity, in_axes=3)(ROWS),
    "vmap: an output axis that is not there": lambda: jax.vmap(identity, out_axes=5)(ROWS),
    # trees of axes
    "pmap: in_axes is too long": lambda: jax.pmap(both, in_axes=(0, 0, 0))(TWO, TWO),
    "pmap: in_axes is too short": lambda: jax.pmap(both, in_axes=(0,))(TWO, TWO),
    "pmap: in_axes forgets a static argument": lambda: jax.pmap(
        lambda x, n, y: x, static_broadcasted_argnums=1, in_axes=(0, 0)
    )(TWO, 3, TWO),
    "pmap: in_axes of other keys": lambda: jax.pmap(lambda p: p, in_axes=({"a": 0},))({"b": TWO}),
    "pmap: in_axes of another length inside": lambda: jax.pmap(
        lambda p: p, in_axes=({"a": [0, 0]},)
    )({"a": [TWO]}),
    "pmap: in_axes deeper than the argument": lambda: jax.pmap(lambda p: p, in_axes=([0, 0],))(TWO),
    "pmap: in_axes of another container": lambda: jax.pmap(lambda p: p, in_axes=((0, 0),))(
        [TWO, TWO]
    ),
    "pmap: in_axes holds a name": lambda: jax.pmap(identity, in_axes="batch"),
    "pmap: in_axes holds a bool": lambda: jax.pmap(identity, in_axes=True),
    "pmap: out_axes is too long": lambda: jax.pmap(lambda x: (x, x), out_axes=(0, 0, 0))(TWO),
    "pmap: out_axes of other keys": lambda: jax.pmap(lambda x: {"a": x, "b": x}, out_axes={"a": 0})(
        TWO
    ),
    "pmap: out_axes for one result": lambda: jax.pmap(identity, out_axes=(0, 0))(TWO),
    "pmap: out_axes of another length inside": lambda: jax.pmap(
        lambda x: (x, {"a": [x, x]}), out_axes=(0, {"a": [0]})
    )(TWO),
    "pmap: out_axes holds a float": lambda: jax.pmap(identity, out_axes=1.5),
    "vmap: in_axes is too short": lambda: jax.vmap(both, in_axes=(0,))(TWO, TWO),
    "vmap: out_axes is too short": lambda: jax.vmap(lambda x: (x, x), out_axes=(0,))(TWO),
    # out_axes=None
    "pmap: out_axes=None of the argument": lambda: jax.pmap(identity, out_axes=None)(TWO),
    "pmap: out_axes=None of a leaf": lambda: jax.pmap(
        lambda b: {"loss": lax.pmean(b["x"], "i"), "parts": [b["x"].sum()]}, "i", out_axes=None
    )({"x": TWO}),
    "pmap: out_axes=None of a place": lambda: jax.pmap(
        lambda x: lax.axis_index("i") + 1, "i", out_axes=None
    )(TWO),
    "pmap: out_axes=None in plain Python": lambda: in_plain_python(
        lambda: jax.pmap(identity, out_axes=None)(TWO)
    ),
    "vmap: out_axes=None of a row": lambda: jax.vmap(identity, out_axes=None)(TWO),
    # devices and names
    "pmap: no devices": lambda: jax.pmap(identity, devices=[]),
    "pmap: one device twice": lambda: jax.pmap(identity, devices=devices(1) * 2),
    "pmap: names of devices": lambda: jax.pmap(identity, devices=["cpu:0"]),
    "pmap: a number of devices": lambda: jax.pmap(identity, devices=2),
    "pmap: a backend that is not there": lambda: jax.pmap(identity, backend="abacus")(TWO),
    "pmap: devices of several platforms": lambda: jax.pmap(
        identity, devices=[jax.devices()[0], Foreign()]
    ),
    "pmap: an axis name with a typo": lambda: jax.pmap(lambda x: lax.psum(x, "batch"), "bacth")(
        TWO
    ),
    "pmap: an axis name where none was given": lambda: jax.pmap(lambda x: lax.psum(x, "i"))(TWO),
    "pmap: an axis name in nested maps": lambda: jax.pmap(
        jax.vmap(lambda x: lax.axis_index("k"), axis_name="j"), "i"
    )(ROWS),
    "pmap: lanes that part ways": lambda: in_plain_python(
        lambda: jax.pmap(lambda x: lax.psum(x, "i") if x > 2 else x, "i")(TWO)
    ),
    "pmap: lanes at different collectives": lambda: in_plain_python(
        lambda: jax.pmap(lambda x: lax.psum(x, "i") if x > 2 else lax.pmax(x, "i"), "i")(TWO)
    ),
    "pmap: a collective that some reach": lambda: jax.pmap(some_psum, "i")(TWO),
    "pmap: a collective in a loop of own length": lambda: jax.pmap(until_large, "i")(TWO),
    # what it is given
    "pmap: not a function": lambda: jax.pmap(3),
    "pmap: a result called": lambda: jax.pmap(jnp.ones(2)),
    "pmap: a text among arguments": lambda: jax.pmap(lambda x, opts: x)(TWO, {"mode": "fast"}),
    "pmap: a text is returned": lambda: jax.pmap(lambda x: {"a": (x, "text")})(TWO),
    "pmap: a static argument that is a list": lambda: jax.pmap(both, static_broadcasted_argnums=1)(
        TWO, [1]
    ),
    "pmap: a static argument that is an array": lambda: jax.pmap(
        both, static_broadcasted_argnames="y"
    )(TWO, y=TWO),
    "pmap: a static argument that is not there": lambda: jax.pmap(
        both, static_broadcasted_argnums=2
    ),
    "pmap: a static name that is not there": lambda: jax.pmap(
        both, static_broadcasted_argnames="z"
    ),
    "pmap: static and donated": lambda: jax.pmap(
        both, static_broadcasted_argnums=1, donate_argnums=1
    ),
    "pmap: a donated argument that is not there": lambda: jax.pmap(both, donate_argnums=(0, 2)),
    "pmap: a donated name that is not there": lambda: jax.pmap(both, donate_argnames="z"),
    "vmap: not a function": lambda: jax.vmap("f"),
    "vmap: a generator": lambda: jax.vmap(lambda x: (yield x)),
    "vmap: a text among arguments": lambda: jax.vmap(both)(TWO, "text"),
    "vmap: None is returned in a list": lambda: jax.vmap(lambda x: [object()])(TWO),
    "vmap: axis_size is no int": lambda: jax.vmap(identity, axis_size="2"),
}
