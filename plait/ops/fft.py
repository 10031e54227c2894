"""Fourier transforms: fft, forward and back, of complex and of real arrays, over the last axes."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.core import dtypes
from plait.core.dtypes import COMPLEX
from plait.core.plain import ints
from plait.core.primitive import Linear, register
from plait.core.sample import complex_, real
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, DtypeError, ShapeError, several
from plait.ops.arithmetic import convert_element_type, mul
from plait.ops.axes import broadcast_in_dim
from plait.ops.functions import conj
from plait.ops.functions import real as real_part
from plait.ops.slices import pad


class FftType(enum.IntEnum):
    """Which Fourier transform: its direction, and whether one side of it is real.

    >>> lax.fft(jnp.array([1.0, 0.0]), lax.FftType.RFFT, (2,))
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3

    @staticmethod
    def from_any(spec: Any) -> FftType:
        """A FftType from itself, its name or its number. Raises ArgumentError."""
        if isinstance(spec, FftType):
            return spec
        if isinstance(spec, str) and spec.upper() in FftType.__members__:
            return FftType[spec.upper()]
        if isinstance(spec, int) and 0 <= spec < len(FftType):
            return FftType(spec)
        raise ArgumentError(
            "there is no such transform",
            op="fft",
            fft_type=spec,
            fix="FftType.FFT, IFFT, RFFT or IRFFT",
        )


FFT, IFFT, RFFT, IRFFT = FftType
_NUMPY = {FFT: np.fft.fftn, IFFT: np.fft.ifftn, RFFT: np.fft.rfftn, IRFFT: np.fft.irfftn}


class Fft(Linear):
    """The discrete Fourier transform of x over its last len(lengths) axes: 1 to 3 of them.

    FFT is y[k] = sum over n of x[n] exp(-2 pi i k n / length); IFFT has the other sign and divides
    by the lengths. RFFT takes real x and leaves out what is known by symmetry: the last axis of y
    has length // 2 + 1 elements. IRFFT is its inverse: the imaginary parts that a transform of real
    numbers does not have (at 0 and, for an even length, at length / 2) count as zero.
    """

    name = "fft"

    def type(self, x, *, kind, lengths):
        if not 1 <= len(lengths) <= 3:
            raise ShapeError("transforms 1 to 3 axes at once", x=x, fft_lengths=lengths)
        if len(lengths) > x.ndim:
            raise ShapeError("x has fewer axes than there are lengths", x=x, fft_lengths=lengths)
        if min(lengths) < 1:
            raise ArgumentError(
                "the lengths of a transform are at least 1", x=x, fft_lengths=lengths
            )
        takes = dtypes.FLOAT if kind is RFFT else COMPLEX
        if x.dtype not in takes or x.dtype.itemsize < 4:
            words = "float32 and float64" if kind is RFFT else "complex64 and complex128"
            raise DtypeError(f"{kind.name} takes {words}", x=x)
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        wanted = half if kind is IRFFT else lengths
        if x.shape[-len(lengths) :] != wanted:
            raise ShapeError(
                f"{kind.name} of these lengths takes {tuple(wanted)} as x's last sizes",
                x=x,
                fft_lengths=lengths,
            )
        shape = (*x.shape[: -len(lengths)], *(half if kind is RFFT else lengths))
        if kind is RFFT:
            return ArrayType(shape, dtypes.complex_of(x.dtype))
        return ArrayType(shape, dtypes.real_of(x.dtype) if kind is IRFFT else x.dtype)

    def numpy(self, x, *, kind, lengths):
        out = self.type(type_of(x), kind=kind, lengths=lengths)
        y = _NUMPY[kind](x, lengths, tuple(range(-len(lengths), 0)))
        return y.astype(out.dtype)

    def transpose(self, ct, x, *, kind, lengths):
        # The matrix exp(+-2 pi i k n / length) is symmetric, so FFT and IFFT are their own
        # transposes. RFFT is FFT of x with no imaginary part, and the first half of the result:
        # transposed, zeros after that half, FFT, and the real part (of the pairing Re(ct * y) as
        # for all real results of complex numbers).
        if kind in (FFT, IFFT):
            return (self.bind(ct, kind=kind, lengths=lengths),)
        n, half = lengths[-1], lengths[-1] // 2 + 1
        shape = type_of(ct).shape
        if kind is RFFT:
            zero = np.zeros((), type_of(ct).dtype)
            edges = [(0, 0, 0)] * (len(shape) - 1)
            whole = pad(ct, zero, [*edges, (0, n - half, 0)])
            return (real_part(self.bind(whole, kind=FFT, lengths=lengths)),)
        # IRFFT along an axis is Re of sum over k of w[k] x[k] exp(+2 pi i k n / length) / length,
        # w being 1 where k has no partner length - k, else 2. The sum over n of ct times that
        # exponential is the conjugate of RFFT of ct, ct being real.
        weights = np.full(half, 2.0 / math.prod(lengths))
        weights[0] /= 2
        if n % 2 == 0:
            weights[-1] /= 2
        back = conj(self.bind(ct, kind=RFFT, lengths=lengths))
        have = type_of(back)
        factors = broadcast_in_dim(weights.astype(have.dtype), have.shape, (len(shape) - 1,))
        return (mul(back, factors),)

    def batch(self, frame, xs, mapped, *, kind, lengths):
        return self.bind(*xs, kind=kind, lengths=lengths), True

    def lower(self, b, x, *, kind, lengths):
        (out,) = b.result_types
        if 0 in out.shape:
            return b.full(out.shape, 0, out.dtype)
        sizes = ", ".join(map(str, lengths))
        attributes = (
            f"fft_type = #stablehlo<fft_type {kind.name}>, fft_length = array<i64: {sizes}>"
        )
        return b.op("fft", (x,), ArrayType(out.shape, out.dtype), attributes)

    def samples(self):
        for kind in (FFT, IFFT):
            yield (complex_(5),), {"kind": kind, "lengths": (5,)}
            yield (complex_(2, 3, 4),), {"kind": kind, "lengths": (3, 4)}
            yield (complex_(2, 1, 3),), {"kind": kind, "lengths": (2, 1, 3)}
        for n in (1, 2, 5, 6):
            yield (real(n),), {"kind": RFFT, "lengths": (n,)}
            yield (complex_(n // 2 + 1),), {"kind": IRFFT, "lengths": (n,)}
        yield (real(2, 3, 4),), {"kind": RFFT, "lengths": (3, 4)}
        yield (real(2, 3, 5),), {"kind": RFFT, "lengths": (2, 3, 5)}
        yield (complex_(2, 3, 3),), {"kind": IRFFT, "lengths": (3, 4)}
        yield (complex_(2, 3, 3),), {"kind": IRFFT, "lengths": (2, 3, 5)}
        yield (complex_(0, 4),), {"kind": FFT, "lengths": (4,)}


fft_p = register(Fft())


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform of x over its last len(fft_lengths) axes, at most 3.

    fft_lengths are the sizes of the axes on the side of the transform that is not halved: those of
    x, but for IRFFT those of the result. With no lengths x itself comes back.
    Dtypes: RFFT takes real and gives complex numbers, IRFFT takes complex and gives real ones, FFT
    and IFFT are complex on both sides; numbers of other kinds are converted.
    Derivative: linear. Raises: ShapeError, DtypeError, ArgumentError.

    >>> lax.fft(np.float32([1, 0, 0, 0]), "RFFT", (4,))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    kind = FftType.from_any(fft_type)
    lengths = ints(fft_lengths, "fft", "fft_lengths")
    have = type_of(x)
    if len(lengths) > 3:
        raise ShapeError(
            f"transforms at most 3 axes at once, not {several(len(lengths), 'axis', 'axes')}",
            op="fft",
            x=have,
            fix="plait.numpy.fft.fftn transforms any number of axes",
        )
    if kind is RFFT and have.dtype in COMPLEX:
        raise DtypeError("RFFT takes real numbers", op="fft", x=have, fix="FFT, or x.real")
    wide = have.dtype == dtypes.float64 or have.dtype == dtypes.complex128
    if have.dtype in dtypes.INTEGER and have.dtype.itemsize == 8:
        wide = True
    floats = dtypes.canonical(dtypes.float64) if wide else dtypes.float32
    dtype = floats if kind is RFFT else dtypes.complex_of(floats)
    if have.dtype != dtype or have.weak_type:
        x = convert_element_type(x, dtype)
    return fft_p.bind(x, kind=kind, lengths=lengths) if lengths else x


__all__ = ["FftType", "fft"]
