"""Show what a function becomes: its Program, the StableHLO, the optimised HLO, its cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from plait.core import tree
from plait.core.context import named_axes
from plait.core.program import Program
from plait.core.show import show_program
from plait.core.source import function_name
from plait.core.tracebacks import trimmed
from plait.core.tree import structure_error
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentError, CallError
from plait.runtime.array import Array, as_array
from plait.runtime.compile import Compiled, Prepared, Signature, prepare
from plait.runtime.placement import placement_of, signature
from plait.runtime.sharding import SingleDeviceSharding, sharding_of_placement
from plait.runtime.transfer import placement_at
from plait.transforms.arguments import check_callable, select_arguments
from plait.transforms.calls import Call, JitFunction, Traced
from plait.transforms.shapes import ShapeDtypeStruct, abstract


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """What is known of one array among the arguments: .shape, .dtype, and whether it is donated.

    >>> lowered = plait.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(2))
    >>> [(info.shape, info.donated) for info in plait.tree.leaves(lowered.args_info)]
    [((2,), True)]
    """

    aval: ArrayType
    donated: bool

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)


class _Stage:
    """What the stages of a function have in common."""

    def __init__(
        self, function: JitFunction, call: Call, traced: Traced, in_tree: Any, leaves: list[Any]
    ):
        self._function, self._call, self._traced = function, call, traced
        self.in_tree, self._leaves = in_tree, leaves

    @property
    def program(self) -> Program:
        """The Program."""
        return self._traced.program

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._traced.out_tree

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the result."""
        types = self._traced.program.out_types
        return self.out_tree.unflatten([ShapeDtypeStruct(t.shape, t.dtype) for t in types])

    @property
    def in_avals(self) -> Any:
        """Types of the arguments, in their containers."""
        return self.in_tree.unflatten([type_of(x) for x in self._leaves])

    @property
    def args_info(self) -> Any:
        """For each array among the arguments an ArgInfo, in their containers."""
        donated = set(self._function.donated_leaves(self._call))
        infos = [ArgInfo(type_of(x), k in donated) for k, x in enumerate(self._leaves)]
        return self.in_tree.unflatten(infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of the donated arrays among all of them."""
        return tuple(sorted(self._function.donated_leaves(self._call)))


class TracedFunction(_Stage):
    """A function traced for arguments of known types.

    >>> traced = plait.jit(lambda x: x + 1).trace(jnp.ones(2))
    >>> traced.out_info
    ShapeDtypeStruct(shape=(2,), dtype=float32)
    """

    @property
    def jaxpr(self) -> ClosedProgram:
        """What make_jaxpr gives."""
        return ClosedProgram(self._traced.program, self._traced.captured)

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return function_name(self._function.fun)

    def lower(self, **_: Any) -> Lowered:
        """Go on to its StableHLO."""
        return Lowered(self._function, self._call, self._traced, self.in_tree, self._leaves)


class Lowered(_Stage):
    """A function traced for arguments of known types: show it, or compile it.

    >>> lowered = plait.jit(lambda x: x + 1).lower(jnp.ones(2))
    >>> "stablehlo.add" in lowered.as_text()
    True
    """

    def as_text(self, dialect: str | None = None) -> str:
        """The StableHLO text (dialect 'stablehlo'), or the Program ('program')."""
        if dialect == "program":
            return show_program(self._traced.program, sources=True)
        if dialect not in (None, "stablehlo"):
            raise ArgumentError(
                f"there is no dialect {dialect!r}",
                op="Lowered.as_text",
                fix="'stablehlo' or 'program'",
            )
        return self._prepare().text

    def _prepare(self) -> Prepared:
        return self.prepared_for([_signature_of(x) for x in self._leaves])

    def prepared_for(self, signatures: Sequence[Signature]) -> Prepared:
        """Its text for arguments that lie as signatures say."""
        traced, donated = self._traced, self._function.donated_leaves(self._call)
        return prepare(traced.program, traced.captured, signatures, donated=donated)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> CompiledFunction:
        """Compile it, with options of XLA's by name. Raises: CompileError for unknown ones."""
        options = {**self._function.compiler_options, **(compiler_options or {})}
        return CompiledFunction(self, self._prepare().compile(options), options)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of one run: 'flops', 'bytes accessed', ..."""
        return self.compile().cost_analysis()


def _signature_of(x: Any) -> Signature:
    """The signature of an array, or of one that lies where a ShapeDtypeStruct says."""
    if type(x) is Array:
        return x.sig
    type_ = type_of(x)
    return signature(type_, placement_at(getattr(x, "sharding", None), type_))


class CompiledFunction:
    """A compiled function for arguments of fixed types. Arguments may lie anywhere: for those that
    lie elsewhere than the function was lowered for it is compiled again, once.

    >>> compiled = plait.jit(lambda x: x + 1).lower(jnp.ones(2)).compile()
    >>> compiled(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """

    def __init__(self, lowered: Lowered, compiled: Compiled, options: dict[str, Any]):
        self._lowered, self._compiled, self._options = lowered, compiled, options
        # By where the arguments lie.
        self._known = {tuple(map(_signature_of, lowered._leaves)): compiled}

    @trimmed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._lowered._function
        call = function.split_static(args, kwargs)
        leaves, in_tree = tree.flatten(call.dynamic)
        if in_tree != self._lowered.in_tree:
            raise structure_error(
                "the arguments have another structure than those it was compiled for",
                ("expected", self._lowered.in_tree),
                ("given", in_tree),
                f"compiled {self._compiled.name}",
            )
        arrays = [as_array(x) for x in leaves]
        wanted = [type_of(x) for x in self._lowered._leaves]
        names = function.leaf_names(call)
        for x, w, name in zip(arrays, wanted, names, strict=True):
            if x.type.shape != w.shape or x.type.dtype != w.dtype:
                raise CallError(
                    f"the argument {name} has another type than the one it was compiled for",
                    op=f"compiled {self._compiled.name}",
                    expected=w,
                    given=x.type,
                )
        signatures = tuple(signature(w, x.placement) for x, w in zip(arrays, wanted, strict=True))
        if (compiled := self._known.get(signatures)) is None:
            compiled = self._lowered.prepared_for(signatures).compile(self._options)
            self._known[signatures] = compiled
        return self._lowered.out_tree.unflatten(compiled.run(arrays))

    in_tree = property(lambda self: self._lowered.in_tree)
    out_tree = property(lambda self: self._lowered.out_tree)
    in_avals = property(lambda self: self._lowered.in_avals)
    args_info = property(lambda self: self._lowered.args_info)
    donate_argnums = property(lambda self: self._lowered.donate_argnums)
    out_info = property(lambda self: self._lowered.out_info)

    @property
    def input_shardings(self) -> Any:
        """Where the arguments were said to lie, in their containers: of arrays their own."""
        known = [getattr(x, "sharding", None) for x in self._lowered._leaves]
        return self.in_tree.unflatten([s or self._on_one() for s in known])

    @property
    def output_shardings(self) -> Any:
        """Where the results will lie, in their containers."""
        places = [placement_of(signature) for _, signature in self._compiled.out]
        return self.out_tree.unflatten(
            [sharding_of_placement(p) or self._on_one(p) for p in places]
        )

    def _on_one(self, placement: Any = None) -> Any:
        there = placement or self._compiled.executable
        return SingleDeviceSharding(there.devices[0])

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._compiled.executable.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of one run: 'flops', 'bytes accessed', ..."""
        return self._compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Bytes for arguments, results and temporaries."""
        return self._compiled.executable.memory_analysis()


class ClosedProgram:
    """A Program with the values it captured: what make_jaxpr returns."""

    def __init__(self, program: Program, consts: list[Any]):
        self.program, self.consts = program, consts

    @property
    def jaxpr(self) -> Program:
        """The Program, its first inputs shown as `constvars`: those for what it captured."""
        n, p = len(self.consts), self.program
        if not n:
            return p
        return p.derived(
            ("shown", n), lambda: Program(p.inputs, p.equations, p.outputs, p.name, p.names, n)
        )

    @property
    def literals(self) -> list[Any]:
        """JAX's other name for the captured values."""
        return self.consts

    @property
    def eqns(self) -> list[Any]:
        return self.program.eqns

    @property
    def in_avals(self) -> list[ArrayType]:
        return list(self.program.in_types)[len(self.consts) :]

    @property
    def out_avals(self) -> list[ArrayType]:
        return list(self.program.out_types)

    def __str__(self) -> str:
        return str(self.program)

    __repr__ = __str__


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: Any = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    static_argnames: Any = None,
) -> Callable[..., Any]:
    """A function that returns the Program of fun for given arguments, instead of calling it.

    axis_env: pairs (name, size) of axes that collectives in fun may use, as if a map were around
    it. With return_shape=True the result is a pair: the Program, and the ShapeDtypeStructs of
    fun's results.

    >>> print(plait.make_jaxpr(lambda x: x * 2.0)(1.0))
    { a:f32[] =>
      b:f32[] = mul a 2.0
      => b }
    """
    check_callable(fun, "make_jaxpr")
    static = select_arguments(fun, static_argnums, static_argnames, "make_jaxpr", "static")

    @trimmed
    def make(*args: Any, **kwargs: Any) -> Any:
        function = JitFunction(fun, static)
        function.kind = "make_jaxpr"
        args, kwargs = tree.map(abstract, (args, kwargs))
        with named_axes(*(axis_env or ())):
            traced = function.trace_for(*args, **kwargs)
        closed = ClosedProgram(traced.program, traced.captured)
        if not return_shape:
            return closed
        shapes = [ShapeDtypeStruct(t.shape, t.dtype) for t in traced.program.out_types]
        return closed, traced.out_tree.unflatten(shapes)

    return make
