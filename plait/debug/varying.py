"""show_variance: over which mapped axes each value of a map's body varies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plait.core import tree
from plait.core.program import Equation, Program, sub_programs
from plait.core.show import Names, show_param
from plait.core.source import function_source
from plait.core.types import type_of
from plait.debug.report import Report, Row, Section
from plait.errors import ArgumentError
from plait.interpreters.variance import Variance, variance
from plait.regions.spmd import pmap_p
from plait.transforms.arguments import check_callable
from plait.transforms.calls import JitFunction
from plait.transforms.pmap import UNNAMED, PmapFunction, pmap
from plait.transforms.shapes import abstract


def show_variance(
    f: Callable[..., Any],
    *args: Any,
    in_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    **kwargs: Any,
) -> Report:
    """The program of a map's body, with the axes over which each of its values varies.

    f is the function that would be mapped, along in_axes under axis_name, or one that is pmapped
    already, or a compiled function with pmaps inside; the arguments are those of a call, or
    ShapeDtypeStructs in their place. A value that varies over no axis is equal in all lanes: it may
    leave the map with out_axes=None, and is computed and stored once in the fused form. For results
    that vary it says where that begins. Print what it returns; a notebook shows it as HTML.

    Raises: as the call would; ArgumentError if a compiled function has no pmap inside.

    >>> report = plait.debug.show_variance(
    ...     lambda x: lax.psum(x, "i") * 2, jnp.ones(2), axis_name="i"
    ... )
    >>> print("varies over i" in str(report), "equal" in str(report))
    True True
    """
    check_callable(f, "debug.show_variance")
    args, kwargs = tree.map(abstract, (args, kwargs))
    if isinstance(f, JitFunction) and not isinstance(f, PmapFunction):
        program = f.trace_for(*args, **kwargs).program
        sections = [_of_map(eqn) for eqn in _maps(program)]
        if not sections:
            raise ArgumentError(
                "there is no pmap inside",
                op="debug.show_variance",
                function=f,
                fix="give the function that is mapped, with its axis_name and in_axes",
            )
        return Report(f"variance in {program.name} ({function_source(f.fun)})", sections)
    if not isinstance(f, PmapFunction):
        f = pmap(f, axis_name, in_axes=in_axes, axis_size=axis_size)
    call = f.split_static(args, kwargs)
    leaves, in_tree = tree.flatten(call.dynamic)
    body = f.stage_body(call, [type_of(x) for x in leaves], in_tree)
    results = body.out_tree.unflatten([0] * body.out_tree.num_leaves)
    title = f"variance in {body.program.name} ({function_source(f.fun)})"
    section = _of_body(
        body.program, body.in_mapped, f.axis_name, body.size, tree.leaf_names(results, "result")
    )
    return Report(title, [section])


def _maps(program: Program) -> Iterator[Equation]:
    """The pmaps in a Program, at any depth but not inside of each other."""
    for eqn in program.equations:
        if eqn.op is pmap_p:
            yield eqn
        else:
            for inner in sub_programs(eqn.params):
                yield from _maps(inner)


def _of_map(eqn: Equation) -> Section:
    params = eqn.params
    return _of_body(
        params["program"], params["in_mapped"], params["axis_name"], params["axis_size"], ()
    )


def _of_body(
    program: Program, in_mapped: Sequence[bool], name: Any, size: int, labels: Sequence[str]
) -> Section:
    axis = frozenset([name])
    inputs = [axis if m else frozenset() for m in in_mapped]
    found = variance(program, inputs, axis, silent=True)
    note = ""
    try:
        variance(program, inputs, axis)
    except ArgumentError as error:
        note = f"The map is refused. {error}"
    names = Names()
    rows: list[Row] = []
    for k, var in enumerate(program.inputs):
        label = program.names[k] if program.names else ""
        what = f"argument {label}" if label else "from outside of the map"
        rows.append((names.typed(var), _words(found.of(var)), what))
    rows += _lines(found, names, "")
    for k, atom in enumerate(program.outputs):
        label = labels[k] if k < len(labels) else f"result {k}"
        reason = found.reason(k, name) if name in found.of(atom) else None
        since = f"{label}, since {reason}" if reason else label
        rows.append((f"=> {names(atom)}", _words(found.of(atom)), since))
    shown = "the unnamed axis" if name is UNNAMED else f"axis {name!r}"
    return Section(f"{program.name}, mapped along {shown} of size {size}", rows, _HEAD, note)


_HEAD = ("value", "variance", "where")


def _lines(found: Variance, names: Names, indent: str) -> Iterator[Row]:
    """One row for each equation, and for those of the programs inside it."""
    for eqn in found.program.equations:
        params = [
            f"{k}={show_param(v)}"
            for k, v in eqn.params.items()
            if v is not None and not sub_programs({k: v})
        ]
        shown = f"[{' '.join(params)}]" if params else ""
        left = " ".join(names.typed(v) for v in eqn.outputs)
        right = " ".join([eqn.op.name + shown, *map(names, eqn.inputs)])
        over = frozenset().union(*map(found.of, eqn.outputs))
        where = str(eqn.source) if eqn.source else ""
        yield f"{indent}{left} = {right}" if left else indent + right, _words(over), where
        for inner in found.inside(eqn).values():
            head = " ".join(names.typed(v) for v in inner.program.inputs)
            total = frozenset().union(*map(inner.of, inner.program.inputs))
            yield f"{indent}  {{ {head} =>", _words(total), ""
            yield from _lines(inner, names, indent + "    ")
            ends = " ".join(map(names, inner.program.outputs))
            yield f"{indent}    => {ends} }}", _words(frozenset().union(*inner.out_varying)), ""


def _words(axes: frozenset) -> str:
    if not axes:
        return "equal"
    return "varies over " + ", ".join("the axis" if a is UNNAMED else str(a) for a in axes)


__all__ = ["show_variance"]
