"""debug_nans and debug_infs: find the op that made the first NaN or infinity."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import override, state
from plait.core import dtypes
from plait.core.program import Equation, Program, program_has_effects
from plait.core.types import ArrayType
from plait.errors import NanError
from plait.interpreters.batch import Frame
from plait.runtime import xla
from plait.runtime.array import Array, as_array, from_host
from plait.runtime.blame import Culprit, find
from plait.runtime.placement import Sharded, signature


def _marks(value: np.ndarray, nans: bool, infs: bool) -> np.ndarray:
    """Where an array has a value that is looked for."""
    if value.dtype not in dtypes.INEXACT:
        return np.zeros(value.shape, bool)
    if value.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64, *dtypes.COMPLEX):
        value = value.astype(np.float32)
    found = np.zeros(value.shape, bool)
    if nans:
        found |= np.isnan(value)
    if infs:
        found |= np.isinf(value)
    return found


def check_results(compiled: Any, args: Sequence[Any], results: Sequence[Array]) -> None:
    """Raise NanError naming the op, the user's line, and the row, device, iteration and position of
    the value.
    """
    bad = functools.partial(_marks, nans=state.debug_nans, infs=state.debug_infs)
    for k, result in enumerate(results):
        if result.dtype not in dtypes.INEXACT:
            continue
        parts = [result] if result.is_readable else [s.data for s in result.addressable_shards]
        value = next((v for v in (p.host() for p in parts) if bad(v).any()), None)
        if value is None:
            continue
        culprit = _search(compiled, args, k, bad)
        if culprit is None:  # it cannot be computed again, or comes out well then
            position = tuple(map(int, np.argwhere(bad(value))[0]))
            culprit = Culprit(None, result.type, value[position], position, [])
        raise _error(compiled.name, culprit)


def _error(name: str, found: Culprit) -> NanError:
    is_nan = np.isnan(found.element)
    word, switch = ("a NaN", "debug_nans") if is_nan else ("an infinity", "debug_infs")
    eqn, device = found.eqn, found.device()
    made = eqn.op.name if eqn else name
    rows: dict[str, Any] = {"result": found.type, "position": found.position or None}
    if device is not None:
        rows["device"] = str(device)
    if found.rows:
        rows["row"] = ", ".join(_row(frame, row) for frame, row in found.rows)
    if found.rounds:
        rows["iteration"] = ", ".join(found.rounds)
    summary = f"{word} came out of {made}"
    cure = f"guard the operand (jnp.where on the input of the op), or switch {switch} off"
    if found.entered:
        summary = f"{word} came in with {found.entered}, and out of {made}"
        cure = f"look at what made the argument, or switch {switch} off"
    return NanError(
        summary,
        op=name if made != name else None,
        where=str(eqn.source) if eqn and eqn.source else None,
        fix=cure,
        **{key: text for key, text in rows.items() if text is not None},
    )


def _row(frame: Frame, row: int | None) -> str:
    axis = f"axis {frame.name!r}" if isinstance(frame.name, str) else "the map"
    return f"{'all' if row is None else row} of {axis}"


def _search(compiled: Any, args: Sequence[Any], output: int, bad: Any) -> Culprit | None:
    """What made a result bad, by running the program op by op on one device.

    None as well for a program with effects that would happen a second time, or one of several
    processes, of which the others would have to take part.
    """
    program = _silenced(compiled.origin)
    if program is None or xla.spans_processes(compiled.executable.devices):
        return None
    with override(debug_nans=False, debug_infs=False, default_device=None):
        n = len(compiled.captured)
        known = [
            _captured(b, v.type) for b, v in zip(compiled.captured, program.inputs, strict=False)
        ]
        given = [
            from_host(np.asarray(as_array(x).host()), v.type)
            for x, v in zip(args, program.inputs[n:], strict=True)
        ]
        return find(program, [*known, *given], output, bad)


def _captured(buf: Any, type: ArrayType) -> Array:
    sharding = xla.sharding_of(buf)
    placement = Sharded(sharding) if sharding.num_devices > 1 else None
    return from_host(np.asarray(Array(buf, type, signature(type, placement)).host()), type)


def _silenced(program: Program) -> Program | None:
    """The Program without what it prints; None if it has other effects."""
    if not program_has_effects(program):
        return program
    kept = []
    for eqn in program.equations:
        if eqn.op.has_effects:
            if eqn.outputs:
                return None
            continue
        params = dict(eqn.params)
        for name, value in params.items():
            programs = value if isinstance(value, tuple) else (value,)
            if not any(isinstance(v, Program) for v in programs):
                continue
            silent = [_silenced(v) for v in programs]
            if None in silent:
                return None
            params[name] = tuple(silent) if isinstance(value, tuple) else silent[0]
        kept.append(Equation(eqn.op, eqn.inputs, params, eqn.outputs, eqn.source))
    return Program(program.inputs, kept, program.outputs, program.name, program.names)
