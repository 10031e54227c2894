"""Run one op now: the interpreter outside of all transformations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.config import state
from plait.core.context import install_base
from plait.core.interpreter import Interpreter, infer
from plait.core.primitive import Primitive
from plait.core.program import Equation, Program, Var, sub_programs
from plait.core.source import user_source
from plait.core.types import ArrayType
from plait.ops.callback import make_array
from plait.runtime import client
from plait.runtime.array import Array, as_array, from_host
from plait.runtime.compile import Compiled, compile_program
from plait.runtime.gate import in_callback

_KEPT = 8192


class Eager(Interpreter):
    """Compiles each op for the signatures it meets, and keeps the executables."""

    transformation = "eager computation"
    base = True

    def __init__(self) -> None:
        self.table: dict[tuple, Compiled] = {}

    def process(self, op: Primitive, xs: Sequence[Any], params: dict[str, Any]) -> Any:
        if op.evaluate is not None:
            return op.evaluate(xs, params)
        arrays = [x if type(x) is Array else as_array(x) for x in xs]
        table = self.table
        if op.multiple_results:
            # Executables of regions live as long as their programs.
            for program in sub_programs(params):
                table = program.memo
                break
        # The names too: rules bind parameters in orders of their own.
        key = (op, state.key, *[x.sig for x in arrays], *params, *params.values())
        compiled = table.get(key)
        if compiled is None:
            compiled = self.compile(op, arrays, params)
            if len(self.table) > _KEPT:
                self.table.clear()
            table[key] = compiled
        results = compiled.run(arrays)
        return tuple(results) if op.multiple_results else results[0]

    def compile(self, op: Primitive, arrays: Sequence[Array], params: dict[str, Any]) -> Compiled:
        types = [x.type for x in arrays]
        out = infer(op, types, params)
        outs: Sequence[ArrayType] = out if op.multiple_results else (out,)
        inputs = [Var(t) for t in types]
        outputs = [Var(t) for t in outs]
        equation = Equation(op, inputs, params, outputs, user_source())
        program = Program(inputs, [equation], outputs, op.name)
        return compile_program(program, [], [x.sig for x in arrays])


def _for_callback(value: np.ndarray, type: ArrayType) -> Array:
    """An array for a function that a program calls, or of what it returned.

    Inside the call it lies on the CPU: a GPU that waits for the function can do nothing else.
    """
    away = in_callback() and client.default_backend() != "cpu"
    return from_host(value, type, device=client.devices("cpu")[0] if away else None)


eager = Eager()
install_base(eager)
make_array.append(_for_callback)
