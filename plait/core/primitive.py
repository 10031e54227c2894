"""What an op is: a class that answers six questions; and the registry of all of them.

The questions, in the order in which every op class answers them:

    type       the types of the results, or an error that says what is wrong with the operands
    numpy      the meaning, on NumPy arrays; every backend is tested against it
    jvp        results and their tangents (None is the zero tangent)
    transpose  for ops that can be linear: one cotangent or None per operand
    batch      the op on operands that have one more axis, at position 0
    lower      StableHLO, through the builder
    samples    operands and parameters for the law tests

Conventions: `params` are hashable keyword arguments. An op with several results sets
`multiple_results` and then takes and returns tuples of results everywhere. In `transpose` an
operand is a value, or a LinearOperand that stands for its type.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from plait.core.context import context
from plait.core.types import ArrayType, Typed, type_of
from plait.errors import MissingRuleError

if TYPE_CHECKING:
    from plait.interpreters.batch import Frame


class LinearOperand(Typed):
    """Stands, in a transpose rule, for the operand in which the op is linear."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType):
        self.type = type

    def __repr__(self) -> str:
        return f"LinearOperand({self.type})"


class Sample(NamedTuple):
    """Operands (NumPy arrays) and parameters on which the laws are checked."""

    operands: tuple[Any, ...]
    params: dict[str, Any]


class Primitive:
    """Base of all ops. An op class is final and has one instance, made by `register`."""

    name: str = ""
    multiple_results: bool = False
    # Collectives: the parameter that holds the axis names they use.
    axis_param: str | None = None
    # Whether all positions of those axes must reach the op: all collectives but axis_index.
    communicates: bool = False
    # Ops with side effects are never dropped, merged or reordered.
    has_effects: bool = False
    # Each lane of a map makes its own, even where no operand differs between lanes: effects, and
    # questions about the lane's place.
    per_lane: bool = False
    # Whether equal uses have equal results. Those of other ops are not merged, nor taken out of
    # loops.
    repeatable: bool = True
    # Regions and ops that hold Python functions answer two more questions: `stage` writes the op
    # into a Program, `split` handles operands of which some are linear (see linearize.py), and
    # `evaluate` runs it outside of all transformations. None: the usual way.
    stage: Callable[..., Any] | None = None
    split: Callable[..., Any] | None = None
    evaluate: Callable[..., Any] | None = None
    # Random bits, rounding and the like: no derivative, the tangent is zero.
    differentiable: bool = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Copied or unpickled, an op is itself: lax.tanh may be a part of a user's model.
        if registry.get(self.name) is not self:
            return super().__reduce_ex__(protocol)
        return registered, (self.name,)

    def bind(self, *xs: Any, **params: Any) -> Any:
        """Hand the op to the running interpreter."""
        return context.interpreter.process(self, xs, params)

    def axis_names(self, params: dict[str, Any]) -> tuple[Any, ...]:
        """The named axes this use of the op communicates over."""
        if self.axis_param is None:
            return ()
        names = params[self.axis_param]
        return names if isinstance(names, tuple) else (names,)

    def uses_axis(self, name: Any, params: dict[str, Any]) -> bool:
        """Whether this use communicates over the named axis (regions look into their programs)."""
        return self.axis_param is not None and name in self.axis_names(params)

    def type(self, *types: ArrayType, **params: Any) -> Any:
        raise self.missing("type")

    def numpy(self, *xs: Any, **params: Any) -> Any:
        raise self.missing("numpy")

    def jvp(self, xs: Sequence[Any], ts: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        """(results, tangents); runs under the parent interpreter, at least one tangent not None."""
        if not self.differentiable:
            ys = self.bind(*xs, **params)
            return ys, (None,) * len(ys) if self.multiple_results else None
        raise self.missing("jvp")

    def transpose(self, ct: Any, *xs: Any, **params: Any) -> Sequence[Any]:
        raise self.missing("transpose")

    def batch(
        self, frame: Frame, xs: Sequence[Any], mapped: Sequence[bool], **params: Any
    ) -> tuple[Any, Any]:
        """(results, mapped flags); a mapped operand has its batch axis first."""
        raise self.missing("batch")

    def lower(self, b: Any, *xs: Any, **params: Any) -> Any:
        raise self.missing("lower")

    def variance(
        self, varying: Sequence[frozenset], params: dict[str, Any], analyse: Callable[..., Any]
    ) -> frozenset | Sequence[frozenset]:
        """Over which named axes the results vary, given that for the operands: one set for all
        results, or one for each. Collectives and regions know more than the union.

        analyse(program, varying) gives the sets of the results of a sub-program. Its keyword
        arguments: condition, the axes over which it varies whether the sub-program runs, and
        operand, the position of the operand that decides; binds, axis names that it defines anew.
        Sets of results must be unions of sets of operands and of sets of the op's own.
        """
        return frozenset().union(*varying)

    def samples(self) -> Iterable[Sample | tuple]:
        return ()

    def missing(self, question: str) -> MissingRuleError:
        import inspect

        file = inspect.getsourcefile(type(self)) or "?"
        return MissingRuleError(
            f"this op has no {question!r} rule",
            op=self.name,
            fix=f"add the method {question} to {type(self).__name__} in {file.rpartition('/')[2]}",
        )

    def __repr__(self) -> str:
        return self.name


class Linear(Primitive):
    """An op that is linear in all its operands together: the tangent is the op of the tangents.

    Subclasses with several operands must accept zero tangents as zeros of the operand's type.
    """

    def jvp(self, xs, ts, **params):
        y = self.bind(*xs, **params)
        filled = [zeros_like(x) if t is None else t for x, t in zip(xs, ts, strict=True)]
        return y, self.bind(*filled, **params)


# ops/axes.py puts the function that makes zeros here: rules need it, and it is itself an op.
zeros_hook: list[Callable[[ArrayType], Any]] = []


def zeros_of(type: ArrayType) -> Any:
    """An array of zeros of a type, made by an op."""
    return zeros_hook[0](type)


def or_zeros(t: Any, type: ArrayType) -> Any:
    """A tangent or cotangent; zeros of the type where there is none."""
    return zeros_of(type) if t is None else t


def zeros_like(x: Any) -> Any:
    """An array of zeros of the type of x."""
    return zeros_hook[0](type_of(x))


registry: dict[str, Primitive] = {}
P = TypeVar("P", bound=Primitive)


def register(op: P) -> P:
    """Add an op to the registry, under its name; the law tests run over all of them."""
    if op.name in registry:
        raise ValueError(f"two ops are named {op.name!r}")
    registry[op.name] = op
    return op


def registered(name: str) -> Primitive:
    """The op of that name. Modules of ops that are loaded when first used are loaded now."""
    if name not in registry:
        for package in map(importlib.import_module, ("plait.ops", "plait.regions")):
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
    if name not in registry:
        raise MissingRuleError(f"no op is named {name!r}", fix="import the module that defines it")
    return registry[name]


def every_sample() -> Iterator[tuple[Primitive, Sample]]:
    """All samples of all ops."""
    for op in registry.values():
        for operands, params in op.samples():
            yield op, Sample(operands, params)
