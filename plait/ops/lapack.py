"""Linear algebra in StableHLO: LAPACK's routines on CPU, their kin on GPU, and what goes with them.

The routines are custom calls that jaxlib brings. They see matrices column by column, any number of
them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.core import dtypes
from plait.core.types import ArrayType
from plait.errors import MissingRuleError
from plait.ops.matrix import nan_of

_LETTERS = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}
# Routines with another name for complex matrices.
_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def letter(text: str) -> str:
    """A character as the routines take it."""
    return f"{ord(text)} : ui8"


def flag(value: bool) -> str:
    """A truth value as the routines take it."""
    return "true" if value else "false"


def lapack(
    b: Any,
    routine: str,
    operands: Sequence[Any],
    results: Sequence[ArrayType],
    *,
    aliases: dict[int, int] | None = None,
    batch: int | None = None,
    config: dict[str, str] | None = None,
) -> tuple[Any, ...]:
    """Call a routine of LAPACK on the CPU, as `call` does; aliases are operands that become
    results.
    """
    dtype = operands[0].dtype
    if dtype in dtypes.COMPLEX:
        routine = _COMPLEX.get(routine, routine)
    target = f"lapack_{_LETTERS[dtype]}{routine}_ffi"
    return call(b, target, operands, results, aliases=aliases, batch=batch, config=config)


def call(
    b: Any,
    target: str,
    operands: Sequence[Any],
    results: Sequence[ArrayType],
    *,
    aliases: dict[int, int] | None = None,
    batch: int | None = None,
    config: dict[str, str] | None = None,
) -> tuple[Any, ...]:
    """Call a routine on many matrices, counted by the first `batch` axes of all operands; by those
    before the last two of the first operand, unless given.
    """
    count = operands[0].ndim - 2 if batch is None else batch
    return b.custom_call(
        target,
        operands,
        results,
        backend_config=", ".join(f"{name} = {text}" for name, text in (config or {}).items()),
        operand_layouts=[_layout(x.ndim, count) for x in operands],
        result_layouts=[_layout(t.ndim, count) for t in results],
        aliases=aliases,
    )


def _layout(ndim: int, batch: int) -> list[int]:
    """Axes from the fastest to the slowest: matrices go column by column."""
    before = list(reversed(range(batch)))
    if ndim == batch + 2:
        return [batch, batch + 1, *before]
    return list(reversed(range(ndim)))


def no_lowering(op: str, platform: str, what: str | None = None) -> MissingRuleError:
    """The error for a platform on which an op, or what it is asked for, cannot run."""
    return MissingRuleError(
        f"{what} is not there on the platform {platform!r}"
        if what
        else f"cannot run on the platform {platform!r}",
        op=op,
        fix="leave it out"
        if platform == "cpu"
        else "put the operands on a CPU, device_put(x, devices('cpu')[0])",
    )


def succeeded(b: Any, info: Any) -> Any:
    """Which matrices a routine could handle: it says so with 0."""
    return b.compare("EQ", info, b.full_like(info, 0))


def nan_unless(b: Any, ok: Any, *ys: Any) -> list[Any]:
    """Results with NaN for the matrices that are not ok."""
    out = []
    for y in ys:
        mask = b.broadcast_in_dim(ok, y.shape, range(ok.ndim))
        out.append(b.select(mask, y, b.full_like(y, nan_of(y.dtype))))
    return out


def triangle(b: Any, x: Any, lower: bool) -> Any:
    """A triangle of matrices, the diagonal included; zeros elsewhere."""
    n = x.ndim
    i = b.iota(x.shape[-2:], dtypes.int32, 0)
    j = b.iota(x.shape[-2:], dtypes.int32, 1)
    mask = b.compare("GE" if lower else "LE", i, j)
    mask = b.broadcast_in_dim(mask, x.shape, (n - 2, n - 1))
    return b.select(mask, x, b.full_like(x, 0))


def conjugate(b: Any, x: Any) -> Any:
    """The conjugate of a complex array."""
    part = ArrayType(x.shape, dtypes.real_of(x.dtype))
    re, im = b.op("real", (x,), part), b.op("imag", (x,), part)
    return b.op("complex", (re, b.unary("negate", im)), x.type.strong())


def eye(b: Any, type: ArrayType) -> Any:
    """Ones on the diagonals, zeros elsewhere."""
    shape, n = type.shape[-2:], type.ndim
    mask = b.compare("EQ", b.iota(shape, dtypes.int32, 0), b.iota(shape, dtypes.int32, 1))
    return b.broadcast_in_dim(b.convert(mask, type.dtype), type.shape, (n - 2, n - 1))


__all__ = [
    "call",
    "conjugate",
    "eye",
    "flag",
    "lapack",
    "letter",
    "nan_unless",
    "no_lowering",
    "succeeded",
    "triangle",
]
