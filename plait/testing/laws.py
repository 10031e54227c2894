"""The laws that every op obeys, checked on one sample at a time.

    type        NumPy's meaning has the type that `type` says; strong operands give strong results
    jvp         tangents are finite differences: of all operands together, and of each alone
    transpose   vjp is the adjoint of jvp: <ct, jvp(t)> = <vjp(ct), t>
    second      the same for jvp of jvp, and for vjp of vjp
    batch       rows together are rows one by one, for every subset of the operands mapped
    lowering    what XLA computes is what NumPy computes: the op, and all of the above
    eager       the op run alone, outside of a compiled function, gives the same
    narrow      float16 and bfloat16 obey `type` and `lowering`, where the op takes them

Up to `batch` the rules' Programs are run by NumPy alone. So a rule that is wrong fails its own law,
and a lowering that is wrong fails `lowering`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from plait.config import override
from plait.core import dtypes, tree
from plait.core.primitive import Primitive, Sample, zeros_of
from plait.core.program import reference as run_by_numpy
from plait.core.program import run_program, sub_programs
from plait.core.types import ArrayType, type_of
from plait.errors import DtypeError, IntegerOverflowError, ShapeError
from plait.interpreters.batch import Frame, add_axis, batch
from plait.interpreters.closed import stage_closed
from plait.interpreters.jvp import jvp
from plait.interpreters.linearize import linearize
from plait.ops.elementwise import Elementwise
from plait.runtime.array import as_array
from plait.runtime.compile import compile_program
from plait.testing.numerics import assert_close, differences, direction, pairing, tolerance
from plait.testing.reference import to_numpy
from plait.transforms.grad import pull

ROWS = 3
# Beyond this many operands, not all subsets of them are mapped, but all of them and each alone.
MANY = 4


class Part:
    """A Program that the rules of an op make, with its operands."""

    def __init__(self, make: Callable[..., Any], args: Sequence[np.ndarray]):
        shape: list[tree.PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            leaves, structure = tree.flatten(make(*xs))
            shape.append(structure)
            return leaves

        self.args = list(args)
        with override(check_programs=True):
            self.program = stage_closed(flat, [type_of(x) for x in args], name="law")
        self.structure = shape[0]

    def run(self, *args: np.ndarray) -> Any:
        """The results by NumPy, with other numbers for the first operands."""
        with np.errstate(all="ignore"):
            ys = run_by_numpy(self.program, *args, *self.args[len(args) :])
        return self.structure.unflatten(ys)

    @functools.cached_property
    def value(self) -> Any:
        return self.run()


class Case:
    """An op with operands and parameters, and what its rules make of them; each made when asked.

    Derivatives are taken with respect to all operands that have them, but for those in `constant`.
    """

    def __init__(
        self,
        op: Primitive,
        operands: Sequence[Any],
        params: dict[str, Any],
        constant: Sequence[int] = (),
    ):
        self.op, self.params, self.constant = op, params, tuple(constant)
        self.operands = [to_numpy(x) for x in operands]
        self.types = [type_of(x) for x in self.operands]
        out = op.type(*self.types, **params)
        self.out: tuple[ArrayType, ...] = tuple(out) if op.multiple_results else (out,)
        inexact = [k for k, t in enumerate(self.types) if t.dtype in dtypes.INEXACT]
        self.varied = [k for k in inexact if k not in self.constant]
        self.smooth = [k for k, t in enumerate(self.out) if t.dtype in dtypes.INEXACT]
        self._parts: dict[str, Part] = {}

        # Derivatives are compared with differences where there are some, and in double precision.
        inexact = [t.dtype for t in (*self.types, *self.out) if t.dtype in dtypes.INEXACT]
        self.rounding = max(map(tolerance, inexact), default=0.0)
        values = (*self.operands, *self.ys)
        self.smooth_here = all(np.isfinite(x).all() for x in values if x.dtype in dtypes.INEXACT)

    def __str__(self) -> str:
        params = ", ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.op.name}({', '.join(map(str, self.types))}{', ' if params else ''}{params})"

    def part(self, name: str, make: Callable[..., Any], args: Sequence[np.ndarray]) -> Part:
        if name not in self._parts:
            self._parts[name] = Part(make, args)
        return self._parts[name]

    def bind(self, *xs: Any) -> list[Any]:
        """The op, with a flat list of results."""
        ys = self.op.bind(*xs, **self.params)
        return list(ys) if self.op.multiple_results else [ys]

    def numpy(self, *xs: np.ndarray) -> list[np.ndarray]:
        """The op's meaning."""
        with np.errstate(all="ignore"):
            ys = self.op.numpy(*xs, **self.params)
        return list(ys) if self.op.multiple_results else [ys]

    @functools.cached_property
    def ys(self) -> list[np.ndarray]:
        return self.numpy(*self.operands)

    # --- directions, for the operands that have derivatives and the results that have them

    def tangents(self, seed: int) -> list[np.ndarray]:
        return [direction(self.operands[k], seed + 7 * k) for k in self.varied]

    @functools.cached_property
    def cotangents(self) -> list[np.ndarray]:
        return [direction(self.ys[k], 3 + 5 * k) for k in self.smooth]

    def spread(self, ts: Sequence[Any], only: int | None = None) -> list[Any]:
        """Tangents of all operands, None where there is none or it is not `only` asked for."""
        full: list[Any] = [None] * len(self.operands)
        for k, t in zip(self.varied, ts, strict=True):
            full[k] = t if only in (None, k) else None
        return full

    # --- what the rules make

    def value(self) -> Part:
        return self.part("value", self.bind, self.operands)

    def jvp(self, only: int | None = None) -> Part:
        """Tangents of the results with derivatives: of all operands together, or of one alone."""

        def make(*args: Any) -> list[Any]:
            xs, ts = self._halves(args)
            return self._push(self.bind, xs, self.spread(ts, only), self.out)

        name = "jvp" if only is None else f"jvp in operand {only} alone"
        return self.part(name, make, [*self.operands, *self.tangents(0)])

    def vjp(self) -> Part:
        """Cotangents of the operands with derivatives."""

        def make(*args: Any) -> list[Any]:
            xs, cts = self._halves(args)
            return self._pull(self.bind, xs, cts, self.smooth)

        return self.part("vjp", make, [*self.operands, *self.cotangents])

    def jvp_of_jvp(self) -> Part:
        def make(*args: Any) -> list[Any]:
            xs, ts = self._halves(args)
            n = len(self.varied)
            types = [self.out[k] for k in self.smooth]

            def inner(*xs: Any) -> list[Any]:
                tys = self._push(self.bind, xs, self.spread(ts[:n]), self.out)
                return [zeros_of(s) if t is None else t for t, s in zip(tys, types, strict=True)]

            return self._push(inner, xs, self.spread(ts[n:]), types)

        args = [*self.operands, *self.tangents(0), *self.tangents(1)]
        return self.part("jvp of jvp", make, args)

    def vjp_of_vjp(self) -> Part:
        def make(*args: Any) -> list[Any]:
            xs, cts = self._halves(args)
            n = len(self.smooth)
            inner = lambda *xs: self._pull(self.bind, xs, cts[:n], self.smooth)  # noqa: E731
            return self._pull(inner, xs, cts[n:], range(len(self.varied)))

        args = [*self.operands, *self.cotangents, *self.tangents(2)]
        return self.part("vjp of vjp", make, args)

    def rows(self, mapped: tuple[bool, ...]) -> Part:
        """All rows, where some operands have one value for each row and the others one for all."""

        def make(*xs: Any) -> list[Any]:
            ys, marks = batch(self.bind, xs, mapped, Frame(None, ROWS))
            return [y if m else add_axis(y, ROWS) for y, m in zip(ys, marks, strict=True)]

        args = [stacked(x) if m else x for x, m in zip(self.operands, mapped, strict=True)]
        return self.part(_rows(mapped), make, args)

    def _halves(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n = len(self.operands)
        return list(args[:n]), list(args[n:])

    def _push(self, f: Any, xs: Any, ts: Any, out: Sequence[ArrayType]) -> list[Any]:
        ys, tys = jvp(f, xs, ts)
        kept = []
        for y, t, o in zip(ys, tys, out, strict=True):
            if o.dtype in dtypes.INEXACT:
                _same_type("the tangent of a result", t, type_of(y))
                kept.append(t)
            elif t is not None:
                raise AssertionError(f"a result of type {o} has a tangent")
        return kept

    def _pull(self, f: Any, xs: Any, cts: Sequence[Any], at: Iterable[int]) -> list[Any]:
        nonzero = [k in self.varied for k in range(len(xs))]
        ys, linear = linearize(f, xs, nonzero)
        full: list[Any] = [None] * len(ys)
        for k, ct in zip(at, cts, strict=True):
            full[k] = ct
        pulled = pull(linear, full, self.types)
        for k in self.varied:
            _same_type("the cotangent of an operand", pulled[k], self.types[k])
        return [pulled[k] for k in self.varied]

    def subsets(self) -> list[tuple[bool, ...]]:
        """Which operands are mapped: every way that maps at least one."""
        n = len(self.operands)
        if n <= MANY:
            return [m for m in itertools.product((True, False), repeat=n) if any(m)]
        return [(True,) * n, *(tuple(j == k for j in range(n)) for k in range(n))]

    def parts(self) -> dict[str, Part]:
        """What XLA is asked to compute: the op, and what its rules make of it.

        Rules of rules write the same ops once more, which is for XLA, slow to compile, nothing new;
        so do the rows of an op that works element by element.
        """
        wanted = {"vjp", "jvp"}
        if type(self.op).batch is not Elementwise.batch:
            wanted.update(map(_rows, self.subsets()[:1]))
        made = {name: part for name, part in self._parts.items() if name in wanted}
        return {"value": self.value(), **made}


def _rows(mapped: Sequence[bool]) -> str:
    return f"rows, operands mapped {''.join('+' if m else '-' for m in mapped)}"


def stacked(x: np.ndarray) -> np.ndarray:
    """Rows that differ from each other and from x, all of numbers that x has or that lie near."""
    if x.size == 1:
        # An index stays an index: 0 becomes 1, others one less.
        one = np.asarray(0.01 if x.dtype in dtypes.INEXACT else 1, x.dtype)
        other = ~x if x.dtype == bool else x - one if x.any() else x + one
        rows = [other if k % 2 else x for k in range(ROWS)]
    else:
        rows = [np.roll(x.ravel(), k).reshape(x.shape) for k in range(ROWS)]
    return np.stack([np.asarray(r, x.dtype) for r in rows])


def _same_type(what: str, x: Any, wanted: ArrayType) -> None:
    if x is not None and type_of(x).strong() != wanted.strong():
        raise AssertionError(f"{what} has type {type_of(x)}, it should have {wanted}")


def _near(case: Case, got: Any, wanted: Any, rtol: float, what: str) -> None:
    """Equal up to an error relative to the largest number; None is zero."""
    assert len(got) == len(wanted)
    for k, (x, y) in enumerate(zip(got, wanted, strict=True)):
        y = np.asarray(y)
        x = np.zeros_like(y) if x is None else np.asarray(x)
        size = np.abs(y[np.isfinite(y)].astype(np.float64)) if y.dtype in dtypes.FLOAT else 1.0
        atol = rtol * max(1.0, float(np.max(size, initial=0.0)))
        place = f"{what}, result {k}" if len(wanted) > 1 else what
        assert_close(x, y, rtol=rtol, atol=atol, message=f"{case}: {place}")


# --- the laws


def law_type(case: Case) -> None:
    """NumPy's meaning has the type that `type` says, and weak types go where they should."""
    for k, (y, t) in enumerate(zip(case.ys, case.out, strict=True)):
        got = (np.shape(y), getattr(y, "dtype", type(y)))
        if got != (t.shape, dtypes.storage(t.dtype)):
            raise AssertionError(f"{case}: result {k} is {got}, its type {t}")
    if case.types and "weak_type" not in case.params and any(t.weak_type for t in case.out):
        raise AssertionError(f"{case}: strong operands give the weak result {case.out}")
    weak = [ArrayType(t.shape, t.dtype, t.dtype not in dtypes.BOOL) for t in case.types]
    out = case.op.type(*weak, **case.params)
    for t, strong in zip(out if case.op.multiple_results else (out,), case.out, strict=True):
        if t.strong() != strong.strong():
            raise AssertionError(f"{case}: weak operands give {t}, strong ones {strong}")
        if t.weak_type and t.dtype in dtypes.BOOL:
            raise AssertionError(f"{case}: a boolean result is weak")


def law_jvp(case: Case) -> None:
    """Tangents are finite differences."""
    if not case.varied or not case.smooth_here:
        return
    for only in (None, *case.varied) if len(case.varied) > 1 else (None,):
        ts = case.spread(case.tangents(0), only)
        slopes = differences(case.numpy, case.operands, ts)
        wanted = [slopes[k] for k in case.smooth]
        what = "jvp" if only is None else f"jvp in operand {only} alone"
        part = case.jvp(only)
        if case.rounding <= 1e-12:
            _near(case, part.value, wanted, 1e-8, what)


def law_transpose(case: Case) -> None:
    """vjp is the adjoint of jvp."""
    if not case.varied or not case.smooth or not case.smooth_here:
        return
    pushed, scale = pairing(case.cotangents, case.jvp().value)
    pulled, _ = pairing(case.vjp().value, case.tangents(0))
    _equal_pairings(case, "vjp", pushed, pulled, max(1e-10, case.rounding) * max(1.0, scale))


def law_second(case: Case) -> None:
    """jvp of jvp is the difference of jvp; vjp of vjp the adjoint of the difference of vjp."""
    if not case.varied or not case.smooth or not case.smooth_here or case.rounding > 1e-12:
        return
    first, u = case.jvp(), case.spread(case.tangents(1))
    slopes = differences(lambda *xs: _filled(case, first.run(*xs)), case.operands, u)
    _near(case, case.jvp_of_jvp().value, slopes, 1e-7, "jvp of jvp")
    back = case.vjp()
    slopes = differences(back.run, case.operands, u)
    wanted, scale = pairing(case.tangents(2), slopes)
    pulled, _ = pairing(case.vjp_of_vjp().value, case.tangents(1))
    _equal_pairings(case, "vjp of vjp", wanted, pulled, 1e-7 * max(1.0, scale))


def _filled(case: Case, ts: Sequence[Any]) -> list[np.ndarray]:
    ys = [case.ys[k] for k in case.smooth]
    return [np.zeros_like(y) if t is None else t for t, y in zip(ts, ys, strict=True)]


def _equal_pairings(case: Case, what: str, pushed: float, pulled: float, error: float) -> None:
    if not abs(pushed - pulled) <= error:
        raise AssertionError(
            f"{case}: {what} is no adjoint, <ct, jvp> = {pushed}, <vjp, t> = {pulled}"
        )


def law_batch(case: Case) -> None:
    """Rows together are rows one by one, whichever operands are mapped."""
    for mapped in case.subsets():
        part = case.rows(mapped)
        each = [
            case.numpy(*(a[r] if m else a for a, m in zip(part.args, mapped, strict=True)))
            for r in range(ROWS)
        ]
        wanted = [np.stack(column) for column in zip(*each, strict=True)]
        _near(case, part.value, wanted, max(1e-11, case.rounding), _rows(mapped))


def law_lowering(case: Case) -> None:
    """XLA computes what NumPy computes: the op, and what its rules made for the laws before."""
    parts = case.parts()
    for (name, part), got in zip(parts.items(), on_xla(list(parts.values())), strict=True):
        rtol = case.rounding * (1 if name == "value" else 10)
        _near(case, got, tree.leaves(part.value), rtol, f"{name} on XLA")


def on_xla(parts: Sequence[Part]) -> list[list[np.ndarray]]:
    """The flat results of Programs, all compiled into one."""
    counts = [len(part.args) for part in parts]

    def every(*xs: Any) -> list[Any]:
        given = iter(xs)
        ys: list[Any] = []
        for part, n in zip(parts, counts, strict=True):
            ys.extend(run_program(part.program, *itertools.islice(given, n)))
        return ys

    args = [as_array(x) for part in parts for x in part.args]
    program = stage_closed(every, [x.type for x in args], name="laws")
    # The laws are about what the rules wrote, whatever machine code is made of it.
    with override(disable_most_optimizations=True):
        results = iter(compile_program(program, [], [x.sig for x in args]).run(args))
    return [[y.host() for y in itertools.islice(results, len(p.program.outputs))] for p in parts]


def law_eager(case: Case) -> None:
    """The op run alone gives what it means, in the types that `type` says."""
    alone = case.bind(*map(as_array, case.operands))
    _near(case, [y.host() for y in alone], case.ys, case.rounding, "alone")
    for y, t in zip(alone, case.out, strict=True):
        if type_of(y) != t:
            raise AssertionError(f"{case}: alone it gives {type_of(y)!r}, `type` says {t!r}")


def law_narrow(case: Case) -> None:
    """float16 and bfloat16 have the type that `type` says, and XLA agrees with NumPy."""
    cases = [
        found
        for dtype in (dtypes.float16, dtypes.bfloat16)
        if (found := retyped(case, dtype)) is not None
    ]
    for narrow in cases:
        law_type(narrow)
    results = on_xla([narrow.value() for narrow in cases]) if cases else []
    for narrow, got in zip(cases, results, strict=True):
        _near(narrow, got, narrow.ys, tolerance(narrow.types[narrow.varied[0]].dtype), "on XLA")


def retyped(case: Case, dtype: np.dtype) -> Case | None:
    """The case with its real floats in another dtype; None if the op does not take them so."""
    if not any(case.types[k].dtype in dtypes.FLOAT for k in case.varied):
        return None
    with np.errstate(all="ignore"):
        xs = [x.astype(dtype) if x.dtype in dtypes.FLOAT else x for x in case.operands]
    try:
        return Case(case.op, xs, case.params, case.constant)
    except (DtypeError, ShapeError):  # shapes: where Programs or widths of dtypes are parameters
        return None


def single(case: Case) -> Case | None:
    """The case with 32-bit dtypes, as it is without x64; None if it only makes sense with it."""
    if sub_programs(case.params):
        return None
    params = {
        k: dtypes.canonical(v) if isinstance(v, np.dtype) else v for k, v in case.params.items()
    }
    try:
        return Case(case.op, case.operands, params, case.constant)
    except (IntegerOverflowError, ShapeError):
        return None


LAWS: dict[str, Callable[[Case], None]] = {
    "type": law_type,
    "jvp": law_jvp,
    "transpose": law_transpose,
    "second": law_second,
    "batch": law_batch,
    "lowering": law_lowering,
    "eager": law_eager,
    "narrow": law_narrow,
}
# In float32 there are no differences to compare with, but types, adjoints, rows, and the op on XLA.
SINGLE = ("type", "jvp", "transpose", "batch", "eager")
DOUBLE = ("type", "jvp", "transpose", "second", "batch", "lowering", "narrow")


def check_op(
    op: Primitive,
    samples: Iterable[Sample | tuple] | None = None,
    *,
    except_laws: Iterable[str] = (),
    constant: Sequence[int] = (),
) -> None:
    """Check an op against the laws, in double and single precision, on its own samples or others.

    A sample is (operands, parameters) with floats in float64. except_laws names laws that do not
    apply ("transpose" and "second" for an op without reverse mode), constant the operands that have
    no derivative. Raises: AssertionError naming the op, the sample and what differs.

    >>> from plait.core.primitive import registry
    >>> from plait.testing import check_op
    >>> check_op(registry["sin"])
    """
    for operands, params in op.samples() if samples is None else samples:
        with override(enable_x64=True):
            case = Case(op, operands, params, constant)
            for law in DOUBLE:
                if law not in except_laws:
                    LAWS[law](case)
        with override(enable_x64=False):
            narrower = single(case)
            for law in SINGLE:
                if narrower is not None and law not in except_laws:
                    LAWS[law](narrower)


__all__ = ["DOUBLE", "LAWS", "SINGLE", "Case", "Part", "check_op", "on_xla", "retyped", "single"]
