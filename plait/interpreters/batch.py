"""One axis more, owned by a Frame: the interpreter behind vmap and behind pmap's lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.core.context import context, named_axes, running
from plait.core.interpreter import Interpreter, Tracer, infer, leaked
from plait.core.primitive import Primitive
from plait.core.program import Program, is_per_lane, run_program
from plait.core.types import ArrayType, type_of
from plait.errors import PlaitError
from plait.interpreters.closed import stage_closed
from plait.ops.axes import broadcast_in_dim


class Frame:
    """The axis an interpreter adds: its name (any hashable; None for a vmap without one) and size.

    `outer` is set for lanes of a pmap that has more rows than devices: the name and size of the
    axis of devices. Collectives over `name` then combine over the lanes here and over `outer`.
    `devices` is not None for lanes of a pmap: the devices they are shown on, in equal blocks; none
    where all of them run on whichever device it is.
    """

    __slots__ = ("devices", "name", "outer", "size")

    def __init__(
        self,
        name: Any,
        size: int,
        outer: tuple[Any, int] | None = None,
        devices: tuple[Any, ...] | None = None,
    ):
        self.name, self.size, self.outer, self.devices = name, size, outer, devices

    def renamed(self, name: Any) -> Frame:
        """The same axis under another name."""
        return Frame(name, self.size, self.outer, self.devices)

    def key(self) -> tuple:
        return (self.name, self.size, self.outer, self.devices)


class BatchTracer(Tracer):
    """A value that differs along the frame's axis: `value` has that axis first."""

    __slots__ = ("value",)
    interpreter: Batch

    def __init__(self, interpreter: Batch, value: Any):
        self.interpreter, self.value = interpreter, value
        whole = type_of(value)
        self.type = ArrayType(whole.shape[1:], whole.dtype, whole.weak_type)

    def origin(self) -> str:
        return self.value.origin() if isinstance(self.value, Tracer) else ""


class Batch(Interpreter):
    """Computes all rows of an op at once, with the parent running."""

    parent: Interpreter

    def __init__(
        self, parent: Interpreter, frame: Frame, transformation: str = "vmap", function: str = ""
    ):
        self.parent, self.frame = parent, frame
        self.transformation, self.function = transformation, function

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        values, mapped = [], []
        for x in xs:
            own = type(x) is BatchTracer and self.owns(x)
            values.append(x.value if own else x)
            mapped.append(own)
        frame = self.frame
        # A collective over this frame's axis is this frame's even when nothing is mapped; so are
        # Python functions with rules, which may close over mapped values, and effects in a map.
        mine = any(mapped) or op.uses_axis(frame.name, params)
        if frame.devices is not None and not mine:
            mine = is_per_lane(op, params)
        parent = self.parent
        context.interpreter = parent
        try:
            if not mine:
                return parent.process(op, values, params)
            y, y_mapped = op.batch(frame, values, mapped, **params)
        except PlaitError:
            # Operands that do not fit are named as the function sees them, not with all rows.
            if type(op).type is not Primitive.type:
                try:
                    infer(op, [type_of(x) for x in xs], params)
                except PlaitError as named:
                    raise named from None
            raise
        finally:
            context.interpreter = self
        if op.multiple_results:
            return tuple(self.wrap(a, m) for a, m in zip(y, y_mapped, strict=True))
        return self.wrap(y, y_mapped)

    def owns(self, x: BatchTracer) -> bool:
        """Whether a tracer has this frame's axis.

        Functions with custom rules are run under a new Batch of the same frame; what they closed
        over belongs to the one in which they were made.
        """
        return x.interpreter is self or x.interpreter.frame is self.frame

    def wrap(self, value: Any, mapped: bool) -> Any:
        return BatchTracer(self, value) if mapped else value

    def unwrap(self, y: Any) -> tuple[Any, bool]:
        """(value, whether it has the frame's axis)."""
        if type(y) is BatchTracer:
            if self.owns(y):
                return y.value, True
            if not y.interpreter.alive:
                raise leaked(y)
        return y, False


def batch(
    function: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    mapped: Sequence[bool],
    frame: Frame,
    *,
    transformation: str = "vmap",
    name: str = "",
) -> tuple[list[Any], list[bool]]:
    """(results, which of them are mapped) of a flat function whose mapped arguments have the axis
    first; mapped results have it first too.
    """
    interpreter = Batch(context.interpreter, frame, transformation, name)
    try:
        axes = () if frame.name is None else ((frame.name, frame.size),)
        if frame.outer is not None:
            axes = ((frame.name, frame.size * frame.outer[1]),)
        with running(interpreter), named_axes(*axes, mapped=frame.devices is not None):
            xs = [interpreter.wrap(x, m) for x, m in zip(args, mapped, strict=True)]
            pairs = [interpreter.unwrap(y) for y in function(*xs)]
    finally:
        interpreter.alive = False
    return [y for y, _ in pairs], [m for _, m in pairs]


def add_axis(x: Any, size: int) -> Any:
    """x repeated along a new first axis."""
    shape = type_of(x).shape
    return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))


def batch_program(
    program: Program,
    frame: Frame,
    mapped: tuple[bool, ...],
    out_mapped: tuple[bool, ...] | None = None,
) -> tuple[Program, tuple[bool, ...]]:
    """The Program for all rows at once, and which of its results are mapped.

    With `out_mapped`, results marked in it are mapped in any case.
    """

    def make() -> tuple[Program, tuple[bool, ...]]:
        types = [
            ArrayType((frame.size, *v.type.shape), v.type.dtype, v.type.weak_type) if m else v.type
            for v, m in zip(program.inputs, mapped, strict=True)
        ]
        marks: list[bool] = []

        def rows(*xs: Any) -> list[Any]:
            ys, ms = batch(lambda *a: run_program(program, *a), xs, mapped, frame)
            if out_mapped is not None:
                ys = [
                    add_axis(y, frame.size) if want and not m else y
                    for y, m, want in zip(ys, ms, out_mapped, strict=True)
                ]
                ms = [m or want for m, want in zip(ms, out_mapped, strict=True)]
            marks.extend(ms)
            return ys

        batched = stage_closed(rows, types, name=program.name)
        return batched, tuple(marks)

    return program.derived(("batch", frame.key(), mapped, out_mapped), make)
