"""Functions of plait.numpy through XLA, many in one program, against their meaning."""

from __future__ import annotations

import numpy as np
import pytest

import plait
import plait.numpy as jnp
from plait.core.context import running
from tests.numpy import test_contraction, test_manipulation, test_reduction, test_searching
from tests.numpy.common import Reference, assert_same, leaves, lines

# Functions whose results depend on values in their shape cannot be compiled.
VALUES = """unique isin(K, []) nonzero flatnonzero argwhere where extract compress choose union1d
setdiff1d setxor1d intersect1d delete trim_zeros bincount array_ iterable xp.is xp.ndim xp.shape
xp.size repeat ravel_multi_index insert block append hsplit diff(B_ mask_indices searchsorted(np
argsort(V) np.sort piecewise np.stack poly( interp polydiv fweights histogram2d""".split()


def compilable(texts, names):
    return [t for t in texts if not any(f"{v}" in t for v in VALUES)], names


TABLES = {
    "contraction": (
        lines(test_contraction.PRODUCTS + test_contraction.NORMS + test_contraction.CONVOLVE),
        test_contraction.NAMES,
    ),
    "einsum": ([f"xp.einsum({t})" for t in lines(test_contraction.EINSUM)], test_contraction.NAMES),
    "shapes": (lines(test_manipulation.SHAPES + test_manipulation.JOINS), test_manipulation.NAMES),
    "padding": (lines(test_manipulation.PADS + test_manipulation.PACKED), test_manipulation.NAMES),
    "reduction": (lines(test_reduction.TABLE), test_reduction.NAMES),
    "searching": (
        lines(test_searching.SORTING + test_searching.STATISTICS + test_searching.COUNTS),
        test_searching.NAMES,
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_compiled(table):
    texts, names = compilable(*TABLES[table])
    assert len(texts) > 10

    def everything(values):
        names = {**values, "xp": jnp, "np": np}
        return [[jnp.asarray(y) for y in leaves(eval(t, names))] for t in texts]

    got = plait.jit(everything)(names)
    with running(Reference()):
        want = everything({k: jnp.asarray(v) for k, v in names.items()})
    for text, g, w in zip(texts, got, want, strict=True):
        try:
            assert_same(g, w)
        except AssertionError as error:
            raise AssertionError(text) from error
