"""Mistakes with collectives, under pmap."""

from __future__ import annotations

from typing import Any

import numpy as np

import plait as jax
from plait import lax, random

X = np.ones((4, 4), np.float32)


def under(f: Any, x: Any = X) -> Any:
    return jax.pmap(f, axis_name="i")(x)


CASES: dict[str, Any] = {
    "psum: outside of maps": lambda: lax.psum(X, "i"),
    "psum: in jit alone": lambda: jax.jit(lambda x: lax.psum(x, "i"))(X),
    "psum: one of several names": lambda: under(lambda x: lax.psum(x, ("i", "j"))),
    "psum: a name twice": lambda: under(lambda x: lax.psum(x, ("i", "i"))),
    "psum: a key": lambda: under(lambda k: lax.psum(k, "i"), random.split(random.key(0), 4)),
    "psum: groups that miss a position": lambda: under(
        lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 2]])
    ),
    "all_gather: groups of different sizes": lambda: under(
        lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]])
    ),
    "psum: groups over two names": lambda: jax.pmap(
        jax.vmap(lambda x: lax.psum(x, ("i", "j"), axis_index_groups=[[0, 1]]), axis_name="j"), "i"
    )(X),
    "pmean: a key": lambda: under(lambda k: lax.pmean(k, "i"), random.split(random.key(0), 4)),
    "pmax: a key": lambda: under(lambda k: lax.pmax(k, "i"), random.split(random.key(0), 4)),
    "all_gather: a name that is not bound": lambda: under(lambda x: lax.all_gather(x, "k")),
    "all_gather: an axis that is not there": lambda: under(
        lambda x: lax.all_gather(x, "i", axis=3)
    ),
    "all_gather: a scalar, tiled": lambda: under(lambda x: lax.all_gather(x[0], "i", tiled=True)),
    "psum_scatter: a size that does not fit": lambda: under(lambda x: lax.psum_scatter(x[:3], "i")),
    "psum_scatter: tiled, a size that does not divide": lambda: under(
        lambda x: lax.psum_scatter(x[:3], "i", tiled=True)
    ),
    "psum_scatter: a key": lambda: under(
        lambda k: lax.psum_scatter(k, "i"), random.split(random.key(0), 16).reshape(4, 4)
    ),
    "all_to_all: a size that does not fit": lambda: under(
        lambda x: lax.all_to_all(x[:3], "i", 0, 0)
    ),
    "all_to_all: tiled, a size that does not divide": lambda: under(
        lambda x: lax.all_to_all(x[:3], "i", 0, 0, tiled=True)
    ),
    "all_to_all: an axis that is not there": lambda: under(lambda x: lax.all_to_all(x, "i", 1, 0)),
    "ppermute: a source that is not there": lambda: under(lambda x: lax.ppermute(x, "i", [(4, 0)])),
    "ppermute: a negative target": lambda: under(lambda x: lax.ppermute(x, "i", [(0, -1)])),
    "ppermute: two go to one": lambda: under(lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)])),
    "ppermute: one goes twice": lambda: under(lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)])),
    "ppermute: no pairs": lambda: under(lambda x: lax.ppermute(x, "i", [0, 1])),
    "ppermute: triples": lambda: under(lambda x: lax.ppermute(x, "i", [(0, 1, 2)])),
    "ppermute: no list": lambda: under(lambda x: lax.ppermute(x, "i", None)),
    "ppermute: a traced source": lambda: under(lambda x: lax.ppermute(x, "i", [(x, 0)])),
    "psum: groups that are no lists": lambda: under(
        lambda x: lax.psum(x, "i", axis_index_groups=[0, 1, 2, 3])
    ),
    "all_gather: groups of floats": lambda: under(
        lambda x: lax.all_gather(x, "i", axis_index_groups=[[0.0, 1.0], [2.0, 3.0]])
    ),
    "psum: a list of lists of names": lambda: under(lambda x: lax.psum(x, [["i"]])),
    "axis_size: a traced value for the name": lambda: under(lambda x: lax.axis_size(x)),
    "pshuffle: no list": lambda: under(lambda x: lax.pshuffle(x, "i", 3)),
    "pshuffle: no permutation": lambda: under(lambda x: lax.pshuffle(x, "i", [0, 1, 2, 2])),
    "pshuffle: too short": lambda: under(lambda x: lax.pshuffle(x, "i", [1, 0])),
    "pswapaxes: a size that does not fit": lambda: under(lambda x: lax.pswapaxes(x[:3], "i", 0)),
    "pbroadcast: a source that is not there": lambda: under(lambda x: lax.pbroadcast(x, "i", 4)),
    "axis_index: a name that is not bound": lambda: under(lambda x: lax.axis_index("k")),
    "axis_size: a name that is not bound": lambda: lax.axis_size("k"),
    "pvary: a name that is not bound": lambda: lax.pvary(X, "k"),
}
