"""pmap without compilation: the body in plain Python, one lane after the other, on actual values.

Each lane is a thread, but only one runs at a time: a lane goes on until it meets a collective over
the axis, or ends. When all have met the same one, it is computed for all of them together, by the
op's batching rule, and each goes on with its own result. So `print` and a debugger show numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from plait.config import override
from plait.core.context import context, named_axes, running
from plait.core.interpreter import Interpreter
from plait.core.program import sub_programs
from plait.core.source import user_source
from plait.errors import ArgumentError
from plait.interpreters.batch import Frame
from plait.ops.axes import expand_dims
from plait.ops.slices import concatenate, index_in_dim
from plait.runtime.array import Array, as_array


class _Meeting:
    """A collective that a lane waits at."""

    def __init__(self, op: Any, xs: Sequence[Any], params: dict[str, Any]):
        self.op, self.params = op, params
        self.xs = [x if type(x) is Array else as_array(x) for x in xs]
        self.where = user_source()
        self.result: Any = None

    def same_as(self, other: _Meeting) -> bool:
        types = [x.type for x in self.xs] == [x.type for x in other.xs]
        return self.op is other.op and self.params == other.params and types

    def __str__(self) -> str:
        return f"{self.op.name} at {self.where}" if self.where else self.op.name


class _Lane(Interpreter):
    """Runs ops at once; stops at collectives over the axis."""

    transformation = "pmap"
    parent: Interpreter

    def __init__(self, parent: Interpreter, frame: Frame, k: int, run: Callable[[], Any]):
        self.parent, self.frame, self.k = parent, frame, k
        self.meeting: _Meeting | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._go, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._main, args=(run,), daemon=True)
        self._cancelled = False

    def process(self, op, xs, params):
        if op.evaluate is not None and "fun" in params:
            return op.evaluate(xs, params)  # a Python function, in which there may be collectives
        mine = op.uses_axis(self.frame.name, params)
        place = (mine or op.per_lane) and not (op.communicates or op.has_effects)
        if not mine or (place and not sub_programs(params)):
            context.interpreter = self.parent
            try:
                if not place:
                    return self.parent.process(op, xs, params)
                # A question about the lane's place: no need to wait for the others.
                y, mapped = op.batch(self.frame, xs, [False] * len(xs), **params)
                return index_in_dim(y, self.k, keepdims=False) if mapped else y
            finally:
                context.interpreter = self
        self.meeting = _Meeting(op, xs, params)
        self._pause()
        meeting, self.meeting = self.meeting, None
        return meeting.result

    def _pause(self) -> None:
        self._stopped.set()
        self._go.wait()
        self._go.clear()
        if self._cancelled:
            raise SystemExit

    def _main(self, run: Callable[[], Any]) -> None:
        self._go.wait()
        self._go.clear()
        try:
            if not self._cancelled:
                self.result = run()
        except SystemExit:
            if not self._cancelled:
                raise
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self._stopped.set()

    def step(self) -> None:
        """Run until the next collective, or the end."""
        if not self._thread.is_alive() and not self.done:
            self._thread.start()
        self._stopped.clear()
        self._go.set()
        self._stopped.wait()
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        """End the thread where it waits."""
        if self._thread.is_alive():
            self._cancelled = True
            self._go.set()
            self._thread.join()


def run_lanes(
    function: Callable[..., Sequence[Any]],
    rows: Sequence[Any],
    mapped: Sequence[bool],
    frame: Frame,
) -> tuple[list[Any], list[bool]]:
    """(results, which are mapped) of a flat function run once a lane; mapped ones: axis 0 first.

    Raises: ArgumentError if the lanes do not meet at the same collectives.
    """
    parent, axes, name, size = context.interpreter, context.axes, frame.name, frame.size
    lanes: list[_Lane] = []

    def body(k: int) -> Callable[[], Any]:
        xs = [
            index_in_dim(x, k, keepdims=False) if m else x
            for x, m in zip(rows, mapped, strict=True)
        ]

        def run() -> Any:
            lane = lanes[k]
            around = named_axes(*axes, (name, size), mapped=True)
            with override(disable_jit=True), around, running(lane):
                return list(function(*xs))

        return run

    for k in range(size):
        lanes.append(_Lane(parent, frame, k, body(k)))
    try:
        while True:
            for lane in lanes:
                if not lane.done:
                    lane.step()
            waiting = [lane.meeting for lane in lanes]
            if not any(waiting):
                break
            _meet(_checked(waiting, name), frame)
    finally:
        for lane in lanes:
            lane.cancel()
    columns = zip(*(lane.result for lane in lanes), strict=True)
    return [_stack(column) for column in columns], [True] * len(lanes[0].result)


def _checked(waiting: Sequence[_Meeting | None], name: Any) -> list[_Meeting]:
    first = waiting[0]
    for k, meeting in enumerate(waiting[1:], 1):
        agree = meeting is None if first is None else meeting is not None and meeting.same_as(first)
        if not agree:
            where = {f"lane_{j}": str(m) if m else "ended" for j, m in ((0, first), (k, meeting))}
            raise ArgumentError(
                "the lanes of the map do not meet at the same collective",
                op="pmap",
                axis=repr(name),
                fix="call collectives unconditionally, or under conditions equal in all lanes",
                **where,  # type: ignore[arg-type]
            )
    return [m for m in waiting if m is not None]


def _stack(xs: Sequence[Any]) -> Any:
    return concatenate(
        [expand_dims(as_array(x) if type(x) is not Array else x, (0,)) for x in xs], 0
    )


def _meet(meetings: Sequence[_Meeting], frame: Frame) -> None:
    op, params = meetings[0].op, meetings[0].params
    operands = [_stack(xs) for xs in zip(*(m.xs for m in meetings), strict=True)]
    ys, mapped = op.batch(frame, operands, [True] * len(operands), **params)
    several = op.multiple_results
    if not several:
        ys, mapped = (ys,), (mapped,)
    for k, meeting in enumerate(meetings):
        own = [
            index_in_dim(y, k, keepdims=False) if m else y for y, m in zip(ys, mapped, strict=True)
        ]
        meeting.result = tuple(own) if several else own[0]
