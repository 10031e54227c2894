"""How a loaded program is launched: around the gate or through it, with a token for its effects.

And what is known of its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plait.runtime import effects, peers
from plait.runtime.gate import Gate, Waitable, in_callback

Execute = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class MemoryAnalysis:
    """Bytes a program needs on each of its devices."""

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int
    peak: int

    @classmethod
    def of(cls, stats: Any) -> MemoryAnalysis:
        """From XLA's own record."""
        return cls(
            arguments=stats.argument_size_in_bytes,
            outputs=stats.output_size_in_bytes,
            aliased=stats.alias_size_in_bytes,
            temporaries=stats.temp_size_in_bytes,
            code=stats.generated_code_size_in_bytes,
            peak=stats.peak_memory_in_bytes,
        )

    # JAX's names.
    argument_size_in_bytes = property(lambda self: self.arguments)
    output_size_in_bytes = property(lambda self: self.outputs)
    alias_size_in_bytes = property(lambda self: self.aliased)
    temp_size_in_bytes = property(lambda self: self.temporaries)
    generated_code_size_in_bytes = property(lambda self: self.code)
    peak_memory_in_bytes = property(lambda self: self.peak)


class ProgramToken:
    """Ready when a program has ended: what the gate and the effects wait for."""

    __slots__ = ("_token",)

    def __init__(self, token: Any) -> None:
        self._token: Any = token

    def block_until_ready(self) -> None:
        """Wait for the program's end, or raise its failure."""
        if (token := self._token) is not None:
            token.block_until_ready()
            self._token = None

    def is_deleted(self) -> bool:
        """Whether there is nothing to wait for."""
        return False

    def is_ready(self) -> bool:
        """Whether somebody has waited for the end: a token cannot tell otherwise."""
        return self._token is None


# The gate holds what it would wait for: a result up to this size, a token instead of larger ones.
_HELD_BYTES = 1 << 16


def make_execute(
    raw: Callable[..., Any],
    handlers: Sequence[Any],
    devices: Sequence[Any],
    out_types: Sequence[tuple[tuple[int, ...], Any]],
    gate: Gate | None,
    has_effects: bool,
    together: peers.Label | None = None,
) -> Execute:
    """The function from argument buffers to result buffers.

    raw(bufs) launches and gives results whose `consume_with_handlers` makes buffers. `together` is
    the label of a program that other processes launch as well; on CPU it returns at its end.
    """
    if gate is None and not has_effects:
        return lambda bufs: raw(bufs).consume_with_handlers(handlers)
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in out_types]
    smallest = min(range(len(sizes)), key=sizes.__getitem__, default=None)

    def launch(bufs: list[Any]) -> tuple[list[Any], Waitable]:
        if smallest is not None and sizes[smallest] <= _HELD_BYTES and not has_effects:
            outs = raw(bufs).consume_with_handlers(handlers)
            return outs, outs[smallest]
        results = raw(bufs, with_tokens=True)
        outs = results.consume_with_handlers(handlers)
        token = ProgramToken(results.consume_token())
        if has_effects:
            effects.started(token)
        return outs, token

    if together is not None and gate is not None:
        return _together(together, gate, launch)
    first, *others = devices
    if gate is None:
        return lambda bufs: launch(bufs)[0]
    if others:
        return lambda bufs: gate.multi(lambda: launch(bufs))
    device = first.id

    def execute(bufs: list[Any]) -> list[Any]:
        if gate.active:
            return gate.single(device, lambda: launch(bufs))
        if has_effects:
            return launch(bufs)[0]
        return raw(bufs).consume_with_handlers(handlers)

    return execute


def _together(
    program: peers.Label, gate: Gate, launch: Callable[[list[Any]], tuple[list[Any], Waitable]]
) -> Execute:
    def execute(bufs: list[Any]) -> list[Any]:
        session = peers.current()
        if session is None:
            raise peers.left(program.name)
        if in_callback():
            gate.multi(lambda: launch(bufs))  # refuses

        def work() -> list[Any]:
            end: list[Waitable] = []

            def start() -> tuple[list[Any], Waitable]:
                outs, waitable = launch(bufs)
                end.append(waitable)
                return outs, waitable

            outs = gate.multi(start)
            end[0].block_until_ready()
            return outs

        return session.run(program, work)

    return execute
