"""debug_nans and debug_infs: find the op that made the first NaN or infinity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import override, state
from plait.core import dtypes
from plait.core.program import Equation, Program, Var, program_has_effects
from plait.core.types import ArrayType
from plait.errors import NanError
from plait.regions.call import call_p
from plait.regions.spmd import lanes_of, pmap_p
from plait.runtime import xla
from plait.runtime.array import Array, as_array
from plait.runtime.placement import Lanes, Placement, Sharded, signature


def _bad(x: Any) -> np.ndarray | None:
    """Where an array has a value that is looked for, or None if nowhere."""
    if x.dtype not in dtypes.INEXACT:
        return None
    value = np.asarray(x.host() if type(x) is Array else x)
    if value.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64, *dtypes.COMPLEX):
        value = value.astype(np.float32)
    found = np.zeros(value.shape, bool)
    if state.debug_nans:
        found |= np.isnan(value)
    if state.debug_infs:
        found |= np.isinf(value)
    return found if found.any() else None


def check_results(compiled: Any, args: Sequence[Array], results: Sequence[Array]) -> None:
    """Raise NanError naming the op, the user's line, and the device and position of the value."""
    for result in results:
        found = _bad(result)
        if found is None:
            continue
        found_by = _search(compiled.program, args, compiled.captured)
        # What the op made, not what became of it: a collective spreads a NaN over all devices.
        culprit, made = found_by or (None, result)
        where = _bad(made)
        position = tuple(int(k) for k in np.argwhere(found if where is None else where)[0])
        device = _device([r.placement for r in results], made, position)
        raise NanError(
            f"{_word(made, position)} came out of "
            + (culprit.op.name if culprit else compiled.name),
            op=compiled.name if culprit and culprit.op.name != compiled.name else None,
            result=made.type,
            position=position,
            where=str(culprit.source) if culprit and culprit.source else None,
            fix="guard the operand (jnp.where on the input of the op), or switch debug_nans off",
            **({"device": device} if device else {}),
        )


def _word(result: Any, position: tuple[int, ...]) -> str:
    value = np.asarray(as_array(result).host())[position]
    return "a NaN" if np.isnan(value) else "an infinity"


def _device(
    placements: Sequence[Placement | None], x: Any, position: tuple[int, ...]
) -> str | None:
    """The device of a map at which a value was made: lanes come first in the values of a map."""
    own = getattr(x, "placement", None)
    spread = [p for p in (own, *placements) if p is not None and len(p.devices) > 1]
    if not spread or not position:
        return None
    placement = spread[0]
    if isinstance(placement, Lanes):
        placement = Lanes(placement.devices)
    if x.type.shape[0] % len(placement.devices):
        return None
    for k, (device, index) in enumerate(placement.parts(x.type)):
        inside = zip(position, index, x.shape, strict=True)
        if all(p in range(*s.indices(n)) for p, s, n in inside):
            return f"{device} (number {k} of the map)"
    return None


def _search(
    program: Program, args: Sequence[Any], captured: Sequence[Any]
) -> tuple[Equation, Any] | None:
    """The first equation that makes a bad value, and that value, by running the program op by op.

    None as well for a program with effects that would happen a second time.
    """
    silent = _silenced(program)
    if silent is None:
        return None
    program = silent
    watched = {"debug_nans": state.debug_nans, "debug_infs": state.debug_infs}
    with override(debug_nans=False, debug_infs=False):
        known = [_captured(b, v.type) for b, v in zip(captured, program.inputs, strict=False)]
        given = [
            _stored(as_array(x), v.type)
            for x, v in zip(args, program.inputs[len(known) :], strict=True)
        ]
        return _first(program, [*known, *given], watched)


def _captured(buf: Any, type: ArrayType) -> Array:
    sharding = xla.sharding_of(buf)
    placement = Sharded(sharding) if sharding.num_devices > 1 else None
    return Array(buf, type, signature(type, placement))


def _stored(x: Array, type: ArrayType) -> Array:
    """An argument as the program takes it: of lanes that hold one value, that value."""
    return x if x.type.shape == type.shape else Array(x._live(), type, type)


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


def _first(
    program: Program, args: Sequence[Any], watched: dict[str, bool]
) -> tuple[Equation, Any] | None:
    env: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
    for eqn in program.equations:
        xs = [env[a] if type(a) is Var else a.value for a in eqn.inputs]
        ys = eqn.op.bind(*xs, **eqn.params)
        ys = tuple(ys) if eqn.op.multiple_results else (ys,)
        with override(**watched):
            bad = next((y for y in ys if _bad(y) is not None), None)
        if bad is not None:
            inner = _inside(eqn)
            return (_first(inner, xs, watched) if inner else None) or (eqn, bad)
        env.update(zip(eqn.outputs, ys, strict=True))
    return None


def _inside(eqn: Equation) -> Program | None:
    """The Program of a call or a map, to look into."""
    if eqn.op is pmap_p:
        return lanes_of(eqn.params)
    return eqn.params["program"] if eqn.op is call_p else None
