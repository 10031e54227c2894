"""The border between what one process computes and what several compute together.

Each process has a part of an array's axis. `join_p` takes the parts as the one array that they make
up, `own_p` gives each process its part of such an array. Between the two stand the maps over
devices of several processes; the runtime cuts programs there (runtime/across.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from plait.core.primitive import Linear, register
from plait.core.types import ArrayType
from plait.errors import PlaitRuntimeError


class Share(NamedTuple):
    """What this process has of an array of several: `start` to `stop` of the `total` positions of
    an axis; or all of it, as every process has, if the axis is None.

    `devices` are those on which the array lies, in the order of the axis; `shown` those of this
    process that its part is shown on.
    """

    axis: int | None
    start: int
    stop: int
    total: int
    devices: tuple[Any, ...]
    shown: tuple[Any, ...]

    def along(self, axis: int) -> Share:
        """The same share of another axis."""
        return self._replace(axis=axis)

    def everywhere(self) -> Share:
        """All of an array that every process has."""
        return self._replace(axis=None, start=0, stop=0, total=0)

    def whole(self, part: ArrayType) -> ArrayType:
        """The type of the array of which this process has a part."""
        return part if self.axis is None else _with_size(part, self.axis, self.total)

    def part(self, whole: ArrayType) -> ArrayType:
        """The type of this process's part of an array."""
        return whole if self.axis is None else _with_size(whole, self.axis, self.stop - self.start)


class _Border(Linear):
    """Base: the parameter `share` says what this process has."""

    def numpy(self, x, *, share):
        raise self._error()

    def batch(self, frame, xs, mapped, *, share):
        moved = share if share.axis is None else share.along(share.axis + 1)
        return self.bind(*xs, share=moved), True

    def lower(self, b, x, *, share):
        raise self._error()

    def _error(self) -> Exception:
        return PlaitRuntimeError(
            "a map over devices of several processes stands inside a loop or a branch",
            op="pmap",
            fix="put the loop inside the map, or map over plait.local_devices() there",
        )


class Join(_Border):
    """The parts that the processes have, as one array."""

    name = "join_rows"

    def type(self, x, *, share):
        return share.whole(x)

    def transpose(self, ct, x, *, share):
        return (own_p.bind(ct, share=share),)


class Own(_Border):
    """This process's part of an array of several processes."""

    name = "own_rows"

    def type(self, x, *, share):
        return share.part(x)

    def transpose(self, ct, x, *, share):
        return (join_p.bind(ct, share=share),)


def _with_size(type: ArrayType, axis: int, size: int) -> ArrayType:
    return type.with_shape((*type.shape[:axis], size, *type.shape[axis + 1 :]))


join_p = register(Join())
own_p = register(Own())
