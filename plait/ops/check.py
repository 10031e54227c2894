"""check: a condition that a program says must hold; experimental.checkify says what becomes of it.

A check has a message and the values that stand in it. Outside of all programs it is looked at at
once; a compiled program has nobody to tell, so that checkify must make its outcome a result.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from plait.core import dtypes, tree
from plait.core.interpreter import Tracer
from plait.core.primitive import Primitive, register
from plait.core.source import user_source
from plait.core.types import is_array, type_of
from plait.errors import ArgumentError, CheckError, DtypeError
from plait.ops.axes import broadcast_in_dim
from plait.ops.compare import bitwise_not, bitwise_or


class Site:
    """A place that checks something: interned, with a number that stands for it in programs.

    The message is formatted with values: those that are known where the check is made, and arrays,
    which the program gives.
    """

    _interned: ClassVar[dict[Hashable, Site]] = {}
    _by_number: ClassVar[list[Site]] = []
    _lock = threading.Lock()
    number: int
    message: str
    structure: Values
    known: tuple[str, ...]
    kind: str
    debug: bool
    where: str

    def __new__(cls, message: str, structure: Any, known: tuple[str, ...], kind: str, debug: bool):
        source = user_source()
        key = (message, structure, known, kind, debug, str(source))
        with cls._lock:
            self = cls._interned.get(key)
            if self is None:
                self = cls._interned[key] = object.__new__(cls)
                cls._by_number.append(self)
                self.number = len(cls._by_number)  # from 1: 0 stands for no error
                self.message, self.structure, self.known = message, structure, known
                self.kind, self.debug, self.where = kind, debug, str(source) if source else ""
        return self

    @classmethod
    def of(cls, number: int) -> Site:
        """The place with a number."""
        return cls._by_number[number - 1]

    def text(self, values: Any) -> str:
        """The message, for values of its arrays."""
        arrays, known = iter(values), iter(self.known)
        leaves = [
            next(known) if given else np.asarray(next(arrays))[()]
            for given in self.structure.leaves_known
        ]
        args, kwargs = self.structure.shape.unflatten(leaves)
        said = self.message.format(*args, **kwargs)
        if self.kind == "check":
            return f"{said} (`check` failed)"
        return f"{said} at {self.where}" if self.where else said


class Values:
    """The structure of what a message is formatted with, and which leaves are known."""

    def __init__(self, shape: Any, leaves_known: tuple[bool, ...]):
        self.shape, self.leaves_known = shape, leaves_known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and (self.shape, self.leaves_known) == (
            other.shape,
            other.leaves_known,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.leaves_known))


class Check(Primitive):
    """Nothing, or an error if the predicate is false in one of its elements.

    Operands: the predicate, and the values of the message, with the predicate's axes in front.
    """

    name = "check"
    multiple_results = True
    has_effects = True

    def type(self, pred, *values, site):
        if pred.dtype != dtypes.bool_:
            raise DtypeError("the predicate must be a bool", pred=pred)
        return ()

    def numpy(self, pred, *values, site):
        failed = first_failure(np.asarray(pred), [np.asarray(v) for v in values])
        if failed is not None:
            raise CheckError(site.text(failed))
        return ()

    def evaluate(self, xs, params):
        site = params["site"]
        if not site.debug:
            self.numpy(*(x if isinstance(x, Tracer) else np.asarray(x) for x in xs), site=site)
        return ()

    def jvp(self, xs, ts, *, site):
        return self.bind(*xs, site=site), ()

    def batch(self, frame, xs, mapped, *, site):
        whole = [
            x if m else broadcast_in_dim(x, (frame.size, *type_of(x).shape), _after(x))
            for x, m in zip(xs, mapped, strict=True)
        ]
        return self.bind(*whole, site=site), ()

    def when(self, active, xs, params):
        """Operands and parameters of a check that counts only if `active` is true."""
        pred, *values = xs
        idle = broadcast_in_dim(bitwise_not(active), type_of(pred).shape, ())
        return [bitwise_or(pred, idle), *values], params

    def lower(self, b, *xs, site):
        if not site.debug:
            raise ArgumentError(
                "a check in a compiled program has nobody to tell",
                op="check",
                message=site.message,
                fix="wrap the function: checkify(f) returns (error, result), "
                "and jit(checkify(f)) is compiled; or use debug_check",
            )
        return ()


check_p = register(Check())


def _after(x: Any) -> tuple[int, ...]:
    return tuple(range(1, type_of(x).ndim + 1))


def first_failure(pred: np.ndarray, values: list[np.ndarray]) -> list[np.ndarray] | None:
    """The values that belong to the first false element, None if there is none."""
    bad = np.argwhere(~pred)
    if not len(bad):
        return None
    return [v[tuple(bad[0])] for v in values]


def bind_check(
    pred: Any, message: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: str, debug: bool
) -> None:
    """Bind a check with the values its message is formatted with."""
    leaves, shape = tree.flatten((args, kwargs))
    marks = tuple(not is_array(x) for x in leaves)
    arrays = [x for x, m in zip(leaves, marks, strict=True) if not m]
    known = tuple(str(x) for x, m in zip(leaves, marks, strict=True) if m)
    site = Site(message, Values(shape, marks), known, kind, debug)
    lead = type_of(pred).shape
    if lead:  # one predicate with axes of its own: the same values for each element
        arrays = [
            broadcast_in_dim(x, (*lead, *type_of(x).shape), _behind(x, len(lead))) for x in arrays
        ]
    check_p.bind(pred, *arrays, site=site)


def _behind(x: Any, n: int) -> tuple[int, ...]:
    return tuple(range(n, n + type_of(x).ndim))
