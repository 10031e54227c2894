"""JitFunction: a function that is traced once for each kind of arguments, compiled, kept and run.

The warm path is `JitFunction.__call__` down to the first `return`: flatten in C++, one dictionary
look-up on interned signatures, execute, wrap. jit, pmap and shard_map are such functions and differ
in how they stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plait.config import config, state
from plait.core import tree
from plait.core.context import context
from plait.core.interpreter import Tracer
from plait.core.program import Program
from plait.core.source import function_name
from plait.core.stage import stage
from plait.core.tracebacks import trim, trimmed
from plait.core.types import ArrayType, type_of
from plait.regions.call import call_p
from plait.runtime import xla
from plait.runtime.array import Array, as_array
from plait.runtime.compile import Compiled, buf_of, compile_program, sig_of
from plait.runtime.eager import eager
from plait.runtime.transfer import put_one
from plait.transforms.arguments import (
    Selected,
    argument_names,
    check_arrays,
    check_hashable,
    flatten_for,
    flatten_result,
    positional_names,
)
from plait.transforms.misses import explain
from plait.transforms.shapes import ShapeDtypeStruct, abstract
from plait.transforms.transformed import Transformed

_flatten = xla.pytree_registry.flatten


class Traced(NamedTuple):
    """What tracing a call gave: the Program, what it captured, the structure of the result."""

    program: Program
    captured: list[Any]
    out_tree: Any


class Entry:
    """A compiled call: how to run it on leaves and rebuild the result."""

    __slots__ = ("captured", "compiled", "execute", "out", "out_tree", "plain", "single")

    def __init__(self, compiled: Compiled, out_tree: Any):
        self.compiled, self.out_tree = compiled, out_tree
        self.captured, self.execute, self.out = compiled.captured, compiled.execute, compiled.out
        # One array that is the whole result: the most frequent kind.
        self.single = out_tree == _LEAF
        # Whether a call is no more than execute and wrap.
        self.plain = compiled.feeders is None and not compiled.donated and not compiled.checks


_LEAF = tree.structure(0)


class JitFunction(Transformed):
    """A function that is traced to a Program, compiled for each new kind of arguments, and run.

    >>> isinstance(plait.jit(jnp.sin), plait.stages.Wrapped)
    True
    """

    kind = "jit"

    def __init__(
        self,
        fun: Callable[..., Any],
        static: Selected = Selected((), ()),  # noqa: B008 (a constant)
        donated: Selected = Selected((), ()),  # noqa: B008
        options: tuple = (),
        device: Any = None,
        compiler_options: Mapping[str, Any] | None = None,
    ):
        self.compiler_options = dict(compiler_options or {})
        super().__init__(fun, (static, donated, *options, *sorted(self.compiler_options.items())))
        self.static, self.donated, self.device = static, donated, device
        table = self.table()
        # Calls by signature. `fast` has the shorter keys of calls without static arguments.
        self.fast: dict[Any, Entry] = table.setdefault("fast", {})
        self.entries: dict[Any, Entry] = table.setdefault("entries", {})
        self.traces: dict[Any, Traced] = table.setdefault("traces", {})
        self.has_static = bool(static)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:  # in place of @trimmed, which would cost every warm call another call of Python's
            if context.interpreter is eager and not self.has_static:
                try:
                    leaves, in_tree = _flatten((args, kwargs) if kwargs else args)
                    entry = self.fast[in_tree, state.key, *map(sig_of, leaves)]
                except (KeyError, AttributeError, RecursionError, SystemError, ValueError):
                    entry = None  # a new kind of call, a leaf that is no Array, or no tree at all
                if entry is None:  # outside of the handler: errors below have nothing to do with it
                    return self.slow_call(args, kwargs)
                if entry.plain:
                    try:
                        outs = entry.execute([*entry.captured, *map(buf_of, leaves)])
                    except (TypeError, xla.XlaError) as error:
                        problem = entry.compiled.failure(error, leaves)
                        raise problem from problem.__cause__
                    if entry.single:
                        type_, sig = entry.out[0]
                        return Array(outs[0], type_, sig)
                    results = [Array(b, t, s) for b, (t, s) in zip(outs, entry.out, strict=True)]
                else:
                    results = entry.compiled.run(leaves)
                return entry.out_tree.unflatten(results)
            return self.slow_call(args, kwargs)
        except Exception as error:
            trim(error)
            raise

    # --- everything but the warm path

    def slow_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if state.disable_jit:
            return self.without_jit(args, kwargs)
        call = self.split_static(args, kwargs)
        leaves, in_tree = flatten_for(self.kind, call.dynamic)
        if context.interpreter is eager and not any(isinstance(x, Tracer) for x in leaves):
            return self.run(call, leaves, in_tree)
        check_arrays(leaves, lambda: self.leaf_names(call), self.kind)
        traced = self.trace_call(call, [type_of(x) for x in leaves], in_tree)
        return traced.out_tree.unflatten(self.apply(traced, leaves))

    def run(self, call: Call, leaves: list[Any], in_tree: Any) -> Any:
        """Compile if need be, and execute."""
        if not all(type(x) is Array for x in leaves):
            check_arrays(leaves, lambda: self.leaf_names(call), self.kind)
        if self.device is not None:
            leaves = [put_one(x, self.device) for x in leaves]
        signatures = [x.sig if type(x) is Array else type_of(x) for x in leaves]
        key = (in_tree, state.key, *signatures)
        if self.has_static:
            key = (call.static_key, key)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.prepare(call, leaves, in_tree, signatures)
            self.entries[key] = entry
            if not self.has_static:
                warm = in_tree if call.keywords else tree.structure(call.dynamic[0])
                self.fast[(warm, *key[1:])] = entry
        return entry.out_tree.unflatten(entry.compiled.run(leaves))

    def prepare(
        self, call: Call, leaves: Sequence[Any], in_tree: Any, signatures: Sequence[Any]
    ) -> Entry:
        traced = self.trace_call(call, [type_of(x) for x in leaves], in_tree)
        donated = self.donated_leaves(call)
        captured = [as_array(x) for x in traced.captured]
        compiled = compile_program(
            traced.program,
            captured,
            signatures,
            donated=donated,
            options=self.compiler_options,
        )
        return Entry(compiled, traced.out_tree)

    def trace_call(self, call: Call, types: Sequence[ArrayType], in_tree: Any) -> Traced:
        """The Program for arguments of the given types, from the table or by running the function.

        A trace that captured outer tracers is good for this one call only.
        """
        key = (in_tree, call.static_key, tuple(types), state.key, context.axes)
        traced = self.traces.get(key)
        if traced is not None:
            return traced
        if config.explain_cache_misses:
            explain(self.kind, self.fun, key, self.traces, lambda: self.leaf_names(call))
        program, captured, out_tree = self.stage(call, types, in_tree)
        # NumPy arrays are read now: the user may change them later.
        captured = [as_array(x) if isinstance(x, np.ndarray | np.generic) else x for x in captured]
        traced = Traced(program, captured, out_tree)
        if not any(isinstance(x, Tracer) for x in captured):
            self.traces[key] = traced
        return traced

    def stage(
        self, call: Call, types: Sequence[ArrayType], in_tree: Any
    ) -> tuple[Program, list[Any], Any]:
        """Run the function on tracers."""
        out: list[Any] = []

        def flat(*leaves: Any) -> Sequence[Any]:
            args, kwargs = call.rebuild(in_tree.unflatten(leaves))
            result = flatten_result(self.fun(*args, **kwargs), self.fun, self.kind)
            out.append(result.structure)
            return result.leaves

        program, captured = stage(
            flat,
            types,
            transformation=self.kind,
            name=function_name(self.fun),
            names=self.leaf_names(call),
        )
        return program, captured, out[0]

    def apply(self, traced: Traced, leaves: Sequence[Any]) -> Sequence[Any]:
        """Bind the traced call under the running interpreter."""
        return call_p.bind(*traced.captured, *leaves, program=traced.program)

    def without_jit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What disable_jit makes of a call: the function itself, on arrays of plait's."""
        call = self.split_static(args, kwargs)
        dynamic = tree.map(
            lambda x: as_array(x) if isinstance(x, np.ndarray | np.generic) else x, call.dynamic
        )
        given, named = call.rebuild(dynamic)
        return self.fun(*given, **named)

    # --- arguments

    def split_static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if not self.has_static:
            return Call(self, args, kwargs, (), (args, kwargs))
        count = len(args)
        numbers = {k + count if k < 0 else k for k in self.static.numbers}
        static: list[tuple[Any, Any]] = [(k, args[k]) for k in sorted(numbers) if k < count]
        static += [(n, kwargs[n]) for n in self.static.names if n in kwargs]
        for where, value in static:
            name = where if isinstance(where, str) else self.names_of_arguments(count)[where]
            check_hashable(value, name, self.kind)
        dynamic_args = tuple(a for k, a in enumerate(args) if k not in numbers)
        dynamic_kwargs = {n: v for n, v in kwargs.items() if n not in self.static.names}
        # 1, 1.0 and True are equal keys but make different programs, and so are 0.0 and -0.0.
        key = tuple(
            (where, (type(value), str(value) if type(value) in (float, complex) else ""), value)
            for where, value in static
        )
        return Call(self, args, kwargs, key, (dynamic_args, dynamic_kwargs))

    def names_of_arguments(self, count: int) -> list[str]:
        return positional_names(self.fun, count)

    def leaf_names(self, call: Call) -> list[str]:
        """A name for each dynamic leaf."""
        args, kwargs = call.dynamic
        if not call.static_key:
            return argument_names(self.fun, args, kwargs)
        numbers = call.static_positions
        names = self.names_of_arguments(len(call.args))
        kept = [n for k, n in enumerate(names) if k not in numbers]
        out: list[str] = []
        for name, value in zip(kept, args, strict=True):
            out.extend(tree.leaf_names(value, name))
        for name in sorted(kwargs):
            out.extend(tree.leaf_names(kwargs[name], name))
        return out

    def donated_leaves(self, call: Call) -> list[int]:
        """Positions of the leaves whose buffers the call may reuse."""
        if not self.donated:
            return []
        args, kwargs = call.dynamic
        static = call.static_positions
        positions = [k for k in range(len(call.args)) if k not in static]
        count = len(call.args)
        numbers = {k + count if k < 0 else k for k in self.donated.numbers}
        marks: list[bool] = []
        for k, value in zip(positions, args, strict=True):
            marks += [k in numbers] * tree.structure(value).num_leaves
        for name in sorted(kwargs):
            marks += [name in self.donated.names] * tree.structure(kwargs[name]).num_leaves
        return [k for k, mark in enumerate(marks) if mark]

    # --- for users

    @trimmed
    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace for the arguments (arrays, or ShapeDtypeStructs): a stages.Traced."""
        from plait.transforms.inspect import TracedFunction

        call = self.split_static(args, kwargs)
        leaves, in_tree = tree.flatten(call.dynamic)
        leaves = [abstract(x) for x in leaves]
        check_arrays(leaves, lambda: self.leaf_names(call), self.kind)
        traced = self.trace_call(call, [type_of(x) for x in leaves], in_tree)
        return TracedFunction(self, call, traced, in_tree, leaves)

    @trimmed
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace for the arguments (arrays, or ShapeDtypeStructs) and show or compile the result."""
        return self.trace(*args, **kwargs).lower()

    @trimmed
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result as ShapeDtypeStructs, without computing it."""
        args, kwargs = tree.map(abstract, (args, kwargs))
        traced = self.trace_for(*args, **kwargs)
        shapes = [
            ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak_type)
            for t in traced.program.out_types
        ]
        return traced.out_tree.unflatten(shapes)

    def trace_for(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced Program for the arguments."""
        call = self.split_static(args, kwargs)
        leaves, in_tree = tree.flatten(call.dynamic)
        check_arrays(leaves, lambda: self.leaf_names(call), self.kind)
        return self.trace_call(call, [type_of(x) for x in leaves], in_tree)

    def clear_cache(self) -> None:
        """Forget the traces and executables of this function."""
        for held in (self.fast, self.entries, self.traces):
            held.clear()

    def clear(self) -> None:
        self.clear_cache()

    def _cache_size(self) -> int:
        return len(self.entries)


class Call(NamedTuple):
    """One call's arguments: all of them, and those that are not static."""

    function: JitFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static_key: tuple
    dynamic: tuple[tuple[Any, ...], dict[str, Any]]

    @property
    def static_positions(self) -> set[int]:
        """The positions of the static arguments that were passed by position."""
        return {where for where, *_ in self.static_key if not isinstance(where, str)}

    @property
    def keywords(self) -> bool:
        return bool(self.kwargs)

    def rebuild(self, dynamic: Any) -> tuple[list[Any], dict[str, Any]]:
        """All arguments, from the dynamic ones of the same structure."""
        args, kwargs = dynamic
        if not self.static_key:
            return list(args), kwargs
        static = {where: value for where, _, value in self.static_key}
        given = iter(args)
        full = [static[k] if k in static else next(given) for k in range(len(self.args))]
        names = {w: v for w, v in static.items() if isinstance(w, str)}
        return full, {**kwargs, **names}
