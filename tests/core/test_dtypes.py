"""Dtypes: promotion against JAX's table, widths, Python scalars, sets, keys."""

from __future__ import annotations

import pathlib
import pickle

import ml_dtypes
import numpy as np
import pytest

from plait.config import override
from plait.core import dtypes
from plait.errors import ArgumentTypeError, DtypeError, IntegerOverflowError

TABLE = pathlib.Path(__file__).parent.parent / "peer" / "promotion.txt"
PYTHON = {"int": int, "float": float, "complex": complex}


def _promoted(names: tuple[str, str]) -> str:
    pairs = [
        (dtypes.scalar_dtype(PYTHON[n]), True) if n in PYTHON else (dtypes.as_dtype(n), False)
        for n in names
    ]
    try:
        dtype, weak = dtypes.promote(*pairs)
    except DtypeError:
        return "error"
    return f"{dtype.name}{' weak' if weak else ''}"


@pytest.mark.parametrize("bits", [32, 64])
def test_promotion_is_that_of_jax(bits):
    """Every pair of types, as tests/peer/store_promotion.py stored it."""
    wrong = []
    with override(enable_x64=bits == 64):
        for line in TABLE.read_text(encoding="utf-8").splitlines():
            width, a, b, *result = line.split()
            if int(width) == bits and (got := _promoted((a, b))) != " ".join(result):
                wrong.append(f"{line}: {got}")
    assert wrong == []


def test_promotion_does_not_depend_on_the_order():
    names = ["bool", "int8", "uint16", "int32", "bfloat16", "float16", "complex64", "float32"]
    for a in names:
        for b in names:
            assert _promoted((a, b)) == _promoted((b, a))
            for c in names:  # three at once are at least each pair of them
                three = dtypes.promote(*((dtypes.as_dtype(n), False) for n in (a, b, c)))[0]
                assert _promoted((_promoted((a, b)), three.name)) == three.name


def test_strict_promotion_refuses_different_dtypes():
    with override(numpy_dtype_promotion="strict"):
        assert dtypes.promote((dtypes.float32, False), (dtypes.int32, True))[0] == np.float32
        with pytest.raises(DtypeError, match="astype"):
            dtypes.promote((dtypes.float32, False), (dtypes.int32, False))


def test_keys_do_not_mix():
    key = (dtypes.KEY_DTYPE, False)
    assert dtypes.promote(key, key) == key
    with pytest.raises(DtypeError, match="key_data"):
        dtypes.promote(key, (dtypes.uint32, False))


def test_as_dtype_reads_every_spelling():
    for spec in ("float32", np.float32, np.dtype("f4"), np.dtype(">f4"), np.float32(1)):
        assert dtypes.as_dtype(spec) == dtypes.float32
    assert dtypes.as_dtype(float) == dtypes.float64 and dtypes.as_dtype(bool) == dtypes.bool_
    assert dtypes.as_dtype("bfloat16") == dtypes.as_dtype(ml_dtypes.bfloat16) == dtypes.bfloat16
    assert dtypes.as_dtype("key<fry>") is dtypes.KEY_DTYPE
    for spec in ("float31", None, object(), 3):
        with pytest.raises(ArgumentTypeError):
            dtypes.as_dtype(spec)


def test_canonical_dtypes_have_32_bits_unless_asked():
    wide = [dtypes.int64, dtypes.uint64, dtypes.float64, dtypes.complex128]
    narrow = [dtypes.int32, dtypes.uint32, dtypes.float32, dtypes.complex64]
    for x64, wanted in ((False, narrow), (True, wide)):
        with override(enable_x64=x64):
            assert [dtypes.canonical(d) for d in wide] == wanted
            assert dtypes.canonical(dtypes.float16) == dtypes.float16
            defaults = dtypes.default_int(), dtypes.default_uint(), dtypes.default_float()
            assert (*defaults, dtypes.default_complex()) == tuple(wanted)
            assert dtypes.scalar_dtype(int) == wanted[0]
            assert dtypes.scalar_dtype(bool) == dtypes.bool_


def test_parts_of_complex_numbers():
    assert dtypes.real_of(dtypes.complex64) == dtypes.float32
    assert dtypes.real_of(dtypes.int32) == dtypes.int32
    assert dtypes.complex_of(dtypes.float64) == dtypes.complex128
    assert dtypes.complex_of(dtypes.complex64) == dtypes.complex64
    assert dtypes.complex_of(dtypes.float16) == dtypes.complex64


def test_the_sets_do_not_overlap():
    sets = [dtypes.BOOL, dtypes.INT, dtypes.UINT, dtypes.FLOAT, dtypes.COMPLEX, dtypes.KEY]
    assert sum(map(len, sets)) == len(dtypes.ANY) == len(frozenset().union(*sets))
    assert dtypes.names_of(dtypes.FLOAT | dtypes.KEY) == "float, key"


def test_integers_are_checked():
    dtypes.check_fits(255, np.dtype(np.uint8))
    for value, dtype in ((256, "uint8"), (-1, "uint32"), (2**31, "int32"), (8, "int4")):
        with pytest.raises(IntegerOverflowError, match=f"{value} does not fit in {dtype}"):
            dtypes.check_fits(value, dtypes.as_dtype(dtype))
    assert dtypes.iinfo("int4").max == 7
    assert dtypes.finfo(dtypes.complex64).eps == np.finfo(np.float32).eps


def test_unsupported_dtypes():
    for dtype in ("U3", "M8[s]", object):
        with pytest.raises(DtypeError, match="not supported"):
            dtypes.check_supported(np.dtype(dtype))


def test_issubdtype():
    assert dtypes.issubdtype(dtypes.bfloat16, np.floating)
    assert dtypes.issubdtype("int4", np.signedinteger)
    assert dtypes.issubdtype(dtypes.KEY_DTYPE, dtypes.prng_key)
    assert not dtypes.issubdtype(dtypes.KEY_DTYPE, np.number)
    assert dtypes.issubdtype(np.floating, np.inexact)
    assert not dtypes.issubdtype(np.floating, np.float32)
    assert dtypes.issubdtype(np.float32, np.float32)


def test_the_key_dtype_is_one_object():
    assert dtypes.KeyDType() is dtypes.KEY_DTYPE
    assert pickle.loads(pickle.dumps(dtypes.KEY_DTYPE)) is dtypes.KEY_DTYPE
    assert dtypes.storage(dtypes.KEY_DTYPE) == np.uint64
    assert repr(dtypes.KEY_DTYPE) == "key<fry>"
