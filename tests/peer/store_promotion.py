"""Write what JAX's promotion gives for every pair of types: python store_promotion.py [FILE].

Run it in an environment that has jax; plait is not imported. Without an argument the file is
tests/peer/promotion.txt, which tests/core/test_dtypes.py reads; it was made with jax 0.12.0.1. A
line is: bits of the default ints, one type, the other, their result, `weak` if that is weak.
"""

import sys
from pathlib import Path

import jax  # noqa: TID251 (this script is JAX's side of the comparison)
import jax.numpy as jnp  # noqa: TID251
import ml_dtypes

PYTHON = {"int": 1, "float": 1.0, "complex": 1j}
NARROW = "int2 uint2 int4 uint4 float4_e2m1fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz"
NARROW += " float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu bfloat16"
PLAIN = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
PLAIN += " complex64 complex128"


def _value(name: str):
    if name in PYTHON:
        return PYTHON[name]
    dtype = getattr(ml_dtypes, name) if name in NARROW.split() else name
    return jax.ShapeDtypeStruct((), dtype)


def main() -> None:
    here = Path(__file__).with_name("promotion.txt")
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    lines = []
    for bits in (32, 64):
        jax.config.update("jax_enable_x64", bits == 64)
        names = [*PYTHON, *NARROW.split(), *PLAIN.split()]
        if bits == 32:  # these do not exist then
            names = [n for n in names if not n.endswith("64") or n == "complex64"]
            names.remove("complex128")
        for a in names:
            for b in names:
                try:
                    out = jax.eval_shape(jnp.add, _value(a), _value(b))
                    result = f"{out.dtype}{' weak' if out.weak_type else ''}"
                except jax.dtypes.TypePromotionError:
                    result = "error"
                lines.append(f"{bits} {a} {b} {result}\n")
    file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
