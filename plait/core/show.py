"""Program to text.

{ a:f32[3] =>
  b:f32[3] = sin a
  => b }
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.core.program import Atom, Literal, Program, Var
from plait.core.source import function_name
from plait.core.types import ArrayType

_SHORT = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    "bool": "bool",
    "key<fry>": "key<fry>",
}


def short_dtype(dtype: Any) -> str:
    """f32, i8, u16, bool, bf16, ..."""
    name = dtype.name
    if name in _SHORT:
        return _SHORT[name]
    if name.startswith("uint"):
        return "u" + name[4:]
    return "i" + name[3:] if name.startswith("int") else name


def short_type(type: ArrayType) -> str:
    """f32[2,3]."""
    return f"{short_dtype(type.dtype)}[{','.join(map(str, type.shape))}]"


class Names:
    """Letters for the values of a Program, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.known: dict[Var, str] = {}

    def __call__(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value.item()}"
        if atom not in self.known:
            self.known[atom] = _letters(len(self.known))
        return self.known[atom]

    def typed(self, var: Var) -> str:
        """a:f32[3]."""
        return f"{self(var)}:{short_type(var.type)}"


def _letters(n: int) -> str:
    text = ""
    n += 1
    while n:
        n, digit = divmod(n - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def show_param(value: Any, indent: str = "") -> str:
    """An equation's parameter, Programs in it as text."""
    if isinstance(value, Program):
        return show_program(value, indent + "    ").lstrip()
    if isinstance(value, tuple) and any(isinstance(v, Program) for v in value):
        inner = (",\n" + indent + "    ").join(show_param(v, indent) for v in value)
        return f"({inner})"
    if isinstance(value, np.dtype):
        return value.name
    if callable(value) and not isinstance(value, type):
        return function_name(value)
    return str(value)


def show_program(program: Program, indent: str = "", sources: bool = False) -> str:
    """The text of a Program, one line an equation; with the user's lines if asked."""
    name = Names()
    lines = [f"{indent}{{ {' '.join(name.typed(v) for v in program.inputs)} =>"]
    for eqn in program.equations:
        shown = [f"{k}={show_param(v, indent)}" for k, v in eqn.params.items() if v is not None]
        params = f"[{' '.join(shown)}]" if shown else ""
        outputs = " ".join(name.typed(v) for v in eqn.outputs)
        inputs = " ".join(name(a) for a in eqn.inputs)
        place = f"  # {eqn.source}" if sources and eqn.source else ""
        lines.append(f"{indent}  {outputs} = {eqn.op.name}{params} {inputs}".rstrip() + place)
    outputs = " ".join(name(a) for a in program.outputs)
    lines.append(f"{indent}  => {outputs} }}")
    return "\n".join(lines)
