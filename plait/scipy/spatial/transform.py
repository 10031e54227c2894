"""`plait.scipy.spatial.transform`: rotations of three-dimensional space.

A rotation is kept as a unit quaternion [x, y, z, w]: about the axis n by the angle a it is
[n sin(a/2), cos(a/2)], and its opposite is the same rotation. Leading axes hold many rotations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import plait.numpy as jnp
from plait import random as _random
from plait.core.tree import register_dataclass
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.numpy.promotion import promote_dtypes, to_inexact, value

# Below this square of sin(a/2), quotients of sines and angles are computed as power series.
_SMALL = 1e-4


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Rotation:
    """A rotation, or an array of rotations: a tree with one leaf, the unit quaternions.

    Made by `from_quat`, `from_matrix`, `from_rotvec`, `from_euler`, `from_mrp`, `random`;
    `p * q` rotates by q, then by p. Derivative: exact, also at the identity.

    >>> from plait.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_euler("z", 90, degrees=True)
    >>> turn.apply(np.float32([1, 0, 0])).round(3) + 0.0
    Array([0., 1., 0.], dtype=float32)
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Rotations of quaternions [..., 4], which are brought to length one."""
        return cls(_unit(_rows("Rotation.from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Rotations of orthogonal matrices [..., 3, 3] with determinant one."""
        op = "Rotation.from_matrix"
        m = _rows(op, matrix, 3)
        if m.ndim < 2 or m.shape[-2] != 3:
            raise ShapeError("needs matrices [..., 3, 3]", op=op, matrix=m)
        # Each candidate is the quaternion times four times one of its components: the largest one,
        # on the diagonal of this table, loses nothing to rounding.
        xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
        xy, xz, yz = (m[..., j, i] + m[..., i, j] for i, j in ((0, 1), (0, 2), (1, 2)))
        xw, yw, zw = (m[..., j, i] - m[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1)))
        squares = [1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz]
        table = [
            [squares[0], xy, xz, xw],
            [xy, squares[1], yz, yw],
            [xz, yz, squares[2], zw],
            [xw, yw, zw, squares[3]],
        ]
        candidates = jnp.stack([jnp.stack(row, -1) for row in table], -2)
        largest = jnp.argmax(jnp.stack(squares, -1), -1)
        chosen = jnp.take_along_axis(candidates, largest[..., None, None], -2)[..., 0, :]
        return cls(_unit(chosen))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Rotations of vectors [..., 3]: each along its axis, as long as its angle."""
        v = _rows("Rotation.from_rotvec", rotvec, 3)
        v = jnp.deg2rad(v) if degrees else v
        square = jnp.sum(v * v, -1, keepdims=True)
        small = square < 4 * _SMALL
        angle = jnp.sqrt(jnp.where(small, 1, square))
        # sin(a/2) / a
        series = 0.5 - square / 48 + square**2 / 3840 - square**3 / 645120
        factor = jnp.where(small, series, jnp.sin(angle / 2) / angle)
        series = 1 - square / 8 + square**2 / 384 - square**3 / 46080
        cosine = jnp.where(small, series, jnp.cos(angle / 2))
        return cls(jnp.concatenate([v * factor, cosine], -1))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Rotations of modified Rodrigues parameters [..., 3]: the axis times tan(a/4)."""
        v = _rows("Rotation.from_mrp", mrp, 3)
        square = jnp.sum(v * v, -1, keepdims=True)
        return cls(jnp.concatenate([2 * v, 1 - square], -1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Rotations about one to three axes after each other.

        seq names the axes: "xyz" those of space, "XYZ" those that rotate along. angles has one for
        each in its last axis; for a single axis it may also be a number, or a vector with an angle
        for each rotation.
        """
        op = "Rotation.from_euler"
        axes, moving = _axes(op, seq)
        a = value(op, to_inexact(op, value(op, jnp.asarray(angles))))
        if len(axes) == 1 and (a.ndim == 0 or a.shape[-1] != 1):
            a = a[..., None]
        if a.ndim == 0 or a.shape[-1] != len(axes):
            raise ShapeError("needs an angle for each axis of seq", op=op, seq=seq, angles=a)
        half = (jnp.deg2rad(a) if degrees else a) / 2
        total = None
        for k, axis in enumerate(axes):
            parts = [jnp.zeros_like(half[..., k])] * 3
            parts[axis] = jnp.sin(half[..., k])
            one = jnp.stack([*parts, jnp.cos(half[..., k])], -1)
            total = one if total is None else _product(*((total, one) if moving else (one, total)))
        return cls(total)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that moves nothing, or num of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation drawn at random, all equally likely, or num of them."""
        shape = (4,) if num is None else (num, 4)
        return cls(_unit(_random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Rotations one after another along the first axis; a single one counts as one row."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    # --- other forms

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Quaternions [..., 4]; canonical ones have w >= 0; scalar_first puts w in front."""
        q = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Matrices [..., 3, 3]."""
        x, y, z, w = (self.quat[..., k] for k in range(4))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors [..., 3] along the axes, as long as the angles, which are at most pi."""
        q = _canonical(self.quat)
        v, w = q[..., :3], q[..., 3:]
        square = jnp.sum(v * v, -1, keepdims=True)
        small = square < _SMALL
        sine = jnp.sqrt(jnp.where(small, 1, square))
        # a / sin(a/2), where the small angle is 2 arcsin of the length of v.
        series = 2 + square / 3 + 3 * square**2 / 20 + 5 * square**3 / 56
        v = v * jnp.where(small, series, 2 * jnp.arctan2(sine, w) / sine)
        return jnp.rad2deg(v) if degrees else v

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters [..., 3], of length at most one."""
        q = _canonical(self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Angles [..., 3] about the three axes of seq, as from_euler takes them.

        Where two axes fall together (gimbal lock) only a sum of two angles is known: the third one
        is then 0.
        Source: Bernardes and Viollet, "Quaternion to Euler angles conversion" (2022).
        """
        op = "Rotation.as_euler"
        axes, moving = _axes(op, seq)
        if len(axes) != 3 or axes[0] == axes[1] or axes[1] == axes[2]:
            fix = "name three axes, neighbours different"
            raise ArgumentError("no such angles of every rotation", op=op, seq=seq, fix=fix)
        # About axes that move along, the angles are those of fixed axes in the opposite order.
        i, j, k = reversed(axes) if moving else axes
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        parity = (i - j) * (j - k) * (k - i) // 2
        x, y, z, w = self.quat[..., i], self.quat[..., j], self.quat[..., k], self.quat[..., 3]
        z = z * parity
        a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        low, high = jnp.abs(middle) < 1e-7, jnp.abs(middle - np.pi) < 1e-7
        locked = jnp.where(low, 2 * half_sum, 2 * half_difference * (1 if moving else -1))
        first, last = half_sum - half_difference, half_sum + half_difference
        if not symmetric:
            last, middle = last * parity, middle - np.pi / 2
        if moving:
            first, last = last, first
            # Of the angle that is left the sign is that of the axis it is about.
            locked = locked if symmetric else locked * parity
        first = jnp.where(low | high, locked, first)
        last = jnp.where(low | high, 0, last)
        out = jnp.stack([_wrapped(first), middle, _wrapped(last)], -1)
        return jnp.rad2deg(out) if degrees else out

    # --- what rotations do

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors [..., 3], rotated, or rotated back. One of the two may be single."""
        v = _rows("Rotation.apply", vectors, 3)
        q, v = promote_dtypes("Rotation.apply", [self.quat, v])
        m = Rotation(q).as_matrix()
        return jnp.einsum("...ji,...j->...i" if inverse else "...ij,...j->...i", m, v)

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angles, from 0 to pi."""
        q = _canonical(self.quat)
        return 2 * jnp.arctan2(jnp.linalg.norm(q[..., :3], axis=-1), q[..., 3])

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation with the least weighted sum of squared distances from those of a row.

        Distances are those of matrices. Raises: ShapeError.
        """
        q = jnp.atleast_2d(self.quat)
        w = jnp.ones(q.shape[:-1], q.dtype) if weights is None else jnp.asarray(weights, q.dtype)
        if w.shape != q.shape[:-1]:
            raise ShapeError(
                "needs a weight for each rotation",
                op="Rotation.mean",
                weights=w,
                rotations=q.shape[0],
            )
        sums = jnp.einsum("...n,...ni,...nj->...ij", w, q, q)
        return Rotation(jnp.linalg.eigh(sums)[1][..., -1])

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not an array."""
        return self.quat.ndim == 1

    def __mul__(self, other: Rotation) -> Rotation:
        if not isinstance(other, Rotation):
            return NotImplemented
        p, q = promote_dtypes("Rotation.__mul__", [self.quat, other.quat])
        return Rotation(_product(p, q))

    def __getitem__(self, indexer: Any) -> Rotation:
        self._check_array("indexed")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        self._check_array("counted")
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Rotation]:
        return (self[k] for k in range(len(self)))

    def _check_array(self, done: str) -> None:
        if self.single:
            raise ArgumentTypeError(f"a single rotation cannot be {done}", op="Rotation")


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Slerp:
    """Rotations between given ones, each gap crossed at a constant speed; made by `Slerp.init`.

    >>> from plait.scipy.spatial.transform import Rotation, Slerp
    >>> turns = Rotation.from_euler("z", jnp.array([0.0, 90.0]), degrees=True)
    >>> Slerp.init(jnp.array([0.0, 1.0]), turns)(0.5).magnitude().round(4)
    Array(0.7854, dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """From increasing times [n] and n >= 2 rotations. Raises: ShapeError, ArgumentTypeError."""
        op = "Slerp.init"
        if not isinstance(rotations, Rotation):
            raise ArgumentTypeError("needs a Rotation", op=op, rotations=rotations)
        t = value(op, to_inexact(op, value(op, times)))
        if t.ndim != 1 or rotations.quat.shape[:-1] != t.shape or t.shape[0] < 2:
            raise ShapeError(
                "needs two rotations or more, and a time for each",
                op=op,
                times=t,
                rotations=rotations.quat,
            )
        rotvecs = (rotations[:-1].inv() * rotations[1:]).as_rotvec()
        return cls(t, jnp.diff(t), rotations, rotvecs)

    def __call__(self, times: Any) -> Rotation:
        """The rotations at times of any shape; outside of the given ones the last gaps go on."""
        t = value("Slerp", to_inexact("Slerp", value("Slerp", times)))
        k = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, len(self.rotvecs) - 1)
        part = (t - self.times[k]) / self.timedelta[k]
        return self.rotations[k] * Rotation.from_rotvec(self.rotvecs[k] * part[..., None])


def _rows(op: str, x: Any, size: int) -> Any:
    """An array of floats whose last axis has a size."""
    x = value(op, to_inexact(op, value(op, jnp.asarray(x))))
    if not x.ndim or x.shape[-1] != size:
        raise ShapeError(f"the last axis has size {size}", op=op, x=x)
    return x


def _axes(op: str, seq: str) -> tuple[list[int], bool]:
    """(the axes that a text names, whether they move along)."""
    if not isinstance(seq, str) or not 1 <= len(seq) <= 3 or {*seq.lower()} - {*"xyz"}:
        raise ArgumentError("seq names one to three of the axes x, y, z", op=op, seq=seq)
    if seq not in (seq.lower(), seq.upper()):
        raise ArgumentError(
            "small letters are fixed axes, capitals axes that move along: not both",
            op=op,
            seq=seq,
        )
    return ["xyz".index(c) for c in seq.lower()], seq.isupper()


def _unit(q: Any) -> Any:
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


def _canonical(q: Any) -> Any:
    """Of the two quaternions of a rotation the one with w >= 0."""
    return jnp.where(q[..., 3:] < 0, -q, q)


def _product(p: Any, q: Any) -> Any:
    """The quaternion of rotating by q, then by p."""
    u, v, a, b = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    vector = a * v + b * u + jnp.cross(u, v)
    return jnp.concatenate([vector, a * b - jnp.sum(u * v, -1, keepdims=True)], -1)


def _wrapped(angle: Any) -> Any:
    """An angle between -2 pi and 2 pi as one between -pi and pi."""
    angle = jnp.where(angle < -np.pi, angle + 2 * np.pi, angle)
    return jnp.where(angle > np.pi, angle - 2 * np.pi, angle)


__all__ = ["Rotation", "Slerp"]
